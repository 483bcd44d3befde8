package openai

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/openai/modeltest"
)

// raw is a reply with the body as a server sends it.
func raw(status int, body string) modeltest.Reply {
	return modeltest.Reply{Status: status, RawBody: []byte(body)}
}

// saying is a good answer's body with the message in one of the forms that servers have.
func saying(message string) modeltest.Reply {
	return raw(http.StatusOK, `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":`+message+`,"finish_reason":"stop"}]}`)
}

func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

const (
	fine    = `{"summary":"Fine.","findings":[],"retained":[]}`
	finding = `{"path":"a.go","line":12,"end_line":13,"side":"new","quote":"x","severity":"high","category":"logic","title":"T","body":"B","suggestion":""}`
)

// Good answers in other clothes: each is taken at once.
func TestGoodAnswersInOddClothes(t *testing.T) {
	found := `{"summary":"Fine.","findings":[` + finding + `],"retained":[]}`
	dressed := func(old, new string) string { return strings.Replace(found, old, new, 1) }
	for promise, reply := range map[string]modeltest.Reply{
		"plain":                                  saying(`{"role":"assistant","content":` + quoted(fine) + `}`),
		"thoughts before":                        {Content: "<think>Is it? {\"summary\": no.</think>\n\n" + fine},
		"thoughts under another name":            {Content: "<thinking>\nhm\n</thinking>" + fine},
		"a fence":                                {Content: "```json\n" + fine + "\n```"},
		"words before a fence":                   {Content: "Here is my review:\n\n```json\n" + fine + "\n```"},
		"words after a fence":                    {Content: "```\n" + fine + "\n```\nLet me know."},
		"thoughts, words and a fence":            {Content: "<think>…</think>Sure.\n```json\n" + fine + "\n```\n"},
		"a byte order mark in the text":          {Content: "\ufeff" + fine},
		"a byte order mark before the answer":    raw(200, "\ufeff"+`{"choices":[{"message":{"role":"assistant","content":`+quoted(fine)+`}}]}`),
		"content in parts":                       saying(`{"role":"assistant","content":[{"type":"text","text":` + quoted(fine) + `}]}`),
		"content in several parts":               saying(`{"role":"assistant","content":[{"type":"text","text":` + quoted(fine[:10]) + `},{"type":"text","text":` + quoted(fine[10:]) + `}]}`),
		"thoughts as a part (Magistral)":         saying(`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":` + quoted(fine) + `}]}`),
		"all of it as reasoning (vLLM)":          saying(`{"role":"assistant","content":null,"reasoning_content":` + quoted(fine) + `}`),
		"reasoning beside":                       saying(`{"role":"assistant","content":` + quoted(fine) + `,"reasoning_content":"hm"}`),
		"a time with a fraction":                 raw(200, `{"created":1767225600.25,"choices":[{"message":{"role":"assistant","content":`+quoted(fine)+`}}]}`),
		"a time as text":                         raw(200, `{"created":"2026-01-01","choices":[{"message":{"role":"assistant","content":`+quoted(fine)+`}}]}`),
		"no usage, no id":                        raw(200, `{"choices":[{"message":{"role":"assistant","content":`+quoted(fine)+`}}]}`),
		"an error that is null":                  raw(200, `{"error":null,"choices":[{"message":{"role":"assistant","content":`+quoted(fine)+`}}]}`),
		"no reason for the end":                  raw(200, `{"choices":[{"message":{"role":"assistant","content":`+quoted(fine)+`},"finish_reason":null}]}`),
		"fields of its own":                      raw(200, `{"x_groq":{"id":1},"timings":{"a":1.5},"choices":[{"message":{"role":"assistant","content":`+quoted(fine)+`,"annotations":[]},"content_filter_results":{}}]}`),
		"a line as text":                         {Content: dressed(`"line":12`, `"line":"12"`)},
		"a line with a fraction of zero":         {Content: dressed(`"line":12`, `"line":12.0`)},
		"severity in capitals":                   {Content: dressed(`"high"`, `"High"`)},
		"side in capitals":                       {Content: dressed(`"new"`, `"NEW"`)},
		"category in capitals":                   {Content: dressed(`"logic"`, `"Logic"`)},
		"no suggestion":                          {Content: dressed(`,"suggestion":""`, "")},
		"a suggestion that is null":              {Content: dressed(`"suggestion":""`, `"suggestion":null`)},
		"a further field of a finding":           {Content: dressed(`"path"`, `"confidence":0.9,"path"`)},
		"a further field of the answer":          {Content: dressed(`"summary"`, `"verdict":"approved","summary"`)},
		"nothing about earlier ones":             {Content: `{"summary":"Fine.","findings":[]}`},
		"nothing about earlier ones, as null":    {Content: `{"summary":"Fine.","findings":[],"retained":null,"closed":null}`},
		"finish_reason in a word of the gateway": {Content: fine, FinishReason: "end_turn"},
	} {
		srv := serve(t, modeltest.Sequence(reply))
		answer, usage, err := client(srv).Review(t.Context(), request)
		if err != nil || answer.Summary != "Fine." || usage.Calls != 1 {
			t.Errorf("%s: %+v, %+v, %v", promise, answer, usage, err)
		}
		if len(answer.Findings) > 0 && (answer.Findings[0].Line != 12 || answer.Findings[0].Severity != "high" || answer.Findings[0].Side != "new") {
			t.Errorf("%s: %+v", promise, answer.Findings[0])
		}
	}
}

// What servers say that can't answer: the status counts, whatever the form, and what is
// too long is asked once and never in another form.
func TestFormsOfErrors(t *testing.T) {
	const (
		form  = 3  // asked in each form
		again = 15 // all that fits into 10 minutes
	)
	for promise, tt := range map[string]struct {
		reply modeltest.Reply
		says  string
		calls int
		fits  int // -1: it isn't too long
	}{
		// Too long.
		"OpenAI":                  {modeltest.Reply{Status: 400, Code: "context_length_exceeded", Error: "This model's maximum context length is 128000 tokens. However, your messages resulted in 140512 tokens."}, "400: This model's maximum context length is 128000", 1, 128000},
		"vLLM":                    {raw(400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages, Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}`), "400: This model's", 1, 4096},
		"newer vLLM":              {raw(400, `{"error":{"message":"'max_tokens' is too large. This model's maximum context length is 8,192 tokens.","type":"BadRequestError","code":400}}`), "400: 'max_tokens'", 1, 8192},
		"llama.cpp":               {raw(400, `{"error":{"code":400,"message":"request (9123 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9123,"n_ctx":4096}}`), "400: request (9123 tokens)", 1, 4096},
		"llama.cpp, older":        {raw(500, `{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"server_error"}}`), "500: the request exceeds", 1, 0},
		"LM Studio":               {raw(400, `{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough"}`), "400: Trying to keep", 1, 4096},
		"LM Studio, newer":        {raw(400, `{"error":"The prompt's context length is only 4096 tokens, too few"}`), "400: The prompt's", 1, 4096},
		"Anthropic":               {raw(400, `{"error":{"type":"invalid_request_error","message":"prompt is too long: 210304 tokens > 200000 maximum"}}`), "400: prompt is too long", 1, 200000},
		"Anthropic, a body":       {raw(413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`), "413: Request exceeds", 1, 0},
		"Gemini":                  {raw(400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`), "400: The input token count", 1, 1048576},
		"LiteLLM":                 {raw(400, `{"error":{"message":"litellm.ContextWindowExceededError: ContextWindowExceededError: OpenAIException - This model's maximum context length is 16385 tokens.","type":null,"param":null,"code":"400"}}`), "400: litellm.", 1, 16385},
		"GitHub's models":         {raw(413, `{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-4o model. Max size: 8000 tokens.","details":""}}`), "413: Request body", 1, 8000},
		"Groq, per minute":        {raw(413, `{"error":{"message":"Request too large for model in organization on tokens per minute (TPM): Limit 6000, Requested 9120, please reduce your message size","type":"tokens","code":"rate_limit_exceeded"}}`), "413: Request too large", 1, 6000},
		"OpenAI, per minute":      {raw(429, `{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45321.","type":"tokens","code":"rate_limit_exceeded"}}`), "429: Request too large", 1, 30000},
		"Ollama, newer":           {raw(400, `{"error":{"message":"input is too long: the prompt is longer than the context length","type":"api_error"}}`), "400: input is too long", 1, 0},
		"TGI":                     {raw(422, `{"error":"Input validation error: inputs tokens + max_new_tokens must be <= 4096. Given: 5000","error_type":"validation"}`), "422: Input validation", 1, 4096},
		"Mistral":                 {raw(400, `{"object":"error","message":"Prompt contains 40000 tokens, too large for model with 32768 maximum context length","type":"invalid_request_message_order","code":"3051"}`), "400: Prompt contains", 1, 32768},
		"OpenRouter, 200":         {raw(200, `{"error":{"message":"This endpoint's maximum context length is 32768 tokens.","code":400}}`), "400: This endpoint's", 1, 32768},
		"Azure":                   {raw(400, `{"error":{"message":"This model's maximum context length is 8192 tokens","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`), "400: This model's", 1, 8192},
		"too long, a number lost": {raw(400, `{"error":{"message":"","type":"","code":"context_length_exceeded"}}`), "400: ", 1, 0},

		// Busy or broken: asked again.
		"429, a text":            {raw(429, `{"error":"rate limited"}`), "429: rate limited", again, -1},
		"429, an empty object":   {raw(429, `{"error":{}}`), "429: ", again, -1},
		"429, no message":        {raw(429, `{"error":{"type":"rate"}}`), "429: ", again, -1},
		"429, a list":            {raw(429, `[{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED"}}]`), "429: Resource exhausted", again, -1},
		"429, messages":          {raw(429, `{"error":{"message":["slow","down"]}}`), "429: slow, down", again, -1},
		"429, nothing":           {raw(429, ``), "429: ", again, -1},
		"503, a text":            {raw(503, `{"error":"loading model"}`), "503: loading model", again, -1},
		"503, a word":            {modeltest.Reply{Status: 503, RawBody: []byte("no server available"), ContentType: "text/plain"}, "503: no server available", again, -1},
		"500, detail":            {raw(500, `{"detail":"Internal Server Error"}`), "500: Internal Server Error", again, -1},
		"504, a page":            {modeltest.Reply{Status: 504, RawBody: []byte("<html>504 Gateway Time-out</html>"), ContentType: "text/html"}, "504: <html>504", again, -1},
		"529":                    {raw(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), "529: Overloaded", again, -1},
		"200 with 429":           {raw(200, `{"error":{"message":"Rate limit exceeded","code":429}}`), "429: Rate limit exceeded", again, -1},
		"200 with a text":        {raw(200, `{"error":"upstream failed"}`), "502: upstream failed", again, -1},
		"200 with a word's code": {raw(200, `{"error":{"message":"oh","code":"internal"}}`), "502: oh", again, -1},

		// Refused: in another form, then not again.
		"400, a text":             {raw(400, `{"error":"bad request"}`), "400: bad request", form, -1},
		"400, an object in error": {raw(400, `{"error":{"message":{"text":"no"}}}`), `400: {"error"`, form, -1},
		"400, no object":          {raw(400, `"no"`), `400: "no"`, form, -1},
		"400, null":               {raw(400, `{"error":null}`), `400: {"error":null}`, form, -1},
		"422, details":            {raw(422, `{"detail":[{"loc":["body","messages"],"msg":"field required","type":"missing"}]}`), "422: field required", form, -1},
		"501, a text":             {raw(501, `{"error":"not here"}`), "501: not here", form, -1},

		// What no second try mends.
		"401, a text":        {raw(401, `{"error":"Unauthorized"}`), "401: Unauthorized — check OPENAI_API_KEY", 1, -1},
		"401, a message":     {raw(401, `{"message":"Invalid API key"}`), "401: Invalid API key — check OPENAI_API_KEY", 1, -1},
		"403, a page":        {modeltest.Reply{Status: 403, RawBody: []byte("<html>no</html>"), ContentType: "text/html"}, "403: <html>no</html> — check OPENAI_API_KEY", 1, -1},
		"404, Ollama":        {raw(404, `{"error":{"message":"model 'x' not found","type":"api_error","param":null,"code":null}}`), "404: model 'x' not found — check --model", 1, -1},
		"404, FastAPI":       {raw(404, `{"detail":"Not Found"}`), "404: Not Found — check --model", 1, -1},
		"402, OpenRouter":    {raw(402, `{"error":{"message":"Insufficient credits","code":402}}`), "402: Insufficient credits — raise the account's limit", 1, -1},
		"429, quota":         {raw(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`), "429: You exceeded", 1, -1},
		"200 with 401":       {raw(200, `{"error":{"message":"No auth credentials found","code":401}}`), "401: No auth credentials", 1, -1},
		"400, content":       {raw(400, `{"error":{"message":"The response was filtered","code":"content_filter"}}`), "400: The response was filtered", 1, -1},
		"400, unknown model": {raw(400, `{"error":{"message":"no such model","code":"model_not_found"}}`), "400: no such model — check --model", 1, -1},
	} {
		srv := serve(t, always(tt.reply))
		_, _, err := client(srv).Review(t.Context(), request)
		if err == nil {
			t.Errorf("%s: no error", promise)
			continue
		}
		got := line(t, err)
		if !strings.Contains(got, "the server answered "+tt.says) || srv.Count() != tt.calls {
			t.Errorf("%s: %d calls, want %d; %s", promise, srv.Count(), tt.calls, got)
		}
		var long *reviewer.TooLong
		switch is := errors.As(err, &long); {
		case is != (tt.fits >= 0), is && long.Fits != tt.fits:
			t.Errorf("%s: too long %v, %+v, want %d", promise, is, long, tt.fits)
		case is && !strings.HasSuffix(got, moreContext):
			t.Errorf("%s: no advice: %s", promise, got)
		}
	}
}

// A server that has dropped a part of the request isn't believed, whatever it answers.
func TestWhatWasNotReadIsNotAnswered(t *testing.T) {
	long := request
	long.Material = strings.Repeat("a line of the diff\n", 800) // 5,100 tokens by the scripted server's count
	long.Tokens = 3484
	receipts := long
	receipts.Codes = []string{"0a1b2c3d", "4e5f6071"}
	receipts.System += "\nReceipt A: 0a1b2c3d\n"
	receipts.Task += "\nReceipt B: 4e5f6071"
	counted := func(prompt int) modeltest.Reply {
		r := modeltest.Answer(good)
		r.Usage = modeltest.Usage{Prompt: prompt}
		return r
	}
	cached := counted(3000)
	cached.Usage.Cached = 2900
	few := counted(300)
	few.Usage.Cached = 100
	for promise, tt := range map[string]struct {
		req    prompts.Request
		script modeltest.Script
		opts   []modeltest.Option
		says   string // "": it is believed
	}{
		"all is read":            {req: long, script: always(counted(3600))},
		"another vocabulary":     {req: long, script: always(counted(2500))},
		"far too few":            {req: long, script: always(counted(2048)), says: "the server counted 2048 tokens of a request of about 3484"},
		"cached ones count":      {req: long, script: always(cached)},
		"not even with cached":   {req: long, script: always(few), says: "the server counted 400 tokens"},
		"nothing is counted":     {req: long, script: always(saying(`{"role":"assistant","content":` + quoted(fine) + `}`))},
		"a short request":        {req: request, script: always(counted(1))},
		"fewer the second time":  {req: long, script: modeltest.Sequence(modeltest.Reply{Content: "{", Usage: modeltest.Usage{Prompt: 4000}}, counted(3900)), says: "the server counted 3900 tokens, and 4000 of a shorter request"},
		"receipts":               {req: receipts, script: always(counted(0))},
		"a window":               {req: receipts, script: always(counted(0)), opts: []modeltest.Option{modeltest.Window(4000)}, says: "the receipt lacks 1 of the 2 codes"},
		"the near miss":          {req: receipts, script: always(counted(0)), opts: []modeltest.Option{modeltest.Window(5000)}, says: "the receipt lacks 1 of the 2 codes"},
		"a window that is large": {req: receipts, script: always(counted(0)), opts: []modeltest.Option{modeltest.Window(6000)}},
	} {
		srv := serve(t, tt.script, tt.opts...)
		_, _, err := client(srv).Review(t.Context(), tt.req)
		switch {
		case tt.says == "" && err != nil:
			t.Errorf("%s: %v", promise, err)
		case tt.says != "" && err == nil:
			t.Errorf("%s: believed", promise)
		case tt.says != "":
			got := line(t, err)
			if !strings.Contains(got, "two answers in a row could not be used: "+tt.says) || !strings.Contains(got, moreContext) || srv.Count() != 2 {
				t.Errorf("%s: %d calls, %s", promise, srv.Count(), got)
			}
			for _, code := range receipts.Codes {
				if last := srv.Requests()[1].Messages[1].Content; strings.Contains(got, code) || strings.Count(last, code) > 1 {
					t.Errorf("%s: the code %s is said: %s", promise, code, got)
				}
			}
		}
	}
}
