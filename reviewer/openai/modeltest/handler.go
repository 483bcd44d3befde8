package modeltest

import (
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// maxBody bounds a request's body, in bytes; a longer one gets a 413.
const maxBody = 8 << 20

// Handler serves the API under /v1 and records the chat requests. It is safe
// for concurrent use; the script is called by several requests at once.
// Replies that are cut, and clients that leave, end in a panic with
// http.ErrAbortHandler, as net/http's servers expect.
type Handler struct {
	script  Script
	options options

	mu       sync.Mutex
	requests []Request
}

// NewHandler makes a handler that answers as script says. It panics if script
// is nil.
func NewHandler(script Script, opts ...Option) *Handler {
	if script == nil {
		panic("modeltest: the script is nil")
	}
	h := &Handler{script: script}
	for _, opt := range opts {
		opt(&h.options)
	}
	return h
}

// Requests returns a copy of all chat requests so far, in the order of their
// Number, those that the server refused (see Request.Refused) included.
// Requests to the other endpoints are not recorded.
func (h *Handler) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]Request, len(h.requests))
	for i, r := range h.requests {
		all[i] = r.clone()
	}
	return all
}

// Count is the number of chat requests so far, the refused ones included.
func (h *Handler) Count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.requests)
}

// ServeHTTP answers one request. Paths are compared as they are: one with a
// doubled slash, from a base URL put together wrongly, is a 404.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	model, isModel := strings.CutPrefix(r.URL.Path, "/v1/models/")
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/v1/chat/completions":
		h.chat(w, r)
	case r.Method == http.MethodGet && r.URL.Path == "/v1/models":
		h.listModels(w, r)
	case r.Method == http.MethodGet && isModel && model != "":
		h.getModel(w, r, model)
	case r.Method == http.MethodGet && h.context(w, r):
	default:
		refuse(w, &apiError{
			status:  http.StatusNotFound,
			message: "invalid URL (" + r.Method + " " + r.URL.Path + ")",
		})
	}
}

func (h *Handler) chat(w http.ResponseWriter, r *http.Request) {
	req := Request{Header: keptHeader(r.Header), ctx: r.Context()}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	tooLarge := new(http.MaxBytesError)
	if err != nil && !errors.As(err, &tooLarge) {
		panic(http.ErrAbortHandler) // the client left while sending
	}
	req.Raw = raw

	fail := h.authorize(r)
	switch {
	case fail != nil:
	case err != nil:
		fail = &apiError{status: http.StatusRequestEntityTooLarge, message: "the request is too large"}
	default:
		fail = h.options.decode(&req)
	}
	if fail != nil {
		req.Refused = fail.message
	}
	req.Number = h.record(req)
	if fail != nil {
		refuse(w, fail)
		return
	}
	send(w, req, h.options.read(req, h.script(req.clone())))
}

// record keeps a copy of the request and returns its number.
func (h *Handler) record(req Request) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := req.clone()
	kept.Number = len(h.requests) + 1
	h.requests = append(h.requests, kept)
	return kept.Number
}

// authorize returns the failure for a wrong or missing key, nil if it's right.
func (h *Handler) authorize(r *http.Request) *apiError {
	if h.options.apiKey == "" {
		return nil
	}
	fail := &apiError{status: http.StatusUnauthorized, code: "invalid_api_key"}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer") || key == "":
		fail.message = "you didn't provide an API key"
	case subtle.ConstantTimeCompare([]byte(key), []byte(h.options.apiKey)) != 1:
		fail.message = "incorrect API key provided"
	default:
		return nil
	}
	return fail
}

func refuse(w http.ResponseWriter, fail *apiError) {
	write(w, fail.status, "application/json", fail.body(), "")
}
