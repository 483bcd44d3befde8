package diff

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const story = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

// outline is a file but for its lines.
func outline(f File) string {
	s := fmt.Sprintf("%s %q", f.Status, f.Path)
	if f.OldPath != f.Path {
		s += fmt.Sprintf(" from %q", f.OldPath)
	}
	s += fmt.Sprintf(" %06o>%06o +%d-%d hunks=%d", f.OldMode, f.NewMode, f.Added, f.Deleted, len(f.Hunks))
	if f.Binary {
		s += " binary"
	}
	return s
}

func TestParseGit(t *testing.T) {
	binary := strings.Repeat("\x00\x01\x02\xff", 100)
	edited := strings.Replace(story, "five", "FIVE", 1)
	sub := strings.Repeat("1", 40)
	for _, tt := range []struct {
		name          string
		before, after func(r repo)
		options       []string
		want          []string
	}{
		{"modified", func(r repo) { r.write("a.txt", story) }, func(r repo) { r.write("a.txt", edited) }, nil,
			[]string{`modified "a.txt" 100644>100644 +1-1 hunks=1`}},
		{"renamed", func(r repo) { r.write("a.txt", story) }, func(r repo) { r.git("mv", "a.txt", "b.txt") }, nil,
			[]string{`renamed "b.txt" from "a.txt" 000000>000000 +0-0 hunks=0`}},
		{"renamed and edited", func(r repo) { r.write("a b.txt", story) }, func(r repo) { r.remove("a b.txt"); r.write("d/c d.txt", edited) }, nil,
			[]string{`renamed "d/c d.txt" from "a b.txt" 100644>100644 +1-1 hunks=1`}},
		{"renamed with mode", func(r repo) { r.write("a", story) }, func(r repo) { r.git("mv", "a", "b"); chmod(r, "b", 0o755) }, nil,
			[]string{`renamed "b" from "a" 100644>100755 +0-0 hunks=0`}},
		{"renamed from plain to quoted", func(r repo) { r.write("a b", story) }, func(r repo) { r.git("mv", "a b", "ä\tb") }, nil,
			[]string{`renamed "ä\tb" from "a b" 000000>000000 +0-0 hunks=0`}},
		{"copied", func(r repo) { r.write("a.txt", story) }, func(r repo) { r.write("b.txt", story); r.write("c.txt", edited) }, []string{"-C", "--find-copies-harder"},
			[]string{`copied "b.txt" from "a.txt" 000000>000000 +0-0 hunks=0`, `copied "c.txt" from "a.txt" 100644>100644 +1-1 hunks=1`}},
		{"new", func(repo) {}, func(r repo) { r.write("x/new.txt", story) }, nil,
			[]string{`added "x/new.txt" 000000>100644 +10-0 hunks=1`}},
		{"deleted", func(r repo) { r.write("old.txt", story) }, func(r repo) { r.remove("old.txt") }, nil,
			[]string{`deleted "old.txt" 100644>000000 +0-10 hunks=1`}},
		{"empty new and deleted", func(r repo) { r.write("e1", "") }, func(r repo) { r.remove("e1"); r.write("e 2", "") }, []string{"--no-renames"},
			[]string{`added "e 2" 000000>100644 +0-0 hunks=0`, `deleted "e1" 100644>000000 +0-0 hunks=0`}},
		{"emptied and filled", func(r repo) { r.write("a", story); r.write("b", "") }, func(r repo) { r.write("a", ""); r.write("b", story) }, nil,
			[]string{`modified "a" 100644>100644 +0-10 hunks=1`, `modified "b" 100644>100644 +10-0 hunks=1`}},
		{"binary", func(r repo) { r.write("b1", binary); r.write("gone", binary+"x") }, func(r repo) { r.write("b1", binary+"1"); r.write("new b", binary+"2"); r.remove("gone") }, []string{"--no-renames"},
			[]string{`modified "b1" 100644>100644 +0-0 hunks=0 binary`, `deleted "gone" 100644>000000 +0-0 hunks=0 binary`, `added "new b" 000000>100644 +0-0 hunks=0 binary`}},
		{"binary patch", func(r repo) { r.write("b1", binary); r.write("z", story) }, func(r repo) { r.write("b1", binary+"1"); r.write("n", binary+"222"); r.write("z", edited) }, []string{"--binary"},
			[]string{`modified "b1" 100644>100644 +0-0 hunks=0 binary`, `added "n" 000000>100644 +0-0 hunks=0 binary`, `modified "z" 100644>100644 +1-1 hunks=1`}},
		{"binary renamed and edited", func(r repo) { r.write("b1", strings.Repeat(binary, 20)) }, func(r repo) { r.remove("b1"); r.write("b2", strings.Repeat(binary, 20)+"x") }, nil,
			[]string{`renamed "b2" from "b1" 100644>100644 +0-0 hunks=0 binary`}},
		{"mode only", func(r repo) { r.write("run me b/run me", story); r.write("x", story+"x\n") }, func(r repo) { chmod(r, "run me b/run me", 0o755); r.write("x", edited+"x\n"); chmod(r, "x", 0o755) }, nil,
			[]string{`mode "run me b/run me" 100644>100755 +0-0 hunks=0`, `modified "x" 100644>100755 +1-1 hunks=1`}},
		{"names", func(repo) {}, func(r repo) {
			for i, n := range []string{"a\tb", "ü/ö.txt", "with space", "x b/y", `q"uote`, `back\`, `back\"`, "new\nline", "é b/é", "end ", "-dash", "\xff\xfe"} {
				r.write(n, fmt.Sprint("text ", i, "\n"))
			}
		}, nil, []string{
			`added "-dash" 000000>100644 +1-0 hunks=1`, `added "a\tb" 000000>100644 +1-0 hunks=1`, `added "back\\" 000000>100644 +1-0 hunks=1`, `added "back\\\"" 000000>100644 +1-0 hunks=1`,
			`added "end " 000000>100644 +1-0 hunks=1`, `added "new\nline" 000000>100644 +1-0 hunks=1`, `added "q\"uote" 000000>100644 +1-0 hunks=1`, `added "with space" 000000>100644 +1-0 hunks=1`,
			`added "x b/y" 000000>100644 +1-0 hunks=1`, `added "é b/é" 000000>100644 +1-0 hunks=1`, `added "ü/ö.txt" 000000>100644 +1-0 hunks=1`, `added "\xff\xfe" 000000>100644 +1-0 hunks=1`}},
		{"names of empty files", func(repo) {}, func(r repo) {
			for _, n := range []string{"a\tb", "x b/y", "x b/x b/x", `back\`, "end "} {
				r.write(n, "")
			}
		}, []string{"--no-renames"}, []string{
			`added "a\tb" 000000>100644 +0-0 hunks=0`, `added "back\\" 000000>100644 +0-0 hunks=0`, `added "end " 000000>100644 +0-0 hunks=0`,
			`added "x b/x b/x" 000000>100644 +0-0 hunks=0`, `added "x b/y" 000000>100644 +0-0 hunks=0`}},
		{"umlauts unquoted", func(repo) {}, func(r repo) { r.git("config", "core.quotepath", "false"); r.write("ü ö", ""); r.write("ä", "x\n") }, nil,
			[]string{`added "ä" 000000>100644 +1-0 hunks=1`, `added "ü ö" 000000>100644 +0-0 hunks=0`}},
		{"submodule", func(r repo) { r.git("update-index", "--add", "--cacheinfo", "160000,"+sub+",sub") }, func(r repo) {
			r.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("2", 40)+",sub")
		}, nil, []string{`modified "sub" 160000>160000 +1-1 hunks=1`}},
		{"symlink", func(r repo) { symlink(r, "to/here", "link") }, func(r repo) { r.remove("link"); symlink(r, "to/there", "link"); symlink(r, "x", "link2") }, nil,
			[]string{`modified "link" 120000>120000 +1-1 hunks=1`, `added "link2" 000000>120000 +1-0 hunks=1`}},
		{"file becomes symlink", func(r repo) { r.write("a", story); r.write("b", story) }, func(r repo) { r.remove("a"); symlink(r, "b", "a") }, nil,
			[]string{`modified "a" 100644>120000 +1-10 hunks=2`}},
		{"content like headers", func(r repo) { r.write("a", "-- a/x\n-- b\n@@ -1 +1 @@\n") }, func(r repo) {
			r.write("a", "++ b/x\ndiff --git a/y b/y\n@@ -1,9 +1,9 @@\n\\ No newline at end of file\n")
		}, nil, []string{`modified "a" 100644>100644 +4-3 hunks=1`}},
		{"rewritten", func(r repo) { r.write("a", strings.Repeat(story, 9)) }, func(r repo) { r.write("a", strings.Repeat("other\n", 90)) }, []string{"-B"},
			[]string{`modified "a" 100644>100644 +90-90 hunks=1`}},
		{"nothing", func(r repo) { r.write("a", story) }, func(repo) {}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepo(t)
			add := func(step func(repo)) string {
				step(r)
				if tt.name == "submodule" { // there is nothing in the working tree to add
					return strings.TrimSpace(r.git("write-tree"))
				}
				return r.tree()
			}
			text := r.diff(add(tt.before), add(tt.after), tt.options...)
			d := mustParse(t, text)
			var got []string
			for _, f := range d.Files {
				got = append(got, outline(f))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s\n%s", diff, text)
			}
		})
	}
}

func chmod(r repo, name string, mode os.FileMode) {
	if err := os.Chmod(filepath.Join(r.dir, name), mode); err != nil {
		r.t.Fatal(err)
	}
}

func symlink(r repo, to, name string) {
	if err := os.Symlink(to, filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

func TestParseSixtyFiles(t *testing.T) {
	r := newRepo(t)
	for i := range 60 {
		r.write(fmt.Sprintf("d%d/f%d.txt", i%7, i), strings.Repeat(story, 3))
	}
	before := r.tree()
	for i := range 60 {
		r.write(fmt.Sprintf("d%d/f%d.txt", i%7, i), "top\n"+strings.Replace(strings.Repeat(story, 3), "ten\none", "ten", 2))
	}
	d := mustParse(t, r.diff(before, r.tree()))
	files, added, deleted := d.Stat()
	if files != 60 || added != 60 || deleted != 120 {
		t.Errorf("Stat() = %d, %d, %d", files, added, deleted)
	}
	for _, f := range d.Files {
		if len(f.Hunks) != 3 {
			t.Errorf("%s: %d hunks", f.Path, len(f.Hunks))
		}
	}
}

func TestParseLines(t *testing.T) {
	r := newRepo(t)
	r.write("a.c", "int f(void)\r\n{\r\n"+strings.Repeat("\tx();\r\n", 8)+"\told\xff\xfe();\n\tend")
	before := r.tree()
	r.write("a.c", "int f(void)\r\n{\r\n"+strings.Repeat("\tx();\r\n", 8)+"\tnew();\r\n\n\tend\n")
	d := mustParse(t, r.diff(before, r.tree(), "-U1"))
	want := []Hunk{{
		Section: "int f(void)", OldStart: 10, OldLines: 3, NewStart: 10, NewLines: 4,
		Lines: []Line{
			{Op: Context, Old: 10, New: 10, Text: "\tx();", CR: true},
			{Op: Delete, Old: 11, Text: "\toldÿþ();", Raw: "\told\xff\xfe();"},
			{Op: Delete, Old: 12, Text: "\tend", NoNewline: true},
			{Op: Add, New: 11, Text: "\tnew();", CR: true},
			{Op: Add, New: 12},
			{Op: Add, New: 13, Text: "\tend"},
		},
	}}
	if diff := cmp.Diff(want, d.Files[0].Hunks); diff != "" {
		t.Error(diff)
	}
}

// A file that became a link stands in git's output twice.
func TestParseTypeChange(t *testing.T) {
	r := newRepo(t)
	r.write("a", "x\ny\n")
	before := r.tree()
	r.remove("a")
	symlink(r, "target", "a")
	f := mustParse(t, r.diff(before, r.tree())).Files[0]
	for line, want := range map[int]bool{0: false, 1: true, 2: true, 3: false} {
		if got := f.Commentable(Old, line); got != want {
			t.Errorf("old line %d: %t", line, got)
		}
	}
	if l, ok := f.Line(New, 1); !ok || l.Text != "target" || f.Commentable(New, 2) {
		t.Errorf("%+v, %t", l, ok)
	}
	if got := apply(t, f, "x\ny\n"); got != "target" {
		t.Errorf("applied: %q", got)
	}
}

func TestParseTolerates(t *testing.T) {
	const hunk = "@@ -1 +1 @@\n-a\n+b\n"
	const head = "diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n"
	for name, text := range map[string]string{
		"plain":              head + hunk,
		"no final newline":   strings.TrimSuffix(head+hunk, "\n"),
		"blank lines at end": head + hunk + "\n\n",
		"a commit before":    "commit 123\nAuthor: x\n\n    diff --git a/x b/x\n\n" + head + hunk,
		"no newline twice":   head + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
		"empty context line": head + "@@ -1,2 +1,2 @@\n\n-a\n+b\n",
	} {
		d, err := Parse([]byte(text))
		if err != nil || len(d.Files) != 1 || d.Files[0].Path != "f" || d.Files[0].Added != 1 || d.Files[0].Deleted != 1 {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	for _, text := range []string{"", "\n", " \r\n\n"} {
		if d, err := Parse([]byte(text)); err != nil || len(d.Files) != 0 {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	const head = "diff --git a/f b/f\n--- a/f\n+++ b/f\n"
	const good = head + "@@ -1 +1 @@\n-a\n+b\n"
	other := strings.ReplaceAll(good, "/f", "/g")
	for _, tt := range []struct{ name, text, want string }{
		{"a web page", "<html>\n<body>\n", "line 1: not a git diff"},
		{"traditional", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n", "line 1: not a git diff"},
		{"cut hunk", other + head + "@@ -1,3 +1,3 @@\n a\n-b\n", "line 10: fragment header miscounts lines"},
		{"cut before the lines", head + "@@ -1,3 +1,3 @@\n", "line 4: no content following"},
		{"cut within a file, another after", head + "@@ -1,3 +1,3 @@\n a\n" + other, "line 4: fragment header miscounts"},
		{"bad sign", other + head + "@@ -1,2 +1,2 @@\n a\n*b\n", "line 12: invalid line operation"},
		{"bad header", head + "@@ -1,x +1 @@\n-a\n+b\n", "line 4: "},
		{"text behind", good + "stray\n", "line 7: not part of a git diff"},
		{"text behind no newline", good + "\\ No newline at end of file\nstray\n", "line 8: not part of a git diff"},
		{"text in the header", "diff --git a/f b/f\nfoo\n--- a/f\n+++ b/f\n", "line 2: not part of a git diff"},
		{"text behind binary", "diff --git a/f b/f\nBinary files a/f and b/f differ\nfoo\n", "line 3: not part of a git diff"},
		{"combined", "diff --cc f\nindex 1,2..3\n--- a/f\n+++ b/f\n@@@ -1,1 -1,1 +1,1 @@@\n++a\n", "line 1: a combined diff"},
		{"combined behind", good + "diff --cc f\nindex 1,2..3\n", "line 7: not part of a git diff"},
		{"a second file without header", good + "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", "line 1: a second file"},
		{"no prefixes", "diff --git f f\n--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n", "line 1: file names without the prefixes"},
		{"no name", "diff --git a/ b/\nnew file mode 100644\n", "line "},
		{"two names and no more", "diff --git a/f b/g\n", "line 1: "},
		{"mode", "diff --git a/f b/f\nold mode -1\nnew mode 100644\n", "line 1: no file mode"},
		{"line 0", head + "@@ -0 +1 @@\n-a\n+b\n", "line 4: hunk with impossible lines 0,1"},
		{"negative", head + "@@ --5 +1 @@\n-a\n+b\n", "line 4: hunk with impossible lines -5,1"},
		{"huge", head + "@@ -9223372036854775807 +1 @@\n-a\n+b\n", "line 4: hunk with impossible lines"},
		{"order", head + "@@ -5 +5 @@\n-a\n\\ No newline at end of file\n+b\n@@ -2 +7 @@\n-a\n+b\n", "line 8: hunk out of order"},
		{"overlap", head + "@@ -5,2 +5,2 @@\n a\n-b\n+b\n@@ -6 +7 @@\n-a\n+b\n", "line 8: hunk out of order"},
		{"overlap on the new side", head + "@@ -5,2 +5,2 @@\n a\n-b\n+b\n@@ -7 +6 @@\n-a\n+b\n", "line 8: hunk out of order"},
		{"twice", good + good, `line 7: "f" was there before`},
	} {
		d, err := Parse([]byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), "diff: "+tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
		if len(d.Files) > 0 {
			t.Errorf("%s: files with the error", tt.name)
		}
	}
}

func TestFile(t *testing.T) {
	d := Diff{Files: []File{
		{Path: "copy", OldPath: "source", Status: Copied},
		{Path: "b", OldPath: "a", Status: Renamed},
		{Path: "c", OldPath: "b", Status: Renamed},
	}}
	for path, want := range map[string]string{"a": "b", "b": "b", "c": "c", "copy": "copy", "source": "", "x": "", "": ""} {
		if f, ok := d.File(path); f.Path != want || ok != (want != "") {
			t.Errorf("File(%q) = %q, %t", path, f.Path, ok)
		}
	}
}
