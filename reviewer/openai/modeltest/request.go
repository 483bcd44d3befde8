package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Message is one message of a conversation. Content given as a list of text
// parts is their concatenation.
type Message struct {
	Role    string
	Content string
}

// Request is one POST to /v1/chat/completions, decoded. For a request that
// was refused before it could be decoded only Number, Header, Raw and Refused
// are set.
type Request struct {
	// Number counts the chat requests of the server from 1, in the order they
	// were read, refused ones included.
	Number int

	Model    string
	Messages []Message

	// ResponseFormat is "json_schema", "json_object", or "" for plain text.
	ResponseFormat string

	// SchemaName, Strict and Schema are what came with json_schema; Schema is
	// the document as it was sent.
	SchemaName string
	Strict     bool
	Schema     json.RawMessage

	// Header is what the client sent, without the ones that carry credentials.
	Header http.Header

	// Raw is the body as it was sent.
	Raw []byte

	// Refused is the error message with which the server itself refused the
	// request; it is empty if the script was asked.
	Refused string

	ctx context.Context
}

// Text is the contents of all messages, joined by newlines.
func (r Request) Text() string {
	contents := make([]string, len(r.Messages))
	for i, m := range r.Messages {
		contents[i] = m.Content
	}
	return strings.Join(contents, "\n")
}

// Contains reports whether s occurs in the text of the messages.
func (r Request) Contains(s string) bool { return strings.Contains(r.Text(), s) }

// Has reports whether the request's JSON object has a field of that name that
// isn't null, for example "temperature".
func (r Request) Has(field string) bool {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(r.Raw, &fields); err != nil {
		return false
	}
	return present(fields[field])
}

// Context ends when the client goes away or the server is closed. A script
// that blocks must stop then; in a recorded request it has usually ended.
func (r Request) Context() context.Context {
	if r.ctx == nil {
		return context.Background()
	}
	return r.ctx
}

// clone shares nothing that can be changed with r.
func (r Request) clone() Request {
	r.Messages = slices.Clone(r.Messages)
	r.Schema = bytes.Clone(r.Schema)
	r.Header = r.Header.Clone()
	r.Raw = bytes.Clone(r.Raw)
	return r
}

// describe names the request in an error message.
func (r Request) describe() string {
	const limit = 120 // runes
	last := ""
	if len(r.Messages) > 0 {
		last = strings.Join(strings.Fields(r.Messages[len(r.Messages)-1].Content), " ")
	}
	if runes := []rune(last); len(runes) > limit {
		last = string(runes[:limit]) + "…"
	}
	format := r.ResponseFormat
	if format == "" {
		format = "text"
	}
	return fmt.Sprintf("request %d to model %q for %s, last message %q", r.Number, r.Model, format, last)
}

// credentialHeaders are never recorded.
var credentialHeaders = []string{"Authorization", "Proxy-Authorization", "Api-Key", "X-Api-Key", "Cookie"}

func keptHeader(h http.Header) http.Header {
	kept := h.Clone()
	for _, name := range credentialHeaders {
		kept.Del(name)
	}
	return kept
}

// present tells a JSON value from an absent one and from null.
func present(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null"
}
