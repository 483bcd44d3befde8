package escalation

import (
	"slices"

	"review-bot/sentinel"
)

// Reconcile decides what to do about the gate from the records of all roles,
// when no role is acting: a job died, or a person did something. Nothing is
// judged anew. With retire it first marks that role's verdict as retired.
func Reconcile(s Situation, retire string) Action {
	s.Role, s.Judgement = "", Judgement{}
	switch {
	case s.Closed:
		return Action{Outcome: Closed, Reason: "the pull request is closed"}
	case s.OwnPull:
		return Action{Outcome: OwnPull, Reason: "the account is the pull request's author"}
	}
	if cur, ok := s.Log.Current(retire); retire != "" && ok && cur.Row.CommentID != 0 {
		return Action{Outcome: Patched, As: retire, Retire: &cur, Reason: "the role is retired"}
	}
	want := Desired(s)
	gate := s.Log.Gate()
	a := Action{
		Outcome: Skipped, Desired: want.Event, Blockers: want.Blockers, Waits: want.Waits, Undecided: want.Undecided,
		Recorded: true, Reason: "the forge says what it should",
	}
	for _, cur := range s.Log.Standing() {
		a.Supersede = append(a.Supersede, s.Log.leftovers(cur.Role(), cur)...)
	}
	event := want.Event
	if event == sentinel.Approved && s.NoApprove {
		event = sentinel.None
	}
	if event == sentinel.None {
		if a.Hold, a.Withdraw = s.takesBack(want, gate); a.Withdraw {
			a.Outcome, a.Reason = Reposted, "the account's verdict no longer stands"
		}
	} else if cur, ok := s.poster(event); ok && (!gate.Is(event) || s.stale(event)) {
		a.Outcome, a.As, a.Post, a.Reason = Reposted, cur.Role(), event, reason(cur, event, gate)
		a.Supersede = append(a.Supersede, replaceable(cur)...)
	}
	if want.Waived && want.Event == sentinel.None {
		a.Outcome = Waived
	}
	a.clear(s.Log)
	if !a.Writes() {
		for _, cur := range s.Log.Standing() {
			if s.owes(cur) {
				a.Outcome, a.Settle, a.Reason = Patched, append(a.Settle, cur), settles
			}
		}
	}
	return a
}

// Rest decides what a run does in the end that has no verdict on the head: of what
// [Reconcile] would do, what keeps unread code from being merged. A block that isn't
// on the forge is posted, and an approval that counts no more is taken back. A gate
// that blocks is left alone, and nothing is approved.
func Rest(s Situation) Action {
	a := Reconcile(s, "")
	if a.Post == sentinel.RequestChanges || a.Hold != "" {
		return a
	}
	if a.Writes() && a.Outcome != Waived {
		a.Outcome, a.Reason = Skipped, "what the forge says lets nothing unread pass"
	}
	return Action{Outcome: a.Outcome, Desired: a.Desired, Blockers: a.Blockers, Waits: a.Waits, Recorded: true, Reason: a.Reason}
}

// poster is the record under whose role event is posted: the newest whose state
// differs from it, else the newest. An approval is posted only under a role that
// approved the head.
func (s Situation) poster(event sentinel.Verdict) (Record, bool) {
	var newest, differs *Record
	for _, cur := range slices.Backward(s.Log.Standing()) {
		if cur.Own() == sentinel.Comment || (event == sentinel.Approved && (cur.Own() != sentinel.Approved || !s.about(cur))) {
			continue
		}
		if newest == nil {
			newest = &cur
		}
		if differs == nil && cur.Row.State != rowState[event] {
			differs = &cur
		}
	}
	switch {
	case differs != nil:
		return *differs, true
	case newest != nil:
		return *newest, true
	}
	return Record{}, false
}

// stale tells whether every approval of the head names an older commit, which a
// branch that ignores stale approvals doesn't count.
func (s Situation) stale(event sentinel.Verdict) bool {
	if !s.RepostStale || event != sentinel.Approved {
		return false
	}
	return !slices.ContainsFunc(s.Log.Rows, func(row Row) bool {
		return row.State == RowApproved && row.Official && !row.Dismissed && row.Commit == s.Head
	})
}

// takesBack decides what of the account's verdicts is to be taken back where it
// should say nothing. An approval needs a hold first, as one that is merely withdrawn
// can be brought back; a block that is brought back does no harm. An account that
// doesn't gate has nothing to take back. While siblings haven't judged yet, a block is
// better left standing, and so is a hold on a head that nobody has judged.
func (s Situation) takesBack(want Desire, gate Gate) (hold string, withdraw bool) {
	judged := s.Role != "" && s.asked() || slices.ContainsFunc(s.Log.Standing(), s.about)
	switch {
	case gate.Unofficial:
		return "", false
	case gate.Has(sentinel.Approved) || gate.Latent:
		return holdText(s.Head, judged), true
	case len(gate.States) == 0 || gate.Held && !judged:
		return "", false
	}
	return "", want.Event != sentinel.None || !want.Waiting || want.Waived
}
