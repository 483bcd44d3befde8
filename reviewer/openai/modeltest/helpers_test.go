package modeltest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"review-bot/reviewer/openai/modeltest"
)

// hello is the smallest request that is answered.
const hello = `{"model":"m","messages":[{"role":"user","content":"hello"}]}`

func start(t *testing.T, script modeltest.Script, opts ...modeltest.Option) *modeltest.Server {
	t.Helper()
	s := modeltest.New(script, opts...)
	t.Cleanup(s.Close)
	return s
}

// response is what came back, read to its end.
type response struct {
	status int
	header http.Header
	body   string
}

func (r response) message(t *testing.T) string {
	t.Helper()
	return r.failure(t)["message"].(string)
}

// failure is the error object, after a check of its shape.
func (r response) failure(t *testing.T) map[string]any {
	t.Helper()
	var doc map[string]map[string]any
	if err := json.Unmarshal([]byte(r.body), &doc); err != nil {
		t.Fatalf("error body %q: %v", r.body, err)
	}
	e := doc["error"]
	for _, field := range []string{"message", "type", "param", "code"} {
		if _, ok := e[field]; !ok {
			t.Fatalf("error body %q has no %s", r.body, field)
		}
	}
	return e
}

func do(t *testing.T, method, url, key, body string) (response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return response{}, err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	return response{res.StatusCode, res.Header, string(data)}, err
}

func post(t *testing.T, s *modeltest.Server, body string) response {
	t.Helper()
	res, err := do(t, http.MethodPost, s.URL()+"/chat/completions", "", body)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func content(t *testing.T, res response) string {
	t.Helper()
	var doc struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(res.body), &doc); err != nil || len(doc.Choices) != 1 {
		t.Fatalf("no answer with one choice (%v): %d %s", err, res.status, res.body)
	}
	return doc.Choices[0].Message.Content
}

func wantContains(t *testing.T, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want it to contain %q", got, want)
		}
	}
}
