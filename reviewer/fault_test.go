package reviewer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
	"review-bot/sentinel"
)

// A fault is what may become of a request.
type fault struct {
	name string
	done bool // the server has performed the request, and the answer is lost
	err  error
	// forever says that the server is gone for all requests that come after, too.
	forever bool
}

// passing makes the adapter's error of a fault that may pass.
func passing(text string) error { return fmt.Errorf("%s: %w", text, reviewer.ErrUnavailable) }

// unheard makes the adapter's error of a request of which nothing is known.
func unheard(text string) error {
	return fmt.Errorf("%s: %w: %w", text, reviewer.ErrUnavailable, reviewer.ErrUnknown)
}

// faults are those that a request may meet, each with what the adapter makes of it
// (see its own tests). Where the server may or may not have performed a write, both are here.
var faults = []fault{
	{name: "refused", err: passing("connection refused")},
	{name: "reset before", err: unheard("connection reset")},
	{name: "reset after", done: true, err: passing("connection reset")},
	{name: "timed out before", err: unheard("timed out")},
	{name: "timed out after", done: true, err: passing("timed out")},
	{name: "401", err: &forgetest.Refusal{Status: http.StatusUnauthorized, Message: "token is required"}},
	{name: "403", err: &forgetest.Refusal{Status: http.StatusForbidden, Message: "forbidden"}},
	{name: "404", err: &forgetest.Refusal{Status: http.StatusNotFound, Message: "not found"}},
	{name: "409", err: &forgetest.Refusal{Status: http.StatusConflict, Message: "conflict"}},
	{name: "422", err: &forgetest.Refusal{Status: http.StatusUnprocessableEntity, Message: "unprocessable"}},
	{name: "429", err: passing("the server answers 429, too many requests")},
	{name: "500", err: unheard("the server answered 500")},
	{name: "502", err: unheard("the server answered 502: <html>")},
	{name: "broken JSON", done: true, err: errors.New("what the server answered is no Gitea answer")},
	{name: "cut short", done: true, err: passing("the answer breaks off")},
	{name: "slow drip", done: true, err: passing("timed out reading the answer")},
	{name: "500 in the middle", err: forgetest.BrokenPost{Comments: 1}},
	{name: "down from here on", err: passing("connection refused"), forever: true},
}

// A request is one of a run: the n-th of its kind.
type request struct {
	op forgetest.Op
	n  int
}

// watched counts the requests of a run and makes a fault at one of them.
type watched struct {
	mu     sync.Mutex
	counts map[forgetest.Op]int
	at     request
	fault  *fault
	made   bool
}

func (w *watched) hook(c forgetest.Call) error {
	if c.Step != 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !c.Done {
		w.counts[c.Op]++
	}
	if w.made && w.fault.forever {
		return w.fault.err
	}
	if w.fault == nil || c.Op != w.at.op || w.counts[c.Op] != w.at.n || c.Done != w.fault.done {
		return nil
	}
	var broken forgetest.BrokenPost
	if errors.As(w.fault.err, &broken) && c.Op != forgetest.PostReview {
		return nil
	}
	w.made = true
	return w.fault.err
}

// A disturbance is a story up to a run that is to be disturbed.
type disturbance struct {
	name  string
	on    forgetest.Dialect
	set   func(*reviewer.Settings)
	start func(s *story)
	act   func(s *story, edit func(*reviewer.Settings)) error
	want  ending
}

// shut is a gate that lets nothing through: the account says nothing, or holds.
const shut = "shut"

// An ending is what must be once an undisturbed run has ended.
type ending struct {
	gate     string
	own      sentinel.Verdict
	findings int // comments with a finding of the role
}

const evilLine = "EVIL()\n"

var disturbances = []disturbance{
	{
		name:  "first review that blocks",
		start: func(s *story) { s.forge.Push("author", map[string]string{"evil.go": evilLine}) },
		act:   reviews, want: ending{"REQUEST_CHANGES", sentinel.RequestChanges, 1},
	},
	{
		name: "first review that approves", start: func(*story) {},
		act: reviews, want: ending{"APPROVED", sentinel.Approved, 0},
	},
	{
		name: "patch", start: func(s *story) {
			s.forge.Push("author", map[string]string{"evil.go": evilLine})
			s.mustRun()
			s.forge.Push("author", map[string]string{"more.go": evilLine})
		},
		act: reviews, want: ending{"REQUEST_CHANGES", sentinel.RequestChanges, 2},
	},
	{
		name: "supersede and repost", start: func(s *story) {
			s.mustRun()
			s.forge.Push("author", map[string]string{"evil.go": evilLine})
		},
		act: reviews, want: ending{"REQUEST_CHANGES", sentinel.RequestChanges, 1},
	},
	{
		name: "follow-up", set: func(set *reviewer.Settings) { set.MaxRounds = 1 }, start: func(s *story) {
			s.forge.Push("author", map[string]string{"evil.go": evilLine})
			s.mustRun(func(set *reviewer.Settings) { set.MaxRounds = 1 })
			s.forge.Push("author", map[string]string{"more.go": "fine()\n"})
		},
		act: reviews, want: ending{"REQUEST_CHANGES", sentinel.RequestChanges, 1},
	},
	{
		name: "reconcile takes an approval back", start: func(s *story) {
			s.mustRun()
			s.forge.Push("author", map[string]string{"evil.go": evilLine})
		},
		act: reconciles, want: ending{shut, sentinel.Approved, 0},
	},
	{
		name: "reconcile posts a block again", start: func(s *story) {
			s.forge.Push("author", map[string]string{"evil.go": evilLine})
			s.mustRun()
			if err := s.forge.As("author").RequestReview(context.Background(), "bot"); err != nil {
				panic(err)
			}
		},
		act: reconciles, want: ending{"REQUEST_CHANGES", sentinel.RequestChanges, 1},
	},
}

func reviews(s *story, edit func(*reviewer.Settings)) error {
	_, err := s.run(edit)
	return err
}

func reconciles(s *story, _ func(*reviewer.Settings)) error {
	s.forge.Advance(time.Second)
	_, err := reviewer.Reconcile(s.tb.Context(), s.settings(), "", s.env("bot"))
	return err
}

// Each request of each kind of run meets each fault, once. No unread head is approved
// and called a success, what fails says so in a line with what to do, and the next
// run that nothing disturbs ends as if nothing had happened.
func TestEveryFaultAtEveryRequest(t *testing.T) {
	t.Parallel()
	all := slices.Clone(disturbances)
	for _, d := range disturbances[:4] { // those that post, patch and supersede
		d.name, d.on = d.name+", on "+forgetest.Forgejo17.Name, forgetest.Forgejo17
		all = append(all, d)
	}
	for _, d := range all {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			made, requests := 0, d.requests(t)
			for _, at := range requests {
				for _, f := range faults {
					if d.disturbed(t, at, f) {
						made++
					}
				}
			}
			t.Logf("%d requests, %d faults made", len(requests), made)
			if made < 10*len(requests) {
				t.Errorf("only %d faults were made at %d requests", made, len(requests))
			}
		})
	}
}

// prepare is the story up to the run.
func (d disturbance) prepare(t *testing.T) *story {
	t.Helper()
	s := newStory(t, forgetest.Options{Dialect: d.on, Protection: &forgetest.Protection{BlockOnRejected: true, RequiredApprovals: 1}})
	s.answer = keepingHonest
	d.start(s)
	return s
}

var earlierID = regexp.MustCompile(`(?m)^## ([0-9a-f]{8}) · `)

// keepingHonest is honest, keeps what it has reported, and doesn't repeat it.
func keepingHonest(req prompts.Request) prompts.Answer {
	a := honest(req)
	for _, match := range earlierID.FindAllStringSubmatch(req.Task, -1) {
		a.Retained = append(a.Retained, match[1])
	}
	a.Findings = slices.DeleteFunc(a.Findings, func(f prompts.Finding) bool {
		return len(a.Retained) > 0 && strings.Contains(req.Task, f.Path)
	})
	return a
}

// requests are those that the run makes undisturbed.
func (d disturbance) requests(t *testing.T) (list []request) {
	t.Helper()
	s := d.prepare(t)
	w := &watched{counts: map[forgetest.Op]int{}}
	if err := d.watched(s, w); err != nil {
		t.Fatalf("%s, undisturbed: %v", d.name, err)
	}
	d.check(t, s, "undisturbed")
	for op, n := range w.counts {
		for i := range n {
			list = append(list, request{op, i + 1})
		}
	}
	slices.SortFunc(list, func(a, b request) int {
		return strings.Compare(fmt.Sprintf("%s %03d", a.op, a.n), fmt.Sprintf("%s %03d", b.op, b.n))
	})
	return list
}

func (d disturbance) edit(set *reviewer.Settings) {
	if d.set != nil {
		d.set(set)
	}
}

// watched acts once, watched.
func (d disturbance) watched(s *story, w *watched) error {
	s.wrap = func(f reviewer.Forge) reviewer.Forge {
		v, ok := f.(*forgetest.View)
		if !ok {
			s.tb.Fatalf("%T is no view", f)
		}
		v.Hook = w.hook
		return v
	}
	defer func() { s.wrap = nil }()
	return d.act(s, d.edit)
}

// disturbed plays the story with a fault, and reports whether the fault was made.
func (d disturbance) disturbed(t *testing.T, at request, f fault) bool {
	t.Helper()
	name := fmt.Sprintf("%s, %s at %s %d", d.name, f.name, at.op, at.n)
	s := d.prepare(t)
	w := &watched{counts: map[forgetest.Op]int{}, at: at, fault: &f}
	err := d.watched(s, w)
	if !w.made {
		return false
	}
	if err != nil && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), " — ")) {
		t.Errorf("%s: the error isn't one line with what to do: %v", name, err)
	}
	s.neverUnread(t, name, err)
	s.noLock(t, name, at, f)
	s.forge.Advance(2 * time.Minute) // a lock that was left expires
	if err := d.act(s, d.edit); err != nil {
		t.Errorf("%s: the next run fails: %v\n%s", name, err, strings.Join(s.log, "\n"))
	}
	d.check(t, s, name)
	return true
}

// neverUnread checks that no head is approved that the model wasn't shown, or has found
// to be bad, unless the run failed and said so.
func (s *story) neverUnread(t *testing.T, name string, err error) {
	t.Helper()
	if s.gate() != "APPROVED" || !strings.Contains(s.content(), "EVIL") {
		return
	}
	if err == nil {
		t.Errorf("%s: evil code is approved, and the run ended well\n%s", name, s.forge.Dump())
	} else if !strings.Contains(err.Error(), "required check") {
		t.Errorf("%s: evil code is approved, and the line doesn't say what holds the gate: %v", name, err)
	}
}

// content is the pull request's diff.
func (s *story) content() string {
	s.tb.Helper()
	text, err := s.forge.As("owner").Diff(s.tb.Context())
	if err != nil {
		s.tb.Fatal(err)
	}
	return string(text)
}

// gate is what the forge counts of the account.
func (s *story) gate() string {
	s.tb.Helper()
	rows, err := s.forge.As("bot").Reviews(s.tb.Context())
	if err != nil {
		s.tb.Fatal(err)
	}
	me, err := s.forge.As("bot").Account(s.tb.Context())
	if err != nil {
		s.tb.Fatal(err)
	}
	gate := ""
	for _, r := range rows {
		if r.Author == me.ID && r.Official && !r.Dismissed && (r.State == "APPROVED" || r.State == "REQUEST_CHANGES") {
			gate = string(r.State)
		}
	}
	return gate
}

// noLock checks that the lock is released, unless it was the lock that failed.
func (s *story) noLock(t *testing.T, name string, at request, f fault) {
	t.Helper()
	list, _, err := s.forge.As("bot").Reactions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(list) > 0 && !f.forever && at.op != forgetest.Unreact && !(at.op == forgetest.React && f.done) {
		t.Errorf("%s: a lock was left", name)
	}
}

// check compares what is with what must be at the end.
func (d disturbance) check(t *testing.T, s *story, name string) {
	t.Helper()
	got := ending{gate: s.gate()}
	rows, err := s.forge.As("bot").Reviews(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	newest := int64(0)
	for _, r := range rows {
		_, sent, err := sentinel.Split(r.Body)
		if err == nil && sent.Kind == sentinel.KindVerdict && r.CommentID >= newest {
			newest, got.own = r.CommentID, sent.Own
		}
		if r.State == "PENDING" {
			t.Errorf("%s: a review is pending", name)
		}
		comments, err := s.forge.As("bot").Comments(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range comments {
			got.findings += len(sentinel.Markers(c.Body))
		}
	}
	if d.want.gate == shut && got.gate != "APPROVED" {
		got.gate = shut
	}
	if got != d.want {
		t.Errorf("%s: ends with %+v, want %+v\n%s", name, got, d.want, s.forge.Dump())
	}
}
