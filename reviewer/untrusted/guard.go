package untrusted

import (
	"slices"
	"strings"
)

// guard makes an inline-safe line safe at the start of a line, where a
// character may open a block: a list, a quote, a heading, a rule, the underline
// of a heading, the delimiter row of a table, a definition. It puts in at most
// one backslash and says where, or -1.
func guard(line string) (string, int) {
	at := opener(line)
	if at < 0 {
		return line, -1
	}
	return line[:at] + `\` + line[at:], at
}

// opener returns the offset of the character to escape, or -1.
func opener(line string) int {
	if line == "" {
		return -1
	}
	rest := func(i int) bool { return i >= len(line) || line[i] == ' ' }
	// rules, underlines and delimiter rows are made of these alone
	if strings.Trim(line, "-|: \t") == "" || strings.Trim(line, "= ") == "" ||
		strings.Trim(line, "* ") == "" || strings.Trim(line, "_ ") == "" {
		return 0
	}
	switch c := line[0]; c {
	case '-', '+', '*', ':':
		if rest(1) {
			return 0
		}
	case '>':
		return 0
	case '#':
		if n := runLength(line, '#'); n <= 6 && rest(n) {
			return 0
		}
	default:
		digits := 0
		for digits < len(line) && isDigit(rune(line[digits])) {
			digits++
		}
		if digits > 0 && digits < len(line) && (line[digits] == '.' || line[digits] == ')') && rest(digits+1) {
			return digits
		}
	}
	return -1
}

// isRule reports whether body is a thematic break.
func isRule(body string) bool {
	squeezed := strings.ReplaceAll(body, " ", "")
	return len(squeezed) >= 3 && slices.Contains([]byte("-*_"), squeezed[0]) &&
		runLength(squeezed, squeezed[0]) == len(squeezed)
}
