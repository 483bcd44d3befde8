// Package ignore says which files of a pull request the model isn't shown, and why: what
// people don't review line by line because a program wrote it or somebody else maintains it.
//
// Three sources speak, each overruling the one before:
//
//   - The defaults, by path alone: vendored folders, lock files, minified code and source
//     maps, generated code. They follow github-linguist where projects agree about a name.
//     Snapshots of tests (*.snap) are not among them: they say what a change does.
//   - linguist-generated and linguist-vendored in the repository's .gitattributes at the root,
//     of the base branch: the pull request's own would let its author hide files. Set or
//     given any value they leave files out; unset (-linguist-generated) or "false" they take
//     back in what the defaults leave out, linguist-vendored the vendored files and
//     linguist-generated all others.
//   - The operator's globs (--ignore).
//
// Whoever writes a pull request chooses its files' names, so that a file is left out must
// be said wherever a verdict is.
//
// Everything here is pure. Paths are those of diff.File: from the root, with slashes.
package ignore

import "strings"

// Rules says which files are left out. The zero value has the defaults only. It doesn't
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

// Why is empty if the file is to be reviewed, else why not, for people: "vendored",
// "lock file", "minified", "source map", "generated", the same with " (.gitattributes)" if
// that says so, or "ignored (--ignore *.svg)".
func (r Rules) Why(path string) string {
	for i := len(r.globs) - 1; i >= 0; i-- {
		if g := r.globs[i]; g.pattern.match(path) {
			return g.why
		}
	}
	vendored, generated := defaults(path)
	saysVendored, saysGenerated := r.attributes.of(path)
	switch {
	case saysVendored == yes && vendored == "":
		vendored = "vendored (.gitattributes)"
	case saysVendored == no:
		vendored = ""
	}
	switch {
	case saysGenerated == yes && generated == "":
		generated = "generated (.gitattributes)"
	case saysGenerated == no:
		generated = ""
	}
	if vendored != "" {
		return vendored
	}
	return generated
}

// glob is one of the operator's.
type glob struct {
	pattern pattern
	why     string // empty: takes files back in
}
