package reviewer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer/finding"
	"review-bot/sentinel"
)

// publisher carries a publication's requests out on a forge.
type publisher struct {
	forge Forge
	cfg   *escalation.Config
	env   Env
	what  string // names the pull request in errors
	log   func(phase string, began time.Time, format string, args ...any)

	means Means // by which conversations were settled; "" if none was
}

// Grace is how long a request that has been started may go on when the run is
// told to stop. Then the lock is released, which ends within Grace and a half.
const Grace = 2500 * time.Millisecond

// publish runs a publication to its end. It isn't cut off in the middle of a
// request when ctx ends, but stops behind it and releases the lock. A request that
// hangs is given up after Grace.
func (p *publisher) publish(ctx context.Context) (escalation.Publication, error) {
	started, cancel := outlasting(ctx, Grace)
	defer cancel()
	releasing, cancel := outlasting(ctx, Grace*3/2)
	defer cancel()
	pub := escalation.Publish(p.cfg, p.env.Now())
	if ctx.Err() != nil {
		pub.Stop(ctx.Err())
	}
	for pub.Ask.Kind != escalation.AskNothing {
		requests := started
		if ctx.Err() != nil {
			requests = releasing
		}
		reply := p.carryOut(ctx, requests, pub.Ask)
		reply.Now = p.env.Now()
		pub.Tell(reply)
		if ctx.Err() != nil {
			pub.Stop(ctx.Err())
		}
	}
	return pub, p.explain(pub.Done)
}

// outlasting is ctx, but ends that much later.
func outlasting(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(d, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() { stop(); cancel() }
}

// carryOut makes one request, or waits: ctx bounds waiting, requests the request.
func (p *publisher) carryOut(ctx, requests context.Context, ask escalation.Ask) escalation.Reply {
	began := p.env.Now()
	if ask.Kind == escalation.AskWait {
		p.env.Sleep(ctx, ask.Wait)
		return escalation.Reply{}
	}
	r := CarryOut(requests, p.forge, p.cfg, ask)
	if r.Err == nil {
		switch ask.Kind {
		case escalation.AskPost:
			what := "review"
			if ask.Hold {
				what = "hold in place of an approval"
			}
			p.log("publish", began, "%s %s, %d inline", what, ask.Post.Event, len(ask.Post.Comments))
		case escalation.AskAttach:
			p.log("publish", began, "1 inline comment attached")
		case escalation.AskEdit:
			p.log("publish", began, "review of %s edited", ask.About)
		case escalation.AskSay:
			p.log("publish", began, "hand-off comment of %s", ask.About)
		case escalation.AskSettle:
			p.settled(ask, r, began)
		case escalation.AskSubmit:
			p.log("publish", began, "%s", ask.About)
		case escalation.AskWithdraw:
			p.log("publish", began, "the account's verdict is withdrawn")
		default: // nothing that people see
		}
	}
	return r
}

// CarryOut makes one request of a publication on a forge. Waiting is the
// caller's, and so is the reply's time.
func CarryOut(ctx context.Context, forge Forge, cfg *escalation.Config, ask escalation.Ask) (r escalation.Reply) {
	switch ask.Kind {
	case escalation.AskLock:
		r.Added, r.Created, r.Err = forge.React(ctx, cfg.Lock)
	case escalation.AskReactions:
		r.Reactions, r.Server, r.Err = forge.Reactions(ctx)
	case escalation.AskUnlock:
		r.Err = forge.Unreact(ctx, cfg.Lock)
	case escalation.AskReviews:
		r.Rows, r.Err = forge.Reviews(ctx)
	case escalation.AskTimeline:
		if ask.ToEnd {
			r.Entries, r.Reach, r.Err = forge.TimelineToEnd(ctx, ask.Since, ask.Rows)
		} else {
			r.Entries, r.Err = forge.Timeline(ctx, ask.Since, ask.Rows)
		}
	case escalation.AskHead:
		var pull Pull
		pull, r.Err = forge.Pull(ctx)
		r.Head, r.Against, r.Closed = pull.Head, pull.Against(), pull.Closed
	case escalation.AskComments:
		r.Comments, r.Err = forge.Comments(ctx, ask.Review)
	case escalation.AskPost:
		r.Posted, r.Err = forge.PostReview(ctx, ask.Post)
	case escalation.AskEdit:
		r.Err = forge.EditReview(ctx, ask.Comment, ask.Body)
	case escalation.AskAttach:
		r.Err = forge.Attach(ctx, ask.Review, ask.Inline)
		if errors.Is(r.Err, ErrUnsupported) {
			r.Unsupported, r.Err = true, nil
		}
	case escalation.AskSettle:
		r.Edited, r.Err = settle(ctx, forge, cfg, ask)
	case escalation.AskSay:
		_, r.Err = forge.Say(ctx, ask.Body)
	case escalation.AskSubmit:
		r.Posted, r.Err = forge.SubmitPending(ctx, ask.Review, ask.Body)
	case escalation.AskWithdraw:
		r.Err = forge.RequestReview(ctx, cfg.Login)
	case escalation.AskWait, escalation.AskNothing:
	}
	r.Unknown, r.Failed = errors.Is(r.Err, ErrUnknown), errors.Is(r.Err, ErrFailed)
	return r
}

// settle closes a conversation or opens it again. Where the server can't, the
// account's comment is edited instead. One that was deleted needs nothing more.
func settle(ctx context.Context, forge Forge, cfg *escalation.Config, ask escalation.Ask) (edited bool, err error) {
	err = forge.Resolve(ctx, ask.Comment, !ask.Reopen)
	switch {
	case errors.Is(err, ErrGone):
		return false, nil
	case !errors.Is(err, ErrUnsupported):
		return false, err
	}
	comments, err := forge.Comments(ctx, ask.Review)
	if err != nil {
		return false, err
	}
	for _, c := range comments {
		if c.ID != ask.Comment || c.Author != cfg.Account {
			continue
		}
		text := finding.Closed(c.Body, ask.Head, cfg.Key)
		if ask.Reopen {
			text = finding.Opened(c.Body, cfg.Key)
		}
		if text != c.Body {
			err = forge.EditComment(ctx, c.ID, text)
		}
	}
	if errors.Is(err, ErrGone) {
		err = nil
	}
	return true, err
}

// settled notes by which means a conversation was settled.
func (p *publisher) settled(ask escalation.Ask, r escalation.Reply, began time.Time) {
	what := "closed"
	p.means = ByResolve
	if ask.Reopen {
		what = "opened again"
	}
	if r.Edited {
		p.means = ByEdit
		what += " by an edit, as the server can't"
	}
	p.log("publish", began, "conversation %d %s", ask.Comment, what)
}

// explain turns a publication's failure into a line that says what to do.
func (p *publisher) explain(d escalation.Done) error {
	if d.Err == nil {
		return nil
	}
	e := &Error{Doing: "publishing on " + p.what, Err: d.Err}
	switch d.Failure {
	case escalation.FailedRequest:
		return d.Err
	case escalation.FailedStopped:
		e.Err, e.Next = errors.New("the job was stopped"), "run it again: it goes on where this one stopped"
	case escalation.FailedLock:
		e.Err = fmt.Errorf("without the lock no approval is posted and no verdict taken back: %w", d.Err)
		e.Next = "run the job again; where no two jobs share the account, --lock off does without"
	case escalation.FailedPending:
		e.Next = "submit or discard it on the pull request's page, then run the job again"
	case escalation.FailedUnknown:
		e.Next = "run the job again: it looks for the review first"
	case escalation.FailedUnstable:
		e.Next = "run `review-bot reconcile`"
	}
	return e
}

// event is what the account says now, as it is reported.
func event(cfg *escalation.Config, desired sentinel.Verdict) sentinel.Verdict {
	if cfg.Advisory || cfg.Account == cfg.Author || (cfg.NoApprove && desired == sentinel.Approved) {
		return sentinel.Comment
	}
	return desired
}
