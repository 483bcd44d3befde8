package modeltest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Usage counts tokens. A zero Prompt or Completion is replaced by a third of
// the bytes of the messages or of the answer, rounded up and at least 1, so
// that counts are never zero and the same on every run. Cached is the part of
// Prompt that came from the server's cache, sent as it is; a Prompt filled in is
// at least Cached.
type Usage struct {
	Prompt     int
	Cached     int
	Completion int
}

// Cut says where the server closes the connection in the middle of an answer.
type Cut string

const (
	// CutHeaders closes it after the headers, before the first byte of the body.
	CutHeaders Cut = "headers"
	// CutBody closes it after half of the body.
	CutBody Cut = "body"
	// CutReset resets it before anything is sent.
	CutReset Cut = "reset"
)

// Reply is the answer to one request. Exactly one of Content, EmptyContent,
// Refusal, NoChoices, RawBody and a Status from 400 up (which may go with
// RawBody) says what kind it is; a reply that breaks this, the zero Reply
// included, is answered with a 418 that says so.
type Reply struct {
	// Content is the text of the one choice.
	Content string
	// EmptyContent gives a choice with the empty text.
	EmptyContent bool
	// Refusal gives a choice with no text and this refusal.
	Refusal string
	// NoChoices gives an answer whose list of choices is empty.
	NoChoices bool

	// FinishReason is that of the choice; the default is "stop".
	FinishReason string
	// Usage is the answer's token counts.
	Usage Usage

	// Status is the HTTP status; the default is 200, and only RawBody goes with
	// others below 400 (but 204 and 304). From 400 up the answer is
	// a failure with Error as its message (default: the name of the status)
	// and Code as its code (default: none).
	Status int
	Error  string
	Code   string

	// RawBody, if not nil, is sent as the whole body, with ContentType
	// (default application/json): broken JSON, a proxy's HTML page.
	RawBody     []byte
	ContentType string

	// Headers are added to the response, for example Retry-After.
	Headers map[string]string
	// Delay passes before anything is sent; it ends early, without an answer,
	// when the client goes away or the server is closed.
	Delay time.Duration
	// Drip passes before each byte of the body but the first; it ends early as Delay does.
	Drip time.Duration
	// Cut closes the connection in the middle; the default is not to.
	Cut Cut
}

// replyError is what is wrong with a reply; field is the name in a script
// file, "" for the reply as a whole.
type replyError struct {
	field   string
	problem string
}

func (e *replyError) Error() string {
	if e.field == "" {
		return e.problem
	}
	return e.field + ": " + e.problem
}

// check reports the first thing that makes r no sensible reply, nil if none.
func (r Reply) check() *replyError {
	failure := r.Status >= http.StatusBadRequest
	var kinds []string
	for _, kind := range []struct {
		name string
		set  bool
	}{
		{"content", r.Content != ""},
		{"empty_content", r.EmptyContent},
		{"refusal", r.Refusal != ""},
		{"no_choices", r.NoChoices},
		{"raw_body", r.RawBody != nil},
		{"a status from 400 up", failure && r.RawBody == nil},
	} {
		if kind.set {
			kinds = append(kinds, kind.name)
		}
	}
	switch {
	case r.RawBody != nil && !rawStatus(r.Status):
		return &replyError{"status", fmt.Sprintf("%d: want one from 200 to 599 that has a body", r.Status)}
	case r.RawBody == nil && r.Status != 0 && r.Status != http.StatusOK && (!failure || r.Status > 599):
		return &replyError{"status", fmt.Sprintf("%d: want 200, or 400 to 599", r.Status)}
	case len(kinds) == 0:
		return &replyError{problem: "nothing to answer: want one of content, empty_content, refusal, no_choices, raw_body or a status from 400 up"}
	case len(kinds) > 1:
		return &replyError{problem: "contradicts itself: has " + strings.Join(kinds, " and ")}
	case r.Error != "" && (!failure || r.RawBody != nil):
		return &replyError{"error", "needs a status from 400 up and no raw_body"}
	case r.Code != "" && (!failure || r.RawBody != nil):
		return &replyError{"code", "needs a status from 400 up and no raw_body"}
	case r.ContentType != "" && r.RawBody == nil:
		return &replyError{"content_type", "needs raw_body"}
	case r.Delay < 0:
		return &replyError{"delay", "is negative"}
	case r.Drip < 0:
		return &replyError{"drip", "is negative"}
	case r.Cut != "" && r.Cut != CutHeaders && r.Cut != CutBody && r.Cut != CutReset:
		return &replyError{"cut", fmt.Sprintf("%q: want headers, body or reset", r.Cut)}
	case r.Cut != "" && r.RawBody != nil && len(r.RawBody) == 0:
		return &replyError{"cut", "there is nothing to cut in an empty raw_body"}
	case r.Usage.Prompt < 0 || r.Usage.Cached < 0 || r.Usage.Completion < 0:
		return &replyError{"usage", "has a negative count"}
	case r.Usage.Prompt > 0 && r.Usage.Cached > r.Usage.Prompt:
		return &replyError{"usage", fmt.Sprintf("cached %d is more than prompt %d", r.Usage.Cached, r.Usage.Prompt)}
	}
	return nil
}

// rawStatus reports whether a raw body can be sent with that status.
func rawStatus(status int) bool {
	switch status {
	case 0:
		return true
	case http.StatusNoContent, http.StatusNotModified:
		return false
	default:
		return status >= 200 && status <= 599
	}
}

// fill replaces zero counts as the type's comment says.
func (u Usage) fill(prompt, completion string) Usage {
	if u.Prompt == 0 {
		u.Prompt = max(estimate(prompt), u.Cached)
	}
	if u.Completion == 0 {
		u.Completion = estimate(completion)
	}
	return u
}

func estimate(text string) int { return max(1, (len(text)+2)/3) }
