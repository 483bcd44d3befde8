package gitea

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"review-bot/reviewer"
)

var _ reviewer.TalkForge = (*Client)(nil)

// Reply adds a comment to the conversation of an inline comment: by Gitea's
// endpoint for it, which is there since 1.27, or by Forgejo's for attaching to a
// review, where the same path and line make it a reply. A server without the
// first one has seen two requests then, of which at most one wrote something.
//
// No error holds words of the server's: they may quote the reply.
func (c *Client) Reply(ctx context.Context, to reviewer.Comment, body string) (id int64, err error) {
	r := request{
		doing: "replying to an inline comment on " + c.what(), scope: "write:repository", method: http.MethodPost, hush: true,
	}
	if strings.TrimSpace(body) == "" {
		return 0, c.explain(r.doing, "", nil, errEmpty)
	}
	if !c.attaches.Load() {
		r.path, r.body = c.path("/pulls/%d/comments/%d/replies", c.cfg.Number, to.ID), map[string]string{"body": body}
		if id, err = c.send(ctx, r); !errors.Is(err, reviewer.ErrUnsupported) {
			return id, err
		}
	}
	r.path = c.path("/pulls/%d/reviews/%d/comments", c.cfg.Number, to.Review)
	r.body = sdk.CreatePullReviewComment{Path: to.Path, Body: body, NewLineNum: int64(to.NewLine), OldLineNum: int64(to.OldLine)}
	if id, err = c.send(ctx, r); err == nil {
		c.attaches.Store(true)
	}
	return id, err
}

// errHushed stands for what a server said where that isn't shown.
var errHushed = errors.New("its words are left out, as they may quote what was sent")

// hushed replaces the words of a server that refused something, but for those that
// explain turns into words of its own.
func hushed(status int, err error) error {
	known := errors.Is(err, reviewer.ErrUnsupported) || errors.Is(err, reviewer.ErrGone) || errors.Is(err, errUnchanged)
	switch {
	case known, status == http.StatusForbidden && strings.Contains(err.Error(), "required scope"):
		return err
	case status == http.StatusNotFound:
		return fmt.Errorf("the server answered 404: %w", errHushed)
	}
	return errHushed
}

// hushedBreak is hushed for an exchange that broke off. Go's words for an answer
// that is no HTTP quote it.
func hushedBreak(err error) error {
	var op *net.OpError
	var timeout net.Error
	known := errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, &op) || errors.As(err, &timeout) && timeout.Timeout()
	if known {
		return err
	}
	return &url.Error{Op: "Post", Err: errHushed}
}
