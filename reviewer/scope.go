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
	"review-bot/reviewer/change"
	"review-bot/reviewer/diff"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/shown"
)

// scope is what of the pull request a role looks at in a round: all of its diff,
// or what changed since the role looked last.
type scope struct {
	parts  []budget.Part
	unread []finding.Unread
	left   bool     // something had no room, so the role can't say that all is well
	hidden []string // what can't be shown, so it can't either
	again  bool     // all is to be looked at again next time
	since  string   // commit that was looked at before; "" for the whole diff
	whole  string   // why the whole diff is looked at again; "" in a first round
}

// pieceLines is how many lines of a new file the model is shown in one piece.
const pieceLines = 200

// maxDelta is how many files may have changed since the last round for only these
// to be read.
const maxDelta = 300

// scopeOf decides what the role looks at. room is how many tokens of a request
// are left for the diff.
func (r *run) scopeOf(ctx context.Context, st state, m material, room int) (scope, error) {
	var s scope
	var files []diff.File
	for _, f := range m.files {
		if f.Fate == shown.Shown {
			files = append(files, f.File)
			continue
		}
		left := f.Fate == shown.LeftOut
		s.unread = append(s.unread, finding.Unread{Path: f.Path, Why: f.Why, LeftOut: left, Allow: f.Allow})
		if f.Fate == shown.Unread {
			s.hidden = append(s.hidden, f.Path)
			files = append(files, f.File) // a header, and lines that say what the change is
		}
	}
	if m.unproven != "" {
		s.hidden = append(s.hidden, "")
		s.unread = append(s.unread, finding.Unread{Path: "the whole change", Why: m.unproven})
	}
	d, err := r.delta(ctx, st, m, files)
	if err != nil {
		return scope{}, err
	}
	s.since, s.whole, s.again = d.since, d.whole, d.again
	for _, f := range d.left { // by itself, other than as a part of the whole
		if !slices.ContainsFunc(s.unread, func(u finding.Unread) bool { return u.Path == f.Path }) {
			s.unread = append(s.unread, f)
		}
	}
	files = nil
	for _, f := range d.files {
		files = append(files, f.InPieces(pieceLines))
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
			if !slices.Contains(s.hidden, f.Path) {
				paths[f.Path] = true
			}
		}
	}
	return len(paths)
}

// partialField is what the role's sentinel notes for its next round.
const partialField = "partial" // something had no room

// delta is what changed since the role judged last.
type delta struct {
	files    []diff.File
	since    string           // commit that was judged; "" if files are those of the whole diff
	whole    string           // why they are, for people; "" in a first round
	again    bool             // something of what changed can't be shown: next time all is looked at
	left     []finding.Unread // what of it is left out
	readable int              // files whose lines are shown
}

// delta narrows what is shown of the pull request down to what changed since the role
// judged last, where that is known and less than all of it.
func (r *run) delta(ctx context.Context, st state, m material, files []diff.File) (delta, error) {
	all := func(why string) (delta, error) { return delta{files: files, whole: why}, nil }
	cur, ok := st.log.Current(r.set.Role)
	switch {
	case !ok || cur.Head() == st.pull.Head || cur.Sentinel.Q != r.question:
		return all("") // a first round, or another question
	case r.doubt != "":
		return all(r.doubt)
	case field(cur.Sentinel, partialField) != "":
		return all("the last round left something out")
	case cur.Sentinel.Against != st.pull.Against():
		return all("the base was merged in, or the branch was moved to another one")
	}
	gone := fmt.Sprintf("%.7s, which was reviewed last, is gone", cur.Head())
	set, err := r.env.Forge.Changes(ctx, cur.Head(), st.pull.Head)
	switch {
	case errors.Is(err, ErrNoCommit):
		return all(gone)
	case errors.Is(err, ErrTooLarge), len(set.Changes) > maxDelta:
		return all("too many files changed since")
	case err != nil:
		return delta{}, err
	case len(set.Unclear) > 0 || slices.ContainsFunc(m.diff.Files, misnamed):
		return all("files have names that can't be told apart")
	}
	classified, err := r.classifySince(ctx, st.pull, set, cur.Head())
	if errors.Is(err, ErrNoCommit) {
		return all(gone)
	}
	if err != nil {
		return delta{}, err
	}
	mask(classified, r.env.Secrets)
	d := narrowed(classified, m.files)
	d.since = cur.Head()
	switch {
	case d.readable == 0 && len(d.files) > 0:
		return all("what changed since can't be shown by itself")
	case length(d.files) >= length(files) && len(files) > 0:
		return all("more changed since than the pull request is long")
	}
	return d, nil
}

// narrowed is what changed since as it is shown. What is left out of that, in whole or in part,
// and isn't of the pull request as a whole, is shown as it is there.
func narrowed(changed, whole []shown.File) delta {
	var d delta
	for _, f := range changed {
		if f.Fate == shown.LeftOut || f.Part {
			i := slices.IndexFunc(whole, func(w shown.File) bool { return w.Path == f.Path && w.Fate != shown.LeftOut })
			switch {
			case i >= 0:
				f = whole[i]
			case f.Fate == shown.LeftOut:
				d.left = append(d.left, finding.Unread{Path: f.Path, Why: f.Why, LeftOut: true})
				continue
			}
		}
		d.again = d.again || f.Fate == shown.Unread
		if f.Fate == shown.Shown {
			d.readable++
		}
		d.files = append(d.files, f.File)
	}
	return d
}

// misnamed reports whether a list in JSON can't name the file.
func misnamed(f diff.File) bool {
	return !change.Exact(change.Form(f.Path)) || !change.Exact(change.Form(f.OldPath))
}

func length(files []diff.File) int {
	n := 0
	for _, f := range files {
		n += utf8.RuneCountInString(f.Render())
	}
	return n
}

// classifySince makes the diffs of what changed since a commit, and decides which are shown.
// What was taken back to what the base has is there, too.
func (r *run) classifySince(ctx context.Context, pull Pull, set change.Set, before string) ([]shown.File, error) {
	pairs, err := readPairs(ctx, r.env.Forge, renamed(set.Changes), before, pull.Head)
	if err != nil {
		return nil, err
	}
	var files []diff.File
	var moved []diff.Version
	for _, p := range pairs {
		if files = append(files, diff.Versions(p.old, p.now)); p.old.Path != p.now.Path {
			moved = append(moved, p.old)
		}
	}
	hidden, err := r.hiddenBefore(ctx, pull, moved, before)
	if err != nil {
		return nil, err
	}
	for i, p := range pairs {
		if p.old.Path != p.now.Path && hidden[p.old.Path] {
			files[i] = diff.Versions(diff.Version{Path: p.now.Path}, p.now)
			files = append(files, diff.Versions(p.old, diff.Version{Path: p.old.Path}))
		}
	}
	return r.classify(ctx, pull, files)
}

// hiddenBefore are those of some files at a commit whose lines weren't all shown when it was
// judged. Renamed, they are shown whole: of a renamed file the lines are shown that change.
func (r *run) hiddenBefore(
	ctx context.Context, pull Pull, files []diff.Version, commit string,
) (map[string]bool, error) {
	hidden := map[string]bool{}
	if len(files) == 0 {
		return hidden, nil
	}
	set, err := r.env.Forge.Changes(ctx, pull.MergeBase, commit)
	if err != nil {
		return nil, err
	}
	was := map[string]change.Entry{}
	for _, c := range set.Changes {
		was[c.Path] = c.Old
	}
	var pairs []pair
	for _, f := range files {
		if old, changed := was[change.Form(f.Path)]; changed { // else it is the base branch's
			pairs = append(pairs, pair{diff.Version{Path: f.Path, Mode: old.Mode, Blob: old.ID}, f})
		}
	}
	if pairs, err = readPairs(ctx, r.env.Forge, pairs, pull.MergeBase, commit); err != nil {
		return nil, err
	}
	var then []diff.File
	for _, p := range pairs {
		then = append(then, diff.Versions(p.old, p.now))
	}
	pull.Head = commit
	classified, err := r.classify(ctx, pull, then)
	for i, f := range classified {
		hidden[f.Path] = f.Fate != shown.Shown || f.Added < then[i].Added
	}
	return hidden, err
}

// readPairs reads the contents.
func readPairs(ctx context.Context, forge Reader, pairs []pair, before, now string) ([]pair, error) {
	var old, current []string
	for _, p := range pairs {
		if p.old.Mode != 0 && p.old.Mode != diff.ModeSubmodule {
			old = append(old, p.old.Path)
		}
		if p.now.Mode != 0 && p.now.Mode != diff.ModeSubmodule {
			current = append(current, p.now.Path)
		}
	}
	var then, today map[string][]byte
	var thenErr, todayErr error
	var wg conc.WaitGroup
	wg.Go(func() { then, thenErr = forge.Files(ctx, old, before) })
	wg.Go(func() { today, todayErr = forge.Files(ctx, current, now) })
	wg.Wait()
	if err := cmp.Or(thenErr, todayErr); err != nil {
		return nil, err
	}
	for i, p := range pairs {
		pairs[i].old.Content, pairs[i].now.Content = then[p.old.Path], today[p.now.Path]
	}
	return pairs, nil
}

// pair is a file before and after, under two names if it was renamed.
type pair struct{ old, now diff.Version }

// renamed makes pairs of changes: a file that went and one that came with the same
// content are one that was renamed.
func renamed(changes []change.Change) []pair {
	went := map[string][]change.Change{}
	for _, c := range changes {
		if !c.New.Exists() {
			went[c.Old.ID] = append(went[c.Old.ID], c)
		}
	}
	moved := map[string]bool{}
	var pairs []pair
	for _, c := range changes {
		old := diff.Version{Path: c.Path, Mode: c.Old.Mode, Blob: c.Old.ID}
		now := diff.Version{Path: c.Path, Mode: c.New.Mode, Blob: c.New.ID}
		if from := went[c.New.ID]; !c.Old.Exists() && len(from) > 0 {
			old = diff.Version{Path: from[0].Path, Mode: from[0].Old.Mode, Blob: from[0].Old.ID}
			went[c.New.ID], moved[old.Path] = from[1:], true
		}
		pairs = append(pairs, pair{old, now})
	}
	return slices.DeleteFunc(pairs, func(p pair) bool { return p.now.Mode == 0 && moved[p.old.Path] })
}
