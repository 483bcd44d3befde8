package change

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"review-bot/reviewer/diff"
)

// Match is what a diff's files are, in full.
type Match struct {
	// Files is what there is of each of the diff's files before and after it, by their places
	// in the diff. A renamed one was at its old path before.
	Files []Change
	// Untold are paths that changed and that the diff doesn't tell about, each with why: names
	// that can't be told apart, and submodules, which a repository may hide from diffs.
	Untold []Untold
}

// Untold is a path that changed, and why it isn't known how.
type Untold struct{ Path, Why string }

// Compare holds a diff against the set. differs says, for people, at which path they
// don't tell the same; it is "" if they do.
func Compare(s Set, d diff.Diff) (m Match, differs string) {
	unclear := vague{}
	for _, path := range s.Unclear {
		unclear[path] = true
	}
	told := map[string]*half{}
	at := func(name string) *half {
		form := Form(name)
		if told[form] == nil {
			told[form] = &half{}
		}
		return told[form]
	}
	for _, f := range d.Files {
		if f.Status == diff.Copied {
			m.Untold = append(m.Untold, Untold{Form(f.Path), "a copy, of which the diff shows only what differs"})
		}
		if f.Status != diff.Added && f.Status != diff.Copied {
			h := at(f.OldPath)
			h.before = append(h.before, side{f.OldMode, f.OldBlob})
			h.names = append(h.names, f.OldPath)
		}
		if f.Status != diff.Deleted {
			h := at(f.Path)
			h.after = append(h.after, side{f.NewMode, f.NewBlob})
			h.names = append(h.names, f.Path)
		}
	}
	changes := map[string]Change{}
	for _, c := range s.Changes {
		changes[c.Path] = c
		h := told[c.Path]
		switch {
		case unclear.has(c.Path):
		case h == nil && (c.Old.Mode == diff.ModeSubmodule || c.New.Mode == diff.ModeSubmodule):
			m.Untold = append(m.Untold, Untold{c.Path, "a submodule that the server's diff leaves out"})
		case h == nil:
			return Match{}, quoted(c.Path) + " is missing in it"
		}
	}
	for _, form := range slices.Sorted(maps.Keys(told)) {
		h := told[form]
		several := !h.single()
		if several && !Exact(form) {
			unclear[form] = true
		}
		c, changed := changes[form]
		switch {
		case unclear.has(form):
		case several:
			return Match{}, quoted(form) + " is in it more than once"
		case !changed && h.moved(form):
			unclear[form] = true // two names of the same form, one with what the other had
		case !changed:
			return Match{}, quoted(form) + " didn't change"
		case !h.fits(c):
			return Match{}, quoted(form) + " has another content or mode"
		}
	}
	for form := range unclear {
		m.Untold = append(m.Untold, Untold{form, "several files have names that can't be told apart"})
	}
	slices.SortFunc(m.Untold, func(a, b Untold) int { return cmp.Compare(a.Path, b.Path) })
	for _, f := range d.Files {
		c := Change{Path: f.Path}
		if f.Status != diff.Added && f.Status != diff.Copied {
			c.Old = changes[Form(f.OldPath)].Old
		}
		if f.Status != diff.Deleted {
			c.New = changes[Form(f.Path)].New
		}
		if stays(f) && c.Old.Exists() && c.New.Exists() && c.Old.ID != c.New.ID {
			return Match{}, quoted(f.Path) + " has another content"
		}
		m.Files = append(m.Files, c)
	}
	return m, ""
}

// Unclear reports whether it isn't known what became of a file of the diff.
func (m Match) Unclear(f diff.File) bool {
	untold := vague{}
	for _, u := range m.Untold {
		untold[u.Path] = true
	}
	return untold.has(Form(f.Path)) || untold.has(Form(f.OldPath))
}

// vague are files and folders of which it isn't known what became of them.
type vague map[string]bool

func (v vague) has(path string) bool {
	for i := range len(path) {
		if path[i] == '/' && v[path[:i]] {
			return true
		}
	}
	return v[path]
}

// stays reports whether a diff says that a content stays as it is.
func stays(f diff.File) bool {
	return f.OldBlob == "" && f.NewBlob == "" && f.Status != diff.Added && f.Status != diff.Deleted
}

// half is what a diff says of a path: what was there before, and what is there after.
type half struct {
	before, after []side
	names         []string
}

// side is a mode and a blob as a diff has them, 0 and "" where it doesn't say.
type side struct {
	mode diff.Mode
	blob string
}

func (h half) single() bool { return len(h.before) <= 1 && len(h.after) <= 1 }

// moved reports whether it is about two names, of which the one that went had what the
// one that came has.
func (h half) moved(form string) bool {
	return !Exact(form) && len(h.before) == 1 && len(h.after) == 1 && h.names[0] != h.names[1]
}

func (h half) fits(c Change) bool { return fits(h.before, c.Old) && fits(h.after, c.New) }

func fits(told []side, is Entry) bool {
	if len(told) == 0 || !is.Exists() {
		return len(told) == 0 && !is.Exists()
	}
	t := told[0]
	return (t.mode == 0 || kind(t.mode) == kind(is.Mode)) && (t.blob == "" || diff.SameBlob(t.blob, is.ID))
}

// kind is a mode as git itself tells modes apart: of a file's bits only the owner's
// right to execute counts.
func kind(m diff.Mode) diff.Mode {
	if m&0o170000 != 0o100000 {
		return m & 0o170000
	}
	if m&0o100 != 0 {
		return 0o100755
	}
	return 0o100644
}

func quoted(name string) string { return strconv.QuoteToASCII(name) }
