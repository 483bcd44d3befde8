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
func (s *story) rest(when string, roles ...string) {
	s.tb.Helper()
	s.log = nil
	for _, role := range roles {
		s.mustRun(as(role))
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
		s.rest("after the sibling's review", "logic", "security")
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
