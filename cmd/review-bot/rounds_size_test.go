//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"review-bot/reviewer"
	"review-bot/reviewer/gitea/giteatest"
)

// A pull request of 100,000 lines in 3,000 files: what has room is reviewed, the
// rest is said, and nothing is approved for having been left out.
func TestAHugePullRequest(t *testing.T) {
	t.Parallel()
	const files, lines, calls = 3000, 34, 6
	b := newBench(t, map[string]string{"README.md": "x\n"})
	many := map[string]string{}
	for i := range files {
		var text strings.Builder
		for n := range lines {
			fmt.Fprintf(&text, "\tresult[%d] = compute(input, %d) // step %d of file %d\n", n, n*i, n, i)
		}
		many[fmt.Sprintf("pkg%02d/file%04d.go", i%50, i)] = text.String()
	}
	pull := b.open(t, giteatest.Files(many))
	srv := says(t)
	p := process{theProgram(t), b.job(pull, srv, "logic").with("REVIEW_BOT_MAX_CALLS", fmt.Sprint(calls))}
	cmd, out := p.command(t, "--json")
	result := new(bytes.Buffer)
	cmd.Stdout = result
	began := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	took := time.Since(began)
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("this system doesn't tell what a process used")
	}
	t.Logf("%s, %d MiB, %d calls", took.Round(time.Millisecond), usage.Maxrss/1024, srv.Count())
	if took > 30*time.Second || usage.Maxrss/1024 > 512 {
		t.Errorf("it took %s and %d MiB, at most 30 s and 512 MiB are allowed", took, usage.Maxrss/1024)
	}
	if n := srv.Count(); n != calls {
		t.Errorf("%d model requests, want all %d that are allowed", n, calls)
	}
	shown := map[string]bool{}
	for _, req := range srv.Requests() {
		for line := range strings.Lines(req.Text()) {
			if path, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "file: "); ok {
				if shown[path] {
					t.Errorf("%s is shown twice", path)
				}
				shown[path] = true
			}
		}
	}
	review := only(t, pull)
	if review.State != "COMMENT" || !strings.HasPrefix(review.Body, "**partly reviewed — logic comments** · ") {
		t.Errorf("state %s:\n%s", review.State, review.Body)
	}
	if want := fmt.Sprintf("Not read (%d files)", files-len(shown)); len(shown) < 500 ||
		!strings.Contains(review.Body, want) {
		t.Errorf("%d files are shown to the model, and the body lacks %q:\n%s", len(shown), want, review.Body)
	}
	var r reviewer.Result
	if err := json.Unmarshal(result.Bytes(), &r); err != nil {
		t.Fatalf("%v in %s", err, result)
	}
	for _, f := range r.NotReviewed {
		if shown[f.Path] || f.Why == "" {
			t.Errorf("%s is shown to the model, and listed as not reviewed: %q", f.Path, f.Why)
		}
		shown[f.Path] = true
	}
	if len(shown) != files {
		t.Errorf("%d files are reviewed or listed, want all %d", len(shown), files)
	}
	if len(review.Body) > 60_000 {
		t.Errorf("the body has %d characters", len(review.Body))
	}
}
