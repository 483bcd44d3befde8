package forgetest

import (
	"net/http"
	"slices"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/sentinel"
)

var listFacts = []fact{
	{"a review that others have begun is counted and not shown", approving(), func(l *lab) {
		l.post("bot", sentinel.Comment, "hm")
		l.status(l.BeginReview("outsider", "later"), http.StatusOK)
		l.status(l.BeginReview("writer", "later"), http.StatusOK)
		rows := l.hidden("bot", 2)
		if l.hidden("outsider", 1); len(rows) != 3 {
			l.Errorf("rows %+v, want the bot's and two of which nothing is shown", rows)
		}
	}},
	{"a stranger's pending review hides what came later from all but a reading to the end", approving().in(cutsLists), func(l *lab) {
		l.post("bot", sentinel.RequestChanges, "no")
		l.status(l.BeginComments("outsider", "later", 120), http.StatusOK)
		l.must(l.As("author").RequestReview(l.Context(), l.Login("bot")))
		l.wantRows("bot", "REQUEST_CHANGES", "REQUEST_REVIEW official")
		rows := l.hidden("bot", 1)
		if kinds := l.kinds(l.As("bot").Timeline(l.Context(), time.Time{}, rows)); slices.Contains(kinds, escalation.EntryReviewRequest) {
			l.Errorf("the request isn't hidden: %v", kinds)
		}
		entries, reach, err := l.As("bot").TimelineToEnd(l.Context(), time.Time{}, rows)
		if kinds := l.kinds(entries, err); reach != escalation.ReachEnd || !slices.Contains(kinds, escalation.EntryReviewRequest) {
			l.Errorf("read to the end (%q), the request is missing: %v", reach, kinds)
		}
	}},
	{"the entry of a review shows that the timeline goes on", approving(), func(l *lab) {
		l.post("bot", sentinel.RequestChanges, "no")
		l.status(l.BeginComments("outsider", "later", 120), http.StatusOK)
		row := l.post("bot", sentinel.Approved, "yes")
		entries, err := l.As("bot").Timeline(l.Context(), time.Time{}, l.hidden("bot", 1))
		l.must(err)
		if !slices.ContainsFunc(entries, func(e reviewer.Entry) bool { return e.ID == row.CommentID }) {
			l.Errorf("entry %d isn't among %+v", row.CommentID, entries)
		}
	}},
}

// hidden reads the reviews as viewer, who isn't shown so many of them.
func (l *lab) hidden(viewer string, want int) []reviewer.Row {
	l.Helper()
	rows, err := l.As(viewer).Reviews(l.Context())
	l.must(err)
	n := 0
	for _, row := range rows {
		if row == escalation.HiddenReview() {
			n++
		}
	}
	if n != want {
		l.Errorf("%s: %d reviews are hidden, want %d: %+v", viewer, n, want, rows)
	}
	return rows
}

func (l *lab) kinds(entries []reviewer.Entry, err error) []escalation.EntryKind {
	l.Helper()
	l.must(err)
	var kinds []escalation.EntryKind
	for _, e := range entries {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}
