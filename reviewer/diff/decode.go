package diff

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// What a file is read by that git shows no lines of; see File.Decoded.
const (
	fromUTF16 = "decoded from UTF-16"
	withNULs  = "NUL bytes are shown as ␀"
)

// Decode returns a file's content as text, and how it was read if not as it is. ok is false if it isn't
// readable text.
//
// Git calls a file binary by a NUL in its first bytes, and shows no lines of it. Compilers, shells and
// editors go on to read many of those: text in UTF-16, and source with a NUL in a comment. What could be
// read in two ways, such as a shell script after the mark of UTF-16, is read byte by byte, as a shell does.
func Decode(data []byte) (text []byte, how string, ok bool) {
	if text, ok := decodeUTF16(data); ok {
		return text, fromUTF16, true
	}
	if !readableBytes(data) {
		return nil, "", false
	}
	if bytes.IndexByte(data, 0) < 0 {
		return data, "", true
	}
	return bytes.ReplaceAll(data, []byte{0}, []byte("␀")), withNULs, true
}

// decodeUTF16 reads text with a byte order mark, or with the clear pattern of one: every other byte is zero.
func decodeUTF16(data []byte) ([]byte, bool) {
	little, ok := byteOrder(data)
	if !ok || len(data)%2 != 0 || readableRun(data) >= maxReadableRun || shellCommand.Match(data) {
		return nil, false
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 0; i < len(data); i += 2 {
		high, low := data[i], data[i+1]
		if little {
			high, low = low, high
		}
		units = append(units, uint16(high)<<8|uint16(low))
	}
	runes := utf16.Decode(units)
	for _, r := range runes {
		if r == utf8.RuneError || r < ' ' && !strings.ContainsRune("\t\n\r\f", r) {
			return nil, false
		}
	}
	return []byte(strings.TrimPrefix(string(runes), "\ufeff")), true
}

// maxReadableRun is how many bytes in a row may be readable by themselves in UTF-16, line ends among them: in
// Chinese some are, and more than that may be a text for programs that know no UTF-16.
const maxReadableRun = 8

// shellCommand finds what a shell that knows no UTF-16 takes for a command of its own, however short: all of what is
// between two separators. A line of Chinese may be one to dash, and call another file.
var shellCommand = regexp.MustCompile("[\n;&|`(][ \t]*[!-~][ -~]+(?:[\n;&|`)]|$)")

func byteOrder(data []byte) (little, ok bool) {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		return true, true
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return false, true
	case len(data) < 8:
		return false, false
	}
	var zeros [2]int // at even and at odd places
	for i, b := range data {
		if b == 0 {
			zeros[i%2]++
		}
	}
	pairs := len(data) / 2
	switch {
	case zeros[1]*10 >= pairs*4 && zeros[0]*100 <= pairs:
		return true, true
	case zeros[0]*10 >= pairs*4 && zeros[1]*100 <= pairs:
		return false, true
	default:
		return false, false
	}
}

func readableRun(data []byte) int {
	longest, n := 0, 0
	for _, b := range data {
		if (b < ' ' || b > '~') && b != '\n' && b != '\r' && b != '\t' {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

// readableBytes reports whether few bytes are control characters, or none that UTF-8 has.
func readableBytes(data []byte) bool {
	n := len(data)
	if n == 0 {
		return true
	}
	controls, invalid := 0, 0
	for i := 0; i < n; {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			invalid++
		case r < ' ' && !strings.ContainsRune("\t\n\r\f\v\b\x1b", r), r == 0x7f:
			controls++
		}
		i += size
	}
	return controls <= max(n/10, min(8, n/3)) && invalid <= max(n*3/10, 2)
}

// readable makes valid UTF-8 of a line. Bytes that aren't are read as Windows-1252, which has Latin-1's letters:
// shown as one sign for all of them, two lines that differ would look alike.
func readable(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			r = windows1252(s[i])
		}
		b.WriteRune(r)
		i += size
	}
	return b.String()
}

// windows1252 is a character from 0x80 on; what has none is U+FFFD.
func windows1252(c byte) rune {
	if c >= 0xa0 {
		return rune(c)
	}
	return []rune("€\ufffd‚ƒ„…†‡ˆ‰Š‹Œ\ufffdŽ\ufffd\ufffd‘’“”•–—˜™š›œ\ufffdžŸ")[c-0x80]
}
