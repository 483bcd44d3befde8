package main

import (
	"net/http"
	"strings"
	"testing"

	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/gitea/giteatest"
)

// unresolvable makes the server one that has no endpoint to resolve with.
func unresolvable(r *giteatest.Request) *giteatest.Fault {
	if strings.HasSuffix(r.Path, "/resolve") || strings.HasSuffix(r.Path, "/unresolve") {
		return &giteatest.Fault{Status: http.StatusMethodNotAllowed, Header: http.Header{"Allow": {"GET"}}}
	}
	return nil
}

// rendered is the text of the pull request's page in which that stands.
func (s *story) rendered(t *testing.T, text string) string {
	t.Helper()
	for _, html := range s.pull.Rendered(t) {
		if strings.Contains(html, "<p>"+text) || strings.Contains(html, text) && strings.Contains(html, "answer here") {
			return html
		}
	}
	t.Fatalf("no comment on the page says %q", text)
	return ""
}

// meansOf are the means by which the findings were settled, by title.
func meansOf(r reviewer.Result) map[string]reviewer.Means {
	m := map[string]reviewer.Means{}
	for _, f := range r.Findings {
		m[strings.TrimPrefix(f.Title, "Trouble with ")] = f.Means
	}
	return m
}

// Where the server can't resolve, the bot's own comment says that it is fixed. A
// finding that is back is restored to what it was.
func TestServerWithoutResolve(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	j, proxy := s.proxied(t, s.endless(t))
	proxy.SetHook(unresolvable)
	gone, stays, beside := "code(5)", "code(9)", s.on(t, "code(5)")
	beside.Category, beside.Title = "security", "Another one on the line"
	s.round(t, j, nil, s.on(t, gone), s.on(t, stays), beside)
	before, other := s.conversation(t, gone), s.comment(t, beside.Title)

	s.push(t, func(lines []string) []string { lines[4] = "better(5)"; return lines })
	r := s.ask(t, j, keepsOnly(trouble(stays)))
	wantStates(t, r, map[string]finding.State{gone: finding.Resolved, beside.Title: finding.Resolved, stays: finding.Retained})
	if m := meansOf(r); m[gone] != reviewer.ByEdit || m[beside.Title] != reviewer.ByEdit || m[stays] != "" {
		t.Errorf("settled by %v, want edits", m)
	}
	lines := strings.Split(s.conversation(t, gone).Body, "\n")
	if lines[0] != "**Fixed** in "+r.Head[:7]+"." || !strings.Contains(lines[len(lines)-1], " state=closed ") {
		t.Errorf("the comment is\n%s", strings.Join(lines, "\n"))
	}
	html := s.rendered(t, "<strong>Fixed</strong> in ")
	fold := strings.Index(html, "<details>")
	if fold < 0 || strings.Contains(html[:fold], "Trouble") || !strings.Contains(html[fold:], trouble(gone)) || strings.Contains(html, "review-bot-finding") ||
		!strings.Contains(html, r.Head[:7]) {
		t.Errorf("the page shows\n%s", html)
	}
	if text := s.conversation(t, stays).Body; strings.Contains(text, "Fixed") {
		t.Errorf("the one that stays is\n%s", text)
	}

	// It is remembered as closed, and not edited again.
	s.push(t, onTop(1))
	edits := len(proxy.Writes())
	r = s.ask(t, j, func(shown []shownEarlier) prompts.Answer {
		if len(shown) != 1 || len(keeping(shown, trouble(stays))) != 1 {
			t.Errorf("the model is shown %+v, want only the one that stays", shown)
		}
		return keepsAll(shown)
	})
	wantStates(t, r, map[string]finding.State{stays: finding.Retained})
	for _, w := range proxy.Writes()[edits:] {
		if strings.HasSuffix(w.Path, "resolve") || strings.Contains(string(w.Body), "Fixed") {
			t.Errorf("the bot sends %s %s", w.Line(), w.Body)
		}
	}

	// It is back: restored, in its own conversation.
	s.push(t, func(lines []string) []string { lines[5] = "code(5)"; return lines })
	r = s.round(t, j, []string{trouble(stays)}, s.on(t, gone))
	wantStates(t, r, map[string]finding.State{stays: finding.Retained, gone: finding.Reopened})
	if m := meansOf(r); m[gone] != reviewer.ByEdit {
		t.Errorf("settled by %v, want an edit", m)
	}
	if c := s.conversation(t, gone); c.ID != before.ID || c.Body != before.Body {
		t.Errorf("the comment is\n%s\nand was\n%s", c.Body, before.Body)
	}
	if html := s.rendered(t, trouble(gone)); strings.Contains(html, "Fixed") || strings.Contains(html, "<details>") {
		t.Errorf("the page shows\n%s", html)
	}
	if c := s.comment(t, beside.Title); !strings.HasPrefix(c.Body, "**Fixed** in ") {
		t.Errorf("the other one on the line, which is still fixed, is\n%s", c.Body)
	}
	if n := len(s.inlines(t)); n != 3 {
		t.Errorf("%d inline comments, want 3", n)
	}

	// And fixed once more.
	s.push(t, func(lines []string) []string { lines[5] = "best(5)"; return lines })
	r = s.ask(t, j, keepsOnly(trouble(stays)))
	wantStates(t, r, map[string]finding.State{stays: finding.Retained, gone: finding.Resolved})
	if c := s.conversation(t, gone); !strings.HasPrefix(c.Body, "**Fixed** in "+r.Head[:7]) || strings.Count(c.Body, "Fixed") != 1 {
		t.Errorf("the comment is\n%s", c.Body)
	}

	// The other one on the line comes back alone, though it didn't begin the conversation.
	s.push(t, func(lines []string) []string { lines[5] = "code(5)"; return lines })
	back := s.on(t, gone)
	back.Category, back.Title = beside.Category, beside.Title
	r = s.round(t, j, []string{trouble(stays)}, back)
	wantStates(t, r, map[string]finding.State{stays: finding.Retained, beside.Title: finding.Reopened})
	if c := s.comment(t, beside.Title); c.Body != other.Body {
		t.Errorf("the comment is\n%s\nand was\n%s", c.Body, other.Body)
	}
}

// The text that says "fixed" is signed. Pasted once more over a finding that is
// back, it hides nothing.
func TestReplayedFixedText(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	j, proxy := s.proxied(t, s.endless(t))
	proxy.SetHook(unresolvable)
	s.round(t, j, nil, s.on(t, "code(5)"))
	s.push(t, func(lines []string) []string { lines[4] = "better(5)"; return lines })
	s.ask(t, j, keepsNone)
	fixed := s.conversation(t, "code(5)")
	s.push(t, func(lines []string) []string { lines[4] = "code(5)"; return lines })
	r := s.round(t, j, nil, s.on(t, "code(5)"))
	wantStates(t, r, map[string]finding.State{"code(5)": finding.Reopened})

	s.rewrite(t, s.author, fixed.ID, fixed.Body)
	s.push(t, onTop(1))
	if r := s.ask(t, j, keepsAll); r.Counted() != 1 {
		t.Errorf("own %s with the findings %+v", r.Own, r.Findings)
	}
}
