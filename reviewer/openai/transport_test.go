package openai

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"review-bot/reviewer"
	"review-bot/reviewer/openai/modeltest"
)

// A megabyte of gzip that holds a gigabyte is an error, not a gigabyte of memory,
// whatever status it comes with. It isn't asked for again.
func TestAnswerIsReadUpToABound(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(bytes.Repeat([]byte("x"), 64<<20)) // a buffer takes everything
	_ = w.Close()
	padding := bytes.Repeat(packed.Bytes(), 22)
	packed.Reset()
	w = gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"`))
	_ = w.Close()
	answer := append(packed.Bytes(), padding...)
	for status, want := range map[int]struct {
		says  string
		asked int
	}{
		http.StatusOK:         {": the answer is longer than 16 MiB — check that --base-url names a model server, or choose another model", 1},
		http.StatusBadRequest: {`: the server answered 400: {"choices"`, 3}, // of an error only the beginning is read
	} {
		asked := 0
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(status)
			_, _ = w.Write(answer)
		}))
		c, _ := hurried(Config{BaseURL: srv.URL, APIKey: key, Model: "m"})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := c.Review(t.Context(), request)
		runtime.ReadMemStats(&after)
		srv.Close()
		if err == nil || !strings.Contains(err.Error(), want.says) {
			t.Errorf("status %d: %v", status, err)
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 200 || asked != want.asked {
			t.Errorf("status %d: %d MiB allocated, %d questions", status, took, asked)
		}
	}
}

func TestServersWordsAreSafeToPrint(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"message":"no\r\n::warning::x\u001b[31m##[add-path]/tmp \u202egnp.exe"}}`))
	}))
	defer srv.Close()
	c, _ := hurried(Config{BaseURL: srv.URL, APIKey: key, Model: "m"})
	_, _, err := c.Review(t.Context(), request)
	if err == nil || !strings.Contains(err.Error(), "no ::warning::x[31m## [add-path]/tmp gnp.exe — check") {
		t.Errorf("%v", err)
	}
	facts, err := c.Probe(t.Context(), request)
	if want := (reviewer.Reply{Status: 401, Text: "no ::warning::x[31m## [add-path]/tmp gnp.exe"}); err != nil || facts.List.Reply != want {
		t.Errorf("%+v, %v", facts.List.Reply, err)
	}
}

// What a gateway wants besides goes with every request, and is shown nowhere.
func TestHeadersAndQueryOfTheAddress(t *testing.T) {
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, fmt.Sprintf("%s %s?%s api-key=%s x=%q", r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("Api-Key"), r.Header.Values("X-Portkey-Config")))
		w.WriteHeader(http.StatusTeapot)
	}))
	defer srv.Close()
	c, _ := hurried(Config{
		BaseURL: srv.URL + "/openai/deployments/m/?api-version=2024-10-21&sig=" + key, Model: "m",
		Headers: http.Header{"Api-Key": {key}, "X-Portkey-Config": {"a", "b"}},
	})
	counted := request
	counted.Tokens = 10
	_, _, err := c.Review(t.Context(), counted)
	if got := line(t, err); !strings.Contains(got, "asking m at "+srv.URL+"/openai/deployments/m: ") {
		t.Error(got)
	}
	if _, err := c.Probe(t.Context(), request); err != nil {
		t.Error(err)
	}
	with := "?api-version=2024-10-21&sig=" + key + " api-key=" + key + ` x=["a" "b"]`
	want := []string{"GET /openai/deployments/m/models" + with, "POST /openai/deployments/m/chat/completions" + with, "GET /openai/deployments/m/models" + with, "POST /openai/deployments/m/chat/completions" + with}
	if !slices.Equal(asked, want) {
		t.Errorf("asked\n%s\nwant\n%s", strings.Join(asked, "\n"), strings.Join(want, "\n"))
	}
}

// An answer's length is limited in the way that the server knows, found out once.
func TestMaxOutput(t *testing.T) {
	older := func(req modeltest.Request) modeltest.Reply {
		if req.Has("max_completion_tokens") {
			return modeltest.Fail(http.StatusBadRequest, "Unrecognized request argument supplied: max_completion_tokens")
		}
		return modeltest.Answer(good)
	}
	for promise, tt := range map[string]struct {
		most   int
		script modeltest.Script
		want   string
	}{
		"no limit":   {0, always(modeltest.Answer(good)), "- -"},
		"newer name": {500, always(modeltest.Answer(good)), "max_completion_tokens max_completion_tokens"},
		"older name": {500, older, "max_completion_tokens max_tokens max_tokens"},
	} {
		srv := serve(t, tt.script)
		c, _ := hurried(Config{BaseURL: srv.URL(), Model: "m", MaxOutput: tt.most})
		for range 2 {
			if _, _, err := c.Review(t.Context(), request); err != nil {
				t.Errorf("%s: %v", promise, err)
			}
		}
		var got []string
		for _, r := range srv.Requests() {
			name := "-"
			for _, field := range []string{"max_tokens", "max_completion_tokens"} {
				if r.Has(field) {
					name = field
				}
			}
			got = append(got, name)
			if r.ResponseFormat != "json_schema" {
				t.Errorf("%s: asked for %s", promise, r.ResponseFormat)
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s, want %s", promise, s, tt.want)
		}
	}
}

// After a request that took too long there is one at a time, and each has its own time
// from when it is sent.
func TestOneByOneAfterATimeout(t *testing.T) {
	var under, most atomic.Int32
	var mu sync.Mutex // the server answers one after the other
	srv := serve(t, func(req modeltest.Request) modeltest.Reply {
		most.Store(max(most.Load(), under.Add(1)))
		defer under.Add(-1)
		mu.Lock()
		defer mu.Unlock()
		time.Sleep(400 * time.Millisecond)
		return modeltest.Answer(good)
	})
	c := New(Config{BaseURL: srv.URL(), Model: "m", Timeout: time.Second, Patience: 3 * time.Second})
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if _, _, err := c.Review(t.Context(), request); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most.Load() < 2 {
		t.Errorf("at most %d requests at once", most.Load())
	}
	most.Store(0)
	for range 3 {
		wg.Go(func() {
			if _, _, err := c.Review(t.Context(), request); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d requests at once after a time-out", most.Load())
	}
}
