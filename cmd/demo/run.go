package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sourcegraph/conc/pool"

	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
)

//go:embed script.json
var script []byte

type runCmd struct{}

// Run is the whole demonstration.
func (runCmd) Run(w *world) (err error) {
	root, err := giteatest.Root()
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "review-bot-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	bot := filepath.Join(tmp, "review-bot")
	build := exec.CommandContext(w.ctx, "go", "build", "-o", bot, "./cmd/review-bot")
	build.Dir, build.Stderr = root, w.stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building review-bot: %w", err)
	}
	model, stop, err := startModel(w)
	if err != nil {
		return err
	}
	defer stop()
	srv, err := giteatest.Start(w.ctx, giteatest.Options{Root: root, Progress: w.stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	fmt.Fprintf(w.stdout, "Gitea runs at %s, the model %s\n", srv.URL, model)
	return giteatest.Try(w.ctx, func(tb giteatest.TB) {
		s := seed(tb, srv)
		fmt.Fprintf(w.stdout, "alice opened %s/%s/pulls/%d, “Search users by name”, with defects planted in it\n", srv.URL, s.repo.FullName(), s.pull.Index)
		jobs := []job{{"security", s.sonnet}, {"sonnet", s.sonnet}, {"gpt", s.gpt}}
		fmt.Fprintln(w.stdout, "three jobs review it at the same time, two of them with one account")
		// As in a matrix of jobs; each one's log is shown when all have ended.
		p := pool.NewWithResults[string]().WithContext(w.ctx)
		for _, j := range jobs {
			p.Go(func(ctx context.Context) (string, error) { return j.review(ctx, w, bot, model, srv, s) })
		}
		logs, err := p.Wait()
		slices.Sort(logs)
		for _, log := range logs {
			fmt.Fprint(w.stdout, log)
		}
		if err != nil {
			tb.Fatalf("%v", err)
		}
		show(tb, w, s)
		if err := s.work(w.ctx, w, bot, srv); err != nil {
			tb.Fatalf("%v", err)
		}
	})
}

// modelServer is the endpoint that the roles ask.
type modelServer struct{ url, key, name string }

func (m modelServer) String() string { return m.name + " at " + m.url }

// startModel starts the scripted model, unless the environment names a real one.
func startModel(w *world) (m modelServer, stop func(), err error) {
	m = modelServer{url: w.env("OPENAI_BASE_URL"), key: w.env("OPENAI_API_KEY"), name: w.env("REVIEW_BOT_MODEL")}
	if m.name != "" && (m.url != "" || m.key != "") {
		return m, func() {}, nil
	}
	answers, err := modeltest.LoadScript(bytes.NewReader(script))
	if err != nil {
		return m, nil, err
	}
	srv := modeltest.New(answers, modeltest.Models("scripted-1"))
	return modelServer{url: srv.URL(), name: "scripted-1"}, srv.Close, nil
}

// job is one role's run.
type job struct {
	role string
	as   *giteatest.User
}

// review runs the real program, as a job would, and returns its log.
func (j job) review(ctx context.Context, w *world, bot string, model modelServer, srv *giteatest.Server, s shop) (string, error) {
	cmd := s.command(ctx, w, bot, srv, j.as, "--role", j.role)
	cmd.Env = append(cmd.Env, "REVIEW_BOT_MODEL="+model.name, "OPENAI_API_KEY="+model.key)
	if model.url != "" {
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+model.url)
	}
	var log bytes.Buffer
	fmt.Fprintf(&log, "\n$ review-bot --role %s          # as %s\n", j.role, j.as.Name)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Run(); err != nil {
		return log.String(), fmt.Errorf("review-bot --role %s: %w", j.role, err)
	}
	return log.String(), nil
}

// command is the real program on the shop's pull request, run by a user.
func (s shop) command(ctx context.Context, w *world, bot string, srv *giteatest.Server, as *giteatest.User, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, bot, args...)
	cmd.Env = []string{
		"PATH=" + w.env("PATH"), "HOME=" + w.env("HOME"),
		"GITHUB_SERVER_URL=" + srv.URL, "GITHUB_REPOSITORY=" + s.repo.FullName(),
		fmt.Sprintf("GITHUB_REF=refs/pull/%d/head", s.pull.Index), "GITEA_TOKEN=" + as.Token,
	}
	return cmd
}

// work shows what the author goes through next.
func (s shop) work(ctx context.Context, w *world, bot string, srv *giteatest.Server) error {
	fmt.Fprintf(w.stdout, "\n%s\nalice works through it\n\n$ review-bot threads\n", strings.Repeat("─", 72))
	cmd := s.command(ctx, w, bot, srv, s.alice, "threads")
	cmd.Stdout, cmd.Stderr = w.stdout, w.stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("review-bot threads: %w", err)
	}
	return nil
}

// show prints what stands on the pull request, and what the forge says about
// merging it.
func show(tb giteatest.TB, w *world, s shop) {
	fmt.Fprintf(w.stdout, "\n%s\nWhat stands on the pull request now\n", strings.Repeat("─", 72))
	for _, r := range s.pull.Reviews(tb) {
		fmt.Fprintf(w.stdout, "\n● %s by %s, official: %v\n\n%s", r.State, r.User.Login, r.Official, quote(r.Body))
		for _, c := range s.pull.Comments(tb, r.ID) {
			place := fmt.Sprintf("line %d", c.Position)
			if c.Position == 0 {
				place = fmt.Sprintf("deleted line %d", c.Original)
			}
			fmt.Fprintf(w.stdout, "\n  ○ on %s, %s\n\n%s", c.Path, place, quote(c.Body))
		}
	}
	status, message := s.pull.TryMerge(tb, s.alice)
	fmt.Fprintf(w.stdout, "\nalice presses “merge”: %d %s\n", status, message)
}

var hidden = regexp.MustCompile(`(?s)<!--.*?-->\n?`)

// quote indents a text as people see it, without the hidden markers.
func quote(s string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(hidden.ReplaceAllString(s, ""))) {
		b.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
	}
	return b.String()
}
