// Command review-bot reviews pull requests on Gitea and Forgejo with a language
// model, as a job of the forge's own CI.
//
//	review-bot --role security
//
// It reads the pull request over the API, asks an OpenAI-compatible model, and
// publishes one review that it finds again by a hidden marker. Exit status: 0
// done, whatever the verdict; 1 failed, with one line that says what to do; 2
// usage or configuration; 3 with --fail-on-block, unless the verdict lets the
// commit pass.
//
// SIGINT, SIGTERM and the death of the parent process stop it: at once before
// anything is published, and after the request under way when something is. The lock
// is released, an approval of another commit is taken back if that can be done at
// once, and the process is gone within 5 seconds. A second signal ends it
// immediately.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// parent is the process that started this one. It is asked for before anything
// else, so that its death is noticed however early it comes.
var parent = os.Getppid()

func main() {
	env := environ(os.Environ())
	forget()
	ctx, end := context.WithCancelCause(context.Background())
	signals, orphaned := make(chan os.Signal, 8), make(chan struct{}, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	// Who reads the log may be gone, and the lock is to be released all the same.
	signal.Ignore(syscall.SIGPIPE)
	followParent(orphaned)
	go func() {
		line := obey(signals, orphaned, end)
		fmt.Fprintln(os.Stderr, "review-bot: "+line)
		os.Exit(1)
	}()
	os.Exit(status(run(ctx, os.Args[1:], env, os.Stdin, os.Stdout, os.Stderr)))
}

const (
	// stopLimit is how long a stopped process may take in all: longer than a
	// publication does to come to its end, see reviewer.Grace.
	stopLimit = 4500 * time.Millisecond
	// oneStop is how long after a signal further ones belong to it. A whole process
	// group that is told to stop makes two: its own, and that of the parent's death.
	oneStop = 250 * time.Millisecond
)

// stoppedError is the cause of a context that ended because the process was told
// to stop.
type stoppedError struct{ by string }

func (e *stoppedError) Error() string { return "stopped by " + e.by }

// obey ends the context when the process is told to stop. It returns when there
// is no more time for an orderly end, with a line that says so.
func obey(signals <-chan os.Signal, orphaned <-chan struct{}, end context.CancelCauseFunc) (line string) {
	var alone bool
	by := "the death of the parent process"
	select {
	case s := <-signals:
		alone = os.Getppid() != parent
		if !alone {
			by = name(s)
		}
	case <-orphaned:
		alone = true
	}
	end(&stoppedError{by})
	began := time.Now()
	limit := time.After(stopLimit)
	for {
		select {
		case s := <-signals:
			switch {
			case time.Since(began) < oneStop:
			case !alone && os.Getppid() != parent:
				alone = true // this one tells of it
			default:
				return "ended at once by a second " + name(s) + "; a lock that is left expires by itself — run the job again"
			}
		case <-limit:
			return "stopped by " + by + ", and a request didn't end in time; a lock that is left expires by itself — run the job again"
		}
	}
}

// name is what a signal is called.
func name(s os.Signal) string {
	switch s {
	case os.Interrupt:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	default:
		return s.String()
	}
}

// status is the exit status that an error stands for.
func status(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &e):
		return e.status
	default:
		return exitFailed
	}
}
