package reviewer

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/sourcegraph/conc"

	"review-bot/escalation"
	"review-bot/reviewer/diff"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/ignore"
	"review-bot/reviewer/shown"
	"review-bot/reviewer/untrusted"
	"review-bot/sentinel"
)

// state is what stands on the forge when a run begins.
type state struct {
	account User
	pull    Pull
	log     escalation.Log
	rows    []Row
	partial bool  // the timeline may go on, see complete
	unread  error // why reviews and timeline couldn't be read; nil if they were
}

// manyComments is from how many inline comments on, in reviews that are too old
// to matter, the first look at the timeline leaves out the pages that these may
// take: the server cuts pages with them and then doesn't show them.
const manyComments = 50

// readState reads account, pull request, reviews and timeline. What doesn't
// depend on each other is read side by side. Of several failures the one is
// returned that explains the others.
func readState(ctx context.Context, forge Reader, key sentinel.Key) (state, error) {
	var s state
	var rows []Row
	var accountErr, pullErr, rowsErr error
	var wg conc.WaitGroup
	wg.Go(func() { s.account, accountErr = forge.Account(ctx) })
	wg.Go(func() { s.pull, pullErr = forge.Pull(ctx) })
	wg.Go(func() { rows, rowsErr = forge.Reviews(ctx) })
	wg.Wait()
	if err := cmp.Or(accountErr, pullErr); err != nil {
		return state{}, err
	}
	if rowsErr != nil {
		return s.unknown(rowsErr)
	}
	s.rows = rows
	since := escalation.Since(s.account.ID, rows)
	recent, older := slices.Clone(rows), 0
	for i, row := range recent {
		if row.Submitted.Before(since) {
			older += row.Comments
			recent[i].Comments = 0
		}
	}
	if s.partial = older >= manyComments; !s.partial {
		recent = rows
	}
	if err := s.timeline(ctx, forge, key, recent); err != nil {
		return s.unknown(err)
	}
	return s, nil
}

// unknown is the state if the history can't be read for a passing cause: the
// model is asked then rather than a change let pass unread. What is published
// is decided on a history that was read.
func (s state) unknown(err error) (state, error) {
	if !errors.Is(err, ErrUnavailable) {
		return state{}, err
	}
	s.unread, s.log = err, escalation.Log{Account: s.account.ID}
	return s, nil
}

// timeline reads the timeline as far as the inline comments of these rows reach,
// and to its end if what it says depends on entries that may be hidden after that.
func (s *state) timeline(ctx context.Context, forge Reader, key sentinel.Key, rows []Row) error {
	since := escalation.Since(s.account.ID, s.rows)
	entries, err := forge.Timeline(ctx, since, rows)
	if err != nil {
		return err
	}
	s.log = escalation.NewLog(s.account.ID, s.rows, entries, key)
	s.log.Author = s.pull.Author.ID
	if !s.log.Unproven(false) {
		return nil
	}
	entries, reach, err := forge.TimelineToEnd(ctx, since, s.rows)
	if err != nil {
		return err
	}
	s.partial = false
	s.log = escalation.NewLog(s.account.ID, s.rows, entries, key).Reached(reach)
	s.log.Author = s.pull.Author.ID
	return nil
}

// complete reads the timeline to its end. A first look finds every review's
// current text, and that is enough to ask a model; what decides about the gate,
// or that there is nothing to do, must not miss what people did since.
func (s *state) complete(ctx context.Context, forge Reader, key sentinel.Key) error {
	if !s.partial {
		return nil
	}
	s.partial = false
	return s.timeline(ctx, forge, key, s.rows)
}

// material is what the model is shown of the pull request, secrets masked.
type material struct {
	title, body string
	diff        diff.Diff    // all files, as far as they can be shown
	files       []shown.File // the same
	unproven    string       // why an approval wouldn't be of the whole change, see wholeChange; "" if it would
	masked      int          // values that looked like secrets
	earlier     []finding.Earlier
	author      int64         // of the pull request
	space       finding.Space // for what is shown of earlier
}

// gather reads what the model is shown, and what the role has found before. The merge
// base may be corrected meanwhile.
func (r *run) gather(ctx context.Context, st *state) (material, error) {
	var m material
	var earlier []finding.Earlier
	var materialErr, earlierErr error
	pull := st.pull
	var wg conc.WaitGroup
	wg.Go(func() { m, materialErr = r.readMaterial(ctx, &pull) })
	wg.Go(func() { earlier, earlierErr = r.recall(ctx, *st) })
	wg.Wait()
	st.pull = pull
	if err := cmp.Or(materialErr, earlierErr); err != nil {
		return material{}, err
	}
	m.earlier, m.author = earlier, st.pull.Author.ID
	return m, r.trace(ctx, earlier, m.diff, st.pull.Head)
}

// told sums up for the log what stands open of earlier rounds.
func told(earlier []finding.Earlier) string {
	open, replies := 0, 0
	for _, e := range earlier {
		if e.Status == finding.Open {
			open++
			replies += len(e.Replies)
		}
	}
	text := ""
	if open > 0 {
		text = ", " + finding.Count(open, "earlier finding", "earlier findings")
	}
	if replies > 0 {
		text += ", " + finding.Count(replies, "reply", "replies")
	}
	return text
}

// attributesPath is the file that says which files are generated or vendored.
const attributesPath = ".gitattributes"

// readMaterial reads what the pull request changes, and decides what of it is shown.
// Secrets are masked in the texts only, once these were held against the contents: a
// quote of a masked line still finds its line, and names stay what they are.
func (r *run) readMaterial(ctx context.Context, pull *Pull) (material, error) {
	whole, err := r.readWhole(ctx, pull)
	if err != nil {
		return material{}, err
	}
	m := material{unproven: whole.unproven}
	var inTitle, inBody int
	m.title, inTitle = r.env.Secrets.Mask(shortened(pull.Title, maxDescription))
	m.body, inBody = r.env.Secrets.Mask(shortened(pull.Body, maxDescription))
	m.masked = inTitle + inBody
	if m.files, err = r.classify(ctx, *pull, whole.diff.Files); err != nil {
		return material{}, err
	}
	for i, f := range m.files {
		if whole.match.Unclear(f.File) && f.Fate == shown.Shown {
			m.files[i].Fate, m.files[i].Why = shown.Unread, "its name can't be told from another one's"
		}
	}
	m.masked += mask(m.files, r.env.Secrets)
	for _, f := range m.files {
		m.diff.Files = append(m.diff.Files, f.File)
	}
	for _, u := range whole.match.Untold {
		f := diff.File{Path: u.Path, OldPath: u.Path, Status: diff.Modified}
		m.files = append(m.files, shown.File{File: f, Fate: shown.Unread, Why: u.Why})
	}
	return m, nil
}

// classify decides which of some files are shown, by the base branch's rules and by the
// contents that these need.
func (r *run) classify(ctx context.Context, pull Pull, files []diff.File) ([]shown.File, error) {
	rules, err := ignore.New(r.set.Ignore, r.texts.attributes)
	if err != nil {
		return nil, &Error{Doing: "reading the globs of files to ignore", Err: err, Next: "correct --ignore"}
	}
	base := shown.Base{Rules: rules}
	old, current := base.Wanted(files)
	var v shown.Versions
	var tree map[string]string
	var treeErr, oldErr, newErr error
	var wg conc.WaitGroup
	wg.Go(func() { tree, treeErr = r.env.Forge.Tree(ctx, pull.MergeBase) })
	wg.Go(func() { v.Old, oldErr = r.env.Forge.Files(ctx, old, pull.MergeBase) })
	wg.Go(func() { v.New, newErr = r.env.Forge.Files(ctx, current, pull.Head) })
	wg.Wait()
	if errors.Is(treeErr, ErrTooLarge) {
		treeErr = nil
	} else {
		base.Has = func(path string) bool { _, has := tree[path]; return has }
	}
	return base.Classify(files, v), cmp.Or(treeErr, oldErr, newErr)
}

// mask masks the secrets in the lines of files, and counts them.
func mask(files []shown.File, secrets *untrusted.Masker) int {
	total := 0
	for i := range files {
		var n int
		files[i].File, n = maskedFile(files[i].File, secrets)
		total += n
	}
	return total
}
