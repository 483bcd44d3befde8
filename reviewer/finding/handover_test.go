package finding

import (
	"fmt"
	"strings"
	"testing"

	"review-bot/prompts"
)

func TestTheHandOverTellsWhatIsOpenAndTheWaysOn(t *testing.T) {
	open := anchored(t, change, severe(prompts.Critical, at("a.go", 11, "TWO")), severe(prompts.Low, at("gone.go", 3, "")))
	open[0].URL = "https://git.example.com/alice/shop/pulls/42#issuecomment-7"
	const review = "https://git.example.com/alice/shop/pulls/42#issuecomment-1"
	h := Handover{Role: "security", Rounds: 4, FollowUps: 1, MaxFollowUps: 10, Open: []Finding{open[1], open[0]}}
	golden(t, "handover", h.Text(review)+"\n")

	if text := h.Text(review); strings.Contains(text, "@") {
		t.Errorf("nobody was named, and somebody is called:\n%s", text)
	}
	h.Operators = []string{"alice", "@bob"}
	if text := h.Text(review); !strings.Contains(text, "@alice, @bob decide") || strings.Contains(text, "@@") {
		t.Errorf("alice and bob aren't called:\n%s", text)
	}
	h.Open = nil
	if text := h.Text(review); strings.Contains(text, "Still open") || !strings.Contains(text, "Ways on") {
		t.Errorf("with nothing open it says:\n%s", text)
	}
	for i := range 1000 {
		f := open[0]
		f.Title = fmt.Sprintf("%d %s", i, strings.Repeat("@everybody | [x](y) ", 20))
		h.Open = append(h.Open, f)
	}
	if text := h.Text(review); len(text) > maxBody || !strings.Contains(text, " more\n") ||
		strings.Contains(text, " @everybody") {
		t.Errorf("%d characters:\n%.2000s", len(text), text)
	}
	h.Open = nil
	for _, tt := range []struct {
		followUps, most int
		fix             string // "": there is no use in fixing any more
		looks           string
	}{
		{
			1, 10, "fix it by hand and push: the block goes away with what is listed (9 more pushes are looked at)",
			"raises only what blocks",
		},
		{9, 10, "(1 more push is looked at)", "raises only what blocks"},
		{10, 10, "", "It looks at no further push."},
		{99, 0, "fix it by hand and push: the block goes away with what is listed\n", "raises only what blocks"},
	} {
		h.FollowUps, h.MaxFollowUps = tt.followUps, tt.most
		text := h.Text(review)
		if !strings.Contains(text, tt.fix) || !strings.Contains(text, tt.looks) ||
			tt.fix == "" && strings.Contains(text, "fix it") {
			t.Errorf("after %d of %d follow-ups:\n%s", tt.followUps, tt.most, text)
		}
	}
}
