package thread

import (
	"slices"
	"strings"
)

// Rules are what `settle` was told to do. The zero value writes nothing and closes
// nothing.
type Rules struct {
	ApplyReplies     bool
	ApplyResolutions bool
	AutoResolve      []Classification // of Stale and AlreadyFixed: which may be closed
	AllowInvalid     bool             // those that are wrong may be closed, too
	ReplyAsComment   bool             // where the server can't reply: quote under the pull request
	WithoutChecks    bool             // the payload's evidence is enough, whatever the head's statuses are
	RequiredChecks   []string         // contexts that count; none: see [SumUp]
}

// DefaultAutoResolve is AutoResolve where nothing else is said.
var DefaultAutoResolve = []Classification{Stale, AlreadyFixed}

// Reach tells whether the commit of an item is part of the head.
type Reach string

// What is known of it.
const (
	NotNamed  Reach = ""
	Reachable Reach = "yes"
	Beyond    Reach = "no"
)

// Case is all that decides about one item.
type Case struct {
	Item      Item
	Thread    Thread     // as it stands now
	Text      string     // of the reply that the item makes
	Said      Said       // what was replied before
	Judgement *Judgement // of the triage; nil without one
	Checks    Checks
	Commit    Reach
	Rules     Rules
	NoResolve bool // the server has no way to close conversations
}

// Status is what comes of a reply or of a resolution.
type Status string

// What can come of it.
const (
	Planned     Status = "planned"     // it would be done if it were applied
	Due         Status = "due"         // it is to be done now
	Done        Status = "done"        // it was done
	Already     Status = "already"     // it stands already
	Withheld    Status = "blocked"     // something is missing; see the reason
	NotAsked    Status = "none"        // it isn't called for
	Unsupported Status = "unsupported" // the server can't
	Failed      Status = "failed"      // the server refused
	Unclear     Status = "unknown"     // it may or may not have happened
	NotReached  Status = "not_reached" // an earlier item failed
)

// Reason says why, in a word for programs. Its text is for people.
type Reason string

// The reasons.
const (
	NoReason           Reason = ""
	NeedsAHuman        Reason = "needs_human"
	AlreadyResolved    Reason = "already_resolved"
	AlreadyReplied     Reason = "already_replied"
	NoFixSummary       Reason = "no_fix_summary"
	NoVerification     Reason = "no_verification"
	NoEvidence         Reason = "no_evidence"
	NoRationale        Reason = "no_rationale"
	NoText             Reason = "no_text"
	NoExplanation      Reason = "no_explanation"
	NoCommit           Reason = "no_commit"
	CommitNotInHead    Reason = "commit_not_in_head"
	NotRequested       Reason = "not_requested"
	NotConfigured      Reason = "not_configured"
	InvalidNotAllowed  Reason = "invalid_not_allowed"
	TriageForbids      Reason = "triage_forbids"
	HumanDecisionOpen  Reason = "human_decision_open"
	Disputed           Reason = "disputed"
	ChecksNotRun       Reason = "checks_not_run"
	ChecksPending      Reason = "checks_pending"
	ChecksFailing      Reason = "checks_failing"
	ChecksSkipped      Reason = "checks_skipped"
	ChecksNone         Reason = "checks_none"
	ChecksIncomplete   Reason = "checks_missing"
	ChecksUnknown      Reason = "checks_unnamed"
	ChecksUnreadable   Reason = "checks_unreadable"
	NoRight            Reason = "no_right"
	ReplyUnsupported   Reason = "reply_unsupported"
	ResolveUnsupported Reason = "resolve_unsupported"
	NoClaim            Reason = "no_claim"
	AsComment          Reason = "as_comment"
	Changed            Reason = "conversation_changed"
	HeadMoved          Reason = "head_moved"
	Gone               Reason = "gone"
)

var reasonTexts = map[Reason]string{
	NeedsAHuman:        "a person has to decide, and to resolve it",
	AlreadyResolved:    "it is resolved",
	AlreadyReplied:     "nothing new was said since the last reply",
	NoFixSummary:       "the payload has no fix_summary",
	NoVerification:     "the payload has no verification",
	NoEvidence:         "the payload has no evidence: a fix_summary, a commit_sha or a reply_body",
	NoRationale:        "the payload has no rationale: a reply_body or a human_decision",
	NoText:             "the template makes nothing of it",
	NoExplanation:      "the line still stands, and the payload doesn't explain why the point is stale: a fix_summary, a reply_body or a human_decision",
	NoCommit:           "the payload has no commit_sha",
	CommitNotInHead:    "the commit isn't part of the head",
	NotRequested:       "resolve_requested is false",
	NotConfigured:      "auto_resolve doesn't name the classification",
	InvalidNotAllowed:  "--allow-invalid-resolution isn't given",
	TriageForbids:      "the triage has can_resolve_after_checks false",
	HumanDecisionOpen:  "the triage requires a human decision, and the payload has no human_decision",
	Disputed:           "somebody has spoken or reopened it since the account replied with the same words — look at it anew, and say what is new",
	ChecksNotRun:       "checks_run lacks some of the triage's checks_to_run",
	ChecksPending:      "the head's checks are pending",
	ChecksFailing:      "the head's checks fail",
	ChecksSkipped:      "some of the head's checks were skipped",
	ChecksNone:         "the head has no checks",
	ChecksIncomplete:   "a check that is required hasn't run on the head",
	ChecksUnknown:      "nothing says which checks there must be: name them as required_checks below settle in .review-bot.yaml, or in the branch protection",
	ChecksUnreadable:   "the head's checks can't be read",
	NoRight:            "the account may not resolve here",
	ReplyUnsupported:   "the server's API can't reply (Gitea can since 1.27) — --reply-as-comment quotes under the pull request instead",
	ResolveUnsupported: "the server's API can't resolve (Gitea can since 1.26)",
	NoClaim:            "no reply on the server would say why it was resolved, and so it would count as waived by hand — see the reply",
	AsComment:          "as a comment of the pull request",
	Changed:            "the conversation went on meanwhile — run again",
	HeadMoved:          "the head moved meanwhile — run again",
	Gone:               "the comment was deleted meanwhile",
}

// Text is the reason for people; "" for none.
func (r Reason) Text() string { return reasonTexts[r] }

// Step is what comes of one of the two things that can be done.
type Step struct {
	Status Status `json:"status"`
	Reason Reason `json:"reason"`
}

// Decision is what comes of one item.
type Decision struct {
	Reply   Step
	Resolve Step
}

// Decide says what is to be done about one item: whether the conversation gets a
// reply, and whether it is closed. A reply doesn't wait for what only the
// resolution lacks. What isn't known of the server is tried.
func Decide(c Case) Decision {
	reply := c.reply()
	return Decision{Reply: reply, Resolve: c.Resolution(reply)}
}

func (c Case) reply() Step {
	if c.Item.Classification == NeedsHuman {
		return Step{NotAsked, NeedsAHuman}
	}
	if c.Thread.Resolved {
		return Step{Already, AlreadyResolved}
	}
	if c.undecided() {
		return Step{Withheld, HumanDecisionOpen}
	}
	if c.Said.Stands(c.Thread, c.Text) {
		return Step{Already, AlreadyReplied}
	}
	if missing := c.evidence(); missing != NoReason {
		return Step{Withheld, missing}
	}
	if !said(c.Text) {
		return Step{Withheld, NoText}
	}
	var how Reason
	if can := c.Thread.CanReply; can != nil && !*can {
		if !c.Rules.ReplyAsComment {
			return Step{Unsupported, ReplyUnsupported}
		}
		how = AsComment
	}
	if c.Rules.ApplyReplies {
		return Step{Due, how}
	}
	return Step{Planned, how}
}

// undecided tells whether the triage left the conversation to a person, who hasn't
// decided.
func (c Case) undecided() bool {
	return c.Judgement != nil && c.Judgement.RequiresHumanDecision && !said(c.Item.HumanDecision)
}

// evidence is what a reply lacks.
func (c Case) evidence() Reason {
	i := c.Item
	switch {
	case i.Classification == Invalid:
		if !said(i.ReplyBody, i.HumanDecision) {
			return NoRationale
		}
		return NoReason
	case i.Classification == Valid && !said(i.FixSummary):
		return NoFixSummary
	case i.Classification != Valid && !said(i.FixSummary, i.CommitSHA, i.ReplyBody):
		return NoEvidence
	case len(i.Verification) == 0:
		return NoVerification
	case c.Commit == Beyond: // it would be named in the reply
		return CommitNotInHead
	}
	return NoReason
}

// Resolution says whether the conversation is closed once that has come of the reply.
func (c Case) Resolution(reply Step) Step {
	switch {
	case c.Item.Classification == NeedsHuman:
		return Step{NotAsked, NeedsAHuman}
	case c.Thread.Resolved:
		return Step{Already, AlreadyResolved}
	case !c.Item.ResolveRequested:
		return Step{NotAsked, NotRequested}
	}
	for _, missing := range []func() Reason{c.people, c.ground, c.checks} {
		if reason := missing(); reason != NoReason {
			return Step{Withheld, reason}
		}
	}
	if c.NoResolve {
		return Step{Unsupported, ResolveUnsupported}
	}
	if can := c.Thread.CanResolve; can != nil && !*can {
		return Step{Withheld, NoRight}
	}
	switch {
	case !c.claims(reply) && reply.Status == Unsupported:
		return Step{Unsupported, NoClaim}
	case !c.claims(reply):
		return Step{Withheld, NoClaim}
	case c.Rules.ApplyResolutions:
		return Step{Status: Due}
	}
	return Step{Status: Planned}
}

// claims reports whether a reply of the account is on the server when the conversation
// is closed. By its mark a review knows that nobody has waived what it found.
func (c Case) claims(reply Step) bool {
	switch reply.Status {
	case Due, Done:
		return true
	case Planned:
		return c.Said.Comment != 0 || !c.Rules.ApplyResolutions
	default:
		return c.Said.Comment != 0
	}
}

// people is what people have against closing: those who spoke, and those who made
// the triage.
func (c Case) people() Reason {
	j := c.Judgement
	switch {
	case j != nil && (j.RequiresHumanDecision || j.Classification == NeedsHuman):
		return NeedsAHuman // nobody can tell who wrote the payload's human_decision
	case c.Said.Disputed(c.Thread, c.Text):
		return Disputed
	case j == nil:
		return NoReason
	case !j.CanResolveAfterChecks:
		return TriageForbids
	}
	for _, check := range j.ChecksToRun {
		if !slices.Contains(c.Item.ChecksRun, check) {
			return ChecksNotRun
		}
	}
	return NoReason
}

// ground is what the classification asks for and the payload lacks.
func (c Case) ground() Reason {
	i := c.Item
	if c.Commit == Beyond {
		return CommitNotInHead
	}
	switch i.Classification {
	case Valid:
		if c.Commit != Reachable {
			return NoCommit
		}
	case Invalid:
		switch {
		case !c.Rules.AllowInvalid:
			return InvalidNotAllowed
		case !said(i.ReplyBody, i.HumanDecision):
			return NoRationale
		}
		return NoReason
	case Stale, AlreadyFixed:
		switch {
		case !slices.Contains(c.Rules.AutoResolve, i.Classification):
			return NotConfigured
		case i.Classification == Stale && !c.Thread.Outdated && !said(i.FixSummary, i.ReplyBody, i.HumanDecision):
			return NoExplanation
		}
	default: // nothing else is ever closed
		return NeedsAHuman
	}
	if len(i.Verification) == 0 {
		return NoVerification
	}
	return NoReason
}

func (c Case) checks() Reason {
	if c.Rules.WithoutChecks {
		return NoReason
	}
	switch c.Checks {
	case Passed:
		return NoReason
	case ChecksMissing:
		return ChecksIncomplete
	case ChecksUnnamed:
		return ChecksUnknown
	case Pending:
		return ChecksPending
	case Skipped:
		return ChecksSkipped
	case NoChecks:
		return ChecksNone
	case Failing:
		return ChecksFailing
	default: // ChecksUnread, and whatever isn't known
		return ChecksUnreadable
	}
}

// said tells whether one of the texts says anything.
func said(texts ...string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return strings.TrimSpace(s) != "" })
}
