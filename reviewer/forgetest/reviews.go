package forgetest

import (
	"slices"

	"review-bot/escalation"
	"review-bot/reviewer"
)

// addReview appends a row and returns its id. A submitted review takes away what
// was asked of its author; a verdict marks the author's older verdicts as
// dismissed. Neither happens to a pending review, nor later when it is submitted.
func (f *Forge) addReview(r review) int64 {
	if r.state != escalation.RowPending {
		f.forgetAsked(r.author)
	}
	if isVerdict(r.state) {
		for i := range f.reviews {
			if old := &f.reviews[i]; old.author == r.author && isVerdict(old.state) {
				old.dismissed = true
			}
		}
	}
	f.lastReview++
	r.id, r.created = f.lastReview, f.now
	f.reviews = append(f.reviews, r)
	return r.id
}

// forgetAsked takes away what was asked of an account.
func (f *Forge) forgetAsked(account int64) {
	f.reviews = slices.DeleteFunc(f.reviews, func(r review) bool {
		return r.author == account && r.state == escalation.RowRequest
	})
}

func isVerdict(s escalation.RowState) bool {
	return s == escalation.RowApproved || s == escalation.RowRequestChanges
}

func (f *Forge) review(id int64) *review {
	for i := range f.reviews {
		if f.reviews[i].id == id {
			return &f.reviews[i]
		}
	}
	return nil
}

// pending is the account's review that was begun and not submitted.
func (f *Forge) pending(account int64) *review {
	for i := range f.reviews {
		if r := &f.reviews[i]; r.author == account && r.state == escalation.RowPending {
			return r
		}
	}
	return nil
}

// checkEvent is what the server looks at before it does anything.
func (f *Forge) checkEvent(account int64, state escalation.RowState, body string, comments bool) error {
	own, empty := account == f.site.author, blank(body)
	switch state {
	case escalation.RowApproved:
		if own {
			return unprocessable("approve your own pull is not allowed")
		}
		return nil
	case escalation.RowRequestChanges:
		if own {
			return unprocessable("reject your own pull is not allowed")
		}
	case escalation.RowComment:
		if empty && !comments {
			return unprocessable("review event %s requires a body or a comment", state)
		}
		return nil
	default: // left pending, which needs a text, too
	}
	if empty {
		return unprocessable("review event %s requires a body", state)
	}
	return nil
}

// addInline adds a comment to the account's pending review, beginning one if
// there is none; it stays if the comment can't be made.
func (f *Forge) addInline(account int64, commit string, c reviewer.NewComment) error {
	into := f.pending(account)
	if into == nil {
		f.addReview(review{author: account, state: escalation.RowPending, commit: commit})
		into = f.pending(account)
	}
	return f.addTo(into, account, c)
}

// submit publishes the account's pending review, or a new one if it has none.
func (f *Forge) submit(account int64, state escalation.RowState, body, commit string) (int64, error) {
	stale := false
	if isVerdict(state) {
		if f.closed && !f.site.dialect.TakesClosed {
			return 0, unprocessable("can't submit review for a closed or merged PR")
		}
		if commit != f.ref {
			if !f.has(commit) {
				return 0, errInternal
			}
			stale = f.changed(commit, f.ref)
		}
	}
	official := false
	if isVerdict(state) {
		official = f.official(account) && !f.closed
		f.clearOfficial(account)
		if f.site.dialect.ForgetsAsked {
			f.forgetAsked(account)
		}
	}
	r := f.pending(account)
	if r == nil {
		id := f.addReview(review{author: account, state: state, body: body, official: official, commit: commit, stale: stale})
		r = f.review(id)
	} else {
		r.state, r.body, r.official, r.commit, r.stale = state, body, official, commit, stale
	}
	id := r.id
	f.addComment(comment{kind: escalation.EntryReview, author: account, review: id, body: body})
	return id, nil
}

func (f *Forge) clearOfficial(account int64) {
	for i := range f.reviews {
		if f.reviews[i].author == account {
			f.reviews[i].official = false
		}
	}
}

// submitPending is submitting one's pending review by its id, as a comment.
func (f *Forge) submitPending(account, id int64, body string) error {
	r := f.review(id)
	switch {
	case r == nil, r.state == escalation.RowPending && r.author != account:
		return errNotFound
	case r.state != escalation.RowPending:
		return unprocessable("only a pending review can be submitted")
	}
	// The server has not loaded the comments here: it takes them for none.
	if err := f.checkEvent(account, escalation.RowComment, body, false); err != nil {
		return err
	}
	_, err := f.submit(account, escalation.RowComment, body, f.ref)
	return err
}

// latest is the account's newest row by id that is a verdict or a request. Not by
// submission: a review that was begun before a request is older than it.
func (f *Forge) latest(account int64) *review {
	var newest *review
	for i := range f.reviews {
		r := &f.reviews[i]
		if r.author == account && (isVerdict(r.state) || r.state == escalation.RowRequest) && (newest == nil || r.id > newest.id) {
			newest = r
		}
	}
	return newest
}

// request asks for a review. If the newest row is a request already, nothing
// happens; else an official reviewer's rows lose that mark.
func (f *Forge) request(by int64, login string) error {
	asked, ok := f.lookup(login)
	if !ok {
		return errNotFound
	}
	if asked.ID == f.site.author {
		return unprocessable("poster of pr can't be reviewer")
	}
	if !f.mayAsk(by) {
		return unprocessable("Doer can't choose reviewer")
	}
	if newest := f.latest(asked.ID); newest != nil {
		if newest.state == escalation.RowRequest {
			return reviewer.ErrAsked
		}
		if f.closed {
			return forbidden("cannot request a re-review on a closed or merged PR")
		}
	}
	official := f.official(asked.ID)
	if official {
		f.clearOfficial(asked.ID)
	}
	id := f.addReview(review{author: asked.ID, state: escalation.RowRequest, official: official})
	f.addComment(comment{kind: escalation.EntryReviewRequest, author: by, review: id, subject: asked.ID})
	return nil
}

// unrequest takes a request back. The newest verdict counts again.
func (f *Forge) unrequest(by int64, login string) error {
	asked, ok := f.lookup(login)
	if !ok {
		return errNotFound
	}
	newest := f.latest(asked.ID)
	requested := newest != nil && newest.state == escalation.RowRequest
	if !f.mayAsk(by) && (!requested || asked.ID != by) {
		return unprocessable("Doer can't remove reviewer")
	}
	if !requested {
		return nil
	}
	gone := newest.id
	f.reviews = slices.DeleteFunc(f.reviews, func(r review) bool { return r.id == gone })
	if f.official(asked.ID) {
		if r := f.latest(asked.ID); r != nil {
			r.official = true
		}
	}
	f.addComment(comment{kind: escalation.EntryReviewRequest, author: by, subject: asked.ID, removed: true})
	return nil
}

// mayAsk: whoever opened the pull request, owns the repository or collaborates.
func (f *Forge) mayAsk(by int64) bool {
	return by == f.site.author || f.byID(by).Access > AccessNone
}
