package forgetest

import (
	"net/http"
	"strings"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/sentinel"
)

var dismissalFacts = []fact{
	{"a dismissal leaves an entry with the review, the doer and the message", blocking(), func(l *lab) {
		row := l.post("bot", sentinel.RequestChanges, "no")
		l.status(l.Dismiss("owner", row.ID, "agreed on the phone", false), http.StatusOK)
		l.wantRows("bot", "REQUEST_CHANGES official dismissed")
		if e := l.entry(escalation.EntryDismiss); e.Review != row.ID || e.User != l.id("owner") || e.Body != "agreed on the phone" {
			l.Errorf("entry %+v", e)
		}
	}},
	{"a second dismissal leaves a second entry, undismissing none", blocking(), func(l *lab) {
		row := l.post("bot", sentinel.RequestChanges, "no")
		l.status(l.Dismiss("owner", row.ID, "one", false), http.StatusOK)
		l.status(l.Dismiss("owner", row.ID, "two", false), http.StatusOK)
		l.status(l.Undismiss("owner", row.ID), http.StatusOK)
		if n := len(l.entries(escalation.EntryDismiss)); n != 2 {
			l.Errorf("%d entries, want 2", n)
		}
		l.wantRows("bot", "REQUEST_CHANGES official")
		l.judge(rejected)
	}},
	{"after a dismissal was taken back, a newer verdict without inline comments dismisses it again, without an entry", blocking(), func(l *lab) {
		row := l.post("bot", sentinel.RequestChanges, "no")
		l.status(l.Dismiss("owner", row.ID, "fine", false), http.StatusOK)
		l.status(l.Undismiss("owner", row.ID), http.StatusOK)
		l.post("bot", sentinel.Comment, "by the way")
		l.post("bot", sentinel.RequestChanges, "no again", on("here"))
		l.wantRows("bot", "REQUEST_CHANGES", "COMMENT", "REQUEST_CHANGES official")
		l.post("bot", sentinel.RequestChanges, "no once more")
		l.wantRows("bot", "REQUEST_CHANGES dismissed", "COMMENT", "REQUEST_CHANGES dismissed", "REQUEST_CHANGES official")
		if e := l.entry(escalation.EntryDismiss); e.Review != row.ID || e.User != l.id("owner") {
			l.Errorf("entry %+v, want the owner's and no other", e)
		}
	}},
	{"a dismissal on the page takes the older reviews with it, with one entry", blocking(), func(l *lab) {
		l.post("bot", sentinel.RequestChanges, "no")
		row := l.post("bot", sentinel.RequestChanges, "no again", on("here"))
		l.status(l.Dismiss("owner", row.ID, "fine", true), http.StatusOK)
		l.wantRows("bot", "REQUEST_CHANGES dismissed", "REQUEST_CHANGES official dismissed")
		l.entry(escalation.EntryDismiss)
	}},
	{"only an admin dismisses, and only verdicts of an open pull request", blocking(), func(l *lab) {
		verdict, comment := l.post("bot", sentinel.RequestChanges, "no"), l.post("bot", sentinel.Comment, "hm")
		for _, name := range []string{"bot", "writer", "author", "outsider"} {
			l.status(l.Dismiss(name, verdict.ID, "", false), http.StatusForbidden)
			l.status(l.Undismiss(name, verdict.ID), http.StatusForbidden)
		}
		l.status(l.Dismiss("owner", comment.ID, "", false), http.StatusForbidden)
		l.status(l.Dismiss("owner", verdict.ID+1_000_000, "", false), http.StatusNotFound)
		l.Close("owner")
		l.status(l.Dismiss("owner", verdict.ID, "", false), http.StatusForbidden)
	}},
	{"a writer can delete the entry of a dismissal", blocking().in(deletesEntries), func(l *lab) {
		row := l.post("bot", sentinel.RequestChanges, "no")
		l.status(l.Dismiss("owner", row.ID, "fine", false), http.StatusOK)
		l.status(l.DeleteEntry("writer", l.entry(escalation.EntryDismiss).ID), http.StatusOK)
		l.wantRows("bot", "REQUEST_CHANGES official dismissed")
		if n := len(l.entries(escalation.EntryDismiss)); n != 0 {
			l.Errorf("%d entries, want none", n)
		}
	}},
}

var requestFacts = []fact{
	{"a request clears official and adds a row and an entry", approving(), func(l *lab) {
		l.post("bot", sentinel.RequestChanges, "no")
		l.must(l.As("author").RequestReview(l.Context(), l.Login("bot")))
		l.wantRows("bot", "REQUEST_CHANGES", "REQUEST_REVIEW official")
		row := l.rows("owner", "bot")[1]
		want := reviewer.Row{ID: row.ID, Author: l.id("bot"), State: escalation.RowRequest, Official: true, Submitted: row.Submitted}
		if row != want {
			l.Errorf("row %+v, want %+v", row, want)
		}
		e := l.entry(escalation.EntryReviewRequest)
		if e.Review != row.ID || e.User != l.id("author") || e.Subject != row.Author || e.Removed || e.Body != "" {
			l.Errorf("entry %+v", e)
		}
	}},
	{"a request that stands already changes nothing", approving(), func(l *lab) {
		l.must(l.As("owner").RequestReview(l.Context(), l.Login("bot")))
		l.asked(l.As("bot").RequestReview(l.Context(), l.Login("bot")))
		l.wantRows("bot", "REQUEST_REVIEW official")
		l.entry(escalation.EntryReviewRequest)
	}},
	{"an account withdraws its verdict by asking itself, and taking that back restores it", approving(), func(l *lab) {
		l.post("bot", sentinel.Approved, "yes")
		l.must(l.As("bot").RequestReview(l.Context(), l.Login("bot")))
		l.wantRows("bot", "APPROVED", "REQUEST_REVIEW official")
		l.status(l.RemoveRequest("bot", "bot"), http.StatusOK)
		l.wantRows("bot", "APPROVED official")
		entries := l.entries(escalation.EntryReviewRequest)
		if len(entries) != 2 || entries[0].Removed || !entries[1].Removed || entries[1].Review != 0 || entries[1].Subject != l.id("bot") {
			l.Errorf("entries %+v", entries)
		}
		l.status(l.RemoveRequest("bot", "bot"), http.StatusOK)
		l.judge(open)
	}},
	{"a review without inline comments takes the request away, one with them leaves it", approving().in(remembersAsked), func(l *lab) {
		for _, name := range []string{"bot", "bot2", "writer"} {
			l.must(l.As("owner").RequestReview(l.Context(), l.Login(name)))
		}
		l.post("bot", sentinel.Comment, "hm")
		l.post("bot2", sentinel.Comment, "hm", on("here"))
		l.post("writer", sentinel.Approved, "yes", on("here"))
		l.wantRows("bot", "COMMENT")
		l.wantRows("bot2", "REQUEST_REVIEW official", "COMMENT")
		l.wantRows("writer", "REQUEST_REVIEW", "APPROVED official")
	}},
	{"a new request replaces one that a review with inline comments has left", approving(), func(l *lab) {
		l.must(l.As("owner").RequestReview(l.Context(), l.Login("bot")))
		l.post("bot", sentinel.Approved, "yes", on("here"))
		l.must(l.As("bot").RequestReview(l.Context(), l.Login("bot")))
		l.wantRows("bot", "APPROVED", "REQUEST_REVIEW official")
	}},
	{"asking again does nothing after a review that was begun before the last request", approving().in(remembersAsked), func(l *lab) {
		l.leavePending()
		l.must(l.As("owner").RequestReview(l.Context(), l.Login("bot")))
		l.post("bot", sentinel.Approved, "yes")
		l.wantRows("bot", "APPROVED official", "REQUEST_REVIEW")
		l.asked(l.As("bot").RequestReview(l.Context(), l.Login("bot")))
		l.wantRows("bot", "APPROVED official", "REQUEST_REVIEW")
		l.judge(open)
	}},
	{"a block without inline comments takes the request away, and the account can ask itself again", blocking().in(remembersAsked), func(l *lab) {
		l.leavePending()
		l.must(l.As("owner").RequestReview(l.Context(), l.Login("bot")))
		l.post("bot", sentinel.Approved, "yes")
		l.asked(l.As("bot").RequestReview(l.Context(), l.Login("bot")))
		l.post("bot", sentinel.RequestChanges, "nobody has judged it")
		l.wantRows("bot", "APPROVED dismissed", "REQUEST_CHANGES official")
		l.must(l.As("bot").RequestReview(l.Context(), l.Login("bot")))
		l.wantRows("bot", "APPROVED dismissed", "REQUEST_CHANGES", "REQUEST_REVIEW official")
		l.judge(open)
	}},
	{"the author removes the request, and what was taken back counts again: the newest verdict by id", blocking(), func(l *lab) {
		l.post("bot", sentinel.Approved, "yes", on("though"))
		l.must(l.As("bot").RequestReview(l.Context(), l.Login("bot")))
		l.status(l.RemoveRequest("author", "bot"), http.StatusOK)
		l.wantRows("bot", "APPROVED official")
		l.must(l.As("bot").RequestReview(l.Context(), l.Login("bot")))
		l.post("bot", sentinel.RequestChanges, "nobody has judged it")
		l.must(l.As("bot").RequestReview(l.Context(), l.Login("bot")))
		l.status(l.RemoveRequest("author", "bot"), http.StatusOK)
		l.wantRows("bot", "APPROVED dismissed", "REQUEST_CHANGES official")
		l.judge(rejected)
	}},
	{"a comment takes the request away, and the verdicts stay cleared", approving(), func(l *lab) {
		l.post("bot", sentinel.Approved, "yes")
		l.must(l.As("author").RequestReview(l.Context(), l.Login("bot")))
		l.post("bot", sentinel.Comment, "hm")
		l.wantRows("bot", "APPROVED", "COMMENT")
		l.must(l.As("author").RequestReview(l.Context(), l.Login("bot")))
		l.status(l.RemoveRequest("author", "bot"), http.StatusOK)
		l.wantRows("bot", "APPROVED official", "COMMENT")
		l.judge(open)
	}},
	{"an unofficial reviewer's request is unofficial", approving(), func(l *lab) {
		l.post("outsider", sentinel.Approved, "yes")
		l.must(l.As("owner").RequestReview(l.Context(), l.Login("outsider")))
		l.wantRows("outsider", "APPROVED", "REQUEST_REVIEW")
	}},
	{"who may write", approving(), func(l *lab) {
		for name, want := range map[string]bool{"owner": true, "author": true, "writer": true, "bot": true, "outsider": false} {
			for _, asks := range []string{"owner", "bot", "outsider"} { // the server tells more to the first
				if got, err := l.As(asks).Permission(l.Context(), l.Login(name)); got != want || err != nil {
					l.Errorf("%s asks: %s may write: %v, %v; want %v", asks, name, got, err, want)
				}
			}
		}
		if got, err := l.As("bot").Permission(l.Context(), "no-such-user"); got || err != nil {
			l.Errorf("nobody may write: %v, %v", got, err)
		}
	}},
	{"only writers and the author reopen", approving(), func(l *lab) {
		l.Close("author")
		l.status(l.TryReopen("outsider"), http.StatusForbidden)
		l.status(l.TryReopen("writer"), http.StatusOK)
		l.Close("writer")
		l.status(l.TryReopen("author"), http.StatusOK)
		entries := l.entries(escalation.EntryReopen)
		if len(entries) != 2 || entries[0].User != l.id("writer") || entries[1].User != l.id("author") {
			l.Errorf("entries %+v", entries)
		}
	}},
	{"who may ask whom", approving(), func(l *lab) {
		ctx := l.Context()
		l.refused(l.As("owner").RequestReview(ctx, l.Login("author")), "(422): poster of pr can't be reviewer")
		l.refused(l.As("outsider").RequestReview(ctx, l.Login("bot")), "(422): Doer can't choose reviewer")
		l.refused(l.As("outsider").RequestReview(ctx, l.Login("outsider")), "(422): Doer can't choose reviewer")
		l.refused(l.As("owner").RequestReview(ctx, "no-such-user"), "")
		l.status(l.RemoveRequest("outsider", "bot"), http.StatusUnprocessableEntity)
		l.post("bot", sentinel.Comment, "hm")
		l.post("bot2", sentinel.Approved, "yes")
		l.Close("owner")
		l.must(l.As("owner").RequestReview(ctx, l.Login("bot")))
		l.refused(l.As("owner").RequestReview(ctx, l.Login("bot2")), "closed or merged")
	}},
}

var pushFacts = []fact{
	{"a push makes all reviews stale and leaves an entry", blocking(), func(l *lab) {
		l.post("bot", sentinel.RequestChanges, "no")
		l.post("bot2", sentinel.Comment, "hm")
		l.post("outsider", sentinel.Approved, "yes")
		head := l.Push("bot2", map[string]string{"new.go": "better\n"})
		l.wantRows("bot", "REQUEST_CHANGES official stale")
		l.wantRows("bot2", "COMMENT stale")
		l.wantRows("outsider", "APPROVED stale")
		entries := l.entries(entryPush)
		last := entries[len(entries)-1]
		if len(entries) != 2 || last.User != l.id("bot2") || !strings.Contains(last.Body, head) {
			l.Errorf("entries %+v, want that of the opening and one with %s", entries, head)
		}
		if p := l.pull(); p.Head != head {
			l.Errorf("head %s, want %s", p.Head, head)
		}
	}},
	{"where stale approvals are dismissed a push dismisses every approval, with an entry of the pusher each", Setup{Protection: &Protection{DismissStale: true}}, func(l *lab) {
		first := l.post("bot", sentinel.Approved, "yes")
		second := l.post("bot", sentinel.Approved, "yes", on("here"))
		l.post("bot2", sentinel.RequestChanges, "no")
		l.Push("author", map[string]string{"new.go": "better\n"})
		l.wantRows("bot", "APPROVED dismissed stale", "APPROVED official dismissed stale")
		l.wantRows("bot2", "REQUEST_CHANGES official stale")
		entries := l.entries(escalation.EntryDismiss)
		if len(entries) != 2 || entries[0].Review != first.ID || entries[1].Review != second.ID || entries[1].User != l.id("author") || entries[1].Body != autoDismiss {
			l.Errorf("entries %+v", entries)
		}
		l.Push("author", map[string]string{"new.go": "better still\n"})
		if n := len(l.entries(escalation.EntryDismiss)); n != 2 {
			l.Errorf("%d entries after a second push, want no more than 2", n)
		}
	}},
	{"merging the base in changes nothing", Setup{Protection: &Protection{DismissStale: true}}, func(l *lab) {
		l.post("bot", sentinel.Approved, "yes")
		head := l.MergeBase("author", map[string]string{"news.txt": "news\n"})
		l.wantRows("bot", "APPROVED official")
		if p := l.pull(); p.Head != head || p.MergeBase != p.Base {
			l.Errorf("pull %+v, want head %s and the base's tip as merge base", p, head)
		}
	}},
	{"taking a change back is no change to the server", Setup{Protection: &Protection{DismissStale: true}}, func(l *lab) {
		l.post("bot", sentinel.Approved, "yes")
		l.Push("author", map[string]string{"main.go": BaseFiles()["main.go"]})
		l.wantRows("bot", "APPROVED official")
	}},
	{"a verdict on an old commit is stale at once, a comment isn't", approving(), func(l *lab) {
		old := l.pull().Head
		l.Push("author", map[string]string{"new.go": "better\n"})
		for _, event := range []sentinel.Verdict{sentinel.RequestChanges, sentinel.Comment} {
			_, err := l.As("bot").PostReview(l.Context(), reviewer.NewReview{Event: event, Commit: old, Body: "old"})
			l.must(err)
		}
		l.wantRows("bot", "REQUEST_CHANGES official stale", "COMMENT")
	}},
	{"inline comments stay where they were posted", approving(), func(l *lab) {
		row := l.post("bot", sentinel.Comment, "hm", on("here"))
		l.Push("author", map[string]string{"new.go": "one line only\n"})
		if list := l.comments("bot", row.ID); len(list) != 1 || list[0].NewLine != 3 || l.row(row.ID).Comments != 1 {
			l.Errorf("comments %+v", list)
		}
	}},
}
