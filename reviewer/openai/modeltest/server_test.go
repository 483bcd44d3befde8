package modeltest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"review-bot/reviewer/openai/modeltest"
)

func TestRawBodyAndHeaders(t *testing.T) {
	s := start(t, modeltest.Sequence(
		modeltest.Reply{Status: 502, RawBody: []byte("<h1>Bad Gateway</h1>"), ContentType: "text/html"},
		modeltest.Reply{RawBody: []byte("{")},
		modeltest.Reply{Status: 503, RawBody: []byte{}},
		modeltest.Reply{Status: 429, Headers: map[string]string{"Retry-After": "7"}},
	))
	if res := post(t, s, hello); res.status != 502 || res.body != "<h1>Bad Gateway</h1>" || res.header.Get("Content-Type") != "text/html" {
		t.Errorf("html: %+v", res)
	}
	if res := post(t, s, hello); res.status != 200 || res.body != "{" || res.header.Get("Content-Type") != "application/json" {
		t.Errorf("broken JSON: %+v", res)
	}
	if res := post(t, s, hello); res.status != 503 || res.body != "" {
		t.Errorf("empty body: %+v", res)
	}
	res := post(t, s, hello)
	if res.status != 429 || res.header.Get("Retry-After") != "7" || res.failure(t)["type"] != "rate_limit_error" {
		t.Errorf("rate limit: %+v", res)
	}
}

// TestCutBodySendsHalf tells the two cuts apart: after the headers nothing
// comes, in the body half of it.
func TestCutBodySendsHalf(t *testing.T) {
	s := start(t, modeltest.Sequence(
		modeltest.Reply{RawBody: []byte("12345678"), Cut: modeltest.CutHeaders},
		modeltest.Reply{RawBody: []byte("12345678"), Cut: modeltest.CutBody},
	))
	for _, want := range []string{"", "1234"} {
		res, err := do(t, http.MethodPost, s.URL()+"/chat/completions", "", hello)
		if err == nil || res.status != http.StatusOK || res.body != want || res.header.Get("Content-Length") != "8" {
			t.Errorf("got %+v, %v; want an error after %q", res, err, want)
		}
	}
}

func TestReset(t *testing.T) {
	s := start(t, modeltest.Sequence(modeltest.Reply{Content: "x", Cut: modeltest.CutReset}))
	if res, err := do(t, http.MethodPost, s.URL()+"/chat/completions", "", hello); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %+v, %v; want a reset", res, err)
	}
	if s.Count() != 1 {
		t.Errorf("counted %d requests", s.Count())
	}
}

func TestDrip(t *testing.T) {
	const pause = 5 * time.Millisecond
	s := start(t, modeltest.Sequence(
		modeltest.Reply{RawBody: []byte("12345"), Drip: pause},
		modeltest.Reply{RawBody: []byte("12345"), Drip: time.Hour},
	))
	began := time.Now()
	res, err := do(t, http.MethodPost, s.URL()+"/chat/completions", "", hello)
	if took := time.Since(began); err != nil || res.body != "12345" || took < 4*pause {
		t.Errorf("got %+v, %v in %v", res, err, took)
	}
	// The headers and the first byte come at once; the client leaves, and Close waits for no drop.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/chat/completions", strings.NewReader(hello))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); string(body) != "1" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %q, %v", body, err)
	}
}

func TestWrongReplyIsA418(t *testing.T) {
	for _, test := range []struct {
		reply modeltest.Reply
		want  string
	}{
		{modeltest.Reply{}, "nothing to answer"},
		{modeltest.Reply{Content: "x", NoChoices: true}, "content and no_choices"},
		{modeltest.Reply{Content: "x", Status: 201}, "status: 201"},
		{modeltest.Reply{RawBody: []byte("x"), Status: 204}, "status: 204"},
		{modeltest.Reply{Status: 600}, "status: 600"},
		{modeltest.Reply{Content: "x", Error: "e"}, "error: needs"},
		{modeltest.Reply{Content: "x", Code: "c"}, "code: needs"},
		{modeltest.Reply{Content: "x", ContentType: "text/html"}, "content_type: needs"},
		{modeltest.Reply{Content: "x", Delay: -1}, "delay: is negative"},
		{modeltest.Reply{Content: "x", Drip: -1}, "drip: is negative"},
		{modeltest.Reply{Content: "x", Cut: "middle"}, `cut: "middle"`},
		{modeltest.Reply{RawBody: []byte{}, Cut: modeltest.CutBody}, "cut: there is nothing"},
		{modeltest.Reply{Content: "x", Usage: modeltest.Usage{Prompt: -1}}, "usage: has a negative"},
		{modeltest.Reply{Content: "x", Usage: modeltest.Usage{Prompt: 1, Cached: 2}}, "usage: cached 2"},
	} {
		s := start(t, func(modeltest.Request) modeltest.Reply { return test.reply })
		res := post(t, s, hello)
		if res.status != http.StatusTeapot {
			t.Errorf("%+v: status %d", test.reply, res.status)
		}
		wantContains(t, res.message(t), "request 1", test.want)
	}
}

func TestDelay(t *testing.T) {
	const delay = 20 * time.Millisecond
	s := start(t, modeltest.Sequence(modeltest.Reply{Content: "late", Delay: delay}))
	began := time.Now()
	if got := content(t, post(t, s, hello)); got != "late" {
		t.Errorf("content: %q", got)
	}
	if took := time.Since(began); took < delay {
		t.Errorf("took %v, want at least %v", took, delay)
	}
}

// TestClientLeavesDuringDelay shows that a delay doesn't outlive its client:
// Close waits for the requests being handled, an hour if it did.
func TestClientLeavesDuringDelay(t *testing.T) {
	asked := make(chan context.Context, 1)
	s := start(t, func(r modeltest.Request) modeltest.Reply {
		asked <- r.Context()
		return modeltest.Reply{Content: "never", Delay: time.Hour}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 1)
	go func() { failed <- send(ctx, s) }()

	handled := <-asked
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("client: %v", err)
	}
	<-handled.Done() // before Close, which would end it as well
	s.Close()
}

func TestCloseEndsDelay(t *testing.T) {
	asked := make(chan struct{})
	s := start(t, func(modeltest.Request) modeltest.Reply {
		close(asked)
		return modeltest.Reply{Content: "never", Delay: time.Hour}
	})
	failed := make(chan error, 1)
	go func() { failed <- send(t.Context(), s) }()
	<-asked
	s.Close()
	if err := <-failed; err == nil {
		t.Error("the client got an answer from a closed server")
	}
	s.Close()
}

// send posts hello without the test's helpers, which may not fail elsewhere
// than in the test's goroutine.
func send(ctx context.Context, s *modeltest.Server) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/chat/completions", strings.NewReader(hello))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// TestConcurrent has all requests in the script at the same time: none gets an
// answer before the last one has come.
func TestConcurrent(t *testing.T) {
	const clients = 16
	var inside sync.WaitGroup
	inside.Add(clients)
	sequence := modeltest.Sequence(make([]modeltest.Reply, clients)...)
	s := start(t, func(r modeltest.Request) modeltest.Reply {
		inside.Done()
		inside.Wait()
		sequence(r)
		return modeltest.Reply{Content: fmt.Sprint(r.Number)}
	})
	var done sync.WaitGroup
	for range clients {
		done.Go(func() {
			if err := send(t.Context(), s); err != nil {
				t.Error(err)
			}
			s.Requests()
		})
	}
	done.Wait()
	if s.Count() != clients {
		t.Fatalf("counted %d", s.Count())
	}
	for i, r := range s.Requests() {
		if r.Number != i+1 {
			t.Errorf("request %d has number %d", i+1, r.Number)
		}
	}
	if got := sequence(modeltest.Request{}).Status; got != 418 {
		t.Errorf("the sequence is not used up after %d requests: status %d", clients, got)
	}
}

func TestNilScriptPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	modeltest.NewHandler(nil)
}
