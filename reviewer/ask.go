package reviewer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sourcegraph/conc/pool"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer/budget"
	"review-bot/reviewer/diff"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/untrusted"
)

// question digests what the model is asked beside the pull request itself: the
// model, the prompts, the threshold, the answer's form, what of a diff it is
// shown. Files of the base branch count by what they say.
func question(s Settings, t texts) string {
	h := sha256.New()
	sample, err := prompts.Build(prompts.Input{
		Role: s.Role, Guidelines: t.guidelines, Instructions: cmp.Or(t.instructions, s.Instructions), Extra: s.Extra, Earlier: "-", Feedback: s.Feedback,
	})
	if err != nil {
		panic(fmt.Sprintf("reviewer: the embedded prompts don't render: %v", err)) // the suite renders them
	}
	for _, part := range []string{
		s.Model, sample.System, sample.Task, string(s.BlockOn), fmt.Sprint(prompts.SchemaVersion), fmt.Sprint(s.Advisory),
		strings.Join(s.Ignore, "\n"), string(t.attributes), fmt.Sprint(s.MaxTokens, s.MaxCalls, s.NoReceipt),
	} {
		fmt.Fprintf(h, "%d\n%s\n", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// maxDescription is how much of a pull request's description the model is shown,
// in characters.
const maxDescription = 20_000

// call is one request to the model.
type call struct {
	req   prompts.Request
	shown func(id string) bool // which earlier findings are in it
}

// input is what every call of a run has in common.
func (r *run) input() prompts.Input {
	return prompts.Input{
		Role:         r.set.Role,
		Guidelines:   r.texts.guidelines,
		Instructions: r.instructions(),
		Feedback:     strings.TrimSpace(r.set.Feedback),
		Extra:        strings.TrimSpace(r.set.Extra),
	}
}

// room is how many tokens of a request of at most so many are left for the diff. It cuts what others
// wrote to what a request has room for, however they wrote it: no title, description
// or reply makes a request too long.
func (r *run) room(m *material, most int) (int, error) {
	in := r.input()
	in.Since, in.Part, in.Parts = strings.Repeat("0", 40), 10, 10
	in.Boundary, in.Earlier = strings.Repeat("0", 32), "-"
	n := piecesOf(most)
	in.Material = fenced(in.Boundary, material{}, "", make([][]diff.File, n))
	in.Receipt = r.receipt("", material{}, "")
	req, err := prompts.Build(in)
	if err != nil {
		return 0, err
	}
	taken := r.tokensOf(req) + boundaryTokens + n*headerTokens
	left := most - taken
	if left <= 0 {
		return 0, &Error{
			Doing: "asking " + r.set.Model, Err: fmt.Errorf("instructions alone take %d tokens, and a request may have %d", taken, most),
			Next: "raise --max-input-tokens, or choose a model with more context",
		}
	}
	m.title = finding.Within(m.title, left/16, r.tokens.Count)
	m.body = finding.Within(m.body, left/8, r.tokens.Count)
	left -= r.tokens.Count(m.title) + r.tokens.Count(m.body)
	m.space = finding.Space{Tokens: left / 2, Replies: left / 8, Count: r.tokens.Count}
	shown := finding.Feedback(m.earlier, m.author, m.space, r.env.Secrets.Redact)
	if shown.Left > 0 {
		r.note("%s had no room in what the model was shown", finding.Count(shown.Left, "older reply", "older replies"))
	}
	m.space.Tokens = shown.Tokens // a part of the earlier findings takes no more
	return left - shown.Tokens, nil
}

// tokensOf is about how many tokens a request takes.
func (r *run) tokensOf(req prompts.Request) int {
	return r.tokens.Count(req.System) + r.tokens.Count(req.Material) + r.tokens.Count(req.Task)
}

// boundaryTokens is how many tokens the codes of boundary lines and receipts may take
// more than what is in their place when a request is measured, and headerTokens is what
// the header of a file takes that is in one more piece.
const (
	boundaryTokens = 200
	headerTokens   = 70
)

// The material of a call is fenced in pieces, with a receipt after each, so that a
// server can't drop much of it unnoticed. These bounds are of the diff's.
const (
	pieceTokens = 2000 // a piece should have more than that
	mostPieces  = 6
)

// pieces divides the files of a part.
func pieces(part budget.Part) [][]diff.File {
	if len(part.Files) == 0 {
		return [][]diff.File{nil} // it is said that there is no diff
	}
	return budget.Pieces(part.Files, piecesOf(part.Tokens))
}

// piecesOf is in how many pieces so many tokens are.
func piecesOf(tokens int) int { return min(max(tokens/pieceTokens, 1), mostPieces) }

// fenced is the material of a call: what people say of the pull request, then its diff.
func fenced(boundary string, m material, label string, pieces [][]diff.File) []string {
	list := []string{untrusted.Fence("title", boundary, m.title) + "\n" + untrusted.Fence("description", boundary, m.body)}
	for i, files := range pieces {
		name := label
		if i > 0 {
			name = fmt.Sprintf("more of the diff, piece %d of %d", i+1, len(pieces))
		}
		list = append(list, untrusted.Fence(name, boundary, rendered(files)))
	}
	return list
}

// receipt is the secret of which a request's receipts are made: the same one for
// every role of the account at a head, so that a server's cache serves them all. ""
// where none are wanted.
func (r *run) receipt(head string, m material, changes string) string {
	if r.set.NoReceipt {
		return ""
	}
	return r.key.Derive("receipt", head, m.title, m.body, changes)
}

func rendered(files []diff.File) string {
	var text strings.Builder
	for _, f := range files {
		text.WriteString(f.Render())
		text.WriteString("\n")
	}
	return text.String()
}

// calls are the requests of a round. An earlier finding is in the one that shows
// its file, and in the first if none does.
func (r *run) calls(m material, s scope, head string) ([]call, error) {
	parts := s.parts
	if len(parts) == 0 {
		parts = []budget.Part{{}} // earlier findings are still to be asked about
	}
	var calls []call
	for i, part := range parts {
		in := r.input()
		changes := rendered(part.Files)
		in.Boundary = untrusted.Boundary(m.title, m.body, changes)
		d := diff.Diff{Files: part.Files}
		n, added, deleted := d.Stat()
		label := fmt.Sprintf("diff of %d files, %d lines added, %d deleted", n, added, deleted)
		in.Material = fenced(in.Boundary, m, label, pieces(part))
		in.Receipt = r.receipt(head, m, changes)
		in.Since, in.Part, in.Parts = s.since, i+1, len(parts)
		var c call
		shown := finding.Feedback(earlierOf(m.earlier, parts, i), m.author, m.space, r.env.Secrets.Redact)
		in.Earlier, c.shown = shown.Text, shown.Has
		var err error
		if c.req, err = prompts.Build(in); err != nil {
			return nil, err
		}
		c.req.Tokens = r.tokensOf(c.req)
		calls = append(calls, c)
	}
	return calls, nil
}

// earlierOf are the earlier findings that the n-th part is asked about.
func earlierOf(earlier []finding.Earlier, parts []budget.Part, n int) []finding.Earlier {
	if len(parts) == 1 {
		return earlier
	}
	at := map[string]int{}
	for i, part := range slices.Backward(parts) {
		for _, f := range part.Files {
			at[f.Path], at[f.OldPath] = i, i
		}
	}
	return slices.DeleteFunc(slices.Clone(earlier), func(e finding.Earlier) bool { return at[e.Place.Path] != n })
}

// ask asks the model, several parts side by side, and sums up what it cost. The
// answers are in the order of the calls; with an error none counts.
func (r *run) ask(ctx context.Context, calls []call) ([]prompts.Answer, error) {
	began := r.env.Now()
	answers, usages := make([]prompts.Answer, len(calls)), make([]Usage, len(calls))
	p := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(max(r.set.Parallel, 1))
	for i, c := range calls {
		p.Go(func(ctx context.Context) (err error) {
			answers[i], usages[i], err = r.env.Model.Review(ctx, c.req)
			return err
		})
	}
	err := p.Wait()
	var total Usage
	if r.result.Usage != nil {
		total = *r.result.Usage // of requests that were too long
	}
	if len(usages) > 0 {
		total.Window = usages[0].Window
	}
	for _, u := range usages {
		total.Calls += u.Calls
		total.Prompt += u.Prompt
		total.Cached += u.Cached
		total.Completion += u.Completion
		total.Window = min(total.Window, u.Window)
		if u.Model != "" && !slices.Contains(strings.Split(total.Model, ", "), u.Model) {
			total.Model = strings.TrimPrefix(total.Model+", "+u.Model, ", ")
		}
	}
	total.Seconds += r.env.Now().Sub(began).Seconds()
	total.Cost = (float64(total.Prompt)*r.set.Price.In + float64(total.Completion)*r.set.Price.Out) / 1e6
	r.result.Usage, r.result.ModelRequests = &total, total.Calls
	return answers, err
}

// merge makes one list of findings of the answers, each anchored in the pull
// request's diff. What two parts of a file both report counts once;
// what one calls graver than the other counts, too: neither knows what the other was shown.
func (r *run) merge(answers []prompts.Answer, s scope, m material, head string) (c finding.Case, summary string) {
	type place struct {
		key  string
		side diff.Side
		line int
		as   prompts.Severity
	}
	newID := r.newIDBeside(m.earlier)
	seen := map[place]int{}
	var summaries []string
	for n, answer := range answers {
		if s.since != "" {
			unnumbered(answer.Findings)
		}
		for _, f := range finding.Anchored(answer, m.diff, head, newID) {
			p := place{f.Key, f.Place.Side, f.Place.Line, f.Severity}
			if first, ok := seen[p]; ok && first != n {
				continue
			}
			seen[p] = n
			c.Fresh = append(c.Fresh, f)
		}
		c.Retained = append(c.Retained, answer.Retained...)
		c.Closed = append(c.Closed, answer.Closed...)
		if text := strings.TrimSpace(answer.Summary); text != "" {
			summaries = append(summaries, text)
		}
	}
	return c, strings.Join(summaries, " ")
}

// unnumbered drops the numbers of deleted lines, which count in the commit that
// was reviewed before and not in the pull request's base: their code has to do.
func unnumbered(findings []prompts.Finding) {
	for i, f := range findings {
		if f.Side == string(diff.Old) {
			findings[i].Line, findings[i].EndLine = 0, 0
		}
	}
}

// spentField is the sentinel's field that holds how many tokens the role has spent on
// the pull request so far, since there is a bound. What runs spent that failed isn't in it.
const spentField = "spent"

// spent is the field's value once the role has asked; "" where nobody wants to know, as each answer would change it.
func (r *run) spent(log escalation.Log) string {
	if r.set.MaxSpent == 0 {
		return ""
	}
	return strconv.Itoa(spentBefore(log, r.set.Role) + r.result.Usage.Prompt + r.result.Usage.Completion)
}

func spentBefore(log escalation.Log, role string) int {
	cur, _ := log.Current(role)
	n, err := strconv.Atoi(field(cur.Sentinel, spentField))
	if err != nil {
		return 0 // an earlier release's
	}
	return n
}

// clean masks secrets in what the model said, before any of it is published,
// and counts them. A name that the diff has stays what it is, or its file wouldn't be found.
func clean(a prompts.Answer, d diff.Diff, secrets *untrusted.Masker) (prompts.Answer, int) {
	total := 0
	mask := func(s *string) {
		var n int
		*s, n = secrets.MaskMarkdown(*s)
		total += n
	}
	mask(&a.Summary)
	for i := range a.Findings {
		f := &a.Findings[i]
		if file, known := d.File(f.Path); known && f.Path != file.OldPath {
			f.Path = file.Path
		} else if !known {
			mask(&f.Path)
		}
		for _, s := range []*string{&f.Quote, &f.Title, &f.Body, &f.Suggestion} {
			mask(s)
		}
	}
	return a, total
}

// shortened cuts a text that nobody has bounded.
func shortened(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "\n(cut here)"
}
