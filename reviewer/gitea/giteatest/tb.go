package giteatest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
)

// TB is the part of testing.TB that this package needs. Fatalf must not return
// to its caller. The context bounds every request and every git command.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Context() context.Context
}

// Try runs fn outside of a test and returns what fn's first Fatalf said, or nil.
// fn runs on a goroutine of its own, which ends at the Fatalf. A panic of fn is
// passed on to the caller.
func Try(ctx context.Context, fn func(TB)) error {
	t := &try{ctx: ctx}
	var panicked any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		fn(t)
	}()
	<-done
	if panicked != nil {
		panic(panicked)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

type try struct {
	ctx context.Context
	mu  sync.Mutex
	err error
}

// Helper does nothing.
func (t *try) Helper() {}

// Context is the one that Try got.
func (t *try) Context() context.Context { return t.ctx }

// Logf does nothing: a program has its own way of telling.
func (t *try) Logf(string, ...any) {}

// Fatalf ends the goroutine; the first one's message is Try's error.
func (t *try) Fatalf(format string, args ...any) {
	t.mu.Lock()
	if t.err == nil {
		t.err = fatal{message: fmt.Sprintf(format, args...), cause: firstError(args)}
	}
	t.mu.Unlock()
	runtime.Goexit()
}

// fatal keeps the error that a Fatalf printed, so that errors.Is and errors.As
// see through it.
type fatal struct {
	message string
	cause   error
}

func (f fatal) Error() string { return f.message }
func (f fatal) Unwrap() error { return f.cause }

func firstError(args []any) error {
	for _, a := range args {
		if err, ok := a.(error); ok {
			return err
		}
	}
	return nil
}

// check is the whole of the package's test wrapping: err ends the test.
func check(tb TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("%v", err)
	}
}
