package forgetest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"review-bot/reviewer/diff"
)

// commit is a commit with all its files. It never changes.
type commit struct {
	sha     string
	parents []string
	files   map[string]string // see [Special]
}

// The modes of files.
const (
	regular    diff.Mode = 0o100644
	executable diff.Mode = 0o100755
)

// Special is the text of a file that isn't an ordinary one, for everything here that
// takes files by their texts. A link's text is the path that it names, a submodule's
// the id of a commit.
func Special(mode diff.Mode, text string) string {
	return fmt.Sprintf("%s%06o\x00%s", special, mode, text)
}

const special = "\x00mode "

// Executable is the text of a file that may be run.
func Executable(text string) string { return Special(executable, text) }

// Link is the text of a symbolic link.
func Link(target string) string { return Special(diff.ModeSymlink, target) }

// Submodule is the text of a submodule at a commit.
func Submodule(commit string) string { return Special(diff.ModeSubmodule, commit) }

// Plain takes the text of a file apart.
func Plain(text string) (mode diff.Mode, content string) {
	rest, isSpecial := strings.CutPrefix(text, special)
	if !isSpecial {
		return regular, text
	}
	digits, content, _ := strings.Cut(rest, "\x00")
	if _, err := fmt.Sscanf(digits, "%o", &mode); err != nil {
		panic("forgetest: no mode: " + digits)
	}
	return mode, content
}

// commit makes a commit on top of parents (none for a first one), with edits in the
// files of the first, and returns its id. The same content makes the same id.
func (f *Forge) commit(edits map[string]string, parents ...string) string {
	files := map[string]string{}
	if len(parents) > 0 {
		maps.Copy(files, f.files(parents[0]))
	}
	for path, text := range edits {
		if text == Gone {
			delete(files, path)
		} else {
			files[path] = text
		}
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", strings.Join(parents, " "))
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%q %q\n", path, files[path])
	}
	sha := hex.EncodeToString(h.Sum(nil))[:40]
	if f.find(sha) == nil {
		f.forgotten = slices.DeleteFunc(slices.Clone(f.forgotten), func(old string) bool { return old == sha })
		f.history = append(f.history, commit{sha, parents, files})
	}
	return sha
}

// has reports whether the repository has the commit. That of a fork comes with the ref.
func (f *Forge) has(sha string) bool {
	foreign := f.site.fork && sha != f.ref && slices.ContainsFunc(f.pushes, func(p push) bool { return p.new == sha })
	return f.find(sha) != nil && !foreign
}

func (f *Forge) find(sha string) *commit {
	for i := range f.history {
		if f.history[i].sha == sha {
			return &f.history[i]
		}
	}
	return nil
}

// ancestors are all commits that lead to sha, itself among them.
func (f *Forge) ancestors(sha string) map[string]bool {
	all := map[string]bool{}
	for next := []string{sha}; len(next) > 0; next = next[1:] {
		if c := f.find(next[0]); c != nil && !all[c.sha] {
			all[c.sha] = true
			next = append(next, c.parents...)
		}
	}
	return all
}

// mergeBaseOf is the newest commit that leads to both.
func (f *Forge) mergeBaseOf(a, b string) string {
	left, right := f.ancestors(a), f.ancestors(b)
	for _, c := range slices.Backward(f.history) { // parents come first
		if left[c.sha] && right[c.sha] {
			return c.sha
		}
	}
	return ""
}

// files are those of a commit that exists.
func (f *Forge) files(sha string) map[string]string { return f.find(sha).files }

// resolve is the commit that a branch name or commit id names, nil for none. To
// a name that it doesn't know the server gives the default branch.
func (f *Forge) resolve(ref string) *commit {
	switch {
	case fullSHA.MatchString(ref):
		return f.find(ref)
	case ref == headBranch:
		return f.find(f.head)
	case ref == f.baseBranch:
		return f.find(f.base)
	case ref == mainBranch:
		return f.find(f.main)
	case f.site.dialect.StrictRefs:
		return nil
	default:
		return f.find(f.main)
	}
}

const (
	mainBranch = "main"
	headBranch = "topic"
)

// changed tells whether the pull request's content differs between two commits
// as the server sees it: some file differs from its state in the other commit and
// from that in the merge base, too. So news merged in from the base don't count,
// and neither does taking a change back.
func (f *Forge) changed(older, newer string) bool {
	was, is, base := f.files(older), f.files(newer), f.files(f.mergeBase)
	for _, path := range paths(was, is, base) {
		if differ(is, was, path) && differ(is, base, path) {
			return true
		}
	}
	return false
}

func differ(a, b map[string]string, path string) bool {
	x, inA := a[path]
	y, inB := b[path]
	return inA != inB || x != y
}

func paths(trees ...map[string]string) []string {
	all := map[string]string{}
	for _, tree := range trees {
		maps.Copy(all, tree)
	}
	return slices.Sorted(maps.Keys(all))
}
