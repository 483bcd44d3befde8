package forgetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"review-bot/reviewer"
	"review-bot/reviewer/change"
	"review-bot/reviewer/diff"
)

// errNotCommit is the adapter's refusal of a commit that isn't named in full; it
// sends nothing then.
var errNotCommit = errors.New("that is no commit's full id")

// Tree is every file of a commit.
func (v *View) Tree(ctx context.Context, commit string) (map[string]string, error) {
	doing := fmt.Sprintf("listing the files at %s of %s", commit, v.forge.site.repo)
	if !fullSHA.MatchString(commit) {
		return nil, v.explain(doing, errNotCommit)
	}
	return request(ctx, v, GetTree, doing, func(f *Forge) (map[string]string, error) {
		if !f.has(commit) {
			return nil, reviewer.ErrNoCommit
		}
		tree := map[string]string{}
		for path, text := range f.files(commit) {
			if mode, _ := Plain(text); mode != diff.ModeSubmodule {
				tree[inJSON(path)] = idOf(text)
			}
		}
		return tree, nil
	})
}

// Files reads files at a commit.
func (v *View) Files(ctx context.Context, paths []string, commit string) (map[string][]byte, error) {
	doing := fmt.Sprintf("reading %d files at %s of %s", len(paths), commit, v.forge.site.repo)
	if len(paths) == 0 {
		return map[string][]byte{}, nil
	}
	if !fullSHA.MatchString(commit) {
		return nil, v.explain(doing, errNotCommit)
	}
	return request(ctx, v, GetFiles, doing, func(f *Forge) (map[string][]byte, error) {
		if !f.has(commit) {
			return nil, reviewer.ErrNoCommit
		}
		files := map[string][]byte{}
		for _, path := range paths {
			if content, ok := contentOf(f.files(commit), path); ok && utf8.ValidString(path) { // others can't be named in JSON
				files[path] = content
			}
		}
		return files, nil
	})
}

// Changes is where two commits' trees differ.
func (v *View) Changes(ctx context.Context, before, after string) (change.Set, error) {
	doing := fmt.Sprintf("comparing %.7s and %.7s of %s", before, after, v.forge.site.repo)
	if !fullSHA.MatchString(before) || !fullSHA.MatchString(after) {
		return change.Set{}, v.explain(doing, errNotCommit)
	}
	if before == after {
		return change.Set{}, nil
	}
	return request(ctx, v, GetChanges, doing, func(f *Forge) (change.Set, error) {
		if !f.has(before) || !f.has(after) {
			return change.Set{}, reviewer.ErrNoCommit
		}
		return change.Between(listed(f.files(before)), listed(f.files(after)), true), nil
	})
}

// listed is a tree as the server lists it, folders included.
func listed(files map[string]string) []change.Listed {
	var list []change.Listed
	folders := map[string][]string{}
	for path, text := range files {
		mode, _ := Plain(text)
		list = append(list, change.Listed{Path: inJSON(path), Entry: change.Entry{Mode: mode, ID: idOf(text)}})
		for i := range len(path) {
			if path[i] == '/' {
				folders[path[:i]] = append(folders[path[:i]], fmt.Sprintf("%q %o %s", path[i:], mode, idOf(text)))
			}
		}
	}
	for path, inside := range folders {
		slices.Sort(inside)
		entry := change.Entry{Mode: change.ModeTree, ID: change.Blob(fmt.Append(nil, inside))}
		list = append(list, change.Listed{Path: inJSON(path), Entry: entry})
	}
	return list
}

// inJSON is a name as JSON has it.
func inJSON(path string) string {
	var b strings.Builder
	for _, r := range path {
		b.WriteRune(r) // U+FFFD for each byte that isn't UTF-8
	}
	return b.String()
}

// idOf is git's id of the content that a file's text means.
func idOf(text string) string {
	mode, content := Plain(text)
	if mode == diff.ModeSubmodule {
		return content
	}
	return change.Blob([]byte(content))
}

// contentOf is a file's content; a submodule has none.
func contentOf(files map[string]string, path string) ([]byte, bool) {
	text, ok := files[path]
	mode, content := Plain(text)
	return []byte(content), ok && mode != diff.ModeSubmodule
}

// HeadRef is the commit that the diff is of.
func (v *View) HeadRef(ctx context.Context) (string, error) {
	doing := "reading which commit the diff of " + v.what() + " is of"
	return request(ctx, v, GetHeadRef, doing, func(f *Forge) (string, error) { return f.ref, nil })
}

// Ahead counts the commits that lead to commit and not to base.
func (v *View) Ahead(ctx context.Context, base, commit string) (int, error) {
	doing := fmt.Sprintf("counting the commits of %s that %.7s hasn't, at %.7s", v.forge.site.repo, base, commit)
	if !fullSHA.MatchString(base) || !fullSHA.MatchString(commit) {
		return 0, v.explain(doing, errNotCommit)
	}
	return request(ctx, v, GetAhead, doing, func(f *Forge) (int, error) {
		if !f.has(base) || !f.has(commit) {
			return 0, reviewer.ErrNoCommit
		}
		known, n := f.ancestors(base), 0
		for sha := range f.ancestors(commit) {
			if !known[sha] {
				n++
			}
		}
		return n, nil
	})
}

// Blob is a content by its id.
func (v *View) Blob(ctx context.Context, id string) ([]byte, error) {
	doing := fmt.Sprintf("reading blob %.7s of %s", id, v.forge.site.repo)
	return request(ctx, v, GetBlob, doing, func(f *Forge) ([]byte, error) {
		for _, c := range f.history {
			for path, text := range c.files {
				if content, ok := contentOf(c.files, path); ok && idOf(text) == id {
					return content, nil
				}
			}
		}
		return nil, errNotFound
	})
}

// Files are the texts of all files of a commit, see [Special].
func (f *Forge) Files(sha string) map[string]string { return maps.Clone(f.files(sha)) }

// Forget makes the server have a commit no more, as git removes one that a forced
// push left behind. One that is needed stays: that is a mistake in the test.
func (f *Forge) Forget(sha string) {
	needed := []string{f.base, f.main, f.mergeBase, f.head, f.ref}
	for _, p := range f.pushes {
		needed = append(needed, p.old, p.new, p.mergeBase)
	}
	if !f.has(sha) || slices.Contains(needed, sha) {
		panic("forgetest: no commit " + sha + " that can be forgotten")
	}
	f.history = slices.DeleteFunc(slices.Clone(f.history), func(c commit) bool { return c.sha == sha })
	f.forgotten = slices.Sorted(slices.Values(append(slices.Clone(f.forgotten), sha)))
}
