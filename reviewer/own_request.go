package reviewer

import (
	"context"
	"time"

	"review-bot/escalation"
	"review-bot/sentinel"
)

// selfRequested is what a run says that may only look.
const selfRequested = "an account's request for its own review started this run, as it takes a verdict back: " +
	"no model was asked and nothing was written"

// look fills the result with what the forge says of the role now: no model is asked
// and nothing is written. A run that the bot itself has started would otherwise start
// the next one, and judge next to the run of the push that came before.
func (r *run) look(ctx context.Context, st state, began time.Time) error {
	r.result.Outcome, r.result.Event = escalation.Skipped, sentinel.None
	r.note("%s", selfRequested)
	if st.unread != nil {
		return st.unread
	}
	if err := r.complete(ctx, &st); err != nil {
		return err
	}
	r.noteLog(st.log)
	if !r.remember(st) {
		if err := r.configure(ctx, st.pull); err != nil {
			return err
		}
	}
	answered, err := r.answered(ctx, st)
	if err != nil || !answered {
		r.progress("read", began, "the role has no verdict that answers for this head")
		return err
	}
	cur, _ := st.log.Current(r.set.Role)
	cfg := r.config(st, escalation.Recorded(cur))
	action, _, _ := escalation.Preview(cfg, st.log, st.pull.Head, false)
	r.waiting(cfg, action, st.log, st.pull.Head)
	gate := st.log.Gate()
	r.result.Gate, r.result.ReviewURL = gate.Names(), cur.Row.URL
	if event(cfg, action.Desired) == sentinel.Approved && !gate.Is(sentinel.Approved) {
		r.progress("read", began, "the role's approval was taken back")
		return nil
	}
	r.result.Own, r.result.Event = cur.Own(), event(cfg, action.Desired)
	if action.Outcome == escalation.Waived {
		r.result.Outcome = escalation.Waived
	}
	r.progress("read", began, "judged at %.7s already", cur.Head())
	return nil
}
