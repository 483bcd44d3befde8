package forgetest

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/sentinel"
)

const noCommit = "0123456789012345678901234567890123456789"

var refusalFacts = []fact{
	{"nobody gives a verdict on their own pull request", Setup{Author: "bot"}, func(l *lab) {
		_, err := l.try("bot", sentinel.Approved, "yes")
		l.refused(err, "(422): approve your own pull is not allowed")
		_, err = l.try("bot", sentinel.RequestChanges, "no", on("here"))
		l.refused(err, "(422): reject your own pull is not allowed")
		l.post("bot", sentinel.Comment, "hm", on("there"))
		l.wantRows("bot", "COMMENT")
	}},
	{"which reviews may be empty", approving(), func(l *lab) {
		_, err := l.try("bot", sentinel.RequestChanges, " \n", on("here"))
		l.refused(err, "(422): review event REQUEST_CHANGES requires a body")
		for _, event := range []sentinel.Verdict{sentinel.RequestChanges, sentinel.Comment} {
			_, err = l.try("bot", event, "")
			l.refused(err, "")
		}
		_, err = l.try("bot", sentinel.Comment, "hm", on(" "))
		l.refused(err, "")
		_, err = l.try("bot", sentinel.None, "hm")
		l.refused(err, "can't be posted")
		l.wantRows("bot")
		l.post("bot", sentinel.Approved, "")
		l.post("bot", sentinel.Comment, "", on("here"))
		l.wantRows("bot", "APPROVED official", "COMMENT")
	}},
	{"a closed pull request takes comments only, and a verdict's inline comments stay pending", approving().in(refusesClosed), func(l *lab) {
		l.Close("owner")
		_, err := l.try("bot", sentinel.Approved, "yes")
		l.refused(err, "(422): can't submit review for a closed or merged PR")
		l.post("bot", sentinel.Comment, "late", on("here"))
		_, err = l.try("bot", sentinel.RequestChanges, "no", on("left"))
		l.refused(err, "(422): can't submit review for a closed or merged PR")
		rows := l.rows("bot", "bot")
		if len(rows) != 2 || rows[1].State != escalation.RowPending || rows[1].Comments != 1 {
			l.Errorf("rows %+v, want a comment and a pending one", rows)
		}
	}},
	{"a comment on a commit that doesn't exist is taken, a verdict and inline comments fail", approving(), func(l *lab) {
		post := func(event sentinel.Verdict, comments ...reviewer.NewComment) (reviewer.Row, error) {
			return l.As("bot").PostReview(l.Context(), reviewer.NewReview{Event: event, Commit: noCommit, Body: "x", Comments: comments})
		}
		row, err := post(sentinel.Comment)
		l.must(err)
		if row.Commit != noCommit {
			l.Errorf("row %+v", row)
		}
		_, err = post(sentinel.Approved)
		l.refused(err, "unknown")
		l.wantRows("bot", "COMMENT")
		_, err = post(sentinel.Comment, on("here"))
		l.refused(err, "unknown")
		rows := l.rows("bot", "bot")
		if len(rows) != 2 || rows[1].State != escalation.RowPending || rows[1].Comments != 0 {
			l.Errorf("rows %+v, want a comment and an empty pending one", rows)
		}
	}},
	{"an inline comment past the end of a file or out of the repository fails and leaves the ones before pending", approving().in(refusesPastEnd), func(l *lab) {
		for i, bad := range []reviewer.NewComment{
			{Path: "new.go", NewLine: 11}, {Path: "../x", NewLine: 1}, {Path: "/x", NewLine: 1}, {Path: "../x", OldLine: 1}, {Path: "/x"},
		} {
			bad.Body = "bad"
			_, err := l.try("bot", sentinel.Approved, "yes", on("left"), bad)
			l.refused(err, "unknown")
			rows := l.rows("bot", "bot")
			if len(rows) != 1 || rows[0].State != escalation.RowPending || rows[0].Comments != i+1 {
				l.Errorf("after %+v: rows %+v, want one that is pending with %d comments", bad, rows, i+1)
			}
		}
		l.wantRows("bot")
	}},
	{"a review that doesn't exist has no comments", approving(), func(l *lab) {
		_, err := l.As("bot").Comments(l.Context(), 1<<40)
		l.is(err, reviewer.ErrGone)
		_, err = l.As("bot").SubmitPending(l.Context(), 1<<40, "x")
		l.refused(err, "")
	}},
}

var pullFacts = []fact{
	{"the pull request tells title, author, branches and state", approving(), func(l *lab) {
		p := l.pull()
		if p.Title != "pull topic" || p.Author != (reviewer.User{ID: l.id("author"), Login: l.Login("author")}) || p.Closed || p.Draft ||
			p.Base != p.MergeBase || p.Head == p.Base || !fullSHA.MatchString(p.Head) || !fullSHA.MatchString(p.Base) ||
			p.URL != p.Repo+p.URL[strings.LastIndex(p.URL, "/pulls/"):] {
			l.Errorf("pull %+v", p)
		}
		l.SetTitle("author", "[wip] other")
		l.Close("owner")
		if p = l.pull(); p.Title != "[wip] other" || !p.Draft || !p.Closed {
			l.Errorf("pull %+v, want a closed draft", p)
		}
		l.SetTitle("author", "other")
		l.Reopen("author")
		if p = l.pull(); p.Draft || p.Closed {
			l.Errorf("pull %+v, want it open", p)
		}
		var kinds []escalation.EntryKind
		for _, e := range l.since(at(0)) {
			kinds = append(kinds, e.Kind)
		}
		if want := []escalation.EntryKind{entryPush, entryTitle, entryClose, entryTitle, escalation.EntryReopen}; !slices.Equal(kinds, want) {
			l.Errorf("entries %v, want %v", kinds, want)
		}
		if e := l.entry(escalation.EntryReopen); e.User != l.id("author") {
			l.Errorf("entry %+v, want the author's", e)
		}
	}},
	{"a comment is an entry with its text", approving(), func(l *lab) {
		id := l.Comment("outsider", "hello")
		if e := l.entry(escalation.EntryComment); e.ID != id || e.Body != "hello" || e.User != l.id("outsider") || e.Review != 0 {
			l.Errorf("entry %+v", e)
		}
	}},
	{"the diff is that between merge base and head", approving(), func(l *lab) {
		l.Push("author", map[string]string{"old.txt": Gone, "cut.txt": "no newline at the end"})
		got, err := l.As("bot").Diff(l.Context())
		l.must(err)
		files := HeadFiles()
		files["old.txt"], files["cut.txt"] = Gone, "no newline at the end"
		head := BaseFiles()
		for path, text := range files {
			head[path] = text
			if text == Gone {
				delete(head, path)
			}
		}
		if want := textOf(BaseFiles(), head); !bytes.Equal(withoutIndex(got), withoutIndex(want)) {
			l.Errorf("diff\n%s\nwant\n%s", got, want)
		}
	}},
	{"a file is read at a commit or branch, at the default branch for an unknown name", approving().in(looseRefs), func(l *lab) {
		p := l.pull()
		for _, c := range []struct{ path, ref, want string }{
			{"main.go", p.Base, BaseFiles()["main.go"]}, {"main.go", p.Head, HeadFiles()["main.go"]},
			{"main.go", p.BaseBranch, BaseFiles()["main.go"]}, {"old.txt", p.Head, BaseFiles()["old.txt"]},
			{"new.go", p.Base, Gone}, {"no/such", p.Head, Gone}, {"main.go", noCommit, Gone}, {"main.go", "no-such-branch", BaseFiles()["main.go"]},
		} {
			got, err := l.As("bot").File(l.Context(), c.path, c.ref)
			if c.want == Gone {
				if !errors.Is(err, reviewer.ErrNoFile) {
					l.Errorf("%s at %s: error %v, want ErrNoFile", c.path, c.ref, err)
				}
			} else if err != nil || string(got) != c.want {
				l.Errorf("%s at %s: %q, %v; want %q", c.path, c.ref, got, err, c.want)
			}
		}
	}},
}

// withoutIndex is a diff without git's hashes.
func withoutIndex(diff []byte) []byte {
	all := bytes.SplitAfter(diff, []byte("\n"))
	return bytes.Join(slices.DeleteFunc(all, func(line []byte) bool { return bytes.HasPrefix(line, []byte("index ")) }), nil)
}
