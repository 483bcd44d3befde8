package giteatest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// RunnerLabel is what jobs for a [Runner] give as runs-on.
const RunnerLabel = "ubuntu-latest"

// registerLimit bounds the registration, which usually takes a tenth of a second.
const registerLimit = 60 * time.Second

// RunnerOptions says how a runner is started. The zero value is one for four jobs
// at a time, with this process's PATH.
type RunnerOptions struct {
	Capacity int
	// Path is the PATH of the jobs; empty: this process's. They need a sh in it.
	Path string
	// Env is added to the jobs' environment: NAME=value.
	Env []string
}

// A Runner is a running Actions runner in host mode: jobs are processes of this
// machine, in folders of their own, and need no container engine.
type Runner struct {
	// Dir is where everything of the runner lives, the folders of its jobs included.
	Dir string

	process *process
}

// StartRunner starts a runner for the jobs of all repositories that owner owns, the
// runs of pull requests from forks included. It is built if need be, see
// [BuildRunner]. Close ends it, and with it the jobs under way.
func (s *Server) StartRunner(tb TB, owner *User, opts RunnerOptions) *Runner {
	tb.Helper()
	r, err := s.startRunner(tb.Context(), owner, opts)
	check(tb, err)
	return r
}

func (s *Server) startRunner(ctx context.Context, owner *User, opts RunnerOptions) (_ *Runner, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("start a runner for %s: %w", owner.Name, err)
		}
	}()
	root, err := Root()
	if err != nil {
		return nil, err
	}
	binary, err := BuildRunner(ctx, root, os.Stderr)
	if err != nil {
		return nil, err
	}
	var registration struct{ Token string }
	if _, err := s.Do(ctx, owner.Token, http.MethodPost, "/user/actions/runners/registration-token", nil, &registration); err != nil {
		return nil, err
	}
	r := &Runner{}
	if r.Dir, err = os.MkdirTemp(s.scratch, "runner-"); err != nil {
		return nil, err
	}
	if err := os.WriteFile(r.path("config.yaml"), []byte(runnerConfig(r.Dir, opts)), 0o600); err != nil {
		return nil, err
	}
	env := runnerEnv(opts)
	limited, cancel := context.WithTimeout(ctx, registerLimit)
	defer cancel()
	register := exec.CommandContext(limited, binary, "--config", r.path("config.yaml"), "register", "--no-interactive",
		"--instance", s.URL, "--token", registration.Token, "--name", filepath.Base(r.Dir), "--labels", RunnerLabel+":host")
	register.Dir, register.Env = r.Dir, env
	if out, err := register.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("register: %w: %s", err, lastLines(strings.Split(string(out), "\n"), 3))
	}
	log, err := os.Create(r.path("runner.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	// Not ctx: the runner ends at Close.
	daemon := exec.CommandContext(context.WithoutCancel(ctx), binary, "--config", r.path("config.yaml"), "daemon")
	daemon.Dir, daemon.Env = r.Dir, env
	daemon.Stdout, daemon.Stderr = log, log
	if r.process, err = startProcess(daemon); err != nil {
		return nil, err
	}
	return r, nil
}

// runnerConfig has short intervals, so that tests don't wait. With bind_workdir each
// job has a working directory of its own: in host mode jobs of one repository
// otherwise share theirs, and the one that ends first removes it.
func runnerConfig(dir string, opts RunnerOptions) string {
	capacity := opts.Capacity
	if capacity == 0 {
		capacity = 4
	}
	var envs strings.Builder
	for _, kv := range opts.Env {
		name, value, _ := strings.Cut(kv, "=")
		fmt.Fprintf(&envs, "    %s: %q\n", name, value)
	}
	return fmt.Sprintf(`log:
  level: info
runner:
  file: %[1]s/.runner
  capacity: %[2]d
  envs:
    GITEATEST: "true"
%[3]s  fetch_timeout: 5s
  fetch_interval: 200ms
  fetch_interval_max: 300ms
  log_report_interval: 500ms
  log_report_max_latency: 200ms
  state_report_interval: 300ms
  shutdown_timeout: 0s
cache:
  enabled: false
container:
  workdir_parent: %[1]s/work
  bind_workdir: true
host:
  workdir_parent: %[1]s/cache
`, dir, capacity, envs.String())
}

// runnerEnv is this process's environment without what an Actions job or a user of
// the bot has in it: a runner hands its own environment on to the jobs.
func runnerEnv(opts RunnerOptions) []string {
	env := slices.DeleteFunc(cleanEnv(), func(kv string) bool {
		for _, prefix := range []string{"GITHUB_", "ACTIONS_", "RUNNER_", "CI=", "REVIEW_BOT_", "OPENAI_", "INPUT_", "INSTALL_"} {
			if strings.HasPrefix(kv, prefix) {
				return true
			}
		}
		return opts.Path != "" && strings.HasPrefix(kv, "PATH=")
	})
	if opts.Path != "" {
		env = append(env, "PATH="+opts.Path)
	}
	return env
}

func (r *Runner) path(name string) string { return filepath.Join(r.Dir, name) }

// Log is what the runner has said. What its jobs say is [Repo.JobLog].
func (r *Runner) Log() string {
	text, err := os.ReadFile(r.path("runner.log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Close ends the runner and what its jobs have left running, and removes its folder.
// It may be called more than once.
func (r *Runner) Close() error {
	errs := []error{r.process.stop(stopGrace)}
	// A cancelled job's shell is killed, not what it started.
	left, err := r.Processes("")
	if err == nil {
		for _, p := range left {
			errs = append(errs, p.Kill())
		}
	}
	errs = append(errs, os.RemoveAll(r.Dir))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop the runner in %s: %w", r.Dir, err)
	}
	return nil
}

// A JobProcess is a process that a job of a [Runner] has started.
type JobProcess struct {
	PID     int
	Program string            // its path
	Env     map[string]string // as it was at its start

	started string // tells it from a later one with the same id
}

// Processes are those of the runner's jobs whose program lies in a folder of the job's
// (as what an action installs, and no tool of the machine) and has this name; empty:
// any. It needs a Linux.
func (r *Runner) Processes(name string) ([]JobProcess, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("look for the processes of jobs: %w", err)
	}
	var found []JobProcess
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		p := JobProcess{PID: pid}
		// The link of a removed program says so at its end.
		program, err := os.Readlink(p.proc("exe"))
		p.Program = strings.TrimSuffix(program, " (deleted)")
		if err != nil || !strings.HasPrefix(p.Program, r.path("cache")+"/") || name != "" && filepath.Base(p.Program) != name {
			continue
		}
		env, err := os.ReadFile(p.proc("environ"))
		if err != nil {
			continue // it has ended
		}
		p.Env = map[string]string{}
		for kv := range bytes.SplitSeq(env, []byte{0}) {
			name, value, _ := strings.Cut(string(kv), "=")
			p.Env[name] = value
		}
		if p.started = p.startTime(); p.started != "" {
			found = append(found, p)
		}
	}
	return found, nil
}

func (p JobProcess) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", p.PID, name) }

// Parent is the path of the parent's program.
func (p JobProcess) Parent() (program string, err error) {
	fields, err := p.stat()
	if err != nil {
		return "", err
	}
	return os.Readlink("/proc/" + fields[1] + "/exe")
}

// stat are the fields of /proc/PID/stat from the state on.
func (p JobProcess) stat() ([]string, error) {
	text, err := os.ReadFile(p.proc("stat"))
	if err != nil {
		return nil, err
	}
	// The name, in parentheses, may hold anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return nil, fmt.Errorf("%s has %d fields behind the name, want 20 at least", p.proc("stat"), len(fields))
	}
	return fields, nil
}

// startTime is empty for a process that has ended, also while nobody has asked for
// its status yet.
func (p JobProcess) startTime() string {
	fields, err := p.stat()
	if err != nil || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

// Alive tells whether the process still runs.
func (p JobProcess) Alive() bool { return p.started == p.startTime() }

// Kill ends the process with SIGKILL. One that has ended already is no error.
func (p JobProcess) Kill() error {
	if !p.Alive() {
		return nil
	}
	process, err := os.FindProcess(p.PID)
	if err != nil {
		return err
	}
	if err := process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill process %d: %w", p.PID, err)
	}
	return nil
}
