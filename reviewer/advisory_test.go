package reviewer_test

import (
	"strings"
	"testing"

	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
	"review-bot/sentinel"
)

func advisory(set *reviewer.Settings) { set.Advisory = true }

// A role that only comments approves nothing, and so no approval of an earlier head is
// left by its run, whosever it was: the role that gave it may be advisory now, or gone.
func TestAnAdvisoryRunLeavesNoOtherHeadApproved(t *testing.T) {
	for _, by := range []string{"logic", "security"} {
		s := newStory(t, forgetest.Options{Protection: &forgetest.Protection{BlockOnRejected: true, RequiredApprovals: 1}})
		s.mustRun(as(by))
		s.forge.Push("author", map[string]string{"more.go": evil})
		s.answer = honest
		if r := s.mustRun(advisory); r.Own != sentinel.Comment || len(r.Gate) > 0 {
			t.Errorf("after %s it says %+v", by, r)
		}
		if err := s.forge.RemoveRequest("author", "bot"); err != nil {
			t.Fatal(err)
		}
		if at := s.approvedAt(); len(at) > 0 {
			t.Errorf("the account approves %v\n%s", at, s.forge.Dump())
		}
		s.log = nil
		if s.mustRun(advisory); strings.Contains(strings.Join(s.log, "\n"), "publish:") {
			t.Errorf("it is written again: %s", strings.Join(s.log, "\n"))
		}
	}
}

// What a sibling says of the head is left to it, but for a block that is lost.
func TestAnAdvisoryRunKeepsWhatItsSiblingsSay(t *testing.T) {
	s := newStory(t, forgetest.Options{Protection: &forgetest.Protection{BlockOnRejected: true}})
	s.mustRun(as("security"))
	if s.mustRun(advisory); len(s.approvedAt()) != 1 {
		t.Errorf("the approval of this head is gone\n%s", s.forge.Dump())
	}
	s.forge.Push("author", map[string]string{"more.go": evil})
	s.answer = honest
	s.mustRun(as("security"))
	if err := s.shared.As("author").RequestReview(t.Context(), "bot"); err != nil { // clears the block
		t.Fatal(err)
	}
	r := s.mustRun(advisory)
	s.blocked("after the advisory run")
	for _, note := range r.Notes {
		if strings.Contains(note, "dismiss that review") {
			t.Errorf("the block is security's, and the note is %q", note)
		}
	}
	s.rest("after the advisory run", as("security"), advisory)
}
