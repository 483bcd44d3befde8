package reviewer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/sourcegraph/conc"

	"review-bot/reviewer/budget"
	"review-bot/reviewer/diff"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/ignore"
	"review-bot/reviewer/untrusted"
)

// scope is what of the pull request a role looks at in a round: all of its diff,
// or what changed since the role looked last.
type scope struct {
	parts  []budget.Part
	unread []finding.Unread
	left   bool   // something had no room, so the role can't say that all is well
	since  string // commit that was looked at before; "" for the whole diff
	whole  string // why the whole diff is looked at again; "" in a first round
}

// maxDelta is how many of the pull request's files may have changed since the
// last round for only these to be read.
const maxDelta = 300

// scopeOf decides what the role looks at. room is how many tokens of a request
// are left for the diff.
func (r *run) scopeOf(ctx context.Context, st state, m material, room int) (scope, error) {
	rules, err := ignore.New(r.set.Ignore, r.texts.attributes)
	if err != nil {
		return scope{}, &Error{Doing: "reading the globs of files to ignore", Err: err, Next: "correct --ignore"}
	}
	var s scope
	var files []diff.File
	for _, f := range m.diff.Files {
		why := rules.Why(f.Path)
		if why != "" {
			s.unread = append(s.unread, finding.Unread{Path: f.Path, Why: why, LeftOut: true})
			continue
		}
		if f.Binary {
			s.unread = append(s.unread, finding.Unread{Path: f.Path, Why: "binary"})
		}
		files = append(files, f)
	}
	if s.since, s.whole, files, err = r.delta(ctx, st, files); err != nil {
		return scope{}, err
	}
	var left []budget.Left
	s.parts, left = budget.Plan(files, classOf, r.tokens.Count, room, r.set.MaxCalls)
	for _, l := range left {
		s.left = true
		s.unread = append(s.unread, finding.Unread{Path: l.Path, Why: l.Why})
	}
	return s, nil
}

func classOf(f diff.File) budget.Class { return budget.ClassOf(f.Path) }

// reviewed counts the files that were looked at, in whole or in part.
func (s scope) reviewed() int {
	paths := map[string]bool{}
	for _, part := range s.parts {
		for _, f := range part.Files {
			if !f.Binary {
				paths[f.Path] = true
			}
		}
	}
	return len(paths)
}

// partialField is what the role's sentinel notes for its next round.
const partialField = "partial" // something had no room

// delta narrows the files down to what changed since the role judged last, where
// that is known and less than all of it. whole says, for people, why it isn't.
func (r *run) delta(ctx context.Context, st state, files []diff.File) (since, whole string, narrowed []diff.File, err error) {
	cur, ok := st.log.Current(r.set.Role)
	switch {
	case !ok || cur.Head() == st.pull.Head || cur.Sentinel.Q != r.question:
		return "", "", files, nil // a first round, or another question
	case r.doubt != "":
		return "", r.doubt, files, nil
	case field(cur.Sentinel, partialField) != "":
		return "", "the last round left something out", files, nil
	case cur.Sentinel.Against != st.pull.Against():
		return "", "the base was merged in, or the branch was moved to another one", files, nil
	}
	changed, err := changedSince(ctx, r.env.Forge, files, cur.Head(), st.pull.Head)
	switch {
	case errors.Is(err, ErrNoCommit):
		return "", fmt.Sprintf("%.7s, which was reviewed last, is gone", cur.Head()), files, nil
	case errors.Is(err, ErrTooLarge):
		changed = files
	case err != nil:
		return "", "", nil, err
	}
	if len(changed) > maxDelta {
		return "", "too many files changed since", files, nil
	}
	narrowed, err = between(ctx, r.env.Forge, changed, cur.Head(), st.pull.Head, r.env.Secrets)
	if errors.Is(err, ErrNoCommit) {
		return "", fmt.Sprintf("%.7s, which was reviewed last, is gone", cur.Head()), files, nil
	}
	if err != nil {
		return "", "", nil, err
	}
	if length(narrowed) >= length(files) && len(files) > 0 {
		return "", "more changed since than the pull request is long", files, nil
	}
	return cur.Head(), "", narrowed, nil
}

func length(files []diff.File) int {
	n := 0
	for _, f := range files {
		n += utf8.RuneCountInString(f.Render())
	}
	return n
}

// sideBySide reads what stands at two commits. Of two failures the first one counts.
func sideBySide[T any](then, today func() (T, error)) (before, now T, err error) {
	var thenErr, todayErr error
	var wg conc.WaitGroup
	wg.Go(func() { before, thenErr = then() })
	wg.Go(func() { now, todayErr = today() })
	wg.Wait()
	return before, now, cmp.Or(thenErr, todayErr)
}

// changedSince are the files whose content isn't what it was at an earlier commit.
func changedSince(ctx context.Context, forge Reader, files []diff.File, before, now string) ([]diff.File, error) {
	then, today, err := sideBySide(
		func() (map[string]string, error) { return forge.Tree(ctx, before) },
		func() (map[string]string, error) { return forge.Tree(ctx, now) })
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(files), func(f diff.File) bool {
		blob, had := then[f.Path]
		if !had && f.OldPath != f.Path {
			blob, had = then[f.OldPath]
		}
		current, has := today[f.Path]
		return had == has && blob == current
	}), nil
}

// between makes the diffs of the files between two commits. What was deleted, and
// what has no lines, stays as the pull request's diff shows it.
func between(ctx context.Context, forge Reader, files []diff.File, before, now string, secrets *untrusted.Masker) ([]diff.File, error) {
	var old, current []string
	for _, f := range files {
		if f.Status != diff.Deleted && !f.Binary {
			old = append(old, f.Path)
			if f.OldPath != f.Path {
				old = append(old, f.OldPath)
			}
			current = append(current, f.Path)
		}
	}
	if len(current) == 0 {
		return files, nil
	}
	then, today, err := sideBySide(
		func() (map[string][]byte, error) { return forge.Files(ctx, old, before) },
		func() (map[string][]byte, error) { return forge.Files(ctx, current, now) })
	if err != nil {
		return nil, err
	}
	var list []diff.File
	for _, f := range files {
		after, has := today[f.Path]
		if !has {
			list = append(list, f) // deleted, binary, a submodule
			continue
		}
		text, had := then[f.Path]
		if !had {
			text, had = then[f.OldPath]
		}
		changes := diff.Between(f.Path, []byte(secrets.Redact(string(text))), []byte(secrets.Redact(string(after))))
		if len(changes.Hunks) == 0 && !changes.Binary {
			continue // the same after all, or nothing but the mode
		}
		if !had {
			changes.Status = diff.Added
		}
		list = append(list, changes)
	}
	return list, nil
}
