package forgetest

import (
	"path"
	"slices"
	"strings"

	"review-bot/reviewer"
)

// addTo adds an inline comment to a review, unless the server stumbles over it: over a
// path that leads out of the repository, and over a line that it looks for and doesn't
// find. A file that doesn't exist is fine on the new side.
//
// A dialect that blames keeps another line than was named: that in the commit that
// changed it last, or on the old side that in the last commit that had it. A line that
// is named as a comment of the review is kept already joins that comment.
func (f *Forge) addTo(r *review, account int64, n reviewer.NewComment) error {
	if path.IsAbs(n.Path) || strings.HasPrefix(path.Clean(n.Path), "..") {
		return errInternal
	}
	c := comment{kind: inline, author: account, review: r.id, body: n.Body, path: n.Path, line: n.NewLine}
	if n.OldLine > 0 {
		c.line = -n.OldLine
	}
	at := f.find(r.commit)
	switch first := f.firstAt(r.id, c.path, c.line); {
	case first != nil && c.line > 0:
		c.commit = first.commit
	case c.line > 0 && !f.has(r.commit):
		return errInternal
	case c.line > 0:
		lines := f.linesOf(at.sha, c.path)
		switch {
		case lines != nil && c.line > len(lines) && !f.site.dialect.TakesPastEnd:
			return errInternal
		case f.site.dialect.Blames && c.line <= len(lines):
			c.commit, c.line = f.blame(at.sha, c.path, c.line)
		case f.site.dialect.Blames:
			c.commit = at.sha
		}
	case c.line < 0 && f.site.dialect.ChecksOld:
		if -c.line > len(f.linesOf(f.mergeBase, c.path)) {
			return errInternal
		}
		commit, line := f.lastWith(f.mergeBase, c.path, -c.line)
		c.commit, c.line = commit, -line
	}
	f.addComment(c)
	return nil
}

// firstAt is the oldest comment of a review at a line.
func (f *Forge) firstAt(review int64, file string, line int) *comment {
	for i := range f.comments {
		if c := &f.comments[i]; c.kind == inline && c.review == review && c.path == file && c.line == line {
			return c
		}
	}
	return nil
}

// commitAt is the commit of a comment that joins those at a line.
func (f *Forge) commitAt(review int64, file string, line int) string {
	if first := f.firstAt(review, file, line); first != nil {
		return first.commit
	}
	return ""
}

// linesOf are a file's lines at a commit; nil if there is no such file.
func (f *Forge) linesOf(sha, file string) []string {
	content, ok := contentOf(f.files(sha), file)
	if !ok {
		return nil
	}
	return append([]string{}, trimEmpty(strings.SplitAfter(string(content), "\n"))...)
}

// blame is the commit that a line is from, and which line it was there.
func (f *Forge) blame(sha, file string, line int) (commit string, there int) {
	parents := f.find(sha).parents
	for _, parent := range parents {
		if before := moved(f.linesOf(sha, file), f.linesOf(parent, file), line); before > 0 {
			return f.blame(parent, file, before)
		}
	}
	return sha, line
}

// lastWith is the last commit on the way from sha to the head that has a line of sha,
// and which line it is there.
func (f *Forge) lastWith(sha, file string, line int) (commit string, there int) {
	var way []string // of first parents, from the head back
	for at := f.ref; at != sha; at = f.find(at).parents[0] {
		if way = append(way, at); len(f.find(at).parents) == 0 {
			return sha, line
		}
	}
	for _, next := range slices.Backward(way) {
		after := moved(f.linesOf(sha, file), f.linesOf(next, file), line)
		if after == 0 {
			break
		}
		sha, line = next, after
	}
	return sha, line
}

// moved is where a line of one text is in another; 0 if the other doesn't have it.
// Like [textOf] it takes all from the first to the last line that differs for changed.
func moved(from, to []string, line int) int {
	head := 0
	for head < len(from) && head < len(to) && from[head] == to[head] {
		head++
	}
	tail := 0
	for tail < len(from)-head && tail < len(to)-head && from[len(from)-1-tail] == to[len(to)-1-tail] {
		tail++
	}
	switch {
	case line <= head:
		return line
	case line > len(from)-tail:
		return line + len(to) - len(from)
	}
	return 0
}
