package diff

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repo is a real git repository: what git writes is the fact these tests go by.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB) repo {
	t.Helper()
	r := repo{t, t.TempDir()}
	r.git("init", "-q")
	r.git("config", "core.fsync", "none")
	r.git("config", "core.symlinks", "true")
	return r
}

// git runs git apart from the machine's and the user's configuration.
func (r repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = r.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "LC_ALL=C",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null",
	}
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			r.t.Logf("%s", exit.Stderr)
		}
		r.t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

func (r repo) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r repo) remove(name string) {
	r.t.Helper()
	if err := os.Remove(filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

// tree stages everything and gives the tree's id.
func (r repo) tree() string {
	r.t.Helper()
	r.git("add", "-A")
	return strings.TrimSpace(r.git("write-tree"))
}

// diff is what git says of two trees; renames are found, as Gitea asks git to.
func (r repo) diff(before, after string, options ...string) string {
	r.t.Helper()
	args := append([]string{"diff", "-M"}, options...)
	return r.git(append(args, before, after)...)
}

func mustParse(t testing.TB, text string) Diff {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return d
}

// fileLines are a file's lines with their ends.
func fileLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// raw is a line's bytes in the file.
func (l Line) raw() string {
	s := l.Text
	if l.CR {
		s += "\r"
	}
	if !l.NoNewline {
		s += "\n"
	}
	return s
}
