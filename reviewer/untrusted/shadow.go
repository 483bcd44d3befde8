package untrusted

import (
	"html"
	"sort"
	"strings"
	"unicode/utf8"
)

// A shadow is a text as a reader sees it, and where its bytes are in the text as
// it is written: without what shows nothing, so that a token with such a
// character in it is found.
type shadow struct {
	text     string
	from, to []int // of the text as it is written, for each byte of the shadow; nil if both are the same
}

// asRead drops what is invisible. as says what else isn't seen.
func asRead(s string, as rendering) shadow {
	if plain(s, as) {
		return shadow{text: s}
	}
	var b strings.Builder
	d := shadow{from: make([]int, 0, len(s)), to: make([]int, 0, len(s))}
	for i := 0; i < len(s); {
		seen, n := glimpse(s[i:], as)
		b.WriteString(seen)
		for range len(seen) {
			d.from, d.to = append(d.from, i), append(d.to, i+n)
		}
		i += n
	}
	d.text = b.String()
	return d
}

// rendering is how a text comes to its readers.
type rendering int

const (
	raw     rendering = iota // as it is
	escaped                  // as Markdown of this package's own
	marked                   // as anybody's Markdown
)

// glimpse returns what is seen of the n bytes that s begins with.
func glimpse(s string, as rendering) (seen string, n int) {
	switch c := s[0]; {
	case as != raw && c == '\\' && len(s) > 1 && isPunct(rune(s[1])):
		return s[1:2], 2
	case as != raw && c == '&':
		if end := strings.IndexByte(s[:min(len(s), 40)], ';'); end > 1 {
			if text := html.UnescapeString(s[:end+1]); utf8.RuneCountInString(text) == 1 {
				if r, _ := utf8.DecodeRuneInString(text); invisible(r) {
					text = ""
				}
				return text, end + 1
			}
		}
	case as == marked && strings.IndexByte("*`[~", c) >= 0:
		return "", 1
	case as == marked && c == ']':
		if strings.HasPrefix(s, "](") {
			if end := strings.IndexAny(s[:min(len(s), 2000)], ")\n"); end > 0 && s[end] == ')' {
				return "", end + 1
			}
		}
		return "", 1
	case as == marked && c == '<':
		if end := strings.IndexAny(s[:min(len(s), 2000)], ">\n"); end > 0 && s[end] == '>' {
			return "", end + 1
		}
	}
	r, n := utf8.DecodeRuneInString(s)
	if invisible(r) {
		return "", n
	}
	return s[:n], n
}

// plain reports whether the shadow of a text is the text.
func plain(s string, as rendering) bool {
	if as != raw && strings.ContainsAny(s, "\\&*`[]<~") {
		return false
	}
	for _, r := range s {
		if invisible(r) {
			return false
		}
	}
	return true
}

// hit is a part of a shadow that is masked.
type hit struct {
	from, to int
	name     string
}

// replace masks parts of the shadow in the text as it is written.
func (d shadow) replace(s string, spans []hit, as rendering) (masked string, count int) {
	sort.SliceStable(spans, func(i, j int) bool { return spans[i].from < spans[j].from })
	var b strings.Builder
	done := 0
	for _, p := range spans {
		from, to := p.from, p.to
		if d.from != nil {
			from, to = d.from[p.from], d.to[p.to-1]
		}
		if from < done {
			continue // in another one, which goes whole
		}
		b.WriteString(s[done:from])
		if as == escaped {
			b.WriteString("masked-" + strings.ReplaceAll(p.name, " ", "-")) // fits into an address, and makes no link
		} else {
			b.WriteString(maskText(p.name))
		}
		count++
		done = to
	}
	b.WriteString(s[done:])
	return b.String(), count
}

// visible drops what is invisible, line ends aside.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\r' && invisible(r) {
			return -1
		}
		return r
	}, s)
}

// maskHiddenKeys masks private keys with invisible characters in them.
func maskHiddenKeys(s string) (string, int) {
	seen := visible(s)
	if seen == s {
		return s, 0
	}
	masked, count := maskKeys(seen)
	if count == 0 {
		return s, 0
	}
	lines, plain := strings.Split(s, "\n"), strings.Split(seen, "\n")
	for i, line := range strings.Split(masked, "\n") {
		if line != plain[i] {
			lines[i] = line
		}
	}
	return strings.Join(lines, "\n"), count
}
