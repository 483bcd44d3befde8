package gitea

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"review-bot/reviewer"
	"review-bot/sentinel"
)

var events = map[sentinel.Verdict]sdk.ReviewStateType{
	sentinel.Approved:       sdk.ReviewStateApproved,
	sentinel.RequestChanges: sdk.ReviewStateRequestChanges,
	sentinel.Comment:        sdk.ReviewStateComment,
}

// write makes an SDK client for a write, which is sent once whatever comes back.
func (c *Client) write(ctx context.Context) (*sdk.Client, error) {
	if err := c.mayWrite(); err != nil {
		return nil, err
	}
	return c.sdk(ctx)
}

// unsure marks the error of a write that may have happened all the same: the
// connection broke after the request may have been sent, or the server failed in
// the middle. A server that couldn't even be dialled has seen nothing.
func unsure(resp *sdk.Response, err error) error {
	if err == nil {
		return nil
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return err
	}
	if resp == nil || resp.Response == nil {
		// Without an answer: either the connection broke, or the SDK sent nothing.
		var sent *url.Error
		if !errors.As(err, &sent) {
			return err
		}
		return unknownError{err}
	}
	if resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode/100 == 2 {
		return unknownError{err}
	}
	return err
}

// unknownError is an error with ErrUnknown in its chain and not in its words.
type unknownError struct{ error }

func (unknownError) Is(target error) bool { return target == reviewer.ErrUnknown }
func (e unknownError) Unwrap() error      { return e.error }

// PostReview publishes a review. It is sent once, whatever comes back.
//
// An event that the server doesn't know would be answered 200 and leave a
// pending review, so only known ones are sent.
func (c *Client) PostReview(ctx context.Context, review reviewer.NewReview) (reviewer.Row, error) {
	doing := "posting a review on " + c.what()
	state, ok := events[review.Event]
	if !ok || !fullSHA.MatchString(review.Commit) {
		return reviewer.Row{}, c.explain(doing, "", nil, fmt.Errorf("event %q at commit %q can't be posted", review.Event, review.Commit))
	}
	opt := sdk.CreatePullReviewOptions{State: state, Body: review.Body, CommitID: review.Commit}
	for _, comment := range review.Comments {
		opt.Comments = append(opt.Comments, sdk.CreatePullReviewComment{
			Path: comment.Path, Body: comment.Body, NewLineNum: int64(comment.NewLine), OldLineNum: int64(comment.OldLine),
		})
	}
	client, err := c.write(ctx)
	if err != nil {
		return reviewer.Row{}, c.explain(doing, "", nil, err)
	}
	r, resp, err := client.CreatePullReview(c.cfg.Owner, c.cfg.Name, c.cfg.Number, opt)
	if err != nil {
		return reviewer.Row{}, c.explain(doing, "write:repository", resp, unsure(resp, err))
	}
	posted := row(*r)
	if err := c.its(posted.Author); err != nil {
		return reviewer.Row{}, c.explain(doing, "", resp, err)
	}
	return posted, nil
}

var errUnchanged = errors.New("the server changed nothing (204)")

// EditReview replaces a review's body. The list of reviews keeps the original
// for ever; the timeline shows the new one.
func (c *Client) EditReview(ctx context.Context, commentID int64, body string) error {
	doing := "editing a review on " + c.what()
	client, err := c.write(ctx)
	if err != nil {
		return c.explain(doing, "", nil, err)
	}
	_, resp, err := client.EditIssueComment(c.cfg.Owner, c.cfg.Name, commentID, sdk.EditIssueCommentOption{Body: body})
	if err != nil && resp != nil && resp.StatusCode == http.StatusNoContent {
		// The server answers 204 for a comment that isn't one of an issue, and changes nothing.
		return c.explain(doing, "", resp, errUnchanged)
	}
	if err != nil {
		return c.explain(doing, "write:issue", resp, unsure(resp, err))
	}
	return nil
}

// Comments lists a review's inline comments, people's replies among them. The
// server gives them in no order and without pages. The error is ErrGone if there is
// no such review, or none that the account may see.
func (c *Client) Comments(ctx context.Context, review int64) ([]reviewer.Comment, error) {
	doing := "reading the inline comments of a review on " + c.what()
	client, err := c.read(ctx)
	if err != nil {
		return nil, c.explain(doing, "", nil, err)
	}
	list, resp, err := client.ListPullReviewComments(c.cfg.Owner, c.cfg.Name, c.cfg.Number, review)
	if err != nil && resp != nil && resp.StatusCode == http.StatusNotFound && !errors.Is(c.missing(ctx, resp, err), errNoRepo) {
		return nil, c.explain(doing, "", resp, reviewer.ErrGone)
	}
	if err != nil {
		return nil, c.explain(doing, "write:repository", resp, err)
	}
	var comments []reviewer.Comment
	for _, item := range list {
		comment := reviewer.Comment{
			ID: item.ID, Review: item.ReviewID, Body: item.Body, Path: item.Path, NewLine: int(item.LineNum), OldLine: int(item.OldLineNum),
			Commit: item.CommitID, Hunk: item.DiffHunk, URL: item.HTMLURL, Created: item.Created, Updated: item.Updated,
		}
		if item.Reviewer != nil {
			comment.Author, comment.Login = item.Reviewer.ID, item.Reviewer.UserName
		}
		if item.Resolver != nil {
			comment.Resolver, comment.ResolverLogin = item.Resolver.ID, item.Resolver.UserName
		}
		comments = append(comments, comment)
	}
	return comments, nil
}

// SubmitPending submits the account's pending review as a comment.
func (c *Client) SubmitPending(ctx context.Context, review int64, body string) (reviewer.Row, error) {
	doing := "submitting the account's pending review on " + c.what()
	client, err := c.write(ctx)
	if err != nil {
		return reviewer.Row{}, c.explain(doing, "", nil, err)
	}
	r, resp, err := client.SubmitPullReview(c.cfg.Owner, c.cfg.Name, c.cfg.Number, review,
		sdk.SubmitPullReviewOptions{State: sdk.ReviewStateComment, Body: body})
	if err != nil {
		return reviewer.Row{}, c.explain(doing, "write:repository", resp, unsure(resp, err))
	}
	return row(*r), nil
}

// RequestReview asks a user for a review. Asked of the account itself it clears
// the mark “official” from its reviews; nothing is deleted, and no admin right is
// needed. The error is ErrAsked if the server did nothing.
func (c *Client) RequestReview(ctx context.Context, login string) error {
	doing := "asking " + login + " for a review of " + c.what()
	if err := c.mayWrite(); err != nil {
		return c.explain(doing, "", nil, err)
	}
	req, err := c.request(ctx, http.MethodPost, c.path("/pulls/%d/requested_reviewers", c.cfg.Number), nil,
		sdk.PullReviewRequestOptions{Reviewers: []string{login}})
	if err != nil {
		return c.explain(doing, "", nil, err)
	}
	raw, err := c.http.Do(req)
	if err != nil {
		return c.explain(doing, "", nil, unsure(nil, err))
	}
	defer raw.Body.Close()
	resp := &sdk.Response{Response: raw}
	switch asked, err := requests(resp); {
	case err != nil:
		return c.explain(doing, "write:repository", resp, unsure(resp, err))
	case asked == 0:
		return c.explain(doing, "", resp, reviewer.ErrAsked)
	}
	return nil
}

// requests reads how many requests for review were made off the answer. Where the
// newest row of a reviewer is a request already, the server answers 201 with an empty
// list, and has done nothing. The SDK doesn't read the list.
func requests(resp *sdk.Response) (int, error) {
	if resp.StatusCode/100 != 2 {
		_, err := outcome(resp, false)
		return 0, err
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, fmt.Errorf("reading the answer: %w", err)
	}
	var made []json.RawMessage
	if err := json.Unmarshal(text, &made); err != nil {
		return 0, fmt.Errorf("the answer is not the JSON expected: %w", err)
	}
	return len(made), nil
}

// Say writes an ordinary comment. It is sent once, whatever comes back.
func (c *Client) Say(ctx context.Context, body string) (int64, error) {
	doing := "commenting on " + c.what()
	if strings.TrimSpace(body) == "" {
		return 0, c.explain(doing, "", nil, errEmpty)
	}
	client, err := c.write(ctx)
	if err != nil {
		return 0, c.explain(doing, "", nil, err)
	}
	comment, resp, err := client.CreateIssueComment(c.cfg.Owner, c.cfg.Name, c.cfg.Number, sdk.CreateIssueCommentOption{Body: body})
	if err == nil && comment.ID == 0 {
		err = errors.New("the answer doesn't name what was written")
	}
	if err != nil {
		return 0, c.explain(doing, "write:issue", resp, unsure(resp, err))
	}
	if comment.Poster != nil {
		if err := c.its(comment.Poster.ID); err != nil {
			return 0, c.explain(doing, "", resp, err)
		}
	}
	return comment.ID, nil
}

// React adds a reaction. Of several who try at once exactly one is answered 201;
// Gitea answers the others 200, Forgejo 17 answers 500 to any repetition.
func (c *Client) React(ctx context.Context, content string) (added bool, created time.Time, err error) {
	doing := fmt.Sprintf("locking %s with the reaction %s", c.what(), content)
	client, err := c.write(ctx)
	if err != nil {
		return false, time.Time{}, c.explain(doing, "", nil, err)
	}
	reaction, resp, err := client.PostIssueReaction(c.cfg.Owner, c.cfg.Name, c.cfg.Number, content)
	switch {
	case resp != nil && resp.StatusCode/100 == 2 && err == nil && reaction.User != nil && c.its(reaction.User.ID) != nil:
		if resp.StatusCode == http.StatusCreated {
			_ = c.Unreact(ctx, content) // else it expires
		}
		return false, time.Time{}, c.explain(doing, "", resp, errStranger)
	case resp != nil && resp.StatusCode == http.StatusCreated && err == nil:
		return true, reaction.Created, nil
	case resp != nil && (resp.StatusCode == http.StatusOK || resp.StatusCode >= http.StatusInternalServerError):
		return false, time.Time{}, nil
	case err == nil:
		err = fmt.Errorf("the server answered %s", resp.Status)
	}
	return false, time.Time{}, c.explain(doing, "write:issue", resp, unsure(resp, err))
}

// Reactions lists the reactions on the pull request, with the server's time from
// the answer's Date header. The server gives null where there is none.
func (c *Client) Reactions(ctx context.Context) ([]reviewer.Reaction, time.Time, error) {
	doing := "reading the reactions on " + c.what()
	client, err := c.read(ctx)
	if err != nil {
		return nil, time.Time{}, c.explain(doing, "", nil, err)
	}
	var list []reviewer.Reaction
	var now time.Time
	for page := 1; ; page++ {
		if page > maxPages {
			return nil, time.Time{}, c.explain(doing, "", nil, errEndless)
		}
		items, resp, err := client.ListIssueReactions(c.cfg.Owner, c.cfg.Name, c.cfg.Number,
			sdk.ListIssueReactionsOptions{ListOptions: sdk.ListOptions{Page: page, PageSize: pageSize}})
		if err != nil {
			return nil, time.Time{}, c.explain(doing, "write:issue", resp, err)
		}
		if now, err = http.ParseTime(resp.Header.Get("Date")); err != nil {
			return nil, time.Time{}, c.explain(doing, "", resp, fmt.Errorf("the answer has no date: %w", err))
		}
		for _, item := range items {
			if item.User != nil {
				list = append(list, reviewer.Reaction{User: item.User.ID, Content: item.Reaction, Created: item.Created})
			}
		}
		if len(items) < pageSize {
			break
		}
	}
	return list, now, nil
}

// Unreact removes the account's reaction. The server answers the same when there
// was none.
func (c *Client) Unreact(ctx context.Context, content string) error {
	doing := fmt.Sprintf("unlocking %s, the reaction %s", c.what(), content)
	client, err := c.sdk(ctx)
	if err != nil {
		return c.explain(doing, "", nil, err)
	}
	if resp, err := client.DeleteIssueReaction(c.cfg.Owner, c.cfg.Name, c.cfg.Number, content); err != nil {
		return c.explain(doing, "write:issue", resp, err)
	}
	return nil
}
