package diff

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Place is where a finding says it belongs.
type Place struct {
	Path string
	// Side: whatever isn't Old is taken for New.
	Side Side
	// Line and EndLine are the first and last line, from 1, on that side. EndLine 0: one line.
	Line, EndLine int
	// Quote is the code at Line, as the model copied it; empty if it quoted none.
	Quote string
}

// Anchoring says how a finding came to its place.
type Anchoring string

// The ways to a place.
const (
	Exact   Anchoring = "exact"   // where it said; an old number of a context line made a new one
	Moved   Anchoring = "moved"   // where its quoted code is
	Outside Anchoring = "outside" // nowhere in the diff
)

// Anchor finds the commentable line that a finding is about.
//
// If it is Exact or Moved, Commentable holds for each line from Line to EndLine of the
// place; Side is New or Old; Path is the file's Path, also for the old side of a renamed
// file (a server that wants the old name there is the caller's to serve); Quote is as given.
//
// If it is Outside, the reason says why, in words for people, and the place is as given
// but for a tidied Path. A finding whose line may well take comments is Outside too if its
// quoted code is somewhere else, in several places or nowhere: a comment on the wrong
// line is worse than one below the diff.
func (d Diff) Anchor(p Place) (place Place, how Anchoring, reason string) {
	f, ok := d.tidied(p.Path)
	switch {
	case !ok && strings.TrimSpace(p.Path) == "": // a blank may well be a file's name
		return p, Outside, "the finding names no file"
	case !ok:
		return p, Outside, "the file is not in the diff"
	}
	p.Path = f.Path
	side := New
	if p.Side == Old {
		side = Old
	}
	if reason := f.closed(side); reason != "" {
		return p, Outside, reason
	}
	q := readQuote(p.Quote)

	at, stated := f.stated(side, p.Line)
	if stated && (len(q) == 0 || f.Hunks[at.hunk].holds(at.i, q, at.quoted)) {
		return f.place(p, at, p.lastLine(f, side, at)), Exact, ""
	}
	if len(q) == 0 {
		return p, Outside, notInDiff(side, p.Line)
	}
	found, n, slight := f.seek(q, side)
	switch {
	case n == 1:
		last := found.line(f)
		if p.Line > 0 && p.EndLine > p.Line {
			last += min(p.EndLine-p.Line, math.MaxInt32) // no number of a line is larger
		}
		return f.place(p, found, last), Moved, ""
	case n > 1:
		return p, Outside, "the quoted code stands in several places"
	case stated && slight:
		return p, Outside, fmt.Sprintf("line %d is other than quoted, and the quote is too slight to find its place by", p.Line)
	case stated:
		return p, Outside, fmt.Sprintf("line %d is other than quoted, and the quoted code is not in the file's diff", p.Line)
	case slight:
		return p, Outside, notInDiff(side, p.Line) + ", and the quote is too slight to find its place by"
	default:
		return p, Outside, notInDiff(side, p.Line) + ", nor is the quoted code"
	}
}

func notInDiff(side Side, line int) string {
	switch {
	case line < 1:
		return "no line is given"
	case side == Old:
		return fmt.Sprintf("line %d of the old file is not in the diff", line)
	default:
		return fmt.Sprintf("line %d is not in the diff", line)
	}
}

// tidied finds the file by the path as given or, if there is none, without what models put
// around it: blanks, backquotes, the quotes of Header, and the prefixes of paths and of diffs.
func (d Diff) tidied(path string) (File, bool) {
	if f, ok := d.File(path); ok {
		return f, true
	}
	path = strings.Trim(strings.TrimSpace(path), "`")
	if name, err := strconv.Unquote(path); err == nil {
		path = name
	}
	for {
		if f, ok := d.File(path); ok {
			return f, true
		}
		short := path
		for _, prefix := range []string{"./", "/", "a/", "b/"} {
			if short = strings.TrimPrefix(path, prefix); short != path {
				break
			}
		}
		if short == path {
			return File{}, false
		}
		path = short
	}
}

// closed says why a file can't take comments at all; empty if it can.
func (f File) closed(side Side) string {
	if len(f.Hunks) == 0 {
		if f.Binary {
			return "binary file"
		}
		return "the diff shows no lines of the file"
	}
	return f.refusal(side)
}

// spot is a commentable line of a file.
type spot struct {
	hunk, i int
	side    Side // that comments on it go by
	quoted  Side // that its neighbours are to be read on
}

func (s spot) line(f File) int { return f.Hunks[s.hunk].Lines[s.i].Number(s.side) }

// stated finds the line that a finding names, a context line also by its old number.
func (f File) stated(side Side, line int) (spot, bool) {
	h, i, ok := f.find(side, line)
	if !ok {
		return spot{}, false
	}
	s := spot{hunk: h, i: i, side: side, quoted: side}
	if !f.Hunks[h].Lines[i].commentable(side) {
		s.side = New
	}
	return s, f.refusal(s.side) == ""
}

// lastLine is where a finding that stays at its line ends, on the spot's side. That of a
// finding that gave old numbers is converted like its first line.
func (p Place) lastLine(f File, side Side, at spot) int {
	if side == at.side {
		return p.EndLine
	}
	last := 0
	for _, l := range f.Hunks[at.hunk].Lines[at.i:] {
		if l.Op == Context && l.Old <= p.EndLine {
			last = l.New
		}
	}
	return last
}

// place puts a finding on a spot. It ends at last or before, so that all lines take comments.
func (f File) place(p Place, at spot, last int) Place {
	h := f.Hunks[at.hunk]
	p.Side, p.Line = at.side, at.line(f)
	p.EndLine = min(max(last, p.Line), h.reach(at.side, at.i, last))
	return p
}

// seek looks for the quoted code among the commentable lines of the file, of the stated side
// and if there is nothing then of the other. n is how many places it fits equally well.
// slight says that the quote alone, by its first line, says too little to go by.
func (f File) seek(q quote, side Side) (found spot, n int, slight bool) {
	other := Old
	if side == Old {
		other = New
	}
	slight = true
	for _, r := range q[0] {
		slight = slight && trivial(r)
	}
	for _, s := range []Side{side, other} {
		if f.refusal(s) != "" {
			continue
		}
		if found, n = f.seekSide(q, s); n > 0 {
			return found, n, slight
		}
	}
	return spot{}, 0, slight
}

// seekSide is seek on one side. Of several places with the quote's first line, the one that
// holds all of its lines is meant; the first line alone doesn't do if it is trivial.
func (f File) seekSide(q quote, side Side) (found spot, n int) {
	best, alone := -1, true
	var all []spot
	for h, hunk := range f.Hunks {
		for i, l := range hunk.Lines {
			if !l.commentable(side) {
				continue
			}
			rank, reading, ok := q[0].rank(l.Text)
			if !ok || best >= 0 && rank > best {
				continue
			}
			if rank != best {
				best, alone, all = rank, !trivial(reading), all[:0]
			}
			all = append(all, spot{hunk: h, i: i, side: side, quoted: side})
		}
	}
	if len(all) == 0 || len(all) == 1 && alone {
		return first(all), len(all)
	}
	if !alone && !q[1:].telling() {
		return spot{}, 0
	}
	var whole []spot
	for _, s := range all {
		if len(q) == 1 || len(whole) > 1 {
			break
		}
		if _, ok := f.Hunks[s.hunk].block(s.i, q, side); ok {
			whole = append(whole, s)
		}
	}
	if len(whole) == 0 && alone {
		return spot{}, len(all)
	}
	return first(whole), len(whole)
}

func first(all []spot) spot {
	if len(all) == 0 {
		return spot{}
	}
	return all[0]
}
