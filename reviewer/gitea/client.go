// Package gitea speaks to Gitea and Forgejo servers. It is the only importer of
// the Gitea SDK, and every quirk of such a server lives here, beside the test
// that shows it on a real one.
package gitea

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	sdk "code.gitea.io/sdk/gitea"
	"github.com/hashicorp/go-retryablehttp"

	"review-bot/escalation"
	"review-bot/reviewer"
)

// Config says which pull request on which server, and as whom.
type Config struct {
	Server  string // root URL, as in https://git.example.com
	Owner   string
	Name    string // the repository's
	Number  int64  // the pull request's
	Token   string
	Account string            // whose token it is, for one that doesn't say so; "" asks the server
	HTTP    http.RoundTripper // nil for the default transport
	Retries int               // of a read that failed for a passing cause; 0 for none
	Reading bool              // nothing is written: no such request gets out, and errors name the rights that reading needs
	Wait    time.Duration     // before the first retry, doubled with each; 0 for DefaultWait
	Limit   time.Duration     // of one request; 0 for DefaultLimit
}

// DefaultWait is the pause before a failed read is tried again.
const DefaultWait = 500 * time.Millisecond

// DefaultLimit bounds one request, so that a server that has gone silent
// doesn't hold a job for ever.
const DefaultLimit = 60 * time.Second

// Client is one pull request, seen and written with one account's token.
type Client struct {
	cfg      Config
	http     *http.Client
	requests *atomic.Int64
	listings listings
	kept     kept         // contents
	named    atomic.Int64 // id of Config.Account where the token doesn't say whose it is; else 0
	stranger atomic.Bool  // the token isn't that account's

	batchTime time.Duration // see the constant
	oneByOne  atomic.Bool   // several files in one request is what the server can't
	several   atomic.Bool   // it can
	attaches  atomic.Bool   // a reply has been made by attaching it to a review
}

// New makes a client. Nothing is sent.
func New(cfg Config) *Client {
	cfg.Server = strings.TrimRight(cfg.Server, "/")
	if cfg.HTTP == nil {
		cfg.HTTP = http.DefaultTransport
	}
	if cfg.Wait == 0 {
		cfg.Wait = DefaultWait
	}
	if cfg.Limit == 0 {
		cfg.Limit = DefaultLimit
	}
	requests := new(atomic.Int64)
	retry := retryablehttp.NewClient()
	retry.Logger = nil
	retry.HTTPClient = &http.Client{
		Transport: countingTransport{cfg.HTTP, requests, cfg.Reading}, Timeout: cfg.Limit, CheckRedirect: sameHost,
	}
	retry.RetryMax = cfg.Retries
	retry.RetryWaitMin = cfg.Wait
	retry.RetryWaitMax = 20 * cfg.Wait
	retry.CheckRetry = retryReads
	retry.ErrorHandler = oneOrTheOther
	retry.Backoff = func(least, most time.Duration, attempt int, resp *http.Response) time.Duration {
		return min(retryablehttp.DefaultBackoff(least, most, attempt, resp), most) // Retry-After may be hours
	}
	client := retry.StandardClient()
	// The inner client has followed what may be followed; the outer one would go on by net/http's rules.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{cfg: cfg, http: client, requests: requests, batchTime: batchTime}
}

// Requests is how many requests have been sent so far.
func (c *Client) Requests() int { return int(c.requests.Load()) }

// countingTransport counts requests, and lets none pass that would delete a
// review or a comment: nothing but the reaction that locks is ever removed. Of a
// client that only reads it lets nothing pass but reads. Of an answer it gives no
// more than its bounds.
type countingTransport struct {
	next    http.RoundTripper
	count   *atomic.Int64
	reading bool
}

func (t countingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.reading && req.Method != http.MethodGet {
		return nil, fmt.Errorf("%s %s: nothing is written here", req.Method, req.URL.Path)
	}
	if req.Method == http.MethodDelete && !strings.HasSuffix(req.URL.Path, "/reactions") { //nolint:forbidigo // to refuse it
		return nil, fmt.Errorf("%s %s: the bot never deletes anything but its lock", req.Method, req.URL.Path)
	}
	t.count.Add(1)
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	bounded(req.URL.Path, resp)
	if req.Method != http.MethodGet {
		return resp, nil
	}
	// Read here, so that one that breaks off is asked for again as any other failure is.
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp, nil
}

type methodKey struct{}

// retryReads tries a GET again after causes that pass. Nothing else is ever
// repeated: a write whose answer was lost may have happened.
func retryReads(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if ctx.Value(methodKey{}) != http.MethodGet {
		return false, nil
	}
	if err != nil {
		return !errors.As(err, new(*tooMuchError)), nil
	}
	return resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= http.StatusInternalServerError, nil
}

// oneOrTheOther drops an answer that came as its context ended: an http.RoundTripper
// that returns both makes net/http log a line of its own.
func oneOrTheOther(resp *http.Response, err error, _ int) (*http.Response, error) {
	if err != nil && resp != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, err
}

// sameHost follows no redirect to another server, where the token would go too
// (net/http keeps it for another port and for http after https), nor one that
// turns a write into a read.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme || req.Method != first.Method {
		return http.ErrUseLastResponse
	}
	return nil
}

// read makes an SDK client for reading. The SDK keeps one context per client,
// so every call has a client of its own; that costs nothing on the wire.
func (c *Client) read(ctx context.Context) (*sdk.Client, error) {
	return c.sdk(context.WithValue(ctx, methodKey{}, http.MethodGet))
}

func (c *Client) sdk(ctx context.Context) (*sdk.Client, error) {
	client, err := sdk.NewClient(c.cfg.Server,
		sdk.SetToken(c.cfg.Token), sdk.SetHTTPClient(c.http), sdk.SetContext(ctx),
		// No feature is decided by version: Forgejo and builds without one would be misread.
		sdk.SetGiteaVersion(""))
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", c.cfg.Server, err)
	}
	return client, nil
}

// get reads one JSON page that the SDK has no faithful type for. total is the
// server's X-Total-Count, or -1.
func (c *Client) get(ctx context.Context, path string, query url.Values, into any) (resp *sdk.Response, total int, err error) {
	return c.fetch(context.WithValue(ctx, methodKey{}, http.MethodGet), path, query, into)
}

// request makes a request of the API with the account's token. body is sent as JSON,
// nil as nothing.
func (c *Client) request(ctx context.Context, method, path string, query url.Values, body any) (*http.Request, error) {
	address := c.cfg.Server + "/api/v1" + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "token "+c.cfg.Token)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// fetch is get without a second try.
func (c *Client) fetch(ctx context.Context, path string, query url.Values, into any) (resp *sdk.Response, total int, err error) {
	req, err := c.request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, -1, err
	}
	raw, err := c.http.Do(req)
	if err != nil {
		return nil, -1, err
	}
	defer raw.Body.Close()
	resp = &sdk.Response{Response: raw}
	if raw.StatusCode != http.StatusOK {
		var answer struct {
			Message string `json:"message"`
		}
		if err := json.NewDecoder(raw.Body).Decode(&answer); err != nil || answer.Message == "" {
			return resp, -1, fmt.Errorf("status %d", raw.StatusCode)
		}
		return resp, -1, errors.New(answer.Message)
	}
	if err := json.NewDecoder(raw.Body).Decode(into); err != nil {
		return resp, -1, fmt.Errorf("the answer is not the JSON expected: %w", err)
	}
	total, err = strconv.Atoi(raw.Header.Get("X-Total-Count"))
	if err != nil {
		total = -1
	}
	return resp, total, nil
}

func (c *Client) path(rest string, args ...any) string {
	return fmt.Sprintf("/repos/%s/%s", url.PathEscape(c.cfg.Owner), url.PathEscape(c.cfg.Name)) + fmt.Sprintf(rest, args...)
}

// what names the pull request in errors.
func (c *Client) what() string { return fmt.Sprintf("%s#%d", c.repo(), c.cfg.Number) }

// repo names the repository in errors.
func (c *Client) repo() string { return c.cfg.Owner + "/" + c.cfg.Name }

// Pull reads the pull request.
func (c *Client) Pull(ctx context.Context) (reviewer.Pull, error) {
	doing := "reading " + c.what()
	client, err := c.read(ctx)
	if err != nil {
		return reviewer.Pull{}, c.explain(doing, "", nil, err)
	}
	p, resp, err := client.GetPullRequest(c.cfg.Owner, c.cfg.Name, c.cfg.Number)
	if err != nil {
		return reviewer.Pull{}, c.explain(doing, "write:repository", resp, c.missing(ctx, resp, err))
	}
	if p.Head == nil || p.Base == nil || !fullSHA.MatchString(p.Head.Sha) {
		return reviewer.Pull{}, c.explain(doing, "", resp, errors.New("the answer names no head commit"))
	}
	pull := reviewer.Pull{
		Number: p.Index, Title: p.Title, Body: p.Body, URL: p.HTMLURL,
		Head: p.Head.Sha, Base: p.Base.Sha, BaseBranch: p.Base.Ref, MergeBase: p.MergeBase,
		Closed: p.State != sdk.StateOpen, Draft: p.Draft,
	}
	pull.Repo, _, _ = strings.Cut(p.HTMLURL, "/pulls/")
	if p.Poster != nil {
		pull.Author = reviewer.User{ID: p.Poster.ID, Login: p.Poster.UserName}
	}
	return pull, nil
}

var fullSHA = regexp.MustCompile(`^[0-9a-f]{40}$`)

// errNoRepo tells an unknown repository from an unknown pull request: the
// server answers 404 to both.
var errNoRepo = errors.New("no such repository, or this token may not see it")

func (c *Client) missing(ctx context.Context, resp *sdk.Response, err error) error {
	if resp == nil || resp.StatusCode != http.StatusNotFound {
		return err
	}
	client, cerr := c.read(ctx)
	if cerr != nil {
		return err
	}
	if _, resp, rerr := client.GetRepo(c.cfg.Owner, c.cfg.Name); rerr != nil && resp != nil && resp.StatusCode == http.StatusNotFound {
		return errNoRepo
	}
	return errors.New("no such pull request")
}

// Diff reads the pull request's diff.
func (c *Client) Diff(ctx context.Context) ([]byte, error) {
	doing := "reading the diff of " + c.what()
	client, err := c.read(ctx)
	if err != nil {
		return nil, c.explain(doing, "", nil, err)
	}
	data, resp, err := client.GetPullRequestDiff(c.cfg.Owner, c.cfg.Name, c.cfg.Number, sdk.PullRequestDiffOptions{})
	if err != nil {
		return nil, c.explain(doing, "write:repository", resp, err)
	}
	return data, nil
}

func row(r sdk.PullReview) reviewer.Row {
	out := reviewer.Row{
		ID: r.ID, State: escalation.RowState(r.State), Body: r.Body, Official: r.Official, Dismissed: r.Dismissed,
		Stale: r.Stale, Commit: r.CommitID, URL: r.HTMLURL, Submitted: r.Submitted, Comments: r.CodeCommentsCount,
		CommentID: commentID(r.HTMLURL),
	}
	if r.Reviewer != nil { // nil for a team's review request
		out.Author = r.Reviewer.ID
	}
	return out
}

// commentID reads the timeline entry's id off a review's page address, which is
// the only place where the list of reviews tells it. The address is empty if a
// writer has deleted the entry.
func commentID(htmlURL string) int64 {
	_, fragment, _ := strings.Cut(htmlURL, "#issuecomment-")
	id, err := strconv.ParseInt(fragment, 10, 64)
	if err != nil {
		return 0
	}
	return id
}
