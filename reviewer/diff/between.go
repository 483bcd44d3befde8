package diff

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	anchored "github.com/rogpeppe/go-internal/diff"
)

// Between compares two versions of one file. The result is what Parse would make of git's
// diff with three lines of context, but that it has no Section, no modes and no blob ids,
// and that two hunks may stand next to each other. Equal versions have no hunks; nor have
// those that differ if one is binary and can't be read by [Decode].
//
// Lines that are there once in both versions are what it goes by (git calls it patience), so
// it takes O(n log n) time on whatever input. Repeated lines are only matched in one go with
// such a line or with the file's beginning or end, so some count as deleted and added that a
// smaller diff would have kept.
func Between(path string, before, after []byte) File {
	f := File{Path: path, OldPath: path, Status: Modified}
	if bytes.Equal(before, after) {
		return f
	}
	if binary(before) || binary(after) {
		var ok bool
		if before, after, f.Decoded, ok = decoded(before, after); !ok {
			f.Binary = true
			return f
		}
	}
	// The names are made up: the file's own could hold a line end.
	const header = "diff old new\n--- old\n+++ new\n"
	text := strings.TrimPrefix(string(anchored.Diff("old", before, "new", after)), header)
	var h *Hunk
	o, n := 0, 0
	for line := range strings.Lines(text) {
		switch op := Op(line[0]); op {
		case '@': // content has a sign before it
			f.Hunks = append(f.Hunks, Hunk{})
			h = &f.Hunks[len(f.Hunks)-1]
			if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &h.OldStart, &h.OldLines, &h.NewStart, &h.NewLines); err != nil {
				panic(fmt.Sprintf("diff: the library's own hunk header %q: %v", line, err))
			}
			h.Lines = make([]Line, 0, max(h.OldLines, h.NewLines))
			o, n = h.OldStart, h.NewStart
		case '\\': // "No newline at end of file", of the line before
			h.Lines[len(h.Lines)-1].NoNewline = true
		default:
			l := Line{Op: op}
			l.Text, l.Raw, l.CR = code(line[1:])
			switch op {
			case Add:
				l.New = n
				n++
				f.Added++
			case Delete:
				l.Old = o
				o++
				f.Deleted++
			default:
				l.Old, l.New = o, n
				o++
				n++
			}
			h.Lines = append(h.Lines, l)
		}
	}
	return f
}

// decoded reads both versions as text, if both are.
func decoded(before, after []byte) (old, current []byte, how string, ok bool) {
	old, howOld, okOld := Decode(before)
	current, how, ok = Decode(after)
	return old, current, cmp.Or(how, howOld), ok && okOld
}

// binary decides as git does without attributes.
func binary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}

// Forward gives the new number of a line of the old version that is still there; false if it
// was deleted or changed, and for all lines of binary files. The diff must be one of two
// whole versions, as Between makes it. It doesn't know how long they are: a line
// behind the end comes out just as far behind the end.
func (f File) Forward(line int) (int, bool) { return f.follow(Old, New, line) }

// Back gives the old number of a line of the new version that was there before; false if it
// was added or changed. It reverses Forward.
func (f File) Back(line int) (int, bool) { return f.follow(New, Old, line) }

func (f File) follow(from, to Side, line int) (int, bool) {
	if f.Binary {
		return 0, false
	}
	k := f.notBefore(from, line)
	if k < len(f.Hunks) && line >= f.Hunks[k].begin(from) {
		h, i, ok := f.find(from, line)
		if !ok {
			return 0, false
		}
		n := f.Hunks[h].Lines[i].Number(to)
		return n, n > 0
	}
	if k > 0 { // unchanged, behind a hunk
		line += f.Hunks[k-1].end(to) - f.Hunks[k-1].end(from)
	}
	return max(line, 0), line > 0 // made-up numbers: below 1, or overflowed just now
}

// CodeAt gives a line of a file, by its number from 1, as Line.Text has it: without its line
// end, decoded if it can be. False if the file has no such line.
func CodeAt(data []byte, line int) (text string, ok bool) {
	if binary(data) {
		if text, _, ok := Decode(data); ok {
			data = text
		}
	}
	for ; line > 1; line-- {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			return "", false
		}
		data = data[i+1:]
	}
	if line < 1 || len(data) == 0 {
		return "", false
	}
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		end = len(data)
	}
	text, _, _ = code(string(data[:end]))
	return text, true
}
