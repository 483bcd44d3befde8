package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
	"review-bot/sentinel"
)

func TestMain(m *testing.M) { os.Exit(giteatest.Main(m)) }

// bench is a repository on a real Gitea with an owner and a bot.
type bench struct {
	srv   *giteatest.Server
	owner *giteatest.User
	bot   *giteatest.User
	repo  *giteatest.Repo
}

func newBench(t *testing.T, files map[string]string) bench {
	t.Helper()
	srv := giteatest.Get(t)
	b := bench{srv: srv, owner: srv.NewUser(t, giteatest.Unique("owner")), bot: srv.NewUser(t, giteatest.Unique("bot"))}
	b.repo = srv.NewRepo(t, b.owner, "app", giteatest.RepoOptions{Files: files})
	b.repo.AddCollaborator(t, b.bot, "write")
	b.repo.Protect(t, "main", giteatest.Protection{RequiredApprovals: 1, BlockOnRejectedReviews: true})
	return b
}

// open commits an edit on a branch and opens a pull request.
func (b bench) open(t *testing.T, edit giteatest.Edit) *giteatest.Pull {
	t.Helper()
	branch := giteatest.Unique("topic")
	b.repo.Commit(t, branch, "main", edit, "change")
	return b.repo.OpenPull(t, giteatest.PullOptions{Head: branch})
}

// job is one invocation of the program, as an Actions job makes it.
type job struct {
	env map[string]string
}

func (b bench) job(pull *giteatest.Pull, model *modeltest.Server, role string) job {
	return job{map[string]string{
		"GITHUB_SERVER_URL": b.srv.URL, "GITHUB_REPOSITORY": b.repo.FullName(),
		"GITHUB_REF":  fmt.Sprintf("refs/pull/%d/head", pull.Index),
		"GITEA_TOKEN": b.bot.Token, "OPENAI_BASE_URL": model.URL(), "REVIEW_BOT_MODEL": "scripted-1", "REVIEW_BOT_ROLE": role,
	}}
}

func (j job) with(name, value string) job {
	env := map[string]string{}
	for k, v := range j.env {
		env[k] = v
	}
	env[name] = value
	return job{env}
}

type ended struct {
	status         int
	stdout, stderr string
}

func (j job) run(t *testing.T, args ...string) ended {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), args, j.env, strings.NewReader(""), &stdout, &stderr)
	return ended{status(err), stdout.String(), stderr.String()}
}

// result runs with --json and wants the exit status 0.
func (j job) result(t *testing.T, args ...string) reviewer.Result {
	t.Helper()
	e := j.run(t, append(args, "--json")...)
	if e.status != 0 {
		t.Fatalf("exit status %d\n%s%s", e.status, e.stdout, e.stderr)
	}
	var r reviewer.Result
	if err := json.Unmarshal([]byte(e.stdout), &r); err != nil {
		t.Fatalf("stdout is not one JSON object: %v\n%s", err, e.stdout)
	}
	return r
}

// errorLine is what the program said about its failure: the only line of stderr
// that begins with its name.
func (e ended) errorLine(t *testing.T) string {
	t.Helper()
	var found []string
	for line := range strings.Lines(e.stderr) {
		if line = strings.TrimPrefix(line, "::error::"); strings.HasPrefix(line, "review-bot: ") {
			found = append(found, strings.TrimRight(line, "\n"))
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d error lines, want 1:\n%s", len(found), e.stderr)
	}
	return found[0]
}

// says makes a model that always gives these findings.
func says(t *testing.T, findings ...prompts.Finding) *modeltest.Server {
	t.Helper()
	return model(t, modeltest.ByMatch(modeltest.Match{Reply: modeltest.Answer(answer(findings...))}))
}

func model(t *testing.T, script modeltest.Script, opts ...modeltest.Option) *modeltest.Server {
	t.Helper()
	srv := modeltest.New(script, opts...)
	t.Cleanup(srv.Close)
	return srv
}

func answer(findings ...prompts.Finding) prompts.Answer {
	if findings == nil {
		findings = []prompts.Finding{}
	}
	return prompts.Answer{Summary: "Changes things.", Findings: findings, Retained: []string{}}
}

// at is a finding of high severity on a line of the new side.
func at(path string, line int, quote string) prompts.Finding {
	return prompts.Finding{
		Path: path, Line: line, EndLine: line, Side: "new", Quote: quote, Severity: prompts.High, Category: "logic",
		Title: "Title of " + quote, Body: "Body of it.",
	}
}

func oldSide(f prompts.Finding) prompts.Finding { f.Side = "old"; return f }

func severe(f prompts.Finding, s prompts.Severity) prompts.Finding { f.Severity = s; return f }

// only is the one review on the pull request.
func only(t *testing.T, pull *giteatest.Pull) giteatest.Review {
	t.Helper()
	reviews := pull.Reviews(t)
	if len(reviews) != 1 {
		t.Fatalf("%d reviews on the pull request, want 1: %+v", len(reviews), reviews)
	}
	return reviews[0]
}

func parsed(t *testing.T, review giteatest.Review) (sentinel.Body, sentinel.Sentinel) {
	t.Helper()
	body, s, err := sentinel.Split(review.Body)
	if err != nil {
		t.Fatalf("no sentinel on the last line: %v\n%s", err, review.Body)
	}
	return body, s
}
