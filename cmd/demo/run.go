package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

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
		for _, job := range []struct {
			role string
			as   *giteatest.User
		}{{"security", s.sonnet}, {"sonnet", s.sonnet}, {"gpt", s.gpt}} {
			fmt.Fprintf(w.stdout, "\n$ review-bot --role %s          # as %s\n", job.role, job.as.Name)
			if err := review(w, bot, model, srv, s, job.role, job.as); err != nil {
				tb.Fatalf("review-bot --role %s: %v", job.role, err)
			}
		}
		show(tb, w, s)
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

// review runs the real program, as a job would.
func review(w *world, bot string, model modelServer, srv *giteatest.Server, s shop, role string, as *giteatest.User) error {
	cmd := exec.CommandContext(w.ctx, bot, "--role", role)
	cmd.Env = []string{
		"PATH=" + w.env("PATH"), "HOME=" + w.env("HOME"),
		"GITHUB_SERVER_URL=" + srv.URL, "GITHUB_REPOSITORY=" + s.repo.FullName(),
		fmt.Sprintf("GITHUB_REF=refs/pull/%d/head", s.pull.Index),
		"GITEA_TOKEN=" + as.Token, "REVIEW_BOT_MODEL=" + model.name, "OPENAI_API_KEY=" + model.key,
	}
	if model.url != "" {
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+model.url)
	}
	cmd.Stdout, cmd.Stderr = w.stdout, w.stdout
	return cmd.Run()
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
