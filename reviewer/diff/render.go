package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Render is the file as the model is shown it: the header, then the hunks.
//
//	file: b.go
//	status: renamed from a.go, 1 added, 1 deleted
//	@@ -17,2 +18,2 @@ func f() {
//	  17    18   context
//	  18       - deleted
//	        19 + added
//
// Every line that begins with a letter or @ is ours: lines of the file have the number
// columns before them, and nothing in them can end a line early.
func (f File) Render() string {
	var b strings.Builder
	b.WriteString(f.Header())
	for _, h := range f.Hunks {
		h.render(&b)
	}
	return b.String()
}

// Header is what Render begins with: name, status, and a note in place of lines that aren't
// there. Each part of a file that is split by hunks needs it. Names that hold control
// characters, quotes or invalid UTF-8 are quoted as in Go.
func (f File) Header() string {
	var b strings.Builder
	fmt.Fprintf(&b, "file: %s\nstatus: %s", ShowName(f.Path), f.Status)
	if f.OldPath != f.Path {
		fmt.Fprintf(&b, " from %s", ShowName(f.OldPath))
	}
	if len(f.Hunks) > 0 {
		fmt.Fprintf(&b, ", %d added, %d deleted", f.Added, f.Deleted)
	}
	b.WriteByte('\n')
	if f.OldMode != f.NewMode && f.OldMode != 0 && f.NewMode != 0 {
		fmt.Fprintf(&b, "mode: %06o, was %06o\n", f.NewMode, f.OldMode)
	}
	for _, note := range []string{f.note(), f.Decoded, f.Note} {
		if note != "" {
			fmt.Fprintf(&b, "note: %s\n", note)
		}
	}
	return b.String()
}

func (f File) note() string {
	mode := f.NewMode
	if f.Status == Deleted {
		mode = f.OldMode
	}
	switch {
	case f.Note != "" && len(f.Hunks) == 0:
		return "" // it says why there are none
	case mode == ModeSubmodule:
		return "submodule, its lines take no comments"
	case f.Binary:
		return "binary file, no lines to show"
	case len(f.Hunks) > 0 && mode == ModeSymlink:
		return "symbolic link, its line is the path it points to"
	case len(f.Hunks) > 0:
		return f.lineEnds()
	case f.Status == ModeOnly:
		return "only the mode changed"
	case f.Status == Added || f.Status == Deleted:
		return "empty file"
	default:
		return "no lines changed"
	}
}

func (f File) lineEnds() string {
	with, without := false, false
	for _, h := range f.Hunks {
		w, wo := h.lineEnds()
		with, without = with || w, without || wo
	}
	switch {
	case with && without:
		return "mixed line ends; in hunks that mix them ␍ marks those with a carriage return"
	case with:
		return "lines end in CRLF"
	default:
		return ""
	}
}

// lineEnds says whether lines with and without a carriage return are there. A line without a
// newline doesn't count: it has no line end.
func (h Hunk) lineEnds() (with, without bool) {
	for _, l := range h.Lines {
		with = with || l.CR
		without = without || !l.CR && !l.NoNewline
	}
	return with, without
}

// Render is the hunk as the model is shown it; see File.Render. A carriage return at the end
// of lines is shown as ␍ if some of the hunk's lines have one and some don't.
func (h Hunk) Render() string {
	var b strings.Builder
	h.render(&b)
	return b.String()
}

func (h Hunk) render(b *strings.Builder) {
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
	if h.Section != "" {
		b.WriteString(" " + control.Replace(h.Section))
	}
	b.WriteByte('\n')
	width := max(4, len(strconv.Itoa(h.end(Old))), len(strconv.Itoa(h.end(New))))
	with, without := h.lineEnds()
	for _, l := range h.Lines {
		column(b, l.Old, width)
		b.WriteString("  ")
		column(b, l.New, width)
		if l.Op != Context || l.Text != "" {
			b.WriteByte(' ')
			b.WriteByte(byte(l.Op))
		}
		if l.Text != "" {
			b.WriteByte(' ')
			b.WriteString(control.Replace(l.Text))
		}
		if l.CR && with && without {
			b.WriteString("␍")
		}
		b.WriteByte('\n')
		if l.NoNewline {
			fmt.Fprintf(b, "%*s \\ no newline at the end of the file\n", 2*width+2, "")
		}
	}
}

// column writes a number right-aligned, or blanks if it is 0.
func column(b *strings.Builder, n, width int) {
	s := ""
	if n > 0 {
		s = strconv.Itoa(n)
	}
	for range width - len(s) {
		b.WriteByte(' ')
	}
	b.WriteString(s)
}

// control makes visible what some readers take for a line end, or show nothing of: with it a file
// could show the model lines, with numbers, that it doesn't have.
var control = strings.NewReplacer(controls()...)

func controls() []string {
	pairs := []string{"\x7f", "␡", "\u0085", "␤", "\u2028", "␤", "\u2029", "␤"}
	for c := range rune(' ') {
		if c != '\t' && c != '\n' {
			pairs = append(pairs, string(c), string('␀'+c))
		}
	}
	return pairs
}

// ShowName is a name as people and the model are shown it: quoted as in Go if it holds
// control characters, quotes or bytes that aren't UTF-8.
func ShowName(name string) string {
	q := strconv.Quote(name)
	if q[1:len(q)-1] != name || strings.TrimFunc(name, unicode.IsSpace) != name {
		return q
	}
	return name
}

// InPieces returns the file with its long hunks in pieces of so many lines, where all
// lines of a hunk are added, or all deleted, as in a new file: it can then be shown in
// several parts. The numbers of the lines stay. Other hunks aren't divided.
func (f File) InPieces(lines int) File {
	var hunks []Hunk
	for _, h := range f.Hunks {
		mixed := slices.ContainsFunc(h.Lines, func(l Line) bool { return l.Op == Context || l.Op != h.Lines[0].Op })
		if mixed || len(h.Lines) <= lines {
			hunks = append(hunks, h)
			continue
		}
		for piece := range slices.Chunk(h.Lines, lines) {
			p := h
			p.Lines = piece
			if piece[0].Op == Add {
				p.NewStart, p.NewLines = piece[0].New, len(piece)
			} else {
				p.OldStart, p.OldLines = piece[0].Old, len(piece)
			}
			hunks = append(hunks, p)
		}
	}
	f.Hunks = hunks
	return f
}
