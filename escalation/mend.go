package escalation

import (
	"slices"

	"review-bot/sentinel"
)

// A server that fails in the middle of a POST has made some of its inline comments,
// in their order, and keeps them as a pending review, which the next POST takes in.
// The first comment that is missing there is the one that it failed at. So the finding
// moves into the review's text, and the POST is made again with the rest. Should it
// fail a second time, all that is still missing moves into the text; a third time ends
// the publication.

// mending is what a publication knows of POSTs that the server failed at.
type mending struct {
	carried bool         // the POST whose answer was lost had inline comments
	sure    bool         // the server has ended it
	err     error        // of that POST
	left    Row          // what was left of it, to be looked at; zero: nothing
	times   int          // how often
	taken   int64        // pending review with comments of this run, which the next POST takes in
	moved   []NewComment // that are in the text now
	there   []Comment    // those that the server has
}

// maxMended bounds how often a POST is mended.
const maxMended = 2

// ownLeftover reports whether all comments of a pending review are this run's own.
func (p *Publication) ownLeftover(comments []Comment) bool {
	return p.posts > 0 && len(comments) > 0 && !slices.ContainsFunc(comments, func(c Comment) bool {
		markers := sentinel.Markers(c.Body)
		return len(markers) == 0 || slices.ContainsFunc(markers, func(m sentinel.Marker) bool { return !p.own(m) })
	})
}

// own reports whether a marker is that of a finding of this run.
func (p *Publication) own(m sentinel.Marker) bool {
	return slices.ContainsFunc(p.cfg.Verdict.Comments, func(c NewComment) bool {
		return slices.ContainsFunc(sentinel.Markers(c.Body), func(o sentinel.Marker) bool { return o.Role == m.Role && o.ID == m.ID })
	})
}

// mend goes on after a POST that the server failed at, of which a pending review with
// these comments is left.
func (p *Publication) mend(review int64, there []Comment) {
	if p.mending.times++; p.mending.times > maxMended {
		p.fail(FailedRequest, p.mending.err)
		return
	}
	p.rounds = 0 // nothing has been published: what the run comes to is decided again
	p.leaveOut(there)
	if n := len(p.verdict.Comments); n > 0 && p.verdict.Fresh && p.cfg.InBody != nil {
		if p.mending.times == 1 {
			n = 1
		}
		for _, c := range p.verdict.Comments[:n] {
			p.note("the server fails over an inline comment on %q: the finding is in the review's text", c.Path)
		}
		p.mending.moved = append(slices.Clone(p.mending.moved), p.verdict.Comments[:n]...)
		p.verdict = p.cfg.InBody(p.mending.moved)
		p.leaveOut(nil)
	}
	if p.mending.taken = 0; len(there) > 0 {
		p.mending.taken = review
	}
	p.read()
}

// knows reports whether a pending review was there already when the last POST was made,
// just as it is now.
func (p *Publication) knows(row Row) bool {
	return slices.ContainsFunc(p.log.Rows, func(old Row) bool {
		return old.ID == row.ID && old.State == RowPending && old.Comments == row.Comments
	})
}

// leftovers are pending reviews of jobs that died. The one that this run's next POST
// takes in is none.
func (p *Publication) leftovers(a Action) []Row {
	return slices.DeleteFunc(p.log.Pending(), func(row Row) bool {
		return row.ID == p.mending.taken && (a.Post != "" || a.Patch != nil)
	})
}
