package modeltest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"review-bot/reviewer/openai/modeltest"
)

func TestRefusedRequests(t *testing.T) {
	s := start(t, modeltest.Sequence())
	const head, messages = `{"model":"m",`, `"messages":[{"role":"user","content":"hi"}]`
	for i, test := range []struct{ body, want string }{
		{`not JSON`, "not a chat request"},
		{hello + `{}`, "not a chat request"},
		{`{` + messages + `}`, "model parameter"},
		{`{"model":"m"}`, "at least one message"},
		{head + `"messages":[{"role":"boss","content":"hi"}]}`, `messages[0].role is "boss"`},
		{head + `"messages":[{"role":"user"}]}`, "messages[0].content"},
		{head + `"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, "messages[0].content"},
		{head + messages + `,"stream":true}`, "streaming"},
		{head + messages + `,"tools":[]}`, "tools"},
		{head + messages + `,"functions":[]}`, "functions"},
		{head + messages + `,"n":2}`, "n is 2"},
		{head + messages + `,"response_format":{"type":"xml"}}`, `"xml"`},
		{head + messages + `,"response_format":{"type":"json_object"}}`, "the word 'json'"},
		{head + messages + `,"response_format":{"type":"json_schema"}}`, "response_format.json_schema"},
	} {
		res := post(t, s, test.body)
		if res.status != http.StatusBadRequest {
			t.Errorf("%s: status %d", test.body, res.status)
		}
		wantContains(t, res.message(t), test.want)
		last := s.Requests()[i]
		if last.Refused != res.message(t) || last.Number != i+1 || string(last.Raw) != test.body {
			t.Errorf("%s: recorded %+v", test.body, last)
		}
	}
}

func TestStrictSchema(t *testing.T) {
	s := start(t, modeltest.ByMatch(modeltest.Match{Reply: modeltest.Reply{Content: "{}"}}))
	const format = `{"name":"review","strict":true,"schema":%s}`
	strict := func(schema string) string { return fmt.Sprintf(format, schema) }
	root := func(property string) string {
		return strict(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":` + property + `}}`)
	}
	for _, test := range []struct{ format, want string }{
		{strict(schema), ""},
		{root(`{"type":["object","null"],"additionalProperties":false}`), ""},
		{root(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), ""},
		{`{"name":"lax","schema":{"type":"object","properties":{"a":{}}}}`, ""},

		{`{"strict":true,"schema":{}}`, "json_schema.name"},
		{`{"name":"a b","schema":{}}`, `"a b"`},
		{`{"name":"` + strings.Repeat("n", 65) + `","schema":{}}`, "match"},
		{`{"name":"n"}`, "json_schema.schema"},
		{`{"name":"n","schema":[]}`, "want a JSON object"},
		{strict(`{"type":"array","items":{"type":"string"}}`), "context=()"},
		{strict(`{"type":"object","required":["a"],"properties":{"a":{}}}`), "context=(): 'additionalProperties'"},
		{strict(`{"type":"object","additionalProperties":true}`), "'additionalProperties'"},
		{strict(`{"type":"object","additionalProperties":false,"properties":{"a":{},"b":{}},"required":["a"]}`), "missing 'b'"},
		{strict(`{"type":"object","additionalProperties":false,"properties":{},"required":["x"]}`), "extra required key 'x'"},
		{strict(`{"type":"object","additionalProperties":false,"required":[1]}`), "list of names"},
		{strict(`{"type":"object","additionalProperties":false,"properties":[]}`), "'properties' must be an object"},
		{root(`"text"`), "context=('properties', 'a'): a schema must be"},
		{root(`{"type":"array","items":{"type":"object"}}`), "context=('properties', 'a', 'items'): 'additionalProperties'"},
		{root(`{"properties":{}}`), "context=('properties', 'a'): 'additionalProperties'"},
		{root(`{"anyOf":[{"type":"null"},{"type":"object"}]}`), "context=('properties', 'a', 'anyOf', '1')"},
		{root(`{"anyOf":{}}`), "'anyOf' must be a list"},
		{root(`{"oneOf":[]}`), "'oneOf' is not permitted"},
		{strict(`{"type":"object","additionalProperties":false,"$defs":{"d":{"type":"object"}}}`), "context=('$defs', 'd')"},
	} {
		res := post(t, s, `{"model":"m","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":`+test.format+`}}`)
		if test.want == "" {
			if res.status != http.StatusOK {
				t.Errorf("%s: %d %s", test.format, res.status, res.body)
			}
			continue
		}
		if res.status != http.StatusBadRequest || res.failure(t)["param"] != "response_format" {
			t.Errorf("%s: %d %s", test.format, res.status, res.body)
		}
		wantContains(t, res.message(t), test.want)
	}
}

func TestOtherPaths(t *testing.T) {
	s := start(t, modeltest.Sequence())
	base := strings.TrimSuffix(s.URL(), "/v1")
	for _, test := range []struct{ method, path string }{
		{"GET", "/"},
		{"GET", "/v1/chat/completions"},
		{"POST", "/v1/models"},
		{"GET", "/v1/models/"},
		{"POST", "/v1/embeddings"},
		{"POST", "/v1//chat/completions"},
		{"POST", "/chat/completions"},
	} {
		res, err := do(t, test.method, base+test.path, "", hello)
		if err != nil {
			t.Fatal(err)
		}
		if res.status != http.StatusNotFound {
			t.Errorf("%s %s: status %d", test.method, test.path, res.status)
		}
		wantContains(t, res.message(t), test.method+" "+test.path)
	}
	if s.Count() != 0 {
		t.Errorf("counted %d requests", s.Count())
	}
}

func TestAnyModelWhenNoneConfigured(t *testing.T) {
	s := start(t, modeltest.Sequence())
	res, err := do(t, http.MethodGet, s.URL()+"/models/whatever", "", "")
	if err != nil || res.status != http.StatusOK {
		t.Errorf("model: %+v, %v", res, err)
	}
	res, err = do(t, http.MethodGet, s.URL()+"/models", "", "")
	if err != nil || res.body != `{"object":"list","data":[]}` {
		t.Errorf("models: %+v, %v", res, err)
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestTooLargeThroughHandler(t *testing.T) {
	h := modeltest.NewHandler(modeltest.Sequence())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", zeros{}))
	if w.Code != http.StatusRequestEntityTooLarge || h.Count() != 1 {
		t.Errorf("status %d, counted %d", w.Code, h.Count())
	}
}

func TestCredentialsAreNotRecorded(t *testing.T) {
	h := modeltest.NewHandler(modeltest.Sequence(modeltest.Reply{Content: "ok"}))
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(hello))
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Api-Key", "X-Api-Key", "Cookie", "X-Kept"} {
		r.Header.Set(name, "value")
	}
	h.ServeHTTP(httptest.NewRecorder(), r)
	if got := h.Requests()[0].Header; len(got) != 1 || got.Get("X-Kept") != "value" {
		t.Errorf("recorded header: %v", got)
	}
}

func TestContentParts(t *testing.T) {
	s := start(t, modeltest.Sequence(modeltest.Reply{Content: "ok"}))
	post(t, s, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}`)
	if got := s.Requests()[0].Text(); got != "ab" {
		t.Errorf("text: %q", got)
	}
}
