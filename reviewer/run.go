package reviewer

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer/budget"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/untrusted"
	"review-bot/sentinel"
)

// run is one run under way.
type run struct {
	set      Settings
	first    Settings // as flags and environment alone made them
	env      Env
	key      sentinel.Key
	given    string               // digest of first, and of what stands behind it
	question string               // digest; known when the settings are
	handover *escalation.Handover // what the run says to people once its verdict is right; nil for nothing
	texts    texts
	replied  *bool // see unheard
	tokens   budget.Counter
	because  string // of the verdict, for the log
	// inBody makes the verdict with some inline comments in its text, see escalation.Config.
	inBody func(moved []escalation.NewComment) escalation.Verdict
	doubt  string // see the function of that name
	seen   *state // what was read last, as long as nothing that takes time came after it
	ended  bool   // what keeps unread code from being merged is done, or isn't this run's
	result Result
}

// Review runs the role once: read, ask, decide, publish. The result is filled
// as far as the run came, also beside an error.
func Review(ctx context.Context, set Settings, env Env) (Result, error) {
	r := &run{set: set, first: set, env: env, key: sentinel.NewKey(env.Token, set.Repo, set.Number), given: given(set, env), tokens: newCounter(set)}
	r.result = Result{Role: set.Role, DryRun: set.DryRun, Findings: []FindingResult{}, Gate: []string{}, Notes: []string{}}
	err := r.end(ctx, r.review(ctx))
	r.result.Advisory = r.set.Advisory
	if err != nil {
		r.result.Outcome = escalation.Failed
		r.result.Error = err.Error()
	}
	return r.result, err
}

func (r *run) review(ctx context.Context) error {
	began := r.env.Now()
	st, err := r.read(ctx)
	if err != nil {
		r.ended = ctx.Err() == nil // the same would be asked for
		return unread(err)
	}
	r.seen = &st
	r.result.Head, r.result.BaseBranch = st.pull.Head, st.pull.BaseBranch
	if st.pull.Closed {
		r.result.Outcome, r.ended = escalation.Closed, true
		r.note("the pull request is closed")
		return nil
	}
	if r.set.SelfRequested {
		r.ended = true
		return r.look(ctx, st, began)
	}
	if !st.pull.Draft && st.unread == nil && r.remember(st) {
		if done, err := r.settledBefore(ctx, &st, began, false); done || err != nil {
			return err
		}
	}
	if err := r.configure(ctx, st.pull); err != nil {
		return err
	}
	if st.pull.Draft && !r.set.ReviewDrafts {
		r.result.Outcome = escalation.Draft
		r.note("the pull request is a draft: mark it ready, or give --review-drafts")
		return nil
	}
	if st.unread != nil {
		r.note("the history couldn't be read at first, so the model is asked: %v", st.unread)
	} else if done, err := r.settledBefore(ctx, &st, began, true); done || err != nil {
		return err
	}
	r.seen = nil
	if spent := spentBefore(st.log, r.set.Role); r.set.MaxSpent > 0 && spent >= r.set.MaxSpent && !r.set.Force {
		r.result.Outcome = escalation.Capped
		r.note("%s has spent %s tokens on this pull request, and %s are the most: no model was asked; raise --max-tokens-per-pr, or review it by hand",
			r.set.Role, thousands(spent), thousands(r.set.MaxSpent))
		return nil
	}
	m, err := r.gather(ctx, &st)
	if moved := new(movedError); errors.As(err, &moved) {
		r.result.Outcome = escalation.HeadMoved
		r.note("%v", moved)
		return nil
	}
	if err != nil {
		return err
	}
	files, added, deleted := m.diff.Stat()
	r.progress("read", began, "%s, +%d −%d%s", finding.Count(files, "file", "files"), added, deleted, told(m.earlier))
	if files == 0 {
		r.noteLog(st.log)
		r.result.Outcome = escalation.Skipped
		r.note("the pull request changes nothing: push a change to have it reviewed")
		return nil
	}
	if m.masked > 0 {
		r.note("%s masked in what the model was shown", finding.Count(m.masked, "value that looks like a secret was", "values that look like secrets were"))
	}
	v, err := r.judge(ctx, &st, m)
	if err != nil {
		return err
	}
	r.noteLog(st.log)
	if r.set.DryRun { // nothing will be read again
		if err := r.complete(ctx, &st); err != nil {
			return err
		}
	}
	return r.publish(ctx, st, v)
}

// settledBefore deals with a head about which no model needs to be asked: the
// question is answered already, or the role has had its rounds. While the settings
// are only remembered it does so if nothing is to be written.
func (r *run) settledBefore(ctx context.Context, st *state, began time.Time, configured bool) (bool, error) {
	if r.set.Force {
		return false, nil
	}
	answered, err := r.answered(ctx, *st)
	capped := st.log.Look(r.set.Role, st.pull.Head, r.set.MaxRounds, r.set.MaxFollowUps) == escalation.NoLook
	if err != nil || !answered && !capped {
		return false, err
	}
	if st.partial {
		// What people did since must not be missed now.
		if err := r.complete(ctx, st); err != nil {
			return false, err
		}
		r.replied = nil
		return r.settledBefore(ctx, st, began, configured)
	}
	if !configured && !r.rests(*st, capped) {
		return false, nil
	}
	r.noteLog(st.log)
	if capped {
		r.seen = nil
		err := r.rest(ctx, *st, began)
		r.ended = err == nil
		return true, err
	}
	cur, _ := st.log.Current(r.set.Role)
	if r.handsOver(st.log) {
		open, err := r.open(ctx, *st)
		if err != nil {
			return false, err
		}
		r.handover = r.handingOver(*st, st.log.Rounds(r.set.Role), st.log.FollowUps(r.set.Role), open)
	}
	r.progress("read", began, "judged at %.7s already, no model is asked", cur.Head())
	r.recorded(*st, cur)
	return true, r.publish(ctx, *st, escalation.Recorded(cur))
}

// answered tells whether the role's record answers the question of this run: the
// same one about the same head, and nobody has asked for another look since, nor
// replied in one of its conversations.
func (r *run) answered(ctx context.Context, st state) (bool, error) {
	cur, ok := st.log.Current(r.set.Role)
	if !ok || cur.Head() != st.pull.Head || cur.Sentinel.Against != st.pull.Against() || cur.Sentinel.Q != r.question || st.log.AskedAgain(cur) {
		return false, nil
	}
	unheard, err := r.unheard(ctx, st, cur)
	return !unheard && err == nil, err
}

// unheard tells whether somebody has replied since the model was asked. It is
// looked up once.
func (r *run) unheard(ctx context.Context, st state, cur escalation.Record) (bool, error) {
	if r.replied != nil {
		return *r.replied, nil
	}
	known := field(cur.Sentinel, commentsField)
	if _, comments := r.conversations(st.log); known == "" || known == strconv.Itoa(comments) {
		return false, nil // as many comments as when the model was asked
	}
	earlier, err := r.recall(ctx, st)
	if err != nil {
		return false, err
	}
	r.replied = new(slices.ContainsFunc(earlier, func(e finding.Earlier) bool {
		return slices.ContainsFunc(e.Replies, func(reply finding.Reply) bool { return reply.ID > cur.Sentinel.Heard })
	}))
	return *r.replied, nil
}

// publish decides and writes.
func (r *run) publish(ctx context.Context, st state, v escalation.Verdict) error {
	cfg := r.config(st, v)
	action, asks, needed := escalation.Preview(cfg, st.log, st.pull.Head, false)
	plan := newPlan(action, asks, v.Owed)
	plan.say(cfg, st.log)
	r.result.Own, r.result.Rounds = v.Own, v.Round
	r.progress("decide", time.Time{}, "own %s%s, gate {%s} → %s: %s", v.Own, r.because, strings.Join(st.log.Gate().Names(), " "), plan.Outcome, plan.Reason)
	if r.set.DryRun || !needed && !v.Fresh && cfg.Handoff == nil {
		d := foreseen(action, st.log)
		cur, _ := st.log.Current(r.set.Role)
		d.URL = cur.Row.URL
		r.ended = true
		r.report(cfg, d, st.log)
		if r.set.DryRun {
			r.result.Plan = &plan
			r.note("nothing was written")
		}
		return nil
	}
	r.seen = nil
	p := r.publisher(cfg, st)
	done, err := p.publish(ctx)
	r.ended = err == nil
	r.report(cfg, done.Done, done.Log())
	for i, f := range r.result.Findings {
		if f.Where == finding.Inline && (f.State == finding.Resolved || f.State == finding.Reopened) {
			r.result.Findings[i].Means = p.means
		}
	}
	return err
}

// config is the publication of the role's verdict.
func (r *run) config(st state, v escalation.Verdict) *escalation.Config {
	cfg := config(r.set, st, r.key, r.nonce())
	cfg.Handoff = r.handover
	cfg.Role, cfg.Verdict, cfg.Advisory, cfg.Attach = r.set.Role, v, r.set.Advisory, r.set.Inline == InlineAttach
	cfg.InBody = r.inBody
	if cur, ok := st.log.Current(r.set.Role); ok && !v.Fresh && field(cur.Sentinel, settingsField) != noteSettings(r.set) {
		// Otherwise the account's other runs would go by the settings that were.
		cfg.Noted = r.noted()
		cfg.Verdict = v.Noting(cfg.Noted)
	}
	return cfg
}

// config is what every publication of these settings has in common.
func config(set Settings, st state, key sentinel.Key, nonce string) *escalation.Config {
	set = set.ofAccount(st.log)
	return &escalation.Config{
		Account: st.account.ID, Login: st.account.Login, Author: st.pull.Author.ID, URL: st.pull.URL, Against: st.pull.Against(), Key: key, Nonce: nonce, Seen: st.log,
		NoApprove: set.NoApprove, RepostStale: set.RepostStale, Siblings: set.Siblings, Force: set.Force,
		Lock: set.Lock, Times: set.LockTimes,
	}
}

// publisher carries a publication out.
func (r *run) publisher(cfg *escalation.Config, st state) *publisher {
	return &publisher{forge: r.env.Forge, cfg: cfg, env: r.env, what: st.pull.URL, log: r.progress}
}

// foreseen is what a run ends with that publishes nothing.
func foreseen(a escalation.Action, log escalation.Log) escalation.Done {
	return escalation.Done{Outcome: a.Outcome, Desired: a.Desired, Gate: log.Gate(), Action: a}
}

// report fills the result from what a publication ended with.
func (r *run) report(cfg *escalation.Config, d escalation.Done, log escalation.Log) {
	r.result.Outcome, r.result.Event = d.Outcome, event(cfg, d.Desired)
	r.result.Gate, r.result.ReviewURL = d.Gate.Names(), d.URL
	for _, note := range d.Notes {
		if !slices.Contains(r.result.Notes, note) {
			r.result.Notes = append(r.result.Notes, note)
		}
	}
	r.waiting(cfg, d.Action, log, r.result.Head)
	if len(d.Action.Blockers) > 0 && r.result.Own != sentinel.RequestChanges && r.result.Headline != "" {
		r.result.Headline += " · held by " + d.Action.Blockers[0].Role()
	}
	switch {
	case d.Outcome == escalation.OwnPull:
		r.note("the account opened this pull request, so its review can't gate: the verdict is in the exit status only")
	case d.Outcome == escalation.HeadMoved:
		if d.Action.Outcome == escalation.HeadMoved && d.Action.Reason != "" {
			r.note("%s: the run for that will review", d.Action.Reason)
		} else {
			r.note("the pull request has a newer head: the run for it will review")
		}
	case d.Outcome == escalation.Waived:
		r.note("a person dismissed the block at this head: the account says neither yes nor no")
	case d.Gate.Unofficial && !cfg.Advisory:
		r.note("the account's reviews don't gate: give it write access, or list it as a reviewer in the branch protection")
	}
	if cfg.Advisory && d.Gate.Has(sentinel.RequestChanges) && !d.Gate.Held && d.Desired != sentinel.RequestChanges {
		r.note("the account still requests changes from before the role was advisory: dismiss that review, or run `review-bot reconcile`")
	}
}

func (r *run) noteLog(log escalation.Log) {
	if log.Holes {
		r.note(escalation.Holes)
	}
	if n := len(log.Ignored); n > 0 {
		r.note("%s not counted: %s", finding.Count(n, "review that is marked as a role's was", "reviews that are marked as a role's were"), log.Ignored[0].Reason)
	}
}

func (r *run) note(format string, args ...any) {
	r.result.Notes = append(r.result.Notes, fmt.Sprintf(format, args...))
}

func (r *run) progress(phase string, began time.Time, format string, args ...any) {
	p := Progress{Phase: phase, Text: fmt.Sprintf(format, args...)}
	if !began.IsZero() {
		p.Took = r.env.Now().Sub(began)
	}
	if r.env.Log != nil {
		r.env.Log(p)
	}
}

// newIDBeside makes ids that no earlier finding has.
func (r *run) newIDBeside(earlier []finding.Earlier) func() string {
	return func() string {
		for {
			id := r.random(4)
			if !slices.ContainsFunc(earlier, func(e finding.Earlier) bool { return e.ID == id }) {
				return id
			}
		}
	}
}

func (r *run) nonce() string { return r.random(16) }

// random gives n bytes in hexadecimal.
func (r *run) random(n int) string {
	b := make([]byte, n)
	if _, err := io.ReadFull(r.env.Random, b); err != nil {
		panic(fmt.Sprintf("reviewer: no randomness: %v", err)) // crypto/rand never fails
	}
	return hex.EncodeToString(b)
}

// usageLine is the body's last visible line: what it cost, and which commit was read.
func usageLine(u Usage, head string) string {
	if u.Calls == 0 {
		return fmt.Sprintf("<sub>no model was asked · at %.7s</sub>", head)
	}
	tokens := thousands(u.Prompt) + " tokens in"
	if u.Cached > 0 {
		tokens += " (" + thousands(u.Cached) + " cached)"
	}
	tokens += ", " + thousands(u.Completion) + " out"
	if u.Cost > 0 {
		tokens += fmt.Sprintf(" · cost %.4f", u.Cost)
	}
	return fmt.Sprintf("<sub>%s · %s · %.0f s · reviewed %.7s</sub>", untrusted.Line(u.Model, 60), tokens, u.Seconds, head)
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%.1fk", float64(n)/1000)
}
