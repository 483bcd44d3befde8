// Package openai asks OpenAI-compatible model servers. It is the only importer
// of the go-openai client, and the place where such servers' differences live.
package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"review-bot/prompts"
	"review-bot/reviewer"
)

// Config says which model to ask, and where.
type Config struct {
	BaseURL string // ends in the version, as in https://api.openai.com/v1; empty for that one
	APIKey  string // may be empty: local servers don't ask for one
	Model   string
	Timeout time.Duration     // of a whole Review, retries included; 0 for DefaultTimeout
	HTTP    http.RoundTripper // nil for the default transport
}

// DefaultTimeout bounds one Review.
const DefaultTimeout = 10 * time.Minute

// Client asks one model. It is safe for concurrent use.
type Client struct {
	cfg Config
	api *openai.Client

	mu   sync.Mutex
	form form
}

// form is how the answer's shape is asked for. Servers that refuse one get the
// next; what was found out holds for the client's life.
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
	if cfg.BaseURL != "" {
		c.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	} else {
		cfg.BaseURL = c.BaseURL
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	c.HTTPClient = &http.Client{Transport: cfg.HTTP, CheckRedirect: sameServer}
	return &Client{cfg: cfg, api: openai.NewClientWithConfig(c)}
}

// sameServer follows no redirect to another server, as the key would go there too
// (net/http keeps it for other ports and for http after https), nor one that
// would turn the question into a GET.
func sameServer(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host || req.Method != first.Method {
		return fmt.Errorf("it redirects to %s, which is not followed", shown(req.URL.String()))
	}
	return nil
}

// Review asks for an answer to one request. An answer that can't be used is
// shown to the model with what is wrong about it, once; a second such answer is
// an error. The usage counts every call that was answered, also beside an error.
func (c *Client) Review(ctx context.Context, req prompts.Request) (prompts.Answer, reviewer.Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	usage := reviewer.Usage{Model: c.cfg.Model}
	messages := []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: req.System},
		{Role: openai.ChatMessageRoleUser, Content: req.Material + "\n\n" + req.Task},
	}
	var unusable error
	for range 2 {
		text, err := c.complete(ctx, messages, &usage)
		if err == nil {
			var answer prompts.Answer
			if answer, err = prompts.Decode(text); err == nil {
				return answer, usage, nil
			}
			err = unusableError{err}
		}
		if !errors.As(err, new(unusableError)) {
			return prompts.Answer{}, usage, c.explain(ctx, err)
		}
		unusable = err
		messages = append(messages[:2:2],
			openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: excerpt(text)},
			openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: fmt.Sprintf(
				"That answer could not be used: %s. Answer again, with one JSON object of the form asked for and nothing else.", c.oneLine(err.Error()))})
	}
	return prompts.Answer{}, usage, c.explain(ctx, unusable)
}

// unusableError marks an answer that arrived but can't be used.
type unusableError struct{ error }

func (e unusableError) Unwrap() error { return e.error }

// complete makes one call, trying the forms of asking that the server may know.
// A form is kept once it is answered: a refusal may have had another cause.
func (c *Client) complete(ctx context.Context, messages []openai.ChatCompletionMessage, usage *reviewer.Usage) (string, error) {
	c.mu.Lock()
	asked := c.form
	c.mu.Unlock()
	for {
		usage.Calls++
		resp, err := c.api.CreateChatCompletion(ctx, openai.ChatCompletionRequest{
			Model:          c.cfg.Model,
			Messages:       messages,
			ResponseFormat: asked.format(),
		})
		if err != nil && asked < formPlain && refusesForm(err) {
			asked++
			continue
		}
		if err != nil {
			return "", err
		}
		c.mu.Lock()
		c.form = max(c.form, asked)
		c.mu.Unlock()
		usage.Prompt += resp.Usage.PromptTokens
		usage.Completion += resp.Usage.CompletionTokens
		if d := resp.Usage.PromptTokensDetails; d != nil {
			usage.Cached += d.CachedTokens
		}
		return content(resp)
	}
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

// refusesForm tells whether a server declines the way of asking rather than the
// question. Servers word it in many ways, so every 400 and its like counts but
// for those whose code names another cause.
func refusesForm(err error) bool {
	if !slices.Contains([]int{http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusNotImplemented}, status(err)) {
		return false
	}
	var api *openai.APIError
	if errors.As(err, &api) {
		code := fmt.Sprint(api.Code)
		return !slices.Contains([]string{"context_length_exceeded", "model_not_found", "invalid_api_key", "content_filter"}, code)
	}
	return true
}

// status is the HTTP status of an answer that was an error, or 0.
func status(err error) int {
	var api *openai.APIError
	var req *openai.RequestError
	switch {
	case errors.As(err, &api):
		return api.HTTPStatusCode
	case errors.As(err, &req):
		return req.HTTPStatusCode
	}
	return 0
}

// explain turns an error into a line that says what failed, on what, and what to
// do about it.
func (c *Client) explain(ctx context.Context, err error) error {
	e := &reviewer.Error{Doing: fmt.Sprintf("asking %s at %s", c.cfg.Model, shown(c.cfg.BaseURL)), Err: err}
	var netErr *net.OpError
	var urlErr *url.Error
	switch code := status(err); {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Err = fmt.Errorf("no answer within %s", c.cfg.Timeout)
		e.Next = "run the job again, or choose a faster model"
	case errors.Is(err, context.Canceled):
		e.Err = context.Canceled
		e.Next = "run the job again"
	case errors.As(err, new(unusableError)):
		e.Err = fmt.Errorf("two answers in a row could not be used: %s", c.oneLine(err.Error()))
		e.Next = "run the job again, or choose a model that can answer in JSON"
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		e.Err = fmt.Errorf("the server answered %d: %s", code, c.message(err))
		e.Next = "check OPENAI_API_KEY and what it may use"
	case code == http.StatusNotFound:
		e.Err = fmt.Errorf("the server answered 404: %s", c.message(err))
		e.Next = "check --model and --base-url (it ends in /v1 on most servers)"
	case code == http.StatusTooManyRequests:
		e.Err = fmt.Errorf("the server answered 429: %s", c.message(err))
		e.Next = "wait for the limit to pass or raise it, then run the job again"
	case code >= http.StatusInternalServerError:
		e.Err = fmt.Errorf("the server answered %d: %s", code, c.message(err))
		e.Next = "run the job again when the model server works"
	case code >= http.StatusBadRequest:
		e.Err = fmt.Errorf("the server answered %d: %s", code, c.message(err))
		e.Next = "check --model; a pull request that is too large for it needs a model with more context"
	case errors.As(err, &netErr), errors.As(err, &urlErr), errors.Is(err, io.ErrUnexpectedEOF):
		e.Err = errors.New(c.oneLine(transport(err).Error()))
		e.Next = "check --base-url (OPENAI_BASE_URL) and that the server can be reached from here"
	default:
		e.Err = errors.New(c.oneLine(err.Error()))
		e.Next = "check that --base-url names an OpenAI-compatible server"
	}
	return e
}

// transport is the cause without the request line that net/http puts before it.
func transport(err error) error {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		return urlErr.Err
	}
	return err
}

func (c *Client) message(err error) string {
	var api *openai.APIError
	if errors.As(err, &api) && api.Message != "" {
		return c.oneLine(api.Message)
	}
	var req *openai.RequestError
	if errors.As(err, &req) && len(req.Body) > 0 {
		return c.oneLine(string(req.Body))
	}
	return c.oneLine(err.Error())
}

// oneLine folds a server's words into a line of bearable length. Some servers
// repeat the key that they refuse.
func (c *Client) oneLine(s string) string {
	const shortest = 8 // of a key that is one: local servers are given words such as "none"
	if len(c.cfg.APIKey) >= shortest {
		s = strings.ReplaceAll(s, c.cfg.APIKey, "(the key)")
	}
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return s
}

// shown is an address without what may be secret in it.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the base URL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// excerpt bounds what of an unusable answer is sent back to the model.
func excerpt(s string) string {
	const most = 4000
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	if s == "" {
		return "(nothing)"
	}
	return s
}
