package gitea

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"review-bot/reviewer"
	"review-bot/sentinel"
)

const commit = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"

// wantLine fails if the error isn't one line that says what to do, holds the
// token, or doesn't end in what is wanted.
func wantLine(t *testing.T, err error, want string) {
	t.Helper()
	var e *reviewer.Error
	if !errors.As(err, &e) || e.Doing == "" || e.Next == "" {
		t.Errorf("%v doesn't say what failed, and what to do", err)
		return
	}
	got := err.Error()
	if strings.ContainsAny(got, "\n\r") || len(got) > 600 {
		t.Errorf("not one line of bearable length: %q", got)
	}
	if strings.Contains(got, token) {
		t.Errorf("the token is in %q", got)
	}
	if !strings.HasSuffix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// call is one method of the client, and the HTTP method it goes by.
type call struct {
	name   string
	method string
	do     func(ctx context.Context, c *Client) error
}

var reads = []call{
	{"Account", http.MethodGet, func(ctx context.Context, c *Client) error { _, err := c.Account(ctx); return err }},
	{"Pull", http.MethodGet, func(ctx context.Context, c *Client) error { _, err := c.Pull(ctx); return err }},
	{"Diff", http.MethodGet, func(ctx context.Context, c *Client) error { _, err := c.Diff(ctx); return err }},
	{"File", http.MethodGet, func(ctx context.Context, c *Client) error { _, err := c.File(ctx, "R.md", "main"); return err }},
	{"Tree", http.MethodGet, func(ctx context.Context, c *Client) error { _, err := c.Tree(ctx, commit); return err }},
	{
		"Changes", http.MethodGet,
		func(ctx context.Context, c *Client) error { _, err := c.Changes(ctx, commit, other); return err },
	},
	{"HeadRef", http.MethodGet, func(ctx context.Context, c *Client) error { _, err := c.HeadRef(ctx); return err }},
	{
		"Ahead", http.MethodGet,
		func(ctx context.Context, c *Client) error { _, err := c.Ahead(ctx, commit, other); return err },
	},
	{"Blob", http.MethodGet, func(ctx context.Context, c *Client) error { _, err := c.Blob(ctx, commit); return err }},
	{"Files", http.MethodGet, func(ctx context.Context, c *Client) error {
		_, err := c.Files(ctx, []string{"a", "b"}, commit)
		return err
	}},
	{"Reviews", http.MethodGet, func(ctx context.Context, c *Client) error { _, err := c.Reviews(ctx); return err }},
	{"Timeline", http.MethodGet, func(ctx context.Context, c *Client) error { _, err := c.Timeline(ctx, time.Time{}, nil); return err }},
	{"TimelineToEnd", http.MethodGet, func(ctx context.Context, c *Client) error {
		_, _, err := c.TimelineToEnd(ctx, time.Time{}, nil)
		return err
	}},
	{"Comments", http.MethodGet, func(ctx context.Context, c *Client) error { _, err := c.Comments(ctx, 7); return err }},
	{"Reactions", http.MethodGet, func(ctx context.Context, c *Client) error { _, _, err := c.Reactions(ctx); return err }},
	{"Abilities", http.MethodGet, func(ctx context.Context, c *Client) error { _, err := c.Abilities(ctx); return err }},
	{"Statuses", http.MethodGet, func(ctx context.Context, c *Client) error { _, err := c.Statuses(ctx, commit); return err }},
	{
		"RequiredChecks", http.MethodGet,
		func(ctx context.Context, c *Client) error { _, err := c.RequiredChecks(ctx, "main"); return err },
	},
	{"Contains", http.MethodGet, func(ctx context.Context, c *Client) error {
		_, err := c.Contains(ctx, commit, strings.Repeat("ab", 20))
		return err
	}},
	{"OpenPulls", http.MethodGet, func(ctx context.Context, c *Client) error { _, err := c.OpenPulls(ctx, "topic"); return err }},
}

var post = call{"PostReview", http.MethodPost, func(ctx context.Context, c *Client) error {
	_, err := c.PostReview(ctx, reviewer.NewReview{Event: sentinel.Approved, Commit: commit, Body: "text"})
	return err
}}

var writes = []call{
	post,
	{"SubmitPending", http.MethodPost, func(ctx context.Context, c *Client) error { _, err := c.SubmitPending(ctx, 7, "text"); return err }},
	{"RequestReview", http.MethodPost, func(ctx context.Context, c *Client) error { return c.RequestReview(ctx, "bot") }},
	{"EditReview", http.MethodPatch, func(ctx context.Context, c *Client) error { return c.EditReview(ctx, 981, "text") }},
	{"Say", http.MethodPost, func(ctx context.Context, c *Client) error { _, err := c.Say(ctx, "text"); return err }},
	{"Unreact", http.MethodDelete, func(ctx context.Context, c *Client) error { return c.Unreact(ctx, "eyes") }},
	// A failing server is an answer here: not acquired.
	{"React", http.MethodPost, func(ctx context.Context, c *Client) error {
		added, _, err := c.React(ctx, "eyes")
		if added {
			return errors.New("added")
		}
		return err
	}},
	// Its errors have no words of the server's; it may send a second request.
	{"Reply", http.MethodPost, func(ctx context.Context, c *Client) error {
		_, err := c.Reply(ctx, reviewer.Comment{ID: 981, Review: 7, Path: "a.go", NewLine: 3}, "text")
		return err
	}},
	{"Resolve", http.MethodPost, func(ctx context.Context, c *Client) error { return c.Resolve(ctx, 981, true) }},
	{"EditComment", http.MethodPatch, func(ctx context.Context, c *Client) error { return c.EditComment(ctx, 981, "text") }},
	{"Attach", http.MethodPost, func(ctx context.Context, c *Client) error {
		return c.Attach(ctx, 7, reviewer.NewComment{Path: "a.go", NewLine: 3, Body: "text"})
	}},
}

// cut closes the connection without an answer.
func cut(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset
	}
	conn.Close()
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
}

var passing = map[string]http.HandlerFunc{
	"502":   status(http.StatusBadGateway, "<html>Bad Gateway</html>"),
	"500":   status(http.StatusInternalServerError, `{"message":"database is locked"}`),
	"429":   status(http.StatusTooManyRequests, ""),
	"reset": func(w http.ResponseWriter, _ *http.Request) { cut(w) },
}

func TestReadsAreTriedAgain(t *testing.T) {
	for name, failing := range passing {
		for failures := 1; failures <= 3; failures++ {
			var n atomic.Int32
			f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1) <= int32(failures) {
					failing(w, r)
					return
				}
				fmt.Fprint(w, `{"id":3,"login":"bot"}`)
			})
			u, err := f.client().Account(t.Context())
			want := failures + 1
			if failures > 2 { // Retries
				want = 3
			}
			if (err == nil) != (failures <= 2) || err == nil && u != (reviewer.User{ID: 3, Login: "bot"}) {
				t.Errorf("%d times %s: %+v, %v", failures, name, u, err)
			}
			if got := len(f.requests()); got != want {
				t.Errorf("%d times %s: %d requests, want %d", failures, name, got, want)
			}
		}
	}
	for _, read := range reads {
		f := newFake(t, passing["502"])
		c := f.client()
		err := read.do(t.Context(), c)
		wantLine(t, err, " — run the job again; if it happens again, the server's log says why")
		// which reads two trees side by side
		if n := len(f.requests()); read.name != "Changes" && (n != 3 || c.Requests() != n) {
			t.Errorf("%s: %d requests, %d counted, want 3", read.name, n, c.Requests())
		}
		if errors.Is(err, reviewer.ErrUnknown) {
			t.Errorf("%s: a read has an unknown outcome", read.name)
		}
	}
}

func TestWhatWontPassIsntTriedAgain(t *testing.T) {
	for _, code := range []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity} {
		f := newFake(t, status(code, `{"message":"no"}`))
		if err := reads[0].do(t.Context(), f.client()); err == nil {
			t.Errorf("%d is no error", code)
		}
		if n := len(f.requests()); n != 1 {
			t.Errorf("%d: %d requests", code, n)
		}
	}
}

func TestWaitBetweenTriesGrows(t *testing.T) {
	var times []time.Time
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		times = append(times, time.Now()) // one request at a time
		w.WriteHeader(http.StatusBadGateway)
	})
	c := New(Config{Server: f.url, Owner: "alice", Name: "shop", Number: 42, Token: token, Retries: 3, Wait: 20 * time.Millisecond})
	_, err := c.Account(t.Context())
	if err == nil || len(times) != 4 {
		t.Fatalf("%d requests, %v", len(times), err)
	}
	for i, least := range []time.Duration{20 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond} {
		if waited := times[i+1].Sub(times[i]); waited < least {
			t.Errorf("try %d came after %s, want at least %s", i+2, waited, least)
		}
	}
}

func TestCancelEndsTheTries(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		cancel()
	})
	c := New(Config{Server: f.url, Owner: "alice", Name: "shop", Number: 42, Token: token, Retries: 3, Wait: time.Hour})
	_, err := c.Account(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is no cancellation", err)
	}
	wantLine(t, err, "asking whose token this is: context canceled — run the job again")
	if n := len(f.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// roundTrip is a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// An answer may come just as its context ends, because another of the requests side by
// side failed. What the program prints is its own.
func TestAnswerAsTheContextEnds(t *testing.T) {
	var logged bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&logged)
	ctx, cancel := context.WithCancel(t.Context())
	c := New(Config{Server: "http://127.0.0.1:1", Token: token, HTTP: roundTrip(
		func(*http.Request) (*http.Response, error) {
			cancel()
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
		})})
	if _, err := c.Account(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v is no cancellation", err)
	}
	if logged.Len() > 0 {
		t.Errorf("net/http logs %q", &logged)
	}
}

func TestWritesAreSentOnce(t *testing.T) {
	for _, w := range writes {
		for name, failing := range passing {
			f := newFake(t, failing)
			c := f.client()
			err := w.do(t.Context(), c)
			if acquired := w.name == "React" && strings.HasPrefix(name, "50"); (err == nil) != acquired {
				t.Errorf("%s, %s: %v", w.name, name, err)
			}
			if got := f.requests(); len(got) != 1 || !strings.HasPrefix(got[0], w.method+" ") || c.Requests() != 1 {
				t.Errorf("%s, %s: requests %q, %d counted, want one %s", w.name, name, got, c.Requests(), w.method)
			}
		}
	}
	// Nor is a connection that was fine for a read tried again with the write.
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"id":3,"login":"bot"}`)
			return
		}
		cut(w)
	})
	c := f.client()
	if _, err := c.Account(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := post.do(t.Context(), c); !errors.Is(err, reviewer.ErrUnknown) {
		t.Errorf("cut on a used connection: %v", err)
	}
	if got := f.requests(); len(got) != 2 {
		t.Errorf("requests %q", got)
	}
}

func TestWhetherAWriteHappened(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	for promise, tt := range map[string]struct {
		answer  http.HandlerFunc
		unknown bool
		line    string // %s is the server
	}{
		"cut after sending":  {passing["reset"], true, ""},
		"500":                {passing["500"], true, "the server answered 500: database is locked — run the job again; if it happens again, the server's log says why"},
		"502":                {passing["502"], true, ""},
		"504":                {status(http.StatusGatewayTimeout, ""), true, ""},
		"200, broken JSON":   {status(http.StatusOK, `{"id":`), true, "what %s answered is no Gitea answer: unexpected end of JSON input — check --server (GITHUB_SERVER_URL) and any proxy before it"},
		"200, a page":        {status(http.StatusOK, "<html>\nplease log in"), true, "what %s answered is no Gitea answer: invalid character '<' looking for beginning of value — check --server (GITHUB_SERVER_URL) and any proxy before it"},
		"200, another thing": {status(http.StatusOK, `[]`), true, ""},
		"200, then cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"id":7,`)
		}, true, ""},
		"400": {status(http.StatusBadRequest, `{"message":"no"}`), false, "the server answered 400: no — check --server (GITHUB_SERVER_URL)"},
		"401": {status(http.StatusUnauthorized, `{"message":"token revoked"}`), false, "the server doesn't accept the token — create one with repository: write, issue: write, user: read, and set GITEA_TOKEN"},
		"403": {status(http.StatusForbidden, `{"message":"user should have permission"}`), false, "the server forbids it: user should have permission — give the account write access to the repository"},
		"404": {status(http.StatusNotFound, `{"message":"not found"}`), false, "not found — check --repo and --pr"},
		"422": {status(http.StatusUnprocessableEntity, `{"message":"reject your own pull is not allowed"}`), false, "the server refuses it (422): reject your own pull is not allowed — run the job again; if it happens again, report it with this line"},
		"429": {status(http.StatusTooManyRequests, ""), false, "the server answers 429, too many requests — run the job again later"},
	} {
		for _, w := range slices.Concat(writes[:5], writes[8:]) {
			if w.name == "RequestReview" && strings.HasPrefix(promise, "200") {
				continue // its answer isn't read
			}
			f := newFake(t, tt.answer)
			err := w.do(t.Context(), f.client())
			if errors.Is(err, reviewer.ErrUnknown) != tt.unknown {
				t.Errorf("%s, %s: unknown is %v: %v", w.name, promise, !tt.unknown, err)
			}
			line := tt.line
			if strings.Contains(line, "%s") {
				line = fmt.Sprintf(line, f.url)
			}
			if w.name == "PostReview" && line != "" {
				line = "posting a review on alice/shop#42: " + line
			}
			if line == "" || strings.HasPrefix(promise, "200") && w.name != "PostReview" {
				line = ""
			}
			wantLine(t, err, line)
		}
	}
	for _, w := range writes {
		err := w.do(t.Context(), New(Config{Server: closed.URL, Owner: "alice", Name: "shop", Number: 42, Token: token}))
		if errors.Is(err, reviewer.ErrUnknown) {
			t.Errorf("%s: nobody was there to see it, and yet it may have happened: %v", w.name, err)
		}
		wantLine(t, err, ": connect: connection refused — check --server (GITHUB_SERVER_URL) and that the server runs")
	}
	ctx, cancel := context.WithCancel(t.Context())
	f := newFake(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then the server doesn't see the client leave
		cancel()
		<-r.Context().Done()
	})
	err := post.do(ctx, f.client())
	if !errors.Is(err, reviewer.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while it was sent: %v", err)
	}
	wantLine(t, err, "posting a review on alice/shop#42: context canceled — run the job again")
}

func TestOnlyKnownEventsArePosted(t *testing.T) {
	f := newFake(t, status(http.StatusOK, "{}"))
	for _, review := range []reviewer.NewReview{{Event: "none", Commit: commit, Body: "x"}, {Event: "", Commit: commit, Body: "x"}, {Event: "APPROVED", Commit: commit, Body: "x"}, {Event: sentinel.Approved, Commit: "main", Body: "x"}} {
		_, err := f.client().PostReview(t.Context(), review)
		if err == nil || errors.Is(err, reviewer.ErrUnknown) {
			t.Errorf("event %q at %q: %v", review.Event, review.Commit, err)
		}
	}
	if got := f.requests(); len(got) != 0 {
		t.Errorf("requests %q", got)
	}
}

func TestErrorLines(t *testing.T) {
	repo := "/api/v1/repos/alice/shop"
	const scope = `{"message":"token does not have at least one of required scope(s), required=[read:issue], token scope=write:repository"}`
	page := status(http.StatusNotFound, "<html>\n<title>404</title>\n"+strings.Repeat("words\n", 200))
	for promise, tt := range map[string]struct {
		call   string
		answer http.HandlerFunc
		want   string
	}{
		"a bad token":        {"Account", status(401, `{"message":"invalid username, password or token"}`), "asking whose token this is: the server doesn't accept the token — create one with repository: write, issue: write, user: read, and set GITEA_TOKEN"},
		"no scope user":      {"Account", status(403, scope), "asking whose token this is: the token lacks scope read:user — create one with repository: write, issue: write, user: read, and set GITEA_TOKEN; or give --account LOGIN"},
		"no scope issue":     {"Timeline", status(403, scope), "reading the timeline of alice/shop#42: the token lacks scope write:issue — create one with repository: write, issue: write, user: read, and set GITEA_TOKEN"},
		"no scope to react":  {"React", status(403, scope), "locking alice/shop#42 with the reaction eyes: the token lacks scope write:issue — create one with repository: write, issue: write, user: read, and set GITEA_TOKEN"},
		"no scope to edit":   {"EditReview", status(403, scope), "editing a review on alice/shop#42: the token lacks scope write:issue — create one with repository: write, issue: write, user: read, and set GITEA_TOKEN"},
		"no scope to post":   {"PostReview", status(403, scope), "posting a review on alice/shop#42: the token lacks scope write:repository — create one with repository: write, issue: write, user: read, and set GITEA_TOKEN"},
		"no scope to read":   {"Diff", status(403, scope), "reading the diff of alice/shop#42: the token lacks scope write:repository — create one with repository: write, issue: write, user: read, and set GITEA_TOKEN"},
		"no scope to settle": {"Resolve", status(403, scope), "resolving a conversation on alice/shop#42: the token lacks scope write:repository — create one with repository: write, issue: write, user: read, and set GITEA_TOKEN"},
		"no scope to word":   {"EditComment", status(403, scope), "editing an inline comment on alice/shop#42: the token lacks scope write:issue — create one with repository: write, issue: write, user: read, and set GITEA_TOKEN"},
		"no right to settle": {"Resolve", status(403, `{"message":"user should have permission to resolve comment"}`), "resolving a conversation on alice/shop#42: the server forbids it: user should have permission to resolve comment — give the account write access to the repository"},
		"not to be settled":  {"Resolve", status(400, `{"message":"comment is not a review comment"}`), "resolving a conversation on alice/shop#42: the server answered 400: comment is not a review comment — check --server (GITHUB_SERVER_URL)"},
		"no word of why":     {"EditComment", status(403, ""), "editing an inline comment on alice/shop#42: the server forbids it: status 403 — give the account write access to the repository"},
		"another server":     {"Account", page, "asking whose token this is: no Gitea API answers there (404) — check --server (GITHUB_SERVER_URL): it is the address of the forge's front page"},
		"no such repository": {"Pull", status(404, `{"message":"not found"}`), "reading alice/shop#42: no such repository, or this token may not see it — check --repo (GITHUB_REPOSITORY) and that the account may read the repository"},
		"no such pull": {"Pull", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != repo {
				w.WriteHeader(404)
			}
			fmt.Fprint(w, `{"id":1}`)
		}, "reading alice/shop#42: no such pull request — check --repo and --pr"},
		"a page for a list": {"Comments", page, " — check --repo and --pr"},
		"a proxy's page":    {"Reviews", status(502, "<html>\nBad Gateway"), "reading the reviews of alice/shop#42: the server answered 502: status 502 — run the job again; if it happens again, the server's log says why"},
		"words in lines":    {"Diff", status(500, `{"message":"a\nb\tc"}`), "reading the diff of alice/shop#42: the server answered 500: a b c — run the job again; if it happens again, the server's log says why"},
		"hostile words": {
			"Diff", status(500, `{"message":"\n::warning::a\u001b[31m##[add-path]/tmp \u202egnp.exe"}`),
			"the server answered 500: : :warning::a[31m## [add-path]/tmp gnp.exe — run the job again; if it happens again, the server's log says why",
		},
		"not JSON":          {"Timeline", status(200, "<html>"), "answered is no Gitea answer: the answer is not the JSON expected: invalid character '<' looking for beginning of value — check --server (GITHUB_SERVER_URL) and any proxy before it"},
		"a user without id": {"Account", status(200, `{}`), "answered is no Gitea answer: the answer names no user — check --server (GITHUB_SERVER_URL) and any proxy before it"},
		"a pull without":    {"Pull", status(200, `{"number":42}`), "answered is no Gitea answer: the answer names no head commit — check --server (GITHUB_SERVER_URL) and any proxy before it"},
		"teapot":            {"Reactions", status(418, `{"message":"short and stout"}`), "reading the reactions on alice/shop#42: the server answered 418: short and stout — check --server (GITHUB_SERVER_URL)"},
		"file is forbidden": {"File", status(403, `{"message":"no"}`), "reading R.md at main of alice/shop: the server forbids it: no — give the account write access to the repository"},
	} {
		f := newFake(t, tt.answer)
		for _, c := range append(append([]call{}, reads...), writes...) {
			if c.name == tt.call {
				err := c.do(t.Context(), f.client())
				if err == nil {
					t.Errorf("%s: no error", promise)
					continue
				}
				wantLine(t, err, tt.want)
			}
		}
	}
}

func TestNamesInErrorsAreSafeToPrint(t *testing.T) {
	f := newFake(t, status(403, `{"message":"no"}`))
	_, err := f.client().File(t.Context(), "a\n##[add-path]\x1b[2J.md", "main")
	wantLine(t, err, "the server forbids it: no — give the account write access to the repository")
	if !strings.HasPrefix(err.Error(), "reading a ## [add-path][2J.md at main of alice/shop: ") {
		t.Errorf("%q", err)
	}
}

func TestServerThatIsntThere(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, c := range append(append([]call{}, reads...), writes...) {
		err := c.do(t.Context(), New(Config{Server: closed.URL + "/", Owner: "alice", Name: "shop", Number: 42, Token: token}))
		host := strings.TrimPrefix(closed.URL, "http://")
		wantLine(t, err, fmt.Sprintf(": http://%s can't be reached: dial tcp %[1]s: connect: connection refused — check --server (GITHUB_SERVER_URL) and that the server runs", host))
	}
}

func TestMissingFileIsNoFailure(t *testing.T) {
	f := newFake(t, status(404, `{"message":"not found"}`))
	if _, err := f.client().File(t.Context(), "R.md", "main"); !errors.Is(err, reviewer.ErrNoFile) {
		t.Errorf("got %v", err)
	}
}

// A comment that is none of an issue is answered 204, and nothing is changed.
func TestEditThatChangesNothingIsAnError(t *testing.T) {
	f := newFake(t, status(http.StatusNoContent, ""))
	err := f.client().EditReview(t.Context(), 981, "text")
	wantLine(t, err, "editing a review on alice/shop#42: the server changed nothing (204) — run the job again; if it happens again, report it with this line")
	if errors.Is(err, reviewer.ErrUnknown) {
		t.Errorf("what happened is known: %v", err)
	}
	if d := cmp.Diff([]string{"PATCH /api/v1/repos/alice/shop/issues/comments/981"}, f.requests()); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
}

func TestReactionIsAcquiredBy201Only(t *testing.T) {
	const body = `{"content":"eyes","created_at":"2026-01-02T03:04:05Z"}`
	for promise, tt := range map[string]struct {
		answer         http.HandlerFunc
		added          bool
		fails, unknown bool
	}{
		"201":              {status(201, body), true, false, false},
		"200":              {status(200, body), false, false, false},
		"200, not JSON":    {status(200, "<html>"), false, false, false},
		"500":              {status(500, ""), false, false, false},
		"403":              {status(403, `{"message":"no such reaction"}`), false, true, false},
		"404":              {status(404, `{"message":"not found"}`), false, true, false},
		"202":              {status(202, body), false, true, true},
		"201, broken JSON": {status(201, "{"), false, true, true},
		"cut":              {passing["reset"], false, true, true},
	} {
		f := newFake(t, tt.answer)
		added, created, err := f.client().React(t.Context(), "eyes")
		if added != tt.added || (err != nil) != tt.fails || errors.Is(err, reviewer.ErrUnknown) != tt.unknown {
			t.Errorf("%s: added %v, %v", promise, added, err)
		}
		if added != created.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
			t.Errorf("%s: created %s", promise, created)
		}
		if err != nil {
			wantLine(t, err, "")
		}
	}
}

func TestUnreactIsQuietWhenThereWasNone(t *testing.T) {
	for _, code := range []int{http.StatusOK, http.StatusNoContent} {
		var body string
		f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ = bufio.NewReader(r.Body).ReadString('\n')
			w.WriteHeader(code)
		})
		if err := f.client().Unreact(t.Context(), "eyes"); err != nil {
			t.Errorf("%d: %v", code, err)
		}
		if d := cmp.Diff([]string{"DELETE /api/v1/repos/alice/shop/issues/42/reactions"}, f.requests()); d != "" || body != `{"content":"eyes"}` {
			t.Errorf("%d: body %s, requests (-want +got):\n%s", code, body, d)
		}
	}
}
