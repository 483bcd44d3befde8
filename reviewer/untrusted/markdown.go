package untrusted

import (
	"strconv"
	"strings"
)

// Markdown makes markdown from a model, or from anybody, safe to publish as
// blocks of their own in a body: see the package comment for what that means.
//
// Paragraphs, lists, quotes, tables, fences, emphasis, code spans and links
// survive. Headings become bold lines, images links, a rule "***". Fences and
// tables move to column 0, out of the list or quote they stood in: there no
// parser can disagree about where they end.
//
// The result has no newline at either end; nothing visible in s gives "". Put a
// blank line before and after it. Markdown of its own output is that output.
func Markdown(s string) string {
	b := blocks{lines: strings.Split(clean(s), "\n")}
	for b.at < len(b.lines) {
		b.next()
	}
	return strings.Trim(strings.Join(b.out, "\n"), "\n")
}

// maxDepth bounds nesting; what is deeper joins the deepest level.
const (
	maxDepth = 8
	maxQuote = 3
)

// blocks reads lines and writes blocks.
type blocks struct {
	lines []string
	at    int
	out   []string

	quote  int     // depth of the block being written
	wrote  int     // depth of the last line written
	lists  []level // open list items, outermost first
	gap    bool    // blank lines were read since the last line written
	apart  bool    // the next line must stand apart: the last block is closed
	para   int     // lines so far of a paragraph outside of lists
	source string  // the paragraph's last line, for an underline that follows
}

// level is an open list item: where its marker stood, where its text goes.
type level struct{ marker, text int }

// splitIndent returns the columns of white space before s, and s without it.
func splitIndent(s string) (columns int, body string) {
	for i := range len(s) {
		switch s[i] {
		case ' ':
			columns++
		case '\t':
			columns += 4 - columns%4
		default:
			return columns, s[i:]
		}
	}
	return columns, ""
}

// splitQuote returns how many quote markers s begins with, at most limit, and
// what follows them.
func splitQuote(s string, limit int) (depth int, rest string) {
	for depth < limit {
		columns, body := splitIndent(s)
		if columns > 3 || !strings.HasPrefix(body, ">") {
			break
		}
		s = strings.TrimPrefix(body[1:], " ")
		depth++
	}
	return depth, s
}

func (b *blocks) next() {
	depth, rest := splitQuote(b.lines[b.at], len(b.lines[b.at]))
	columns, body := splitIndent(rest)
	body = strings.TrimRight(body, " \t")
	if body == "" {
		b.gap = true
		b.at++
		return
	}
	if b.fence(body, depth, columns) || b.table(body, depth) {
		return
	}
	b.at++
	if q := min(depth, maxQuote); q != b.quote {
		b.close()
		b.quote = q
	}
	switch {
	case b.underline(body):
	case isRule(body):
		b.close()
		b.write("***")
		b.close()
	case b.heading(body):
	case b.item(body, columns):
	default:
		b.paragraph(body, columns)
	}
}

// close ends every open block; the next line stands apart.
func (b *blocks) close() {
	b.lists, b.para, b.apart = nil, 0, true
}

// write appends a line of the current quote, after a blank one if needed.
func (b *blocks) write(line string) {
	prefix := strings.Repeat("> ", b.quote)
	if len(b.out) > 0 && (b.apart || b.gap) {
		blank := ""
		if b.quote == b.wrote {
			blank = strings.TrimRight(prefix, " ") // the same quote goes on
		}
		b.out = append(b.out, blank)
	}
	b.gap, b.apart, b.wrote = false, false, b.quote
	b.out = append(b.out, prefix+line)
}

// fence copies a fenced block from its opener to its end, which may be the end
// of the text or of the quote it stands in.
func (b *blocks) fence(body string, depth, columns int) bool {
	if marker := markerLength(body); marker > 0 {
		// "- ```": the list item holds nothing but code
		inner, rest := splitIndent(body[marker:])
		if length, _ := fenceOpener(rest); length > 0 {
			body, columns = rest, columns+marker+inner
		}
	}
	length, info := fenceOpener(body)
	if length == 0 {
		return false
	}
	var content []string
	for b.at++; b.at < len(b.lines); b.at++ {
		d, line := splitQuote(b.lines[b.at], depth)
		if d < depth {
			break
		}
		closing := strings.TrimSpace(line)
		if n := runLength(closing, body[0]); n >= length && n == len(closing) {
			b.at++
			break
		}
		content = append(content, dedent(line, columns))
	}
	b.close()
	b.quote = 0
	code := CodeFence(info, strings.Join(content, "\n"))
	b.write(strings.TrimSuffix(code, "\n"))
	b.close()
	return true
}

// fenceOpener returns the length of the fence that body opens, or 0.
func fenceOpener(body string) (length int, info string) {
	if body == "" || body[0] != '`' && body[0] != '~' {
		return 0, ""
	}
	n := runLength(body, body[0])
	if n < 3 || body[0] == '`' && strings.Contains(body[n:], "`") {
		return 0, ""
	}
	return n, body[n:]
}

// dedent removes up to n columns of white space. A tab that is cut leaves
// spaces.
func dedent(s string, n int) string {
	columns, body := splitIndent(s)
	if columns > n && strings.HasPrefix(s, strings.Repeat(" ", n)) {
		return s[n:]
	}
	return strings.Repeat(" ", max(0, columns-n)) + body
}

func (b *blocks) table(body string, depth int) bool {
	if !strings.Contains(body, "|") || b.at+1 >= len(b.lines) {
		return false
	}
	row := func(i int) string {
		if i >= len(b.lines) {
			return ""
		}
		d, rest := splitQuote(b.lines[i], depth)
		if d < depth {
			return ""
		}
		return strings.TrimSpace(rest)
	}
	delimiter := delimiterRow(row(b.at + 1))
	header := splitRow(body)
	if len(delimiter) == 0 || len(header) != len(delimiter) {
		return false
	}
	n := len(delimiter)
	rows := []string{tableRow(header, n), "| " + strings.Join(delimiter, " | ") + " |"}
	for b.at += 2; strings.Contains(row(b.at), "|"); b.at++ {
		if length, _ := fenceOpener(row(b.at)); length > 0 {
			break
		}
		rows = append(rows, tableRow(splitRow(row(b.at)), n))
	}
	b.close()
	b.quote = 0
	b.write(strings.Join(rows, "\n"))
	b.close()
	return true
}

// underline makes the paragraph line before it bold, as a heading. Under more
// than one line "---" is more likely meant as a rule.
func (b *blocks) underline(body string) bool {
	if b.para != 1 || b.gap || b.apart || strings.Trim(body, "-") != "" && strings.Trim(body, "=") != "" {
		return false
	}
	line := bold(b.source)
	if line == "" {
		return false
	}
	b.out[len(b.out)-1] = strings.Repeat("> ", b.quote) + line
	b.close()
	return true
}

func (b *blocks) heading(body string) bool {
	n := runLength(body, '#')
	if n == 0 || n > 6 || n < len(body) && body[n] != ' ' && body[n] != '\t' {
		return false
	}
	title := strings.TrimSpace(body[n:])
	if bare := strings.TrimRight(title, "#"); bare == "" || strings.HasSuffix(bare, " ") {
		title = strings.TrimSpace(bare)
	}
	b.close()
	if line := bold(title); line != "" {
		b.write(line)
		b.close()
	}
	return true
}

func bold(title string) string {
	line := inline(title, style{heading: true})
	if line == "" {
		return ""
	}
	return "**" + line + "**"
}

// markerLength returns the length of the list marker body begins with, or 0.
func markerLength(body string) int {
	n := 0
	for n < len(body) && n < 9 && isDigit(rune(body[n])) {
		n++
	}
	switch {
	case n > 0 && n < len(body) && (body[n] == '.' || body[n] == ')'),
		n == 0 && strings.IndexByte("-*+", body[0]) >= 0:
		n++
	default:
		return 0
	}
	if n < len(body) && body[n] != ' ' && body[n] != '\t' {
		return 0
	}
	return n
}

func (b *blocks) item(body string, columns int) bool {
	n := markerLength(body)
	if n == 0 {
		return false
	}
	line, _ := guard(inline(body[n:], style{}))
	if line == "" {
		return true // an empty item would underline the line before it
	}
	marker := "-"
	if n > 1 {
		number, _ := strconv.Atoi(body[:n-1])
		marker = strconv.Itoa(number) + "."
	}
	// two columns more than the parent's marker are taken for nesting, as people
	// write them, also where CommonMark wants three
	for len(b.lists) > 0 && (columns < b.lists[len(b.lists)-1].marker+2 || len(b.lists) >= maxDepth) {
		b.lists = b.lists[:len(b.lists)-1]
	}
	indent := 0
	if len(b.lists) > 0 {
		indent = b.lists[len(b.lists)-1].text
	}
	if b.para > 0 {
		b.gap = true // only "1." may follow a paragraph's line directly
	}
	b.lists = append(b.lists, level{columns, indent + len(marker) + 1})
	b.para = 0
	b.write(strings.Repeat(" ", indent) + marker + " " + line)
	return true
}

// paragraph writes a line of text: of the open list item if it follows one
// directly or is indented as its text is, else at the margin. Indented code is
// text here; a fence says it better, and no parser mistakes text for code.
func (b *blocks) paragraph(body string, columns int) {
	line, _ := guard(inline(body, style{}))
	if line == "" {
		return
	}
	if b.gap {
		for len(b.lists) > 0 && columns < b.lists[len(b.lists)-1].marker+2 {
			b.lists = b.lists[:len(b.lists)-1]
		}
		b.para = 0
	}
	if len(b.lists) > 0 {
		b.write(strings.Repeat(" ", b.lists[len(b.lists)-1].text) + line)
		return
	}
	b.write(line)
	b.para++
	b.source = body
}
