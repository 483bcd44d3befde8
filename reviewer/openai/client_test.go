package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/openai/modeltest"
)

const key = "sk-verysecret0123456789"

var request = prompts.Request{System: "You review. Answer in JSON.", Material: "The diff.", Task: "You are security."}

var good = prompts.Answer{Summary: "Fine.", Findings: []prompts.Finding{}, Retained: []string{}}

func serve(t *testing.T, script modeltest.Script, opts ...modeltest.Option) *modeltest.Server {
	t.Helper()
	srv := modeltest.New(script, opts...)
	t.Cleanup(srv.Close)
	return srv
}

func client(srv *modeltest.Server) *Client {
	c, _ := hurried(Config{BaseURL: srv.URL(), APIKey: key, Model: "m"})
	return c
}

func always(r modeltest.Reply) modeltest.Script {
	return modeltest.ByMatch(modeltest.Match{Reply: r})
}

// forms lists how the answers were asked for, in order.
func forms(srv *modeltest.Server) []string {
	var list []string
	for _, r := range srv.Requests() {
		list = append(list, r.ResponseFormat)
	}
	return list
}

func TestQuestionAsItIsSent(t *testing.T) {
	srv := serve(t, always(modeltest.Answer(good)), modeltest.APIKey(key))
	answer, usage, err := client(srv).Review(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(good, answer); d != "" {
		t.Errorf("answer (-want +got):\n%s", d)
	}
	if usage.Model != "m" || usage.Calls != 1 || usage.Prompt == 0 || usage.Completion == 0 {
		t.Errorf("usage is %+v", usage)
	}
	r := srv.Requests()[0]
	want := []modeltest.Message{{Role: "system", Content: "You review. Answer in JSON."}, {Role: "user", Content: "The diff.\n\nYou are security."}}
	if d := cmp.Diff(want, r.Messages); d != "" {
		t.Errorf("messages (-want +got):\n%s", d)
	}
	if r.ResponseFormat != "json_schema" || !r.Strict || compact(t, r.Schema) != compact(t, prompts.Schema()) {
		t.Errorf("asked for %s, strict %v, schema %s", r.ResponseFormat, r.Strict, r.Schema)
	}
	// Newer models refuse what the user hasn't set.
	for _, field := range []string{"temperature", "max_tokens", "max_completion_tokens", "top_p", "seed", "n", "tools"} {
		if r.Has(field) {
			t.Errorf("the request sets %s: %s", field, r.Raw)
		}
	}
}

func compact(t *testing.T, doc json.RawMessage) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, doc); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormIsFoundOutOncePerClient(t *testing.T) {
	for promise, tt := range map[string]struct {
		opts          []modeltest.Option
		first, second []string
	}{
		"all are known":     {nil, []string{"json_schema"}, []string{"json_schema"}},
		"no json_schema":    {[]modeltest.Option{modeltest.RefuseJSONSchema()}, []string{"json_schema", "json_object"}, []string{"json_object"}},
		"words in a prompt": {[]modeltest.Option{modeltest.RefuseJSONSchema(), modeltest.RefuseJSONObject()}, []string{"json_schema", "json_object", ""}, []string{""}},
	} {
		srv := serve(t, always(modeltest.Answer(good)), tt.opts...)
		c := client(srv)
		for i := range 2 {
			if _, _, err := c.Review(t.Context(), request); err != nil {
				t.Errorf("%s: review %d: %v", promise, i+1, err)
			}
		}
		if d := cmp.Diff(slices.Concat(tt.first, tt.second), forms(srv)); d != "" {
			t.Errorf("%s: forms (-want +got):\n%s", promise, d)
		}
	}
}

// A refusal that isn't about the form must not spoil the client.
func TestFormIsKeptOnlyIfItIsAnswered(t *testing.T) {
	refused := modeltest.Fail(http.StatusBadRequest, "no room today")
	srv := serve(t, modeltest.Sequence(refused, refused, refused, modeltest.Answer(good)))
	c := client(srv)
	if _, usage, err := c.Review(t.Context(), request); err == nil || usage.Calls != 3 {
		t.Errorf("refused in every form: %v, %+v", err, usage)
	}
	if _, _, err := c.Review(t.Context(), request); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"json_schema", "json_object", "", "json_schema"}, forms(srv)); d != "" {
		t.Errorf("forms (-want +got):\n%s", d)
	}
}

func TestUsageIsSummed(t *testing.T) {
	broken := modeltest.Reply{Content: "{", Usage: modeltest.Usage{Prompt: 100, Cached: 60, Completion: 7}}
	right := modeltest.Answer(good)
	right.Usage = modeltest.Usage{Prompt: 130, Cached: 90, Completion: 20}
	for promise, tt := range map[string]struct {
		script modeltest.Script
		opts   []modeltest.Option
		want   reviewer.Usage
		fails  bool
	}{
		"one call":         {modeltest.Sequence(right), nil, reviewer.Usage{Model: "m", Calls: 1, Prompt: 130, Cached: 90, Completion: 20}, false},
		"two calls":        {modeltest.Sequence(broken, right), nil, reviewer.Usage{Model: "m", Calls: 2, Prompt: 230, Cached: 150, Completion: 27}, false},
		"beside an error":  {modeltest.Sequence(broken, broken), nil, reviewer.Usage{Model: "m", Calls: 2, Prompt: 200, Cached: 120, Completion: 14}, true},
		"beside a failure": {modeltest.Sequence(broken, modeltest.Fail(403, "")), nil, reviewer.Usage{Model: "m", Calls: 2, Prompt: 100, Cached: 60, Completion: 7}, true},
		"a refused form":   {modeltest.Sequence(right), []modeltest.Option{modeltest.RefuseJSONSchema()}, reviewer.Usage{Model: "m", Calls: 2, Prompt: 130, Cached: 90, Completion: 20}, false},
	} {
		srv := serve(t, tt.script, tt.opts...)
		_, usage, err := client(srv).Review(t.Context(), request)
		if (err != nil) != tt.fails || usage != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", promise, usage, err, tt.want)
		}
	}
	// Local servers may not count.
	raw := serve(t, always(modeltest.Reply{RawBody: []byte(`{"choices":[{"message":{"role":"assistant","content":"{\"summary\":\"\",\"findings\":[],\"retained\":[]}"}}]}`)}))
	if _, usage, err := client(raw).Review(t.Context(), request); err != nil || usage != (reviewer.Usage{Model: "m", Calls: 1}) {
		t.Errorf("without usage: %+v, %v", usage, err)
	}
}

// line is an error as it is shown: one line, which holds no secret and says what
// to do.
func line(t *testing.T, err error) string {
	t.Helper()
	var e *reviewer.Error
	if !errors.As(err, &e) || e.Next == "" {
		t.Fatalf("%v doesn't say what to do", err)
	}
	s := err.Error()
	if strings.ContainsAny(s, "\n\r") || len(s) > 800 {
		t.Errorf("not one line of bearable length: %q", s)
	}
	if strings.Contains(s, key) {
		t.Errorf("the key is in %q", s)
	}
	return s
}

func TestErrorLines(t *testing.T) {
	long := strings.Repeat("words and more of them\n", 100)
	for promise, tt := range map[string]struct {
		reply modeltest.Reply
		want  string
		calls int // 15 is all that fits into 10 minutes
	}{
		"401": {modeltest.Fail(401, "Incorrect API key provided: "+key), "the server answered 401: Incorrect API key provided: (the key) — check OPENAI_API_KEY and what it may use", 1},
		"403": {modeltest.Fail(403, "not\nyours"), "the server answered 403: not yours — check OPENAI_API_KEY and what it may use", 1},
		"404": {modeltest.Reply{Status: 404, Error: "no such model", Code: "model_not_found"}, "the server answered 404: no such model — check --model and --base-url (it ends in /v1 on most servers)", 1},
		"429": {modeltest.Fail(429, "slow down"), "the server answered 429: slow down — wait for the limit to pass or raise it, then run the job again, or name a second model with --fallback-model", 15},
		"500": {modeltest.Fail(500, "oh"), "the server answered 500: oh — run the job again when the model server works, or name a second model with --fallback-model", 15},
		"408": {modeltest.Fail(408, "late"), "the server answered 408: late — run the job again when the model server works, or name a second model with --fallback-model", 15},
		"402": {modeltest.Fail(402, "pay"), "the server answered 402: pay — raise the account's limit or its credit, then run the job again", 1},
		"no credit": {
			modeltest.Reply{Status: 429, Error: "You exceeded your current quota.", Code: "insufficient_quota"},
			"the server answered 429: You exceeded your current quota. — raise the account's limit or its credit, then run the job again", 1,
		},
		"501 in every form": {modeltest.Fail(501, "no"), "the server answered 501: no — run the job again when the model server works, or name a second model with --fallback-model", 3},
		"too long": {
			modeltest.Reply{Status: 400, Error: "This model's maximum context length is 8192 tokens.", Code: "context_length_exceeded"},
			"the server answered 400: This model's maximum context length is 8192 tokens. — " + moreContext, 1,
		},
		"400 in every form": {modeltest.Fail(400, "no"), "the server answered 400: no — check --model and what the server says", 3},
		"422 in every form": {modeltest.Fail(422, "no"), "the server answered 422: no — check --model and what the server says", 3},
		"a proxy's page": {
			modeltest.Reply{Status: 502, RawBody: []byte("<html>\n<h1>Bad\nGateway</h1></html>"), ContentType: "text/html"},
			"the server answered 502: <html> <h1>Bad Gateway</h1></html> — run the job again when the model server works, or name a second model with --fallback-model", 15,
		},
		"a long page": {
			modeltest.Reply{Status: 503, RawBody: []byte(long + key), ContentType: "text/html"},
			"the server answered 503: " + string([]rune(strings.Join(strings.Fields(long), " "))[:200]) + "… — run the job again when the model server works, or name a second model with --fallback-model", 15,
		},
		"a page instead of JSON": {
			modeltest.Reply{RawBody: []byte("<html>" + key + "</html>"), ContentType: "text/html"},
			"invalid character '<' looking for beginning of value — check that --base-url names an OpenAI-compatible server", 1,
		},
		"cut behind the headers": {modeltest.Reply{Content: "{}", Cut: modeltest.CutHeaders}, "unexpected EOF — check --base-url (OPENAI_BASE_URL) and that the server can be reached from here, then run the job again", 15},
		"cut in the middle":      {modeltest.Reply{Content: "{}", Cut: modeltest.CutBody}, "unexpected EOF — check --base-url (OPENAI_BASE_URL) and that the server can be reached from here, then run the job again", 15},
	} {
		srv := serve(t, always(tt.reply))
		_, _, err := client(srv).Review(t.Context(), request)
		if err == nil {
			t.Errorf("%s: no error", promise)
			continue
		}
		tried := ""
		if tt.calls > 3 {
			tried = fmt.Sprintf(", %d times within 9 min 3 s", tt.calls)
		}
		if got, want := line(t, err), "asking m at "+srv.URL()+tried+": "+tt.want; got != want {
			t.Errorf("%s:\n%s, want\n%s", promise, got, want)
		}
		if srv.Count() != tt.calls {
			t.Errorf("%s: %d calls, want %d", promise, srv.Count(), tt.calls)
		}
	}
}

func TestServerThatIsntThere(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	c, _ := hurried(Config{BaseURL: "http://user:" + key + "@" + address + "/v1/?k=" + key, APIKey: key, Model: "m"})
	_, usage, err := c.Review(t.Context(), request)
	want := fmt.Sprintf("asking m at http://%s/v1, 15 times within 9 min 3 s: dial tcp %[1]s: connect: connection refused — check --base-url (OPENAI_BASE_URL) and that the server can be reached from here, then run the job again", address)
	if got := line(t, err); got != want || usage.Calls != 0 {
		t.Errorf("%d calls, %s, want none and\n%s", usage.Calls, got, want)
	}
	// What no wait mends.
	plain := serve(t, always(modeltest.Answer(good)))
	secure := httptest.NewTLSServer(nil)
	defer secure.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	for address, says := range map[string]string{
		"http://user:" + key + "%zz@" + address:                "asking m at the base URL: ",
		strings.Replace(plain.URL(), "http://", "https://", 1): "server gave HTTP response to HTTPS client",
		secure.URL:             "certificate signed by unknown authority",
		"gopher://" + address:  "unsupported protocol scheme",
		"http://host.invalid/": "dial tcp: ",
	} {
		c, clock := hurried(Config{BaseURL: address, APIKey: key, Model: "m", HTTP: &http.Transport{DialContext: noDNS}})
		_, _, err := c.Review(t.Context(), request)
		if got := line(t, err); !strings.Contains(got, says) || len(clock.slept) > 0 {
			t.Errorf("%d waits, %s, want none and %s", len(clock.slept), got, says)
		}
	}
}

// noDNS connects to addresses in digits only; there are no other names.
func noDNS(ctx context.Context, network, address string) (net.Conn, error) {
	if host, _, _ := net.SplitHostPort(address); net.ParseIP(host) == nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

func TestBaseURLMayEndInASlash(t *testing.T) {
	srv := serve(t, always(modeltest.Answer(good)))
	if _, _, err := New(Config{BaseURL: srv.URL() + "/", Model: "m"}).Review(t.Context(), request); err != nil {
		t.Error(err)
	}
	if c := New(Config{Model: "m"}); c.cfg.BaseURL != "https://api.openai.com/v1" || c.cfg.Patience != 10*time.Minute || c.cfg.Timeout != 5*time.Minute {
		t.Errorf("defaults are %+v", c.cfg)
	}
}

func TestCancelEndsAtOnce(t *testing.T) {
	asked := make(chan struct{})
	srv := serve(t, func(req modeltest.Request) modeltest.Reply {
		close(asked)
		<-req.Context().Done()
		return modeltest.Answer(good)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	began := time.Now()
	_, _, err := client(srv).Review(ctx, request)
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("ended after %s", took)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v isn't a cancellation", err)
	}
	if got, want := line(t, err), "asking m at "+srv.URL()+": context canceled — run the job again"; got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	if srv.Count() != 1 {
		t.Errorf("%d calls", srv.Count())
	}
}

// After an answer that can't be used the same is asked once more, with what is wrong
// about it at the end. The messages stay two: of more, servers may drop the diff.
func TestUnusableAnswers(t *testing.T) {
	for promise, tt := range map[string]struct {
		reply modeltest.Reply
		why   string
	}{
		"not JSON":       {modeltest.Reply{Content: "I found nothing."}, "the answer is not the JSON object asked for: invalid character 'I' looking for beginning of value"},
		"ends too early": {modeltest.Reply{Content: `{"summary":`}, "the answer is not the JSON object asked for: it ends in the middle"},
		"empty":          {modeltest.Reply{EmptyContent: true}, "the answer is empty"},
		"no choices":     {modeltest.Reply{NoChoices: true}, "the server sent no choices"},
		"refused":        {modeltest.Reply{Refusal: "I'd rather not."}, "the model refused to answer"},
		"filtered":       {modeltest.Reply{EmptyContent: true, FinishReason: "content_filter"}, "the server's content filter held the answer back"},
		"cut short":      {modeltest.Reply{Content: `{"summary":"a`, FinishReason: "length"}, "the answer was cut short (finish_reason length)"},
		"cut, yet whole": {modeltest.Reply{Content: modeltest.Answer(good).Content, FinishReason: "length"}, "the answer was cut short (finish_reason length)"},
		"long words of its own": {
			modeltest.Reply{Content: `{"` + strings.Repeat("x", 9000) + `":1,"` + strings.Repeat("x", 9000) + `":1}`},
			`the answer is not of the form asked for: the field "` + strings.Repeat("x", 148) + "…",
		},
	} {
		t.Run(promise, func(t *testing.T) {
			srv := serve(t, modeltest.Sequence(tt.reply, modeltest.Answer(good), tt.reply, tt.reply))
			c := client(srv)
			answer, _, err := c.Review(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(good, answer); d != "" {
				t.Errorf("the second answer (-want +got):\n%s", d)
			}
			requests := srv.Requests()
			if len(requests) != 2 {
				t.Fatalf("%d calls, want 2", len(requests))
			}
			want := slices.Clone(requests[0].Messages)
			want[1].Content += "\n\nYour last answer to this could not be used: " + tt.why + ". Answer again, with one JSON object of the form asked for and nothing else."
			if d := cmp.Diff(want, requests[1].Messages); d != "" {
				t.Errorf("the second question (-want +got):\n%s", d)
			}
			if requests[1].ResponseFormat != "json_schema" {
				t.Errorf("the second question asks for %q", requests[1].ResponseFormat)
			}
			_, _, err = c.Review(t.Context(), request)
			if err == nil {
				t.Fatal("two such answers are no error")
			}
			wantLine := "asking m at " + srv.URL() + ": two answers in a row could not be used: " + tt.why + " — run the job again, or choose a model that can answer in JSON"
			if got := line(t, err); got != wantLine {
				t.Errorf("%s, want\n%s", got, wantLine)
			}
			if n := srv.Count(); n != 4 {
				t.Errorf("%d calls in all, want 4", n)
			}
		})
	}
}

func TestFailureInTheSecondCallIsNotTheModels(t *testing.T) {
	srv := serve(t, modeltest.Sequence(modeltest.Reply{Content: "{"}, modeltest.Fail(403, "not yours")))
	_, _, err := client(srv).Review(t.Context(), request)
	if got := line(t, err); !strings.Contains(got, "the server answered 403: not yours") {
		t.Errorf("got %s", got)
	}
}

// The key goes to the server that was named, and a client that has none sends none.
func TestKeyIsSentToItsServerOnly(t *testing.T) {
	var mu sync.Mutex
	var got []string
	record := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprintf("%s %s %q", r.Method, r.URL.Path, r.Header.Get("Authorization")))
		w.WriteHeader(http.StatusTeapot)
	}
	other := httptest.NewServer(http.HandlerFunc(record)) // of the same name, on another port
	defer other.Close()
	named := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/away/"):
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
		case strings.HasPrefix(r.URL.Path, "/get/"):
			http.Redirect(w, r, "/here/chat/completions", http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/moved/"):
			http.Redirect(w, r, "/here/chat/completions", http.StatusPermanentRedirect)
		default:
			record(w, r)
		}
	}))
	defer named.Close()
	for _, tt := range []struct{ path, key, told, want string }{
		{"/here", key, `POST /here/chat/completions "Bearer ` + key + `"`, "the server answered 418"},
		{"/here", "", `POST /here/chat/completions ""`, "the server answered 418"},
		{"/moved", key, `POST /here/chat/completions "Bearer ` + key + `"`, "the server answered 418"},
		{"/away", key, "", "it redirects to " + other.URL + "/away/chat/completions, which is not followed — check --base-url"},
		{"/get", key, "", "it redirects to " + named.URL + "/here/chat/completions, which is not followed — check --base-url"},
	} {
		got = nil
		c, clock := hurried(Config{BaseURL: named.URL + tt.path, APIKey: tt.key, Model: "m"})
		_, _, err := c.Review(t.Context(), request)
		if s := line(t, err); !strings.Contains(s, tt.want) || len(clock.slept) > 0 {
			t.Errorf("%s: %d waits, %s, want none and %s", tt.path, len(clock.slept), s, tt.want)
		}
		if told := strings.Join(got, "\n"); told != tt.told {
			t.Errorf("%s: the servers were told %s, want %s", tt.path, told, tt.told)
		}
	}
}

func TestConcurrentReviews(t *testing.T) {
	srv := serve(t, func(req modeltest.Request) modeltest.Reply {
		return modeltest.Answer(prompts.Answer{Summary: req.Messages[1].Content, Findings: []prompts.Finding{}, Retained: []string{}})
	}, modeltest.RefuseJSONSchema(), modeltest.RefuseJSONObject())
	c := client(srv)
	const n = 20
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for range 3 {
				req := request
				req.Material = fmt.Sprint("diff ", i)
				answer, usage, err := c.Review(t.Context(), req)
				if err != nil || !strings.HasPrefix(answer.Summary, req.Material+"\n\n"+req.Task) || usage.Calls < 1 || usage.Calls > 3 {
					t.Errorf("%q, %+v, %v", answer.Summary, usage, err)
				}
			}
		})
	}
	wg.Wait()
	before := srv.Count()
	if _, _, err := c.Review(t.Context(), request); err != nil || srv.Count() != before+1 {
		t.Errorf("%d more calls for the form that was found, %v", srv.Count()-before, err)
	}
}
