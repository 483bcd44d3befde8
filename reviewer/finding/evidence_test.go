package finding

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"review-bot/prompts"
	"review-bot/reviewer/diff"
)

// changedTo is what became of a file, with what it holds now.
func changedTo(path string, before, after []string) Change {
	c := between(path, before, after)
	c.Text = []byte(text(after...))
	return c
}

// pull is the diff of a pull request that brings these files in.
func pull(files ...diff.Diff) diff.Diff {
	var d diff.Diff
	for _, f := range files {
		d.Files = append(d.Files, f.Files...)
	}
	return d
}

// What may close a finding that the model leaves out, and what may not.
func TestNothingClosesByItself(t *testing.T) {
	file := []string{"func f() {", "\tone()", "\tbad(a, b)", "\ttwo()", "}"}
	with := func(lines ...string) []string { return slices.Concat(file[:2], lines, file[3:]) }
	const id = "e0000000"
	fix := func(by string) []prompts.Fix { return []prompts.Fix{{ID: id, By: by}} }
	to := func(after ...string) func(*Case) {
		return func(c *Case) { c.Earlier[0].Since = changedTo("f.go", file, after) }
	}
	also := func(path string, change Change) func(*Case) {
		return func(c *Case) {
			if c.Changes == nil {
				c.Changes = map[Version]Change{}
			}
			c.Changes[Version{path, head}] = change
		}
	}
	beside := func(files ...diff.Diff) func(*Case) {
		return func(c *Case) { c.Diff = pull(append(files, c.Diff)...) }
	}
	named := func(by string) func(*Case) { return func(c *Case) { c.Closed = fix(by) } }
	gone := func(c *Case) { c.Earlier[0].Since = deleted("f.go", file) }
	unknown := func(c *Case) { c.Earlier[0].Since = Change{} }
	says := func(u User, comment int64) func(*Case) {
		return func(c *Case) { c.Earlier[0].Replies = append(c.Earlier[0].Replies, Reply{comment, u, "ok"}) }
	}
	body := func(c *Case) { c.Earlier[0].Where, c.Earlier[0].Comment, c.Earlier[0].Place.Line = InBody, 0, 900 }
	stranger := User{99, "mallory"}
	other := []string{"x()", "y()", "z()"}
	// The finding is about line 3 of the old file, which the pull request deletes.
	onOld := func(after []string, still bool) func(*Case) {
		return func(c *Case) {
			e := &c.Earlier[0]
			e.Place.Side = diff.Old
			e.Since = changedTo("f.go", with(), after)
			c.Diff = diff.Diff{}
			if still {
				f := diff.Between("f.go", []byte(text(file...)), []byte(text(after...)))
				c.Diff.Files = []diff.File{f}
			}
		}
	}
	for promise, tt := range map[string]struct {
		changes []func(*Case)
		closes  bool
	}{
		// The finding's own code.
		"nothing changed":          {nil, false},
		"its line was changed":     {[]func(*Case){to(with("\tbad(a, c)")...)}, true},
		"its line was deleted":     {[]func(*Case){to(with()...)}, true},
		"only indented":            {[]func(*Case){to(with("\t\tbad(a, b)")...)}, false},
		"other white space within": {[]func(*Case){to(with("\tbad(a,b)")...)}, false},
		"broken up into two lines": {[]func(*Case){to(with("\tbad(a,", "\t\tb)")...)}, false},
		"a comment above it":       {[]func(*Case){to(with("\t// fixed", "\tbad(a, b)")...)}, false},
		"the line above changed":   {[]func(*Case){to("func f() {", "\tuno()", "\tbad(a, b)", "\ttwo()", "}")}, false},
		"moved down":               {[]func(*Case){to("func f() {", "\tone()", "\ttwo()", "\tbad(a, b)", "}")}, false},
		"deleted, and there again": {
			[]func(*Case){to("func f() {", "\tuno()", "\tdos()", "\tbad(a, b)", "\ttres()", "}")}, false,
		},
		"moved far down": {[]func(*Case){func(c *Case) {
			far := slices.Concat(file, strings.Fields("1 2 3 4 5 6 7 8 9 10 11 12"))
			c.Earlier[0].Since = changedTo("f.go", far, slices.Concat(with("\tgood()"), far[5:], []string{"bad(a, b)"}))
		}}, false},
		"moved and indented": {
			[]func(*Case){to("func f() {", "\tone()", "\ttwo()", "\tif x {", "\t\tbad( a,b )", "\t}", "}")}, false,
		},
		"the file is gone":              {[]func(*Case){gone}, true},
		"what became of it isn't known": {[]func(*Case){unknown}, false},
		"it is binary now": {
			[]func(*Case){func(c *Case) { c.Earlier[0].Since = changedTo("f.go", file, []string{"\x00"}) }}, false,
		},
		"a blank line was meant": {
			[]func(*Case){to("x"),
				func(c *Case) { c.Earlier[0].Since = changedTo("f.go", []string{"a", "b", "", "c"}, []string{"x"}) }}, false,
		},
		"moved to a new file": {
			[]func(*Case){to(with()...), beside(added("g.go", "bad(a, b)")),
				also("g.go", changedTo("g.go", nil, []string{"bad(a, b)"}))}, false,
		},
		"moved, the file isn't known": {[]func(*Case){to(with()...), beside(added("g.go", "bad(a, b)"))}, false},
		"the same was there before": {
			[]func(*Case){to(with()...), beside(added("g.go", "bad(a, b)")), also("g.go", Change{Known: true, Path: "g.go"})},
			true,
		},
		"the same is in many files": {
			[]func(*Case){to(with()...), beside(slices.Repeat([]diff.Diff{added("g.go", "bad(a, b)")}, maxElsewhere)...),
				also("g.go", Change{Known: true, Path: "g.go"})}, false,
		},
		"the file was renamed": {
			[]func(*Case){gone, beside(added("g.go", file...)), also("g.go", changedTo("g.go", nil, file))}, false,
		},
		"renamed, as the diff says": {
			[]func(*Case){func(c *Case) { c.Earlier[0].Since = Change{Known: true, Path: "g.go"} }}, false,
		},
		"renamed, and its line was changed": {
			[]func(*Case){func(c *Case) { c.Earlier[0].Since = changedTo("g.go", file, with("\tgood()")) }}, true,
		},
		"without a path": {
			[]func(*Case){func(c *Case) { c.Earlier[0].Place = diff.Place{}; c.Earlier[0].Since = Change{} }}, false,
		},
		"its marker was edited": {
			[]func(*Case){func(c *Case) { c.Earlier[0].Head, c.Earlier[0].Key, c.Earlier[0].Since = "", "", Change{} }}, false,
		},

		// A change that the answer names.
		"named: a line above": {
			[]func(*Case){to("func f() {", "\tone()", "\tif a == nil { return }", "\tbad(a, b)", "\ttwo()", "}"),
				named("f.go:3")}, true,
		},
		"named, as models write": {
			[]func(*Case){to("func f() {", "\tone()", "\tif a == nil { return }", "\tbad(a, b)", "\ttwo()", "}"),
				named(" `f.go:3`")}, true,
		},
		"named: another file": {
			[]func(*Case){also("g.go", changedTo("g.go", other, []string{"x()", "check()", "z()"})), named("g.go:2")}, true,
		},
		"named: a new file": {
			[]func(*Case){also("g.go", changedTo("g.go", nil, other)), named("g.go:2")}, true,
		},
		"named: lines were deleted": {
			[]func(*Case){also("g.go", changedTo("g.go", other, other[:2])), named("g.go:2")}, true,
		},
		"named: a file was emptied": {
			[]func(*Case){also("g.go", changedTo("g.go", other, nil)), named("g.go:0")}, true,
		},
		"named: a file that is gone": {[]func(*Case){also("g.go", deleted("g.go", other)), named("g.go")}, true},
		"named: gone, with a line": {
			[]func(*Case){also("g.go", deleted("g.go", other)), named("g.go:2")}, true,
		},
		"named: gone, but renamed": {
			[]func(*Case){also("g.go", deleted("g.go", other)), named("g.go"), beside(added("h.go", other...))}, false,
		},
		"named: it didn't change": {
			[]func(*Case){also("g.go", Change{Known: true, Path: "g.go"}), named("g.go:2")}, false,
		},
		"named: it isn't known": {[]func(*Case){named("g.go:2")}, false},
		"named: far from the change": {
			[]func(*Case){also("g.go", changedTo("g.go", append(slices.Clone(other), strings.Fields("1 2 3 4 5 6 7")...),
				append([]string{"w()"}, strings.Fields("y() z() 1 2 3 4 5 6 7")...))), named("g.go:10")}, false,
		},
		"named: no line": {
			[]func(*Case){also("g.go", changedTo("g.go", other, []string{"x()", "check()", "z()"})), named("g.go")}, false,
		},
		"named: white space": {
			[]func(*Case){also("g.go", changedTo("g.go", other, []string{"x()", "\ty( )", "z()"})), named("g.go:2")}, false,
		},
		"named: a blank line": {
			[]func(*Case){to("func f() {", "\tone()", "", "\tbad(a, b)", "\ttwo()", "}"), named("f.go:3")}, false,
		},
		"named: nothing": {[]func(*Case){to(with("", "\tbad(a, b)")...), named("")}, false},
		"named: where its code was moved": {
			[]func(*Case){gone, beside(added("g.go", file...)), also("g.go", changedTo("g.go", nil, file)), named("g.go:3")},
			false,
		},
		"named: and retained": {
			[]func(*Case){to(with()...), named("f.go:3"), func(c *Case) { c.Retained = []string{id} }}, false,
		},
		"named for another finding": {
			[]func(*Case){also("g.go", changedTo("g.go", other, []string{"new()"})),
				func(c *Case) { c.Closed = []prompts.Fix{{ID: "e0000001", By: "g.go:1"}} }}, false,
		},
		"named: its own file, which isn't known": {[]func(*Case){unknown, named("f.go:3")}, false},
		"named: though its own file isn't known": {
			[]func(*Case){unknown, also("g.go", changedTo("g.go", other, []string{"new()"})), named("g.go:1")}, true,
		},
		"named: not shown to the model": {
			[]func(*Case){to(with()...), func(c *Case) { c.Shown = func(string) bool { return false } }}, false,
		},
		"named: a change of another commit's age": {
			[]func(*Case){func(c *Case) { c.Changes = map[Version]Change{{"g.go", base}: changedTo("g.go", other, nil)} },
				named("g.go:1")}, false,
		},

		// Replies.
		"the author replied":             {[]func(*Case){says(author, 101)}, true},
		"a person with write access did": {[]func(*Case){says(person, 101)}, true},
		"a stranger's ok":                {[]func(*Case){says(stranger, 101)}, false},
		"the author spoke before":        {[]func(*Case){says(author, 99)}, false},
		"the author replied, it is kept": {
			[]func(*Case){says(author, 101), func(c *Case) { c.Retained = []string{id} }}, false,
		},
		"a stranger, and nobody is known": {[]func(*Case){says(person, 101), func(c *Case) { c.MayWrite = nil }}, false},

		// Without a line that was checked.
		"in the body: nothing changed":      {[]func(*Case){body}, false},
		"in the body: its code was changed": {[]func(*Case){to(with("\tgood()")...), body}, true},
		"in the body: other code was changed": {
			[]func(*Case){to("func f() {", "\tuno()", "\tbad(a, b)", "\ttwo()", "}"), body}, false,
		},
		"in the body: moved": {
			[]func(*Case){to("func f() {", "\tone()", "\ttwo()", "\tbad(a, b)", "}"), body}, false,
		},
		"in the body: one of two": {[]func(*Case){func(c *Case) {
			two := slices.Concat(file, strings.Fields("1 2 3 4 5 6 7 8"), file)
			c.Earlier[0].Since = changedTo("f.go", two, two[5:])
		}, body}, false},
		"in the body: it quoted nothing": {
			[]func(*Case){to("all new"), body, func(c *Case) { c.Earlier[0].Key = Key("f.go", "\x00T", "logic") }}, false,
		},
		"in the body: the file is gone": {[]func(*Case){gone, body}, true},
		"in the body: named": {
			[]func(*Case){also("g.go", changedTo("g.go", other, []string{"new()"})), named("g.go:1"), body}, true,
		},
		"in the body: a stranger can't reply": {[]func(*Case){body, says(stranger, 101)}, false},
		"in the body, without a path, is named": {
			[]func(*Case){body, func(c *Case) { c.Earlier[0].Place = diff.Place{}; c.Earlier[0].Since = Change{} },
				also("g.go", changedTo("g.go", other, []string{"new()"})), named("g.go:1")}, true,
		},

		// A deleted line.
		"on the old side: still deleted":     {[]func(*Case){onOld(with(), true)}, false},
		"on the old side: other code came":   {[]func(*Case){onOld(with("\telse()"), true)}, false},
		"on the old side: it is there again": {[]func(*Case){onOld(file, false)}, true},
		"on the old side: there is another one": {[]func(*Case){onOld(with("", "\tbad(a, b)", ""), true), func(c *Case) {
			c.Diff = pull(diff.Diff{Files: []diff.File{diff.Between("f.go", []byte(text(file...)), []byte(text(with()...)))}})
		}}, false},
		"on the old side: neither there nor deleted": {[]func(*Case){onOld(with(), false)}, false},
		"on the old side: it isn't known":            {[]func(*Case){onOld(file, false), unknown}, false},
	} {
		f := made("f.go", file, on("f.go", file, 3, "T"))[0]
		c := Case{
			Earlier: recalled(Change{Known: true, Path: "f.go"}, f), Shown: always, Diff: added("f.go", file...), Head: base,
			Author: authorID, MayWrite: func(u User) bool { return u == person },
		}
		for _, change := range tt.changes {
			change(&c)
		}
		r := Merge(c)
		if closed := len(r.Resolved)+len(r.Answered) == 1; closed != tt.closes || closed == (len(r.Counted) == 1) {
			t.Errorf("%s: %q", promise, told(r.All()))
		}
		if len(r.Counted) == 1 && r.Counted[0].Doubted != (len(c.Retained) == 0 && c.Shown(id)) {
			t.Errorf("%s: in doubt: %v", promise, r.Counted[0].Doubted)
		}
		// Only what Versions asks for is looked at.
		if versions := c.Versions(); c.Changes != nil {
			for v := range c.Changes {
				if !slices.Contains(versions, v) {
					delete(c.Changes, v)
				}
			}
			if again := Merge(c); len(again.Counted) != len(r.Counted) {
				t.Errorf("%s: with what is asked for, %q, it ends otherwise: %q", promise, versions, told(again.All()))
			}
		}
	}
}

// Of findings that the answer keeps nothing is looked up, of the others only what
// the round needs.
func TestWhatARoundLooksUp(t *testing.T) {
	file := strings.Fields("one two three")
	list := recalled(changedTo("f.go", file, strings.Fields("one 2 three")),
		made("f.go", file, on("f.go", file, 1, "T"), on("f.go", file, 2, "U"), on("f.go", file, 3, "V"))...)
	for i := range list {
		list[i].Replies = []Reply{{500, person, "?"}, {501, author, "!"}, {502, person, "?"}}
	}
	list[2].Replies = append(list[2].Replies, Reply{503, User{99, "mallory"}, "ok"})
	c := Case{
		Earlier: list, Shown: always, Head: base, Author: authorID, Retained: []string{" `E0000002` "},
		Closed: []prompts.Fix{{ID: "E0000000", By: "g.go:4"}, {ID: "e0000000", By: "f.go:2"},
			{ID: "e0000002", By: "kept.go:4"}, {ID: "deadbeef", By: "none.go:4"}},
		Diff: pull(added("f.go", file...), added("h.go", "two")),
	}
	if got := c.Versions(); !slices.Equal(got, []Version{{"g.go", head}, {"h.go", head}}) {
		t.Errorf("%q", got)
	}
	if got := c.Repliers(); !slices.Equal(got, []User{person}) {
		t.Errorf("%v", got)
	}
}

// Whatever happens to the rest of a file, a finding whose line is still in it is
// kept, wherever that line is and however it is indented.
func TestALineThatIsStillThereKeepsItsFinding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.SampledFrom([]string{"a()", "b()", "c()", "d()", "e()", "}", "return", ""})
		before := rapid.SliceOfN(code, 1, 12).Draw(t, "before")
		n := rapid.IntRange(1, len(before)).Draw(t, "line")
		before[n-1] = "bad()" // the only one: of several nobody knows which is left
		after := rapid.SliceOfN(code, 0, 12).Draw(t, "after")
		kept := rapid.SampledFrom([]string{"", "\t", "  "}).Draw(t, "indent") + before[n-1]
		i := rapid.IntRange(0, len(after)).Draw(t, "at")
		after = slices.Concat(after[:i], []string{kept}, after[i:])
		list := recalled(changedTo("f.go", before, after), made("f.go", before, on("f.go", before, n, "T"))...)
		r := Merge(Case{Earlier: list, Shown: always, Diff: added("f.go", after...), Head: base, Author: authorID})
		if len(r.Counted) != 1 || !r.Counted[0].Doubted {
			t.Fatalf("%q became %q, and line %d is %q", before, after, n, told(r.All()))
		}
	})
}
