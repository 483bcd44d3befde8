package ignore

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	// maxGlob bounds a glob's length, in bytes. Matching takes the product of both lengths at the worst.
	maxGlob = 1024
	// maxAlternatives bounds how many globs without braces one with braces may stand for:
	// doublestar tries them one by one.
	maxAlternatives = 256
)

// A pattern is one of .gitignore or .gitattributes in the words of doublestar. A path
// matches if it matches any.
type pattern []string

func (p pattern) match(path string) bool {
	for _, words := range p {
		if doublestar.MatchUnvalidated(words, path) {
			return true
		}
	}
	return false
}

func newGlob(text string) (glob, error) {
	body, back := strings.CutPrefix(text, "!")
	g := glob{why: "ignored (--ignore " + text + ")"}
	if back {
		g.why = ""
	}
	words, folder, err := words(body, true)
	if err != nil {
		return glob{}, fmt.Errorf("--ignore %s: %w", text, err)
	}
	g.pattern = pattern{words + "/**/*"} // what a folder of that name has below it
	if !folder {
		g.pattern = append(g.pattern, words)
	}
	return g, nil
}

// words translates a pattern. Without its slash at the end it is about folders only.
func words(text string, braces bool) (translated string, folder bool, err error) {
	if len(text) > maxGlob {
		return "", false, fmt.Errorf("it is longer than %d bytes", maxGlob)
	}
	text, folder = strings.CutSuffix(text, "/")
	anchored := strings.Contains(text, "/")
	text = strings.TrimPrefix(text, "/")
	if text == "" {
		return "", false, errors.New("it names nothing")
	}
	translated, err = translate(text, braces)
	if err != nil {
		return "", false, err
	}
	if !anchored {
		translated = "**/" + translated
	}
	if translated == "**" || strings.HasSuffix(translated, "/**") {
		translated += "/*" // to git all in the folder, to doublestar the folder itself, too
	}
	if !doublestar.ValidatePattern(translated) {
		return "", false, doublestar.ErrBadPattern // nothing known comes here
	}
	return translated, folder, nil
}

// translate writes classes and braces so that doublestar reads them as git would. With
// braces, {a,b} is either a or b, without as in git itself.
func translate(text string, braces bool) (string, error) {
	var b strings.Builder
	var commas []int // of the braces that are open
	alternatives := 1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
			if i == len(text) {
				return "", errors.New(`it ends in \, which would take the special meaning from what follows`)
			}
			b.WriteByte('\\')
			b.WriteByte(text[i])
		case c == '[':
			c, n, err := readClass(text[i:])
			if err != nil {
				return "", err
			}
			c.write(&b)
			i += n - 1
		case c == '{' && braces:
			commas = append(commas, 0)
			b.WriteByte(c)
		case c == ',' && len(commas) > 0:
			commas[len(commas)-1]++
			b.WriteByte(c)
		case c == '}' && braces:
			if len(commas) == 0 {
				return "", errors.New(`a } without its {; for the character itself write \}`)
			}
			if alternatives *= commas[len(commas)-1] + 1; alternatives > maxAlternatives {
				return "", fmt.Errorf("its braces stand for more than %d globs", maxAlternatives)
			}
			commas = commas[:len(commas)-1]
			b.WriteByte(c)
		case c == '{' || c == '}':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '*' && strings.HasPrefix(text[i:], "***"): // as good as two
		default:
			b.WriteByte(c)
		}
	}
	if len(commas) > 0 {
		return "", errors.New(`a { without its }; for the character itself write \{`)
	}
	return b.String(), nil
}

// A class is the characters within brackets, as ranges.
type class struct {
	negated bool
	ranges  [][2]rune
}

var errClass = errors.New(`a [ without its ]; for the character itself write \[`)

// posix are the named classes, as ranges of ASCII.
var posix = map[string][][2]rune{
	"alnum": {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}, "alpha": {{'A', 'Z'}, {'a', 'z'}}, "blank": {{' ', ' '}, {'\t', '\t'}},
	"cntrl": {{0, 31}, {127, 127}}, "digit": {{'0', '9'}}, "graph": {{'!', '~'}}, "lower": {{'a', 'z'}}, "print": {{' ', '~'}},
	"punct": {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}, "space": {{' ', ' '}, {'\t', '\r'}}, "upper": {{'A', 'Z'}},
	"xdigit": {{'0', '9'}, {'A', 'F'}, {'a', 'f'}},
}

// readClass reads the class that text begins with, by the rules of git's wildmatch.c: a ]
// that comes first stands for itself. n is how many bytes it takes.
func readClass(text string) (c class, n int, err error) {
	n = 1
	if n < len(text) && (text[n] == '!' || text[n] == '^') {
		c.negated = true
		n++
	}
	next := func() (rune, bool) {
		if n >= len(text) {
			return 0, false
		}
		r, size := utf8.DecodeRuneInString(text[n:])
		n += size
		return r, true
	}
	literal := func() (rune, bool) {
		r, ok := next()
		if ok && r == '\\' {
			r, ok = next()
		}
		return r, ok
	}
	last, ranged := rune(0), false // what a - may make a range of
	for first := true; ; first = false {
		rest := text[n:]
		switch {
		case rest == "":
			return c, n, errClass
		case rest[0] == ']' && !first:
			return c, n + 1, nil
		case rest[0] == '-' && ranged && len(rest) > 1 && rest[1] != ']':
			n++
			to, ok := literal()
			if !ok {
				return c, n, errClass
			}
			c.ranges = append(c.ranges, [2]rune{last, to})
			ranged = false
		case strings.HasPrefix(rest, "[:") && strings.Contains(rest[2:], "]"):
			name, _, _ := strings.Cut(rest[2:], "]")
			if !strings.HasSuffix(name, ":") {
				n++
				c.ranges = append(c.ranges, [2]rune{'[', '['})
				last, ranged = '[', true
				break
			}
			name = strings.TrimSuffix(name, ":")
			if posix[name] == nil {
				return c, n, fmt.Errorf("there is no class [:%s:]", name)
			}
			c.ranges = append(c.ranges, posix[name]...)
			n += len("[:") + len(name) + len(":]")
			ranged = false
		default:
			r, ok := literal()
			if !ok {
				return c, n, errClass
			}
			c.ranges = append(c.ranges, [2]rune{r, r})
			last, ranged = r, true
		}
	}
}

// write writes the class so that it never matches a slash, negated or not; doublestar's
// own do.
func (c class) write(b *strings.Builder) {
	b.WriteByte('[')
	if c.negated {
		b.WriteByte('!')
	}
	one := func(from, to rune) {
		if from > to {
			return
		}
		b.WriteByte('\\')
		b.WriteRune(from)
		if to > from {
			b.WriteString(`-\`)
			b.WriteRune(to)
		}
	}
	one(0, 0) // no name has it, and doublestar has no class of nothing
	for _, r := range c.ranges {
		if c.negated || r[1] < '/' || r[0] > '/' {
			one(r[0], r[1])
			continue
		}
		one(r[0], '/'-1)
		one('/'+1, r[1])
	}
	if c.negated {
		one('/', '/')
	}
	b.WriteByte(']')
}
