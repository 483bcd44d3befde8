package forgetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"review-bot/reviewer"
)

// Resolve marks the conversation of an inline comment as resolved, or as open
// again.
func (v *View) Resolve(ctx context.Context, comment int64, resolved bool) error {
	doing := "resolving a conversation on " + v.what()
	if !resolved {
		doing = "reopening a conversation on " + v.what()
	}
	return v.settle(ctx, Resolve, doing, func(f *Forge) error {
		if f.site.dialect.Unresolving {
			return errNoEndpoint
		}
		return f.mark(v.account, comment, resolved)
	})
}

// EditComment replaces the text of an inline comment.
func (v *View) EditComment(ctx context.Context, comment int64, body string) error {
	doing := "editing an inline comment on " + v.what()
	if body == "" {
		return v.explain(doing, errNoText)
	}
	return v.settle(ctx, EditComment, doing, func(f *Forge) error { return f.edit(v.account, comment, body) })
}

// Attach adds an inline comment to a submitted review of the account.
func (v *View) Attach(ctx context.Context, review int64, comment reviewer.NewComment) error {
	doing := "adding an inline comment to a review on " + v.what()
	if blank(comment.Body) {
		return v.explain(doing, errNoText)
	}
	return v.settle(ctx, Attach, doing, func(f *Forge) error { return f.attach(v.account, review, comment) })
}

// errNoText is the adapter's refusal of a text that is empty; it sends nothing then.
var errNoText = errors.New("the text is empty")

// settle is a write to something that may be gone, by an endpoint that may be missing.
func (v *View) settle(ctx context.Context, op Op, doing string, serve func(f *Forge) error) error {
	return v.write(ctx, op, doing, func(f *Forge) error {
		err := serve(f)
		var refusal *Refusal
		switch {
		case errors.Is(err, errNotFound):
			return reviewer.ErrGone
		case errors.Is(err, errNoEndpoint):
			return reviewer.ErrUnsupported
		case errors.Is(err, errForbidden): // not the SDK's words here
			return forbidden("status %d", http.StatusForbidden)
		case errors.As(err, &refusal) && refusal.Status == http.StatusBadRequest:
			return fmt.Errorf("the server answered %d: %s", refusal.Status, refusal.Message)
		default:
			return err
		}
	})
}
