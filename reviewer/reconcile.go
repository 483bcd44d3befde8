package reviewer

import (
	"context"
	"slices"
	"strings"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer/finding"
	"review-bot/sentinel"
)

// Reconciliation is what `reconcile` ends with: a result per role of the account.
type Reconciliation struct {
	Roles         []Result `json:"roles"`
	Head          string   `json:"head,omitempty"` // of the pull request
	BaseBranch    string   `json:"base_branch,omitempty"`
	Closed        bool     `json:"closed,omitempty"`
	Gate          []string `json:"gate"`
	ForgeRequests int      `json:"forge_requests"`
	Notes         []string `json:"notes"`
	DryRun        bool     `json:"dry_run,omitempty"`
	Plan          *Plan    `json:"plan,omitempty"` // with DryRun
	Error         string   `json:"error,omitempty"`
}

// Reconcile makes the forge say what the records of all the account's roles come
// to. No model is asked and no diff is read. With retire it first marks that
// role's verdict as retired, so that a role that no longer exists blocks no more.
//
// Of the settings those of publishing count. An approval waits for the siblings that the
// records name; siblings that are given, if only an empty list, replace those. The result is filled as far as the
// run came, also beside an error.
func Reconcile(ctx context.Context, set Settings, retire string, env Env) (Reconciliation, error) {
	r := &run{set: set, env: env, key: sentinel.NewKey(env.Token, set.Repo, set.Number)}
	out := Reconciliation{Roles: []Result{}, Gate: []string{}, Notes: []string{}, DryRun: set.DryRun}
	err := r.reconcile(ctx, retire, &out)
	out.Notes = append(out.Notes, r.result.Notes...)
	if err != nil {
		out.Error = err.Error()
	}
	return out, err
}

func (r *run) reconcile(ctx context.Context, retire string, out *Reconciliation) error {
	began := r.env.Now()
	st, err := readState(ctx, r.env.Forge, r.key)
	if err != nil {
		return unread(err)
	}
	out.Head, out.BaseBranch, out.Closed = st.pull.Head, st.pull.BaseBranch, st.pull.Closed
	if st.unread != nil {
		return unread(st.unread)
	}
	if err := st.complete(ctx, r.env.Forge, r.key); err != nil {
		return unread(err)
	}
	r.noteLog(st.log)
	r.progress("read", began, "%s with a verdict", finding.Count(len(st.log.Standing()), "role", "roles"))
	if retire != "" {
		if err := retirable(st.log, retire); err != nil {
			return err
		}
	}
	cfg := config(r.set, st, r.key, r.nonce())
	cfg.Retire = retire
	if r.set.Siblings != nil { // given for this run, so they say more than the records
		cfg.Siblings = slices.Clone(r.set.Siblings)
	}
	cfg.Siblings = slices.DeleteFunc(cfg.Siblings, func(role string) bool { return role == retire })
	action, asks, needed := escalation.Preview(cfg, st.log, st.pull.Head, st.pull.Closed)
	plan := newPlan(action, asks, nil)
	r.progress("decide", time.Time{}, "gate {%s}, wanted %s → %s: %s", strings.Join(st.log.Gate().Names(), " "), action.Desired, plan.Outcome, plan.Reason)
	log, d := st.log, foreseen(action, st.log)
	switch {
	case r.set.DryRun:
		out.Plan = &plan
		r.note("nothing was written")
	case r.set.SelfRequested:
		d = unwritten(d)
		r.note("%s", selfRequested)
	case needed:
		var pub escalation.Publication
		if pub, err = r.publisher(cfg, st).publish(ctx); err != nil {
			err = unread(err)
		}
		log, d = pub.Log(), pub.Done
	}
	out.Gate = d.Gate.Names()
	r.result.Notes = append(r.result.Notes, d.Notes...)
	r.waiting(cfg, d.Action, log, st.pull.Head)
	for _, cur := range log.Standing() {
		out.Roles = append(out.Roles, reconciled(cfg, st.pull, cur, d))
	}
	return err
}

// unwritten is what a run ends with that may write nothing: what the account says is
// then what the forge has, and not what is wanted.
func unwritten(d escalation.Done) escalation.Done {
	d.Action = escalation.Action{}
	if d.Outcome != escalation.Waived {
		d.Outcome = escalation.Skipped
	}
	if !d.Gate.Is(d.Desired) {
		d.Desired = sentinel.None
	}
	return d
}

// reconciled is one role's part of the result.
func reconciled(cfg *escalation.Config, pull Pull, cur escalation.Record, d escalation.Done) Result {
	r := Result{
		Role: cur.Role(), Outcome: escalation.Skipped, Own: cur.Own(), Event: event(cfg, d.Desired), Head: cur.Head(), ReviewURL: cur.Row.URL,
		Findings: []FindingResult{}, Gate: d.Gate.Names(), Rounds: cur.Sentinel.Round, Notes: []string{},
	}
	if cur.Sentinel.Against == pull.Against() {
		r.BaseBranch = pull.BaseBranch
	}
	r.Advisory = cur.Sentinel.Advisory
	if d.Outcome == escalation.Failed || d.Outcome == escalation.Waived || d.Action.As == cur.Role() || d.Action.Withdraw {
		r.Outcome = d.Outcome
	}
	return r
}
