package untrusted

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// blank lists characters that are letters, marks or symbols to Unicode and yet
// show nothing, so that they can hide text or split a word unseen.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034F, Hi: 0x034F, Stride: 1}, // combining grapheme joiner
		{Lo: 0x115F, Hi: 0x1160, Stride: 1}, // Hangul fillers
		{Lo: 0x17B4, Hi: 0x17B5, Stride: 1}, // Khmer inherent vowels
		{Lo: 0x180B, Hi: 0x180F, Stride: 1}, // Mongolian selectors
		{Lo: 0x2028, Hi: 0x2029, Stride: 1}, // line and paragraph separator
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // braille blank
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // Hangul filler
		{Lo: 0xFE00, Hi: 0xFE0F, Stride: 1}, // variation selectors
		{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1}, // halfwidth Hangul filler
		{Lo: 0xFFF0, Hi: 0xFFF8, Stride: 1}, // unassigned, default ignorable
	},
	R32: []unicode.Range32{
		{Lo: 0xE0000, Hi: 0xE0FFF, Stride: 1}, // tags and further selectors
	},
}

// invisible reports whether r shows nothing or steers how its neighbours are
// shown. Newline and tab are not invisible.
func invisible(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < utf8.RuneSelf:
		return r < ' ' || r == 0x7F
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, blank)
}

// clean normalises line ends, turns every exotic space into a plain one, and
// drops what is invisible. It goes first: "<\u200b!--" must not become "<!--"
// after that was looked for.
func clean(s string) string {
	s = unixLines(s)
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\v' || r == '\f' || r == 0x85 || r == 0x2028 || r == 0x2029:
			return ' '
		case invisible(r):
			return -1
		case r >= utf8.RuneSelf && unicode.Is(unicode.Zs, r):
			return ' '
		}
		return r // an invalid byte arrives, and leaves, as U+FFFD
	}, s)
}

// show keeps code as it is but makes the invisible visible, as \u{202E}: in
// code such a character is often the very finding.
func show(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	for _, r := range s {
		if invisible(r) {
			fmt.Fprintf(&b, `\u{%04X}`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unixLines(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// fold puts s on one line: every run of white space becomes one space.
func fold(s string) string {
	return strings.Join(strings.Fields(s), " ")
}
