package reviewer_test

import (
	"strings"
	"testing"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
	"review-bot/sentinel"
)

func forced(set *reviewer.Settings) { set.Force = true }

// blocked fails unless the merge endpoint refuses because of the account's request for changes.
func (s *story) blocked(when string) {
	s.tb.Helper()
	if ok, why := s.forge.Mergeable(); ok || !strings.Contains(why, "changes") {
		s.tb.Errorf("%s: merged: %v, %q\n%s", when, ok, why, s.forge.Dump())
	}
}

// rest fails if any of these runs writes.
func (s *story) rest(when string, runs ...func(*reviewer.Settings)) {
	s.tb.Helper()
	s.log = nil
	for _, settings := range runs {
		s.mustRun(settings)
	}
	if _, err := s.reconcile(nil, ""); err != nil {
		s.tb.Fatal(err)
	}
	if told := strings.Join(s.log, "\n"); strings.Contains(told, "publish:") {
		s.tb.Fatalf("%s: it is written again:\n%s\n%s", when, told, s.forge.Dump())
	}
}

// When a person takes a dismissal back, the block counts again, and goes on counting
// though the server dismisses the review for a sibling's newer one. Only a further
// dismissal waives it.
func TestADismissalThatWasTakenBackIsOver(t *testing.T) {
	for _, noted := range []bool{false, true} { // whether the role's record carries the waiver meanwhile
		s := newStory(t, forgetest.Options{Protection: &forgetest.Protection{BlockOnRejected: true}})
		s.forge.Push("author", map[string]string{"f.go": evil})
		s.answer = honest
		s.mustRun()
		block := func() int64 {
			rows, _ := s.shared.As("bot").Reviews(t.Context())
			id := int64(0)
			for _, row := range rows {
				if row.State == escalation.RowRequestChanges && row.Official {
					id = row.ID
				}
			}
			return id
		}
		first := block()
		if err := s.forge.Dismiss("owner", first, "as is", false); err != nil {
			t.Fatal(err)
		}
		if noted {
			s.mustRun(forced)
		}
		if r := s.mustRun(); r.Outcome != escalation.Waived {
			t.Fatalf("dismissed: %+v", r)
		}
		if err := s.forge.Undismiss("owner", first); err != nil {
			t.Fatal(err)
		}
		s.answer = nil
		if r := s.mustRun(as("security")); r.Own != sentinel.Approved || r.Event != sentinel.RequestChanges {
			t.Fatalf("the sibling: %+v", r)
		}
		rows, _ := s.shared.As("bot").Reviews(t.Context())
		if !rows[0].Dismissed || block() == first {
			t.Fatalf("the sibling's review was to have the server dismiss the first: %s", s.forge.Dump())
		}
		s.blocked("after the sibling's review")
		s.rest("after the sibling's review", as("logic"), as("security"))
		s.blocked("after all ran again")
		if r := s.mustRun(); r.Outcome == escalation.Waived || r.Event != sentinel.RequestChanges {
			t.Errorf("the role that blocks: %+v", r)
		}
		if err := s.forge.Dismiss("owner", block(), "really", false); err != nil {
			t.Fatal(err)
		}
		if r := s.mustRun(); r.Outcome != escalation.Waived {
			t.Errorf("dismissed again: %+v", r)
		}
	}
}

// A role that couldn't read all of the head keeps the account from approving it, in
// whatever order the roles run and however often: no run brings the approval back, until
// the role has read the rest, or doesn't gate any more.
func TestARoleThatCantReadAllOfItKeepsTheAccountFromApproving(t *testing.T) {
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("4d", 32) + "\nsize 12345\n"
	whole := func(role string) func(*reviewer.Settings) {
		return func(set *reviewer.Settings) { set.Role, set.Ignore = role, []string{"model.bin"} }
	}
	advisory := func(set *reviewer.Settings) { set.Role, set.Advisory = "security", true }
	for name, order := range map[string][]func(*reviewer.Settings){
		"it comes second": {whole("logic"), as("security")}, "it comes first": {as("security"), whole("logic")},
	} {
		s := newStory(t, forgetest.Options{Protection: &forgetest.Protection{BlockOnRejected: true, RequiredApprovals: 1}})
		s.forge.Push("author", map[string]string{"model.bin": pointer})
		var second reviewer.Result
		for _, settings := range order {
			second = s.mustRun(settings)
		}
		none := func(when string) {
			t.Helper()
			if at := s.approvedAt(); len(at) != 0 {
				t.Fatalf("%s, %s: approved at %q\n%s", name, when, at, s.forge.Dump())
			}
		}
		none("both ran")
		if second.Event != sentinel.None || len(second.Gate) != 0 {
			t.Errorf("%s: %+v", name, second)
		}
		if second.Role == "logic" && !strings.Contains(strings.Join(second.Notes, "\n"), "security judged") {
			t.Errorf("%s: the notes don't say why nothing is approved: %q", name, second.Notes)
		}
		s.rest(name, whole("logic"), as("security"), whole("logic"))
		for _, settings := range order { // as a run sees it that the withdrawal has started
			looks := s.mustRun(settings, func(set *reviewer.Settings) { set.SelfRequested = true })
			if looks.Event != sentinel.None || looks.Role == "security" && looks.Own != sentinel.Comment {
				t.Errorf("%s: a run that only looks: %+v", name, looks)
			}
		}
		if second.Role == "security" {
			if err := s.forge.RemoveRequest("author", "bot"); err != nil {
				t.Fatal(err)
			}
			none("the request is removed")
		}
		s.mustRun(whole("logic"))
		none("logic ran again")
		if r := s.mustRun(whole("security")); r.Event != sentinel.Approved || len(s.approvedAt()) != 1 {
			t.Errorf("%s: all was read: %+v", name, r)
		}
		s.rest(name+", all was read", whole("logic"), whole("security"))

		s.forge.Push("author", map[string]string{"model.bin": pointer + "x-more 1\n"})
		for _, settings := range []func(*reviewer.Settings){advisory, whole("logic"), advisory} {
			s.mustRun(settings)
		}
		if at := s.approvedAt(); len(at) != 1 {
			t.Errorf("%s: an advisory role keeps it from being approved: %q\n%s", name, at, s.forge.Dump())
		}
		s.rest(name+", advisory", whole("logic"), advisory)
	}
}

// What a person dismissed holds nobody, by reconcile's word as by a role's own run, also
// where nothing is left to write. A finding that comes later does.
func TestReconcileSaysThatABlockWasWaived(t *testing.T) {
	s := newStory(t, forgetest.Options{Protection: &forgetest.Protection{BlockOnRejected: true}})
	s.answer = honest
	s.mustRun(as("security"))
	s.forge.Push("author", map[string]string{"f.go": evil})
	s.mustRun()
	s.answer = nil
	s.mustRun(as("security"))
	says := func(when string, want bool) {
		t.Helper()
		r, err := s.reconcile(nil, "")
		if err != nil || len(r.Roles) != 2 {
			t.Fatalf("%s: %v, %+v", when, err, r)
		}
		for _, role := range r.Roles {
			if (role.Outcome == escalation.Waived) != want {
				t.Errorf("%s: %s is %s, and the account says %s", when, role.Role, role.Outcome, role.Event)
			}
		}
	}
	says("blocked", false)
	rows, _ := s.shared.As("bot").Reviews(t.Context())
	for _, row := range rows {
		if row.State == escalation.RowRequestChanges && row.Official && !row.Dismissed {
			if err := s.forge.Dismiss("owner", row.ID, "as is", false); err != nil {
				t.Fatal(err)
			}
		}
	}
	says("dismissed", true)
	s.mustRun()
	says("when the role has noted it", true)
	says("again", true)
	s.forge.Push("author", map[string]string{"g.go": strings.ReplaceAll(evil, "f", "g")})
	s.answer = honest
	s.mustRun()
	says("with another finding", false)
}
