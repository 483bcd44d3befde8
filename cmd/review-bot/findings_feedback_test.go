package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"review-bot/prompts"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/openai/modeltest"
)

// What --feedback names is appended as it is, behind the earlier findings and
// before the operator's instructions.
func TestFeedbackFile(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	const feedback = "## From the triage\n\n- [x] <b>bold</b> & \"quoted\" <!-- kept -->\n\n\tindented  \nlast line"
	file := filepath.Join(t.TempDir(), "feedback.md")
	if err := os.WriteFile(file, []byte(feedback+"\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j := s.endless(t)
	s.ask(t, j, func([]shownEarlier) prompts.Answer { return answer(s.on(t, "code(5)")) }, "--feedback", file)
	if !strings.Contains(s.prompt, "# Earlier findings\n\n"+feedback+"\n") {
		t.Errorf("with nothing earlier the prompt is\n%s", s.prompt)
	}
	s.push(t, onTop(1))
	s.ask(t, j, keepsAll, "--feedback", file, "--instructions", "Mind the gap.")
	_, rest, _ := strings.Cut(s.prompt, trouble("code(5)")+"\n")
	order := []int{strings.Index(rest, "<<<end "), strings.Index(rest, feedback), strings.Index(rest, "Mind the gap.")}
	if order[0] < 0 || !slices.IsSorted(order) || strings.Count(s.prompt, feedback) != 1 {
		t.Errorf("finding, feedback, instructions stand at %v:\n%s", order, rest)
	}
}

// A dry run tells what it would resolve and reopen, and does nothing.
func TestDryRunWithResolutions(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	j, proxy := s.proxied(t, s.endless(t))
	back, fixed, stays, answered := "code(5)", "code(9)", "code(13)", "code(17)"
	s.round(t, j, nil, s.on(t, back), s.on(t, fixed), s.on(t, stays), s.on(t, answered))
	s.pull.Resolve(t, s.bot, s.conversation(t, back).ID)
	s.pull.Reply(t, s.author, s.conversation(t, answered).ID, "on purpose")
	s.push(t, changing(fixed, stays))
	bodies, comments := s.texts(t)
	written := len(proxy.Writes())

	s.prompt = ""
	r := s.round(t, j.with("REVIEW_BOT_DRY_RUN", "true"), []string{trouble(stays)}, s.on(t, back), s.on(t, "code(21)"))
	wantStates(t, r, map[string]finding.State{
		back: finding.Reopened, fixed: finding.Resolved, stays: finding.Retained, answered: finding.Answered, "code(21)": finding.New,
	})
	var settled []string
	for _, step := range r.Plan.Steps {
		if step.Settle != nil {
			settled = append(settled, map[int64]string{s.conversation(t, back).ID: back, s.conversation(t, fixed).ID: fixed}[step.Settle.Comment])
			if step.Settle.Reopen != (step.Settle.Comment == s.conversation(t, back).ID) {
				t.Errorf("step %+v", step.Settle)
			}
		}
	}
	if slices.Sort(settled); !slices.Equal(settled, []string{back, fixed}) {
		t.Errorf("the plan settles %q", settled)
	}
	if !r.DryRun || !slices.Contains(r.Notes, "nothing was written") || len(proxy.Writes()) != written {
		t.Errorf("notes %q, writes %q", r.Notes, writes(proxy.Requests()))
	}
	if b, c := s.texts(t); !slices.Equal(b, bodies) || !slices.Equal(c, comments) {
		t.Errorf("the pull request shows\n%s\n%s", b, c)
	}
	s.wantResolved(t, map[string]bool{trouble(back): true, trouble(fixed): false, trouble(stays): false, trouble(answered): false})

	// People read the same.
	srv := model(t, modeltest.ByMatch(modeltest.Match{Reply: modeltest.Answer(answer())}))
	e := j.with("OPENAI_BASE_URL", srv.URL()).run(t, "--dry-run")
	if n := strings.Count(e.stdout, "RESOLVE the conversation of comment "); e.status != 0 || n != 2 || !strings.Contains(e.stdout, "nothing was written") {
		t.Errorf("exit status %d, %d resolves\n%s", e.status, n, e.stdout)
	}
}

// What looks like a secret is masked wherever it came from: replies, the file
// then and now, findings' own texts.
func TestSecretsInFeedback(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	secret := "ghp_" + strings.Repeat("aB3dE6gH9j", 3) + "kLmNoP"
	first, second := "AKIA"+"Q3ZJ7XW9K2VB5TPM", "AKIA"+"H8RC4NYD6GLF2SQX"
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block := strings.Split(strings.TrimSpace(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))), "\n")
	s.push(t, func(lines []string) []string {
		lines[6] = "key := " + first
		return slices.Concat(lines, block, []string{"tail(1)", "tail(2)", "tail(3)", "tail(4)", "tail(5)"})
	})
	j := s.endless(t)
	s.round(t, j, nil, s.on(t, "code(5)"), s.on(t, "code(9)"))
	c, edited := s.conversation(t, "code(5)"), s.conversation(t, "code(9)")
	s.pull.Reply(t, s.author, c.ID, "use "+secret+" and the bot's "+s.bot.Token+"\n\n> "+strings.Join(block, "\n> "))
	s.rewrite(t, s.author, edited.ID, strings.Replace(edited.Body, "code(9)", "code(9) "+secret, 1))
	s.push(t, func(lines []string) []string {
		lines[6] = "key := load() // " + second
		return append(slices.Delete(lines, 47, 48), "more()") // a line out of the middle of the key, far from both its ends
	})
	r := s.ask(t, j, keepsAll)
	if !strings.Contains(s.prompt, "changes of the file since") || !strings.Contains(s.prompt, "key := load() // [masked: ") || !strings.Contains(s.prompt, "use [masked: ") {
		t.Errorf("the prompt is\n%s", s.prompt)
	}
	bodies, _ := s.texts(t)
	for _, text := range append(bodies, s.prompt) {
		for _, value := range []string{secret, s.bot.Token, first, second, block[6], block[8], block[9]} {
			if strings.Contains(text, value) {
				t.Errorf("%q is in\n%s", value, text)
			}
		}
	}
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "masked in what the model was shown") }) {
		t.Errorf("notes %q", r.Notes)
	}
}
