// Package escalation decides what an account's reviews on a pull request should
// say, and what to do so that they do. It is pure: records in, action out.
//
// Several roles may share one account, and the forge knows one verdict per
// account. The rule is worst-wins: the account requests changes while any of its
// roles does. See README.md in this folder for the states and the invariants.
package escalation

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"review-bot/sentinel"
)

// RowState is a review's state as the forge names it.
type RowState string

// The states that the bot meets in a list of reviews.
const (
	RowApproved       RowState = "APPROVED"
	RowRequestChanges RowState = "REQUEST_CHANGES"
	RowComment        RowState = "COMMENT"
	RowPending        RowState = "PENDING"
	RowRequest        RowState = "REQUEST_REVIEW"
)

// Row is one review in the forge's list. Nobody can change its Body later.
type Row struct {
	ID        int64
	Author    int64 // user id
	State     RowState
	Body      string // as it was posted
	Official  bool   // counts for merging
	Dismissed bool
	Stale     bool
	Commit    string    // commit it names
	CommentID int64     // id of its timeline entry; 0 if that was deleted
	URL       string    // "" if the timeline entry was deleted
	Submitted time.Time // the server's clock, whole seconds
	Comments  int       // inline comments
}

// Entry is one entry of the pull request's timeline.
type Entry struct {
	ID      int64
	Kind    EntryKind
	Review  int64  // id of the review it speaks of, 0 if none
	Body    string // current text
	User    int64  // who did it
	Login   string
	Subject int64 // for review_request: whose review is asked for
	Removed bool  // for review_request: the request was taken back
	Created time.Time
	Updated time.Time // of the text; the zero time if the forge doesn't say
}

// EntryKind is a timeline entry's type as the forge names it.
type EntryKind string

// The kinds that matter to the bot.
const (
	EntryReview        EntryKind = "review"
	EntryDismiss       EntryKind = "dismiss_review"
	EntryReviewRequest EntryKind = "review_request"
	EntryReopen        EntryKind = "reopen"
	EntryComment       EntryKind = "comment"
)

// NewReview is a review to be posted.
type NewReview struct {
	Event    sentinel.Verdict `json:"event"`  // approved, request_changes or comment
	Commit   string           `json:"commit"` // the commit that was judged
	Body     string           `json:"body"`
	Comments []NewComment     `json:"comments"`
}

// NewComment is an inline comment of a review to be posted.
type NewComment struct {
	Path    string `json:"path"`
	NewLine int    `json:"new_line,omitempty"` // 1-based line of the new file, or 0
	OldLine int    `json:"old_line,omitempty"` // 1-based line of the old file, or 0
	Body    string `json:"body"`
}

// Comment is an inline comment of a review.
//
// A conversation is the comments with the same review, path and line, oldest
// first; a person's reply is one more of them.
type Comment struct {
	ID            int64
	Review        int64
	Author        int64
	Login         string // the author's
	Body          string // current text
	Path          string
	NewLine       int    // 0 for a comment on the old side
	OldLine       int    // 0 for a comment on the new side
	Commit        string // that the forge ties the line to, 40 hex digits; "" if it names none
	Hunk          string // the diff around the line at the time, which ends with it; "" if the forge keeps none
	Resolver      int64  // who resolved the conversation by this comment; 0: nobody
	ResolverLogin string // "" if nobody
	URL           string // its place on the pull request's page
	Created       time.Time
	Updated       time.Time // of the text: resolving doesn't change it
}

// Reaction is a user's reaction on the pull request.
type Reaction struct {
	User    int64
	Content string // its name, as in rocket
	Created time.Time
}

// Record is a verdict of a role: a row of the account whose original body ends
// with a sentinel of kind verdict.
//
// Identity, own verdict and event come from the original body, which nobody can
// edit. What a PATCH may move comes from the current text, if that is signed.
type Record struct {
	Row      Row
	Sentinel sentinel.Sentinel // identity of the original, movable fields of the current text
	Body     sentinel.Body     // current text, without the sentinel
	Edited   bool              // a person changed the text: it doesn't match its hash, or lost its sentinel
	Patched  bool              // the current text isn't the original
	Updated  time.Time         // when the current text was written; the zero time if that isn't known
	Unseen   bool              // the timeline that was read lacks its entry: what it says now isn't known
}

// Role is the role that the record belongs to.
func (r Record) Role() string { return r.Sentinel.Role }

// Own is what the role found.
func (r Record) Own() sentinel.Verdict { return r.Sentinel.Own }

// Head is the commit that the role judged last in this record.
func (r Record) Head() string { return r.Sentinel.Head }

// Log is what an account has said on a pull request, oldest first.
type Log struct {
	Account int64
	Rows    []Row // the account's rows that are submitted or pending, oldest first
	Records []Record
	Entries []Entry // by id
	Ignored []Ignored
	// Approvals are the official ones of other accounts, as far as people gave them.
	Approvals []Row
	Requests  []Row   // marks that the account's review is asked for
	Holds     []int64 // of Rows, those that only keep an approval from counting; see hold.go

	Reach Reach
	// Holes says that the timeline couldn't be read whole. Nothing that opens the gate
	// is concluded from it then: no waiver, no new count of rounds, no approval.
	Holes bool

	undone   []int64 // dismissals that were found taken back, as the account's reviews note
	lacks    bool    // the entry of one of the account's reviews isn't there
	doubtful bool    // something else doesn't fit, see fit

	// What a caller adds, to tell what people may do by their acts.
	Author  int64          // of the pull request
	Writers map[int64]bool // people who are known to have write access
}

// Ignored is a review that looks like one of the bot's and isn't believed.
type Ignored struct {
	Row    Row
	Reason string
}

// NewLog joins the forge's rows with the timeline's current texts. Rows of
// others count for nothing, whatever they carry. A row whose timeline entry is
// missing is read from its original body.
func NewLog(account int64, rows []Row, entries []Entry, key sentinel.Key) Log {
	log := Log{Account: account, Entries: slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return cmp.Compare(a.ID, b.ID) })}
	texts := map[int64]Entry{}
	for _, e := range log.Entries {
		// A pending review with a body has an entry, and a second one on submit: the newest counts.
		if e.Kind == EntryReview && e.Review != 0 {
			texts[e.Review] = e
		}
	}
	for _, row := range inOrder(rows) {
		body, s, err := sentinel.Split(row.Body)
		if row.Author != account {
			if err == nil {
				log.Ignored = append(log.Ignored, Ignored{row, "it is another account's"})
			}
			if approvesAsPerson(row) {
				log.Approvals = append(log.Approvals, row)
			}
			continue
		}
		if row.State == RowRequest {
			log.Requests = append(log.Requests, row)
			continue
		}
		log.Rows = append(log.Rows, row)
		if err == nil && row.State != RowPending {
			log.undone = append(log.undone, s.Undone...)
		}
		switch {
		case row.State == RowPending || errors.Is(err, sentinel.ErrNone):
			continue
		case err != nil:
			log.Ignored = append(log.Ignored, Ignored{row, err.Error()})
			continue
		case s.Kind == sentinel.KindHold:
			log.Holds = append(log.Holds, row.ID)
			continue
		case s.Kind != sentinel.KindVerdict:
			continue
		}
		r := Record{Row: row, Sentinel: s, Body: body, Edited: s.Body != sentinel.Hash(body.Text)}
		e, ok := texts[row.ID]
		r.Unseen = !ok && row.CommentID != 0
		if ok && e.Body != row.Body {
			r.Patched, r.Updated = true, e.Updated
			r.read(e.Body, key)
		}
		log.Records = append(log.Records, r)
	}
	log.fit(rows)
	return log
}

// read takes over the current text, where it isn't the original any more, and
// what of its sentinel a PATCH may move.
func (r *Record) read(text string, key sentinel.Key) {
	body, current, err := sentinel.Split(text)
	original := r.Sentinel
	switch {
	case err != nil || !sameReview(original, current):
		r.Body, r.Edited = body, true
	case key.Verify(current):
		r.Body, r.Edited = body, current.Body != sentinel.Hash(body.Text)
		r.Sentinel = current
		r.Sentinel.MAC = original.MAC
	case !key.Verify(original) && current.Body == sentinel.Hash(body.Text):
		// The original can't be edited: the token is another one than when it was posted. What
		// was signed with the old one can't be believed any more, and so the original counts;
		// the next edit signs with the new one.
	default:
		r.Body, r.Edited = body, true
	}
}

// sameReview tells whether a signed sentinel was written for this very review:
// an old one of the bot's own, pasted into another of its reviews, wasn't.
func sameReview(original, current sentinel.Sentinel) bool {
	return original.Role == current.Role && original.Kind == current.Kind && original.Run == current.Run &&
		original.Own == current.Own && original.Event == current.Event
}

// inOrder sorts rows by the order in which they were submitted. A row's id
// predates its submission, so the id of the timeline entry goes first; a row
// whose entry was deleted stands behind the rows with smaller ids.
func inOrder(rows []Row) []Row {
	sorted := slices.SortedFunc(slices.Values(rows), func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
	place := map[int64]int64{}
	var newest int64
	for _, row := range sorted {
		newest = max(newest, row.CommentID)
		place[row.ID] = cmp.Or(row.CommentID, newest)
	}
	slices.SortStableFunc(sorted, func(a, b Row) int { return cmp.Compare(place[a.ID], place[b.ID]) })
	return sorted
}

// Current is the role's current record: its newest that isn't superseded. A
// role whose newest record is retired has none until it judges again; an older
// verdict of its must not come back to life by that.
func (l Log) Current(role string) (Record, bool) {
	for _, r := range slices.Backward(l.Records) {
		if r.Role() != role {
			continue
		}
		switch r.Sentinel.State {
		case sentinel.Superseded:
			continue
		case sentinel.Retired:
			return Record{}, false
		case sentinel.Live:
			return r, true
		}
	}
	return Record{}, false
}

// Standing lists the roles' current records, oldest first.
func (l Log) Standing() []Record {
	var list []Record
	for _, r := range l.Records {
		if cur, ok := l.Current(r.Role()); ok && cur.Row.ID == r.Row.ID {
			list = append(list, r)
		}
	}
	return list
}

// Pending lists the account's reviews that were begun and not submitted. One that
// says nothing isn't listed: the next POST takes it in.
func (l Log) Pending() []Row {
	var rows []Row
	for _, row := range l.Rows {
		if row.State == RowPending && (row.Comments > 0 || row.Body != "") {
			rows = append(rows, row)
		}
	}
	return rows
}

// Gate is what the account's reviews say to the forge's merge check.
type Gate struct {
	States     []RowState // APPROVED and REQUEST_CHANGES, each at most once; empty: nothing gates
	Unofficial bool       // the account is no official reviewer, its verdicts don't gate
	Held       bool       // its REQUEST_CHANGES is a hold, and no role's verdict
	// Latent says that an approval doesn't count, but would again once a request for the
	// account's review is removed, which the pull request's author may do.
	Latent bool
}

// Is reports whether the gate is just that one verdict, and a role's; with None,
// whether it is empty.
func (g Gate) Is(v sentinel.Verdict) bool {
	if v == sentinel.None {
		return len(g.States) == 0
	}
	return len(g.States) == 1 && g.States[0] == rowState[v] && !g.Held
}

// Has tells whether the verdict is among the gate's.
func (g Gate) Has(v sentinel.Verdict) bool { return slices.Contains(g.States, rowState[v]) }

// Names are the gate's verdicts in lower case, for people and JSON.
func (g Gate) Names() []string {
	names := []string{}
	for _, s := range g.States {
		for v, state := range rowState {
			if state == s {
				names = append(names, string(v))
			}
		}
	}
	return names
}

var rowState = map[sentinel.Verdict]RowState{
	sentinel.Approved:       RowApproved,
	sentinel.RequestChanges: RowRequestChanges,
	sentinel.Comment:        RowComment,
}

// Gate computes the account's gate: its official, undismissed verdicts. If none
// of its verdicts is official, and that isn't because they were cleared, then it is
// no official reviewer, and its newest verdict stands for the gate.
func (l Log) Gate() Gate {
	var g Gate
	var newest, last *Row // as submitted, and by id
	official, held := false, true
	for i, row := range l.Rows {
		if row.State != RowApproved && row.State != RowRequestChanges {
			continue
		}
		newest = &l.Rows[i]
		if last == nil || row.ID > last.ID {
			last = newest
		}
		if !row.Official {
			continue
		}
		official = true
		if !row.Dismissed && !slices.Contains(g.States, row.State) {
			g.States = append(g.States, row.State)
		}
		held = held && (row.Dismissed || slices.Contains(l.Holds, row.ID))
	}
	slices.Sort(g.States)
	if newest == nil {
		return g
	}
	if official || l.cleared(*newest) {
		g.Held = held && len(g.States) > 0
		// A request that is removed gives the mark back to the verdict with the highest id.
		g.Latent = last.State == RowApproved && !last.Official && !last.Dismissed
		return g
	}
	g.Unofficial = true
	if !newest.Dismissed {
		g.States = []RowState{newest.State}
	}
	return g
}

// cleared reports whether the account's verdicts lost the mark “official”, of which
// newest was submitted last: by a request for its review, whose own mark is in the
// list of reviews until a review of the account takes it away. What such a review
// found is in its sentinel. The timeline only adds to that: entries may be hidden.
func (l Log) cleared(newest Row) bool {
	if slices.ContainsFunc(l.Requests, func(row Row) bool { return row.Official }) {
		return true
	}
	for _, row := range slices.Backward(l.Rows) {
		if row.ID == newest.ID {
			break
		}
		if _, s, err := sentinel.Split(row.Body); err == nil && s.Official {
			return true
		}
	}
	return l.requestedAfter(newest)
}

// counts reports whether the account's verdicts count for merging, as far as it
// shows: what a review notes for those that come later.
func (l Log) counts() bool {
	verdict := slices.ContainsFunc(l.Rows, func(row Row) bool { return row.State == RowApproved || row.State == RowRequestChanges })
	return verdict && !l.Gate().Unofficial
}

// requestedAfter reports whether a review of the account was asked for after row.
func (l Log) requestedAfter(row Row) bool {
	for _, e := range l.Entries {
		if e.Kind == EntryReviewRequest && e.Subject == l.Account && !e.Removed && l.after(e, row) {
			return true
		}
	}
	return false
}

// Newest is the id of the newest timeline entry that the log knows.
func (l Log) Newest() int64 {
	var id int64
	for _, e := range l.Entries {
		id = max(id, e.ID)
	}
	return id
}

// after tells whether a timeline entry is newer than a review.
func (l Log) after(e Entry, row Row) bool {
	if row.CommentID != 0 {
		return e.ID > row.CommentID
	}
	// The row's own entry was deleted; the clock has whole seconds only, and a
	// person's act counts when in doubt.
	return !e.Created.Before(row.Submitted)
}
