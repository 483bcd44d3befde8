package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"review-bot/reviewer/gitea"
)

// here is the pull request that a flag or the event names or, outside of a job,
// the open one of the branch that is checked out. rights are those that the token
// needs.
func (f targetFlags) here(w *world, rights string) (target, error) {
	if token, err := f.secret(w.env); err != nil || token == "" {
		return target{}, cmp.Or(err, usage("no token is given — create one for your account with %s, and set GITEA_TOKEN", rights))
	}
	if f.PR != "" || inJob(w.env) {
		return f.resolve(w.env)
	}
	f.PR = "1" // any will do
	t, err := f.resolve(w.env)
	if err != nil {
		return t, err
	}
	t.number = 0
	branch, head, err := checkedOut(".")
	if err != nil {
		return t, usage("no pull request is given, and %v — give --pr N", err)
	}
	w.mask = secrets(w.env, t.token)
	pulls, err := t.forge().OpenPulls(w.ctx, branch)
	if err != nil {
		return t, err
	}
	pulls = likeliest(pulls, head)
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

// likeliest are those of the open pull requests of a branch's name that can be meant
// in a clone that is at a commit. Anybody may have a fork with such a branch: one
// counts only if it is at that very commit.
func likeliest(pulls []gitea.OpenPull, head string) []gitea.OpenPull {
	pulls = slices.DeleteFunc(slices.Clone(pulls), func(p gitea.OpenPull) bool { return p.Fork && p.Head != head })
	exact := slices.DeleteFunc(slices.Clone(pulls), func(p gitea.OpenPull) bool { return p.Head != head })
	own := slices.DeleteFunc(slices.Clone(pulls), func(p gitea.OpenPull) bool { return p.Fork })
	switch {
	case len(exact) == 1 && (exact[0].Fork == (len(own) == 0)):
		return exact
	case len(own) > 0:
		return own
	}
	return pulls
}

// inJob tells whether an event has started the program.
func inJob(env map[string]string) bool {
	return env["GITHUB_EVENT_NAME"] != "" || env["GITHUB_EVENT_PATH"] != "" || env["GITHUB_REF"] != ""
}
