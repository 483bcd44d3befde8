package escalation

import (
	"slices"

	"review-bot/sentinel"
)

// Reconcile decides what to do about the gate from the records of all roles,
// when no role is acting: a job died, or a person did something. Nothing is
// judged anew. With retire it first marks that role's verdict as retired.
func Reconcile(s Situation, retire string) Action {
	s.Role = ""
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
	a := Action{Outcome: Skipped, Desired: want.Event, Blockers: want.Blockers, Reason: "the forge says what it should"}
	for _, cur := range s.Log.Standing() {
		a.Supersede = append(a.Supersede, s.Log.leftovers(cur.Role(), cur)...)
	}
	event := want.Event
	if event == sentinel.Approved && s.NoApprove {
		event = sentinel.None
	}
	if event == sentinel.None {
		a.Withdraw = withdraws(want, gate)
		if a.Withdraw {
			a.Outcome, a.Reason = Reposted, "the account's verdict no longer stands"
		}
	} else if cur, ok := s.poster(event); ok && (!gate.Is(event) || s.stale(event)) {
		a.Outcome, a.As, a.Post, a.Reason = Reposted, cur.Role(), event, reason(cur, event, gate)
		a.Supersede = append(a.Supersede, replaceable(cur)...)
	}
	if want.Waived && want.Event == sentinel.None {
		a.Outcome = Waived
	}
	if !a.Writes() {
		for _, cur := range s.Log.Standing() {
			if s.owes(cur) {
				a.Outcome, a.Settle, a.Reason = Patched, append(a.Settle, cur), settles
			}
		}
	}
	return a
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

// withdraws tells whether a verdict that still gates is to be taken back where
// nothing should. An account that doesn't gate has nothing to take back; and
// while siblings haven't judged yet, a block is better left standing.
func withdraws(want Desire, gate Gate) bool {
	if gate.Unofficial || len(gate.States) == 0 {
		return false
	}
	return want.Event != sentinel.None || !want.Waiting || want.Waived || !gate.Is(sentinel.RequestChanges)
}

// UnreadApproval tells whether the account's approval stands although none of
// its roles has a record at head, compared with the same.
func (l Log) UnreadApproval(head string, against sentinel.Against) bool {
	gate := l.Gate()
	if gate.Unofficial || !gate.Has(sentinel.Approved) {
		return false
	}
	return !slices.ContainsFunc(l.Standing(), func(cur Record) bool { return cur.Head() == head && cur.Sentinel.Against == against })
}
