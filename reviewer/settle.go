package reviewer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/thread"
)

// TalkForge is a pull request whose conversations are answered and closed.
type TalkForge interface {
	TalkReader
	Talker
	// Resolve, EditComment and Say are as in [Settler] and [Publisher].
	Resolve(ctx context.Context, comment int64, resolved bool) error
	EditComment(ctx context.Context, comment int64, body string) error
	Say(ctx context.Context, body string) (id int64, err error)
}

// SettleSettings say what `settle` may do.
type SettleSettings struct {
	Repo     string // owner/name
	Payload  thread.Settlement
	Triage   *thread.Triage // that the payload follows from; nil without one
	Rules    thread.Rules
	Template *thread.Template
}

// SettleEnv is what `settle` reaches outside of itself.
type SettleEnv struct {
	Forge  TalkForge
	Redact func(string) string // masks secrets
	Log    func(Progress)
}

// SettleResult is what `settle` ends with.
type SettleResult struct {
	Repo          string        `json:"repo"`
	PR            int64         `json:"pr"`
	URL           string        `json:"url"`
	Head          string        `json:"head"`
	Phase         thread.Phase  `json:"phase"`      // how far the work on all conversations is, after what was done
	Checks        thread.Checks `json:"checks"`     // of the head; "" if nothing asks for them
	NotPassed     []string      `json:"not_passed"` // the checks that count and aren't successful
	Items         []SettledItem `json:"items"`
	Notes         []string      `json:"notes"`
	ForgeRequests int           `json:"forge_requests"`
	Error         string        `json:"error,omitempty"`
}

// SettledItem is what came of one item.
type SettledItem struct {
	ThreadID       thread.ID             `json:"thread_id"`
	Classification thread.Classification `json:"classification"`
	Path           string                `json:"path"`
	Line           int                   `json:"line"`
	URL            string                `json:"url"`
	Reply          SettledReply          `json:"reply"`
	Resolve        thread.Step           `json:"resolve"`
}

// SettledReply is what came of a reply.
type SettledReply struct {
	thread.Step

	Comment int64  `json:"comment"` // that was written, or stands already; 0: none
	Text    string `json:"text"`    // that is or would be published; "" if none is due
}

// Settle answers and closes conversations as far as the rules let it; without any
// it says what it would do. The problems are those of the payload and the triage:
// nothing is written then.
//
// Whatever happens, what was done is in the result, and the next run does none of
// it again: it goes by what stands on the forge. No text of a reply is ever in an
// error.
func Settle(ctx context.Context, set SettleSettings, env SettleEnv) (SettleResult, []thread.Problem, error) {
	s := settling{set: set, env: env, scan: scan{forge: env.Forge, log: env.Log}}
	s.out = SettleResult{Repo: set.Repo, NotPassed: []string{}, Items: []SettledItem{}, Notes: []string{}}
	problems, err := s.run(ctx)
	if err != nil {
		s.out.Error = err.Error()
	}
	return s.out, problems, err
}

// settling is one run.
type settling struct {
	scan

	set   SettleSettings
	env   SettleEnv
	cases []thread.Case
	out   SettleResult
}

func (s *settling) run(ctx context.Context) ([]thread.Problem, error) {
	asked := map[thread.ID]bool{}
	for _, item := range s.set.Payload.Items {
		asked[item.ThreadID] = true
	}
	if err := s.read(ctx, func(c thread.Conversation) bool { return asked[c.ID] }); err != nil {
		return nil, err
	}
	s.out.PR, s.out.URL, s.out.Head = s.pull.Number, s.pull.URL, s.pull.Head
	s.out.Notes = append(s.out.Notes, s.notes...)
	if problems := s.set.Payload.Check(s.pull.Number, s.threads, s.set.Triage); len(problems) > 0 {
		return problems, nil
	}
	if problems, err := s.sameScan(ctx); len(problems) > 0 || err != nil {
		return problems, err
	}
	if err := s.look(ctx); err != nil {
		return nil, err
	}
	s.decide()
	err := s.apply(ctx)
	s.out.Phase = s.phase()
	return nil, err
}

// sameScan finds out whether the triage is of this pull request as it was before
// the fixes: the head that it names must be the head's own past.
func (s *settling) sameScan(ctx context.Context) ([]thread.Problem, error) {
	if s.set.Triage == nil {
		return nil, nil
	}
	past := s.set.Triage.Scan.Head
	contained, err := s.env.Forge.Contains(ctx, s.pull.Head, past)
	if err != nil || contained {
		return nil, err
	}
	return []thread.Problem{{Path: "$.triage.scan.head", Reason: fmt.Sprintf(
		"is %.7s, which the head %.7s doesn't contain: list and judge the conversations again", past, s.pull.Head)}}, nil
}

// phase is how far the work is once the items are settled.
func (s *settling) phase() thread.Phase {
	all := slices.Clone(s.threads)
	var forPeople []thread.ID
	for i := range all {
		for _, item := range s.out.Items {
			if item.ThreadID == all[i].ID {
				all[i].Resolved = all[i].Resolved || item.Resolve.Status == thread.Done
				if item.Resolve.Reason == thread.NeedsAHuman {
					forPeople = append(forPeople, item.ThreadID)
				}
			}
		}
	}
	return thread.PhaseOf(all, s.set.Triage, forPeople)
}

// look finds out what decides about the items, beside their conversations.
func (s *settling) look(ctx context.Context) error {
	elsewhere, err := s.said(ctx)
	if err != nil {
		return err
	}
	reach := map[string]thread.Reach{"": thread.NotNamed}
	for _, item := range s.set.Payload.Items {
		c := thread.Case{Item: item, Rules: s.set.Rules, NoResolve: s.abilities.Resolve == Cannot}
		i := slices.IndexFunc(s.threads, func(t thread.Thread) bool { return t.ID == item.ThreadID }) // Check has seen to it
		c.Thread = s.threads[i]
		c.Said = thread.SaidIn(c.Thread, elsewhere)
		// Every text is made before the first one is published, so that none can fail in the middle.
		if c.Text, err = s.set.Template.Text(item, s.env.Redact); err != nil {
			return &Error{Doing: "writing the reply to " + item.ThreadID.String(), Err: err, Next: "correct the template"}
		}
		if s.set.Triage != nil {
			j := slices.IndexFunc(s.set.Triage.Threads, func(j thread.Judgement) bool { return j.ThreadID == item.ThreadID })
			c.Judgement = &s.set.Triage.Threads[j]
		}
		if _, known := reach[item.CommitSHA]; !known {
			contained, err := s.env.Forge.Contains(ctx, s.pull.Head, item.CommitSHA)
			if err != nil {
				return err
			}
			reach[item.CommitSHA] = thread.Beyond
			if contained {
				reach[item.CommitSHA] = thread.Reachable
			}
		}
		c.Commit = reach[item.CommitSHA]
		s.cases = append(s.cases, c)
	}
	if slices.ContainsFunc(s.cases, func(c thread.Case) bool {
		return c.Item.ResolveRequested && !c.Thread.Resolved && !c.Rules.WithoutChecks
	}) {
		if err := s.checks(ctx); err != nil {
			return err
		}
	}
	for i := range s.cases {
		s.cases[i].Checks = s.out.Checks
	}
	return nil
}

// said are the account's comments under the pull request, if replies may stand there.
func (s *settling) said(ctx context.Context) ([]thread.Comment, error) {
	if !s.set.Rules.ReplyAsComment {
		return nil, nil
	}
	entries, err := s.forge.Timeline(ctx, time.Time{}, s.rows)
	if err != nil {
		return nil, err
	}
	var list []thread.Comment
	for _, e := range entries {
		if e.Kind == escalation.EntryComment && e.User == s.account.ID {
			list = append(list, thread.Comment{ID: e.ID, Body: e.Body, Ours: true})
		}
	}
	return list, nil
}

// checks reads what the statuses of the head come to, again each time.
func (s *settling) checks(ctx context.Context) error {
	if s.set.Rules.WithoutChecks {
		return nil
	}
	s.out.NotPassed = []string{}
	statuses, err := s.env.Forge.Statuses(ctx, s.pull.Head)
	if errors.Is(err, ErrAmbiguous) {
		s.out.Checks = thread.ChecksUnread
		return nil
	}
	if err != nil {
		return err
	}
	var protected []string
	if len(s.set.Rules.RequiredChecks) == 0 {
		if protected, err = s.env.Forge.RequiredChecks(ctx, s.pull.BaseBranch); err != nil {
			return err
		}
	}
	var contexts []thread.Context
	for _, st := range statuses {
		contexts = append(contexts, thread.Context{Name: st.Context, State: st.State})
	}
	s.out.Checks, s.out.NotPassed = thread.SumUp(contexts, s.set.Rules.RequiredChecks, protected)
	return nil
}

// decide says what is to be done.
func (s *settling) decide() {
	if s.out.Checks != "" {
		s.log(Progress{Phase: "read", Text: fmt.Sprintf("checks at %.7s: %s", s.pull.Head, s.out.Checks)})
	}
	replies, resolutions := 0, 0
	for _, c := range s.cases {
		d := thread.Decide(c)
		item := SettledItem{
			ThreadID: c.Item.ThreadID, Classification: c.Item.Classification, Path: c.Thread.Path, Line: c.Thread.Line, URL: c.Thread.URL,
			Reply: SettledReply{Step: d.Reply}, Resolve: d.Resolve,
		}
		if d.Reply.Reason == thread.AlreadyReplied {
			item.Reply.Comment = c.Said.Comment
		}
		if d.Reply.Status == thread.Due || d.Reply.Status == thread.Planned {
			item.Reply.Text = s.signed(c, d.Reply.Reason == thread.AsComment)
			replies++
		}
		if d.Resolve.Status == thread.Due || d.Resolve.Status == thread.Planned {
			resolutions++
		}
		s.out.Items = append(s.out.Items, item)
	}
	s.log(Progress{Phase: "decide", Text: fmt.Sprintf("%s and %s for %s", finding.Count(replies, "reply", "replies"), finding.Count(resolutions, "resolution", "resolutions"), finding.Count(len(s.cases), "item", "items"))})
}

// signed is the reply of a case as it is published.
func (s *settling) signed(c thread.Case, asComment bool) string {
	text := thread.Signed(c.Text, c.Thread)
	if asComment {
		text = thread.Quoting(text, c.Thread, s.env.Redact)
	}
	return text
}
