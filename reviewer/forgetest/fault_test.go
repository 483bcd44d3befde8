package forgetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
	"review-bot/sentinel"
)

var errCut = errors.New("connection reset by peer")

// at is a hook that fails at one moment.
func at(c forgetest.Call, err error) forgetest.Hook {
	return func(now forgetest.Call) error {
		if now.Account = ""; now == c {
			return err
		}
		return nil
	}
}

func comments(t *testing.T, v reviewer.Forge, review int64) []string {
	t.Helper()
	list, err := v.Comments(t.Context(), review)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, c := range list {
		texts = append(texts, c.Body)
	}
	return texts
}

func rows(t *testing.T, v reviewer.Forge) []reviewer.Row {
	t.Helper()
	list, err := v.Reviews(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestARequestThatIsCutOffBeforehandDoesNothing(t *testing.T) {
	f := forgetest.New(forgetest.Options{})
	key, bot := f.Key(), f.As("bot")
	bot.Hook = at(forgetest.Call{Op: forgetest.PostReview}, errCut)
	_, err := bot.PostReview(t.Context(), review(t, bot, sentinel.Approved, "yes", "one"))
	if !errors.Is(err, errCut) || errors.Is(err, reviewer.ErrUnknown) {
		t.Errorf("error %v, want the hook's, and no doubt", err)
	}
	if f.Key() != key {
		t.Errorf("the forge has changed to\n%s", f.Dump())
	}
}

func TestAWriteWhoseAnswerIsLostHappensAndIsUnknown(t *testing.T) {
	ctx := t.Context()
	f := forgetest.New(forgetest.Options{})
	bot := f.As("bot")
	row := post(t, bot, sentinel.Approved, "yes")
	for op, write := range map[forgetest.Op]func() error{
		forgetest.PostReview:    func() error { _, err := bot.PostReview(ctx, review(t, bot, sentinel.Comment, "hm")); return err },
		forgetest.EditReview:    func() error { return bot.EditReview(ctx, row.CommentID, "edited") },
		forgetest.RequestReview: func() error { return bot.RequestReview(ctx, "bot2") },
		forgetest.Say:           func() error { _, err := bot.Say(ctx, "hello"); return err },
		forgetest.React:         func() error { _, _, err := bot.React(ctx, "rocket"); return err },
	} {
		key := f.Key()
		bot.Hook = at(forgetest.Call{Op: op, Done: true}, errCut)
		if err := write(); !errors.Is(err, reviewer.ErrUnknown) || !errors.Is(err, errCut) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line of ErrUnknown", op, err)
		}
		bot.Hook = nil
		if !op.Writes() || f.Key() == key {
			t.Errorf("%s didn't happen", op)
		}
	}
	bot.Hook = at(forgetest.Call{Op: forgetest.GetPull, Done: true}, errCut)
	if _, err := bot.Pull(ctx); !errors.Is(err, errCut) || errors.Is(err, reviewer.ErrUnknown) {
		t.Errorf("a read: error %v, want the hook's and no doubt: it changed nothing", err)
	}
}

func TestABrokenPostLeavesItsFirstCommentsPending(t *testing.T) {
	f := forgetest.New(forgetest.Options{})
	for steps, hook := range map[bool]forgetest.Hook{
		false: at(forgetest.Call{Op: forgetest.PostReview}, fmt.Errorf("as planned: %w", forgetest.BrokenPost{Comments: 2})),
		true:  at(forgetest.Call{Op: forgetest.PostReview, Step: 3}, errCut),
	} {
		bot := f.Clone().As("bot")
		n := review(t, bot, sentinel.Approved, "yes", "one", "two", "three")
		bot.Hook, bot.Steps = hook, steps
		if _, err := bot.PostReview(t.Context(), n); !errors.Is(err, reviewer.ErrUnknown) {
			t.Errorf("steps %t: error %v, want ErrUnknown", steps, err)
		}
		list := rows(t, bot)
		if len(list) != 1 || list[0].State != escalation.RowPending {
			t.Fatalf("steps %t: rows %+v, want one that is pending", steps, list)
		}
		if got := comments(t, bot, list[0].ID); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("steps %t: comments %q", steps, got)
		}
	}
}

func TestPostsInStepsMixTheirComments(t *testing.T) {
	f := forgetest.New(forgetest.Options{})
	one, two := f.As("bot"), f.As("bot")
	one.Steps = true
	var inner reviewer.Row
	one.Hook = func(c forgetest.Call) error {
		if c.Op == forgetest.PostReview && c.Step == 2 {
			inner = post(t, two, sentinel.RequestChanges, "two", "2a")
		}
		return nil
	}
	outer := post(t, one, sentinel.Approved, "one", "1a", "1b")
	if a, b := comments(t, one, inner.ID), comments(t, one, outer.ID); !slices.Equal(a, []string{"1a", "2a"}) || !slices.Equal(b, []string{"1b"}) {
		t.Errorf("comments %q and %q, want 1a with the other review's", a, b)
	}
}

func TestASharedForgeLosesNothing(t *testing.T) {
	shared := forgetest.Share(forgetest.New(forgetest.Options{}))
	n := review(t, shared.As("bot"), sentinel.Comment, "hm", "a", "b", "c")
	var won sync.Map
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			bot := shared.As("bot")
			bot.Steps = true
			if _, err := bot.PostReview(t.Context(), n); err != nil {
				t.Error(err)
			}
			if added, _, err := bot.React(t.Context(), "rocket"); err != nil {
				t.Error(err)
			} else if added {
				won.Store(i, true)
			}
		})
	}
	wg.Wait()
	total, winners := 0, 0
	for _, r := range rows(t, shared.As("bot")) {
		total += r.Comments
	}
	won.Range(func(any, any) bool { winners++; return true })
	if total != 24 || winners != 1 {
		t.Errorf("%d comments, %d who got the reaction; want 24 and 1", total, winners)
	}
	shared.Do(func(f *forgetest.Forge) {
		if ok, why := f.Mergeable(); !ok {
			t.Error(why)
		}
	})
}

func TestACanceledContextSendsNothing(t *testing.T) {
	bot := forgetest.New(forgetest.Options{}).As("bot")
	bot.Hook = func(c forgetest.Call) error { t.Errorf("sent %+v", c); return nil }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bot.Pull(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestAnApprovalPostedBeforeThePushIsWorkedOffIsDismissed(t *testing.T) {
	f := forgetest.New(forgetest.Options{Protection: &forgetest.Protection{DismissStale: true}})
	bot := f.As("bot")
	old := review(t, bot, sentinel.Approved, "yes")
	head := f.BeginPush("author", map[string]string{"new.go": "better\n"})
	if ok, why := f.Mergeable(); ok || why != "Please try again later" {
		t.Errorf("mergeable %t, %q", ok, why)
	}
	if p, err := bot.Pull(t.Context()); err != nil || p.Head != head {
		t.Errorf("head %s, %v; want %s", p.Head, err, head)
	}
	if _, err := bot.PostReview(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	f.EndPush()
	if list := rows(t, bot); len(list) != 1 || !list[0].Dismissed || !list[0].Stale || !list[0].Official {
		t.Errorf("rows %+v, want the approval dismissed and stale", list)
	}
}

func TestAReplyIsACommentOfTheSameReview(t *testing.T) {
	f := forgetest.New(forgetest.Options{})
	bot := f.As("bot")
	row := post(t, bot, sentinel.Comment, "hm", "question")
	list, err := bot.Comments(t.Context(), row.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Reply("author", list[0].ID, "answer"); err != nil {
		t.Fatal(err)
	}
	if got := comments(t, bot, row.ID); !slices.Equal(got, []string{"question", "answer"}) {
		t.Errorf("comments %q", got)
	}
	if _, err := f.Reply("author", row.CommentID, "answer"); err == nil {
		t.Error("an answer to what is no inline comment was taken")
	}
}
