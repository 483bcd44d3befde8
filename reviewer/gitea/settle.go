package gitea

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"review-bot/reviewer"
)

// Resolve marks the conversation of an inline comment as resolved, or as open
// again. Gitea has the endpoint since 1.26; Forgejo has none.
//
// The server keeps the mark on the comment that is named. Its page, and so
// people, look at a conversation's oldest only.
func (c *Client) Resolve(ctx context.Context, comment int64, resolved bool) error {
	verb, doing := "resolve", "resolving a conversation on "+c.what()
	if !resolved {
		verb, doing = "unresolve", "reopening a conversation on "+c.what()
	}
	_, err := c.send(ctx, request{
		doing: doing, scope: "write:repository",
		method: http.MethodPost, path: c.path("/pulls/comments/%d/%s", comment, verb), silent: true,
	})
	return err
}

// errEmpty is what is wrong with a text that the server would refuse.
var errEmpty = errors.New("the text is empty")

// EditComment replaces the text of an inline comment.
func (c *Client) EditComment(ctx context.Context, comment int64, body string) error {
	r := request{
		doing: "editing an inline comment on " + c.what(), scope: "write:issue",
		method: http.MethodPatch, path: c.path("/issues/comments/%d", comment), body: sdk.EditIssueCommentOption{Body: body},
	}
	if body == "" {
		return c.explain(r.doing, "", nil, errEmpty)
	}
	_, err := c.send(ctx, r)
	return err
}

// Attach adds an inline comment to a submitted review of the account. Forgejo
// has the endpoint; Gitea answers 405.
func (c *Client) Attach(ctx context.Context, review int64, comment reviewer.NewComment) error {
	r := request{
		doing: "adding an inline comment to a review on " + c.what(), scope: "write:repository",
		method: http.MethodPost, path: c.path("/pulls/%d/reviews/%d/comments", c.cfg.Number, review),
		body: sdk.CreatePullReviewComment{
			Path: comment.Path, Body: comment.Body, NewLineNum: int64(comment.NewLine), OldLineNum: int64(comment.OldLine),
		},
	}
	if strings.TrimSpace(comment.Body) == "" {
		return c.explain(r.doing, "", nil, errEmpty)
	}
	_, err := c.send(ctx, r)
	return err
}

// request is a write to something that may have been deleted, by an endpoint
// that may be missing. The SDK drops what tells the one from the other.
type request struct {
	doing, scope string // see explain
	method, path string
	body         any  // sent as JSON; nil: nothing
	silent       bool // success is a 204; else it is an answer that names what was written
	hush         bool // the server's words aren't shown: they may quote the body
}

// send makes the request once, whatever comes back. id is that of what was
// written; 0 for a silent request.
func (c *Client) send(ctx context.Context, r request) (id int64, err error) {
	if err := c.mayWrite(); err != nil {
		return 0, c.explain(r.doing, "", nil, err)
	}
	req, err := c.request(ctx, r.method, r.path, nil, r.body)
	if err != nil {
		return 0, c.explain(r.doing, "", nil, err)
	}
	raw, err := c.http.Do(req)
	if err != nil {
		if r.hush {
			err = hushedBreak(err)
		}
		return 0, c.explain(r.doing, "", nil, unsure(nil, err))
	}
	defer raw.Body.Close()
	resp := &sdk.Response{Response: raw}
	answer, err := outcome(resp, r.silent)
	if err != nil && r.hush {
		err = hushed(resp.StatusCode, err)
	}
	if err == nil {
		err = c.its(answer.User.ID)
	}
	switch {
	case err == nil:
		return answer.ID, nil
	case errors.Is(err, errUnchanged), errors.Is(err, errStranger): // that is known
		return 0, c.explain(r.doing, "", resp, err)
	default:
		return 0, c.explain(r.doing, r.scope, resp, unsure(resp, err))
	}
}

// said is what an API answer holds, whether it is a success or a refusal.
type said struct {
	ID   int64 `json:"id"`
	User struct {
		ID int64 `json:"id"`
	} `json:"user"`
	Message string   `json:"message"`
	Errors  []string `json:"errors"`
}

// outcome reads the answer to a request. A page that some proxy sent with a 200 is no
// success.
func outcome(resp *sdk.Response, silent bool) (answer said, err error) {
	switch {
	case resp.StatusCode != http.StatusNoContent:
	case silent:
		return said{}, nil
	default:
		return said{}, errUnchanged
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return said{}, fmt.Errorf("reading the answer: %w", err)
	}
	err = json.Unmarshal(text, &answer)
	switch {
	case resp.StatusCode == http.StatusMethodNotAllowed,
		// Not the API's answer, so no endpoint of it was asked.
		resp.StatusCode == http.StatusNotFound && (err != nil || answer.Message == ""):
		return said{}, reviewer.ErrUnsupported
	case resp.StatusCode == http.StatusNotFound && answer.gone():
		return said{}, reviewer.ErrGone
	case resp.StatusCode/100 == 2 && err == nil && answer.ID != 0:
		return answer, nil
	case resp.StatusCode/100 == 2 && err != nil:
		return said{}, fmt.Errorf("the answer is not the JSON expected: %w", err)
	case resp.StatusCode/100 == 2:
		return said{}, errors.New("the answer doesn't name what was written")
	case len(answer.Errors) > 0 && answer.Errors[0] != "":
		return said{}, errors.New(answer.Errors[0]) // beside it the message is a function's name
	case answer.Message != "":
		return said{}, errors.New(answer.Message)
	}
	return said{}, fmt.Errorf("status %d", resp.StatusCode)
}

var notThere = regexp.MustCompile(`^(comment|review) does not exist\b`)

// gone tells whether a 404 speaks of the comment or review itself. One of the
// repository or pull request looks the same but for its words.
func (a said) gone() bool { return slices.ContainsFunc(a.Errors, notThere.MatchString) }
