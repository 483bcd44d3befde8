package untrusted

import (
	"strings"
	"unicode/utf8"
)

// Line is [Markdown] for one line: a title, a table cell, the label of a link.
// White space is folded. Code spans stay; links are shown as text, emphasis as
// the characters it is written with, since a cut or a title in bold would leave
// them open. The result is right in a table cell and outside of one, and safe
// at the start of a line too.
//
// Not for a line that begins with HTML of the caller's own, such as <summary>:
// markdown isn't read there, and the backticks that disarm a name would show.
//
// It has at most limit runes, escapes included, so it may show fewer; limit ≤ 0
// sets no limit. A longer line ends in "…", never cut within an entity; a code
// span is shortened inside and closed again.
func Line(s string, limit int) string {
	w := writer{style: style{title: true}}
	w.line(lex(fold(clean(s))))
	line := strings.TrimLeft(string(w.buf), " ")
	shift := len(line) - len(w.buf)
	line, at := guard(line)
	pieces := w.pieces[:0]
	for _, p := range w.pieces {
		p.end += shift
		if at >= 0 && p.end > at {
			p.end++
		}
		if p.end > 0 && p.end <= len(line) {
			pieces = append(pieces, p)
		}
	}
	if limit <= 0 || utf8.RuneCountInString(line) <= limit {
		return line
	}
	return cut(line, pieces, limit)
}

// cut shortens a line to limit runes with the ellipsis.
func cut(line string, pieces []piece, limit int) string {
	room := limit - 1
	kept := 0
	for _, p := range pieces {
		n := utf8.RuneCountInString(line[kept:p.end])
		if n <= room {
			room -= n
			kept = p.end
			continue
		}
		if p.code != "" {
			return strings.TrimRight(line[:kept]+fitCode(p.code, room+1), " ")
		}
		break
	}
	return strings.TrimRight(line[:kept], " ") + "…"
}

// fitCode returns as much of a code span as fits in room with the ellipsis
// inside, or only an ellipsis.
func fitCode(content string, room int) string {
	rs := []rune(BreakMarkers(content))
	// delimiters and padding take a few runes; where they take more, the content
	// is a heap of backticks and no loss
	for n := min(len(rs), room); n >= max(4, room-8); n-- {
		if s := span(string(rs[:n]) + "…"); utf8.RuneCountInString(s) <= room {
			return s
		}
	}
	return "…"
}
