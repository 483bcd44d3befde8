// Package shown decides what of a pull request's files the model is shown.
//
// Each changed file is shown, left out or unread:
//
//   - Left out is what the base branch's .gitattributes or the operator's globs name, and
//     what can't hold code: a picture or font that is nothing else, a lock file that names
//     no source it didn't name before and lost no digest of what it names. It is listed,
//     and an approval covers it.
//   - Unread is what nobody could read or would: binaries, submodules, what Git LFS keeps
//     elsewhere, minified lines, generated code. It is listed, too, and a role that left a
//     file unread doesn't approve.
//   - All else is shown.
//
// The author of a pull request chooses names and contents, so these never leave a file out by
// themselves: they make it unread at most. A file that needs its content to be read, and whose
// content isn't known, is shown as the diff has it, or unread.
//
// Everything here is pure. Contents are read by the caller, who asks [Base.Wanted] which.
package shown

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strings"

	"review-bot/reviewer/diff"
	"review-bot/reviewer/ignore"
)

// Bounds of what is read to tell what files are: of each side.
const (
	MaxFiles = 30
	MaxBytes = 10 << 20
)

// Fate is what becomes of a file.
type Fate int

// The fates.
const (
	Shown   Fate = iota
	LeftOut      // an approval covers it
	Unread       // no approval covers it
)

// File is a changed file as the model is shown it. One that isn't shown has a header with a
// note at most; lines of a file that is unread are shown if they say what the change is, such
// as the commits of a submodule.
type File struct {
	diff.File
	Fate Fate
	// Part: of what it says only some lines are shown, and what they are depends on the base.
	Part bool
	// Why says for people why it isn't shown; empty if it is.
	Why string
	// Allow is the glob by which the operator may leave out what is unread; empty if there is none.
	Allow string
}

// Base is what counts of the base branch.
type Base struct {
	Rules ignore.Rules
	// Has reports whether there is a file of that path. Nil: it isn't known.
	Has func(path string) bool
}

// Versions are contents, by path: Old at the merge base by File.OldPath, New at the head by File.Path.
// What isn't there isn't known.
type Versions struct{ Old, New map[string][]byte }

// Wanted returns the paths of the contents that decide about files: at the merge base and at the head.
// Neither has more than MaxFiles. Has needn't be known yet.
func (b Base) Wanted(files []diff.File) (old, current []string) {
	for _, f := range files {
		o, c := b.needs(f)
		if o && len(old) < MaxFiles {
			old = append(old, f.OldPath)
		}
		if c && len(current) < MaxFiles {
			current = append(current, f.Path)
		}
	}
	return old, current
}

func (b Base) needs(f diff.File) (old, current bool) {
	had := f.Status != diff.Added
	switch {
	case f.Status == diff.Deleted, b.Rules.Why(f.Path) != "", submodule(f):
		return false, false
	case f.Binary:
		return had && checkers[extension(f.Path)] == nil, true
	case b.uncovered(f):
		return false, true
	case b.maybeLock(f):
		return had, true
	case b.maybeGenerated(f):
		return had, false
	default:
		return false, false
	}
}

// Classify decides about all files of a pull request, in their order.
func (b Base) Classify(files []diff.File, v Versions) []File {
	v = v.bounded(files)
	bulk := b.bulk(files)
	list := make([]File, 0, len(files))
	for _, f := range files {
		list = append(list, b.classify(f, v, bulk))
	}
	return list
}

// bounded leaves out what is beyond the bounds.
func (v Versions) bounded(files []diff.File) Versions {
	kept := Versions{Old: map[string][]byte{}, New: map[string][]byte{}}
	old, current := 0, 0
	for _, f := range files {
		if data, ok := v.Old[f.OldPath]; ok && old+len(data) <= MaxBytes {
			kept.Old[f.OldPath] = data
			old += len(data)
		}
		if data, ok := v.New[f.Path]; ok && current+len(data) <= MaxBytes {
			kept.New[f.Path] = data
			current += len(data)
		}
	}
	return kept
}

func (b Base) classify(f diff.File, v Versions, bulk map[string]bool) File {
	usual := ignore.Usual(f.Path)
	switch why := b.Rules.Why(f.Path); {
	case why != "":
		return File{File: f, Fate: LeftOut, Why: why}
	case f.Status == diff.Deleted:
		return File{File: f} // what was in it is gone
	case submodule(f):
		return unread(f, "submodule, its content is in another repository")
	case f.Binary:
		return b.binary(f, v)
	case pointer(f):
		return unread(f, elsewhere)
	case b.uncovered(f):
		return whole(f, v)
	case b.Rules.Asked(f.Path):
		return File{File: f}
	case b.isLock(f):
		return lock(f, v)
	case packed(f):
		return hidden(f, minified)
	case b.maybeGenerated(f) && generated(f, v.Old[f.OldPath]):
		return hidden(f, "generated, says its header in the base branch")
	case bulk[usual] && !b.Rules.Asked(f.Path):
		file := hidden(f, fmt.Sprintf("%s, and all such files change more than %d lines", usual, maxBulk))
		file.Allow = cmp.Or(folder(f.Path), file.Allow)
		return file
	default:
		return File{File: f}
	}
}

const (
	elsewhere = "Git LFS keeps its content elsewhere"
	minified  = "minified, or data in very long lines"
)

// tooMany is why contents weren't read.
var tooMany = fmt.Sprintf("more than %d files or %d MiB had to be looked into", MaxFiles, MaxBytes>>20)

func unread(f diff.File, why string) File {
	return File{File: f, Fate: Unread, Why: why, Allow: ignore.Line(f.Path)}
}

// hidden is an unread file whose lines the model isn't shown.
func hidden(f diff.File, why string) File {
	f.Note = "not shown: " + why
	f.Hunks = nil
	return unread(f, why)
}

func submodule(f diff.File) bool {
	return f.NewMode == diff.ModeSubmodule
}

// regular is the mode of an ordinary file that can't be run.
const regular diff.Mode = 0o100644

// binary decides about a file that git shows no lines of.
func (b Base) binary(f diff.File, v Versions) File {
	data, ok := v.New[f.Path]
	if !ok {
		return unread(f, "binary, and "+tooMany)
	}
	why := "binary"
	if kind, problem := picture(f.Path, f.NewMode, data); kind != "" {
		if problem == "" {
			return File{File: f, Fate: LeftOut, Why: kind}
		}
		why = problem
	}
	if _, _, ok := diff.Decode(data); !ok {
		return unread(f, why)
	}
	before := v.Old[f.OldPath]
	if b.uncovered(f) {
		before = nil // all of it is new to a reader
	}
	return File{File: remade(f, before, data)}
}

// remade is the file with the lines of a diff of its contents.
func remade(f diff.File, before, after []byte) diff.File {
	if _, _, ok := diff.Decode(before); !ok {
		before = nil // all of it is new to a reader
	}
	made := diff.Between(f.Path, before, after)
	f.Binary, f.Hunks, f.Added, f.Deleted, f.Decoded = made.Binary, made.Hunks, made.Added, made.Deleted, made.Decoded
	if f.Decoded == "" {
		f.Decoded = "shown as text, though the server takes it for binary"
	}
	return f
}

// uncovered reports whether nobody may have read what a file holds already: it comes from where the base
// branch leaves files out, from a name and mode by which pictures and lock files are left out, or to a lock
// file's name, so that the sources it names count from now on.
func (b Base) uncovered(f diff.File) bool {
	renamed := f.OldPath != f.Path
	switch {
	case f.Status == diff.Added:
		return false
	case renamed && (b.Rules.Why(f.OldPath) != "" || manifests[path.Base(f.Path)] != nil):
		return true
	default:
		return passable(f.OldPath, f.OldMode) && !passable(f.Path, f.NewMode)
	}
}

// passable reports whether a file of that name and mode may be left out for what it is.
func passable(name string, mode diff.Mode) bool {
	return mode == regular && (checkers[extension(name)] != nil || manifests[path.Base(name)] != nil)
}

// whole shows a file as if it were new.
func whole(f diff.File, v Versions) File {
	data, ok := v.New[f.Path]
	if !ok {
		return unread(f, "what it held before may never have been reviewed, and "+tooMany)
	}
	made := diff.Between(f.Path, nil, data)
	if made.Binary {
		return unread(f, "binary")
	}
	f.Hunks, f.Added, f.Deleted, f.Decoded = made.Hunks, made.Added, made.Deleted, made.Decoded
	switch {
	case pointer(f):
		return unread(f, elsewhere)
	case packed(f):
		return hidden(f, minified)
	}
	f.Note = "shown whole: what it held before may never have been reviewed"
	return File{File: f}
}

var (
	pointerVersion = regexp.MustCompile(`^version https://(git-lfs|hawser)\.github\.com/spec/v[0-9]+$`)
	pointerLine    = regexp.MustCompile(`^(version \S+|oid sha256:[0-9a-f]{64}|size [0-9]+|ext-[0-9]+-\S+ \S+)$`)
)

// pointer reports whether the new version is a pointer of Git LFS and nothing else. It is a few lines long,
// so the diff has all of them.
func pointer(f diff.File) bool {
	lines := 0
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if l.Op == diff.Delete {
				continue
			}
			lines++
			if l.New != lines || lines == 1 && !pointerVersion.MatchString(l.Text) || !pointerLine.MatchString(l.Text) {
				return false
			}
		}
	}
	return lines >= 3
}

// What makes lines unfit for being read: most of the change is in lines that long.
const (
	longLine  = 2_000 // bytes
	minPacked = 8_000 // what is shorter than that is shown anyway
)

func packed(f diff.File) bool {
	all, long := 0, 0
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			all += len(l.Text)
			if len(l.Text) > longLine {
				long += len(l.Text)
			}
		}
	}
	return all > minPacked && long*10 > all*9
}

var header = regexp.MustCompile(`(?i)(code generated .*do not edit|@generated\b|<auto-?generated|` +
	`generated by .*do not (edit|modify)|generated code.*do not (edit|modify)|do not (edit|modify).*generated)`)

// headerBytes is how far down a generator's header may be.
const headerBytes = 2_000

// maybeGenerated reports whether the base branch's version, if there is one, has to say if a file is generated:
// in a new file a header is the author's own words.
func (b Base) maybeGenerated(f diff.File) bool {
	return ignore.Usual(f.Path) == "generated" && len(f.Hunks) > 0 && !b.Rules.Asked(f.Path)
}

// generated reports whether the version before has a generator's header that the change leaves in place.
func generated(f diff.File, before []byte) bool {
	before = before[:min(len(before), headerBytes)]
	if !header.Match(bytes.ReplaceAll(before, []byte("\n"), []byte("\n "))) {
		return false
	}
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if l.Op == diff.Delete && header.MatchString(l.Text) {
				return false
			}
		}
	}
	return true
}

// maxBulk is how many lines all files that are vendored by their names may have together to be shown, and as
// many those that are generated, and so on: more of them would cost many calls at each push.
const maxBulk = 3_000

// bulk returns which of what ignore.Usual returns is too much.
func (b Base) bulk(files []diff.File) map[string]bool {
	lines := map[string]int{}
	for _, f := range files {
		usual := ignore.Usual(f.Path)
		decided := b.maybeLock(f) || b.Rules.Asked(f.Path) || b.Rules.Why(f.Path) != "" || packed(f) || f.Status == diff.Deleted
		if !decided {
			lines[usual] += f.Added + f.Deleted
		}
	}
	much := map[string]bool{}
	for usual, n := range lines {
		much[usual] = usual != "" && usual != lockFile && n > maxBulk
	}
	return much
}

// folder is the glob of the vendored folder that a file is in; empty if it is in none.
func folder(name string) string {
	for i, c := range name {
		if c == '/' && ignore.Usual(name[:i]+"/x") == "vendored" {
			if line := ignore.Line(name[:i]); line != "" {
				return line + "/"
			}
			break
		}
	}
	return ""
}

func extension(name string) string { return strings.ToLower(path.Ext(name)) }
