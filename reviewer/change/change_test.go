package change

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"review-bot/reviewer/diff"
)

const (
	file diff.Mode = 0o100644
	exec diff.Mode = 0o100755
)

// id is one that begins with c.
func id(c string) string { return strings.Repeat(c, 40)[:40] }

func entry(mode diff.Mode, c string) Entry { return Entry{mode, id(c)} }

func list(entries map[string]Entry) []Listed {
	var l []Listed
	for path, e := range entries {
		l = append(l, Listed{path, e})
	}
	return l
}

func TestForm(t *testing.T) {
	for name, want := range map[string]string{
		"a.go": "a.go", "ü": "ü", "\xff": "\uFFFD", "\xff\xfe\xfdx": "\uFFFDx", "a\xc3/b": "a\uFFFD/b",
		"\uFFFD\uFFFD": "\uFFFD", "\uFFFD\xff\uFFFD": "\uFFFD",
	} {
		if got := Form(name); got != want || Form(got) != want || Exact(got) != !strings.Contains(want, "\uFFFD") {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestBetween(t *testing.T) {
	tree := func(c string) Entry { return entry(ModeTree, c) }
	for _, tt := range []struct {
		promise       string
		before, after []Listed
		whole         bool
		want          Set
	}{
		{"nothing", nil, nil, true, Set{}},
		{
			"the same", list(map[string]Entry{"a": entry(file, "1")}), list(map[string]Entry{"a": entry(file, "1")}), true,
			Set{},
		},
		{"content, mode, kind, came, went",
			list(map[string]Entry{"a": entry(file, "1"), "b": entry(file, "1"), "c": entry(file, "1"), "d": entry(file, "1")}),
			list(map[string]Entry{"a": entry(file, "2"), "b": entry(exec, "1"), "c": entry(diff.ModeSymlink, "1"),
				"e": entry(file, "1")}), true,
			Set{Changes: []Change{
				{"a", entry(file, "1"), entry(file, "2")}, {"b", entry(file, "1"), entry(exec, "1")},
				{"c", entry(file, "1"), entry(diff.ModeSymlink, "1")},
				{"d", entry(file, "1"), Entry{}}, {"e", Entry{}, entry(file, "1")},
			}}},
		{"folders of whole trees aren't told", list(map[string]Entry{"d": tree("1"), "d/a": entry(file, "1")}),
			list(map[string]Entry{"d": tree("2"), "d/a": entry(file, "2")}), true,
			Set{Changes: []Change{{"d/a", entry(file, "1"), entry(file, "2")}}}},
		{"folders of folders are", list(map[string]Entry{"d": tree("1"), "e": tree("3")}),
			list(map[string]Entry{"d": tree("2"), "e": tree("3")}), false,
			Set{Changes: []Change{{"d", tree("1"), tree("2")}}}},
		{"a file became a folder", list(map[string]Entry{"d": entry(file, "1")}),
			list(map[string]Entry{"d": tree("2"), "d/a": entry(file, "1")}), true,
			Set{Changes: []Change{{"d", entry(file, "1"), Entry{}}, {"d/a", Entry{}, entry(file, "1")}}}},
		{
			"one odd name", nil, []Listed{{"\uFFFD\uFFFD.go", entry(file, "1")}}, true,
			Set{Changes: []Change{{"\uFFFD.go", Entry{}, entry(file, "1")}}},
		},
		{
			"two names of one form", nil, []Listed{{"\uFFFD.go", entry(file, "1")}, {"\uFFFD\uFFFD.go", entry(file, "2")}}, true,
			Set{Unclear: []string{"\uFFFD.go"}},
		},
		{"two names of one form, nothing else changed", []Listed{{"\uFFFD", entry(file, "1")}, {"\uFFFD", entry(file, "2")}},
			[]Listed{{"\uFFFD", entry(file, "1")}, {"\uFFFD", entry(file, "2")}}, true,
			Set{Unclear: []string{"\uFFFD"}}},
		{"the same in a folder that stays",
			[]Listed{{"d", tree("1")}, {"d/\uFFFD", entry(file, "1")}, {"d/\uFFFD", entry(file, "2")}},
			[]Listed{{"d", tree("1")}, {"d/\uFFFD", entry(file, "1")}, {"d/\uFFFD", entry(file, "2")}}, true, Set{}},
		{
			"two folders of one form", []Listed{{"\uFFFD", tree("1")}, {"\uFFFD", tree("2")}},
			[]Listed{{"\uFFFD", tree("1")}, {"\uFFFD", tree("2")}}, true, Set{Unclear: []string{"\uFFFD"}},
		},
	} {
		got := Between(tt.before, tt.after, tt.whole)
		if !slices.Equal(got.Changes, tt.want.Changes) || !slices.Equal(got.Unclear, tt.want.Unclear) {
			t.Errorf("%s: %+v, want %+v", tt.promise, got, tt.want)
		}
	}
}

// What a set says, a diff has to say, and nothing else.
func TestCompare(t *testing.T) {
	modified := diff.File{Path: "a", OldPath: "a", Status: diff.Modified, OldMode: file, NewMode: file, OldBlob: "1111111",
		NewBlob: "2222222"}
	added := diff.File{Path: "b", OldPath: "b", Status: diff.Added, NewMode: file, NewBlob: "3333333"}
	deleted := diff.File{Path: "c", OldPath: "c", Status: diff.Deleted, OldMode: file, OldBlob: "4444444"}
	moved := diff.File{Path: "new", OldPath: "old", Status: diff.Renamed}
	moded := diff.File{Path: "m", OldPath: "m", Status: diff.ModeOnly, OldMode: file, NewMode: exec}
	odd := diff.File{Path: "\xff", OldPath: "\xff", Status: diff.Added, NewMode: file, NewBlob: "5555555"}
	all := []diff.File{modified, added, deleted, moved, moded, odd}
	set := Set{Changes: []Change{
		{"a", entry(file, "1"), entry(file, "2")}, {"b", Entry{}, entry(file, "3")}, {"c", entry(file, "4"), Entry{}},
		{"m", entry(file, "6"), entry(exec, "6")},
		{"new", Entry{}, entry(file, "7")}, {"old", entry(file, "7"), Entry{}}, {"\uFFFD", Entry{}, entry(file, "5")},
	}}
	m, differs := Compare(set, diff.Diff{Files: all})
	if differs != "" || len(m.Untold) != 0 || m.Files[3] != (Change{"new", entry(file, "7"), entry(file, "7")}) ||
		m.Files[5].New.ID != id("5") {
		t.Fatalf("%q, %+v", differs, m)
	}
	for i := range all {
		if _, differs := Compare(set, diff.Diff{Files: slices.Delete(slices.Clone(all), i, i+1)}); differs == "" {
			t.Errorf("without %s it is the same", all[i].Path)
		}
		for what, edit := range map[string]func(f *diff.File){
			"another content after":  func(f *diff.File) { f.NewBlob = "9999999" },
			"another content before": func(f *diff.File) { f.OldBlob = "9999999" },
			"another mode after":     func(f *diff.File) { f.NewMode = diff.ModeSymlink },
			"another mode before":    func(f *diff.File) { f.OldMode = diff.ModeSymlink },
			"another name":           func(f *diff.File) { f.Path = "elsewhere" },
		} {
			files := slices.Clone(all)
			f := files[i]
			edit(&f)
			if files[i] = f; f.Status == diff.Added && strings.HasSuffix(what, "before") ||
				f.Status == diff.Deleted && strings.HasSuffix(what, "after") {
				continue // the diff has no such side
			}
			if f.Status == diff.Deleted && what == "another name" {
				continue // its old one counts
			}
			if _, differs := Compare(set, diff.Diff{Files: files}); differs == "" {
				t.Errorf("%s with %s is the same", all[i].Path, what)
			}
		}
	}
	if _, differs := Compare(set, diff.Diff{Files: append(slices.Clone(all), diff.File{Path: "x", OldPath: "x", Status: diff.Added, NewMode: file})}); differs == "" {
		t.Error("with a file more it is the same")
	}
}

// What a rename or a change of the mode leaves as it is has the same content on both sides.
func TestARenameDoesNotHideAChange(t *testing.T) {
	d := diff.Diff{Files: []diff.File{{Path: "new", OldPath: "old", Status: diff.Renamed}}}
	if _, differs := Compare(Set{Changes: []Change{{"new", Entry{}, entry(file, "8")}, {"old", entry(file, "7"), Entry{}}}}, d); differs == "" {
		t.Error("a rename without lines hides another content")
	}
	d = diff.Diff{Files: []diff.File{{Path: "m", OldPath: "m", Status: diff.ModeOnly, OldMode: file, NewMode: exec}}}
	if _, differs := Compare(Set{Changes: []Change{{"m", entry(file, "7"), entry(exec, "8")}}}, d); differs == "" {
		t.Error("a change of the mode alone hides another content")
	}
}

// What can't be told apart, or what a diff may leave out, is named.
func TestWhatADiffDoesNotTell(t *testing.T) {
	odd := func(name, blob string) diff.File {
		return diff.File{Path: name, OldPath: name, Status: diff.Added, NewMode: file, NewBlob: blob}
	}
	for promise, tt := range map[string]struct {
		set  Set
		diff []diff.File
		want []string
	}{
		"a submodule that .gitmodules hides": {
			Set{Changes: []Change{{"lib", entry(diff.ModeSubmodule, "1"), entry(diff.ModeSubmodule, "2")}}}, nil,
			[]string{"lib"},
		},
		"two odd names": {
			Set{Unclear: []string{"\uFFFD"}}, []diff.File{odd("\xff", "1111111"), odd("\xfe", "2222222")}, []string{"\uFFFD"},
		},
		"a folder of two odd names": {
			Set{Unclear: []string{"\uFFFD"}}, []diff.File{odd("\xff/a", "1111111")}, []string{"\uFFFD"},
		},
		"one odd name became another": {
			Set{}, []diff.File{{Path: "\xff", OldPath: "\xfe", Status: diff.Renamed}}, []string{"\uFFFD"},
		},
		"a copy": {
			Set{Changes: []Change{{"b", Entry{}, entry(file, "1")}}},
			[]diff.File{{Path: "b", OldPath: "a", Status: diff.Copied}}, []string{"b"},
		},
	} {
		m, differs := Compare(tt.set, diff.Diff{Files: tt.diff})
		var got []string
		for _, u := range m.Untold {
			got = append(got, u.Path)
			if u.Why == "" {
				t.Errorf("%s: no cause", promise)
			}
		}
		if differs != "" || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, untold %q, want %q", promise, differs, got, tt.want)
		}
		for _, f := range tt.diff {
			if !m.Unclear(f) {
				t.Errorf("%s: %q is clear", promise, f.Path)
			}
		}
	}
}

// Seven digits of an id can be forged; a file's lines are held against its whole ids.
func TestProven(t *testing.T) {
	old, now := []byte("one\ntwo\n"), []byte("one\nTWO\n")
	f := diff.Versions(diff.Version{Path: "f", Mode: file, Blob: Blob(old), Content: old},
		diff.Version{Path: "f", Mode: file, Blob: Blob(now), Content: now})
	c := Change{"f", Entry{file, Blob(old)}, Entry{file, Blob(now)}}
	if !c.Wants(f) || !c.Proven(f, now) {
		t.Error("a change isn't proven by its own content")
	}
	forged := Blob(now)[:7] + id("0")[7:]
	for promise, other := range map[string]Change{
		"another content before": {"f", Entry{file, forged}, c.New},
		"another content after":  {"f", c.Old, Entry{file, forged}},
	} {
		if other.Proven(f, now) {
			t.Errorf("%s is proven", promise)
		}
	}
	if c.Proven(f, old) || c.Proven(f, nil) || c.Proven(f, append(now, "evil\n"...)) {
		t.Error("another content proves it")
	}
	for promise, sides := range map[string][2]diff.Version{
		"added":   {{Path: "f"}, {Path: "f", Mode: file, Blob: Blob(now), Content: now}},
		"deleted": {{Path: "f", Mode: file, Blob: Blob(old), Content: old}, {Path: "f"}},
		"became a link": {
			{Path: "f", Mode: file, Blob: Blob(old), Content: old},
			{Path: "f", Mode: diff.ModeSymlink, Blob: Blob([]byte("x")), Content: []byte("x")},
		},
		"a submodule": {{Path: "f"}, {Path: "f", Mode: diff.ModeSubmodule, Blob: id("1")}},
		"submodule moved": {
			{Path: "f", Mode: diff.ModeSubmodule, Blob: id("1")}, {Path: "f", Mode: diff.ModeSubmodule, Blob: id("2")},
		},
		"an empty one": {{Path: "f"}, {Path: "f", Mode: file, Blob: Blob(nil)}},
		"renamed": {
			{Path: "e", Mode: file, Blob: Blob(old), Content: old}, {Path: "f", Mode: file, Blob: Blob(old), Content: old},
		},
		"made executable": {
			{Path: "f", Mode: file, Blob: Blob(old), Content: old}, {Path: "f", Mode: exec, Blob: Blob(old), Content: old},
		},
		"changed and more": {
			{Path: "f", Mode: file, Blob: Blob(old), Content: old}, {Path: "f", Mode: exec, Blob: Blob(now), Content: now},
		},
	} {
		f := diff.Versions(sides[0], sides[1])
		c := Change{"f", Entry{sides[0].Mode, sides[0].Blob}, Entry{sides[1].Mode, sides[1].Blob}}
		content := []byte(nil)
		if c.Wants(f) {
			content = sides[1].Content
		}
		if !c.Proven(f, content) {
			t.Errorf("%s: not proven", promise)
		}
		for i, e := range []*Entry{&c.Old, &c.New} {
			was := *e
			if e.ID = id(fmt.Sprint(8 + i)); was.Exists() && c.Proven(f, content) {
				t.Errorf("%s: proven with another id", promise)
			}
			*e = was
		}
	}
}
