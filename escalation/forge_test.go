package escalation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"review-bot/sentinel"
)

const (
	me       = int64(7) // the bot's account
	stranger = int64(8)
	person   = int64(9) // someone with every right
	author   = int64(10)
)

var (
	h1, h2, h3 = head(1), head(2), head(3)
	key        = sentinel.NewKey("token", "o/r", 1)
	began      = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
)

const (
	approved = sentinel.Approved
	changes  = sentinel.RequestChanges
	comment  = sentinel.Comment
	none     = sentinel.None
)

func head(n int) string { return fmt.Sprintf("%040x", n) }

// forge is a model of what the server does with reviews: rows keep their
// original bodies, the timeline has the current ones, and a newer verdict of an
// account makes its older ones unofficial. Rows are numbered from 1, timeline
// entries from 101.
type forge struct {
	rows    []Row
	entries []Entry
	// requests are marks that somebody's review is asked for; they are rows, too.
	requests []Row
	// unofficial: the account has no right to gate.
	unofficial bool
	// inline: reviews carry inline comments; such a one doesn't dismiss the older ones.
	inline  bool
	head    string
	against sentinel.Against
	nonce   int
	holes   bool // entries of the timeline may be missing
	between step // happens once, after a publication has listed the reviews
}

func (f *forge) log() Log {
	log := NewLog(me, f.all(), f.entries, key)
	log.Author, log.Writers, log.Holes = author, map[int64]bool{person: true}, f.holes
	return log
}

// all are the rows as the forge lists them.
func (f *forge) all() []Row { return append(slices.Clone(f.rows), f.requests...) }

func (f *forge) entry(e Entry) int64 {
	e.ID = int64(101 + len(f.entries))
	e.Created = f.now()
	e.Updated = e.Created
	f.entries = append(f.entries, e)
	return e.ID
}

// now is the server's time: a second later with each thing that happens.
func (f *forge) now() time.Time { return began.Add(time.Duration(len(f.entries)) * time.Second) }

func (f *forge) post(author int64, state RowState, commit, body string) *Row {
	row := Row{ID: int64(len(f.rows) + 1), Author: author, State: state, Body: body, Commit: commit}
	if state == RowApproved || state == RowRequestChanges {
		row.Official = author == me && !f.unofficial
		for i := range f.rows {
			if old := &f.rows[i]; old.Author == author && (old.State == RowApproved || old.State == RowRequestChanges) {
				old.Official, old.Dismissed = false, old.Dismissed || !f.inline
			}
		}
	}
	if author == me && state != RowPending {
		for i := range f.requests {
			f.requests[i].Official = f.requests[i].Official && row.State == RowComment
		}
		if !f.inline {
			f.requests = nil
		}
	}
	row.CommentID = f.entry(Entry{Kind: EntryReview, Review: row.ID, Body: body, User: author})
	row.URL = fmt.Sprintf("https://forge/o/r/pulls/1#issuecomment-%d", row.CommentID)
	row.Submitted = f.entries[len(f.entries)-1].Created
	f.rows = append(f.rows, row)
	return &f.rows[len(f.rows)-1]
}

// submit submits a pending review as a comment.
func (f *forge) submit(id int64, body string) *Row {
	row := &f.rows[id-1]
	row.State, row.Body = RowComment, body
	row.CommentID = f.entry(Entry{Kind: EntryReview, Review: id, Body: body, User: me})
	return row
}

// text is the row's current text in the timeline, which is about to be changed.
func (f *forge) text(row int64) *string {
	for i := len(f.entries) - 1; i >= 0; i-- {
		if e := &f.entries[i]; e.Kind == EntryReview && e.Review == row {
			e.Updated = f.now().Add(-time.Second)
			return &e.Body
		}
	}
	panic(fmt.Sprintf("no entry for row %d", row))
}

// edit changes what a PATCH by the bot may change.
func (f *forge) edit(row int64, change func(*sentinel.Body, *sentinel.Sentinel)) {
	body, s, err := sentinel.Split(*f.text(row))
	if err != nil {
		body, s, _ = sentinel.Split(f.rows[row-1].Body)
	}
	change(&body, &s)
	*f.text(row) = body.With(s, key)
}

// withdraw is somebody asking for the account's review, which may be the account.
func (f *forge) withdraw(by int64) {
	for i := range f.rows {
		if f.rows[i].Author == me {
			f.rows[i].Official = false
		}
	}
	id := int64(1001 + len(f.entries))
	f.requests = []Row{{ID: id, Author: me, State: RowRequest, Official: !f.unofficial}}
	f.entry(Entry{Kind: EntryReviewRequest, Review: id, User: by, Subject: me})
}

// unrequest takes the request back: the verdict with the highest id counts again.
func unrequest(f *forge) {
	if len(f.requests) == 0 {
		return
	}
	f.requests = nil
	for i, row := range slices.Backward(f.rows) {
		if row.Author == me && (row.State == RowApproved || row.State == RowRequestChanges) {
			f.rows[i].Official = !f.unofficial
			break
		}
	}
	f.entry(Entry{Kind: EntryReviewRequest, User: person, Subject: me, Removed: true})
}

// held is a hold of the account.
func held(at string) step {
	return func(f *forge) {
		f.nonce++
		body := sentinel.Body{Text: holdText(at, false)}
		f.post(me, RowRequestChanges, at, body.With(sentinel.Sentinel{
			Role: sec, Version: 1, Kind: sentinel.KindHold, Head: at, Run: fmt.Sprintf("%032x", f.nonce),
			Undone: f.log().takenBack(),
		}, key))
	}
}

// apply carries an action out, in the order that the protocol gives.
func (f *forge) apply(a Action, s Situation, text string) {
	counts := s.Log.counts()
	if a.Hold != "" {
		held(s.Head)(f)
	}
	if a.Post != "" {
		body, sen := f.verdict(a.As, s.Judgement.Own, a.Post, s.Judgement.Head, text)
		sen.Heard, sen.Extra = s.Judgement.Note.Heard, s.Judgement.Note.Extra
		sen.Official, sen.Advisory = counts, s.Advisory && !a.Recorded
		if a.Recorded {
			cur, _ := s.Log.Current(a.As)
			body, sen.Own, sen.Head = cur.Body, cur.Own(), cur.Head()
			body.Notice = ""
		}
		f.post(me, rowState[a.Post], s.Judgement.Head, body.With(sen, key))
	}
	if a.Patch != nil {
		f.edit(a.Patch.Row.ID, func(b *sentinel.Body, sen *sentinel.Sentinel) {
			b.Text, sen.Head = text, s.Judgement.Head
			sen.Heard, sen.Extra = s.Judgement.Note.Heard, s.Judgement.Note.Extra
			sen.Advisory = s.Advisory
		})
	}
	for _, r := range a.Clear {
		f.edit(r.Row.ID, func(b *sentinel.Body, _ *sentinel.Sentinel) { b.Notice = "" })
	}
	for _, r := range a.Supersede {
		f.edit(r.Row.ID, func(b *sentinel.Body, sen *sentinel.Sentinel) { b.Text, sen.State = "Replaced.", sentinel.Superseded })
	}
	if a.Withdraw {
		f.withdraw(me)
	}
}

func (f *forge) verdict(role string, own, event sentinel.Verdict, head, text string) (sentinel.Body, sentinel.Sentinel) {
	f.nonce++
	return sentinel.Body{Text: text}, sentinel.Sentinel{Role: role, Version: 1, Kind: sentinel.KindVerdict, Own: own, Event: event,
		Head: head, Run: fmt.Sprintf("%032x", f.nonce), Undone: f.log().takenBack()}
}

// says is the text of a role that has nothing new to say.
func says(role string) string { return role + " has looked at it." }

// step is one thing that happened on the pull request.
type step func(*forge)

func history(steps ...step) *forge {
	f := &forge{head: h1}
	for _, s := range steps {
		s(f)
	}
	return f
}

// review is a review of the account, in a role.
func review(role string, own, event sentinel.Verdict, head string, opts ...func(*forge, *Row)) step {
	return func(f *forge) {
		body, s := f.verdict(role, own, event, head, says(role))
		row := f.post(me, rowState[event], head, body.With(s, key))
		for _, opt := range opts {
			opt(f, row)
		}
	}
}

// What a review may be besides.

func patchedTo(head string) func(*forge, *Row) {
	return func(f *forge, r *Row) {
		f.edit(r.ID, func(_ *sentinel.Body, s *sentinel.Sentinel) { s.Head = head })
	}
}

func state(state sentinel.State) func(*forge, *Row) {
	return func(f *forge, r *Row) {
		f.edit(r.ID, func(_ *sentinel.Body, s *sentinel.Sentinel) { s.State = state })
	}
}

// advises is a review of a role that only comments.
func advises(f *forge, r *Row) {
	f.edit(r.ID, func(_ *sentinel.Body, s *sentinel.Sentinel) { s.Advisory = true })
}

// owes is a review that was patched with conversations left to settle.
func owes(f *forge, r *Row) {
	f.edit(r.ID, func(_ *sentinel.Body, s *sentinel.Sentinel) {
		s.Owed = []sentinel.Owed{{Review: 1, Comment: 11}, {Review: 1, Comment: 12, Reopen: true}}
	})
}

// edited is a person's change to the words.
func edited(f *forge, r *Row) {
	*f.text(r.ID) = strings.Replace(*f.text(r.ID), "looked at", "slept over", 1)
}

// flipped is a person's change to the sentinel, with everything but the code set right.
func flipped(old, new string) func(*forge, *Row) {
	return func(f *forge, r *Row) { *f.text(r.ID) = strings.ReplaceAll(*f.text(r.ID), old, new) }
}

func entryDeleted(f *forge, r *Row) {
	for i, e := range f.entries {
		if e.Kind == EntryReview && e.Review == r.ID {
			f.entries[i] = Entry{ID: e.ID, Kind: EntryComment, Created: e.Created}
		}
	}
	r.CommentID, r.URL = 0, ""
}

func dismissedByPush(f *forge, r *Row) {
	r.Dismissed = true
	f.entry(Entry{Kind: EntryDismiss, Review: r.ID, User: person})
}

// Other things that happen.

func dismiss(row int64) step {
	return func(f *forge) {
		f.rows[row-1].Dismissed = true
		f.entry(Entry{Kind: EntryDismiss, Review: row, User: person})
	}
}

func undismiss(row int64) step {
	return func(f *forge) { f.rows[row-1].Dismissed = false }
}

func rerequest(f *forge) { f.withdraw(person) }

func unofficial(f *forge) { f.unofficial = true }

func by(author int64, state RowState, body string) step {
	return func(f *forge) { f.post(author, state, h1, body) }
}

// describe is an action in words, rows by their number.
func describe(a Action) string {
	words := []string{string(a.Outcome)}
	if a.Post != "" {
		words = append(words, "post "+string(a.Post))
	}
	if a.Patch != nil {
		words = append(words, fmt.Sprintf("patch %d", a.Patch.Row.ID))
	}
	for _, r := range a.Supersede {
		words = append(words, fmt.Sprintf("supersede %d", r.Row.ID))
	}
	if a.Hold != "" {
		words = append(words, "hold")
	}
	if a.Withdraw {
		words = append(words, "withdraw")
	}
	for _, r := range a.Clear {
		words = append(words, fmt.Sprintf("clear %d", r.Row.ID))
	}
	for _, r := range a.Settle {
		words = append(words, fmt.Sprintf("settle %d", r.Row.ID))
	}
	return strings.Join(words, ", ")
}
