package reviewer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/sourcegraph/conc/pool"

	"review-bot/reviewer/diff"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/thread"
)

// maxCandidates bounds how many new files are read to find the one that a file was
// renamed to.
const maxCandidates = 50

// standings finds out of the conversations that are wanted whether the line that
// each is about still stands at the head. No API tells, so the files are read: at
// the commits of the comments, and at the head.
func (s *scan) standings(ctx context.Context, talks []thread.Conversation, wanted func(thread.Conversation) bool) error {
	var list []*thread.Conversation
	for i := range talks {
		if wanted(talks[i]) {
			list = append(list, &talks[i])
		}
	}
	if len(list) == 0 {
		return nil
	}
	v := &versions{forge: s.forge, read: map[fileAt]thread.Version{}}
	var files []fileAt
	for _, c := range list {
		files = append(files, fileAt{c.Path, s.pull.Head})
		if len(c.Anchor.Commits) > 0 {
			files = append(files, fileAt{c.Path, c.Anchor.Commits[0]})
		}
	}
	if err := v.load(ctx, files); err != nil {
		return err
	}
	files = nil
	for _, c := range list { // made on none of what the review saw: the other commit, then
		if at := c.Anchor.Commits; len(at) > 1 && !c.Anchor.Fits(v.at(c.Path, at[0])) {
			files = append(files, fileAt{c.Path, at[1]})
		}
	}
	if err := v.load(ctx, files); err != nil {
		return err
	}
	changes, err := s.changes(ctx, list, v)
	if err != nil {
		return err
	}
	names, err := s.renamed(ctx, list, v, changes)
	if err != nil {
		return err
	}
	for _, c := range list {
		path, now := c.Path, v.at(c.Path, s.pull.Head)
		if name, gone := names[c.Path]; gone {
			path, now = name, v.at(name, s.pull.Head)
		}
		standing := c.Anchor.Standing(func(commit string) thread.Version { return v.at(c.Path, commit) }, now, path, changes)
		c.Outdated, c.HeadPath, c.HeadLine = standing.Outdated, standing.Path, standing.Line
	}
	if v.unread > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%s couldn't be read to find out what is outdated; conversations there count as standing: %v", finding.Count(v.unread, "file", "files"), v.why))
	}
	return nil
}

// changes is the pull request's diff, if it is needed: for comments on the old
// side, and for files that have another name now. nil: it isn't known.
func (s *scan) changes(ctx context.Context, list []*thread.Conversation, v *versions) (*diff.Diff, error) {
	if !slices.ContainsFunc(list, func(c *thread.Conversation) bool { return c.Side == thread.Old || v.at(c.Path, s.pull.Head).Gone }) {
		return &diff.Diff{}, nil
	}
	raw, err := s.forge.Diff(ctx)
	if err != nil {
		return nil, err
	}
	d, err := diff.Parse(raw)
	if err != nil {
		s.notes = append(s.notes, fmt.Sprintf("the diff of the pull request can't be read; conversations about deleted lines count as standing: %v", err))
		return nil, nil //nolint:nilnil // see above
	}
	return &d, nil
}

// renamed finds what has become of files that the head doesn't have. What it
// doesn't know of is gone for good; "" may have become anything.
func (s *scan) renamed(ctx context.Context, list []*thread.Conversation, v *versions, changes *diff.Diff) (map[string]string, error) {
	names, examined := map[string]string{}, map[string]bool{}
	var files []fileAt
	for _, c := range list {
		if examined[c.Path] || !v.at(c.Path, s.pull.Head).Gone {
			continue
		}
		examined[c.Path] = true
		name, known, err := s.newName(ctx, c, v, changes)
		if err != nil {
			return nil, err
		}
		if name != "" || !known {
			names[c.Path] = name
		}
		if name != "" {
			files = append(files, fileAt{name, s.pull.Head})
		}
	}
	return names, v.load(ctx, files)
}

// newName is a file's name at the head: as the pull request's own diff says; or
// that of a new file with the same content, or with most of it. "" if there is
// none, or if it isn't known.
func (s *scan) newName(ctx context.Context, c *thread.Conversation, v *versions, changes *diff.Diff) (name string, known bool, err error) {
	if changes != nil {
		if f, ok := changes.File(c.Path); ok && f.Status == diff.Renamed && f.OldPath == c.Path {
			return f.Path, true, nil
		}
	}
	i := slices.IndexFunc(c.Anchor.Commits, func(commit string) bool { return v.at(c.Path, commit).Known && !v.at(c.Path, commit).Gone })
	if i < 0 {
		return "", true, nil // nothing is left to know it by
	}
	then, err := s.forge.Tree(ctx, c.Anchor.Commits[i])
	if err != nil {
		return "", false, unlisted(err)
	}
	now, err := s.forge.Tree(ctx, s.pull.Head)
	if err != nil {
		return "", false, unlisted(err)
	}
	var added []string
	for name := range now {
		if _, was := then[name]; !was {
			added = append(added, name)
		}
	}
	// Those of the same name in another folder first, then those of the same kind.
	slices.SortFunc(added, func(a, b string) int {
		return cmp.Or(cmp.Compare(likeness(b, c.Path), likeness(a, c.Path)), cmp.Compare(a, b))
	})
	for _, name := range added {
		if now[name] == then[c.Path] {
			return name, true, nil
		}
	}
	added = slices.DeleteFunc(added, func(name string) bool { return likeness(name, c.Path) == 0 })
	all := len(added)
	added = added[:min(all, maxCandidates)]
	if all == 0 {
		return "", true, nil
	}
	candidates, err := s.forge.Files(ctx, added, s.pull.Head)
	if err != nil {
		return "", false, unlisted(err)
	}
	name = thread.Renamed(v.at(c.Path, c.Anchor.Commits[i]).Text, candidates)
	return name, name != "" || all == len(added), nil
}

// likeness compares the names of two files: 0 for another kind of file.
func likeness(a, b string) int {
	switch {
	case path.Base(a) == path.Base(b):
		return 2
	case path.Ext(a) == path.Ext(b):
		return 1
	}
	return 0
}

// unlisted is no error if a tree can't be listed for its size: renames aren't
// followed then.
func unlisted(err error) error {
	if errors.Is(err, ErrTooLarge) || errors.Is(err, ErrNoCommit) {
		return nil
	}
	return err
}

// fileAt is a file at a commit.
type fileAt struct{ path, commit string }

// versions are contents of files, each read once.
type versions struct {
	forge  TalkReader
	mu     sync.Mutex
	read   map[fileAt]thread.Version
	unread int   // files that couldn't be read
	why    error // the last of them
}

// at is what was loaded.
func (v *versions) at(path, commit string) thread.Version { return v.read[fileAt{path, commit}] }

// load reads what isn't there yet, commit by commit.
func (v *versions) load(ctx context.Context, files []fileAt) error {
	byCommit := map[string][]string{}
	for _, f := range files {
		if _, known := v.read[f]; !known && !slices.Contains(byCommit[f.commit], f.path) {
			byCommit[f.commit] = append(byCommit[f.commit], f.path)
		}
	}
	p := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(atOnce)
	for commit, paths := range byCommit {
		p.Go(func(ctx context.Context) error {
			contents, err := v.forge.Files(ctx, paths, commit)
			if err != nil && (ctx.Err() != nil || errors.Is(err, ErrUnavailable)) {
				return fmt.Errorf("finding out which conversations are outdated: %w", err)
			}
			v.mu.Lock()
			defer v.mu.Unlock()
			if err != nil && !errors.Is(err, ErrNoCommit) { // anybody may comment on a file that nobody can read
				v.unread, v.why = v.unread+len(paths), err
			}
			for _, path := range paths {
				text, has := contents[path]
				v.read[fileAt{path, commit}] = thread.Version{Known: err == nil, Gone: err == nil && !has, Text: text}
			}
			return nil
		})
	}
	return p.Wait()
}
