package untrusted

import (
	"regexp"
	"strings"
)

var (
	keyBegin = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----`)
	keyEnd   = regexp.MustCompile(`-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----`)

	// keyMargin is what a diff, a quoted reply or a source file puts before a
	// line of a key: line-number columns, a diff sign, "> ", quotes.
	keyMargin = regexp.MustCompile("^[ \t>|]*(?:[0-9]+[ \t|:]+){0,2}[-+ ]?[ \t]*[\"'`]?")

	// keyLine is base64, a PEM or PGP header, or nothing, and what a source file
	// puts behind it: an escaped newline, a quote, a plus, a comma.
	keyLine = regexp.MustCompile("^([A-Za-z0-9+/=]*|[A-Z][A-Za-z-]{2,20}: .*)(?:\\\\r)?(?:\\\\n)?[\"'`]?[ \t]*[+.,;\\\\)]*[ \t\r]*$")
)

// shortKeyLine: fewer characters may be a word or a brace and not key material.
const shortKeyLine = 16

// maskKeys masks private keys line by line: the block from BEGIN to END, what
// follows a BEGIN as long as it looks like a key, and what stands before an END
// whose BEGIN was cut off with the context of a hunk.
func maskKeys(s string) (string, int) {
	if !strings.Contains(s, "PRIVATE KEY") {
		return s, 0
	}
	lines := strings.Split(s, "\n")
	const key = "private key"
	count, floor := 0, 0 // lines before floor are done
	for i := 0; i < len(lines); i++ {
		begin, end := keyBegin.FindStringIndex(lines[i]), keyEnd.FindStringIndex(lines[i])
		switch {
		case begin != nil && end != nil && begin[1] <= end[0]:
			if hasKey(lines[i][begin[1]:end[0]]) {
				lines[i] = lines[i][:begin[0]] + maskText(key) + lines[i][end[1]:]
				count++
				i-- // there may be another one on the line
				continue
			}
			// BEGIN and END as words of a sentence or a pattern: no key
		case begin != nil:
			last := keyExtent(lines, i)
			inline := hasKey(lines[i][begin[1]:])
			if last == i && !inline {
				break // the words alone
			}
			rest := ""
			if !inline {
				rest = trailing(lines[i][begin[1]:])
			}
			lines[i] = lines[i][:begin[0]] + maskText(key) + rest
			for j := i + 1; j <= last; j++ {
				lines[j] = maskLine(lines[j], key)
			}
			count++
			i, floor = last, last+1
		case end != nil:
			first := i
			for first > floor && len(payload(lines[first-1])) >= 40 {
				first--
			}
			if first == i {
				break
			}
			for j := first; j <= i; j++ {
				lines[j] = maskLine(lines[j], key)
			}
			count++
			floor = i + 1
		}
	}
	return strings.Join(lines, "\n"), count
}

// keyExtent returns the last line of the key whose BEGIN is on lines[i]; i
// itself if no line of a key follows.
func keyExtent(lines []string, i int) int {
	last := i
	for j := i + 1; j < len(lines); j++ {
		if keyEnd.MatchString(lines[j]) {
			return j
		}
		if keyBegin.MatchString(lines[j]) {
			break
		}
		margin := keyMargin.FindString(lines[j])
		m := keyLine.FindStringSubmatch(lines[j][len(margin):])
		if m == nil {
			break
		}
		switch n := len(m[1]); {
		case n >= shortKeyLine || strings.HasSuffix(m[1], "="):
			last = j
		case n == 0: // blank, as behind PGP headers
		case j+1 < len(lines) && keyEnd.MatchString(lines[j+1]):
		default:
			return last
		}
	}
	return last
}

// payload returns the base64 of a line that holds nothing else.
func payload(line string) string {
	m := keyLine.FindStringSubmatch(line[len(keyMargin.FindString(line)):])
	if m == nil || strings.Contains(m[1], ":") {
		return ""
	}
	return m[1]
}

// hasKey reports whether what stands between the markers on one line, newlines
// written as \n, is long enough to be key material.
func hasKey(s string) bool {
	s = strings.NewReplacer(`\r`, "", `\n`, "").Replace(s)
	return longestBase64(s) >= shortKeyLine
}

func longestBase64(s string) int {
	longest, n := 0, 0
	for i := range len(s) {
		if c := s[i]; isAlnum(rune(c)) || c == '+' || c == '/' || c == '=' {
			n++
			longest = max(longest, n)
			continue
		}
		n = 0
	}
	return longest
}

// maskLine keeps the margin, so that a diff line stays one.
func maskLine(line, key string) string {
	margin := keyMargin.FindString(line)
	if end := keyEnd.FindStringIndex(line); end != nil {
		if longestBase64(line[:end[0]]) < shortKeyLine {
			margin = line[:end[0]]
		}
		return margin + maskText(key) + trailing(line[end[1]:])
	}
	if strings.TrimSpace(line[len(margin):]) == "" {
		return line
	}
	return margin + maskText(key)
}

// trailing keeps what source code has behind a marker, such as `\n" +`.
func trailing(s string) string {
	if hasKey(s) {
		return ""
	}
	return s
}
