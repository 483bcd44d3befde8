package giteatest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// An APIError is an answer of the server with a status of 400 or more.
type APIError struct {
	Method, Path string
	Status       int
	Message      string // the answer's message, or its text when it has none
}

func (e *APIError) Error() string {
	return fmt.Sprintf("%s %s: %d %s", e.Method, e.Path, e.Status, e.Message)
}

// Do sends one API request as the token's user (empty: as nobody) and returns
// the answer's status, 0 when there was none. path is relative to /api/v1 and
// begins with a slash. body is sent as JSON unless nil. out gets the answer: JSON
// is decoded into it, a *string or *[]byte gets the text as it is; nil: dropped.
// A status of 400 or more is an [*APIError].
func (s *Server) Do(ctx context.Context, token, method, path string, body, out any) (status int, err error) {
	return s.do(ctx, func(r *http.Request) {
		if token != "" {
			r.Header.Set("Authorization", "token "+token)
		}
	}, method, path, body, out)
}

// counted is a page of a list, and how many there are in all.
type counted struct {
	items any
	total int
}

// Call is [Server.Do] where every answer but a success is fatal.
func (s *Server) Call(tb TB, token, method, path string, body, out any) {
	tb.Helper()
	_, err := s.Do(tb.Context(), token, method, path, body, out)
	check(tb, err)
}

// Status is [Server.Do] for a request that may be refused: it returns the
// answer's status and, for a refusal, its message. No answer at all is fatal.
func (s *Server) Status(tb TB, token, method, path string, body, out any) (status int, message string) {
	tb.Helper()
	status, message, err := refusal(s.Do(tb.Context(), token, method, path, body, out))
	check(tb, err)
	return status, message
}

// refusal turns an [*APIError] into its message: for callers to whom a refusal
// is an answer like another.
func refusal(status int, err error) (int, string, error) {
	if refused, ok := errors.AsType[*APIError](err); ok {
		return refused.Status, refused.Message, nil
	}
	return status, "", err
}

func (s *Server) do(ctx context.Context, auth func(*http.Request), method, path string, body, out any) (int, error) {
	var send io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, fmt.Errorf("%s %s: encode the body: %w", method, path, err)
		}
		send = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+"/api/v1"+path, send)
	if err != nil {
		return 0, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	auth(req)
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, err // names the method and the URL
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	if resp.StatusCode >= 400 {
		return resp.StatusCode, &APIError{Method: method, Path: path, Status: resp.StatusCode, Message: errorMessage(text)}
	}
	switch out := out.(type) {
	case nil:
	case *string:
		*out = string(text)
	case *[]byte:
		*out = text
	case *counted:
		out.total, _ = strconv.Atoi(resp.Header.Get("X-Total-Count"))
		if err := json.Unmarshal(text, out.items); err != nil {
			return resp.StatusCode, fmt.Errorf("%s %s: %d, decode the answer: %w", method, path, resp.StatusCode, err)
		}
	default:
		if err := json.Unmarshal(text, out); err != nil {
			return resp.StatusCode, fmt.Errorf("%s %s: %d, decode the answer: %w", method, path, resp.StatusCode, err)
		}
	}
	return resp.StatusCode, nil
}

// errorMessage is the message of an error answer, in one line.
func errorMessage(text []byte) string {
	var said struct{ Message string }
	if json.Unmarshal(text, &said) != nil || said.Message == "" {
		said.Message = string(text)
	}
	return strings.Join(strings.Fields(said.Message), " ")
}

// commitLike is what Gitea takes for a commit id.
var commitLike = regexp.MustCompile(`\b[0-9a-f]{7,64}\b`)

// Markdown renders text as the server renders a comment in repo; repo must be
// readable by its user. A text with something like a commit id in it is fatal
// here: Gitea 1.26.0 looks the id up without a repository at this endpoint, and
// the whole process dies of it. See [Pull.Rendered] for texts that are published.
func (s *Server) Markdown(tb TB, text string, repo *Repo) (html string) {
	tb.Helper()
	if id := commitLike.FindString(text); id != "" {
		tb.Fatalf("rendering a text with %q at /markdown would end the server", id)
	}
	s.Call(tb, repo.actor.Token, http.MethodPost, "/markdown",
		map[string]any{"Text": text, "Mode": "comment", "Context": repo.FullName()}, &html)
	return html
}

// Poll calls done until it is true, fails or limit has passed; a limit that
// passes is an error that says what was waited for.
func Poll(ctx context.Context, limit time.Duration, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("waited %s in vain", limit))
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		ok, err := done()
		if err != nil {
			return fmt.Errorf("wait until %s: %w", what, err)
		}
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// upload sends data as it is.
func (s *Server) upload(ctx context.Context, as *User, path string, data []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/api/v1"+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "token "+as.Token)
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 400 {
		err = &APIError{Method: http.MethodPost, Path: path, Status: resp.StatusCode, Message: errorMessage(text)}
	}
	return err
}
