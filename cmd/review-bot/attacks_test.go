package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
	"review-bot/sentinel"
)

// Environment variables of the tests: which attacks are run (a regular expression for their
// names; without it the quick ones), and a program to run them against instead of this one, an
// older release: then each case must end as its line `before` says.
const (
	attacksVariable = "REVIEW_BOT_ATTACKS"
	programVariable = "REVIEW_BOT_ATTACK_PROGRAM"
)

// Every case of testdata/attacks is played with the real program on a real server. The judges
// are the merge endpoint, the list of reviews, what the model was shown, and what the runner
// reads in the log.
func TestAttacks(t *testing.T) {
	t.Parallel()
	cases := attackCases(t)
	selected := regexp.MustCompile(os.Getenv(attacksVariable))
	newArena(t)
	for _, c := range cases {
		if len(c.Steps) == 0 || !selected.MatchString(c.name) {
			continue
		}
		if selected.String() == "" && (!c.Quick || c.Until != "") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			faults := c.play(t)
			t.Logf("%.1f s", time.Since(began).Seconds())
			c.verdict(t, faults)
		})
	}
}

// verdict compares what went wrong with what the case says about it.
func (c attackCase) verdict(t *testing.T, faults []string) {
	t.Helper()
	text := strings.Join(faults, "\n")
	before, _, _ := strings.Cut(c.Before, ":")
	switch {
	case os.Getenv(programVariable) != "":
		if (len(faults) > 0) != (before == "fails") {
			t.Errorf("%s: the case says %q of the program before, and these are its faults:\n%s", c.Title, c.Before, text)
		} else {
			t.Logf("as it was: %s\n%s", c.Before, text)
		}
	case c.Until != "" && len(faults) == 0:
		t.Errorf("%s: it holds now: remove the line `until: %s`", c.Title, c.Until)
	case c.Until != "":
		t.Logf("open until %s: %s", c.Until, text)
	case len(faults) > 0:
		t.Errorf("%s:\n%s", c.Title, text)
	}
}

// The corpus says of every case what became of it before, has two of every kind, and one
// that is quick enough to be run always.
func TestAttackCorpus(t *testing.T) {
	t.Parallel()
	kinds, quick := map[string]int{}, map[string]int{}
	for _, c := range attackCases(t) {
		kind, _, _ := strings.Cut(c.name, "/")
		kinds[kind]++
		if c.Quick {
			quick[kind]++
		}
		before, why, _ := strings.Cut(c.Before, ":")
		if c.Title == "" || before != "fails" && (before != "holds" || strings.TrimSpace(why) == "") {
			t.Errorf("%s: want a title, and before: fails, or holds and why; got %q, %q", c.name, c.Title, c.Before)
		}
		if len(c.Steps) == 0 && c.Elsewhere == "" {
			t.Errorf("%s has no steps", c.name)
		}
		for i, s := range c.Steps {
			if n := s.count(); n != 1 {
				t.Errorf("%s: step %d does %d things, want one", c.name, i+1, n)
			}
		}
		if c.Elsewhere != "" {
			c.found(t)
		}
	}
	for kind, n := range kinds {
		if n < 2 || quick[kind] == 0 {
			t.Errorf("%s: %d cases and %d quick ones, want 2 and 1 at least", kind, n, quick[kind])
		}
	}
}

// found checks that the test exists that a case refers to.
func (c attackCase) found(t *testing.T) {
	t.Helper()
	folder, test, _ := strings.Cut(c.Elsewhere, " ")
	files, _ := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && bytes.Contains(data, []byte("\nfunc "+test+"(")) {
			return
		}
	}
	t.Errorf("%s: there is no test %s in %s", c.name, test, folder)
}

// A play is a case under way.
type play struct {
	attackCase
	*testing.T
	stage
	arena  *arena
	pulls  []stage
	branch map[string]string // of the bases, by their names in the case
	tips   map[string]string // their commits
	heads  []string          // h1, h2 …
	diffs  map[string]string // what the server showed of a head
	asked  int
	token  string          // of the bot, where it got another one
	forks  map[string]bool // which topics are the outsider's
	dir    string          // for files that commands read
	late   *attackLate
	faulty []*attackFault
	mu     sync.Mutex // of late and faulty, which the proxy's hook uses
	faults []string

	rewritten bool // a person has edited a review
}

// over ends a case that can't go on.
type over struct{}

func newPlay(t *testing.T, c attackCase) *play {
	t.Helper()
	a := newArena(t)
	return &play{
		attackCase: c, arena: a, stage: stage{site: a.site}, T: t, dir: t.TempDir(),
		branch: map[string]string{}, tips: map[string]string{}, diffs: map[string]string{}, forks: map[string]bool{},
	}
}

// play plays the case and returns what wasn't as it must be.
func (c attackCase) play(t *testing.T) (faults []string) {
	t.Helper()
	p := newPlay(t, c)
	defer func() {
		faults = p.faults
		if r := recover(); r != nil {
			if _, ok := r.(over); !ok {
				panic(r)
			}
		}
	}()
	p.bases()
	for i, s := range c.Steps {
		p.step(s)
		if t.Failed() {
			t.Fatalf("in step %d", i+1)
		}
	}
	for _, st := range p.pulls {
		for _, fault := range st.look(t).disquiet() {
			// A text that a person has edited is left as it is, and its sentinel with it.
			if !p.rewritten || !strings.HasSuffix(fault, " current records") {
				p.fault("%s", fault)
			}
		}
	}
	return p.faults
}

func (p *play) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// step does one step.
func (p *play) step(s attackStep) {
	p.Helper()
	switch {
	case s.Open != nil:
		p.open(*s.Open)
	case s.Push != nil:
		p.pushes(*s.Push)
	case s.PushBase != nil:
		p.pushesBase(*s.PushBase)
	case s.Run != nil:
		p.runs(*s.Run)
	case s.Reconcile != nil:
		s.Reconcile.Args = append([]string{"reconcile"}, s.Reconcile.Flags...)
		p.runs(*s.Reconcile)
	case s.Settle != nil:
		p.settles(*s.Settle)
	case s.Late != nil:
		p.mu.Lock()
		p.late = s.Late
		p.mu.Unlock()
	case s.Fault != nil:
		p.mu.Lock()
		if p.faulty = append(p.faulty, s.Fault); s.Fault.Off {
			p.faulty = nil
		}
		p.mu.Unlock()
	case s.Wait != 0:
		time.Sleep(time.Duration(s.Wait))
	case s.Pull != 0:
		p.stage = p.pulls[s.Pull-1]
	case s.Expect != nil:
		p.expects(*s.Expect)
	default:
		p.persons(s)
	}
}

// bases makes the branches that pull requests are to be merged into.
func (p *play) bases() {
	names := []string{""}
	for name := range p.Bases {
		names = append(names, name)
	}
	slices.Sort(names)
	push := map[string]string{}
	var tip func(name string) string
	tip = func(name string) string {
		if commit, ok := p.tips[name]; ok {
			return commit
		}
		base, from := p.Bases[name], p.arena.root
		if name == "" {
			base = attackBase{Kind: p.Protection, Files: p.Base}
		} else {
			from = tip(base.On)
		}
		if base.Kind == "" {
			base.Kind = protected
		}
		commit := from
		if len(base.Files) > 0 {
			commit = p.arena.commit(p.T, p.owner, base.Files, from)
		}
		p.tips[name], p.branch[name] = commit, giteatest.Unique(base.Kind+"-base")
		push[p.branch[name]] = commit
		return commit
	}
	for _, name := range names {
		tip(name)
	}
	p.arena.push(p.T, p.owner, p.repo.CloneURL(), push)
}

// open opens a pull request, and the steps that follow are about it.
func (p *play) open(o attackOpen) {
	p.Helper()
	if o.Base == "" {
		o.Base = o.From
	}
	if o.By == "" {
		o.By = "author"
	}
	by := p.arena.person(p.T, o.By)
	st := stage{site: p.site, topic: giteatest.Unique("topic")}
	var commit string
	if o.Commit != "" {
		commit = p.head(o.Commit)
	} else {
		commit = p.arena.commit(p.T, by, o.Files, p.tips[o.From])
		p.heads = append(p.heads, commit)
	}
	url, head := p.repo.CloneURL(), st.topic
	if o.By == "outsider" {
		url, head = p.arena.fork.CloneURL(), by.Name+":"+st.topic
		p.forks[st.topic] = true
	}
	p.arena.push(p.T, by, url, map[string]string{st.topic: commit})
	title := o.Title
	if title == "" {
		title = "A change"
	}
	if o.Draft {
		title = "WIP: " + title
	}
	var made giteatest.PullState
	p.srv.Call(p.T, by.Token, http.MethodPost, p.api("/pulls"), map[string]any{
		"head": head, "base": p.branch[o.Base], "title": title, "body": o.Body,
	}, &made)
	st.pull = &giteatest.Pull{Repo: p.repo.As(p.bot), Index: made.Number, Head: made.Head.SHA, Unmergeable: o.Draft}
	st = st.beside(p.T)
	st.proxy.SetHook(p.hook)
	p.pulls, p.stage = append(p.pulls, st), st
	p.arrived(p.T, commit)
	p.keepDiff(commit)
}

// keepDiff keeps what the server shows of a head, for a late answer.
func (p *play) keepDiff(head string) {
	var text string
	p.srv.Call(p.T, p.bot.Token, http.MethodGet, p.api("/pulls/%d.diff", p.pull.Index), nil, &text)
	p.diffs[head] = text
}

// head is the commit of a label such as h1.
func (p *play) head(label string) string {
	var n int
	if _, err := fmt.Sscanf(label, "h%d", &n); err != nil || n < 1 || n > len(p.heads) {
		p.Fatalf("no head %q", label)
	}
	return p.heads[n-1]
}

// pushes pushes to the branch of the pull request.
func (p *play) pushes(s attackPush) {
	p.Helper()
	state := p.pull.State(p.T)
	by, url := p.author, p.repo.CloneURL()
	if p.forks[p.topic] {
		by, url = p.outsider, p.arena.fork.CloneURL()
	}
	var commit string
	switch {
	case s.Back != "":
		commit = p.head(s.Back)
	case s.Merge:
		commit = p.arena.commit(p.T, by, s.Files, state.Head.SHA, p.tips[""])
	case s.Rewrite:
		commit = p.arena.commit(p.T, by, s.Files, state.MergeBase)
	default:
		commit = p.arena.commit(p.T, by, s.Files, state.Head.SHA)
	}
	if s.Back == "" {
		p.heads = append(p.heads, commit)
	}
	p.arena.push(p.T, by, url, map[string]string{p.topic: commit})
	if s.NoWait {
		return
	}
	p.arrived(p.T, commit)
	p.keepDiff(commit)
}

// pushesBase pushes to a base.
func (p *play) pushesBase(s attackPush) {
	p.Helper()
	p.tips[s.Base] = p.arena.commit(p.T, p.owner, s.Files, p.tips[s.Base])
	p.arena.push(p.T, p.owner, p.repo.CloneURL(), map[string]string{p.branch[s.Base]: p.tips[s.Base]})
	want := p.tips[s.Base]
	if err := giteatest.Poll(p.Context(), 30*time.Second, "the base shows the push", func() (bool, error) {
		return p.pull.State(p.T).Base.SHA == want, nil
	}); err != nil {
		p.Fatal(err)
	}
}

// hook makes the faults that a case asks for.
func (p *play) hook(r *giteatest.Request) *giteatest.Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.stale(r); f != nil {
		return f
	}
	for i, f := range p.faulty {
		if f.Method != "" && f.Method != r.Method || !strings.Contains(r.Path, f.Path) {
			continue
		}
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				p.faulty = slices.Delete(p.faulty, i, i+1)
			}
		}
		switch {
		case f.Cut:
			return &giteatest.Fault{CutBefore: true}
		case f.Gzip > 0:
			header := http.Header{"Content-Encoding": {"gzip"}}
			return &giteatest.Fault{Status: http.StatusOK, Header: header, Body: string(compressed(f.Gzip))}
		default:
			return &giteatest.Fault{Status: f.Status, Body: f.Body, Header: inJSON}
		}
	}
	return nil
}

// stale answers for the diff what the server showed of another head.
func (p *play) stale(r *giteatest.Request) *giteatest.Fault {
	l := p.late
	if l == nil || r.Method != http.MethodGet {
		return nil
	}
	switch {
	case strings.HasSuffix(r.Path, fmt.Sprintf("/pulls/%d.diff", p.pull.Index)):
		if l.Times > 0 {
			if l.Times--; l.Times == 0 {
				p.late = nil
			}
		}
		header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
		return &giteatest.Fault{Status: http.StatusOK, Header: header, Body: p.diffs[p.head(l.Shows)]}
	case l.Ref && strings.HasSuffix(r.Path, fmt.Sprintf("/git/refs/pull/%d/head", p.pull.Index)):
		var text string
		p.srv.Call(p.T, p.bot.Token, http.MethodGet, p.api("/git/refs/pull/%d/head", p.pull.Index), nil, &text)
		text = strings.ReplaceAll(text, p.pull.State(p.T).Head.SHA, p.head(l.Shows))
		return &giteatest.Fault{Status: http.StatusOK, Header: inJSON, Body: text}
	}
	return nil
}

var inJSON = http.Header{"Content-Type": {"application/json"}}

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

// ownCommands are what the program tells a runner on stderr.
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

// expects checks what must be so now.
func (p *play) expects(want attackExpect) {
	p.Helper()
	s := p.look(p.T)
	before := len(p.faults)
	if want.Counts != "" {
		got := s.gate()
		if got == "" {
			got = "none"
		}
		if got != want.Counts {
			p.fault("the forge counts %s of the account, want %s", got, want.Counts)
		}
	}
	if want.Reviews != nil && len(s.rows) != *want.Reviews {
		p.fault("%d reviews, want %d", len(s.rows), *want.Reviews)
	}
	if want.Body != nil || want.NotBody != nil {
		p.contains("the review", p.current(s, want.Role), want.Body, want.NotBody)
	}
	p.contains("what the account published", s.published(), want.Said, nil)
	p.contains("what a reader sees of that", visibleOnly(s.published()), nil, want.NotSaid)
	p.handOffs(s, want)
	if want.Replaced {
		p.superseded(s)
	}
	p.conversations(s, want)
	if want.Asked != nil && p.asked != *want.Asked {
		p.fault("models were asked %d times, want %d", p.asked, *want.Asked)
	}
	if want.Gate != "" {
		p.gate(s, want.Gate)
	}
	if len(p.faults) > before {
		p.fault("%s", s)
	}
}

// current is the text of the role's current review.
func (p *play) current(s standing, role string) string {
	if role == "" {
		role = "logic"
	}
	rows := s.current(role)
	if len(rows) == 0 {
		p.fault("%s has no review", role)
		return ""
	}
	return rows[len(rows)-1].text
}

// published is every text of the account on the pull request.
func (s standing) published() string {
	var b strings.Builder
	for _, r := range s.rows {
		b.WriteString(r.Body + "\n" + r.text + "\n")
		for _, c := range r.comments {
			b.WriteString(c.Body + "\n")
		}
	}
	for _, e := range s.timeline {
		if e.User.Login == s.bot {
			b.WriteString(e.Body + "\n")
		}
	}
	return b.String()
}

// visibleOnly is a text as a reader sees it.
func visibleOnly(text string) string {
	return strings.Map(visible, strings.ReplaceAll(text, "\n", "\t"))
}

// handOffs checks the comments by which a role handed over.
func (p *play) handOffs(s standing, want attackExpect) {
	var texts []string
	for _, e := range s.timeline {
		if _, ok := sentinel.FindHandoff(e.Body); ok && e.Type == "comment" && e.User.Login == s.bot {
			texts = append(texts, e.Body)
		}
	}
	if want.HandOffs != nil && len(texts) != *want.HandOffs {
		p.fault("%d hand-off comments, want %d: %q", len(texts), *want.HandOffs, texts)
	}
	if !want.Links || len(texts) == 0 {
		return
	}
	for _, r := range s.rows {
		gates := r.State == "REQUEST_CHANGES" && r.Official && !r.Dismissed
		if gates && strings.Contains(texts[len(texts)-1], r.HTMLURL) {
			return
		}
	}
	p.fault("the hand-off links no review that gates: %s", texts[len(texts)-1])
}

// superseded checks that each superseded review links the role's next one.
func (p *play) superseded(s standing) {
	found := 0
	for i, r := range s.rows {
		if r.now.State != sentinel.Superseded {
			continue
		}
		found++
		for _, next := range s.rows[i+1:] {
			if next.posted.Role != r.posted.Role || next.posted.Kind != sentinel.KindVerdict {
				continue
			}
			if !strings.Contains(r.text, fmt.Sprintf("#issuecomment-%d)", next.comment())) {
				p.fault("review %d isn't superseded by the next one, %d: %s", r.ID, next.ID, r.text)
			}
			break
		}
	}
	if found == 0 {
		p.fault("no review is superseded")
	}
}

// conversations checks which are resolved.
func (p *play) conversations(s standing, want attackExpect) {
	check := func(words string, resolved bool) {
		c, ok := s.conversation(words)
		if !ok {
			p.fault("there is no conversation about %q", words)
		} else if (c.Resolver != nil) != resolved {
			p.fault("the conversation about %q is resolved: %v, want %v", words, c.Resolver != nil, resolved)
		}
	}
	for _, words := range want.Resolved {
		check(words, true)
	}
	for _, words := range want.Open {
		check(words, false)
	}
}

// conversation is the inline comment that says this.
func (s standing) conversation(words string) (giteatest.Comment, bool) {
	for _, r := range s.rows {
		for _, c := range r.comments {
			if c.User.Login == s.bot && strings.Contains(c.Body, words) {
				return c, true
			}
		}
	}
	return giteatest.Comment{}, false
}

// The merge endpoint's words for a pull request that isn't open.
const shut = "shut"

// gate asks the merge endpoint. A pull request that is merged by it is at its end.
func (p *play) gate(s standing, want string) {
	p.Helper()
	status, message := p.pull.TryMerge(p.T, p.maintainer)
	if merged := status == http.StatusOK; merged != (want == open) {
		p.fault("merging answers %d %s, want %s", status, message, want)
	}
	if want == open || want == shut || status == http.StatusOK {
		return
	}
	p.pull.Review(p.T, p.maintainer, giteatest.ReviewInput{Event: "APPROVED"})
	status, message = p.pull.TryMerge(p.T, p.maintainer)
	refused := status == http.StatusMethodNotAllowed && message == "There are requested changes"
	if want == blocked && !refused || want == waiting && status != http.StatusOK {
		p.fault("with a person's approval merging answers %d %s, want %s", status, message, want)
	}
}

// settles runs the command settle as a person's or an agent's.
func (p *play) settles(s attackSettle) {
	p.Helper()
	by := p.arena.person(p.T, s.By)
	j := p.stage.job(model(p.T, modeltest.Sequence()), "").with("GITEA_TOKEN", by.Token).with("GITHUB_SERVER_URL", p.srv.URL)
	args := []string{"settle", "--payload", p.written(map[string]any{"items": p.named(s.Items)})}
	if s.Triage == nil {
		args = append(args, "--detached")
	} else {
		triage := map[string]any{"threads": p.named(s.Triage)}
		if scan := p.scan(j, s.Part); scan != nil { // older programs have none
			triage["scan"] = scan
		}
		args = append(args, "--triage", p.written(triage))
	}
	if s.Apply {
		args = append(args, "--apply")
	}
	args = append(args, s.Flags...)
	e, _ := p.invoke(j, attackRun{}, args)
	p.judgeRun(attackRun{Role: "settle", Exit: s.Exit, Prints: s.Prints}, e, &witness{}, nil, args)
}

// scan is what the list of all conversations, or of the first, says a triage of it has to name.
func (p *play) scan(j job, part bool) (scan any) {
	p.Helper()
	args := []string{"threads", "--json", "--all", "--include-outdated"}
	if part {
		args = append(args, "--max-threads", "1")
	}
	e, _ := p.invoke(j, attackRun{}, args)
	var list map[string]any
	if err := json.Unmarshal([]byte(e.stdout), &list); err != nil {
		p.Fatalf("threads: exit status %d: %v\n%s%s", e.status, err, e.stdout, e.stderr)
	}
	return list["scan"]
}

// written is the path of a file with that in JSON.
func (p *play) written(v any) string {
	p.Helper()
	path := filepath.Join(p.dir, giteatest.Unique("file"))
	writeJSON(p.T, path, v)
	return path
}

// named gives conversations their ids, and heads theirs.
func (p *play) named(items []map[string]any) []map[string]any {
	p.Helper()
	st := p.look(p.T)
	var list []map[string]any
	for _, item := range items {
		item = maps.Clone(item)
		words, _ := item["of"].(string)
		delete(item, "of")
		c, ok := st.conversation(words)
		if !ok {
			p.fault("there is no conversation about %q\n%s", words, st)
			panic(over{})
		}
		item["thread_id"] = fmt.Sprintf("%d:%d", c.ReviewID, c.ID)
		if label, ok := item["commit_sha"].(string); ok {
			item["commit_sha"] = p.head(label)
		}
		list = append(list, item)
	}
	return list
}

func (s attackStep) count() (n int) {
	data, _ := json.Marshal(s)
	var fields map[string]any
	_ = json.Unmarshal(data, &fields)
	for _, v := range fields {
		if v != nil && v != "" && v != 0.0 {
			n++
		}
	}
	return n
}
