package reviewer_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
	"review-bot/reviewer/untrusted"
)

// story is one pull request on a forge in memory, with real runs of a role by a model
// that remembers what it was asked. It is quick: hundreds of runs take a second.
type story struct {
	tb     testing.TB
	forge  *forgetest.Forge
	shared *forgetest.Shared

	asked  []prompts.Request                         // all requests to the model so far
	answer func(prompts.Request) prompts.Answer      // nil: nothing is wrong
	refuse func(prompts.Request) error               // of the model's server; nil: it takes everything
	window int                                       // of the model, as its server says it
	wrap   func(reviewer.Forge) reviewer.Forge       // puts something between the runs and the forge; nil: nothing
	slept  func(f *forgetest.Forge, d time.Duration) // called as a run pauses; the forge's clock has moved on
	log    []string                                  // what the runs told
	random *rand.ChaCha8
	writes int // requests that wrote something other than the lock
}

func newStory(tb testing.TB, o forgetest.Options) *story {
	f := forgetest.New(o)
	return &story{tb: tb, forge: f, shared: forgetest.Share(f), random: rand.NewChaCha8([32]byte{1})}
}

// settings are those of a role that blocks from major on.
func (s *story) settings() reviewer.Settings {
	return reviewer.Settings{
		Role: "logic", Repo: "owner/app", Number: 1, Model: "test-model", Instructions: "Look for defects.", BlockOn: prompts.High,
		Inline: reviewer.InlineReview, MaxTokens: reviewer.DefaultMaxTokens, MaxCalls: reviewer.DefaultMaxCalls,
		MaxRounds: reviewer.DefaultMaxRounds, Lock: reviewer.DefaultLock,
	}
}

// env is the world of a run by an account.
func (s *story) env(login string) reviewer.Env {
	view := s.shared.As(login)
	view.Hook = func(c forgetest.Call) error {
		if c.Done && c.Op.Writes() && c.Op != forgetest.React && c.Op != forgetest.Unreact {
			s.shared.Do(func(*forgetest.Forge) { s.writes++ })
		}
		return nil
	}
	var forge reviewer.Forge = view
	if s.wrap != nil {
		forge = s.wrap(forge)
	}
	return reviewer.Env{
		Forge: forge, Model: s, Token: "token of " + login, Secrets: untrusted.NewMasker(), Random: s.random,
		Now: func() (now time.Time) {
			s.shared.Do(func(f *forgetest.Forge) { now = f.Now() })
			return now
		},
		Sleep: func(_ context.Context, d time.Duration) {
			s.shared.Do(func(f *forgetest.Forge) {
				f.Advance(max(d, time.Second))
				if s.slept != nil {
					s.slept(f, d)
				}
			})
		},
		Log: func(p reviewer.Progress) { s.log = append(s.log, p.Phase+": "+p.Text) },
	}
}

// run reviews once with the account bot. An error is the test's to judge.
func (s *story) run(edits ...func(*reviewer.Settings)) (reviewer.Result, error) {
	set := s.settings()
	for _, edit := range edits {
		edit(&set)
	}
	s.forge.Advance(time.Second)
	return reviewer.Review(s.tb.Context(), set, s.env("bot"))
}

// mustRun is run without an error.
func (s *story) mustRun(edits ...func(*reviewer.Settings)) reviewer.Result {
	s.tb.Helper()
	r, err := s.run(edits...)
	if err != nil {
		s.tb.Fatalf("%v\n%s", err, strings.Join(s.log, "\n"))
	}
	return r
}

// Review answers as the story's model.
func (s *story) Review(_ context.Context, req prompts.Request) (prompts.Answer, reviewer.Usage, error) {
	var a prompts.Answer
	if s.refuse != nil {
		if err := s.refuse(req); err != nil {
			return a, reviewer.Usage{Model: "test-model", Calls: 1}, err
		}
	}
	s.shared.Do(func(*forgetest.Forge) { // parts are asked about side by side
		s.asked = append(s.asked, req)
		if s.answer != nil {
			a = s.answer(req)
		}
	})
	if a.Summary == "" {
		a.Summary = "Looked at it."
	}
	return a, reviewer.Usage{Model: "test-model", Calls: 1, Prompt: 1000, Completion: 10, Window: s.window}, nil
}

// shown reports whether a text was in what the model was shown, in the requests from
// the n-th on.
func (s *story) shown(text string, n int) bool {
	for _, req := range s.asked[n:] {
		if strings.Contains(req.Material, text) {
			return true
		}
	}
	return false
}

// honest blocks each line that it is shown with EVIL in it, and knows nothing else.
func honest(req prompts.Request) prompts.Answer {
	var a prompts.Answer
	path := ""
	for line := range strings.Lines(req.Material) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "file: "); ok {
			path = name
		}
		if _, code, ok := strings.Cut(line, "+ "); ok && strings.Contains(code, "EVIL") {
			a.Findings = append(a.Findings, prompts.Finding{
				Path: path, Side: "new", Quote: code, Severity: prompts.High, Category: "security", Title: "Evil", Body: "It is evil.",
			})
		}
	}
	return a
}

// approvedAt are the commits of the account's official approvals that aren't dismissed.
func (s *story) approvedAt() []string {
	s.tb.Helper()
	rows, err := s.shared.As("bot").Reviews(s.tb.Context())
	if err != nil {
		s.tb.Fatal(err)
	}
	var commits []string
	for _, r := range rows {
		if r.State == "APPROVED" && r.Official && !r.Dismissed {
			commits = append(commits, r.Commit)
		}
	}
	return commits
}

// numbered are unique lines: no two calls with other words have one in common.
func numbered(words string, n int) string {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%s, line %d of it\n", words, i)
	}
	return b.String()
}
