// Command review-bot reviews pull requests on Gitea and Forgejo with a language
// model, as a job of the forge's own CI.
//
//	review-bot --role security
//
// It reads the pull request over the API, asks an OpenAI-compatible model, and
// publishes one review that it finds again by a hidden marker. Exit status: 0
// done, whatever the verdict; 1 failed, with one line that says what to do; 2
// usage or configuration; 3 blocked and --fail-on-block.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], environ(os.Environ()), os.Stdout, os.Stderr)
	stop()
	os.Exit(status(err))
}

// status is the exit status that an error stands for.
func status(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.status
	default:
		return 1
	}
}
