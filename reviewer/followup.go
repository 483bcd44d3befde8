package reviewer

import (
	"slices"

	"review-bot/escalation"
	"review-bot/reviewer/diff"
	"review-bot/reviewer/finding"
	"review-bot/sentinel"
)

// The fields of the sentinel that are about follow-ups.
const (
	withheldField = "withheld" // ids of findings that would block, and don't count
	handedField   = "handed"   // the role has handed over in this count
)

// followed is what a follow-up makes of a round: what counts, what is shown and
// doesn't count, and what isn't shown.
type followed struct {
	look     escalation.Look
	n        int              // which follow-up it is; 0: none
	fields   []sentinel.Field // that count the follow-ups
	minor    int              // new findings that don't block: withheld altogether
	withheld map[string]bool  // findings that would block, on lines that did not change: shown, and not counted
}

// follow takes out of the round what a follow-up may not raise. A new finding
// counts if it blocks and is on lines that changed since the role looked last; what
// isn't known to be unchanged has changed. One that would block elsewhere is kept
// in the body: the role doesn't approve over it, and doesn't block for it either.
func (r *run) follow(st state, look escalation.Look, round *finding.Round, changed func(finding.Finding) bool) followed {
	f := followed{look: look, withheld: map[string]bool{}}
	n, fields := st.log.FollowUpsAt(r.set.Role, look, st.pull.Head)
	if f.fields = fields; look != escalation.FollowUp {
		return f
	}
	f.n = n
	if cur, ok := st.log.Current(r.set.Role); ok {
		ids, _ := cur.Sentinel.IDs(withheldField)
		for _, id := range ids {
			f.withheld[id] = true
		}
	}
	f.minor = round.Withhold(func(found finding.Finding) bool { return !found.Severity.AtLeast(r.set.BlockOn) })
	for _, found := range round.Confine("it is in code that did not change since the last look", changed) {
		f.withheld[found.ID] = true
	}
	return f
}

// report is what the review's text says of the follow-up.
func (f followed) report(most int, c counted) finding.FollowUp {
	return finding.FollowUp{N: f.n, Most: most, Minor: f.minor, Unchanged: len(c.withheld)}
}

// counted are a round's findings by what they mean for the verdict.
type counted struct {
	own      sentinel.Verdict
	open     []string          // ids of all that are open
	blocks   []string          // ids of those for which the role requests changes, waived or not
	withheld []string          // ids of those that only keep it from approving
	waived   []finding.Finding // open, and waived by the dismissal of a review
	by       []escalation.Dismissal
	lifted   bool // all that block are waived
}

// count sorts the findings out. The role's own verdict is what it found: that people
// have waived it is a thing of its own.
func (r *run) count(st state, round *finding.Round, f followed) counted {
	waived := st.log.Dismissals(r.set.Role)
	c := counted{own: sentinel.Approved, open: finding.IDs(round.Counted), by: waived.By}
	c.waived = round.Waive(func(found finding.Finding) bool {
		return found.State == finding.Retained && (waived.Whole || waived.IDs[found.ID])
	})
	for _, found := range round.Counted {
		switch {
		case !found.Severity.AtLeast(r.set.BlockOn):
		case f.withheld[found.ID]:
			c.withheld = append(c.withheld, found.ID)
		default:
			c.blocks = append(c.blocks, found.ID)
		}
	}
	c.lifted = len(c.blocks) == 0
	for _, found := range c.waived {
		if found.Severity.AtLeast(r.set.BlockOn) {
			c.blocks = append(c.blocks, found.ID)
		}
	}
	switch {
	case len(c.blocks) > 0:
		c.own = sentinel.RequestChanges
	case len(c.withheld) > 0:
		c.own = sentinel.Comment
	}
	return c
}

// rounded is the verdict as far as it counts as a round and is said to people: one
// that people have waived requests nothing.
func (c counted) rounded(own sentinel.Verdict) sentinel.Verdict {
	if own == sentinel.RequestChanges && c.lifted {
		return sentinel.Comment
	}
	return own
}

// fields are what the sentinel notes of the findings.
func (c counted) fields(own sentinel.Verdict) []sentinel.Field {
	fields := sentinel.IDFields(sentinel.OpenIDs, c.open)
	if own == sentinel.RequestChanges {
		fields = append(fields, sentinel.IDFields(escalation.BlockIDs, c.blocks)...)
	}
	fields = append(fields, escalation.WaivedFields(finding.IDs(c.waived), c.by)...)
	if len(c.withheld) > 0 {
		fields = append(fields, sentinel.IDFields(withheldField, c.withheld)...)
	}
	return fields
}

// followUp is what the sentinel notes of the count of follow-ups. One that still
// blocks hands over to people, once in a count.
func (r *run) followUp(st state, f followed, c counted, v escalation.Verdict, open []finding.Finding) []sentinel.Field {
	fields := f.fields
	switch handed := r.handed(st.log); {
	case handed:
		fields = append(fields, sentinel.Field{Key: handedField, Value: "1"})
	case f.n > 0 && c.rounded(v.Own) == sentinel.RequestChanges:
		r.handover = r.handingOver(st, v.Round, f.n, open)
	}
	return fields
}

// changed reports which findings are on lines that changed since the role looked
// last. Where that isn't known they have.
func (s scope) changed(d diff.Diff) func(finding.Finding) bool {
	return func(f finding.Finding) bool {
		if _, known := d.File(f.Place.Path); s.since == "" || !known {
			return true
		}
		if slices.ContainsFunc(s.unread, func(u finding.Unread) bool { return u.Path == f.Place.Path }) {
			return true
		}
		for _, part := range s.parts {
			for _, file := range part.Files {
				if (file.Path == f.Place.Path || file.OldPath == f.Place.Path) && touches(file, f.Place) {
					return true
				}
			}
		}
		return false
	}
}

// touches reports whether a file's changes are at a place: one of its lines was
// added, or something next to it was deleted.
func touches(file diff.File, place diff.Place) bool {
	if place.Side == diff.Old || place.Line <= 0 || len(file.Hunks) == 0 {
		return true
	}
	first, last := place.Line, max(place.Line, place.EndLine)
	for _, h := range file.Hunks {
		next := h.NewStart // number of the line that comes next
		for _, line := range h.Lines {
			switch line.Op {
			case diff.Add:
				if first <= line.New && line.New <= last {
					return true
				}
				next = line.New + 1
			case diff.Delete:
				if first <= next && next-1 <= last {
					return true
				}
			default:
				next = line.New + 1
			}
		}
	}
	return false
}
