package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// What a release build stamps in, see .ci/dist.
var (
	stamped string // version
	commit  string
)

func version() string {
	if stamped != "" {
		return stamped
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "development"
}

// about is the version and what the program was built from, by and for.
func about() string {
	return fmt.Sprintf("review-bot %s (commit %s, %s, %s/%s)", version(), cmp.Or(commit, builtCommit(), "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// builtCommit is the commit that the go command has noted, "" if it hasn't.
func builtCommit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " with changes"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + changed
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(w *world) error {
	_, err := fmt.Fprintln(w.stdout, about())
	return err
}
