package reviewer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"review-bot/prompts"
	"review-bot/reviewer/diff"
	"review-bot/reviewer/untrusted"
)

// question digests what the model is asked beside the pull request itself: the
// model, the prompts, the threshold, the answer's form. A prompt file counts by
// name; its content follows from the base commit, which the sentinel names too.
func question(s Settings) string {
	h := sha256.New()
	sample, err := prompts.Build(prompts.Input{Role: s.Role, Instructions: s.Instructions, Extra: s.Extra, Feedback: s.Feedback})
	if err != nil {
		panic(fmt.Sprintf("reviewer: the embedded prompts don't render: %v", err)) // the suite renders them
	}
	for _, part := range []string{
		s.Model, sample.System, sample.Task, s.PromptFile, string(s.BlockOn), fmt.Sprint(prompts.SchemaVersion), fmt.Sprint(s.Advisory),
	} {
		fmt.Fprintf(h, "%d\n%s\n", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// request builds what the model is asked.
func request(s Settings, m material) (prompts.Request, error) {
	var text strings.Builder
	for _, f := range m.diff.Files {
		text.WriteString(f.Render())
		text.WriteString("\n")
	}
	changes := text.String()
	boundary := untrusted.Boundary(m.title, m.body, changes)
	files, added, deleted := m.diff.Stat()
	return prompts.Build(prompts.Input{
		Role:         s.Role,
		Instructions: strings.TrimSpace(cmp.Or(m.instructions, s.Instructions)),
		Boundary:     boundary,
		Material: strings.Join([]string{
			untrusted.Fence("title", boundary, m.title),
			untrusted.Fence("description", boundary, m.body),
			untrusted.Fence(fmt.Sprintf("diff of %d files, %d lines added, %d deleted", files, added, deleted), boundary, changes),
		}, "\n\n"),
		Feedback: strings.TrimSpace(s.Feedback),
		Extra:    strings.TrimSpace(s.Extra),
	})
}

// clean masks secrets in what the model said, before any of it is published,
// and counts them.
func clean(a prompts.Answer, secrets *untrusted.Masker) (prompts.Answer, int) {
	total := 0
	mask := func(s *string) {
		var n int
		*s, n = secrets.Mask(*s)
		total += n
	}
	mask(&a.Summary)
	for i := range a.Findings {
		f := &a.Findings[i]
		for _, s := range []*string{&f.Path, &f.Quote, &f.Title, &f.Body, &f.Suggestion} {
			mask(s)
		}
	}
	return a, total
}

// unread lists the files whose content the model can't have seen.
func unread(d diff.Diff) (files []diff.File, read int) {
	for _, f := range d.Files {
		if f.Binary {
			files = append(files, f)
		} else {
			read++
		}
	}
	return files, read
}

// ask asks the model and counts the time.
func (r *run) ask(ctx context.Context, req prompts.Request) (prompts.Answer, error) {
	began := r.env.Now()
	answer, usage, err := r.env.Model.Review(ctx, req)
	usage.Seconds = r.env.Now().Sub(began).Seconds()
	r.result.Usage = &usage
	r.result.ModelRequests = usage.Calls
	return answer, err
}
