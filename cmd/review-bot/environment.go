package main

import (
	"strings"

	"github.com/alecthomas/kong"

	"review-bot/reviewer/untrusted"
)

// environ turns a process's environment into a map.
func environ(list []string) map[string]string {
	env := map[string]string{}
	for _, entry := range list {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}

// names are the variables that a flag is also read from, in order: its own,
// then the well-known ones of its tag `also`.
func names(flag *kong.Flag) []string {
	own := "REVIEW_BOT_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
	list := []string{own}
	if also := flag.Tag.Get("also"); also != "" {
		list = append(list, strings.Split(also, ",")...)
	}
	return list
}

// environment resolves flags from variables. An empty one counts as unset: a
// composite action passes inputs that weren't given as empty ones.
func environment(env map[string]string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if flag.Name == "help" || flag.Name == "version" { // REVIEW_BOT_VERSION may well be which one to install
			return nil, nil //nolint:nilnil // see below
		}
		if _, value := variable(flag, env); value != "" {
			return value, nil
		}
		return nil, nil //nolint:nilnil // kong's way to say: not resolved here
	})
}

// variable is the first of a flag's variables that is set, and its value.
func variable(flag *kong.Flag, env map[string]string) (name, value string) {
	for _, name := range names(flag) {
		if value := env[name]; value != "" {
			return name, value
		}
	}
	return "", ""
}

// helpWithEnvironment shows the well-known variables of a flag in its help.
func helpWithEnvironment(value *kong.Value) string {
	if value.Tag != nil && value.Tag.Get("also") != "" {
		return value.Help + " (" + strings.ReplaceAll(value.Tag.Get("also"), ",", ", ") + ")"
	}
	return value.Help
}

// secrets knows the secret values of the environment, so that none of them is
// ever printed or published.
func secrets(env map[string]string, more ...string) *untrusted.Masker {
	values := more
	for _, name := range secretVariables {
		values = append(values, env[name])
	}
	return untrusted.NewMasker(values...)
}

// given are the secrets on the command line, also of one that can't be parsed.
func given(args []string) []string {
	var values []string
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		if name == "--token" || name == "--api-key" || name == "--header" {
			values = append(values, value)
		}
	}
	return values
}
