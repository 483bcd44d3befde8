package diff

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Fold folds white space, of any kind and line ends too, to single blanks, and trims it.
func Fold(s string) string {
	s = strings.TrimSpace(s)
	blank := false
	for _, r := range s {
		space := unicode.IsSpace(r)
		if space && (r != ' ' || blank) {
			return strings.Join(strings.Fields(s), " ")
		}
		blank = space
	}
	return s // most code is folded but for its indent: this costs no allocation
}

const (
	// weight is how many characters, blanks aside, a piece of code needs to be taken for
	// the same when it is only part of the other: fewer stand in too many lines.
	weight = 8
	// maxQuote is how many lines of a quote are looked at. A quote names a place; a model
	// that copies out half a file must not cost as much as comparing all with all.
	maxQuote = 50
)

// quote is code that a model copied, its lines but for blank ones and fences.
type quote []quoteLine

// quoteLine is one line, folded, in each of its readings, the most literal first: a model
// copies the diff's sign or our line numbers with the code, but code may look just so itself.
// The reading of a line that could be a sign or numbers before a blank line is empty.
type quoteLine []string

func (q quoteLine) mayBeBlank() bool { return slices.Contains(q, "") }

var (
	// As Render writes them, and what models make of it: "17 18 + x", "18: x", "18 | x", "18 x".
	oneNumber  = regexp.MustCompile(`^\d+(?:$| ?[|:] ?| ?[-+] | )`)
	twoNumbers = regexp.MustCompile(`^\d+ \d+(?:$| ?[|:] ?| ?[-+] | )`)
	// The control characters that Render makes visible.
	visible = strings.NewReplacer("␍", " ", "␋", " ", "␌", " ", "␤", " ")
)

func readQuote(s string) quote {
	var q quote
	for line := range strings.Lines(s) {
		line = Fold(line)
		if line == "" || strings.HasPrefix(line, "```") {
			continue
		}
		if q = append(q, readings(line)); len(q) == maxQuote {
			break
		}
	}
	return q
}

func readings(line string) quoteLine {
	all := quoteLine{line}
	add := func(s string) {
		if s = Fold(s); s != line {
			all = append(all, s)
		}
	}
	if line[0] == '+' || line[0] == '-' {
		add(line[1:])
	}
	for _, numbers := range []*regexp.Regexp{oneNumber, twoNumbers} {
		if m := numbers.FindString(line); m != "" {
			add(line[len(m):])
		}
	}
	if len(line) > 2 && line[0] == '`' && line[len(line)-1] == '`' {
		add(line[1 : len(line)-1])
	}
	if v := Fold(visible.Replace(line)); v != line && v != "" {
		for _, r := range readings(v) {
			add(r)
		}
	}
	return all
}

// fits says whether the quote's line is that of the file: the same, or one contains the
// other and the shorter has some weight.
func (q quoteLine) fits(text string) bool {
	text = Fold(text)
	for _, r := range q {
		if r == text || heavy(r) && strings.Contains(text, r) || heavy(text) && strings.Contains(r, text) {
			return true
		}
	}
	return false
}

// rank says how well the quote's line finds that of the file, less is better; ok is false if
// not at all. Equal goes before contained, then the more literal reading before the others.
// Here the line's being contained in the quote isn't enough: to confirm a place that the
// model named takes less than to find one.
func (q quoteLine) rank(text string) (rank int, reading string, ok bool) {
	text = Fold(text)
	for i, r := range q {
		if r == text {
			return i, r, true
		}
	}
	for i, r := range q {
		if heavy(r) && strings.Contains(text, r) {
			return len(q) + i, r, true
		}
	}
	return 0, "", false
}

// heavy: at least weight characters, blanks aside.
func heavy(s string) bool {
	n := 0
	for _, r := range s {
		if !unicode.IsSpace(r) {
			if n++; n == weight {
				return true
			}
		}
	}
	return false
}

// trivial: no letter and no digit, like "}" or "});".
func trivial(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// telling: a line is more than punctuation, however it is read.
func (q quote) telling() bool {
	return slices.ContainsFunc(q, func(l quoteLine) bool { return !slices.ContainsFunc(l, trivial) })
}

// block tells whether the quote's lines stand in the hunk from lines[start] on, where the
// first one is known to fit: without gaps, blank lines aside, either on one side or in the
// diff's own order (a model may quote deleted and added lines together). end is the last
// one's index.
func (h Hunk) block(start int, q quote, side Side) (end int, ok bool) {
	if end, ok = h.run(start, q[1:], side, false); !ok {
		end, ok = h.run(start, q[1:], side, true)
	}
	return end, ok
}

func (h Hunk) run(start int, q quote, side Side, through bool) (end int, ok bool) {
	end = start
	for i := start + 1; i < len(h.Lines) && len(q) > 0; i++ {
		l := h.Lines[i]
		if l.Number(side) == 0 && !through || strings.TrimSpace(l.Text) == "" {
			continue
		}
		for len(q) > 1 && q[0].mayBeBlank() && !q[0].fits(l.Text) {
			q = q[1:]
		}
		if !q[0].fits(l.Text) {
			break
		}
		end, q = i, q[1:]
	}
	for len(q) > 0 && q[0].mayBeBlank() {
		q = q[1:]
	}
	return end, len(q) == 0
}

// holds tells whether the quote confirms the line at lines[i]: it is the quote's first, or
// stands further down in a block that is quoted whole.
func (h Hunk) holds(i int, q quote, side Side) bool {
	if q[0].fits(h.Lines[i].Text) {
		return true
	}
	above := len(q) - 1
	for start := i - 1; start >= 0 && above > 0; start-- {
		if strings.TrimSpace(h.Lines[start].Text) == "" {
			continue
		}
		if h.Lines[start].Number(side) != 0 {
			above--
		}
		if q[0].fits(h.Lines[start].Text) {
			if end, ok := h.block(start, q, side); ok && end >= i {
				return true
			}
		}
	}
	return false
}
