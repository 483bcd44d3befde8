package diff

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// within fails if work takes longer than it may. The bounds are for a busy machine with the
// race detector: without, each of these takes well under a second. Quadratic time would
// still take minutes.
func within(t *testing.T, bound time.Duration, work func()) {
	t.Helper()
	start := time.Now()
	work()
	if took := time.Since(start); took > bound {
		t.Errorf("took %v, bound %v", took, bound)
	}
}

func TestSpeedManyFiles(t *testing.T) {
	var b strings.Builder
	const files, lines = 3000, 34 // over 100,000 lines
	for i := range files {
		fmt.Fprintf(&b, "diff --git a/dir %d/f.go b/dir %d/f.go\nindex 1..2 100644\n--- a/dir %d/f.go\t\n+++ b/dir %d/f.go\t\n@@ -1,%d +1,%d @@\n", i, i, i, i, lines/2, lines/2)
		for j := range lines / 2 {
			fmt.Fprintf(&b, "-\told line %d of some length\n+\tnew line %d of some length\n", j, j)
		}
	}
	text := []byte(b.String())
	var before, after runtime.MemStats
	var d Diff
	runtime.GC()
	runtime.ReadMemStats(&before)
	within(t, 10*time.Second, func() { d = mustParse(t, string(text)) })
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 10*int64(len(text)) {
		t.Errorf("keeps %d bytes of a diff of %d", kept, len(text))
	}
	if all := after.TotalAlloc - before.TotalAlloc; all > 30*uint64(len(text)) {
		t.Errorf("allocated %d bytes for a diff of %d", all, len(text))
	}
	if n, added, deleted := d.Stat(); n != files || added != files*lines/2 || deleted != added {
		t.Errorf("%d files, %d, %d", n, added, deleted)
	}
	within(t, 10*time.Second, func() {
		for i := range 300 {
			path := fmt.Sprintf("b/dir %d/f.go", i*10)
			if _, how, reason := d.Anchor(Place{Path: path, Line: 99, Quote: "new line 7 of some length"}); how != Moved {
				t.Fatal(how, reason)
			}
		}
	})
}

func TestSpeedOneFile(t *testing.T) {
	const lines = 50_000
	text := fmt.Sprintf("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,%d +1,%d @@\n", lines+2, lines+2) + " top\n" +
		strings.Repeat("-}\n", lines) + strings.Repeat("+}\n", lines) + " end of it\n"
	var f File
	within(t, 10*time.Second, func() { f = mustParse(t, text).Files[0] })
	within(t, 10*time.Second, func() {
		for n := range lines {
			// Old numbers, and new ones of a hunk without deleted lines, are found at once.
			if !f.Commentable(Old, n+2) {
				t.Fatal(n)
			}
		}
		for n := range 100 {
			if !f.Commentable(New, n*500+2) {
				t.Fatal(n)
			}
		}
	})
	d := Diff{Files: []File{f}}
	for _, quote := range []string{strings.Repeat("}\n", lines), "}\n}\n}\nend of it", "end of it", "foreign code"} {
		within(t, 10*time.Second, func() {
			if _, how, reason := d.Anchor(Place{Path: "f", Line: lines + 2, EndLine: 1 << 40, Quote: quote}); how == Moved {
				t.Error(quote, how, reason)
			}
		})
	}
}

// Headers made to be slow: names of blanks, where the border of the two is hard to see.
func TestSpeedHostileNames(t *testing.T) {
	name := strings.Repeat(" ", 1<<20)
	for _, text := range []string{
		"diff --git a/" + name + "x b/" + name + "x\nnew file mode 100644\n",
		"diff --git a/" + name + "x b/" + name + "y\nrename from " + name + "x\nrename to " + name + "y\n",
		"diff --git a/" + strings.Repeat(" b/", 1<<19) + "\n",
		"diff --git \"a/" + strings.Repeat(`\"`, 1<<19) + "\n",
		strings.Repeat("diff --git ", 1<<17) + "\n",
		strings.Repeat("diff --git \n", 1<<17),
		strings.Repeat("\n", 1<<20) + "diff --cc",
		"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@" + strings.Repeat(" @@", 1<<19) + "\n-a\n+b\n" + strings.Repeat("\\ No newline at end of file\n", 1<<16),
	} {
		within(t, 10*time.Second, func() {
			if d, err := Parse([]byte(text)); err == nil {
				checkDiff(t, d)
			}
		})
	}
}

func TestSpeedBetween(t *testing.T) {
	const lines = 20_000
	file := func(line func(i int) string) []byte {
		var b strings.Builder
		for i := range lines {
			b.WriteString(line(i))
		}
		return []byte(b.String())
	}
	code := file(func(i int) string { return fmt.Sprintf("\tif x[%d] { return }\n\t}\n", i) })
	for name, versions := range map[string][2][]byte{
		"edits": {code, file(func(i int) string {
			if i%20 == 0 {
				return "\tother()\n"
			}
			return fmt.Sprintf("\tif x[%d] { return }\n\t}\n", i)
		})},
		"a line on top": {code, append([]byte("top\n"), code...)},
		"reversed":      {code, file(func(i int) string { return fmt.Sprintf("\tif x[%d] { return }\n\t}\n", lines-i) })},
		"repeats":       {bytes.Repeat([]byte("}\n"), lines), append(bytes.Repeat([]byte("}\n{\n"), lines), "end"...)},
		"one long line": {bytes.Repeat([]byte("x"), 1<<21), append(bytes.Repeat([]byte("x"), 1<<21), "y\n"...)},
	} {
		var f File
		within(t, 10*time.Second, func() { f = Between("f", versions[0], versions[1]) })
		if len(f.Hunks) == 0 {
			t.Errorf("%s: no hunks", name)
		}
		within(t, 10*time.Second, func() {
			step := 1
			if name == "reversed" || name == "repeats" { // one hunk, which is looked through for each line
				step = 100
			}
			for n := 1; n <= 2*lines; n += step {
				if m, ok := f.Forward(n); ok {
					if o, ok := f.Back(m); !ok || o != n {
						t.Fatalf("%s: %d is %d, which was %d, %t", name, n, m, o, ok)
					}
				}
			}
		})
	}
}
