package escalation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"review-bot/sentinel"
)

var (
	roleNames = []string{sec, "a", "b"}
	heads     = []string{h1, h2, h3}
	verdicts  = []sentinel.Verdict{approved, changes, comment}
)

// pick draws one of a few values.
func pick[T any](t *rapid.T, name string, from ...T) T {
	return from[rapid.IntRange(0, len(from)-1).Draw(t, name)]
}

// anyForge draws what may stand on a pull request, possible or not: the account
// may be official or not, people edit, dismiss, delete and ask, jobs die.
func anyForge(t *rapid.T) *forge {
	f := history()
	f.unofficial, f.inline = rapid.IntRange(0, 4).Draw(t, "unofficial") == 0, rapid.Bool().Draw(t, "inline")
	for range rapid.IntRange(0, 8).Draw(t, "steps") {
		row := func() int64 {
			var mine []int64
			for _, r := range f.rows {
				if r.Author == me {
					mine = append(mine, r.ID)
				}
			}
			if len(mine) == 0 {
				return 0
			}
			return pick(t, "row", mine...)
		}
		kind := pick(t, "step", "review", "review", "review", "review", "dismiss", "undismiss", "request", "edit", "delete", "retire", "official", "pending", "stranger", "flip")
		switch kind {
		case "review":
			anyReview(t)(f)
			continue
		case "request":
			rerequest(f)
			continue
		case "pending":
			by(me, RowPending, "")(f)
			continue
		case "stranger":
			by(stranger, RowRequestChanges, "No.")(f)
			continue
		}
		id := row()
		if id == 0 {
			continue
		}
		r := &f.rows[id-1]
		switch {
		case kind == "dismiss":
			dismiss(id)(f)
		case kind == "undismiss":
			undismiss(id)(f)
		case kind == "official" && !f.unofficial && (r.State == RowApproved || r.State == RowRequestChanges):
			r.Official, r.Dismissed = true, false
		case r.CommentID == 0 || r.State == RowPending:
		case kind == "edit":
			edited(f, r)
		case kind == "flip":
			flipped("own=request_changes", "own=approved")(f, r)
		case kind == "delete":
			entryDeleted(f, r)
		case kind == "retire":
			state(sentinel.Retired)(f, r)
		}
	}
	return f
}

func anyReview(t *rapid.T) step {
	own := pick(t, "own", verdicts...)
	var opts []func(*forge, *Row)
	switch pick(t, "option", "", "", "", "superseded", "patched", "edited", "gone", "advisory") {
	case "advisory":
		if own == comment {
			opts = append(opts, advises)
		}
	case "superseded":
		opts = append(opts, state(sentinel.Superseded))
	case "patched":
		opts = append(opts, patchedTo(pick(t, "patched to", heads...)))
	case "edited":
		opts = append(opts, edited)
	case "gone":
		opts = append(opts, entryDeleted)
	}
	return review(pick(t, "role", roleNames...), own, pick(t, "event", verdicts...), pick(t, "head", heads...), opts...)
}

func anySituation(t *rapid.T, log Log) (Situation, string) {
	text := pick(t, "text", says(sec), "Something new.")
	rare := func(name string) bool { return rapid.IntRange(0, 7).Draw(t, name) == 0 }
	s := Situation{
		Log: log, Role: pick(t, "acting", roleNames...),
		Judgement: Verdict{Own: pick(t, "judged", verdicts...), Head: pick(t, "at", heads...), Body: sentinel.Body{Text: text}}.Judgement(),
		Closed:    rare("closed"), Draft: rare("draft"), OwnPull: rare("own pull"), Advisory: rare("advisory"),
		NoApprove: rare("no approve"), RepostStale: rare("repost stale"),
	}
	s.Head = s.Judgement.Head
	if rare("head moved") {
		s.Head = h3
	}
	if rare("siblings") {
		s.Siblings = roleNames
	}
	return s, text
}

func TestPromisesOfEveryDecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyForge(t)
		s, _ := anySituation(t, f.log())
		a := Decide(s)
		desired := Desired(s)

		if again := Decide(s); !cmp.Equal(a, again) {
			t.Fatalf("decided twice:\n%s\n%s", describe(a), describe(again))
		}
		if a.Outcome == "" {
			t.Fatal("no outcome")
		}
		if a.Post != "" && a.Patch != nil {
			t.Fatalf("a POST and a PATCH: %s", describe(a))
		}
		if a.Writes() && (a.Outcome == Closed || a.Outcome == Draft) {
			t.Fatalf("a write where there must be none: %s", describe(a))
		}
		if a.Outcome == HeadMoved {
			if rest := Rest(s); describe(Action{Post: rest.Post, Hold: rest.Hold, Withdraw: rest.Withdraw, Supersede: rest.Supersede}) !=
				describe(Action{Post: a.Post, Hold: a.Hold, Withdraw: a.Withdraw, Supersede: a.Supersede}) || a.Patch != nil || a.Post != "" && a.Post != changes {
				t.Fatalf("without a verdict on the head it is %s", describe(a))
			}
			return
		}
		if a.Hold != "" && (!a.Withdraw || !s.Log.Gate().Has(approved) && !s.Log.Gate().Latent) {
			t.Fatalf("a hold where nothing is approved, or one that stays: %s", describe(a))
		}
		if desired.Event != approved && a.Post == approved || s.NoApprove && a.Post == approved {
			t.Fatalf("D is %s, and it is %s", desired.Event, describe(a))
		}
		if s.Advisory && a.Recorded {
			if rest := Rest(s); a.Post != changes || describe(a) != describe(rest) {
				t.Fatalf("an advisory role says for the others %s", describe(a))
			}
			return
		}
		if (s.Advisory || s.OwnPull) && a.Post != "" && a.Post != comment {
			t.Fatalf("it doesn't gate, and it is %s", describe(a))
		}
		if a.As != "" && a.As != s.Role {
			t.Fatalf("as %s, for %s", a.As, s.Role)
		}
		if a.Patch != nil {
			if a.Patch.Own() != s.Judgement.Own || a.Patch.Role() != s.Role || a.Patch.Edited || a.Patch.Row.CommentID == 0 {
				t.Fatalf("%s: a PATCH of %+v", describe(a), a.Patch)
			}
			if cur, _ := s.Log.Current(s.Role); cur.Row.ID != a.Patch.Row.ID {
				t.Fatalf("%s, and the current record is %d", describe(a), cur.Row.ID)
			}
		}
		seen := map[int64]bool{}
		for _, r := range a.Supersede {
			if r.Row.State == RowRequestChanges || r.Edited || r.Row.CommentID == 0 || r.Role() != s.Role || r.Sentinel.State != sentinel.Live || seen[r.Row.ID] {
				t.Fatalf("%s: supersedes %+v", describe(a), r)
			}
			// POST first, then supersede: what is current goes only when it is replaced.
			if cur, _ := s.Log.Current(s.Role); cur.Row.ID == r.Row.ID && a.Post == "" {
				t.Fatalf("%s: supersedes the current record, and posts none", describe(a))
			}
			seen[r.Row.ID] = true
		}
	})
}

// At rest, running a job again writes nothing (I5), and the gate says what the
// roles say as far as one role can see to it (I1, I2).
func TestDoneMeansDone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyForge(t)
		s, text := anySituation(t, f.log())
		// As a publication does with what a model has just said.
		s.Judgement.Note.Extra = s.Log.noteWaivers(s.Role, s.Judgement.Note.Heard, s.Judgement.Note.Extra)
		first := Decide(s)
		before := slices.Clone(f.rows)
		f.apply(first, s, text)
		s.Log = f.log()
		if s.Advisory && first.Recorded { // a block that was lost goes before the role's comment
			first = Decide(s)
			f.apply(first, s, text)
			s.Log = f.log()
		}
		if again := Decide(s); again.Writes() {
			t.Fatalf("first %s (%s)\nthen %s (%s)", describe(first), first.Reason, describe(again), again.Reason)
		}
		for i, r := range before { // I4
			if f.rows[i].ID != r.ID || f.rows[i].Body != r.Body {
				t.Fatalf("row %d isn't what it was", r.ID)
			}
		}
		if s.Closed || s.Draft || s.OwnPull || s.Advisory || s.Head != s.Judgement.Head {
			return
		}
		d, gate := Desired(s), s.Log.Gate()
		s.Siblings = nil
		if all := Desired(Situation{Log: s.Log, Head: s.Head, Against: s.Against}); all.Event != Desired(s).Event {
			t.Fatalf("D is %s for the role, and %s for reconcile, after %s", Desired(s).Event, all.Event, describe(first))
		}
		if d.Event == changes != gate.Is(changes) && !gate.Unofficial && !d.Waiting {
			t.Fatalf("D = %s, the gate is %v after %s", d.Event, gate.Names(), describe(first))
		}
		if d.Event == changes && !gate.Is(changes) {
			t.Fatalf("somebody blocks, and the gate is %v after %s", gate.Names(), describe(first))
		}
		if d.Event == approved && !s.NoApprove && !gate.Is(approved) {
			t.Fatalf("the gate is %v after %s", gate.Names(), describe(first))
		}
		if d.Event != approved && gate.Has(approved) && !gate.Unofficial {
			t.Fatalf("D = %s, and it stands approved after %s", d.Event, describe(first))
		}
		if cur, ok := s.Log.Current(s.Role); !ok || cur.Own() != s.Judgement.Own || cur.Head() != s.Head { // I3
			t.Fatalf("after %s the role's own verdict isn't in the log: %+v", describe(first), cur.Sentinel)
		}
	})
}

// truth is what the roles found and what people waived, apart from how the bot
// writes it down: the judge over whole histories.
type truth struct {
	open   map[string][]string       // by role: ids of the findings for which it requests changes
	waived map[int64]map[string]bool // ids, by the review that was dismissed
	undone bool                      // a dismissal was taken back
}

func (w truth) blocks(role string) bool {
	return slices.ContainsFunc(w.open[role], func(id string) bool {
		for _, ids := range w.waived {
			if ids[id] {
				return false
			}
		}
		return true
	})
}

// finds is what a role found: a verdict that says which findings are open, and which
// of them were waived before, as a run writes it.
func finds(log Log, role, head, text string, ids []string) Judgement {
	d := log.Dismissals(role)
	v := Verdict{Own: approved, Head: head, Heard: log.Newest(), Body: sentinel.Body{Text: text}, Extra: sentinel.IDFields(sentinel.OpenIDs, ids)}
	if len(ids) > 0 {
		v.Own = changes
		v.Extra = append(v.Extra, sentinel.IDFields(BlockIDs, ids)...)
	}
	known := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !d.IDs[id] })
	v.Extra = append(v.Extra, WaivedFields(known, d.By)...)
	return v.Judgement()
}

// inForce reports whether a review is the account's newest verdict.
func (f *forge) inForce(row int64) bool {
	for _, r := range slices.Backward(f.rows) {
		if r.Author == me && (r.State == RowApproved || r.State == RowRequestChanges) {
			return r.ID == row
		}
	}
	return false
}

// Jobs one after the other, pushes, dismissals, some of which are taken back, and
// re-requests between them: after each job the gate is what the roles really found,
// and what people really waived. What was waived together ends together: so once a
// dismissal was taken back, more may block than has to.
func TestGateIsTheTruthAfterEveryJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := truth{open: map[string][]string{}, waived: map[int64]map[string]bool{}}
		f, n, dismissed := history(), 1, false
		f.inline = rapid.Bool().Draw(t, "inline")
		var story []string
		for range rapid.IntRange(1, 14).Draw(t, "steps") {
			switch pick(t, "step", "job", "job", "job", "job", "push", "dismiss", "undismiss", "request", "edit") {
			case "undismiss":
				id := int64(rapid.IntRange(0, len(f.rows)).Draw(t, "undismissed"))
				if id == 0 || !f.rows[id-1].Dismissed {
					continue
				}
				undismiss(id)(f)
				delete(w.waived, id)
				w.undone = true
				story = append(story, fmt.Sprintf("undismiss %d", id))
			case "push":
				n++
				f.head = head(n)
				story = append(story, "push")
			case "request":
				rerequest(f)
				story = append(story, "request")
			case "edit":
				// A text that was edited after a dismissal may be one that the person didn't see.
				if len(f.rows) > 0 && !dismissed {
					r := &f.rows[rapid.IntRange(0, len(f.rows)-1).Draw(t, "edited")]
					edited(f, r)
					story = append(story, fmt.Sprintf("edit %d", r.ID))
				}
			case "dismiss":
				var open []Record
				for _, r := range f.log().Records {
					if r.Row.State == RowRequestChanges && !r.Row.Dismissed && !r.Edited {
						open = append(open, r)
					}
				}
				if len(open) == 0 {
					continue
				}
				r := pick(t, "dismissed", open...)
				counts := f.inForce(r.Row.ID)
				dismiss(r.Row.ID)(f)
				dismissed = true
				story = append(story, fmt.Sprintf("dismiss %d (in force: %v)", r.Row.ID, counts))
				if !counts {
					continue
				}
				w.waived[r.Row.ID] = map[string]bool{}
				for _, ids := range w.open {
					for _, id := range ids {
						w.waived[r.Row.ID][id] = true
					}
				}
			case "job":
				role := pick(t, "role", roleNames...)
				var ids []string
				for i := range 3 {
					if rapid.IntRange(0, 3).Draw(t, "finding") == 0 {
						ids = append(ids, fmt.Sprintf("%08x", 16*slices.Index(roleNames, role)+i))
					}
				}
				text := pick(t, "text", says(role), "Something new.")
				s := Situation{Log: f.log(), Role: role, Head: f.head, Judgement: finds(f.log(), role, f.head, text, ids)}
				a := Decide(s)
				f.apply(a, s, text)
				for _, id := range w.open[role] {
					for _, waived := range w.waived {
						// One that was closed, and comes back, is no more waived.
						waived[id] = waived[id] && slices.Contains(ids, id)
					}
				}
				w.open[role] = ids
				story = append(story, fmt.Sprintf("%s finds %s: %s", role, ids, describe(a)))

				want := []string{}
				switch waived := slices.ContainsFunc(roleNames, func(r string) bool { return len(w.open[r]) > 0 && !w.blocks(r) }); {
				case slices.ContainsFunc(roleNames, w.blocks):
					want = []string{"request_changes"}
				case len(ids) == 0 && !waived:
					want = []string{"approved"}
				case w.undone:
					continue
				}
				if got := f.log().Gate().Names(); !slices.Equal(got, want) {
					t.Fatalf("the gate is %v, want %v, after\n%s", got, want, strings.Join(story, "\n"))
				}
			}
		}
	})
}

func TestWhatOthersWriteChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyForge(t)
		s, _ := anySituation(t, f.log())
		before := Decide(s)

		// The same history, and strangers' reviews besides, with sentinels right
		// down to the code.
		rows, entries := slices.Clone(f.rows), slices.Clone(f.entries)
		for i := range rapid.IntRange(1, 3).Draw(t, "foreign") {
			own, role := pick(t, "foreign own", verdicts...), pick(t, "foreign role", roleNames...)
			b, sen := f.verdict(role, own, own, pick(t, "foreign head", heads...), says(role))
			body := b.With(sen, key)
			id := int64(1000 + i)
			rows = append(rows, Row{ID: id, Author: stranger, State: rowState[own], Body: body, Official: rapid.Bool().Draw(t, "official"), CommentID: id, Commit: h1})
			entries = append(entries, Entry{ID: id, Kind: EntryReview, Review: id, Body: body, User: stranger})
			if rapid.Bool().Draw(t, "dismissed") {
				rows[len(rows)-1].Dismissed = true
				entries = append(entries, Entry{ID: id + 100, Kind: EntryDismiss, Review: id, User: person})
			}
		}
		log := NewLog(me, rows, entries, key)
		if len(log.Ignored) <= len(s.Log.Ignored) {
			t.Fatal("they aren't counted as ignored")
		}
		if !cmp.Equal(s.Log.Rows, log.Rows) || !cmp.Equal(s.Log.Records, log.Records) {
			t.Fatal("they are in the log")
		}
		s.Log = log
		if after := Decide(s); !cmp.Equal(before, after) {
			t.Fatalf("before %s\nafter %s", describe(before), describe(after))
		}
	})
}

// Judged by their events, two escalated roles would hold each other for ever.
func TestSiblingsEventsDontSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyForge(t)
		s, _ := anySituation(t, f.log())
		before := Desired(s)
		dismissed := map[int64]bool{} // what a person dismissed must stay what it was
		for _, w := range f.entries {
			if w.Kind == EntryDismiss {
				dismissed[w.Review] = true
			}
		}
		log := s.Log
		log.Rows, log.Records = slices.Clone(log.Rows), slices.Clone(log.Records)
		for i := range log.Records {
			r := &log.Records[i]
			if r.Role() == s.Role || dismissed[r.Row.ID] {
				continue
			}
			events := verdicts
			if r.Row.State != RowComment {
				events = []sentinel.Verdict{approved, changes}
			} else if len(dismissed) > 0 {
				continue // a verdict there would say that the dismissed one wasn't in force
			}
			r.Sentinel.Event = pick(t, "event", events...)
			r.Row.State = rowState[r.Sentinel.Event]
			for j := range log.Rows {
				if log.Rows[j].ID == r.Row.ID {
					log.Rows[j].State = r.Row.State
				}
			}
		}
		s.Log = log
		if after := Desired(s); after.Event != before.Event || after.Waived != before.Waived || len(after.Blockers) != len(before.Blockers) {
			t.Fatalf("D was %s, and is %s", before.Event, after.Event)
		}
	})
}

// The acting role's own record doesn't count once it has judged again.
func TestTheFreshVerdictReplacesTheRecord(t *testing.T) {
	s := judge(approved, h2)
	s.Log = history(review(sec, changes, changes, h1), review("a", approved, approved, h1)).log()
	if d := Desired(s); d.Event != approved {
		t.Errorf("D = %s", d.Event)
	}
}
