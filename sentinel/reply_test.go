package sentinel

import (
	"testing"

	"pgregory.net/rapid"
)

func TestReply(t *testing.T) {
	for text, want := range map[string]Reply{
		"Done.\n\n<!-- review-bot-reply:12:345 covers=350 -->":          {"12:345", 350, false},
		"Done.\r\n\r\n<!-- review-bot-reply:12:345 covers=350 -->\r\n ": {"12:345", 350, false},
		"<!-- review-bot-reply:1:1 covers=1 state=closed -->":           {"1:1", 1, true},
		"<!-- review-bot-reply:1:1 covers=9223372036854775807 -->":      {"1:1", 9223372036854775807, false},
		"<!-- review-bot-reply:1:2 covers=3 -->":                        {"1:2", 3, false},
		"x <!-- review-bot-reply:1:2 covers=3 -->":                      {}, // not a line of its own
		"<!-- review-bot-reply:1:2 covers=3 -->\nmore":                  {}, // not the last one
		"<!-- review-bot-reply:1 covers=3 -->":                          {},
		"<!-- review-bot-reply:1:2:3 covers=3 -->":                      {},
		"<!-- review-bot-reply:0:2 covers=3 -->":                        {},
		"<!-- review-bot-reply:1:2 -->":                                 {},
		"<!-- review-bot-reply:1:2 covers=03 -->":                       {},
		"<!-- review-bot-reply:1:2 covers=-3 -->":                       {},
		"<!-- review-bot-reply:1:2 covers=9223372036854775808 -->":      {},
		"<!-- review-bot-reply:1:2 covers=3 state=open -->":             {},
		"<!-- review-bot-reply:1:2 state=closed covers=3 -->":           {},
		"<!-- review-bot-reply:1:2 covers=3 state=closed more=1 -->":    {},
		"<!-- review-bot-finding:security/1f3c9a2b -->":                 {},
		"":                                   {},
		"<!-- review-bot-reply:1:2 covers=3": {},
	} {
		got, rest, ok := FindReply(text)
		if got != want || ok != (want != Reply{}) {
			t.Errorf("%q: %+v %t, want %+v", text, got, ok, want)
		}
		if ok && len(text) > 60 && text[0] == 'D' && rest != "Done." {
			t.Errorf("%q: rest %q", text, rest)
		}
	}
}

func TestReplyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[1-9][0-9]{0,17}`)
		want := Reply{id.Draw(t, "review") + ":" + id.Draw(t, "root"), rapid.Int64Min(1).Draw(t, "covers"), rapid.Bool().Draw(t, "closed")}
		got, rest, ok := FindReply("text\n\n" + want.String() + "\n")
		if !ok || got != want || rest != "text" {
			t.Errorf("%+v %q %t, want %+v", got, rest, ok, want)
		}
	})
}
