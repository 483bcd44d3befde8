package reviewer

import (
	"fmt"
	"strings"

	"review-bot/escalation"
	"review-bot/reviewer/diff"
	"review-bot/reviewer/finding"
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
	Post     *NewReview `json:"post,omitempty"`
	Edit     *Edit      `json:"edit,omitempty"`
	Withdraw bool       `json:"withdraw,omitempty"` // the account asks itself for a review
}

// Edit replaces the body of a review.
type Edit struct {
	Comment int64  `json:"comment"` // id of its timeline entry
	About   string `json:"role"`
	Body    string `json:"body"`
}

func newPlan(a escalation.Action, asks []escalation.Ask) Plan {
	p := Plan{Outcome: a.Outcome, Reason: a.Reason, Steps: []Step{}}
	for _, ask := range asks {
		switch ask.Kind {
		case escalation.AskPost:
			p.Steps = append(p.Steps, Step{Post: &ask.Post})
		case escalation.AskEdit:
			p.Steps = append(p.Steps, Step{Edit: &Edit{Comment: ask.Comment, About: ask.About, Body: ask.Body}})
		case escalation.AskWithdraw:
			p.Steps = append(p.Steps, Step{Withdraw: true})
		default: // the others don't write
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
				len(step.Post.Comments), indent(step.Post.Body, "    "))
			for _, c := range step.Post.Comments {
				line, side := c.NewLine, "new"
				if c.OldLine != 0 {
					line, side = c.OldLine, "old"
				}
				fmt.Fprintf(&b, "\n  inline on %s, %s line %d\n\n%s", c.Path, side, line, indent(c.Body, "    "))
			}
		case step.Edit != nil:
			fmt.Fprintf(&b, "\n  PATCH the review of %s (comment %d)\n\n%s", step.Edit.About, step.Edit.Comment, indent(step.Edit.Body, "    "))
		case step.Withdraw:
			b.WriteString("\n  WITHDRAW the account's verdict, by asking for its review anew\n")
		}
	}
	return b.String()
}

func indent(s, by string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimRight(by+strings.TrimRight(line, "\r\n"), " ") + "\n")
	}
	return b.String()
}

// inlineComments are the findings that stand on lines of the diff. A comment's
// path is the file's new name on both sides: Gitea shows comments beside a
// file's lines by that name only.
func inlineComments(findings []finding.Finding, role, head string) []NewComment {
	var list []NewComment
	for _, f := range findings {
		if f.Where != finding.Inline {
			continue
		}
		c := NewComment{Path: f.Place.Path, Body: finding.Comment(f, role, head)}
		if f.Place.Side == diff.Old {
			c.OldLine = f.Place.Line
		} else {
			c.NewLine = f.Place.Line
		}
		list = append(list, c)
	}
	return list
}
