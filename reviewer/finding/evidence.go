package finding

import (
	"slices"
	"strconv"
	"strings"

	"review-bot/reviewer/diff"
)

// maxElsewhere bounds in how many other files it is looked up whether a finding's
// code was moved there.
const maxElsewhere = 10

// heard reports whether somebody replied to the finding whose reply may close it:
// the author of the pull request, or a person with write access.
func (c Case) heard(e Earlier) bool {
	return slices.ContainsFunc(e.Replies, func(r Reply) bool {
		return r.ID > e.Comment && (r.Author.ID == c.Author || c.MayWrite != nil && c.MayWrite(r.Author))
	})
}

// fixed reports whether the code that the finding is about has changed since it
// was made, or the change that the answer names has been made since. What isn't
// known is no change.
func (c Case) fixed(e Earlier) (ok bool, by string) {
	for _, fix := range c.Closed {
		if plainID(fix.ID) == e.ID && c.made(e, fix.By) {
			return true, strings.Trim(fix.By, " `")
		}
	}
	return c.changed(e), ""
}

// left are the earlier findings that the answer was asked about and says nothing of.
func (c Case) left() []Earlier {
	described := map[int]bool{}
	for _, j := range Matches(c.Earlier, c.Fresh, c.Diff) {
		described[j] = true
	}
	keeps := c.keeps()
	var list []Earlier
	for j, e := range c.Earlier {
		if e.Status == Open && c.Shown(e.ID) && !keeps[e.ID] && !described[j] {
			list = append(list, e)
		}
	}
	return list
}

// Versions are the files, at the commits of findings that the answer leaves out,
// of which Changes has to say what became of them since.
func (c Case) Versions() []Version {
	var list []Version
	add := func(e Earlier, path string) {
		v := Version{path, e.Head}
		if path != "" && e.Head != "" && !e.in(path) && !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	for _, e := range c.left() {
		for _, fix := range c.Closed {
			if plainID(fix.ID) == e.ID {
				path, _ := placeOf(fix.By)
				add(e, path)
			}
		}
		if code, gone := e.removed(); gone {
			for _, f := range c.gaining(e, code) {
				add(e, f.Path)
			}
		}
	}
	return list
}

// Repliers are those of whom MayWrite has to know whether they have write access.
func (c Case) Repliers() []User {
	var list []User
	for _, e := range c.left() {
		for _, r := range e.Replies {
			if r.ID > e.Comment && r.Author.ID != c.Author && !slices.Contains(list, r.Author) {
				list = append(list, r.Author)
			}
		}
	}
	return list
}

// in reports whether a path is that of the finding's own file, then or now.
func (e Earlier) in(path string) bool { return path == e.Place.Path || path == e.Since.Path }

// since is what became of a file since the finding was made.
func (c Case) since(e Earlier, path string) Change {
	if e.in(path) {
		return e.Since
	}
	return c.Changes[Version{path, e.Head}]
}

// placeOf reads "path:line"; without a line all of it is the path.
func placeOf(by string) (path string, line int) {
	by = strings.Trim(by, " `")
	if i := strings.LastIndexByte(by, ':'); i > 0 {
		if n, err := strconv.Atoi(by[i+1:]); err == nil {
			return by[:i], n
		}
	}
	return by, 0
}

// made reports whether the change at a place was made since the finding: a line in
// a part of a file in which more than white space changed, or a file that was
// deleted and not moved.
func (c Case) made(e Earlier, by string) bool {
	path, line := placeOf(by)
	change := c.since(e, path)
	switch {
	case path == "" || !change.Known:
		return false
	case change.Gone:
		return len(change.Diff.Hunks) > 0 && !c.moved(change.Diff)
	}
	taken := map[string]bool{} // code that went out of the finding's own file, and may have come here
	if !e.in(path) {
		for _, l := range lines(e.Since.Diff, diff.Delete) {
			taken[bare(l.Text)] = true
		}
	}
	return slices.ContainsFunc(change.Diff.Hunks, func(h diff.Hunk) bool {
		return line >= h.NewStart && line < h.NewStart+max(h.NewLines, 1) && substantial(h, taken)
	})
}

// substantial reports whether more of a hunk has changed than white space, added
// lines that were taken from elsewhere aside.
func substantial(h diff.Hunk, taken map[string]bool) bool {
	var before, after strings.Builder
	for _, l := range h.Lines {
		code := bare(l.Text)
		if l.Op != diff.Add {
			before.WriteString(code)
		}
		if l.Op == diff.Context || l.Op == diff.Add && !taken[code] {
			after.WriteString(code)
		}
	}
	return before.String() != after.String()
}

// bare is code without white space.
func bare(code string) string { return strings.Join(strings.Fields(code), "") }

// moved reports whether the pull request brings in, under another name, most of
// the lines of a file that is gone.
func (c Case) moved(gone diff.File) bool {
	had := map[string]bool{}
	for _, l := range lines(gone, diff.Delete) {
		had[bare(l.Text)] = true
	}
	delete(had, "")
	return slices.ContainsFunc(c.Diff.Files, func(f diff.File) bool {
		has := map[string]bool{}
		for _, l := range lines(f, diff.Add) {
			if code := bare(l.Text); had[code] {
				has[code] = true
			}
		}
		return f.Status != diff.Modified && len(has)*2 >= len(had)
	})
}

// lines are those of a file's diff with that sign.
func lines(f diff.File, op diff.Op) []diff.Line {
	var list []diff.Line
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if l.Op == op {
				list = append(list, l)
			}
		}
	}
	return list
}

// changed reports whether the finding's own code has changed since: on the new
// side it is there no more, on the old side it is there again. Code that was moved,
// within its file or to another one, hasn't changed.
func (c Case) changed(e Earlier) bool {
	if e.Place.Side == diff.Old {
		return c.restored(e)
	}
	code, gone := e.removed()
	if !gone || code == "" || adds(e.Since.Diff, code) || !rewritten(e.Since.Diff, code) {
		return false
	}
	files := c.gaining(e, code)
	return len(files) < maxElsewhere && !slices.ContainsFunc(files, func(f diff.File) bool {
		change := c.Changes[Version{f.Path, e.Head}]
		return !change.Known || adds(change.Diff, code)
	})
}

// removed is the finding's own code, without white space, if the line that it was
// on is gone.
func (e Earlier) removed() (code string, gone bool) {
	if !e.Since.Known || e.Place.Path == "" || e.Place.Side == diff.Old {
		return "", false
	}
	if e.Where == Inline {
		line, gone := e.Since.Diff.Line(diff.Old, e.Place.Line)
		return bare(line.Text), gone
	}
	// Nobody has checked the line of one in the body: its code is known by its fingerprint.
	for _, l := range lines(e.Since.Diff, diff.Delete) {
		if e.quotes(l.Text) {
			return bare(l.Text), !e.quotedIn(e.Since.Text)
		}
	}
	return "", false
}

// quotes reports whether a line is the code that the finding is about.
func (e Earlier) quotes(line string) bool {
	return e.Key != "" && Key(e.Place.Path, line, e.Category) == e.Key
}

func (e Earlier) quotedIn(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		if e.quotes(line) {
			return true
		}
	}
	return false
}

// restored reports whether code whose deletion the finding is about is there again,
// and no deletion of it is left.
func (c Case) restored(e Earlier) bool {
	if !e.Since.Known || !e.quotedIn(e.Since.Text) {
		return false
	}
	quoted := func(l diff.Line) bool { return e.quotes(l.Text) }
	return !slices.ContainsFunc(c.Diff.Files, func(f diff.File) bool {
		return (e.in(f.Path) || e.in(f.OldPath)) && slices.ContainsFunc(lines(f, diff.Delete), quoted)
	})
}

// rewritten reports whether a line with that code was deleted where more than white
// space changed: one that was broken up into several is the same. Where the same
// code is left, nobody knows which of the lines it was.
func rewritten(f diff.File, code string) bool {
	return slices.ContainsFunc(f.Hunks, func(h diff.Hunk) bool {
		has := func(op func(diff.Op) bool) bool {
			return slices.ContainsFunc(h.Lines, func(l diff.Line) bool { return op(l.Op) && bare(l.Text) == code })
		}
		return substantial(h, nil) && has(func(op diff.Op) bool { return op == diff.Delete }) &&
			!has(func(op diff.Op) bool { return op != diff.Delete })
	})
}

// adds reports whether a change brings a line with that code in, as far as is known.
func adds(f diff.File, code string) bool {
	return f.Binary || slices.ContainsFunc(lines(f, diff.Add), func(l diff.Line) bool { return bare(l.Text) == code })
}

// gaining are other files of the pull request that have a line with that code among
// those it adds, as far as they are looked at: up to maxElsewhere.
func (c Case) gaining(e Earlier, code string) []diff.File {
	var files []diff.File
	for _, f := range c.Diff.Files {
		if !e.in(f.Path) && !f.Binary && adds(f, code) && len(files) < maxElsewhere {
			files = append(files, f)
		}
	}
	return files
}
