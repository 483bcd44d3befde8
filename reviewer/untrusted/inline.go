package untrusted

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// style says where a line of text will stand.
type style struct {
	cell    bool // in a table cell: no bare "|"
	title   bool // no links and no emphasis, and right in a cell and outside of one
	heading bool // emphasis with "*" is dropped: the whole line becomes bold
}

// inline writes one line of markdown anew. The result is safe anywhere but at
// the start of a line, see guard.
func inline(line string, s style) string {
	w := writer{style: s}
	w.line(lex(line))
	return strings.TrimSpace(string(w.buf))
}

// writer emits tokens. Its methods keep one rule: what is written next never
// changes the meaning of what stands there already.
type writer struct {
	style
	buf    []byte
	queue  []token // text not yet written: what is live shows only in the whole
	pieces []piece // where a title may be cut; only filled for titles
	inLink bool
}

// piece is something that can't be cut inside.
type piece struct {
	end  int    // offset in buf behind it
	code string // content, if it is a code span
}

func (w *writer) raw(s string) {
	w.buf = append(w.buf, s...)
	w.cut("")
}

func (w *writer) cut(code string) {
	if w.title {
		w.pieces = append(w.pieces, piece{len(w.buf), code})
	}
}

// pending is a link whose label is being written.
type pending struct {
	*token
	link  bool // written as a link
	start int  // offset of the label, if so
	label string
}

// line writes toks. Text goes through the queue, so that a link or a star that
// isn't written can't join "@" and "bob" unseen.
func (w *writer) line(toks []token) {
	var stack []pending
	for i := 0; i < len(toks); {
		t := &toks[i]
		i++
		switch t.kind {
		case kindText:
			if w.heading && t.r == '*' && !t.literal {
				if !spaceAt(toks, i-2) || !spaceAt(toks, i) {
					break
				}
				t.literal = true
			}
			w.queue = append(w.queue, *t)
		case kindCode:
			w.code(t.s)
		case kindURL:
			w.url(t.s)
		case kindOpen:
			stack = append(stack, w.openLink(toks, i-1))
		case kindShut:
			p := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			w.shutLink(p)
			i = p.next
		case kindBlank: // dropped markup leaves nothing
		}
	}
	w.flush()
	w.finish()
}

// finish takes spaces off the end; a "<" that a space had kept harmless is
// escaped then.
func (w *writer) finish() {
	for len(w.buf) > 0 && w.buf[len(w.buf)-1] == ' ' {
		w.buf = w.buf[:len(w.buf)-1]
	}
	for len(w.pieces) > 0 && w.pieces[len(w.pieces)-1].end > len(w.buf) {
		w.pieces = w.pieces[:len(w.pieces)-1]
	}
	if len(w.buf) > 0 && w.buf[len(w.buf)-1] == '<' {
		w.replaceLast("&lt;")
	}
}

func spaceAt(toks []token, i int) bool {
	return i < 0 || i >= len(toks) || toks[i].kind == kindText && toks[i].r == ' '
}

// literal queues s as plain text.
func (w *writer) literal(s string) {
	for _, r := range s {
		w.queue = append(w.queue, token{kind: kindText, literal: true, r: r})
	}
}

func (w *writer) openLink(toks []token, i int) pending {
	t := &toks[i]
	u, ok := destination(t.s)
	p := pending{token: t, link: ok && !w.inLink && !w.title}
	if !p.link {
		p.label = plainLabel(toks[i+1 : t.end])
		return p
	}
	t.s = u
	w.flush()
	w.before('[')
	w.raw("[")
	w.inLink = true
	p.start = len(w.buf)
	// "[x]" at the start of a list item would be a check box
	if t.end == i+2 && toks[i+1].kind == kindText && (toks[i+1].r == 'x' || toks[i+1].r == 'X') {
		w.raw("&#" + strconv.Itoa(int(toks[i+1].r)) + ";")
		toks[i+1].kind = kindBlank
	}
	return p
}

// plainLabel is a label as far as it can equal a destination that is shown.
func plainLabel(toks []token) string {
	var b strings.Builder
	for i := 0; i < len(toks) && b.Len() < 4*maxShown; i++ {
		switch toks[i].kind {
		case kindText:
			b.WriteRune(toks[i].r)
		case kindCode:
			b.WriteString(toks[i].s)
		default: // shown otherwise, so it can't equal the destination
		}
	}
	return strings.TrimSpace(b.String())
}

func (w *writer) shutLink(p pending) {
	u := shorten(p.s)
	switch {
	case p.link:
		w.flush()
		if strings.TrimSpace(string(w.buf[p.start:])) == "" {
			w.buf = w.buf[:p.start]
			w.code(u)
		}
		w.before(']')
		w.raw("](" + inParens(p.s) + ")")
		w.inLink = false
	case w.inLink && p.image:
		// a picture in a link: the link's own destination is enough
	case p.label == "":
		w.code(u)
	case p.label != u && u != "":
		w.literal(" (")
		w.code(u)
		w.literal(")")
	}
}

// maxShown is how much of a destination is shown that can't be a link.
const maxShown = 120

// shorten keeps a data: URL from filling the page.
func shorten(u string) string {
	if utf8.RuneCountInString(u) <= maxShown {
		return u
	}
	return string([]rune(u)[:maxShown]) + "…"
}

// before repairs the last character if markup that begins with c would join it:
// a backslash would escape it, "!" would make an image of a link, and two code
// spans would become one.
func (w *writer) before(c byte) {
	if len(w.buf) == 0 {
		return
	}
	switch last := w.buf[len(w.buf)-1]; {
	case last == '\\':
		w.replaceLast("&#92;")
	case last == '!' && c == '[':
		w.replaceLast("&#33;")
	case last == '`' && c == '`':
		w.raw(" ")
	}
}

func (w *writer) replaceLast(s string) {
	w.buf = append(w.buf[:len(w.buf)-1], s...)
	if n := len(w.pieces); n > 0 {
		w.pieces[n-1].end = len(w.buf)
	}
}

// code writes a code span.
func (w *writer) code(content string) {
	content = strings.ReplaceAll(content, "\t", " ")
	if strings.Contains(content, "|") && (w.title || w.cell && strings.Contains(content, `\|`)) {
		// no code span with a pipe is right inside and outside a table, and
		// parsers disagree about a backslash before it
		w.literal(content)
		return
	}
	s := span(content)
	if s == "" {
		w.literal(" ")
		return
	}
	if w.cell {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	w.flush()
	w.before('`')
	w.buf = append(w.buf, s...)
	w.cut(content)
}

func (w *writer) url(u string) {
	if w.inLink || w.title {
		w.code(u)
		return
	}
	w.flush()
	if address, ok := strings.CutPrefix(u, "mailto:"); ok {
		w.before('[')
		w.raw("[" + span(address) + "](" + inParens(u) + ")")
		return
	}
	w.before('<')
	w.raw("<" + u + ">")
}

// flush writes the queued characters, live words as code or autolinks.
func (w *writer) flush() {
	toks := w.queue
	if len(toks) == 0 {
		return
	}
	w.queue = nil // code and url, called below, flush too
	rs := make([]rune, len(toks))
	for i := range toks {
		rs[i] = toks[i].r
	}
	i := 0
	for _, s := range live(rs, !w.inLink && !w.title) {
		w.plain(toks, rs, i, s.from)
		if s.link != "" {
			w.url(s.link)
		} else {
			w.code(string(rs[s.from:s.to])) // never holds a "|"
		}
		i = s.to
	}
	w.plain(toks, rs, i, len(rs))
}

// plain writes rs[from:to] escaped; the characters around are looked at too.
func (w *writer) plain(toks []token, rs []rune, from, to int) {
	for i := from; i < to; i++ {
		switch r := rs[i]; r {
		case '*', '_', '~':
			j := i
			for j < to && rs[j] == r && toks[j].literal == toks[i].literal {
				j++
			}
			w.emphasis(r, j-i, toks[i].literal, runeAt(rs, i-1), runeAt(rs, j))
			i = j - 1
		case '|':
			if w.cell || w.title {
				w.raw(`\|`)
			} else {
				w.raw("|")
			}
		case '^':
			if len(w.buf) > 0 && w.buf[len(w.buf)-1] == '[' { // "[^1]" is a footnote
				w.raw("&#94;")
			} else {
				w.raw("^")
			}
		default:
			w.raw(escape(r, rs[i+1:to]))
		}
	}
}

// emphasis writes n times r, as markup or as characters.
func (w *writer) emphasis(r rune, n int, literal bool, before, after rune) {
	switch {
	case r == '_' && isAlnum(before) && isAlnum(after), r == '~' && n == 1 && !literal && !w.title:
		literal = false // not markup there
	case w.title, r == '~' && n != 2: // "~~~" would be a fence
		literal = true
	}
	for range n {
		if literal {
			w.raw(`\` + string(r))
		} else {
			w.raw(string(r))
		}
	}
}

// runeAt gives a space behind either end.
func runeAt(rs []rune, i int) rune {
	if i < 0 || i >= len(rs) {
		return ' '
	}
	return rs[i]
}

// escape writes r so that no parser takes it for more than a character. rest is
// what follows. Brackets and dollars become entities and not backslash escapes:
// "\[" and "\(" open math on some servers.
func escape(r rune, rest []rune) string {
	next := rune(0)
	if len(rest) > 0 {
		next = rest[0]
	}
	switch r {
	case '<':
		if next == ' ' || next == '=' {
			return "<"
		}
		return "&lt;"
	case '&':
		if entity.MatchString("&" + string(rest[:min(len(rest), 50)])) {
			return "&amp;"
		}
	case '[':
		return "&#91;"
	case ']':
		return "&#93;"
	case '`':
		return "&#96;"
	case '$':
		return "&#36;"
	case '\\':
		if !isAlnum(next) && next < utf8.RuneSelf {
			return "&#92;"
		}
	}
	return string(r)
}
