package budget

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"review-bot/reviewer/diff"
)

// file makes a file with a hunk of so many changed lines for each number.
func file(path string, hunks ...int) diff.File {
	f := diff.File{Path: path, OldPath: path, Status: diff.Modified, OldMode: 0o100644, NewMode: 0o100644}
	next := 1
	for _, n := range hunks {
		h := diff.Hunk{OldStart: next, OldLines: (n + 1) / 2, NewStart: next, NewLines: n / 2}
		for i := range n {
			if i%2 == 0 {
				h.Lines = append(h.Lines, diff.Line{Op: diff.Delete, Old: next + i/2, Text: "old"})
				f.Deleted++
			} else {
				h.Lines = append(h.Lines, diff.Line{Op: diff.Add, New: next + i/2, Text: "new"})
				f.Added++
			}
		}
		f.Hunks = append(f.Hunks, h)
		next += n + 10
	}
	return f
}

func byPath(f diff.File) Class { return ClassOf(f.Path) }

// byLines counts the changed lines in a text: hunks cost what they say in file, headers
// nothing, and Plan adds 1 for each file.
func byLines(text string) int {
	return strings.Count(text, " - old\n") + strings.Count(text, " + new\n")
}

// shown writes parts in short: "a[0 1] b[] 5; c[0] 3" is the files with their hunks and the tokens.
func shown(files []diff.File, parts []Part) string {
	var all []string
	for _, p := range parts {
		s := ""
		for _, f := range p.Files {
			i := slices.IndexFunc(files, func(g diff.File) bool { return g.Path == f.Path })
			var hunks []int
			for _, h := range f.Hunks {
				hunks = append(hunks, slices.IndexFunc(files[i].Hunks, func(g diff.Hunk) bool { return g.NewStart == h.NewStart }))
			}
			s += fmt.Sprintf("%s%v ", f.Path, hunks)
		}
		all = append(all, s+fmt.Sprint(p.Tokens))
	}
	return strings.Join(all, "; ")
}

func TestPlan(t *testing.T) {
	for name, c := range map[string]struct {
		files         []diff.File
		budget, calls int
		want          string
		left          []Left
	}{
		"nothing":          {nil, 10, 8, "", nil},
		"all in one":       {[]diff.File{file("c.go", 3), file("a_test.go", 2, 1), file("b.md", 1)}, 10, 8, "c.go[0] a_test.go[0 1] b.md[0] 10", nil},
		"neighbours":       {[]diff.File{file("a.go", 1), file("b.go", 2), file("c.go", 3), file("d.go", 4), file("e.go", 3)}, 9, 8, "a.go[0] b.go[0] c.go[0] 9; d.go[0] e.go[0] 9", nil},
		"fewer":            {[]diff.File{file("a.go", 3), file("b.go", 3), file("c.go", 5), file("d.go", 5)}, 10, 8, "a.go[0] c.go[0] 10; b.go[0] d.go[0] 10", nil},
		"out of order":     {[]diff.File{file("a.go", 2), file("b.go", 8), file("c.go", 2), file("d.go", 8), file("e.go", 2)}, 9, 8, "a.go[0] c.go[0] e.go[0] 9; b.go[0] 9; d.go[0] 9", nil},
		"split":            {[]diff.File{file("a.go", 4, 4, 4), file("b.go", 1)}, 9, 8, "a.go[0 1] 9; a.go[2] b.go[0] 7", nil},
		"split and joined": {[]diff.File{file("a.go", 2, 8, 2, 8, 2)}, 9, 8, "a.go[0 2 4] 7; a.go[1] 9; a.go[3] 9", nil},
		"a hunk too large": {
			[]diff.File{file("a.go", 3, 12, 3), file("b.go", 10), file("c.go", 1)}, 10, 8, "a.go[0 2] c.go[0] 9",
			[]Left{{"a.go", "one hunk is too large: 12 tokens", 1}, {"b.go", "one hunk is too large: 10 tokens", 1}},
		},
		"hunks too large": {[]diff.File{file("a.go", 600, 700, 1)}, 10, 8, "a.go[2] 2", []Left{{"a.go", "2 hunks are too large: 1.3k tokens", 2}}},
		"over the calls": {
			[]diff.File{file("go.sum", 1), file("README.md", 2), file("a_test.go", 4), file("z.go", 6), file("b.go", 8), file("c.go", 7)}, 9, 2,
			"go.sum[0] z.go[0] 9; c.go[0] 8",
			[]Left{{"README.md", "over the budget of 2 calls", 1}, {"a_test.go", "over the budget of 2 calls", 1}, {"b.go", "over the budget of 2 calls", 1}},
		},
		"one call":       {[]diff.File{file("a.go", 8), file("b.go", 7)}, 9, 1, "b.go[0] 8", []Left{{"a.go", "over the budget of 1 call", 1}}},
		"no calls":       {[]diff.File{file("a.go", 8), file("b.go")}, 9, 0, "", []Left{{"a.go", "over the budget of 0 calls", 1}, {"b.go", "over the budget of 0 calls", 0}}},
		"less than none": {[]diff.File{file("a.go", 8)}, 9, -1, "", []Left{{"a.go", "over the budget of 0 calls", 1}}},
		"no budget":      {[]diff.File{file("a.go", 8), file("b.go")}, 0, 8, "", []Left{{"a.go", "one hunk is too large: 8 tokens", 1}, {"b.go", "its name is too large: 1 token", 0}}},
		"no hunks first": {
			[]diff.File{file("a.go", 8), file("go.sum"), file("c.png")}, 9, 1, "go.sum[] c.png[] 2",
			[]Left{{"a.go", "over the budget of 1 call", 1}},
		},
		"part of a file": {
			[]diff.File{file("a.go", 5, 5, 5)}, 7, 2, "a.go[0] 6; a.go[1] 6", []Left{{"a.go", "over the budget of 2 calls", 1}},
		},
		"a file for two reasons": {
			[]diff.File{file("a.go", 5, 9, 5)}, 7, 1, "a.go[0] 6",
			[]Left{{"a.go", "one hunk is too large: 9 tokens", 1}, {"a.go", "over the budget of 1 call", 1}},
		},
	} {
		parts, left := Plan(c.files, byPath, byLines, c.budget, c.calls)
		if got := shown(c.files, parts); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
		if diff := cmp.Diff(c.left, left); diff != "" {
			t.Errorf("%s: left (-want +got):\n%s", name, diff)
		}
	}
}

// A file in parts is shown as one of those hunks alone would be.
func TestPlanRender(t *testing.T) {
	f := file("a.go", 4, 6)
	f.Status, f.OldPath, f.NewMode = diff.Renamed, "b.go", 0o100755
	parts, _ := Plan([]diff.File{f}, byPath, byLines, 7, 8)
	var got []string
	for _, p := range parts {
		for _, f := range p.Files {
			got = append(got, f.Render())
		}
	}
	header := "file: a.go\nstatus: renamed from b.go, %d added, %d deleted\nmode: 100755, was 100644\n"
	want := []string{fmt.Sprintf(header, 2, 2) + f.Hunks[0].Render(), fmt.Sprintf(header, 3, 3) + f.Hunks[1].Render()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(f.Hunks) != 2 || f.Added != 5 {
		t.Errorf("the input was changed: %+v", f)
	}
}

func TestInTokens(t *testing.T) {
	for n, want := range map[int]string{
		0: "0 tokens", 1: "1 token", 999: "999 tokens", 1000: "1.0k tokens", 12_449: "12.4k tokens", 99_949: "99.9k tokens", 99_950: "100k tokens",
		120_000: "120k tokens", 999_499: "999k tokens", 999_500: "1.0M tokens", 2_340_000: "2.3M tokens",
	} {
		if got := inTokens(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// genFiles draws a diff: small and large files of all classes, some without hunks.
func genFiles() *rapid.Generator[[]diff.File] {
	return rapid.Custom(func(t *rapid.T) []diff.File {
		var files []diff.File
		for i := range rapid.IntRange(0, 12).Draw(t, "files") {
			name := fmt.Sprintf(rapid.SampledFrom([]string{"f%d.go", "f%d_test.go", "f%d.md", "f%d.pb.go"}).Draw(t, "name"), i)
			f := file(name, rapid.SliceOfN(rapid.OneOf(rapid.IntRange(1, 6), rapid.IntRange(1, 40)), 0, 6).Draw(t, "hunks")...)
			for h := range f.Hunks {
				if rapid.IntRange(0, 3).Draw(t, "CR") == 0 {
					for l := range f.Hunks[h].Lines {
						f.Hunks[h].Lines[l].CR = true
					}
				}
			}
			f.Binary = len(f.Hunks) == 0 && rapid.Bool().Draw(t, "binary")
			files = append(files, f)
		}
		return files
	})
}

func render(files []diff.File) string {
	var b strings.Builder
	for _, f := range files {
		b.WriteString(f.Render() + "\n")
	}
	return b.String()
}

func TestPlanProperty(t *testing.T) {
	counts := map[string]func(string) int{
		"lines": func(s string) int { return strings.Count(s, "\n") },
		"bytes": func(s string) int { return len(s) },
		"model": NewCounter("gpt-5").Count,
	}
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		files := genFiles().Draw(t, "diff")
		name := rapid.SampledFrom([]string{"lines", "bytes", "model"}).Draw(t, "count")
		count := counts[name]
		tokens := map[string]int{} // of each file
		all, most := 0, 1
		for _, f := range files {
			n := count(f.Header()) + 1
			for _, h := range f.Hunks {
				n += count(h.Render())
			}
			tokens[f.Path] = n
			all += n
			most = max(most, n)
		}
		budget := rapid.OneOf(rapid.IntRange(0, 2*most), rapid.IntRange(most/2, 2*most), rapid.IntRange(most, max(most, all+1))).Draw(t, "budget")
		calls := rapid.OneOf(rapid.IntRange(0, 2), rapid.IntRange(2, 8)).Draw(t, "calls")
		parts, left := Plan(files, byPath, count, budget, calls)

		if len(parts) > calls {
			t.Fatalf("%d parts, at most %d", len(parts), calls)
		}
		if again, leftAgain := Plan(files, byPath, count, budget, calls); !cmp.Equal(parts, again) || !cmp.Equal(left, leftAgain) {
			t.Fatal("other parts the second time")
		}
		if calls > 0 && all <= budget && len(files) > 0 && (len(left) > 0 || len(parts) != 1 || !cmp.Equal(parts[0].Files, files)) {
			t.Fatalf("all fits, but %s, left %v", shown(files, parts), left)
		}
		// Each hunk, and each file without, once.
		hunks := map[string][]int{} // new starts, in parts
		whole := map[string]bool{}  // in one part
		inParts := map[string]int{}
		for i, p := range parts {
			if len(p.Files) == 0 {
				t.Fatal("an empty part")
			}
			last := -1
			for _, f := range p.Files {
				at := slices.IndexFunc(files, func(g diff.File) bool { return g.Path == f.Path })
				if at <= last {
					t.Fatalf("part %d: %s isn't in the diff's order", i, f.Path)
				}
				last = at
				inParts[f.Path]++
				whole[f.Path] = len(f.Hunks) == len(files[at].Hunks)
				if whole[f.Path] && !cmp.Equal(f, files[at]) {
					t.Fatalf("%s was changed", f.Path)
				}
				before, added := 0, 0
				for _, h := range f.Hunks {
					if h.NewStart <= before {
						t.Fatalf("%s: hunks aren't in order", f.Path)
					}
					before = h.NewStart
					hunks[f.Path] = append(hunks[f.Path], h.NewStart)
					added += h.NewLines
					if !slices.ContainsFunc(files[at].Hunks, func(g diff.Hunk) bool { return cmp.Equal(g, h) }) {
						t.Fatalf("%s: a hunk that isn't in the diff", f.Path)
					}
				}
				if f.Added != added {
					t.Fatalf("%s: %d lines added, not %d", f.Path, f.Added, added)
				}
			}
			if real := count(render(p.Files)); p.Tokens > budget || p.Tokens < real {
				t.Fatalf("part %d: %d tokens, really %d, budget %d", i, p.Tokens, real, budget)
			}
		}
		leftHunks := map[string]int{}
		leftNone := map[string]int{}
		for _, l := range left {
			leftHunks[l.Path] += l.Hunks
			if l.Hunks == 0 {
				leftNone[l.Path]++
			}
		}
		var best diff.File // the most relevant
		for _, f := range files {
			placed := hunks[f.Path]
			slices.Sort(placed)
			if len(slices.Compact(slices.Clone(placed))) != len(placed) || len(placed)+leftHunks[f.Path] != len(f.Hunks) {
				t.Fatalf("%s: %d hunks, placed %v, left %d", f.Path, len(f.Hunks), placed, leftHunks[f.Path])
			}
			if len(f.Hunks) == 0 && inParts[f.Path]+leftNone[f.Path] != 1 || len(f.Hunks) > 0 && leftNone[f.Path] > 0 {
				t.Fatalf("%s without hunks: %d times in parts, %d times left", f.Path, inParts[f.Path], leftNone[f.Path])
			}
			if best.Path == "" || before(f, best, tokens) {
				best = f
			}
			if tokens[f.Path] > budget {
				continue
			}
			if inParts[f.Path] > 0 && !whole[f.Path] {
				t.Fatalf("%s fits, but was split", f.Path)
			}
			if inParts[f.Path] > 0 {
				continue
			}
			seen["over"]++
			if len(parts) < calls {
				t.Fatalf("%s was left, with %d parts of %d", f.Path, len(parts), calls)
			}
			for i, p := range parts {
				if p.Tokens+tokens[f.Path] <= budget && most <= budget {
					t.Fatalf("%s was left, but fits into part %d", f.Path, i)
				}
			}
		}
		if most <= budget { // nothing was split
			if calls > 0 && best.Path != "" && inParts[best.Path] == 0 {
				t.Fatalf("%s is the most relevant, and left", best.Path)
			}
			sum := 0
			for _, p := range parts {
				sum += p.Tokens
			}
			if len(parts) > 2*sum/budget+1 {
				t.Fatalf("%d parts for %d tokens of %d", len(parts), sum, budget)
			}
		}
		if len(parts) > 1 {
			seen["parts"]++
		}
		for _, l := range left {
			if strings.Contains(l.Why, "too large") {
				seen["too large"]++
			}
		}
		for _, f := range files {
			if inParts[f.Path] > 1 {
				seen["split"]++
			}
		}
	})
	for _, what := range []string{"parts", "over", "too large", "split"} {
		if seen[what] == 0 {
			t.Errorf("the property saw none of %q: %v", what, seen)
		}
	}
	t.Log(seen)
}

// before says that a file is more relevant.
func before(a, b diff.File, tokens map[string]int) bool {
	key := func(f diff.File) [3]int { return [3]int{min(len(f.Hunks), 1), int(byPath(f)), tokens[f.Path]} }
	k, l := key(a), key(b)
	return slices.Compare(k[:], l[:]) < 0
}

// 3000 files, over 100,000 lines of real text.
func TestSpeedPlan(t *testing.T) {
	lines := strings.Split(repositoryText(), "\n")
	var files []diff.File
	size := 0
	for i := range 3000 {
		f := diff.File{Path: fmt.Sprintf("dir%d/f%d.go", i/20, i), Status: diff.Modified}
		f.OldPath = f.Path
		for h := range 2 {
			hunk := diff.Hunk{OldStart: 1 + h*100, NewStart: 1 + h*100, NewLines: 17}
			for l := range 17 {
				hunk.Lines = append(hunk.Lines, diff.Line{Op: diff.Add, New: 1 + h*100 + l, Text: lines[(i*34+h*17+l)%len(lines)]})
			}
			f.Hunks = append(f.Hunks, hunk)
			f.Added += 17
		}
		size += len(f.Render())
		files = append(files, f)
	}
	for _, calls := range []int{8, 1000} {
		within(t, 10*time.Second, fmt.Sprintf("%.1f MB, %d calls", float64(size)/1e6, calls), func() {
			parts, left := Plan(files, byPath, NewCounter("gpt-5").Count, 100_000, calls)
			t.Logf("%d parts, %d files left", len(parts), len(left))
		})
	}
	// A hundred times as many units: one large file of many hunks, and as many calls.
	for i := range 100_000 {
		files[0].Hunks = append(files[0].Hunks, diff.Hunk{OldStart: 1000 + i, NewStart: 1000 + i})
	}
	for _, calls := range []int{8, 1000} {
		within(t, 10*time.Second, fmt.Sprintf("many hunks, %d calls", calls), func() {
			Plan(files, byPath, func(s string) int { return len(s) }, 500, calls)
		})
	}
}

// Each hunk is in one piece, in order, and the pieces are about as long as each other.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := genFiles().Draw(t, "files")
		n := rapid.IntRange(0, 8).Draw(t, "n")
		pieces := Pieces(files, n)
		if len(pieces) > max(n, 1) || len(files) > 0 && len(pieces) == 0 {
			t.Fatalf("%d pieces of %d files, want at most %d", len(pieces), len(files), n)
		}
		var want, got []string
		for _, f := range files {
			want = append(want, f.Header()[:5]+f.Path)
			for _, h := range f.Hunks {
				want = append(want, h.Render())
			}
		}
		last := ""
		for i, piece := range pieces {
			if len(piece) == 0 {
				t.Fatalf("piece %d is empty", i)
			}
			for j, f := range piece {
				if again := j == 0 && i > 0 && f.Path == last; !again {
					got = append(got, f.Header()[:5]+f.Path)
				}
				for _, h := range f.Hunks {
					got = append(got, h.Render())
				}
				last = f.Path
			}
		}
		if !slices.Equal(want, got) {
			t.Fatalf("in pieces\n%q\nas a whole\n%q", got, want)
		}
	})
	var hunks []int
	for range 60 {
		hunks = append(hunks, 10)
	}
	sizes := []int{}
	for _, piece := range Pieces([]diff.File{file("a.go", hunks...), file("b.go", hunks...)}, 6) {
		size := 0
		for _, f := range piece {
			size += len(f.Hunks)
		}
		sizes = append(sizes, size)
	}
	if want := []int{20, 20, 20, 20, 20, 20}; !slices.Equal(sizes, want) {
		t.Errorf("hunks of the pieces: %v, want %v", sizes, want)
	}
}
