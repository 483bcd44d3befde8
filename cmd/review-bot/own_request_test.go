package main

import (
	"fmt"
	"testing"

	"review-bot/escalation"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/sentinel"
)

// requested is the event that an account's review was requested.
func requested(t *testing.T, pull *giteatest.Pull, head string, by, of int64) string {
	t.Helper()
	return file(t, "event.json", fmt.Sprintf(`{"action":"review_requested","number":%d,
		"sender":{"id":%d},"requested_reviewer":{"id":%d},
		"pull_request":{"number":%d,"head":{"sha":%q}}}`, pull.Index, by, of, pull.Index, head))
}

// The account takes a verdict back by requesting its own review, and the server starts
// a job for that: it asks no model and writes nothing, and its exit status says what
// the forge does.
func TestOwnRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": numbered(5, "\n")})
	branch := giteatest.Unique("topic")
	b.repo.Commit(t, branch, "main", giteatest.Files(map[string]string{"b.txt": "one\n"}), "change")
	pull := b.repo.OpenPull(t, giteatest.PullOptions{Head: branch})
	m := says(t)
	asked := func(head string, by, of int64) job {
		event := requested(t, pull, head, by, of)
		return b.job(pull, m, "logic").with("GITHUB_EVENT_NAME", "pull_request").with("GITHUB_EVENT_PATH", event)
	}
	own := func(head string) job { return asked(head, b.bot.ID, b.bot.ID) }
	check := func(what string, e ended, status int) {
		t.Helper()
		if e.status != status {
			t.Errorf("%s: exit status %d, want %d\n%s%s", what, e.status, status, e.stdout, e.stderr)
		}
	}

	check("nobody has judged", own(pull.Head).run(t, "--fail-on-block"), 3)
	check("nor with another command", own(pull.Head).run(t, "reconcile", "--fail-on-block"), 3)
	if n := len(pull.Reviews(t)); n != 0 || m.Count() != 0 {
		t.Fatalf("a run that the account has started left %d reviews and asked the model %d times", n, m.Count())
	}

	if r := b.job(pull, m, "logic").result(t); r.Event != sentinel.Approved {
		t.Fatalf("result is %+v", r)
	}
	check("approved", own(pull.Head).run(t, "--fail-on-block"), 0)
	check("approved, reconcile", own(pull.Head).run(t, "reconcile", "--fail-on-block"), 0)
	check("approved, another commit", own("2222222222222222222222222222222222222222").run(t, "--fail-on-block"), 3)

	// What the account has taken back no longer lets the commit pass, and isn't put back.
	pull.RequestReview(t, b.bot, b.bot)
	rows, calls := pull.Reviews(t), m.Count()
	check("taken back", own(pull.Head).run(t, "--fail-on-block"), 3)
	check("taken back, reconcile", own(pull.Head).run(t, "reconcile", "--fail-on-block"), 3)
	if now := pull.Reviews(t); len(now) != len(rows) || m.Count() != calls {
		t.Errorf("a run that the account has started wrote: %+v\nbefore: %+v", now, rows)
	}

	// A push that isn't judged yet: it is left to its own run.
	sha := b.repo.Commit(t, branch, "", giteatest.Files(map[string]string{"c.txt": "two\n"}), "on")
	pull.Settle(t, sha)
	check("a push", own(sha).run(t, "--fail-on-block"), 3)
	if m.Count() != calls {
		t.Error("a run that the account has started asked the model about a push")
	}

	// So is a request of another account for its own review.
	check("another account's", asked(sha, b.owner.ID, b.owner.ID).run(t, "--fail-on-block"), 3)
	if m.Count() != calls {
		t.Error("a run that a person has started for themselves asked the model")
	}

	// A person's request for the account's review is heard.
	if r := asked(sha, b.owner.ID, b.bot.ID).result(t, "--fail-on-block"); r.Event != sentinel.Approved ||
		m.Count() == calls {
		t.Errorf("a maintainer's request: %+v, %d calls", r, m.Count()-calls)
	}
}

func TestDraftFailsTheCheck(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": numbered(5, "\n")})
	pull := b.open(t, giteatest.Files(map[string]string{"b.txt": "one\n"}))
	pull.Edit(t, "WIP: later", "")
	j := b.job(pull, says(t), "logic")
	if e := j.run(t, "--fail-on-block"); e.status != 3 {
		t.Errorf("exit status %d\n%s%s", e.status, e.stdout, e.stderr)
	}
	if r := j.result(t); r.Outcome != escalation.Draft || len(pull.Reviews(t)) != 0 {
		t.Errorf("result is %+v", r)
	}
}
