package finding

import (
	"slices"
	"strings"

	"review-bot/prompts"
	"review-bot/reviewer/diff"
	"review-bot/sentinel"
)

// Round is what an answer and the earlier findings come to.
type Round struct {
	Counted  []Finding // new, retained and reopened, in order: the verdict follows from these
	Resolved []Finding // their conversations are closed once the verdict stands
	Answered []Finding
	Waived   []Finding
	Owed     []sentinel.Owed // what is to be done for Resolved and Reopened
	Raised   string          // what the sentinel notes of findings that are graver than they were posted
	Closed   []string        // ids of the findings that are closed by an edit from now on, where the server can't resolve
	Fixed    []string        // ids of the findings that are fixed though their conversation doesn't say so
	Unknown  int             // ids that the answer retains and nobody gave it
}

// All are the findings of the round, those that count first.
func (r Round) All() []Finding { return slices.Concat(r.Counted, r.Resolved, r.Answered, r.Waived) }

// KeepInBody moves the new findings for which that holds into the body.
func (r *Round) KeepInBody(reason string, that func(Finding) bool) {
	for i, f := range r.Counted {
		if f.State == New && f.Where == Inline && that(f) {
			r.Counted[i].Where, r.Counted[i].Reason = InBody, reason
		}
	}
}

// Withhold drops the new findings for which that holds, and counts them.
func (r *Round) Withhold(that func(Finding) bool) int {
	n := len(r.Counted)
	r.Counted = slices.DeleteFunc(slices.Clone(r.Counted), func(f Finding) bool { return f.State == New && that(f) })
	return n - len(r.Counted)
}

// Confine moves the new findings for which that doesn't hold into the body, and
// returns them.
func (r *Round) Confine(reason string, that func(Finding) bool) []Finding {
	var list []Finding
	for i, f := range r.Counted {
		if f.State != New || that(f) {
			continue
		}
		if f.Where == Inline {
			r.Counted[i].Where, r.Counted[i].Reason = InBody, reason
		}
		list = append(list, r.Counted[i])
	}
	return list
}

// Waive takes the findings for which that holds out of those that count. They are
// still open, and are kept where they are.
func (r *Round) Waive(that func(Finding) bool) []Finding {
	var list, rest []Finding
	for _, f := range r.Counted {
		if that(f) {
			f.State = Waived
			list = append(list, f)
		} else {
			rest = append(rest, f)
		}
	}
	r.Counted, r.Waived = rest, append(slices.Clone(r.Waived), list...)
	return list
}

// IDs are the ids of findings.
func IDs(findings []Finding) []string {
	ids := []string{}
	for _, f := range findings {
		ids = append(ids, f.ID)
	}
	return ids
}

// New are the findings that were not known before.
func (r Round) New() []Finding {
	return slices.DeleteFunc(slices.Clone(r.Counted), func(f Finding) bool { return f.State != New })
}

// Case is what a round is decided on.
type Case struct {
	Fresh    []Finding            // of the answer, anchored
	Retained []string             // ids that the answer keeps
	Closed   []prompts.Fix        // what the answer names as fixed
	Earlier  []Earlier            // findings
	Shown    func(id string) bool // which of the open ones the model saw
	Diff     diff.Diff            // of the pull request, which leads to Head
	Head     string               // commit that was judged

	Author   int64              // of the pull request
	MayWrite func(User) bool    // whether somebody is known to have write access; nil: nobody is
	Changes  map[Version]Change // what became of other files since, see [Case.Versions]
}

// Merge puts a complete answer and the earlier findings together.
//
// An earlier finding that is open is kept, whatever the answer leaves out, unless
// its own code has changed since, or the answer names another change that fixes
// it, or somebody who may do so has replied: see [Case.closes]. One that the model
// didn't see is kept, too.
func Merge(c Case) Round {
	var r Round
	tied := Matches(c.Earlier, c.Fresh, c.Diff)
	again := map[int]Finding{} // earlier findings that the answer describes again
	for i, f := range c.Fresh {
		if j, ok := tied[i]; ok {
			again[j] = f
		} else {
			r.Counted = append(r.Counted, f)
		}
	}
	keeps := c.keeps()
	for id := range keeps {
		if !slices.ContainsFunc(c.Earlier, func(e Earlier) bool { return e.ID == id && e.Status == Open }) {
			r.Unknown++
		}
	}
	staying := map[int]bool{} // conversations with a finding that isn't resolved
	var raised []Finding
	var fates []fate
	for j, e := range c.Earlier {
		said, described := again[j]
		end := c.fate(e, keeps[e.ID], described)
		fates = append(fates, end)
		f := end.of(e.at(c.Head))
		f.sameHead = e.Head == c.Head
		if file, ok := c.Diff.File(f.Place.Path); ok && f.Place.Side == diff.Old {
			f.OldPath = file.OldPath
		}
		if described && f.State.Counts() {
			f.Severity = graver(e.Severity, said.Severity)
		}
		if f.Severity != e.posted && f.Severity != "" {
			raised = append(raised, f)
		}
		r.add(e, f, end)
		staying[e.conversation] = staying[e.conversation] || e.shared || f.State.Counts() || f.State == Answered
	}
	for j, e := range c.Earlier {
		if e.Comment != 0 && e.Resolver.ID == 0 && !staying[e.conversation] && fates[j].state == Resolved {
			r.owe(e, false)
		}
	}
	sorted(r.Counted)
	r.raise(raised)
	return r
}

// add files an earlier finding as f, which has come to that end.
func (r *Round) add(e Earlier, f Finding, end fate) {
	switch f.State {
	case Retained, Reopened:
		r.Counted = append(r.Counted, f)
	case Answered:
		r.Answered = append(r.Answered, f)
	case Resolved:
		r.Resolved = append(r.Resolved, f)
	case Waived:
		r.Waived = append(r.Waived, f)
	default: // it had been fixed, and still is
	}
	if f.State == Reopened || end.reopens {
		r.owe(e, true)
	}
	if f.State == Resolved && e.Comment != 0 || f.State == "" && e.Resolver.ID == 0 {
		r.Closed = append(r.Closed, e.ID)
	}
	if end.settled && (f.State == Answered || e.Claimed) || f.State == "" && e.settled {
		r.Fixed = append(r.Fixed, e.ID)
	}
}

// keeps are the ids that the answer keeps, as models copy them.
func (c Case) keeps() map[string]bool {
	ids := map[string]bool{}
	for _, id := range c.Retained {
		ids[plainID(id)] = true
	}
	return ids
}

func plainID(id string) string { return strings.ToLower(strings.Trim(id, " \t\r\n`")) }

// graver is the worse of two severities, the second where the first isn't known.
func graver(earlier, said prompts.Severity) prompts.Severity {
	if earlier != "" && earlier.Rank() < said.Rank() {
		return earlier
	}
	return said
}

// raise notes severities that are other than posted with the finding, so that later
// rounds know them too. If there isn't room for all, those go first that count, and
// of them the worst.
func (r *Round) raise(list []Finding) {
	sorted(list)
	last := func(f Finding) int {
		if f.State.Counts() {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b Finding) int { return last(a) - last(b) })
	for _, f := range list {
		item := f.ID + ":" + string(f.Severity)
		if r.Raised != "" {
			item = "," + item
		}
		if len(r.Raised)+len(item) > sentinel.MaxValue {
			return
		}
		r.Raised += item
	}
}

// owe notes a conversation that is to be closed or opened again. Servers go by its
// oldest comment; where one can't, the finding's own comment is edited.
func (r *Round) owe(e Earlier, reopen bool) {
	for _, comment := range []int64{e.root, e.Comment} {
		o := sentinel.Owed{Review: e.Review, Comment: comment, Reopen: reopen}
		if comment != 0 && !slices.Contains(r.Owed, o) {
			r.Owed = append(r.Owed, o)
		}
	}
}

// at is the finding with its place at head, where it is known. One in the body is
// published again as it was made.
func (e Earlier) at(head string) Finding {
	f := e.Finding
	if f.Where != Inline || f.Place.Side != diff.New || !e.Since.Known || e.Since.Gone || e.Since.Added {
		return f
	}
	if now, ok := e.Since.Diff.Forward(f.Place.Line); ok {
		f.Place.Path, f.OldPath, f.Place.Line, f.Head = e.Since.Path, e.Since.Path, now, head
	}
	return f
}

// fate is what becomes of an earlier finding.
type fate struct {
	state   State  // "" for one that had been fixed and still is, of which there is nothing to say
	doubted bool   // see Finding
	by      string // see Finding.FixedBy
	reopens bool   // its conversation was closed with a claim that doesn't hold
	settled bool   // it doesn't count, and need not be asked about again
}

// of is the finding as it ends.
func (end fate) of(f Finding) Finding {
	f.State, f.Doubted, f.FixedBy = end.state, end.doubted, end.by
	return f
}

// fate decides about one earlier finding.
func (c Case) fate(e Earlier, kept, described bool) fate {
	switch {
	case e.Status == Let:
		return fate{state: Waived}
	case e.Status == Fixed && described:
		return fate{state: Reopened}
	case e.Status == Fixed:
		return fate{}
	case !c.Shown(e.ID):
		return fate{state: Retained}
	case kept || described:
		return fate{state: Retained, reopens: e.Claimed}
	}
	fixed, by := c.fixed(e)
	if !fixed && !c.heard(e) {
		return fate{state: Retained, doubted: true, reopens: e.Claimed}
	}
	end := fate{state: Resolved, by: by, settled: fixed || e.Claimed}
	if len(e.Replies) > 0 {
		end.state = Answered
	}
	return end
}
