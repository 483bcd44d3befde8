package reviewer_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
	"review-bot/reviewer/untrusted"
	"review-bot/sentinel"
)

// desk is a pull request in memory and the runs on it.
type desk struct {
	*testing.T
	forge *forgetest.Forge
	hook  forgetest.Hook
	set   reviewer.Settings
	log   []string
}

func newDesk(t *testing.T) *desk {
	return &desk{
		T: t, forge: forgetest.New(
			forgetest.Options{Protection: &forgetest.Protection{BlockOnRejected: true, RequiredApprovals: 1}}),
		set: reviewer.Settings{
			Role: "logic", Repo: "owner/repo", Number: 1, Model: "gpt-5", Instructions: "Look.", BlockOn: prompts.High,
			Inline:    reviewer.InlineReview,
			MaxTokens: reviewer.DefaultMaxTokens, MaxCalls: reviewer.DefaultMaxCalls, MaxRounds: reviewer.DefaultMaxRounds,
			Lock:      reviewer.DefaultLock,
			LockTimes: escalation.LockTimes{Wait: time.Second},
		},
	}
}

// says is a model that always gives the same answer.
type says struct {
	answer prompts.Answer
	err    error
	while  func()
}

func (m says) Review(context.Context, prompts.Request) (prompts.Answer, reviewer.Usage, error) {
	if m.while != nil {
		m.while()
	}
	return m.answer, reviewer.Usage{Model: "gpt-5", Calls: 1}, m.err
}

var approving = says{answer: prompts.Answer{Summary: "Fine."}}

func (d *desk) env(m reviewer.Model) reviewer.Env {
	view := d.forge.As("bot")
	view.Hook = d.hook
	return reviewer.Env{
		Forge: view, Model: m, Token: "token of the bot", Secrets: untrusted.NewMasker(), Random: rand.Reader,
		Now:   d.forge.Now,
		Sleep: func(_ context.Context, t time.Duration) { d.forge.Advance(max(t, time.Second)) },
		Log:   func(p reviewer.Progress) { d.log = append(d.log, p.Phase+" "+p.Text) },
	}
}

func (d *desk) run(m reviewer.Model) (reviewer.Result, error) {
	d.Helper()
	d.forge.Advance(3 * time.Second)
	return reviewer.Review(d.Context(), d.set, d.env(m))
}

func (d *desk) approve() {
	d.Helper()
	if r, err := d.run(approving); err != nil || r.Event != sentinel.Approved {
		d.Fatalf("%v, %+v\n%s", err, r, strings.Join(d.log, "\n"))
	}
	d.merges("")
}

// merges asks the merge endpoint.
func (d *desk) merges(want string) {
	d.Helper()
	if ok, why := d.forge.Mergeable(); ok != (want == "") || !ok && !strings.Contains(why, want) {
		d.Errorf("merged: %v, %q; want %q\n%s", ok, why, want, d.forge.Dump())
	}
}

const unapproved = "enough approvals"

// held fails unless a hold is all of the account's that counts.
func (d *desk) held() {
	d.Helper()
	rows, _ := d.forge.As("bot").Reviews(d.Context())
	rows = slices.DeleteFunc(rows, func(r reviewer.Row) bool { return !r.Official })
	if len(rows) != 1 || rows[0].State != escalation.RowRequestChanges || !strings.Contains(rows[0].Body, "kind=hold") {
		d.Errorf("what counts is %+v", rows)
	}
	d.merges(unapproved)
}

// An approval doesn't outlive what it was for, however the run for the next head ends.
func TestNoRunLeavesAnotherHeadApproved(t *testing.T) {
	push := func(d *desk) { d.forge.Push("author", map[string]string{"new.go": "package evil\n"}) }
	fails := func(op forgetest.Op, after int) func(*desk) {
		return func(d *desk) {
			d.hook = func(c forgetest.Call) error {
				if c.Op != op || c.Done {
					return nil
				}
				if after--; after < 0 && after > -3 {
					return errors.New("broken")
				}
				return nil
			}
		}
	}
	for _, tt := range []struct {
		name    string
		before  func(*desk)
		model   says
		outcome escalation.Outcome
	}{
		{"the model fails", push, says{err: errors.New("the model server is gone")}, escalation.Failed},
		{"the diff can't be read", func(d *desk) { push(d); fails(forgetest.GetDiff, 0)(d) }, approving, escalation.Failed},
		{"a draft", func(d *desk) { push(d); d.forge.SetTitle("author", "WIP: evil") }, approving, escalation.Draft},
		{"a push while the model thinks", func(*desk) {}, says{while: nil}, escalation.HeadMoved},
		{"nothing is changed", func(d *desk) { d.forge.Push("author", undone()) }, approving, escalation.Skipped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.approve()
			d.forge.Advance(3 * time.Second)
			tt.before(d)
			if tt.outcome == escalation.HeadMoved {
				push(d)
				tt.model = says{answer: approving.answer, while: func() { push2(d) }}
			}
			r, err := d.run(tt.model)
			if r.Outcome != tt.outcome || (err != nil) != (tt.outcome == escalation.Failed) {
				t.Fatalf("outcome %s, %v\n%s", r.Outcome, err, strings.Join(d.log, "\n"))
			}
			if d.forge.SetTitle("author", "Ready"); len(r.Gate) != 0 {
				t.Errorf("the result says the gate is %v", r.Gate)
			}
			d.merges(unapproved)
			if err := d.forge.RemoveRequest("author", "bot"); err != nil {
				t.Fatal(err)
			}
			d.held() // the hold is back, and not the approval
			d.hook = nil
			if _, err := d.run(says{err: errors.New("again")}); (err == nil) != (tt.outcome == escalation.Skipped) {
				t.Errorf("again it ends with %v", err)
			}
			d.held()
			if tt.outcome != escalation.Skipped {
				d.approve()
			}
		})
	}
}

func push2(d *desk) { d.forge.Push("author", map[string]string{"new.go": "package worse\n"}) }

// undone are the files as they are in the base.
func undone() map[string]string {
	files := forgetest.BaseFiles()
	for path := range forgetest.HeadFiles() {
		if _, ok := files[path]; !ok {
			files[path] = forgetest.Gone
		}
	}
	return files
}

// A run that can't do that says what is left.
func TestARunThatCantEndSaysWhatHoldsTheGate(t *testing.T) {
	for name, broken := range map[string]forgetest.Op{"the forge is down": forgetest.GetReviews, "no lock is to be had": forgetest.React} {
		d := newDesk(t)
		d.approve()
		push2(d)
		asked := false
		d.hook = func(c forgetest.Call) error {
			if c.Op == broken && asked {
				return errors.New("broken")
			}
			return nil
		}
		_, err := d.run(says{err: errors.New("no model"), while: func() { asked = true }})
		if err == nil || !strings.Contains(err.Error(), "no model") ||
			!strings.Contains(err.Error(), "only the required check") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		d.forge.SetTitle("author", "WIP: later")
		asked = true
		if _, err = d.run(approving); broken == forgetest.React &&
			(err == nil || !strings.Contains(err.Error(), "only the required check")) {
			t.Errorf("%s, a draft: %v", name, err)
		}
	}
}

// A dead sibling's block is said by a run that fails.
func TestAFailedRunSaysABlockThatWasLost(t *testing.T) {
	d := newDesk(t)
	key := sentinel.NewKey("token of the bot", "owner/repo", 1)
	pull, _ := d.forge.As("bot").Pull(t.Context())
	body := sentinel.Body{Text: "Bad."}.With(sentinel.Sentinel{
		Role: "security", Version: 1, Kind: sentinel.KindVerdict, Own: sentinel.RequestChanges,
		Event: sentinel.RequestChanges, Head: pull.Head,
		Run: strings.Repeat("a", 32),
	}, key)
	if _, err := d.forge.As("bot").PostReview(t.Context(), reviewer.NewReview{Event: sentinel.RequestChanges, Commit: pull.Head, Body: body}); err != nil {
		t.Fatal(err)
	}
	if err := d.forge.As("author").RequestReview(t.Context(), "bot"); err != nil { // unblocks it
		t.Fatal(err)
	}
	d.merges(unapproved)
	r, err := d.run(says{err: errors.New("no model")})
	if err == nil || !slices.Equal(r.Gate, []string{"request_changes"}) {
		t.Errorf("%v, gate %v", err, r.Gate)
	}
	d.merges(unapproved)
}

// What is read after a write begins early enough: nothing that a person edited, or
// that was marked before, is written over. Seconds pass between the steps.
func TestWhatAPersonEditedStaysEdited(t *testing.T) {
	d := newDesk(t)
	d.set.RepostStale = true // a new review for every head
	texts := func() []string {
		entries, _ := d.forge.As("bot").Timeline(t.Context(), time.Time{}, nil)
		var list []string
		for _, e := range entries {
			if e.Kind == escalation.EntryReview {
				list = append(list, e.Body)
			}
		}
		return list
	}
	next := func(n int) {
		t.Helper()
		d.forge.Advance(3 * time.Second)
		d.forge.Push("author", map[string]string{"new.go": fmt.Sprintf("package p%d\n", n)})
		d.approve()
	}
	d.approve()
	d.forge.Advance(3 * time.Second)
	rows, _ := d.forge.As("bot").Reviews(t.Context())
	if err := d.forge.As("owner").EditReview(t.Context(), rows[0].CommentID, "I disagree."); err != nil {
		t.Fatal(err)
	}
	var before []string
	for n := range 4 {
		next(n)
		now := texts()
		if len(now) != n+2 || now[0] != "I disagree." {
			t.Fatalf("after head %d:\n%s", n, strings.Join(now, "\n---\n"))
		}
		for i := range len(before) - 1 { // the newest of before is superseded now
			if now[i] != before[i] {
				t.Errorf("review %d was rewritten:\n%s\n---\n%s", i, before[i], now[i])
			}
		}
		before = now
	}
	if !strings.Contains(before[1], "Superseded by") {
		t.Errorf("not superseded:\n%s", before[1])
	}
}

// A run that is told to stop, whatever it is doing, still takes back what would let the
// head be merged that it doesn't approve, and tries so once.
func TestAStoppedRunLeavesNothingUnreadApproved(t *testing.T) {
	bad := says{answer: prompts.Answer{Summary: "Bad.", Findings: []prompts.Finding{{
		Path: "new.go", Side: "new", Quote: "package worse", Severity: prompts.High, Category: "logic", Title: "Worse", Body: "It is.",
	}}}}
	stopped := 0
	for n := 0; ; n++ {
		d := newDesk(t)
		d.approve()
		push2(d)
		d.forge.Advance(3 * time.Second)
		ctx, stop := context.WithCancelCause(t.Context())
		var mu sync.Mutex // requests are made side by side
		calls, holds := 0, 0
		d.hook = func(c forgetest.Call) error {
			mu.Lock()
			defer mu.Unlock()
			if c.Done && c.Op == forgetest.PostReview {
				holds++
			}
			if c.Done {
				if calls++; calls > n {
					stop(errors.New("stopped by SIGTERM"))
				}
			}
			return nil
		}
		_, err := reviewer.Review(ctx, d.set, d.env(bad))
		d.hook = nil
		if ctx.Err() == nil {
			break // it made no more requests
		}
		if err != nil {
			stopped++
		}
		if ok, _ := d.forge.Mergeable(); ok {
			t.Errorf("stopped after %d requests, with %v: what nobody has judged can be merged\n%s", n+1, err, strings.Join(d.log, "\n"))
		}
		if reactions, _, err := d.forge.As("bot").Reactions(t.Context()); err != nil || len(reactions) > 0 {
			t.Errorf("stopped after %d requests it leaves the lock: %v, %v", n+1, reactions, err)
		}
		if holds > 1 {
			t.Errorf("stopped after %d requests it posts %d reviews", n+1, holds)
		}
	}
	if stopped < 10 {
		t.Errorf("only %d runs were stopped", stopped)
	}
}

// mistaken is a configuration with a mistake in the base branch's file.
type mistaken struct{ flags }

func (mistaken) Effective([]byte) (reviewer.Settings, reviewer.Model, error) {
	return reviewer.Settings{}, nil, errors.New("no such setting")
}

// A mistake in the configuration leaves what flags say: a run that may only look writes
// nothing, and one that takes an approval back takes the lock.
func TestAMistakenConfigurationKeepsTheFlags(t *testing.T) {
	d := newDesk(t)
	d.approve()
	push2(d)
	run := func() {
		t.Helper()
		env := d.env(approving)
		env.Configuration = mistaken{}
		if r, err := reviewer.Review(t.Context(), d.set, env); err == nil || r.DryRun != d.set.DryRun {
			t.Fatalf("%v, %+v", err, r)
		}
	}
	before := d.forge.Dump()
	d.set.DryRun = true
	run()
	if after := d.forge.Dump(); after != before {
		t.Errorf("it wrote:\n%s", after)
	}
	d.set.DryRun = false
	var locked atomic.Bool
	d.hook = func(c forgetest.Call) error {
		if c.Op == forgetest.React {
			locked.Store(true)
		}
		return nil
	}
	if run(); !locked.Load() {
		t.Error("it wrote without the lock")
	}
	d.merges(unapproved)
}
