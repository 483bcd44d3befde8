package openai

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/openai/modeltest"
)

// Where the server says how large the model's context is, nothing is asked that doesn't
// fit, and no answer is believed that can't have fitted.
func TestWindow(t *testing.T) {
	long := request
	long.Tokens = 20_000
	counted := modeltest.Answer(good)
	counted.Usage = modeltest.Usage{Prompt: 19_000, Completion: 100}
	over := counted
	over.Usage.Completion = 14_000
	for promise, tt := range map[string]struct {
		kind   modeltest.Kind
		window int
		reply  modeltest.Reply
		says   string // "": answered
		fits   int
		calls  int
	}{
		"vLLM":                     {modeltest.VLLM, 32_768, counted, "", 0, 1},
		"llama.cpp":                {modeltest.LlamaCPP, 32_768, counted, "", 0, 1},
		"Ollama":                   {modeltest.Ollama, 32_768, counted, "", 0, 1},
		"nobody says":              {"", 8192, counted, "", 0, 1},
		"vLLM, too small":          {modeltest.VLLM, 31_000, counted, "context of 31000 tokens; the request has about 20000", 31_000, 0},
		"llama.cpp, too small":     {modeltest.LlamaCPP, 8192, counted, "context of 8192 tokens", 8192, 0},
		"Ollama, once it is known": {modeltest.Ollama, 8192, counted, "context of 8192 tokens", 8192, 1},
		"the answer was too long":  {modeltest.VLLM, 32_768, over, "the server counted 33000 tokens for question and answer", 0, 2},
	} {
		// The window is what the server says here; the scripted answers weren't cut.
		srv := serve(t, always(tt.reply), modeltest.Window(tt.window), modeltest.Says(tt.kind), modeltest.Models("m", "other"))
		c := client(srv)
		_, _, err := c.Review(t.Context(), long)
		if tt.says == "" {
			if err != nil || srv.Count() != tt.calls {
				t.Errorf("%s: %v, %d calls", promise, err, srv.Count())
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: answered", promise)
			continue
		}
		var tooLong *reviewer.TooLong
		if is := errors.As(err, &tooLong); is != (tt.fits > 0) || is && tooLong.Fits != tt.fits {
			t.Errorf("%s: %+v, want %d", promise, tooLong, tt.fits)
		}
		got := line(t, err)
		if srv.Count() != tt.calls || !strings.Contains(got, moreContext) {
			t.Errorf("%s: %d calls, want %d: %s", promise, srv.Count(), tt.calls, got)
		}
	}
}

// The window is asked with the key, at the server's own address, and a server that
// doesn't say is asked once.
func TestWindowIsAskedOnce(t *testing.T) {
	var asked []string
	answers := map[string]string{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+" "+r.Header.Get("Authorization"))
		if body, ok := answers[r.URL.Path]; ok {
			_, _ = w.Write([]byte(body))
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer srv.Close()
	for _, tt := range []struct {
		promise string
		answers map[string]string
		model   string
		want    int
		asked   string // the paths of two questions
	}{
		{"no list", nil, "m", 0, "/v1/models"},
		{"a page", map[string]string{"/v1/models": "<html>"}, "m", 0, "/v1/models"},
		{"another model", map[string]string{"/v1/models": `{"data":[{"id":"n","max_model_len":5}]}`}, "m", 0, "/v1/models"},
		{"nothing of it", map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"openai"}]}`}, "m", 0, "/v1/models"},
		{"vLLM", map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"vllm","max_model_len":4096}]}`}, "m", 4096, "/v1/models"},
		{"OpenRouter", map[string]string{"/v1/models": `{"data":[{"id":"a/m","context_length":131072.0}]}`}, "a/m", 131072, "/v1/models"},
		{"Groq", map[string]string{"/v1/models": `{"data":[{"id":"m","context_window":8192}]}`}, "m", 8192, "/v1/models"},
		{"nonsense", map[string]string{"/v1/models": `{"data":[{"id":"m","max_model_len":1e300,"context_length":-1}]}`}, "m", 0, "/v1/models"},
		{"llama.cpp", map[string]string{"/v1/models": "\ufeff" + `{"data":[{"id":"m","owned_by":"llamacpp"}]}`, "/props": `{"default_generation_settings":{"n_ctx":4096}}`}, "m", 4096, "/v1/models /props"},
		{"Ollama", map[string]string{"/v1/models": `{"data":[{"id":"m:latest","owned_by":"library"}]}`, "/api/ps": `{"models":[{"name":"x","context_length":1},{"name":"m:latest","context_length":4096}]}`}, "m", 4096, "/v1/models /api/ps"},
		{"Ollama, not loaded", map[string]string{"/v1/models": `{"data":[{"id":"m:7b","owned_by":"library"}]}`, "/api/ps": `{"models":[]}`}, "m:7b", 0, "/v1/models /api/ps /v1/models /api/ps"},
	} {
		asked, answers = nil, tt.answers
		c := New(Config{BaseURL: srv.URL + "/v1/", APIKey: key, Model: tt.model})
		for range 2 {
			if got := c.window(t.Context(), c.models[0], prompts.Request{Tokens: 1}); got != tt.want {
				t.Errorf("%s: %d tokens, want %d", tt.promise, got, tt.want)
			}
		}
		var paths []string
		for _, a := range asked {
			path, sent, _ := strings.Cut(a, " ")
			if sent != "Bearer "+key {
				t.Errorf("%s: %s was asked with %q", tt.promise, path, sent)
			}
			paths = append(paths, path)
		}
		if got := strings.Join(paths, " "); got != tt.asked {
			t.Errorf("%s: asked %s, want %s", tt.promise, got, tt.asked)
		}
	}
}
