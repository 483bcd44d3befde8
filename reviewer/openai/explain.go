package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/untrusted"
)

// explain turns an error into a line that says what was asked, how often and how
// long if it was more than once, what came of it, and what to do about it.
func (c *Client) explain(ctx context.Context, e *effort, err error) error {
	line := &reviewer.Error{Doing: fmt.Sprintf("asking %s at %s", strings.Join(e.names, " and then "), shown(c.cfg.BaseURL))}
	if e.tries > 1 && (e.waits > 0 || len(e.names) > 1) {
		line.Doing += fmt.Sprintf(", %d times within %s", e.tries, span(c.cfg.Now().Sub(e.began)))
	}
	flags, another := "--model", ", or name a second model with --fallback-model"
	if len(c.models) > 1 {
		flags, another = "--model, --fallback-model", ""
	}
	var gone *unavailableError
	var tooMuch *tooMuchError
	var long *reviewer.TooLong
	code := status(err)
	answered := fmt.Sprintf("the server answered %d: %s", code, c.message(err))
	switch {
	case ctx.Err() != nil:
		line.Err = ctx.Err()
		line.Next = "run the job again"
	case errors.As(err, &tooMuch):
		line.Err = tooMuch
		line.Next = "check that --base-url names a model server, or choose another model"
	case errors.As(err, new(*prompts.Unread)), errors.As(err, new(*cutError)):
		line.Err = fmt.Errorf("two answers in a row could not be used: %s", c.oneLine(err.Error()))
		line.Next = moreContext + "; for a model that can't copy codes: --receipt off"
	case errors.As(err, &long):
		line.Err = &reviewer.TooLong{Fits: long.Fits, Err: errors.New(c.oneLine(long.Error()))}
		if code != 0 {
			line.Err = &reviewer.TooLong{Fits: long.Fits, Err: errors.New(answered)}
		}
		line.Next = moreContext
	case errors.As(err, new(unusableError)):
		line.Err = fmt.Errorf("two answers in a row could not be used: %s", c.oneLine(err.Error()))
		line.Next = "run the job again, or choose a model that can answer in JSON"
	case errors.As(err, new(*slowError)):
		line.Err = err
		line.Next = "run the job again with more --patience, or choose a faster model" + another
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		line.Err = errors.New(answered)
		line.Next = "check OPENAI_API_KEY and what it may use"
	case unknownModel(err):
		line.Err = errors.New(answered)
		line.Next = "check " + flags + " and --base-url (it ends in /v1 on most servers)"
	case outOfQuota(err):
		line.Err = errors.New(answered)
		line.Next = "raise the account's limit or its credit, then run the job again"
	case code == http.StatusTooManyRequests:
		line.Err = errors.New(answered)
		line.Next = "wait for the limit to pass or raise it, then run the job again" + another
	case code >= http.StatusInternalServerError || code == http.StatusRequestTimeout:
		line.Err = errors.New(answered)
		line.Next = "run the job again when the model server works" + another
	case code >= http.StatusBadRequest:
		line.Err = errors.New(answered)
		line.Next = "check --model and what the server says"
	case errors.As(err, new(*net.OpError)), errors.As(err, new(*url.Error)), errors.Is(err, io.ErrUnexpectedEOF):
		line.Err = errors.New(c.oneLine(transport(err).Error()))
		line.Next = "check --base-url (OPENAI_BASE_URL) and that the server can be reached from here, then run the job again"
	default:
		line.Err = errors.New(c.oneLine(err.Error()))
		line.Next = "check that --base-url names an OpenAI-compatible server"
	}
	if errors.As(err, &gone) && gone.asks > 0 {
		line.Err = fmt.Errorf("%w; it asks to wait %s, and a review may take %s in all", line.Err, span(gone.asks), span(c.cfg.Patience))
	}
	return line
}

// moreContext is what to do about a request that doesn't fit: each kind of server has
// its own knob.
const moreContext = "lower --max-input-tokens to what fits (about 0.7 of the context), or give the model more context on its server " +
	"(Ollama: OLLAMA_CONTEXT_LENGTH or num_ctx; llama.cpp: -c; vLLM: --max-model-len)"

// transport is the cause without the request line that net/http puts before it.
func transport(err error) error {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		return urlErr.Err
	}
	return err
}

func (c *Client) message(err error) string {
	var e *serverError
	if errors.As(err, &e) {
		return c.oneLine(e.Error())
	}
	return c.oneLine(err.Error())
}

// oneLine folds a server's words into a line of bearable length that is safe to
// print. Some servers repeat the key that they refuse.
func (c *Client) oneLine(s string) string {
	const shortest = 8 // of a key that is one: local servers are given words such as "none"
	if len(c.cfg.APIKey) >= shortest {
		s = strings.ReplaceAll(s, c.cfg.APIKey, "(the key)")
	}
	s = untrusted.Plain(s)
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
