package sentinel

import (
	"testing"

	"pgregory.net/rapid"
)

func TestAHandoffEncodesAndDecodesToTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := Handoff{rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,9}`).Draw(t, "role"), rapid.Int64Range(0, 1<<60).Draw(t, "epoch")}
		text := rapid.SampledFrom([]string{"", "Words.\n\n", "Words.\r\n\r\n"}).Draw(t, "before") + h.String() + rapid.SampledFrom([]string{"", "\n", "\r\n \n"}).Draw(t, "behind")
		if got, ok := FindHandoff(text); !ok || got != h {
			t.Fatalf("%q: %+v, %v", text, got, ok)
		}
	})
}

func TestAHandoffIsReadStrictly(t *testing.T) {
	for promise, text := range map[string]string{
		"nothing":           "",
		"no role":           "<!-- review-bot-handoff: epoch=1 -->",
		"a wrong role":      "<!-- review-bot-handoff:A epoch=1 -->",
		"no epoch":          "<!-- review-bot-handoff:a -->",
		"a negative epoch":  "<!-- review-bot-handoff:a epoch=-1 -->",
		"no number":         "<!-- review-bot-handoff:a epoch=x -->",
		"something further": "<!-- review-bot-handoff:a epoch=1 x=1 -->",
		"text behind":       "<!-- review-bot-handoff:a epoch=1 -->\nand more",
		"text in front":     "and <!-- review-bot-handoff:a epoch=1 -->",
		"a sentinel":        plain,
	} {
		if h, ok := FindHandoff(text); ok {
			t.Errorf("%s: %+v", promise, h)
		}
	}
}
