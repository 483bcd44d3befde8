package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"review-bot/reviewer/untrusted"
)

// exitError is an error with an exit status of its own. Without a message it
// says nothing more than the status does.
type exitError struct {
	status  int
	message string
}

func (e *exitError) Error() string { return e.message }

// usage is a mistake in flags, environment or configuration.
func usage(format string, args ...any) error {
	return &exitError{status: exitUsage, message: fmt.Sprintf(format, args...)}
}

type cli struct {
	Review    reviewCmd        `cmd:"" default:"withargs" help:"Review a pull request in one role (the default command)."`
	Reconcile reconcileCmd     `cmd:"" help:"Make the forge say what the roles' records come to; no model is asked."`
	Threads   threadsCmd       `cmd:"" help:"List the review conversations of a pull request, for people and programs that work through them; writes nothing."`
	Settle    settleCmd        `cmd:"" help:"Reply to conversations and resolve them, with evidence; says what it would do unless told to apply it."`
	Rounds    roundsCmd        `cmd:"" help:"Tell at how many heads a reviewer has requested changes since the count last began anew."`
	Config    configCmd        `cmd:"" help:"Print the effective settings, and where each comes from."`
	Doctor    doctorCmd        `cmd:"" help:"Check the set-up: server, token, rights, model, configuration; each row that fails says what to do."`
	About     versionCmd       `cmd:"" name:"version" help:"Print version, commit, Go version and platform."`
	Version   kong.VersionFlag `help:"Print the version and exit."`
}

// world is what a command sees beside its flags.
type world struct {
	ctx            context.Context //nolint:containedctx // handed through kong, which binds values by type
	env            map[string]string
	stdin          io.Reader
	stdout, stderr io.Writer
	mask           *untrusted.Masker // of the secrets known so far
}

const description = `Reviews pull requests on Gitea and Forgejo with a language model, as a CI job.

Inside an Actions job only a role, a token and a model need be given; server, repository and pull request come from the environment. Every flag can be set as REVIEW_BOT_<FLAG>, such as REVIEW_BOT_BLOCK_ON for --block-on; an empty variable counts as unset.

Exit status: 0 done, whatever the verdict; 1 failed; 2 usage or configuration; 3 with --fail-on-block, unless the verdict lets the commit pass.`

// run parses the command line and runs the command. Everything it needs of the
// process is passed in. An error has been told on stderr when run returns.
func run(ctx context.Context, args []string, env map[string]string, stdin io.Reader, stdout, stderr io.Writer) error {
	w := &world{ctx, env, stdin, stdout, stderr, secrets(env, given(args)...)}
	err := dispatch(w, args)
	if err != nil && err.Error() != "" {
		if stopped := context.Cause(ctx); stopped != nil && errors.Is(err, context.Canceled) {
			err = fmt.Errorf("%w — run the job again: it goes on where this one stopped", stopped)
		}
		// What reads secrets masks them where it knows them; this is the last door.
		line := "review-bot: " + w.mask.Redact(printable(err.Error()))
		if env["GITHUB_ACTIONS"] == "true" {
			line = "::error::" + escapeCommand(harmless(line))
		}
		fmt.Fprintln(stderr, line)
	}
	return err
}

func dispatch(w *world, args []string) error {
	var c cli
	exited := false
	parser, err := kong.New(&c,
		kong.Name("review-bot"),
		kong.Description(description),
		kong.Writers(w.stdout, w.stderr),
		kong.Exit(func(int) { exited = true }),
		kong.Vars{"version": about()},
		kong.Resolvers(environment(w.env)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.ValueFormatter(helpWithEnvironment),
	)
	if err != nil {
		return err
	}
	k, err := parser.Parse(args)
	if exited { // --help or --version was printed
		return nil
	}
	if err != nil {
		var parse *kong.ParseError
		if errors.As(err, &parse) {
			command := "review"
			if node := parse.Context.Selected(); node != nil {
				command = node.Name
			}
			return usage("%v — review-bot %s --help lists the flags and their values", err, command)
		}
		return err
	}
	return k.Run(w)
}
