package forgetest

import (
	"net/http"
	"slices"
	"strings"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/sentinel"
)

var verdictFacts = []fact{
	{"a row names its author, commit, time and timeline entry", approving(), func(l *lab) {
		_, before, err := l.As("bot").Reactions(l.Context())
		l.must(err)
		answer := l.post("bot", sentinel.RequestChanges, "no\n\nreally", on("one"), on("two"))
		row, entry := l.row(answer.ID), l.entry(escalation.EntryReview)
		if !answer.Submitted.Equal(row.Submitted) || row.Submitted.Before(before) {
			l.Errorf("submitted %v in the answer, %v in the list, not before %v", answer.Submitted, row.Submitted, before)
		}
		answer.Submitted = row.Submitted
		if answer != row {
			l.Errorf("answered %+v, listed %+v", answer, row)
		}
		want := reviewer.Row{
			ID: row.ID, Author: l.id("bot"), State: escalation.RowRequestChanges, Body: "no\n\nreally", Official: true, Commit: l.pull().Head,
			CommentID: entry.ID, URL: row.URL, Submitted: row.Submitted, Comments: 2,
		}
		if row != want || !strings.HasPrefix(row.URL, l.pull().URL+"#") {
			l.Errorf("listed %+v, want %+v", row, want)
		}
		if entry.Review != row.ID || entry.Body != row.Body || entry.User != row.Author || entry.Login != l.Login("bot") || entry.Subject != 0 {
			l.Errorf("entry %+v isn't the review's, %+v", entry, row)
		}
	}},
	{"the newest verdict without inline comments makes the older ones unofficial and dismissed", approving(), func(l *lab) {
		l.post("bot", sentinel.Approved, "yes")
		l.post("bot", sentinel.RequestChanges, "no")
		l.wantRows("bot", "APPROVED dismissed", "REQUEST_CHANGES official")
		l.judge(unapproved)
	}},
	{"the newest verdict with inline comments makes the older ones unofficial, not dismissed", approving(), func(l *lab) {
		l.post("bot", sentinel.RequestChanges, "no")
		l.post("bot", sentinel.Approved, "yes", on("though"))
		l.wantRows("bot", "REQUEST_CHANGES", "APPROVED official")
		if n := len(l.entries(escalation.EntryDismiss)); n != 0 {
			l.Errorf("%d entries of a dismissal, want none", n)
		}
		l.judge(open)
	}},
	{"a comment leaves the verdict as it is", blocking(), func(l *lab) {
		l.post("bot", sentinel.RequestChanges, "no")
		l.post("bot", sentinel.Comment, "by the way")
		l.post("bot", sentinel.Comment, "and", on("here"))
		l.wantRows("bot", "REQUEST_CHANGES official", "COMMENT", "COMMENT")
		l.judge(rejected)
	}},
	{"the verdict of one without write access is unofficial", approving(), func(l *lab) {
		l.post("outsider", sentinel.Approved, "yes")
		l.wantRows("outsider", "APPROVED")
		l.judge(unapproved)
	}},
	{"with a list of reviewers only theirs are official", Setup{Protection: &Protection{BlockOnRejected: true, Whitelist: []string{"bot2"}}}, func(l *lab) {
		l.post("bot", sentinel.RequestChanges, "no")
		l.post("bot2", sentinel.Approved, "yes")
		l.wantRows("bot", "REQUEST_CHANGES")
		l.wantRows("bot2", "APPROVED official")
		l.judge(open)
	}},
	{"without protection a writer's verdict is official and blocks nothing", Setup{}, func(l *lab) {
		l.post("bot", sentinel.RequestChanges, "no")
		l.wantRows("bot", "REQUEST_CHANGES official")
		l.judge(open)
	}},
	{"inline comments keep their side, place and text", approving().in(takesAnyOld), func(l *lab) {
		row := l.post("bot", sentinel.Comment, "", reviewer.NewComment{Path: "main.go", NewLine: 11, Body: "new"},
			reviewer.NewComment{Path: "main.go", OldLine: 10, Body: "old"}, reviewer.NewComment{Path: "no/such", NewLine: 9, Body: "nowhere"},
			reviewer.NewComment{Path: "new.go", OldLine: 99, Body: "past the end"}, reviewer.NewComment{Path: "main.go", Body: "line 0"})
		var got []reviewer.Comment
		for _, c := range l.comments("outsider", row.ID) {
			if c.ID == 0 || c.Review != row.ID || c.Author != l.id("bot") || c.Resolver != 0 {
				l.Errorf("comment %+v", c)
			}
			got = append(got, reviewer.Comment{Path: c.Path, NewLine: c.NewLine, OldLine: c.OldLine, Body: c.Body})
		}
		want := []reviewer.Comment{
			{Path: "main.go", NewLine: 11, Body: "new"}, {Path: "main.go", OldLine: 10, Body: "old"}, {Path: "no/such", NewLine: 9, Body: "nowhere"},
			{Path: "new.go", OldLine: 99, Body: "past the end"}, {Path: "main.go", Body: "line 0"},
		}
		if !slices.Equal(got, want) {
			l.Errorf("comments %+v, want %+v", got, want)
		}
	}},
	{"a resolved conversation names who resolved it", approving().in(resolves), func(l *lab) {
		row := l.post("bot", sentinel.Comment, "", on("one"), on("two"))
		first := l.comments("bot", row.ID)[0].ID
		l.status(l.Resolve("outsider", first), http.StatusForbidden)
		l.status(l.Resolve("owner", first), http.StatusOK)
		l.status(l.Resolve("author", first), http.StatusOK)
		if list := l.comments("bot", row.ID); list[0].Resolver != l.id("owner") || list[1].Resolver != 0 {
			l.Errorf("comments %+v, want the first resolved by the owner", list)
		}
	}},
}

// The scenarios of the table “Verdicts and the gate”: what the merge endpoint says.
var gateFacts = []fact{
	{"requested changes block", blocking(), func(l *lab) {
		l.post("bot", sentinel.RequestChanges, "no")
		l.judge(rejected)
	}},
	{"requested changes block across a push", blocking(), func(l *lab) {
		l.post("bot", sentinel.RequestChanges, "no")
		l.Push("author", map[string]string{"new.go": "better\n"})
		l.wantRows("bot", "REQUEST_CHANGES official stale")
		l.judge(rejected)
	}},
	{"another account's approval doesn't lift requested changes", approving(), func(l *lab) {
		l.post("bot", sentinel.RequestChanges, "no")
		l.post("bot2", sentinel.Approved, "yes")
		l.wantRows("bot", "REQUEST_CHANGES official")
		l.judge(rejected)
	}},
	{"the same account's approval lifts requested changes", approving(), func(l *lab) {
		l.post("bot", sentinel.RequestChanges, "no")
		l.post("bot", sentinel.Approved, "yes")
		l.judge(open)
	}},
	{"after requested changes the same account's approval no longer counts", approving(), func(l *lab) {
		l.post("bot2", sentinel.Approved, "yes")
		l.post("bot", sentinel.Approved, "yes")
		l.post("bot", sentinel.RequestChanges, "no")
		l.judge(rejected)
	}},
	{"requested changes of an unofficial reviewer block nothing", blocking(), func(l *lab) {
		l.post("outsider", sentinel.RequestChanges, "no")
		l.judge(open)
	}},
	{"asking the account again opens", blocking(), func(l *lab) {
		l.post("bot", sentinel.RequestChanges, "no")
		l.must(l.As("owner").RequestReview(l.Context(), l.Login("bot")))
		l.judge(open)
	}},
	{"a dismissal opens", blocking(), func(l *lab) {
		row := l.post("bot", sentinel.RequestChanges, "no")
		l.status(l.Dismiss("owner", row.ID, "fine", false), http.StatusOK)
		l.judge(open)
	}},
	{"an old request for changes doesn't come back when the newest verdict is dismissed", blocking(), func(l *lab) {
		l.post("bot", sentinel.RequestChanges, "no")
		row := l.post("bot", sentinel.Approved, "yes", on("though"))
		l.status(l.Dismiss("owner", row.ID, "no", false), http.StatusOK)
		l.wantRows("bot", "REQUEST_CHANGES", "APPROVED official dismissed")
		l.judge(open)
	}},
	{"a push dismisses approvals where stale ones are dismissed", Setup{Protection: &Protection{RequiredApprovals: 1, DismissStale: true}}, func(l *lab) {
		l.post("bot", sentinel.Approved, "yes")
		l.Push("author", map[string]string{"new.go": "better\n"})
		l.judge(unapproved)
	}},
	{"a stale approval doesn't count where stale ones are ignored", Setup{Protection: &Protection{RequiredApprovals: 1, IgnoreStale: true}}, func(l *lab) {
		l.post("bot", sentinel.Approved, "yes")
		l.Push("author", map[string]string{"new.go": "better\n"})
		l.wantRows("bot", "APPROVED official stale")
		l.judge(unapproved)
	}},
	{"a stale approval counts elsewhere", approving(), func(l *lab) {
		l.post("bot", sentinel.Approved, "yes")
		l.Push("author", map[string]string{"new.go": "better\n"})
		l.judge(open)
	}},
	{"an approval of an old commit counts, also where stale ones are dismissed", Setup{Protection: &Protection{RequiredApprovals: 1, DismissStale: true}}, func(l *lab) {
		old := l.pull().Head
		l.Push("author", map[string]string{"new.go": "better\n"})
		row, err := l.As("bot").PostReview(l.Context(), reviewer.NewReview{Event: sentinel.Approved, Commit: old, Body: "yes"})
		l.must(err)
		if row.Commit != old {
			l.Errorf("commit %s, want the old head %s", row.Commit, old)
		}
		l.wantRows("bot", "APPROVED official stale")
		l.judge(open)
	}},
	{"an official request blocks where requests do", Setup{Protection: &Protection{BlockOnRequests: true}}, func(l *lab) {
		l.must(l.As("owner").RequestReview(l.Context(), l.Login("bot")))
		l.judge(unrequested)
	}},
	{"a draft isn't merged", Setup{}, func(l *lab) {
		l.SetTitle("author", "WIP: not yet")
		l.judge("Work in progress PRs cannot be merged")
	}},
}
