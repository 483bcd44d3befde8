package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"review-bot/reviewer/gitea"
)

// here is the pull request that a flag or the event names or, outside of a job,
// the open one of the branch that is checked out.
func (f targetFlags) here(w *world) (target, error) {
	if f.PR != "" || inJob(w.env) {
		return f.resolve(w.env)
	}
	f.PR = "1" // any will do
	t, err := f.resolve(w.env)
	if err != nil {
		return t, err
	}
	t.number = 0
	branch, err := git(w.ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		return t, usage("no pull request is given, and no branch is checked out here — give --pr N")
	}
	w.mask = secrets(w.env, t.token)
	pulls, err := t.forge().OpenPulls(w.ctx, branch)
	if err != nil {
		return t, err
	}
	if len(pulls) > 1 {
		// Forks may have branches of the same name: the one of this commit is meant.
		head, err := git(w.ctx, "rev-parse", "HEAD")
		if same := slices.DeleteFunc(slices.Clone(pulls), func(p gitea.OpenPull) bool { return p.Head != head }); err == nil && len(same) == 1 {
			pulls = same
		}
	}
	switch len(pulls) {
	case 0:
		return t, usage("the branch %s has no open pull request in %s/%s — give --pr N", branch, t.owner, t.name)
	case 1:
		t.number = pulls[0].Number
		return t, nil
	}
	var numbers []string
	for _, p := range pulls {
		numbers = append(numbers, "#"+strconv.FormatInt(p.Number, 10))
	}
	return t, usage("several open pull requests in %s/%s have a branch %s: %s — give --pr N", t.owner, t.name, branch, strings.Join(numbers, ", "))
}

// inJob tells whether an event has started the program.
func inJob(env map[string]string) bool {
	return env["GITHUB_EVENT_NAME"] != "" || env["GITHUB_EVENT_PATH"] != "" || env["GITHUB_REF"] != ""
}

// git asks the repository of the folder that the program was started in.
func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
