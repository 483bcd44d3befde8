package main

import (
	"strings"
	"testing"
)

// The events of a job, and the pull request that each is about.
func TestEvents(t *testing.T) {
	event := func(content string) string { return file(t, "event.json", content) }
	pull := event(`{"action":"synchronized","number":6,"pull_request":{"number":6,"head":{"repo":{"id":1,"full_name":"alice/shop"}},"base":{"repo":{"id":1,"full_name":"alice/shop"}}}}`)
	all := complete(t)
	for promise, tt := range map[string]struct {
		name, path, ref string
		pr              string // flag
		want            string // after "on alice/shop", or the error
	}{
		"pull_request":                     {"pull_request", pull, "refs/pull/6/head", "", "#6 "},
		"pull_request, by ref only":        {"pull_request", "", "refs/pull/7/head", "", "#7 "},
		"pull_request_target":              {"pull_request_target", pull, "refs/heads/main", "", "#6 "},
		"a reviewed pull request":          {"pull_request_review", pull, "refs/heads/main", "", "#6 "},
		"started by hand":                  {"workflow_dispatch", event(`{"inputs":{"pr":"12"}}`), "refs/heads/main", "", "#12 "},
		"started by hand, a number":        {"workflow_dispatch", event(`{"inputs":{"pr":12}}`), "refs/heads/main", "", "#12 "},
		"started by hand, with a sign":     {"workflow_dispatch", event(`{"inputs":{"pr":" #12 "}}`), "refs/heads/main", "", "#12 "},
		"started by hand on a pull's ref":  {"workflow_dispatch", event(`{"inputs":{"pr":"12"}}`), "refs/pull/7/head", "", "#12 "},
		"started by hand, an older runner": {"", event(`{"inputs":{"pr":"12"}}`), "refs/heads/main", "", "#12 "},
		"the flag before the input":        {"workflow_dispatch", event(`{"inputs":{"pr":"12"}}`), "refs/heads/main", "5", "#5 "},
		"the flag on any event":            {"push", event(`{"ref":"refs/heads/main"}`), "refs/heads/main", "5", "#5 "},

		"push":                        {"push", event(`{"ref":"refs/heads/main","number":7}`), "refs/heads/main", "", "the event push is not about a pull request — run on pull_request, pull_request_target, or workflow_dispatch with an input pr, or give --pr N"},
		"schedule":                    {"schedule", "", "refs/heads/main", "", "the event schedule is not about a pull request — run on pull_request, pull_request_target, or workflow_dispatch with an input pr, or give --pr N"},
		"comment on a pull request":   {"issue_comment", event(`{"issue":{"number":6},"is_pull":true}`), "refs/pull/6/head", "", "the event issue_comment is not about a pull request — run on pull_request, pull_request_target, or workflow_dispatch with an input pr, or give --pr N"},
		"pull_request without one":    {"pull_request", event(`{}`), "refs/heads/main", "", "the event pull_request names no pull request — run on pull_request, pull_request_target, or workflow_dispatch with an input pr, or give --pr N"},
		"started by hand, no input":   {"workflow_dispatch", event(`{"inputs":null}`), "refs/heads/main", "", "the workflow was started without a pull request — give its number in the input pr, or --pr N"},
		"started by hand, empty":      {"workflow_dispatch", event(`{"inputs":{"pr":" "}}`), "refs/pull/7/head", "", "the workflow was started without a pull request — give its number in the input pr, or --pr N"},
		"started by hand, a word":     {"workflow_dispatch", event(`{"inputs":{"pr":"main"}}`), "refs/heads/main", "", `the workflow's input pr, "main", is not the number of a pull request`},
		"started by hand, nothing":    {"workflow_dispatch", event(`{"inputs":{"pr":"0"}}`), "refs/heads/main", "", `the workflow's input pr, "0", is not the number of a pull request`},
		"started by hand, a fraction": {"workflow_dispatch", event(`{"inputs":{"pr":1.5}}`), "refs/heads/main", "", `the workflow's input pr, "1.5", is not the number of a pull request`},
	} {
		e := all.with("GITHUB_EVENT_NAME", tt.name).with("GITHUB_EVENT_PATH", tt.path).with("GITHUB_REF", tt.ref).with("REVIEW_BOT_PR", tt.pr).run(t)
		if strings.HasPrefix(tt.want, "#") {
			if !e.pastSettings(t) || !strings.Contains(e.stderr, " on alice/shop"+tt.want) {
				t.Errorf("%s: exit status %d, want %s\n%s", promise, e.status, tt.want, e.stderr)
			}
			continue
		}
		if got := e.errorLine(t); e.status != 2 || got != "review-bot: "+tt.want {
			t.Errorf("%s: exit status %d\n%s\nwant\nreview-bot: %s", promise, e.status, got, tt.want)
		}
	}
	// A re-run has the event of the first run, whatever has happened since.
	if e := all.with("GITHUB_EVENT_NAME", "pull_request").with("GITHUB_EVENT_PATH", pull).with("GITHUB_REF", "refs/pull/6/head").with("GITHUB_RUN_ATTEMPT", "2").run(t); !e.pastSettings(t) {
		t.Errorf("a re-run: exit status %d\n%s", e.status, e.stderr)
	}
}
