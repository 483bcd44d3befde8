package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"review-bot/prompts"
	"review-bot/reviewer"
)

// content is a file's.
func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// slow is a model that takes its time.
type slow time.Duration

func (s slow) Review(context.Context, prompts.Request) (prompts.Answer, reviewer.Usage, error) {
	time.Sleep(time.Duration(s))
	return prompts.Answer{}, reviewer.Usage{}, nil
}

// While the model thinks, the log says so at least every 15 seconds.
func TestProgressWhileTheModelIsSlow(t *testing.T) {
	if sayEvery > 15*time.Second {
		t.Errorf("the log says something every %s", sayEvery)
	}
	ask := func(p *patient) { _, _, _ = p.Review(t.Context(), prompts.Request{}) }
	synctest.Test(t, func(t *testing.T) {
		o, _, stderr := testOutput(nil)
		p := &patient{Model: slow(35 * time.Second), name: "gpt-5", out: o, clock: realClock()}
		ask(p)
		first := stderr.String()
		if want := "10.0 s 20.0 s 30.0 s"; seconds(first) != want || strings.Count(first, "ask       waiting for gpt-5 ") != 3 {
			t.Errorf("after 35 s the log says\n%s", first)
		}
		time.Sleep(time.Minute)
		if stderr.String() != first {
			t.Errorf("after the answer it still says\n%s", stderr)
		}
		ask(p) // anew, from 0
		if got := seconds(stderr.String()[len(first):]); got != "10.0 s 20.0 s 30.0 s" {
			t.Errorf("asked again: %s", got)
		}
	})
	synctest.Test(t, func(t *testing.T) { // parts, side by side: one line for all, from the first to the last
		o, _, stderr := testOutput(nil)
		p := &patient{Model: slow(18 * time.Second), name: "gpt-5", out: o, clock: realClock()}
		done := make(chan struct{})
		go func() { ask(p); close(done) }()
		time.Sleep(7 * time.Second)
		ask(p) // until 25 s
		<-done
		if got := seconds(stderr.String()); got != "10.0 s 20.0 s" {
			t.Errorf("two side by side: %s\n%s", got, stderr)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a quick one
		o, _, stderr := testOutput(nil)
		ask(&patient{Model: slow(9 * time.Second), name: "gpt-5", out: o, clock: realClock()})
		if stderr.Len() > 0 {
			t.Errorf("after 9 s the log says\n%s", stderr)
		}
	})
}

// seconds are the times at the lines' ends.
func seconds(log string) string {
	var list []string
	for line := range strings.Lines(log) {
		words := strings.Fields(line)
		list = append(list, strings.Join(words[len(words)-2:], " "))
	}
	return strings.Join(list, " ")
}

// On a terminal one line is overwritten, and gone when the next one comes.
func TestLiveLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, _, stderr := testOutput(nil)
		o.live = true
		p := &patient{Model: slow(3500 * time.Millisecond), name: "gpt-5", out: o, clock: realClock()}
		_, _, _ = p.Review(t.Context(), prompts.Request{})
		if want := "\rask       waiting for gpt-5 1 s\rask       waiting for gpt-5 2 s\rask       waiting for gpt-5 3 s"; stderr.String() != want {
			t.Errorf("it shows %q, want %q", stderr, want)
		}
		stderr.Reset()
		o.progress(reviewer.Progress{Phase: "ask", Text: "done"})
		if want := "\r" + strings.Repeat(" ", 31) + "\rask       done\n"; stderr.String() != want {
			t.Errorf("then it shows %q, want %q", stderr, want)
		}
		stderr.Reset()
		o.waiting("a long text, "+strings.Repeat("x", 200), time.Second)
		o.waiting("a short one", time.Second)
		o.closeLog()
		lines := strings.Split(stderr.String(), "\r")
		if n := len([]rune(lines[1])); n != 78 || len([]rune(lines[2])) != 78 || strings.TrimSpace(lines[3]) != "" || lines[4] != "" {
			t.Errorf("a line that is too long: %q", lines)
		}
	})
}

func TestTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull) // a device as a terminal is
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	plain, err := os.Open(file(t, "log", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if !terminal(null, nil) || terminal(plain, nil) || terminal(new(strings.Builder), nil) {
		t.Error("a device is one, a file and a buffer are none")
	}
	for _, name := range []string{"CI", "GITHUB_ACTIONS"} {
		if terminal(null, map[string]string{name: "true"}) {
			t.Errorf("with %s nobody looks on", name)
		}
	}
	if terminal(null, map[string]string{"TERM": "dumb"}) {
		t.Error("a dumb terminal can't overwrite a line")
	}
}
