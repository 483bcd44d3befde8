// Package change compares what two commits hold, and checks that a diff has all
// of it.
//
// A diff alone proves nothing: a server may give an older one for some time after a
// push, and its ids are abbreviated. What two trees hold, each entry by type, mode
// and full id, is what the commits' own ids are made from.
//
// The package is pure. Names are bytes in git and in a diff; servers that answer in
// JSON can't give every one of them, see [Form].
package change

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"review-bot/reviewer/diff"
)

// ModeTree is the mode of a folder.
const ModeTree diff.Mode = 0o040000

// Entry is what a tree has at a path. The zero value is nothing.
type Entry struct {
	Mode diff.Mode
	ID   string // git's, in full: of the content, a submodule's commit, a folder's tree
}

// Exists reports whether there is anything.
func (e Entry) Exists() bool { return e != Entry{} }

// Listed is an entry of a list of a tree.
type Listed struct {
	Path string // in [Form]
	Entry
}

// Change is a path at which two trees differ.
type Change struct {
	Path     string // in [Form]
	Old, New Entry
}

// Set is where two trees differ.
type Set struct {
	Changes []Change // ordered by path, one for each
	// Unclear are paths, in order, of which the lists don't say what became of them: several
	// names of the same form. They may have changed.
	Unclear []string
}

// Form is a name as a list in JSON has it: U+FFFD in place of the bytes that aren't
// UTF-8. Servers differ in how many of them a run of such bytes becomes; here it is
// always one.
func Form(name string) string {
	const bad = "\uFFFD"
	form := strings.ToValidUTF8(name, bad)
	for strings.Contains(form, bad+bad) {
		form = strings.ReplaceAll(form, bad+bad, bad)
	}
	return form
}

// Exact reports whether a form is of one name only.
func Exact(form string) bool { return !strings.Contains(form, "\uFFFD") }

// Between compares two lists. If they are of whole trees, folders in them are looked
// at for their ids alone: what is in a folder that stays the same has not changed.
// Else they are of one folder each, and those in it are compared like files.
func Between(before, after []Listed, whole bool) Set {
	was, is := byPath(before), byPath(after)
	paths := maps.Clone(was)
	maps.Copy(paths, is)
	var s Set
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		old, now := was[path], is[path]
		if several := len(old) > 1 || len(now) > 1; whole && !several {
			old, now = onlyFiles(old), onlyFiles(now)
		}
		c := Change{Path: path, Old: one(old), New: one(now)}
		switch {
		case whole && sameFolder(was, is, path):
		case len(old) > 1 || len(now) > 1:
			s.Unclear = append(s.Unclear, path)
		case c.Old != c.New:
			s.Changes = append(s.Changes, c)
		}
	}
	return s
}

func byPath(list []Listed) map[string][]Entry {
	entries := make(map[string][]Entry, len(list))
	for _, e := range list {
		path := Form(e.Path)
		entries[path] = append(entries[path], e.Entry)
	}
	return entries
}

func folder(e Entry) bool { return e.Mode == ModeTree }

func onlyFiles(list []Entry) []Entry {
	return slices.DeleteFunc(slices.Clone(list), folder)
}

func one(list []Entry) Entry {
	if len(list) == 0 {
		return Entry{}
	}
	return list[0]
}

// sameFolder reports whether the path is in a folder that both lists have with the same id.
func sameFolder(was, is map[string][]Entry, path string) bool {
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		old, now := was[path[:i]], is[path[:i]]
		if len(old) == 1 && len(now) == 1 && old[0] == now[0] && folder(old[0]) {
			return true
		}
	}
	return false
}

// Join puts the sets of several folders together.
func Join(sets ...Set) Set {
	var all Set
	for _, s := range sets {
		all.Changes = append(all.Changes, s.Changes...)
		all.Unclear = append(all.Unclear, s.Unclear...)
	}
	slices.SortFunc(all.Changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	slices.Sort(all.Unclear)
	all.Unclear = slices.Compact(all.Unclear)
	return all
}
