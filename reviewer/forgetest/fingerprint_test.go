package forgetest

import (
	"testing"

	"review-bot/reviewer"
	"review-bot/sentinel"
)

// Each part changes with what shows it, and with nothing else.
func TestFingerprint(t *testing.T) {
	ctx := t.Context()
	f := New(Options{Protection: &Protection{BlockOnRejected: true}})
	bot := f.As("bot")
	var last reviewer.Row
	for _, test := range []struct {
		name string
		do   func() error
		want [4]bool // pull, reviews, timeline, reactions change
	}{
		{"nothing", func() error { return nil }, [4]bool{}},
		{"a reaction", func() error { _, _, err := bot.React(ctx, "rocket"); return err }, [4]bool{false, false, false, true}},
		{"its removal", func() error { return bot.Unreact(ctx, "rocket") }, [4]bool{false, false, false, true}},
		{"a review", func() (err error) {
			pull, _ := bot.Pull(ctx)
			last, err = bot.PostReview(ctx, reviewer.NewReview{Event: sentinel.RequestChanges, Commit: pull.Head, Body: "no", Comments: []reviewer.NewComment{on("here")}})
			return err
		}, [4]bool{false, true, true, false}},
		{"a resolved conversation", func() error { return f.Resolve("owner", inlineOf(f)) }, [4]bool{false, false, true, false}},
		{"the same again", func() error { return f.Resolve("writer", inlineOf(f)) }, [4]bool{}},
		{"a reopened conversation", func() error { return bot.Resolve(ctx, inlineOf(f), false) }, [4]bool{false, false, true, false}},
		{"a reply", func() error { _, err := f.Reply("author", inlineOf(f), "why?"); return err }, [4]bool{false, true, true, false}},
		{"an edited inline comment", func() error { return bot.EditComment(ctx, inlineOf(f), "there") }, [4]bool{false, false, true, false}},
		{"an edit", func() error { return bot.EditReview(ctx, last.CommentID, "still no") }, [4]bool{false, false, true, false}},
		{"a dismissal", func() error { return f.Dismiss("owner", last.ID, "yes", false) }, [4]bool{false, true, true, false}},
		{"an ordinary comment", func() error { _, err := bot.Say(ctx, "hello"); return err }, [4]bool{false, false, true, false}},
		{"a push", func() error { f.Push("author", map[string]string{"a.go": "package x\n"}); return nil }, [4]bool{true, false, false, false}},
		{"a forgotten commit", func() error { f.Forget(f.history[1].sha); return nil }, [4]bool{true, false, false, false}},
	} {
		before := f.Fingerprint()
		if err := test.do(); err != nil {
			t.Fatal(err)
		}
		after := f.Fingerprint()
		got := [4]bool{before.Pull != after.Pull, before.Reviews != after.Reviews, before.Timeline != after.Timeline, before.Reactions != after.Reactions}
		if got != test.want {
			t.Errorf("%s changes %v, want %v", test.name, got, test.want)
		}
	}
}

// inlineOf is the oldest inline comment's id.
func inlineOf(f *Forge) int64 {
	for _, c := range f.comments {
		if c.kind == inline {
			return c.id
		}
	}
	return 0
}
