package reviewer_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
	"review-bot/sentinel"
)

// as are the settings of a role with siblings.
func as(role string, siblings ...string) func(*reviewer.Settings) {
	return func(set *reviewer.Settings) { set.Role, set.Siblings = role, siblings }
}

// flags are a run's settings as if all were given by flags.
type flags struct {
	set   reviewer.Settings
	model reviewer.Model
}

func (f flags) Path() string { return "" }
func (f flags) Given() string {
	return fmt.Sprint(f.set.Siblings, f.set.Advisory, f.set.NoApprove)
}

func (f flags) Effective([]byte) (reviewer.Settings, reviewer.Model, error) {
	return f.set, f.model, nil
}

// reconcile runs with siblings that were given, nil for none, and a role to retire.
func (s *story) reconcile(siblings []string, retire string) (reviewer.Reconciliation, error) {
	set := reviewer.Settings{Repo: "owner/app", Number: 1, Lock: reviewer.DefaultLock, Siblings: siblings}
	s.forge.Advance(3 * time.Second)
	return reviewer.Reconcile(s.tb.Context(), set, retire, s.env("bot"))
}

// approves fails unless the account approves the head, or doesn't.
func (s *story) approves(want bool, notes []string, named string) {
	s.tb.Helper()
	pull, err := s.shared.As("bot").Pull(s.tb.Context())
	if err != nil {
		s.tb.Fatal(err)
	}
	if got := slices.Contains(s.approvedAt(), pull.Head); got != want {
		s.tb.Errorf("the head is approved: %v\n%s\n%s", got, strings.Join(s.log, "\n"), s.forge.Dump())
	}
	waits := slices.IndexFunc(notes, func(n string) bool { return strings.HasPrefix(n, "waiting for "+named) })
	if (waits >= 0) != (named != "") {
		s.tb.Errorf("notes %q, want %q named", notes, named)
	}
}

// What the siblings are may be said by the configuration alone, which only the roles'
// own runs read. All other runs go by the records.
func TestNothingIsApprovedBeforeTheSiblingsOnRecordHaveJudged(t *testing.T) {
	s := newStory(t, forgetest.Options{})
	none := []string{}
	s.approves(false, s.mustRun(as("logic", "security")).Notes, "security")
	r, err := s.reconcile(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	s.approves(false, r.Notes, "security to judge")
	s.approves(false, s.mustRun(as("style")).Notes, "security")
	looks := s.mustRun(as("style"), func(set *reviewer.Settings) { set.SelfRequested = true })
	if s.approves(false, looks.Notes, "security"); looks.Event != sentinel.None {
		t.Errorf("a run that only looks says %s", looks.Event)
	}

	// Who gives them to reconcile knows better.
	if r, err = s.reconcile([]string{"tests"}, ""); err != nil {
		t.Fatal(err)
	}
	s.approves(false, r.Notes, "tests")
	if r, err = s.reconcile(none, ""); err != nil {
		t.Fatal(err)
	}
	s.approves(true, r.Notes, "")

	// A run without a verdict takes back what the records don't allow.
	s.forge.Push("author", map[string]string{"more.go": "package more\n"})
	s.mustRun(as("logic", "security"))
	if _, err = s.reconcile(none, ""); err != nil {
		t.Fatal(err)
	}
	s.approves(true, nil, "")
	env := s.env("bot")
	env.Model = says{err: errors.New("no model")}
	set := s.settings() // of logic, as far as they are known before the configuration is read
	set.Force = true
	failed, err := reviewer.Review(t.Context(), set, env)
	if err == nil {
		t.Fatal("it didn't fail")
	}
	s.approves(false, failed.Notes, "security")

	s.approves(true, s.mustRun(as("security")).Notes, "")
	if r, err = s.reconcile(nil, ""); err != nil {
		t.Fatal(err)
	}
	s.approves(true, r.Notes, "")
}

// Whatever becomes of a role, there is a way out, and the note says which.
func TestNobodyWaitsForARoleThatIsGone(t *testing.T) {
	push := func(s *story) { s.forge.Push("author", map[string]string{"more.go": "package more\n"}) }

	t.Run("removed", func(t *testing.T) {
		s := newStory(t, forgetest.Options{})
		s.mustRun(as("security"))
		s.approves(true, s.mustRun(as("logic", "logic", "security")).Notes, "")
		push(s)
		r := s.mustRun(as("logic", "logic", "security"))
		s.approves(false, r.Notes, "security")
		if !strings.Contains(strings.Join(r.Notes, "\n"), "`review-bot reconcile --retire security`") {
			t.Errorf("notes %q", r.Notes)
		}
		if _, err := s.reconcile(nil, "security"); err != nil {
			t.Fatal(err)
		}
		s.approves(true, nil, "")
		s.approves(true, s.mustRun(as("logic", "logic", "security")).Notes, "") // whatever the configuration says still
	})

	t.Run("renamed", func(t *testing.T) {
		s := newStory(t, forgetest.Options{})
		s.mustRun(as("logic", "logic", "security"))
		s.mustRun(as("security", "logic", "security"))
		push(s)
		s.approves(false, s.mustRun(as("sound", "sound", "security")).Notes, "security, logic")
		s.approves(true, s.mustRun(as("security", "sound", "security")).Notes, "")
	})

	t.Run("never was", func(t *testing.T) {
		s := newStory(t, forgetest.Options{})
		r := s.mustRun(as("logic", "secruity"))
		s.approves(false, r.Notes, "secruity")
		if !strings.Contains(strings.Join(r.Notes, "\n"), "take it out of `siblings`") {
			t.Errorf("notes %q", r.Notes)
		}
		if _, err := s.reconcile(nil, "secruity"); err == nil || !strings.Contains(err.Error(), "run logic again") {
			t.Errorf("to retire it ends with %v", err)
		}
		asked := len(s.asked)
		mended := func(siblings ...string) []string {
			set, env := s.settings(), s.env("bot")
			set.Siblings = siblings
			env.Configuration = flags{set, s}
			r, err := reviewer.Review(t.Context(), set, env)
			if err != nil {
				t.Fatal(err)
			}
			return r.Notes
		}
		s.approves(false, mended("security"), "security")
		rec, err := s.reconcile(nil, "")
		if err != nil {
			t.Fatal(err)
		}
		s.approves(false, rec.Notes, "security to judge")
		s.approves(true, mended(), "")
		rec, err = s.reconcile(nil, "")
		if err != nil {
			t.Fatal(err)
		}
		s.approves(true, rec.Notes, "")
		before := s.forge.Dump()
		if mended(); s.forge.Dump() != before || len(s.asked) != asked {
			t.Errorf("the model was asked %d times again; it became\n%s\nfrom\n%s", len(s.asked)-asked, s.forge.Dump(), before)
		}
	})
}
