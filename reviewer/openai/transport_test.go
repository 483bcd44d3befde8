package openai

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"review-bot/reviewer"
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
