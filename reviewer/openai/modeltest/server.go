package modeltest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is a [Handler] on a loopback port of its own.
type Server struct {
	handler *Handler
	http    *http.Server
	address string
	stop    context.CancelFunc
	served  chan struct{} // closed when the listener's loop has ended

	mu     sync.Mutex
	closed bool
	active sync.WaitGroup // requests being handled; grows only while not closed
}

// New starts a server that answers as script says, on a free port of
// 127.0.0.1. It panics if script is nil or if it can't listen. The caller
// closes it.
func New(script Script, opts ...Option) *Server {
	handler := NewHandler(script, opts...)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(fmt.Sprintf("modeltest: can't listen on a loopback port: %v", err))
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		handler: handler,
		address: listener.Addr().String(),
		stop:    stop,
		served:  make(chan struct{}),
	}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // always http.ErrServerClosed, or the port is gone and clients see it
	}()
	return s
}

// URL is the base URL, as OPENAI_BASE_URL takes it: it ends in /v1.
func (s *Server) URL() string { return "http://" + s.address + "/v1" }

// Requests is [Handler.Requests].
func (s *Server) Requests() []Request { return s.handler.Requests() }

// Count is [Handler.Count].
func (s *Server) Count() int { return s.handler.Count() }

// Close cuts all connections and waits until no request is being handled, so
// that no script runs afterwards; a script that blocks must therefore heed
// Request.Context. Closing twice does no harm.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	_ = s.http.Close() // only the listener's second close can fail
	<-s.served
	s.active.Wait()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	s.active.Add(1)
	s.mu.Unlock()
	defer s.active.Done()
	s.handler.ServeHTTP(w, r)
}
