package finding

import (
	"cmp"
	"slices"

	"review-bot/reviewer/diff"
	"review-bot/reviewer/untrusted"
)

// Change is what became of a file between two commits. The zero value says that
// it isn't known.
type Change struct {
	Known bool
	Gone  bool      // the file isn't there any more
	Added bool      // the file wasn't there yet
	Path  string    // its name now
	Diff  diff.File // of the whole versions, see diff.Between; without hunks if they are equal
	Text  []byte    // what the file holds now, where Diff has hunks
}

// same tells whether the file holds the same now.
func (c Change) same() bool { return c.Known && !c.Gone && len(c.Diff.Hunks) == 0 && !c.Diff.Binary }

// Matches ties findings of an answer to earlier ones that they describe again:
// fresh index to earlier index. No finding is tied twice.
//
// The key has to be the same: file, code line, category. As the same code may
// stand in several places, the line decides where it is known how lines moved
// since. Where it isn't, or the line is gone, two are the same only if no other
// one could be meant on either side. Of several on one line the one with the same
// title is meant, else an open one before a waived and that before a fixed one.
func Matches(earlier []Earlier, fresh []Finding, d diff.Diff) map[int]int {
	m := matching{
		earlier: earlier, fresh: fresh, d: d, of: map[int]int{}, taken: map[int]bool{},
		changes: map[Version]copies{}, single: map[int]bool{},
	}
	pairs := m.pairs()
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.rank(m), b.rank(m)) })
	for _, p := range pairs {
		if p.relation == certain && m.free(p) {
			m.tie(p)
		}
	}
	m.unambiguous(slices.DeleteFunc(slices.Clone(pairs), func(p pair) bool { return !p.titled }))
	m.unambiguous(pairs)
	return m.of
}

type matching struct {
	earlier []Earlier
	fresh   []Finding
	d       diff.Diff
	of      map[int]int  // fresh → earlier
	taken   map[int]bool // earlier
	changes map[Version]copies
	single  map[int]bool // of fresh: see once
}

// relation is how sure it is that two findings with the same key are the same.
type relation int

const (
	other    relation = iota
	possible          // if nothing else could be meant
	certain
)

// pair is a fresh finding i that may be the earlier one j.
type pair struct {
	i, j     int
	relation relation
	titled   bool // both have the same title
}

// rank is in which order certain pairs are tied.
func (p pair) rank(m matching) int {
	if p.titled {
		return -1
	}
	return slices.Index([]Status{Open, Let, Fixed}, m.earlier[p.j].Status)
}

// pairs are all that may be the same, by fresh finding, then by age.
func (m matching) pairs() []pair {
	byKey := map[string][]int{}
	names := map[string][]string{} // of a file before
	for j, e := range m.earlier {
		byKey[e.Key] = append(byKey[e.Key], j)
		if now := e.Since.Path; now != "" && now != e.Place.Path && !slices.Contains(names[now], e.Place.Path) {
			names[now] = append(names[now], e.Place.Path)
		}
	}
	titles := make([]string, len(m.earlier))
	for j, e := range m.earlier {
		titles[j] = untrusted.Line(e.Title, maxTitle) // it may not have been ours that is read
	}
	var list []pair
	for i, f := range m.fresh {
		title := untrusted.Line(f.Title, maxTitle)
		add := func(key string, renamed bool, path string) {
			for _, j := range byKey[key] {
				e := m.earlier[j]
				if was := e.renamedTo(f.Place.Path); was != renamed || was && e.Place.Path != path {
					continue
				}
				if r := m.relate(j, i); r != other {
					list = append(list, pair{i, j, r, title == titles[j]})
				}
			}
		}
		add(f.Key, false, "")
		for _, path := range names[f.Place.Path] {
			add(Key(path, f.anchor, f.Category), true, path)
		}
	}
	return list
}

// renamedTo tells whether the finding's file has since got the name.
func (e Earlier) renamedTo(path string) bool {
	return e.Since.Path == path && path != "" && path != e.Place.Path
}

func (m matching) free(p pair) bool {
	_, tied := m.of[p.i]
	return !tied && !m.taken[p.j]
}

func (m matching) tie(p pair) { m.of[p.i], m.taken[p.j] = p.j, true }

// unambiguous ties pairs of which neither could be another one.
func (m matching) unambiguous(pairs []pair) {
	fresh, earlier := map[int]int{}, map[int]int{}
	left := slices.DeleteFunc(slices.Clone(pairs), func(p pair) bool { return !m.free(p) })
	for _, p := range left {
		fresh[p.i]++
		earlier[p.j]++
	}
	for _, p := range left {
		if fresh[p.i] == 1 && earlier[p.j] == 1 {
			m.tie(p)
		}
	}
}

// relate tells how sure it is that two findings with the same key are the same.
func (m matching) relate(j, i int) relation {
	e, f := m.earlier[j], m.fresh[i]
	claimed := e.Where == InBody || f.Where == InBody // nobody has checked the lines of those
	switch {
	case e.Place.Line <= 0 || f.Place.Line <= 0:
		return possible
	case e.Place.Side != f.Place.Side:
		return other
	case f.Place.Side == diff.Old:
		// The line of the file before the change: it moves only when the base does.
		if e.Place.Line == f.Place.Line {
			return certain
		}
	case e.Since.Known && !e.Since.Added:
		if now, still := e.Since.Diff.Forward(e.Place.Line); still && now == f.Place.Line {
			return certain
		}
		if !claimed {
			return m.moved(e, f)
		}
	}
	if claimed || m.once(i) {
		return possible
	}
	return other
}

// moved tells whether an earlier finding's line may be that of a fresh one, though
// it isn't where the change of the file leads: only if the code was taken away in
// one place and put in one other place, and nowhere else.
func (m matching) moved(e Earlier, f Finding) relation {
	before, deleted := e.Since.Diff.Line(diff.Old, e.Place.Line)
	if !deleted {
		return other
	}
	at := e.version()
	n, ok := m.changes[at]
	if !ok {
		n = copiesIn(e.Since.Diff)
		m.changes[at] = n
	}
	if n[changed{diff.Delete, diff.Fold(before.Text)}] != 1 {
		return other
	}
	after, there := e.Since.Diff.Line(diff.New, f.Place.Line)
	if there && after.Op == diff.Add && n[changed{diff.Add, diff.Fold(after.Text)}] == 1 {
		return possible
	}
	return other
}

// Version is a file at a commit.
type Version struct{ Path, Head string }

// version is the file that the finding was made in.
func (e Earlier) version() Version { return Version{e.Place.Path, e.Head} }

// copies counts how often a change takes away or adds the same code.
type copies map[changed]int

type changed struct {
	op   diff.Op
	code string
}

func copiesIn(f diff.File) copies {
	n := copies{}
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			n[changed{l.Op, diff.Fold(l.Text)}]++
		}
	}
	return n
}

// once tells whether the code of a fresh finding stands in one place only of its
// side of the file's diff.
func (m matching) once(i int) bool {
	if single, ok := m.single[i]; ok {
		return single
	}
	f := m.fresh[i]
	file, ok := m.d.File(f.Place.Path)
	n := 0
	if ok && len(f.Code) > 0 {
		code := diff.Fold(f.Code[0])
		for _, h := range file.Hunks {
			for _, l := range h.Lines {
				if (f.Place.Side == diff.Old) == (l.Op == diff.Delete) && diff.Fold(l.Text) == code {
					n++
				}
			}
		}
	}
	m.single[i] = n == 1
	return n == 1
}
