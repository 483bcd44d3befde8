package forgetest

import (
	"net/http"
	"path"
	"strings"

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
	return f.addComment(comment{kind: inline, author: f.user(by).ID, review: c.review, body: body, path: c.path, line: c.line}), nil
}

// Resolve marks a conversation as resolved, by one of its comments. The mark is
// kept on that comment; the page shows that of the conversation's oldest only.
func (f *Forge) Resolve(by string, id int64) error { return f.mark(f.user(by).ID, id, true) }

// Unresolve opens it again.
func (f *Forge) Unresolve(by string, id int64) error { return f.mark(f.user(by).ID, id, false) }

// mark sets or clears who resolved a conversation. Whoever came first stays.
func (f *Forge) mark(account, id int64, resolved bool) error {
	c := f.comment(id)
	switch {
	case f.site.noResolve:
		return errNoEndpoint
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

// attach adds a comment to a submitted review, as Forgejo does. It takes any
// line, but stumbles over a path that leads out of the repository.
func (f *Forge) attach(account, id int64, n reviewer.NewComment) error {
	r := f.review(id)
	switch {
	case !f.site.attach:
		return errNoEndpoint
	case r == nil, r.state == escalation.RowPending && r.author != account:
		return errNotFound
	case path.IsAbs(n.Path) || strings.HasPrefix(path.Clean(n.Path), ".."):
		return errInternal
	}
	line := n.NewLine
	if n.OldLine > 0 {
		line = -n.OldLine
	}
	f.addComment(comment{kind: inline, author: account, review: id, body: n.Body, path: n.Path, line: line})
	return nil
}
