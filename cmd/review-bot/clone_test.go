package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What git itself says, in all the ways in which it keeps it.
func TestCheckedOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(in string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", in, "-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	check := func(in, branch string) {
		t.Helper()
		want := ""
		if branch != "unborn" {
			want = git(in, "rev-parse", "HEAD")
		}
		if got, commit, err := checkedOut(in); err != nil || got != branch || commit != want {
			t.Errorf("%q at %q, %v, want %q at %q", got, commit, err, branch, want)
		}
	}
	fails := func(in, want string) {
		t.Helper()
		if got, _, err := checkedOut(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	fails(dir, "this is no clone of a repository")
	clone := filepath.Join(dir, "clone")
	git(dir, "init", "-q", "-b", "unborn", clone)
	check(clone, "unborn")
	git(clone, "commit", "-q", "--allow-empty", "-m", "one")
	git(clone, "checkout", "-q", "-b", "feature/deep")
	git(clone, "tag", "feature/deep")
	check(clone, "feature/deep")
	sub := filepath.Join(clone, "a", "b")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	check(sub, "feature/deep")
	git(clone, "pack-refs", "--all")
	check(clone, "feature/deep")
	git(clone, "commit", "-q", "--allow-empty", "-m", "two") // the loose one goes before the packed one
	check(clone, "feature/deep")

	tree := filepath.Join(dir, "tree")
	git(clone, "worktree", "add", "-q", "-b", "other", tree)
	git(tree, "commit", "-q", "--allow-empty", "-m", "three")
	check(tree, "other")
	git(clone, "pack-refs", "--all")
	check(tree, "other")

	git(clone, "checkout", "-q", "--detach")
	fails(clone, "no branch is checked out here")
	if err := os.WriteFile(filepath.Join(tree, ".git"), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(tree, "names no repository")
}
