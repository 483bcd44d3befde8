package diff

import (
	"slices"
	"sort"
	"strings"
)

// Commentable says whether a line can carry an inline comment: an added or context line
// by its new number, a deleted line by its old number. A context line by its old
// number can't; see Convert.
//
// No line of a submodule can: git makes that line up, and the file it would be in isn't one.
// Nor can those of a path with "." or ".." in it, which a hand-made tree may have: Gitea
// answers 500 and leaves a pending review behind.
func (f File) Commentable(side Side, line int) bool {
	_, _, ok := f.spot(side, line)
	return ok && f.refusal(side) == ""
}

// Line finds a commentable line by its number.
func (f File) Line(side Side, line int) (Line, bool) {
	h, i, ok := f.spot(side, line)
	if !ok || f.refusal(side) != "" {
		return Line{}, false
	}
	return f.Hunks[h].Lines[i], true
}

// Convert gives the new number of a context line whose old number is known.
func (f File) Convert(old int) (line int, ok bool) {
	h, i, ok := f.find(Old, old)
	if !ok || f.Hunks[h].Lines[i].Op != Context {
		return 0, false
	}
	return f.Hunks[h].Lines[i].New, true
}

// refusal says, for people, why no line of a side takes comments; empty if they do.
func (f File) refusal(side Side) string {
	mode := f.NewMode
	if side == Old {
		mode = f.OldMode
	}
	if mode == ModeSubmodule {
		return "a submodule has no lines to comment on"
	}
	if f.Decoded != "" {
		return "the server shows no lines of a binary file"
	}
	if slices.ContainsFunc(strings.Split(f.Path, "/"), func(s string) bool { return s == "." || s == ".." || s == "" }) {
		return "the server takes no comments on such a path"
	}
	return ""
}

// commentable says whether a line of a hunk belongs to a side for comments.
func (l Line) commentable(side Side) bool {
	if side == Old {
		return l.Op == Delete
	}
	return l.Op != Delete
}

// spot finds the line with a number, if it is one for comments on that side.
func (f File) spot(side Side, line int) (hunk, i int, ok bool) {
	hunk, i, ok = f.find(side, line)
	return hunk, i, ok && f.Hunks[hunk].Lines[i].commentable(side)
}

// find finds the line with a number on a side, context lines on both: by bisection to
// the hunk, then by leaps within it, as the lines between two of one side's are at
// least as many as their numbers differ. Only through runs of the other side's lines it goes
// line by line.
func (f File) find(side Side, line int) (hunk, i int, ok bool) {
	hunk = f.notBefore(side, line)
	if hunk == len(f.Hunks) || line < f.Hunks[hunk].begin(side) {
		return 0, 0, false
	}
	lines := f.Hunks[hunk].Lines
	for i = line - f.Hunks[hunk].begin(side); i < len(lines); {
		switch n := lines[i].Number(side); {
		case n == line:
			return hunk, i, true
		case n == 0:
			i++
		case n > line:
			return 0, 0, false // only in a File put together by hand
		default:
			i += line - n
		}
	}
	return 0, 0, false
}

// notBefore is the index of the first hunk that doesn't end before a line; len(f.Hunks) if all do.
func (f File) notBefore(side Side, line int) int {
	return sort.Search(len(f.Hunks), func(k int) bool { return f.Hunks[k].end(side) >= line })
}

// reach is the last line of the contiguous run of commentable lines, by number, that goes
// on from lines[i]; it doesn't look further than limit.
func (h Hunk) reach(side Side, i, limit int) int {
	last := h.Lines[i].Number(side)
	for _, l := range h.Lines[i+1:] {
		if last >= limit {
			break
		}
		if l.Number(side) == 0 {
			continue
		}
		if !l.commentable(side) {
			break
		}
		last = l.Number(side)
	}
	return last
}
