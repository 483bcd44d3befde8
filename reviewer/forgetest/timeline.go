package forgetest

import (
	"net/http"
	"slices"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer"
)

func (f *Forge) addComment(c comment) int64 {
	f.lastComment++
	c.id, c.created, c.updated = f.lastComment, f.now, f.now
	f.comments = append(f.comments, c)
	return c.id
}

func (f *Forge) comment(id int64) *comment {
	for i := range f.comments {
		if f.comments[i].id == id {
			return &f.comments[i]
		}
	}
	return nil
}

// hasContent tells whether the comment is a text that somebody wrote.
func (c comment) hasContent() bool {
	switch c.kind {
	case escalation.EntryComment, escalation.EntryReview, escalation.EntryDismiss, inline:
		return true
	default:
		return false
	}
}

// unlisted reports whether the timeline has no entry for the comment.
func (c comment) unlisted() bool { return c.kind == inline || c.kind == entryHidden }

// writable is a comment that the account may change: its own, or with write access any.
func (f *Forge) writable(account, id int64) (*comment, error) {
	c := f.comment(id)
	switch {
	case c == nil:
		return nil, errNotFound
	case c.author != account && f.byID(account).Access < AccessWrite:
		return nil, errForbidden
	}
	return c, nil
}

// edit replaces a comment's text. The list of reviews keeps the first text of a
// review for ever. An entry without a text is answered 204 and stays as it is.
func (f *Forge) edit(account, id int64, body string) error {
	c, err := f.writable(account, id)
	switch {
	case err != nil:
		return err
	case !c.hasContent():
		return refuse(http.StatusNoContent, "")
	}
	if c.body != body || f.site.dialect.TouchesSame {
		c.body, c.updated = body, f.now
	}
	return nil
}

// entryOf is the id of a review's first entry in the timeline, 0 if there is none.
func (f *Forge) entryOf(review int64) int64 {
	for _, c := range f.comments {
		if c.kind == escalation.EntryReview && c.review == review {
			return c.id
		}
	}
	return 0
}

func (f *Forge) inlineCount(review int64) int {
	n := 0
	for _, c := range f.comments {
		if c.kind == inline && c.review == review {
			n++
		}
	}
	return n
}

// Bounds of reading the timeline, as reviewer/gitea has them.
const (
	hiddenMargin = 10  // entries that may be hidden besides the comments that reviews count
	emptyPages   = 5   // in a row, while an entry of a review is missing
	endEmpty     = 40  // pages in a row, when it is read to the end
	endPages     = 400 // in all
)

// timeline is what is read of the timeline: the server cuts pages, and leaves out of
// them afterwards what isn't shown. It is over where the counts say, or, when it is
// read to its end, after many empty pages; ended is false if the end wasn't seen.
func (f *Forge) timeline(since time.Time, rows []reviewer.Row, toEnd bool) (entries []reviewer.Entry, ended bool) {
	places := slices.DeleteFunc(slices.Clone(f.comments), func(c comment) bool {
		return !since.IsZero() && c.updated < since.Unix()
	})
	inlines := 0
	for _, row := range rows {
		inlines += row.Comments
	}
	entries, read, empty := []reviewer.Entry{}, map[int64]bool{}, 0
	if f.site.dialect.ListsWhole {
		for _, c := range slices.DeleteFunc(places, comment.unlisted) {
			entries = append(entries, f.entry(c))
		}
		return entries, true
	}
	for page := 0; ; page++ {
		lacks := slices.ContainsFunc(rows, func(row reviewer.Row) bool { return row.Lacking(since, read) })
		counted := page > 0 && page > (len(entries)+inlines+hiddenMargin)/f.site.page
		switch {
		case toEnd && empty >= endEmpty && !lacks, !toEnd && counted && (!lacks || empty >= emptyPages):
			return entries, true
		case toEnd && page == endPages:
			return entries, false
		}
		empty++
		for _, c := range places[min(page*f.site.page, len(places)):min((page+1)*f.site.page, len(places))] {
			if !c.unlisted() {
				entries, empty = append(entries, f.entry(c)), 0
				read[c.id] = true
			}
		}
	}
}
