package forgetest

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"review-bot/reviewer"
	"review-bot/sentinel"
)

// talk is a review of the bot with one inline comment, and a reply of the author to it.
func (l *lab) talk() (row reviewer.Row, root, reply reviewer.Comment) {
	l.Helper()
	row = l.post("bot", sentinel.Comment, "hm", on("why?"))
	l.Reply("author", l.comments("bot", row.ID)[0].ID, "because")
	all := l.comments("bot", row.ID)
	if len(all) != 2 {
		l.Fatalf("comments %+v, want two", all)
	}
	return l.row(row.ID), all[0], all[1]
}

// wantResolvers compares who resolved a review's inline comments, oldest first; "" is nobody.
func (l *lab) wantResolvers(review int64, want ...string) {
	l.Helper()
	for i, c := range l.comments("bot", review) {
		id, login := int64(0), ""
		if want[i] != "" {
			id, login = l.id(want[i]), l.Login(want[i])
		}
		if c.Resolver != id || c.ResolverLogin != login {
			l.Errorf("comment %q is resolved by %d %q, want %q", c.Body, c.Resolver, c.ResolverLogin, want[i])
		}
	}
}

// is fails unless the error is a known outcome of the kind wanted.
func (l *lab) is(err, want error) {
	l.Helper()
	if !errors.Is(err, want) || errors.Is(err, reviewer.ErrUnknown) {
		l.Errorf("error %v, want %q", err, want)
	}
}

var conversationFacts = []fact{
	{"an inline comment has its author's login, an address and times", Setup{}, func(l *lab) {
		before := l.entryTime()
		l.Tick()
		row := l.post("bot", sentinel.Comment, "hm", on("here"))
		c := l.comments("outsider", row.ID)[0]
		page, _, _ := strings.Cut(row.URL, "#")
		if c.Login != l.Login("bot") || !strings.HasPrefix(c.URL, page+"#issuecomment-") || c.URL == row.URL || c.ResolverLogin != "" {
			l.Errorf("comment %+v of %+v", c, row)
		}
		if !c.Created.After(before) || !c.Updated.Equal(c.Created) || c.Created.Nanosecond() != 0 {
			l.Errorf("created %v, updated %v, want both after %v", c.Created, c.Updated, before)
		}
	}},
	{"a reply has the review, path and line of what it answers", Setup{}, func(l *lab) {
		row := l.post("bot", sentinel.RequestChanges, "no", on("new side"),
			reviewer.NewComment{Path: "main.go", OldLine: 10, Body: "old side"}, reviewer.NewComment{Path: "main.go", NewLine: 11, Body: "other"})
		entries := len(l.since(time.Time{}))
		roots := l.comments("bot", row.ID)
		for i, by := range []string{"author", "outsider", "bot"} {
			id := l.Reply(by, roots[i].ID, "reply of "+by)
			all := l.comments("bot2", row.ID)
			got := all[len(all)-1]
			want := roots[i]
			want.ID, want.Author, want.Login, want.Body, want.URL = id, l.id(by), l.Login(by), "reply of "+by, strings.ReplaceAll(want.URL, anchor(want.ID), anchor(id))
			want.Created, want.Updated = got.Created, got.Updated
			if len(all) != 4+i || got != want {
				l.Errorf("comment %+v, want %+v", got, want)
			}
			now := l.row(row.ID)
			if now.Comments != 4+i {
				l.Errorf("the row counts %d comments, want %d", now.Comments, 4+i)
			}
			if now.Comments = row.Comments; now != row {
				l.Errorf("row %+v, was %+v", now, row)
			}
		}
		if n := len(l.since(time.Time{})); n != entries {
			l.Errorf("%d entries, were %d", n, entries)
		}
		if rows := l.rows("owner", "author"); len(rows) != 0 {
			l.Errorf("a reply made the reviews %+v", rows)
		}
	}},
	{"a reply can be answered, on a closed pull request, too", Setup{}, func(l *lab) {
		row, _, reply := l.talk()
		l.Close("owner")
		l.Reply("writer", reply.ID, "I see")
		l.wantTexts("bot", row.ID, "why?", "because", "I see")
	}},
	{"resolving marks the comment that is named only, and may be repeated", Setup{}.in(resolves), func(l *lab) {
		row, root, reply := l.talk()
		for range 2 {
			l.must(l.As("bot").Resolve(l.Context(), root.ID, true))
			l.wantResolvers(row.ID, "bot", "")
		}
		l.must(l.As("bot").Resolve(l.Context(), reply.ID, true))
		l.wantResolvers(row.ID, "bot", "bot")
		l.must(l.As("bot").Resolve(l.Context(), root.ID, false))
		l.wantResolvers(row.ID, "", "bot")
	}},
	{"reopening clears who resolved it, and may be repeated", Setup{}.in(resolves), func(l *lab) {
		row, root, _ := l.talk()
		l.must(l.As("bot").Resolve(l.Context(), root.ID, false)) // it is open
		l.must(l.As("bot").Resolve(l.Context(), root.ID, true))
		for range 2 {
			l.status(l.Unresolve("author", root.ID), http.StatusOK)
			l.wantResolvers(row.ID, "", "")
		}
	}},
	{"who resolved first stays, until it is reopened", Setup{}.in(resolves), func(l *lab) {
		row, root, _ := l.talk()
		l.status(l.Resolve("author", root.ID), http.StatusOK)
		l.must(l.As("bot").Resolve(l.Context(), root.ID, true))
		l.wantResolvers(row.ID, "author", "")
		l.status(l.Unresolve("bot", root.ID), http.StatusOK)
		l.must(l.As("bot").Resolve(l.Context(), root.ID, true))
		l.wantResolvers(row.ID, "bot", "")
	}},
	{"the author and writers resolve, others don't", approving().in(resolves), func(l *lab) {
		row, root, _ := l.talk()
		for _, by := range []string{"author", "writer", "owner", "bot2"} {
			l.status(l.Resolve(by, root.ID), http.StatusOK)
			l.wantResolvers(row.ID, by, "")
			l.status(l.Resolve("outsider", root.ID), http.StatusForbidden)
			l.status(l.Unresolve("outsider", root.ID), http.StatusForbidden)
			l.refused(l.As("outsider").Resolve(l.Context(), root.ID, false), "forbids it: user should have permission to resolve comment")
			l.wantResolvers(row.ID, by, "")
			l.status(l.Unresolve(by, root.ID), http.StatusOK)
		}
		l.Close("owner")
		l.status(l.Resolve("writer", root.ID), http.StatusOK)
		l.wantResolvers(row.ID, "writer", "")
	}},
	{"resolving leaves no entry, no time and no other mark", approving().in(resolves), func(l *lab) {
		row, root, reply := l.talk()
		entries := l.since(time.Time{})
		l.Tick()
		l.must(l.As("bot").Resolve(l.Context(), root.ID, true))
		l.Tick()
		root.Resolver, root.ResolverLogin = l.id("bot"), l.Login("bot")
		if now := l.comments("bot", row.ID); !slices.Equal(now, []reviewer.Comment{root, reply}) {
			l.Errorf("comments %+v, were %+v", now, []reviewer.Comment{root, reply})
		}
		l.must(l.As("bot").Resolve(l.Context(), root.ID, false))
		if now := l.row(row.ID); now != row {
			l.Errorf("row %+v, was %+v", now, row)
		}
		if now := l.since(time.Time{}); !slices.Equal(now, entries) {
			l.Errorf("entries %+v, were %+v", now, entries)
		}
	}},
	{"an edited inline comment shows the new text and time", Setup{}.in(resolves), func(l *lab) {
		row, root, reply := l.talk()
		entries := l.since(time.Time{})
		l.must(l.As("bot").Resolve(l.Context(), root.ID, true))
		l.Tick()
		for _, by := range []string{"bot", "writer"} {
			l.must(l.As(by).EditComment(l.Context(), root.ID, "edited by "+by))
		}
		now := l.comments("outsider", row.ID)
		if now[0].Updated.Equal(root.Updated) || now[0].Updated.Before(root.Created) {
			l.Errorf("updated %v, was %v", now[0].Updated, root.Updated)
		}
		root.Body, root.Updated, root.Resolver, root.ResolverLogin = "edited by writer", now[0].Updated, l.id("bot"), l.Login("bot")
		if !slices.Equal(now, []reviewer.Comment{root, reply}) {
			l.Errorf("comments %+v, want %+v", now, []reviewer.Comment{root, reply})
		}
		if now := l.since(time.Time{}); !slices.Equal(now, entries) {
			l.Errorf("entries %+v, were %+v", now, entries)
		}
		l.refused(l.As("outsider").EditComment(l.Context(), root.ID, "x"), "forbids it: status 403")
		l.refused(l.As("bot").EditComment(l.Context(), root.ID, ""), "the text is empty")
		l.wantTexts("bot", row.ID, "edited by writer", "because")
	}},
	{"a deleted comment is gone, and its replies stay", Setup{}.in(resolves), func(l *lab) {
		row, root, reply := l.talk()
		l.status(l.DeleteEntry("writer", root.ID), http.StatusOK)
		l.wantTexts("bot", row.ID, "because")
		if n := l.row(row.ID).Comments; n != 1 {
			l.Errorf("the row counts %d comments, want 1", n)
		}
		for _, id := range []int64{root.ID, root.ID + 1_000_000} {
			l.is(l.As("bot").Resolve(l.Context(), id, true), reviewer.ErrGone)
			l.is(l.As("bot").Resolve(l.Context(), id, false), reviewer.ErrGone)
			l.is(l.As("bot").EditComment(l.Context(), id, "x"), reviewer.ErrGone)
			l.status(l.Resolve("outsider", id), http.StatusNotFound)
		}
		l.must(l.As("bot").Resolve(l.Context(), reply.ID, true))
		l.Reply("outsider", reply.ID, "still here")
		l.wantTexts("bot", row.ID, "because", "still here")
		l.wantResolvers(row.ID, "bot", "")
	}},
	{"only inline comments are resolved", Setup{}.in(resolves), func(l *lab) {
		row := l.post("bot", sentinel.Comment, "hm")
		for _, id := range []int64{row.CommentID, l.Comment("author", "plain"), l.entry(entryPush).ID} {
			err := l.As("bot").Resolve(l.Context(), id, true)
			l.refused(err, "the server answered 400: comment is not a review comment")
			l.status(l.Unresolve("outsider", id), http.StatusBadRequest)
		}
		l.refused(l.As("bot").EditComment(l.Context(), l.entry(entryPush).ID, "x"), changedNothing)
	}},
	{"nothing is added to a submitted review", Setup{}.in(submitsForGood), func(l *lab) {
		row := l.post("bot", sentinel.Comment, "hm")
		l.is(l.As("bot").Attach(l.Context(), row.ID, on("late")), reviewer.ErrUnsupported)
		l.is(l.As("bot").Attach(l.Context(), row.ID+1_000_000, on("late")), reviewer.ErrUnsupported)
		l.refused(l.As("bot").Attach(l.Context(), row.ID, on(" ")), "the text is empty")
		if n := l.row(row.ID).Comments; n != 0 {
			l.Errorf("the row counts %d comments, want none", n)
		}
	}},
}

func anchor(n int64) string { return "issuecomment-" + strconv.FormatInt(n, 10) }

// entryTime is the server's time of an ordinary comment, written now.
func (l *lab) entryTime() time.Time {
	l.Helper()
	return l.createdOf(l.Comment("owner", "now"))
}
