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
