package reviewer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"review-bot/reviewer/finding"
	"review-bot/reviewer/thread"
)

// errChanged says that something happened while `settle` was at work.
var errChanged = errors.New("the conversation or the head changed meanwhile")

// apply does what is due, item by item. One that the server refuses doesn't keep
// the others from being settled; after a failure that says nothing about the item
// none is tried any more.
func (s *settling) apply(ctx context.Context) error {
	var first error
	var changed []string
	failed := 0
	for i := range s.out.Items {
		item := &s.out.Items[i]
		if item.Reply.Status != thread.Due && item.Resolve.Status != thread.Due {
			continue
		}
		if first == nil && ctx.Err() != nil {
			first = ctx.Err()
		}
		if first != nil && lasting(first) {
			item.notReached()
			continue
		}
		if err := s.settle(ctx, s.cases[i], item); err != nil {
			err = fmt.Errorf("conversation %s: %w", item.ThreadID, err)
			if failed++; first == nil || lasting(err) {
				first = err
			}
		}
		if item.changed() {
			changed = append(changed, item.ThreadID.String())
		}
	}
	switch {
	case first != nil && failed > 1:
		return fmt.Errorf("%w (and so %s more)", first, finding.Count(failed-1, "item", "items"))
	case first != nil:
		return first
	case len(changed) > 0:
		named := strings.Join(changed[:min(3, len(changed))], ", ")
		if more := len(changed) - 3; more > 0 {
			named += fmt.Sprintf(" and %d more", more)
		}
		return &Error{Doing: "settling " + named, Err: errChanged, Next: "look at it anew, and run again"}
	}
	return nil
}

// lasting tells whether the next item would fail, too, or whether it isn't known
// what happened.
func lasting(err error) bool {
	return errors.Is(err, ErrUnknown) || errors.Is(err, ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

var statusIn = regexp.MustCompile(`\b[45][0-9]{2}\b`)

// discreet is the error of a write without the server's words: some servers repeat
// what they don't accept, and logs of jobs are read by many.
func discreet(err error) error {
	var e *Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	message := "the server didn't take it"
	switch status := statusIn.FindString(e.Err.Error()); {
	case errors.Is(err, ErrUnknown):
		message = "whether it happened is not known"
	case status != "":
		message += " (" + status + ")"
	}
	return &Error{Doing: e.Doing, Err: quietError{message, e.Err}, Next: e.Next}
}

// quietError is an error in other words.
type quietError struct {
	words string
	error
}

func (e quietError) Error() string { return e.words }
func (e quietError) Unwrap() error { return e.error }

// settle does what is due about one conversation: the reply first, which stands
// also if the conversation can't be closed.
func (s *settling) settle(ctx context.Context, c thread.Case, item *SettledItem) error {
	if reason, err := s.stale(ctx, c.Thread); err != nil {
		item.notReached()
		return err
	} else if reason != thread.NoReason {
		item.withhold(reason)
		return nil
	}
	if item.Reply.Status == thread.Due {
		if err := s.reply(ctx, c, item); err != nil {
			item.Reply.fail(err)
			item.notReached()
			return err
		}
	}
	if item.Resolve.Status != thread.Due {
		return nil
	}
	if err := s.checks(ctx); err != nil {
		item.notReached()
		return err
	}
	c.Checks = s.out.Checks
	if item.Resolve = c.Resolution(item.Reply.Step); item.Resolve.Status != thread.Due {
		return nil
	}
	return s.resolve(ctx, c, item)
}

// stale tells why the decision about a conversation doesn't hold any more. With
// another head neither the checks nor the commit may be what they were.
func (s *settling) stale(ctx context.Context, was thread.Thread) (thread.Reason, error) {
	now, found, err := s.again(ctx, was)
	switch {
	case err != nil:
		return "", err
	case !found:
		return thread.Gone, nil
	case !now.SaysSame(was):
		return thread.Changed, nil
	}
	pull, err := s.forge.Pull(ctx)
	if err == nil && pull.Head != s.pull.Head {
		return thread.HeadMoved, nil
	}
	return thread.NoReason, err
}

// reply publishes the reply of an item. Where it turns out that the server can't
// reply, the item says so.
func (s *settling) reply(ctx context.Context, c thread.Case, item *SettledItem) error {
	root := c.Thread.Comments[0]
	to := Comment{ID: root.ID, Review: c.Thread.ID.Review, Path: c.Thread.Path}
	if c.Thread.Side == thread.Old {
		to.OldLine = c.Thread.Line
	} else {
		to.NewLine = c.Thread.Line
	}
	asComment := item.Reply.Reason == thread.AsComment
	var err error
	if !asComment {
		item.Reply.Comment, err = s.env.Forge.Reply(ctx, to, item.Reply.Text)
		if errors.Is(err, ErrUnsupported) && s.set.Rules.ReplyAsComment {
			asComment = true
			item.Reply.Reason, item.Reply.Text = thread.AsComment, s.signed(c, true)
		}
	}
	if asComment {
		item.Reply.Comment, err = s.env.Forge.Say(ctx, item.Reply.Text)
	}
	switch {
	case errors.Is(err, ErrUnsupported):
		item.Reply.Step, item.Reply.Text = thread.Step{Status: thread.Unsupported, Reason: thread.ReplyUnsupported}, ""
		return nil
	case errors.Is(err, ErrGone):
		item.Reply.Step, item.Reply.Text = thread.Step{Status: thread.Withheld, Reason: thread.Gone}, ""
		return nil
	case err != nil:
		return discreet(err)
	}
	item.Reply.Status = thread.Done
	s.log(Progress{Phase: "publish", Text: fmt.Sprintf("replied to %s", item.ThreadID)})
	return nil
}

// resolve closes the conversation of an item, and then notes so in the reply that
// stands before it: that a closed conversation is open again shows only by that.
func (s *settling) resolve(ctx context.Context, c thread.Case, item *SettledItem) error {
	err := s.env.Forge.Resolve(ctx, c.Thread.ID.Root, true)
	switch {
	case errors.Is(err, ErrUnsupported):
		item.Resolve = thread.Step{Status: thread.Unsupported, Reason: thread.ResolveUnsupported}
		return nil
	case errors.Is(err, ErrGone):
		item.Resolve = thread.Step{Status: thread.Withheld, Reason: thread.Gone}
		return nil
	case errors.Is(err, ErrUnknown):
		item.Resolve.Status = thread.Unclear
		return err
	case err != nil:
		item.Resolve.Status = thread.Failed
		return err
	}
	item.Resolve.Status = thread.Done
	s.log(Progress{Phase: "publish", Text: fmt.Sprintf("resolved %s", item.ThreadID)})
	last := c.Said
	if item.Reply.Status == thread.Done {
		last = thread.Said{Comment: item.Reply.Comment, Body: item.Reply.Text}
	}
	if text, ok := last.Noted(); ok {
		return discreet(s.env.Forge.EditComment(ctx, last.Comment, text))
	}
	return nil
}

// withhold takes back what was due.
func (i *SettledItem) withhold(why thread.Reason) {
	if i.Reply.Status == thread.Due {
		i.Reply.Step, i.Reply.Text = thread.Step{Status: thread.Withheld, Reason: why}, ""
	}
	if i.Resolve.Status == thread.Due {
		i.Resolve = thread.Step{Status: thread.Withheld, Reason: why}
	}
}

// changed tells whether it was withheld for what happened meanwhile.
func (i *SettledItem) changed() bool {
	meanwhile := []thread.Reason{thread.Changed, thread.HeadMoved, thread.Gone}
	return slices.Contains(meanwhile, i.Reply.Reason) || slices.Contains(meanwhile, i.Resolve.Reason)
}

// notReached marks what was due and wasn't tried.
func (i *SettledItem) notReached() {
	if i.Reply.Status == thread.Due {
		i.Reply.Status = thread.NotReached
	}
	if i.Resolve.Status == thread.Due {
		i.Resolve.Status = thread.NotReached
	}
}

// fail marks a reply that didn't work out.
func (r *SettledReply) fail(err error) {
	r.Status = thread.Failed
	if errors.Is(err, ErrUnknown) {
		r.Status = thread.Unclear
	}
}
