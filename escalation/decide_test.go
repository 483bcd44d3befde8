package escalation

import (
	"strings"
	"testing"

	"review-bot/sentinel"
)

// sec is the acting role of the tables; a and b are its siblings on the account.
const sec = "sec"

// judge is a situation in which sec has judged the head.
func judge(own sentinel.Verdict, head string, opts ...func(*Situation)) Situation {
	s := Situation{Role: sec, Judgement: Verdict{Own: own, Head: head, Body: sentinel.Body{Text: says(sec)}}.Judgement(), Head: head}
	for _, opt := range opts {
		opt(&s)
	}
	return s
}

// judgeAs is judge of another role.
func judgeAs(role string, own sentinel.Verdict, head string) Situation {
	s := judge(own, head)
	s.Role, s.Judgement.Text = role, sentinel.Hash(says(role))
	return s
}

func newText(s *Situation)     { s.Judgement.Text = sentinel.Hash("Something new.") }
func advisory(s *Situation)    { s.Advisory = true }
func noApprove(s *Situation)   { s.NoApprove = true }
func repostStale(s *Situation) { s.RepostStale = true }
func ownPull(s *Situation)     { s.OwnPull = true }
func closed(s *Situation)      { s.Closed = true }
func draft(s *Situation)       { s.Draft = true }
func movedOn(s *Situation)     { s.Head = h3 }

func siblings(roles ...string) func(*Situation) {
	return func(s *Situation) { s.Siblings = roles }
}

type decision struct {
	promise string
	log     *forge
	judged  Situation
	desired sentinel.Verdict
	want    string
}

func decide(t *testing.T, tests []decision) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.promise, func(t *testing.T) {
			tt.judged.Log = tt.log.log()
			a := Decide(tt.judged)
			if got := describe(a); got != tt.want || a.Desired != tt.desired {
				t.Errorf("%s; D = %s\nwant %s; D = %s\nreason: %s", got, a.Desired, tt.want, tt.desired, a.Reason)
			}
			if a.Writes() == (tt.want == string(a.Outcome)) {
				t.Errorf("Writes is %v for %q", a.Writes(), tt.want)
			}
		})
	}
}

// The table of the protocol, row by row. A name is: cur | D | further.
func TestTheTable(t *testing.T) {
	decide(t, []decision{
		// Row 1.
		{"none | APPROVED", history(), judge(approved, h1), approved, "posted, post approved"},
		{"none | REQUEST_CHANGES, own", history(), judge(changes, h1), changes, "posted, post request_changes"},
		{"none | REQUEST_CHANGES, by a sibling", history(review("a", changes, changes, h1)), judge(approved, h1), changes, "posted, post request_changes"},
		{"none | APPROVED, after a sibling's approval", history(review("a", approved, approved, h1)), judge(approved, h1), approved, "posted, post approved"},

		// Row 2, which goes first.
		{"any | any | nothing changed, approved", history(review(sec, approved, approved, h1)), judge(approved, h1), approved, "skipped"},
		{"any | any | nothing changed, blocking", history(review(sec, changes, changes, h1)), judge(changes, h1), changes, "skipped"},
		{"any | any | nothing changed, escalated", history(review("a", changes, changes, h1), review(sec, approved, changes, h1)), judge(approved, h1), changes, "skipped"},
		{"any | any | nothing changed, the sibling's block holds", history(review(sec, approved, approved, h1), review("a", changes, changes, h1)), judge(approved, h1), changes, "skipped"},
		{"any | any | nothing changed, the sibling has lifted it", history(review("a", changes, changes, h1), review(sec, approved, changes, h1), review("a", approved, approved, h1)), judge(approved, h1), approved, "skipped"},
		{"any | any | nothing changed since a PATCH", history(review(sec, approved, approved, h1, patchedTo(h2))), judge(approved, h2), approved, "skipped"},
		{"any | NONE | nothing changed", history(review(sec, changes, changes, h1), dismiss(1)), judge(changes, h1), none, "waived"},

		// Row 3.
		{"own changed | REQUEST_CHANGES | escalated, then really blocking", history(review("a", changes, changes, h1), review(sec, approved, changes, h1)), judge(changes, h1), changes, "reposted, post request_changes"},
		{"own changed | REQUEST_CHANGES | back to escalated", history(review("a", changes, changes, h1), review(sec, changes, changes, h1)), judge(approved, h1), changes, "reposted, post request_changes"},
		{"own changed | REQUEST_CHANGES | cur was APPROVED", history(review(sec, approved, approved, h1)), judge(changes, h2), changes, "reposted, post request_changes, supersede 1"},
		{"own changed | APPROVED | cur was REQUEST_CHANGES", history(review(sec, changes, changes, h1)), judge(approved, h2), approved, "reposted, post approved"},

		// Row 4.
		{"APPROVED | APPROVED | gate = D, head changed", history(review(sec, approved, approved, h1)), judge(approved, h2), approved, "patched, patch 1"},
		{"APPROVED | APPROVED | gate = D, text changed", history(review(sec, approved, approved, h1)), judge(approved, h1, newText), approved, "patched, patch 1"},
		{"APPROVED | APPROVED | gate = D by a sibling's approval", history(review(sec, approved, approved, h1), review("a", approved, approved, h2)), judge(approved, h2), approved, "patched, patch 1"},
		{"REQUEST_CHANGES | REQUEST_CHANGES | gate = D, head changed", history(review(sec, changes, changes, h1)), judge(changes, h2), changes, "patched, patch 1"},
		{"REQUEST_CHANGES, escalated | REQUEST_CHANGES | gate = D, head changed", history(review("a", changes, changes, h1), review(sec, approved, changes, h1)), judge(approved, h2), changes, "patched, patch 2"},

		// Row 5.
		{"APPROVED, own same | REQUEST_CHANGES | gate = D by the sibling, head changed", history(review(sec, approved, approved, h1), review("a", changes, changes, h1)), judge(approved, h2), changes, "patched, patch 1"},

		// Row 6.
		{"REQUEST_CHANGES | REQUEST_CHANGES | a sibling's later approval took over", history(review(sec, changes, changes, h1), review("a", approved, approved, h1)), judge(changes, h1), changes, "reposted, post request_changes"},
		{"APPROVED | APPROVED | dismissed by a push", history(review(sec, approved, approved, h1, dismissedByPush)), judge(approved, h2), approved, "reposted, post approved, supersede 1"},
		{"APPROVED | APPROVED | a re-request cleared official", history(review(sec, approved, approved, h1), rerequest), judge(approved, h1), approved, "reposted, post approved, supersede 1"},
		{"REQUEST_CHANGES | REQUEST_CHANGES | a re-request cleared official", history(review(sec, changes, changes, h1), rerequest), judge(changes, h1), changes, "reposted, post request_changes"},
		{"REQUEST_CHANGES, escalated | REQUEST_CHANGES | a re-request cleared official", history(review("a", changes, changes, h1), review(sec, approved, changes, h1), rerequest), judge(approved, h1), changes, "reposted, post request_changes"},

		// Row 7.
		{"APPROVED | REQUEST_CHANGES | gate is still APPROVED", history(review("a", changes, changes, h1), review(sec, approved, approved, h1)), judge(approved, h1), changes, "reposted, post request_changes, supersede 2"},
		{"APPROVED | REQUEST_CHANGES | nothing gates", history(review("a", changes, changes, h1), review(sec, approved, approved, h1), rerequest), judge(approved, h1), changes, "reposted, post request_changes, supersede 2"},

		// Row 8.
		{"REQUEST_CHANGES | APPROVED | the sibling approves now, other head", history(review("a", changes, changes, h1), review(sec, approved, changes, h1), review("a", approved, approved, h2)), judge(approved, h2), approved, "reposted, post approved"},
		{"REQUEST_CHANGES | APPROVED | the sibling was retired", history(review("a", changes, changes, h1, state(sentinel.Retired)), review(sec, approved, changes, h1)), judge(approved, h1), approved, "reposted, post approved"},

		// Row 9.
		{"COMMENT | APPROVED", history(review(sec, approved, comment, h1)), judge(approved, h1), approved, "reposted, post approved, supersede 1"},
		{"COMMENT, once advisory | APPROVED", history(review(sec, comment, comment, h1)), judge(approved, h1), approved, "reposted, post approved, supersede 1"},
		{"COMMENT, once advisory | REQUEST_CHANGES", history(review(sec, comment, comment, h1)), judge(changes, h1), changes, "reposted, post request_changes, supersede 1"},

		// Row 10.
		{"any | NONE | text changed", history(review(sec, changes, changes, h1), dismiss(1)), judge(changes, h1, newText), none, "waived, patch 1"},
		{"any | NONE | own verdict changed", history(review("a", changes, changes, h1), review(sec, changes, changes, h1), dismiss(2)), judge(approved, h1), none, "waived, post comment"},
		{"none | NONE", history(review("a", changes, changes, h1), dismiss(1)), judge(approved, h1), none, "waived, post comment"},

		// Row 11.
		{"none | advisory", history(), judge(comment, h1, advisory), none, "posted, post comment"},
		{"any | advisory | same text", history(review(sec, comment, comment, h1, advises)), judge(comment, h1, advisory), none, "skipped"},
		{"any | advisory | text changed", history(review(sec, comment, comment, h1)), judge(comment, h1, advisory, newText), none, "patched, patch 1"},
		{"any | advisory | head changed", history(review(sec, comment, comment, h1)), judge(comment, h2, advisory), none, "patched, patch 1"},
		{"APPROVED | advisory from now on", history(review(sec, approved, approved, h1)), judge(comment, h1, advisory), none,
			"reposted, post comment, supersede 1, hold, withdraw"},
		{"APPROVED for another head | advisory from now on", history(review(sec, approved, approved, h1)), judge(comment, h2, advisory), none,
			"reposted, post comment, supersede 1, hold, withdraw"},
		{"a sibling's APPROVED for another head | advisory", history(review("a", approved, approved, h1), review(sec, comment, comment, h2, advises)),
			judge(comment, h2, advisory), none, "reposted, hold, withdraw"},
		{"a sibling's APPROVED for this head | advisory", history(review("a", approved, approved, h1), review(sec, comment, comment, h1, advises)),
			judge(comment, h1, advisory), approved, "skipped"},
		{"a sibling's block that is lost | advisory", history(review("a", changes, changes, h1), review(sec, comment, comment, h1, advises), rerequest),
			judge(comment, h1, advisory), changes, "reposted, post request_changes"},
		{"REQUEST_CHANGES | advisory from now on: it stays", history(review(sec, changes, changes, h1)), judge(comment, h1, advisory), none, "reposted, post comment"},
		{"any | advisory | a sibling's block is no business of it", history(review("a", changes, changes, h1), review(sec, comment, comment, h1, advises)), judge(comment, h1, advisory), changes, "skipped"},
		{"COMMENT | advisory from now on: that is noted", history(review(sec, comment, comment, h1)), judge(comment, h1, advisory), none, "patched, patch 1"},
		{"COMMENT | advisory no longer: that is noted", history(review(sec, comment, comment, h1, advises)), judge(comment, h1), none, "patched, patch 1"},

		// A role that can't approve the head keeps the account from approving it.
		{"none | NONE | a sibling couldn't read all of it", history(review("a", comment, comment, h1)), judge(approved, h1), none, "posted, post comment"},
		{"none | APPROVED | nor of another head", history(review("a", comment, comment, h2)), judge(approved, h1), approved, "posted, post approved"},
		{"none | APPROVED | the sibling is advisory", history(review("a", comment, comment, h1, advises)), judge(approved, h1), approved, "posted, post approved"},
		{"none | REQUEST_CHANGES | a block goes first", history(review("a", comment, comment, h1)), judge(changes, h1), changes, "posted, post request_changes"},
		{"APPROVED | NONE | the sibling came later", history(review(sec, approved, approved, h1), review("a", comment, comment, h1)), judge(approved, h1), none, "reposted, hold, withdraw"},
		{"none | NONE | can't read all of it, and a sibling approves", history(review("a", approved, approved, h1)), judge(comment, h1), none, "posted, post comment, hold, withdraw"},
		{"COMMENT | NONE | again", history(review("a", approved, approved, h1), review(sec, comment, comment, h1), rerequest, held(h1), rerequest), judge(comment, h1), none, "skipped"},
		{"COMMENT | APPROVED | it has read all of it now", history(review("a", approved, comment, h1), review(sec, comment, comment, h1)), judge(approved, h1), approved, "reposted, post approved, supersede 2"},
		{"REQUEST_CHANGES | NONE | fixed, and not all of it was read", history(review("a", changes, changes, h1), review(sec, approved, changes, h1)), judgeAs("a", comment, h2), none, "reposted, post comment, withdraw"},
	})
}

func TestWhatEndsARunBeforeTheTable(t *testing.T) {
	log := history(review(sec, changes, changes, h1))
	decide(t, []decision{
		{"closed", log, judge(approved, h2, closed), "", "closed"},
		{"a draft", log, judge(approved, h2, draft), "", "draft"},
		{"the head moved", log, judge(approved, h2, movedOn), changes, "head_moved"},
		{"closed goes before draft and head", log, judge(approved, h2, movedOn, draft, closed), "", "closed"},
		{"the head moved goes before own pull", log, judge(approved, h2, movedOn, ownPull), "", "head_moved"},
		{"own pull, first", history(), judge(changes, h1, ownPull), none, "own_pr, post comment"},
		{"own pull, again", history(review(sec, changes, comment, h1)), judge(changes, h1, ownPull), none, "own_pr"},
		{"own pull, text changed", history(review(sec, changes, comment, h1)), judge(changes, h1, ownPull, newText), none, "own_pr, patch 1"},
		{"own pull, own changed", history(review(sec, changes, comment, h1)), judge(approved, h2, ownPull), none, "own_pr, post comment, supersede 1"},
	})
}

func TestLeftoversAreFinished(t *testing.T) {
	decide(t, []decision{
		{"an approval that a dead job didn't supersede", history(review(sec, approved, approved, h1), review(sec, changes, changes, h1)), judge(changes, h1), changes, "skipped, supersede 1"},
		{"together with the record that is replaced now", history(review(sec, comment, comment, h1), review(sec, approved, approved, h1)), judge(changes, h1), changes, "reposted, post request_changes, supersede 1, supersede 2"},
		{"superseded already", history(review(sec, approved, approved, h1, state(sentinel.Superseded)), review(sec, changes, changes, h1)), judge(changes, h1), changes, "skipped"},
		{"a request for changes is history", history(review(sec, changes, changes, h1), review(sec, approved, approved, h1)), judge(approved, h1), approved, "skipped"},
		{"a person's edit stays", history(review(sec, approved, approved, h1, edited), review(sec, changes, changes, h1)), judge(changes, h1), changes, "skipped"},
		{"its timeline entry is gone: it can't be patched", history(review(sec, approved, approved, h1, entryDeleted), review(sec, changes, changes, h1)), judge(changes, h1), changes, "skipped"},
		{"other roles' records are theirs", history(review("a", comment, comment, h1), review("a", approved, approved, h1), review(sec, approved, approved, h1)), judge(approved, h1), approved, "skipped"},
		{"an advisory role's, too", history(review(sec, approved, approved, h1), review(sec, comment, comment, h1, advises)), judge(comment, h1, advisory), none,
			"reposted, supersede 1, hold, withdraw"},
	})
}

func TestWhatPersonsDoToARecord(t *testing.T) {
	decide(t, []decision{
		{"edited, nothing new to say: left alone", history(review(sec, approved, approved, h1, edited)), judge(approved, h1), approved, "skipped"},
		{"edited APPROVED that would be patched: posted anew", history(review(sec, approved, approved, h1, edited)), judge(approved, h2), approved, "reposted, post approved"},
		{"edited REQUEST_CHANGES that would be patched: posted anew", history(review(sec, changes, changes, h1, edited)), judge(changes, h2), changes, "reposted, post request_changes"},
		{"edited advisory review that would be patched: posted anew", history(review(sec, comment, comment, h1, edited)), judge(comment, h2, advisory), none, "reposted, post comment"},
		{"edited, replaced by another verdict: not superseded", history(review(sec, approved, approved, h1, edited)), judge(changes, h1), changes, "reposted, post request_changes"},
		{"edited and waived: said anew as a comment", history(review(sec, changes, changes, h1, edited), dismiss(1)), judge(changes, h1, newText), none, "waived, post comment"},
		{"own flipped: the original counts", history(review(sec, changes, changes, h1, flipped("own=request_changes", "own=approved"))), judge(changes, h1), changes, "skipped"},
		{"entry deleted, nothing new: left alone", history(review(sec, approved, approved, h1, entryDeleted)), judge(approved, h1), approved, "skipped"},
		{"entry deleted: there is nothing to PATCH, posted anew", history(review(sec, approved, approved, h1, entryDeleted)), judge(approved, h2), approved, "reposted, post approved"},
		{"entry deleted, advisory: posted anew", history(review(sec, comment, comment, h1, entryDeleted)), judge(comment, h2, advisory), none, "reposted, post comment"},
		{"entry deleted, replaced: nothing to supersede", history(review(sec, approved, approved, h1, entryDeleted)), judge(changes, h1), changes, "reposted, post request_changes"},
		{"superseded as newest: the one before counts", history(review(sec, changes, changes, h1), review(sec, approved, approved, h1, state(sentinel.Superseded))), judge(changes, h1), changes, "reposted, post request_changes"},
		{"retired, and back again", history(review(sec, changes, changes, h1, state(sentinel.Retired))), judge(changes, h1), changes, "posted, post request_changes"},
	})
}

func TestOptions(t *testing.T) {
	decide(t, []decision{
		{"no-approve: a comment instead", history(), judge(approved, h1, noApprove), approved, "posted, post comment"},
		{"no-approve: the block is lifted by withdrawing", history(review(sec, changes, changes, h1)), judge(approved, h2, noApprove), approved, "reposted, post comment, withdraw"},
		{"no-approve: lifted already", history(review(sec, changes, changes, h1), review(sec, approved, comment, h2), rerequest), judge(approved, h2, noApprove), approved, "skipped"},
		{"no-approve: the text changed", history(review(sec, approved, comment, h1)), judge(approved, h2, noApprove), approved, "patched, patch 1"},
		{
			"no-approve: an approval from before is withdrawn", history(review(sec, approved, approved, h1)),
			judge(approved, h1, noApprove), approved, "reposted, hold, withdraw",
		},
		{"no-approve: a block is a block", history(), judge(changes, h1, noApprove), changes, "posted, post request_changes"},
		{"no-approve: a sibling's block is escalated", history(review("a", changes, changes, h1)), judge(approved, h1, noApprove), changes, "posted, post request_changes"},
		{"no-approve no longer: approved", history(review(sec, approved, comment, h1)), judge(approved, h1), approved, "reposted, post approved, supersede 1"},
		{"no-approve, unofficial: nothing to withdraw", history(unofficial, review(sec, changes, changes, h1)), judge(approved, h1, noApprove), approved, "reposted, post comment"},

		{"siblings: one hasn't judged", history(review("a", approved, comment, h1)), judge(approved, h1, siblings("a", "b", sec)), none, "posted, post comment"},
		{"siblings: one has judged another head", history(review("a", approved, comment, h1)), judge(approved, h2, siblings("a")), none, "posted, post comment"},
		{"siblings: all have judged", history(review("a", approved, comment, h1)), judge(approved, h1, siblings("a", sec)), approved, "posted, post approved"},
		{"siblings: the last one's word came, run again", history(review(sec, approved, comment, h1), review("a", approved, approved, h1)), judge(approved, h1, siblings("a")), approved, "skipped"},
		{"siblings: waiting, nothing changed", history(review(sec, approved, comment, h1)), judge(approved, h1, siblings("a")), none, "skipped"},
		{
			"siblings: waiting, an older approval is withdrawn", history(review(sec, approved, approved, h1)),
			judge(approved, h2, siblings("a")), none, "patched, patch 1, hold, withdraw",
		},
		{"siblings: waiting, a standing block is left", history(review(sec, changes, changes, h1)), judge(approved, h2, siblings("a")), none, "reposted, post comment"},
		{
			"siblings: waiting, but what blocked is waived: withdrawn",
			history(review("a", changes, changes, h1), dismiss(1), review(sec, approved, changes, h1)),
			judge(approved, h1, siblings("b")), none, "waived, withdraw",
		},
		{"siblings: a block waits for nobody", history(), judge(changes, h1, siblings("a", "b")), changes, "posted, post request_changes"},
		{
			"siblings: retired isn't judged", history(review("a", approved, approved, h1, state(sentinel.Retired))),
			judge(approved, h1, siblings("a")), none, "posted, post comment, hold, withdraw",
		},

		{"repost-stale: posted anew on another head", history(review(sec, approved, approved, h1)), judge(approved, h2, repostStale), approved, "reposted, post approved, supersede 1"},
		{"repost-stale: patched before, posted anew", history(review(sec, approved, approved, h1, patchedTo(h2))), judge(approved, h2, repostStale), approved, "reposted, post approved, supersede 1"},
		{"repost-stale: same head, nothing", history(review(sec, approved, approved, h1)), judge(approved, h1, repostStale), approved, "skipped"},
		{"repost-stale: same head, new text is a PATCH", history(review(sec, approved, approved, h1)), judge(approved, h1, repostStale, newText), approved, "patched, patch 1"},
		{"repost-stale: a block is patched as ever", history(review(sec, changes, changes, h1)), judge(changes, h2, repostStale), changes, "patched, patch 1"},
	})
}

func TestWaivers(t *testing.T) {
	decide(t, []decision{
		{"same head: the block is waived", history(review(sec, changes, changes, h1), dismiss(1)), judge(changes, h1), none, "waived"},
		{"other head: it blocks again", history(review(sec, changes, changes, h1), dismiss(1)), judge(changes, h2), changes, "reposted, post request_changes"},
		{"undismissed: it blocks again", history(review(sec, changes, changes, h1), dismiss(1), undismiss(1)), judge(changes, h1), changes, "skipped"},
		{"a sibling is waived: no approval comes of it", history(review("a", changes, changes, h1), dismiss(1)), judge(approved, h1), none, "waived, post comment"},
		{"a sibling is waived: none on the next head either", history(review("a", changes, changes, h1), dismiss(1)), judge(approved, h2), none, "waived, post comment"},
		{"a waived sibling approves: approved", history(review("a", changes, changes, h1), dismiss(1), review("a", approved, approved, h2)), judge(approved, h2), approved, "posted, post approved"},
		{"one waiver covers every role before it", history(review("a", changes, changes, h1), review(sec, changes, changes, h1), dismiss(2)), judge(changes, h1), none, "waived"},
		{"and none after it", history(review("a", changes, changes, h1), dismiss(1), review("b", changes, changes, h1)), judge(approved, h1), changes, "posted, post request_changes"},
		{"the dismissal of an escalated review covers the blocker", history(review("a", changes, changes, h1), review(sec, approved, changes, h1), dismiss(2)), judge(approved, h1), none, "waived"},
		{
			"escalated after the blocker was dismissed: withdrawn", history(review("a", changes, changes, h1), dismiss(1),
				review(sec, approved, changes, h1)), judge(approved, h1), none, "waived, withdraw",
		},
		{
			"a dismissal of a review that wasn't in force does nothing",
			history(review("a", changes, changes, h1), review(sec, approved, changes, h1), dismiss(1)), judge(approved, h1),
			changes, "skipped",
		},
		{
			"nor does one of a review that an approval had replaced",
			history(review(sec, changes, changes, h1), review(sec, approved, approved, h1), dismiss(1)), judge(changes, h1),
			changes, "reposted, post request_changes, supersede 2",
		},
		{"a dismissal by the account itself is none", history(review(sec, changes, changes, h1), func(f *forge) {
			f.rows[0].Dismissed = true
			f.entry(Entry{Kind: EntryDismiss, Review: 1, User: me})
		}), judge(changes, h1), changes, "reposted, post request_changes"},
		{"a dismissal of an approval is none", history(review("a", changes, changes, h1), review(sec, approved, approved, h1), dismiss(2)), judge(approved, h1), changes, "reposted, post request_changes, supersede 2"},
		{"a dismissal of another account's review is none", history(review(sec, changes, changes, h1), by(stranger, RowRequestChanges, "No."), dismiss(2)), judge(changes, h1), changes, "skipped"},
		{"a row that a newer one dismissed is no waiver", history(review("a", changes, changes, h1), review(sec, changes, changes, h1)), judge(approved, h1), changes, "reposted, post request_changes"},

		// A PATCH that moves a record's head must not carry it under an older dismissal.
		{"a dismissed row isn't moved to the next head, where it would waive", history(review("a", changes, changes, h1), review(sec, changes, changes, h1), dismiss(2), review("a", changes, changes, h2)), judge(changes, h2), changes, "reposted, post request_changes"},
		{"nor a dismissed escalated one", history(review("a", changes, changes, h1), review(sec, approved, changes, h1), dismiss(2), review("a", changes, changes, h2)), judge(approved, h2), changes, "reposted, post request_changes"},
		{"nor one that an earlier dismissal on that head would cover", history(review(sec, changes, changes, h1), review("a", changes, changes, h2), dismiss(2), review("b", changes, changes, h2)), judge(changes, h2), changes, "reposted, post request_changes"},
		{"on its own head it is patched", history(review("a", changes, changes, h1), review(sec, changes, changes, h1), dismiss(2), review("b", changes, changes, h1)), judge(changes, h1, newText), changes, "patched, patch 2"},
	})
}

func TestAnUnofficialAccountConvergesToo(t *testing.T) {
	decide(t, []decision{
		{"first", history(unofficial), judge(approved, h1), approved, "posted, post approved"},
		{"again", history(unofficial, review(sec, approved, approved, h1)), judge(approved, h1), approved, "skipped"},
		{"blocking, again", history(unofficial, review(sec, changes, changes, h1)), judge(changes, h1), changes, "skipped"},
		{"a sibling's later approval took over", history(unofficial, review(sec, changes, changes, h1), review("a", approved, approved, h1)), judge(changes, h1), changes, "reposted, post request_changes"},
		{
			"nothing to withdraw", history(unofficial, review("a", changes, changes, h1), dismiss(1),
				review(sec, approved, changes, h1)), judge(approved, h1), none, "waived",
		},
	})
}

func TestRowsThatArentBelieved(t *testing.T) {
	body := func(role string, own sentinel.Verdict) string {
		b, s := (&forge{nonce: 90}).verdict(role, own, own, h1, says(role))
		return b.With(s, key)
	}
	_, s := (&forge{nonce: 91}).verdict(sec, approved, approved, h1, "")
	twoSentinels := sentinel.Body{Text: body("a", changes)}.With(s, key)
	decide(t, []decision{
		{"another account's block", history(by(stranger, RowRequestChanges, body("a", changes))), judge(approved, h1), approved, "posted, post approved"},
		{"another account's approval in the role's name", history(by(stranger, RowApproved, body(sec, approved))), judge(approved, h1), approved, "posted, post approved"},
		{"a pending review of the account", history(by(me, RowPending, body("a", changes))), judge(approved, h1), approved, "posted, post approved"},
		{"a request for review", history(by(me, RowRequest, body("a", changes))), judge(approved, h1), approved, "posted, post approved"},
		{"the account's own words without a sentinel", history(by(me, RowComment, "Thanks.")), judge(approved, h1), approved, "posted, post approved"},
		{"a sentinel that isn't at the end", history(by(me, RowComment, body("a", changes)+"\nThanks.")), judge(approved, h1), approved, "posted, post approved"},
		{"two sentinels: the last one's role", history(by(me, RowApproved, twoSentinels)), judge(approved, h1, func(s *Situation) {
			s.Judgement.Text = sentinel.Hash(body("a", changes))
		}), approved, "skipped"},
	})
}

func TestBlockersAreNamedNewestFirst(t *testing.T) {
	s := judge(changes, h1)
	s.Log = history(review("a", changes, changes, h1), review("b", approved, changes, h1), review("c", changes, changes, h1), review(sec, changes, changes, h1)).log()
	a := Decide(s)
	var roles []string
	for _, r := range a.Blockers {
		roles = append(roles, r.Role())
	}
	if len(roles) != 2 || roles[0] != "c" || roles[1] != "a" {
		t.Errorf("blockers %v, want c and a", roles)
	}
}

func TestReasonsForPostingAnew(t *testing.T) {
	for _, tt := range []struct {
		log    *forge
		judged Situation
		want   string
	}{
		{history(review(sec, approved, approved, h1, edited)), judge(approved, h2), "a person edited the role's review"},
		{history(review(sec, approved, approved, h1, entryDeleted)), judge(approved, h2), "the review's timeline entry was deleted"},
		{history(review("a", changes, changes, h1), review(sec, approved, approved, h1)), judge(approved, h1), "a sibling blocks"},
		{history(review("a", changes, changes, h1), review(sec, approved, changes, h1), review("a", approved, approved, h2)), judge(approved, h2), "nothing blocks any more"},
		{history(review(sec, approved, comment, h1)), judge(approved, h1), "the role's last review doesn't gate"},
		{history(review(sec, approved, approved, h1), rerequest), judge(approved, h1), "the forge counts another verdict"},
		{history(review(sec, approved, approved, h1)), judge(approved, h2, repostStale), "the approval names an older commit"},
	} {
		tt.judged.Log = tt.log.log()
		if a := Decide(tt.judged); a.Reason != tt.want {
			t.Errorf("reason %q, want %q", a.Reason, tt.want)
		}
	}
}

// For reconcile, no role acts: the records alone speak.
func TestDesiredFromRecordsAlone(t *testing.T) {
	for _, tt := range []struct {
		promise string
		log     *forge
		want    sentinel.Verdict
		waived  bool
	}{
		{"nobody", history(), none, false},
		{"approved at the head", history(review("a", approved, approved, h1)), approved, false},
		{"approved at another head", history(review("a", approved, approved, h2)), none, false},
		{"approved at the head in a comment", history(review("a", approved, comment, h1)), approved, false},
		{"one blocks, at whatever head", history(review("a", changes, changes, h2), review("b", approved, approved, h1)), changes, false},
		{"both escalated, nobody blocks", history(review("a", approved, changes, h1), review("b", approved, changes, h1)), approved, false},
		{"waived", history(review("a", changes, changes, h1), dismiss(1), review("b", approved, comment, h1)), none, true},
		{"retired", history(review("a", changes, changes, h1, state(sentinel.Retired)), review("b", approved, approved, h1)), approved, false},
		{"advisory", history(review("a", comment, comment, h1, advises)), none, false},
		{"approved, and advisory", history(review("a", approved, approved, h1), review("b", comment, comment, h1, advises)), approved, false},
		{"approved, and not read whole by another", history(review("a", approved, approved, h1), review("b", comment, comment, h1)), none, false},
		{"approved, and another head not read whole", history(review("a", approved, approved, h1), review("b", comment, comment, h2)), approved, false},
		{"read whole in the meantime", history(review("a", comment, comment, h1), review("a", approved, approved, h1), review("b", approved, approved, h1)), approved, false},
	} {
		t.Run(tt.promise, func(t *testing.T) {
			if d := Desired(Situation{Log: tt.log.log(), Head: h1}); d.Event != tt.want || d.Waived != tt.waived {
				t.Errorf("%+v", d)
			}
		})
	}
}

// The same words in answer to another question are noted, or it would be asked again by every run.
func TestTheSameAnswerToAnotherQuestionIsNoted(t *testing.T) {
	for promise, change := range map[string]func(*Verdict){
		"another question":       func(v *Verdict) { v.Q = "0f" },
		"another base's tip":     func(v *Verdict) { v.Base = h3 },
		"more was known":         func(v *Verdict) { v.Heard = 200 },
		"the caller adds a note": func(v *Verdict) { v.Extra = []sentinel.Field{{Key: "x", Value: "1"}} },
	} {
		v := Verdict{Own: changes, Head: h1, Fresh: true, Body: sentinel.Body{Text: says(sec)}}
		change(&v)
		f := history(review(sec, changes, changes, h1))
		s := Situation{Log: f.log(), Role: sec, Judgement: v.Judgement(), Head: h1}
		if got := describe(Decide(s)); got != "patched, patch 1" {
			t.Errorf("%s: %s, want the note to be made", promise, got)
		}
		f.publish(t, &Config{Account: me, Author: person, Key: key, Nonce: "n", Role: sec, Verdict: v, Seen: f.log()}, false)
		s.Log = f.log()
		if got := describe(Decide(s)); got != "skipped" {
			t.Errorf("%s: then %s, want nothing more", promise, got)
		}
	}
	v := Verdict{Own: changes, Head: h1, Body: sentinel.Body{Text: says(sec)}, Extra: []sentinel.Field{{Key: "x"}}}
	s := Situation{Log: history(review(sec, changes, changes, h1)).log(), Role: sec, Judgement: v.Judgement(), Head: h1}
	if got := describe(Decide(s)); got != "skipped" {
		t.Errorf("an empty field is no note: %s", got)
	}
}

// A record says whether its role only comments, with its POST and after an edit: by that
// siblings know what its comment means. One that lacks it is mended by the next run.
func TestARecordSaysThatItsRoleIsAdvisory(t *testing.T) {
	f := history()
	v := Verdict{Own: comment, Head: h1, Fresh: true, Body: sentinel.Body{Text: says(sec)}}
	for _, tt := range []struct {
		advisory bool
		want     string
	}{{true, "post verdict comment 0 inline"}, {true, ""}, {false, "edit 1, 0 owed"}, {false, ""}, {true, "edit 1, 0 owed"}, {true, ""}} {
		wrote := f.publish(t, &Config{Account: me, Author: person, Key: key, Nonce: "n", Role: sec, Verdict: v, Seen: f.log(), Advisory: tt.advisory}, false)
		cur, _ := f.log().Current(sec)
		if got := strings.Join(wrote, "; "); got != tt.want || cur.Sentinel.Advisory != tt.advisory {
			t.Errorf("advisory %v: it writes %q and notes %v, want %q", tt.advisory, got, cur.Sentinel.Advisory, tt.want)
		}
	}
}
