package diff

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestBetween(t *testing.T) {
	got := Between("a b", []byte("one\r\ntwo\nthree\nfour\nfive\nold\xff\xfe\nend"), []byte("one\r\ntwo\nthree\nfour\nfive\nnew\r\n\nend\n"))
	want := File{
		Path: "a b", OldPath: "a b", Status: Modified, Added: 3, Deleted: 2,
		Hunks: []Hunk{{
			OldStart: 3, OldLines: 5, NewStart: 3, NewLines: 6,
			Lines: []Line{
				{Op: Context, Old: 3, New: 3, Text: "three"},
				{Op: Context, Old: 4, New: 4, Text: "four"},
				{Op: Context, Old: 5, New: 5, Text: "five"},
				{Op: Delete, Old: 6, Text: "oldÿþ", Raw: "old\xff\xfe"},
				{Op: Delete, Old: 7, Text: "end", NoNewline: true},
				{Op: Add, New: 6, Text: "new", CR: true},
				{Op: Add, New: 7},
				{Op: Add, New: 8, Text: "end"},
			},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Where all lines are unique there is one diff, and git finds the same.
func TestBetweenIsGits(t *testing.T) {
	unique := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %d\n", i)
		}
		return b.String()
	}
	dos := strings.NewReplacer("\n", "\r\n")
	for name, versions := range map[string][2]string{
		"made":              {"", "x\ny\n"},
		"made, no newline":  {"", "x"},
		"emptied":           {"x\ny\n", ""},
		"top":               {unique(20), "top\n" + unique(20)},
		"end":               {unique(20), unique(20) + "end\n"},
		"first lines gone":  {unique(20), strings.TrimPrefix(unique(20), unique(2))},
		"two hunks":         {unique(40), strings.NewReplacer("line 7\n", "x\n", "line 30\n", "").Replace(unique(40))},
		"hunks near by":     {unique(40), strings.NewReplacer("line 7\n", "x\n", "line 13\n", "y\n").Replace(unique(40))},
		"newline lost":      {unique(20), strings.TrimSuffix(unique(20), "\n")},
		"newline gained":    {unique(20) + "end", unique(20) + "end\n"},
		"no newline, kept":  {unique(5) + "end", "top\n" + unique(5) + "end"},
		"no newline, moved": {unique(5) + "end", unique(5) + "end\nmore"},
		"CR at the end":     {unique(5) + "end\r", unique(5) + "END\r"},
		"line ends":         {unique(5), dos.Replace(unique(5))},
		"some line ends":    {unique(20), strings.Replace(unique(20), "line 9\n", "line 9\r\n", 1)},
		"invalid":           {unique(9) + "\xff\n", unique(9) + "\xfe\xfe\n"},
		"NUL far on":        {strings.Repeat(" ", 8000) + "\x00\n" + unique(9), strings.Repeat(" ", 8000) + "\x00\n" + unique(8)},
		"NUL": {
			strings.Repeat("\x01", 7999) + "\x00\n" + unique(9), strings.Repeat("\x01", 7999) + "\x00\n" + unique(8),
		},
		"NUL gained":         {"text\n", "\x00\n\x00"},
		"NUL lost":           {"\x00\x00", ""},
		"like a diff":        {"-- a\n@@ -1,1 +1,1 @@\n" + unique(2), "++ b\n" + unique(2) + "diff old new\n\\ No newline at end of file\n"},
		"like a diff, ended": {"\\ No newline at end of file", "@@ -1,1 +1,1 @@"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			r.write("f", versions[0])
			before := r.tree()
			r.write("f", versions[1])
			text := r.diff(before, r.tree())
			want := mustParse(t, text).Files[0]
			got := Between("f", []byte(versions[0]), []byte(versions[1]))
			joinTouching(&got)
			ignore := cmp.Options{cmpopts.IgnoreFields(File{}, "OldMode", "NewMode", "OldBlob", "NewBlob"), cmpopts.IgnoreFields(Hunk{}, "Section")}
			if diff := cmp.Diff(want, got, ignore); diff != "" {
				t.Errorf("-git +ours\n%s\n%s", diff, text)
			}
		})
	}
}

// joinTouching makes one of hunks that stand next to each other, as git does.
func joinTouching(f *File) {
	for i := len(f.Hunks) - 1; i > 0; i-- {
		a, b := &f.Hunks[i-1], f.Hunks[i]
		if a.end(Old)+1 != b.begin(Old) || a.end(New)+1 != b.begin(New) {
			continue
		}
		a.OldLines += b.OldLines
		a.NewLines += b.NewLines
		a.Lines = append(a.Lines, b.Lines...)
		f.Hunks = append(f.Hunks[:i], f.Hunks[i+1:]...)
	}
}

func TestBetweenNames(t *testing.T) {
	for _, path := range []string{"", "a\nb", "\n+++ new\n", "x b/y", `"q"`, "\xff", "@@ -1,1 +1,1 @@", "/dev/null", "end "} {
		f := Between(path, []byte("a\n"), []byte("b\n"))
		if f.Path != path || f.OldPath != path || len(f.Hunks) != 1 || f.Added != 1 || f.Deleted != 1 {
			t.Errorf("%q: %+v", path, f)
		}
	}
}

func TestBetweenEqual(t *testing.T) {
	for _, s := range []string{"", "a", "a\r\n", "\x00"} {
		f := Between("f", []byte(s), []byte(s))
		if diff := cmp.Diff(File{Path: "f", OldPath: "f", Status: Modified}, f); diff != "" {
			t.Errorf("%q: %s", s, diff)
		}
		if n, ok := f.Forward(7); n != 7 || !ok {
			t.Errorf("%q: line 7 is %d, %t", s, n, ok)
		}
	}
}

// checkBetween is what holds for any two versions.
func checkBetween(t interface {
	Helper()
	Fatalf(string, ...any)
}, before, after []byte) {
	t.Helper()
	f := Between("f", before, after)
	checkDiff(t, Diff{Files: []File{f}})
	if f.Path != "f" || f.Status != Modified {
		t.Fatalf("%+v", f)
	}
	_, _, decodable := Decode(before)
	_, _, too := Decode(after)
	if isBinary := !bytes.Equal(before, after) && (binary(before) || binary(after)) &&
		!(decodable && too); f.Binary != isBinary {
		t.Fatalf("binary: %t, should be %t", f.Binary, isBinary)
	}
	if f.Decoded != "" || bytes.Equal(before, after) && binary(after) && decodable {
		before, _, _ = Decode(before)
		after, _, _ = Decode(after)
	}
	if f.Binary {
		if n, ok := f.Forward(1); ok || len(f.Hunks) > 0 {
			t.Fatalf("binary, but line 1 is %d, hunks %+v", n, f.Hunks)
		}
		return
	}
	for _, h := range f.Hunks {
		checkContext(t, h)
	}
	if back, err := f.Undo(after); f.Decoded == "" && (err != nil || !bytes.Equal(back, before)) {
		t.Fatalf("undone %q, %v; want %q", back, err, before)
	}
	if got, want := apply(t, f, readable(string(before))), readable(string(after)); got != want {
		t.Fatalf("applied %q, want %q", got, want)
	}

	o, n := fileLines(string(before)), fileLines(string(after))
	gone, last := 0, 0
	for i := range o {
		line, ok := f.Forward(i + 1)
		if !ok {
			gone++
			continue
		}
		if line <= last || line > len(n) {
			t.Fatalf("line %d is %d of %d, after %d", i+1, line, len(n), last)
		}
		last = line
		if back, ok := f.Back(line); !ok || back != i+1 {
			t.Fatalf("line %d is %d, which was %d, %t", i+1, line, back, ok)
		}
		if o[i] != n[line-1] {
			t.Fatalf("line %d is %q, but %d is %q", i+1, o[i], line, n[line-1])
		}
	}
	if gone != f.Deleted {
		t.Fatalf("%d lines are no more, but %d were deleted", gone, f.Deleted)
	}
	fresh := 0
	for i := range n {
		line, ok := f.Back(i + 1)
		if !ok {
			fresh++
		} else if forward, ok := f.Forward(line); !ok || forward != i+1 {
			t.Fatalf("line %d was %d, which is %d, %t", i+1, line, forward, ok)
		}
	}
	if fresh != f.Added {
		t.Fatalf("%d lines were not there, but %d were added", fresh, f.Added)
	}
	if line, ok := f.Forward(len(o) + 5); !ok || line != len(n)+5 {
		t.Fatalf("5 behind the end is %d, %t, not 5 behind the end", line, ok)
	}
	for _, out := range []int{0, -1, math.MinInt} {
		if line, ok := f.Forward(out); ok || line != 0 {
			t.Fatalf("line %d is %d", out, line)
		}
		if line, ok := f.Back(out); ok || line != 0 {
			t.Fatalf("line %d was %d", out, line)
		}
	}
	for i, raw := range n {
		want := strings.TrimSuffix(strings.TrimSuffix(raw, "\n"), "\r")
		if got, ok := CodeAt(after, i+1); !ok || got != readable(want) {
			t.Fatalf("code at %d is %q, %t, want %q", i+1, got, ok, want)
		}
		if line, ok := f.Line(New, i+1); ok {
			if got, _ := CodeAt(after, i+1); got != line.Text {
				t.Fatalf("code at %d is %q, but %q in the diff", i+1, got, line.Text)
			}
		}
	}
	for _, out := range []int{math.MinInt, -1, 0, len(n) + 1, len(n) + 2, math.MaxInt} {
		if got, ok := CodeAt(after, out); ok || got != "" {
			t.Fatalf("code at %d of %d is %q", out, len(n), got)
		}
	}
}

// checkContext makes sure that a hunk has no context but the 3 lines around changes, and some.
func checkContext(t interface{ Fatalf(string, ...any) }, h Hunk) {
	near := make([]bool, len(h.Lines))
	for i, l := range h.Lines {
		if l.Op == Context {
			continue
		}
		for j := max(0, i-3); j <= min(len(near)-1, i+3); j++ {
			near[j] = true
		}
	}
	for i, ok := range near {
		if !ok {
			t.Fatalf("line %d of the hunk is far from every change: %+v", i, h)
		}
	}
}

func TestBetweenProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := genText().Draw(t, "old")
		after := genEdit(t, before)
		if rapid.Bool().Draw(t, "unrelated") {
			after = genText().Draw(t, "new")
		}
		checkBetween(t, []byte(before), []byte(after))
	})
}

// Where every line is there once, it is known which line became which.
func TestForwardFollowsEdits(t *testing.T) {
	seen := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		var before, after []string
		serial := 0
		line := func() string {
			serial++
			return fmt.Sprintf("line %d%s", serial, rapid.SampledFrom([]string{"\n", "\n", "\r\n", "\xff\n"}).Draw(t, "end"))
		}
		for range rapid.IntRange(0, 8).Draw(t, "pieces") {
			n := rapid.IntRange(0, 9).Draw(t, "lines")
			switch rapid.SampledFrom([]Op{Context, Context, Add, Delete, 'c'}).Draw(t, "op") {
			case Context:
				for range n {
					l := line()
					before, after = append(before, l), append(after, l)
				}
			case Add:
				for range n {
					after = append(after, line())
				}
			case Delete:
				for range n {
					before = append(before, line())
				}
			default:
				l := line()
				before, after = append(before, l), append(after, strings.Replace(l, "line", "changed", 1))
			}
		}
		oldText, newText := strings.Join(before, ""), strings.Join(after, "")
		if rapid.IntRange(0, 3).Draw(t, "cut") == 0 && before != nil {
			oldText = strings.TrimSuffix(oldText, "\n")
			before[len(before)-1] = strings.TrimSuffix(before[len(before)-1], "\n")
		}
		if rapid.IntRange(0, 3).Draw(t, "cut") == 0 && after != nil {
			newText = strings.TrimSuffix(newText, "\n")
			after[len(after)-1] = strings.TrimSuffix(after[len(after)-1], "\n")
		}
		checkBetween(t, []byte(oldText), []byte(newText))
		f := Between("f", []byte(oldText), []byte(newText))
		number := map[string]int{}
		for i, l := range after {
			number[l] = i + 1
		}
		for i, l := range before {
			want, there := number[l]
			seen[there]++
			if got, ok := f.Forward(i + 1); got != want || ok != there {
				t.Fatalf("line %d is %d, %t, want %d, %t\n%s", i+1, got, ok, want, there, f.Render())
			}
		}
	})
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("the property saw too little: %v", seen)
	}
}

// Lines on top shift all others by as many.
func TestForwardShifts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genText().Draw(t, "text")
		k := rapid.IntRange(0, 30).Draw(t, "k")
		var top strings.Builder
		for range k {
			fmt.Fprintf(&top, "top %d\n", rapid.IntRange(0, 9).Draw(t, "top"))
		}
		f := Between("f", []byte(text), []byte(top.String()+text))
		for i := range fileLines(text) {
			if got, ok := f.Forward(i + 1); !ok || got != i+1+k {
				t.Fatalf("line %d is %d, %t, want %d", i+1, got, ok, i+1+k)
			}
			if got, ok := f.Back(i + 1 + k); !ok || got != i+1 {
				t.Fatalf("line %d was %d, %t, want %d", i+1+k, got, ok, i+1)
			}
		}
		for n := range k {
			if got, ok := f.Back(n + 1); ok {
				t.Fatalf("the new line %d was %d", n+1, got)
			}
		}
	})
}

// Forward and Back on the diffs of git, too, without context and with files that change kind.
func TestForwardOfGits(t *testing.T) {
	r := newRepo(t)
	r.write("a", story)
	r.write("kind", "x\ny\n")
	before := r.tree()
	r.write("a", "zero\n"+strings.NewReplacer("five\nsix\n", "", "nine\n", "9\n9.5\n").Replace(story))
	r.remove("kind")
	symlink(r, "x", "kind")
	d := mustParse(t, r.diff(before, r.tree(), "-U0"))
	for line, want := range []int{0, 2, 3, 4, 5, 0, 0, 6, 7, 0, 10, 11} {
		if got, ok := d.Files[0].Forward(line); got != want || ok != (want > 0) {
			t.Errorf("line %d is %d, %t, want %d", line, got, ok, want)
		}
		if got, ok := d.Files[0].Back(want); want > 0 && (got != line || !ok) {
			t.Errorf("line %d was %d, %t, want %d", want, got, ok, line)
		}
		if got, ok := d.Files[1].Forward(line); ok && line < 3 {
			t.Errorf("line %d became line %d of a link", line, got)
		}
	}
}

// A line number that nobody can mean doesn't come out as another one.
func TestForwardOverflow(t *testing.T) {
	f := Between("f", []byte("a\n"), []byte("a\nb\nc\n"))
	if got, ok := f.Forward(math.MaxInt); ok || got != 0 {
		t.Errorf("line %d, %t", got, ok)
	}
	if got, ok := f.Back(math.MaxInt); !ok || got != math.MaxInt-2 {
		t.Errorf("line %d, %t", got, ok)
	}
}

func TestCodeAt(t *testing.T) {
	const file = "one\r\n\n\tthree \xff\xfe!\n\r\nmid\rdle\nend\r"
	for line, want := range []string{"", "one", "", "\tthree ÿþ!", "", "mid\rdle", "end", ""} {
		if got, ok := CodeAt([]byte(file), line); got != want || ok != (line >= 1 && line <= 6) {
			t.Errorf("line %d: %q, %t, want %q", line, got, ok, want)
		}
	}
	for _, empty := range []string{"", "\n"} {
		if _, ok := CodeAt([]byte(empty), 1+len(empty)); ok {
			t.Errorf("%q has a line %d", empty, 1+len(empty))
		}
	}
}
