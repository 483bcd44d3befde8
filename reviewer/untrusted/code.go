package untrusted

import "strings"

// maxInfo is how long a fence's language may be; the longest in use are shorter.
const maxInfo = 24

// CodeFence returns a fenced code block at column 0, ending with a newline. The
// caller sees to the blank lines around it.
//
// The fence is longer than any run of backticks in code. Invisible characters
// are shown as \u{202E}, comment openers are broken. Of info only the first
// word stays, if it is a plausible language name; languages that the server
// draws instead of showing (mermaid, math) become "text". Line count is kept,
// apart from newlines at the end.
func CodeFence(info, code string) string {
	code = strings.TrimRight(BreakMarkers(show(code)), "\n")
	fence := strings.Repeat("`", max(3, longestRun(code, '`')+1))
	if code != "" {
		code += "\n"
	}
	return fence + language(info) + "\n" + code + fence + "\n"
}

// CodeSpan returns s as an inline code span on one line, for paths and names.
// White space is folded, invisible characters are shown, comment openers are
// broken. Nothing visible in s gives "". Not for table cells: see [CellCode].
//
// A span directly next to another backtick would change its meaning: put
// something between two spans.
func CodeSpan(s string) string {
	return span(fold(show(s)))
}

// CellCode is [CodeSpan] for a table cell, where "|" is escaped. Where a
// backslash stands before a "|" parsers disagree about the escape; such text is
// returned as plain text instead of code, just as safe.
func CellCode(s string) string {
	s = fold(show(s))
	if !strings.Contains(s, "|") {
		return span(s)
	}
	if strings.Contains(s, `\|`) {
		w := writer{style: style{title: true}}
		w.code(s)
		w.flush()
		return string(w.buf)
	}
	return strings.ReplaceAll(span(s), "|", `\|`)
}

// span quotes one line as code, with the shortest delimiter that content has no
// run of: a span that starts a line with three backticks is still a span to
// CommonMark, but the less it looks like a fence the better.
func span(content string) string {
	content = BreakMarkers(content)
	if strings.TrimSpace(content) == "" {
		return ""
	}
	runs := map[int]bool{}
	for i := 0; i < len(content); {
		n := runLength(content[i:], '`')
		runs[n] = true
		i += max(n, 1)
	}
	n := 1
	for runs[n] {
		n++
	}
	first, last := content[0], content[len(content)-1]
	if first == '`' || last == '`' || first == ' ' && last == ' ' || addressLike(content) {
		content = " " + content + " "
	}
	delimiter := strings.Repeat("`", n)
	return delimiter + content + delimiter
}

// addressLike reports whether a linkifier might take what stands before the span,
// its backticks and the start of content for one mail address: backticks are
// allowed in the local part, so in "x`a@b.c @bob`" the address x`a@b.c would
// swallow the opening backtick and set @bob free. A space inside stops it, and
// isn't shown.
func addressLike(content string) bool {
	at := strings.IndexByte(content, '@')
	if at < 0 || !strings.Contains(content[at:], ".") {
		return false
	}
	for i := range at {
		if c := content[i]; !isAlnum(rune(c)) && strings.IndexByte(".!#$%&'*+/=?^_`{|}~-", c) < 0 {
			return false
		}
	}
	return true
}

// language is the first word of a fence's info string if it can be one.
func language(info string) string {
	word, _, _ := strings.Cut(fold(info), " ")
	if len(word) > maxInfo {
		return ""
	}
	for _, r := range word {
		if !isAlnum(r) && !strings.ContainsRune("+-_.#", r) {
			return ""
		}
	}
	switch strings.ToLower(word) {
	case "mermaid", "math", "katex", "latex-math":
		return "text"
	}
	return word
}

// runLength counts how often c stands at the start of s.
func runLength(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

func longestRun(s string, c byte) int {
	longest, n := 0, 0
	for i := range len(s) {
		if s[i] != c {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

// isAlnum is ASCII only, as the server's patterns are.
func isAlnum(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || isDigit(r)
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isPunct(r rune) bool {
	return r > ' ' && r < 0x7F && !isAlnum(r)
}
