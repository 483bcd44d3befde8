package escalation

import (
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

func reopened(f *forge) { f.entry(Entry{Kind: EntryReopen, User: person}) }

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
	heard := func(id int64) func(*forge, *Row) {
		return func(f *forge, r *Row) {
			f.edit(r.ID, func(_ *sentinel.Body, s *sentinel.Sentinel) { s.Heard = id })
		}
	}
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
		{"a person dismissed a sibling's block", history(round(2, 0, changes, changes, h1), review("a", changes, changes, h1), dismiss(2)), 103, 0, 1, 1, 0},
		{"a person approved since", history(round(2, 0, changes, changes, h1), approval()), 102, 0, 1, 1, 0},
		{"a person approved before", history(approval(), round(2, 0, changes, changes, h1)), 0, 2, 3, 2, 2},
		{"a person approved before the review was edited", history(round(2, 0, changes, changes, h1, heard(200)), approval()), 0, 2, 3, 2, 2},
		{"an approval that isn't official", history(round(2, 0, changes, changes, h1), approval(func(r *Row) { r.Official = false })), 0, 2, 3, 2, 2},
		{"an approval that was dismissed", history(round(2, 0, changes, changes, h1), approval(func(r *Row) { r.Dismissed = true })), 0, 2, 3, 2, 2},
		{"an approval by another account of the bot", history(round(2, 0, changes, changes, h1), approval(byBot)), 0, 2, 3, 2, 2},
	} {
		log := tt.log.log()
		if e, n := log.Epoch(sec), log.Rounds(sec); e != tt.epoch || n != tt.rounds {
			t.Errorf("%s: epoch %d, %d rounds; want %d, %d", tt.promise, e, n, tt.epoch, tt.rounds)
		}
		got := [3]int{log.RoundsAt(sec, changes, h2), log.RoundsAt(sec, changes, h1), log.RoundsAt(sec, approved, h2)}
		if want := [3]int{tt.block, tt.repeat, tt.approve}; got != want {
			t.Errorf("%s: next, with a block at a new head, one at the same, an approval: %v, want %v", tt.promise, got, want)
		}
	}
}

func TestTheCap(t *testing.T) {
	for _, tt := range []struct {
		promise string
		log     *forge
		head    string
		most    int
		want    bool
	}{
		{"below", history(round(2, 0, changes, changes, h1)), h2, 3, false},
		{"at it", history(round(3, 0, changes, changes, h1)), h2, 3, true},
		{"above", history(round(4, 0, changes, changes, h1)), h2, 3, true},
		{"the same head may be asked about again", history(round(3, 0, changes, changes, h1)), h1, 3, false},
		{"off", history(round(9, 0, changes, changes, h1)), h2, 0, false},
		{"no review yet", history(), h2, 1, false},
		{"counted anew", history(round(3, 0, changes, changes, h1), reopened), h2, 3, false},
		{"approved in the end", history(round(3, 0, approved, approved, h1)), h2, 3, true},
	} {
		if got := tt.log.log().Capped(sec, tt.head, tt.most); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.promise, got, tt.want)
		}
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
		{"of another role", history(round(3, 0, changes, changes, h1), said(me, sentinel.Handoff{Role: "a"})), []string{"say"}},
		{"of another count", history(round(3, 0, changes, changes, h1), said(me, sentinel.Handoff{Role: sec, Epoch: 9})), []string{"say"}},
		{"the gate goes first", history(round(3, 0, changes, changes, h1), rerequest), []string{"post verdict request_changes 0 inline", "say"}},
	} {
		tt.log.head = h2
		cfg := &Config{Account: me, Author: person, Key: key, Nonce: "n", Seen: tt.log.log(), Handoff: &Handover{mark, "Over to you."}}
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
		{"and back to the first", history(by(stranger, RowRequestChanges, h1), by(stranger, RowRequestChanges, h2), by(stranger, RowRequestChanges, h1)), 2},
		{"approvals and comments don't count", history(by(stranger, RowRequestChanges, h1), by(stranger, RowApproved, h2), by(stranger, RowComment, h3)), 1},
		{"nor what others say", history(by(stranger, RowRequestChanges, h1), by(me, RowRequestChanges, h2)), 1},
		{"nor what names no commit, or was taken from the timeline", history(by(stranger, RowRequestChanges, ""), by(stranger, RowRequestChanges, h2, gone)), 0},
		{"reopened", history(by(stranger, RowRequestChanges, h1), reopened, by(stranger, RowRequestChanges, h2)), 1},
		{"dismissed", history(by(stranger, RowRequestChanges, h1), dismiss(1), by(stranger, RowRequestChanges, h2)), 1},
		{"somebody else's was dismissed", history(by(me, RowRequestChanges, h1), by(stranger, RowRequestChanges, h1), dismiss(1)), 1},
		{"a person's approval since", history(by(stranger, RowRequestChanges, h1), approval()), 0},
		{"a person's approval in between", history(by(stranger, RowRequestChanges, h1), approval(), by(stranger, RowRequestChanges, h2)), 1},
	} {
		if got := CountRounds(stranger, tt.log.rows, tt.log.entries); got != tt.want {
			t.Errorf("%s: %d rounds, want %d", tt.promise, got, tt.want)
		}
	}
}
