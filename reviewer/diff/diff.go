// Package diff reads the unified diff of a pull request, as `git diff` writes it with
// a/ and b/ prefixes (Gitea serves it at GET …/pulls/{i}.diff), and answers the three
// questions a reviewer has about it: which lines can take an inline comment, where a
// finding of the model belongs, and what the model is shown. It also compares two versions
// of one file itself, to follow a line from one to the other when a pull request goes on.
//
// Everything here is pure: no I/O, no state. Values are plain data and may be compared,
// copied and shared between goroutines as long as nobody writes to their slices.
//
// What is promised of a parsed Diff:
//
//   - No two files share a Path. (A file that became a symlink, or the like, stands in
//     git's output twice, deleted and added; here it is one modified file.)
//   - The hunks of a file are in order and don't overlap, on both sides.
//   - Text and Section are valid UTF-8. In Text each invalid byte is read as Windows-1252, in
//     Section each run of them is one U+FFFD.
//     Names aren't touched: a path is what git recorded, byte for byte.
//
// The size of the input is the caller's to bound. The result takes some 50 bytes a
// line besides the text, so at the worst (lines of one character) 60 times the input.
package diff

import "strings"

// Side is the side of a diff that a line number counts on.
type Side string

// The sides.
const (
	// New is the file as the pull request leaves it: added and context lines.
	New Side = "new"
	// Old is the file before it: deleted lines. Context lines have an old number too, but
	// comments on them go by the new one.
	Old Side = "old"
)

// Status says what happened to a file.
type Status string

// What can happen to a file.
const (
	Added    Status = "added"
	Deleted  Status = "deleted"
	Modified Status = "modified"
	Renamed  Status = "renamed" // with or without changes of content
	Copied   Status = "copied"  // with or without changes of content
	ModeOnly Status = "mode"    // nothing but the mode changed
)

// Mode is a file mode as git records it, like 0100644; 0 is "not there" or "not said"
// (a rename without changes doesn't say).
type Mode uint32

// Modes of what isn't an ordinary file.
const (
	ModeSymlink   Mode = 0o120000 // the content is the target's path
	ModeSubmodule Mode = 0o160000 // the content is made up by git: one line that names a commit
)

// Diff is a whole diff, files in git's order.
type Diff struct{ Files []File }

// File is what the diff says of one file.
type File struct {
	// Path is the file's name after the change; of a deleted file the one it had.
	Path string
	// OldPath is the name before: other than Path only if Renamed or Copied.
	OldPath string
	Status  Status
	// Binary files have no hunks.
	Binary bool
	// Hunks is empty also for mode changes, pure renames and empty files.
	Hunks            []Hunk
	OldMode, NewMode Mode
	// OldBlob and NewBlob are git's ids of the content (of a submodule: of its commits), in hex
	// and mostly abbreviated, so compare them by SameBlob. Empty where there is no content, and
	// where the diff doesn't say: it doesn't if the content stays (ModeOnly, pure renames).
	OldBlob, NewBlob string
	// Added and Deleted count lines.
	Added, Deleted int
	// Decoded says, for people, how text was read that git shows no lines of; see Decode. Its lines take
	// no comments, as the server shows none. Empty for all other files.
	Decoded string
	// Note says, for people and the model, what the hunks leave out; empty if nothing.
	Note string
}

// Hunk is a contiguous piece of a file, changed lines and those around them.
type Hunk struct {
	// Section is what git prints behind the second @@: mostly the function's first line.
	Section string
	// A side without lines (OldLines or NewLines 0) has as start the line after which the
	// hunk stands, 0 for the file's beginning.
	OldStart, OldLines, NewStart, NewLines int
	Lines                                  []Line
}

// Op is the sign of a line in the diff.
type Op byte

// The signs, as they stand in the diff.
const (
	Context Op = ' '
	Add     Op = '+'
	Delete  Op = '-'
)

// Line is one line of a hunk. Its bytes in the file were Raw, or Text if that is empty;
// then "\r" if CR, then "\n" unless NoNewline.
type Line struct {
	Op Op
	// Old and New are the line's numbers on both sides, from 1; 0 where it isn't there.
	Old, New int
	// Text is without the sign and the line end. It may hold other control characters,
	// a carriage return in mid-line among them.
	Text string
	// Raw is what Text was before what isn't UTF-8 in it was made readable; "" if it was.
	Raw string
	// CR: the line ended in CRLF (or, with NoNewline, in a bare CR). It is kept off Text so
	// that quotes and suggestions compare, and remembered so that a change of nothing
	// but line ends can be shown.
	CR bool
	// NoNewline: the file's last line, not ended by a newline.
	NoNewline bool
}

// Number is the line's number on a side, 0 if it isn't there.
func (l Line) Number(side Side) int {
	if side == Old {
		return l.Old
	}
	return l.New
}

// File finds a file by its path: by the new name, else by the name it was renamed from,
// else by either as [ShowName] quotes it, which is what a model copies.
// A copy isn't found by its source's name, which is another file.
func (d Diff) File(path string) (File, bool) {
	if f, ok := d.named(func(name string) bool { return name == path }); ok || !strings.Contains(path, `\`) {
		return f, ok
	}
	return d.named(func(name string) bool {
		shown := ShowName(name)
		return shown == path || strings.Trim(shown, `"`) == path
	})
}

func (d Diff) named(is func(name string) bool) (File, bool) {
	for _, f := range d.Files {
		if is(f.Path) {
			return f, true
		}
	}
	for _, f := range d.Files {
		if f.Status == Renamed && is(f.OldPath) {
			return f, true
		}
	}
	return File{}, false
}

// Stat counts files, added lines and deleted lines.
func (d Diff) Stat() (files, added, deleted int) {
	for _, f := range d.Files {
		added += f.Added
		deleted += f.Deleted
	}
	return len(d.Files), added, deleted
}
