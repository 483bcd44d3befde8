package gitea

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"review-bot/reviewer"
)

// bomb is 1.4 GB after some text, in gzip of 1.4 MB.
func bomb(text string) []byte {
	return append(packed([]byte(text)), bytes.Repeat(padding(), 22)...)
}

var padding = sync.OnceValue(func() []byte { return packed(bytes.Repeat([]byte("x"), 64<<20)) })

func packed(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(content) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// allocated is how many bytes a function allocates in all.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Not parallel: it measures memory.
func TestAnswersAreReadUpToABound(t *testing.T) {
	for _, tt := range []struct {
		text string
		read string // of the table of reads
		want string
		most uint64 // MiB
	}{
		{
			"", "Diff",
			"reading the diff of alice/shop#42: the answer is longer than 64 MiB — open smaller pull requests: this one is too large to be read", 500,
		},
		{
			`{"sha":"`, "Tree",
			"the answer is longer than 64 MiB — open smaller pull requests: this one is too large to be read", 500,
		},
		{`[{"body":"`, "Reviews", "the answer is longer than 256 MiB — " + nextOfJSON, 50},
		{`{"body":"`, "Pull", "reading alice/shop#42: the answer is longer than 256 MiB — " + nextOfJSON, 50},
		{`{"login":"`, "Account", "the answer is longer than 32 MiB — " + nextOfJSON, 300},
	} {
		gzipped := bomb(tt.text)
		f := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(gzipped)
		})
		for _, r := range reads {
			if r.name != tt.read {
				continue
			}
			var err error
			took := allocated(func() { err = r.do(t.Context(), f.client()) })
			wantLine(t, err, tt.want)
			t.Logf("%s: %d MiB allocated", tt.read, took>>20)
			if took>>20 > tt.most {
				t.Errorf("%s: %d MiB allocated, want at most %d", tt.read, took>>20, tt.most)
			}
		}
	}
}

// An error's page without an end is still an error of its status.
func TestAnErrorsPageIsCut(t *testing.T) {
	gzipped := bomb("<html>")
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write(gzipped)
	})
	var err error
	if took := allocated(func() { _, err = f.client().Account(t.Context()) }); took>>20 > 50 {
		t.Errorf("%d MiB allocated", took>>20)
	}
	wantLine(t, err, "give --account LOGIN, as a token that is limited to repositories can't be asked, or create one with "+
		"repository: write, issue: write, user: read")
}

// Anybody may write a comment of many megabytes. It is read in part, and what comes
// after it is read.
func TestOneLongTextDoesntHideTheOthers(t *testing.T) {
	long := strings.Repeat(`<é"\`, 5<<20)
	f := newFake(t, list{size: 50, total: -1, items: []any{
		object{"id": 1, "type": "comment", "body": long},
		object{"id": 2, "type": "comment", "body": "short", "user": object{"id": 7, "login": "ann"}},
	}}.ServeHTTP)
	got, err := f.client().Timeline(t.Context(), time.Time{}, nil)
	if err != nil || len(got) != 2 {
		t.Fatalf("%d entries, %v", len(got), err)
	}
	if n := len(got[0].Body); n > mostText || n < mostText/8 ||
		!strings.HasPrefix(long, strings.TrimRight(got[0].Body, "\uFFFD")) {
		t.Errorf("%d bytes are left of the long text", n)
	}
	if want := (reviewer.Entry{ID: 2, Kind: "comment", Body: "short", User: 7, Login: "ann"}); got[1] != want {
		t.Errorf("%+v, want %+v", got[1], want)
	}
}

// Whatever the pieces that JSON comes in, it stays JSON, short strings stay as they
// are, and long ones keep their beginning.
func TestShortener(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SampledFrom([]string{"a", `"`, `\`, "\n", "é", "\U0001F600", "<", "\u2028", "\x01"})
		text := strings.Join(rapid.SliceOfN(letters, 1, 20).Draw(t, "text"), "")
		if rapid.Bool().Draw(t, "long") {
			text = strings.Repeat(text, mostText/len(text)*rapid.IntRange(1, 2).Draw(t, "times")+1)
		}
		in := map[string]string{"a": text, "b": "next"}
		raw, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var from io.Reader = bytes.NewReader(raw)
		if rapid.Bool().Draw(t, "in halves") {
			from = iotest.HalfReader(from)
		}
		got := map[string]string{}
		if err := json.NewDecoder(&shortener{from: from}).Decode(&got); err != nil {
			t.Fatal(err)
		}
		if got["b"] != "next" || len(got["a"]) > mostText+6 {
			t.Fatalf("next to %d bytes there is %q", len(got["a"]), got["b"])
		}
		if whole := len(raw) < mostText && got["a"] != text; whole ||
			!strings.HasPrefix(text, strings.TrimRight(got["a"], "\uFFFD")) {
			t.Fatalf("%d bytes became %d", len(text), len(got["a"]))
		}
	})
}
