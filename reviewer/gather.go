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
	diff        diff.Diff
	masked      int // values that looked like secrets
	earlier     []finding.Earlier
}

// gather reads what the model is shown, and what the role has found before.
func (r *run) gather(ctx context.Context, st state) (material, error) {
	var m material
	var earlier []finding.Earlier
	var materialErr, earlierErr error
	var wg conc.WaitGroup
	wg.Go(func() { m, materialErr = readMaterial(ctx, r.env.Forge, st.pull, r.env.Secrets) })
	wg.Go(func() { earlier, earlierErr = r.recall(ctx, st) })
	wg.Wait()
	if err := cmp.Or(materialErr, earlierErr); err != nil {
		return material{}, err
	}
	m.earlier = earlier
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

// readMaterial reads the diff.
//
// Secrets are masked in it before it is taken apart, so that a quote of a masked
// line still finds its line.
func readMaterial(ctx context.Context, forge Reader, pull Pull, secrets *untrusted.Masker) (material, error) {
	var m material
	data, err := forge.Diff(ctx)
	if err != nil {
		return material{}, err
	}
	var inTitle, inBody int
	m.title, inTitle = secrets.Mask(shortened(pull.Title, maxDescription))
	m.body, inBody = secrets.Mask(shortened(pull.Body, maxDescription))
	masked, inDiff := secrets.Mask(string(data))
	m.masked = inTitle + inBody + inDiff
	if m.diff, err = diff.Parse([]byte(masked)); err != nil {
		return material{}, &Error{
			Doing: "reading the diff of " + pull.URL, Err: err, Next: "report it with this line: the server's diff isn't understood",
		}
	}
	return m, nil
}
