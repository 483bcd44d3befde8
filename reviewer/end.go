package reviewer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"review-bot/escalation"
)

// end ends a run that has no verdict on the head, whatever the cause: an approval
// that the account gave to another commit must not let this one be merged, and a
// block that a dead job left unsaid is said. failed is what the run ended with, and
// so does end, unless that couldn't be done.
func (r *run) end(ctx context.Context, failed error) error {
	if r.ended || r.set.DryRun {
		return failed
	}
	if ctx.Err() != nil {
		// The process is to be gone soon: what can be done at once is done, also where a publication
		// was stopped, which releases the lock first.
		hurried, cancel := context.WithTimeout(context.WithoutCancel(ctx), Grace/2)
		defer cancel()
		ctx = hurried
	}
	return unheld(ctx, failed, r.leave(ctx))
}

// leave reads again, unless that was only just done, and decides and writes.
func (r *run) leave(ctx context.Context) error {
	st, err := r.lately(ctx)
	if err != nil || st.pull.Closed {
		return err
	}
	set := r.set
	set.Role = "" // no role acts: what this one's record says counts as well
	cfg := config(set, st, r.key, r.nonce())
	cfg.Rest = true
	action, _, needed := escalation.Preview(cfg, st.log, st.pull.Head, false)
	r.result.Gate = st.log.Gate().Names()
	if !needed {
		return nil
	}
	r.progress("decide", time.Time{}, "without a verdict on %.7s, gate {%s}, wanted %s: %s", st.pull.Head,
		strings.Join(r.result.Gate, " "), action.Desired, action.Reason)
	pub, err := r.publisher(cfg, st).publish(ctx)
	r.result.Gate = pub.Done.Gate.Names()
	r.result.Notes = append(r.result.Notes, pub.Done.Notes...)
	r.waiting(cfg, pub.Done.Action, pub.Log(), st.pull.Head)
	switch did := pub.Done.Action; {
	case err != nil:
	case did.Hold != "":
		r.note("the account approved before, and nobody has judged %.7s: the approval is taken back", st.pull.Head)
	case did.Post != "":
		r.note("%s requests changes, which the forge didn't show: posted again", did.As)
	}
	return err
}

// lately is the state as it was read at the beginning, or as it is now if much may
// have happened since.
func (r *run) lately(ctx context.Context) (state, error) {
	var st state
	if r.seen != nil {
		st = *r.seen
	}
	if r.seen == nil || st.unread != nil {
		var err error
		if st, err = r.read(ctx); err != nil {
			return state{}, err
		}
	}
	if st.unread != nil {
		return state{}, st.unread
	}
	return st, r.complete(ctx, &st)
}

// alone is what is left of the gate where the account couldn't be made to say the
// right thing.
const alone = "only the required check keeps unread code from being merged"

// unread is the error of a run that couldn't learn, or change, what the account says.
func unread(err error) error {
	return fmt.Errorf("%w; until a run ends well, %s", err, alone)
}

// unheld is the error of a run that failed, or that couldn't end as it should, or both.
func unheld(ctx context.Context, failed, err error) error {
	switch {
	case err == nil:
		return failed
	case failed == nil:
		return &Error{Doing: "checking what the account says of the head", Err: err, Next: "run the job again; until then " + alone}
	case ctx.Err() != nil:
		return fmt.Errorf("%w; there was no time to check what the account says: until a run ends well, %s", failed, alone)
	}
	return fmt.Errorf("%w; what the account says couldn't be checked either (%w): until a run ends well, %s", failed, err, alone)
}
