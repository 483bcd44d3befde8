package forgetest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/sentinel"
)

var states = map[sentinel.Verdict]escalation.RowState{
	sentinel.Approved:       escalation.RowApproved,
	sentinel.RequestChanges: escalation.RowRequestChanges,
	sentinel.Comment:        escalation.RowComment,
}

var fullSHA = regexp.MustCompile(`^[0-9a-f]{40}$`)

// PostReview publishes a review: its inline comments go into the account's
// pending review, which may hold some already, and that is submitted.
func (v *View) PostReview(ctx context.Context, n reviewer.NewReview) (reviewer.Row, error) {
	doing := "posting a review on " + v.what()
	state, ok := states[n.Event]
	if !ok || !fullSHA.MatchString(n.Commit) {
		return reviewer.Row{}, v.explain(doing, fmt.Errorf("event %q at commit %q can't be posted", n.Event, n.Commit))
	}
	if err := sendable(n); err != nil {
		return reviewer.Row{}, v.explain(doing, err)
	}
	return exchange(ctx, v, PostReview, doing, func(hooked error) (reviewer.Row, error) {
		var broken BrokenPost
		switch {
		case hooked == nil:
			return v.post(state, n)
		case errors.As(hooked, &broken):
			return reviewer.Row{}, v.breakPost(state, n, broken.Comments)
		default:
			return reviewer.Row{}, hooked
		}
	})
}

// errEmpty is the SDK's answer to a text that is empty; it sends nothing then.
var errEmpty = errors.New("body is empty")

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// sendable is what the SDK checks before it sends a review.
func sendable(n reviewer.NewReview) error {
	if n.Event != sentinel.Approved && len(n.Comments) == 0 && blank(n.Body) {
		return errEmpty
	}
	for _, c := range n.Comments {
		if blank(c.Body) {
			return errEmpty
		}
		if c.NewLine != 0 && c.OldLine != 0 {
			return errors.New("old and new line num are set, cant identify the code comment position")
		}
	}
	return nil
}

// A postStep is what the server does in one go.
type postStep func(f *Forge) (reviewer.Row, error)

func (v *View) postSteps(state escalation.RowState, n reviewer.NewReview) []postStep {
	var steps []postStep
	for _, c := range n.Comments {
		steps = append(steps, func(f *Forge) (reviewer.Row, error) {
			return reviewer.Row{}, f.addInline(v.account, n.Commit, c)
		})
	}
	return append(steps, func(f *Forge) (reviewer.Row, error) {
		id, err := f.submit(v.account, state, n.Body, n.Commit)
		if err != nil {
			return reviewer.Row{}, err
		}
		return f.row(*f.review(id)), nil
	})
}

func (v *View) post(state escalation.RowState, n reviewer.NewReview) (reviewer.Row, error) {
	steps := v.postSteps(state, n)
	if !v.Steps {
		return locked(v, func(f *Forge) (row reviewer.Row, err error) {
			err = f.checkEvent(v.account, state, n.Body, len(n.Comments) > 0)
			for i := 0; i < len(steps) && err == nil; i++ {
				row, err = steps[i](f)
			}
			return row, err
		})
	}
	v.lock.Lock()
	err := v.forge.checkEvent(v.account, state, n.Body, len(n.Comments) > 0)
	v.lock.Unlock()
	if err != nil {
		return reviewer.Row{}, err
	}
	var row reviewer.Row
	for i, step := range steps {
		if err := v.call(Call{Op: PostReview, Step: i + 1}); err != nil {
			return reviewer.Row{}, errInternal
		}
		var err error
		if row, err = locked(v, step); err != nil {
			return reviewer.Row{}, err
		}
	}
	return row, nil
}

// breakPost makes the first comments and then fails.
func (v *View) breakPost(state escalation.RowState, n reviewer.NewReview, comments int) error {
	_, err := locked(v, func(f *Forge) (struct{}, error) {
		if err := f.checkEvent(v.account, state, n.Body, len(n.Comments) > 0); err != nil {
			return struct{}{}, err
		}
		for _, c := range n.Comments[:min(comments, len(n.Comments))] {
			if err := f.addInline(v.account, n.Commit, c); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, errInternal
	})
	return err
}

// EditReview replaces a review's body in the timeline.
func (v *View) EditReview(ctx context.Context, commentID int64, body string) error {
	doing := "editing a review on " + v.what()
	if body == "" {
		return v.explain(doing, errEmpty)
	}
	return v.write(ctx, EditReview, doing, func(f *Forge) error {
		return f.edit(v.account, commentID, body)
	})
}

// SubmitPending submits the account's pending review as a comment.
func (v *View) SubmitPending(ctx context.Context, review int64, body string) (reviewer.Row, error) {
	doing := "submitting the account's pending review on " + v.what()
	if blank(body) {
		return reviewer.Row{}, v.explain(doing, errEmpty)
	}
	return request(ctx, v, SubmitPending, doing, func(f *Forge) (reviewer.Row, error) {
		if err := f.submitPending(v.account, review, body); err != nil {
			return reviewer.Row{}, err
		}
		return f.row(*f.review(review)), nil
	})
}

// RequestReview asks a user for a review.
func (v *View) RequestReview(ctx context.Context, login string) error {
	return v.write(ctx, RequestReview, "asking "+login+" for a review of "+v.what(), func(f *Forge) error {
		return f.request(v.account, login)
	})
}

// Say writes an ordinary comment.
func (v *View) Say(ctx context.Context, body string) (int64, error) {
	doing := "commenting on " + v.what()
	if blank(body) {
		return 0, v.explain(doing, errNoText)
	}
	return request(ctx, v, Say, doing, func(f *Forge) (int64, error) {
		return f.addComment(comment{kind: escalation.EntryComment, author: v.account, body: body}), nil
	})
}

func (v *View) write(ctx context.Context, op Op, doing string, serve func(f *Forge) error) error {
	_, err := request(ctx, v, op, doing, func(f *Forge) (struct{}, error) { return struct{}{}, serve(f) })
	return err
}

// allowed are the reactions that a server allows by default.
var allowed = []string{"+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"}

type reacted struct {
	added   bool
	created time.Time
}

// React adds the account's reaction.
func (v *View) React(ctx context.Context, content string) (added bool, created time.Time, err error) {
	doing := fmt.Sprintf("locking %s with the reaction %s", v.what(), content)
	answer, err := request(ctx, v, React, doing, func(f *Forge) (reacted, error) {
		switch {
		case !slices.Contains(allowed, content):
			return reacted{}, forbidden("'%s' is not an allowed reaction", content)
		case f.reactionOf(v.account, content) >= 0:
			return reacted{}, nil
		}
		f.reactions = append(f.reactions, reaction{v.account, content, f.now})
		return reacted{true, at(f.now)}, nil
	})
	return answer.added, answer.created, err
}

func (f *Forge) reactionOf(account int64, content string) int {
	return slices.IndexFunc(f.reactions, func(r reaction) bool { return r.user == account && r.content == content })
}

type reactions struct {
	list []reviewer.Reaction
	now  time.Time
}

// Reactions lists the reactions, and the server's time.
func (v *View) Reactions(ctx context.Context) ([]reviewer.Reaction, time.Time, error) {
	answer, err := request(ctx, v, GetReactions, "reading the reactions on "+v.what(), func(f *Forge) (reactions, error) {
		var list []reviewer.Reaction
		for _, r := range f.reactions {
			list = append(list, reviewer.Reaction{User: r.user, Content: r.content, Created: at(r.created)})
		}
		return reactions{list, at(f.now)}, nil
	})
	return answer.list, answer.now, err
}

// Unreact removes the account's reaction.
func (v *View) Unreact(ctx context.Context, content string) error {
	return v.write(ctx, Unreact, fmt.Sprintf("unlocking %s, the reaction %s", v.what(), content), func(f *Forge) error {
		if i := f.reactionOf(v.account, content); i >= 0 {
			f.reactions = slices.Delete(f.reactions, i, i+1)
		}
		return nil
	})
}
