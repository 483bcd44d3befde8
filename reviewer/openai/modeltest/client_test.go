package modeltest_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	openai "github.com/sashabaranov/go-openai"

	"review-bot/reviewer/openai/modeltest"
)

const schema = `{"type":"object","additionalProperties":false,"required":["summary"],"properties":{"summary":{"type":"string"}}}`

func newClient(s *modeltest.Server, key string) *openai.Client {
	config := openai.DefaultConfig(key)
	config.BaseURL = s.URL()
	return openai.NewClientWithConfig(config)
}

func question(format openai.ChatCompletionResponseFormatType) openai.ChatCompletionRequest {
	req := openai.ChatCompletionRequest{
		Model: "gpt-5",
		Messages: []openai.ChatCompletionMessage{
			{Role: "system", Content: "Answer in JSON."},
			{Role: "user", Content: "the diff"},
		},
		ResponseFormat: &openai.ChatCompletionResponseFormat{Type: format},
	}
	if format == openai.ChatCompletionResponseFormatTypeJSONSchema {
		req.ResponseFormat.JSONSchema = &openai.ChatCompletionResponseFormatJSONSchema{
			Name: "review", Strict: true, Schema: json.RawMessage(schema),
		}
	}
	return req
}

func TestClientSchemaAnswer(t *testing.T) {
	reply := modeltest.Answer(map[string]string{"summary": "a < b"})
	reply.Usage = modeltest.Usage{Prompt: 100, Cached: 64, Completion: 7}
	s := start(t, modeltest.Sequence(reply), modeltest.APIKey("secret"), modeltest.Models("gpt-5"))

	res, err := newClient(s, "secret").CreateChatCompletion(t.Context(), question("json_schema"))
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Choices) != 1 || res.Choices[0].FinishReason != "stop" || res.Choices[0].Message.Content != `{"summary":"a < b"}` {
		t.Errorf("choices: %+v", res.Choices)
	}
	u := res.Usage
	if u.PromptTokens != 100 || u.PromptTokensDetails.CachedTokens != 64 || u.CompletionTokens != 7 || u.TotalTokens != 107 {
		t.Errorf("usage: %+v, details %+v", u, u.PromptTokensDetails)
	}

	all := s.Requests()
	if len(all) != 1 || s.Count() != 1 {
		t.Fatalf("recorded %d, counted %d", len(all), s.Count())
	}
	got := all[0]
	wantMessages := []modeltest.Message{{Role: "system", Content: "Answer in JSON."}, {Role: "user", Content: "the diff"}}
	if diff := cmp.Diff(wantMessages, got.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if got.Number != 1 || got.Model != "gpt-5" || got.ResponseFormat != "json_schema" || got.SchemaName != "review" ||
		!got.Strict || string(got.Schema) != schema || got.Refused != "" {
		t.Errorf("request: %+v", got)
	}
	if got.Text() != "Answer in JSON.\nthe diff" || !got.Contains("diff") || got.Contains("tests") {
		t.Errorf("text: %q", got.Text())
	}
	if !got.Has("model") || got.Has("temperature") || got.Has("max_tokens") {
		t.Errorf("raw: %s", got.Raw)
	}
	if got.Header.Get("Content-Type") != "application/json" || got.Header.Get("Authorization") != "" {
		t.Errorf("header: %v", got.Header)
	}

	// What is handed out is a copy.
	got.Messages[0].Content, got.Raw[0] = "changed", 'X'
	if again := s.Requests()[0]; again.Messages[0].Content == "changed" || again.Raw[0] == 'X' {
		t.Error("a recorded request could be changed from outside")
	}
}

func TestClientComputedUsage(t *testing.T) {
	s := start(t, modeltest.Sequence(
		modeltest.Reply{Content: "12345"},
		modeltest.Reply{Content: "12345", Usage: modeltest.Usage{Cached: 50}},
	))
	for _, want := range []openai.Usage{
		{PromptTokens: 8, CompletionTokens: 2, TotalTokens: 10, PromptTokensDetails: &openai.PromptTokensDetails{}},
		{PromptTokens: 50, CompletionTokens: 2, TotalTokens: 52, PromptTokensDetails: &openai.PromptTokensDetails{CachedTokens: 50}},
	} {
		res, err := newClient(s, "").CreateChatCompletion(t.Context(), question("json_object"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, res.Usage); diff != "" {
			t.Errorf("usage (-want +got):\n%s", diff)
		}
	}
}

func TestClientModels(t *testing.T) {
	s := start(t, modeltest.Sequence(), modeltest.Models("gpt-5", "org/local"))
	client := newClient(s, "any")
	list, err := client.ListModels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Models) != 2 || list.Models[0].ID != "gpt-5" || list.Models[1].ID != "org/local" {
		t.Errorf("models: %+v", list.Models)
	}
	if m, err := client.GetModel(t.Context(), "org/local"); err != nil || m.ID != "org/local" {
		t.Errorf("model: %+v, %v", m, err)
	}
	_, err = client.GetModel(t.Context(), "other")
	wantAPIError(t, err, http.StatusNotFound, "model_not_found")
	req := question("json_schema")
	req.Model = "other"
	_, err = client.CreateChatCompletion(t.Context(), req)
	wantAPIError(t, err, http.StatusNotFound, "model_not_found")
	if s.Count() != 1 {
		t.Errorf("counted %d requests; only chat requests count", s.Count())
	}
}

func TestClientFailures(t *testing.T) {
	limited := modeltest.Fail(http.StatusTooManyRequests, "slow down")
	limited.Code = "rate_limit_exceeded"
	s := start(t, modeltest.Sequence(
		limited,
		modeltest.Fail(http.StatusBadRequest, "too long"),
		modeltest.Reply{Status: http.StatusBadGateway},
		modeltest.Reply{NoChoices: true},
		modeltest.Reply{EmptyContent: true},
		modeltest.Reply{Refusal: "I can't help with that."},
		modeltest.Reply{Content: `{"summ`, FinishReason: "length"},
		modeltest.Reply{RawBody: []byte(`{"choices":`)},
		modeltest.Reply{Content: "x", Cut: modeltest.CutHeaders},
		modeltest.Reply{Content: "x", Cut: modeltest.CutBody},
	))
	ask := func() (openai.ChatCompletionResponse, error) {
		return newClient(s, "").CreateChatCompletion(t.Context(), question("json_schema"))
	}

	_, err := ask()
	wantAPIError(t, err, http.StatusTooManyRequests, "rate_limit_exceeded")
	_, err = ask()
	wantContains(t, wantAPIError(t, err, http.StatusBadRequest, 0), "too long")
	_, err = ask()
	wantContains(t, wantAPIError(t, err, http.StatusBadGateway, 0), "Bad Gateway")

	if res, err := ask(); err != nil || res.Choices == nil || len(res.Choices) != 0 || res.Usage.PromptTokens == 0 {
		t.Errorf("no choices: %+v, %v", res, err)
	}
	if res, err := ask(); err != nil || len(res.Choices) != 1 || res.Choices[0].Message.Content != "" {
		t.Errorf("empty content: %+v, %v", res, err)
	}
	if res, err := ask(); err != nil || res.Choices[0].Message.Refusal != "I can't help with that." || res.Choices[0].Message.Content != "" {
		t.Errorf("refusal: %+v, %v", res, err)
	}
	if res, err := ask(); err != nil || res.Choices[0].FinishReason != "length" || res.Choices[0].Message.Content != `{"summ` {
		t.Errorf("length: %+v, %v", res, err)
	}
	if _, err := ask(); err == nil {
		t.Error("broken JSON: no error")
	}
	for _, cut := range []string{"headers", "body"} {
		if _, err := ask(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut %s: %v, want an unexpected EOF", cut, err)
		}
	}
}

func TestClientAuth(t *testing.T) {
	s := start(t, modeltest.Sequence(modeltest.Reply{Content: "ok"}), modeltest.APIKey("right"))
	for _, key := range []string{"", "wrong", "rightmost"} {
		client := newClient(s, key)
		_, err := client.CreateChatCompletion(t.Context(), question("json_schema"))
		wantAPIError(t, err, http.StatusUnauthorized, "invalid_api_key")
		_, err = client.ListModels(t.Context())
		wantAPIError(t, err, http.StatusUnauthorized, "invalid_api_key")
		_, err = client.GetModel(t.Context(), "m")
		wantAPIError(t, err, http.StatusUnauthorized, "invalid_api_key")
	}
	if _, err := newClient(s, "right").CreateChatCompletion(t.Context(), question("json_schema")); err != nil {
		t.Fatal(err)
	}
	all := s.Requests()
	if len(all) != 4 || all[0].Refused == "" || all[3].Refused != "" || all[3].Number != 4 {
		t.Errorf("requests: %+v", all)
	}
}

// TestClientFormats is the ladder a client goes down: schema, object, text.
func TestClientFormats(t *testing.T) {
	s := start(t, modeltest.Sequence(modeltest.Reply{Content: "{}"}),
		modeltest.RefuseJSONSchema(), modeltest.RefuseJSONObject())
	client := newClient(s, "")
	for _, format := range []openai.ChatCompletionResponseFormatType{"json_schema", "json_object"} {
		_, err := client.CreateChatCompletion(t.Context(), question(format))
		wantContains(t, wantAPIError(t, err, http.StatusBadRequest, 0),
			"response_format type "+string(format)+" is not supported")
	}
	if _, err := client.CreateChatCompletion(t.Context(), question("text")); err != nil {
		t.Fatal(err)
	}
	var formats []string
	for _, r := range s.Requests() {
		formats = append(formats, r.ResponseFormat)
	}
	if diff := cmp.Diff([]string{"json_schema", "json_object", ""}, formats); diff != "" {
		t.Errorf("formats (-want +got):\n%s", diff)
	}
}

// wantAPIError returns the message; go-openai reads a code that is null as the number 0.
func wantAPIError(t *testing.T, err error, status int, code any) string {
	t.Helper()
	api := new(openai.APIError)
	if !errors.As(err, &api) {
		t.Fatalf("got %v, want an API error with status %d", err, status)
	}
	if api.HTTPStatusCode != status || api.Code != code || api.Message == "" || api.Type == "" {
		t.Errorf("got %+v, want status %d, code %v", api, status, code)
	}
	return api.Message
}
