package finding

import (
	"regexp"
	"strconv"
	"strings"

	"review-bot/sentinel"
)

// What is read off the texts that comment.go and body.go write.
var (
	belowTitle = regexp.MustCompile(`(?m)^\*\*\d+ of \d+ findings? without a line in the diff\*\*$`)
	titleLine  = regexp.MustCompile(`^\*\*[^*]+\*\* — (.+)$`)
	smallLine  = regexp.MustCompile(`\n\n<sub>[^\n]*</sub>$`)
	placeLines = regexp.MustCompile(`^(.*):(\d+)(?:-(\d+))?$`)
)

// inBody recalls the findings that stand in the text of the role's review: each
// from behind the one before up to its marker. The first title of their part is
// ours: Report.Text sees to it that none stands above.
func (m Memory) inBody() []Earlier {
	var list []Earlier
	_, below, _ := cutAt(belowTitle, strings.ReplaceAll(m.Body, "\r\n", "\n"))
	var text []string
	for line := range strings.SplitSeq(below, "\n") {
		mark, err := sentinel.ParseMarker(strings.TrimRight(line, " \t\r"))
		if err != nil {
			text = append(text, line)
			continue
		}
		if mark.Role == m.Role && mark.Version > 0 {
			e := Earlier{Finding: Finding{Where: InBody, URL: m.BodyURL}, Status: Open}
			e.read(mark)
			e.published = strings.Trim(strings.Join(text, "\n"), "\n")
			e.words(e.published)
			e.located(e.published)
			list = append(list, e)
		}
		text = nil
	}
	return list
}

// cutAt is strings.Cut at what a pattern matches first.
func cutAt(re *regexp.Regexp, s string) (before, after string, found bool) {
	at := re.FindStringIndex(s)
	if at == nil {
		return s, "", false
	}
	return s[:at[0]], s[at[1]:], true
}

// words reads title and text as they were published.
func (e *Earlier) words(text string) {
	text = strings.TrimSpace(smallLine.ReplaceAllString(strings.TrimRight(text, " \t\r\n"), ""))
	first, rest, _ := strings.Cut(text, "\n")
	if m := titleLine.FindStringSubmatch(first); m != nil {
		first = m[1]
	}
	e.Title, e.Body = first, strings.TrimSpace(rest)
}

// located reads the place off the last line of a finding in the body.
func (e *Earlier) located(text string) {
	place, reason, ok := codeSpan(text[strings.LastIndexByte(text, '\n')+1:])
	if !ok || !strings.HasPrefix(reason, ": ") {
		return
	}
	if m := placeLines.FindStringSubmatch(place); m != nil && m[2] == strconv.Itoa(e.Place.Line) {
		place = m[1]
		e.Place.EndLine, _ = strconv.Atoi(m[3])
	}
	e.Place.Path, e.OldPath = place, place
}

// codeSpan reads the code span that a line begins with, as untrusted.CodeSpan
// makes them: the content has no run of backticks as long as the delimiter.
func codeSpan(line string) (content, rest string, ok bool) {
	n := len(line) - len(strings.TrimLeft(line, "`"))
	if n == 0 {
		return "", line, false
	}
	for i := n; i < len(line); {
		run := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
		if run == n {
			content = line[n:i]
			if inner, padded := strings.CutPrefix(content, " "); padded && strings.HasSuffix(inner, " ") {
				content = strings.TrimSuffix(inner, " ")
			}
			return content, line[i+n:], true
		}
		i += max(run, 1)
	}
	return "", line, false
}
