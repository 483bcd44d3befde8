package giteatest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// A process is a started command that somebody waits for.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed at its end, when cmd.ProcessState is there
}

// startProcess starts cmd so that it is killed when this process ends, whatever
// ends it (Linux; elsewhere only [process.stop] ends it).
func startProcess(cmd *exec.Cmd) (*process, error) {
	dieWithParent(cmd)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The kernel counts the end of the thread that forked as the parent's end.
		// So the thread is kept until the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // cmd.ProcessState says the same
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// ended tells whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop asks the process to end and kills it when it hasn't after grace.
func (p *process) stop(grace time.Duration) error {
	if p.ended() {
		return nil
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		_ = p.cmd.Process.Kill()
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill process %d: %w", p.cmd.Process.Pid, err)
	}
	<-p.done
	return nil
}

// cleanEnv is this process's environment without the variables that would
// change what git or Gitea do: a make that a git hook started has GIT_DIR set.
func cleanEnv(extra ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if strings.HasPrefix(kv, "GIT_") || strings.HasPrefix(kv, "GITEA_") || strings.HasPrefix(kv, "FORGEJO_") || strings.HasPrefix(kv, "LISTEN_FDS=") ||
			strings.HasPrefix(kv, "NOTIFY_SOCKET=") || strings.HasPrefix(kv, "SSH_ORIGINAL_COMMAND=") {
			continue
		}
		env = append(env, kv)
	}
	return append(env, extra...)
}
