package giteatest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Proxy is between a client and a server, records the requests and makes
// faults. Requests and answers are passed on whole, not in parts. Links in
// answers name the server's own address, not the proxy's.
//
// Every request comes on a connection of its own: on a kept one, Go's client
// repeats a request that was cut off, and the count would be wrong.
type Proxy struct {
	// URL is the proxy's address without a slash at the end.
	URL string

	target string
	client *http.Transport
	server *http.Server
	ctx    context.Context // ends at Close, and with it all waiting
	cancel context.CancelFunc

	mu       sync.Mutex
	listener net.Listener // nil while connections are refused
	requests []*Request
	hook     Hook
}

// A Request is one request that the proxy has seen.
type Request struct {
	N      int // from 1, since the start or the last Reset
	Method string
	Path   string // escaped, without the query
	Query  string // without the question mark
	Header http.Header
	Body   []byte
	// Status is the answer's: the server's, a fault's own, 502 when the server
	// couldn't be reached; 0 while there is none. A cut after forwarding keeps the
	// status that the client never saw.
	Status int
	// Forwarded says that the server got the request; Cut that the client got no
	// answer.
	Forwarded, Cut bool
}

// Line is method, path and query in one line: "GET /api/v1/user?x=1".
func (r Request) Line() string {
	if r.Query == "" {
		return r.Method + " " + r.Path
	}
	return r.Method + " " + r.Path + "?" + r.Query
}

// A Hook is called with every request before anything is done with it, by many
// goroutines at a time. It returns the fault to make, nil for none. It must not
// change or keep the request.
type Hook func(*Request) *Fault

// A Fault is what goes wrong with a request. The fields are taken in their order:
// Hold, Delay, Refuse, CutBefore, Status, then forwarding, Forwarded, CutAfter, Half,
// Drip. The zero value is none.
type Fault struct {
	// Hold keeps the request back until the channel is closed, or a value was
	// received: a channel that holds one value lets one request through.
	Hold <-chan struct{}
	// Delay keeps it back for a time.
	Delay time.Duration
	// Refuse is CutBefore, and further connections are refused until Listen is called.
	Refuse bool
	// CutBefore closes the connection; the server never gets the request.
	CutBefore bool
	// Status, unless 0, is answered with Header and Body; the server never gets the
	// request.
	Status int
	Header http.Header
	Body   string
	// Forwarded is called when the server has answered and the client has seen
	// nothing of it yet: where a process dies that is killed after a request.
	Forwarded func(Request)
	// CutAfter closes the connection instead of passing the answer on.
	CutAfter bool
	// Half passes on the answer's status, headers and half of its body, and then closes
	// the connection. Without a body it is CutAfter.
	Half bool
	// Drip is a pause after each byte of the answer's body.
	Drip time.Duration
}

// NewProxy starts a proxy in front of the server on a free loopback port. Close
// stops it.
func (s *Server) NewProxy(tb TB) *Proxy {
	tb.Helper()
	p, err := StartProxy(s.URL)
	check(tb, err)
	return p
}

// StartProxy starts a proxy in front of any http server; target is its address,
// without a path.
func StartProxy(target string) (*Proxy, error) {
	p := &Proxy{
		URL:    "http://127.0.0.1:0",
		target: strings.TrimSuffix(target, "/"),
		// DisableCompression: what the client asked for is passed on as it is.
		client: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	p.server.SetKeepAlivesEnabled(false)
	if err := p.Listen(); err != nil {
		return nil, err
	}
	p.URL = "http://" + p.listener.Addr().String()
	return p, nil
}

// Listen takes connections again, after a fault that has them refused.
func (p *Proxy) Listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return nil
	}
	// For a moment somebody else's connection may have the port.
	err := Poll(p.ctx, 30*time.Second, p.URL+" is free", func() (bool, error) {
		var err error
		p.listener, err = new(net.ListenConfig).Listen(p.ctx, "tcp4", strings.TrimPrefix(p.URL, "http://"))
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("start a proxy for %s: %w", p.target, err)
	}
	go func(listener net.Listener) { _ = p.server.Serve(listener) }(p.listener) // until it is closed
	return nil
}

// refuse is what Listen ends.
func (p *Proxy) refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
}

// Close stops the proxy and cuts what is under way.
func (p *Proxy) Close() error {
	p.cancel()
	err := p.server.Close()
	p.client.CloseIdleConnections()
	if err != nil {
		return fmt.Errorf("stop the proxy %s: %w", p.URL, err)
	}
	return nil
}

// SetHook sets the hook for the requests to come; nil: none.
func (p *Proxy) SetHook(hook Hook) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// Reset forgets the requests so far and the hook. Requests under way aren't
// recorded any more.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests, p.hook = nil, nil
}

// Requests returns the requests so far in the order of their arrival.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Request, len(p.requests))
	for i, r := range p.requests {
		all[i] = *r
	}
	return all
}

// Writes returns the requests that aren't GET or HEAD.
func (p *Proxy) Writes() []Request {
	var writes []Request
	for _, r := range p.Requests() {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			writes = append(writes, r)
		}
	}
	return writes
}

// ServeHTTP handles one request of the client.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	body, err := io.ReadAll(in.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	r := &Request{Method: in.Method, Path: in.URL.EscapedPath(), Query: in.URL.RawQuery, Header: in.Header.Clone(), Body: body}
	p.mu.Lock()
	p.requests = append(p.requests, r)
	r.N = len(p.requests)
	seen, hook := *r, p.hook
	p.mu.Unlock()

	fault := Fault{}
	if hook != nil {
		if f := hook(&seen); f != nil {
			fault = *f
		}
	}
	p.handle(w, in, r, fault)
}

func (p *Proxy) handle(w http.ResponseWriter, in *http.Request, r *Request, fault Fault) {
	if fault.Hold != nil {
		await(p, in, r, fault.Hold)
	}
	if fault.Delay > 0 {
		await(p, in, r, time.After(fault.Delay))
	}
	switch {
	case fault.Refuse:
		p.refuse()
		p.cut(r)
	case fault.CutBefore:
		p.cut(r)
	case fault.Status != 0:
		p.answered(r, fault.Status, false)
		answer(w, fault.Status, fault.Header, []byte(fault.Body))
		return
	}

	status, header, body, err := p.forward(in, r)
	if err != nil {
		p.answered(r, http.StatusBadGateway, true)
		answer(w, http.StatusBadGateway, nil, []byte(err.Error()))
		return
	}
	seen := p.answered(r, status, true)
	if fault.Forwarded != nil {
		fault.Forwarded(seen)
	}
	if fault.CutAfter || fault.Half && len(body) == 0 {
		p.cut(r)
	}
	if fault.Half {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		answer(w, status, header, body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		p.cut(r)
	}
	if fault.Drip > 0 && len(body) > 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		answer(w, status, header, nil)
		for i := range body {
			_, _ = w.Write(body[i : i+1])
			_ = http.NewResponseController(w).Flush()
			await(p, in, r, time.After(fault.Drip))
		}
		return
	}
	answer(w, status, header, body)
}

// hopHeaders belong to a connection, not to the request.
var hopHeaders = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length"}

func (p *Proxy) forward(in *http.Request, r *Request) (status int, header http.Header, body []byte, err error) {
	to, err := url.Parse(p.target + in.URL.RequestURI())
	if err != nil {
		return 0, nil, nil, err
	}
	// Not the client's context: a server that got the request finishes it, whatever
	// became of the client.
	out, err := http.NewRequestWithContext(p.ctx, in.Method, to.String(), bytes.NewReader(r.Body))
	if err != nil {
		return 0, nil, nil, err
	}
	out.Header = in.Header.Clone()
	for _, name := range hopHeaders {
		out.Header.Del(name)
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = nil // keeps Go from adding its own
	}
	resp, err := p.client.RoundTrip(out)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, body, err
}

// await blocks until done says something. A client that goes away or the proxy's
// end cuts the request.
func await[T any](p *Proxy, in *http.Request, r *Request, done <-chan T) {
	select {
	case <-done:
	case <-in.Context().Done():
		p.cut(r)
	case <-p.ctx.Done():
		p.cut(r)
	}
}

// cut closes the client's connection without an answer. It doesn't return.
func (p *Proxy) cut(r *Request) {
	p.mu.Lock()
	r.Cut = true
	p.mu.Unlock()
	panic(http.ErrAbortHandler)
}

// answered notes the answer's status.
func (p *Proxy) answered(r *Request, status int, forwarded bool) Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Status, r.Forwarded = status, forwarded
	return *r
}

func answer(w http.ResponseWriter, status int, header http.Header, body []byte) {
	for name, values := range header {
		if !slices.Contains(hopHeaders, name) {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
