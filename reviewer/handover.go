package reviewer

import (
	"cmp"
	"context"
	"strings"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer/finding"
	"review-bot/sentinel"
)

// handoff is the mark of the comment that hands over in the count under way.
func (r *run) handoff(log escalation.Log) sentinel.Handoff {
	return sentinel.Handoff{Role: r.set.Role, Epoch: log.Epoch(r.set.Role)}
}

// handed reports whether the role has handed over in the count under way. The
// timeline may begin after the comment, but not before the record that was the
// current one when it was written, and each later record notes it.
func (r *run) handed(log escalation.Log) bool {
	cur, ok := log.Current(r.set.Role)
	noted := ok && cur.Sentinel.Epoch == log.Epoch(r.set.Role) && field(cur.Sentinel, handedField) != ""
	return noted || log.HandedOff(r.handoff(log))
}

// handsOver reports whether a job that died has left it to this one to hand over:
// its follow-up still blocks.
func (r *run) handsOver(log escalation.Log) bool {
	cur, ok := log.Current(r.set.Role)
	return ok && cur.FollowUp() && cur.Own() == sentinel.RequestChanges &&
		!log.Waived(r.set.Role, cur.Head()) && !r.handed(log)
}

// handingOver is the comment by which the role hands over.
func (r *run) handingOver(st state, rounds, followUps int, open []finding.Finding) *escalation.Handover {
	h := finding.Handover{
		Role: r.set.Role, Rounds: rounds, FollowUps: followUps, MaxFollowUps: r.set.MaxFollowUps,
		Operators: r.set.Operators, Open: open, Pull: st.pull.URL,
	}
	return &escalation.Handover{Mark: r.handoff(st.log), Text: h.Text}
}

// open are the role's findings that are open as things are now, but for those
// that people have waived.
func (r *run) open(ctx context.Context, st state) ([]finding.Finding, error) {
	earlier, err := r.recall(ctx, st)
	waived := st.log.Dismissals(r.set.Role)
	var open []finding.Finding
	for _, e := range earlier {
		if e.Status == finding.Open && !waived.IDs[e.ID] {
			open = append(open, e.Finding)
		}
	}
	return open, err
}

// rest ends a run about a head that the role doesn't look at any more: no model is
// asked, its verdict stays, the gate is kept right, and people are told once what is
// open and which ways out there are.
func (r *run) rest(ctx context.Context, st state, began time.Time) error {
	cur, _ := st.log.Current(r.set.Role)
	rounds, followUps := st.log.Rounds(r.set.Role), st.log.FollowUps(r.set.Role)
	r.progress("read", began, "%s and %s, no model is asked",
		finding.Count(rounds, "round", "rounds"), finding.Count(followUps, "follow-up", "follow-ups"))
	// Nobody acts: what the account says follows from the roles' records.
	cfg := config(r.set, st, r.key, r.nonce())
	said := r.handed(st.log)
	if !said {
		open, err := r.open(ctx, st)
		if err != nil {
			return err
		}
		cfg.Handoff = r.handingOver(st, rounds, followUps, open)
	}
	action, asks, needed := escalation.Preview(cfg, st.log, st.pull.Head, false)
	plan := newPlan(action, asks, nil)
	plan.say(cfg, st.log)
	r.result.Own, r.result.Rounds = cur.Own(), rounds
	r.recorded(st, cur)
	r.progress("decide", time.Time{}, "%s is the most, gate {%s} → capped: %s",
		finding.Count(r.set.MaxFollowUps, "follow-up", "follow-ups"), strings.Join(st.log.Gate().Names(), " "), plan.Reason)
	done := foreseen(action, st.log)
	var err error
	switch {
	case r.set.DryRun:
		r.result.Plan = &plan
		r.note("nothing was written")
	case needed || !said:
		var pub escalation.Publication
		pub, err = r.publisher(cfg, st).publish(ctx)
		done = pub.Done
	}
	done.URL = cur.Row.URL
	r.report(cfg, done, st.log)
	if err == nil {
		r.result.Outcome = escalation.Capped
		r.note("%s has followed up %s after its rounds and didn't look at this one: "+
			"a maintainer decides now, or closes and reopens the pull request to start a new count",
			r.set.Role, finding.Count(followUps, "push", "pushes"))
	}
	return err
}

// say adds the hand-off comment to the plan.
func (p *Plan) say(cfg *escalation.Config, log escalation.Log) {
	if cfg.Handoff != nil {
		p.Steps = append(p.Steps, Step{Say: cfg.Handoff.Body(cmp.Or(log.Gating(), cfg.URL))})
	}
}
