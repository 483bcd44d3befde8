package reviewer

import (
	"cmp"
	"fmt"
	"strings"

	"review-bot/escalation"
	"review-bot/reviewer/diff"
	"review-bot/reviewer/finding"
	"review-bot/sentinel"
)

// Plan is what a run is going to publish, as data. What --dry-run prints is the
// value that is executed without it.
type Plan struct {
	Outcome escalation.Outcome `json:"outcome"`
	Reason  string             `json:"reason"`
	Steps   []Step             `json:"steps"`
}

// Step is one write to the forge.
type Step struct {
	Post *NewReview `json:"post,omitempty"`
}

// String shows the plan in full, for people. Every line is indented, so that
// nothing in it can be taken for a command by a job runner that reads the log.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plan: %s (%s)\n", p.Outcome, p.Reason)
	for _, step := range p.Steps {
		fmt.Fprintf(&b, "\n  POST a review, event %s, at %s, %d inline\n\n%s", step.Post.Event, short(step.Post.Commit),
			len(step.Post.Comments), indent(step.Post.Body, "    "))
		for _, c := range step.Post.Comments {
			line, side := c.NewLine, "new"
			if c.OldLine != 0 {
				line, side = c.OldLine, "old"
			}
			fmt.Fprintf(&b, "\n  inline on %s, %s line %d\n\n%s", c.Path, side, line, indent(c.Body, "    "))
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

func short(commit string) string {
	if len(commit) > 7 {
		return commit[:7]
	}
	return commit
}

// judgement is what the role found, ready to be published.
type judgement struct {
	own      sentinel.Verdict
	findings []finding.Finding
	body     sentinel.Body
}

// plan turns the decision into writes.
func (r *run) plan(a escalation.Action, j judgement, pull Pull, run string) Plan {
	p := Plan{Outcome: a.Outcome, Reason: a.Reason}
	if a.Post == "" {
		return p
	}
	review := NewReview{Event: a.Post, Commit: pull.Head}
	for _, f := range j.findings {
		if f.Where == finding.Inline {
			review.Comments = append(review.Comments, inline(f, r.set.Role, pull.Head))
		}
	}
	body := j.body
	if a.Post == sentinel.RequestChanges && j.own != sentinel.RequestChanges && len(a.Blockers) > 0 {
		holder := a.Blockers[0]
		body.Notice = sentinel.Notice(holder.Role(), cmp.Or(holder.Row.URL, pull.URL), r.set.Role, "found nothing that blocks")
	}
	review.Body = body.With(sentinel.Sentinel{
		Role: r.set.Role, Version: sentinel.Version, Kind: sentinel.KindVerdict, Own: j.own, Event: a.Post,
		Head: pull.Head, Q: r.question, Base: pull.Base, Run: run,
	}, r.key)
	p.Steps = append(p.Steps, Step{Post: &review})
	return p
}

// inline is a finding as an inline comment. Its path is the file's new name on
// both sides: Gitea shows comments beside a file's lines by that name only.
func inline(f finding.Finding, role, head string) NewComment {
	c := NewComment{Path: f.Place.Path, Body: finding.Comment(f, role, head)}
	if f.Place.Side == diff.Old {
		c.OldLine = f.Place.Line
	} else {
		c.NewLine = f.Place.Line
	}
	return c
}
