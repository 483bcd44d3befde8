package openai

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// exchange is what the transport notes of a request whose context carries it:
// go-openai drops the headers of answers that are errors.
type exchange struct {
	reached atomic.Bool // sent to the end, or answered before that
	after   retryAfter
	failure error // what the server said if it answered with an error: a *serverError, within a *reviewer.TooLong where that is what it means
}

type exchangeKey struct{}

// mostAnswer is how much is read of an answer, in bytes after decompression: a
// megabyte of gzip can hold a gigabyte.
const mostAnswer = 16 << 20

// mostMessage is how much is read of an answer that is an error, in bytes.
const mostMessage = 64 << 10

// tooMuchError says that an answer is longer than that.
type tooMuchError struct{}

func (*tooMuchError) Error() string {
	return fmt.Sprintf("the answer is longer than %d MiB", mostAnswer>>20)
}

// capped is an answer's body that fails behind mostAnswer bytes.
type capped struct {
	io.ReadCloser
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, &tooMuchError{}
	}
	return n, err
}

// addition sends further headers and a query along.
type addition struct {
	next    http.RoundTripper
	headers http.Header
	query   string
}

func (a addition) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(a.headers) == 0 && a.query == "" {
		return a.next.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	for name, values := range a.headers {
		req.Header[name] = values
	}
	if req.URL.RawQuery == "" {
		req.URL.RawQuery = a.query
	}
	return a.next.RoundTrip(req)
}

// recorder notes exchanges, bounds what is read of an answer, and brings it into the
// form that go-openai reads.
type recorder struct{ next http.RoundTripper }

func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.record(req)
	if err != nil {
		return resp, err
	}
	resp.Body = &capped{resp.Body, mostAnswer}
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return resp, nil
	}
	body, end := drain(resp)
	if end == nil {
		x.failure = failure(resp.StatusCode, body)
		body = plain(body)
	}
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{end}))
	return resp, nil
}

// drain reads a body, of an error only the beginning, and closes it. The error is how it
// ended: not the transport's, or net/http would make a *url.Error of it.
func drain(resp *http.Response) ([]byte, error) {
	most := int64(math.MaxInt64)
	if resp.StatusCode >= http.StatusBadRequest {
		most = mostMessage
	}
	var read bytes.Buffer
	_, err := read.ReadFrom(io.LimitReader(resp.Body, most))
	if closing := resp.Body.Close(); err == nil {
		err = closing
	}
	return read.Bytes(), err
}

// failing is a reader that has ended with an error, or with none.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, cmp.Or(f.err, io.EOF) }

func (r recorder) record(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return r.next.RoundTrip(req)
	}
	trace := &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) {
		if info.Err == nil {
			x.reached.Store(true)
		}
	}}
	resp, err := r.next.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err == nil {
		x.reached.Store(true)
		x.after = asksToWait(resp.Header)
	}
	return resp, err
}

// retryAfter is that header's value: seconds or a date, or something else.
type retryAfter string

// asksToWait is what a server's headers say of it. Some say milliseconds in one of their own.
func asksToWait(h http.Header) retryAfter {
	if ms, err := strconv.ParseUint(h.Get("Retry-After-Ms"), 10, 32); err == nil {
		return retryAfter(strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64))
	}
	return retryAfter(h.Get("Retry-After"))
}

// from is how long it asks to wait, 0 if it doesn't.
func (r retryAfter) from(now time.Time) time.Duration {
	value := strings.TrimSpace(string(r))
	seconds, err := strconv.ParseFloat(value, 64)
	switch {
	case err == nil && !(seconds > 0):
		return 0
	case seconds >= math.MaxInt64/float64(time.Second):
		return math.MaxInt64
	case err == nil:
		return time.Duration(seconds * float64(time.Second))
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, at.Sub(now))
}

// redirectError is a redirect that isn't followed.
type redirectError struct{ to string }

func (e *redirectError) Error() string {
	return fmt.Sprintf("it redirects to %s, which is not followed", e.to)
}

// sameServer follows no redirect to another server, as the key would go there too
// (net/http keeps it for other ports and for http after https), nor one that
// would turn the question into a GET.
func sameServer(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host || req.Method != first.Method {
		return &redirectError{shown(req.URL.String())}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
