// Package e2e tests the whole: the workflow and the action as a user has them, on a
// real Gitea with a real runner, from another repository of the instance. Only the
// model is scripted.
package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"review-bot/prompts"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
)

func TestMain(m *testing.M) { os.Exit(giteatest.Main(m)) }

// limit bounds every wait: a run takes about five seconds on an idle machine.
const limit = 3 * time.Minute

const modelKey = "key-of-the-model"

// The roles of the workflow file. The latter two are on one account.
var roles = []string{"gpt", "sonnet", "security"}

// product is what this project publishes: its repository, with a release.
type product struct {
	root    string
	repo    *giteatest.Repo
	files   map[string]string // of the repository
	program []byte
	sum     string // of the program, sha256
	release string // commit of the release
}

var made struct {
	sync.Once
	product
	err error
}

func theProduct(t *testing.T) product {
	t.Helper()
	srv := giteatest.Get(t)
	made.Do(func() {
		made.err = giteatest.Try(context.Background(), func(tb giteatest.TB) { made.product = publish(tb, srv) }) //nolint:usetesting // it outlives the test that was first
	})
	if made.err != nil {
		t.Fatal(made.err)
	}
	return made.product
}

func publish(tb giteatest.TB, srv *giteatest.Server) product {
	root, err := giteatest.Root()
	if err != nil {
		tb.Fatalf("%v", err)
	}
	p := product{root: root, files: sources(tb, root)}
	file := filepath.Join(srv.Dir(), "review-bot")
	// As install.sh does it: what is built once needn't be built again.
	build := exec.CommandContext(tb.Context(), "go", "-C", root, "build", "-trimpath", "-ldflags", "-s -w", "-o", file, "./cmd/review-bot")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("go build: %v\n%s", err, out)
	}
	if p.program, err = os.ReadFile(file); err != nil {
		tb.Fatalf("%v", err)
	}
	p.sum = sum(p.program)
	p.repo = sourceRepo(tb, srv, srv.NewUser(tb, giteatest.Unique("maker")), p.files)
	p.release = p.repo.Commit(tb, "release", "main", giteatest.Files(map[string]string{actionFolder + "/RELEASE": releaseFile(released, p.files, p.program)}), "Release "+released)
	p.repo.Release(tb, released, p.release, map[string][]byte{asset(): p.program})
	srv.Call(tb, p.repo.Owner.Token, http.MethodPost, "/repos/"+p.repo.FullName()+"/tags", map[string]any{"tag_name": "v1", "target": p.release}, nil)
	return p
}

// released is the version of the release, to whose commit the tag v1 points too.
const released = "v1.4.2"

func asset() string { return "review-bot-" + runtime.GOOS + "-" + runtime.GOARCH }

// sourceRepo is a repository with the project's source. Its own workflows don't run.
func sourceRepo(tb giteatest.TB, srv *giteatest.Server, owner *giteatest.User, files map[string]string) *giteatest.Repo {
	repo := srv.NewRepo(tb, owner, "review-bot", giteatest.RepoOptions{})
	srv.Call(tb, owner.Token, http.MethodPatch, "/repos/"+repo.FullName(), map[string]any{"has_actions": false}, nil)
	repo.Commit(tb, "main", "", giteatest.Files(files), "the source")
	return repo
}

// sources are the project's files as they stand in the working tree.
func sources(tb giteatest.TB, root string) map[string]string {
	list := exec.CommandContext(tb.Context(), "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	out, err := list.Output()
	if err != nil {
		tb.Fatalf("git ls-files in %s: %v", root, err)
	}
	files := map[string]string{}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			tb.Fatalf("%v", err)
		}
		files[name] = string(text)
	}
	return files
}

// stage is a user's repository: with the workflow file, secrets and variables, two
// bot accounts, a protected branch and a runner. The bot reaches the server through a
// proxy that sees all of its requests.
type stage struct {
	product

	srv                *giteatest.Server
	owner, gpt, sonnet *giteatest.User
	repo               *giteatest.Repo
	runner             *giteatest.Runner
	jobs               giteatest.RunnerOptions // the runner's
	proxy              *giteatest.Proxy
	model              *modeltest.Server
	secrets            map[string]string // of the workflow
}

func newStage(t *testing.T, script modeltest.Script, env ...string) stage {
	t.Helper()
	srv := giteatest.Get(t)
	s := stage{product: theProduct(t), srv: srv}
	s.owner, s.gpt, s.sonnet = srv.NewUser(t, giteatest.Unique("owner")), srv.NewUser(t, giteatest.Unique("gpt")), srv.NewUser(t, giteatest.Unique("sonnet"))
	s.proxy = srv.NewProxy(t)
	t.Cleanup(func() { _ = s.proxy.Close() })
	s.model = modeltest.New(script, modeltest.APIKey(modelKey))
	t.Cleanup(s.model.Close)
	s.repo = srv.NewRepo(t, s.owner, "app", giteatest.RepoOptions{Files: map[string]string{"README.md": "# app\n"}})
	for _, bot := range []*giteatest.User{s.gpt, s.sonnet} {
		s.repo.AddCollaborator(t, bot, "write")
	}
	scopes := []string{"write:repository", "write:issue", "read:user"}
	s.secrets = map[string]string{
		"GPT_REVIEW_TOKEN": srv.NewToken(t, s.gpt, scopes...), "SONNET_REVIEW_TOKEN": srv.NewToken(t, s.sonnet, scopes...), "OPENAI_API_KEY": modelKey,
	}
	for name, value := range s.secrets {
		s.repo.SetSecret(t, name, value)
	}
	s.repo.SetVariable(t, "OPENAI_BASE_URL", s.model.URL())
	s.repo.Commit(t, "main", "", giteatest.Files(map[string]string{".gitea/workflows/review.yml": s.workflow(t)}), "review pull requests")
	var checks []string
	for _, role := range roles {
		checks = append(checks, check(role))
	}
	s.repo.Protect(t, "main", giteatest.Protection{RequiredApprovals: 1, BlockOnRejectedReviews: true, StatusChecks: checks})
	s.jobs = giteatest.RunnerOptions{Env: append(env, "REVIEW_BOT_SERVER="+s.proxy.URL)}
	s.runner = s.startRunner(t, s.owner, s.jobs)
	return s
}

// poll is giteatest's, with another runner once it takes long. A runner asks only for
// what is newer than the list of jobs that it was told of, and the server may count a
// list as newer before its last job can be seen: then the job waits until there is one
// more. A runner that was told of no list takes it.
func (s stage) poll(t *testing.T, what string, done func() (bool, error)) error {
	t.Helper()
	if giteatest.Poll(t.Context(), limit/3, what, done) == nil {
		return nil
	}
	t.Logf("another runner is started, as this takes long: %s", what)
	s.startRunner(t, s.owner, s.jobs)
	return giteatest.Poll(t.Context(), limit, what, done)
}

// awaitEnd waits until a run and all its jobs are completed.
func (s stage) awaitEnd(t *testing.T, run int64) giteatest.Run {
	t.Helper()
	_ = s.poll(t, fmt.Sprintf("run %d ends", run), func() (bool, error) {
		return !slices.ContainsFunc(s.repo.Jobs(t, run), func(j giteatest.Job) bool { return j.Status != "completed" }), nil
	})
	return s.repo.AwaitEnd(t, limit, run) // it says what there is if the run hasn't ended
}

func (s stage) startRunner(t *testing.T, owner *giteatest.User, opts giteatest.RunnerOptions) *giteatest.Runner {
	t.Helper()
	runner := s.srv.StartRunner(t, owner, opts)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(runner.Log())
		}
		if err := runner.Close(); err != nil {
			t.Error(err)
		}
	})
	return runner
}

// check is the context of the role's commit status for main.
func check(role string) string { return checkInto("main", role) }

func checkInto(base, role string) string {
	return "review / review (" + role + ") into " + base + " (pull_request)"
}

var usesAction = regexp.MustCompile(`uses: \$\{\{ github\.server_url \}\}/\$\{\{ github\.repository_owner \}\}/review-bot/(\.gitea/actions/review)@main`)

// workflow is the file that users copy, with the address of the action's repository
// as the only change.
func (s stage) workflow(t *testing.T) string {
	t.Helper()
	text := s.files[".gitea/workflows/review.yml"]
	if n := len(usesAction.FindAllString(text, -1)); n != 3 || strings.Count(text, "uses:") != n+1 { // one in a comment
		t.Fatalf(".gitea/workflows/review.yml uses the action %d times, not in its 3 steps as this test knows them:\n%s", n, text)
	}
	return usesAction.ReplaceAllString(text, "uses: "+s.srv.URL+"/"+s.product.repo.FullName()+"/$1@v1")
}

// open pushes a branch and opens a pull request.
func (s stage) open(t *testing.T, edit giteatest.Edit) *giteatest.Pull {
	t.Helper()
	s.repo.Commit(t, "topic", "main", edit, "change")
	return s.repo.OpenPull(t, giteatest.PullOptions{Head: "topic"})
}

// ended waits for the run at a commit, and for its end.
func (s stage) ended(t *testing.T, sha string) giteatest.Run {
	t.Helper()
	return s.awaitEnd(t, s.repo.AwaitRun(t, limit, sha).ID)
}

// success is ended, and wants that all jobs succeeded.
func (s stage) success(t *testing.T, sha string) giteatest.Run {
	t.Helper()
	run := s.ended(t, sha)
	if run.Conclusion != "success" {
		t.Fatalf("run %d is a %s\n%s", run.ID, run.Conclusion, s.repo.Logs(t, run.ID))
	}
	return run
}

func job(t *testing.T, repo *giteatest.Repo, run int64, name string) giteatest.Job {
	t.Helper()
	for _, j := range repo.Jobs(t, run) {
		if j.Name == name {
			return j
		}
	}
	t.Fatalf("run %d has no job %q\n%s", run, name, repo.Logs(t, run))
	return giteatest.Job{}
}

// roleOf is the role that a request to the model is made for.
func roleOf(r modeltest.Request) string {
	for _, role := range roles {
		if r.Contains("# Your role: " + role + "\n") {
			return role
		}
	}
	return ""
}

func answer(findings ...prompts.Finding) modeltest.Reply {
	if findings == nil {
		findings = []prompts.Finding{}
	}
	return modeltest.Answer(prompts.Answer{Summary: "Changes things.", Findings: findings, Retained: []string{}})
}

func critical(path string, line int, quote string) prompts.Finding {
	return prompts.Finding{
		Path: path, Line: line, EndLine: line, Side: "new", Quote: quote, Severity: prompts.Critical, Category: "security",
		Title: "Title of " + quote, Body: "Body of it.",
	}
}

// verdicts are the reviews of an account that say something to the gate.
func verdicts(t *testing.T, pull *giteatest.Pull, of *giteatest.User) (list []giteatest.Review) {
	t.Helper()
	for _, r := range pull.Reviews(t) {
		if r.User.ID == of.ID && (r.State == "APPROVED" || r.State == "REQUEST_CHANGES") {
			list = append(list, r)
		}
	}
	return list
}

// texts are the reviews' texts as they stand now, by the review's id: what the
// timeline has, byte for byte.
func texts(t *testing.T, pull *giteatest.Pull) map[int64]string {
	t.Helper()
	found := map[int64]string{}
	for _, e := range pull.Timeline(t) {
		if e.Type == "review" {
			found[e.ReviewID] = string(e.Raw)
		}
	}
	return found
}

func lines(requests []giteatest.Request) string {
	var b bytes.Buffer
	for _, r := range requests {
		fmt.Fprintf(&b, "%s → %d\n", r.Line(), r.Status)
	}
	return b.String()
}
