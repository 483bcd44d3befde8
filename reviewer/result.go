package reviewer

import (
	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer/finding"
	"review-bot/sentinel"
)

// Result is what a run ends with.
type Result struct {
	Role          string             `json:"role"`
	Outcome       escalation.Outcome `json:"outcome"`
	Own           sentinel.Verdict   `json:"own,omitempty"`
	Event         sentinel.Verdict   `json:"event,omitempty"`
	Head          string             `json:"head,omitempty"`
	BaseBranch    string             `json:"base_branch,omitempty"` // the verdict's; missing if the pull request has another one now
	ReviewURL     string             `json:"review_url,omitempty"`
	Findings      []FindingResult    `json:"findings"`
	Gate          []string           `json:"gate"`
	Rounds        int                `json:"rounds"`
	ForgeRequests int                `json:"forge_requests"`
	ModelRequests int                `json:"model_requests"`
	Usage         *Usage             `json:"usage,omitempty"`
	Notes         []string           `json:"notes"`
	NotReviewed   []NotReviewed      `json:"not_reviewed,omitempty"` // files that the model wasn't shown, all of them
	Advisory      bool               `json:"advisory,omitempty"`     // the role only comments
	DryRun        bool               `json:"dry_run,omitempty"`
	Error         string             `json:"error,omitempty"`

	Plan     *Plan  `json:"plan,omitempty"` // with DryRun
	Headline string `json:"-"`              // verdict and why, for people
}

// NotReviewed is a file that the model wasn't shown, or not all of it.
type NotReviewed struct {
	Path string `json:"path"`
	Why  string `json:"why"`
	// Allow is the glob by which --ignore would leave it out.
	Allow string `json:"allow,omitempty"`
	// LeftOut says that an approval covers it all the same: the base branch or the operator leave it out, or it
	// can hold no code.
	LeftOut bool `json:"left_out,omitempty"`
}

// NotRead is how many files should have been read and weren't: with any, the role doesn't approve.
func (r Result) NotRead() int {
	var files []finding.Unread
	for _, f := range r.NotReviewed {
		files = append(files, finding.Unread(f))
	}
	return finding.NotRead(files)
}

// Counted is how many of the findings count for the verdict.
func (r Result) Counted() int {
	n := 0
	for _, f := range r.Findings {
		if f.State.Counts() {
			n++
		}
	}
	return n
}

// FindingResult is a finding as it is reported to machines.
type FindingResult struct {
	ID       string           `json:"id"`
	Path     string           `json:"path"`
	Line     int              `json:"line"`
	Side     string           `json:"side"`
	Severity prompts.Severity `json:"severity,omitempty"` // missing if it isn't known, as a person may have edited the comment: that counts as the worst
	Category string           `json:"category"`
	Title    string           `json:"title"`
	State    finding.State    `json:"state"`
	Where    finding.Where    `json:"where"`
	Doubted  bool             `json:"doubted,omitempty"` // retained though the model left it out, as nothing has happened that may close it
	URL      string           `json:"url,omitempty"`     // of its conversation, once it has one
	Means    Means            `json:"means,omitempty"`   // by which it was resolved or reopened in this run
}

// Means is how a conversation was settled.
type Means string

// The means.
const (
	ByResolve Means = "resolve" // by the server's own mark
	ByEdit    Means = "edit"    // by editing the comment, where the server has no such mark
)

func results(findings []finding.Finding) []FindingResult {
	list := []FindingResult{}
	for _, f := range findings {
		list = append(list, FindingResult{
			ID: f.ID, Path: f.Place.Path, Line: f.Place.Line, Side: string(f.Place.Side), Severity: f.Severity,
			Category: f.Category, Title: f.Title, State: f.State, Doubted: f.Doubted, Where: f.Where, URL: f.URL,
		})
	}
	return list
}
