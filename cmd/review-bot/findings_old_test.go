package main

import (
	"strings"
	"testing"

	"review-bot/prompts"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/sentinel"
)

// Comments of the time before markers had versions are findings like others:
// shown, and kept unless somebody replies, as nobody knows at which commit they were
// made. So are those in reviews without a sentinel.
func TestUnversionedMarkers(t *testing.T) {
	t.Parallel()
	for _, withSentinel := range []bool{false, true} {
		name := "in a review without a sentinel"
		if withSentinel {
			name = "in a review with one"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			body := "Two things."
			if withSentinel {
				body = sentinel.Body{Text: body}.With(sentinel.Sentinel{
					Role: "logic", Version: 1, Kind: sentinel.KindVerdict, Own: sentinel.RequestChanges, Event: sentinel.RequestChanges,
					Head: s.pull.Head, Round: 1, Run: strings.Repeat("0a", 16),
				}, sentinel.NewKey("an older token", s.repo.FullName(), s.pull.Index))
			}
			old := func(text, marker string) string { return text + "\n\nIt breaks.\n\n" + marker }
			s.pull.Review(t, s.bot, giteatest.ReviewInput{Event: "REQUEST_CHANGES", Body: body, Comments: []giteatest.CommentInput{
				{Path: storyFile, NewPosition: 5, Body: old(trouble("code(5)"), oldMarker)},
				{Path: storyFile, NewPosition: 9, Body: old("**high** "+trouble("code(9)"), "<!-- review-bot-finding:logic/1f3c9a2b -->")},
				{Path: storyFile, NewPosition: 12, Body: old(trouble("code(12)"), "<!-- review-bot-finding:logic/1f3c9a2c -->")},
				{Path: storyFile, NewPosition: 15, Body: old(trouble("code(15)"), "<!-- review-bot-finding:tests/1f3c9a2d -->")},
			}})
			s.pull.Reply(t, s.author, s.conversation(t, "code(12)").ID, "on purpose")
			s.push(t, onTop(1))
			j := s.endless(t)
			var shown []shownEarlier
			r := s.ask(t, j, func(earlier []shownEarlier) prompts.Answer {
				shown = earlier
				return keepsOnly("code(9)")(earlier)
			})
			if len(shown) != 3 || len(keeping(shown, "code(5)")) != 1 || len(keeping(shown, "code(9)")) != 1 || len(keeping(shown, "code(12)")) != 1 {
				t.Errorf("the model is shown %+v, want three", shown)
			}
			got := map[string]finding.State{}
			for _, f := range r.Findings {
				for _, text := range []string{"code(5)", "code(9)", "code(12)", "code(15)"} {
					if strings.Contains(f.Title, text) {
						got[text] = f.State
					}
				}
			}
			if got["code(5)"] != finding.Retained || got["code(9)"] != finding.Retained || got["code(12)"] != finding.Answered ||
				r.Own != sentinel.RequestChanges {
				t.Errorf("%v, %+v", got, r)
			}
			s.wantResolved(t, map[string]bool{"code(5)": false, "code(9)": false, "code(12)": false, "code(15)": false})
			if n := len(s.inlines(t)); n != 4 {
				t.Errorf("%d inline comments, want the four there were", n)
			}

			// They are remembered under the same ids.
			s.push(t, onTop(1))
			s.ask(t, j, func(again []shownEarlier) prompts.Answer {
				for _, text := range []string{"code(9)", "code(12)"} {
					if a, b := keeping(shown, text), keeping(again, text); len(a) != 1 || len(b) != 1 || a[0] != b[0] {
						t.Errorf("%s has the ids %q and %q", text, a, b)
					}
				}
				return keepsAll(again)
			})
		})
	}
}
