package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
)

// A title with [skip ci] starts no run for the new base branch, and the forge counts the
// approvals and the checks of the old one on: they belong to the commit. The checks that
// main requires name main, so they are missing.
func TestRetargetedWithoutARun(t *testing.T) {
	t.Parallel()
	s := newStage(t, findsEvil)
	s.repo.Commit(t, "lax", "main", giteatest.Files(map[string]string{"evil.go": "package app\n\nvar evil int\n"}), "not reviewed")
	s.repo.Commit(t, "topic", "lax", giteatest.Files(map[string]string{"a.go": "package app\n"}), "change")
	pull := s.repo.OpenPull(t, giteatest.PullOptions{Head: "topic", Base: "lax"})
	s.success(t, pull.Head)
	for _, role := range roles {
		if state := s.repo.CommitStatuses(t, pull.Head)[checkInto("lax", role)]; state != "success" {
			t.Errorf("into lax the check of %s is %q", role, state)
		}
	}

	pull.Edit(t, "change [skip ci]", "")
	pull.Retarget(t, "main")
	s.quiet(t, 5*time.Second)
	for _, account := range []*giteatest.User{s.gpt, s.sonnet} {
		if last := latest(t, pull, account); last.State != "APPROVED" || !last.Official {
			t.Errorf("the approval of %s counts no more, and nothing is shown: %+v", account.Name, last)
		}
	}
	if status, message := pull.TryMerge(t, s.owner); status != http.StatusMethodNotAllowed || !strings.Contains(message, "required status checks") {
		t.Errorf("merging is answered %d %q, want a 405 about required status checks", status, message)
	}

	// With a title that starts runs main's own verdict comes.
	if run := s.next(t, "another title", func() { pull.Edit(t, "change", "") }); run.Conclusion != "failure" {
		t.Errorf("the run into main is a %s\n%s", run.Conclusion, s.repo.Logs(t, run.ID))
	}
	for _, role := range roles {
		if state := s.repo.CommitStatuses(t, pull.Head)[check(role)]; state != "failure" {
			t.Errorf("into main the check of %s is %q", role, state)
		}
	}
}

// The run of a draft into main, started again when the pull request is no draft and goes
// into another branch, has its old name: its check must not pass what is judged then.
func TestRunAgainForAnotherBase(t *testing.T) {
	t.Parallel()
	s := newStage(t, findsEvil)
	s.repo.Commit(t, "lax", "main", giteatest.Files(map[string]string{"evil.go": "package app\n\nvar evil int\n"}), "not reviewed")
	s.repo.Commit(t, "topic", "lax", giteatest.Files(map[string]string{"a.go": "package app\n"}), "change")
	pull := s.repo.OpenPull(t, giteatest.PullOptions{Head: "topic", Title: "WIP: change", Unmergeable: true})
	run := s.ended(t, pull.Head)
	pull.Edit(t, "change [skip ci]", "")
	pull.Retarget(t, "lax")
	s.repo.Rerun(t, run.ID)
	s.await(t, "the run has been made again", func() bool {
		return !slices.ContainsFunc(s.repo.Jobs(t, run.ID), func(j giteatest.Job) bool {
			return j.Attempt != 2 || j.Status != "completed"
		})
	})
	if n := s.model.Count(); n != len(roles) {
		t.Errorf("the model was asked %d times about the change into lax, want once by each role", n)
	}
	for _, role := range roles {
		if state := s.repo.CommitStatuses(t, pull.Head)[check(role)]; state != "failure" {
			t.Errorf("into main the check of %s is %q\n%s", role, state, s.repo.Logs(t, run.ID))
		}
	}
	pull.Retarget(t, "main")
	if status, message := pull.TryMerge(t, s.owner); status != http.StatusMethodNotAllowed || !strings.Contains(message, "required status checks") {
		t.Errorf("merging is answered %d %q, want a 405 about required status checks", status, message)
	}
}

// findsEvil is a model that every role asks, and that reports the one line.
func findsEvil(r modeltest.Request) modeltest.Reply {
	if r.Contains("var evil int") {
		return answer(critical("evil.go", 3, "var evil int"))
	}
	return answer()
}
