package escalation

import (
	"fmt"
	"testing"

	"review-bot/sentinel"
)

// round is a review of sec that carries a count.
func round(n int, epoch int64, own, event sentinel.Verdict, head string, opts ...func(*forge, *Row)) step {
	return review(sec, own, event, head, append([]func(*forge, *Row){func(f *forge, r *Row) {
		body, s, _ := sentinel.Split(r.Body)
		s.Round, s.Epoch = n, epoch
		r.Body = body.With(s, key)
		*f.text(r.ID) = r.Body
	}}, opts...)...)
}

func reopened(f *forge) { reopenedBy(person)(f) }

func reopenedBy(user int64) step {
	return func(f *forge) { f.entry(Entry{Kind: EntryReopen, User: user}) }
}

// requestBy is a request for a review of the account.
func requestBy(by int64) step { return requestFor(by, me) }

func requestFor(by, whom int64) step {
	return func(f *forge) {
		f.entry(Entry{Kind: EntryReviewRequest, User: by, Login: fmt.Sprintf("user %d", by), Subject: whom})
	}
}

func unasked(by int64) step {
	return func(f *forge) { f.entry(Entry{Kind: EntryReviewRequest, User: by, Subject: me, Removed: true}) }
}

func dismissedBy(user, row int64) step {
	return func(f *forge) {
		dismiss(row)(f)
		f.entries[len(f.entries)-1].User = user
	}
}

// heard notes in a record which entry was the newest when the model was asked.
func heard(row, id int64) step {
	return func(f *forge) { f.edit(row, func(_ *sentinel.Body, s *sentinel.Sentinel) { s.Heard = id }) }
}

// carries adds fields to the sentinel that a review was posted with.
func carries(fields ...sentinel.Field) func(*forge, *Row) {
	return func(f *forge, r *Row) {
		body, s, _ := sentinel.Split(r.Body)
		s.Extra = append(s.Extra, fields...)
		r.Body = body.With(s, key)
		*f.text(r.ID) = r.Body
	}
}

// holes is a timeline that may lack entries.
func holes(f *forge) { f.holes = true }

// approval is an approval by somebody else. Entries are numbered from 101.
func approval(opts ...func(*Row)) step {
	return func(f *forge) {
		row := f.post(person, RowApproved, h1, "Fine with me.")
		row.Official = true
		for _, opt := range opts {
			opt(row)
		}
	}
}

func TestRoundsAreCountedSinceTheNewestReset(t *testing.T) {
	byBot := func(r *Row) {
		r.Body = sentinel.Body{Text: "Approved."}.With(sentinel.Sentinel{Role: "other", Version: 1, Kind: sentinel.KindVerdict, Own: approved,
			Event: approved, Head: h1, Run: "00112233445566778899aabbccddeeff"}, key)
	}
	for _, tt := range []struct {
		promise       string
		log           *forge
		epoch         int64
		rounds        int
		block, repeat int // with a request for changes at a new head, and at the same
		approve       int
	}{
		{"nothing yet", history(), 0, 0, 1, 1, 0},
		{"one round", history(round(1, 0, changes, changes, h1)), 0, 1, 2, 1, 1},
		{"escalations aren't its own", history(round(0, 0, approved, changes, h1)), 0, 0, 1, 1, 0},
		{"own again at the same head after an approval", history(round(2, 0, approved, approved, h1)), 0, 2, 3, 3, 2},
		{"reopened", history(round(2, 0, changes, changes, h1), reopened), 102, 0, 1, 1, 0},
		{"the newest reopening counts", history(round(2, 0, changes, changes, h1), reopened, reopened), 103, 0, 1, 1, 0},
		{"reopened before the count began", history(reopened, round(2, 101, changes, changes, h1)), 101, 2, 3, 2, 2},
		{"a reset that the log doesn't reach back to", history(round(2, 55, changes, changes, h1)), 55, 2, 3, 2, 2},
		{"a person dismissed the block", history(round(2, 0, changes, changes, h1), dismiss(1)), 102, 0, 1, 1, 0},
		{"a push dismissed an approval", history(round(2, 0, approved, approved, h1, dismissedByPush)), 0, 2, 3, 3, 2},
		{"a person dismissed a sibling's block",
			history(round(2, 0, changes, changes, h1), review("a", changes, changes, h1), dismiss(2)), 103, 0, 1, 1, 0},
		{"a person approved since", history(round(2, 0, changes, changes, h1), approval()), 102, 0, 1, 1, 0},
		{"a person approved before", history(approval(), round(2, 0, changes, changes, h1)), 0, 2, 3, 2, 2},
		{"a person approved before the review was edited",
			history(round(2, 0, changes, changes, h1), heard(1, 200), approval()), 0, 2, 3, 2, 2},
		{"an approval that isn't official",
			history(round(2, 0, changes, changes, h1), approval(func(r *Row) { r.Official = false })), 0, 2, 3, 2, 2},
		{"an approval that was dismissed",
			history(round(2, 0, changes, changes, h1), approval(func(r *Row) { r.Dismissed = true })), 0, 2, 3, 2, 2},
		{"an approval by another account of the bot",
			history(round(2, 0, changes, changes, h1), approval(byBot)), 0, 2, 3, 2, 2},
	} {
		log := tt.log.log()
		if e, n := log.Epoch(sec), log.Rounds(sec); e != tt.epoch || n != tt.rounds {
			t.Errorf("%s: epoch %d, %d rounds; want %d, %d", tt.promise, e, n, tt.epoch, tt.rounds)
		}
		got := [3]int{log.RoundsAt(sec, changes, true, h2), log.RoundsAt(sec, changes, true, h1),
			log.RoundsAt(sec, approved, false, h2)}
		if want := [3]int{tt.block, tt.repeat, tt.approve}; got != want {
			t.Errorf("%s: next, with a block at a new head, one at the same, an approval: %v, want %v", tt.promise, got, want)
		}
	}
}

// follows is a review that carries a count of follow-ups, for the last of which it
// was written.
func follows(n string) func(*forge, *Row) {
	return carries(sentinel.Field{Key: followUpsField, Value: n}, sentinel.Field{Key: followUpField, Value: "1"})
}

func TestLooks(t *testing.T) {
	for _, tt := range []struct {
		promise           string
		log               *forge
		head              string
		rounds, followUps int
		want              Look
	}{
		{"no review yet", history(), h2, 1, 1, FullLook},
		{"below", history(round(2, 0, changes, changes, h1)), h2, 3, 10, FullLook},
		{"at the limit", history(round(3, 0, changes, changes, h1)), h2, 3, 10, FollowUp},
		{"above it", history(round(4, 0, changes, changes, h1)), h2, 3, 10, FollowUp},
		{"no limit", history(round(9, 0, changes, changes, h1)), h2, 0, 10, FullLook},
		{"the last round's head, asked about again", history(round(3, 0, changes, changes, h1)), h1, 3, 10, FullLook},
		{"a head that was followed up, asked about again",
			history(round(3, 0, changes, changes, h1, follows("1"))), h1, 3, 10, FollowUp},
		{"and again at the last follow-up", history(round(3, 0, changes, changes, h1, follows("10"))), h1, 3, 10, FollowUp},
		{"counted again", history(round(3, 0, changes, changes, h1, follows("10")), reopened), h2, 3, 10, FullLook},
		{"approved and then pushed to", history(round(3, 0, approved, approved, h1, follows("10"))), h2, 3, 10, FullLook},
		{"a comment isn't an approval", history(round(3, 0, comment, comment, h1, follows("2"))), h2, 3, 10, FollowUp},
		{"the last follow-up but one", history(round(3, 0, changes, changes, h1, follows("9"))), h2, 3, 10, FollowUp},
		{"no more follow-ups", history(round(3, 0, changes, changes, h1, follows("10"))), h2, 3, 10, NoLook},
		{"follow-ups without a limit", history(round(3, 0, changes, changes, h1, follows("99"))), h2, 3, 0, FollowUp},
		{"the author asks for a look at a head without one",
			history(round(3, 0, changes, changes, h1, follows("10")), requestBy(author)), h2, 3, 10, FollowUp},
		{"or reopens it",
			history(round(3, 0, changes, changes, h1, follows("10")), reopenedBy(author)), h2, 3, 10, FollowUp},
		{"the author asked before the last look",
			history(requestBy(author), round(3, 0, changes, changes, h1, follows("10"))), h2, 3, 10, NoLook},
		{"or while the model was asked",
			history(round(3, 0, changes, changes, h1, follows("10")), requestBy(author), heard(1, 102)), h2, 3, 10, NoLook},
		{"a stranger asks",
			history(round(3, 0, changes, changes, h1, follows("10")), requestBy(stranger)), h2, 3, 10, NoLook},
		{"a maintainer asks",
			history(round(3, 0, changes, changes, h1, follows("10")), requestBy(person)), h2, 3, 10, FullLook},
		{"the timeline may lack entries",
			history(round(3, 0, changes, changes, h1, follows("10")), requestBy(person), requestBy(author), holes), h2, 3, 10,
			NoLook},
	} {
		if got := tt.log.log().Look(sec, tt.head, tt.rounds, tt.followUps); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.promise, got, tt.want)
		}
	}
}

func TestFollowUpsAreCounted(t *testing.T) {
	for _, tt := range []struct {
		promise string
		log     *forge
		look    Look
		head    string
		want    int
	}{
		{"none", history(round(2, 0, changes, changes, h1)), FullLook, h2, 0},
		{"the first", history(round(3, 0, changes, changes, h1)), FollowUp, h2, 1},
		{"the second", history(round(3, 0, changes, changes, h1, follows("1"))), FollowUp, h2, 2},
		{"the same head again", history(round(3, 0, changes, changes, h1, follows("1"))), FollowUp, h1, 1},
		{"whatever was found", history(round(3, 0, comment, comment, h1, follows("1"))), FollowUp, h2, 2},
		{"a full look in between", history(round(3, 0, approved, approved, h1, follows("4"))), FullLook, h2, 4},
		{"counted again", history(round(3, 0, changes, changes, h1, follows("4")), reopened), FollowUp, h2, 1},
		{"no number", history(round(3, 0, changes, changes, h1, follows("x"))), FollowUp, h2, 1},
	} {
		n, fields := tt.log.log().FollowUpsAt(sec, tt.look, tt.head)
		noted := sentinel.Sentinel{Extra: fields}
		if n != tt.want || (noted.Field(followUpField) != "") != (tt.look == FollowUp) {
			t.Errorf("%s: %d, noted %v, want %d", tt.promise, n, fields, tt.want)
		}
	}
}

// Who may have a reviewer look again, or count its rounds again.
func TestWhoIsHeard(t *testing.T) {
	for _, tt := range []struct {
		promise      string
		what         step
		asked, reset bool
	}{
		{"a maintainer asks for a review", requestBy(person), true, true},
		{"a maintainer reopens", reopened, true, true},
		{"a maintainer dismisses the block", dismiss(1), false, true},
		{"the author asks", requestBy(author), false, false},
		{"the author reopens", reopenedBy(author), false, false},
		{"the author, who is an admin, dismisses the block", dismissedBy(author, 1), false, false},
		{"a stranger asks", requestBy(stranger), false, false},
		{"the account itself asks", requestBy(me), false, false},
		{"a maintainer asks somebody else", requestFor(person, stranger), false, false},
		{"a maintainer takes a request back", unasked(person), false, false},
	} {
		log := history(round(3, 0, changes, changes, h1), tt.what).log()
		cur, _ := log.Current(sec)
		if asked, reset := log.AskedAgain(cur), log.Rounds(sec) == 0; asked != tt.asked || reset != tt.reset {
			t.Errorf("%s: asks for a look: %v, want %v; counts again: %v, want %v", tt.promise, asked, tt.asked, reset, tt.reset)
		}
		hidden := history(round(3, 0, changes, changes, h1), tt.what, holes).log()
		if hidden.AskedAgain(cur) || hidden.Rounds(sec) == 0 {
			t.Errorf("%s: concluded from a timeline that may lack entries", tt.promise)
		}
		if later := history(round(3, 0, changes, changes, h1), tt.what, heard(1, 500)).log(); later.AskedAgain(later.Records[0]) {
			t.Errorf("%s: heard twice", tt.promise)
		}
	}
}

func TestWhoHasToBeLookedUp(t *testing.T) {
	log := history(round(1, 0, changes, changes, h1), requestBy(stranger), requestBy(author), requestBy(me), reopened,
		requestFor(7777, stranger), requestBy(person), requestBy(stranger)).log()
	if got := log.Askers(sec, 10); len(got) != 2 || got[stranger] != "user 8" || got[person] != "user 9" {
		t.Errorf("%v", got)
	}
	if got := log.Askers(sec, 1); len(got) != 1 || got[stranger] == "" {
		t.Errorf("of the newest one: %v", got)
	}
	if got := history(round(1, 0, changes, changes, h1), requestBy(person), heard(1, 102)).log().Askers(sec, 10); len(got) != 0 {
		t.Errorf("heard already: %v", got)
	}
	if got := history(requestBy(person)).log().Askers(sec, 10); len(got) != 0 {
		t.Errorf("without a record: %v", got)
	}
}

func TestTheHandOffIsSaidOncePerCount(t *testing.T) {
	mark := sentinel.Handoff{Role: sec, Epoch: 0}
	said := func(by int64, h sentinel.Handoff) step {
		return func(f *forge) { f.entry(Entry{Kind: EntryComment, User: by, Body: "Over to you.\n\n" + h.String()}) }
	}
	for _, tt := range []struct {
		promise string
		log     *forge
		want    []string
	}{
		{"not yet", history(round(3, 0, changes, changes, h1)), []string{"say"}},
		{"said", history(round(3, 0, changes, changes, h1), said(me, mark)), nil},
		{"by somebody else", history(round(3, 0, changes, changes, h1), said(stranger, mark)), []string{"say"}},
		{"of another role",
			history(round(3, 0, changes, changes, h1), said(me, sentinel.Handoff{Role: "a"})), []string{"say"}},
		{"of another count",
			history(round(3, 0, changes, changes, h1), said(me, sentinel.Handoff{Role: sec, Epoch: 9})), []string{"say"}},
		{"the gate goes first",
			history(round(3, 0, changes, changes, h1), rerequest), []string{"post verdict request_changes 0 inline", "say"}},
	} {
		tt.log.head = h2
		cfg := &Config{Account: me, Author: person, Key: key, Nonce: "n", Seen: tt.log.log(),
			Handoff: &Handover{mark, func(review string) string { return "Over to you: " + review }}}
		got := tt.log.publish(t, cfg, false)
		if len(got) != len(tt.want) || len(got) > 0 && got[len(got)-1] != tt.want[len(tt.want)-1] {
			t.Errorf("%s: %q, want %q", tt.promise, got, tt.want)
		}
		if again := tt.log.publish(t, cfg, false); len(again) > 0 {
			t.Errorf("%s: the second run writes %q", tt.promise, again)
		}
	}
}

func TestRoundsOfAnyReviewer(t *testing.T) {
	by := func(author int64, state RowState, commit string, opts ...func(*Row)) step {
		return func(f *forge) {
			row := f.post(author, state, commit, "Words.")
			row.Official = true
			for _, opt := range opts {
				opt(row)
			}
		}
	}
	gone := func(r *Row) { r.CommentID = 0 }
	for _, tt := range []struct {
		promise string
		log     *forge
		want    int
	}{
		{"nothing", history(), 0},
		{"two heads", history(by(stranger, RowRequestChanges, h1), by(stranger, RowRequestChanges, h2)), 2},
		{"the same head twice", history(by(stranger, RowRequestChanges, h1), by(stranger, RowRequestChanges, h1)), 1},
		{"and back to the first",
			history(by(stranger, RowRequestChanges, h1), by(stranger, RowRequestChanges, h2),
				by(stranger, RowRequestChanges, h1)), 2},
		{"approvals and comments don't count",
			history(by(stranger, RowRequestChanges, h1), by(stranger, RowApproved, h2), by(stranger, RowComment, h3)), 1},
		{"nor what others say", history(by(stranger, RowRequestChanges, h1), by(me, RowRequestChanges, h2)), 1},
		{"nor what names no commit, or was taken from the timeline",
			history(by(stranger, RowRequestChanges, ""), by(stranger, RowRequestChanges, h2, gone)), 0},
		{"reopened", history(by(stranger, RowRequestChanges, h1), reopened, by(stranger, RowRequestChanges, h2)), 1},
		{"dismissed", history(by(stranger, RowRequestChanges, h1), dismiss(1), by(stranger, RowRequestChanges, h2)), 1},
		{"somebody else's was dismissed",
			history(by(me, RowRequestChanges, h1), by(stranger, RowRequestChanges, h1), dismiss(1)), 1},
		{"a person's approval since", history(by(stranger, RowRequestChanges, h1), approval()), 0},
		{"a person's approval in between",
			history(by(stranger, RowRequestChanges, h1), approval(), by(stranger, RowRequestChanges, h2)), 1},
	} {
		if got := CountRounds(stranger, 0, nil, tt.log.rows, tt.log.entries); got != tt.want {
			t.Errorf("%s: %d rounds, want %d", tt.promise, got, tt.want)
		}
	}
}
