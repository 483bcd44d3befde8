package giteatest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A clone is a local working copy of a repository on the server.
type clone struct {
	mu      sync.Mutex
	dir     string
	url     string
	commits int // made here so far: their clock
}

// firstCommit is when the first commit of every clone is made; each further one
// is a minute later. So the same steps make the same commit ids.
var firstCommit = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// git runs git in the clone as u and returns its output without the last newline.
// No configuration of the machine or its user applies, and git never asks.
func (c *clone) git(ctx context.Context, u *User, stdin string, args ...string) (string, error) {
	when := firstCommit.Add(time.Duration(c.commits) * time.Minute).Format(time.RFC3339)
	login := base64.StdEncoding.EncodeToString([]byte(u.Name + ":" + u.Password))
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = c.dir
	cmd.Env = cleanEnv(
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME="+u.Name, "GIT_AUTHOR_EMAIL="+u.Email(), "GIT_AUTHOR_DATE="+when,
		"GIT_COMMITTER_NAME="+u.Name, "GIT_COMMITTER_EMAIL="+u.Email(), "GIT_COMMITTER_DATE="+when,
		// Not in the URL: that one stands in error messages.
		"GIT_CONFIG_COUNT=3",
		"GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic "+login,
		"GIT_CONFIG_KEY_1=gc.auto", "GIT_CONFIG_VALUE_1=0",
		"GIT_CONFIG_KEY_2=core.autocrlf", "GIT_CONFIG_VALUE_2=false",
	)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s in %s as %s: %w: %s", strings.Join(args, " "), c.url, u.Name, err,
			lastLines(strings.Split(stderr.String(), "\n"), 8))
	}
	return strings.TrimSuffix(stdout.String(), "\n"), nil
}

// fetch makes the local view of the server's branches that of the server now.
func (c *clone) fetch(ctx context.Context, u *User) error {
	_, err := c.git(ctx, u, "", "fetch", "-q", "--prune", c.url, "+refs/heads/*:refs/remotes/origin/*")
	return err
}

// resolve returns the commit that rev names: a branch on the server, or anything
// that git knows locally. ok is false when there is none.
func (c *clone) resolve(ctx context.Context, u *User, rev string) (sha string, ok bool) {
	for _, name := range []string{"refs/remotes/origin/" + rev, rev} {
		sha, err := c.git(ctx, u, "", "rev-parse", "-q", "--verify", name+"^{commit}")
		if err == nil {
			return sha, true
		}
	}
	return "", false
}

// commit makes a commit on top of start (empty: a root commit) and returns its id.
func (c *clone) commit(ctx context.Context, u *User, start string, edit Edit, message string) (string, error) {
	if err := c.checkout(ctx, u, start); err != nil {
		return "", err
	}
	if edit != nil {
		if err := edit(c.dir); err != nil {
			return "", fmt.Errorf("edit the clone of %s: %w", c.url, err)
		}
	}
	// --force: a test's .gitignore must not hide the test's own files.
	if _, err := c.git(ctx, u, "", "add", "--all", "--force"); err != nil {
		return "", err
	}
	if _, err := c.git(ctx, u, message, "commit", "-q", "--allow-empty", "--allow-empty-message", "--cleanup=verbatim", "-F", "-"); err != nil {
		return "", err
	}
	c.commits++
	return c.git(ctx, u, "", "rev-parse", "HEAD")
}

// checkout makes the working tree that of start, and nothing else in it.
func (c *clone) checkout(ctx context.Context, u *User, start string) error {
	if start != "" {
		_, err := c.git(ctx, u, "", "checkout", "-q", "--force", "--detach", start)
		if err != nil {
			return err
		}
		_, err = c.git(ctx, u, "", "clean", "-qffdx")
		return err
	}
	// HEAD at a branch without a commit makes the next commit a root.
	if _, err := c.git(ctx, u, "", "symbolic-ref", "HEAD", "refs/heads/"+Unique("root")); err != nil {
		return err
	}
	_, err := c.git(ctx, u, "", "rm", "-rfq", "--ignore-unmatch", ".")
	return err
}

func (c *clone) push(ctx context.Context, u *User, src, branch string, force bool) error {
	spec := src + ":refs/heads/" + branch
	if force {
		spec = "+" + spec
	}
	_, err := c.git(ctx, u, "", "push", "-q", c.url, spec)
	return err
}

// An Edit changes the working tree in dir, before a commit of all of it.
type Edit func(dir string) error

// Deleted as a file's text in [Files] deletes the file.
const Deleted = "\x00deleted"

// Files writes each text to its path (slashes, relative to the root), making
// folders, or deletes the path when the text is [Deleted]. An empty text is an
// empty file.
func Files(files map[string]string) Edit {
	return func(dir string) error {
		for path, text := range files {
			name := filepath.Join(dir, filepath.FromSlash(path))
			if text == Deleted {
				if err := os.Remove(name); err != nil {
					return err
				}
				continue
			}
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				return err
			}
		}
		return nil
	}
}

// Rename moves a file, making folders.
func Rename(from, to string) Edit {
	return func(dir string) error {
		name := filepath.Join(dir, filepath.FromSlash(to))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return os.Rename(filepath.Join(dir, filepath.FromSlash(from)), name)
	}
}

// Chmod changes a file's mode. Git keeps whether it is executable.
func Chmod(path string, mode fs.FileMode) Edit {
	return func(dir string) error { return os.Chmod(filepath.Join(dir, filepath.FromSlash(path)), mode) }
}

// Edits does one edit after the other.
func Edits(edits ...Edit) Edit {
	return func(dir string) error {
		var errs []error
		for _, e := range edits {
			errs = append(errs, e(dir))
		}
		return errors.Join(errs...)
	}
}
