package forgetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer"
)

// View is the pull request as one account sees and writes it, for one job.
type View struct {
	Hook  Hook // nil: none
	Steps bool // PostReview is one request, but several steps on the server

	forge   *Forge
	account int64
	lock    sync.Locker
}

var _ reviewer.Forge = (*View)(nil)

// request makes one request in one step: hook, server, hook.
func request[T any](ctx context.Context, v *View, op Op, doing string, serve func(f *Forge) (T, error)) (T, error) {
	return exchange(ctx, v, op, doing, func(hooked error) (T, error) {
		if hooked != nil {
			var none T
			return none, hooked
		}
		return locked(v, serve)
	})
}

// exchange is a request whose steps are serve's to make. serve hears of the
// hook's error before the request, and returns it unless it means something there.
func exchange[T any](ctx context.Context, v *View, op Op, doing string, serve func(hooked error) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, v.explain(doing, err)
	}
	hooked := v.call(Call{Op: op})
	answer, err := serve(hooked)
	if hooked == nil {
		if lost := v.call(Call{Op: op, Done: true}); lost != nil {
			err = lost
			if op.Writes() {
				err = unknownError{lost}
			}
		}
	}
	if err != nil {
		return none, v.explain(doing, err)
	}
	return answer, nil
}

func locked[T any](v *View, serve func(f *Forge) (T, error)) (T, error) {
	v.lock.Lock()
	defer v.lock.Unlock()
	return serve(v.forge)
}

func (v *View) call(c Call) error {
	if v.Hook == nil {
		return nil
	}
	v.lock.Lock()
	c.Account = v.forge.byID(v.account).Login
	v.lock.Unlock()
	return v.Hook(c)
}

// what names the pull request in errors.
func (v *View) what() string { return fmt.Sprintf("%s#%d", v.forge.site.repo, v.forge.site.number) }

// Account is the user whose view it is.
func (v *View) Account(ctx context.Context) (reviewer.User, error) {
	return request(ctx, v, GetAccount, "asking whose token this is", func(f *Forge) (reviewer.User, error) {
		return f.named(v.account), nil
	})
}

func (f *Forge) named(account int64) reviewer.User {
	u := f.byID(account)
	return reviewer.User{ID: u.ID, Login: u.Login}
}

// Pull reads the pull request.
func (v *View) Pull(ctx context.Context) (reviewer.Pull, error) {
	return request(ctx, v, GetPull, "reading "+v.what(), func(f *Forge) (reviewer.Pull, error) {
		return reviewer.Pull{
			Number: f.site.number, Title: f.title, Body: f.body, Author: f.named(f.site.author), URL: f.url(), Repo: f.site.url + "/" + f.site.repo,
			Head: f.head, Base: f.base, BaseBranch: f.baseBranch, MergeBase: f.mergeBase, Closed: f.closed, Draft: f.draft(),
		}, nil
	})
}

func (f *Forge) url() string {
	return fmt.Sprintf("%s/%s/pulls/%d", f.site.url, f.site.repo, f.site.number)
}

// Diff reads the pull request's diff.
func (v *View) Diff(ctx context.Context) ([]byte, error) {
	return request(ctx, v, GetDiff, "reading the diff of "+v.what(), func(f *Forge) ([]byte, error) {
		return textOf(f.files(f.mergeBaseOf(f.mergeBase, f.ref)), f.files(f.ref)), nil
	})
}

// File reads a file at a commit or branch.
func (v *View) File(ctx context.Context, path, ref string) ([]byte, error) {
	doing := fmt.Sprintf("reading %s at %s of %s", path, ref, v.forge.site.repo)
	return request(ctx, v, GetFile, doing, func(f *Forge) ([]byte, error) {
		if c := f.resolve(ref); c != nil {
			if content, ok := contentOf(c.files, path); ok {
				return content, nil
			}
		}
		return nil, reviewer.ErrNoFile
	})
}

// Reviews lists the reviews, in the order in which they were begun. Other
// people's pending ones aren't shown, only counted.
func (v *View) Reviews(ctx context.Context) ([]reviewer.Row, error) {
	return request(ctx, v, GetReviews, "reading the reviews of "+v.what(), func(f *Forge) ([]reviewer.Row, error) {
		rows := make([]reviewer.Row, 0, len(f.reviews))
		hidden := 0
		for _, r := range f.reviews {
			if r.state != escalation.RowPending || r.author == v.account {
				rows = append(rows, f.row(r))
			} else {
				hidden++
			}
		}
		for range hidden {
			rows = append(rows, escalation.HiddenReview())
		}
		return rows, nil
	})
}

func (f *Forge) row(r review) reviewer.Row {
	row := reviewer.Row{
		ID: r.id, Author: r.author, State: r.state, Body: r.body, Official: r.official, Dismissed: r.dismissed, Stale: r.stale,
		Commit: r.commit, CommentID: f.entryOf(r.id), Submitted: at(r.created), Comments: f.inlineCount(r.id),
	}
	if row.CommentID != 0 {
		row.URL = f.pageOf(row.CommentID)
	}
	return row
}

// Timeline lists the entries that were updated at since or later, as far as
// counts say that there are any.
func (v *View) Timeline(ctx context.Context, since time.Time, rows []reviewer.Row) ([]reviewer.Entry, error) {
	return request(ctx, v, GetTimeline, "reading the timeline of "+v.what(), func(f *Forge) ([]reviewer.Entry, error) {
		entries, _ := f.timeline(since, rows, false)
		return entries, nil
	})
}

// TimelineToEnd lists them as far as anything is read.
func (v *View) TimelineToEnd(
	ctx context.Context, since time.Time, rows []reviewer.Row,
) ([]reviewer.Entry, escalation.Reach, error) {
	reach := escalation.ReachEnd
	entries, err := request(ctx, v, GetTimelineToEnd, "reading the timeline of "+v.what(), func(f *Forge) ([]reviewer.Entry, error) {
		entries, ended := f.timeline(since, rows, true)
		if !ended {
			reach = escalation.ReachBound
		}
		return entries, nil
	})
	return entries, reach, err
}

func (f *Forge) entry(c comment) reviewer.Entry {
	return reviewer.Entry{
		ID: c.id, Kind: c.kind, Review: c.review, Body: c.body, User: c.author, Login: f.byID(c.author).Login,
		Subject: c.subject, Removed: c.removed, Created: at(c.created), Updated: at(c.updated),
	}
}

// Permission reports whether somebody may write.
func (v *View) Permission(ctx context.Context, login string) (bool, error) {
	doing := fmt.Sprintf("asking what %s may do in %s", login, v.forge.site.repo)
	return request(ctx, v, GetPermission, doing, func(f *Forge) (bool, error) {
		return slices.ContainsFunc(f.users, func(a Account) bool {
			return strings.EqualFold(a.Login, login) && a.Access >= AccessWrite
		}), nil
	})
}

// Comments lists a review's inline comments.
func (v *View) Comments(ctx context.Context, id int64) ([]reviewer.Comment, error) {
	doing := "reading the inline comments of a review on " + v.what()
	return request(ctx, v, GetComments, doing, func(f *Forge) ([]reviewer.Comment, error) {
		if r := f.review(id); r == nil || r.state == escalation.RowPending && r.author != v.account {
			return nil, reviewer.ErrGone
		}
		var list []reviewer.Comment
		for _, c := range f.comments {
			if c.kind != inline || c.review != id {
				continue
			}
			list = append(list, f.inline(c))
		}
		return list, nil
	})
}

func (f *Forge) inline(c comment) reviewer.Comment {
	out := reviewer.Comment{
		ID: c.id, Review: c.review, Author: c.author, Login: f.byID(c.author).Login, Body: c.body, Path: c.path,
		Commit: c.commit, URL: f.pageOf(c.id), Created: at(c.created), Updated: at(c.updated),
	}
	if c.resolver != 0 {
		out.Resolver, out.ResolverLogin = c.resolver, f.byID(c.resolver).Login
	}
	if c.line < 0 {
		out.OldLine = -c.line
	} else {
		out.NewLine = c.line
	}
	return out
}

// pageOf is where a comment stands on the pull request's page.
func (f *Forge) pageOf(comment int64) string {
	return fmt.Sprintf("%s#issuecomment-%d", f.url(), comment)
}
