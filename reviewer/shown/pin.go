package shown

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A lock file pins what it names: next to a package's version is a digest of its content. Without it another content
// is taken, at the same address. Package managers write that in many forms, in all of which the digest is on the
// package's line or in what is indented below it, so the forms needn't be known: a file is a tree of lines, and what
// has a digest in the base must have one in the head, in a form that the base has: anywhere else a package manager
// doesn't look for it.

// pinned is a line of a lock file.
type pinned struct {
	text   string
	key    int // of its name and those of the lines it is in; the same in both versions, whatever the package's version
	name   string
	in     int // the line it is in; 0 is the file
	depth  int
	titled bool // what follows at the same depth is in it
	form   string
	own    int // strength of the digest on the line
	all    int // and of the strongest that is in it
}

type place struct {
	in   int
	name string
}

var (
	pin = regexp.MustCompile(`(?i)\b(?:sha1|sha224|sha256|sha384|sha512|md5|blake2b|blake3|h1|zh)[-:/=]` +
		`([A-Za-z0-9+/_-]{16,})={0,2}|\b([0-9a-f]{32,})\b`)
	pinWord = regexp.MustCompile(`(?i)^` + pinWords + `$`)
	pinKey  = regexp.MustCompile(`(?i)(?:^|[^\w-])(` + pinWords + `)["']?[\s"':=\[{]*(?:\w+/)?$`) // of what follows
	pinLine = regexp.MustCompile(`(?i)^["']?` + pinWords + `["']?(?:[\s:=]|$)`)
	kind    = regexp.MustCompile(`^sha(?:1|256|384|512)\b`)
	comment = regexp.MustCompile(`(?:^|\s)(?:#|//)`)
	release = regexp.MustCompile(`(^|[^0-9A-Za-z])v?[0-9]+(?:\.[0-9A-Za-z*+_-]+)*(?:[-+][0-9A-Za-z.+_-]+)?`)
	hexes   = regexp.MustCompile(`^[0-9A-Fa-f]+$`)
	title   = regexp.MustCompile(`^["']?name["']?\s*[:=]`)
)

const pinWords = `(?:integrity|checksums?|hash|hashes|digest|narhash|pkg_hash|shasum|sha1|sha256|sha384|sha512|md5)`

// minPin is how long a line with a digest is at least.
const minPin = 20

// unpin is a line less its digests.
func unpin(line string) string {
	if len(line) < minPin {
		return line
	}
	return pin.ReplaceAllString(line, "")
}

// digestOn returns the strength of the longest digest on a line, its length in 64 bits, and the form in which it is
// there: the key before it or, if there is none, that of the line it is in, and its kind.
func digestOn(line, in string) (strength int, form string) {
	if len(line) < minPin {
		return 0, ""
	}
	all := pin.FindAllStringSubmatchIndex(line, -1)
	for _, m := range all {
		from, to := max(m[2], m[4]), max(m[3], m[5])
		bits, how := (to-from)*6, kind.ReplaceAllString(line[m[0]:from], "sha")
		if hexes.MatchString(line[from:to]) {
			bits = (to - from) * 4
		}
		if how == "" {
			how = strconv.Itoa(to - from)
		}
		if n := (bits + 8) / 64; n > strength {
			before := line[:m[0]]
			key := cmp.Or(keyAt(before), keyAt(in))
			strength, form = n, fmt.Sprint(key, how, comment.MatchString(before), len(words(line)) > 0)
		}
	}
	keys := strings.FieldsFunc(unpin(line), between)
	keys = slices.DeleteFunc(keys, func(word string) bool { return !pinWord.MatchString(strings.Trim(word, ":()")) })
	without := max(len(keys)-len(all), 0) // of these keys one may be what counts
	return strength, form + fmt.Sprint(without)
}

// keyAt is the key of digests that a text ends with.
func keyAt(text string) string {
	if m := pinKey.FindStringSubmatch(text); m != nil {
		return strings.ToLower(m[1])
	}
	return ""
}

func between(r rune) bool { return strings.ContainsRune(" \t\r\"'`,;{}[]=<>|^~", r) }

// words are what a line names, less versions, digests and what says that they are digests.
func words(line string) []string {
	line = release.ReplaceAllString(unpin(line), "$1")
	var all []string
	for word := range strings.FieldsFuncSeq(line, between) {
		if i := strings.IndexByte(word[1:], '@'); i >= 0 { // a range or a tag, where release finds no version
			word = word[:i+1]
		}
		word = strings.Trim(word, ":()")
		if strings.ContainsFunc(word, unicode.IsLetter) && !pinWord.MatchString(word) {
			all = append(all, word)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// tree reads the lines of a lock file; the n-th from 1 is at n, the file itself at 0. keys are those of the places
// that are known, forms those in which the base has digests; no others count. Nil: it is the base.
func tree(text string, keys map[place]int, forms map[string]bool) []pinned {
	lines := []pinned{{depth: -1}}
	open := []int{0} // the lines that the next one may be in
	last := lines[0] // line that isn't blank
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		text := strings.TrimLeft(line, " \t")
		p := pinned{text: text, depth: 2 * (len(line) - len(text))}
		top := func() pinned { return lines[open[len(open)-1]] }
		blank := text == ""
		for !blank && top().depth > p.depth {
			open = open[:len(open)-1]
		}
		switch {
		case blank:
		case top().depth == p.depth && top().titled && text[0] != '[':
			p.depth++
		case top().depth == p.depth:
			open = open[:len(open)-1]
		}
		p.in, p.key = open[len(open)-1], top().key
		if p.own, p.form = digestOn(line, top().text); forms != nil && !forms[p.form] {
			p.own = 0
		}
		p.all = p.own
		p.titled = title.MatchString(text) && (strings.HasPrefix(last.text, "[[") || last.text == "{" && last.depth > 0)
		if !strings.HasPrefix(text, "[[") {
			p.name = strings.Join(words(line), " ")
		}
		if at := (place{p.key, p.name}); p.name != "" {
			if keys[at] == 0 {
				keys[at] = len(keys) + 1
			}
			p.key = keys[at]
		}
		if !blank {
			open, last = append(open, len(lines)), p
		}
		lines = append(lines, p)
	}
	for i := len(lines) - 1; i > 0; i-- {
		lines[lines[i].in].all = max(lines[lines[i].in].all, lines[i].all)
	}
	return lines
}

// entry reports whether a line is something that has a digest: the file, or what has a name.
func (p pinned) entry() bool { return p.depth < 0 || p.name != "" }

// unpinned are the lines, by their numbers, that say where a digest went: of the old file the digests, of the new one
// what has none now. Each has with it the line that it is in.
type unpinned struct{ old, new map[int]string }

// compare returns where something has no digest, or a shorter one, that had one: there are more of that name
// without than there were. What is gone needs none, but it is only gone if nothing is called so any more.
func compare(before, after string) unpinned {
	keys := map[place]int{}
	was := tree(before, keys, nil)
	forms, texts := map[string]bool{}, map[string]bool{}
	for _, p := range was {
		forms[p.form], texts[p.text] = forms[p.form] || p.own > 0, true
	}
	is := tree(after, keys, forms)
	had := map[int]int{} // the strongest digest of a key
	for _, p := range was {
		if p.entry() {
			had[p.key] = max(had[p.key], p.all)
		}
	}
	weaker := map[int]int{} // how many more there are of a key, of those that have less than that
	there, said := map[int]bool{}, map[string]bool{}
	for _, p := range was {
		if p.entry() && p.all < had[p.key] {
			weaker[p.key]--
		}
	}
	for _, p := range is {
		if p.entry() && p.all < had[p.key] {
			weaker[p.key]++
		}
		there[p.key] = true
		for word := range strings.FieldsSeq(p.name) {
			said[word] = true
		}
	}
	loose := unpinned{old: map[int]string{}, new: map[int]string{}}
	lost, gone := make([]bool, len(was)), make([]int, len(was))
	for i, p := range was {
		lost[i], gone[i] = lost[p.in] || p.entry() && weaker[p.key] > 0, gone[p.in]
		if gone[i] == 0 && !there[p.key] {
			gone[i] = i
		}
		if p.own > 0 && (lost[i] || gone[i] > 0 && allSaid(was[gone[i]].name, said)) {
			loose.old[i] = was[p.in].text
		}
	}
	lost = make([]bool, len(is))
	for i, p := range is {
		if lost[i] = lost[p.in] || p.entry() && weaker[p.key] > 0 && p.all < had[p.key]; lost[i] ||
			p.all == 0 && !texts[p.text] && pinLine.MatchString(p.text) {
			loose.new[i] = is[p.in].text
		}
	}
	return loose
}

// allSaid reports whether all of a name is said; what follows a version in a path is no part of it.
func allSaid(name string, said map[string]bool) bool {
	for word := range strings.FieldsSeq(name) {
		if !said[word] && word[0] != '/' {
			return false
		}
	}
	return true
}
