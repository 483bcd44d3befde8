package diff

import (
	"bytes"
	"errors"
)

// errOther says that a file isn't the one that a diff was made of.
var errOther = errors.New("the file isn't what the diff says")

// Content is what the hunks say of one side: all of a file that was added, deleted, or
// became another kind of file, else those of its lines that are near a change.
func (f File) Content(side Side) []byte {
	var b bytes.Buffer
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if l.Number(side) > 0 {
				l.write(&b)
			}
		}
	}
	return b.Bytes()
}

// write writes the line's bytes in the file.
func (l Line) write(b *bytes.Buffer) {
	b.WriteString(l.bytes())
	if l.CR {
		b.WriteByte('\r')
	}
	if !l.NoNewline {
		b.WriteByte('\n')
	}
}

func (l Line) bytes() string {
	if l.Raw != "" {
		return l.Raw
	}
	return l.Text
}

// Undo is the file before the change, made of what it is after it. It is an error if
// the lines that the diff shows aren't those of after. Together with the ids of both
// versions that proves that the diff tells all that changed, and nothing else.
func (f File) Undo(after []byte) (before []byte, err error) {
	var b bytes.Buffer
	b.Grow(len(after))
	at := 1 // number of the line that after begins with
	for _, h := range f.Hunks {
		for ; at < h.begin(New); at++ {
			line, rest := cutLine(after)
			if len(line) == 0 {
				return nil, errOther
			}
			b.Write(line)
			after = rest
		}
		for _, l := range h.Lines {
			if l.Op != Delete {
				line, rest := cutLine(after)
				var want bytes.Buffer
				l.write(&want)
				if !bytes.Equal(line, want.Bytes()) {
					return nil, errOther
				}
				after, at = rest, at+1
			}
			if l.Op != Add {
				l.write(&b)
			}
		}
	}
	b.Write(after)
	return b.Bytes(), nil
}

// cutLine cuts the first line off, with its end; none is left of nothing.
func cutLine(data []byte) (line, rest []byte) {
	end := bytes.IndexByte(data, '\n') + 1
	if end == 0 {
		end = len(data)
	}
	return data[:end], data[end:]
}

// Version is a file at a commit.
type Version struct {
	Path    string
	Mode    Mode   // 0: there is no such file
	Blob    string // git's id of the content, a submodule's commit
	Content []byte // of a submodule: not looked at
}

// Versions compares two versions of a file as Parse would show them. One that was there
// and one that wasn't, or of another kind, are shown whole.
func Versions(before, after Version) File {
	f := File{
		Path: after.Path, OldPath: before.Path, OldMode: before.Mode, NewMode: after.Mode,
		OldBlob: before.Blob, NewBlob: after.Blob,
	}
	old, now := before.text(), after.text()
	switch {
	case before.Mode == 0:
		f.Status, f.OldPath = Added, f.Path
	case after.Mode == 0:
		f.Status, f.Path = Deleted, f.OldPath
	case f.Path != f.OldPath:
		f.Status = Renamed
	case before.Blob == after.Blob && before.Mode.kind() == after.Mode.kind():
		f.Status = ModeOnly
	default:
		f.Status = Modified
	}
	changes := Between(f.Path, old, now)
	if before.Mode != 0 && after.Mode != 0 && before.Mode.kind() != after.Mode.kind() {
		changes = typeChange(Between(f.Path, old, nil), Between(f.Path, nil, now))
	}
	f.Binary, f.Hunks, f.Added, f.Deleted = changes.Binary, changes.Hunks, changes.Added, changes.Deleted
	return f
}

// kind tells files, links and submodules apart.
func (m Mode) kind() Mode { return m & 0o170000 }

// text is the content; for a submodule the line that git makes up.
func (v Version) text() []byte {
	if v.Mode == ModeSubmodule {
		return []byte("Subproject commit " + v.Blob + "\n")
	}
	return v.Content
}
