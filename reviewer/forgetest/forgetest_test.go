package forgetest_test

import (
	"testing"

	"pgregory.net/rapid"

	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
	"review-bot/sentinel"
)

func TestMemoryConforms(t *testing.T) {
	for _, d := range forgetest.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			forgetest.Conformance(t, func(_ forgetest.TB, s forgetest.Setup) forgetest.Bench { return forgetest.NewMemory(d, s) })
		})
	}
}

// history runs random steps on a forge and returns it with its observer.
func history(t *rapid.T, steps int) (forgetest.Memory, *forgetest.Observer) {
	m := forgetest.NewMemory(rapid.SampledFrom(forgetest.Dialects()).Draw(t, "dialect"), forgetest.RandomSetup(chooser(t)))
	o := observe(t, m)
	for n := range steps {
		run(t, o, forgetest.RandomStep(n, chooser(t)))
	}
	return m, o
}

func chooser(t *rapid.T) func(int) int {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
}

func observe(t *rapid.T, b forgetest.Bench) *forgetest.Observer {
	o, err := forgetest.NewObserver(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func run(t *rapid.T, o *forgetest.Observer, s forgetest.Step) string {
	out, err := s.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func seen(t *rapid.T, m forgetest.Memory) string {
	// A fresh observer: an old one knows more commits by name, and looks as another each time.
	text, err := observe(t, m).Observe()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestCloneSharesNothingThatChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, _ := history(t, 8)
		clone := forgetest.Memory{Forge: m.Forge.Clone()}
		before := m.Forge.Dump()
		if got := clone.Forge.Dump(); got != before {
			t.Fatalf("the clone is\n%s\nof\n%s", got, before)
		}
		steps := []forgetest.Step{}
		for n := range 6 {
			steps = append(steps, forgetest.RandomStep(100+n, chooser(t)))
		}
		one, two := observe(t, clone), observe(t, m)
		var outcomes []string
		for _, s := range steps {
			outcomes = append(outcomes, run(t, one, s))
		}
		if got := m.Forge.Dump(); got != before {
			t.Fatalf("what was done to the clone changed the forge to\n%s\nfrom\n%s", got, before)
		}
		for i, s := range steps {
			if got := run(t, two, s); got != outcomes[i] {
				t.Fatalf("%s: %s, on the clone %s", s, got, outcomes[i])
			}
		}
		if m.Forge.Key() != clone.Forge.Key() {
			t.Fatalf("after the same steps the forge is\n%s\nand the clone\n%s", m.Forge.Dump(), clone.Forge.Dump())
		}
	})
}

func TestKeyTellsApartWhatCanBeSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, o := history(t, 6)
		key, before := m.Forge.Key(), seen(t, m)
		s := forgetest.RandomStep(100, chooser(t))
		run(t, o, s)
		if now := seen(t, m); now != before && m.Forge.Key() == key {
			t.Fatalf("%s changed\n%s\nto\n%s\nand not the key", s, before, now)
		}
	})
}

func TestKeyDoesNotDependOnIDsThatAreGone(t *testing.T) {
	plain, gaps := forgetest.New(forgetest.Options{}), forgetest.New(forgetest.Options{})
	if err := gaps.DeleteTimelineEntry("owner", gaps.Comment("owner", "gone")); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*forgetest.Forge{plain, gaps} {
		row := post(t, f.As("bot"), sentinel.Approved, "yes", "one")
		if f.ReviewRank(row.ID) != 1 || f.CommentRank(row.CommentID) != 3 || f.CommentRank(99) != 0 {
			t.Errorf("ranks %d and %d", f.ReviewRank(row.ID), f.CommentRank(row.CommentID))
		}
	}
	if plain.Key() != gaps.Key() {
		t.Errorf("%s\nand\n%s", plain.Dump(), gaps.Dump())
	}
}

// post posts a review of the head with an inline comment for each text.
func post(t *testing.T, v *forgetest.View, event sentinel.Verdict, body string, texts ...string) reviewer.Row {
	t.Helper()
	row, err := v.PostReview(t.Context(), review(t, v, event, body, texts...))
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func review(t *testing.T, v *forgetest.View, event sentinel.Verdict, body string, texts ...string) reviewer.NewReview {
	t.Helper()
	p, err := v.Pull(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := reviewer.NewReview{Event: event, Commit: p.Head, Body: body}
	for _, text := range texts {
		n.Comments = append(n.Comments, reviewer.NewComment{Path: "new.go", NewLine: 1, Body: text})
	}
	return n
}

func BenchmarkCloneAndKey(b *testing.B) {
	f := forgetest.New(forgetest.Options{})
	for range 10 {
		f.Comment("owner", "some words")
	}
	for b.Loop() {
		_ = f.Clone().Key()
	}
}
