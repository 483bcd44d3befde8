package diff

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func seeds(f *testing.F, add func(text string)) {
	f.Helper()
	for _, s := range []string{
		"", anchorDiff,
		"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -5,0 +6,2 @@\n+a\n+b\n@@ -9,2 +11,0 @@ f(\xff)\n-a\n-b\xff\n\\ No newline at end of file\n",
		"diff --git \"a/\\\\\\\"\\t\" \"b/\\\\\\\"\\t\"\nnew file mode 100644\n",
		"diff --git a/x b/y b/x b/y\nold mode 100644\nnew mode 100755\n",
		"diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\ndiff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+y\n\\ No newline at end of file\n",
		"diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -2 +0,0 @@\n-x\ndiff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+y\n",
		"diff --git a/f b/f\nindex 1..2\nGIT binary patch\nliteral 1\nIc${Mg\n\nliteral 0\nHcmV?d00001\n\n",
		"diff --git a/f b/f\nsimilarity index 100%\ncopy from f\ncopy to g\n",
		"diff --git diff --git a/ b/\n\\\n",
		"diff --cc f\n@@@ -1 -1 +1 @@@\n",
		"--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n",
		"diff --git a/f b/f\n@@ -9223372036854775807,-1 +-1,9223372036854775807 @@\n+\n",
	} {
		add(s)
	}
}

func FuzzParse(f *testing.F) {
	seeds(f, func(s string) { f.Add([]byte(s)) })
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data)
		if err != nil {
			if len(d.Files) > 0 || !strings.Contains(err.Error(), "line ") {
				t.Fatalf("%v, %+v", err, d)
			}
			return
		}
		checkDiff(t, d)
	})
}

// checkDiff is what the package promises of a parsed Diff.
func checkDiff(t interface {
	Helper()
	Fatalf(string, ...any)
}, d Diff) {
	t.Helper()
	paths := map[string]bool{}
	added, deleted := 0, 0
	for _, f := range d.Files {
		if f.Path == "" || f.OldPath == "" || paths[f.Path] {
			t.Fatalf("path %q, old path %q, there before: %t", f.Path, f.OldPath, paths[f.Path])
		}
		paths[f.Path] = true
		oldN, newN := 0, 0
		for _, h := range f.Hunks {
			if !utf8.ValidString(h.Section) || len(h.Lines) == 0 {
				t.Fatalf("%+v", h)
			}
			o, n := h.begin(Old), h.begin(New)
			if o <= oldN || n <= newN {
				t.Fatalf("hunk at %d,%d after lines %d,%d", o, n, oldN, newN)
			}
			for _, l := range h.Lines {
				if !utf8.ValidString(l.Text) || strings.Contains(l.Text, "\n") {
					t.Fatalf("%q", l.Text)
				}
				if l.Raw != "" && (utf8.ValidString(l.Raw) || readable(l.Raw) != l.Text) {
					t.Fatalf("%q of %q", l.Text, l.Raw)
				}
				want := Line{Op: l.Op, Text: l.Text, Raw: l.Raw, CR: l.CR, NoNewline: l.NoNewline}
				if l.Op != Add {
					want.Old = o
					o++
				} else {
					added++
				}
				if l.Op != Delete {
					want.New = n
					n++
				} else {
					deleted++
				}
				if l != want {
					t.Fatalf("%+v, want %+v", l, want)
				}
			}
			oldN, newN = o-1, n-1
			if oldN != h.end(Old) || newN != h.end(New) {
				t.Fatalf("hunk ends at %d,%d, not %d,%d", oldN, newN, h.end(Old), h.end(New))
			}
		}
		if s := f.Render(); !utf8.ValidString(s) || strings.Count(s, "\nfile: ") > 0 {
			t.Fatalf("rendered %q", s)
		}
	}
	if files, a, del := d.Stat(); files != len(d.Files) || a != added || del != deleted {
		t.Fatalf("Stat() = %d, %d, %d; there are %d, %d", files, a, del, added, deleted)
	}
}

func FuzzAnchor(f *testing.F) {
	seeds(f, func(s string) {
		f.Add([]byte(s), "main.go", "new", 13, 0, "return nil, errNot")
		f.Add([]byte(s), "b/f", "old", 1, 1<<62, "}\nx\n+ y\n 1 2 3")
		f.Add([]byte(s), "\"f\"", "", -1<<63, -1<<63, "␍\n``\n```\n+\n12")
	})
	f.Fuzz(func(t *testing.T, data []byte, path, side string, line, end int, quote string) {
		d, err := Parse(data)
		if err != nil {
			return
		}
		places := []Place{{Path: path, Side: Side(side), Line: line, EndLine: end, Quote: quote}}
		for _, file := range d.Files { // random paths hardly ever hit
			places = append(places, Place{Path: file.Path, Side: Side(side), Line: line, EndLine: end, Quote: quote})
		}
		for _, p := range places {
			got, how, reason := d.Anchor(p)
			checkPlace(t, d, got, how, reason)
			if how == Outside {
				continue
			}
			if again, how, reason := d.Anchor(Place{Path: got.Path, Side: got.Side, Line: got.Line, EndLine: got.EndLine}); how != Exact || again.Line != got.Line || again.EndLine != got.EndLine {
				t.Fatalf("anchored again: %s, %+v %s, was %+v", how, again, reason, got)
			}
		}
	})
}

func FuzzBetween(f *testing.F) {
	for _, s := range [][2]string{
		{"", ""}, {"", "a"}, {"a\n", ""}, {"a", "a\n"}, {"a\r", "a\r\n"}, {"\n", "\r\n"}, {"a\x00", "b"}, {"\x00", "\x00"},
		{"a\nf\x00\xff\n", "a\nf\x00\xff\n"},
		{"a\nb\nc\nd\ne\nf\ng\nh\n", "a\nB\nc\nd\ne\nf\ng\nh\ni\n"},
		{"}\n}\n}\nx\n}\n", "}\nx\n}\n}\n}\n}"},
		{"\xff\n\xe4\n", "\xfe\n\xe4\r\n"},
		{"@@ -1 +1 @@\n+++ new\n", "\\ No newline at end of file\n--- old\n@@ -1,1 +1,1 @@"},
	} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, before, after []byte) {
		checkBetween(t, before, after)
	})
}
