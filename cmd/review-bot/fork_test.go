package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
)

const forkLine = "nothing was reviewed: the pull request comes from the fork mallory/shop, and the server gives such jobs no secrets" +
	" — run the workflow on pull_request_target, or have a maintainer start it by workflow_dispatch with the input pr"

// forked is the event of a pull request whose head and base are these.
func forked(t *testing.T, n int64, head, base string) string {
	t.Helper()
	return file(t, "event.json", fmt.Sprintf(`{"number":%d,"pull_request":{"number":%d,"head":%s,"base":%s}}`, n, n, head, base))
}

const (
	theirs = `{"repo_id":2,"repo":{"id":2,"full_name":"mallory/shop","fork":true}}`
	ours   = `{"repo_id":1,"repo":{"id":1,"full_name":"alice/shop"}}`
)

// Which runs lack their secrets because of a fork, and which by mistake.
func TestForksWithoutSecrets(t *testing.T) {
	const noToken = "review-bot: no token is given — "
	g := complete(t)
	bare := g.with("GITEA_TOKEN", "").with("GITHUB_EVENT_NAME", "pull_request")
	fork := bare.with("GITHUB_EVENT_PATH", forked(t, 42, theirs, ours))
	for promise, tt := range map[string]struct {
		job  job
		want string // on stdout; else the beginning of the error
	}{
		"a fork":                        {fork, forkLine},
		"a fork, no model given":        {fork.with("REVIEW_BOT_MODEL", ""), forkLine},
		"a fork, the event has no name": {fork.with("GITHUB_EVENT_NAME", ""), forkLine},
		"a fork that was deleted":       {bare.with("GITHUB_EVENT_PATH", forked(t, 42, `{"repo_id":2,"repo":null}`, ours)), strings.Replace(forkLine, "the fork mallory/shop", "a fork", 1)},
		"a fork with a wicked name":     {bare.with("GITHUB_EVENT_PATH", forked(t, 42, `{"repo":{"id":2,"full_name":"::add-mask::x\ny"}}`, ours)), strings.Replace(forkLine, "the fork mallory/shop", "a fork", 1)},
		"a fork, the key only":          {fork.with("OPENAI_API_KEY", "k"), forkLine},
		"a fork, the token only":        {fork.with("GITEA_TOKEN", "t").with("OPENAI_BASE_URL", ""), forkLine},
		"a fork, all secrets":           {fork.with("GITEA_TOKEN", "t").with("OPENAI_API_KEY", "k"), "passes"},
		"a fork, a server without keys": {fork.with("GITEA_TOKEN", "t"), "passes"},

		"the same repository":               {bare.with("GITHUB_EVENT_PATH", forked(t, 42, ours, ours)), noToken},
		"the same, renamed meanwhile":       {bare.with("GITHUB_EVENT_PATH", forked(t, 42, `{"repo":{"id":1,"full_name":"alice/store"}}`, ours)), noToken},
		"no repositories told":              {bare.with("GITHUB_EVENT_PATH", forked(t, 42, `{}`, `{}`)), noToken},
		"no event file":                     {bare, noToken},
		"pull_request_target has secrets":   {fork.with("GITHUB_EVENT_NAME", "pull_request_target"), noToken},
		"another pull request is asked for": {fork.with("REVIEW_BOT_PR", "43"), noToken},
		"started by hand":                   {bare.with("GITHUB_EVENT_NAME", "workflow_dispatch").with("GITHUB_EVENT_PATH", file(t, "event.json", `{"inputs":{"pr":"42"}}`)), noToken},
		"a fork, no role":                   {fork.with("REVIEW_BOT_ROLE", ""), "review-bot: no role is given"},
		"a fork, a bad token file":          {fork.with("REVIEW_BOT_TOKEN_FILE", "/none"), "review-bot: --token-file: "},
	} {
		e := tt.job.run(t)
		switch {
		case tt.want == "passes":
			if !e.pastSettings(t) {
				t.Errorf("%s: exit status %d\n%s", promise, e.status, e.stderr)
			}
		case strings.HasPrefix(tt.want, "review-bot: "):
			if e.status != 2 || !strings.HasPrefix(e.errorLine(t), tt.want) {
				t.Errorf("%s: exit status %d\n%s%s", promise, e.status, e.stdout, e.stderr)
			}
		default:
			if e.status != 0 || e.stdout != tt.want+"\n" || e.stderr != "" {
				t.Errorf("%s: exit status %d, stdout\n%s, want\n%s\nstderr %q", promise, e.status, e.stdout, tt.want, e.stderr)
			}
		}
	}

	// As a required check it doesn't pass.
	if e := fork.run(t, "--fail-on-block"); e.status != 3 || e.stdout != forkLine+"\n" {
		t.Errorf("--fail-on-block: exit status %d\n%s%s", e.status, e.stdout, e.stderr)
	}
	if e := fork.run(t, "reconcile", "--fail-on-block"); e.status != 3 {
		t.Errorf("reconcile --fail-on-block: exit status %d\n%s%s", e.status, e.stdout, e.stderr)
	}

	// For machines.
	outputs := filepath.Join(t.TempDir(), "output")
	r := fork.with("GITHUB_OUTPUT", outputs).result(t)
	if r.Outcome != escalation.NoSecrets || r.Event != "none" || r.Own != "" || r.Role != "security" || len(r.Notes) != 1 || r.Notes[0] != forkLine || r.ForgeRequests != 0 {
		t.Errorf("result is %+v", r)
	}
	text, err := os.ReadFile(outputs)
	if want := "outcome=no_secrets\nevent=none\nown=\nreview-url=\nfindings=0\n"; err != nil || string(text) != want {
		t.Errorf("outputs are %v\n%swant\n%s", err, text, want)
	}

	// Reconciling comes behind the reviews, also where there were none.
	reconcile := fork.with("REVIEW_BOT_ROLE", "")
	if e := reconcile.run(t, "reconcile"); e.status != 0 || e.stdout != strings.Replace(forkLine, "reviewed", "reconciled", 1)+"\n" || e.stderr != "" {
		t.Errorf("reconcile: exit status %d\n%s%s", e.status, e.stdout, e.stderr)
	}
	var rec reviewer.Reconciliation
	if e := reconcile.run(t, "reconcile", "--json"); json.Unmarshal([]byte(e.stdout), &rec) != nil || len(rec.Notes) != 1 || e.status != 0 {
		t.Errorf("reconcile --json: exit status %d\n%s", e.status, e.stdout)
	}
	if e := bare.run(t, "reconcile"); e.status != 2 || !strings.HasPrefix(e.errorLine(t), noToken) {
		t.Errorf("reconcile without a token, no fork: exit status %d\n%s", e.status, e.stderr)
	}
}

// The notice is left once, whoever has written one like it before.
func TestForkNotice(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": "a\n"})
	reader, outsider := b.srv.NewUser(t, giteatest.Unique("automatic")), b.srv.NewUser(t, giteatest.Unique("mallory"))
	pull := b.open(t, giteatest.Files(map[string]string{"b.txt": "b\n"}))
	m := model(t, modeltest.Sequence())
	j := b.job(pull, m, "logic").with("GITEA_TOKEN", "").with("GITHUB_TOKEN", reader.Token).with("GITHUB_EVENT_NAME", "pull_request").
		with("GITHUB_EVENT_PATH", forked(t, pull.Index, theirs, ours))
	comments := func() (texts []string) {
		for _, e := range pull.Timeline(t) {
			if e.Type == "comment" && e.User.Login == reader.Name {
				texts = append(texts, e.Body)
			}
		}
		return texts
	}

	if e := j.run(t, "--quiet-forks"); e.status != 0 || len(comments()) != 0 {
		t.Errorf("--quiet-forks: exit status %d, %d comments\n%s", e.status, len(comments()), e.stderr)
	}
	if e := j.with("REVIEW_BOT_QUIET_FORKS", "true").run(t); e.status != 0 || len(comments()) != 0 {
		t.Errorf("REVIEW_BOT_QUIET_FORKS: exit status %d, %d comments\n%s", e.status, len(comments()), e.stderr)
	}
	if e := j.run(t, "--dry-run"); e.status != 0 || len(comments()) != 0 {
		t.Errorf("--dry-run: exit status %d, %d comments\n%s", e.status, len(comments()), e.stderr)
	}

	// The author writes one beforehand, so that there would be silence.
	b.srv.Call(t, outsider.Token, "POST", fmt.Sprintf("/repos/%s/issues/%d/comments", b.repo.FullName(), pull.Index), map[string]any{"body": "fine\n\n" + forkMark}, nil)

	// A matrix: three jobs at once.
	results := make(chan ended, 3)
	for _, role := range []string{"logic", "security", "tests"} {
		go func() { results <- j.with("REVIEW_BOT_ROLE", role).run(t) }()
	}
	left := 0
	for range 3 {
		e := <-results
		if e.status != 0 || !strings.Contains(e.stdout, "nothing was reviewed: ") || e.stderr != "" {
			t.Errorf("exit status %d\n%s%s", e.status, e.stdout, e.stderr)
		}
		left += strings.Count(e.stdout, "note: a comment on the pull request says so")
	}
	texts := comments()
	if len(texts) != 1 || left != 1 {
		t.Fatalf("%d comments, %d told of, want 1: %q", len(texts), left, texts)
	}
	for _, want := range []string{"**Nothing was reviewed.**", "the fork `mallory/shop`", "silence is no approval", "`pull_request_target`", "`workflow_dispatch`", "\n\n" + forkMark} {
		if !strings.Contains(texts[0], want) {
			t.Errorf("the comment doesn't say %q:\n%s", want, texts[0])
		}
	}

	// Again: nothing more. And by the variable of its own.
	e := j.with("GITHUB_TOKEN", "").with("REVIEW_BOT_NOTICE_TOKEN", reader.Token).run(t, "--json")
	var r reviewer.Result
	if err := json.Unmarshal([]byte(e.stdout), &r); err != nil || r.Outcome != escalation.NoSecrets || len(r.Notes) != 1 || r.ForgeRequests == 0 || len(comments()) != 1 {
		t.Errorf("again: %v, %d comments\n%s%s", err, len(comments()), e.stdout, e.stderr)
	}
	if len(pull.Reviews(t)) != 0 || m.Count() != 0 {
		t.Errorf("%d reviews, %d questions to the model; want none", len(pull.Reviews(t)), m.Count())
	}
	var reactions []reaction
	b.srv.Call(t, b.bot.Token, "GET", fmt.Sprintf("/repos/%s/issues/%d/reactions", b.repo.FullName(), pull.Index), nil, &reactions)
	if len(reactions) != 0 {
		t.Errorf("a lock was left: %+v", reactions)
	}

	// A token that may not comment changes nothing about the outcome.
	e = j.with("GITHUB_TOKEN", "no-such-token-at-all").run(t)
	if e.status != 0 || !strings.Contains(e.stdout, "note: the comment that says so couldn't be left: ") || strings.Contains(e.stdout, "no-such-token") {
		t.Errorf("a bad token: exit status %d\n%s%s", e.status, e.stdout, e.stderr)
	}
}

// fakeBoard is a forge for notices.
type fakeBoard struct {
	who     error
	locked  int // how many tries for the lock fail
	react   error
	entries []reviewer.Entry
	said    int
	freed   int
}

func (f *fakeBoard) Account(context.Context) (reviewer.User, error) {
	return reviewer.User{ID: 7}, f.who
}
func (f *fakeBoard) Reviews(context.Context) ([]reviewer.Row, error) { return nil, nil }
func (f *fakeBoard) Timeline(context.Context, time.Time, []reviewer.Row) ([]reviewer.Entry, error) {
	return f.entries, nil
}
func (f *fakeBoard) Say(context.Context, string) (int64, error) { f.said++; return 1, nil }
func (f *fakeBoard) React(context.Context, string) (bool, time.Time, error) {
	f.locked--
	return f.locked < 0 && f.react == nil, time.Time{}, f.react
}
func (f *fakeBoard) Unreact(context.Context, string) error { f.freed++; return nil }

func TestWhenTheNoticeIsLeft(t *testing.T) {
	standing := func(user int64) []reviewer.Entry {
		return []reviewer.Entry{{Kind: escalation.EntryComment, User: user, Body: "x\n\n" + forkMark + "\r\n"}}
	}
	for promise, tt := range map[string]struct {
		forge       *fakeBoard
		off         bool
		said, freed int
	}{
		"first":                               {&fakeBoard{}, false, 1, 1},
		"it stands":                           {&fakeBoard{entries: standing(7)}, false, 0, 0},
		"another's stands":                    {&fakeBoard{entries: standing(8)}, false, 1, 1},
		"a token that can't say whose it is":  {&fakeBoard{who: errors.New("no"), entries: standing(actionsUser)}, false, 0, 0},
		"the same, and another's stands":      {&fakeBoard{who: errors.New("no"), entries: standing(7)}, false, 1, 1},
		"the lock is held for a while":        {&fakeBoard{locked: 3}, false, 1, 1},
		"the lock is that of a dead job":      {&fakeBoard{locked: 1000}, false, 1, 0},
		"the lock isn't to be had":            {&fakeBoard{react: errors.New("no")}, false, 1, 0},
		"no lock is wanted":                   {&fakeBoard{}, true, 1, 0},
		"quoted in a comment of its own":      {&fakeBoard{entries: []reviewer.Entry{{Kind: escalation.EntryComment, User: 7, Body: forkMark + "\nno"}}}, false, 1, 1},
		"in a review, which may be withdrawn": {&fakeBoard{entries: []reviewer.Entry{{Kind: escalation.EntryReview, User: 7, Body: forkMark}}}, false, 1, 1},
	} {
		left, err := notice{tt.forge, !tt.off, func(context.Context, time.Duration) {}}.leave(t.Context(), "a fork")
		if err != nil || tt.forge.said != tt.said || tt.forge.freed != tt.freed || left != (tt.said > 0) {
			t.Errorf("%s: left %v, %v; said %d times, want %d; lock released %d times, want %d", promise, left, err, tt.forge.said, tt.said, tt.forge.freed, tt.freed)
		}
	}
}
