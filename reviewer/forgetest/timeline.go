package forgetest

import (
	"net/http"

	"review-bot/escalation"
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
	if c.body != body {
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
