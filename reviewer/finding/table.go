package finding

import (
	"crypto/sha1" //nolint:gosec // the server names files by it
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"review-bot/reviewer/diff"
	"review-bot/reviewer/untrusted"
)

func (r Report) table() string {
	if len(r.Findings) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| | finding | where |\n|---|---|---|")
	room := maxTable
	for i, f := range r.Findings {
		row := fmt.Sprintf("\n| %s | %s | %s |", f.standing(), r.title(f), r.where(f))
		room -= utf8.RuneCountInString(row)
		if i == maxRows || room < 0 {
			fmt.Fprintf(&b, "\n\n%s more in the comments and below.", Count(len(r.Findings)-i, "finding", "findings"))
			break
		}
		b.WriteString(row)
	}
	return b.String()
}

// standing is a finding's severity, and whether people know it already.
func (f Finding) standing() string {
	text := f.severity()
	switch {
	case f.State == Retained && !f.sameHead: // else nobody has had the time to do anything about it
		text += " · still open"
	case f.State == Reopened:
		text += " · back again"
	default:
	}
	if f.Doubted {
		text += " · in doubt"
	}
	return text
}

// doubts says of the findings that the model left out why they are open all the
// same, and what closes them.
func (r Report) doubts() string {
	inline, below := 0, 0
	for _, f := range r.Findings {
		switch {
		case f.Doubted && f.Where == Inline:
			inline++
		case f.Doubted:
			below++
		}
	}
	if inline+below == 0 {
		return ""
	}
	text := "In doubt: the reviewer now doubts this, but no change since fixes it."
	if inline > 0 {
		text += " Reply in the conversation to close it, as the pull request's author or with write access."
	}
	if below > 0 {
		text += " A finding without a conversation is closed by a change of its code; or a maintainer dismisses this review."
	}
	return text
}

// title links a finding to its conversation.
func (r Report) title(f Finding) string { return linked(f.title(), r.conversation(f)) }

// title is the finding's title, fit to be published, on one line.
func (f Finding) title() string {
	if title := untrusted.Line(f.Title, maxTitle); title != "" {
		return title
	}
	return "(no title)"
}

// linked links a text, fit to be published, if the address is one of a web page.
// Nothing in an address can end the link or the table's cell.
func linked(text, address string) string {
	if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") {
		return text
	}
	var b strings.Builder
	for i := range len(address) {
		c := address[i]
		if strings.IndexByte("-._~:/?#@!$&'*+,=%", c) >= 0 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return fmt.Sprintf("[%s](%s)", text, b.String())
}

// conversation is the address of a finding's conversation. One that is published
// along with the body has none yet; but it stands beside its line among the
// changed files, whose lines have addresses made of the path.
func (r Report) conversation(f Finding) string {
	switch {
	case f.URL != "" && f.Where == Inline:
		return f.URL
	case f.Where != Inline || r.Pull == "" || f.Place.Line <= 0:
		return ""
	}
	side := "R"
	if f.Place.Side == diff.Old {
		side = "L"
	}
	name := sha1.Sum([]byte(f.Place.Path)) //nolint:gosec // the server's name for it
	return fmt.Sprintf("%s/files#diff-%x%s%d", r.Pull, name, side, f.Place.Line)
}

// closed lists what doesn't count any more, or doesn't count for a person's sake.
func (r Report) closed() string {
	var blocks []string
	for _, group := range []struct {
		title string
		list  []Finding
	}{
		{"Closed since the last round", r.Resolved},
		{"Answered, no longer counted", r.Answered},
		{"Waived by a maintainer", r.Waived},
	} {
		if len(group.list) == 0 {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "<details><summary>%s (%d)</summary>\n\n", group.title, len(group.list))
		room := maxClosed
		for i, f := range group.list {
			row := fmt.Sprintf("- %s\n", strings.TrimSuffix(r.title(f)+" · "+untrusted.CodeSpan(location(f)), " · ")+fixedBy(f))
			if room -= utf8.RuneCountInString(row); i == maxRows || room < 0 {
				fmt.Fprintf(&b, "- and %d more\n", len(group.list)-i)
				break
			}
			b.WriteString(row)
		}
		b.WriteString("\n</details>")
		blocks = append(blocks, b.String())
	}
	return strings.Join(blocks, "\n\n")
}

// fixedBy names the change that the model took for the fix.
func fixedBy(f Finding) string {
	if place := untrusted.CodeSpan(bounded(f.FixedBy, maxTitle)); place != "" {
		return " · fixed by " + place
	}
	return ""
}

// where is a finding's place as a table cell.
func (r Report) where(f Finding) string {
	place := untrusted.CellCode(location(f))
	if strings.HasPrefix(place, "`") {
		place = linked(place, r.link(f))
	}
	if f.Where == InBody {
		return strings.TrimSpace(place + " (below)")
	}
	if f.Place.Side == diff.Old {
		return place + " (deleted)"
	}
	return place
}

func location(f Finding) string {
	switch {
	case diff.Fold(f.Place.Path) == "":
		return ""
	case f.Place.Line <= 0:
		return f.Place.Path
	case f.Place.EndLine > f.Place.Line:
		return fmt.Sprintf("%s:%d-%d", f.Place.Path, f.Place.Line, f.Place.EndLine)
	default:
		return fmt.Sprintf("%s:%d", f.Place.Path, f.Place.Line)
	}
}

// link is the address of the finding's code, at the commit that was judged.
func (r Report) link(f Finding) string {
	commit, path := f.Head, f.Place.Path
	if f.Place.Side == diff.Old {
		commit, path = r.Base, f.OldPath
	}
	if r.Repo == "" || commit == "" || f.Where != Inline {
		return ""
	}
	var parts []string
	for part := range strings.SplitSeq(path, "/") {
		parts = append(parts, url.PathEscape(part))
	}
	anchor := fmt.Sprintf("#L%d", f.Place.Line)
	if f.Place.EndLine > f.Place.Line {
		anchor += fmt.Sprintf("-L%d", f.Place.EndLine)
	}
	return fmt.Sprintf("%s/src/commit/%s/%s%s", r.Repo, commit, strings.Join(parts, "/"), anchor)
}
