package reviewer

import (
	"fmt"
	"strconv"
	"strings"

	"review-bot/escalation"
	"review-bot/reviewer/diff"
	"review-bot/reviewer/finding"
	"review-bot/sentinel"
)

// Plan is what a run is going to write, as data. What --dry-run prints are the
// values that a publication sends without it.
type Plan struct {
	Outcome escalation.Outcome `json:"outcome"`
	Reason  string             `json:"reason"`
	Steps   []Step             `json:"steps"`
}

// Step is one write to the forge. Just one of its fields is set.
type Step struct {
	Post     *NewReview  `json:"post,omitempty"`
	Attach   *Attachment `json:"attach,omitempty"`
	Edit     *Edit       `json:"edit,omitempty"`
	Settle   *Settlement `json:"settle,omitempty"`
	Say      string      `json:"say,omitempty"`      // an ordinary comment
	Withdraw bool        `json:"withdraw,omitempty"` // the account asks itself for a review
}

// Attachment is an inline comment that is added to a submitted review.
type Attachment struct {
	Review  int64      `json:"review"`
	Comment NewComment `json:"comment"`
}

// Settlement closes a conversation, or opens it again.
type Settlement struct {
	Comment int64 `json:"comment"` // its oldest, or the finding's own
	Reopen  bool  `json:"reopen,omitempty"`
}

// Edit replaces the body of a review.
type Edit struct {
	Comment int64  `json:"comment"` // id of its timeline entry
	About   string `json:"role"`
	Body    string `json:"body"`
}

// newPlan lists the writes of an action, and what the verdict owes to
// conversations, which comes behind it.
func newPlan(a escalation.Action, asks []escalation.Ask, owed []sentinel.Owed) Plan {
	p := Plan{Outcome: a.Outcome, Reason: a.Reason, Steps: []Step{}}
	for _, ask := range asks {
		switch ask.Kind {
		case escalation.AskPost:
			p.Steps = append(p.Steps, Step{Post: &ask.Post})
		case escalation.AskAttach:
			p.Steps = append(p.Steps, Step{Attach: &Attachment{ask.Review, ask.Inline}})
		case escalation.AskSettle:
			p.Steps = append(p.Steps, Step{Settle: &Settlement{ask.Comment, ask.Reopen}})
		case escalation.AskEdit:
			p.Steps = append(p.Steps, Step{Edit: &Edit{Comment: ask.Comment, About: ask.About, Body: ask.Body}})
		case escalation.AskWithdraw:
			p.Steps = append(p.Steps, Step{Withdraw: true})
		default: // the others don't write
		}
	}
	if len(a.Settle) == 0 && a.Writes() {
		for _, o := range owed {
			p.Steps = append(p.Steps, Step{Settle: &Settlement{o.Comment, o.Reopen}})
		}
	}
	return p
}

// String shows the plan in full, for people. Every line is indented, so that
// nothing in it can be taken for a command by a job runner that reads the log.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plan: %s (%s)\n", p.Outcome, p.Reason)
	for _, step := range p.Steps {
		switch {
		case step.Post != nil:
			fmt.Fprintf(&b, "\n  POST a review, event %s, at %.7s, %d inline\n\n%s", step.Post.Event, step.Post.Commit,
				len(step.Post.Comments), indent(step.Post.Body))
			for _, c := range step.Post.Comments {
				fmt.Fprintf(&b, "\n  inline on %s", commentText(c))
			}
		case step.Attach != nil:
			fmt.Fprintf(&b, "\n  ATTACH to review %d on %s", step.Attach.Review, commentText(step.Attach.Comment))
		case step.Say != "":
			fmt.Fprintf(&b, "\n  COMMENT on the pull request\n\n%s", indent(step.Say))
		case step.Settle != nil && step.Settle.Reopen:
			fmt.Fprintf(&b, "\n  REOPEN the conversation of comment %d\n", step.Settle.Comment)
		case step.Settle != nil:
			fmt.Fprintf(&b, "\n  RESOLVE the conversation of comment %d\n", step.Settle.Comment)
		case step.Edit != nil:
			fmt.Fprintf(&b, "\n  PATCH the review of %s (comment %d)\n\n%s", step.Edit.About, step.Edit.Comment, indent(step.Edit.Body))
		case step.Withdraw:
			b.WriteString("\n  WITHDRAW the account's verdict, by asking for its review anew\n")
		}
	}
	return b.String()
}

func commentText(c NewComment) string {
	line, side := c.NewLine, "new"
	if c.OldLine != 0 {
		line, side = c.OldLine, "old"
	}
	return fmt.Sprintf("%s, %s line %d\n\n%s", Quoted(c.Path), side, line, indent(c.Body))
}

// Quoted is a file's name for people: as it is, or as a Go string if something in it
// can't be seen, or would break the line.
func Quoted(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

func indent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimRight("    "+strings.TrimRight(line, "\r\n"), " ") + "\n")
	}
	return b.String()
}

// inlineComments are the findings that stand on lines of the diff. A comment's
// path is the file's new name on both sides: Gitea shows comments beside a
// file's lines by that name only.
func inlineComments(findings []finding.Finding, role string, key sentinel.Key) []NewComment {
	var list []NewComment
	for _, f := range findings {
		if f.Where != finding.Inline {
			continue
		}
		c := NewComment{Path: f.Place.Path, Body: f.Inline(role, key)}
		if f.Place.Side == diff.Old {
			c.OldLine = f.Place.Line
		} else {
			c.NewLine = f.Place.Line
		}
		list = append(list, c)
	}
	return list
}
