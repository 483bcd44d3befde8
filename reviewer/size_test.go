package reviewer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
)

// listening is a forge that notes which lists are read.
type listening struct {
	reviewer.Forge

	toEnd *int
}

func (w listening) TimelineToEnd(
	ctx context.Context, since time.Time, rows []reviewer.Row,
) ([]reviewer.Entry, escalation.Reach, error) {
	*w.toEnd++
	return w.Forge.TimelineToEnd(ctx, since, rows)
}

// watch counts how often the timeline is read to its end.
func (s *story) watch() *int {
	n := new(int)
	s.wrap = func(f reviewer.Forge) reviewer.Forge { return listening{f, n} }
	return n
}

// A pull request that strangers have filled is reviewed as any other, and each run
// after it finds what the first one said.
func TestReviewAmongThousands(t *testing.T) {
	s := newStory(t, forgetest.Options{})
	s.answer = honest
	toEnd := s.watch()
	s.forge.Push("author", map[string]string{"evil.go": "EVIL\n"})
	outsider := s.shared.As("outsider")
	for i := range 1000 {
		if _, err := outsider.PostReview(t.Context(), reviewer.NewReview{Event: "comment", Commit: s.head(), Body: fmt.Sprint("me too ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 9000 {
		s.forge.Comment("outsider", fmt.Sprint("and me ", i))
	}
	if r := s.mustRun(); r.Own != "request_changes" || r.Outcome != escalation.Posted {
		t.Errorf("%s, %s", r.Outcome, r.Own)
	}
	if r := s.mustRun(); r.Outcome != escalation.Skipped || len(s.asked) != 1 {
		t.Errorf("again: %s, %d questions", r.Outcome, len(s.asked))
	}
	s.forge.Push("author", map[string]string{"evil.go": "fine\n"})
	s.answer = nil
	if r := s.mustRun(); r.Own == "" || *toEnd != 0 {
		t.Errorf("%s, %s; the timeline was read to its end %d times", r.Outcome, r.Own, *toEnd)
	}
}

func (s *story) head() string {
	p, err := s.shared.As("bot").Pull(s.tb.Context())
	if err != nil {
		s.tb.Fatal(err)
	}
	return p.Head
}

// What a stranger hides makes runs slower, and stops none; an approval isn't
// published on a timeline that can't be read whole, and the note says so.
func TestReviewAmongHiddenEntries(t *testing.T) {
	for promise, tt := range map[string]struct {
		hide     func(f *forgetest.Forge) error
		approved bool
		toEnd    bool
	}{
		"nothing": {func(*forgetest.Forge) error { return nil }, true, false},
		"330 comments": {
			func(f *forgetest.Forge) error { return f.BeginComments("outsider", "later", 330) }, true, true,
		},
		"references alone": {func(f *forgetest.Forge) error { f.Refer("outsider", 500); return nil }, true, true},
		"2,500, among which ours": {
			func(f *forgetest.Forge) error { f.Refer("outsider", 2500); return f.BeginReview("outsider", "x") }, true, true,
		},
		"more than is ever read": {
			func(f *forgetest.Forge) error { f.Refer("outsider", 21_000); return f.BeginReview("outsider", "x") }, false, true,
		},
		"a review that was begun": {func(f *forgetest.Forge) error { return f.BeginReview("outsider", "x") }, true, true},
	} {
		t.Run(promise, func(t *testing.T) {
			s := newStory(t, forgetest.Options{})
			toEnd := s.watch()
			if err := tt.hide(s.forge); err != nil {
				t.Fatal(err)
			}
			r := s.mustRun()
			if approved := len(s.approvedAt()) > 0; approved != tt.approved || (*toEnd > 0) != tt.toEnd {
				t.Errorf("approved: %v; read to the end %d times; notes %q", approved, *toEnd, r.Notes)
			}
			if noted := slices.Contains(r.Notes, escalation.Holes); noted == tt.approved {
				t.Errorf("notes %q", r.Notes)
			}
			// What comes later is read, and said once.
			if again := s.mustRun(); len(s.asked) != 1 && tt.approved {
				t.Errorf("again: %s, %d questions", again.Outcome, len(s.asked))
			}
			s.answer = honest
			s.forge.Push("author", map[string]string{"evil.go": "EVIL\n"})
			if r := s.mustRun(); r.Own != "request_changes" || len(s.approvedAt()) > 0 {
				t.Errorf("pushed: %s, %s; approved at %v", r.Outcome, r.Own, s.approvedAt())
			}
		})
	}
}

// A storm of findings is published: each inline, and the body within its bound.
func TestStormOfFindings(t *testing.T) {
	s := newStory(t, forgetest.Options{Head: map[string]string{"a.go": numbered("EVIL", 500)}})
	s.answer = func(req prompts.Request) prompts.Answer {
		a := honest(req)
		for i := range a.Findings {
			a.Findings[i].Title = fmt.Sprintf("Evil number %d", i)
			a.Findings[i].Body = strings.Repeat("It is evil. ", 40)
		}
		return a
	}
	r := s.mustRun()
	if len(r.Findings) != 500 {
		t.Errorf("%d findings in the result", len(r.Findings))
	}
	rows, err := s.shared.As("bot").Reviews(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(rows, func(row reviewer.Row) bool { return row.State == escalation.RowRequestChanges })
	if i < 0 || rows[i].Comments != 500 || len([]rune(rows[i].Body)) > 60_000 {
		t.Errorf("%d rows; %d comments, a body of %d characters", len(rows), rows[max(i, 0)].Comments,
			len([]rune(rows[max(i, 0)].Body)))
	}
	if again := s.mustRun(); again.Outcome != escalation.Skipped || len(s.asked) != 1 {
		t.Errorf("again: %s, %d questions", again.Outcome, len(s.asked))
	}
}
