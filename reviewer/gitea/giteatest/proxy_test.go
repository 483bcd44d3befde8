package giteatest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// upstream is a server that counts what reaches it, and a proxy in front.
func upstream(t *testing.T) (*Proxy, *atomic.Int64) {
	t.Helper()
	var reached atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		w.Header().Set("X-Total-Count", "7")
		if strings.HasPrefix(r.URL.Path, "/none") {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = io.WriteString(w, "an answer")
	}))
	t.Cleanup(srv.Close)
	p, err := StartProxy(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, &reached
}

func send(t *testing.T, method, url, body string) (status int, header http.Header, err error) {
	t.Helper()
	return sendUntil(t.Context(), t, method, url, body)
}

// sendUntil sends a request that ends with ctx.
func sendUntil(ctx context.Context, t *testing.T, method, url, body string) (status int, header http.Header,
	err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err != nil {
		return 0, resp.Header, err
	}
	return resp.StatusCode, resp.Header, nil
}

func lines(requests []Request) []string {
	var all []string
	for _, r := range requests {
		all = append(all, r.Line())
	}
	return all
}

func TestProxyOnGitea(t *testing.T) {
	srv := Get(t)
	ann := srv.NewUser(t, Unique("ann"))
	p := srv.NewProxy(t)
	defer p.Close()
	seen := srv.Via(p)
	repo := seen.NewRepo(t, ann, "app", RepoOptions{Files: map[string]string{"a b%2Fc": "1\n"}})
	seen.Call(t, ann.Token, http.MethodGet, repo.path("/raw/a%%20b%%252Fc?ref=main"), nil, nil)

	all := p.Requests()
	last := all[len(all)-1]
	if want := "GET /api/v1/repos/" + ann.Name + "/app/raw/a%20b%252Fc?ref=main"; last.Line() != want || last.Status != 200 {
		t.Errorf("last request: %s, %d; want %s, 200", last.Line(), last.Status, want)
	}
	writes := p.Writes()
	if got, want := writes[0].Line(), "POST /api/v1/user/repos"; got != want || writes[0].Status != 201 || !strings.Contains(string(writes[0].Body), "main") {
		t.Errorf("first write: %s, %d, %s; want %s, 201 and its body", got, writes[0].Status, writes[0].Body, want)
	}

	p.Reset()
	if n := len(p.Requests()); n != 0 {
		t.Errorf("%d requests after Reset", n)
	}
	p.SetHook(func(*Request) *Fault { return &Fault{CutAfter: true} })
	if _, err := seen.Do(t.Context(), ann.Token, http.MethodPost, "/user/repos", map[string]any{"name": "cut"}, nil); err == nil {
		t.Error("a request that was cut got an answer")
	}
	if r := p.Requests(); len(r) != 1 || r[0].Status != 201 || !r[0].Cut || !r[0].Forwarded {
		t.Errorf("recorded %+v, want one request, forwarded with status 201 and cut", r)
	}
	srv.Call(t, ann.Token, http.MethodGet, "/repos/"+ann.Name+"/cut", nil, nil) // it is there
}

func TestProxyPassesOn(t *testing.T) {
	p, _ := upstream(t)
	status, header, err := send(t, "GET", p.URL+"/x?a=1&b=%20", "")
	if err != nil || status != 200 || header.Get("X-Total-Count") != "7" {
		t.Errorf("answer: %d %v %v", status, header, err)
	}
	if status, _, err := send(t, "DELETE", p.URL+"/none", "body"); err != nil || status != 204 {
		t.Errorf("answer: %d %v, want 204", status, err)
	}
	if diff := cmp.Diff([]string{"GET /x?a=1&b=%20", "DELETE /none"}, lines(p.Requests())); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"DELETE /none"}, lines(p.Writes())); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestProxyFaults(t *testing.T) {
	p, reached := upstream(t)
	for name, c := range map[string]struct {
		fault     Fault
		status    int // 0: the client gets an error
		forwarded int64
	}{
		"none":        {Fault{}, 200, 1},
		"cut before":  {Fault{CutBefore: true}, 0, 0},
		"cut after":   {Fault{CutAfter: true}, 0, 1},
		"half":        {Fault{Half: true}, 0, 1},
		"own answer":  {Fault{Status: 503, Header: http.Header{"Retry-After": {"1"}}, Body: "later"}, 503, 0},
		"short delay": {Fault{Delay: time.Millisecond}, 200, 1},
		"drip":        {Fault{Drip: time.Millisecond}, 200, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p.Reset()
			reached.Store(0)
			p.SetHook(func(*Request) *Fault { return &c.fault })
			for _, method := range []string{"GET", "POST"} {
				if status, _, err := send(t, method, p.URL+"/x", ""); status != c.status || (err != nil) != (c.status == 0) {
					t.Errorf("%s: %d %v, want %d", method, status, err, c.status)
				}
			}
			// Two, not three: nothing repeats the GET that was cut.
			if n := len(p.Requests()); n != 2 || reached.Load() != 2*c.forwarded {
				t.Errorf("%d requests, %d forwarded, want 2 and %d", n, reached.Load(), 2*c.forwarded)
			}
		})
	}
}

func TestProxyRefuses(t *testing.T) {
	p, reached := upstream(t)
	p.SetHook(func(*Request) *Fault { return &Fault{Refuse: true} })
	if _, _, err := send(t, "GET", p.URL+"/x", ""); err == nil {
		t.Error("the first request was answered")
	}
	if _, _, err := send(t, "GET", p.URL+"/x", ""); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the second one: %v", err)
	}
	p.SetHook(nil)
	for range 2 { // the second time there is nothing to do
		if err := p.Listen(); err != nil {
			t.Fatal(err)
		}
	}
	if status, _, err := send(t, "GET", p.URL+"/x", ""); status != http.StatusOK || reached.Load() != 1 {
		t.Errorf("listening again: %d %v, %d requests reached the server", status, err, reached.Load())
	}
}

func TestProxyDrips(t *testing.T) {
	p, _ := upstream(t)
	p.SetHook(func(*Request) *Fault { return &Fault{Drip: time.Hour} })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+"/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 2)
	if n, err := resp.Body.Read(first); n != 1 || err != nil || resp.ContentLength != int64(len("an answer")) {
		t.Errorf("%d bytes of %d, %v", n, resp.ContentLength, err)
	}
}

func TestProxyHold(t *testing.T) {
	p, reached := upstream(t)
	release, arrived := make(chan struct{}), make(chan struct{})
	p.SetHook(func(*Request) *Fault { close(arrived); return &Fault{Hold: release} })
	done := make(chan int)
	go func() {
		status, _, _ := send(t, "GET", p.URL+"/x", "")
		done <- status
	}()
	<-arrived
	if reached.Load() != 0 {
		t.Error("a request on hold reached the server")
	}
	close(release)
	if status := <-done; status != 200 || reached.Load() != 1 {
		t.Errorf("after the release: %d, %d requests reached the server", status, reached.Load())
	}
}

func TestProxyCloseEndsHolds(t *testing.T) {
	p, _ := upstream(t)
	arrived := make(chan struct{})
	p.SetHook(func(*Request) *Fault { close(arrived); return &Fault{Hold: make(chan struct{})} })
	done := make(chan error)
	go func() {
		_, _, err := send(t, "GET", p.URL+"/x", "")
		done <- err
	}()
	<-arrived
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("a request on hold was answered by Close")
	}
}

// What waits for its turn is sent by and by: so a process dies after its n-th
// request, and no other one has reached the server.
func TestProxyOneAtATime(t *testing.T) {
	p, reached := upstream(t)
	turn := make(chan struct{}, 1)
	turn <- struct{}{}
	var seen []int64
	p.SetHook(func(*Request) *Fault {
		return &Fault{Hold: turn, Forwarded: func(r Request) {
			if seen = append(seen, reached.Load()); r.Status != http.StatusOK {
				t.Errorf("status %d", r.Status)
			}
			if len(seen) < 3 {
				turn <- struct{}{}
			}
		}}
	})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	done := make(chan error)
	for range 5 {
		go func() {
			_, _, err := sendUntil(ctx, t, "GET", p.URL+"/x", "")
			done <- err
		}()
	}
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	cancel()
	for range 2 {
		if err := <-done; err == nil {
			t.Error("a request whose turn never came was answered")
		}
	}
	if diff := cmp.Diff([]int64{1, 2, 3}, seen); diff != "" {
		t.Errorf("so many requests had reached the server at each (-want +got):\n%s", diff)
	}
}
