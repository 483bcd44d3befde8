package main

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
	"review-bot/sentinel"
)

// ran runs a job and checks what became of it.
func (st stage) ran(t *testing.T, m *modeltest.Server, role string, outcome escalation.Outcome, event sentinel.Verdict, args ...string) reviewer.Result {
	t.Helper()
	r := st.job(m, role).result(t, args...)
	if r.Outcome != outcome || r.Event != event {
		t.Errorf("%s: outcome %s, event %s; want %s, %s\nnotes %q\n%s", role, r.Outcome, r.Event, outcome, event, r.Notes, st.look(t))
	}
	return r
}

// gates checks what the forge counts of the account.
func (st stage) gates(t *testing.T, want string) standing {
	t.Helper()
	s := st.look(t)
	if got := s.gate(); got != want {
		t.Errorf("the gate is {%s}, want {%s}\n%s", got, want, s)
	}
	return s
}

// A blocks and B is escalated; a push mends what A found. Whichever of the two
// runs first, the gate is open behind both.
func TestDeEscalationInEitherOrder(t *testing.T) {
	t.Parallel()
	aBlocks, aApproves, bApproves := blocking(t, 1), approving(t, 1), approving(t, 11)
	for _, first := range []string{"a", "b"} {
		t.Run(first+" first", func(t *testing.T) {
			t.Parallel()
			st := newStage(t, protected)
			st.ran(t, aBlocks, "a", escalation.Posted, sentinel.RequestChanges)
			st.ran(t, bApproves, "b", escalation.Posted, sentinel.RequestChanges)
			s := st.gates(t, "REQUEST_CHANGES")
			if cur := s.current("b"); len(cur) != 1 || cur[0].posted.Own != sentinel.Approved || !strings.HasPrefix(cur[0].text, "> **Held by a**") {
				t.Errorf("b isn't escalated with a notice\n%s", s)
			}
			st.push(t, 2)
			if first == "a" {
				st.ran(t, aApproves, "a", escalation.Reposted, sentinel.Approved)
				st.ran(t, bApproves, "b", escalation.Reposted, sentinel.Approved)
			} else {
				st.ran(t, bApproves, "b", escalation.Patched, sentinel.RequestChanges)
				st.gates(t, "REQUEST_CHANGES")
				st.ran(t, aApproves, "a", escalation.Reposted, sentinel.Approved)
			}
			st.settled(t, open)
		})
	}
}

// B dies between its escalated POST and its re-read, and A, which saw nothing of
// that POST, has lifted its block meanwhile: nobody will run again. Reconcile
// opens the gate.
func TestReconcileRepairsWhatADeadJobLeft(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	program := theProgram(t)
	st.ran(t, blocking(t, 1), "a", escalation.Posted, sentinel.RequestChanges)
	st.push(t, 2)
	// B's POST is held until A, which the dead lock doesn't stop, is through.
	arrived, through, posted := make(chan struct{}), make(chan struct{}), make(chan struct{})
	b := process{program, st.job(approving(t, 11), "b")}
	cmd, out := b.command(t)
	st.proxy.SetHook(func(r *giteatest.Request) *giteatest.Fault {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.Path, "/reviews") {
			return nil
		}
		close(arrived)
		return &giteatest.Fault{Hold: through, Forwarded: func(giteatest.Request) {
			_ = cmd.Process.Kill()
			close(posted)
		}}
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-arrived
	st.beside(t).ran(t, approving(t, 1), "a", escalation.Reposted, sentinel.Approved, "--lock-expire=-1s")
	st.gates(t, "APPROVED")
	close(through)
	<-posted
	_ = cmd.Wait() // it was killed
	st.proxy.SetHook(nil)
	if s := st.gates(t, "REQUEST_CHANGES"); len(s.current("b")) != 1 {
		t.Fatalf("b's POST doesn't stand\n%s\n%s", s, out)
	}

	st.reconcile(t, "--lock-expire=-1s")

	st.settled(t, open)
}

// A maintainer dismisses the block. The account never blocks again for what it had
// found, at later heads neither, and never approves because of it; what it finds
// later blocks.
func TestDismissedByAPerson(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	blocks := blocking(t, 1)
	st.ran(t, blocks, "logic", escalation.Posted, sentinel.RequestChanges)
	st.pull.Dismiss(t, st.maintainer, st.look(t).rows[0].ID, "I know better.")

	if sent := st.during(func() { st.ran(t, blocks, "logic", escalation.Waived, sentinel.None) }); len(writes(sent)) != 0 {
		t.Errorf("a re-run writes %q", writes(sent))
	}
	st.ran(t, blocks, "logic", escalation.Waived, sentinel.None, "--force")
	st.ran(t, approving(t, 11), "tests", escalation.Waived, sentinel.None) // D is none: no approval because of the dismissal
	if sent := st.during(func() { st.reconcile(t) }); len(writes(sent)) != 0 {
		t.Errorf("reconcile writes %q", writes(sent))
	}
	s := st.gates(t, "")
	if strings.Contains(s.states(), "APPROVED") || strings.Count(s.states(), "REQUEST_CHANGES") != 1 {
		t.Errorf("the account has judged again\n%s", s)
	}
	st.push(t, 2)
	st.ran(t, blocks, "logic", escalation.Waived, sentinel.None)
	st.gates(t, "")
	st.push(t, 3)
	st.ran(t, blocking(t, 12), "logic", escalation.Reposted, sentinel.RequestChanges)
	st.settled(t, blocked)
}

func TestDismissedByAPersonTheNextHeadMayBeApproved(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	st.ran(t, blocking(t, 1), "logic", escalation.Posted, sentinel.RequestChanges)
	st.pull.Dismiss(t, st.maintainer, st.look(t).rows[0].ID, "I know better.")
	st.push(t, 2)
	st.ran(t, approving(t, 1), "logic", escalation.Reposted, sentinel.Approved)
	st.settled(t, open)
}

// Asking for the bot's review again makes it ask the model again, once.
func TestReviewRequestedAgain(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	st.ran(t, approving(t, 1), "logic", escalation.Posted, sentinel.Approved)
	st.pull.RequestReview(t, st.maintainer, st.bot)
	st.gates(t, "")

	m := blocking(t, 1) // the other way round a reply would be needed: nothing has changed
	st.ran(t, m, "logic", escalation.Reposted, sentinel.RequestChanges)
	st.ran(t, m, "logic", escalation.Skipped, sentinel.RequestChanges)

	if m.Count() != 1 {
		t.Errorf("the model was asked %d times, want once", m.Count())
	}
	st.settled(t, blocked)
}

// The same answer as before takes the account's word back to the forge: a
// request for its review had cleared it.
func TestReviewRequestedAgainAndSameVerdict(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	m := blocking(t, 1)
	st.ran(t, m, "logic", escalation.Posted, sentinel.RequestChanges)
	st.pull.RequestReview(t, st.maintainer, st.bot)
	st.ran(t, m, "logic", escalation.Reposted, sentinel.RequestChanges)
	if m.Count() != 2 {
		t.Errorf("the model was asked %d times, want twice", m.Count())
	}
	st.settled(t, blocked)
}

// A body that a person edited is not written over. What is new is said in a new
// review, and nothing new leaves it alone.
func TestEditedByAPerson(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	m := blocking(t, 1)
	st.ran(t, m, "logic", escalation.Posted, sentinel.RequestChanges)
	mine := st.look(t).rows[0]
	edited := strings.Replace(mine.text, "Changes things.", "Changes things. NB: I disagree with the second one.", 1)
	st.edit(t, st.maintainer, mine.comment(), edited)

	if sent := st.during(func() { st.ran(t, m, "logic", escalation.Skipped, sentinel.RequestChanges) }); len(writes(sent)) != 0 {
		t.Errorf("with nothing new to say it writes %q", writes(sent))
	}
	st.push(t, 2)
	st.ran(t, m, "logic", escalation.Reposted, sentinel.RequestChanges)
	s := st.look(t)
	if s.rows[0].text != edited || len(s.rows) != 2 {
		t.Errorf("the person's text doesn't stand\n%s", s)
	}
	st.settled(t, blocked)
}

// Seconds pass between the steps, so that what is read after a write begins later:
// neither a person's words in an older review are written over, nor what that
// review's successor was.
func TestEditedByAPersonLongAgo(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	pause := func() { time.Sleep(3 * time.Second) }
	run := func(m *modeltest.Server, outcome escalation.Outcome, event sentinel.Verdict) {
		t.Helper()
		st.ran(t, m, "logic", outcome, event, "--repost-stale")
		pause()
	}
	run(approving(t, 1), escalation.Posted, sentinel.Approved)
	const words = "I disagree, see the second line."
	st.edit(t, st.maintainer, st.look(t).rows[0].comment(), words)
	pause()
	var second string
	for commit := 2; commit <= 4; commit++ {
		st.push(t, commit)
		run(approving(t, 1), escalation.Reposted, sentinel.Approved)
		s := st.look(t)
		if len(s.rows) != commit || s.rows[0].text != words {
			t.Fatalf("at commit %d a person's words are gone\n%s", commit, s)
		}
		switch second = cmp.Or(second, superseded(s.rows[1].text)); {
		case commit == 2 && second != "", commit > 2 && (second == "" || s.rows[1].text != second):
			t.Fatalf("at commit %d the second review says\n%s\nand said before\n%s", commit, s.rows[1].text, second)
		}
	}
	st.gates(t, "APPROVED")
}

// superseded is the text of a review that says by which it was replaced, else "".
func superseded(text string) string {
	if strings.Contains(text, "Superseded by") {
		return text
	}
	return ""
}

// edit replaces the text of a review as a person.
func (st stage) edit(t *testing.T, as *giteatest.User, comment int64, text string) {
	t.Helper()
	st.srv.Call(t, as.Token, http.MethodPatch, st.api("/issues/comments/%d", comment), map[string]any{"body": text}, nil)
}

// A person's approval neither lifts the bot's block nor changes what it says.
func TestApprovedByAPerson(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	m := blocking(t, 1)
	st.ran(t, m, "logic", escalation.Posted, sentinel.RequestChanges)
	st.pull.Review(t, st.maintainer, giteatest.ReviewInput{Event: "APPROVED"})
	if sent := st.during(func() { st.ran(t, m, "logic", escalation.Skipped, sentinel.RequestChanges) }); len(writes(sent)) != 0 {
		t.Errorf("it writes %q", writes(sent))
	}
	st.settled(t, blocked)
}

// A push that dismisses approvals is no waiver: the next run approves anew, with
// a new review, or blocks.
func TestApprovalDismissedByAPush(t *testing.T) {
	t.Parallel()
	st := newStage(t, dismissing)
	m := approving(t, 1)
	st.pull.Settle(t, st.pull.Head)
	st.ran(t, m, "logic", escalation.Posted, sentinel.Approved)
	st.push(t, 2)
	err := giteatest.Poll(t.Context(), 20*time.Second, "the push has dismissed the approval", func() (bool, error) {
		return st.pull.Reviews(t)[0].Dismissed, nil
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, st.look(t))
	}
	st.gates(t, "")
	st.ran(t, m, "logic", escalation.Reposted, sentinel.Approved)
	st.settled(t, open)
}

// On a branch that ignores stale approvals a patched one doesn't count;
// --repost-stale posts it anew, once.
func TestStaleApprovalIgnoredByTheBranch(t *testing.T) {
	t.Parallel()
	st := newStage(t, ignoring)
	m := approving(t, 1)
	st.pull.Settle(t, st.pull.Head)
	st.ran(t, m, "logic", escalation.Posted, sentinel.Approved)
	st.push(t, 2)
	err := giteatest.Poll(t.Context(), 20*time.Second, "the approval is stale", func() (bool, error) { return st.pull.Reviews(t)[0].Stale, nil })
	if err != nil {
		t.Fatalf("%v\n%s", err, st.look(t))
	}
	st.ran(t, m, "logic", escalation.Patched, sentinel.Approved)
	if status, message := st.pull.TryMerge(t, st.maintainer); message != "Does not have enough approvals" {
		t.Errorf("with a stale approval merging answers %d %s\n%s", status, message, st.look(t))
	}
	st.ran(t, m, "logic", escalation.Reposted, sentinel.Approved, "--repost-stale")
	if sent := st.during(func() { st.ran(t, m, "logic", escalation.Skipped, sentinel.Approved, "--repost-stale") }); len(writes(sent)) != 0 {
		t.Errorf("the second time it writes %q", writes(sent))
	}
	if s := st.look(t); len(s.rows) != 2 || s.rows[0].now.State != sentinel.Superseded {
		t.Errorf("the stale approval isn't superseded\n%s", s)
	}
	st.settled(t, open)
}

// With --no-approve the account takes a block back by withdrawing it, and then
// says nothing: merging takes a person's approval, and no more.
func TestNoApproveLiftsABlock(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	st.ran(t, blocking(t, 1), "logic", escalation.Posted, sentinel.RequestChanges, "--no-approve")
	st.push(t, 2)
	st.ran(t, approving(t, 1), "logic", escalation.Reposted, sentinel.Comment, "--no-approve")
	s := st.gates(t, "")
	if s.states() != "REQUEST_CHANGES COMMENT" || s.current("logic")[0].posted.Own != sentinel.Approved {
		t.Errorf("want the block and a comment\n%s", s)
	}
	if sent := st.during(func() { st.ran(t, approving(t, 1), "logic", escalation.Skipped, sentinel.Comment, "--no-approve") }); len(writes(sent)) != 0 {
		t.Errorf("a re-run writes %q", writes(sent))
	}
	st.settled(t, waiting)
}

// With --siblings nothing is approved until each of them has judged the head;
// the last one publishes the approval.
func TestSiblingsAreWaitedFor(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	a, b := approving(t, 1), approving(t, 11)
	siblings := []string{"--siblings", "a,b"}
	st.ran(t, a, "a", escalation.Posted, sentinel.None, siblings...)
	st.gates(t, "")
	st.ran(t, b, "b", escalation.Posted, sentinel.Approved, siblings...)
	st.gates(t, "APPROVED")
	// Records of an older head are none of this one: the approval is taken back.
	st.push(t, 2)
	st.ran(t, a, "a", escalation.Patched, sentinel.None, siblings...)
	st.gates(t, "")
	st.ran(t, b, "b", escalation.Reposted, sentinel.Approved, siblings...)
	st.settled(t, open)
}

// A sibling that ended without publishing leaves the approval to reconcile.
func TestReconcilePublishesWhatSiblingsWaitedFor(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	st.ran(t, approving(t, 1), "a", escalation.Posted, sentinel.None, "--siblings", "a,b")
	st.ran(t, approving(t, 11), "b", escalation.Posted, sentinel.None, "--siblings", "a,b,c")
	if e := st.reconcile(t); !strings.Contains(e.stdout, "note: waiting for c to judge") { // as the review of b says
		t.Errorf("it doesn't say whom it waits for:\n%s", e.stdout)
	}
	st.gates(t, "")
	st.reconcile(t, "--siblings", "a,b")
	st.settled(t, open)
}

// An advisory role's findings gate nothing, and no sibling.
func TestAdvisoryRole(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	m := blocking(t, 1)
	st.ran(t, m, "docs", escalation.Posted, sentinel.Comment, "--advisory")
	st.gates(t, "")
	if sent := st.during(func() { st.ran(t, m, "docs", escalation.Skipped, sentinel.Comment, "--advisory") }); len(writes(sent)) != 0 {
		t.Errorf("a re-run writes %q", writes(sent))
	}
	st.ran(t, approving(t, 11), "logic", escalation.Posted, sentinel.Approved)
	st.push(t, 2)
	// Nobody who gates has judged what was pushed: what was approved before counts no more.
	st.ran(t, m, "docs", escalation.Patched, sentinel.Comment, "--advisory")
	st.gates(t, "")
	st.ran(t, approving(t, 11), "logic", escalation.Reposted, sentinel.Approved)
	st.settled(t, open)
}

// A role that no longer exists blocks until it is retired. A sibling that
// approved the head then has its say; where there is none, the block is
// withdrawn.
func TestRetire(t *testing.T) {
	t.Parallel()
	t.Run("with a sibling that approves", func(t *testing.T) {
		t.Parallel()
		st := newStage(t, protected)
		st.ran(t, blocking(t, 1), "old", escalation.Posted, sentinel.RequestChanges)
		st.ran(t, approving(t, 11), "logic", escalation.Posted, sentinel.RequestChanges)
		if sent := st.during(func() { st.reconcile(t, "--retire", "old", "--dry-run") }); len(writes(sent)) != 0 {
			t.Errorf("a dry run writes %q", writes(sent))
		}
		st.gates(t, "REQUEST_CHANGES")
		st.reconcile(t, "--retire", "old")
		if s := st.look(t); s.rows[0].now.State != sentinel.Retired {
			t.Errorf("the verdict isn't marked\n%s", s)
		}
		st.settled(t, open)
	})
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		st := newStage(t, protected)
		st.ran(t, blocking(t, 1), "old", escalation.Posted, sentinel.RequestChanges)
		st.reconcile(t, "--retire", "old")
		st.settled(t, waiting)
	})
}

// Reconcile with nothing to do neither writes nor locks; --dry-run neither when
// there is something.
func TestReconcileOnlyWritesWhatIsNeeded(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	st.ran(t, blocking(t, 1), "a", escalation.Posted, sentinel.RequestChanges)
	st.ran(t, approving(t, 11), "b", escalation.Posted, sentinel.RequestChanges)
	sent := st.during(func() { st.reconcile(t) })
	if len(writes(sent)) != 0 || len(sent) != 4 {
		t.Errorf("with nothing to do: %d requests, want 4, and the writes %q", len(sent), writes(sent))
	}
	st.pull.RequestReview(t, st.maintainer, st.bot) // clears the block
	st.gates(t, "")
	var e ended
	sent = st.during(func() { e = st.reconcile(t, "--dry-run") })
	if len(writes(sent)) != 0 || !strings.Contains(e.stdout, "POST a review, event request_changes") {
		t.Errorf("a dry run writes %q and prints\n%s", writes(sent), e.stdout)
	}
	st.gates(t, "")
	sent = st.during(func() { st.reconcile(t) })
	if got := published(sent); !slices.Equal(got, []string{fmt.Sprintf("POST /api/v1%s → 200", st.pull.ReviewsPath())}) {
		t.Errorf("then it publishes by %q", got)
	}
	st.settled(t, blocked)
}
