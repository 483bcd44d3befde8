package modeltest

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// created is the creation time in every answer, in seconds since 1970: a fixed
// one, so that the same requests give the same bytes.
const created = 1767225600

type wireChoice struct {
	Index   int `json:"index"`
	Message struct {
		Role    string  `json:"role"`
		Content *string `json:"content"`
		Refusal *string `json:"refusal"`
	} `json:"message"`
	FinishReason string `json:"finish_reason"`
}

type wireUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	PromptDetails    struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

type wireAnswer struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []wireChoice `json:"choices"`
	Usage   wireUsage    `json:"usage"`
}

// send writes the reply to req. It panics with http.ErrAbortHandler, which
// makes net/http close the connection, if the reply is cut or the client left.
func send(w http.ResponseWriter, req Request, reply Reply) {
	if err := reply.check(); err != nil {
		reply = Fail(broken,
			fmt.Sprintf("modeltest: the script's reply to %s is wrong: %v", req.describe(), err))
	}
	if !wait(req, reply.Delay) {
		panic(http.ErrAbortHandler)
	}
	if reply.Cut == CutReset {
		reset(w)
	}
	for name, value := range reply.Headers {
		w.Header().Set(name, value)
	}
	status, contentType, body := render(req, reply)
	if reply.Drip > 0 && len(body) > 0 {
		w = &dripping{ResponseWriter: w, req: req, pause: reply.Drip}
	}
	write(w, status, contentType, body, reply.Cut)
}

// reset closes the connection so that the client sees a reset.
func reset(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // else it is only closed, which is as much of a cut
		}
		_ = conn.Close() // the client sees it, however it goes
	}
	panic(http.ErrAbortHandler)
}

// dripping sends a body byte by byte.
type dripping struct {
	http.ResponseWriter
	req   Request
	pause time.Duration
}

func (d *dripping) Write(body []byte) (int, error) {
	for i := range body {
		if i > 0 && !wait(d.req, d.pause) {
			return i, d.req.Context().Err()
		}
		if _, err := d.ResponseWriter.Write(body[i : i+1]); err != nil {
			return i, err
		}
		if err := http.NewResponseController(d.ResponseWriter).Flush(); err != nil {
			return i, err
		}
	}
	return len(body), nil
}

// Unwrap is for http.ResponseController.
func (d *dripping) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// wait lets the delay pass and reports whether the client is still there.
func wait(req Request, delay time.Duration) bool {
	ctx := req.Context()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

func render(req Request, reply Reply) (status int, contentType string, body []byte) {
	status, contentType = reply.Status, "application/json"
	if status == 0 {
		status = http.StatusOK
	}
	switch {
	case reply.RawBody != nil:
		if reply.ContentType != "" {
			contentType = reply.ContentType
		}
		return status, contentType, reply.RawBody
	case status >= http.StatusBadRequest:
		message := reply.Error
		if message == "" {
			message = http.StatusText(status)
		}
		return status, contentType, (&apiError{status: status, message: message, code: reply.Code}).body()
	default:
		return status, contentType, encode(answer(req, reply))
	}
}

func answer(req Request, reply Reply) wireAnswer {
	usage := reply.Usage.fill(req.Text(), reply.Content+reply.Refusal)
	a := wireAnswer{
		ID:      "chatcmpl-" + strconv.Itoa(req.Number),
		Object:  "chat.completion",
		Created: created,
		Model:   req.Model,
		Choices: []wireChoice{},
		Usage: wireUsage{
			PromptTokens:     usage.Prompt,
			CompletionTokens: usage.Completion,
			TotalTokens:      usage.Prompt + usage.Completion,
		},
	}
	a.Usage.PromptDetails.CachedTokens = usage.Cached
	if reply.NoChoices {
		return a
	}
	choice := wireChoice{FinishReason: reply.FinishReason}
	if choice.FinishReason == "" {
		choice.FinishReason = "stop"
	}
	choice.Message.Role = "assistant"
	if reply.Refusal != "" {
		choice.Message.Refusal = &reply.Refusal
	} else {
		choice.Message.Content = &reply.Content
	}
	a.Choices = append(a.Choices, choice)
	return a
}

// write sends the whole response, or announces all of it and closes the
// connection where cut says.
func write(w http.ResponseWriter, status int, contentType string, body []byte, cut Cut) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	switch cut {
	case CutHeaders:
		body = nil
	case CutBody:
		body = body[:len(body)/2]
	case CutReset: // done before this
	}
	_, err := w.Write(body)
	if cut != "" {
		// Without the flush net/http would drop what it has buffered.
		err = http.NewResponseController(w).Flush()
	}
	if err != nil || cut != "" {
		panic(http.ErrAbortHandler)
	}
}
