package forgetest

import (
	"net/http"

	"review-bot/escalation"
	"review-bot/reviewer"
)

// Reply answers an inline comment: a further comment of the same review at the
// same line, whoever writes it. Everyone may, also on a closed pull request.
func (f *Forge) Reply(by string, id int64, body string) (int64, error) {
	c := f.comment(id)
	if c == nil || c.kind != inline {
		return 0, errNotFound
	}
	return f.addComment(comment{
		kind: inline, author: f.user(by).ID, review: c.review, body: body, path: c.path, line: c.line, commit: f.commitAt(c.review, c.path, c.line),
	}), nil
}

// Resolve marks a conversation as resolved, by one of its comments, on the page, where
// every dialect has it. The mark is kept on that comment; the page shows that of the
// conversation's oldest only.
func (f *Forge) Resolve(by string, id int64) error { return f.mark(f.user(by).ID, id, true) }

// Unresolve opens it again.
func (f *Forge) Unresolve(by string, id int64) error { return f.mark(f.user(by).ID, id, false) }

// mark sets or clears who resolved a conversation. Whoever came first stays.
func (f *Forge) mark(account, id int64, resolved bool) error {
	c := f.comment(id)
	switch {
	case c == nil:
		return errNotFound
	case c.kind != inline:
		return refuse(http.StatusBadRequest, "comment is not a review comment")
	case account != f.site.author && f.byID(account).Access < AccessWrite && !f.official(account):
		return forbidden("user should have permission to resolve comment")
	case !resolved:
		c.resolver = 0
	case c.resolver == 0:
		c.resolver = account
	}
	return nil
}

// attach adds a comment to a submitted review, as Forgejo does.
func (f *Forge) attach(account, id int64, n reviewer.NewComment) error {
	r := f.review(id)
	switch {
	case !f.site.dialect.Attaches:
		return errNoEndpoint
	case r == nil, r.state == escalation.RowPending && r.author != account:
		return errNotFound
	}
	return f.addTo(r, account, n)
}
