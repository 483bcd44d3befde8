package modeltest_test

import (
	"strings"
	"testing"

	"review-bot/reviewer/openai/modeltest"
)

func TestSequenceUsedUp(t *testing.T) {
	s := start(t, modeltest.Sequence(modeltest.Reply{Content: "one"}, modeltest.Reply{Content: "two"}))
	post(t, s, `{}`) // refused: uses up nothing
	for _, want := range []string{"one", "two"} {
		if got := content(t, post(t, s, hello)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	res := post(t, s, hello)
	if res.status != 418 {
		t.Errorf("status %d", res.status)
	}
	wantContains(t, res.message(t), "used up", "2 replies", "request 4", `"hello"`)
}

func TestByMatch(t *testing.T) {
	s := start(t, modeltest.ByMatch(
		modeltest.Match{Contains: []string{"alpha", "beta"}, Reply: modeltest.Reply{Content: "both"}},
		modeltest.Match{Contains: []string{"alpha"}, Times: 1, Reply: modeltest.Reply{Content: "first"}},
		modeltest.Match{Contains: []string{"alpha"}, Model: "small", Reply: modeltest.Reply{Content: "small"}},
		modeltest.Match{When: func(r modeltest.Request) bool { return len(r.Messages) == 2 }, Reply: modeltest.Reply{Content: "two"}},
	))
	ask := func(model, messages string) response {
		return post(t, s, `{"model":"`+model+`","messages":[`+messages+`]}`)
	}
	const alpha, beta = `{"role":"system","content":"alpha"}`, `{"role":"user","content":"beta"}`
	for _, test := range []struct{ model, messages, want string }{
		{"m", alpha + "," + beta, "both"},
		{"m", alpha, "first"},
		{"small", alpha, "small"},
		{"m", beta + "," + beta, "two"},
	} {
		if got := content(t, ask(test.model, test.messages)); got != test.want {
			t.Errorf("%+v: got %q", test, got)
		}
	}
	long := strings.Repeat("ä", 200)
	res := ask("m", `{"role":"user","content":"`+long+`"}`)
	if res.status != 418 {
		t.Errorf("status %d", res.status)
	}
	wantContains(t, res.message(t), "none of the script's 4 matches", `model "m"`, "for text", `"`+long[:2*120]+`…"`)
}

func TestAnswerPanicsOnWhatIsNoJSON(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	modeltest.Answer(func() {})
}
