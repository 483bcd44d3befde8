package escalation

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"review-bot/sentinel"
)

// takenBack is an approval of h1 that was taken back at h2.
func takenBack() *forge {
	return history(review(sec, approved, approved, h1), held(h2), func(f *forge) { f.withdraw(me) })
}

func restored() *forge { f := takenBack(); unrequest(f); return f }

// What a run does that ends without a verdict on the head, and what reconcile does.
func TestWithoutAVerdictOnTheHead(t *testing.T) {
	official := func(f *forge, r *Row) { r.Official, r.Dismissed = true, false }
	pushDismissed := review(sec, approved, approved, h1, dismissedByPush)
	for promise, tt := range map[string]struct {
		log             *forge
		rest, reconcile string
	}{
		"nothing there":        {history(), "skipped", "skipped"},
		"the head is approved": {history(review(sec, approved, approved, h2)), "skipped", "skipped"},
		"an older head is": {
			history(review(sec, approved, approved, h1)), "reposted, hold, withdraw", "reposted, hold, withdraw",
		},
		"and the head by a sibling": {
			history(review(sec, approved, approved, h1), review("a", approved, approved, h2)), "skipped", "skipped",
		},
		"and the head isn't quite": {
			history(review(sec, approved, approved, h1), review("a", comment, comment, h2)), "reposted, hold, withdraw",
			"reposted, hold, withdraw",
		},
		"an approval, cleared": {
			history(review(sec, approved, approved, h1), rerequest), "reposted, hold, withdraw", "reposted, hold, withdraw",
		},
		"cleared, of the head": {
			history(review(sec, approved, approved, h2), rerequest), "skipped", "reposted, post approved, supersede 1",
		},
		"dismissed by a push":      {history(pushDismissed), "skipped", "skipped"},
		"dismissed, and cleared":   {history(pushDismissed, rerequest), "skipped", "skipped"},
		"of an unofficial account": {history(unofficial, review(sec, approved, approved, h1)), "skipped", "skipped"},
		"a role blocks":            {history(review(sec, changes, changes, h1)), "skipped", "skipped"},
		"a role blocks, cleared": {
			history(review(sec, changes, changes, h1), rerequest), "reposted, post request_changes",
			"reposted, post request_changes",
		},
		"a block that was never said": {
			history(review(sec, changes, comment, h1)), "reposted, post request_changes, supersede 1",
			"reposted, post request_changes, supersede 1",
		},
		"under a sibling's approval": {
			history(review("a", changes, changes, h1), review(sec, approved, approved, h1)),
			"reposted, post request_changes, supersede 2", "reposted, post request_changes, supersede 2",
		},
		"a waived block": {history(review(sec, changes, changes, h1), dismiss(1)), "waived", "waived"},
		"waived, and a block in force": {
			history(review("a", changes, changes, h1), dismiss(1), review(sec, approved, changes, h1)), "waived",
			"waived, withdraw",
		},
		"approved, both in force": {
			history(review("a", approved, changes, h1), review(sec, approved, approved, h1, official)),
			"reposted, hold, withdraw", "reposted, hold, withdraw",
		},
		"taken back":             {takenBack(), "skipped", "skipped"},
		"brought back: the hold": {restored(), "skipped", "skipped"},
		"and a role blocks": {
			history(review("a", changes, comment, h2), held(h2)), "reposted, post request_changes, supersede 1",
			"reposted, post request_changes, supersede 1",
		},
		"and a role approves the head": {
			history(review(sec, approved, comment, h2), held(h2)), "skipped", "reposted, post approved, supersede 1",
		},
		"and a role is undecided": {
			history(review(sec, comment, comment, h2), held(h2)), "skipped", "reposted, withdraw",
		},
		"a hold that was dismissed": {
			history(review("a", changes, comment, h2), held(h2), dismiss(2)), "reposted, post request_changes, supersede 1",
			"reposted, post request_changes, supersede 1",
		},
	} {
		s := Situation{Log: tt.log.log(), Head: h2}
		if got := describe(Rest(s)); got != tt.rest {
			t.Errorf("%s: a run %s, want %s", promise, got, tt.rest)
		}
		if got := describe(Reconcile(s, "")); got != tt.reconcile {
			t.Errorf("%s: reconcile %s, want %s", promise, got, tt.reconcile)
		}
	}
	for _, s := range []Situation{{Closed: true}, {OwnPull: true}} {
		s.Log, s.Head = history(review(sec, approved, approved, h1)).log(), h2
		if a := Rest(s); a.Writes() {
			t.Errorf("%s", describe(a))
		}
	}
}

// A role's verdict takes a hold's place, which is no verdict of anybody.
func TestAVerdictAfterAHold(t *testing.T) {
	decide(t, []decision{
		{"approves", restored(), judge(approved, h2), approved, "reposted, post approved, supersede 1"},
		{
			"approves, while it is taken back", takenBack(), judge(approved, h2), approved,
			"reposted, post approved, supersede 1",
		},
		{"blocks", restored(), judge(changes, h2), changes, "reposted, post request_changes, supersede 1"},
		{"says neither", restored(), judge(comment, h2), none, "reposted, post comment, supersede 1, withdraw"},
		{"a sibling blocks", func() *forge {
			f := restored()
			review("a", changes, comment, h1)(f)
			return f
		}(), judge(approved, h2), changes, "reposted, post request_changes, supersede 1"},
		{
			"dismissed, it waives nothing", history(review(sec, approved, approved, h1), held(h2), dismiss(2)),
			judge(changes, h2), changes, "reposted, post request_changes, supersede 1",
		},
		{"no-approve", restored(), judge(approved, h2, noApprove), approved, "patched, patch 1, withdraw"},
		{"waits for siblings", restored(), judge(approved, h2, siblings("a")), none, "patched, patch 1"},
	})
	log := history(held(h1), dismiss(1)).log()
	if len(log.Waivers()) != 0 || log.Epoch(sec) != 0 || len(log.Records) != 0 {
		t.Error("a dismissed hold waives, starts a count or is a record")
	}
	if n := CountRounds(me, author, nil, history(held(h1), held(h2)).all(), nil); n != 0 {
		t.Errorf("holds are %d rounds", n)
	}
}

// The writes of taking back go one after the other, so that a job that dies in
// between leaves the pull request blocked; what comes of a removed request is a hold.
func TestTakingBackAnApproval(t *testing.T) {
	f := history(review(sec, approved, approved, h1))
	f.head = h2
	cfg := &Config{Account: me, Author: person, Key: key, Nonce: "n", Rest: true}
	want := []string{"post hold request_changes 0 inline", "withdraw"}
	if got := f.publish(t, cfg, false); !slices.Equal(got, want) {
		t.Fatalf("it writes %q, want %q", got, want)
	}
	hold := f.rows[1]
	if s := sentinelOf(t, hold.Body); s.Head != h2 || !key.Verify(s) || hold.Commit != h2 ||
		!strings.Contains(hold.Body, "Nobody has judged "+h2[:7]) {
		t.Errorf("the hold is %s", hold.Body)
	}
	if g := f.log().Gate(); !g.Is(none) || g.Latent {
		t.Errorf("the gate is %+v", g)
	}
	unrequest(f)
	if g := f.log().Gate(); !g.Has(changes) || g.Has(approved) || !g.Held || g.Is(changes) {
		t.Errorf("after the request was removed the gate is %+v", g)
	}
	if again := f.publish(t, cfg, false); len(again) != 0 {
		t.Errorf("again it writes %q", again)
	}
}

// A run whose head is gone when it has the lock publishes nothing, and doesn't leave
// an approval to the new head either.
func TestAHeadThatMovedIsNotLeftApproved(t *testing.T) {
	f := history(review(sec, approved, approved, h1))
	f.head = h3
	v := Verdict{Own: approved, Head: h2, Fresh: true, Body: sentinel.Body{Text: says(sec)}}
	cfg := &Config{Account: me, Author: person, Key: key, Nonce: "n", Role: sec, Verdict: v, Seen: f.log()}
	want := []string{"post hold request_changes 0 inline", "withdraw"}
	if got := f.publish(t, cfg, false); !slices.Equal(got, want) {
		t.Errorf("it writes %q, want %q", got, want)
	}
}

// Each of two POSTs has a nonce of its own, by which it is found if its answer is lost.
func TestAHoldAndAVerdictAreTwoReviews(t *testing.T) {
	f := history(review(sec, approved, approved, h1))
	f.head = h2
	v := Verdict{Own: comment, Head: h2, Fresh: true, Body: sentinel.Body{Text: "Half of it."}}
	f.publish(t, &Config{Account: me, Author: person, Key: key, Nonce: "n", Role: sec, Verdict: v, Seen: f.log()}, false)
	if len(f.rows) != 3 || sentinelOf(t, f.rows[1].Body).Run == sentinelOf(t, f.rows[2].Body).Run {
		t.Fatalf("%d rows", len(f.rows))
	}
	s := sentinelOf(t, f.rows[2].Body)
	if s.Kind != sentinel.KindVerdict || !s.Official {
		t.Errorf("the comment says %+v: it takes the request's mark away, and must remember that the account gates", s)
	}
	if g := f.log().Gate(); g.Unofficial || !g.Is(none) {
		t.Errorf("the gate is %+v", g)
	}
}

// Whether the account's verdicts were cleared is told by the list of reviews, which
// nobody can hide; a timeline may lack the request.
func TestClearedOrUnofficial(t *testing.T) {
	forgetRequests := func(f *forge) {
		f.entries = slices.DeleteFunc(f.entries, func(e Entry) bool { return e.Kind == EntryReviewRequest })
	}
	answered := func(official bool) step {
		return func(f *forge) {
			body, s := f.verdict("a", comment, comment, h1, says("a"))
			s.Official = official
			f.post(me, RowComment, h1, body.With(s, key))
		}
	}
	leftover := func(f *forge) { f.requests = []Row{{ID: 1001, Author: me, State: RowRequest}} }
	blocks := review(sec, changes, changes, h1)
	for promise, tt := range map[string]struct {
		log        *forge
		want       []string
		unofficial bool
	}{
		"cleared, and the entry hidden": {history(blocks, rerequest, forgetRequests), []string{}, false},
		"cleared, and a comment took the row away": {
			history(blocks, rerequest, answered(true), forgetRequests), []string{}, false,
		},
		"a comment of an account that never gated": {
			history(unofficial, blocks, answered(false)), []string{"request_changes"}, true,
		},
		"what was noted before the newest verdict": {
			history(unofficial, answered(true), blocks), []string{"request_changes"}, true,
		},
		"a request to an unofficial account": {
			history(unofficial, blocks, leftover), []string{"request_changes"}, true,
		},
		"a leftover, and a verdict that counts": {history(blocks, leftover), []string{"request_changes"}, false},
	} {
		g := tt.log.log().Gate()
		if d := cmp.Diff(tt.want, g.Names()); d != "" || g.Unofficial != tt.unofficial {
			t.Errorf("%s: unofficial %v (-want +got):\n%s", promise, g.Unofficial, d)
		}
	}
}

// With another token nothing that was signed is believed, and nobody is taken to
// have edited it: the originals count, which can't be edited.
func TestAfterTheTokenChanged(t *testing.T) {
	other := sentinel.NewKey("new token", "o/r", 1)
	f := history(review(sec, approved, approved, h1, patchedTo(h2)))
	rotated := func() Record {
		log := NewLog(me, f.rows, f.entries, other)
		return log.Records[0]
	}
	if r := rotated(); r.Edited || r.Head() != h1 || r.Body.Text != says(sec) || !patchable(r) {
		t.Errorf("%+v", r)
	}
	s := judge(approved, h2)
	s.Log = NewLog(me, f.rows, f.entries, other)
	if got := describe(Decide(s)); got != "patched, patch 1" {
		t.Errorf("the next verdict is %s, want an edit in place", got)
	}
	body, sen, _ := sentinel.Split(*f.text(1))
	*f.text(1) = body.With(sen, other)
	if r := rotated(); r.Edited || r.Head() != h2 {
		t.Errorf("signed again: %+v", r.Sentinel)
	}
	// What a person wrote is a person's with any token.
	*f.text(1) = strings.Replace(*f.text(1), "looked at", "slept over", 1)
	if r := rotated(); !r.Edited {
		t.Error("an edit isn't noticed")
	}
	f = history(review(sec, approved, approved, h1, patchedTo(h2), edited))
	if r := rotated(); !r.Edited || r.Head() != h1 {
		t.Errorf("an edit before the token changed isn't noticed: %+v", r)
	}
}

// What isn't in the timeline that was read may be anything, so it isn't replaced.
func TestATextThatWasNotReadIsLeftAlone(t *testing.T) {
	f := history(review(sec, approved, approved, h1), review(sec, approved, approved, h2))
	f.entries = f.entries[1:]
	log := f.log()
	if !log.Records[0].Unseen || log.Records[1].Unseen {
		t.Fatal("the one whose entry is missing isn't known by that")
	}
	s := judge(approved, h2)
	s.Log = log
	if a := Decide(s); a.Writes() {
		t.Errorf("the older one is replaced unread: %s", describe(a))
	}
	f.entries = nil
	s.Log = f.log()
	s.Judgement.Text = sentinel.Hash("Something new.")
	if a := Decide(s); a.Patch != nil || a.Post != approved {
		t.Errorf("the current one is edited unread: %s", describe(a))
	}
}

// The notice that a sibling holds the account goes when the block does.
func TestAnOutdatedNoticeIsRemoved(t *testing.T) {
	notice := func(f *forge, r *Row) {
		f.edit(r.ID, func(b *sentinel.Body, _ *sentinel.Sentinel) {
			b.Notice = sentinel.Notice("a", "u", sec, "found nothing that blocks")
		})
	}
	f := history(review("a", changes, changes, h1), review(sec, approved, changes, h1, notice))
	s := judge(approved, h1)
	s.Role, s.Log = "a", f.log()
	if got := describe(Decide(s)); got != "reposted, post approved, clear 2" {
		t.Errorf("the verdict that lifts the block: %s", got)
	}
	review("a", approved, approved, h1)(f)
	for promise, a := range map[string]Action{
		"reconcile": Reconcile(Situation{Log: f.log(), Head: h1}, ""),
		"the sibling": Decide(Situation{Log: f.log(), Head: h1, Role: "a",
			Judgement: Verdict{Own: approved, Head: h1, Body: sentinel.Body{Text: says("a")}}.Judgement()}),
	} {
		if got := describe(a); got != "patched, clear 2" {
			t.Errorf("%s: %s", promise, got)
		}
	}
	if got := f.publish(t, &Config{Account: me, Author: person, Key: key, Nonce: "n"}, false); !slices.Equal(got, []string{"edit 2, 0 owed"}) {
		t.Errorf("it writes %q", got)
	}
	if r := f.log().Records[1]; r.Body.Notice != "" || r.Edited || r.Body.Text != says(sec) {
		t.Errorf("the record is %+v", r)
	}
	still := history(review("a", changes, changes, h1), review(sec, approved, changes, h1, notice)).log()
	if a := Reconcile(Situation{Log: still, Head: h1}, ""); a.Writes() {
		t.Errorf("while a blocks: %s", describe(a))
	}
}

func TestSinceTheOneBeforeTheNewest(t *testing.T) {
	f := history(by(stranger, RowComment, "hm"), review(sec, approved, approved, h1), review(sec, approved, approved, h1),
		review("a", approved, approved, h1),
		review(sec, approved, approved, h2))
	if got, want := Since(me, f.rows), f.rows[2].Submitted; !got.Equal(want) {
		t.Errorf("since %s, want %s: that of the role's last but one", got, want)
	}
}
