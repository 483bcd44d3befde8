package gitea

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Whatever code may come: a request that deletes a review or a comment doesn't
// leave the adapter.
func TestNothingIsEverDeleted(t *testing.T) {
	t.Parallel()
	var got []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer srv.Close()
	c := New(Config{Server: srv.URL, Owner: "o", Name: "r", Number: 1, Token: "t"})
	for _, path := range []string{
		"/api/v1/repos/o/r/pulls/1/reviews/5", "/api/v1/repos/o/r/issues/comments/5", "/api/v1/repos/o/r/pulls/1/requested_reviewers",
	} {
		req, err := http.NewRequestWithContext(t.Context(), "DELETE", srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.http.Do(req); err == nil || !strings.Contains(err.Error(), "never deletes") {
			t.Errorf("DELETE %s: %v", path, err)
		}
	}
	if len(got) != 0 {
		t.Errorf("sent: %q", got)
	}
	if err := c.Unreact(t.Context(), "rocket"); err != nil || len(got) != 1 {
		t.Errorf("removing the lock: %v, sent %q", err, got)
	}
}

// A client that only reads lets nothing else out, whatever code may come, and
// names the rights that reading needs.
func TestAReadingClientOnlyReads(t *testing.T) {
	t.Parallel()
	var got []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"message":"token does not have at least one of required scope(s)"}`))
	}))
	defer srv.Close()
	c := New(Config{Server: srv.URL, Owner: "o", Name: "r", Number: 1, Token: "t", Reading: true})
	for _, w := range writes {
		if err := w.do(t.Context(), c); err == nil {
			t.Errorf("%s: no error", w.name)
		}
	}
	if len(got) != 0 {
		t.Errorf("sent: %q", got)
	}
	_, err := c.Reviews(t.Context())
	if want := "reading the reviews of o/r#1: the token lacks scope read:repository — create one with repository: read, issue: read, user: read, and set GITEA_TOKEN"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
