package finding

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"review-bot/prompts"
	"review-bot/reviewer/diff"
)

// added is the diff that brings in a file.
func added(path string, lines ...string) diff.Diff {
	f := diff.Between(path, nil, []byte(text(lines...)))
	f.Status, f.OldPath = diff.Added, path
	return diff.Diff{Files: []diff.File{f}}
}

func text(lines ...string) string { return strings.Join(slices.Concat(lines, []string{""}), "\n") }

func between(path string, before, after []string) Change {
	return Change{Known: true, Path: path, Diff: diff.Between(path, []byte(text(before...)), []byte(text(after...)))}
}

// on is a finding on line n of lines, as an answer has it.
func on(path string, lines []string, n int, title string) prompts.Finding {
	f := at(path, n, lines[n-1])
	f.Title = title
	return f
}

// made are the findings of an answer about a file that is brought in.
func made(path string, lines []string, list ...prompts.Finding) []Finding {
	return Anchored(prompts.Answer{Findings: list}, added(path, lines...), head, counter())
}

// recalled are findings as a later round knows them.
func recalled(since Change, list ...Finding) []Earlier {
	var earlier []Earlier
	for i, f := range list {
		f.ID, f.anchor, f.Code = fmt.Sprintf("e%07x", i), "", nil
		earlier = append(earlier, Earlier{Finding: f, Comment: int64(100 + i), root: int64(100 + i), conversation: i, Status: Open, Since: since, posted: f.Severity})
	}
	return earlier
}

// ties says which fresh finding is which earlier one: "0-1 1-0".
func ties(m map[int]int) string {
	var list []string
	for _, i := range slices.Sorted(maps.Keys(m)) {
		list = append(list, fmt.Sprintf("%d-%d", i, m[i]))
	}
	return strings.Join(list, " ")
}

func TestMatches(t *testing.T) {
	file := strings.Fields("top one RET two RET three end")
	shifted := append([]string{"new", "newer"}, file...)
	list := func(f ...Finding) []Finding { return f }
	f := func(lines []string, n int) Finding { return made("f.go", lines, on("f.go", lines, n, "T"))[0] }
	titled := func(f Finding, title string) Finding { f.Title = title; return f }
	for promise, tt := range map[string]struct {
		before, after []string
		unknown       bool
		earlier       []Finding
		fresh         []Finding
		change        func([]Earlier)
		want          string
	}{
		"nothing":                         {file, file, false, nil, nil, nil, ""},
		"the same line":                   {file, file, false, list(f(file, 2)), list(f(file, 2)), nil, "0-0"},
		"the same line, in other words":   {file, file, false, list(f(file, 2)), list(titled(f(file, 2), "Other")), nil, "0-0"},
		"another line":                    {file, file, false, list(f(file, 2)), list(f(file, 4)), nil, ""},
		"another category":                {file, file, false, list(f(file, 2)), list(func() Finding { f := f(file, 2); f.Key = Key("f.go", "one", "testing"); return f }()), nil, ""},
		"a shifted line":                  {file, shifted, false, list(f(file, 2)), list(f(shifted, 4)), nil, "0-0"},
		"shifted, of two with equal code": {file, shifted, false, list(f(file, 5)), list(f(shifted, 5), f(shifted, 7)), nil, "1-0"},
		"the equal code was there before": {file, shifted, false, list(f(file, 5)), list(f(shifted, 5)), nil, ""},
		"both, in whatever order":         {file, shifted, false, list(f(file, 5), f(file, 3)), list(f(shifted, 5), f(shifted, 7)), nil, "0-1 1-0"},
		"a moved line":                    {file, strings.Fields("top RET two RET three one end"), false, list(f(file, 2)), list(f(strings.Fields("top RET two RET three one end"), 6)), nil, "0-0"},
		"moved, in other words":           {file, strings.Fields("top RET two RET three one end"), false, list(f(file, 2)), list(titled(f(strings.Fields("top RET two RET three one end"), 6), "U")), nil, "0-0"},
		"moved, but the copy that was there is meant": {strings.Fields("a RET b RET c"), strings.Fields("a b RET c d RET"), false,
			list(f(strings.Fields("a RET b RET c"), 2)), list(f(strings.Fields("a b RET c d RET"), 3)), nil, ""},
		"it is still there, and a blank line is gone": {[]string{"a", "RET", "b", "", "c"}, []string{"a", "RET", "b", "c", "RET"}, false,
			list(f([]string{"a", "RET", "b", "", "c"}, 2)), list(f([]string{"a", "RET", "b", "c", "RET"}, 5)), nil, ""},
		"moved and indented":            {file, []string{"top", "RET", "two", "RET", "three", "\tone", "end"}, false, list(f(file, 2)), list(f([]string{"top", "RET", "two", "RET", "three", "\tone", "end"}, 6)), nil, "0-0"},
		"moved, or one of two new ones": {file, strings.Fields("top RET two RET one three one end"), false, list(f(file, 2)), list(f(strings.Fields("top RET two RET one three one end"), 5)), nil, ""},
		"one of two is gone, one is new": {file, strings.Fields("top one two RET three x RET end"), false, list(f(file, 3)),
			list(f(strings.Fields("top one two RET three x RET end"), 7)), nil, "0-0"},
		"it is gone, and the other can't be followed": {
			strings.Fields("u R v . a R b"), strings.Fields("u v . c R d"), false, list(f(strings.Fields("u R v . a R b"), 2)), list(f(strings.Fields("u v . c R d"), 5)), nil, "",
		},
		"changed, so it is new": {file, strings.Fields("top ONE RET two RET three end"), false, list(f(file, 2)), list(f(strings.Fields("top ONE RET two RET three end"), 2)), nil, ""},

		"history unknown":                  {file, shifted, true, list(f(file, 2)), list(f(shifted, 4)), nil, "0-0"},
		"unknown, in other words":          {file, shifted, true, list(f(file, 2)), list(titled(f(shifted, 4), "U")), nil, "0-0"},
		"unknown, and the code twice":      {file, shifted, true, list(f(file, 5)), list(f(shifted, 7)), nil, ""},
		"unknown, twice on the same line":  {file, file, true, list(f(file, 5)), list(f(file, 5)), nil, ""},
		"unknown, and two of the one line": {file, shifted, true, list(f(file, 2), titled(f(file, 2), "V")), list(titled(f(shifted, 4), "U")), nil, ""},
		"unless one has the title":         {file, shifted, true, list(f(file, 2), titled(f(file, 2), "V")), list(titled(f(shifted, 4), "V")), nil, "0-1"},

		"two on one line, by title":        {file, shifted, false, list(f(file, 2), titled(f(file, 2), "V")), list(titled(f(shifted, 4), "V")), nil, "0-1"},
		"both, by title":                   {file, shifted, false, list(f(file, 2), titled(f(file, 2), "V")), list(titled(f(shifted, 4), "V"), titled(f(shifted, 4), "W")), nil, "0-1 1-0"},
		"the title as it was published":    {file, file, false, list(f(file, 2), titled(f(file, 2), "a&lt;b `@c`")), list(titled(f(file, 2), "a<b @c")), nil, "0-1"},
		"an open one before a fixed one":   {file, file, false, list(f(file, 2), f(file, 2)), list(titled(f(file, 2), "U")), func(e []Earlier) { e[0].Status = Fixed }, "0-1"},
		"an open one before a waived one":  {file, file, false, list(f(file, 2), f(file, 2)), list(titled(f(file, 2), "U")), func(e []Earlier) { e[0].Status = Let }, "0-1"},
		"a waived one before a fixed one":  {file, file, false, list(f(file, 2), f(file, 2)), list(titled(f(file, 2), "U")), func(e []Earlier) { e[0].Status, e[1].Status = Fixed, Let }, "0-1"},
		"the fixed one that has the title": {file, file, false, list(f(file, 2), titled(f(file, 2), "V")), list(titled(f(file, 2), "V")), func(e []Earlier) { e[1].Status = Fixed }, "0-1"},
		"once only":                        {file, file, false, list(f(file, 2)), list(f(file, 2), titled(f(file, 2), "U")), nil, "0-0"},
		"no key":                           {file, file, false, list(f(file, 2)), list(f(file, 2)), func(e []Earlier) { e[0].Key = "" }, ""},
		"the other side":                   {file, file, false, list(f(file, 2)), list(f(file, 2)), func(e []Earlier) { e[0].Place.Side = diff.Old }, ""},

		"renamed since":        {file, shifted, false, list(made("old.go", file, on("old.go", file, 2, "T"))[0]), list(f(shifted, 4)), nil, "0-0"},
		"renamed, line unlike": {file, shifted, false, list(made("old.go", file, on("old.go", file, 3, "T"))[0]), list(f(shifted, 7)), nil, ""},
		"another file": {file, file, false, list(made("old.go", file, on("old.go", file, 2, "T"))[0]), list(f(file, 2)), func(e []Earlier) {
			e[0].Since.Path = "old.go"
		}, ""},
		"now binary": {file, file, false, list(f(file, 2)), list(f(file, 2)), func(e []Earlier) { e[0].Since.Diff = diff.File{Binary: true} }, ""},

		"in the body":                         {file, file, false, list(inBody(f(file, 2))), list(inBody(f(file, 2))), nil, "0-0"},
		"inline before":                       {file, file, false, list(f(file, 2)), list(inBody(f(file, 2))), nil, "0-0"},
		"inline now":                          {file, file, true, list(inBody(f(file, 2))), list(f(file, 2)), nil, "0-0"},
		"in the body, one of two":             {file, file, true, list(inBody(f(file, 3))), list(inBody(f(file, 3)), inBody(titled(f(file, 5), "V"))), nil, "0-0"},
		"in the body, two alike, unknown":     {file, file, true, list(inBody(f(file, 3)), inBody(f(file, 5))), list(inBody(f(file, 3)), inBody(f(file, 5))), nil, ""},
		"in the body, two alike, by lines":    {file, shifted, false, list(inBody(f(file, 3)), inBody(f(file, 5))), list(inBody(f(shifted, 7)), inBody(f(shifted, 5))), nil, "0-1 1-0"},
		"in the body, it names no line":       {file, file, false, list(inBody(f(file, 2))), list(inBody(f(file, 2))), func(e []Earlier) { e[0].Place.Line = 0 }, "0-0"},
		"in the body, no line, nor the side":  {file, file, false, list(inBody(f(file, 2))), list(inBody(f(file, 2))), func(e []Earlier) { e[0].Place.Line, e[0].Place.Side = 0, diff.Old }, "0-0"},
		"in the body, the line is a guess":    {file, file, false, list(inBody(f(file, 2))), list(inBody(f(file, 2))), func(e []Earlier) { e[0].Place.Line = 900 }, "0-0"},
		"in the body, the file is gone since": {file, file, false, list(inBody(f(file, 2))), list(inBody(f(file, 2))), func(e []Earlier) { e[0].Since = Change{Known: true, Gone: true, Path: "f.go"} }, "0-0"},
	} {
		since := between("f.go", tt.before, tt.after)
		if tt.unknown {
			since = Change{}
		}
		earlier := recalled(since, tt.earlier...)
		if tt.change != nil {
			tt.change(earlier)
		}
		if got := ties(Matches(earlier, tt.fresh, added("f.go", tt.after...))); got != tt.want {
			t.Errorf("%s: tied %q, want %q", promise, got, tt.want)
		}
	}
}

func TestMatchesOnTheOldSide(t *testing.T) {
	gone := func(lines ...string) diff.Diff {
		f := diff.Between("f.go", []byte(text(lines...)), []byte("stays\n"))
		return diff.Diff{Files: []diff.File{f}}
	}
	finding := func(n int, lines ...string) []Finding {
		return Anchored(prompts.Answer{Findings: []prompts.Finding{old(on("f.go", lines, n, "T"))}}, gone(lines...), head, counter())
	}
	before, moved := strings.Fields("a RET b RET c"), strings.Fields("x y a RET b RET c")
	for promise, tt := range map[string]struct {
		n     int
		now   []string
		at    int
		since Change
		want  string
	}{
		"the same line":                       {2, before, 2, Change{}, "0-0"},
		"whatever the new side did":           {1, before, 1, between("f.go", before, moved), "0-0"},
		"the base moved":                      {1, moved, 3, Change{}, "0-0"},
		"the base moved, and it stands twice": {2, moved, 6, Change{}, ""},
		"another line":                        {2, before, 4, Change{}, ""},
	} {
		earlier := recalled(tt.since, finding(tt.n, before...)...)
		if got := ties(Matches(earlier, finding(tt.at, tt.now...), gone(tt.now...))); got != tt.want {
			t.Errorf("%s: tied %q, want %q", promise, got, tt.want)
		}
	}
}

// Code that was changed stands on both sides of the diff, once on each.
func TestCodeOnTheOtherSideIsNoSecondCopy(t *testing.T) {
	d := parse(t, strings.Replace(change, "+TWO", "+\ttwo", 1))
	for _, f := range []prompts.Finding{at("a.go", 11, "two"), old(at("a.go", 11, "two"))} {
		fresh := Anchored(prompts.Answer{Findings: []prompts.Finding{f}}, d, head, counter())
		earlier := recalled(Change{}, fresh...)
		earlier[0].Place.Line = 5
		if got := ties(Matches(earlier, fresh, d)); got != "0-0" {
			t.Errorf("%s side: tied %q", f.Side, got)
		}
	}
}

func TestMatchesOfFindingsWithoutCode(t *testing.T) {
	a, b := at("", 0, ""), at("gone.go", 0, "")
	b.Title = "Another"
	fresh := anchored(t, change, a, b)
	reworded := b
	reworded.Title = "In other words"
	again := anchored(t, change, reworded, a)
	if got := ties(Matches(recalled(Change{}, fresh...), again, parse(t, change))); got != "0-0" {
		t.Errorf("only the title tells which is which: tied %q", got)
	}
}

// written is a line with what a text doesn't have: an identity that lasts.
type written struct {
	text string
	id   int
}

func texts(lines []written) []string {
	var list []string
	for _, l := range lines {
		list = append(list, l.text)
	}
	return list
}

// Lines that many files have over and over. All others are unique.
var common = []string{"return nil", "}", "return nil", "x++"}

type editor struct{ next int }

func (e *editor) line(t *rapid.T) written {
	e.next++
	if rapid.IntRange(0, 2).Draw(t, "common") > 0 {
		return written{rapid.SampledFrom(common).Draw(t, "line"), e.next}
	}
	return written{fmt.Sprintf("unique %d", e.next), e.next}
}

func (e *editor) file(t *rapid.T) []written {
	var lines []written
	for range rapid.IntRange(1, 25).Draw(t, "length") {
		lines = append(lines, e.line(t))
	}
	return lines
}

// edit inserts, deletes, changes, doubles, indents and, if asked to, moves lines.
func (e *editor) edit(t *rapid.T, lines []written, moves bool) []written {
	lines = slices.Clone(lines)
	kinds := 5
	if moves {
		kinds = 6
	}
	for range rapid.IntRange(0, 8).Draw(t, "edits") {
		at := rapid.IntRange(0, max(len(lines)-1, 0)).Draw(t, "at")
		switch kind := rapid.IntRange(0, kinds-1).Draw(t, "edit"); {
		case kind == 0 || len(lines) == 0:
			lines = slices.Insert(lines, at, e.line(t))
		case kind == 1:
			lines = slices.Delete(lines, at, at+1)
		case kind == 2:
			lines[at] = e.line(t)
		case kind == 3: // the copy is the new one
			e.next++
			lines = slices.Insert(lines, at+1, written{lines[at].text, e.next})
		case kind == 4:
			lines[at].text = "\t" + lines[at].text
		default:
			l := lines[at]
			lines = slices.Delete(lines, at, at+1)
			lines = slices.Insert(lines, rapid.IntRange(0, len(lines)).Draw(t, "to"), l)
		}
	}
	return lines
}

// some draws findings on lines of a file, perhaps several on one, in any order.
func some(t *rapid.T, lines []written, name string) []Finding {
	var list []prompts.Finding
	if len(lines) > 0 {
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, len(lines)), 0, 12).Draw(t, name) {
			list = append(list, on("f.go", texts(lines), n, fmt.Sprintf("%s %d", name, len(list)%3)))
		}
	}
	return made("f.go", texts(lines), list...)
}

// Whatever is edited, no earlier finding is taken for another one.
//
// What is another one, where lines are equal? Of two copies next to each other, or
// with nothing lasting between them, nobody can tell from the texts which one was
// deleted, and which of them a finding is about makes no difference to a reader
// either. But a line that stands once in both versions, and that nobody moved, can't
// be mistaken: copies above it and copies below it are different lines. So lines
// are taken for the same only within one such section; and across sections only if
// there are fewer copies here than before and more there, which is what a move looks
// like.
//
// The other way round, a line that is still there is found again if it is unique,
// or hangs on a unique one or the file's beginning by lines that stayed.
func TestMatchesOverEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ed editor
		before := ed.file(t)
		after := ed.edit(t, before, false)
		since := between("f.go", texts(before), texts(after))
		earlier := recalled(since, some(t, before, "earlier")...)
		fresh := some(t, after, "fresh")
		of := Matches(earlier, fresh, added("f.go", texts(after)...))

		checkTies(t, of, earlier, fresh)
		sectionBefore, sectionAfter, ordered := sections(before, after)
		if !ordered {
			return // a line was deleted here and written there: to the texts it moved
		}
		newAt := map[int]int{} // identity to line
		for i, l := range after {
			newAt[l.id] = i + 1
		}
		for i, j := range of {
			was, is := earlier[j].Place.Line, fresh[i].Place.Line
			if diff.Fold(before[was-1].text) != diff.Fold(after[is-1].text) {
				t.Fatalf("line %d %q became %d %q", was, before[was-1].text, is, after[is-1].text)
			}
			if sectionBefore[was-1] == sectionAfter[is-1] {
				continue
			}
			code := diff.Fold(before[was-1].text)
			left := [2]int{copiesOf(code, before, sectionBefore, sectionBefore[was-1]), copiesOf(code, after, sectionAfter, sectionBefore[was-1])}
			came := [2]int{copiesOf(code, before, sectionBefore, sectionAfter[is-1]), copiesOf(code, after, sectionAfter, sectionAfter[is-1])}
			if left[0] <= left[1] || came[0] >= came[1] {
				t.Fatalf("line %d was taken for line %d in another section; there were %d copies here, now %d, and %d there, now %d", was, is, left[0], left[1], came[0], came[1])
			}
		}
		for j, e := range earlier {
			was := e.Place.Line
			is, stayed := newAt[before[was-1].id]
			if !stayed || !hangsOn(before, after, was-1, is-1) {
				continue
			}
			n, m := 0, 0 // findings on the line
			tied := 0
			for k, f := range fresh {
				if f.Place.Line == is {
					n++
					if _, ok := of[k]; ok {
						tied++
					}
				}
			}
			for _, e := range earlier {
				if e.Place.Line == was {
					m++
				}
			}
			if tied != min(n, m) {
				t.Fatalf("line %d is line %d now, and has %d findings of %d earlier ones, but %d are tied (of %d: %+v)", was, is, n, m, tied, j, of)
			}
		}
	})
}

// sections numbers the parts of two versions that lines cut which stand once in
// both. Such a line belongs to none: its number is its own. ordered tells whether
// those lines have the same order in both.
func sections(before, after []written) (b, a []int, ordered bool) {
	n := map[string]int{}
	for _, l := range before {
		n[l.text]++
	}
	m := map[string]int{}
	for _, l := range after {
		m[l.text]++
	}
	var order [2][]string
	number := func(lines []written, which int) (list []int) {
		section := 0
		for _, l := range lines {
			once := n[l.text] == 1 && m[l.text] == 1
			if once {
				section++
				order[which] = append(order[which], l.text)
			}
			list = append(list, section)
			if once {
				section++
			}
		}
		return list
	}
	b, a = number(before, 0), number(after, 1)
	return b, a, slices.Equal(order[0], order[1])
}

// copiesOf counts how often code stands in a section.
func copiesOf(code string, lines []written, sections []int, section int) int {
	n := 0
	for i, l := range lines {
		if sections[i] == section && diff.Fold(l.text) == code {
			n++
		}
	}
	return n
}

// hangsOn tells whether a line that stayed can be followed from above.
func hangsOn(before, after []written, b, a int) bool {
	n := map[string]int{}
	for _, l := range before {
		n["-"+l.text]++
	}
	for _, l := range after {
		n["+"+l.text]++
	}
	for ; b >= 0 && a >= 0; b, a = b-1, a-1 {
		if before[b] != after[a] {
			return false
		}
		if n["-"+before[b].text] == 1 && n["+"+before[b].text] == 1 {
			return true
		}
	}
	return a == b
}

// checkTies checks what holds whatever was edited, moved or unknown: no two are
// tied to one, of the same code, and lines that can be followed lead to each other.
func checkTies(t *rapid.T, of map[int]int, earlier []Earlier, fresh []Finding) {
	taken := map[int]bool{}
	for i, j := range of {
		if taken[j] {
			t.Fatalf("two are tied to %d: %v", j, of)
		}
		taken[j] = true
		e, f := earlier[j], fresh[i]
		if e.Key != f.Key {
			t.Fatalf("tied with unlike keys: %+v, %+v", e, f)
		}
		if !e.Since.Known {
			continue
		}
		now, still := e.Since.Diff.Forward(e.Place.Line)
		_, was := e.Since.Diff.Back(f.Place.Line)
		if (still || was) && now != f.Place.Line {
			t.Fatalf("line %d (now %d) is tied to %d", e.Place.Line, now, f.Place.Line)
		}
	}
}

// The same with lines moved about, findings that were made at several commits, and
// history that isn't known.
func TestMatchesOverMovesAndCommits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ed editor
		versions := [][]written{ed.file(t)}
		for range rapid.IntRange(1, 3).Draw(t, "commits") {
			versions = append(versions, ed.edit(t, versions[len(versions)-1], true))
		}
		last := versions[len(versions)-1]
		var earlier []Earlier
		for n, v := range versions {
			since := between("f.go", texts(v), texts(last))
			if rapid.IntRange(0, 3).Draw(t, "known") == 0 {
				since = Change{}
			}
			for _, e := range recalled(since, some(t, v, "earlier")...) {
				e.Head = strings.Repeat(fmt.Sprint(n), 40)
				e.Status = rapid.SampledFrom([]Status{Open, Fixed, Let}).Draw(t, "status")
				earlier = append(earlier, e)
			}
		}
		fresh := some(t, last, "fresh")
		of := Matches(earlier, fresh, added("f.go", texts(last)...))
		checkTies(t, of, earlier, fresh)
		n := map[string]int{}
		for _, l := range last {
			n[diff.Fold(l.text)]++
		}
		for i, j := range of {
			if code := fresh[i].Code[0]; !earlier[j].Since.Known && n[diff.Fold(code)] != 1 {
				t.Fatalf("%q stands %d times, and nobody knows which of them is line %d of before", code, n[diff.Fold(code)], earlier[j].Place.Line)
			}
		}
	})
}

// 500 findings on equal lines, against 500 earlier ones.
func TestMatchesAreFast(t *testing.T) {
	var before, after []string
	var list, again []prompts.Finding
	for i := range 20_000 {
		before = append(before, "return nil")
		after = append(after, "\treturn nil")
		if i%40 == 0 {
			list = append(list, on("f.go", before, i+1, "T"))
			again = append(again, on("f.go", after, i+1, "T"))
		}
	}
	fresh := made("f.go", after, again...)
	for promise, since := range map[string]Change{
		"unknown": {}, "changed": between("f.go", before, after), "renamed": {Known: true, Path: "f.go"}, "the same": {Known: true, Path: "f.go"},
	} {
		earlier := recalled(since, made("f.go", before, list...)...)
		if promise == "renamed" {
			earlier = recalled(since, made("old.go", before, list...)...)
			for j := range earlier {
				earlier[j].Place.Path = "old.go"
				earlier[j].Key = Key("old.go", "return nil", "logic")
			}
		}
		began := time.Now()
		of := Matches(earlier, fresh, added("f.go", after...))
		if took := time.Since(began); took > 30*time.Second { // a busy machine takes 4
			t.Errorf("%s: it took %s", promise, took)
		}
		if want := map[string]int{"unknown": 0, "changed": 0, "renamed": 500, "the same": 500}[promise]; len(of) != want {
			t.Errorf("%s: %d are tied, want %d", promise, len(of), want)
		}
	}
}
