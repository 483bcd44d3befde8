package reviewer

import (
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

// handOver ends the role's rounds: no model is asked, its verdict stands, the
// gate is kept right, and people are told once what is open and which ways out
// there are.
func (r *run) handOver(ctx context.Context, st state, began time.Time) error {
	cur, _ := st.log.Current(r.set.Role)
	rounds := st.log.Rounds(r.set.Role)
	r.progress("read", began, "%s with changes requested, no model is asked", finding.Count(rounds, "round", "rounds"))
	// Nobody acts: what the account says follows from the roles' records.
	cfg := config(r.set, st, r.key, r.nonce())
	mark := r.handoff(st.log)
	said := st.log.HandedOff(mark)
	if !said {
		earlier, err := r.recall(ctx, st)
		if err != nil {
			return err
		}
		cfg.Handoff = &escalation.Handover{Mark: mark, Text: finding.Handover{
			Role: r.set.Role, Rounds: rounds, Review: cur.Row.URL, Operators: r.set.Operators, Earlier: earlier,
		}.Text()}
	}
	action, asks, needed := escalation.Preview(cfg, st.log, st.pull.Head, false)
	plan := newPlan(action, asks, nil)
	if !said {
		plan.Steps = append(plan.Steps, Step{Say: cfg.Handoff.Body()})
	}
	r.result.Own, r.result.Rounds = cur.Own(), rounds
	r.progress("decide", time.Time{}, "%s is the most, gate {%s} → capped: %s", finding.Count(r.set.MaxRounds, "round", "rounds"), strings.Join(st.log.Gate().Names(), " "), plan.Reason)
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
	r.report(cfg, done)
	if err == nil {
		r.result.Outcome = escalation.Capped
		r.note("%s has requested changes at %s: people decide now, or close and reopen the pull request to start a new count", r.set.Role, finding.Count(rounds, "head", "heads"))
	}
	return err
}
