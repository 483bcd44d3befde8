package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRender(t *testing.T) {
	r := newRepo(t)
	numbered := ""
	for i := range 20 {
		numbered += "line " + string(rune('a'+i)) + "\n"
	}
	r.write("a.go", numbered)
	r.write("bin", "\x00\x01")
	r.write("run", "x")
	r.write("dos", "a\r\nb\r\nc\r\n")
	r.write("mix", "a\r\nb\r\nc\n")
	before := r.tree()
	r.remove("a.go")
	r.write("b.go", strings.Replace(numbered, "line r\n", "line R \n\n", 1)+"end")
	r.write("bin", "\x00\x02")
	chmod(r, "run", 0o755)
	r.write("dos", "a\r\nB\r\nc")
	r.write("mix", "a\r\nb\nc\n")
	r.write("empty", "")
	r.write("odd\nname", "no 9\r  99    99   forged\u2028+ too\n")
	symlink(r, "a.go", "link")
	r.git("add", "-A")
	r.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",sub")
	d := mustParse(t, r.diff(before, strings.TrimSpace(r.git("write-tree")), "-U1", "--find-renames=50%"))
	var got strings.Builder
	for _, f := range d.Files {
		got.WriteString(f.Render())
	}
	want := `file: b.go
status: renamed from a.go, 3 added, 1 deleted
@@ -17,4 +17,6 @@ line p
  17    17   line q
  18       - line r
        18 + line R_
        19 +
  19    20   line s
  20    21   line t
        22 + end
           \ no newline at the end of the file
file: bin
status: modified
note: binary file, no lines to show
file: dos
status: modified, 2 added, 2 deleted
note: lines end in CRLF
@@ -1,3 +1,3 @@
   1     1   a
   2       - b
   3       - c
         2 + B
         3 + c
           \ no newline at the end of the file
file: empty
status: added
note: empty file
file: link
status: added, 1 added, 0 deleted
note: symbolic link, its line is the path it points to
@@ -0,0 +1,1 @@
         1 + a.go
           \ no newline at the end of the file
file: mix
status: modified, 1 added, 1 deleted
note: mixed line ends; in hunks that mix them ␍ marks those with a carriage return
@@ -1,3 +1,3 @@
   1     1   a␍
   2       - b␍
         2 + b
   3     3   c
file: "odd\nname"
status: added, 1 added, 0 deleted
@@ -0,0 +1,1 @@
         1 + no 9␍  99    99   forged␤+ too
file: run
status: mode
mode: 100755, was 100644
note: only the mode changed
file: sub
status: added, 1 added, 0 deleted
note: submodule, its lines take no comments
@@ -0,0 +1,1 @@
         1 + Subproject commit 1111111111111111111111111111111111111111
`
	want = strings.Replace(want, "R_", "R ", 1)
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
	f := d.Files[0]
	if got := f.Header() + f.Hunks[0].Render(); got != f.Render() {
		t.Errorf("header and hunks aren't the file: %q", got)
	}
}

func TestRenderNotes(t *testing.T) {
	for _, tt := range []struct {
		f    File
		want string
	}{
		{File{Path: "b", OldPath: "a", Status: Renamed}, "file: b\nstatus: renamed from a\nnote: no lines changed\n"},
		{File{Path: " x", OldPath: `y"`, Status: Copied}, "file: \" x\"\nstatus: copied from \"y\\\"\"\nnote: no lines changed\n"},
		{File{Path: "\xff", OldPath: "\xff", Status: Deleted}, "file: \"\\xff\"\nstatus: deleted\nnote: empty file\n"},
		{File{Path: "s", OldPath: "s", Status: Deleted, OldMode: ModeSubmodule}, "file: s\nstatus: deleted\nnote: submodule, its lines take no comments\n"},
	} {
		if diff := cmp.Diff(tt.want, tt.f.Render()); diff != "" {
			t.Error(diff)
		}
	}
}

// Numbers of more than four digits widen the columns of their hunk.
func TestRenderWidth(t *testing.T) {
	h := Hunk{OldStart: 99999, OldLines: 1, NewStart: 100000, NewLines: 2, Lines: []Line{
		{Op: Context, Old: 99999, New: 100000, Text: "x"}, {Op: Add, New: 100001, Text: "y"},
	}}
	want := "@@ -99999,1 +100000,2 @@\n 99999  100000   x\n        100001 + y\n"
	if diff := cmp.Diff(want, h.Render()); diff != "" {
		t.Error(diff)
	}
}

// What the model copies from the rendering finds its line again, whatever it holds.
func TestRenderedLinesAnchor(t *testing.T) {
	d := mustParse(t, anchorDiff)
	for _, f := range d.Files {
		for _, h := range f.Hunks {
			lines := strings.Split(h.Render(), "\n")[1:]
			for i, l := range h.Lines {
				side := New
				if l.Op == Delete {
					side = Old
				}
				if !f.Commentable(side, l.Number(side)) {
					continue
				}
				p := Place{Path: f.Path, Side: side, Line: l.Number(side), Quote: lines[i]}
				if got, how, reason := d.Anchor(p); how != Exact || got.Line != p.Line {
					t.Errorf("%q: %s %s", lines[i], how, reason)
				}
			}
		}
	}
}

// A new file can be shown in pieces: each line once, by its number.
func TestInPieces(t *testing.T) {
	var added, mixed Hunk
	added = Hunk{NewStart: 1, NewLines: 7}
	for i := range 7 {
		added.Lines = append(added.Lines, Line{Op: Add, New: i + 1, Text: strings.Repeat("x", i)})
	}
	added.Lines[6].NoNewline = true
	deleted := Hunk{OldStart: 3, OldLines: 4}
	for i := range 4 {
		deleted.Lines = append(deleted.Lines, Line{Op: Delete, Old: i + 3})
	}
	mixed = Hunk{OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 4, Lines: slices.Clone(added.Lines[:3])}
	mixed.Lines = append(mixed.Lines, Line{Op: Context, Old: 1, New: 4})
	f := File{Path: "a", OldPath: "a", Hunks: []Hunk{added, mixed, deleted}}
	got := f.InPieces(3)
	var shape []string
	for _, h := range got.Hunks {
		shape = append(shape, fmt.Sprintf("-%d,%d +%d,%d: %d", h.OldStart, h.OldLines, h.NewStart, h.NewLines, len(h.Lines)))
	}
	want := []string{"-0,0 +1,3: 3", "-0,0 +4,3: 3", "-0,0 +7,1: 1", "-1,1 +1,4: 4", "-3,3 +0,0: 3", "-6,1 +0,0: 1"}
	if !slices.Equal(shape, want) {
		t.Errorf("pieces %q, want %q", shape, want)
	}
	lines := func(f File) (all []Line) {
		for _, h := range f.Hunks {
			all = append(all, h.Lines...)
		}
		return all
	}
	if !slices.Equal(lines(f), lines(got)) || len(f.Hunks) != 3 {
		t.Errorf("other lines:\n%v\nwere\n%v", lines(got), lines(f))
	}
	if whole := f.InPieces(7); len(whole.Hunks) != 3 {
		t.Errorf("divided into %d although it isn't longer", len(whole.Hunks))
	}
}
