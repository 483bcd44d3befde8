package main

import (
	"slices"
	"strings"
	"testing"

	"review-bot/prompts"
	"review-bot/reviewer/finding"
	"review-bot/sentinel"
)

// Two roles share an account, and have found something on the same line. Each
// remembers and closes only its own.
func TestTwoRolesOnOneAccount(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	logic := s.endless(t)
	tests := logic.with("REVIEW_BOT_ROLE", "tests")
	round := func(j job, words string) {
		t.Helper()
		same, own := s.on(t, "code(5)"), s.on(t, map[string]string{"logic": "code(9)", "tests": "code(13)"}[words])
		same.Title, own.Title = "Same line, "+words, "Own line, "+words
		s.round(t, j, nil, same, own)
	}
	round(logic, "logic")
	round(tests, "tests")

	s.push(t, func(lines []string) []string { return onTop(2)(append(lines, "end()")) })
	var shown []shownEarlier
	r := s.ask(t, logic, func(earlier []shownEarlier) (a prompts.Answer) {
		shown = earlier
		a = answer()
		a.Retained = keeping(earlier, "Own line")
		for _, c := range s.inlines(t) { // a model that names everybody's
			a.Retained = append(a.Retained, markerOf(t, c.Body).ID)
		}
		return a
	})
	if len(shown) != 2 || len(keeping(shown, "logic")) != 2 {
		t.Errorf("logic's model is shown %+v", shown)
	}
	wantStates(t, r, map[string]finding.State{"Same line, logic": finding.Retained, "Own line, logic": finding.Retained})

	s.push(t, changing("code(5)", "code(9)", "code(13)"))
	r = s.ask(t, logic, keepsNone)
	wantStates(t, r, map[string]finding.State{"Same line, logic": finding.Resolved, "Own line, logic": finding.Resolved})
	if r.Own != sentinel.Approved || r.Event != sentinel.RequestChanges {
		t.Errorf("own %s, event %s: want logic to find nothing, and tests to hold the account", r.Own, r.Event)
	}
	closed := map[string]bool{"Same line, logic": true, "Own line, logic": true, "Same line, tests": false, "Own line, tests": false}
	s.wantResolved(t, closed)

	// The other role: it doesn't know that logic's were closed, and closes one of its own.
	r = s.ask(t, tests, func(earlier []shownEarlier) prompts.Answer {
		shown = earlier
		return keepsOnly("Same line")(earlier)
	})
	if len(shown) != 2 || len(keeping(shown, "tests")) != 2 {
		t.Errorf("the model of tests is shown %+v", shown)
	}
	wantStates(t, r, map[string]finding.State{"Same line, tests": finding.Retained, "Own line, tests": finding.Resolved})
	closed["Own line, tests"] = true
	s.wantResolved(t, closed)

	// What logic had is back, on the line that both know: its own conversation is opened.
	s.push(t, func(lines []string) []string { lines[slices.Index(lines, "better(5)")] = "code(5)"; return lines })
	again := s.on(t, "code(5)")
	again.Title = "In other words"
	r = s.round(t, logic, nil, again)
	wantStates(t, r, map[string]finding.State{"Same line, logic": finding.Reopened})
	closed["Same line, logic"] = false
	s.wantResolved(t, closed)
	for _, c := range s.inlines(t) {
		if strings.Count(c.Body, "review-bot-finding:") != 1 {
			t.Errorf("a comment is\n%s", c.Body)
		}
	}
	if n := len(s.inlines(t)); n != 4 {
		t.Errorf("%d inline comments, want 4", n)
	}
}
