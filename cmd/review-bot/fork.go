package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/reviewer/gitea"
)

// noSecrets tells whether a run may lack secrets because the pull request comes
// from a fork, and then names the fork. Such a run is no failure: there is nothing
// that its author could do about it.
func (f targetFlags) noSecrets(env map[string]string) (fork string, ok bool) {
	e, err := readEvent(env)
	if err != nil || !e.secretless() {
		return "", false
	}
	t, err := f.place(env)
	if err != nil || t.number != e.pull {
		return "", false
	}
	if !repoPattern.MatchString(e.fork) {
		return "a fork", true
	}
	return "the fork " + e.fork, true
}

// unreviewed says why nothing was reviewed and what to do.
func unreviewed(fork string) string {
	return "nothing was reviewed: the pull request comes from " + fork + ", and the server gives such jobs no secrets" +
		" — run the workflow on pull_request_target, or have a maintainer start it by workflow_dispatch with the input pr"
}

// withoutSecrets ends a review that has no token, or no key for the model, because
// the pull request comes from a fork. done is false if that isn't so.
func (c *reviewCmd) withoutSecrets(w *world) (done bool, err error) {
	fork, ok := c.noSecrets(w.env)
	if !ok || c.Role == "" {
		return false, nil
	}
	token, err := c.secret(w.env)
	if err != nil {
		return true, err
	}
	key, err := secretValue(w.env, c.APIKey, c.APIKeyFile, "--api-key-file", "REVIEW_BOT_API_KEY", "OPENAI_API_KEY")
	if err != nil {
		return true, err
	}
	// Other endpoints than the built-in one may do without a key: they know best.
	if token != "" && (key != "" || c.BaseURL != "") {
		return false, nil
	}
	t, err := c.place(w.env)
	if err != nil {
		return true, err
	}
	line := unreviewed(fork)
	r := reviewer.Result{
		Role: c.Role, Outcome: escalation.NoSecrets, Event: "none", Headline: line, Findings: []reviewer.FindingResult{}, Gate: []string{}, DryRun: c.DryRun,
	}
	out := newOutput(w, c.JSON)
	if c.JSON {
		r.Notes = []string{line}
	}
	t.token = w.env["REVIEW_BOT_NOTICE_TOKEN"]
	if t.token == "" {
		t.token = w.env["GITHUB_TOKEN"]
	}
	if t.token != "" && !c.QuietForks && !c.DryRun {
		forge := t.forge()
		left, err := notice{forge: forge, lock: c.Lock != "off", sleep: sleep}.leave(w.ctx, fork)
		switch {
		case w.ctx.Err() != nil:
			return true, err
		case err != nil:
			// The verdict on the job is the same: it couldn't have reviewed.
			r.Notes = append(r.Notes, fmt.Sprintf("the comment that says so couldn't be left: %v", err))
		case left:
			r.Notes = append(r.Notes, "a comment on the pull request says so")
		}
		r.ForgeRequests = forge.Requests()
	}
	if err := out.end(r); err != nil {
		return true, err
	}
	return true, exit(exitOf(r, subject{}, c.FailOnBlock))
}

// withoutSecrets ends a reconciliation that has no token because the pull request
// comes from a fork: no role has reviewed there. done is false if that isn't so.
func (c *reconcileCmd) withoutSecrets(w *world) (done bool, err error) {
	fork, ok := c.noSecrets(w.env)
	if !ok {
		return false, nil
	}
	if token, err := c.secret(w.env); err != nil || token != "" {
		return err != nil, err
	}
	line := strings.Replace(unreviewed(fork), "reviewed", "reconciled", 1)
	r := reviewer.Reconciliation{Roles: []reviewer.Result{}, Gate: []string{}, Notes: []string{line}, DryRun: c.DryRun}
	if out := newOutput(w, c.JSON); c.JSON {
		err = out.endReconcile(r)
	} else {
		err = out.print(line + "\n")
	}
	if err != nil || !c.FailOnBlock {
		return true, err
	}
	return true, exit(exitRefused, "")
}

// forkMark is the hidden line of the comment that says that nobody has reviewed.
const forkMark = "<!-- review-bot-notice:fork -->"

// board is what leaving a comment takes of a forge.
type board interface {
	Account(ctx context.Context) (reviewer.User, error)
	Reviews(ctx context.Context) ([]reviewer.Row, error)
	Timeline(ctx context.Context, since time.Time, rows []reviewer.Row) ([]reviewer.Entry, error)
	Say(ctx context.Context, body string) (int64, error)
	React(ctx context.Context, content string) (added bool, created time.Time, err error)
	Unreact(ctx context.Context, content string) error
}

var _ board = (*gitea.Client)(nil)

// notice is the comment that says that nobody has reviewed, so that silence isn't
// taken for approval.
type notice struct {
	forge board
	lock  bool // a matrix has several jobs, which would each write it
	sleep func(context.Context, time.Duration)
}

// actionsUser is the account of a job's automatic token, on Gitea and on Forgejo.
const actionsUser = -2

// noticeTries is how often a job looks whether another one has left the comment,
// a second apart, before it takes that one for dead.
const noticeTries = 10

// leave writes the comment, unless one stands already.
func (n notice) leave(ctx context.Context, fork string) (left bool, err error) {
	me, err := n.forge.Account(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return false, err
		}
		me.ID = actionsUser // a token may be kept from asking whose it is
	}
	for try := 1; ; try++ {
		if stands, err := n.stands(ctx, me); stands || err != nil {
			return false, err
		}
		if !n.lock || try > noticeTries {
			return n.write(ctx, fork)
		}
		added, _, err := n.forge.React(ctx, reviewer.DefaultLock)
		switch {
		case ctx.Err() != nil && !added:
			return false, ctx.Err()
		case err != nil: // better twice than not at all
			return n.write(ctx, fork)
		case added:
			defer func() {
				releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewer.Grace/2)
				defer cancel()
				_ = n.forge.Unreact(releasing, reviewer.DefaultLock) // it expires by itself
			}()
			if stands, err := n.stands(ctx, me); stands || err != nil {
				return false, err
			}
			return n.write(ctx, fork)
		}
		n.sleep(ctx, time.Second)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
}

// stands tells whether the account has left the comment already. One that others
// wrote doesn't count: the pull request's author could write it beforehand.
func (n notice) stands(ctx context.Context, me reviewer.User) (bool, error) {
	rows, err := n.forge.Reviews(ctx)
	if err != nil {
		return false, err
	}
	entries, err := n.forge.Timeline(ctx, time.Time{}, rows)
	return slices.ContainsFunc(entries, func(e reviewer.Entry) bool {
		return e.Kind == escalation.EntryComment && e.User == me.ID && strings.HasSuffix(strings.TrimSpace(e.Body), forkMark)
	}), err
}

// write writes the comment. It isn't cut off in the middle.
func (n notice) write(ctx context.Context, fork string) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	started, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewer.Grace)
	defer cancel()
	_, err := n.forge.Say(started, noticeText(fork))
	return err == nil, err
}

func noticeText(fork string) string {
	if _, name, ok := strings.Cut(fork, "the fork "); ok {
		fork = "the fork `" + name + "`"
	}
	return "**Nothing was reviewed.** This pull request comes from " + fork + ", and the server gives the jobs of such a pull request no secrets: " +
		"the bot has no token to review with. Nobody has read this change, so silence is no approval.\n\n" +
		"A maintainer can have it reviewed: by running the workflow on `pull_request_target` (nothing of the pull request is ever executed), " +
		"or by starting it by hand (`workflow_dispatch`) with this pull request's number as the input `pr`.\n\n" + forkMark
}
