package openai

import (
	"context"
	"errors"
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
}

type exchangeKey struct{}

// mostAnswer is how much is read of an answer, in bytes after decompression: a
// megabyte of gzip can hold a gigabyte.
const mostAnswer = 16 << 20

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

// recorder notes exchanges, and bounds what is read of an answer.
type recorder struct{ next http.RoundTripper }

func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.record(req)
	if err == nil {
		resp.Body = &capped{resp.Body, mostAnswer}
	}
	return resp, err
}

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
		x.after = retryAfter(resp.Header.Get("Retry-After"))
	}
	return resp, err
}

// retryAfter is that header's value: seconds or a date, or something else.
type retryAfter string

// from is how long it asks to wait, 0 if it doesn't.
func (r retryAfter) from(now time.Time) time.Duration {
	value := strings.TrimSpace(string(r))
	seconds, err := strconv.ParseUint(value, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), seconds > math.MaxInt64/uint64(time.Second):
		return math.MaxInt64
	case err == nil:
		return time.Duration(seconds) * time.Second
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
