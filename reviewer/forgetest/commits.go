package forgetest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// commit is a commit with all its files. It never changes.
type commit struct {
	sha    string
	parent string
	files  map[string]string
}

// commit makes a commit on top of parent ("" for a first one), with edits in its
// files, and returns its id. The same content makes the same id.
func (f *Forge) commit(parent string, edits map[string]string) string {
	files := map[string]string{}
	if parent != "" {
		maps.Copy(files, f.files(parent))
	}
	for path, text := range edits {
		if text == Gone {
			delete(files, path)
		} else {
			files[path] = text
		}
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", parent)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%q %q\n", path, files[path])
	}
	sha := hex.EncodeToString(h.Sum(nil))[:40]
	if !f.has(sha) {
		f.forgotten = slices.DeleteFunc(slices.Clone(f.forgotten), func(old string) bool { return old == sha })
		f.history = append(f.history, commit{sha, parent, files})
	}
	return sha
}

func (f *Forge) has(sha string) bool { return f.find(sha) != nil }

func (f *Forge) find(sha string) *commit {
	for i := range f.history {
		if f.history[i].sha == sha {
			return &f.history[i]
		}
	}
	return nil
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
	default:
		return f.find(f.base)
	}
}

const (
	baseBranch = "main"
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

// lineCount is how many lines a text has; a last one without a newline is one.
func lineCount(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}
