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
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"review-bot/reviewer"
)

const (
	// mostFailures in a row are borne before the fallback is asked.
	mostFailures = 4
	// The waits between them are one of these at random between the half and the
	// whole, so that jobs that failed together don't come back together.
	firstWait = time.Second
	mostWait  = time.Minute
)

// effort is what one Review has done so far.
type effort struct {
	began time.Time
	usage reviewer.Usage
	names []string // of the models asked, in order
	tries int      // requests, those that reached no server too
	waits int

	// The model whose turn it is, when its turn ends, and after how many failures in
	// a row; 0 for any number.
	model *model
	until time.Time
	most  int
	slow  int // of its requests took too long
}

func (e *effort) turn(m *model, until time.Time, most int) {
	e.names = append(e.names, m.name)
	e.model, e.until, e.most, e.slow = m, until, most, 0
	e.usage.Model = m.name
}

// unavailableError says that a model can't be had, or not in time. Another might.
type unavailableError struct {
	err      error         // what came last
	failures int           // in a row, of the kind that may pass
	asks     time.Duration // what the server asks to wait, if that is too long
}

func (e *unavailableError) Error() string { return e.err.Error() }
func (e *unavailableError) Unwrap() error { return e.err }

// slowError says that a request took too long.
type slowError struct{ limit time.Duration }

func (e *slowError) Error() string { return "no answer within " + span(e.limit) }
func (e *slowError) Unwrap() error { return context.DeadlineExceeded }

// wait waits before the next try. An error says why there is none.
func (c *Client) wait(ctx context.Context, e *effort, failures int, err error, after retryAfter) error {
	now := c.cfg.Now()
	left, asks := e.until.Sub(now), after.from(now)
	// A server that always says "in 1 second" isn't asked every second for all that.
	pause := max(c.backoff(failures), asks)
	gone := &unavailableError{err: err, failures: failures}
	if errors.As(err, new(*slowError)) {
		e.slow++
	}
	switch {
	case e.slow > 1: // a third would be as slow
		return gone
	case asks >= left:
		gone.asks = asks
		return gone
	case e.most > 0 && failures >= e.most, pause >= left:
		return gone
	}
	e.waits++
	c.tell("%s %s, again in %s", e.model.name, c.what(err), span(pause))
	c.cfg.Sleep(ctx, pause)
	return ctx.Err()
}

// backoff is the wait after so many failures in a row.
func (c *Client) backoff(failures int) time.Duration {
	wait := mostWait
	if doublings := failures - 1; doublings < 6 { // the sixth would be longer than the longest
		wait = firstWait << doublings
	}
	return wait/2 + time.Duration(c.jitter()*float64(wait/2))
}

func (c *Client) tell(format string, args ...any) {
	if c.cfg.Progress == nil {
		return
	}
	c.telling.Lock()
	defer c.telling.Unlock()
	c.cfg.Progress(fmt.Sprintf(format, args...))
}

// what says in words of our own what a server did.
func (c *Client) what(err error) string {
	var slow *slowError
	switch code := status(err); {
	case code != 0:
		return fmt.Sprintf("answered %d", code)
	case errors.As(err, &slow):
		return "gave " + slow.Error()
	}
	return fmt.Sprintf("gave no answer (%s)", c.oneLine(transport(err).Error()))
}

// why says what made a model unavailable.
func (c *Client) why(gone *unavailableError) string {
	what := c.what(gone.err)
	switch {
	case outOfQuota(gone.err):
		return what + " (the account's quota is used up)"
	case gone.asks > 0:
		return fmt.Sprintf("%s and asks to wait %s", what, span(gone.asks))
	case gone.failures > 1:
		return fmt.Sprintf("%s, %d failures in a row", what, gone.failures)
	}
	return what
}

// passing tells whether an error may be gone when the same is asked again.
func passing(err error) bool {
	switch code := status(err); {
	case errors.As(err, new(*reviewer.TooLong)):
		return false
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return true
	case code != 0:
		return code >= http.StatusInternalServerError && code != http.StatusNotImplemented
	}
	var dns *net.DNSError
	var request *url.Error
	var network net.Error
	switch {
	case errors.As(err, new(*slowError)):
		return true
	case errors.As(err, new(*redirectError)), errors.Is(err, http.ErrSchemeMismatch):
		return false
	case errors.As(err, &dns) && dns.IsNotFound:
		return false
	case errors.As(err, &request):
		again, _ := retryablehttp.DefaultRetryPolicy(context.Background(), nil, request)
		return again && request.Op != "parse"
	}
	return errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) // in the middle of an answer
}

// refusesForm tells whether a server declines the way of asking rather than the
// question. Servers word it in many ways, so every 400 and its like counts but
// for those whose code names another cause.
func refusesForm(err error) bool {
	return !errors.As(err, new(*reviewer.TooLong)) && slices.Contains([]int{http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusNotImplemented}, status(err)) &&
		!hasCode(err, "model_not_found", "invalid_api_key", "content_filter", "insufficient_quota")
}

// refusesLimit reports whether a server doesn't know the newer name of an answer's limit.
func refusesLimit(err error) bool {
	code := status(err)
	return (code == http.StatusBadRequest || code == http.StatusUnprocessableEntity) && strings.Contains(err.Error(), "max_completion_tokens")
}

// unknownModel tells whether a server has no such model, or no such address.
func unknownModel(err error) bool {
	return status(err) == http.StatusNotFound || hasCode(err, "model_not_found")
}

// outOfQuota tells whether the account has to be paid for, which no wait does.
// OpenAI answers it with a 429, others with a 402.
func outOfQuota(err error) bool {
	return status(err) == http.StatusPaymentRequired || hasCode(err, "insufficient_quota")
}

// span is a duration for people, in whole seconds and never shorter than it is.
func span(d time.Duration) string {
	if d > 24*time.Hour {
		return "more than a day"
	}
	seconds := int(d / time.Second)
	if d%time.Second > 0 {
		seconds++
	}
	seconds = max(seconds, 1)
	var parts []string
	for _, unit := range []struct {
		name string
		n    int
	}{{"h", seconds / 3600}, {"min", seconds / 60 % 60}, {"s", seconds % 60}} {
		if unit.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", unit.n, unit.name))
		}
	}
	return strings.Join(parts, " ")
}
