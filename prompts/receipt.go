package prompts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Model servers cut what is too long for them, at the front or in the middle, and
// say nothing: a model that was given the last tenth of a diff finds nothing in the
// rest. So codes that can't be guessed are spread over a request, and an answer that
// doesn't repeat them all is no answer.

// Unread is the error for an answer of a model that hasn't read all of the request.
type Unread struct {
	Missing, Of int // codes
}

func (u *Unread) Error() string {
	return fmt.Sprintf("the receipt lacks %d of the %d codes, so the model wasn't given the whole request, or can't copy", u.Missing, u.Of)
}

// marks hands out the receipts of a request.
type marks struct {
	secret string
	codes  []string
}

// next is a paragraph with the next receipt; "" without a secret.
func (m *marks) next() string {
	if m.secret == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s", len(m.codes), m.secret))
	code := hex.EncodeToString(sum[:4])
	m.codes = append(m.codes, code)
	return fmt.Sprintf("Receipt %c: %s\n\n", 'A'+len(m.codes)-1, code)
}

var codeWords = regexp.MustCompile(`[0-9A-Fa-f]{8,}`)

// unread is how many codes the answer lacks. Their order and what is between them
// say nothing about what was read.
func (r Request) unread(a Answer) int {
	given := codeWords.FindAllString(strings.ToLower(a.Receipt), -1)
	missing := 0
	for _, code := range r.Codes {
		if !slices.Contains(given, code) {
			missing++
		}
	}
	return missing
}

// withoutCodes returns the answer without the codes, wherever the model wrote them:
// people have no use for them, and what is published may be read by those who would
// have them forged.
func (r Request) withoutCodes(a Answer) Answer {
	a.Receipt = ""
	if len(r.Codes) == 0 {
		return a
	}
	var pairs []string
	for _, code := range r.Codes {
		pairs = append(pairs, code, "(receipt)", strings.ToUpper(code), "(receipt)")
	}
	remove := strings.NewReplacer(pairs...).Replace
	a.Summary = remove(a.Summary)
	a.Findings = slices.Clone(a.Findings)
	for i := range a.Findings {
		f := &a.Findings[i]
		for _, text := range []*string{&f.Quote, &f.Title, &f.Body, &f.Suggestion} {
			*text = remove(*text)
		}
	}
	return a
}
