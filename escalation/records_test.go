package escalation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"review-bot/sentinel"
)

// only is the log's one record.
func only(t *testing.T, f *forge) Record {
	t.Helper()
	log := f.log()
	if len(log.Records) != 1 {
		t.Fatalf("%d records, ignored %v", len(log.Records), log.Ignored)
	}
	return log.Records[0]
}

func TestAPatchMovesOnlyWhatItMay(t *testing.T) {
	r := only(t, history(review(sec, changes, changes, h1, func(f *forge, r *Row) {
		f.edit(r.ID, func(b *sentinel.Body, s *sentinel.Sentinel) {
			b.Text, b.Notice, b.Usage = "New.", sentinel.Notice("a", "u", sec, "approves"), "<sub>1</sub>"
			s.Head, s.Q, s.Base, s.Round, s.Epoch, s.State, s.Version = h2, "0f", h3, 4, 77, sentinel.Superseded, 2
			s.Owed = []sentinel.Owed{{Review: 1, Comment: 2}}
		})
	})))
	s := r.Sentinel
	if r.Edited || r.Own() != changes || s.Event != changes || r.Role() != sec {
		t.Errorf("identity: %+v", r)
	}
	if r.Head() != h2 || s.Q != "0f" || s.Base != h3 || s.Round != 4 || s.Epoch != 77 || s.State != sentinel.Superseded || s.Version != 2 || len(s.Owed) != 1 {
		t.Errorf("moved: %+v", s)
	}
	if r.Body.Text != "New." || r.Body.Notice == "" || r.Body.Usage == "" || s.Body != sentinel.Hash("New.") {
		t.Errorf("text: %+v", r.Body)
	}
}

// What anybody with write access could do to the text of a review.
func TestForgedTextsAreNotBelieved(t *testing.T) {
	other := sentinel.NewKey("token", "o/r", 2)
	resign := func(key sentinel.Key, change func(*sentinel.Sentinel)) func(*forge, *Row) {
		return func(f *forge, r *Row) {
			b, s, _ := sentinel.Split(*f.text(r.ID))
			b.Text = "Forged."
			change(&s)
			*f.text(r.ID) = b.With(s, key)
		}
	}
	unsigned := func(change func(*sentinel.Body, *sentinel.Sentinel)) func(*forge, *Row) {
		return func(f *forge, r *Row) {
			b, s, _ := sentinel.Split(*f.text(r.ID))
			mac := s.MAC
			change(&b, &s)
			s.Body, s.MAC = sentinel.Hash(b.Text), mac
			*f.text(r.ID) = b.String() + "\n\n" + s.String()
		}
	}
	for promise, forge := range map[string]func(*forge, *Row){
		"own flipped":                        flipped("own=request_changes", "own=approved"),
		"own flipped, hash recomputed":       unsigned(func(b *sentinel.Body, s *sentinel.Sentinel) { b.Text, s.Own = "Fine.", approved }),
		"event flipped":                      flipped("event=request_changes", "event=comment"),
		"another role":                       flipped("review-bot:sec", "review-bot:a"),
		"head moved":                         flipped("head="+h1, "head="+h2),
		"retired":                            unsigned(func(_ *sentinel.Body, s *sentinel.Sentinel) { s.State = sentinel.Retired }),
		"superseded":                         unsigned(func(_ *sentinel.Body, s *sentinel.Sentinel) { s.State = sentinel.Superseded }),
		"round set":                          unsigned(func(_ *sentinel.Body, s *sentinel.Sentinel) { s.Round = 9 }),
		"a key added":                        unsigned(func(_ *sentinel.Body, s *sentinel.Sentinel) { s.Extra = []sentinel.Field{{Key: "x", Value: "1"}} }),
		"the code left out":                  unsigned(func(_ *sentinel.Body, s *sentinel.Sentinel) { s.Head = h2 }),
		"kind changed":                       flipped("kind=verdict", "kind=findings"),
		"emptied":                            func(f *forge, r *Row) { *f.text(r.ID) = "" },
		"words without a sentinel":           func(f *forge, r *Row) { *f.text(r.ID) = "Never mind." },
		"something behind the sentinel":      func(f *forge, r *Row) { *f.text(r.ID) += "\n\nP.S." },
		"signed for another pull request":    resign(other, func(s *sentinel.Sentinel) { s.Head = h2 }),
		"signed, of another review":          resign(key, func(s *sentinel.Sentinel) { s.Run, s.Head = strings.Repeat("f", 32), h2 }),
		"signed, of another role":            resign(key, func(s *sentinel.Sentinel) { s.Role, s.Head = "a", h2 }),
		"signed, with another own verdict":   resign(key, func(s *sentinel.Sentinel) { s.Own, s.Head = approved, h2 }),
		"signed, with another event":         resign(key, func(s *sentinel.Sentinel) { s.Event, s.Head = comment, h2 }),
		"signed, of a review without a role": resign(key, func(s *sentinel.Sentinel) { s.Kind, s.Head = sentinel.KindFindings, h2 }),
	} {
		t.Run(promise, func(t *testing.T) {
			r := only(t, history(review(sec, changes, changes, h1, forge)))
			s := r.Sentinel
			if r.Role() != sec || r.Own() != changes || s.Event != changes || r.Head() != h1 || s.State != sentinel.Live || s.Round != 0 || s.Extra != nil {
				t.Errorf("believed: %+v", s)
			}
			if !r.Edited {
				t.Error("not taken for edited")
			}
		})
	}
}

func TestASentinelReplayedFromAnotherReviewIsNotBelieved(t *testing.T) {
	f := history(review(sec, changes, changes, h1, state(sentinel.Retired)), review(sec, changes, changes, h2))
	*f.text(2) = *f.text(1)
	cur, ok := f.log().Current(sec)
	if !ok || cur.Row.ID != 2 || cur.Head() != h2 || !cur.Edited {
		t.Errorf("%v, %+v", ok, cur)
	}
}

func TestEditedByAPerson(t *testing.T) {
	for promise, tt := range map[string]struct {
		change func(*forge, *Row)
		want   bool
	}{
		"nobody did":              {func(*forge, *Row) {}, false},
		"the bot did":             {patchedTo(h2), false},
		"a word":                  {edited, true},
		"a word after a PATCH":    {func(f *forge, r *Row) { patchedTo(h2)(f, r); edited(f, r) }, true},
		"the entry was deleted":   {entryDeleted, false},
		"the bot's edit, deleted": {func(f *forge, r *Row) { patchedTo(h2)(f, r); entryDeleted(f, r) }, false},
		"line ends only":          {func(f *forge, r *Row) { *f.text(r.ID) = strings.ReplaceAll(*f.text(r.ID), "\n", "\r\n") }, false},
	} {
		if r := only(t, history(review(sec, approved, approved, h1, tt.change))); r.Edited != tt.want {
			t.Errorf("%s: Edited is %v", promise, r.Edited)
		}
	}
	if r := only(t, history(review(sec, approved, approved, h1, patchedTo(h2), entryDeleted))); r.Head() != h1 {
		t.Errorf("the entry is gone, and the head is still %s", r.Head())
	}
}

func TestWhatIsARecord(t *testing.T) {
	body := func(change func(*sentinel.Sentinel)) string {
		b, s := (&forge{nonce: 90}).verdict("a", changes, changes, h1, "Text.")
		change(&s)
		return b.With(s, key)
	}
	same := func(*sentinel.Sentinel) {}
	for promise, tt := range map[string]struct {
		step             step
		records, ignored int
	}{
		"a verdict":                      {by(me, RowComment, body(same)), 1, 0},
		"of another account":             {by(stranger, RowComment, body(same)), 0, 1},
		"of another account, no marker":  {by(stranger, RowComment, "No."), 0, 0},
		"pending":                        {by(me, RowPending, body(same)), 0, 0},
		"a request":                      {by(me, RowRequest, body(same)), 0, 0},
		"without a sentinel":             {by(me, RowComment, "Text."), 0, 0},
		"with a broken one":              {by(me, RowComment, "Text.\n\n<!-- review-bot:a v=1 -->"), 0, 1},
		"of kind findings":               {by(me, RowComment, body(func(s *sentinel.Sentinel) { s.Kind = sentinel.KindFindings })), 0, 0},
		"of kind orphan":                 {by(me, RowComment, body(func(s *sentinel.Sentinel) { s.Kind = sentinel.KindOrphan })), 0, 0},
		"unsigned: the row is the proof": {by(me, RowComment, strings.Replace(body(same), " mac=", " x=", 1)), 1, 0},
	} {
		log := history(tt.step).log()
		if len(log.Records) != tt.records || len(log.Ignored) != tt.ignored {
			t.Errorf("%s: %d records, %d ignored", promise, len(log.Records), len(log.Ignored))
		}
	}
}

func TestPendingRowsAreListed(t *testing.T) {
	begun := func(f *forge) { f.post(me, RowPending, h1, "").Comments = 1 }
	log := history(begun, review(sec, approved, approved, h1), by(stranger, RowPending, ""), by(me, RowPending, ""), by(me, RowPending, "x")).log()
	if p := log.Pending(); len(p) != 2 || p[0].ID != 1 || p[1].ID != 5 {
		t.Errorf("%+v", p)
	}
}

// A row that was pending with a body has two entries; the newer one counts.
func TestTheNewestEntryHasTheText(t *testing.T) {
	f := history(review(sec, approved, approved, h1))
	f.entries = append(f.entries, f.entries[0])
	f.entries[0].Body = "draft"
	f.entries[1].ID++
	slices.Reverse(f.entries)
	if r := only(t, f); r.Edited {
		t.Error("the older entry's text counts")
	}
}

func TestRecordsStandInTheOrderOfSubmission(t *testing.T) {
	ids := func(f *forge) []int64 {
		var ids []int64
		for _, r := range f.log().Records {
			ids = append(ids, r.Row.ID)
		}
		return ids
	}
	three := func() *forge {
		return history(review("a", approved, approved, h1), review("b", approved, approved, h1), review("c", approved, approved, h1))
	}
	f := three()
	slices.Reverse(f.rows)
	slices.Reverse(f.entries)
	if d := cmp.Diff([]int64{1, 2, 3}, ids(f)); d != "" {
		t.Errorf("the order of the lists counts:\n%s", d)
	}
	f = three()
	f.rows[0].CommentID = 200 // begun first, submitted last
	if d := cmp.Diff([]int64{2, 3, 1}, ids(f)); d != "" {
		t.Errorf("the id of the row counts:\n%s", d)
	}
	f = three()
	entryDeleted(f, &f.rows[1])
	if d := cmp.Diff([]int64{1, 2, 3}, ids(f)); d != "" {
		t.Errorf("without its entry, a row lost its place:\n%s", d)
	}
}

func TestCurrent(t *testing.T) {
	for promise, tt := range map[string]struct {
		log  *forge
		want int64 // 0: none
	}{
		"none":                       {history(), 0},
		"another role's":             {history(review("a", approved, approved, h1)), 0},
		"the newest":                 {history(review(sec, approved, approved, h1), review(sec, changes, changes, h1)), 2},
		"superseded as newest":       {history(review(sec, approved, approved, h1), review(sec, changes, changes, h1, state(sentinel.Superseded))), 1},
		"all superseded":             {history(review(sec, approved, approved, h1, state(sentinel.Superseded))), 0},
		"retired":                    {history(review(sec, changes, changes, h1), review(sec, approved, approved, h1, state(sentinel.Retired))), 0},
		"retired, then superseded":   {history(review(sec, changes, changes, h1, state(sentinel.Retired)), review(sec, approved, approved, h1, state(sentinel.Superseded))), 0},
		"retired, then judged again": {history(review(sec, changes, changes, h1, state(sentinel.Retired)), review(sec, approved, approved, h1)), 2},
	} {
		cur, ok := tt.log.log().Current(sec)
		if ok != (tt.want != 0) || cur.Row.ID != tt.want {
			t.Errorf("%s: row %d, %v", promise, cur.Row.ID, ok)
		}
	}
	log := history(review("a", approved, approved, h1), review("b", approved, approved, h1), review("c", approved, approved, h1, state(sentinel.Retired)), review("a", changes, changes, h1)).log()
	var roles []string
	for _, cur := range log.Standing() {
		roles = append(roles, cur.Role())
	}
	if d := cmp.Diff([]string{"b", "a"}, roles); d != "" {
		t.Errorf("roles in the order of their current records (-want +got):\n%s", d)
	}
}

func TestGate(t *testing.T) {
	official := func(want bool) func(*forge, *Row) { return func(_ *forge, r *Row) { r.Official = want } }
	request := func(e Entry) step {
		return func(f *forge) { e.Kind = EntryReviewRequest; f.entry(e) }
	}
	both := func(f *forge) { f.rows[0].Official, f.rows[0].Dismissed = true, false }
	for promise, tt := range map[string]struct {
		log        *forge
		want       []string
		unofficial bool
	}{
		"nothing":                               {history(), []string{}, false},
		"comments only":                         {history(review(sec, comment, comment, h1)), []string{}, false},
		"approved":                              {history(review(sec, approved, approved, h1)), []string{"approved"}, false},
		"the newer one":                         {history(review(sec, approved, approved, h1), review("a", changes, changes, h1)), []string{"request_changes"}, false},
		"a comment changes nothing":             {history(review(sec, changes, changes, h1), review("a", comment, comment, h1)), []string{"request_changes"}, false},
		"both are official":                     {history(review("a", changes, changes, h1), review(sec, approved, approved, h1), both), []string{"approved", "request_changes"}, false},
		"an official one under an unofficial":   {history(review("a", changes, changes, h1), review(sec, approved, approved, h1, official(false)), both), []string{"request_changes"}, false},
		"dismissed":                             {history(review(sec, changes, changes, h1), dismiss(1)), []string{}, false},
		"re-requested":                          {history(review(sec, changes, changes, h1), rerequest), []string{}, false},
		"others' reviews":                       {history(by(stranger, RowRequestChanges, "No.")), []string{}, false},
		"unofficial":                            {history(unofficial, review(sec, approved, approved, h1)), []string{"approved"}, true},
		"unofficial: the newest":                {history(unofficial, review(sec, approved, approved, h1), review("a", changes, changes, h1)), []string{"request_changes"}, true},
		"unofficial, dismissed":                 {history(unofficial, review(sec, changes, changes, h1), dismiss(1)), []string{}, true},
		"a request before the review":           {history(unofficial, request(Entry{Subject: me}), review(sec, approved, approved, h1)), []string{"approved"}, true},
		"a request that was taken back":         {history(unofficial, review(sec, approved, approved, h1), request(Entry{Subject: me, Removed: true})), []string{"approved"}, true},
		"a request for somebody else":           {history(unofficial, review(sec, approved, approved, h1), request(Entry{Subject: person})), []string{"approved"}, true},
		"a request, the review's entry deleted": {history(review(sec, changes, changes, h1, entryDeleted), rerequest), []string{}, false},
		"a pending approval":                    {history(by(me, RowPending, "")), []string{}, false},
	} {
		g := tt.log.log().Gate()
		if d := cmp.Diff(tt.want, g.Names()); d != "" || g.Unofficial != tt.unofficial {
			t.Errorf("%s: unofficial is %v (-want +got):\n%s", promise, g.Unofficial, d)
		}
		for _, v := range []sentinel.Verdict{approved, changes, comment} {
			if want := slices.Contains(tt.want, string(v)); g.Has(v) != want || g.Is(v) != (want && len(tt.want) == 1) {
				t.Errorf("%s: Has(%s) is %v, Is is %v", promise, v, g.Has(v), g.Is(v))
			}
		}
		if g.Is(none) != (len(tt.want) == 0) {
			t.Errorf("%s: Is(none) is %v", promise, g.Is(none))
		}
	}
}

func TestWaiversInForce(t *testing.T) {
	f := history(review("a", changes, changes, h1, patchedTo(h2)), review(sec, changes, changes, h2), dismiss(2), review("b", changes, changes, h2))
	log := f.log()
	if w := log.Waivers(); len(w) != 1 || w[0].Row.ID != 2 || w[0].Entry.User != person {
		t.Fatalf("%+v", w)
	}
	for _, tt := range []struct {
		role, head string
		want       bool
	}{{sec, h2, true}, {"a", h2, true}, {"a", h1, false}, {"b", h2, false}, {sec, h1, false}, {"nobody", h2, false}} {
		if log.Waived(tt.role, tt.head) != tt.want {
			t.Errorf("Waived(%s, %s) is %v", tt.role, tt.head, !tt.want)
		}
	}
	// A review without a sentinel is the account's all the same.
	log = history(by(me, RowRequestChanges, "No."), dismiss(1)).log()
	if w := log.Waivers(); len(w) != 1 {
		t.Errorf("%+v", w)
	}
}

// Where a review's own entry was deleted, the clock decides, and in doubt the person's act counts.
func TestADismissalCountsThoughTheReviewsEntryIsGone(t *testing.T) {
	f := history(review(sec, changes, changes, h1, entryDeleted), dismiss(1))
	for late, want := range map[time.Duration]bool{-time.Second: false, 0: true, time.Second: true} {
		f.entries[1].Created = f.rows[0].Submitted.Add(late)
		if f.log().Waived(sec, h1) != want {
			t.Errorf("%v after the review: waived is %v", late, !want)
		}
	}
}

func TestNewLogLeavesItsInputAlone(t *testing.T) {
	f := history(review("a", approved, approved, h1), review(sec, changes, changes, h1))
	slices.Reverse(f.rows)
	slices.Reverse(f.entries)
	rows, entries := slices.Clone(f.rows), slices.Clone(f.entries)
	f.log()
	if !cmp.Equal(rows, f.rows) || !cmp.Equal(entries, f.entries) {
		t.Error("the lists were sorted in place")
	}
}
