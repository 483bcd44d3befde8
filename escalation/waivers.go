package escalation

import (
	"errors"
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

	// dismissedField holds the ids of the reviews whose dismissals waived the
	// findings of sentinel.WaivedIDs.
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
// was dismissed, and is still dismissed. None is concluded from a timeline that
// may lack entries: a newer review's might be among them.
func (l Log) Waivers() []Waiver {
	if l.Holes {
		return nil
	}
	var list []Waiver
	for _, e := range l.Entries {
		if e.Kind != EntryDismiss || e.User == l.Account {
			continue
		}
		for i, row := range l.Rows {
			block := row.State == RowRequestChanges && row.Dismissed && isVerdict(row)
			if row.ID == e.Review && block && !l.overtaken(i, e) {
				list = append(list, Waiver{Entry: e, Row: row})
			}
		}
	}
	return list
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
	Rows  []int64         // reviews that were dismissed
	Whole bool            // all findings of the role's current record, which doesn't list them
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
		if !slices.Contains(d.Rows, w.Row.ID) {
			d.Rows = append(d.Rows, w.Row.ID)
		}
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
		d.Rows = union(dismissedRows(cur.Sentinel.Extra), d.Rows)
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
	if len(dismissedRows(extra)) > 0 && !l.undisturbed(extra) {
		return nil
	}
	return ids
}

// undisturbed reports whether a sentinel names dismissals, and none of them was
// taken back.
func (l Log) undisturbed(extra []sentinel.Field) bool {
	rows := dismissedRows(extra)
	return len(rows) > 0 && !slices.ContainsFunc(rows, func(id int64) bool {
		return !slices.ContainsFunc(l.Rows, func(row Row) bool { return row.ID == id && row.Dismissed })
	})
}

func dismissedRows(extra []sentinel.Field) []int64 {
	var rows []int64
	for item := range strings.SplitSeq(sentinel.Sentinel{Extra: extra}.Field(dismissedField), ",") {
		if id, err := strconv.ParseInt(item, 10, 64); err == nil {
			rows = append(rows, id)
		}
	}
	return rows
}

// WaivedFields are the fields that note which findings are waived, and by the
// dismissal of which reviews.
func WaivedFields(ids []string, rows []int64) []sentinel.Field {
	if len(ids) == 0 {
		return nil
	}
	return append(sentinel.IDFields(sentinel.WaivedIDs, ids), rowsField(rows))
}

// rowsField is the field that names the dismissed reviews.
func rowsField(rows []int64) sentinel.Field {
	var text []string
	size := 0
	for _, id := range slices.Backward(rows) { // the newest, as far as there is room
		item := strconv.FormatInt(id, 10)
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
		return append(slices.Clone(extra), rowsField(news.Rows))
	}
	maps.DeleteFunc(news.IDs, func(id string, _ bool) bool {
		return !slices.Contains(open, id) || slices.Contains(carried, id)
	})
	if len(news.IDs) == 0 {
		return extra
	}
	rows := slices.Sorted(slices.Values(news.Rows))
	if len(carried) > 0 {
		rows = union(dismissedRows(extra), rows)
	}
	return append(withoutWaivers(extra), WaivedFields(union(carried, slices.Sorted(maps.Keys(news.IDs))), rows)...)
}

func withoutWaivers(extra []sentinel.Field) []sentinel.Field {
	return slices.DeleteFunc(slices.Clone(extra), func(f sentinel.Field) bool {
		return f.Key == dismissedField || strings.TrimRight(f.Key, "0123456789") == sentinel.WaivedIDs
	})
}

// union lists what is in either, in order.
func union[T int64 | string](a, b []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}
