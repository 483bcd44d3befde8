package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"review-bot/prompts"
	"review-bot/reviewer"
)

const (
	// sayEvery is how often the log says that the model is still being waited for. A
	// job that shows nothing for long looks dead.
	sayEvery = 10 * time.Second
	// showEvery is how often a terminal's line is renewed.
	showEvery = time.Second
)

// clock tells the time, and ticks until it is stopped.
type clock struct {
	now  func() time.Time
	tick func(time.Duration) (ticks <-chan time.Time, stop func())
}

func realClock() clock {
	return clock{time.Now, func(d time.Duration) (<-chan time.Time, func()) {
		t := time.NewTicker(d)
		return t.C, t.Stop
	}}
}

// patient is a model that tells how long it has been waited for.
type patient struct {
	reviewer.Model

	name  string
	out   *output
	clock clock

	mu    sync.Mutex
	calls int // under way
	began time.Time
	stop  func() // ends the telling, and waits until it has
}

// Review asks the model. Of calls side by side the first begins the telling and
// the last ends it.
func (p *patient) Review(ctx context.Context, req prompts.Request) (prompts.Answer, reviewer.Usage, error) {
	p.enter()
	defer p.leave()
	return p.Model.Review(ctx, req)
}

func (p *patient) enter() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls++; p.calls > 1 {
		return
	}
	p.began = p.clock.now()
	every := sayEvery
	if p.out.live {
		every = showEvery
	}
	ticks, stopTicks := p.clock.tick(every)
	ended, done := make(chan struct{}), make(chan struct{})
	p.stop = func() {
		close(ended)
		<-done
		stopTicks()
	}
	began := p.began
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
				return
			case <-ticks:
				p.out.waiting("waiting for "+p.name, p.clock.now().Sub(began))
			}
		}
	}()
}

func (p *patient) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls--; p.calls == 0 {
		p.stop()
	}
}

// waiting says how long the model has been waited for: a line of the log, or on a
// terminal one that the next one overwrites.
func (o *output) waiting(text string, took time.Duration) {
	if !o.live {
		o.progress(reviewer.Progress{Phase: "ask", Text: text, Took: took})
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	line := o.mask.Redact(fmt.Sprintf("%-9s %s %.0f s", "ask", printable(text), took.Seconds()))
	if r := []rune(line); len(r) > 78 { // a line that wraps can't be overwritten
		line = string(r[:77]) + "…"
	}
	n := len([]rune(line))
	fmt.Fprintf(o.stderr, "\r%s%*s", line, max(o.shown-n, 0), "")
	o.shown = max(o.shown, n)
}

// clear takes the live line away.
func (o *output) clear() {
	if o.shown > 0 {
		fmt.Fprintf(o.stderr, "\r%*s\r", o.shown, "")
		o.shown = 0
	}
}

// terminal tells whether somebody is looking on.
func terminal(w io.Writer, env map[string]string) bool {
	f, ok := w.(*os.File)
	if !ok || env["CI"] != "" || env["GITHUB_ACTIONS"] != "" || env["TERM"] == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
