// Command demo shows review-bot at work on a real Gitea on this machine.
//
//	demo run       starts a Gitea and a model server, opens a pull request with
//	               planted defects, reviews it in three roles, shows the result
//	demo instance  starts a Gitea that stays until it is interrupted
//	demo build     builds the Gitea that tests and demo use, if it isn't there
//
// The model is scripted (script.json beside this file), unless OPENAI_API_KEY or
// OPENAI_BASE_URL and REVIEW_BOT_MODEL name a real one.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"review-bot/reviewer/gitea/giteatest"
)

type cli struct {
	Run      runCmd      `cmd:"" help:"Review a pull request with planted defects and show what stands on it."`
	Instance instanceCmd `cmd:"" help:"Start a Gitea with a seeded repository and pull request; stop it with Ctrl-C."`
	Build    buildCmd    `cmd:"" help:"Build the Gitea that tests and demo use, if it isn't there."`
}

// world is what a command sees of the process.
type world struct {
	ctx    context.Context //nolint:containedctx // handed through kong, which binds values by type
	env    func(string) string
	stdout io.Writer
	stderr io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(&world{ctx, os.Getenv, os.Stdout, os.Stderr}, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(w *world, args []string) error {
	var c cli
	exited := false
	parser, err := kong.New(&c, kong.Name("demo"), kong.Writers(w.stdout, w.stderr), kong.Exit(func(int) { exited = true }),
		kong.Description("Shows review-bot at work on a real Gitea on this machine."))
	if err != nil {
		return err
	}
	k, err := parser.Parse(args)
	if err != nil || exited {
		return err
	}
	return k.Run(w)
}

type buildCmd struct{}

// Run builds the test instance.
func (buildCmd) Run(w *world) error {
	root, err := giteatest.Root()
	if err != nil {
		return err
	}
	_, err = giteatest.Build(w.ctx, root, w.stderr)
	return err
}
