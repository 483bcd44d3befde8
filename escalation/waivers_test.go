package escalation

import (
	"slices"
	"strings"
	"testing"

	"review-bot/sentinel"
)

// Findings of sec (a…) and of its sibling (b…).
const (
	a1, a2 = "aaaaaaa1", "aaaaaaa2"
	b1     = "bbbbbbb1"
)

// open is a verdict that says which of its findings are open; all block.
func open(ids ...string) func(*forge, *Row) {
	return carries(slices.Concat(sentinel.IDFields(sentinel.OpenIDs, ids), sentinel.IDFields(BlockIDs, ids))...)
}

// repatched moves a record to another head, with other findings open.
func repatched(row int64, to string, ids ...string) step {
	return func(f *forge) {
		f.edit(row, func(_ *sentinel.Body, s *sentinel.Sentinel) {
			s.Head, s.Extra = to, slices.Concat(sentinel.IDFields(sentinel.OpenIDs, ids), sentinel.IDFields(BlockIDs, ids))
		})
	}
}

// pause lets time pass: an entry that nobody cares for.
func pause(f *forge) { f.entry(Entry{Kind: EntryComment, User: stranger, Body: "Hm."}) }

// sameSecond moves the newest entry to the time at which a record was patched.
func sameSecond(row int64) step {
	return func(f *forge) {
		patched := *f.entryOf(row)
		f.entries[len(f.entries)-1].Created = patched.Updated
	}
}

func (f *forge) entryOf(row int64) *Entry {
	for i := range f.entries {
		if f.entries[i].Kind == EntryReview && f.entries[i].Review == row {
			return &f.entries[i]
		}
	}
	panic("no entry")
}

func holds(f *forge) {
	body := sentinel.Body{Text: "Nobody has judged it yet."}
	s := sentinel.Sentinel{Role: sec, Version: 1, Kind: sentinel.KindHold, Head: h2, Run: strings.Repeat("0", 32)}
	f.post(me, RowRequestChanges, h2, body.With(s, key))
}

// What a dismissal waives, by what happened before and after it.
func TestADismissalWaivesWhatWasOpenThen(t *testing.T) {
	block := review(sec, changes, changes, h1, open(a1, a2))
	for _, tt := range []struct {
		promise string
		log     *forge
		waived  []string // of a1, a2, b1
	}{
		{"nothing was dismissed", history(block), nil},
		{"what was open", history(block, dismiss(1)), []string{a1, a2}},
		{"by the account itself: nothing", history(block, dismissedBy(me, 1)), nil},
		{"by the author, whom the forge lets: what was open", history(block, dismissedBy(author, 1)), []string{a1, a2}},
		{"taken back", history(block, dismiss(1), undismiss(1)), nil},
		{"taken back, and then the server dismisses it for a newer review",
			history(block, dismiss(1), undismiss(1), review("a", approved, changes, h1)), nil},
		{"taken back, and a hold takes its place", history(block, dismiss(1), undismiss(1), held(h1)), nil},
		{"taken back, and dismissed again", history(block, dismiss(1), undismiss(1), dismiss(1)), []string{a1, a2}},
		{"taken back, noted, and dismissed again",
			history(block, dismiss(1), undismiss(1), review("a", comment, comment, h1), dismiss(1)), []string{a1, a2}},
		{"taken back, and the newer review dismissed",
			history(block, dismiss(1), undismiss(1), review("a", changes, changes, h1, open(b1)), dismiss(2)), []string{a1, a2, b1}},
		{"entries may be missing", history(block, dismiss(1), holes), nil},
		{"a sibling's block, too",
			history(review("a", changes, changes, h1, open(b1)), block, dismiss(2)), []string{a1, a2, b1}},
		{"a sibling that came later isn't in it",
			history(block, dismiss(1), review("a", changes, changes, h1, open(b1))), []string{a1, a2}},
		{"of a review that wasn't in force: nothing",
			history(block, review("a", changes, changes, h1, open(b1)), dismiss(1)), nil},
		{"of one that the account had replaced by an approval: nothing",
			history(block, review("a", approved, approved, h2), dismiss(1)), nil},
		{"a comment replaces nothing", history(block, review("a", comment, comment, h2), dismiss(1)), []string{a1, a2}},
		{"in force by the clock, where an entry is gone",
			history(block, dismiss(1), review("a", changes, changes, h1, entryDeleted)), []string{a1, a2}},
		{"what isn't a verdict waives nothing", history(block, holds, dismiss(2)), nil},
		{"edited to another head before it", history(block, repatched(1, h2, a2), pause, dismiss(1)), []string{a2}},
		{"edited after it: what was open all the time",
			history(block, dismiss(1), pause, repatched(1, h2, a2, "aaaaaaa3")), []string{a2}},
		{"edited in the same second: what was open all the time",
			history(block, pause, repatched(1, h2, a2, "aaaaaaa3"), dismiss(1), sameSecond(1)), []string{a2}},
		{"judged again when it was known: that record says", history(block, dismiss(1), heard(1, 102)), nil},
		{"judged again by a run that didn't know of it: the older record's",
			history(block, dismiss(1), review(sec, changes, changes, h2, open(a2, "aaaaaaa3"))), []string{a1, a2}},
	} {
		log := tt.log.log()
		ids := log.DismissedSince(sec, heardBy(log, sec)).IDs
		for id := range log.DismissedSince("a", heardBy(log, "a")).IDs {
			ids[id] = true
		}
		for _, id := range []string{a1, a2, b1, "aaaaaaa3"} {
			if ids[id] != slices.Contains(tt.waived, id) {
				t.Errorf("%s: %s is waived: %v", tt.promise, id, ids[id])
			}
		}
	}
}

func heardBy(log Log, role string) int64 {
	cur, _ := log.Current(role)
	return cur.Sentinel.Heard
}

// What a record notes as waived is waived as long as the dismissal isn't taken back.
func TestAWaiverIsCarriedOnUntilItIsTakenBack(t *testing.T) {
	again := review(sec, changes, comment, h2, open(a1), carries(WaivedFields([]string{a1}, []Dismissal{{1, 102}})...), func(f *forge, r *Row) {
		f.edit(r.ID, func(_ *sentinel.Body, s *sentinel.Sentinel) { s.Heard = 102 })
	})
	steps := []step{review(sec, changes, changes, h1, open(a1)), dismiss(1), again}
	if log := history(steps...).log(); !log.Waived(sec, h2) || log.Waived(sec, h1) {
		t.Error("it isn't waived at the head that was judged since, or is at another one")
	}
	if history(append(slices.Clone(steps), undismiss(1))...).log().Waived(sec, h2) {
		t.Error("the dismissal was taken back, and the finding is waived")
	}
	if history(append(slices.Clone(steps), undismiss(1), review("a", approved, changes, h2))...).log().Waived(sec, h2) {
		t.Error("the dismissal was taken back, and the server's own for a newer review waives the finding")
	}
	forgotten := func(f *forge) {
		f.entries = slices.DeleteFunc(f.entries, func(e Entry) bool { return e.Kind == EntryDismiss })
	}
	if history(append(slices.Clone(steps), forgotten, undismiss(1), review("a", approved, changes, h2))...).log().Waived(sec, h2) {
		t.Error("the same, where the timeline begins later")
	}
	if !history(append(slices.Clone(steps), dismiss(1), review("a", approved, changes, h2))...).log().Waived(sec, h2) {
		t.Error("it was dismissed twice, and isn't waived")
	}
	more := append(slices.Clone(steps[:2]), review(sec, changes, changes, h2, open(a1, a2), carries(WaivedFields([]string{a1}, []Dismissal{{1, 102}})...)))
	if history(more...).log().Waived(sec, h2) {
		t.Error("a finding that came later is waived")
	}
}

// A waiver survives what the bot writes: a verdict that is posted again for a
// sibling's sake, and a record that is edited when its conversations are settled.
// Later runs need not read as far back as the dismissal.
func TestWritesNoteWaivers(t *testing.T) {
	owing := func(f *forge) {
		f.edit(1, func(_ *sentinel.Body, s *sentinel.Sentinel) { s.Owed = []sentinel.Owed{{Review: 1, Comment: 11}} })
	}
	for promise, tt := range map[string]struct {
		log  *forge
		head string
	}{
		"posted again": {history(review(sec, changes, changes, h1, open(a1)), dismiss(1), review(sec, changes, comment, h2, open(a1)),
			review("b", changes, changes, h2, open(b1)), rerequest), h2},
		"settled": {history(review(sec, changes, changes, h1, open(a1)), owing, pause, dismiss(1)), h1},
	} {
		f := tt.log
		f.head = tt.head
		before := f.log()
		cfg := &Config{Account: me, Author: author, Key: key, Nonce: "n", Seen: before}
		if wrote := f.publish(t, cfg, false); len(wrote) == 0 || !before.Waived(sec, tt.head) {
			t.Fatalf("%s: it was waived: %v, and the publication wrote %q", promise, before.Waived(sec, tt.head), wrote)
		}
		f.entries = slices.DeleteFunc(f.entries, func(e Entry) bool { return e.Kind == EntryDismiss })
		if !f.log().Waived(sec, tt.head) {
			cur, _ := f.log().Current(sec)
			t.Errorf("%s: the waiver is lost: %s", promise, cur.Sentinel)
		}
	}
}

// Whatever the account posts notes that a dismissal was taken back: for the next
// verdict the server may dismiss the review again.
func TestEveryPostNotesWhatWasTakenBack(t *testing.T) {
	says := func(own sentinel.Verdict, head string, comments ...NewComment) Verdict {
		return Verdict{Own: own, Head: head, Fresh: true, Body: sentinel.Body{Text: "Something new."}, Comments: comments}
	}
	block := review("a", changes, changes, h1, open(a1))
	official := func(f *forge, r *Row) { r.Official, r.Dismissed = true, false }
	approval := func(f *forge) { official(f, &f.rows[0]) }
	begun := func(f *forge) { f.post(me, RowPending, h1, "").Comments = 1 }
	retired := func(f *forge) { f.edit(2, func(_ *sentinel.Body, s *sentinel.Sentinel) { s.State = sentinel.Retired }) }
	for promise, tt := range map[string]struct {
		log  *forge
		cfg  Config
		want []sentinel.Kind
	}{
		"a verdict":    {history(block), Config{Role: sec, Verdict: says(approved, h1)}, []sentinel.Kind{sentinel.KindVerdict}},
		"posted again": {history(block, rerequest), Config{}, []sentinel.Kind{sentinel.KindVerdict}},
		"findings of a verdict": {history(review(sec, comment, comment, h2), block),
			Config{Role: sec, Verdict: says(comment, h1, NewComment{Path: "a.go"}), Advisory: true}, []sentinel.Kind{sentinel.KindFindings}},
		"a hold": {history(review(sec, approved, approved, h2), block, approval, retired), Config{Rest: true}, []sentinel.Kind{sentinel.KindHold}},
		"a leftover": {history(block, begun), Config{Role: sec, Verdict: says(approved, h1)},
			[]sentinel.Kind{sentinel.KindOrphan, sentinel.KindVerdict}},
	} {
		f := tt.log
		blocks := slices.IndexFunc(f.rows, func(row Row) bool { return row.State == RowRequestChanges })
		for _, happens := range []step{dismiss(int64(blocks + 1)), undismiss(int64(blocks + 1))} {
			happens(f)
		}
		dismissal := f.entries[len(f.entries)-1].ID
		tt.cfg.Account, tt.cfg.Author, tt.cfg.Key, tt.cfg.Nonce, tt.cfg.Seen = me, author, key, "n", f.log()
		known := len(f.rows)
		for i := range f.rows {
			if f.rows[i].State == RowPending {
				known = i
			}
		}
		f.publish(t, &tt.cfg, false)
		var kinds []sentinel.Kind
		for _, row := range f.rows[known:] {
			kinds = append(kinds, sentinelOf(t, row.Body).Kind)
		}
		if noted := sentinelOf(t, f.rows[known].Body).Undone; !slices.Equal(kinds, tt.want) || !slices.Equal(noted, []int64{dismissal}) {
			t.Errorf("%s: %v was posted, and the first notes %v, want %d", promise, kinds, noted, dismissal)
		}
		if len(f.log().Waivers()) > 0 {
			t.Errorf("%s: it waives", promise)
		}
	}
}

// A dismissal that comes after the reviews were listed, and before the timeline, looks
// like one that was taken back. It isn't noted as one, and counts.
func TestADismissalBetweenTheTwoListsCounts(t *testing.T) {
	f := history(review("a", changes, changes, h1, open(a1)))
	v := Verdict{Own: changes, Head: h1, Fresh: true, Body: sentinel.Body{Text: says(sec)}}
	f.between = dismiss(1)
	f.publish(t, &Config{Account: me, Author: author, Key: key, Nonce: "n", Role: sec, Verdict: v, Seen: f.log()}, false)
	if s := sentinelOf(t, f.rows[1].Body); len(s.Undone) > 0 {
		t.Errorf("it is noted as taken back: %s", s)
	}
	if !f.log().Waived("a", h1) {
		t.Error("it doesn't waive")
	}
}

// Of a record that doesn't list its findings, as earlier releases wrote it, all are
// waived with it, as long as it says what it said.
func TestARecordWithoutAListIsWaivedAsAWhole(t *testing.T) {
	old := review(sec, changes, changes, h1)
	for promise, tt := range map[string]struct {
		log  *forge
		head string
		want bool
	}{
		"as it was":                  {history(old, dismiss(1)), h1, true},
		"edited before":              {history(review(sec, changes, changes, h1, patchedTo(h2)), pause, dismiss(1)), h2, true},
		"moved to another head":      {history(old, dismiss(1), pause, func(f *forge) { f.edit(1, func(_ *sentinel.Body, s *sentinel.Sentinel) { s.Head = h2 }) }), h2, false},
		"an approval isn't a waiver": {history(review(sec, approved, changes, h1), dismiss(1)), h1, false},
	} {
		if got := tt.log.log().Waived(sec, tt.head); got != tt.want {
			t.Errorf("%s: waived is %v, want %v", promise, got, tt.want)
		}
	}
}

func TestWaivedFieldsHaveRoomForMany(t *testing.T) {
	var by []Dismissal
	for i := range 500 {
		by = append(by, Dismissal{int64(1_000_000 + i), int64(2_000_000 + i)})
	}
	for _, f := range WaivedFields([]string{a1}, by) {
		if len(f.Value) > sentinel.MaxValue {
			t.Errorf("%s has %d characters", f.Key, len(f.Value))
		}
	}
	if fields := WaivedFields(nil, by); len(fields) != 0 {
		t.Errorf("%v", fields)
	}
}
