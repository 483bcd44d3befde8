package finding

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"review-bot/prompts"
	"review-bot/reviewer/diff"
	"review-bot/sentinel"
)

// A run that asks no model says what is open as the review's text shows it.
func TestOpenFindingsAreReadBack(t *testing.T) {
	r := later(t)
	var ids []string
	for _, f := range r.Findings {
		ids = append(ids, f.ID)
	}
	s := sentinel.Sentinel{Extra: sentinel.IDFields(sentinel.OpenIDs, ids)}
	list := Remembered(r.Text(), s, func(id string) bool { return id == ids[1] })
	if len(list) != len(r.Findings) {
		t.Fatalf("%d of %d", len(list), len(r.Findings))
	}
	for i, f := range r.Findings {
		got, state := list[i], Retained
		if i == 1 {
			state = Waived
		}
		url := r.conversation(f)
		if got.ID != f.ID || got.Severity != f.Severity || got.Title != f.title() || got.Where != f.Where || got.URL != url ||
			got.Place.Path != f.Place.Path || got.Place.Line != f.Place.Line || got.State != state {
			t.Errorf("%+v, want that of %+v", got, f)
		}
	}

	// What was waived before has no row.
	s.Extra = append(sentinel.IDFields(sentinel.OpenIDs, append([]string{"0badf00d"}, ids...)),
		sentinel.IDFields(sentinel.WaivedIDs, []string{"0badf00d"})...)
	if again := Remembered(r.Text(), s, func(string) bool { return false }); len(again) != len(ids) ||
		again[0].Title != list[0].Title {
		t.Errorf("%+v", again)
	}
	if list := Remembered("", s, func(string) bool { return false }); len(list) != len(ids) || list[0].ID != ids[0] ||
		list[0].Title != "" {
		t.Errorf("without a text: %+v", list)
	}
	if list := Remembered(r.Text(), sentinel.Sentinel{}, nil); list != nil {
		t.Errorf("a sentinel that doesn't say: %+v", list)
	}
}

// Odd paths and titles come back, or are left out; none takes the place of another.
func TestOddRowsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		odd := rapid.SampledFrom([]string{"a", "|", "`", "](", "x:3", " ", "\\", "ü", "[", "\n", "(below)"})
		var list []Finding
		var ids []string
		for i := range rapid.IntRange(1, 5).Draw(t, "findings") {
			f := Finding{ID: fmt.Sprintf("%08x", i), Severity: prompts.High, Where: Inline, State: Retained,
				URL: fmt.Sprintf("https://x/%d", i), Head: head}
			f.Title = strings.Join(rapid.SliceOfN(odd, 1, 5).Draw(t, "title"), "")
			f.Place = diff.Place{Path: "p" + strings.Join(rapid.SliceOfN(odd, 0, 5).Draw(t, "path"), ""), Line: i + 1,
				Side: diff.New}
			list, ids = append(list, f), append(ids, f.ID)
		}
		for i, f := range Listed(report(list...).Text(), ids) {
			if f.ID != ids[i] || f.URL != list[i].URL || f.Severity != prompts.High ||
				!slices.Contains([]int{0, i + 1}, f.Place.Line) {
				t.Fatalf("row %d: %+v", i, f)
			}
		}
	})
}
