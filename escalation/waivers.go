package escalation

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"review-bot/sentinel"
)

// The fields of a verdict's sentinel that say which findings people have waived,
// and which of them matter. The lists of all open and all waived findings are
// sentinel.OpenIDs and sentinel.WaivedIDs.
const (
	BlockIDs = "blocks" // ids of the open findings for which the role requests changes

	// dismissedField lists the dismissals that waived the findings of
	// sentinel.WaivedIDs.
	dismissedField = "dismissed"
)

// Waiver is a person's dismissal of a request for changes of the account. It
// waives the findings that were open in the roles' records at that time, at any
// later head.
type Waiver struct {
	Entry Entry
	Row   Row
}

// Waivers lists the dismissals that count: of a review that was in force when it
// was dismissed, and that weren't taken back. None is concluded from a timeline that
// may lack entries: a newer review's might be among them.
func (l Log) Waivers() []Waiver {
	if l.Holes {
		return nil
	}
	var list []Waiver
	for _, e := range l.Entries {
		if i := l.dismissedBy(e); i >= 0 && l.inForce(Dismissal{l.Rows[i].ID, e.ID}) && !l.overtaken(i, e) {
			list = append(list, Waiver{Entry: e, Row: l.Rows[i]})
		}
	}
	return list
}

// dismissedBy is the place in Rows of the account's verdict that a person dismissed
// by the entry, if that was a block; -1 if it was nothing of the kind.
func (l Log) dismissedBy(e Entry) int {
	if e.Kind != EntryDismiss || e.User == l.Account {
		return -1
	}
	return slices.IndexFunc(l.Rows, func(row Row) bool {
		return row.ID == e.Review && row.State == RowRequestChanges && isVerdict(row)
	})
}

// Dismissal is one dismissal of a review: a review may be dismissed, taken back and
// dismissed again.
type Dismissal struct {
	Review int64
	Entry  int64 // of the timeline
}

// inForce reports whether the dismissal wasn't taken back. That the review is
// dismissed doesn't say so: the server dismisses it when a newer one is posted. What
// is posted then notes it.
func (l Log) inForce(d Dismissal) bool {
	return l.dismissed(d.Review) && !slices.Contains(l.undone, d.Entry)
}

func (l Log) dismissed(review int64) bool {
	return slices.ContainsFunc(l.Rows, func(row Row) bool { return row.ID == review && row.Dismissed })
}

// takenBack are the dismissals of which the log shows that they were taken back, and
// no review notes it yet: what the account posts now has to. Newest first.
func (l Log) takenBack() []int64 {
	var ids []int64
	add := func(d Dismissal) {
		if d.Entry > 0 && !l.dismissed(d.Review) && !slices.Contains(l.undone, d.Entry) {
			ids = append(ids, d.Entry)
		}
	}
	for _, e := range l.Entries {
		if i := l.dismissedBy(e); i >= 0 {
			add(Dismissal{l.Rows[i].ID, e.ID})
		}
	}
	for _, r := range l.Records { // where the timeline begins later
		for _, d := range dismissals(r.Sentinel.Extra) {
			add(d)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	slices.Reverse(ids)
	return ids[:min(len(ids), sentinel.MaxUndone)]
}

// isVerdict reports whether a review says what a role has found. One without a
// sentinel was posted by a person with the account, and counts as well.
func isVerdict(row Row) bool {
	_, s, err := sentinel.Split(row.Body)
	return errors.Is(err, sentinel.ErrNone) || err == nil && s.Kind == sentinel.KindVerdict
}

// overtaken reports whether the account had a newer verdict than its i-th review
// when e happened. Where the clock has to decide, it had.
func (l Log) overtaken(i int, e Entry) bool {
	return slices.ContainsFunc(l.Rows[i+1:], func(newer Row) bool {
		switch {
		case newer.State != RowApproved && newer.State != RowRequestChanges:
			return false
		case newer.CommentID != 0:
			return newer.CommentID < e.ID
		default:
			return !newer.Submitted.After(e.Created)
		}
	})
}

// Dismissed is what dismissals have waived.
type Dismissed struct {
	IDs   map[string]bool // of findings
	By    []Dismissal
	Whole bool // all findings of the role's current record, which doesn't list them
}

// DismissedSince is what has been waived of a role's findings since the model was
// asked, when the newest entry was heard. What was waived before is in the
// record.
func (l Log) DismissedSince(role string, heard int64) Dismissed {
	d := Dismissed{IDs: map[string]bool{}}
	for _, w := range l.Waivers() {
		if w.Entry.ID <= heard {
			continue
		}
		r, ok := l.recordAt(role, w.Entry)
		if !ok {
			continue
		}
		ids, known := r.Sentinel.IDs(sentinel.OpenIDs)
		if cur, ok := l.Current(role); !known && !r.changedSince(w.Entry) && ok && cur.Row.ID == r.Row.ID {
			d.Whole = true
		}
		if r.changedSince(w.Entry) {
			ids = r.inOriginal(ids)
		}
		for _, id := range ids {
			d.IDs[id] = true
		}
		d.By = append(d.By, Dismissal{w.Row.ID, w.Entry.ID})
	}
	return d
}

// Dismissals are all the findings of the role that people have waived by
// dismissals: what its current record notes, and what came since.
func (l Log) Dismissals(role string) Dismissed {
	cur, _ := l.Current(role)
	d := l.DismissedSince(role, cur.Sentinel.Heard)
	carried := l.Carried(cur.Sentinel.Extra)
	if len(carried) > 0 {
		d.By = together(dismissals(cur.Sentinel.Extra), d.By)
	}
	for _, id := range carried {
		d.IDs[id] = true
	}
	return d
}

// recordAt is the role's newest record that was there when e happened.
func (l Log) recordAt(role string, e Entry) (Record, bool) {
	for _, r := range slices.Backward(l.Records) {
		if r.Role() == role && l.after(e, r.Row) {
			return r, true
		}
	}
	return Record{}, false
}

// changedSince reports whether the record's text may be newer than e: the person
// hasn't seen it then. The clock has whole seconds.
func (r Record) changedSince(e Entry) bool {
	return r.Patched && !(!r.Updated.IsZero() && r.Updated.Before(e.Created))
}

// inOriginal are those of the open findings that the review was posted with: they
// were open all the time.
func (r Record) inOriginal(ids []string) []string {
	_, s, _ := sentinel.Split(r.Row.Body)
	posted, _ := s.IDs(sentinel.OpenIDs)
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !slices.Contains(posted, id) })
}

// Waived reports whether people have waived every finding for which the role's
// current record, on head, requests changes.
func (l Log) Waived(role, head string) bool {
	cur, ok := l.Current(role)
	return ok && cur.Own() == sentinel.RequestChanges && cur.Head() == head &&
		l.waives(role, head, cur.Sentinel.Heard, cur.Sentinel.Extra)
}

// waives is Waived of a verdict that need not be on record, by what its sentinel
// notes or is going to. One that doesn't list its findings is waived with the
// record of the same head.
func (l Log) waives(role, head string, heard int64, extra []sentinel.Field) bool {
	blocks, known := sentinel.Sentinel{Extra: extra}.IDs(BlockIDs)
	if !known {
		cur, ok := l.Current(role)
		return l.undisturbed(extra) || ok && cur.Own() == sentinel.RequestChanges && cur.Head() == head &&
			(l.undisturbed(cur.Sentinel.Extra) || l.DismissedSince(role, cur.Sentinel.Heard).Whole)
	}
	ids := l.DismissedSince(role, heard).IDs
	for _, id := range l.Carried(extra) {
		ids[id] = true
	}
	return len(blocks) > 0 && !slices.ContainsFunc(blocks, func(id string) bool { return !ids[id] })
}

// Carried are the findings that a sentinel notes as waived, unless a dismissal
// that waived them was taken back.
func (l Log) Carried(extra []sentinel.Field) []string {
	ids, _ := sentinel.Sentinel{Extra: extra}.IDs(sentinel.WaivedIDs)
	if len(dismissals(extra)) > 0 && !l.undisturbed(extra) {
		return nil
	}
	return ids
}

// undisturbed reports whether a sentinel names dismissals, and none of them was
// taken back.
func (l Log) undisturbed(extra []sentinel.Field) bool {
	by := dismissals(extra)
	return len(by) > 0 && !slices.ContainsFunc(by, func(d Dismissal) bool { return !l.inForce(d) })
}

// dismissals are those that a sentinel names. One that can't be read is none.
func dismissals(extra []sentinel.Field) []Dismissal {
	var list []Dismissal
	value := sentinel.Sentinel{Extra: extra}.Field(dismissedField)
	if value == "" {
		return nil
	}
	for item := range strings.SplitSeq(value, ",") {
		review, entry, _ := strings.Cut(item, ":")
		r, err := strconv.ParseInt(review, 10, 64)
		e, bad := strconv.ParseInt(entry, 10, 64)
		if err != nil || bad != nil {
			r, e = 0, 0
		}
		list = append(list, Dismissal{r, e})
	}
	return list
}

// WaivedFields are the fields that note which findings are waived, and by which
// dismissals.
func WaivedFields(ids []string, by []Dismissal) []sentinel.Field {
	if len(ids) == 0 {
		return nil
	}
	return append(sentinel.IDFields(sentinel.WaivedIDs, ids), dismissalsField(by))
}

// dismissalsField is the field that names dismissals.
func dismissalsField(by []Dismissal) sentinel.Field {
	var text []string
	size := 0
	for _, d := range slices.Backward(by) { // the newest, as far as there is room
		item := fmt.Sprintf("%d:%d", d.Review, d.Entry)
		if size += len(item) + 1; size > sentinel.MaxValue {
			break
		}
		text = append(text, item)
	}
	return sentinel.Field{Key: dismissedField, Value: strings.Join(text, ",")}
}

// noteWaivers adds to a verdict's fields what people have waived of its findings
// since the model was asked, so that it isn't forgotten once a newer text or a
// newer review hides when that was.
func (l Log) noteWaivers(role string, heard int64, extra []sentinel.Field) []sentinel.Field {
	open, known := sentinel.Sentinel{Extra: extra}.IDs(sentinel.OpenIDs)
	carried := l.Carried(extra)
	news := l.DismissedSince(role, heard)
	if !known && news.Whole && !l.undisturbed(extra) {
		return append(withoutWaivers(extra), dismissalsField(news.By))
	}
	maps.DeleteFunc(news.IDs, func(id string, _ bool) bool {
		return !slices.Contains(open, id) || slices.Contains(carried, id)
	})
	if len(news.IDs) == 0 {
		return extra
	}
	by := news.By
	if len(carried) > 0 {
		by = together(dismissals(extra), by)
	}
	ids := slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(slices.Clone(carried), maps.Keys(news.IDs)))))
	return append(withoutWaivers(extra), WaivedFields(ids, by)...)
}

func withoutWaivers(extra []sentinel.Field) []sentinel.Field {
	return slices.DeleteFunc(slices.Clone(extra), func(f sentinel.Field) bool {
		return f.Key == dismissedField || strings.TrimRight(f.Key, "0123456789") == sentinel.WaivedIDs
	})
}

// together lists the dismissals that are in either, oldest first.
func together(a, b []Dismissal) []Dismissal {
	list := slices.Concat(a, b)
	slices.SortFunc(list, func(a, b Dismissal) int { return cmp.Compare(a.Entry, b.Entry) })
	return slices.Compact(list)
}
