package finding

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"review-bot/prompts"
	"review-bot/reviewer/diff"
	"review-bot/reviewer/untrusted"
	"review-bot/sentinel"
)

// Bounds of what is published, in characters. Servers take much longer texts;
// people don't.
const (
	maxBody    = 60_000 // of Text, all in all
	maxTitle   = 120
	maxText    = 8_000 // of one finding
	maxSummary = 1_500
	maxRows    = 100    // of a table or list
	maxTable   = 36_000 // what of it is longer is counted, as are rows past maxRows
	maxUnread  = 6_000  // of the list of files
	signs      = 200    // room for what stands around the findings of the body
)

// Report is what a review's body tells.
type Report struct {
	Role      string
	Own       sentinel.Verdict // comment for advisory roles
	Head      string
	Findings  []Finding // in order
	Threshold prompts.Severity
	Summary   string // the model's words, not yet fit to be published
	Files     int    // reviewed
	Unread    []Unread
	Repo      string // address of the repository's page; "" leaves code unlinked
	Base      string // commit that old lines are linked at
}

// Unread is a file that was not reviewed, and why.
type Unread struct{ Path, Why string }

// Comment is the text of a finding's inline comment, its marker included.
func Comment(f Finding, role, head string) string {
	return f.text() + f.deleted() + fmt.Sprintf("\n\n<sub>%s · %s</sub>\n\n%s", role, f.ID, f.Marker(role, head))
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
	var b strings.Builder
	fmt.Fprintf(&b, "**%s · %s** — %s", f.Severity, strings.ReplaceAll(f.Category, "_", " "), untrusted.Line(f.Title, maxTitle))
	if body := untrusted.Markdown(bounded(f.Body, maxText)); body != "" {
		b.WriteString("\n\n" + body)
	}
	if s, _ := f.suggestion(); s != "" {
		b.WriteString("\n\n" + s)
	}
	return b.String()
}

// suggestion shows the replacement, and tells whether the exact lines that it
// replaces stand next to it.
func (f Finding) suggestion() (text string, besideOld bool) {
	code := strings.Trim(f.Suggestion, "\r\n")
	if strings.TrimSpace(code) == "" {
		return "", false
	}
	if len(code) > maxText {
		return fmt.Sprintf("(a suggestion of %s is left out: too long)", count(strings.Count(code, "\n")+1, "line", "lines")), false
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

// Text is the body of a review, without notice, usage line and sentinel.
func (r Report) Text() string {
	blocks := []string{r.Headline()}
	if table := r.table(); table != "" {
		blocks = append(blocks, table)
	}
	if summary := untrusted.Markdown(bounded(r.Summary, maxSummary)); summary != "" && len(r.Findings) > 0 {
		blocks = append(blocks, summary)
	}
	tail := r.unread()
	blocks = append(blocks, r.below(maxBody-length(blocks)-utf8.RuneCountInString(tail)-signs)...)
	if tail != "" {
		blocks = append(blocks, tail)
	}
	return strings.Join(blocks, "\n\n")
}

func length(blocks []string) int {
	n := 0
	for _, b := range blocks {
		n += utf8.RuneCountInString(b) + 2
	}
	return n
}

// Headline says verdict and why in one line.
func (r Report) Headline() string {
	verb := map[sentinel.Verdict]string{
		sentinel.Approved: "approves", sentinel.RequestChanges: "requests changes", sentinel.Comment: "comments",
	}[r.Own]
	line := fmt.Sprintf("**%s %s** · ", r.Role, verb)
	blocking := Blocking(r.Findings, r.Threshold)
	minor := len(r.Findings) - blocking
	switch {
	case len(r.Findings) == 0:
		line += "nothing found in " + count(r.Files, "file", "files")
	case r.Own == sentinel.Comment: // nothing blocks
		line += count(len(r.Findings), "finding", "findings")
	case blocking == 0:
		line += count(minor, "minor finding", "minor findings")
	default:
		line += count(blocking, "finding blocks", "findings block")
		if minor > 0 {
			line += ", " + count(minor, "is minor", "are minor")
		}
	}
	return line
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func (r Report) table() string {
	if len(r.Findings) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| | finding | where |\n|---|---|---|")
	room := maxTable
	for i, f := range r.Findings {
		row := fmt.Sprintf("\n| %s | %s | %s |", f.Severity, untrusted.Line(f.Title, maxTitle), r.where(f))
		room -= utf8.RuneCountInString(row)
		if i == maxRows || room < 0 {
			fmt.Fprintf(&b, "\n\n%s more in the comments and below.", count(len(r.Findings)-i, "finding", "findings"))
			break
		}
		b.WriteString(row)
	}
	return b.String()
}

// where is a finding's place as a table cell.
func (r Report) where(f Finding) string {
	place := untrusted.CellCode(location(f))
	if link := r.link(f); link != "" && strings.HasPrefix(place, "`") {
		place = fmt.Sprintf("[%s](%s)", place, link)
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
	case f.Place.Path == "":
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
	commit, path := r.Head, f.Place.Path
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
	address := strings.NewReplacer("(", "%28", ")", "%29").Replace(strings.Join(parts, "/"))
	anchor := fmt.Sprintf("#L%d", f.Place.Line)
	if f.Place.EndLine > f.Place.Line {
		anchor += fmt.Sprintf("-L%d", f.Place.EndLine)
	}
	return fmt.Sprintf("%s/src/commit/%s/%s%s", r.Repo, commit, address, anchor)
}

// below are the findings that have no line in the diff, in full, as far as room
// characters go; the rest is counted, never cut in the middle.
func (r Report) below(room int) []string {
	var blocks []string
	left := 0
	for _, f := range r.Findings {
		if f.Where != InBody {
			continue
		}
		text := f.text()
		if place := untrusted.CodeSpan(location(f)); place != "" {
			text += "\n\n" + place + ": " + f.Reason
		} else {
			text += "\n\n" + f.Reason
		}
		text += "\n\n" + f.Marker(r.Role, r.Head).String()
		if room -= utf8.RuneCountInString(text) + 2; room < 0 || left > 0 {
			left++
			continue
		}
		blocks = append(blocks, text)
	}
	if len(blocks) > 0 {
		blocks[0] = fmt.Sprintf("**%d of %s without a line in the diff**\n\n", len(blocks)+left, count(len(r.Findings), "finding", "findings")) + blocks[0]
	}
	if left > 0 {
		blocks = append(blocks, fmt.Sprintf("%s more had no room here; the job's JSON output has them all.", count(left, "finding", "findings")))
	}
	return blocks
}

func (r Report) unread() string {
	if len(r.Unread) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<details><summary>Not reviewed (%s)</summary>\n\n", count(len(r.Unread), "file", "files"))
	room := maxUnread
	for i, f := range r.Unread {
		row := fmt.Sprintf("- %s: %s\n", untrusted.CodeSpan(f.Path), f.Why)
		room -= utf8.RuneCountInString(row)
		if i == maxRows || room < 0 {
			fmt.Fprintf(&b, "- and %d more\n", len(r.Unread)-i)
			break
		}
		b.WriteString(row)
	}
	b.WriteString("\n</details>")
	return b.String()
}

// bounded cuts a text at a line's end before it grows past most characters, and
// says so.
func bounded(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	cut := string([]rune(s)[:most])
	if i := strings.LastIndexByte(cut, '\n'); i > most/2 {
		cut = cut[:i]
	}
	return cut + "\n\n(cut here: the model wrote more)"
}
