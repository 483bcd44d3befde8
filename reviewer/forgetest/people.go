package forgetest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"review-bot/escalation"
	"review-bot/reviewer"
)

// What people do on the pull request's page, with git, and with the API where the
// bot doesn't. Asking for a review and editing a review's text are methods of
// [View], which everyone has.

// Push makes a commit on the pull request's branch with the files changed (text
// [Gone]: deleted) and does the server's background work for it. It returns the
// new head.
func (f *Forge) Push(by string, files map[string]string) string {
	sha := f.BeginPush(by, files)
	f.EndPush()
	return sha
}

// BeginPush is a push as git's client sees it done. The server's background work
// (the timeline's entry, stale marks, dismissals) is left for EndPush; on a real
// server it takes up to two seconds.
func (f *Forge) BeginPush(by string, files map[string]string) string {
	return f.move(by, f.commit(files, f.head))
}

// MergeBase is [Forge.BeginPush] with the base branch's news merged in.
func (f *Forge) MergeBase(by string) string {
	base, tip := f.files(f.mergeBase), f.files(f.base)
	news := map[string]string{}
	for _, path := range paths(base, tip) {
		if differ(base, tip, path) {
			news[path] = Gone
			if text, ok := tip[path]; ok {
				news[path] = text
			}
		}
	}
	return f.move(by, f.commit(news, f.head, f.base))
}

func (f *Forge) move(by, sha string) string {
	u := f.user(by)
	if u.Access < AccessWrite || f.closed {
		panic(fmt.Sprintf("forgetest: %s can't push: no right to, or the pull request is closed", by))
	}
	f.pushes = append(f.pushes, push{by: u.ID, old: f.head, new: sha, mergeBase: f.mergeBaseOf(f.base, sha)})
	f.head = sha
	return sha
}

// EndPush is the server's background work for all pushes so far.
func (f *Forge) EndPush() {
	for _, p := range f.pushes {
		f.ref, f.mergeBase = p.new, p.mergeBase
		f.pushEntry(p.by, p.new)
		if p.old != p.new && f.changed(p.old, p.new) {
			f.outdate(p.by)
		}
		for i := range f.reviews {
			if f.reviews[i].commit == p.new {
				f.reviews[i].stale = false
			}
		}
	}
	f.pushes = nil
}

func (f *Forge) outdate(by int64) {
	for i := range f.reviews {
		f.reviews[i].stale = true
	}
	if f.rule == nil || !f.rule.DismissStale {
		return
	}
	for i := range f.reviews {
		if r := &f.reviews[i]; r.state == escalation.RowApproved && !r.dismissed {
			r.dismissed = true
			f.addComment(comment{kind: escalation.EntryDismiss, author: by, review: r.id, body: autoDismiss})
		}
	}
}

func (f *Forge) pushEntry(by int64, sha string) {
	f.addComment(comment{kind: entryPush, author: by, body: fmt.Sprintf(`{"is_force_push":false,"commit_ids":[%q]}`, sha)})
}

// PushBase makes a commit on the base branch. Nothing else changes by that.
func (f *Forge) PushBase(files map[string]string) string {
	wasMain := f.baseBranch == mainBranch
	if f.base = f.commit(files, f.base); wasMain {
		f.main = f.base
	}
	return f.base
}

// Rewrite replaces the pull request's branch by a commit on top of another one, as a
// forced push does; see [Forge.BeginPush].
func (f *Forge) Rewrite(by, from string, files map[string]string) string {
	return f.move(by, f.commit(files, from))
}

// MoveRef is the first part of the server's background work for all pushes so far: it
// gives the diff of the new head from then on. The merge base follows with the rest.
func (f *Forge) MoveRef() {
	for _, p := range f.pushes {
		f.ref = p.new
	}
}

// Retarget makes a branch at a commit, and makes it the base branch.
func (f *Forge) Retarget(by, branch, at string) {
	f.baseBranch, f.base = branch, at
	f.mergeBase = f.mergeBaseOf(f.base, f.head)
	// The server replaces the entries of pushes.
	f.comments = slices.DeleteFunc(slices.Clone(f.comments), func(c comment) bool { return c.kind == entryPush })
	f.addComment(comment{kind: entryTarget, author: f.user(by).ID})
	f.pushEntry(f.user(by).ID, f.head)
}

// Dismiss dismisses a review; priors: all others of its author, too, as the pull
// request's page does. It leaves an entry also if the review was dismissed before.
func (f *Forge) Dismiss(by string, id int64, message string, priors bool) error {
	r, err := f.dismissable(by, id)
	if err != nil {
		return err
	}
	r.dismissed = true
	author := r.author
	if priors {
		for i := range f.reviews {
			if old := &f.reviews[i]; old.author == author && isVerdict(old.state) {
				old.dismissed = true
			}
		}
	}
	f.addComment(comment{kind: escalation.EntryDismiss, author: f.user(by).ID, review: id, body: message})
	return nil
}

// Undismiss takes a dismissal back, which leaves no entry.
func (f *Forge) Undismiss(by string, id int64) error {
	r, err := f.dismissable(by, id)
	if err == nil {
		r.dismissed = false
	}
	return err
}

func (f *Forge) dismissable(by string, id int64) (*review, error) {
	u, r := f.user(by), f.review(id)
	switch {
	case u.Access < AccessAdmin:
		return nil, forbidden("Must be repo admin")
	case r == nil, r.state == escalation.RowPending && r.author != u.ID:
		return nil, errNotFound
	case !isVerdict(r.state):
		return nil, forbidden("not need to dismiss this review because it's type is not Approve or change request")
	case f.closed:
		return nil, forbidden("can't dismiss a review associated to a closed or merged PR")
	}
	return r, nil
}

// RemoveRequest takes back that somebody was asked for a review.
func (f *Forge) RemoveRequest(by, login string) error { return f.unrequest(f.user(by).ID, login) }

// BeginReview begins a review and leaves it pending, with a text. Unlike one that
// a failed post left behind it has an entry in the timeline at once, which
// everyone sees.
func (f *Forge) BeginReview(by, body string) error {
	account := f.user(by).ID
	if err := f.checkEvent(account, escalation.RowPending, body, false); err != nil {
		return err
	}
	_, err := f.submit(account, escalation.RowPending, body, f.ref)
	return err
}

// BeginComments is [Forge.BeginReview] with so many inline comments, which take
// places in the timeline's pages and which nobody else is shown.
func (f *Forge) BeginComments(by, body string, comments int) error {
	account := f.user(by).ID
	if err := f.checkEvent(account, escalation.RowPending, body, true); err != nil {
		return err
	}
	for range comments {
		if err := f.addInline(account, f.ref, reviewer.NewComment{Path: "new.go", NewLine: 1, Body: body}); err != nil {
			return err
		}
	}
	_, err := f.submit(account, escalation.RowPending, body, f.ref)
	return err
}

// Refer adds so many references from issues of a repository that only its owner
// may see. They take places in the timeline's pages and aren't shown.
func (f *Forge) Refer(by string, references int) {
	for range references {
		f.addComment(comment{kind: entryHidden, author: f.user(by).ID})
	}
}

// DeleteTimelineEntry deletes an entry of the timeline, or an inline comment. A
// review whose entry is deleted stays in the list of reviews, and counts.
func (f *Forge) DeleteTimelineEntry(by string, id int64) error {
	c, err := f.writable(f.user(by).ID, id)
	switch {
	case err != nil:
		return err
	case f.site.dialect.KeepsEntries && c.kind != escalation.EntryComment:
		return nil
	case !c.hasContent():
		return refuse(http.StatusBadRequest, "")
	}
	f.comments = slices.DeleteFunc(f.comments, func(c comment) bool { return c.id == id })
	return nil
}

// Comment writes an ordinary comment and returns its id.
func (f *Forge) Comment(by, body string) int64 {
	return f.addComment(comment{kind: escalation.EntryComment, author: f.user(by).ID, body: body})
}

// Close closes the pull request without merging it.
func (f *Forge) Close(by string) {
	if !f.closed {
		f.closed = true
		f.addComment(comment{kind: entryClose, author: f.user(by).ID})
	}
}

// Reopen opens it again.
func (f *Forge) Reopen(by string) {
	if f.closed {
		f.closed = false
		f.addComment(comment{kind: escalation.EntryReopen, author: f.user(by).ID})
	}
}

// TryReopen is [Forge.Reopen] by somebody who perhaps may not: the author may, and
// who has write access.
func (f *Forge) TryReopen(by string) error {
	if u := f.user(by); u.Access < AccessWrite && u.ID != f.site.author {
		return errForbidden
	}
	f.Reopen(by)
	return nil
}

// SetTitle changes the title. One with WIP: in front makes it a draft.
func (f *Forge) SetTitle(by, title string) {
	if title != f.title {
		f.title = title
		f.addComment(comment{kind: entryTitle, author: f.user(by).ID})
	}
}

// SetBody changes the description.
func (f *Forge) SetBody(body string) { f.body = body }

func (f *Forge) draft() bool {
	title := strings.ToUpper(f.title)
	return strings.HasPrefix(title, "WIP:") || strings.HasPrefix(title, "[WIP]")
}
