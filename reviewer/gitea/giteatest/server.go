package giteatest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	startLimit     = 60 * time.Second // far above the usual half second: a loaded machine
	stopGrace      = 10 * time.Second
	adminTokenFile = "admin-token"
	nonceFile      = "started.txt"
)

var (
	errNoServer   = errors.New("the server has ended")
	errNoListener = errors.New("the server can't listen")
)

// Options says how a server is started. The zero value is a fresh server in a
// temporary directory, on a free port.
type Options struct {
	// Root is the repository's root; empty: found from the working directory.
	Root string
	// Dir is the data directory, kept at Close. If it holds a server already, that
	// one is started again, with all its data. Empty: a temporary one that Close removes.
	Dir string
	// Port is the loopback port; 0: a free one.
	Port int
	// Config is appended to the server's app.ini; a section may be opened again.
	Config string
	// Progress hears of a build that is needed first; nil: nobody.
	Progress io.Writer
}

// A Server is a running Gitea.
type Server struct {
	// URL is the address without a slash at the end: http://127.0.0.1:34567
	URL string
	// Admin is the site's administrator. Its token has all scopes.
	Admin *User
	// Version is what the server says that it is, as in 1.26.0 or 15.0.3+gitea-1.22.0.
	Version string

	dir       string
	keep      bool // of dir, at Close
	scratch   string
	binary    string
	process   *process
	client    *http.Client
	sessions  sync.Map // by user name: the *http.Client that is signed in on the web pages
	closeOnce sync.Once
	closeErr  error
}

// Start starts a server and returns when it answers. ctx bounds the start, not
// the server's life: it runs until Close, or until this process ends (on Linux
// also if that is by SIGKILL).
func Start(ctx context.Context, opts Options) (*Server, error) {
	s, err := start(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("start a Gitea server: %w", err)
	}
	return s, nil
}

func start(ctx context.Context, opts Options) (_ *Server, err error) {
	root := opts.Root
	if root == "" {
		if root, err = Root(); err != nil {
			return nil, err
		}
	}
	binary, source, cache, err := program(ctx, root, opts.Progress)
	if err != nil {
		return nil, err
	}
	made, err := template(ctx, cache, binary, source)
	if err != nil {
		return nil, err
	}

	s := &Server{binary: binary, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	if s.scratch, err = os.MkdirTemp("", "giteatest-"); err != nil {
		return nil, err
	}
	if opts.Dir == "" {
		s.dir = filepath.Join(s.scratch, "server")
	} else {
		s.keep = true
		if s.dir, err = filepath.Abs(opts.Dir); err != nil {
			return nil, err
		}
	}
	if !isFile(filepath.Join(s.dir, adminTokenFile)) {
		if err := os.CopyFS(s.dir, os.DirFS(made)); err != nil {
			return nil, fmt.Errorf("fill the data directory %s: %w: it must be empty or hold a server that was started here before", s.dir, err)
		}
	}
	token, err := os.ReadFile(filepath.Join(s.dir, adminTokenFile))
	if err != nil {
		return nil, err
	}
	if err := s.launch(ctx, source, opts.Port, opts.Config); err != nil {
		return nil, err
	}
	s.Admin = &User{Name: adminName, Password: password(adminName), Token: string(token)}
	if _, err := s.Do(ctx, s.Admin.Token, http.MethodGet, "/user", nil, s.Admin.into()); err != nil {
		return nil, err
	}
	var answer struct {
		Version string `json:"version"`
	}
	_, err = s.Do(ctx, s.Admin.Token, http.MethodGet, "/version", nil, &answer)
	s.Version = answer.Version
	return s, err
}

// forgejo reports whether the server is a Forgejo.
func (s *Server) forgejo() bool { return strings.Contains(s.Version, "+gitea-") }

// portTries is how many free ports a start may lose to other processes.
const portTries = 3

// launch starts the process on the data directory and waits until it answers.
//
// Between finding a free port and the server's taking it, another process may
// take it; then the next one is tried. Handing the server an open socket, as
// systemd does, is no way out: Gitea takes that for its own restart and sends
// SIGTERM to its parent, us.
func (s *Server) launch(ctx context.Context, source string, port int, extra string) error {
	for try := 1; ; try++ {
		free, err := freePort(ctx, port)
		if err != nil {
			return err
		}
		err = s.launchAt(ctx, source, free, extra)
		if err == nil {
			return nil
		}
		err = fmt.Errorf("%w: the last lines of its log: %s", err, s.logTail())
		if port != 0 || try == portTries || !strings.Contains(err.Error(), "address already in use") {
			return err
		}
	}
}

// freePort finds a free port, or says whether the given one is free.
func freePort(ctx context.Context, port int) (int, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

func (s *Server) launchAt(ctx context.Context, source string, port int, extra string) error {
	s.URL = fmt.Sprintf("http://127.0.0.1:%d", port)
	text, err := config(s.dir, source, port, extra)
	if err != nil {
		return err
	}
	// An asset that only this server has tells it from another one at the port.
	assets := filepath.Join(s.dir, "custom", "public", "assets")
	nonce := rand.Text()
	err = errors.Join(
		os.WriteFile(filepath.Join(s.dir, "app.ini"), []byte(text), 0o600),
		os.MkdirAll(assets, 0o755),
		os.WriteFile(filepath.Join(assets, nonceFile), []byte(nonce), 0o644),
		os.RemoveAll(filepath.Join(s.dir, "log")), // an earlier start's
		os.MkdirAll(filepath.Join(s.dir, "log"), 0o755),
	)
	if err != nil {
		return err
	}
	console, err := os.Create(s.consoleLog())
	if err != nil {
		return err
	}
	defer console.Close()
	// Not ctx: it bounds the start, and the server outlives it.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.binary, "--config", filepath.Join(s.dir, "app.ini"), "web")
	cmd.Dir = s.dir
	cmd.Env = cleanEnv()
	cmd.Stdout, cmd.Stderr = console, console
	if s.process, err = startProcess(cmd); err != nil {
		return err
	}
	if err := s.awaitAnswer(ctx, nonce); err != nil {
		_ = s.process.stop(0) // the first error says what is wrong
		return err
	}
	return nil
}

func (s *Server) awaitAnswer(ctx context.Context, nonce string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: startLimit}
	return Poll(ctx, startLimit, "the server answers", func() (bool, error) {
		if s.process.ended() {
			return false, fmt.Errorf("%w: %s", errNoServer, s.process.cmd.ProcessState)
		}
		// Gitea runs on when it can't listen: only the log tells.
		if text, err := os.ReadFile(s.log()); err == nil && bytes.Contains(text, []byte("Failed to start server")) {
			return false, errNoListener
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/assets/"+nonceFile, nil)
		if err != nil {
			return false, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return false, nil // not yet
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return err == nil && string(text) == nonce, nil
	})
}

// Close stops the server and removes what it left, except a data directory that
// the caller gave. It may be called more than once.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		var errs []error
		if s.client != nil {
			s.client.CloseIdleConnections()
		}
		if s.process != nil {
			errs = append(errs, s.process.stop(stopGrace))
		}
		if s.scratch != "" {
			errs = append(errs, os.RemoveAll(s.scratch))
		}
		if err := errors.Join(errs...); err != nil {
			s.closeErr = fmt.Errorf("stop the Gitea server at %s: %w", s.URL, err)
		}
	})
	return s.closeErr
}

// Via is the same server, reached through a proxy: all requests and pushes of what
// is made from it go there. Closing it does nothing.
func (s *Server) Via(p *Proxy) *Server {
	seen := &Server{URL: p.URL, Admin: s.Admin, Version: s.Version, dir: s.dir, scratch: s.scratch, process: s.process, client: s.client}
	seen.closeOnce.Do(func() {})
	return seen
}

// Dir is the data directory, with the server's log in log/gitea.log and its
// app.ini.
func (s *Server) Dir() string { return s.dir }

// PID is the server's process id.
func (s *Server) PID() int { return s.process.cmd.Process.Pid }

func (s *Server) log() string        { return filepath.Join(s.dir, "log", "gitea.log") }
func (s *Server) consoleLog() string { return filepath.Join(s.dir, "log", "console.log") }

// logTail is the end of what the server has said, in one line.
func (s *Server) logTail() string {
	var lines []string
	for _, path := range []string{s.log(), s.consoleLog()} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // a server that ends early has not made all of them
		}
		lines = append(lines, lastLines(strings.Split(string(text), "\n"), 4))
	}
	return lastLines(lines, 2)
}
