package reviewer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer/finding"
	"review-bot/sentinel"
)

// judge asks the model and makes a verdict of its answer.
func (r *run) judge(ctx context.Context, st *state, m material) (escalation.Verdict, error) {
	c, err := r.consult(ctx, *st, &m, r.set.MaxTokens)
	var long *TooLong
	if errors.As(err, &long) && long.Fits > 0 {
		if fits := FitsInto(long.Fits); fits < r.set.MaxTokens {
			r.note("the model takes %d tokens at once, so the diff was divided again: with --max-input-tokens %d it is from the start", long.Fits, fits)
			c, err = r.consult(ctx, *st, &m, fits)
		}
	}
	if err != nil {
		return escalation.Verdict{}, err
	}
	s, calls, answers := c.scope, c.calls, c.answers
	for _, f := range s.unread {
		r.result.NotReviewed = append(r.result.NotReviewed, NotReviewed{Path: f.Path, Why: f.Why, LeftOut: f.LeftOut, Allow: f.Allow})
	}
	masked := 0
	for i := range answers {
		var n int
		answers[i], n = clean(answers[i], m.diff, r.env.Secrets)
		masked += n
	}
	if masked > 0 {
		r.note("%s masked in the model's answer", finding.Count(masked, "value that looks like a secret was", "values that look like secrets were"))
	}
	if st.unread != nil {
		if m.earlier, err = r.reread(ctx, st, m); err != nil {
			return escalation.Verdict{}, err
		}
	}
	look, err := r.manner(ctx, st)
	if err != nil {
		return escalation.Verdict{}, err
	}
	return r.verdict(ctx, *st, look, m, s, calls, answers)
}

// consultation is what the model was asked, and what it said.
type consultation struct {
	scope   scope
	calls   []call
	answers []prompts.Answer // in the order of the calls
}

// consult asks the model about what the role looks at, in requests of at most so many
// tokens. What others wrote is cut to that in m.
func (r *run) consult(ctx context.Context, st state, m *material, most int) (c consultation, err error) {
	room, err := r.room(m, most)
	if err != nil {
		return c, err
	}
	if c.scope, err = r.scopeOf(ctx, st, *m, room); err != nil {
		return c, err
	}
	if len(c.scope.parts) > 0 || open(m.earlier) { // else there is nothing to look at, nothing to ask about
		if c.calls, err = r.calls(*m, c.scope, st.pull.Head); err != nil {
			return c, err
		}
	}
	began := r.env.Now()
	if c.answers, err = r.ask(ctx, c.calls); err != nil {
		return c, err
	}
	if u := r.result.Usage; len(c.calls) > 0 {
		r.progress("ask", began, "%s, %s tokens in %s", u.Model, thousands(u.Prompt), finding.Count(u.Calls, "call", "calls"))
	}
	return c, nil
}

// reread reads the history that couldn't be read before the model was asked. What
// the role had found stays open then: the model wasn't asked about it.
func (r *run) reread(ctx context.Context, st *state, m material) ([]finding.Earlier, error) {
	again, err := r.read(ctx)
	if err == nil {
		err = again.unread
	}
	if err != nil {
		return nil, err
	}
	again.pull = st.pull // it was the pull request as it was then that the model saw
	*st = again
	earlier, err := r.recall(ctx, *st)
	if err != nil {
		return nil, err
	}
	return earlier, r.trace(ctx, earlier, m.diff, st.pull.Head)
}

func open(earlier []finding.Earlier) bool {
	for _, e := range earlier {
		if e.Status == finding.Open {
			return true
		}
	}
	return false
}

// verdict makes the verdict, and the review's text, of the answers.
func (r *run) verdict(ctx context.Context, st state, look escalation.Look, m material, s scope, calls []call, answers []prompts.Answer) (escalation.Verdict, error) {
	pull := st.pull
	round, summary, err := r.round(ctx, st, m, s, calls, answers)
	if err != nil {
		return escalation.Verdict{}, err
	}
	if round.Unknown > 0 {
		r.note("the model kept %s that it wasn't asked about: ignored", finding.Count(round.Unknown, "finding", "findings"))
	}
	f := r.follow(st, look, &round, s.changed(m.diff))
	c := r.count(st, &round, f)
	own := c.own
	if r.set.Advisory || own == sentinel.Approved && (s.left || finding.NotRead(s.unread) > 0 || s.reviewed() == 0 && len(s.parts) == 0 && s.since == "") {
		own = sentinel.Comment // what wasn't looked at isn't approved
	}
	if own == sentinel.Approved && r.set.NoReceipt && len(calls) > 0 && r.result.Usage.Window == 0 {
		own = sentinel.Comment
		r.note("not approved: with --receipt off nobody knows that the model was given the whole request, as its server doesn't say how much it takes")
	}
	_, comments := r.conversations(st.log)
	v := escalation.Verdict{
		Own: own, Head: pull.Head, Base: pull.Base, Against: pull.Against(), Q: r.question, Fresh: true, Owed: round.Owed,
		Round: st.log.RoundsAt(r.set.Role, own, c.rounded(own) == sentinel.RequestChanges || s.left && !r.set.Advisory, pull.Head),
		Epoch: st.log.Epoch(r.set.Role), Heard: max(st.log.Newest(), newest(m.earlier)),
		Extra: append([]sentinel.Field{
			{Key: raisedField, Value: round.Raised}, {Key: closedField, Value: closed(round.Closed)},
		}, r.noted()...),
	}
	if r.set.Inline == InlineBody && r.patches(st, v) {
		round.KeepInBody("kept here, since the review was edited (--inline body)", func(finding.Finding) bool { return true })
	}
	v.Extra = append(v.Extra, remembered(round)...)
	v.Extra = append(v.Extra, sentinel.Field{Key: spentField, Value: r.spent(st.log)})
	v.Extra = append(v.Extra, c.fields(own)...)
	v.Extra = append(v.Extra, r.followUp(st, f, c, v, round.Counted)...)
	report := finding.Report{
		Role: r.set.Role, Own: c.rounded(own), Head: pull.Head, Findings: round.Counted, Resolved: round.Resolved, Answered: round.Answered,
		Waived: round.Waived, Dismissed: c.waived, FollowUp: f.report(r.set.MaxFollowUps, c), Threshold: r.set.BlockOn, Summary: summary,
		Files: s.reviewed(), Unread: s.unread, Masked: m.masked, Partial: s.left,
		Since: s.since, Whole: s.whole, Repo: pull.Repo, Pull: pull.URL, Base: pull.MergeBase, Key: r.key,
	}
	if report.Own == sentinel.RequestChanges && r.set.MaxRounds > 0 {
		report.Round, report.MaxRounds = v.Round, r.set.MaxRounds
	}
	d := draft{
		verdict: v, round: round, report: report, comments: comments, inline: inline(m.earlier), waived: inBody(c.waived),
		partial: s.left || s.again || len(s.hidden) > 0,
	}
	r.inBody = func(moved []escalation.NewComment) escalation.Verdict { return r.compose(d.without(moved)) }
	r.because = fmt.Sprintf(" (%d ≥ %s)", finding.Blocking(round.Counted, r.set.BlockOn), r.set.BlockOn)
	return r.compose(d), nil
}

// draft is a verdict before it is settled where its findings are published.
type draft struct {
	verdict  escalation.Verdict
	round    finding.Round
	report   finding.Report
	comments int  // in the role's conversations before
	inline   int  // earlier findings that are inline
	waived   int  // waived findings in the body
	partial  bool // all is to be looked at again next time
}

// without is the draft with these inline comments in the review's text.
func (d draft) without(moved []escalation.NewComment) draft {
	d.round.Counted = slices.Clone(d.round.Counted)
	d.round.KeepInBody("the server fails over a comment there", func(f finding.Finding) bool {
		return slices.ContainsFunc(moved, func(c escalation.NewComment) bool {
			return slices.ContainsFunc(sentinel.Markers(c.Body), func(m sentinel.Marker) bool { return m.ID == f.ID })
		})
	})
	d.report.Findings = d.round.Counted
	return d
}

// compose makes the verdict of a draft, and puts its findings into the result.
func (r *run) compose(d draft) escalation.Verdict {
	v := d.verdict
	v.Comments = inlineComments(d.round.New(), r.set.Role, r.key)
	v.Extra = append(slices.Clone(v.Extra), sentinel.Field{Key: commentsField, Value: strconv.Itoa(d.comments + len(v.Comments))},
		sentinel.Field{Key: inlineField, Value: strconv.Itoa(d.inline + len(v.Comments))})
	r.result.Findings, r.result.Headline = results(d.round.All()), d.report.Headline()
	text := r.env.Secrets.RedactMarkdown(d.report.Text())
	for i := range v.Comments {
		v.Comments[i].Body = finding.Masked(v.Comments[i].Body, r.env.Secrets.RedactMarkdown, r.key)
	}
	if d.partial || len(sentinel.Markers(text)) < inBody(d.round.Counted)+d.waived {
		// Next time all is looked at again: what had no room, or wasn't read, must not be forgotten.
		v.Extra = append(v.Extra, sentinel.Field{Key: partialField, Value: "1"})
	}
	v.Body = sentinel.Body{Text: text, Usage: usageLine(*r.result.Usage, v.Head)}
	return v
}

// patches tells whether the verdict, as things stand, edits the role's review
// instead of posting a new one.
func (r *run) patches(st state, v escalation.Verdict) bool {
	cfg := r.config(st, v)
	action, _, _ := escalation.Preview(cfg, st.log, st.pull.Head, false)
	return action.Patch != nil
}

func inBody(findings []finding.Finding) int {
	n := 0
	for _, f := range findings {
		if f.Where == finding.InBody {
			n++
		}
	}
	return n
}

// newest is the id of the newest reply that the model was shown.
func newest(earlier []finding.Earlier) int64 {
	var id int64
	for _, e := range earlier {
		for _, reply := range e.Replies {
			id = max(id, reply.ID)
		}
	}
	return id
}
