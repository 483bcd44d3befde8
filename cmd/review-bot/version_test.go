package main

import (
	"runtime"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	defer func(v, c string) { stamped, commit = v, c }(stamped, commit)
	stamped, commit = "v1.2.0", "1a2b3c4d"
	want := "review-bot v1.2.0 (commit 1a2b3c4d, " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")\n"
	for _, args := range []string{"version", "--version"} {
		// Nothing of a job's environment gets in the way.
		if e := complete(t).with("REVIEW_BOT_VERSION", "9").run(t, args); e.status != 0 || e.stdout != want || e.stderr != "" {
			t.Errorf("%s: exit status %d, %q, want %q\n%s", args, e.status, e.stdout, want, e.stderr)
		}
	}
	stamped, commit = "", ""
	if got := about(); !strings.HasPrefix(got, "review-bot ") || !strings.Contains(got, " (commit ") || strings.Contains(got, "(commit ,") {
		t.Errorf("a build without a stamp calls itself %q", got)
	}
}
