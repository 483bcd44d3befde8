package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/openai/modeltest"
)

// clock is a time that passes only when someone sleeps.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
	told  []string
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) {
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept = append(c.slept, d)
	c.now = c.now.Add(d)
}

// pass is time that goes by without anyone waiting.
func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

var today = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// hurried is a client whose waits take no time, each as long as it can be.
func hurried(cfg Config) (*Client, *clock) {
	k := &clock{now: today}
	cfg.Now, cfg.Sleep = k.Now, k.Sleep
	cfg.Progress = func(line string) { k.told = append(k.told, line) }
	c := New(cfg)
	c.jitter = func() float64 { return 1 }
	return c, k
}

func seconds(list ...float64) []time.Duration {
	var waits []time.Duration
	for _, s := range list {
		waits = append(waits, time.Duration(s*float64(time.Second)))
	}
	return waits
}

func header(r modeltest.Reply, name, value string) modeltest.Reply {
	r.Headers = map[string]string{name: value}
	return r
}

// again reports whether a request is for another answer, as the last one was of no use.
func again(req modeltest.Request) bool { return req.Contains("Your last answer") }

// answered is an answer with these counts of tokens.
func answered(prompt, completion int) modeltest.Reply {
	r := modeltest.Answer(good)
	r.Usage = modeltest.Usage{Prompt: prompt, Completion: completion}
	return r
}

func TestWhatIsTriedAgainAndWhen(t *testing.T) {
	busy := func(after string) modeltest.Reply {
		return header(modeltest.Fail(429, "slow down"), "Retry-After", after)
	}
	for promise, tt := range map[string]struct {
		replies []modeltest.Reply
		waits   []time.Duration
		told    []string
	}{
		"429":                  {[]modeltest.Reply{modeltest.Fail(429, "slow down")}, seconds(1), []string{"m answered 429, again in 1 s"}},
		"in 2 seconds":         {[]modeltest.Reply{busy("2")}, seconds(2), []string{"m answered 429, again in 2 s"}},
		"in 4 minutes":         {[]modeltest.Reply{busy("245")}, seconds(245), []string{"m answered 429, again in 4 min 5 s"}},
		"at a date":            {[]modeltest.Reply{busy(today.Add(90 * time.Second).Format(http.TimeFormat))}, seconds(90), []string{"m answered 429, again in 1 min 30 s"}},
		"at a date gone by":    {[]modeltest.Reply{busy(today.Add(-time.Hour).Format(http.TimeFormat))}, seconds(1), []string{"m answered 429, again in 1 s"}},
		"at no date":           {[]modeltest.Reply{busy("soon")}, seconds(1), []string{"m answered 429, again in 1 s"}},
		"503 says when":        {[]modeltest.Reply{header(modeltest.Fail(503, ""), "Retry-After", "7")}, seconds(7), []string{"m answered 503, again in 7 s"}},
		"the longer of both":   {[]modeltest.Reply{busy("2"), busy("2"), busy("2")}, seconds(2, 2, 4), nil},
		"ever longer":          {slices.Repeat([]modeltest.Reply{modeltest.Fail(500, "")}, 9), seconds(1, 2, 4, 8, 16, 32, 60, 60, 60), nil},
		"408":                  {[]modeltest.Reply{modeltest.Fail(408, "")}, seconds(1), []string{"m answered 408, again in 1 s"}},
		"529":                  {[]modeltest.Reply{modeltest.Fail(529, "")}, seconds(1), []string{"m answered 529, again in 1 s"}},
		"a proxy's page":       {[]modeltest.Reply{{Status: 502, RawBody: []byte("<h1>Bad Gateway</h1>"), ContentType: "text/html"}}, seconds(1), []string{"m answered 502, again in 1 s"}},
		"cut after headers":    {[]modeltest.Reply{{Content: "{}", Cut: modeltest.CutHeaders}}, seconds(1), []string{"m gave no answer (unexpected EOF), again in 1 s"}},
		"cut in the middle":    {[]modeltest.Reply{{Content: "{}", Cut: modeltest.CutBody}}, seconds(1), []string{"m gave no answer (unexpected EOF), again in 1 s"}},
		"an error that is cut": {[]modeltest.Reply{{Status: 500, Cut: modeltest.CutBody}}, seconds(1), nil},
		"a reset":              {[]modeltest.Reply{{Content: "{}", Cut: modeltest.CutReset}}, seconds(1), nil},
		"a new count after an answer": {
			[]modeltest.Reply{modeltest.Fail(500, ""), modeltest.Fail(500, ""), {Content: "{"}, modeltest.Fail(500, "")}, seconds(1, 2, 1), nil,
		},
	} {
		srv := serve(t, modeltest.Sequence(append(slices.Clone(tt.replies), modeltest.Answer(good))...))
		c, k := hurried(Config{BaseURL: srv.URL(), APIKey: key, Model: "m"})
		answer, usage, err := c.Review(t.Context(), request)
		if err != nil || answer.Summary != good.Summary {
			t.Errorf("%s: %+v, %v", promise, answer, err)
		}
		if d := cmp.Diff(tt.waits, k.slept); d != "" {
			t.Errorf("%s: waits (-want +got):\n%s", promise, d)
		}
		if d := cmp.Diff(tt.told, k.told); tt.told != nil && d != "" {
			t.Errorf("%s: told (-want +got):\n%s", promise, d)
		}
		if len(k.told) != len(k.slept) {
			t.Errorf("%s: %d waits, told %q", promise, len(k.slept), k.told)
		}
		if usage.Calls != len(tt.replies)+1 {
			t.Errorf("%s: %d calls counted, want %d", promise, usage.Calls, len(tt.replies)+1)
		}
	}
}

// roundTrip is a transport that knows nothing of traces.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestConnectionLostInTheMiddle(t *testing.T) {
	lost := &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	whole := `{"choices":[{"message":{"content":"{\"summary\":\"\",\"findings\":[],\"retained\":[]}"}}]}`
	answers := []io.Reader{io.MultiReader(strings.NewReader(whole[:20]), iotest.ErrReader(lost)), strings.NewReader(whole)}
	c, k := hurried(Config{Model: "m", HTTP: roundTrip(func(*http.Request) (*http.Response, error) {
		body := answers[0]
		answers = answers[1:]
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body)}, nil
	})})
	_, usage, err := c.Review(t.Context(), request)
	if err != nil || usage.Calls != 2 {
		t.Errorf("%+v, %v", usage, err)
	}
	if want := []string{"m gave no answer (read tcp: connection reset by peer), again in 1 s"}; !slices.Equal(k.told, want) {
		t.Errorf("told %q, want %q", k.told, want)
	}
}

// The other statuses are in TestErrorLines.
func TestOther4xxAreNotTriedAgain(t *testing.T) {
	for _, status := range []int{400, 401, 402, 403, 404, 409, 413, 422} {
		srv := serve(t, always(modeltest.Fail(status, "no")))
		c, k := hurried(Config{BaseURL: srv.URL(), APIKey: key, Model: "m"})
		if _, _, err := c.Review(t.Context(), request); err == nil || len(k.slept) > 0 || len(k.told) > 0 {
			t.Errorf("%d: waits %v, told %q, %v", status, k.slept, k.told, err)
		}
	}
}

func TestJitter(t *testing.T) {
	c := New(Config{})
	seen := map[time.Duration]bool{}
	for failures, most := range map[int]time.Duration{1: time.Second, 3: 4 * time.Second, 6: 32 * time.Second, 7: time.Minute, 1000: time.Minute} {
		for range 100 {
			wait := c.backoff(failures)
			if wait < most/2 || wait > most {
				t.Errorf("after %d failures %s, want %s to %s", failures, wait, most/2, most)
			}
			seen[wait] = true
		}
	}
	if len(seen) < 100 {
		t.Errorf("%d different waits out of 500", len(seen))
	}
}

func TestPatienceEnds(t *testing.T) {
	const hint = ", or name a second model with --fallback-model"
	down := func(*clock) modeltest.Script { return always(modeltest.Fail(500, "oh")) }
	for promise, tt := range map[string]struct {
		patience time.Duration
		script   func(*clock) modeltest.Script
		calls    int
		want     string
	}{
		"nothing in 10 minutes": {0, down, 15, ", 15 times within 9 min 3 s: the server answered 500: oh — run the job again when the model server works" + hint},
		"nothing in an hour":    {time.Hour, down, 65, ", 65 times within 59 min 3 s: the server answered 500: oh — run the job again when the model server works" + hint},
		"nothing in a second":   {time.Second, down, 1, ": the server answered 500: oh — run the job again when the model server works" + hint},
		"requests count": {0, func(k *clock) modeltest.Script {
			return func(modeltest.Request) modeltest.Reply {
				k.pass(3 * time.Minute)
				return modeltest.Fail(500, "oh")
			}
		}, 4, ", 4 times within 12 min 7 s: the server answered 500: oh — run the job again when the model server works" + hint},
		"it asks for too much": {
			0, func(*clock) modeltest.Script {
				return always(header(modeltest.Fail(429, "slow down"), "Retry-After", "3600"))
			}, 1,
			": the server answered 429: slow down; it asks to wait 1 h, and a review may take 10 min in all — wait for the limit to pass or raise it, then run the job again" + hint,
		},
		"it asks for ages": {
			0, func(*clock) modeltest.Script {
				return always(header(modeltest.Fail(429, "slow down"), "Retry-After", "99999999999999999999"))
			}, 1,
			": the server answered 429: slow down; it asks to wait more than a day, and a review may take 10 min in all — wait for the limit to pass or raise it, then run the job again" + hint,
		},
		"it asks for more than is left": {
			0, func(*clock) modeltest.Script {
				return always(header(modeltest.Fail(429, "slow down"), "Retry-After", "400"))
			}, 2,
			", 2 times within 6 min 40 s: the server answered 429: slow down; it asks to wait 6 min 40 s, and a review may take 10 min in all — wait for the limit to pass or raise it, then run the job again" + hint,
		},
	} {
		k := new(clock)
		srv := serve(t, func(req modeltest.Request) modeltest.Reply { return tt.script(k)(req) })
		c, made := hurried(Config{BaseURL: srv.URL(), APIKey: key, Model: "m", Patience: tt.patience})
		k.now = made.now
		c.cfg.Now, c.cfg.Sleep = k.Now, k.Sleep
		_, usage, err := c.Review(t.Context(), request)
		if got, want := line(t, err), "asking m at "+srv.URL()+tt.want; got != want {
			t.Errorf("%s:\n%s, want\n%s", promise, got, want)
		}
		if want := (reviewer.Usage{Model: "m", Calls: tt.calls}); usage != want {
			t.Errorf("%s: usage %+v, want %+v", promise, usage, want)
		}
	}
}

func TestFallback(t *testing.T) {
	for promise, tt := range map[string]struct {
		first, second []modeltest.Reply // the last is repeated
		opts          []modeltest.Option
		asked         string // the models, in order
		waits         []time.Duration
		told          string // the last line
		usage         reviewer.Usage
		fails         string // the end of the error
	}{
		"not needed": {
			first: []modeltest.Reply{modeltest.Fail(500, ""), modeltest.Fail(500, ""), modeltest.Fail(500, ""), answered(10, 5)},
			asked: "m m m m", waits: seconds(1, 2, 4), told: "m answered 500, again in 4 s",
			usage: reviewer.Usage{Model: "m", Calls: 4, Prompt: 10, Completion: 5},
		},
		"four 500s": {
			first: []modeltest.Reply{modeltest.Fail(500, "")}, second: []modeltest.Reply{answered(20, 6)},
			asked: "m m m m f", waits: seconds(1, 2, 4), told: "m answered 500, 4 failures in a row, asking f instead",
			usage: reviewer.Usage{Model: "f", Calls: 5, Prompt: 20, Completion: 6},
		},
		"four of different kinds": {
			first:  []modeltest.Reply{modeltest.Fail(429, ""), {Content: "{}", Cut: modeltest.CutReset}, {Content: "{}", Cut: modeltest.CutBody}, modeltest.Fail(503, "")},
			second: []modeltest.Reply{answered(20, 6)},
			asked:  "m m m m f", waits: seconds(1, 2, 4), told: "m answered 503, 4 failures in a row, asking f instead",
			usage: reviewer.Usage{Model: "f", Calls: 5, Prompt: 20, Completion: 6},
		},
		"not in a row": {
			first: []modeltest.Reply{
				modeltest.Fail(500, ""), modeltest.Fail(500, ""), modeltest.Fail(500, ""), {Content: "{", Usage: modeltest.Usage{Prompt: 10, Completion: 1}},
				modeltest.Fail(500, ""), modeltest.Fail(500, ""), modeltest.Fail(500, ""), answered(12, 5),
			},
			asked: "m m m m m m m m", waits: seconds(1, 2, 4, 1, 2, 4), told: "m answered 500, again in 4 s",
			usage: reviewer.Usage{Model: "m", Calls: 8, Prompt: 22, Completion: 6},
		},
		"after an answer that can't be used": {
			first:  []modeltest.Reply{{Content: "{", Usage: modeltest.Usage{Prompt: 10, Completion: 1}}, modeltest.Fail(500, "")},
			second: []modeltest.Reply{{Content: "{", Usage: modeltest.Usage{Prompt: 20, Cached: 8, Completion: 2}}, answered(30, 6)},
			asked:  "m m m m m f f", waits: seconds(1, 2, 4), told: "m answered 500, 4 failures in a row, asking f instead",
			usage: reviewer.Usage{Model: "f", Calls: 7, Prompt: 60, Cached: 8, Completion: 9},
		},
		"it asks for more than is left": {
			first: []modeltest.Reply{header(modeltest.Fail(429, ""), "Retry-After", "900")}, second: []modeltest.Reply{answered(20, 6)},
			asked: "m f", told: "m answered 429 and asks to wait 15 min, asking f instead",
			usage: reviewer.Usage{Model: "f", Calls: 2, Prompt: 20, Completion: 6},
		},
		"it asks for what the fallback needs": {
			first: []modeltest.Reply{header(modeltest.Fail(429, ""), "Retry-After", "290")}, second: []modeltest.Reply{answered(20, 6)},
			asked: "m m f", waits: seconds(290), told: "m answered 429 and asks to wait 4 min 50 s, asking f instead",
			usage: reviewer.Usage{Model: "f", Calls: 3, Prompt: 20, Completion: 6},
		},
		"no quota": {
			first: []modeltest.Reply{{Status: 429, Code: "insufficient_quota"}}, second: []modeltest.Reply{answered(20, 6)},
			asked: "m f", told: "m answered 429 (the account's quota is used up), asking f instead",
			usage: reviewer.Usage{Model: "f", Calls: 2, Prompt: 20, Completion: 6},
		},
		"unknown model": {
			second: []modeltest.Reply{answered(20, 6)}, opts: []modeltest.Option{modeltest.Models("f")},
			asked: "m f", told: "m answered 404, asking f instead",
			usage: reviewer.Usage{Model: "f", Calls: 2, Prompt: 20, Completion: 6},
		},
		"unknown model, said with a 403": {
			first: []modeltest.Reply{{Status: 403, Code: "model_not_found"}}, second: []modeltest.Reply{answered(20, 6)},
			asked: "m f", told: "m answered 403, asking f instead",
			usage: reviewer.Usage{Model: "f", Calls: 2, Prompt: 20, Completion: 6},
		},
		"unknown, both": {
			opts:  []modeltest.Option{modeltest.Models("x")},
			asked: "m f", told: "m answered 404, asking f instead",
			usage: reviewer.Usage{Model: "f", Calls: 2},
			fails: ` — check --model, --fallback-model and --base-url (it ends in /v1 on most servers)`,
		},
		"a bad key": {
			first: []modeltest.Reply{modeltest.Fail(401, "no")},
			asked: "m", usage: reviewer.Usage{Model: "m", Calls: 1},
			fails: ": the server answered 401: no — check OPENAI_API_KEY and what it may use",
		},
		"not allowed": {
			first: []modeltest.Reply{modeltest.Fail(403, "no")},
			asked: "m", usage: reviewer.Usage{Model: "m", Calls: 1},
			fails: ": the server answered 403: no — check OPENAI_API_KEY and what it may use",
		},
		"two answers that can't be used": {
			first: []modeltest.Reply{{Content: "{", Usage: modeltest.Usage{Prompt: 10, Completion: 1}}},
			asked: "m m", usage: reviewer.Usage{Model: "m", Calls: 2, Prompt: 20, Completion: 2},
			fails: " — run the job again, or choose a model that can answer in JSON",
		},
		"too long": {
			first: []modeltest.Reply{{Status: 400, Error: "long", Code: "context_length_exceeded"}},
			asked: "m", usage: reviewer.Usage{Model: "m", Calls: 1},
			fails: ": the server answered 400: long — " + moreContext,
		},
		// The fallback has no other: it is asked until the patience ends.
		"both down": {
			first: []modeltest.Reply{modeltest.Fail(500, "")}, second: []modeltest.Reply{modeltest.Fail(502, "oh")},
			asked: "m m m m" + strings.Repeat(" f", 15), waits: seconds(1, 2, 4, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60, 60), told: "f answered 502, again in 1 min",
			usage: reviewer.Usage{Model: "f", Calls: 19},
			fails: ", 19 times within 9 min 10 s: the server answered 502: oh — run the job again when the model server works",
		},
	} {
		t.Run(promise, func(t *testing.T) {
			var asked []string
			next := map[string]*[]modeltest.Reply{"m": &tt.first, "f": &tt.second}
			srv := serve(t, func(req modeltest.Request) modeltest.Reply {
				list := next[req.Model]
				reply := (*list)[0]
				if len(*list) > 1 {
					*list = (*list)[1:]
				}
				return reply
			}, tt.opts...)
			c, k := hurried(Config{BaseURL: srv.URL(), APIKey: key, Model: "m", Fallback: "f"})
			_, usage, err := c.Review(t.Context(), request)
			switch {
			case tt.fails == "" && err != nil:
				t.Error(err)
			case tt.fails != "" && err == nil:
				t.Error("no error")
			case tt.fails != "":
				names := "m"
				if strings.Contains(tt.asked, "f") {
					names = "m and then f"
				}
				got := line(t, err)
				if !strings.HasPrefix(got, "asking "+names+" at "+srv.URL()) || !strings.HasSuffix(got, tt.fails) {
					t.Errorf("%s, want %s at …%s", got, names, tt.fails)
				}
			}
			for _, r := range srv.Requests() {
				asked = append(asked, r.Model)
			}
			if got := strings.Join(asked, " "); got != tt.asked {
				t.Errorf("asked %s, want %s", got, tt.asked)
			}
			if d := cmp.Diff(tt.waits, k.slept); d != "" {
				t.Errorf("waits (-want +got):\n%s", d)
			}
			if last := append([]string{""}, k.told...)[len(k.told)]; last != tt.told {
				t.Errorf("told %q, want %q", last, tt.told)
			}
			if usage != tt.usage {
				t.Errorf("usage %+v, want %+v", usage, tt.usage)
			}
		})
	}
}

// The fallback is asked from the start, and in the forms that it knows.
func TestFallbackStartsAfresh(t *testing.T) {
	srv := serve(t, func(req modeltest.Request) modeltest.Reply {
		switch {
		case req.Model == "m" && !again(req):
			return modeltest.Reply{Content: "{"}
		case req.Model == "m":
			return modeltest.Fail(500, "")
		case req.ResponseFormat == "json_schema":
			return modeltest.Fail(400, "response_format isn't known")
		}
		return modeltest.Answer(good)
	})
	c, _ := hurried(Config{BaseURL: srv.URL(), Model: "m", Fallback: "f"})
	for range 2 {
		if _, _, err := c.Review(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range srv.Requests() {
		got = append(got, fmt.Sprintf("%s %s %v", r.Model, r.ResponseFormat, again(r)))
	}
	failing := []string{"m json_schema false", "m json_schema true", "m json_schema true", "m json_schema true", "m json_schema true"}
	want := slices.Concat(failing, []string{"f json_schema false", "f json_object false"}, failing, []string{"f json_object false"})
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("asked (-want +got):\n%s", d)
	}
}

// A form that was refused isn't asked for again because a server failed in between.
func TestRetryKeepsTheForm(t *testing.T) {
	srv := serve(t, modeltest.Sequence(modeltest.Fail(500, ""), modeltest.Answer(good)), modeltest.RefuseJSONSchema())
	if _, usage, err := client(srv).Review(t.Context(), request); err != nil || usage.Calls != 3 {
		t.Errorf("%+v, %v", usage, err)
	}
	if d := cmp.Diff([]string{"json_schema", "json_object", "json_object"}, forms(srv)); d != "" {
		t.Errorf("forms (-want +got):\n%s", d)
	}
}

func TestSlowRequestsAreCutAndTriedAgain(t *testing.T) {
	t.Parallel()
	const limit = 500 * time.Millisecond // a busy machine takes a tenth of it for the good answer
	for promise, slow := range map[string]modeltest.Reply{
		"no answer":             {Content: "{", Delay: time.Minute},
		"drop by drop":          {Content: "{", Drip: 200 * time.Millisecond},
		"an error drop by drop": {Status: 500, Drip: 200 * time.Millisecond},
	} {
		t.Run(promise, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, modeltest.Sequence(slow, modeltest.Answer(good), slow, slow))
			c, k := hurried(Config{BaseURL: srv.URL(), APIKey: key, Model: "m", Timeout: limit})
			began := time.Now()
			_, usage, err := c.Review(t.Context(), request)
			if err != nil || usage.Calls != 2 || len(k.slept) != 1 {
				t.Errorf("%+v, waits %v, %v", usage, k.slept, err)
			}
			if took := time.Since(began); took < limit || took > 10*time.Second {
				t.Errorf("took %s", took)
			}
			if want := []string{"m gave no answer within 1 s, again in 1 s"}; !slices.Equal(k.told, want) {
				t.Errorf("told %q, want %q", k.told, want)
			}
			c.cfg.Patience = 4 * time.Second // room for waits of 1 and 2 seconds
			_, _, err = c.Review(t.Context(), request)
			want := "asking m at " + srv.URL() + ", 2 times within 1 s: no answer within 1 s — run the job again with more --patience, or choose a faster model, or name a second model with --fallback-model"
			if got := line(t, err); got != want {
				t.Errorf("%s, want\n%s", got, want)
			}
		})
	}
}

// A request isn't given more time than the review has left.
func TestPatienceCutsTheLastRequest(t *testing.T) {
	srv := serve(t, always(modeltest.Reply{Content: "{", Delay: time.Minute}))
	k := &clock{now: today}
	c := New(Config{BaseURL: srv.URL(), Model: "m", Patience: 100 * time.Millisecond, Timeout: time.Minute, Now: k.Now, Sleep: k.Sleep})
	began := time.Now()
	_, _, err := c.Review(t.Context(), request)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
	if got := line(t, err); !strings.Contains(got, "no answer within 1 s — ") || srv.Count() != 1 {
		t.Errorf("%d calls, %s", srv.Count(), got)
	}
}

// However slow the model is, its stand-in has half of the time.
func TestSlowModelLeavesTimeForTheFallback(t *testing.T) {
	srv := serve(t, modeltest.ByMatch(
		modeltest.Match{Model: "m", Reply: modeltest.Reply{Content: "{", Delay: time.Minute}},
		modeltest.Match{Reply: modeltest.Answer(good)},
	))
	c, k := hurried(Config{BaseURL: srv.URL(), Model: "m", Fallback: "f", Patience: 400 * time.Millisecond, Timeout: time.Minute})
	began := time.Now()
	_, usage, err := c.Review(t.Context(), request)
	if took := time.Since(began); err != nil || usage.Model != "f" || usage.Calls != 2 || took > 10*time.Second {
		t.Errorf("%+v, %v after %s", usage, err, took)
	}
	if want := []string{"m gave no answer within 1 s, asking f instead"}; !slices.Equal(k.told, want) {
		t.Errorf("told %q, want %q", k.told, want)
	}
}

func TestFallbackThatIsTheModelIsNone(t *testing.T) {
	srv := serve(t, always(modeltest.Fail(404, "no such model")))
	c, k := hurried(Config{BaseURL: srv.URL(), Model: "m", Fallback: "m"})
	if _, _, err := c.Review(t.Context(), request); err == nil || srv.Count() != 1 || len(k.told) > 0 {
		t.Errorf("%d calls, told %q, %v", srv.Count(), k.told, err)
	}
}

func TestRealClock(t *testing.T) {
	srv := serve(t, modeltest.Sequence(modeltest.Fail(500, ""), modeltest.Answer(good)))
	c := New(Config{BaseURL: srv.URL(), Model: "m"}) // no Progress either
	c.jitter = func() float64 { return -0.99 }       // 5 ms
	began := time.Now()
	if _, _, err := c.Review(t.Context(), request); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < 5*time.Millisecond || took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestCancelWhileWaiting(t *testing.T) {
	for promise, fallback := range map[string]string{"one model": "", "with a fallback": "f"} {
		srv := serve(t, always(header(modeltest.Fail(429, ""), "Retry-After", "200")))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := New(Config{BaseURL: srv.URL(), APIKey: key, Model: "m", Fallback: fallback, Progress: func(string) {
			time.AfterFunc(10*time.Millisecond, cancel)
		}})
		began := time.Now()
		_, usage, err := c.Review(ctx, request)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: ended after %s", promise, took)
		}
		if !errors.Is(err, context.Canceled) || srv.Count() != 1 || usage.Calls != 1 {
			t.Errorf("%s: %d calls, %+v, %v", promise, srv.Count(), usage, err)
		}
		if got, want := line(t, err), "asking m at "+srv.URL()+": context canceled — run the job again"; got != want {
			t.Errorf("%s: %s, want\n%s", promise, got, want)
		}
	}
}

// The run's own end is no failure of the model's, and the fallback isn't asked.
func TestDeadlineOfTheCaller(t *testing.T) {
	srv := serve(t, always(modeltest.Reply{Content: "{", Delay: time.Minute}))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c, k := hurried(Config{BaseURL: srv.URL(), Model: "m", Fallback: "f"})
	_, _, err := c.Review(ctx, request)
	if got, want := line(t, err), "asking m at "+srv.URL()+": context deadline exceeded — run the job again"; got != want || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s, want\n%s", got, want)
	}
	if srv.Count() != 1 || len(k.told) > 0 {
		t.Errorf("%d calls, told %q", srv.Count(), k.told)
	}
}

// The lines told are our own words: a server's could be commands to the runner.
func TestProgressHasNoWordsOfTheServers(t *testing.T) {
	const words = "\n::add-mask::oh"
	for _, reply := range []modeltest.Reply{
		modeltest.Fail(500, words), {Status: 502, RawBody: []byte(words)}, header(modeltest.Fail(429, words), "Retry-After", words), {Status: 404, Error: words},
	} {
		srv := serve(t, always(reply))
		c, k := hurried(Config{BaseURL: srv.URL(), APIKey: key, Model: "m", Fallback: "f"})
		if _, _, err := c.Review(t.Context(), request); err == nil {
			t.Error("no error")
		}
		if all := strings.Join(k.told, ""); all == "" || strings.Contains(all, "::") || strings.Contains(all, "\n") {
			t.Errorf("told %q", all)
		}
	}
}

// Parts of a large diff are asked about at once.
func TestConcurrentReviewsWithFailures(t *testing.T) {
	const n = 16
	var asked, wrong atomic.Int64
	srv := serve(t, func(req modeltest.Request) modeltest.Reply {
		switch {
		case req.Model == "m" && asked.Add(1)%3 > 0:
			return header(modeltest.Fail(429, ""), "Retry-After", "1")
		case !again(req) && wrong.Add(1)%5 == 0:
			return modeltest.Reply{Content: "{"}
		}
		return modeltest.Answer(prompts.Answer{Summary: req.Messages[1].Content, Findings: []prompts.Finding{}, Retained: []string{}})
	}, modeltest.RefuseJSONSchema())
	var telling atomic.Int32
	var told int // by Progress alone, which is never called twice at once
	c, _ := hurried(Config{BaseURL: srv.URL(), APIKey: key, Model: "m", Fallback: "f", Patience: 10 * time.Hour})
	c.cfg.Progress = func(string) {
		if telling.Add(1) != 1 {
			t.Error("two lines at once")
		}
		time.Sleep(time.Millisecond) // for another to come
		told++
		telling.Add(-1)
	}
	var calls atomic.Int64
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			req := request
			req.Material = fmt.Sprint("diff ", i)
			answer, usage, err := c.Review(t.Context(), req)
			if err != nil || !strings.HasPrefix(answer.Summary, req.Material+"\n\n"+req.Task) {
				t.Errorf("%q, %+v, %v", answer.Summary, usage, err)
			}
			calls.Add(int64(usage.Calls))
		})
	}
	wg.Wait()
	if told == 0 || int(calls.Load()) != srv.Count() {
		t.Errorf("%d lines told; %d calls counted, %d made", told, calls.Load(), srv.Count())
	}
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[retryAfter]time.Duration{
		"":                               0,
		"0":                              0,
		" 3 ":                            3 * time.Second,
		"-3":                             0,
		"1.5":                            1500 * time.Millisecond,
		"0.01":                           10 * time.Millisecond,
		"NaN":                            0,
		"1e99":                           math.MaxInt64,
		"9223372036":                     9223372036 * time.Second,
		"9223372037":                     math.MaxInt64,
		"99999999999999999999":           math.MaxInt64,
		"Sun, 01 Mar 2026 12:00:05 GMT":  5 * time.Second,
		"Sunday, 01-Mar-26 12:00:05 GMT": 5 * time.Second,
		"Sun Mar  1 12:00:05 2026":       5 * time.Second,
		"Sun, 01 Mar 2026 11:59:59 GMT":  0,
		"Fri, 31 Dec 9999 23:59:59 GMT":  math.MaxInt64,
	} {
		if got := value.from(today); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Minute: "1 s", 0: "1 s", time.Millisecond: "1 s", time.Second: "1 s", 1001 * time.Millisecond: "2 s", time.Minute: "1 min", 61 * time.Second: "1 min 1 s",
		time.Hour + time.Second: "1 h 1 s", 24 * time.Hour: "24 h", 25 * time.Hour: "more than a day", math.MaxInt64: "more than a day",
	} {
		if got := span(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
