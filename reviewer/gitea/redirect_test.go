package gitea

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"review-bot/reviewer"
)

// The token goes to the server that was named. net/http would keep it for another
// port, for a name below, and for http after https; and it would turn a write
// into a read.
func TestTokenIsSentToItsServerOnly(t *testing.T) {
	var mu sync.Mutex
	var told []string
	record := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusTeapot)
	}
	other := httptest.NewServer(http.HandlerFunc(record))
	defer other.Close()
	for promise, tt := range map[string]struct {
		to       string // where /old is now
		code     int
		followed bool // for reads
	}{
		"the same server":           {"", http.StatusMovedPermanently, true},
		"the same server, for ever": {"", http.StatusPermanentRedirect, true},
		"another port":              {other.URL, http.StatusFound, false},
		"another name":              {strings.Replace(other.URL, "127.0.0.1", "localhost", 1), http.StatusFound, false},
	} {
		f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			if rest, ok := strings.CutPrefix(r.URL.Path, "/old"); ok {
				http.Redirect(w, r, tt.to+"/new"+rest, tt.code)
				return
			}
			record(w, r)
		})
		for _, c := range append(append([]call{}, reads...), writes...) {
			mu.Lock()
			told = nil
			mu.Unlock()
			err := c.do(t.Context(), New(Config{Server: f.url + "/old", Owner: "alice", Name: "shop", Number: 42, Token: token}))
			if err == nil {
				t.Errorf("%s, %s: no error", c.name, promise)
				continue
			}
			if errors.Is(err, reviewer.ErrUnknown) {
				t.Errorf("%s, %s: a redirect has an unknown outcome", c.name, promise)
			}
			want := 0
			if tt.followed && (c.method == http.MethodGet || tt.code == http.StatusPermanentRedirect) {
				want = 1
			}
			mu.Lock()
			got := slices.Clone(told)
			mu.Unlock()
			if c.name == "Changes" && len(got) == 2 { // two trees are read side by side
				got = got[:1]
			}
			if len(got) != want || want == 1 && !strings.HasPrefix(got[0], c.method+" ") {
				t.Errorf("%s, %s: sent on: %q, want %d", c.name, promise, got, want)
			}
		}
	}
	// No https without a certificate that the client trusts: the rule itself.
	from, to := httptest.NewRequest(http.MethodGet, "https://git.example.com/a", nil), httptest.NewRequest(http.MethodGet, "http://git.example.com/b", nil)
	if err := sameHost(to, []*http.Request{from}); !errors.Is(err, http.ErrUseLastResponse) {
		t.Errorf("from https to http: %v", err)
	}
}

func TestLongPausesArentWaitedFor(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	began := time.Now()
	_, err := f.client().Account(t.Context())
	if took := time.Since(began); took > time.Minute {
		t.Errorf("waited for %s", took)
	}
	wantLine(t, err, "asking whose token this is: the server answers 429, too many requests — run the job again later")
}
