package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"review-bot/prompts"
	"review-bot/reviewer/openai/modeltest"
)

// The markers that a model finds unless a case says otherwise: code that must not be merged.
var evil = []string{"EVIL"}

// A witness is a model server that remembers what it was asked.
type witness struct {
	*modeltest.Server
	mu      sync.Mutex
	prompts []string
}

// attackModelServer starts a model that answers as the case says. It is honest unless told
// otherwise: it reports what it is shown, keeps what it has reported, and invents nothing.
func attackModelServer(t *testing.T, m *attackModel) *witness {
	t.Helper()
	if m == nil {
		m = &attackModel{}
	}
	w := &witness{}
	bomb := compressed(m.Gzip)
	w.Server = model(t, func(req modeltest.Request) modeltest.Reply {
		prompt := req.Text()
		w.mu.Lock()
		w.prompts = append(w.prompts, prompt)
		w.mu.Unlock()
		switch {
		case m.Gzip > 0:
			return modeltest.Reply{RawBody: bomb, Headers: map[string]string{"Content-Encoding": "gzip"}}
		case m.Fails > 0:
			return modeltest.Fail(m.Fails, "out of order")
		case m.Content != "":
			return modeltest.Reply{Content: m.Content}
		}
		return modeltest.Answer(m.answer(t, req, prompt))
	})
	return w
}

// compressed is so many MiB of blanks, as gzip has them.
func compressed(mebibytes int) []byte {
	if mebibytes == 0 {
		return nil
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	blanks := bytes.Repeat([]byte(" "), 1<<20)
	for range mebibytes {
		_, _ = z.Write(blanks)
	}
	_ = z.Close()
	return b.Bytes()
}

// answer is what the model says to a prompt, with the fields that the request's schema has.
func (m *attackModel) answer(t *testing.T, req modeltest.Request, prompt string) map[string]any {
	t.Helper()
	earlier := earlierIn(t, prompt)
	answer := map[string]any{"summary": m.Summary}
	if m.Summary == "" {
		answer["summary"] = "Changes things."
	}
	answer["findings"] = m.findings(prompt, earlier)
	retained := []string{}
	closed := []map[string]string{}
	for _, e := range earlier {
		if m.Keep == nil || containsAny(e.words, m.Keep) {
			retained = append(retained, e.id)
		}
		for words, by := range m.Closed {
			if strings.Contains(e.words, words) {
				closed = append(closed, map[string]string{"id": e.id, "by": by})
			}
		}
	}
	if !m.Bare {
		answer["retained"] = retained
		if schemaHas(req.Schema, "closed") {
			answer["closed"] = closed
		}
	}
	return answer
}

func schemaHas(schema json.RawMessage, name string) bool {
	var s struct{ Properties map[string]json.RawMessage }
	return json.Unmarshal(schema, &s) == nil && s.Properties[name] != nil
}

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// Lines of a diff as a prompt shows them.
var (
	shownFile  = regexp.MustCompile(`^file: (.*)$`)
	shownAdded = regexp.MustCompile(`^ {2,}(\d+) \+ (.*)$`)
)

// findings are what an honest reader of the prompt reports: every added line and every name
// with a marker, but for those that it has reported before.
func (m *attackModel) findings(prompt string, earlier []shownEarlier) []prompts.Finding {
	finds, severity := m.Finds, prompts.Severity(m.Severity)
	if finds == nil {
		finds = evil
	}
	if severity == "" {
		severity = prompts.High
	}
	found := []prompts.Finding{}
	report := func(path string, line int, quote string) {
		if !containsAny(quote, finds) {
			return
		}
		for _, e := range earlier {
			if strings.Contains(e.words, trouble(titled(quote))) {
				return
			}
		}
		f := at(path, line, quote)
		f.Title, f.Severity = trouble(titled(quote)), severity
		found = append(found, f)
	}
	path := ""
	prompt, _, _ = strings.Cut(prompt, "\n# Earlier findings\n")
	for line := range strings.Lines(prompt) {
		line = strings.TrimSuffix(line, "\n")
		if match := shownFile.FindStringSubmatch(line); match != nil {
			path = match[1]
			report(path, 0, path)
		} else if match := shownAdded.FindStringSubmatch(line); match != nil {
			n, _ := strconv.Atoi(match[1])
			report(path, n, match[2])
		}
	}
	for _, f := range m.Findings {
		finding := at(f.Path, f.Line, f.Quote)
		finding.Title, finding.Body = f.Title, f.Body
		if f.Severity != "" {
			finding.Severity = prompts.Severity(f.Severity)
		}
		found = append(found, finding)
	}
	return found
}

// titled is as much of a line as a title has room for.
func titled(quote string) string {
	quote = strings.TrimSpace(quote)
	if words := []rune(quote); len(words) > 40 {
		quote = string(words[:40])
	}
	return quote
}
