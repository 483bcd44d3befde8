package gitea

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"review-bot/reviewer"
)

// fault is a way in which a server fails, and what the program makes of it.
type fault struct {
	name   string
	answer http.HandlerFunc // nil: nobody listens
	// passes says that a read is tried again and its error is ErrUnavailable; unsure that
	// a write may have happened.
	passes, unsure bool
	next           string // what to do
	slow           bool   // it takes a request's whole time
}

const (
	nextAgain   = "run the job again; if it happens again, the server's log says why"
	nextReport  = "run the job again; if it happens again, report it with this line"
	nextProxy   = "run the job again; if it happens again, check any proxy before the server"
	nextServer  = "check --server (GITHUB_SERVER_URL) and that the server runs"
	nextNoForge = "check --server (GITHUB_SERVER_URL) and any proxy before it"
	nextToken   = "create one with repository: write, issue: write, user: read, and set GITEA_TOKEN"
	nextAccess  = "give the account write access to the repository"
)

// silent takes a request and never answers.
func silent(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // until then the server doesn't see the client leave
	<-r.Context().Done()
}

// drip sends a byte at a time, and no end.
func drip(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	for r.Context().Err() == nil {
		if _, err := w.Write([]byte(" ")); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		time.Sleep(10 * time.Millisecond)
	}
}

var faults = []fault{
	{"refused", nil, true, false, nextServer, false},
	{"reset", func(w http.ResponseWriter, _ *http.Request) { cut(w) }, true, true, nextServer, false},
	{"timed out", silent, true, true, nextServer, true},
	{"401", status(401, `{"message":"token revoked"}`), false, false, nextToken, false},
	{"403", status(403, `{"message":"no"}`), false, false, nextAccess, false},
	{"404", status(404, `{"message":"not found"}`), false, false, "check --repo and --pr", false},
	{"409", status(409, `{"message":"conflict"}`), false, false, "check --server (GITHUB_SERVER_URL)", false},
	{"422", status(422, `{"message":"invalid"}`), false, false, nextReport, false},
	{"429", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(429)
	}, true, false, "run the job again later", false},
	{"500", status(500, `{"message":"database is locked"}`), true, true, nextAgain, false},
	{"502", status(502, "<html>\n<title>Bad Gateway</title>\n"), true, true, nextAgain, false},
	{"200, broken JSON", status(200, `{"id": [7`), false, true, nextNoForge, false},
	{"200, cut short", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"id":7,`)
	}, true, true, nextProxy, false},
	{"200, slow drip", drip, true, true, nextServer, true},
}

// meets is a client that meets the fault at once, also one that takes time.
func (f fault) meets(url string) *Client {
	cfg := Config{
		Server: url, Owner: "alice", Name: "shop", Number: 42, Token: token, Retries: 1, Wait: time.Millisecond,
	}
	if f.slow {
		cfg.Limit = 50 * time.Millisecond
	}
	return New(cfg)
}

// Every request that the program makes × every way for it to fail ends in an error of
// the class that the caller goes by, in one line that says what to do; a read
// is tried again if that may help, and a write is sent once.
func TestEveryRequestTimesEveryFault(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, c := range slices.Concat(reads, writes) {
		for _, f := range faults {
			t.Run(c.name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				url, sent := closed.URL, func() int { return 1 }
				if f.answer != nil {
					srv := newFake(t, f.answer)
					url, sent = srv.url, func() int { return len(srv.requests()) }
				}
				want, ok := f.of(c)
				err := c.do(t.Context(), f.meets(url))
				if ok {
					if err != nil {
						t.Errorf("it is no failure here: %v", err)
					}
					return
				}
				if err == nil {
					t.Fatal("no error")
				}
				if want.is != nil && !errors.Is(err, want.is) {
					t.Errorf("%v isn't %v", err, want.is)
				}
				if !errors.Is(err, reviewer.ErrNoFile) { // which callers look for by its kind
					wantLine(t, err, want.next)
				}
				if got := errors.Is(err, reviewer.ErrUnavailable); got != want.passes && c.method == http.MethodGet {
					t.Errorf("ErrUnavailable is %v: %v", got, err)
				}
				if got := errors.Is(err, reviewer.ErrUnknown); got != want.unsure {
					t.Errorf("ErrUnknown is %v: %v", got, err)
				}
				switch n := sent(); {
				case c.method != http.MethodGet && n > want.requests, c.method == http.MethodGet && f.passes && f.answer != nil &&
					n < 2:
					t.Errorf("%d requests", n)
				}
			})
		}
	}
}

// expected is what a call makes of a fault.
type expected struct {
	passes, unsure bool
	next           string
	is             error
	requests       int // of a write, at most
}

// of is the fault as the call ends with it; ok says that it is no failure there.
func (f fault) of(c call) (want expected, ok bool) {
	want = expected{passes: f.passes, next: f.next, requests: 1}
	if c.method == http.MethodGet {
		if f.name == "403" && c.name == "Account" {
			want.next = "give --account LOGIN, as a token that is limited to repositories can't be asked, or create one with " + needed
		}
		if f.name == "404" {
			switch c.name {
			case "Account":
				want.next = "check --server (GITHUB_SERVER_URL): it is the address of the forge's front page"
			case "File":
				want.is = reviewer.ErrNoFile
			case "Pull", "Tree", "Changes", "HeadRef", "Ahead", "Files", "Abilities", "Statuses", "Contains", "OpenPulls":
				// The repository answers 404, too, when it is asked which of the two isn't there.
				want.next = "check --repo (GITHUB_REPOSITORY) and that the account may read the repository"
			}
		}
		ok = f.name == "200, broken JSON" && (c.name == "Diff" || c.name == "File") // any bytes will do
		return want, ok
	}
	want.unsure = f.unsure
	if f.name == "200, cut short" {
		want.next = nextNoForge
	}
	// Those that answer for themselves.
	status5 := f.name == "500" || f.name == "502"
	switch c.name {
	case "React":
		ok = status5 || strings.HasPrefix(f.name, "200") // somebody else holds it
	case "Reply":
		want.requests = 2
		if strings.HasPrefix(f.name, "200") {
			want.next = nextNoForge
		}
	case "Unreact":
		want.unsure = false
		ok = strings.HasPrefix(f.name, "200")
	}
	return want, ok
}
