package untrusted

import (
	"slices"
	"strings"
	"unicode"
)

// stretch is a part of a text that isn't written as plain text.
type stretch struct {
	from, to int
	link     string // destination of an autolink; else the part becomes code
}

// live finds what the server would act on in plain text: mentions, references
// to issues and pull requests here, elsewhere or in an external tracker, URLs,
// mail addresses and wiki links. Neighbouring characters don't matter, although
// the server's patterns ask for spaces around: emphasis, a link or a code span
// next to the word is a border to the server as well.
//
// The stretches come in order and don't overlap.
func live(rs []rune, links bool) []stretch {
	var found []stretch
	last := 0
	for i := 0; i < len(rs); {
		s, ok := at(rs, i, last, links)
		if !ok {
			i++
			continue
		}
		found = append(found, s)
		last, i = s.to, s.to
	}
	return found
}

// at looks for a live word that shows itself at i; it may begin earlier, but
// not before floor.
func at(rs []rune, i, floor int, links bool) (stretch, bool) {
	next := func(n int) rune {
		if i+n < len(rs) {
			return rs[i+n]
		}
		return 0
	}
	switch r := rs[i]; {
	case r == '@' && (isWord(next(1)) || next(1) == '-'),
		(r == '#' || r == '!') && isDigit(next(1)):
		return widen(rs, i, i+2, floor), true
	case r == '[' && next(1) == '[':
		return wiki(rs, i), true
	case r == ':' && next(1) == '/' && next(2) == '/':
		return scheme(rs, i, floor, links)
	case r == ':':
		// Gitea's linkifier, having seen "http:" or "ftp:", searches the rest of
		// the line for a URL and makes one link of all up to there, through
		// code spans too. What stood in the cut span would be live.
		if w := letters(rs, floor, i); strings.HasSuffix(w, "http") || strings.HasSuffix(w, "https") || strings.HasSuffix(w, "ftp") {
			return widen(rs, i, i+1, floor), true
		}
	case (r == 'w' || r == 'W') && hasFold(rs[i:], "www.") && (i == floor || !isAlnum(rs[i-1])):
		return stretch{from: i, to: urlEnd(rs, i+4)}, true
	case r >= 'A' && r <= 'Z' && (i == floor || !isWord(rs[i-1]) && !strings.ContainsRune("-./", rs[i-1]) || rs[i-1] == '_'):
		return ticket(rs, i)
	}
	return stretch{}, false
}

// widen grows a mention or reference over the word around it: owner/repo#12,
// first.last@host. At least [i, to) stays.
func widen(rs []rune, i, to, floor int) stretch {
	from := i
	for from > floor && inName(rs[from-1]) {
		from--
	}
	for from < i && !isWordStart(rs[from]) {
		from++
	}
	least := to
	for to < len(rs) && (inName(rs[to]) || strings.ContainsRune("@#!:", rs[to]) && to+1 < len(rs) && isWord(rs[to+1])) {
		to++
	}
	for to > least && strings.ContainsRune("._-/+%", rs[to-1]) {
		to--
	}
	return stretch{from: from, to: to}
}

// wiki covers [[…]], which the server turns into a link or an image in the
// rendered page, entities or not; or just the brackets if they aren't closed.
func wiki(rs []rune, i int) stretch {
	to := i
	for to < len(rs) && rs[to] == '[' {
		to++
	}
	for j := to; j < len(rs) && j < to+200; j++ {
		if rs[j] == '[' || rs[j] == '`' || rs[j] == '|' {
			break
		}
		if rs[j] == ']' {
			for j < len(rs) && rs[j] == ']' {
				j++
			}
			return stretch{from: i, to: j}
		}
	}
	return stretch{from: i, to: to}
}

// scheme covers a URL whose "://" stands at i.
func scheme(rs []rune, i, floor int, links bool) (stretch, bool) {
	from := i
	for from > floor && i-from < 32 && (isAlnum(rs[from-1]) || strings.ContainsRune("+.-", rs[from-1])) {
		from--
	}
	for from < i && !isLetter(rs[from]) {
		from++
	}
	if from == i {
		return stretch{}, false
	}
	s := stretch{from: from, to: urlEnd(rs, i+3)}
	if u, ok := destination(string(rs[from:s.to])); ok && links {
		s.link = u
	}
	return s, true
}

// urlEnd returns where a URL that reaches at least to i ends: punctuation at
// the end belongs to the sentence.
func urlEnd(rs []rune, i int) int {
	least, parens := i, 0
	for i < len(rs) && rs[i] < 0x7F && isURLByte(byte(rs[i])) {
		switch rs[i] {
		case '(':
			parens++
		case ')':
			parens--
		}
		i++
	}
	for i > least && (strings.ContainsRune(".,:;!?'*_~", rs[i-1]) || rs[i-1] == ')' && parens < 0) {
		if rs[i-1] == ')' {
			parens++
		}
		i--
	}
	return i
}

// ticket covers ABC-123, the reference to an external tracker.
func ticket(rs []rune, i int) (stretch, bool) {
	to := i
	for to < len(rs) && to-i < 11 && rs[to] >= 'A' && rs[to] <= 'Z' {
		to++
	}
	if to-i > 10 || to+1 >= len(rs) || rs[to] != '-' || rs[to+1] < '1' || rs[to+1] > '9' {
		return stretch{}, false
	}
	for to++; to < len(rs) && isDigit(rs[to]); to++ {
	}
	if to < len(rs) && (isAlnum(rs[to]) || rs[to] == '-') {
		return stretch{}, false
	}
	return stretch{from: i, to: to}, true
}

// letters returns, in lower case, up to five letters that end at i.
func letters(rs []rune, floor, i int) string {
	from := i
	for from > floor && i-from < 5 && isLetter(rs[from-1]) {
		from--
	}
	return strings.ToLower(string(rs[from:i]))
}

func hasFold(rs []rune, prefix string) bool {
	p := []rune(prefix)
	return len(rs) >= len(p) && slices.EqualFunc(rs[:len(p)], p, func(a, b rune) bool {
		return unicode.ToLower(a) == b
	})
}

func isLetter(r rune) bool { return isAlnum(r) && !isDigit(r) }

// isWord is wider than the server's \w: names it doesn't know today cost nothing.
func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r)
}

func isWordStart(r rune) bool { return r != '_' && isWord(r) }

func inName(r rune) bool { return isWord(r) || strings.ContainsRune(".-/+%", r) }
