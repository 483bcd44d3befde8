package untrusted

import (
	"strings"
	"unicode/utf8"
)

type kind uint8

const (
	kindText  kind = iota // one character
	kindCode              // a code span, content in s
	kindURL               // <https://…>, destination in s
	kindOpen              // "[" of a link; label up to end, next token behind the link in next
	kindShut              // "]" of a link
	kindBlank             // written as nothing: the "!" of an image
)

// token is a piece of one line of markdown.
type token struct {
	kind    kind
	literal bool // the character was escaped or an entity: it isn't markup
	image   bool // open: was an image
	r       rune
	s       string // code: content; url and open: destination
	pos     int    // offset in the line
	end     int    // open: index of its shut
	next    int    // open: index of the first token behind the destination
}

// lex reads one line. It knows backslash escapes, entities, code spans,
// autolinks, links and images; everything else is text. Time and memory are
// linear in the line's length.
func lex(line string) []token {
	runs := newBackticks(line)
	toks := make([]token, 0, len(line))
	literal := func(s string, pos int) {
		for _, r := range s {
			toks = append(toks, token{kind: kindText, literal: true, r: r, pos: pos})
		}
	}
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && isPunct(rune(line[i+1])):
			literal(line[i+1:i+2], i)
			i += 2
			continue
		case c == '&':
			if raw := entity.FindString(line[i:min(i+50, len(line))]); raw != "" {
				if decoded := decodeEntity(raw); decoded != raw {
					// &#10; or &ZeroWidthSpace; must not bring back what was cleaned away
					literal(strings.NewReplacer("\n", " ", "\t", " ").Replace(clean(decoded)), i)
					i += len(raw)
					continue
				}
			}
		case c == '`':
			n := runLength(line[i:], '`')
			if end := runs.closer(i+n, n); end >= 0 {
				toks = append(toks, token{kind: kindCode, s: trimSpan(line[i+n : end]), pos: i})
				i = end + n
				continue
			}
			literal(line[i:i+n], i)
			i += n
			continue
		case c == '<':
			if t, n, ok := autolink(line[i:]); ok {
				t.pos = i
				toks = append(toks, t)
				i += n
				continue
			}
		}
		r, n := utf8.DecodeRuneInString(line[i:])
		if r == '\t' {
			r = ' '
		}
		toks = append(toks, token{kind: kindText, r: r, pos: i})
		i += n
	}
	pairLinks(line, toks)
	return toks
}

// trimSpan removes the one space each side that makes room for backticks.
func trimSpan(s string) string {
	if len(s) > 1 && s[0] == ' ' && s[len(s)-1] == ' ' && strings.TrimSpace(s) != "" {
		return s[1 : len(s)-1]
	}
	return s
}

// autolink reads <https://…>, <mailto:…> and <a@b>.
func autolink(s string) (t token, length int, ok bool) {
	end := strings.IndexAny(s[1:min(len(s), maxURL)], "<> \t`")
	if end < 0 || s[1+end] != '>' {
		return token{}, 0, false
	}
	inner := s[1 : 1+end]
	if email.MatchString(inner) {
		return token{kind: kindCode, s: inner}, end + 2, true
	}
	if u, ok := destination(inner); ok {
		return token{kind: kindURL, s: u}, end + 2, true
	}
	return token{}, 0, false
}

// pairLinks turns the brackets of inline links and images into open and shut.
func pairLinks(line string, toks []token) {
	var opened []int
	for i := 0; i < len(toks); i++ {
		t := &toks[i]
		if t.kind != kindText || t.literal {
			continue
		}
		switch t.r {
		case '[':
			opened = append(opened, i)
		case ']':
			if len(opened) == 0 {
				continue
			}
			o := opened[len(opened)-1]
			opened = opened[:len(opened)-1]
			if t.pos+1 >= len(line) || line[t.pos+1] != '(' {
				continue
			}
			u, n, ok := parseDestination(line[t.pos+2:])
			if !ok {
				continue
			}
			next, ok := tokenAt(toks, i, t.pos+2+n, len(line))
			if !ok {
				continue
			}
			toks[o].kind, toks[o].s, toks[o].end, toks[o].next = kindOpen, u, i, next
			t.kind = kindShut
			if o > 0 && toks[o-1].kind == kindText && toks[o-1].r == '!' && !toks[o-1].literal {
				toks[o-1].kind, toks[o].image = kindBlank, true
			}
			i = next - 1
		}
	}
}

// tokenAt finds the token that starts at offset. There is none if a code span
// begins before and ends behind it: the span binds tighter than the link.
func tokenAt(toks []token, from, offset, length int) (int, bool) {
	for from < len(toks) && toks[from].pos < offset {
		from++
	}
	if from == len(toks) {
		return from, offset == length
	}
	return from, toks[from].pos == offset
}

// backticks finds closing runs in linear time: for each length the starts of
// all maximal runs, forgotten as the search moves on.
type backticks map[int][]int

func newBackticks(line string) backticks {
	b := backticks{}
	for i := 0; i < len(line); {
		n := runLength(line[i:], '`')
		if n == 0 {
			i++
			continue
		}
		b[n] = append(b[n], i)
		i += n
	}
	return b
}

// closer returns where the next run of exactly n backticks begins, at or behind
// from, or -1. Calls must come with from ascending.
func (b backticks) closer(from, n int) int {
	starts := b[n]
	for len(starts) > 0 && starts[0] < from {
		starts = starts[1:]
	}
	b[n] = starts
	if len(starts) == 0 {
		return -1
	}
	return starts[0]
}
