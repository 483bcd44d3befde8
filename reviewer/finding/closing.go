package finding

import (
	"fmt"
	"strings"

	"review-bot/sentinel"
)

// Where a server can't close a conversation, the account edits its comment: a
// line that says so, what it said before folded below, the marker last.
const (
	fixedIn   = "**Fixed** in %.7s."
	fixedOpen = "\n\n<details><summary>What it said</summary>\n\n"
	fixedEnd  = "\n\n</details>"
)

// Closed is the text of an inline comment of the account, edited to say that the
// finding is fixed at head. A text that says so already, or that carries no
// marker, stays as it is.
func Closed(text, head string, key sentinel.Key) string {
	was, rest, ok := marker(text)
	if !ok || was.Closed {
		return text
	}
	m := was
	m.Closed = true
	return remarked(fmt.Sprintf(fixedIn, head)+fixedOpen+rest+fixedEnd, m, key, key.VerifyMarker(was, rest))
}

// Opened reverses Closed.
func Opened(text string, key sentinel.Key) string {
	was, rest, ok := marker(text)
	if !ok || !was.Closed {
		return text
	}
	m := was
	m.Closed = false
	return remarked(unfolded(rest), m, key, key.VerifyMarker(was, rest))
}

// remarked is a text with the marker m under it, made of another one. A severity
// that a person may have written there is left out, which counts as the worst: the
// code must not vouch for it.
func remarked(text string, m sentinel.Marker, key sentinel.Key, vouched bool) string {
	if !vouched {
		m.Severity = ""
	}
	return text + "\n\n" + key.SignMarker(m, text).String()
}

// Vouched tells whether a comment is, to the letter, as the account wrote it with
// this key.
func Vouched(text string, key sentinel.Key) bool {
	m, rest, ok := marker(text)
	return ok && key.VerifyMarker(m, rest)
}

// unfolded is the text that Closed folded.
func unfolded(text string) string {
	if _, inner, ok := strings.Cut(text, fixedOpen); ok {
		return strings.TrimSuffix(inner, fixedEnd)
	}
	return text
}

// Masked is the text of an inline comment of the account after mask, signed as it then is.
func Masked(text string, mask func(string) string, key sentinel.Key) string {
	m, rest, ok := marker(text)
	if !ok {
		return mask(text)
	}
	if masked := mask(rest); masked != rest {
		return remarked(masked, m, key, true)
	}
	return text
}
