package sentinel

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// A body is, in this order: the notice of an escalation, if any; the text; the
// usage line, if any; the sentinel. Blocks are separated by an empty line.

const (
	noticePrefix = "> **Held by "
	usagePrefix  = "<sub>"
	usageSuffix  = "</sub>"
)

// Body is a review's body taken apart.
type Body struct {
	Notice string // block that says which sibling holds the account, or ""
	Text   string // what the role says; this alone is hashed
	Usage  string // small line with model and tokens, or ""
}

// String puts the blocks together, without a sentinel.
func (b Body) String() string {
	var parts []string
	for _, part := range []string{b.Notice, b.Text, b.Usage} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "\n\n")
}

// With puts the blocks and the sentinel together into what is published. It
// sets the sentinel's hash to that of the text and signs it.
func (b Body) With(s Sentinel, key Key) string {
	s.Body = Hash(b.Text)
	s = key.Sign(s)
	return b.String() + "\n\n" + s.String()
}

// Split takes a published body apart. The sentinel is looked for on the last
// line only; the error is ErrNone where that line isn't one. The blocks are
// returned even then.
func Split(body string) (Body, Sentinel, error) {
	body = strings.TrimRight(strings.ReplaceAll(body, "\r\n", "\n"), " \t\n")
	rest, line := "", body
	if i := strings.LastIndexByte(body, '\n'); i >= 0 {
		rest, line = body[:i], body[i+1:]
	}
	s, err := Parse(line)
	if err != nil {
		return blocks(body), Sentinel{}, err
	}
	return blocks(rest), s, nil
}

func blocks(text string) Body {
	var b Body
	text = strings.Trim(text, "\n")
	if strings.HasPrefix(text, noticePrefix) {
		b.Notice, text, _ = strings.Cut(text, "\n\n")
		text = strings.TrimLeft(text, "\n")
	}
	if i := strings.LastIndex(text, "\n\n"); i >= 0 || strings.HasPrefix(text, usagePrefix) {
		last := strings.TrimLeft(text[max(i, 0):], "\n")
		if strings.HasPrefix(last, usagePrefix) && strings.HasSuffix(last, usageSuffix) && !strings.Contains(last, "\n") {
			b.Usage, text = last, strings.TrimRight(text[:max(i, 0)], "\n")
		}
	}
	b.Text = text
	return b
}

// Notice is the first block of an escalated review: who holds the account, with
// a link to that review, and what the role itself found.
func Notice(sibling, url, role, found string) string {
	return fmt.Sprintf(noticePrefix+"%s**: this account stays at “changes requested” because of [%s's review](%s). %s itself %s.",
		sibling, sibling, url, role, found)
}

// Hash is what the sentinel's body field holds: a fingerprint of the text, by
// which an edit by a person is noticed. White space at line ends and the form of
// line ends don't count.
func Hash(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	sum := sha256.Sum256([]byte(strings.Trim(strings.Join(lines, "\n"), "\n")))
	return hex.EncodeToString(sum[:8])
}

// Key signs the sentinels of one account on one pull request.
type Key struct{ secret []byte }

// NewKey derives a key from the account's token, so that no further secret is
// needed. repo is owner/name.
func NewKey(token, repo string, pull int64) Key {
	h := hmac.New(sha256.New, []byte(token))
	fmt.Fprintf(h, "review-bot sentinel\n%s\n%d\n", strings.ToLower(repo), pull)
	return Key{h.Sum(nil)}
}

// Derive returns a code of 64 hex digits over the parts that nobody can know who
// doesn't have the key. Each use has a label of its own.
func (k Key) Derive(label string, parts ...string) string {
	h := hmac.New(sha256.New, k.secret)
	fmt.Fprintf(h, "review-bot %s\n", label)
	for _, part := range parts {
		fmt.Fprintf(h, "%d\n%s\n", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Sign returns s with the code over all its other fields.
func (k Key) Sign(s Sentinel) Sentinel {
	s.MAC = k.code(s)
	return s
}

// Verify tells whether s carries the code that Sign would give it.
func (k Key) Verify(s Sentinel) bool {
	return s.MAC != "" && hmac.Equal([]byte(s.MAC), []byte(k.code(s)))
}

func (k Key) code(s Sentinel) string {
	s.MAC = ""
	h := hmac.New(sha256.New, k.secret)
	h.Write([]byte(s.String()))
	return hex.EncodeToString(h.Sum(nil)[:16])
}
