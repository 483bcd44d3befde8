package diff

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Line numbers, old and new, of the hunks that matter:
//
//	main.go  10/10 func open() {          40/42 defer cleanup(first)
//	         11/11   x := load(path)      41/-- total := old(sum)
//	         12/-- - return x, nil        --/43 total := fresh(sum)
//	         --/12 + if x == nil {        42/44 return nil
//	         --/13 + return nil, errNot   43/45 }
//	         --/14 + }
//	         --/15 + return x, nil
//	         13/16 }
//	         14/17 (blank)
//	         15/18 func shut() {
//	         16/19   return nil
//	         17/20 }
const anchorDiff = `diff --git a/main.go b/main.go
index 1..2 100644
--- a/main.go
+++ b/main.go
@@ -10,8 +10,11 @@ package main
 func open() {
 	x := load(path)
-	return x, nil
+	if x == nil {
+		return nil, errNot
+	}
+	return x, nil
 }
 
 func shut() {
 	return nil
 }
@@ -40,4 +43,4 @@ func third() {
 	defer cleanup(first)
-	total := old(sum)
+	total := fresh(sum)
 	return nil
 }
diff --git a/old name.go b/a/new name.go
similarity index 90%
rename from old name.go
rename to a/new name.go
--- a/old name.go	
+++ b/a/new name.go	
@@ -1,4 +1,2 @@
-// gone for good
-// gone as well
 package name
+- a list entry
-+ x = 42 + rest
diff --git a/pic.png b/pic.png
index 1..2 100644
Binary files a/pic.png and b/pic.png differ
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/sub b/sub
index 1..2 160000
--- a/sub
+++ b/sub
@@ -1 +1 @@
-Subproject commit 1111111111
+Subproject commit 2222222222
diff --git a/gone.go b/gone.go
deleted file mode 100644
index 1..0
--- a/gone.go
+++ /dev/null
@@ -1,2 +0,0 @@
-package gone
-var x = 1
diff --git a/crlf.txt b/crlf.txt
index 1..2 100644
--- a/crlf.txt
+++ b/crlf.txt
@@ -1,2 +1,2 @@
 first line here
-second line here
+second line here` + "\r" + `
diff --git "a/\303\274.go" "b/\303\274.go"
new file mode 100644
index 0..1
--- /dev/null
+++ "b/\303\274.go"
@@ -0,0 +1,2 @@
+alpha := 1
+beta := 2
diff --git a/nest.go b/nest.go
new file mode 100644
index 0..1
--- /dev/null
+++ b/nest.go
@@ -0,0 +1,3 @@
+}
+}
+closed
diff --git a/../up.go b/../up.go
new file mode 100644
index 0..1
--- /dev/null
+++ b/../up.go
@@ -0,0 +1 @@
+x
`

func TestAnchor(t *testing.T) {
	d := mustParse(t, anchorDiff)
	const main = "main.go"
	at := func(path string, side Side, line, end int) Place {
		return Place{Path: path, Side: side, Line: line, EndLine: end}
	}
	for _, tt := range []struct {
		name   string
		in     Place
		quote  string
		want   string // path side line-end, empty if outside
		how    Anchoring
		reason string
	}{
		// Where it says.
		{"added line", at(main, New, 13, 0), "", "main.go new 13-13", Exact, ""},
		{"added line, quoted", at(main, New, 13, 0), "return nil, errNot", "main.go new 13-13", Exact, ""},
		{"white space folded", at(main, New, 13, 0), "   return  nil,\terrNot ", "main.go new 13-13", Exact, ""},
		{"context line", at(main, New, 18, 0), "func shut() {", "main.go new 18-18", Exact, ""},
		{"no side is new", at(main, "", 43, 0), "defer cleanup(first)", "main.go new 43-43", Exact, ""},
		{"unknown side is new", at(main, "right", 43, 0), "", "main.go new 43-43", Exact, ""},
		{"deleted line", at(main, Old, 12, 0), "return x, nil", "main.go old 12-12", Exact, ""},
		{"quote contained", at(main, New, 43, 0), "cleanup(first)", "main.go new 43-43", Exact, ""},
		{"line contained in quote", at(main, New, 43, 0), "defer cleanup(first) // never runs", "main.go new 43-43", Exact, ""},
		{"with the sign", at(main, New, 12, 0), "+	if x == nil {", "main.go new 12-12", Exact, ""},
		{"with line numbers", at(main, New, 19, 0), "  16    19   	return nil", "main.go new 19-19", Exact, ""},
		{"with one line number and sign", at(main, New, 44, 0), "        44 + 	total := fresh(sum)", "main.go new 44-44", Exact, ""},
		{"with a bar", at(main, New, 44, 0), "44 | total := fresh(sum)", "main.go new 44-44", Exact, ""},
		{"in backquotes", at(main, New, 44, 0), "`total := fresh(sum)`", "main.go new 44-44", Exact, ""},
		{"in a fence", at(main, New, 44, 0), "```go\ntotal := fresh(sum)\n```", "main.go new 44-44", Exact, ""},
		{"trivial confirms", at(main, New, 14, 0), "}", "main.go new 14-14", Exact, ""},
		{"quote of blanks is none", at(main, New, 17, 0), " \n\n", "main.go new 17-17", Exact, ""},
		{"repeated line, right number", at(main, New, 45, 0), "return nil", "main.go new 45-45", Exact, ""},
		{"line within its block", at(main, New, 13, 0), "if x == nil {\n    return nil, errNot\n}", "main.go new 13-13", Exact, ""},
		{"last line of a block over blanks", at(main, New, 18, 0), "return x, nil\n}\nfunc shut() {", "main.go new 18-18", Exact, ""},
		{"block of both signs", at(main, New, 12, 0), "-	return x, nil\n+	if x == nil {", "main.go new 12-12", Exact, ""},
		{"block of both signs, from the old side", at("a/new name.go", New, 1, 0), "-// gone for good\n-// gone as well\n package name", "a/new name.go new 1-1", Exact, ""},
		{"deleted file", at("gone.go", Old, 2, 0), "var x = 1", "gone.go old 2-2", Exact, ""},
		{"CRLF", at("crlf.txt", New, 2, 0), "second line here\r\n", "crlf.txt new 2-2", Exact, ""},
		{"CRLF as shown", at("crlf.txt", New, 2, 0), "second line here␍", "crlf.txt new 2-2", Exact, ""},
		{"content with a sign", at("a/new name.go", New, 2, 0), "- a list entry", "a/new name.go new 2-2", Exact, ""},

		// An old number of a context line.
		{"converted", at(main, Old, 15, 0), "func shut() {", "main.go new 18-18", Exact, ""},
		{"converted without quote", at(main, Old, 42, 0), "", "main.go new 45-45", Exact, ""},
		{"converted with its end", at(main, Old, 15, 17), "", "main.go new 18-20", Exact, ""},
		{"converted over a change", at(main, Old, 11, 13), "", "main.go new 11-16", Exact, ""},
		{"converted, other code", at(main, Old, 16, 0), "func shut() {", "main.go new 18-18", Moved, ""},

		// Where the quote is.
		{"line off by one", at(main, New, 12, 0), "return nil, errNot", "main.go new 13-13", Moved, ""},
		{"line far off", at(main, New, 900, 0), "total := fresh(sum)", "main.go new 44-44", Moved, ""},
		{"no line", at(main, New, 0, 0), "total := fresh(sum)", "main.go new 44-44", Moved, ""},
		{"negative line", at(main, New, -7, math.MaxInt), "total := fresh(sum)", "main.go new 44-44", Moved, ""},
		{"part of a line", at(main, New, 1, 0), "errNot = nil, errNot", "", Outside, "line 1 is not in the diff, nor is the quoted code"},
		{"part of one line", at(main, New, 1, 0), "nil, errNot", "main.go new 13-13", Moved, ""},
		{"wrong side, to old", at(main, New, 12, 0), "total := old(sum)", "main.go old 41-41", Moved, ""},
		{"wrong side, to new", at(main, Old, 41, 0), "total := fresh(sum)", "main.go new 44-44", Moved, ""},
		{"stated side first", at(main, Old, 41, 0), "return x, nil", "main.go old 12-12", Moved, ""},
		{"stated side first, new", at(main, New, 41, 0), "return x, nil", "main.go new 15-15", Moved, ""},
		{"with numbers, wrong line", at(main, New, 3, 0), "  18    18   func shut() {", "main.go new 18-18", Moved, ""},
		{"block tells repeats apart", at(main, New, 1, 0), "return nil\n}\n\nfunc third()", "", Outside, "the quoted code stands in several places"},
		{"block tells repeats apart, at the second", at(main, New, 44, 0), "}\nfunc shut() {", "main.go new 16-16", Moved, ""},
		{"moved keeps its length", at(main, New, 1, 3), "if x == nil {", "main.go new 12-14", Moved, ""},
		{"moved is cut at the hunk's end", at(main, New, 1, 30), "if x == nil {", "main.go new 12-20", Moved, ""},
		{"moved to old", at("old name.go", New, 70, 79), "// gone for good", "a/new name.go old 1-2", Moved, ""},
		{"huge length", at(main, New, 1, math.MaxInt), "if x == nil {", "main.go new 12-20", Moved, ""},

		// The end.
		{"end", at(main, New, 12, 14), "", "main.go new 12-14", Exact, ""},
		{"end before the line", at(main, New, 12, 3), "", "main.go new 12-12", Exact, ""},
		{"end behind the hunk", at(main, New, 18, 44), "", "main.go new 18-20", Exact, ""},
		{"end behind the deleted lines", at("a/new name.go", Old, 1, 3), "", "a/new name.go old 1-2", Exact, ""},
		{"end huge", at(main, New, 44, math.MaxInt), "", "main.go new 44-46", Exact, ""},
		{"end negative", at(main, New, 44, math.MinInt), "", "main.go new 44-44", Exact, ""},

		// Paths.
		{"./", at("./main.go", New, 13, 0), "", "main.go new 13-13", Exact, ""},
		{"b/", at("b/main.go", New, 13, 0), "", "main.go new 13-13", Exact, ""},
		{"/b/", at("/b/main.go", New, 13, 0), "", "main.go new 13-13", Exact, ""},
		{"backquotes", at(" `main.go` ", New, 13, 0), "", "main.go new 13-13", Exact, ""},
		{"a real a/", at("a/new name.go", New, 1, 0), "", "a/new name.go new 1-1", Exact, ""},
		{"a/ doubled", at("b/a/new name.go", New, 1, 0), "", "a/new name.go new 1-1", Exact, ""},
		{"old name", at("old name.go", Old, 2, 0), "", "a/new name.go old 2-2", Exact, ""},
		{"umlaut", at("ü.go", New, 2, 0), "beta := 2", "ü.go new 2-2", Exact, ""},
		{"quoted", at(`"\u00fc.go"`, New, 2, 0), "beta := 2", "ü.go new 2-2", Exact, ""},

		// Outside.
		{"no path", at(" ", New, 1, 0), "", "", Outside, "the finding names no file"},
		{"unknown file", at("other.go", New, 13, 0), "return nil, errNot", "", Outside, "the file is not in the diff"},
		{"binary", at("pic.png", New, 1, 0), "", "", Outside, "binary file"},
		{"mode only", at("run.sh", New, 1, 0), "", "", Outside, "the diff shows no lines of the file"},
		{"submodule", at("sub", New, 1, 0), "", "", Outside, "a submodule has no lines to comment on"},
		{"upward path", at("../up.go", New, 1, 0), "", "", Outside, "the server takes no comments on such a path"},
		{"between the hunks", at(main, New, 30, 0), "", "", Outside, "line 30 is not in the diff"},
		{"between the hunks, old", at(main, Old, 30, 0), "", "", Outside, "line 30 of the old file is not in the diff"},
		{"no line, no quote", at(main, New, 0, 0), "", "", Outside, "no line is given"},
		{"the stated line goes before a better one", at(main, New, 13, 0), "return nil", "main.go new 13-13", Exact, ""},
		{"blank line as shown", at(main, New, 17, 0), "  14    17", "main.go new 17-17", Exact, ""},
		{"block as shown, with a blank line", at(main, New, 2, 0), "  13    16   }\n  14    17\n  15    18   func shut() {\n", "main.go new 16-16", Moved, ""},
		{"blank line alone doesn't move", at(main, New, 2, 0), "  14    17", "", Outside, "line 2 is not in the diff, nor is the quoted code"},
		{"repeated line, wrong number", at(main, New, 12, 0), "return nil", "", Outside, "the quoted code stands in several places"},
		{"right line, foreign quote", at(main, New, 13, 0), "db.Query(user)", "", Outside, "line 13 is other than quoted, and the quoted code is not in the file's diff"},
		{"wrong line, foreign quote", at(main, New, 30, 0), "db.Query(user)", "", Outside, "line 30 is not in the diff, nor is the quoted code"},
		{"trivial doesn't move", at("ü.go", New, 1, 0), "}", "", Outside, "line 1 is other than quoted, and the quote is too slight to find its place by"},
		{"trivial, numbered", at(main, New, 13, 0), "  77    77   }", "", Outside, "line 13 is other than quoted, and the quoted code is not in the file's diff"},
		{"trivial, no line", at(main, New, 99, 0), "+ }", "", Outside, "line 99 is not in the diff, and the quote is too slight to find its place by"},
		{"a block of punctuation", at("nest.go", New, 9, 0), "}\n}", "", Outside, "line 9 is not in the diff, and the quote is too slight to find its place by"},
		{"a block that is there twice", at(main, New, 1, 0), "return nil\n}", "", Outside, "the quoted code stands in several places"},
		{"a slight line within the quote", at(main, New, 14, 0), "if done { stop() }", "", Outside, "line 14 is other than quoted, and the quoted code is not in the file's diff"},
		{"short part isn't enough", at(main, New, 13, 0), "errNot", "", Outside, "line 13 is other than quoted, and the quoted code is not in the file's diff"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.in.Quote = tt.quote
			got, how, reason := d.Anchor(tt.in)
			if how != tt.how || reason != tt.reason {
				t.Errorf("%v: %s, %q", got, how, reason)
			}
			if s := fmt.Sprintf("%s %s %d-%d", got.Path, got.Side, got.Line, got.EndLine); how != Outside && s != tt.want {
				t.Errorf("%s: %s, want %s", how, s, tt.want)
			}
			if how == Outside {
				want := tt.in
				if f, ok := d.tidied(want.Path); ok {
					want.Path = f.Path
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("an outside place was changed: %s", diff)
				}
			}
			checkPlace(t, d, got, how, reason)
		})
	}
}

// checkPlace is what holds for any answer of Anchor.
func checkPlace(t interface {
	Helper()
	Fatalf(string, ...any)
}, d Diff, p Place, how Anchoring, reason string) {
	t.Helper()
	if (how == Outside) != (reason != "") {
		t.Fatalf("%s, because %q", how, reason)
	}
	if how == Outside {
		return
	}
	f, ok := d.File(p.Path)
	if !ok || f.Path != p.Path || p.Side != New && p.Side != Old || p.EndLine < p.Line {
		t.Fatalf("%s at %+v", how, p)
	}
	for n := p.Line; n <= p.EndLine; n++ {
		if !f.Commentable(p.Side, n) {
			t.Fatalf("%s at %+v: line %d takes no comment", how, p, n)
		}
	}
}

// The right quote of a line that is there once finds it, whatever the number says.
func TestAnchorFindsUniqueLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f File
		oldN, newN := 1, 1
		serial := 0
		for range rapid.IntRange(1, 4).Draw(t, "hunks") {
			gap := rapid.IntRange(0, 50).Draw(t, "gap")
			oldN, newN = oldN+gap, newN+gap
			h := Hunk{OldStart: oldN, NewStart: newN}
			for range rapid.IntRange(1, 30).Draw(t, "lines") {
				l := Line{Op: rapid.SampledFrom([]Op{Context, Add, Delete}).Draw(t, "op")}
				serial++
				// Neither is contained in another: all are equally long.
				l.Text = rapid.SampledFrom([]string{"}", "\treturn nil", "", fmt.Sprintf("\tcall(a%04d, b)", serial)}).Draw(t, "text")
				if l.Op != Add {
					l.Old = oldN
					oldN++
					h.OldLines++
				}
				if l.Op != Delete {
					l.New = newN
					newN++
					h.NewLines++
				}
				h.Lines = append(h.Lines, l)
			}
			if h.OldLines == 0 {
				h.OldStart--
			}
			if h.NewLines == 0 {
				h.NewStart--
			}
			f.Hunks = append(f.Hunks, h)
		}
		f.Path, f.OldPath, f.Status = "f", "f", Modified
		d := Diff{Files: []File{f}}
		p := Place{
			Path: rapid.SampledFrom([]string{"f", "./f", "a/f"}).Draw(t, "path"), Side: rapid.SampledFrom([]Side{Old, New, ""}).Draw(t, "side"),
			Line: rapid.IntRange(-2, 200).Draw(t, "line"), EndLine: rapid.IntRange(-2, 200).Draw(t, "end"),
		}
		hunk := rapid.SampledFrom(f.Hunks).Draw(t, "in")
		l := rapid.SampledFrom(hunk.Lines).Draw(t, "of")
		dress := rapid.SampledFrom([]string{"%s", " %s ", "  17    18   %s", "+%s", "\n%s\n", "```\n%s\n```"}).Draw(t, "dress")
		p.Quote = fmt.Sprintf(dress, l.Text)
		got, how, reason := d.Anchor(p)
		checkPlace(t, d, got, how, reason)
		if !strings.Contains(l.Text, "call") {
			return
		}
		if wantSide := map[bool]Side{true: Old, false: New}[l.Op == Delete]; how == Outside || got.Side != wantSide || got.Line != l.Number(wantSide) {
			t.Fatalf("%+v: %s at %+v %s, want %+v", p, how, got, reason, l)
		}
		again, how, _ := d.Anchor(got)
		if how != Exact || again != got {
			t.Fatalf("anchored again: %s, %+v, was %+v", how, again, got)
		}
	})
}

func TestFold(t *testing.T) {
	for in, want := range map[string]string{"": "", " \t\n": "", "a": "a", "\ta  b\r\n c\u00a0": "a b c"} {
		if got := Fold(in); got != want {
			t.Errorf("Fold(%q) = %q", in, got)
		}
	}
}
