package gitea

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"review-bot/reviewer"
)

// settling are the writes to something that may be gone, by endpoints that may be missing.
var settling = writes[8:]

// The answers are those of Gitea 1.26.0, but for the review's, which it never gives.
const (
	commentGone = `{"errors":["comment does not exist [id: 981, issue_id: 0]"],"message":"GetCommentByID","url":"http://forge/api/swagger"}`
	reviewGone  = `{"errors":["review does not exist [id: 7]"],"message":"GetReviewByID","url":"http://forge/api/swagger"}`
	ownerGone   = `{"errors":["user redirect does not exist [name: alice]"],"message":"GetUserByName","url":"http://forge/api/swagger"}`
	plainGone   = `{"errors":null,"message":"not found","url":"http://forge/api/swagger"}`
)

func TestWhatIsMissingIsToldApart(t *testing.T) {
	for promise, tt := range map[string]struct {
		answer http.HandlerFunc
		want   error // nil: none of both
		line   string
	}{
		"no such method":     {status(http.StatusMethodNotAllowed, ""), reviewer.ErrUnsupported, ": the server can't — go on without it, or use a server that can (Gitea resolves since 1.26 and replies since 1.27, Forgejo attaches)"},
		"no such route":      {status(http.StatusNotFound, "404 page not found\n"), reviewer.ErrUnsupported, ""},
		"an empty 404":       {status(http.StatusNotFound, ""), reviewer.ErrUnsupported, ""},
		"a deleted comment":  {status(http.StatusNotFound, commentGone), reviewer.ErrGone, ": it isn't there any more — run the job again: it reads anew what is there"},
		"a deleted review":   {status(http.StatusNotFound, reviewGone), reviewer.ErrGone, ""},
		"another repository": {status(http.StatusNotFound, ownerGone), nil, ": user redirect does not exist [name: alice] — check --repo and --pr"},
		"something":          {status(http.StatusNotFound, plainGone), nil, ": not found — check --repo and --pr"},
		"no right":           {status(http.StatusForbidden, `{"message":"no"}`), nil, ""},
		"a failure":          {status(http.StatusInternalServerError, commentGone), nil, ""},
	} {
		for _, w := range settling {
			f := newFake(t, tt.answer)
			err := w.do(t.Context(), f.client())
			wantLine(t, err, tt.line)
			for _, kind := range []error{reviewer.ErrUnsupported, reviewer.ErrGone} {
				if errors.Is(err, kind) != errors.Is(tt.want, kind) {
					t.Errorf("%s, %s: %v, want %v", w.name, promise, err, tt.want)
				}
			}
			if n := len(f.requests()); n != 1 {
				t.Errorf("%s, %s: %d requests", w.name, promise, n)
			}
		}
	}
}

func TestSettlingSendsWhatTheServersWant(t *testing.T) {
	resolve := func(resolved bool) func(c *Client) error {
		return func(c *Client) error { return c.Resolve(t.Context(), 981, resolved) }
	}
	attach := func(comment reviewer.NewComment) func(c *Client) error {
		return func(c *Client) error { return c.Attach(t.Context(), 7, comment) }
	}
	for promise, tt := range map[string]struct {
		do      func(c *Client) error
		answer  http.HandlerFunc
		request string
		body    string
	}{
		"resolve":   {resolve(true), status(http.StatusNoContent, ""), "POST /api/v1/repos/alice/shop/pulls/comments/981/resolve", ""},
		"unresolve": {resolve(false), status(http.StatusNoContent, ""), "POST /api/v1/repos/alice/shop/pulls/comments/981/unresolve", ""},
		"edit": {
			func(c *Client) error { return c.EditComment(t.Context(), 981, "new <text>") }, status(http.StatusOK, `{"id":981}`),
			"PATCH /api/v1/repos/alice/shop/issues/comments/981", `{"body":"new \u003ctext\u003e"}`,
		},
		"attach to a new line": {
			attach(reviewer.NewComment{Path: "a b.go", NewLine: 3, Body: "text"}), status(http.StatusOK, `{"id":982}`),
			"POST /api/v1/repos/alice/shop/pulls/42/reviews/7/comments", `{"path":"a b.go","body":"text","old_position":0,"new_position":3}`,
		},
		"attach to an old line": {
			attach(reviewer.NewComment{Path: "a.go", OldLine: 5, Body: "text"}), status(http.StatusOK, `{"id":982}`),
			"POST /api/v1/repos/alice/shop/pulls/42/reviews/7/comments", `{"path":"a.go","body":"text","old_position":5,"new_position":0}`,
		},
	} {
		var body []byte
		f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ = io.ReadAll(r.Body)
			if got := r.Header.Get("Authorization"); got != "token "+token {
				t.Errorf("%s: authorization %q", promise, got)
			}
			tt.answer(w, r)
		})
		if err := tt.do(f.client()); err != nil {
			t.Errorf("%s: %v", promise, err)
		}
		if d := cmp.Diff([]string{tt.request}, f.requests()); d != "" || string(body) != tt.body {
			t.Errorf("%s: body %s, requests (-want +got):\n%s", promise, body, d)
		}
	}
}

// A text that isn't one is never sent.
func TestNothingEmptyIsSent(t *testing.T) {
	f := newFake(t, status(http.StatusOK, `{"id":1}`))
	wantLine(t, f.client().EditComment(t.Context(), 981, ""), "editing an inline comment on alice/shop#42: the text is empty — run the job again; if it happens again, report it with this line")
	wantLine(t, f.client().Attach(t.Context(), 7, reviewer.NewComment{Path: "a.go", NewLine: 1, Body: " \n"}), "the text is empty — run the job again; if it happens again, report it with this line")
	if got := f.requests(); len(got) != 0 {
		t.Errorf("requests %q", got)
	}
}

// A comment that has no text is answered 204, and nothing is changed.
func TestCommentEditThatChangesNothingIsAnError(t *testing.T) {
	f := newFake(t, status(http.StatusNoContent, ""))
	err := f.client().EditComment(t.Context(), 981, "text")
	wantLine(t, err, "editing an inline comment on alice/shop#42: the server changed nothing (204) — run the job again; if it happens again, report it with this line")
	if errors.Is(err, reviewer.ErrUnknown) {
		t.Errorf("what happened is known: %v", err)
	}
}
