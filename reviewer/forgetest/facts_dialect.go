package forgetest

import (
	"net/http"
	"slices"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/sentinel"
)

// Where a fact holds that doesn't hold everywhere, by what decides it.
func resolves(d Dialect) bool       { return !d.Unresolving }
func unresolving(d Dialect) bool    { return d.Unresolving }
func attaches(d Dialect) bool       { return d.Attaches }
func submitsForGood(d Dialect) bool { return !d.Attaches }
func blames(d Dialect) bool         { return d.Blames }
func checksOld(d Dialect) bool      { return d.ChecksOld }
func takesAnyOld(d Dialect) bool    { return !d.ChecksOld }
func takesPastEnd(d Dialect) bool   { return d.TakesPastEnd }
func refusesPastEnd(d Dialect) bool { return !d.TakesPastEnd }
func keepsEntries(d Dialect) bool   { return d.KeepsEntries }
func deletesEntries(d Dialect) bool { return !d.KeepsEntries }
func takesClosed(d Dialect) bool    { return d.TakesClosed }
func refusesClosed(d Dialect) bool  { return !d.TakesClosed }
func forgetsAsked(d Dialect) bool   { return d.ForgetsAsked }
func remembersAsked(d Dialect) bool { return !d.ForgetsAsked }
func touchesSame(d Dialect) bool    { return d.TouchesSame }
func comparesEdits(d Dialect) bool  { return !d.TouchesSame }
func strictRefs(d Dialect) bool     { return d.StrictRefs }
func looseRefs(d Dialect) bool      { return !d.StrictRefs }
func cutsLists(d Dialect) bool      { return !d.ListsWhole }
func listsWhole(d Dialect) bool     { return d.ListsWhole }

// dialectFacts are those of servers other than the Gitea of the tests.
var dialectFacts = []fact{
	{"conversations aren't resolved through the API", Setup{}.in(unresolving), func(l *lab) {
		row, root, _ := l.talk()
		for _, resolved := range []bool{true, false} {
			l.is(l.As("bot").Resolve(l.Context(), root.ID, resolved), reviewer.ErrUnsupported)
		}
		l.wantResolvers(row.ID, "", "")
		l.status(l.Resolve("owner", root.ID), http.StatusMethodNotAllowed)
	}},
	{"a comment is added to a submitted review, whose state stays", blocking().in(attaches), func(l *lab) {
		row := l.post("bot", sentinel.RequestChanges, "no", on("first"))
		l.must(l.As("bot").Attach(l.Context(), row.ID, on("late")))
		l.refused(l.As("bot").Attach(l.Context(), row.ID, on(" ")), "the text is empty")
		l.wantTexts("bot", row.ID, "first", "late")
		l.wantRows("bot", "REQUEST_CHANGES official")
		l.judge(rejected)
	}},
	{"an added comment counts its line in the review's own commit", Setup{}.in(attaches), func(l *lab) {
		row := l.post("bot", sentinel.Comment, "hm")
		old := l.pull().Head
		text := HeadFiles()["new.go"]
		l.Push("author", map[string]string{"new.go": "three\nlines\nmore\n" + text})
		// At the head the line is the old head's third.
		l.must(l.As("bot").Attach(l.Context(), row.ID, reviewer.NewComment{Path: "new.go", NewLine: 6, Body: "late"}))
		if c := l.comments("bot", row.ID)[0]; c.NewLine != 6 || c.Commit != old {
			l.Errorf("comment %+v, want line 6 of %s", c, old)
		}
	}},
	{"a comment is kept at the line of the commit that wrote the line", Setup{}.in(blames), func(l *lab) {
		old, text := l.pull().Head, HeadFiles()["new.go"]
		l.Push("author", map[string]string{"new.go": "three\nlines\nmore\n" + text})
		row := l.post("bot", sentinel.Comment, "hm", reviewer.NewComment{Path: "new.go", NewLine: 6, Body: "moved"},
			reviewer.NewComment{Path: "new.go", NewLine: 2, Body: "stays"})
		all := l.comments("bot", row.ID)
		if all[0].NewLine != 3 || all[0].Commit != old || all[1].NewLine != 2 || all[1].Commit != l.pull().Head {
			l.Errorf("comments %+v, want lines 3 of %s and 2 of the head", all, old)
		}
	}},
	{"two comments may be kept at one line of two commits, and a reply joins the older one", Setup{}.in(blames), func(l *lab) {
		old, text := l.pull().Head, HeadFiles()["new.go"]
		l.Push("author", map[string]string{"new.go": "three\nlines\nmore\n" + text})
		row := l.post("bot", sentinel.Comment, "hm", reviewer.NewComment{Path: "new.go", NewLine: 2, Body: "new line"},
			reviewer.NewComment{Path: "new.go", NewLine: 5, Body: "old line"})
		all := l.comments("bot", row.ID)
		l.Reply("author", all[1].ID, "because")
		all = l.comments("bot", row.ID)
		head := l.pull().Head
		for i, commit := range []string{head, old, head} {
			if all[i].NewLine != 2 || all[i].Commit != commit {
				l.Errorf("comment %+v, want it at line 2 of %s", all[i], commit)
			}
		}
	}},
	{"a comment on the line where another one is kept joins that", Setup{}.in(blames), func(l *lab) {
		old, text := l.pull().Head, HeadFiles()["new.go"]
		l.Push("author", map[string]string{"new.go": "three\nlines\nmore\n" + text})
		row := l.post("bot", sentinel.Comment, "hm", reviewer.NewComment{Path: "new.go", NewLine: 5, Body: "old line"},
			reviewer.NewComment{Path: "new.go", NewLine: 2, Body: "new line"})
		for _, c := range l.comments("bot", row.ID) {
			if c.NewLine != 2 || c.Commit != old {
				l.Errorf("comment %+v, want it at line 2 of %s", c, old)
			}
		}
	}},
	{"a comment on the old side of a file that was renamed fails under the new name, not under the old one", Setup{}.in(checksOld), func(l *lab) {
		l.renameOld()
		_, err := l.try("bot", sentinel.Comment, "hm", on("left"), reviewer.NewComment{Path: "renamed.txt", OldLine: 2, Body: "gone"})
		l.refused(err, "unknown")
		rows := l.rows("bot", "bot")
		if len(rows) != 1 || rows[0].State != escalation.RowPending || rows[0].Comments != 1 {
			l.Errorf("rows %+v, want one that is pending with a comment", rows)
		}
		row := l.post("bot", sentinel.Comment, "hm", reviewer.NewComment{Path: "old.txt", OldLine: 2, Body: "gone"})
		l.wantTexts("bot", row.ID, "left", "gone")
	}},
	{"a comment on the old side of a file that was renamed is taken under both names", Setup{}.in(takesAnyOld), func(l *lab) {
		l.renameOld()
		row := l.post("bot", sentinel.Comment, "hm", reviewer.NewComment{Path: "renamed.txt", OldLine: 2, Body: "new name"},
			reviewer.NewComment{Path: "old.txt", OldLine: 2, Body: "old name"})
		l.wantTexts("bot", row.ID, "new name", "old name")
	}},
	{"a comment past the end of the old side fails", Setup{}.in(checksOld), func(l *lab) {
		_, err := l.try("bot", sentinel.Comment, "hm", reviewer.NewComment{Path: "main.go", OldLine: 99, Body: "past the end"})
		l.refused(err, "unknown")
	}},
	{"a comment past the end of the new side is taken, one out of the repository isn't", Setup{}.in(takesPastEnd), func(l *lab) {
		row := l.post("bot", sentinel.Comment, "hm", reviewer.NewComment{Path: "new.go", NewLine: 500, Body: "past the end"})
		l.wantTexts("bot", row.ID, "past the end")
		_, err := l.try("bot", sentinel.Comment, "hm", reviewer.NewComment{Path: "../x", NewLine: 1, Body: "out"})
		l.refused(err, "unknown")
	}},
	{"deleting the entry of a review, of a dismissal or of an inline comment changes nothing", blocking().in(keepsEntries), func(l *lab) {
		row := l.post("bot", sentinel.RequestChanges, "no", on("here"))
		l.status(l.Dismiss("owner", row.ID, "fine", false), http.StatusOK)
		l.status(l.DeleteEntry("outsider", row.CommentID), http.StatusForbidden)
		for _, id := range []int64{row.CommentID, l.comments("bot", row.ID)[0].ID, l.entry(escalation.EntryDismiss).ID} {
			l.status(l.DeleteEntry("writer", id), http.StatusOK)
		}
		l.wantTexts("bot", row.ID, "here")
		l.entry(escalation.EntryDismiss)
		if now := l.row(row.ID); now.CommentID != row.CommentID || now.URL != row.URL {
			l.Errorf("row %+v, was %+v", now, row)
		}
		comment := l.Comment("author", "plain")
		l.status(l.DeleteEntry("writer", comment), http.StatusOK)
		if slices.Contains(ids(l.entries(escalation.EntryComment)), comment) {
			l.Errorf("the comment %d is still there", comment)
		}
	}},
	{"a closed pull request takes verdicts that don't count", approving().in(takesClosed), func(l *lab) {
		l.Close("owner")
		l.post("bot", sentinel.Approved, "yes")
		l.post("bot2", sentinel.RequestChanges, "no")
		l.wantRows("bot", "APPROVED")
		l.wantRows("bot2", "REQUEST_CHANGES")
	}},
	{"a verdict with inline comments takes the request away, too", approving().in(forgetsAsked), func(l *lab) {
		l.must(l.As("owner").RequestReview(l.Context(), l.Login("bot")))
		l.post("bot", sentinel.Approved, "yes", on("here"))
		l.wantRows("bot", "APPROVED official")
	}},
	{"after a verdict that was begun before a request the account can be asked again", approving().in(forgetsAsked), func(l *lab) {
		l.leavePending()
		l.must(l.As("owner").RequestReview(l.Context(), l.Login("bot")))
		l.post("bot", sentinel.Approved, "yes")
		l.wantRows("bot", "APPROVED official")
		l.must(l.As("bot").RequestReview(l.Context(), l.Login("bot")))
		l.wantRows("bot", "APPROVED", "REQUEST_REVIEW official")
	}},
	{"an edit to the same text shows in since", approving().in(touchesSame), func(l *lab) {
		row := l.post("bot", sentinel.RequestChanges, "first")
		l.Tick()
		l.Tick()
		last := l.Comment("owner", "now")
		at := l.createdOf(last)
		l.must(l.As("bot").EditReview(l.Context(), row.CommentID, "first"))
		if got := ids(l.since(at)); !slices.Equal(got, []int64{row.CommentID, last}) {
			l.Errorf("entries %v since %v, want %d and %d", got, at, row.CommentID, last)
		}
	}},
	{"a file at a name that is no branch is missing", Setup{}.in(strictRefs), func(l *lab) {
		_, err := l.As("bot").File(l.Context(), "main.go", "no-such-branch")
		l.is(err, reviewer.ErrNoFile)
	}},
	{"a stranger's pending review hides nothing: the timeline is given whole", approving().in(listsWhole), func(l *lab) {
		l.status(l.BeginComments("outsider", "later", 120), http.StatusOK)
		l.must(l.As("author").RequestReview(l.Context(), l.Login("bot")))
		l.entry(escalation.EntryReviewRequest)
	}},
}

// renameOld pushes old.txt under another name.
func (l *lab) renameOld() {
	l.Helper()
	l.Push("author", map[string]string{"old.txt": Gone, "renamed.txt": BaseFiles()["old.txt"]})
}
