package thread

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"review-bot/reviewer/diff"
)

// Anchor is where a comment was made, as far as the forge tells. No API tells
// whether that still is there: see [Anchor.Standing].
type Anchor struct {
	Path string
	Side Side
	Line int // 0 for a comment on the whole file
	// Commits are those at which Path and Line may count, the likeliest first. Gitea counts
	// in the commit that was reviewed, Forgejo in the one that last touched the line.
	Commits []string
	Hunk    string // diff around the line, which ends with it; may be ""
}

// Version is what a file held at a commit.
type Version struct {
	Known bool // false: the commit is gone, or the file couldn't be read
	Gone  bool // the commit has no such file
	Text  []byte
}

// Standing is what became of an anchor at the head.
type Standing struct {
	Outdated bool
	Path     string // where it is now; "" if it is outdated, or on the old side
	Line     int    // likewise; 0 if it isn't known
}

// Standing tells whether the line of a comment still stands at the head.
//
// then is Path at one of Commits; now is nowPath, which Path has become, at the
// head. changes is the diff of the pull request, nil if it isn't known: a comment
// on the old side stands as long as that deletes its line. What can't be known
// counts as standing.
func (a Anchor) Standing(then func(commit string) Version, now Version, nowPath string, changes *diff.Diff) Standing {
	hunk := readHunk(a.Hunk)
	if a.Side == Old {
		line, unchanged := hunk.context()
		if !unchanged {
			return Standing{Outdated: changes != nil && !a.deleted(hunk, nowPath, *changes)}
		}
		a.Line = line // an old line that didn't change is one of the new side, too
	}
	switch {
	case now.Gone:
		return Standing{Outdated: true}
	case !now.Known, a.Line == 0:
		return Standing{Path: nowPath}
	}
	for _, commit := range a.Commits {
		version := then(commit)
		if !version.Known || version.Gone || !hunk.fits(version.Text, a.Line) {
			continue
		}
		line, ok := follow(version.Text, now.Text, a.Line)
		if !ok {
			return Standing{Outdated: true}
		}
		return Standing{Path: nowPath, Line: line}
	}
	// The commits are gone, as they may be some time after a forced push. What the forge keeps
	// of the line is looked for.
	if len(hunk.code()) == 0 {
		return Standing{Path: nowPath}
	}
	places := hunk.places(now.Text)
	switch len(places) {
	case 0:
		return Standing{Outdated: true}
	case 1:
		return Standing{Path: nowPath, Line: places[0]}
	default:
		return Standing{Path: nowPath} // one of them, who knows which
	}
}

// Fits tells whether the comment can have been made on that version of its file.
func (a Anchor) Fits(v Version) bool {
	return v.Known && !v.Gone && (a.Line == 0 || readHunk(a.Hunk).fits(v.Text, a.Line))
}

// follow finds a line of one version in another. A line that was moved out of what
// stands around it is known by being the only one like it in both.
func follow(before, after []byte, line int) (int, bool) {
	before, after = plainLines(before), plainLines(after)
	if n, ok := diff.Between("", before, after).Forward(line); ok {
		return n, true
	}
	text, ok := diff.CodeAt(before, line)
	if !ok || slight(text) {
		return 0, false
	}
	was, is := linesLike(before, text), linesLike(after, text)
	if len(was) == 1 && len(is) == 1 {
		return is[0], true
	}
	return 0, false
}

// plainLines is a file's content with what doesn't make another line of a line
// taken away: the kind of the line ends, whether the last one has one, and a mark
// at the file's beginning.
func plainLines(data []byte) []byte {
	data = bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		data = append(bytes.Clone(data), '\n')
	}
	return data
}

// slight tells whether a line says too little to be known by its words.
func slight(text string) bool {
	letters := 0
	for _, r := range text {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r > 127 {
			letters++
		}
	}
	return letters < 4
}

// linesLike are the numbers of the lines with that text.
func linesLike(data []byte, text string) []int {
	var list []int
	for i, line := range codeLines(data) {
		if line == text {
			list = append(list, i+1)
		}
	}
	return list
}

// codeLines are the lines of a file as [diff.CodeAt] gives each.
func codeLines(data []byte) []string {
	text := strings.TrimSuffix(strings.ToValidUTF8(string(data), "\ufffd"), "\n")
	if text == "" && len(data) == 0 {
		return nil
	}
	list := strings.Split(text, "\n")
	for i, line := range list {
		list[i] = strings.TrimSuffix(line, "\r")
	}
	return list
}

// deleted tells whether the pull request still deletes the anchor's line.
func (a Anchor) deleted(h hunk, nowPath string, changes diff.Diff) bool {
	f, ok := changes.File(a.Path)
	if !ok {
		f, ok = changes.File(nowPath)
	}
	if !ok {
		return false
	}
	text, known := h.last()
	elsewhere := false // the base may have gone on, which moves the numbers
	for _, part := range f.Hunks {
		for _, l := range part.Lines {
			switch {
			case l.Op != diff.Delete:
			case l.Old == a.Line && (!known || l.Text == text):
				return true
			case known && l.Text == text && !slight(text):
				elsewhere = true
			}
		}
	}
	return elsewhere
}

// hunk is the diff around a comment's line.
type hunk struct {
	lines []diff.Line // that they end with the comment's is a promise of the forge's
}

var hunkHeader = regexp.MustCompile(`^@@ -([0-9]{1,9})(?:,[0-9]{1,9})? \+([0-9]{1,9})(?:,[0-9]{1,9})? @@`)

// readHunk reads what a forge keeps of the diff. Its header counts more lines than
// follow: it is the whole hunk's.
func readHunk(text string) hunk {
	header, rest, _ := strings.Cut(text, "\n")
	m := hunkHeader.FindStringSubmatch(header)
	if m == nil {
		return hunk{}
	}
	before, _ := strconv.Atoi(m[1]) // digits, and few
	after, _ := strconv.Atoi(m[2])
	var h hunk
	for line := range strings.SplitSeq(strings.TrimSuffix(rest, "\n"), "\n") {
		if line == "" {
			return hunk{} // not even a sign: cut somewhere
		}
		l := diff.Line{Op: diff.Op(line[0]), Text: strings.TrimSuffix(strings.ToValidUTF8(line[1:], "\ufffd"), "\r")}
		switch l.Op {
		case diff.Add:
			l.New = after
			after++
		case diff.Delete:
			l.Old = before
			before++
		case diff.Context:
			l.Old, l.New = before, after
			before, after = before+1, after+1
		default: // “\ No newline at end of file”
			continue
		}
		h.lines = append(h.lines, l)
	}
	return h
}

// last is the text of the comment's line; false if it isn't known.
func (h hunk) last() (string, bool) {
	if len(h.lines) == 0 {
		return "", false
	}
	return h.lines[len(h.lines)-1].Text, true
}

// context is the new number of the comment's line, if it is one that didn't change.
func (h hunk) context() (line int, ok bool) {
	if len(h.lines) == 0 || h.lines[len(h.lines)-1].Op != diff.Context {
		return 0, false
	}
	return h.lines[len(h.lines)-1].New, true
}

// codeKept is how many lines a place is known by.
const codeKept = 3

// code is the comment's line with what stands before it, on the new side.
func (h hunk) code() []string {
	var list []string
	for _, l := range slices.Backward(h.lines) {
		if l.Op == diff.Delete {
			if len(list) == 0 {
				return nil // a line of the old side
			}
			continue
		}
		list = append([]string{l.Text}, list...)
		if len(list) == codeKept {
			break
		}
	}
	return list
}

// fits tells whether the comment can have been made on that line of a file.
func (h hunk) fits(file []byte, line int) bool {
	code := h.code()
	if len(code) == 0 {
		_, ok := diff.CodeAt(file, line)
		return ok
	}
	return at(codeLines(file), code, line)
}

// at tells whether code ends on a line.
func at(file, code []string, line int) bool {
	return line >= len(code) && line <= len(file) && slices.Equal(file[line-len(code):line], code)
}

// places are the lines of a file that the comment can have been made on: those
// with the same lines before them or, if there are none, with fewer.
func (h hunk) places(file []byte) []int {
	lines := codeLines(file)
	for code := h.code(); len(code) > 0 && (len(code) > 1 || !slight(code[0])); code = code[1:] {
		var list []int
		for line := len(code); line <= len(lines); line++ {
			if at(lines, code, line) {
				list = append(list, line)
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// sameFile is from which share of equal lines on two files are one that was
// renamed.
const sameFile = 0.5

// Renamed finds out which of several files has become of one that is gone: the one
// that has most in common with it. "" if none has half of its lines. Lines that say
// nothing, which most files of a kind have in common, don't count.
func Renamed(before []byte, candidates map[string][]byte) string {
	was := map[string]int{}
	lines := slices.DeleteFunc(codeLines(before), slight)
	for _, line := range lines {
		was[line]++
	}
	best, most := "", 0.0
	for path, data := range candidates {
		left, common := map[string]int{}, 0
		is := slices.DeleteFunc(codeLines(data), slight)
		for _, line := range is {
			if left[line] < was[line] {
				left[line]++
				common++
			}
		}
		share := float64(common) / float64(max(len(lines), len(is), 1))
		if share >= sameFile && (share > most || share == most && path < best) {
			best, most = path, share
		}
	}
	return best
}
