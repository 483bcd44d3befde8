package finding

import (
	"fmt"
	"strings"
	"testing"

	"review-bot/prompts"
)

func TestTheHandOverTellsWhatIsOpenAndTheWaysOn(t *testing.T) {
	open := anchored(t, change, severe(prompts.Critical, at("a.go", 11, "TWO")), severe(prompts.Low, at("gone.go", 3, "")))
	earlier := []Earlier{{Finding: open[1], Status: Open}, {Finding: open[0], Status: Open}, {Finding: open[0], Status: Let}, {Finding: open[0], Status: Fixed}}
	earlier[1].URL = "https://git.example.com/alice/shop/pulls/42#issuecomment-7"
	h := Handover{Role: "security", Rounds: 3, Review: "https://git.example.com/alice/shop/pulls/42#issuecomment-1", Earlier: earlier}
	golden(t, "handover", h.Text()+"\n")

	if text := h.Text(); strings.Contains(text, "@") {
		t.Errorf("nobody was named, and somebody is called:\n%s", text)
	}
	h.Operators = []string{"alice", "@bob"}
	if text := h.Text(); !strings.Contains(text, "@alice, @bob decide") || strings.Contains(text, "@@") {
		t.Errorf("alice and bob aren't called:\n%s", text)
	}
	h.Earlier = nil
	if text := h.Text(); strings.Contains(text, "Still open") || !strings.Contains(text, "Ways on") {
		t.Errorf("with nothing open it says:\n%s", text)
	}
	for i := range 1000 {
		f := open[0]
		f.Title = fmt.Sprintf("%d %s", i, strings.Repeat("@everybody | [x](y) ", 20))
		h.Earlier = append(h.Earlier, Earlier{Finding: f, Status: Open})
	}
	if text := h.Text(); len(text) > maxBody || !strings.Contains(text, " more\n") || strings.Contains(text, " @everybody") {
		t.Errorf("%d characters:\n%.2000s", len(text), text)
	}
}
