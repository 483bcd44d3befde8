package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"review-bot/reviewer/gitea/giteatest"
)

// A release is made in a clone: its commit names the checksums of programs of its own
// source, they can be built again from it, and the installer takes them, and them only
// from there.
func TestRelease(t *testing.T) {
	t.Parallel()
	root, err := giteatest.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "clone")
	for name, text := range sources(t, root) {
		write(t, filepath.Join(dir, name), text)
	}
	sh := func(args ...string) (string, error) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PLATFORMS="+runtime.GOOS+"/"+runtime.GOARCH,
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	do := func(args ...string) string {
		t.Helper()
		out, err := sh(args...)
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	refused := func(want string, args ...string) {
		t.Helper()
		if out, err := sh(args...); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, want a failure that says %q\n%s", strings.Join(args, " "), err, want, out)
		}
	}
	do("git", "init", "-q", "-b", "main")
	do("git", "add", "-A")
	do("git", "commit", "-q", "-m", "the source")
	source := do("git", "rev-parse", "HEAD")
	refused("this checkout has no", "bash", ".ci/release", "--check")
	refused("is no version", "bash", ".ci/release", "v1")

	do("bash", ".ci/release", "v3.0.1")
	if changed := do("git", "diff", "--name-only", source, "HEAD"); changed != actionFolder+"/RELEASE" {
		t.Errorf("the release commit changes %q, want RELEASE only", changed)
	}
	head := do("git", "rev-parse", "HEAD")
	for _, tag := range []string{"v3.0.1", "v3"} {
		if at := do("git", "rev-parse", tag); at != head {
			t.Errorf("the tag %s is at %s, want %s", tag, at, head)
		}
	}
	program, err := os.ReadFile(filepath.Join(dir, "dist", asset()))
	if err != nil {
		t.Fatal(err)
	}
	text := do("cat", actionFolder+"/RELEASE")
	for _, line := range []string{"version v3.0.1", "commit " + source, "go " + runtime.Version(), sum(program) + "  " +
		asset()} {
		if !strings.Contains(text+"\n", line+"\n") {
			t.Errorf("RELEASE has no line %q:\n%s", line, text)
		}
	}
	if out := do("./dist/"+asset(), "version"); !strings.Contains(out, "review-bot v3.0.1 (commit "+source+",") {
		t.Errorf("the program calls itself %s", out)
	}
	refused("the tag v3.0.1 exists already", "bash", ".ci/release", "v3.0.1")

	// What the release installs, from where it is published.
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/o/r/releases/download/v3.0.1/"+asset() {
			_, _ = w.Write(program)
			return
		}
		http.NotFound(w, r)
	}))
	defer srv.Close()
	install := []string{
		"env", "PATH=" + withoutGo(t), "RUNNER_TEMP=" + t.TempDir(), "GITHUB_SERVER_URL=" + srv.URL,
		"GITHUB_ACTION_REPOSITORY=o/r",
		"sh", actionFolder + "/install.sh",
	}
	if out := do(install...); out != "review-bot: installed release v3.0.1 from "+srv.URL+"/o/r, checksum verified" {
		t.Errorf("the installer says %q", out)
	}

	// Work goes on after the release: its file is still there, and believed no more.
	write(t, filepath.Join(dir, "cmd", "review-bot", "more.go"), "package main\n")
	refused("its source isn't that of v3.0.1", install...)
	refused("the source isn't the one that", "bash", ".ci/release", "--check")
	refused("there are changes that aren't committed", "bash", ".ci/release", "v3.0.2")
	do("rm", "cmd/review-bot/more.go")
	forged := strings.Replace(text, sum(program), sum([]byte("evil")), 1)
	write(t, filepath.Join(dir, actionFolder, "RELEASE"), forged+"\n")
	refused("which isn't what", "bash", ".ci/release", "--check")
	refused("has the sha256 "+sum(program)+", not "+sum([]byte("evil")), install...)
}
