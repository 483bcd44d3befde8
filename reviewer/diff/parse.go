package diff

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Parse reads a diff. Blank input is a diff without files. Anything else that isn't a
// whole, sound git diff is an error that names the line where reading failed: a hunk that
// was cut off, hunks out of order, text between files, a combined diff, a web page.
//
// It is safe on hostile input: time and memory are linear in its length.
func Parse(data []byte) (Diff, error) {
	sections, err := split(data)
	if err != nil {
		return Diff{}, fmt.Errorf("diff: %w", err)
	}
	var d Diff
	at := make(map[string]int, len(sections))
	for _, s := range sections {
		f, err := s.parse()
		if err != nil {
			return Diff{}, fmt.Errorf("diff: %w", err)
		}
		i, known := at[f.Path]
		if !known {
			at[f.Path] = len(d.Files)
			d.Files = append(d.Files, f)
			continue
		}
		if d.Files[i].Status != Deleted || f.Status != Added {
			return Diff{}, fmt.Errorf("diff: line %d: %q was there before", s.line, f.Path)
		}
		d.Files[i] = typeChange(d.Files[i], f)
		for n, h := range d.Files[i].Hunks[min(1, len(d.Files[i].Hunks)):] {
			if !d.Files[i].Hunks[n].before(h) {
				return Diff{}, fmt.Errorf("diff: line %d: hunk out of order", s.line)
			}
		}
	}
	return d, nil
}

// parse reads one section.
func (s section) parse() (File, error) {
	text, header, err := s.normal()
	if err != nil {
		return File{}, err
	}
	files, _, err := gitdiff.Parse(bytes.NewBuffer(text))
	if err != nil {
		return File{}, s.locate(err)
	}
	if len(files) != 1 {
		return File{}, fmt.Errorf("line %d: a second file in the section of one", s.line)
	}
	g := files[0]
	f, err := describe(g)
	if err != nil {
		return File{}, fmt.Errorf("line %d: %w", s.line, err)
	}
	rest, line := skip(text, header), header
	for _, t := range g.TextFragments {
		h, err := hunk(t)
		if err == nil && len(f.Hunks) > 0 && !f.Hunks[len(f.Hunks)-1].before(h) {
			err = errors.New("hunk out of order")
		}
		if err != nil {
			return File{}, fmt.Errorf("line %d: %w", s.line+line, err)
		}
		f.Hunks = append(f.Hunks, h)
		f.Added += int(t.LinesAdded)
		f.Deleted += int(t.LinesDeleted)
		n := hunkHeight(rest, len(t.Lines))
		rest, line = skip(rest, n), line+n
	}
	if len(f.Hunks) > 0 {
		// go-gitdiff skips what it doesn't know behind a hunk (a combined diff, say), and
		// nothing may go unreviewed that way.
		if err := s.blank(rest, line); err != nil {
			return File{}, err
		}
	}
	return f, nil
}

var gitdiffError = regexp.MustCompile(`^gitdiff: line (\d+): `)

// locate makes go-gitdiff's line number, which counts within the section, one of the diff.
func (s section) locate(err error) error {
	m := gitdiffError.FindStringSubmatch(err.Error())
	if m == nil {
		return fmt.Errorf("line %d: %w", s.line, err)
	}
	n, convErr := strconv.Atoi(m[1])
	if convErr != nil {
		n = 1
	}
	n = min(max(n, 1), bytes.Count(s.data, []byte("\n"))) // at the end it names the line after
	return fmt.Errorf("line %d: %s", s.line+n-1, strings.TrimPrefix(err.Error(), m[0]))
}

// describe takes over all but the hunks.
func describe(g *gitdiff.File) (File, error) {
	f := File{
		Path: g.NewName, OldPath: g.OldName, Binary: g.IsBinary, OldMode: Mode(g.OldMode), NewMode: Mode(g.NewMode),
		OldBlob: blobID(g.OldOIDPrefix), NewBlob: blobID(g.NewOIDPrefix),
	}
	if f.OldMode > 0o177777 || f.NewMode > 0o177777 {
		return File{}, fmt.Errorf("no file mode: %o, %o", f.OldMode, f.NewMode)
	}
	if !g.IsDelete && !g.IsNew && f.NewMode == 0 {
		f.NewMode = f.OldMode // the index line gives the mode once if it stays
	}
	switch {
	case g.IsNew:
		f.Status, f.OldPath, f.OldMode, f.OldBlob = Added, f.Path, 0, ""
	case g.IsDelete:
		f.Status, f.Path, f.NewMode, f.NewBlob = Deleted, f.OldPath, 0, ""
	case g.IsCopy:
		f.Status = Copied
	case g.IsRename || f.Path != f.OldPath: // the latter from `git diff --no-index`
		f.Status = Renamed
	case f.OldMode != f.NewMode && len(g.TextFragments) == 0 && !g.IsBinary:
		f.Status = ModeOnly
	default:
		f.Status = Modified
	}
	if f.Path == "" || f.OldPath == "" {
		return File{}, errors.New("a file without a name")
	}
	return f, nil
}

// hunk takes over one hunk and numbers its lines.
func hunk(t *gitdiff.TextFragment) (Hunk, error) {
	for _, r := range [][2]int64{{t.OldPosition, t.OldLines}, {t.NewPosition, t.NewLines}} {
		// A side with lines begins at 1 or later. The bound keeps sums far from overflow.
		if start, n := r[0], r[1]; start < 0 || n < 0 || n > 0 && start == 0 || start > math.MaxInt32 || n > math.MaxInt32 {
			return Hunk{}, fmt.Errorf("hunk with impossible lines %d,%d", start, n)
		}
	}
	h := Hunk{
		Section:  strings.ToValidUTF8(t.Comment, "\uFFFD"),
		OldStart: int(t.OldPosition), OldLines: int(t.OldLines),
		NewStart: int(t.NewPosition), NewLines: int(t.NewLines),
		Lines: make([]Line, 0, len(t.Lines)),
	}
	o, n := h.OldStart, h.NewStart
	for _, tl := range t.Lines {
		l := Line{NoNewline: tl.NoEOL()}
		l.Text, l.Raw, l.CR = code(tl.Line)
		switch tl.Op {
		case gitdiff.OpAdd:
			l.Op, l.New = Add, n
			n++
		case gitdiff.OpDelete:
			l.Op, l.Old = Delete, o
			o++
		default:
			l.Op, l.Old, l.New = Context, o, n
			o++
			n++
		}
		h.Lines = append(h.Lines, l)
	}
	return h, nil
}

// code is a line as Line holds it, and whether a carriage return was taken off.
func code(line string) (text, raw string, cr bool) {
	raw, cr = strings.CutSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if text = readable(raw); text == raw {
		raw = ""
	}
	return text, raw, cr
}

// before says that a hunk ends before another one begins, on both sides.
func (h Hunk) before(next Hunk) bool {
	return h.end(Old) < next.begin(Old) && h.end(New) < next.begin(New)
}

// begin is the number of the hunk's first line on a side; for a side without lines, of the
// line that follows.
func (h Hunk) begin(side Side) int {
	start, n := h.NewStart, h.NewLines
	if side == Old {
		start, n = h.OldStart, h.OldLines
	}
	if n == 0 {
		return start + 1
	}
	return start
}

// end is the number of the hunk's last line on a side; for a side without lines, of the
// line before.
func (h Hunk) end(side Side) int {
	if side == Old {
		return h.begin(Old) + h.OldLines - 1
	}
	return h.begin(New) + h.NewLines - 1
}

// typeChange joins the two entries that git writes when a path changes its kind (file,
// symlink, submodule): all of the old one deleted, then all of the new one added.
func typeChange(del, add File) File {
	f := File{
		Path: del.Path, OldPath: del.OldPath, Status: Modified, Binary: del.Binary || add.Binary,
		OldMode: del.OldMode, NewMode: add.NewMode, OldBlob: del.OldBlob, NewBlob: add.NewBlob, Added: add.Added, Deleted: del.Deleted,
		Hunks: append([]Hunk(nil), del.Hunks...),
	}
	for _, h := range add.Hunks {
		h.OldStart = del.Deleted // the added lines come after the deleted ones, see Hunk
		f.Hunks = append(f.Hunks, h)
	}
	return f
}
