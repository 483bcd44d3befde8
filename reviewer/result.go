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
