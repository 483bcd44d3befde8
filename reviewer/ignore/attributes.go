package ignore

import "strings"

// said is what .gitattributes says of a file.
type said int

const (
	nothing said = iota
	yes
	no
)

// attributes is what is of interest in a .gitattributes file.
type attributes struct {
	lines  []attributeLine
	macros map[string][]state // what setting a name sets besides
}

type attributeLine struct {
	pattern string // in doublestar's words
	states  []state
}

// A state is one attribute on a line: "name", "-name", "!name" or "name=value".
type state struct {
	name  string
	kind  byte   // '-', '!', '=' or 0
	value string // if kind is '='
}

const (
	// blanks separate words, as git has it.
	blanks      = " \t\r\n"
	macroPrefix = "[attr]"
	// maxAttributeLine is from where on git passes over a line, in bytes.
	maxAttributeLine = 2048

	vendoredName  = "linguist-vendored"
	generatedName = "linguist-generated"
)

// readAttributes reads a .gitattributes file at the root as git's attr.c does. It passes
// over what git does, and over patterns that never match. One thing differs: where letters
// stand right before **, as in x**/a, git's result hangs on how it optimises; here it is
// what git documents, the same as x*/a.
func readAttributes(data []byte) attributes {
	a := attributes{macros: map[string][]state{}}
	var all []attributeLine
	text := strings.TrimPrefix(string(data), "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		line, _, _ = strings.Cut(line, "\x00")
		if len(line) >= maxAttributeLine {
			continue
		}
		name, macro, states, ok := readAttributeLine(line)
		if !ok {
			continue
		}
		if macro {
			a.macros[name] = states
			continue
		}
		if strings.HasPrefix(name, "!") {
			continue // git: "Negative patterns are ignored in git attributes"
		}
		words, folder, err := words(name, false)
		if err != nil || folder { // attributes are of files; a folder's aren't those of its files
			continue
		}
		all = append(all, attributeLine{words, states})
	}
	for _, line := range all {
		for _, s := range line.states {
			if _, macro := a.macros[s.name]; macro || s.name == vendoredName || s.name == generatedName {
				a.lines = append(a.lines, line)
				break
			}
		}
	}
	return a
}

// readAttributeLine gives the pattern or the macro's name, and what it sets.
func readAttributeLine(line string) (name string, macro bool, states []state, ok bool) {
	line = strings.TrimLeft(line, blanks)
	if line == "" || line[0] == '#' {
		return "", false, nil, false
	}
	name, rest, quoted := unquote(line)
	if !quoted {
		name, rest = word(line)
	}
	if len(name) > len(macroPrefix) && strings.HasPrefix(name, macroPrefix) {
		macro = true
		name, _ = word(strings.TrimLeft(name[len(macroPrefix):], blanks))
		if !attributeName(name) {
			return "", false, nil, false
		}
	}
	for rest = strings.TrimLeft(rest, blanks); rest != ""; rest = strings.TrimLeft(rest, blanks) {
		var w string
		w, rest = word(rest)
		var s state
		if w[0] == '-' || w[0] == '!' {
			s.kind = w[0]
			w = w[1:]
		}
		var valued bool
		s.name, s.value, valued = strings.Cut(w, "=")
		if valued && s.kind == 0 {
			s.kind = '='
		}
		if !attributeName(s.name) {
			return "", false, nil, false
		}
		states = append(states, s)
	}
	return name, macro, states, true
}

func word(s string) (first, rest string) {
	if i := strings.IndexAny(s, blanks); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

func attributeName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '-' && c != '.' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != "" && s[0] != '-'
}

// unquote reads a name that git has put into double quotes, as in C.
func unquote(s string) (name, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			i++
			if i == len(s) {
				return "", "", false
			}
			if j := strings.IndexByte(`abfnrtv\"`, s[i]); j >= 0 {
				b.WriteByte("\a\b\f\n\r\t\v\\\""[j])
				continue
			}
			if i+3 > len(s) || s[i] > '3' || strings.Trim(s[i:i+3], "01234567") != "" {
				return "", "", false
			}
			b.WriteByte((s[i]-'0')<<6 | (s[i+1]-'0')<<3 | (s[i+2] - '0'))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

// of gives what is said of a file: for each attribute by the last line, and on it the last
// word, that says anything.
func (a attributes) of(path string) (vendored, generated said) {
	if len(a.lines) == 0 {
		return nothing, nothing
	}
	known := map[string]state{}
	for i := len(a.lines) - 1; i >= 0; i-- {
		if (pattern{a.lines[i].pattern}).match(path) {
			a.fill(known, a.lines[i].states)
		}
	}
	return meaning(known, vendoredName), meaning(known, generatedName)
}

// fill takes over the states of attributes that aren't known yet. A macro that is set stands
// for all that it sets, in its place.
func (a attributes) fill(known map[string]state, states []state) {
	for i := len(states) - 1; i >= 0; i-- {
		s := states[i]
		if _, ok := known[s.name]; ok {
			continue
		}
		known[s.name] = s
		if s.kind == 0 {
			a.fill(known, a.macros[s.name])
		}
	}
}

// meaning is the attribute's, as linguist has it: any value but "false" is a yes.
func meaning(known map[string]state, name string) said {
	s, ok := known[name]
	switch {
	case !ok || s.kind == '!':
		return nothing
	case s.kind == '-' || s.kind == '=' && s.value == "false":
		return no
	default:
		return yes
	}
}
