package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// Environment variables of the tests: which attacks are run (a regular expression for their
// names; without it the quick ones), and a program to run them against instead of this one, an
// older release: then each case must end as its line `before` says.
const (
	attacksVariable = "REVIEW_BOT_ATTACKS"
	programVariable = "REVIEW_BOT_ATTACK_PROGRAM"
)

// Every case of testdata/attacks is played with the real program on a real server. The judges
// are the merge endpoint, the list of reviews, what the model was shown, and what the runner
// reads in the log.
func TestAttacks(t *testing.T) {
	t.Parallel()
	cases := attackCases(t)
	selected := regexp.MustCompile(os.Getenv(attacksVariable))
	newArena(t)
	for _, c := range cases {
		if len(c.Steps) == 0 || !selected.MatchString(c.name) {
			continue
		}
		if selected.String() == "" && (!c.Quick || c.Until != "") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			faults := c.play(t)
			t.Logf("%.1f s", time.Since(began).Seconds())
			c.verdict(t, faults)
		})
	}
}

// verdict compares what went wrong with what the case says about it.
func (c attackCase) verdict(t *testing.T, faults []string) {
	t.Helper()
	text := strings.Join(faults, "\n")
	before, _, _ := strings.Cut(c.Before, ":")
	switch {
	case os.Getenv(programVariable) != "":
		if (len(faults) > 0) != (before == "fails") {
			t.Errorf("%s: the case says %q of the program before, and these are its faults:\n%s", c.Title, c.Before, text)
		} else {
			t.Logf("as it was: %s\n%s", c.Before, text)
		}
	case c.Until != "" && len(faults) == 0:
		t.Errorf("%s: it holds now: remove the line `until: %s`", c.Title, c.Until)
	case c.Until != "":
		t.Logf("open until %s: %s", c.Until, text)
	case len(faults) > 0:
		t.Errorf("%s:\n%s", c.Title, text)
	}
}

// The corpus says of every case what became of it before, has two of every kind, and one
// that is quick enough to be run always.
func TestAttackCorpus(t *testing.T) {
	t.Parallel()
	kinds, quick := map[string]int{}, map[string]int{}
	for _, c := range attackCases(t) {
		kind, _, _ := strings.Cut(c.name, "/")
		kinds[kind]++
		if c.Quick {
			quick[kind]++
		}
		before, why, _ := strings.Cut(c.Before, ":")
		if c.Title == "" || before != "fails" && (before != "holds" || strings.TrimSpace(why) == "") {
			t.Errorf("%s: want a title, and before: fails, or holds and why; got %q, %q", c.name, c.Title, c.Before)
		}
		if len(c.Steps) == 0 && c.Elsewhere == "" {
			t.Errorf("%s has no steps", c.name)
		}
		for i, s := range c.Steps {
			if n := s.count(); n != 1 {
				t.Errorf("%s: step %d does %d things, want one", c.name, i+1, n)
			}
		}
		if c.Elsewhere != "" {
			c.found(t)
		}
	}
	for kind, n := range kinds {
		if n < 2 || quick[kind] == 0 {
			t.Errorf("%s: %d cases and %d quick ones, want 2 and 1 at least", kind, n, quick[kind])
		}
	}
}

// found checks that the test exists that a case refers to.
func (c attackCase) found(t *testing.T) {
	t.Helper()
	folder, test, _ := strings.Cut(c.Elsewhere, " ")
	files, _ := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && bytes.Contains(data, []byte("\nfunc "+test+"(")) {
			return
		}
	}
	t.Errorf("%s: there is no test %s in %s", c.name, test, folder)
}

// A play is a case under way.
type play struct {
	attackCase
	*testing.T
	stage
	arena  *arena
	pulls  []stage
	branch map[string]string // of the bases, by their names in the case
	tips   map[string]string // their commits
	heads  []string          // h1, h2 …
	diffs  map[string]string // what the server showed of a head
	asked  int
	token  string          // of the bot, where it got another one
	forks  map[string]bool // which topics are the outsider's
	dir    string          // for files that commands read
	late   *attackLate
	faulty []*attackFault
	mu     sync.Mutex // of late and faulty, which the proxy's hook uses
	faults []string

	rewritten bool // a person has edited a review
}

// over ends a case that can't go on.
type over struct{}

func newPlay(t *testing.T, c attackCase) *play {
	t.Helper()
	a := newArena(t)
	return &play{
		attackCase: c, arena: a, stage: stage{site: a.site}, T: t, dir: t.TempDir(),
		branch: map[string]string{}, tips: map[string]string{}, diffs: map[string]string{}, forks: map[string]bool{},
	}
}

// play plays the case and returns what wasn't as it must be.
func (c attackCase) play(t *testing.T) (faults []string) {
	t.Helper()
	p := newPlay(t, c)
	defer func() {
		faults = p.faults
		if r := recover(); r != nil {
			if _, ok := r.(over); !ok {
				panic(r)
			}
		}
	}()
	p.bases()
	for i, s := range c.Steps {
		p.step(s)
		if t.Failed() {
			t.Fatalf("in step %d", i+1)
		}
	}
	for _, st := range p.pulls {
		for _, fault := range st.look(t).disquiet() {
			// A text that a person has edited is left as it is, and its sentinel with it.
			if !p.rewritten || !strings.HasSuffix(fault, " current records") {
				p.fault("%s", fault)
			}
		}
	}
	return p.faults
}

func (p *play) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// step does one step.
func (p *play) step(s attackStep) {
	p.Helper()
	switch {
	case s.Open != nil:
		p.open(*s.Open)
	case s.Push != nil:
		p.pushes(*s.Push)
	case s.PushBase != nil:
		p.pushesBase(*s.PushBase)
	case s.Run != nil:
		p.runs(*s.Run)
	case s.Reconcile != nil:
		s.Reconcile.Args = append([]string{"reconcile"}, s.Reconcile.Flags...)
		p.runs(*s.Reconcile)
	case s.Settle != nil:
		p.settles(*s.Settle)
	case s.Late != nil:
		p.mu.Lock()
		p.late = s.Late
		p.mu.Unlock()
	case s.Fault != nil:
		p.mu.Lock()
		if p.faulty = append(p.faulty, s.Fault); s.Fault.Off {
			p.faulty = nil
		}
		p.mu.Unlock()
	case s.Wait != 0:
		time.Sleep(time.Duration(s.Wait))
	case s.Pull != 0:
		p.stage = p.pulls[s.Pull-1]
	case s.Expect != nil:
		p.expects(*s.Expect)
	default:
		p.persons(s)
	}
}

func (s attackStep) count() (n int) {
	data, _ := json.Marshal(s)
	var fields map[string]any
	_ = json.Unmarshal(data, &fields)
	for _, v := range fields {
		if v != nil && v != "" && v != 0.0 {
			n++
		}
	}
	return n
}
