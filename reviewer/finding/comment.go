package finding

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"review-bot/reviewer/diff"
	"review-bot/reviewer/untrusted"
	"review-bot/sentinel"
)

// Inline is the text of a finding's inline comment, its marker included.
func (f Finding) Inline(role string, key sentinel.Key) string {
	return f.inline(role) + "\n\n" + f.Marker(role, key).String()
}

// inline is the text without the marker.
func (f Finding) inline(role string) string {
	return f.text() + f.deleted() + fmt.Sprintf("\n\n<sub>%s · %s · answer here; a fix closes this by itself</sub>", role, f.ID)
}

// deleted quotes the deleted lines of a renamed file. The server would show
// others above the comment: it cuts them from a diff of the new name alone, in
// which the whole file is new.
func (f Finding) deleted() string {
	if f.Place.Side != diff.Old || f.OldPath == f.Place.Path {
		return ""
	}
	if _, shown := f.suggestion(); shown {
		return ""
	}
	from := "\n\nDeleted from " + untrusted.CodeSpan(f.OldPath)
	code := f.minus()
	if code == "" {
		return from + "."
	}
	return from + ":\n\n" + strings.TrimRight(untrusted.CodeFence("diff", code), "\n")
}

// minus are the lines at the finding's place as a diff shows deleted ones, or ""
// if they are too many to be shown: a finding may stretch over a whole file.
func (f Finding) minus() string {
	var b strings.Builder
	for _, line := range f.Code {
		b.WriteString("- " + line + "\n")
	}
	if b.Len() > maxText {
		return ""
	}
	return b.String()
}

// text is the finding in Markdown, fit to be published.
func (f Finding) text() string {
	if f.published != "" {
		return publishedAs.ReplaceAllString(f.published, "${1}"+f.severity()+"${2}")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**%s · %s** — %s", f.severity(), strings.ReplaceAll(f.Category, "_", " "), f.title())
	if body := untrusted.Markdown(bounded(f.Body, maxText)); body != "" {
		b.WriteString("\n\n" + body)
	}
	if s, _ := f.suggestion(); s != "" {
		b.WriteString("\n\n" + s)
	}
	return b.String()
}

// publishedAs is the severity in a finding's text, see text; it may have got worse.
var publishedAs = regexp.MustCompile(`^(\*\*)[a-z]+( · )`)

// severity is the finding's severity for people.
func (f Finding) severity() string {
	if f.Severity == "" {
		return "unknown"
	}
	return string(f.Severity)
}

// suggestion shows the replacement, and tells whether the exact lines that it
// replaces stand next to it.
func (f Finding) suggestion() (text string, besideOld bool) {
	code := strings.Trim(f.Suggestion, "\r\n")
	if strings.TrimSpace(code) == "" {
		return "", false
	}
	if len(code) > maxText {
		return fmt.Sprintf("(a suggestion of %s is left out: too long)", Count(strings.Count(code, "\n")+1, "line", "lines")), false
	}
	replaced := f.minus()
	if replaced == "" {
		return "Suggested instead:\n\n" + strings.TrimRight(untrusted.CodeFence("", code), "\n"), false
	}
	var b strings.Builder
	b.WriteString(replaced)
	for line := range strings.Lines(code) {
		b.WriteString("+ " + strings.TrimRight(line, "\r\n") + "\n")
	}
	return strings.TrimRight(untrusted.CodeFence("diff", b.String()), "\n"), true
}

// bounded cuts a text of the model.
func bounded(s string, most int) string { return cut(s, most, "(cut here: the model wrote more)") }

// cut cuts a text at a line's end before it grows past most characters, and says
// so.
func cut(s string, most int, note string) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	short := string([]rune(s)[:most])
	if i := strings.LastIndexByte(short, '\n'); i > most/2 {
		short = short[:i]
	}
	return short + "\n\n" + note
}
