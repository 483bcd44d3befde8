package escalation

import (
	"time"

	"review-bot/sentinel"
)

// Reach is how far a timeline was read. A server may leave entries out of the
// pages that it gives, and anybody who may comment can add hundreds of those, so
// what isn't in a timeline may still have happened.
type Reach string

// The reaches.
const (
	ReachCounts Reach = ""      // as far as the counts say; more may follow after entries that aren't shown
	ReachEnd    Reach = "end"   // until page after page was empty
	ReachBound  Reach = "bound" // as far as anything is read; more may follow
)

// HiddenReview is a review that the server counts and doesn't show: one that
// another account has begun and not submitted. Its comments take places in the
// timeline's pages. Nothing else is known of it.
func HiddenReview() Row { return Row{State: RowPending} }

// Reached returns the log with how far its timeline was read.
func (l Log) Reached(r Reach) Log {
	l.Reach = r
	l.Holes = r == ReachBound || r == ReachEnd && l.lacks
	return l
}

// fit compares the timeline with the reviews, which are listed whole.
func (l *Log) fit(rows []Row) {
	roles := map[int64]string{}
	for _, r := range l.Records {
		roles[r.Row.ID] = r.Role()
	}
	since := since(l.Account, rows, func(row Row) string { return roles[row.ID] })
	entries := map[int64]bool{}
	requests := map[int64]bool{}
	for _, e := range l.Entries {
		entries[e.ID] = true
		if e.Kind == EntryReviewRequest {
			requests[e.Review] = true
		}
	}
	for _, row := range rows {
		switch {
		case row == HiddenReview():
			l.doubtful = true
		case row.Submitted.Before(since):
		case row.State == RowRequest && row.Author == l.Account:
			l.doubtful = l.doubtful || !requests[row.ID]
		case row.Lacking(since, entries):
			l.doubtful = true
			l.lacks = l.lacks || row.Author == l.Account
		}
	}
}

// Lacking reports whether the review has an entry that belongs in a timeline that
// was read from since on, and that isn't among those read.
func (row Row) Lacking(since time.Time, read map[int64]bool) bool {
	submitted := row.State == RowApproved || row.State == RowRequestChanges || row.State == RowComment
	return submitted && row.CommentID != 0 && !row.Submitted.Before(since) && !read[row.CommentID]
}

// Unproven reports whether something would be concluded from the log that entries
// which it may lack could refute, so that the timeline is to be read to its end
// first. approving says that the acting role would have the account approve.
//
// A pull request on which nobody hides anything, and where nobody dismissed a
// review, never needs that.
func (l Log) Unproven(approving bool) bool {
	if l.Reach != ReachCounts {
		return false
	}
	if l.lacks || len(l.Waivers()) > 0 {
		return true
	}
	approving = approving || l.Gate().Has(sentinel.Approved)
	for _, cur := range l.Standing() {
		if l.Epoch(cur.Role()) != cur.Sentinel.Epoch {
			return true // somebody started the count of rounds again
		}
		approving = approving || cur.Own() == sentinel.Approved
	}
	return l.doubtful && approving
}
