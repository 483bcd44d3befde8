package finding

import (
	"strings"

	"review-bot/sentinel"
)

// Prose is what an inline comment says to people: of one that carries a finding, or
// a reply of the program's, the text without the marker and the small print.
// title is the finding's; "" if it is none. Anybody can write a marker, so a
// comment that isn't the account's may be given in part.
func Prose(text string) (title, prose string) {
	if _, rest, ok := sentinel.FindReply(text); ok {
		return "", rest
	}
	_, rest, ok := marker(text)
	if !ok {
		return "", text
	}
	rest = unfolded(rest)
	var e Earlier
	e.words(rest)
	return e.Title, strings.TrimSpace(smallLine.ReplaceAllString(strings.TrimRight(rest, " \t\r\n"), ""))
}
