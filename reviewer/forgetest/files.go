package forgetest

import (
	"context"
	"crypto/sha1" //nolint:gosec // git's own ids
	"errors"
	"fmt"
	"slices"

	"review-bot/reviewer"
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
			tree[path] = blobID(text)
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
			if text, ok := f.files(commit)[path]; ok {
				files[path] = []byte(text)
			}
		}
		return files, nil
	})
}

// blobID is git's id of a content.
func blobID(text string) string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text))) //nolint:gosec // git's own ids
}

// Forget makes the server have a commit no more, as git removes one that a forced
// push left behind. One that is needed stays: that is a mistake in the test.
func (f *Forge) Forget(sha string) {
	needed := []string{f.base, f.mergeBase, f.head, f.ref}
	for _, p := range f.pushes {
		needed = append(needed, p.old, p.new, p.mergeBase)
	}
	if !f.has(sha) || slices.Contains(needed, sha) {
		panic("forgetest: no commit " + sha + " that can be forgotten")
	}
	f.history = slices.DeleteFunc(slices.Clone(f.history), func(c commit) bool { return c.sha == sha })
	f.forgotten = slices.Sorted(slices.Values(append(slices.Clone(f.forgotten), sha)))
}
