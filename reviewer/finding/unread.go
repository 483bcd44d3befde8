package finding

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"review-bot/reviewer/untrusted"
)

// Unread is a file that was not reviewed, or not all of it.
type Unread struct {
	Path string
	Why  string // for people
	// Allow is the glob by which the operator may leave the file out; empty if there is none.
	Allow string
	// LeftOut says that it needn't be read: the base branch or the operator say so, or it can hold no code.
	// All others keep a role from approving.
	LeftOut bool
}

// NotRead counts the files that should have been read and weren't.
func NotRead(files []Unread) int {
	seen := map[string]bool{}
	for _, f := range files {
		if !f.LeftOut {
			seen[f.Path] = true
		}
	}
	return len(seen)
}

// unread lists the files that weren't read, every one by its name as far as room characters go: with the line
// that allows it, else with its cause, else by its name alone.
func (r Report) unread(room int) string {
	var files []Unread
	for _, f := range r.Unread {
		if !f.LeftOut {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return ""
	}
	begin := fmt.Sprintf("<details><summary>Not read (%s): no approval covers these</summary>\n\n",
		Count(NotRead(files), "file", "files"))
	const (
		end     = "\n</details>"
		explain = "A line in backquotes, below `ignore:` in `.review-bot.yaml` of the base branch, leaves the file out.\n\n"
	)
	room -= utf8.RuneCountInString(begin + end + explain)
	if rows := rowsOf(files, true); utf8.RuneCountInString(rows) <= room {
		if slices.ContainsFunc(files, func(f Unread) bool { return f.Allow != "" }) {
			begin += explain
		}
		return begin + rows + end
	}
	if rows := rowsOf(files, false); utf8.RuneCountInString(rows) <= room {
		return begin + rows + end
	}
	return begin + namesOf(files, room) + end
}

func rowsOf(files []Unread, allow bool) string {
	var b strings.Builder
	said := map[string]bool{}
	for _, f := range files {
		fmt.Fprintf(&b, "- %s: %s", named(f.Path), f.Why)
		if allow && f.Allow != "" && !said[f.Allow] {
			said[f.Allow] = true
			b.WriteString(" · " + untrusted.CodeSpan(f.Line()))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Line is the line, of the list of globs in the configuration, that leaves the file out.
func (f Unread) Line() string {
	return "- '" + strings.ReplaceAll(f.Allow, "'", "''") + "'"
}

func named(path string) string {
	if text := untrusted.CodeSpan(path); text != "" {
		return text
	}
	return "(a name of blanks)"
}

// namesOf lists names alone, and counts those that have no room.
func namesOf(files []Unread, room int) string {
	const more = "- and %d more had no room here; the job's JSON output has them all\n"
	var b strings.Builder
	room -= len(more) + 10
	seen := map[string]bool{}
	for i, f := range files {
		if seen[f.Path] {
			continue
		}
		seen[f.Path] = true
		row := "- " + named(f.Path) + "\n"
		if room -= utf8.RuneCountInString(row); room < 0 {
			fmt.Fprintf(&b, more, NotRead(files)-NotRead(files[:i]))
			break
		}
		b.WriteString(row)
	}
	return b.String()
}

// leftOut lists what needn't be read.
func (r Report) leftOut() string {
	var rows []string
	for _, f := range r.Unread {
		if f.LeftOut {
			rows = append(rows, fmt.Sprintf("- %s: %s\n", named(f.Path), f.Why))
		}
	}
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<details><summary>Left out (%s)</summary>\n\n", Count(len(rows), "file", "files"))
	room := maxLeftOut
	for i, row := range rows {
		if room -= utf8.RuneCountInString(row); i == maxRows || room < 0 {
			fmt.Fprintf(&b, "- and %d more\n", len(rows)-i)
			break
		}
		b.WriteString(row)
	}
	b.WriteString("\n</details>")
	return b.String()
}

// maskedNote says that not all was shown as it is.
func (r Report) maskedNote() string {
	if r.Masked == 0 {
		return ""
	}
	what := Count(r.Masked, "value that looks like a secret was", "values that look like secrets were")
	return what + " masked before the model saw the change."
}
