package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"review-bot/reviewer/gitea/giteatest"
)

// runs has a job run, and looks at what it printed and what the model was asked.
func (p *play) runs(r attackRun) {
	p.Helper()
	if r.Role == "" {
		r.Role = "logic"
	}
	m := r.Model
	if m == nil {
		m = p.Model
	}
	w := attackModelServer(p.T, m)
	j := p.stage.job(w.Server, r.Role).with("GITHUB_ACTIONS", "true")
	account := p.bot
	if r.Account != "" {
		account = p.arena.person(p.T, r.Account)
	}
	j = j.with("GITEA_TOKEN", account.Token)
	if account == p.bot && p.token != "" {
		j = j.with("GITEA_TOKEN", p.token)
	}
	outputs := filepath.Join(p.dir, giteatest.Unique("outputs"))
	j = j.with("GITHUB_OUTPUT", outputs)
	for name, value := range r.Env {
		j = j.with(name, value)
	}
	if r.Event != nil {
		j = p.event(j, *r.Event)
	}
	args := append(slices.Clone(r.Args), r.Flags...)
	if len(r.Args) == 0 {
		args = append(slices.Clone(p.Flags), r.Flags...)
	} else if r.Args[0] == "reconcile" {
		args = r.Args
	}
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "DIR", p.dir)
	}
	before := len(p.proxy.Requests())
	e, memory := p.invoke(j, r, args)
	requests := p.proxy.Requests()[before:]
	p.asked += w.Count()
	p.judgeRun(r, e, w, requests, args)
	if r.Memory > 0 && memory > r.Memory {
		p.fault("%q took %d MiB of memory, want at most %d", args, memory, r.Memory)
	}
	for name, want := range r.Outputs {
		data, _ := os.ReadFile(outputs)
		if !strings.Contains("\n"+string(data), "\n"+name+"="+want+"\n") {
			p.fault("the step's outputs lack %s=%s:\n%s", name, want, data)
		}
	}
}

// invoke runs the program: in this process, or as one of its own.
func (p *play) invoke(j job, r attackRun, args []string) (ended, int) {
	p.Helper()
	program := os.Getenv(programVariable)
	if program == "" && !r.Process {
		return j.run(p.T, args...), 0
	}
	if program == "" {
		program = theProgram(p.T)
	}
	cmd := exec.CommandContext(p.Context(), program, args...)
	for name, value := range j.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	return ended{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}, peak(cmd.ProcessState)
}

// event writes the event file of a job.
func (p *play) event(j job, e attackEvent) job {
	p.Helper()
	var pull map[string]any
	p.srv.Call(p.T, p.owner.Token, http.MethodGet, p.api("/pulls/%d", p.pull.Index), nil, &pull)
	if base, ok := pull["base"].(map[string]any); ok && e.Base != "" {
		base["ref"] = p.branch[strings.TrimPrefix(e.Base, "main")]
	}
	content := map[string]any{"action": e.Action, "number": p.pull.Index, "pull_request": pull}
	for field, name := range map[string]string{"sender": e.By, "requested_reviewer": e.Of} {
		if name != "" {
			u := p.arena.person(p.T, name)
			content[field] = map[string]any{"id": u.ID, "login": u.Name, "username": u.Name}
		}
	}
	path := p.written(content)
	name := e.Name
	if name == "" {
		name = "pull_request"
	}
	return j.with("GITHUB_EVENT_NAME", name).with("GITHUB_EVENT_PATH", path)
}

// ownCommands are what the program says to a runner on stderr.
var ownCommands = regexp.MustCompile(`^::(group|endgroup|add-mask|error)::`)

// obeyed are the lines of a job's log that a runner would obey and the program didn't mean.
func (e ended) obeyed() []string {
	meant := slices.DeleteFunc(commandsIn(e.stderr), ownCommands.MatchString)
	return append(commandsIn(e.stdout), meant...)
}

// judgeRun looks at what became of a job.
func (p *play) judgeRun(r attackRun, e ended, w *witness, requests []giteatest.Request, args []string) {
	p.Helper()
	job := fmt.Sprintf("%s %q: exit status %d\n%s%s", r.Role, args, e.status, indented(e.stdout), indented(e.stderr))
	p.Log(job)
	want := r.Exit
	if len(want) == 0 {
		want = []int{0, 1, 3}
	}
	if !slices.Contains(want, e.status) {
		p.fault("%s  want the exit status %v", job, want)
	}
	if lines := e.obeyed(); len(lines) > 0 {
		p.fault("the runner takes these lines for commands: %q", lines)
	}
	if r.Asked != nil && w.Count() != *r.Asked {
		p.fault("the model was asked %d times, want %d\n%s", w.Count(), *r.Asked, job)
	}
	if r.AtMost > 0 && len(requests) > r.AtMost {
		p.fault("%d requests to the forge, want at most %d", len(requests), r.AtMost)
	}
	p.contains("the prompts", strings.Join(w.prompts, "\n"), r.Prompt, r.NoPrompt)
	p.contains("the log", e.stdout+e.stderr, r.Prints, r.NotPrints)
	if r.ErrorLine && !e.oneLine() {
		p.fault("want one line that says what failed and what to do\n%s", job)
	}
}

func (p *play) contains(what, text string, want, not []string) {
	for _, part := range want {
		if !strings.Contains(text, p.filled(part)) {
			p.fault("%s: no %q in it:\n%s", what, part, indented(shortText(text)))
		}
	}
	for _, part := range not {
		if strings.Contains(text, p.filled(part)) {
			p.fault("%s: %q is in it:\n%s", what, part, indented(shortText(text)))
		}
	}
}

// filled puts people's names into a text.
func (p *play) filled(text string) string {
	for _, name := range []string{"bot", "author", "maintainer", "outsider", "writer"} {
		if strings.Contains(text, "@"+name) {
			text = strings.ReplaceAll(text, "@"+name, "@"+p.arena.person(p.T, name).Name)
		}
	}
	return text
}

func shortText(text string) string {
	if len(text) > 4000 {
		return text[:2000] + "\n…\n" + text[len(text)-2000:]
	}
	return text
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}
