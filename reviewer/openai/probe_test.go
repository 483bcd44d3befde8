package openai

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"review-bot/reviewer"
	"review-bot/reviewer/openai/modeltest"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	for promise, tt := range map[string]struct {
		script modeltest.Script
		opts   []modeltest.Option
		forms  []string
		form   string
		err    string // how Err ends
		gone   bool
	}{
		"structured outputs": {script: always(modeltest.Answer(good)), forms: []string{"json_schema"}, form: reviewer.FormSchema},
		"objects only":       {script: always(modeltest.Answer(good)), opts: []modeltest.Option{modeltest.RefuseJSONSchema()}, forms: []string{"json_schema", "json_object"}, form: "json_object"},
		"plain text only":    {script: always(modeltest.Answer(good)), opts: []modeltest.Option{modeltest.RefuseJSONSchema(), modeltest.RefuseJSONObject()}, forms: []string{"json_schema", "json_object", ""}, form: "plain text"},
		"another form":       {script: always(modeltest.Reply{Content: `{"ok":true}`}), forms: []string{"json_schema", "json_schema"}, form: reviewer.FormSchema, err: `the field "summary" is missing — run the job again, or choose a model that can answer in JSON`},
		"no choices":         {script: always(modeltest.Reply{NoChoices: true}), forms: []string{"json_schema", "json_schema"}, form: reviewer.FormSchema, err: "the server sent no choices"},
		// Each is asked once: doctor is to tell what is, not to outwait it.
		"busy":          {script: always(modeltest.Fail(503, "too busy")), forms: []string{"json_schema"}, form: reviewer.FormSchema, err: "503: too busy — run the job again when the model server works, or name a second model with --fallback-model"},
		"limited":       {script: always(modeltest.Fail(429, "slower "+key)), forms: []string{"json_schema"}, form: reviewer.FormSchema, err: "429: slower (the key) — wait for the limit to pass or raise it, then run the job again, or name a second model with --fallback-model"},
		"model unknown": {script: always(modeltest.Answer(good)), opts: []modeltest.Option{modeltest.Models("x")}, forms: []string{"json_schema"}, form: reviewer.FormSchema, gone: true, err: "check --model and --base-url (it ends in /v1 on most servers)"},
	} {
		srv := serve(t, tt.script, tt.opts...)
		got, err := client(srv).Probe(t.Context(), request)
		if err != nil || !got.Asked || got.Model != "m" || got.Server != srv.URL() {
			t.Errorf("%s: %v, %+v", promise, err, got)
		}
		if d := cmp.Diff(tt.forms, forms(srv)); d != "" || got.Form != tt.form || got.Gone != tt.gone {
			t.Errorf("%s: form %q, gone %v; asked for (-want +got):\n%s", promise, got.Form, got.Gone, d)
		}
		if err := got.Err; (err == nil) != (tt.err == "") || err != nil && (!strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), key)) {
			t.Errorf("%s: error %v, want %q", promise, err, tt.err)
		}
	}
}

func TestProbeLists(t *testing.T) {
	t.Parallel()
	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>welcome")) }))
	defer html.Close()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	keyed := serve(t, always(modeltest.Answer(good)), modeltest.APIKey("another"), modeltest.Models("a", "b"))
	open := serve(t, always(modeltest.Answer(good)), modeltest.Models("a", "b"))
	for promise, tt := range map[string]struct {
		url   string
		want  reviewer.Told[[]string]
		asked bool
	}{
		"a list":      {open.URL(), reviewer.Told[[]string]{Reply: reviewer.Reply{Status: 200}, Value: []string{"a", "b"}}, true},
		"a wrong key": {keyed.URL(), reviewer.Told[[]string]{Reply: reviewer.Reply{Status: 401, Text: "incorrect API key provided"}}, false},
		"no such place": {
			strings.TrimSuffix(open.URL(), "/v1"), reviewer.Told[[]string]{Reply: reviewer.Reply{Status: 404, Text: "invalid URL (GET /models)"}}, true,
		},
		"a page": {html.URL, reviewer.Told[[]string]{Reply: reviewer.Reply{Status: 200, Absent: true, Text: "invalid character '<' looking for beginning of value"}}, true},
		"silent": {silent.URL, reviewer.Told[[]string]{Reply: reviewer.Reply{Text: "no answer within 1 s"}}, false},
		"down":   {down.URL, reviewer.Told[[]string]{Reply: reviewer.Reply{Text: "dial tcp " + strings.TrimPrefix(down.URL, "http://") + ": connect: connection refused"}}, false},
	} {
		c := New(Config{BaseURL: tt.url, APIKey: key, Model: "a", Timeout: time.Second / 5, Sleep: func(context.Context, time.Duration) {}})
		got, err := c.Probe(t.Context(), request)
		if err != nil || got.Asked != tt.asked {
			t.Errorf("%s: %v, asked %v", promise, err, got.Asked)
		}
		if d := cmp.Diff(tt.want, got.List); d != "" {
			t.Errorf("%s (-want +got):\n%s", promise, d)
		}
	}
}

func TestProbeStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	srv := serve(t, func(modeltest.Request) modeltest.Reply {
		cancel()
		return modeltest.Reply{Content: "{}", Delay: time.Minute}
	})
	if _, err := client(srv).Probe(ctx, request); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's error", err)
	}
}
