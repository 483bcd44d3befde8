package giteatest

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
)

// Version is the version of the Gitea that the servers are, as
// .gitea/instance/go.mod pins it.
const Version = "1.26.0"

// RunnerVersion is the version of the Actions runner that [BuildRunner] builds.
const RunnerVersion = "1.0.8"

// A target is a program that is built from a module which only pins it.
type target struct {
	title   string // for people: "Gitea 1.26.0"
	name    string // of the cache directory and of the binary
	version string
	module  string // folder of the pinning module, relative to the repository root
	pkg     string
	args    []string // of go build
	took    string   // how long a first build takes, for people
}

var (
	server = target{
		title: "Gitea " + Version, name: "gitea", version: Version,
		module: ".gitea/instance", pkg: "code.gitea.io/gitea",
		args: []string{"-tags", "sqlite sqlite_unlock_notify", "-ldflags", "-X main.Version=" + Version},
		took: "about 3 minutes",
	}
	runner = target{
		title: "Gitea runner " + RunnerVersion, name: "runner", version: RunnerVersion,
		module: ".gitea/instance/runner", pkg: "gitea.com/gitea/runner",
		took: "about half a minute",
	}
)

// Build returns the path of the Gitea binary, which it builds from the module
// .gitea/instance of the repository at root (see [Root]) if this machine's user
// cache has none for the module's go.mod, go.sum and the Go version. The first
// build takes minutes and reports to progress, a line every ten seconds (nil:
// silent). Processes that need it at the same time build it once.
func Build(ctx context.Context, root string, progress io.Writer) (binary string, err error) {
	return server.build(ctx, root, progress)
}

// BuildRunner is [Build] for the Actions runner, from .gitea/instance/runner.
func BuildRunner(ctx context.Context, root string, progress io.Writer) (binary string, err error) {
	return runner.build(ctx, root, progress)
}

// Root returns the repository's root: the nearest folder at or above the working
// directory whose go.mod is that of the module review-bot.
func Root() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository's root: %w", err)
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			first, _, _ := strings.Cut(string(text), "\n")
			if strings.TrimSpace(first) == "module review-bot" {
				return dir, nil
			}
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the repository's root: no go.mod of module review-bot at or above %s: run this inside the repository", wd)
		}
	}
}

// cacheDir is where the binary and what belongs to it lives. Its name changes
// with everything that the binary is made from.
func (t target) cacheDir(root string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place for the built %s: %w: set HOME or XDG_CACHE_HOME", t.title, err)
	}
	sum := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(t.module), name))
		if err != nil {
			return "", fmt.Errorf("read what pins %s: %w: is %q the repository's root?", t.title, err, root)
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
	}
	fmt.Fprintf(sum, "%s %s %q", runtime.Version(), t.version, t.args)
	return filepath.Join(cache, "review-bot", t.name+"-"+t.version+"-"+hex.EncodeToString(sum.Sum(nil))[:16]), nil
}

func (t target) build(ctx context.Context, root string, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	dir, err := t.cacheDir(root)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, t.name)
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if isFile(binary) {
		return binary, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the folder for the built %s: %w", t.title, err)
	}
	unlock, err := lock(ctx, filepath.Join(dir, "build.lock"), func() {
		fmt.Fprintf(progress, "%s is being built by another process, waiting for it\n", t.title)
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if isFile(binary) {
		return binary, nil // the process that held the lock has built it
	}

	fmt.Fprintf(progress, "building %s: the first time this takes %s\n", t.title, t.took)
	start := time.Now()
	unfinished := binary + ".unfinished"
	if err := t.compile(ctx, root, unfinished, progress); err != nil {
		return "", err
	}
	if err := os.Rename(unfinished, binary); err != nil {
		return "", fmt.Errorf("put the built %s in place: %w", t.title, err)
	}
	fmt.Fprintf(progress, "built %s in %.0f s: %s\n", t.title, time.Since(start).Seconds(), binary)
	return binary, nil
}

func (t target) compile(ctx context.Context, root, out string, progress io.Writer) error {
	args := append([]string{"build", "-v", "-o", out}, t.args...)
	cmd := t.goCommand(ctx, root, append(args, t.pkg)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("build %s: %w", t.title, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("build %s: %w: is Go on the PATH?", t.title, err)
	}

	var packages atomic.Int64
	stop := make(chan struct{})
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		start := time.Now()
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(progress, "building %s: %d packages compiled, %.0f s\n", t.title, packages.Load(), time.Since(start).Seconds())
			case <-stop:
				return
			}
		}
	}()

	// go build -v prints an import path, which has no space, for every package it
	// compiles. All else is "go: downloading …" or an error.
	var said []string
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || strings.HasPrefix(line, "go: downloading "):
		case strings.ContainsAny(line, " \t"):
			said = append(said, line)
		default:
			packages.Add(1)
		}
	}
	// A scanner that gave up must not leave the compiler blocked on a full pipe.
	_, _ = io.Copy(io.Discard, stderr)
	err = cmd.Wait()
	close(stop)
	<-reported
	if ctx.Err() != nil {
		return fmt.Errorf("build %s: %w", t.title, context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("build %s: %w: %s: run `%s` to see all of it (it needs the Go module proxy and a C compiler)",
			t.title, err, lastLines(said, 3), strings.Join(cmd.Args, " "))
	}
	return nil
}

// goCommand is the go command on the pinning module, free of what the caller's
// environment says about the caller's own module.
func (t target) goCommand(ctx context.Context, root string, args ...string) *exec.Cmd {
	module := filepath.Join(root, filepath.FromSlash(t.module))
	cmd := exec.CommandContext(ctx, "go", append([]string{args[0], "-C", module}, args[1:]...)...)
	// SQLite is C code: without cgo the build passes and the server doesn't start.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=", "GOWORK=off", "GOOS=", "GOARCH=")
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// sourceDir is the folder of the target's source in the module cache. The answer
// is kept next to the binary; a module cache that was emptied since is filled
// again.
func (t target) sourceDir(ctx context.Context, root, dir string) (string, error) {
	kept := filepath.Join(dir, "source-dir")
	if text, err := os.ReadFile(kept); err == nil {
		if source := string(text); isDir(source) {
			return source, nil
		}
	}
	if _, err := t.goCommand(ctx, root, "mod", "download", t.pkg).Output(); err != nil {
		return "", fmt.Errorf("download the source of %s: %w: the Go module proxy must be reachable", t.title, explain(err))
	}
	out, err := t.goCommand(ctx, root, "list", "-m", "-f", "{{.Dir}}", t.pkg).Output()
	if err != nil {
		return "", fmt.Errorf("find the source of %s: %w", t.title, explain(err))
	}
	source := strings.TrimSpace(string(out))
	if !isDir(source) {
		return "", fmt.Errorf("find the source of %s: go list says %q, which is no folder", t.title, source)
	}
	if err := writeFileAtomic(kept, []byte(source)); err != nil {
		return "", fmt.Errorf("keep the place of the source of %s: %w", t.title, err)
	}
	return source, nil
}

// lock takes the file lock at path; waiting is called once if another process
// holds it.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	l := flock.New(path)
	ok, err := l.TryLock()
	if err == nil && !ok {
		waiting()
		_, err = l.TryLockContext(ctx, 200*time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = l.Unlock() }, nil
}

func writeFileAtomic(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// explain adds what a command said on standard error to its exit status.
func explain(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, lastLines(strings.Split(string(exit.Stderr), "\n"), 3))
	}
	return err
}

// lastLines joins the last n lines that say something into one line.
func lastLines(lines []string, n int) string {
	var said []string
	for _, l := range lines {
		if l = strings.TrimSpace(l); l != "" {
			said = append(said, l)
		}
	}
	return strings.Join(said[max(0, len(said)-n):], " | ")
}
