package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
)

// underway is the real program at work, as a child of a shell.
type underway struct {
	shell *exec.Cmd
	pid   int // the program's
	out   *os.File

	mu  sync.Mutex
	log bytes.Buffer
	eof chan struct{}
}

// start starts the program as a runner does: a shell runs it. The shell's first
// line tells the program's pid.
func (p process) start(t *testing.T) *underway {
	t.Helper()
	out, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	u := &underway{out: out, eof: make(chan struct{})}
	u.shell = exec.CommandContext(t.Context(), "/bin/sh", "-c", `"$0" & echo $!; wait $!; exit $?`, p.program)
	for name, value := range p.job.env {
		u.shell.Env = append(u.shell.Env, name+"="+value)
	}
	u.shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	u.shell.Stdout, u.shell.Stderr = end, end
	if err := u.shell.Start(); err != nil {
		t.Fatal(err)
	}
	end.Close()
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	if err == nil {
		u.pid, err = strconv.Atoi(strings.TrimSpace(first))
	}
	if err != nil {
		t.Fatalf("the shell said %q: %v", first, err)
	}
	go func() {
		defer close(u.eof)
		for {
			line, err := lines.ReadString('\n')
			u.mu.Lock()
			u.log.WriteString(line)
			u.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if u.alive() {
			_ = syscall.Kill(u.pid, syscall.SIGKILL)
		}
		_ = u.shell.Wait()
		out.Close()
	})
	return u
}

func (u *underway) alive() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", u.pid))
	if err != nil {
		return false
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(after, []byte("Z")) // nobody may wait for an orphan
}

// soon is what a loaded machine may need for what is done at once. The times that a run
// that is told to stop takes for its steps are in the tests of package reviewer.
const soon = 30 * time.Second

// ends waits for the program's end.
func (u *underway) ends(t *testing.T) {
	t.Helper()
	began := time.Now()
	for u.alive() {
		if time.Since(began) > soon {
			t.Fatalf("the program is still there after %s\n%s", soon, u.text())
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Logf("ended after %s", time.Since(began))
}

func (u *underway) text() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.log.String()
}

// Ways to stop a job.
var stops = map[string]struct {
	do   func(t *testing.T, u *underway)
	says string
}{
	"SIGTERM": {func(t *testing.T, u *underway) { kill(t, u.pid, syscall.SIGTERM) }, "stopped by SIGTERM"},
	"SIGINT":  {func(t *testing.T, u *underway) { kill(t, u.pid, syscall.SIGINT) }, "stopped by SIGINT"},
	// What Gitea's runner does on a cancel.
	"the shell is killed": {func(t *testing.T, u *underway) { kill(t, u.shell.Process.Pid, syscall.SIGKILL) }, "stopped by the death of the parent process"},
	// The program's own SIGTERM, and that of its parent's death.
	"the group is told to stop": {func(t *testing.T, u *underway) { kill(t, -u.shell.Process.Pid, syscall.SIGTERM) }, "stopped by "},
	// Nobody reads the log any more.
	"the shell is killed and its log closed": {func(t *testing.T, u *underway) {
		u.out.Close()
		kill(t, u.shell.Process.Pid, syscall.SIGKILL)
	}, ""}, // to nobody
}

func kill(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Errorf("kill %d: %v", pid, err)
	}
}

// said checks the one line in which the program says why it ended.
func (u *underway) said(t *testing.T, want string) {
	t.Helper()
	<-u.eof
	e := ended{stderr: u.text()}
	if got := e.errorLine(t); !strings.Contains(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// eventually waits until what is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > soon {
			t.Fatalf("after %s it isn't so: %s", soon, what)
		}
	}
}

// While the model is asked, a job that is told to stop ends at once and has
// written nothing.
func TestStoppedWhileTheModelIsSlow(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	program := theProgram(t)
	topic := s.topic(t)
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := s.open(t, topic, protected)
			reply := modeltest.Answer(answer(onLine(3)))
			reply.Delay = 10 * time.Minute
			m := model(t, modeltest.ByMatch(modeltest.Match{Reply: reply}))
			u := process{program, st.job(m, "logic")}.start(t)
			eventually(t, "the model is asked", func() bool { return m.Count() == 1 })

			stop.do(t, u)

			u.ends(t)
			if stop.says != "" {
				u.said(t, stop.says)
			}
			if list := writes(st.proxy.Requests()); len(list) > 0 {
				t.Errorf("it wrote:\n%s", strings.Join(list, "\n"))
			}
			if now := st.look(t); len(now.rows) > 0 || len(now.reactions) > 0 {
				t.Errorf("it left something\n%s", now)
			}
		})
	}
}

// faultAt makes a fault with the first write of a kind and, with all, with
// everything that comes behind it.
func (st stage) faultAt(method, suffix string, all bool, fault giteatest.Fault) (arrived <-chan struct{}) {
	came := make(chan struct{})
	var mu sync.Mutex
	seen := false
	st.proxy.SetHook(func(r *giteatest.Request) *giteatest.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case !seen && r.Method == method && strings.HasSuffix(r.Path, suffix):
			seen = true
			close(came)
			return &fault
		case seen && all:
			return &fault
		}
		return nil
	})
	return came
}

// While it publishes, a job that is told to stop finishes the step that it has
// begun, makes no other, and releases the lock.
func TestStoppedWhilePublishing(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	program := theProgram(t)
	m := blocking(t, 3)
	topic := s.topic(t)
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := s.open(t, topic, protected)
			arrived := st.faultAt(http.MethodPost, "/reviews", false, giteatest.Fault{Delay: time.Second})
			u := process{program, st.job(m, "logic")}.start(t)
			<-arrived

			stop.do(t, u)

			u.ends(t)
			if stop.says != "" {
				u.said(t, "the job was stopped")
			}
			var list []string
			for _, line := range writes(st.proxy.Requests()) {
				list = append(list, line[:strings.IndexByte(line, ' ')]+line[strings.LastIndexByte(line, '/'):])
			}
			if want := []string{"POST/reactions → 201", "POST/reviews → 200", "DELETE/reactions → 204"}; !slices.Equal(list, want) {
				t.Errorf("it wrote %q, want %q", list, want)
			}
			now := st.look(t)
			now.quiet(t)
			if now.states() != "REQUEST_CHANGES" || len(now.rows[0].comments) != 2 {
				t.Errorf("the step that was begun isn't finished\n%s", now)
			}
			process{program, st.job(m, "logic")}.run(t)
			st.settled(t, blocked)
		})
	}
}

// A request that hangs doesn't hold a job that is told to stop.
func TestStoppedWhileARequestHangs(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	program := theProgram(t)
	m := blocking(t, 3)
	topic := s.topic(t)
	for _, test := range []struct {
		name   string
		method string
		path   string
		all    bool // and so does everything behind it
		locked bool // the lock can't be released
		again  bool // a second signal comes
		says   string
	}{
		{name: "the post", method: http.MethodPost, path: "/reviews", says: " — run "},
		{name: "a read under the lock", method: http.MethodGet, path: "/timeline", says: " — run "},
		{name: "everything", method: http.MethodPost, path: "/reviews", all: true, locked: true, says: " — run "},
		{
			name: "everything, a second signal", method: http.MethodPost, path: "/reviews", all: true, locked: true, again: true,
			says: "ended at once by a second SIGTERM",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			st := s.open(t, topic, protected)
			hang := make(chan struct{})
			defer close(hang)
			arrived := st.faultAt(test.method, test.path, test.all, giteatest.Fault{Hold: hang})
			if test.path == "/timeline" { // the second reading
				arrived = st.faultBehindLock(test.path, giteatest.Fault{Hold: hang})
			}
			u := process{program, st.job(m, "logic")}.start(t)
			<-arrived

			kill(t, u.pid, syscall.SIGTERM)
			if test.again {
				time.Sleep(2 * oneStop)
				kill(t, u.pid, syscall.SIGTERM)
			}

			u.ends(t)
			u.said(t, test.says)
			st.proxy.SetHook(nil)
			if now := st.look(t); len(now.rows) > 0 || (len(now.reactions) == 1) != test.locked {
				t.Errorf("locked: want %v\n%s", test.locked, now)
			}
		})
	}
}

// faultBehindLock makes a fault with the first read of a kind behind the lock.
func (st stage) faultBehindLock(suffix string, fault giteatest.Fault) (arrived <-chan struct{}) {
	came := make(chan struct{})
	var mu sync.Mutex
	locked, seen := false, false
	st.proxy.SetHook(func(r *giteatest.Request) *giteatest.Fault {
		mu.Lock()
		defer mu.Unlock()
		locked = locked || r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/reactions")
		if seen || !locked || r.Method != http.MethodGet || !strings.HasSuffix(r.Path, suffix) {
			return nil
		}
		seen = true
		close(came)
		return &fault
	})
	return came
}
