// Package ignore says which files of a pull request the model isn't shown, and why: what
// people don't review line by line because a program wrote it or somebody else maintains it.
//
// Two sources decide, the second overruling the first:
//
//   - linguist-generated and linguist-vendored in the repository's .gitattributes at the root,
//     of the base branch: the pull request's own would let its author hide files. Set or
//     given any value they leave files out; unset (-linguist-generated) or "false" they ask
//     for them to be shown.
//   - The operator's globs (--ignore).
//
// The author of a pull request chooses its files' names, so a name that those two don't
// mention hides nothing. [Usual] guesses by it what a file is; package shown looks at the content.
//
// Everything here is pure. Paths are those of diff.File: from the root, with slashes.
package ignore

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Rules says which files are left out. The zero value leaves out none. It doesn't
// change, so goroutines may share it.
type Rules struct {
	globs      []glob
	attributes attributes
}

// New makes rules of the operator's globs and of the text of a .gitattributes file, which
// may be nil.
//
// A glob is read as a line of .gitignore: without a slash, but for one at its end, it
// matches at any depth, else from the root; a slash at its end means folders only; what
// matches a folder matches all below it; * and ? don't match slashes, ** between slashes
// matches any folders; the last glob that matches wins. Two things differ: {a,b} is either
// a or b, and a glob that begins with ! takes files back in whatever left them out (git
// can't if it is the folder that was). A glob of nothing but white space is passed over. The error
// names the glob and what is wrong with it.
//
// Nothing in .gitattributes is an error: what git passes over is passed over.
func New(globs []string, gitattributes []byte) (Rules, error) {
	r := Rules{attributes: readAttributes(gitattributes)}
	for _, text := range globs {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		g, err := newGlob(text)
		if err != nil {
			return Rules{}, err
		}
		r.globs = append(r.globs, g)
	}
	return r, nil
}

// Why says for people why a file is left out: "vendored (.gitattributes)", "generated
// (.gitattributes)" or "ignored (--ignore *.svg)"; empty if it isn't.
func (r Rules) Why(path string) string {
	why, _ := r.says(path)
	return why
}

// Asked reports whether the rules ask for a file to be shown, whatever it looks like.
func (r Rules) Asked(path string) bool {
	_, asked := r.says(path)
	return asked
}

func (r Rules) says(path string) (why string, asked bool) {
	for i := len(r.globs) - 1; i >= 0; i-- {
		if g := r.globs[i]; g.pattern.match(path) {
			return g.why, g.why == ""
		}
	}
	vendored, generated := r.attributes.of(path)
	switch {
	case vendored == yes:
		return "vendored (.gitattributes)", false
	case generated == yes:
		return "generated (.gitattributes)", false
	default:
		return "", vendored == no || generated == no
	}
}

// Line returns the glob that leaves out this file and no other; empty if none can.
func Line(path string) string {
	var b strings.Builder
	b.WriteByte('/')
	for i, r := range path {
		switch {
		case r == utf8.RuneError, unicode.In(r, unicode.Cc, unicode.Cf), unicode.IsSpace(r) && (r != ' ' || i == len(path)-1):
			b.WriteByte('?') // a text can't hold the first, and people don't see the others
		case strings.ContainsRune(`*?[]{}\`, r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	if g, err := newGlob(b.String()); err != nil || !g.pattern.match(path) {
		return ""
	}
	return b.String()
}

// glob is one of the operator's.
type glob struct {
	pattern pattern
	why     string // empty: takes files back in
}
