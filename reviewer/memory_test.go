package reviewer_test

import (
	"fmt"
	"strings"
	"testing"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/budget"
	"review-bot/reviewer/forgetest"
	"review-bot/sentinel"
)

const evil = "alpha()\nbeta()\nEVIL()\ngamma()\n"

// blocked is a story whose role has found one defect, in f.go.
func blocked(t *testing.T) (s *story, comment int64) {
	t.Helper()
	s = newStory(t, forgetest.Options{})
	s.forge.Push("author", map[string]string{"f.go": evil})
	s.answer = honest
	if r := s.mustRun(); r.Own != sentinel.RequestChanges || r.Counted() != 1 {
		t.Fatalf("%+v", r)
	}
	rows, err := s.shared.As("bot").Reviews(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	comments, err := s.shared.As("bot").Comments(t.Context(), rows[len(rows)-1].ID)
	if err != nil || len(comments) != 1 {
		t.Fatalf("%d comments, %v", len(comments), err)
	}
	return s, comments[0].ID
}

// forgets is a model that keeps nothing, names nothing and finds nothing.
func forgets(prompts.Request) prompts.Answer { return prompts.Answer{Retained: []string{}} }

// naming is a model that takes everything for fixed by one change.
func naming(by string) func(prompts.Request) prompts.Answer {
	return func(req prompts.Request) prompts.Answer {
		a := prompts.Answer{Retained: []string{}}
		for section := range strings.SplitSeq(req.Task, "\n## ") {
			if id, _, ok := strings.Cut(section, " · "); ok && len(id) == 8 {
				a.Closed = append(a.Closed, prompts.Fix{ID: id, By: by})
			}
		}
		return a
	}
}

// What a push and a reply do to a finding of which the model says no more.
func TestWhatClosesAFinding(t *testing.T) {
	push := func(files map[string]string) func(*story, int64) {
		return func(s *story, _ int64) { s.forge.Push("author", files) }
	}
	reply := func(by string) func(*story, int64) {
		return func(s *story, comment int64) {
			if _, err := s.forge.Reply(by, comment, "ok"); err != nil {
				s.tb.Fatal(err)
			}
		}
	}
	for promise, tt := range map[string]struct {
		happens func(*story, int64)
		answer  func(prompts.Request) prompts.Answer
		closes  bool
	}{
		"another file changes": {push(map[string]string{"g.go": "package g\n"}), forgets, false},
		"a comment above it":   {push(map[string]string{"f.go": "// fixed\n" + evil}), forgets, false},
		"white space": {
			push(map[string]string{"f.go": strings.Replace(evil, "EVIL()", "\tEVIL( )", 1)}), forgets, false,
		},
		"moved down": {
			push(map[string]string{"f.go": "alpha()\nbeta()\ngamma()\nEVIL()\n"}), forgets, false,
		},
		"the file is renamed": {
			push(map[string]string{"f.go": forgetest.Gone, "h.go": evil}), forgets, false,
		},
		"moved to another file": {
			push(map[string]string{"f.go": "alpha()\nbeta()\ngamma()\n", "h.go": "EVIL()\n"}), forgets, false,
		},
		"a stranger says ok": {reply("outsider"), forgets, false},
		"its line is changed": {
			push(map[string]string{"f.go": strings.Replace(evil, "EVIL", "good", 1)}), forgets, true,
		},
		"its file is deleted": {
			push(map[string]string{"f.go": forgetest.Gone, "g.go": "package g\n"}), forgets, true,
		},
		"a fix above its line, named": {
			push(map[string]string{"f.go": strings.Replace(evil, "EVIL", "check()\nEVIL", 1)}), naming("f.go:3"), true,
		},
		"a fix in another file, named":         {push(map[string]string{"g.go": "package g\n"}), naming("g.go:1"), true},
		"a fix is named, but nothing happened": {push(map[string]string{"g.go": "package g\n"}), naming("main.go:1"), false},
		"the author says ok":                   {reply("author"), forgets, true},
		"a person with write access says ok":   {reply("writer"), forgets, true},
	} {
		t.Run(promise, func(t *testing.T) {
			s, comment := blocked(t)
			tt.happens(s, comment)
			s.answer = tt.answer
			r := s.mustRun()
			if closed := r.Own == sentinel.Approved; closed != tt.closes || closed != (r.Counted() == 0) ||
				closed != (len(s.approvedAt()) == 1) {
				t.Errorf("own %s, %+v, approved at %q", r.Own, r.Findings, s.approvedAt())
			}
			if again := s.mustRun(); again.Outcome != escalation.Skipped || again.Counted() != r.Counted() {
				t.Errorf("the run after it: %s, %d findings open, want %d", again.Outcome, again.Counted(), r.Counted())
			}
		})
	}
}

// A run that asks no model says what is open.
func TestARerunSaysWhatIsOpen(t *testing.T) {
	s, _ := blocked(t)
	asked := len(s.asked)
	r := s.mustRun()
	if r.Outcome != escalation.Skipped || len(s.asked) != asked || r.Counted() != 1 {
		t.Fatalf("%+v", r)
	}
	if f := r.Findings[0]; f.Path != "f.go" || f.Line != 3 || f.Severity != prompts.High || f.Title != "Evil" ||
		f.ID == "" || f.URL == "" {
		t.Errorf("%+v", f)
	}
}

// Strangers' replies, the title and the description, in characters that take many
// tokens, leave room for the diff.
func TestRareCharactersDontStopARun(t *testing.T) {
	s, comment := blocked(t)
	rare := strings.Repeat("🝰🜇𓂀", 3_000)
	for i := range 30 {
		if _, err := s.forge.Reply("outsider", comment, fmt.Sprint(i, rare)); err != nil {
			t.Fatal(err)
		}
	}
	s.forge.SetTitle("author", rare[:200])
	s.forge.SetBody(rare)
	s.forge.Push("author", map[string]string{"g.go": "EVIL TOO\n"})
	const most = 16_000
	asked := len(s.asked)
	r := s.mustRun(func(set *reviewer.Settings) { set.MaxTokens = most })
	counter := budget.NewCounter("test-model")
	for _, req := range s.asked[asked:] {
		if n := counter.Count(req.System) + counter.Count(req.Material) + counter.Count(req.Task); n > most {
			t.Errorf("a request of %d tokens", n)
		}
	}
	if r.Counted() != 2 || !s.shown("EVIL TOO", asked) ||
		!strings.Contains(s.asked[asked].Task, "older replies left out") {
		t.Errorf("%d findings\n%s", r.Counted(), strings.Join(s.log, "\n"))
	}
	if !strings.Contains(strings.Join(r.Notes, "\n"), "had no room in what the model was shown") {
		t.Errorf("notes %q", r.Notes)
	}
}
