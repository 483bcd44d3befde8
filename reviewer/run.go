package reviewer

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/untrusted"
	"review-bot/sentinel"
)

// Settings say what to review and how. They are trusted: they come from flags,
// the environment and the base branch.
type Settings struct {
	Role         string
	Repo         string // owner/name
	Number       int64
	Model        string
	PromptFile   string // path in the base branch; "" for Instructions
	Instructions string // of the role
	Extra        string // the operator's further instructions
	Feedback     string // further feedback, as given
	BlockOn      prompts.Severity
	Advisory     bool
	ReviewDrafts bool
	DryRun       bool
}

// Env is the world of a run.
type Env struct {
	Forge   Forge
	Model   Model
	Token   string // of the forge account; signs sentinels
	Secrets *untrusted.Masker
	Now     func() time.Time
	Random  io.Reader
	Log     func(Progress) // one call per phase that ended, or that takes long
}

// Progress is one line of the job's log.
type Progress struct {
	Phase string // read, ask, decide, publish
	Text  string
	Took  time.Duration // 0: not measured
}

// Result is what a run ends with.
type Result struct {
	Role          string             `json:"role"`
	Outcome       escalation.Outcome `json:"outcome"`
	Own           sentinel.Verdict   `json:"own,omitempty"`
	Event         sentinel.Verdict   `json:"event,omitempty"`
	Head          string             `json:"head,omitempty"`
	ReviewURL     string             `json:"review_url,omitempty"`
	Findings      []FindingResult    `json:"findings"`
	Gate          []string           `json:"gate"`
	Rounds        int                `json:"rounds"`
	ForgeRequests int                `json:"forge_requests"`
	ModelRequests int                `json:"model_requests"`
	Usage         *Usage             `json:"usage,omitempty"`
	Notes         []string           `json:"notes"`
	DryRun        bool               `json:"dry_run,omitempty"`
	Error         string             `json:"error,omitempty"`

	Plan     *Plan  `json:"plan,omitempty"` // with DryRun
	Headline string `json:"-"`              // verdict and why, for people
}

// FindingResult is a finding as it is reported to machines.
type FindingResult struct {
	ID       string           `json:"id"`
	Path     string           `json:"path"`
	Line     int              `json:"line"`
	Side     string           `json:"side"`
	Severity prompts.Severity `json:"severity"`
	Category string           `json:"category"`
	Title    string           `json:"title"`
	State    finding.State    `json:"state"`
	Where    finding.Where    `json:"where"`
}

// run is one run under way.
type run struct {
	set      Settings
	env      Env
	key      sentinel.Key
	question string
	result   Result
}

// Review runs the role once: read, ask, decide, publish. The result is filled
// as far as the run came, also beside an error.
func Review(ctx context.Context, set Settings, env Env) (Result, error) {
	r := &run{set: set, env: env, key: sentinel.NewKey(env.Token, set.Repo, set.Number), question: question(set)}
	r.result = Result{Role: set.Role, DryRun: set.DryRun, Findings: []FindingResult{}, Gate: []string{}, Notes: []string{}}
	err := r.review(ctx)
	if err != nil {
		r.result.Outcome = escalation.Failed
		r.result.Error = err.Error()
	}
	return r.result, err
}

func (r *run) review(ctx context.Context) error {
	began := r.env.Now()
	st, err := readState(ctx, r.env.Forge, r.key)
	if err != nil {
		return err
	}
	r.result.Head = st.pull.Head
	r.noteLog(st.log)
	if done, err := r.settled(st); done || err != nil {
		return err
	}
	m, err := readMaterial(ctx, r.env.Forge, st.pull, r.set.PromptFile, r.env.Secrets)
	if err != nil {
		return err
	}
	files, added, deleted := m.diff.Stat()
	r.progress("read", began, "%s, +%d −%d", count(files, "file", "files"), added, deleted)
	if files == 0 {
		r.result.Outcome = escalation.Skipped
		r.note("the pull request changes nothing: push a change to have it reviewed")
		return nil
	}
	if m.masked > 0 {
		r.note("%s masked in what the model was shown", count(m.masked, "value that looks like a secret was", "values that look like secrets were"))
	}

	j, err := r.judge(ctx, st.pull, m)
	if err != nil {
		return err
	}
	return r.publish(ctx, st, j)
}

// settled tells whether the run is over before a model is asked.
func (r *run) settled(st state) (bool, error) {
	switch {
	case st.pull.Closed:
		r.result.Outcome = escalation.Closed
		r.note("the pull request is closed")
		return true, nil
	case st.pull.Draft && !r.set.ReviewDrafts:
		r.result.Outcome = escalation.Draft
		r.note("the pull request is a draft: mark it ready, or give --review-drafts")
		return true, nil
	}
	if pending := st.log.Pending(); len(pending) > 0 {
		return true, &Error{
			Doing: "looking at the account's reviews on " + st.pull.URL,
			Err:   errors.New("there is a pending review, begun and not submitted, which a new review would swallow"),
			Next:  "submit or discard it on the pull request's page, then run the job again",
		}
	}
	if cur, ok := st.log.Current(r.set.Role); ok {
		r.result.Outcome = escalation.Skipped
		r.result.Own, r.result.Event, r.result.ReviewURL = cur.Own(), cur.Sentinel.Event, cur.Row.URL
		r.note("the role has a review here already: %s", cur.Row.URL)
		return true, nil
	}
	return false, nil
}

// judge asks the model and makes a verdict of its answer.
func (r *run) judge(ctx context.Context, pull Pull, m material) (judgement, error) {
	req, err := request(r.set, m)
	if err != nil {
		return judgement{}, err
	}
	began := r.env.Now()
	answer, err := r.ask(ctx, req)
	if err != nil {
		return judgement{}, err
	}
	u := r.result.Usage
	r.progress("ask", began, "%s, %s tokens in %s", u.Model, thousands(u.Prompt), count(u.Calls, "call", "calls"))
	answer, masked := clean(answer, r.env.Secrets)
	if masked > 0 {
		r.note("%s masked in the model's answer", count(masked, "value that looks like a secret was", "values that look like secrets were"))
	}
	findings := finding.Anchored(answer, m.diff, r.newID)
	own := finding.Own(findings, r.set.BlockOn)
	if r.set.Advisory {
		own = sentinel.Comment
	}
	binary, read := unread(m.diff)
	report := finding.Report{
		Role: r.set.Role, Own: own, Head: pull.Head, Findings: findings, Threshold: r.set.BlockOn, Summary: answer.Summary,
		Files: read, Repo: pull.Repo, Base: pull.MergeBase,
	}
	for _, f := range binary {
		report.Unread = append(report.Unread, finding.Unread{Path: f.Path, Why: "binary"})
	}
	r.result.Own, r.result.Findings = own, results(findings)
	r.result.Headline = report.Headline()
	return judgement{own: own, findings: findings, body: sentinel.Body{Text: report.Text(), Usage: usageLine(*u, pull.Head)}}, nil
}

// publish decides and writes. The head is read again before the write: a newer
// one belongs to a newer run.
func (r *run) publish(ctx context.Context, st state, j judgement) error {
	sit := escalation.Situation{
		Log: st.log, Role: r.set.Role, Head: st.pull.Head, OwnPull: st.account.ID == st.pull.Author.ID, Advisory: r.set.Advisory,
		Judgement: escalation.Judgement{Own: j.own, Head: st.pull.Head, Text: sentinel.Hash(j.body.Text)},
	}
	if !r.set.DryRun {
		now, err := r.env.Forge.Pull(ctx)
		if err != nil {
			return err
		}
		sit.Head, sit.Closed = now.Head, now.Closed
	}
	action := escalation.Decide(sit)
	plan := r.plan(action, j, st.pull, r.nonce())
	r.result.Outcome, r.result.Event = plan.Outcome, action.Desired
	r.progress("decide", time.Time{}, "own %s (%s), gate {%s} → %s", j.own, r.why(j), strings.Join(st.log.Gate().Names(), " "), plan.Outcome)
	if len(action.Blockers) > 0 && j.own != sentinel.RequestChanges {
		r.result.Headline += " · held by " + action.Blockers[0].Role()
	}
	if plan.Outcome == escalation.OwnPull {
		r.note("the account opened this pull request, so its review can't gate: the verdict is in the exit status only")
	}
	if plan.Outcome == escalation.HeadMoved {
		r.note("the pull request has a newer head, %s: the run for it will review", short(sit.Head))
	}
	if r.set.DryRun {
		r.result.Plan = &plan
		r.result.Gate = st.log.Gate().Names()
		r.note("nothing was written")
		return nil
	}
	return r.execute(ctx, plan)
}

// execute carries a plan out.
func (r *run) execute(ctx context.Context, plan Plan) error {
	for _, step := range plan.Steps {
		began := r.env.Now()
		posted, err := r.env.Forge.PostReview(ctx, *step.Post)
		if err != nil {
			return err
		}
		r.result.ReviewURL = posted.URL
		if step.Post.Event != sentinel.Comment {
			r.result.Gate = []string{string(step.Post.Event)}
			if !posted.Official {
				r.note("the review doesn't gate: give the account write access, or list it as a reviewer in the branch protection")
			}
		}
		r.progress("publish", began, "review %s, %d inline, %d in the body", step.Post.Event, len(step.Post.Comments), len(r.result.Findings)-len(step.Post.Comments))
	}
	return nil
}

func (r *run) why(j judgement) string {
	return fmt.Sprintf("%d ≥ %s", finding.Blocking(j.findings, r.set.BlockOn), r.set.BlockOn)
}

func (r *run) noteLog(log escalation.Log) {
	if n := len(log.Ignored); n > 0 {
		r.note("%s not counted: %s", count(n, "review that is marked as a role's was", "reviews that are marked as a role's were"), log.Ignored[0].Reason)
	}
}

func results(findings []finding.Finding) []FindingResult {
	list := []FindingResult{}
	for _, f := range findings {
		list = append(list, FindingResult{
			ID: f.ID, Path: f.Place.Path, Line: f.Place.Line, Side: string(f.Place.Side), Severity: f.Severity,
			Category: f.Category, Title: f.Title, State: f.State, Where: f.Where,
		})
	}
	return list
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

func (r *run) newID() string { return r.random(4) }
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
	in := thousands(u.Prompt) + " tokens in"
	if u.Cached > 0 {
		in += " (" + thousands(u.Cached) + " cached)"
	}
	return fmt.Sprintf("<sub>%s · %s, %s out · %.0f s · reviewed %s</sub>", untrusted.Line(u.Model, 60), in, thousands(u.Completion), u.Seconds, short(head))
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%.1fk", float64(n)/1000)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
