package diff

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// apply makes the new file of the old one: the oracle that Parse is held against.
func apply(t interface{ Fatalf(string, ...any) }, f File, old string) string {
	lines := fileLines(old)
	var b strings.Builder
	next := 1 // line of the old file
	for _, h := range f.Hunks {
		for ; next < h.begin(Old); next++ {
			b.WriteString(lines[next-1])
		}
		for _, l := range h.Lines {
			if l.Op != Add {
				if l.Old != next || l.raw() != lines[next-1] {
					t.Fatalf("%s: old line %d is %q, not %+v", f.Path, next, lines[next-1], l)
				}
				next++
			}
			if l.Op != Delete {
				b.WriteString(l.raw())
			}
		}
	}
	for ; next <= len(lines); next++ {
		b.WriteString(lines[next-1])
	}
	return b.String()
}

// genText draws a file: few different lines, so that there are repeats, with all line ends.
func genText() *rapid.Generator[string] {
	line := rapid.SampledFrom([]string{"", "}", "a", "\tb", "return nil", "-- x", "++ y", "ä €", "mid\rdle", "@@ -1 +1 @@", "diff --git a/x b/x", `\ No newline at end of file`, "\u2028x"})
	end := rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n"})
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(0, 40).Draw(t, "n") {
			b.WriteString(line.Draw(t, "line") + end.Draw(t, "end"))
		}
		s := b.String()
		if rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
			s = strings.TrimSuffix(s, "\n")
		}
		return s
	})
}

// genEdit draws what becomes of a file.
func genEdit(t *rapid.T, old string) string {
	lines := fileLines(old)
	if len(lines) > 0 && !strings.HasSuffix(lines[len(lines)-1], "\n") && rapid.Bool().Draw(t, "close") {
		lines[len(lines)-1] += "\n"
	}
	for range rapid.IntRange(0, 4).Draw(t, "edits") {
		i := rapid.IntRange(0, len(lines)).Draw(t, "at")
		j := min(len(lines), i+rapid.IntRange(0, 4).Draw(t, "del"))
		add := fileLines(genText().Draw(t, "add"))
		if n := rapid.IntRange(0, 4).Draw(t, "keep"); len(add) > n {
			add = add[:n]
		}
		lines = append(append(append([]string(nil), lines[:i]...), add...), lines[j:]...)
	}
	// Within the file a line needs its end, or it would join the next one.
	for i := range lines[:max(0, len(lines)-1)] {
		if !strings.HasSuffix(lines[i], "\n") {
			lines[i] += "\n"
		}
	}
	return strings.Join(lines, "")
}

func TestParseProperty(t *testing.T) {
	r := newRepo(t)
	seen := map[Op]int{}
	rapid.Check(t, func(t *rapid.T) {
		before, after := map[string]string{}, map[string]string{}
		for i := range rapid.IntRange(1, 5).Draw(t, "files") {
			name := fmt.Sprintf("f %d", i)
			before[name] = genText().Draw(t, "old")
			after[name] = genEdit(t, before[name])
		}
		trees := [2]string{}
		for i, files := range []map[string]string{before, after} {
			r.git("read-tree", "--empty")
			for name, text := range files {
				r.write(name, text)
			}
			trees[i] = strings.TrimSpace(r.git("add", "-A") + r.git("write-tree"))
			for name := range files {
				r.remove(name)
			}
		}
		context := rapid.SampledFrom([]string{"-U0", "-U1", "-U3", "-U10", "-U100"}).Draw(t, "context")
		text := r.diff(trees[0], trees[1], context)
		d, err := Parse([]byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for name, old := range before {
			f, ok := d.File(name)
			if ok != (old != after[name]) {
				t.Fatalf("%s is in the diff: %t\n%s", name, ok, text)
			}
			if got := apply(t, f, old); got != after[name] {
				t.Fatalf("%s: applied %q, want %q\n%s", name, got, after[name], text)
			}
			if got, err := f.Undo([]byte(after[name])); !f.Binary && (err != nil || string(got) != old) {
				t.Fatalf("%s: undone %q, %v; want %q\n%s", name, got, err, old, text)
			}
			checkCommentable(t, f, New, fileLines(after[name]))
			checkCommentable(t, f, Old, fileLines(old))
			for _, h := range f.Hunks {
				for _, l := range h.Lines {
					seen[l.Op]++
					if got, ok := f.Convert(l.Old); l.Op == Context && (!ok || got != l.New) || l.Op == Delete && ok {
						t.Fatalf("%s: Convert(%d) = %d, %t; %+v", name, l.Old, got, ok, l)
					}
				}
			}
		}
	})
	if seen[Context] == 0 || seen[Add] == 0 || seen[Delete] == 0 {
		t.Errorf("the property saw too little: %v", seen)
	}
}

// checkCommentable compares all line numbers of a side, and some beyond, with the file.
func checkCommentable(t *rapid.T, f File, side Side, lines []string) {
	want := map[int]bool{}
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if side == New && l.Op != Delete {
				want[l.New] = true
			}
			if side == Old && l.Op == Delete {
				want[l.Old] = true
			}
		}
	}
	for n := -1; n <= len(lines)+2; n++ {
		l, ok := f.Line(side, n)
		if ok != want[n] || f.Commentable(side, n) != ok {
			t.Fatalf("%s: %s line %d commentable: %t", f.Path, side, n, ok)
		}
		if ok && l.raw() != lines[n-1] {
			t.Fatalf("%s: %s line %d is %q, want %q", f.Path, side, n, l.raw(), lines[n-1])
		}
	}
}
