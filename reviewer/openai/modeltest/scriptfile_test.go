package modeltest_test

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"review-bot/reviewer/openai/modeltest"
)

func TestLoadScript(t *testing.T) {
	script, err := modeltest.LoadScript(strings.NewReader(`[
		{"when": {"contains": ["busy"]}, "times": 1,
		 "reply": {"status": 429, "error": "slow down", "code": "rate", "headers": {"Retry-After": "1"}}},
		{"when": {"contains": ["busy"], "model": "m"},
		 "reply": {"answer": {"summary": "a & b", "findings": []}, "usage": {"prompt": 10, "cached": 5, "completion": 2}}},
		{"when": {"contains": ["cut"]}, "reply": {"content": "text", "finish_reason": "length", "delay": "1ms", "cut": "body"}},
		{"when": {"contains": ["html"]}, "reply": {"status": 502, "raw_body": "", "content_type": "text/html"}},
		{"when": {"contains": ["slow"]}, "reply": {"content": "text", "drip": "2ms", "cut": "reset"}},
		{"when": {"model": "shy"}, "reply": {"refusal": "no"}},
		{"when": {"model": "mute"}, "reply": {"empty_content": true}},
		{"when": {}, "reply": {"no_choices": true}}
	]`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		model, text string
		want        modeltest.Reply
	}{
		{"m", "busy", modeltest.Reply{Status: 429, Error: "slow down", Code: "rate", Headers: map[string]string{"Retry-After": "1"}}},
		{"m", "busy", modeltest.Reply{
			Content: `{"summary":"a & b","findings":[]}`,
			Usage:   modeltest.Usage{Prompt: 10, Cached: 5, Completion: 2},
		}},
		{"other", "busy", modeltest.Reply{NoChoices: true}},
		{"m", "cut", modeltest.Reply{Content: "text", FinishReason: "length", Delay: time.Millisecond, Cut: modeltest.CutBody}},
		{"m", "html", modeltest.Reply{Status: 502, RawBody: []byte{}, ContentType: "text/html"}},
		{"m", "slow", modeltest.Reply{Content: "text", Drip: 2 * time.Millisecond, Cut: modeltest.CutReset}},
		{"shy", "", modeltest.Reply{Refusal: "no"}},
		{"mute", "", modeltest.Reply{EmptyContent: true}},
	} {
		got := script(modeltest.Request{Model: test.model, Messages: []modeltest.Message{{Role: "user", Content: test.text}}})
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s to %s (-want +got):\n%s", test.text, test.model, diff)
		}
	}
}

func TestLoadScriptErrors(t *testing.T) {
	const ok = `{"when":{"model":"m"},"reply":{"content":"x"}}`
	reply := func(fields string) string { return `[` + ok + `,{"when":{},"reply":{` + fields + `}}]` }
	for _, test := range []struct{ file, want string }{
		{"", "line 1, column 1: unexpected end"},
		{"[\n " + ok + ",\n x]", "line 3, column 2: invalid character"},
		{`[` + ok + `] []`, "invalid character"},
		{`{}`, "want a list of rules"},
		{`[]`, "has no rules"},
		{`[` + ok + `,7]`, "rule 2: want an object"},
		{`[{"reply":{"content":"x"}}]`, "rule 1: when: is missing"},
		{`[{"when":{}}]`, "rule 1: reply: is missing"},
		{`[{"when":{},"reply":null}]`, "rule 1: reply: is null"},
		{`[{"when":{},"reply":[]}]`, "rule 1: reply: want an object"},
		{`[{"when":{},"rely":{}}]`, "rule 1: rely: unknown field; known are reply, times, when"},
		{`[{"when":{},"when":{},"reply":{}}]`, "rule 1: when: is given twice"},
		{`[{"when":{},"times":-1,"reply":{}}]`, "rule 1: times: -1: want 1 or more"},
		{`[{"when":{},"times":0,"reply":{}}]`, "rule 1: times: 0: want 1 or more"},
		{`[{"when":{"contains":"x"},"reply":{}}]`, "rule 1: when.contains: want a list of strings, got string"},
		{`[{"when":{"contains":[""]},"reply":{}}]`, "rule 1: when.contains[0]: is empty"},
		{`[{"when":{"modle":"x"},"reply":{}}]`, "rule 1: when.modle: unknown field; known are contains, model"},
		{`[{"when":{},"reply":{"content":"x"}},` + ok + `]`, "rule 2: is never reached, since rule 1 holds always"},
		{reply(``), "rule 2: reply: nothing to answer"},
		{reply(`"contents":"x"`), "rule 2: reply.contents: unknown field"},
		{reply(`"content":1`), "rule 2: reply.content: want a string, got number"},
		{reply(`"content":"x","answer":{}`), "rule 2: reply.answer: there is a content, too"},
		{reply(`"content":"x","refusal":"y"`), "rule 2: reply: contradicts itself: has content and refusal"},
		{reply(`"status":42`), "rule 2: reply.status: 42: want 200"},
		{reply(`"status":700`), "rule 2: reply.status: 700"},
		{reply(`"status":"500"`), "rule 2: reply.status: want a whole number, got string"},
		{reply(`"no_choices":1`), "rule 2: reply.no_choices: want true or false, got number"},
		{reply(`"status":500,"headers":{"a":1}`), "rule 2: reply.headers: want "},
		{reply(`"content":"x","delay":"5"`), `rule 2: reply.delay: "5": want a duration`},
		{reply(`"content":"x","drip":"5"`), `rule 2: reply.drip: "5": want a duration`},
		{reply(`"content":"x","delay":"-1s"`), "rule 2: reply.delay: is negative"},
		{reply(`"content":"x","cut":"tail"`), `rule 2: reply.cut: "tail"`},
		{reply(`"content":"x","usage":{"total":1}`), "rule 2: reply.usage.total: unknown field"},
		{reply(`"content":"x","usage":{"prompt":1,"cached":2}`), "rule 2: reply.usage: cached 2"},
	} {
		script, err := modeltest.LoadScript(strings.NewReader(test.file))
		if err == nil || script != nil {
			t.Errorf("%s: no error", test.file)
			continue
		}
		wantContains(t, err.Error(), "model script: ", test.want)
	}

	broken := errors.New("disk on fire")
	if _, err := modeltest.LoadScript(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}
