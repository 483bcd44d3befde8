package untrusted

import "strings"

// BreakMarkers puts a space into every HTML comment opener: "< !--". A hidden
// marker of the bot is an HTML comment, so text that went through here can't
// be read as one, wherever it is pasted. Markdown, Line, CodeFence, CodeSpan
// and CellCode include it; use it for text published in any other way.
//
// It looks at the bytes as they are. Text whose invisible characters are
// removed later must be cleaned before.
func BreakMarkers(s string) string {
	return strings.ReplaceAll(s, "<!--", "< !--")
}
