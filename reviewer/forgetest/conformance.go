package forgetest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/sentinel"
)

// Conformance checks a forge, fact by fact, against what real servers of its dialect
// do. Each fact gets a pull request of its own. A fact that holds of other dialects
// only must not hold here: that servers differ in it is a fact, too.
func Conformance(t *testing.T, newBench func(t TB, s Setup) Bench) {
	for _, facts := range [][]fact{
		verdictFacts, gateFacts, dismissalFacts, requestFacts, pushFacts, textFacts, pendingFacts, refusalFacts, pullFacts, lockFacts,
		conversationFacts, fileFacts, changeFacts, sayFacts, listFacts, dialectFacts,
	} {
		for _, f := range facts {
			t.Run(f.name, func(t *testing.T) {
				bench := newBench(t, f.setup)
				if f.setup.where == nil || f.setup.where(bench.Dialect()) {
					f.check(&lab{TB: t, Bench: bench})
					return
				}
				if !f.differs(t.Context(), func(t TB) Bench { return newBench(t, f.setup) }) {
					t.Errorf("it holds of %s, too, where it shouldn't", bench.Dialect().Name)
				}
			})
		}
	}
}

// TB is the part of testing.TB that the suite needs. Fatalf must not return to its caller.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

// differs reports whether the fact's check fails.
func (f fact) differs(ctx context.Context, newBench func(TB) Bench) bool {
	r := &record{ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if recover() != nil { // it has read what isn't there
				r.failed.Store(true)
			}
		}()
		f.check(&lab{TB: r, Bench: newBench(r)})
	}()
	<-done
	return r.failed.Load()
}

// record notes whether a check has failed.
type record struct {
	ctx    context.Context
	failed atomic.Bool
}

func (r *record) Helper()                  {}
func (r *record) Logf(string, ...any)      {}
func (r *record) Errorf(string, ...any)    { r.failed.Store(true) }
func (r *record) Context() context.Context { return r.ctx }

func (r *record) Fatalf(string, ...any) {
	r.failed.Store(true)
	runtime.Goexit()
}

// A fact is something that a server does, named by what it is.
type fact struct {
	name  string
	setup Setup
	check func(*lab)
}

// lab is a bench in a test.
type lab struct {
	TB
	Bench
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatalf("%v", err)
	}
}

// refused fails unless there is an error with the words in its [Outcome].
func (l *lab) refused(err error, words string) {
	l.Helper()
	if err == nil || !strings.Contains(Outcome(err), words) {
		l.Errorf("error %v, want one that says %q", err, words)
	}
}

// asked fails unless a request for review changed nothing.
func (l *lab) asked(err error) {
	l.Helper()
	if !errors.Is(err, reviewer.ErrAsked) {
		l.Errorf("error %v, want ErrAsked", err)
	}
}

func (l *lab) status(got, want int) {
	l.Helper()
	if got != want {
		l.Errorf("status %d, want %d", got, want)
	}
}

func (l *lab) pull() reviewer.Pull {
	l.Helper()
	p, err := l.As("bot").Pull(l.Context())
	l.must(err)
	return p
}

func (l *lab) id(name string) int64 {
	l.Helper()
	u, err := l.As(name).Account(l.Context())
	l.must(err)
	return u.ID
}

// on is an inline comment on a line that the pull request has.
func on(body string) reviewer.NewComment {
	return reviewer.NewComment{Path: "new.go", NewLine: 3, Body: body}
}

// try posts a review of the head.
func (l *lab) try(who string, event sentinel.Verdict, body string, comments ...reviewer.NewComment) (reviewer.Row, error) {
	l.Helper()
	return l.As(who).PostReview(l.Context(), reviewer.NewReview{Event: event, Commit: l.pull().Head, Body: body, Comments: comments})
}

func (l *lab) post(who string, event sentinel.Verdict, body string, comments ...reviewer.NewComment) reviewer.Row {
	l.Helper()
	row, err := l.try(who, event, body, comments...)
	l.must(err)
	return row
}

// rows are the reviews of one account as another sees them.
func (l *lab) rows(viewer, author string) []reviewer.Row {
	l.Helper()
	rows, err := l.As(viewer).Reviews(l.Context())
	l.must(err)
	id := l.id(author)
	return slices.DeleteFunc(rows, func(r reviewer.Row) bool { return r.Author != id })
}

func (l *lab) row(id int64) reviewer.Row {
	l.Helper()
	rows, err := l.As("owner").Reviews(l.Context())
	l.must(err)
	for _, r := range rows {
		if r.ID == id {
			return r
		}
	}
	l.Fatalf("no review %d in the list", id)
	return reviewer.Row{}
}

// wantRows compares an account's reviews, oldest first, by state and marks.
func (l *lab) wantRows(author string, want ...string) {
	l.Helper()
	var got []string
	for _, r := range l.rows("owner", author) {
		got = append(got, flags(r))
	}
	if !slices.Equal(got, want) {
		l.Errorf("the reviews of %s are %q, want %q", author, got, want)
	}
}

func (l *lab) since(t time.Time) []reviewer.Entry {
	l.Helper()
	entries, err := l.As("bot").Timeline(l.Context(), t, nil)
	l.must(err)
	return entries
}

// entries are those of a kind, oldest first.
func (l *lab) entries(kind escalation.EntryKind) []reviewer.Entry {
	l.Helper()
	return slices.DeleteFunc(l.since(time.Time{}), func(e reviewer.Entry) bool { return e.Kind != kind })
}

// entry is the only one of a kind.
func (l *lab) entry(kind escalation.EntryKind) reviewer.Entry {
	l.Helper()
	all := l.entries(kind)
	if len(all) != 1 {
		l.Fatalf("%d entries of kind %s, want one: %+v", len(all), kind, all)
	}
	return all[0]
}

func (l *lab) comments(viewer string, review int64) []reviewer.Comment {
	l.Helper()
	list, err := l.As(viewer).Comments(l.Context(), review)
	l.must(err)
	slices.SortFunc(list, func(a, b reviewer.Comment) int { return int(a.ID - b.ID) })
	return list
}

// texts are the bodies of a review's inline comments.
func (l *lab) texts(viewer string, review int64) []string {
	l.Helper()
	var texts []string
	for _, c := range l.comments(viewer, review) {
		texts = append(texts, c.Body)
	}
	return texts
}

func (l *lab) wantTexts(viewer string, review int64, want ...string) {
	l.Helper()
	if got := l.texts(viewer, review); !slices.Equal(got, want) {
		l.Errorf("inline comments of review %d: %q, want %q", review, got, want)
	}
}

// The merge endpoint's words.
const (
	open        = ""
	rejected    = "There are requested changes"
	unapproved  = "Does not have enough approvals"
	unrequested = "There are official review requests"
)

// judge asks the merge endpoint, and is the last thing that a fact does.
func (l *lab) judge(want string) {
	l.Helper()
	if merged, reason := l.Merge(); merged != (want == open) || !merged && reason != want {
		l.Errorf("merged: %t, %q; want %q", merged, reason, want)
	}
}

// blocking and approving are the protections that most facts are about.
func blocking() Setup { return Setup{Protection: &Protection{BlockOnRejected: true}} }
func approving() Setup {
	return Setup{Protection: &Protection{BlockOnRejected: true, RequiredApprovals: 1}}
}
