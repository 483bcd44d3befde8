package reviewer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"review-bot/escalation"
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
	Checks        thread.Checks `json:"checks"`     // of the head; "" if nothing asks for them
	NotPassed     []string      `json:"not_passed"` // contexts of the checks that aren't successful
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
	if err := s.look(ctx); err != nil {
		return nil, err
	}
	s.decide()
	return nil, s.apply(ctx)
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
			return fmt.Errorf("conversation %s: writing the reply: %w — correct the template", item.ThreadID, err)
		}
		if s.set.Triage != nil {
			j := slices.IndexFunc(s.set.Triage.Threads, func(j thread.Judgement) bool { return j.ThreadID == item.ThreadID })
			c.Judgement = &s.set.Triage.Threads[j]
		}
		if _, known := reach[item.CommitSHA]; !known {
			contained, err := s.env.Forge.Contains(ctx, s.pull.Head, strings.ToLower(item.CommitSHA))
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
	if slices.ContainsFunc(s.cases, func(c thread.Case) bool { return c.Item.ResolveRequested && !c.Thread.Resolved }) {
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

// checks reads what the statuses of the head come to, anew each time.
func (s *settling) checks(ctx context.Context) error {
	s.out.NotPassed = []string{}
	statuses, err := s.env.Forge.Statuses(ctx, s.pull.Head)
	if errors.Is(err, ErrAmbiguous) {
		s.out.Checks = thread.ChecksUnread
		return nil
	}
	if err != nil {
		return err
	}
	var states []string
	for _, st := range statuses {
		states = append(states, st.State)
		if thread.SumUp([]string{st.State}) != thread.Passed {
			s.out.NotPassed = append(s.out.NotPassed, fmt.Sprintf("%s (%s)", st.Context, st.State))
		}
	}
	s.out.Checks = thread.SumUp(states)
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
	s.log(Progress{Phase: "decide", Text: fmt.Sprintf("%s and %s for %s", count(replies, "reply", "replies"), count(resolutions, "resolution", "resolutions"), count(len(s.cases), "item", "items"))})
}

// signed is the reply of a case as it is published.
func (s *settling) signed(c thread.Case, asComment bool) string {
	text := thread.Signed(c.Text, c.Thread)
	if asComment {
		text = thread.Quoting(text, c.Thread, s.env.Redact)
	}
	return text
}

// errChanged says that something happened while `settle` was at work.
var errChanged = errors.New("the conversation or the head changed meanwhile")

// apply does what is due, item by item. One that the server refuses doesn't keep
// the others from being settled; after a failure that says nothing about the item
// none is tried any more.
func (s *settling) apply(ctx context.Context) error {
	var first error
	var changed []string
	failed := 0
	for i := range s.out.Items {
		item := &s.out.Items[i]
		if item.Reply.Status != thread.Due && item.Resolve.Status != thread.Due {
			continue
		}
		if first != nil && lasting(first) || ctx.Err() != nil {
			item.notReached()
			continue
		}
		if err := s.settle(ctx, s.cases[i], item); err != nil {
			err = fmt.Errorf("conversation %s: %w", item.ThreadID, err)
			if failed++; first == nil || lasting(err) {
				first = err
			}
		}
		if item.changed() {
			changed = append(changed, item.ThreadID.String())
		}
	}
	switch {
	case first != nil && failed > 1:
		return fmt.Errorf("%w (and so %s more)", first, count(failed-1, "item", "items"))
	case first != nil:
		return first
	case len(changed) > 0:
		named := strings.Join(changed[:min(3, len(changed))], ", ")
		if more := len(changed) - 3; more > 0 {
			named += fmt.Sprintf(" and %d more", more)
		}
		return &Error{Doing: "settling " + named, Err: errChanged, Next: "look at it anew, and run again"}
	}
	return nil
}

// lasting tells whether the next item would fail, too, or whether it isn't known
// what happened.
func lasting(err error) bool {
	return errors.Is(err, ErrUnknown) || errors.Is(err, ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

var statusIn = regexp.MustCompile(`\b[45][0-9]{2}\b`)

// discreet is the error of a write without the server's words: some servers repeat
// what they don't accept, and logs of jobs are read by many.
func discreet(err error) error {
	var e *Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	message := "the server didn't take it"
	switch status := statusIn.FindString(e.Err.Error()); {
	case errors.Is(err, ErrUnknown):
		message = "whether it happened is not known"
	case status != "":
		message += " (" + status + ")"
	}
	return &Error{Doing: e.Doing, Err: quietError{message, e.Err}, Next: e.Next}
}

// quietError is an error in other words.
type quietError struct {
	words string
	error
}

func (e quietError) Error() string { return e.words }
func (e quietError) Unwrap() error { return e.error }

// settle does what is due about one conversation: the reply first, which stands
// also if the conversation can't be closed.
func (s *settling) settle(ctx context.Context, c thread.Case, item *SettledItem) error {
	if reason, err := s.stale(ctx, c.Thread); err != nil {
		item.notReached()
		return err
	} else if reason != thread.NoReason {
		item.withhold(reason)
		return nil
	}
	if item.Reply.Status == thread.Due {
		if err := s.reply(ctx, c, item); err != nil {
			item.Reply.fail(err)
			item.notReached()
			return err
		}
	}
	if item.Resolve.Status != thread.Due {
		return nil
	}
	if err := s.checks(ctx); err != nil {
		item.notReached()
		return err
	}
	c.Checks = s.out.Checks
	if item.Resolve = thread.Decide(c).Resolve; item.Resolve.Status != thread.Due {
		return nil
	}
	return s.resolve(ctx, c, item)
}

// stale tells why the decision about a conversation doesn't hold any more. With
// another head neither the checks nor the commit may be what they were.
func (s *settling) stale(ctx context.Context, was thread.Thread) (thread.Reason, error) {
	now, found, err := s.again(ctx, was)
	switch {
	case err != nil:
		return "", err
	case !found:
		return thread.Gone, nil
	case !now.SaysSame(was):
		return thread.Changed, nil
	}
	pull, err := s.forge.Pull(ctx)
	if err == nil && pull.Head != s.pull.Head {
		return thread.HeadMoved, nil
	}
	return thread.NoReason, err
}

// reply publishes the reply of an item. Where it turns out that the server can't
// reply, the item says so.
func (s *settling) reply(ctx context.Context, c thread.Case, item *SettledItem) error {
	root := c.Thread.Comments[0]
	to := Comment{ID: root.ID, Review: c.Thread.ID.Review, Path: c.Thread.Path}
	if c.Thread.Side == thread.Old {
		to.OldLine = c.Thread.Line
	} else {
		to.NewLine = c.Thread.Line
	}
	asComment := item.Reply.Reason == thread.AsComment
	var err error
	if !asComment {
		item.Reply.Comment, err = s.env.Forge.Reply(ctx, to, item.Reply.Text)
		if errors.Is(err, ErrUnsupported) && s.set.Rules.ReplyAsComment {
			asComment = true
			item.Reply.Reason, item.Reply.Text = thread.AsComment, s.signed(c, true)
		}
	}
	if asComment {
		item.Reply.Comment, err = s.env.Forge.Say(ctx, item.Reply.Text)
	}
	switch {
	case errors.Is(err, ErrUnsupported):
		item.Reply.Step, item.Reply.Text = thread.Step{Status: thread.Unsupported, Reason: thread.ReplyUnsupported}, ""
		return nil
	case errors.Is(err, ErrGone):
		item.Reply.Step, item.Reply.Text = thread.Step{Status: thread.Withheld, Reason: thread.Gone}, ""
		return nil
	case err != nil:
		return discreet(err)
	}
	item.Reply.Status = thread.Done
	s.log(Progress{Phase: "publish", Text: fmt.Sprintf("replied to %s", item.ThreadID)})
	return nil
}

// resolve closes the conversation of an item, and then notes so in the reply that
// stands before it: that a closed conversation is open again shows only by that.
func (s *settling) resolve(ctx context.Context, c thread.Case, item *SettledItem) error {
	err := s.env.Forge.Resolve(ctx, c.Thread.ID.Root, true)
	switch {
	case errors.Is(err, ErrUnsupported):
		item.Resolve = thread.Step{Status: thread.Unsupported, Reason: thread.ResolveUnsupported}
		return nil
	case errors.Is(err, ErrGone):
		item.Resolve = thread.Step{Status: thread.Withheld, Reason: thread.Gone}
		return nil
	case errors.Is(err, ErrUnknown):
		item.Resolve.Status = thread.Unclear
		return err
	case err != nil:
		item.Resolve.Status = thread.Failed
		return err
	}
	item.Resolve.Status = thread.Done
	s.log(Progress{Phase: "publish", Text: fmt.Sprintf("resolved %s", item.ThreadID)})
	last := c.Said
	if item.Reply.Status == thread.Done {
		last = thread.Said{Comment: item.Reply.Comment, Body: item.Reply.Text}
	}
	if text, ok := last.Noted(); ok {
		return discreet(s.env.Forge.EditComment(ctx, last.Comment, text))
	}
	return nil
}

// withhold takes back what was due.
func (i *SettledItem) withhold(why thread.Reason) {
	if i.Reply.Status == thread.Due {
		i.Reply.Step, i.Reply.Text = thread.Step{Status: thread.Withheld, Reason: why}, ""
	}
	if i.Resolve.Status == thread.Due {
		i.Resolve = thread.Step{Status: thread.Withheld, Reason: why}
	}
}

// changed tells whether it was withheld for what happened meanwhile.
func (i *SettledItem) changed() bool {
	meanwhile := []thread.Reason{thread.Changed, thread.HeadMoved, thread.Gone}
	return slices.Contains(meanwhile, i.Reply.Reason) || slices.Contains(meanwhile, i.Resolve.Reason)
}

// notReached marks what was due and wasn't tried.
func (i *SettledItem) notReached() {
	if i.Reply.Status == thread.Due {
		i.Reply.Status = thread.NotReached
	}
	if i.Resolve.Status == thread.Due {
		i.Resolve.Status = thread.NotReached
	}
}

// fail marks a reply that didn't work out.
func (r *SettledReply) fail(err error) {
	r.Status = thread.Failed
	if errors.Is(err, ErrUnknown) {
		r.Status = thread.Unclear
	}
}
