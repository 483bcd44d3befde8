package forgetest

import (
	"net/http"
	"slices"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/sentinel"
)

var textFacts = []fact{
	{"an edit changes the timeline, and the row keeps its first text", approving(), func(l *lab) {
		row := l.post("bot", sentinel.RequestChanges, "first", on("here"))
		for _, by := range []string{"bot", "writer"} {
			l.must(l.As(by).EditReview(l.Context(), row.CommentID, "edited by "+by))
			if e := l.entry(escalation.EntryReview); e.Body != "edited by "+by || e.User != row.Author || e.ID != row.CommentID {
				l.Errorf("entry %+v, want the text of %s by the bot", e, by)
			}
		}
		now := l.row(row.ID)
		now.Submitted = row.Submitted
		if now != row {
			l.Errorf("row %+v, was %+v", now, row)
		}
	}},
	{"who may edit, and what", approving(), func(l *lab) {
		row := l.post("bot", sentinel.Comment, "first", on("here"))
		ctx := l.Context()
		l.refused(l.As("outsider").EditReview(ctx, row.CommentID, "x"), "forbids")
		l.refused(l.As("bot").EditReview(ctx, l.entry(entryPush).ID, "x"), changedNothing)
		l.refused(l.As("bot").EditReview(ctx, row.CommentID+1_000_000, "x"), "")
		l.refused(l.As("bot").EditReview(ctx, row.CommentID, ""), "")
		inlineID := l.comments("bot", row.ID)[0].ID
		l.must(l.As("bot").EditReview(ctx, inlineID, "there"))
		l.wantTexts("bot", row.ID, "there")
		if e := l.entry(escalation.EntryReview); e.Body != "first" {
			l.Errorf("entry %+v, want it untouched", e)
		}
	}},
	{"since shows an old entry that was edited, and not the others", approving().in(comparesEdits), func(l *lab) {
		row := l.post("bot", sentinel.RequestChanges, "first")
		l.post("bot", sentinel.Comment, "second")
		l.Tick()
		l.Tick()
		last := l.Comment("owner", "now")
		at := l.createdOf(last)
		if got := ids(l.since(at)); !slices.Equal(got, []int64{last}) {
			l.Errorf("entries %v since %v, want %d only", got, at, last)
		}
		// The same text again is no edit.
		l.must(l.As("bot").EditReview(l.Context(), row.CommentID, "first"))
		if got := ids(l.since(at)); !slices.Equal(got, []int64{last}) {
			l.Errorf("entries %v since %v, want %d only", got, at, last)
		}
		l.must(l.As("bot").EditReview(l.Context(), row.CommentID, "edited"))
		if got := ids(l.since(at)); !slices.Equal(got, []int64{row.CommentID, last}) {
			l.Errorf("entries %v since %v, want %d and %d", got, at, row.CommentID, last)
		}
		if e := l.since(at)[0]; !e.Created.Before(at) {
			l.Errorf("the edited entry was created %v, want that before %v", e.Created, at)
		}
	}},
	{"a review whose entry was deleted stays, counts, and has no address", approving().in(deletesEntries), func(l *lab) {
		row := l.post("bot", sentinel.RequestChanges, "no", on("here"))
		l.status(l.DeleteEntry("outsider", row.CommentID), http.StatusForbidden)
		l.status(l.DeleteEntry("writer", l.entry(entryPush).ID), http.StatusBadRequest)
		l.status(l.DeleteEntry("writer", row.CommentID), http.StatusOK)
		l.status(l.DeleteEntry("writer", row.CommentID), http.StatusNotFound)
		if n := len(l.entries(escalation.EntryReview)); n != 0 {
			l.Errorf("%d entries of a review, want none", n)
		}
		now := l.row(row.ID)
		if now.URL != "" || now.CommentID != 0 || now.Body != "no" || now.Comments != 1 || flags(now) != "REQUEST_CHANGES official" {
			l.Errorf("row %+v", now)
		}
		l.wantTexts("bot", row.ID, "here")
	}},
}

func ids(entries []reviewer.Entry) []int64 {
	var list []int64
	for _, e := range entries {
		list = append(list, e.ID)
	}
	return list
}

func (l *lab) createdOf(entry int64) time.Time {
	l.Helper()
	for _, e := range l.since(time.Time{}) {
		if e.ID == entry {
			return e.Created
		}
	}
	l.Fatalf("no entry %d", entry)
	return time.Time{}
}

// leavePending makes a post of the bot fail after one inline comment, as the server itself
// does over a path that leads out of the repository.
func (l *lab) leavePending() reviewer.Row {
	l.Helper()
	_, err := l.try("bot", sentinel.Comment, "lost", on("left"), reviewer.NewComment{Path: "../x", NewLine: 1, Body: "never"})
	if Outcome(err) != "unknown" {
		l.Fatalf("error %v, want one that leaves open what happened", err)
	}
	rows := l.rows("bot", "bot")
	i := slices.IndexFunc(rows, func(r reviewer.Row) bool { return r.State == escalation.RowPending })
	if i < 0 {
		l.Fatalf("no pending review among %+v", rows)
	}
	return rows[i]
}

var pendingFacts = []fact{
	{"a leftover is seen by its author only and has no entry", approving(), func(l *lab) {
		row := l.leavePending()
		want := reviewer.Row{ID: row.ID, Author: l.id("bot"), State: escalation.RowPending, Commit: l.pull().Head, Submitted: row.Submitted, Comments: 1}
		if row != want {
			l.Errorf("row %+v, want %+v", row, want)
		}
		l.wantTexts("bot", row.ID, "left")
		for _, other := range []string{"bot2", "owner", "outsider"} {
			if rows := l.rows(other, "bot"); len(rows) != 0 {
				l.Errorf("%s sees %+v", other, rows)
			}
			_, err := l.As(other).Comments(l.Context(), row.ID)
			l.refused(err, "")
		}
		if n := len(l.entries(escalation.EntryReview)); n != 0 {
			l.Errorf("%d entries of a review, want none", n)
		}
	}},
	{"the next post swallows a leftover", approving(), func(l *lab) {
		old := l.post("bot", sentinel.RequestChanges, "no")
		left := l.leavePending()
		l.Push("author", map[string]string{"a.txt": "a\n"})
		row := l.post("bot", sentinel.Approved, "yes", on("new"))
		if row.ID != left.ID || row.Comments != 2 || row.Commit != l.pull().Head || row.Body != "yes" {
			l.Errorf("row %+v, want the leftover %d submitted", row, left.ID)
		}
		l.wantTexts("outsider", row.ID, "left", "new")
		l.wantRows("bot", "REQUEST_CHANGES stale", "APPROVED official")
		if now := l.row(old.ID); now.Dismissed {
			l.Errorf("row %+v, want the older verdict undismissed: the new one was begun as pending", now)
		}
	}},
	{"a leftover swallows no other account's post", approving(), func(l *lab) {
		left := l.leavePending()
		row := l.post("bot2", sentinel.Comment, "hm", on("new"))
		if row.ID == left.ID || row.Comments != 1 {
			l.Errorf("row %+v", row)
		}
		l.wantTexts("bot", left.ID, "left")
	}},
	{"a leftover is submitted as a comment at the head of the time", approving(), func(l *lab) {
		left := l.leavePending()
		head := l.Push("author", map[string]string{"a.txt": "a\n"})
		row, err := l.As("bot").SubmitPending(l.Context(), left.ID, "found again")
		l.must(err)
		entry := l.entry(escalation.EntryReview)
		if row.ID != left.ID || row.State != escalation.RowComment || row.Body != "found again" || row.Commit != head || row.CommentID != entry.ID ||
			entry.Body != "found again" || row.Comments != 1 || row.Stale {
			l.Errorf("row %+v, entry %+v", row, entry)
		}
	}},
	{"only one's own pending review can be submitted", approving(), func(l *lab) {
		left := l.leavePending()
		_, err := l.As("bot2").SubmitPending(l.Context(), left.ID, "x")
		l.refused(err, "")
		_, err = l.As("bot").SubmitPending(l.Context(), left.ID, "")
		l.refused(err, "")
		if rows := l.rows("bot", "bot"); len(rows) != 1 || rows[0].State != escalation.RowPending {
			l.Errorf("rows %+v, want the pending one", rows)
		}
		done := l.post("bot2", sentinel.Comment, "hm")
		_, err = l.As("bot2").SubmitPending(l.Context(), done.ID, "x")
		l.refused(err, "(422): only a pending review can be submitted")
	}},
	{"a review begun with a text has an entry at once and a second one when submitted", approving(), func(l *lab) {
		l.status(l.BeginReview("bot", ""), http.StatusUnprocessableEntity)
		l.status(l.BeginReview("bot", "begun"), http.StatusOK)
		begun := l.entry(escalation.EntryReview)
		row := l.post("bot", sentinel.Approved, "yes")
		entries := l.entries(escalation.EntryReview)
		if len(entries) != 2 || entries[0].Body != "begun" || entries[1].Body != "yes" || entries[1].Review != row.ID {
			l.Errorf("entries %+v", entries)
		}
		if row.ID != begun.Review || row.CommentID != begun.ID || row.Body != "yes" {
			l.Errorf("row %+v, want the begun review %+v", row, begun)
		}
	}},
	{"the list is in the order in which reviews were begun", approving(), func(l *lab) {
		left := l.leavePending()
		l.Tick()
		other := l.post("bot2", sentinel.Comment, "hm")
		late := l.post("bot", sentinel.Comment, "late")
		if late.ID != left.ID || late.ID > other.ID || late.CommentID < other.CommentID || late.Submitted.After(other.Submitted) {
			l.Errorf("rows %+v and %+v", late, other)
		}
	}},
}
