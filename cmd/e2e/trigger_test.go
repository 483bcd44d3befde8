package e2e

import (
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
)

// next does something that starts a run, and returns the one run more that there is
// then, ended.
func (s stage) next(t *testing.T, what string, act func()) giteatest.Run {
	t.Helper()
	before := len(s.repo.Runs(t, ""))
	act()
	s.await(t, "a run for "+what, func() bool { return len(s.repo.Runs(t, "")) > before })
	return s.awaitEnd(t, s.repo.Runs(t, "")[0].ID)
}

// says checks what a run came to, and how often the model was asked in it.
func (s stage) says(t *testing.T, what string, run giteatest.Run, conclusion string, asked int) {
	t.Helper()
	if n := s.model.Count(); run.Conclusion != conclusion || n != asked {
		t.Fatalf("%s: run %d is a %s and the model was asked %d times in all, want a %s and %d\n%s",
			what, run.ID, run.Conclusion, n, conclusion, asked, s.repo.Logs(t, run.ID))
	}
}

// requested asks for an account's review, or takes that back, as somebody.
func requested(t *testing.T, pull *giteatest.Pull, by, of *giteatest.User, method string) {
	t.Helper()
	path := "/repos/" + pull.Repo.FullName() + "/pulls/" + strconv.FormatInt(pull.Index, 10) + "/requested_reviewers"
	pull.Repo.Server.Call(t, by.Token, method, path, map[string]any{"reviewers": []string{of.Name}}, nil)
}

// What happens to a pull request besides a push starts a run, where it matters: a draft
// that is made ready, another base branch, a request for review. The bot's own request
// starts one that asks no model, ends none and isn't followed by another.
func TestTriggers(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	var holding atomic.Bool
	s := newStage(t, func(r modeltest.Request) modeltest.Reply {
		if holding.Load() {
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		}
		return answer()
	})
	maintainer := s.srv.NewUser(t, giteatest.Unique("maintainer"))
	s.repo.AddCollaborator(t, maintainer, "write")
	// The laxer branch has the same workflow and no protection.
	s.repo.Push(t, "main", "lax", false)
	s.repo.Commit(t, "topic", "main", giteatest.Files(map[string]string{"a.go": "package app\n"}), "change")
	var pull *giteatest.Pull
	all := len(roles)

	run := s.next(t, "a draft", func() {
		pull = s.repo.OpenPull(t, giteatest.PullOptions{Head: "topic", Base: "lax", Title: "WIP: change", Unmergeable: true})
	})
	s.says(t, "a draft", run, "failure", 0)
	for _, role := range roles {
		if state := s.repo.CommitStatuses(t, pull.Head)[checkInto("lax", role)]; state != "failure" {
			t.Errorf("the draft's check of %s is a %s", role, state)
		}
	}

	s.says(t, "made ready", s.next(t, "the draft made ready", func() { pull.Edit(t, "change", "") }), "success", all)
	s.says(t, "another title", s.next(t, "another title", func() { pull.Edit(t, "a change", "more") }), "success", all)

	s.says(t, "another base branch", s.next(t, "another base branch", func() { pull.Retarget(t, "main") }), "success", 2*all)

	request := func(what string, of *giteatest.User, method string, asked int) {
		t.Helper()
		run := s.next(t, what, func() { requested(t, pull, maintainer, of, method) })
		s.says(t, what, run, "success", asked)
	}
	request("a maintainer's request", s.gpt, http.MethodPost, 2*all+1)
	request("a request to the account of two roles", s.sonnet, http.MethodPost, 3*all)
	// Taken back while its own run begins: whether that still hears it is up to the two.
	before := len(s.repo.Runs(t, ""))
	requested(t, pull, maintainer, s.gpt, http.MethodPost)
	s.await(t, "a run for one more request", func() bool { return len(s.repo.Runs(t, "")) == before+1 })
	if run := s.next(t, "a request taken back", func() { requested(t, pull, maintainer, s.gpt, http.MethodDelete) }); run.Conclusion != "success" {
		t.Errorf("run %d is a %s\n%s", run.ID, run.Conclusion, s.repo.Logs(t, run.ID))
	}

	// While a push is being judged the account requests its own review, and somebody
	// edits the title: neither ends the run for the push.
	holding.Store(true)
	asked := s.model.Count()
	sha := s.repo.Commit(t, "topic", "", giteatest.Files(map[string]string{"a.go": "package app\n\nvar b int\n"}), "on")
	s.await(t, "all roles ask the model about the push", func() bool { return s.model.Count() == asked+all })
	judging := s.repo.Runs(t, sha)[0]
	own := s.next(t, "the account's own request", func() { requested(t, pull, s.sonnet, s.sonnet, http.MethodPost) })
	s.says(t, "the account's own request", own, "failure", asked+all)
	for _, role := range roles {
		if log := s.repo.JobLog(t, job(t, s.repo, own.ID, "review ("+role+") into main").ID); !strings.Contains(log, "an account's request for its own review started this run") {
			t.Errorf("%s didn't know what started the run:\n%s", role, log)
		}
	}
	before = len(s.repo.Runs(t, ""))
	pull.Edit(t, "one more", "")
	s.await(t, "a run for the title", func() bool { return len(s.repo.Runs(t, "")) > before })
	if now := s.repo.Run(t, judging.ID); now.Status == "completed" {
		t.Fatalf("the run for the push is a %s: another event ended it", now.Conclusion)
	}
	close(hold)
	if now := s.awaitEnd(t, judging.ID); now.Conclusion != "success" {
		t.Errorf("the run for the push is a %s\n%s", now.Conclusion, s.repo.Logs(t, judging.ID))
	}
	last := s.awaitEnd(t, s.repo.Runs(t, "")[0].ID)
	s.says(t, "the title of what is judged", last, "success", asked+all)
	for _, role := range roles {
		if state := s.repo.CommitStatuses(t, sha)[check(role)]; state != "success" {
			t.Errorf("in the end the check of %s is a %s", role, state)
		}
	}
	s.quiet(t, 10*time.Second)
	if status, message := pull.TryMerge(t, s.owner); status != http.StatusOK {
		t.Errorf("merging is answered %d %q in the end", status, message)
	}
}

// quiet checks that no further run begins.
func (s stage) quiet(t *testing.T, wait time.Duration) {
	t.Helper()
	before := s.repo.Runs(t, "")
	time.Sleep(wait)
	if now := s.repo.Runs(t, ""); len(now) != len(before) {
		t.Errorf("%d further runs began within %s: %+v", len(now)-len(before), wait, now[:len(now)-len(before)])
	}
}

// Two roles on one account that disagree: a run for the opening, one for the push, and
// none after these, whatever the account does to its verdicts.
func TestDisagreement(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(r modeltest.Request) modeltest.Reply {
		if roleOf(r) == "security" && r.Contains("var bad int") {
			return answer(critical("a.go", 3, "var bad int"))
		}
		return answer()
	})
	pull := s.open(t, giteatest.Files(map[string]string{"a.go": "package app\n"}))
	s.success(t, pull.Head)
	sha := s.repo.Commit(t, "topic", "", giteatest.Files(map[string]string{"a.go": "package app\n\nvar bad int\n"}), "on")
	if run := s.ended(t, sha); run.Conclusion != "failure" {
		t.Errorf("the run that blocks is a %s", run.Conclusion)
	}
	s.quiet(t, quietFor(t))
	if n := len(s.repo.Runs(t, "")); n != 2 {
		t.Errorf("there were %d runs, want 2", n)
	}
	if status, message := pull.TryMerge(t, s.owner); status != http.StatusMethodNotAllowed {
		t.Errorf("merging is answered %d %q", status, message)
	}
}

// quietFor is how long to watch that no run begins: REVIEW_BOT_QUIET, a minute without.
func quietFor(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("REVIEW_BOT_QUIET")
	if text == "" {
		return time.Minute
	}
	wait, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("REVIEW_BOT_QUIET: %v", err)
	}
	return wait
}

// A stranger's pull request, with the workflow on pull_request_target: its jobs have
// the secrets, a draft fails the checks, and it is judged when it is made ready.
func TestTarget(t *testing.T) {
	t.Parallel()
	s := newStage(t, modeltest.ByMatch(modeltest.Match{Reply: answer()}))
	workflow := strings.Replace(s.workflow(t), "\n  pull_request:\n", "\n  pull_request_target:\n", 1)
	s.repo.Commit(t, "next", "main", giteatest.Files(map[string]string{".gitea/workflows/review.yml": workflow}), "review forks too")
	stranger := s.srv.NewUser(t, giteatest.Unique("stranger"))
	fork := s.repo.Fork(t, stranger)
	fork.Commit(t, "topic", "next", giteatest.Files(map[string]string{"a.go": "package app\n"}), "change")
	var pull *giteatest.Pull
	run := s.next(t, "a stranger's draft", func() {
		pull = s.repo.As(stranger).OpenPull(t, giteatest.PullOptions{Head: stranger.Name + ":topic", Base: "next", Title: "WIP: change", Unmergeable: true})
	})
	s.says(t, "a stranger's draft", run, "failure", 0)
	target := func(role string) string {
		return strings.Replace(checkInto("next", role), "(pull_request)", "(pull_request_target)", 1)
	}
	states := s.repo.CommitStatuses(t, pull.Head)
	for _, role := range roles {
		if states[target(role)] != "failure" {
			t.Errorf("the draft's checks are %v", states)
		}
	}
	s.says(t, "made ready", s.next(t, "a stranger's draft made ready", func() {
		path := "/repos/" + s.repo.FullName() + "/pulls/" + strconv.FormatInt(pull.Index, 10)
		s.srv.Call(t, stranger.Token, http.MethodPatch, path, map[string]any{"title": "change"}, nil)
	}), "success", len(roles))
	if list := verdicts(t, pull, s.gpt); len(list) != 1 || list[0].State != "APPROVED" || list[0].CommitID != pull.Head {
		t.Errorf("gpt's verdicts are %+v", list)
	}
	states = s.repo.CommitStatuses(t, pull.Head)
	if slices.ContainsFunc(roles, func(role string) bool { return states[target(role)] != "success" }) {
		t.Errorf("the checks are %v", states)
	}
}

// Approved, then a push that no role can judge: the accounts take their approvals back.
// Each request for that starts a run, which starts no other.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	s := newStage(t, func(modeltest.Request) modeltest.Reply {
		if broken.Load() {
			return modeltest.Fail(http.StatusBadRequest, "no such model")
		}
		return answer()
	})
	pull := s.open(t, giteatest.Files(map[string]string{"a.go": "package app\n"}))
	s.success(t, pull.Head)
	broken.Store(true)
	sha := s.repo.Commit(t, "topic", "", giteatest.Files(map[string]string{"a.go": "package app\n\nvar b int\n"}), "on")
	run := s.ended(t, sha)
	if run.Conclusion != "failure" {
		t.Errorf("the run that can't judge is a %s", run.Conclusion)
	}
	// One for each account.
	s.await(t, "runs for the accounts' own requests", func() bool { return len(s.repo.Runs(t, "")) >= 4 })
	asked := s.model.Count()
	s.quiet(t, 20*time.Second)
	if n := len(s.repo.Runs(t, "")); n != 4 {
		t.Errorf("there were %d runs, want 4", n)
	}
	if n := s.model.Count() - asked; n != 0 {
		t.Errorf("the runs that the accounts started asked the model %d times", n)
	}
	for _, account := range []*giteatest.User{s.gpt, s.sonnet} {
		if last := latest(t, pull, account); last.State == "APPROVED" && last.Official {
			t.Errorf("%s still approves: %+v", account.Name, last)
		}
	}
	for _, role := range roles {
		s.repo.SetStatus(t, sha, check(role), "success")
	}
	if status, message := pull.TryMerge(t, s.owner); status != http.StatusMethodNotAllowed {
		t.Errorf("merging is answered %d %q", status, message)
	}
}
