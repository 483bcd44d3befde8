package thread

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"review-bot/reviewer/diff"
)

const (
	reviewed = "1111111111111111111111111111111111111111"
	blamed   = "2222222222222222222222222222222222222222"
)

// numbered is a file of so many lines, each unlike the others.
func numbered(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("line %d of it", i+1))
	}
	return list
}

func file(lines ...string) Version {
	return Version{Known: true, Text: []byte(strings.Join(lines, "\n") + "\n")}
}

// with are lines with one replaced by others; none deletes it.
func with(lines []string, n int, by ...string) []string {
	return append(append(append([]string{}, lines[:n-1]...), by...), lines[n:]...)
}

// hunkOf is what Gitea keeps of a context line.
func hunkOf(lines []string, n int) string {
	first := max(n-3, 1)
	text := fmt.Sprintf("@@ -%d,9 +%d,9 @@ func", first, first)
	for _, line := range lines[first-1 : n] {
		text += "\n " + line
	}
	return text
}

func TestStanding(t *testing.T) {
	lines := numbered(20)
	gone := Version{Known: true, Gone: true}
	anchor := Anchor{Path: "a.go", Side: New, Line: 10, Commits: []string{reviewed, blamed}, Hunk: hunkOf(lines, 10)}
	for name, tt := range map[string]struct {
		anchor func(*Anchor)
		then   Version
		now    Version
		want   Standing
	}{
		"nothing changed":     {nil, file(lines...), file(lines...), Standing{Path: "a.go", Line: 10}},
		"lines above":         {nil, file(lines...), file(append([]string{"x", "y"}, lines...)...), Standing{Path: "a.go", Line: 12}},
		"lines above deleted": {nil, file(lines...), file(lines[5:]...), Standing{Path: "a.go", Line: 5}},
		"changed":             {nil, file(lines...), file(with(lines, 10, "other")...), Standing{Outdated: true}},
		"indented":            {nil, file(lines...), file(with(lines, 10, "\t"+lines[9])...), Standing{Outdated: true}},
		"deleted":             {nil, file(lines...), file(with(lines, 10)...), Standing{Outdated: true}},
		"the file deleted":    {nil, file(lines...), gone, Standing{Outdated: true}},
		"the file emptied":    {nil, file(lines...), Version{Known: true}, Standing{Outdated: true}},
		"moved to the end":    {nil, file(lines...), file(append(with(lines, 10), lines[9])...), Standing{Path: "a.go", Line: 20}},
		"moved, and says nothing": {
			func(a *Anchor) { a.Hunk = "" }, file(with(lines, 10, "}")...), file(append(with(lines, 10), "}")...), Standing{Outdated: true},
		},
		"deleted, and its like stands elsewhere": {
			func(a *Anchor) { a.Hunk = "" }, file(with(with(lines, 10, "twice(it)"), 15, "twice(it)")...), file(with(with(lines, 15, "twice(it)"), 10)...), Standing{Outdated: true},
		},
		"moved and doubled": {nil, file(lines...), file(append(with(lines, 10), lines[9], lines[9])...), Standing{Outdated: true}},
		"the file is binary now": {
			nil, file(lines...), Version{Known: true, Text: []byte("a\x00b")}, Standing{Outdated: true},
		},
		"the head can't be read": {nil, file(lines...), Version{}, Standing{Path: "a.go"}},
		"a comment on the whole file": {
			func(a *Anchor) { a.Line, a.Hunk = 0, "" }, file(lines...), file("other"), Standing{Path: "a.go"},
		},
		"a comment on a whole file that is deleted": {
			func(a *Anchor) { a.Line, a.Hunk = 0, "" }, file(lines...), gone, Standing{Outdated: true},
		},

		// The commit is gone; the hunk is there.
		"gone, and the line stands":  {nil, Version{}, file(append([]string{"x"}, lines...)...), Standing{Path: "a.go", Line: 11}},
		"gone, and the line changed": {nil, Version{}, file(with(lines, 10, "other")...), Standing{Outdated: true}},
		"gone, and what stood above": {nil, Version{}, file(with(lines, 9, "other")...), Standing{Path: "a.go", Line: 10}},
		"gone, and a line that says nothing": {
			func(a *Anchor) { a.Hunk = "@@ -9,5 +9,5 @@\n line 9 of it\n+}" }, Version{}, file("other", "}"), Standing{Outdated: true},
		},
		"gone, and it stands twice": {nil, Version{}, file(append(lines, lines...)...), Standing{Path: "a.go"}},
		"gone, and its like stands elsewhere": {
			func(a *Anchor) { a.Hunk = "@@ -8,5 +8,5 @@\n line 8 of it\n line 9 of it\n+twice(it)" }, Version{},
			file(append([]string{"twice(it)"}, with(lines, 10, "twice(it)")...)...), Standing{Path: "a.go", Line: 11},
		},
		"gone, and the hunk ends with a newline": {func(a *Anchor) { a.Hunk += "\n" }, Version{}, file(append([]string{"x"}, lines...)...), Standing{Path: "a.go", Line: 11}},
		"a hunk that ends with a deleted line": {
			func(a *Anchor) { a.Hunk = "@@ -8,5 +8,5 @@\n line 8 of it\n line 9 of it\n-x" }, file(lines...), file(with(lines, 10, "other")...), Standing{Outdated: true},
		},
		"gone, and so is the hunk":     {func(a *Anchor) { a.Hunk = "" }, Version{}, file("other"), Standing{Path: "a.go"}},
		"gone, and the hunk is broken": {func(a *Anchor) { a.Hunk = "@@ nonsense" }, Version{}, file("other"), Standing{Path: "a.go"}},

		// The line is counted in another commit than the reviewed one.
		"another line stands there": {func(a *Anchor) { a.Hunk = hunkOf(lines, 12) }, file(lines...), file(with(lines, 10, "other")...), Standing{Path: "a.go", Line: 12}},
		"no hunk, no such line":     {func(a *Anchor) { a.Hunk, a.Line = "", 99 }, file(lines...), file(lines...), Standing{Path: "a.go"}},
		"a hunk with deleted lines": {
			func(a *Anchor) { a.Hunk = "@@ -8,5 +8,5 @@\n " + lines[7] + "\n-old\n " + lines[8] + "\n+" + lines[9] }, file(lines...), file(lines...), Standing{Path: "a.go", Line: 10},
		},
		"the last line ended":              {func(a *Anchor) { a.Line, a.Hunk = 20, "" }, Version{Known: true, Text: []byte(strings.Join(with(lines, 20, "}"), "\n"))}, file(append(with(lines, 20, "}"), "more")...), Standing{Path: "a.go", Line: 20}},
		"a mark at the beginning":          {func(a *Anchor) { a.Line, a.Hunk = 1, "" }, file(with(lines, 1, "{")...), Version{Known: true, Text: append([]byte("\ufeff"), file(with(lines, 1, "{")...).Text...)}, Standing{Path: "a.go", Line: 1}},
		"other line ends, like lines":      {func(a *Anchor) { a.Hunk = "" }, file(with(with(lines, 10, "}"), 12, "}")...), file(with(with(strings.Split(strings.Join(lines, "\r\n")+"\r", "\n"), 10, "}\r"), 12, "}\r")...), Standing{Path: "a.go", Line: 10}},
		"a hunk with a newline at its end": {func(a *Anchor) { a.Hunk += "\n" }, file(lines...), file(lines...), Standing{Path: "a.go", Line: 10}},
		"line ends of Windows": {
			func(a *Anchor) { a.Hunk = strings.ReplaceAll(a.Hunk, "\n", "\r\n") + "\r" }, file(strings.Split(strings.Join(lines, "\r\n"), "\n")...), file(lines...), Standing{Path: "a.go", Line: 10},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := anchor
			if tt.anchor != nil {
				tt.anchor(&a)
			}
			then := func(commit string) Version {
				if commit == reviewed {
					return tt.then
				}
				return Version{}
			}
			if got := a.Standing(then, tt.now, "a.go", &diff.Diff{}); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// Forgejo counts in the commit that last touched the line.
func TestStandingByTheBlamedCommit(t *testing.T) {
	old := numbered(20)
	lines := append([]string{"new 1", "new 2", "new 3"}, old...)
	a := Anchor{Path: "a.go", Side: New, Line: 10, Commits: []string{reviewed, blamed}, Hunk: hunkOf(lines, 13)}
	then := func(commit string) Version {
		return map[string]Version{reviewed: file(lines...), blamed: file(old...)}[commit]
	}
	if got, want := a.Standing(then, file(append([]string{"x"}, lines...)...), "b.go", &diff.Diff{}), (Standing{Path: "b.go", Line: 14}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := a.Standing(then, file(with(lines, 13, "other")...), "b.go", &diff.Diff{}), (Standing{Outdated: true}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestStandingOnTheOldSide(t *testing.T) {
	const deletes = "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -8,5 +8,4 @@\n line 8 of it\n line 9 of it\n-line 10 of it\n line 11 of it\n line 12 of it\n"
	parse := func(text string) *diff.Diff {
		if text == "unknown" {
			return nil
		}
		d, err := diff.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return &d
	}
	lines := numbered(20)
	deletion := "@@ -8,5 +8,4 @@\n line 8 of it\n line 9 of it\n-line 10 of it"
	reviewedFile := file(with(lines, 10)...)
	for name, tt := range map[string]struct {
		line    int
		hunk    string
		changes string
		want    Standing
	}{
		"still deleted":            {10, deletion, deletes, Standing{}},
		"no longer":                {10, deletion, "", Standing{Outdated: true}},
		"the base moved":           {7, deletion, deletes, Standing{}},
		"another line":             {10, "@@ -8,5 +8,4 @@\n-line 77 of it", deletes, Standing{Outdated: true}},
		"renamed":                  {10, deletion, strings.Replace(strings.Replace(deletes, "--- a/a.go\n+++ b/a.go", "similarity index 90%\nrename from a.go\nrename to b.go\n--- a/a.go\n+++ b/b.go", 1), "b/a.go", "b/b.go", 1), Standing{}},
		"nothing kept":             {10, "", deletes, Standing{}},
		"nothing kept, no longer":  {9, "", deletes, Standing{Outdated: true}},
		"a line that says nothing": {7, "@@ -7,5 +7,4 @@\n-}", strings.ReplaceAll(deletes, "-line 10 of it", "-}"), Standing{Outdated: true}},
		// A line that the pull request doesn't change is one of the new side, too.
		"context":          {12, "@@ -8,5 +8,4 @@\n line 8 of it\n line 9 of it\n-old\n line 11 of it\n line 12 of it", deletes, Standing{Path: "a.go", Line: 11}},
		"context, moved":   {12, "@@ -12,5 +8,4 @@\n line 8 of it\n line 9 of it", deletes, Standing{Path: "a.go", Line: 9}},
		"context, changed": {12, "@@ -8,5 +8,4 @@\n line 8 of it\n line 90 of it", deletes, Standing{Outdated: true}},
	} {
		t.Run(name, func(t *testing.T) {
			a := Anchor{Path: "a.go", Side: Old, Line: tt.line, Commits: []string{reviewed}, Hunk: tt.hunk}
			if got := a.Standing(func(string) Version { return reviewedFile }, reviewedFile, "a.go", parse(tt.changes)); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// Whatever is done to a file: a line that nobody touched stands, and where it is
// said to be it is.
func TestStandingOverEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := numbered(rapid.IntRange(1, 30).Draw(t, "lines"))
		n := rapid.IntRange(1, len(lines)).Draw(t, "line")
		kept := lines[n-1]
		now := append([]string{}, lines...)
		for i := range rapid.IntRange(0, 8).Draw(t, "edits") {
			at := rapid.IntRange(0, len(now)-1).Draw(t, "at")
			switch {
			case rapid.Bool().Draw(t, "insert"):
				now = append(now[:at:at], append([]string{fmt.Sprintf("insert %d", i)}, now[at:]...)...)
			case now[at] != kept:
				now = append(now[:at:at], now[at+1:]...)
			}
		}
		touched := rapid.Bool().Draw(t, "touched")
		if touched {
			for i := range now {
				if now[i] == kept {
					now[i] = "touched"
				}
			}
		}
		a := Anchor{Path: "a.go", Side: New, Line: n, Commits: []string{reviewed}, Hunk: hunkOf(lines, n)}
		got := a.Standing(func(string) Version { return file(lines...) }, file(now...), "a.go", &diff.Diff{})
		switch {
		case touched && !got.Outdated:
			t.Errorf("%q at %d of %q stands at %+v of %q", kept, n, lines, got, now)
		case !touched && (got.Outdated || now[got.Line-1] != kept):
			t.Errorf("%q at %d of %q is %+v of %q", kept, n, lines, got, now)
		}
	})
}

func TestRenamed(t *testing.T) {
	lines := numbered(20)
	before := file(lines...).Text
	for name, tt := range map[string]struct {
		candidates map[string][]byte
		want       string
	}{
		"the same":        {map[string][]byte{"b.go": before, "c.go": []byte("x\n")}, "b.go"},
		"half of it":      {map[string][]byte{"b.go": file(append(lines[:10:10], numbered(60)[50:]...)...).Text}, "b.go"},
		"less":            {map[string][]byte{"b.go": file(append(lines[:9:9], numbered(60)[49:]...)...).Text}, ""},
		"part of a large": {map[string][]byte{"b.go": file(append(lines, numbered(80)[50:]...)...).Text}, ""},
		"the likest":      {map[string][]byte{"b.go": file(lines[:15]...).Text, "c.go": file(lines[:18]...).Text}, "c.go"},
		"two alike":       {map[string][]byte{"c.go": before, "b.go": before}, "b.go"},
		"none":            {nil, ""},
	} {
		if got := Renamed(before, tt.candidates); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	usual := []byte(strings.Repeat("}\n\n{\n", 20) + "one of a kind\n")
	if got := Renamed(usual, map[string][]byte{"b.go": []byte(strings.Repeat("}\n\n{\n", 20) + "another line\n")}); got != "" {
		t.Errorf("what has nothing but brackets in common is taken for %q", got)
	}
	if got := Renamed(nil, map[string][]byte{"b.go": nil}); got != "" {
		t.Errorf("an empty file is renamed to %q", got)
	}
}

func FuzzReadHunk(f *testing.F) {
	for _, seed := range []string{"", "@@ -1,2 +1,2 @@\n 1\n 2\n", "@@ -0,0 +1,3 @@\n+one\n+two", "@@ -4,12 +4,12 @@\n 4\n-7\n\\ No newline at end of file", "@@ -1 +1 @@\n\n", "@@ -999999999 +1 @@ x\n+\xff"} {
		f.Add(seed, "a\nb\n", 2)
	}
	f.Fuzz(func(t *testing.T, text, data string, line int) {
		h := readHunk(text)
		for _, n := range h.places([]byte(data)) {
			want, _ := h.last()
			if got, ok := diff.CodeAt([]byte(data), n); !ok || got != want {
				t.Errorf("%q is found at %d of %q, which is %q", text, n, data, got)
			}
		}
		h.fits([]byte(data), line)
	})
}
