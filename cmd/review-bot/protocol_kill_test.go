package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
)

// A job is killed after its first, second … last request, as counted at the
// proxy: the server has answered, the job hasn't seen it. Run again it leaves the
// pull request as an undisturbed job would have left it, and at no time does the
// forge allow what it shouldn't.
func TestKilledAtEveryRequest(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	program := theProgram(t)
	approves, blocks, others := approving(t, 1), blocking(t, 1), fixing(t, onLine(15))
	otherApproves, otherBlocks := approving(t, 11), blocking(t, 11)
	for _, test := range []struct {
		name     string
		start    func(t *testing.T, st stage) // at commit 1
		push     bool                         // then comes commit 2
		pushed   func(t *testing.T, st stage)
		role     string
		model    *modeltest.Server
		reads    int // requests before the lock
		looks    int // requests before the first write
		requests int
		gate     [2]string // before and after
		end      string
	}{
		{
			name: "first post with inline comments", role: "logic", model: blocks,
			reads: 9, looks: 13, requests: 18, gate: [2]string{"", "REQUEST_CHANGES"}, end: blocked,
		},
		{
			name:  "patch after a push",
			start: func(t *testing.T, st stage) { st.job(blocks, "logic").result(t) }, push: true,
			role: "logic", model: blocks,
			reads: 12, looks: 16, requests: 21, gate: [2]string{"REQUEST_CHANGES", "REQUEST_CHANGES"}, end: blocked,
		},
		{
			name:  "patch with a new finding and two to resolve",
			start: func(t *testing.T, st stage) { st.job(blocks, "logic").result(t) }, push: true,
			role: "logic", model: others,
			reads: 12, looks: 16, requests: 28, gate: [2]string{"REQUEST_CHANGES", "REQUEST_CHANGES"}, end: blocked,
		},
		{
			// A person asked the account for another look, which takes the block from the forge.
			name: "escalate",
			start: func(t *testing.T, st stage) {
				st.job(approves, "logic").result(t, "--lock", "off")
				st.job(otherBlocks, "tests").result(t, "--lock", "off")
				st.pull.RequestReview(t, st.maintainer, st.bot)
			},
			role: "logic", model: approves,
			reads: 13, looks: 17, requests: 23, gate: [2]string{"", "REQUEST_CHANGES"}, end: blocked,
		},
		{
			name: "de-escalate",
			start: func(t *testing.T, st stage) {
				st.job(otherBlocks, "tests").result(t, "--lock", "off")
				st.job(approves, "logic").result(t, "--lock", "off")
			},
			push: true, pushed: func(t *testing.T, st stage) { st.job(approves, "logic").result(t, "--lock", "off") },
			// One more than a repost: the other role's notice of being held goes.
			role: "tests", model: otherApproves,
			reads: 12, looks: 16, requests: 28, gate: [2]string{"REQUEST_CHANGES", "APPROVED"}, end: open,
		},
		{
			name:  "supersede and repost",
			start: func(t *testing.T, st stage) { st.job(approves, "logic").result(t, "--lock", "off") }, push: true,
			role: "logic", model: blocks,
			reads: 12, looks: 16, requests: 28, gate: [2]string{"APPROVED", "REQUEST_CHANGES"}, end: blocked,
		},
		{
			name:  "recover a pending leftover",
			start: func(t *testing.T, st stage) { st.leaveBehind(t, st.job(blocks, "logic")) },
			role:  "logic", model: blocks,
			reads: 10, looks: 15, requests: 24, gate: [2]string{"", "REQUEST_CHANGES"}, end: blocked,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			topic := s.topic(t)
			stages := make([]stage, 1+test.requests-test.looks+1) // undisturbed, and killed after each from the last look on
			for i := range stages {
				stages[i] = s.open(t, topic, protected)
				if test.start != nil {
					test.start(t, stages[i])
				}
			}
			if test.push {
				stages[0].push(t, 2)
			}
			for _, st := range stages {
				if test.push {
					st.arrived(t, st.commits[2])
				}
				if test.pushed != nil {
					test.pushed(t, st)
				}
			}
			// Undisturbed.
			st := stages[0]
			before := st.look(t)
			if before.gate() != test.gate[0] {
				t.Fatalf("the gate is {%s} to begin with, want {%s}\n%s", before.gate(), test.gate[0], before)
			}
			p := process{program, st.job(test.model, test.role)}
			// Killed before its first write a job leaves everything as it was but for the lock,
			// and the next one would begin where it did. So one pull request does for all of these.
			for n := 1; n < test.looks; n++ {
				p.killedAfter(t, st, n)
				between := st.look(t)
				if locked := n > test.reads; between.plain(s) != before.plain(s) || locked != (len(between.reactions) == 1) {
					t.Errorf("killed after request %d it leaves\n%s\ninstead of\n%s", n, between, before)
				}
				st.unlock(t)
			}
			sent := st.during(func() { p.run(t) })
			after := st.look(t)
			want := after.plain(s)
			if len(sent) != test.requests || sent[test.looks].Method == http.MethodGet {
				t.Fatalf("%d requests, want %d, and a write after %d:\n%s", len(sent), test.requests, test.looks, strings.Join(sentLines(sent), "\n"))
			}
			if got := after.gate(); got != test.gate[1] {
				t.Fatalf("the gate is {%s} in the end, want {%s}\n%s", got, test.gate[1], after)
			}
			st.settled(t, test.end)

			for i, st := range stages[1:] {
				n := test.looks + i
				p := process{program, st.job(test.model, test.role)}
				sent := st.during(func() { p.killedAfter(t, st, n) })
				between := st.look(t)
				gateAt(t, sent, between, test.gate)
				if len(before.current(test.role)) > 0 && len(between.current(test.role)) == 0 {
					t.Errorf("killed after request %d it leaves no verdict of %s\n%s", n, test.role, between)
				}
				again := st.during(func() { p.run(t, "--lock-expire=-1s") })
				after := st.look(t)
				if len(writes(again)) == 0 {
					after.reactions = nil // a job with nothing to do takes no lock, and the dead one's expires
				}
				after.quiet(t)
				if got := after.plain(s); got != want {
					t.Errorf("killed after request %d and run again, the pull request shows\n%s\nundisturbed\n%s\nsent:\n%s\nin between, %s",
						n, got, want, strings.Join(sentLines(st.proxy.Requests()), "\n"), between)
				}
				if n < test.looks+1 || n > test.looks+2 {
					continue // same reviews, same answer
				}
				if status, message := st.pull.TryMerge(t, st.maintainer); (status == http.StatusOK) != (test.end == open) {
					t.Errorf("killed after request %d and run again, merging answers %d %s\n%s", n, status, message, after)
				}
			}
		})
	}
}

// gateAt checks the gate where a job died: it is as before or as in the end, and
// once a request for changes was posted it is shut.
func gateAt(t *testing.T, sent []giteatest.Request, s standing, gates [2]string) {
	t.Helper()
	got := s.gate()
	if got != gates[0] && got != gates[1] {
		t.Errorf("the gate is {%s} in between, want {%s} or {%s}\n%s", got, gates[0], gates[1], s)
	}
	for _, r := range sent {
		if r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/reviews") && bytes.Contains(r.Body, []byte(`"REQUEST_CHANGES"`)) && got != "REQUEST_CHANGES" {
			t.Errorf("a request for changes was posted and the gate is {%s}\n%s", got, s)
		}
	}
}

// unlock removes the lock of a dead job, as if it had expired.
func (st stage) unlock(t *testing.T) {
	t.Helper()
	st.srv.Call(t, st.bot.Token, "DELETE", st.api("/issues/%d/reactions", st.pull.Index), map[string]any{"content": "rocket"}, nil)
}

// leaveBehind has the server fail in the middle of the job's POST: what it keeps
// is a pending review with the comments so far. Before the job's own ones come
// those of more.
func (st stage) leaveBehind(t *testing.T, j job, more ...giteatest.CommentInput) {
	t.Helper()
	planned := j.result(t, "--dry-run")
	if planned.Plan == nil || len(planned.Plan.Steps[0].Post.Comments) == 0 {
		t.Fatalf("no inline comment is planned: %+v\n%s", planned, st.look(t))
	}
	in := giteatest.ReviewInput{Event: "COMMENT", Comments: more}
	for _, c := range planned.Plan.Steps[0].Post.Comments {
		in.Comments = append(in.Comments, giteatest.CommentInput{Path: c.Path, Body: c.Body, NewPosition: int64(c.NewLine), OldPosition: int64(c.OldLine)})
	}
	in.Comments = append(in.Comments, giteatest.CommentInput{Path: "b.txt", Body: "beyond the file's end", NewPosition: 900})
	if status, message := st.srv.Status(t, st.bot.Token, http.MethodPost, st.pull.ReviewsPath(), in, nil); status != http.StatusInternalServerError {
		t.Fatalf("the server answers %d %s, want 500", status, message)
	}
	if s := st.look(t); s.states() != "PENDING" || len(s.rows[0].comments) != len(in.Comments)-1 {
		t.Fatalf("the server didn't leave a pending review with %d comments\n%s", len(in.Comments)-1, s)
	}
}

var built struct {
	sync.Once
	program string
	err     error
}

// theProgram is the real program, built next to the server's data, which goes away
// with the server.
func theProgram(t *testing.T) string {
	t.Helper()
	srv := giteatest.Get(t)
	built.Do(func() {
		built.program = filepath.Join(srv.Dir(), "review-bot")
		out, err := exec.CommandContext(context.Background(), "go", "build", "-o", built.program, ".").CombinedOutput() //nolint:usetesting // it outlives the test that was first
		if err != nil {
			built.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.program
}

// process is the real program, to be run as a job.
type process struct {
	program string
	job     job
}

func (p process) command(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.program, args...)
	for name, value := range p.job.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

func (p process) run(t *testing.T, args ...string) {
	t.Helper()
	cmd, out := p.command(t, args...)
	if err := cmd.Run(); err != nil {
		t.Errorf("%s: %v\n%s", p.program, err, out)
	}
}

// killedAfter runs the program until its n-th request has been answered. Requests
// that it sends side by side go to the server one after the other, so that none
// that came after the n-th gets there.
func (p process) killedAfter(t *testing.T, st stage, n int) {
	t.Helper()
	cmd, out := p.command(t)
	started, killed := make(chan struct{}), make(chan error, 1)
	turn := make(chan struct{}, 1)
	turn <- struct{}{}
	var answered atomic.Int64
	st.proxy.SetHook(func(*giteatest.Request) *giteatest.Fault {
		return &giteatest.Fault{Hold: turn, Forwarded: func(giteatest.Request) {
			if answered.Add(1) < int64(n) {
				turn <- struct{}{}
				return
			}
			<-started
			killed <- cmd.Process.Kill()
		}}
	})
	defer st.proxy.SetHook(nil)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	close(started)
	_ = cmd.Wait() // it was killed
	if got := answered.Load(); got != int64(n) {
		t.Fatalf("the program ended after %d requests, and was to be killed after %d\n%s", got, n, out)
	}
	if err := <-killed; err != nil {
		t.Fatalf("kill: %v", err)
	}
}

// What differs from run to run.
var (
	hexID   = regexp.MustCompile(`\b[0-9a-f]{8}\b`)
	varying = regexp.MustCompile(
		` (run|mac|body|epoch|heard|given|owed|branch|spent)=[0-9a-f/,-]+|· \d+ s ·|[\d.]+k? tokens in, [\d.]+k? out`)
	address = regexp.MustCompile(`/pulls/\d+(/files#diff-[0-9a-f]+[LR]\d+|#issuecomment-\d+)?`)
)

// plain is what is on the pull request as text, without what differs from
// run to run: ids, times, nonces, codes and addresses.
func (s standing) plain(site *site) string {
	var b strings.Builder
	for _, r := range s.rows {
		fmt.Fprintf(&b, "%s official=%v dismissed=%v at %s\n%s\nnow\n%s\n", r.State, r.Official, r.Dismissed, r.CommitID, r.Body, r.text)
		var comments []string
		for _, c := range r.comments {
			comments = append(comments, fmt.Sprintf("inline %s:%d:%d resolved=%v %s", c.Path, c.Position, c.Original, c.Resolver != nil, c.Body))
		}
		fmt.Fprintln(&b, strings.Join(comments, "\n"))
	}
	text := address.ReplaceAllString(varying.ReplaceAllString(b.String(), ""), "/pulls/N")
	for i, commit := range site.commits {
		text = strings.ReplaceAll(text, commit, fmt.Sprintf("COMMIT%d", i))
		text = strings.ReplaceAll(text, commit[:7], fmt.Sprintf("COMMIT%d", i))
	}
	return hexID.ReplaceAllString(text, "ID")
}
