// Package openai asks OpenAI-compatible model servers. It is the only importer
// of the go-openai client, and the place where such servers' differences live.
//
// A server that is busy, broken or out of reach is asked again, with a patience
// that bounds the whole of a review, and a second model can stand in for the
// first. Both are said in lines for people: see [Config.Progress].
package openai

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"review-bot/prompts"
	"review-bot/reviewer"
)

// Config says which model to ask, and where.
type Config struct {
	BaseURL string // ends in the version, as in https://api.openai.com/v1; empty for that one; its query goes with each request
	APIKey  string // may be empty: local servers don't ask for one
	Model   string

	// Fallback is the model on the same server that is asked, from the start, when
	// Model isn't there, fails four times in a row, asks for a longer wait than there
	// is, or has used up half of Patience; empty for none.
	Fallback string
	// Patience bounds a whole Review: requests, waits and the fallback; 0 for
	// DefaultPatience.
	Patience time.Duration
	// Timeout bounds one request, which is tried again; 0 for half of Patience. After one
	// that took longer there is one at a time, as some servers answer no other way.
	Timeout time.Duration
	// MaxOutput is the most tokens of an answer; 0: as the server has it.
	MaxOutput int
	Headers   http.Header       // sent along with each request, as gateways want them
	HTTP      http.RoundTripper // nil for the default transport

	// Progress is told before each wait and when the fallback takes over: a line of
	// our own words, none of the server's. Calls come one at a time; may be nil.
	Progress func(line string)
	Now      func() time.Time                     // nil for time.Now
	Sleep    func(context.Context, time.Duration) // returns early when the context ends; nil for a real one
}

// DefaultPatience bounds one Review.
const DefaultPatience = 10 * time.Minute

// Client asks one model, and perhaps another in its place. It is safe for
// concurrent use.
type Client struct {
	cfg    Config
	slots  slots
	api    *openai.Client
	http   *http.Client
	models []*model       // the one to ask, and the fallback
	jitter func() float64 // from 0 to 1

	telling sync.Mutex
}

// model is a name and what was found out about its server's ways.
type model struct {
	name string

	mu     sync.Mutex
	form   form
	window int  // tokens of its context; 0 if that isn't known
	mute   bool // the server doesn't say
	older  bool // the server wants max_tokens, and knows no max_completion_tokens
}

func (m *model) oldLimit() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.older
}

// olderLimit has an answer's length limited in the older way from now on; false if it is already.
func (m *model) olderLimit() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.older
	m.older = true
	return !was
}

func (m *model) known() form {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.form
}

func (m *model) learn(f form) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.form = max(m.form, f)
}

// form is how the answer's shape is asked for. Servers that refuse one get the
// next; what was found out holds for the client's life, for each model apart.
type form int

const (
	formSchema form = iota // response_format json_schema, strict
	formObject             // response_format json_object
	formPlain              // nothing but the words in the prompt
)

func (f form) String() string { return [...]string{"json_schema", "json_object", "plain text"}[f] }

// New makes a client. Nothing is sent.
func New(cfg Config) *Client {
	c := openai.DefaultConfig(cfg.APIKey)
	var query string
	if cfg.BaseURL != "" {
		c.BaseURL, query, _ = strings.Cut(cfg.BaseURL, "?")
		c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	}
	cfg.BaseURL = c.BaseURL
	if cfg.Patience == 0 {
		cfg.Patience = DefaultPatience
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = cfg.Patience / 2
	}
	if cfg.HTTP == nil {
		cfg.HTTP = http.DefaultTransport
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	httpClient := &http.Client{Transport: recorder{addition{cfg.HTTP, cfg.Headers, query}}, CheckRedirect: sameServer}
	c.HTTPClient = httpClient
	client := &Client{cfg: cfg, api: openai.NewClientWithConfig(c), http: httpClient, models: []*model{{name: cfg.Model}}, jitter: rand.Float64}
	if cfg.Fallback != "" && cfg.Fallback != cfg.Model {
		client.models = append(client.models, &model{name: cfg.Fallback})
	}
	return client
}

// Review asks for an answer to one request. An answer that can't be used is
// shown to the model with what is wrong about it, once; a second such answer is
// an error. What the network or the server did wrong is tried again, see [Config].
//
// The usage names the model that was asked last, and counts every request that
// was sent to a server and the tokens of every answer, also beside an error.
func (c *Client) Review(ctx context.Context, req prompts.Request) (prompts.Answer, reviewer.Usage, error) {
	e := &effort{began: c.cfg.Now()}
	for i, m := range c.models {
		last := i == len(c.models)-1
		if last {
			e.turn(m, e.began.Add(c.cfg.Patience), 0)
		} else { // the next needs time to answer, whatever this one does with its own
			e.turn(m, e.began.Add(c.cfg.Patience/2), mostFailures)
		}
		answer, err := c.ask(ctx, e, req)
		if err == nil {
			return answer, e.usage, nil
		}
		var gone *unavailableError
		if last || ctx.Err() != nil || !errors.As(err, &gone) {
			return prompts.Answer{}, e.usage, c.explain(ctx, e, err)
		}
		c.tell("%s %s, asking %s instead", m.name, c.why(gone), c.models[i+1].name)
	}
	panic("openai: a client without a model") // New gives it one
}

// ask asks one model from the start, with one more try for an answer that can't
// be used. The second try is a question of the same two messages: some servers keep
// only the first and the last of more, and drop the diff.
func (c *Client) ask(ctx context.Context, e *effort, req prompts.Request) (prompts.Answer, error) {
	question := req.Material + "\n\n" + req.Task
	complaint, before := "", 0
	var unusable error
	for range 2 {
		if n := c.window(ctx, e.model, req); n > 0 && req.Tokens > reviewer.FitsInto(n) {
			return prompts.Answer{}, &reviewer.TooLong{Fits: n, Err: fmt.Errorf("the server gives the model a context of %d tokens; the request has about %d, and its answer needs room", n, req.Tokens)}
		}
		text, usage, err := c.complete(ctx, e, []openai.ChatCompletionMessage{
			{Role: openai.ChatMessageRoleSystem, Content: req.System},
			{Role: openai.ChatMessageRoleUser, Content: question + complaint},
		})
		if err == nil {
			err = unread(req, usage, before)
		}
		if n := c.window(ctx, e.model, req); err == nil && n > 0 && usage.PromptTokens+usage.CompletionTokens > n {
			err = unusableError{&cutError{fmt.Sprintf("the server counted %d tokens for question and answer, and gives the model a context of %d", usage.PromptTokens+usage.CompletionTokens, n)}}
		}
		if err == nil {
			var answer prompts.Answer
			if answer, err = req.Decode(text); err == nil {
				e.usage.Window = c.window(ctx, e.model, req)
				return answer, nil
			}
			err = unusableError{err}
		}
		if !errors.As(err, new(unusableError)) {
			return prompts.Answer{}, err
		}
		unusable, before = err, usage.PromptTokens
		complaint = fmt.Sprintf("\n\nYour last answer to this could not be used: %s. Answer again, with one JSON object of the form asked for and nothing else.", c.oneLine(err.Error()))
	}
	return prompts.Answer{}, unusable
}

// leastRead is the part of our own count of a request's tokens that a server's count of
// the same can't be below for another vocabulary's sake: 0.8 to 1.25 of ours were
// measured. Of short requests it says nothing.
const (
	leastRead    = 0.7
	shortRequest = 1000
)

// unread reports that a server has dropped a part of the request, as far as its count of
// tokens shows it; before is that of an earlier, shorter request. What a server doesn't
// count is no evidence, and neither is a good count.
func unread(req prompts.Request, usage openai.Usage, before int) error {
	read := usage.PromptTokens
	if d := usage.PromptTokensDetails; d != nil {
		read += d.CachedTokens // some gateways leave these out
	}
	switch {
	case read <= 0 || req.Tokens <= shortRequest:
		return nil
	case float64(read) < leastRead*float64(req.Tokens):
		return unusableError{&cutError{fmt.Sprintf("the server counted %d tokens of a request of about %d, so it has dropped a part of it", read, req.Tokens)}}
	case read < before:
		return unusableError{&cutError{fmt.Sprintf("the server counted %d tokens, and %d of a shorter request, so it has dropped a part", read, before)}}
	}
	return nil
}

// cutError says that the model wasn't given the whole request.
type cutError struct{ text string }

func (e *cutError) Error() string { return e.text }

// unusableError marks an answer that arrived but can't be used.
type unusableError struct{ error }

func (e unusableError) Unwrap() error { return e.error }

// complete gets one answer, in the first of the forms of asking that the server
// knows. A form is kept once it is answered: a refusal may have had another cause.
func (c *Client) complete(ctx context.Context, e *effort, messages []openai.ChatCompletionMessage) (string, openai.Usage, error) {
	var asked form
	for failures := 0; ; {
		asked = max(asked, e.model.known()) // a review beside this one may have found out
		resp, after, err := c.send(ctx, e, messages, asked)
		switch {
		case err == nil:
			e.model.learn(asked)
			e.usage.Prompt += resp.Usage.PromptTokens
			e.usage.Completion += resp.Usage.CompletionTokens
			if d := resp.Usage.PromptTokensDetails; d != nil {
				e.usage.Cached += d.CachedTokens
			}
			text, err := content(resp)
			return text, resp.Usage, err
		case ctx.Err() != nil:
			return "", openai.Usage{}, ctx.Err()
		case c.cfg.MaxOutput > 0 && refusesLimit(err) && e.model.olderLimit():
		case asked < formPlain && refusesForm(err):
			asked++
		case unknownModel(err), outOfQuota(err):
			return "", openai.Usage{}, &unavailableError{err: err}
		case !passing(err):
			return "", openai.Usage{}, err
		default:
			failures++
			if err := c.wait(ctx, e, failures, err, after); err != nil {
				return "", openai.Usage{}, err
			}
		}
	}
}

// send makes one request. With an error comes what the server's Retry-After says.
func (c *Client) send(ctx context.Context, e *effort, messages []openai.ChatCompletionMessage, asked form) (openai.ChatCompletionResponse, retryAfter, error) {
	// Its time begins when it is sent, however long others take before.
	queued := c.cfg.Now()
	if err := c.slots.take(ctx); err != nil {
		return openai.ChatCompletionResponse{}, "", err
	}
	defer c.slots.leave()
	e.until = e.until.Add(c.cfg.Now().Sub(queued))
	limit := min(c.cfg.Timeout, e.until.Sub(c.cfg.Now()))
	var x exchange
	limited, cancel := context.WithTimeout(context.WithValue(ctx, exchangeKey{}, &x), limit)
	defer cancel()
	e.tries++
	question := openai.ChatCompletionRequest{Model: e.model.name, Messages: messages, ResponseFormat: asked.format()}
	if e.model.oldLimit() {
		question.MaxTokens = c.cfg.MaxOutput //nolint:staticcheck // the only name that older servers know
	} else {
		question.MaxCompletionTokens = c.cfg.MaxOutput
	}
	resp, err := c.api.CreateChatCompletion(limited, question)
	if x.reached.Load() {
		e.usage.Calls++
	}
	if x.failure != nil {
		err = x.failure
	}
	if err != nil && status(err) == 0 && limited.Err() != nil && ctx.Err() == nil {
		err = &slowError{limit}
		c.slots.oneByOne()
	}
	return resp, x.after, err
}

func content(resp openai.ChatCompletionResponse) (string, error) {
	if len(resp.Choices) == 0 {
		return "", unusableError{errors.New("the server sent no choices")}
	}
	choice := resp.Choices[0]
	switch {
	case choice.FinishReason == openai.FinishReasonLength:
		return choice.Message.Content, unusableError{errors.New("the answer was cut short (finish_reason length)")}
	case choice.FinishReason == openai.FinishReasonContentFilter:
		return "", unusableError{errors.New("the server's content filter held the answer back")}
	case choice.Message.Content == "" && choice.Message.Refusal != "":
		return "", unusableError{errors.New("the model refused to answer")}
	case choice.Message.Content == "" && strings.HasPrefix(strings.TrimSpace(choice.Message.ReasoningContent), "{"):
		return choice.Message.ReasoningContent, nil // vLLM, where a parser takes it all for thoughts
	}
	return choice.Message.Content, nil
}

func (f form) format() *openai.ChatCompletionResponseFormat {
	switch f {
	case formSchema:
		return &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name: "review", Strict: true, Schema: prompts.Schema(),
			},
		}
	case formObject:
		return &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	case formPlain:
	}
	return nil // the form stands in the prompt in words
}
