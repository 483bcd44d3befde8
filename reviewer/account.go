package reviewer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"review-bot/escalation"
	"review-bot/sentinel"
)

// MaxSiblings is how long the names of all siblings may be together, so that a role's
// review can note them.
const MaxSiblings = 400

// ofAccount adds what the other roles' current records say of how they were published:
// the configuration may set it by role, and it holds for the whole account, or one
// role's run would undo what another one's did. A role that is retired isn't waited for
// until it judges again, and none is by its own record alone: it may have another name
// now.
func (set Settings) ofAccount(log escalation.Log) Settings {
	siblings := slices.Clone(set.Siblings)
	for _, cur := range log.Standing() {
		var then Settings
		if cur.Role() == set.Role || !recallSettings(field(cur.Sentinel, settingsField), &then) {
			continue
		}
		set.NoApprove = set.NoApprove || then.NoApprove
		set.RepostStale = set.RepostStale || then.RepostStale
		for _, role := range then.Siblings {
			if role != cur.Role() && !slices.Contains(siblings, role) {
				siblings = append(siblings, role)
			}
		}
	}
	set.Siblings = slices.DeleteFunc(siblings, func(role string) bool { return retired(log, role) })
	return set
}

// retired reports whether the role's newest verdict is marked as retired.
func retired(log escalation.Log, role string) bool {
	for _, r := range slices.Backward(log.Records) {
		if r.Role() == role {
			return r.Sentinel.State == sentinel.Retired
		}
	}
	return false
}

// retirable reports why a role can't be retired.
func retirable(log escalation.Log, role string) error {
	cur, ok := log.Current(role)
	by := naming(log, role)
	switch {
	case !ok && len(by) > 0:
		return &Error{
			Doing: "retiring " + role, Err: errors.New("the role has no verdict here that counts"),
			Next: "take it out of `siblings` and run " + strings.Join(by, " and ") + " again, whose reviews name it",
		}
	case !ok:
		return &Error{Doing: "retiring " + role, Err: errors.New("the role has no verdict here that counts"), Next: "run `review-bot reconcile` without --retire"}
	case cur.Row.CommentID == 0:
		return &Error{Doing: "retiring " + role, Err: errors.New("its review's timeline entry was deleted, so the review can't be marked"), Next: "dismiss the review on the pull request's page"}
	}
	return nil
}

// naming are the roles whose current records name another one as a sibling.
func naming(log escalation.Log, role string) []string {
	var by []string
	for _, cur := range log.Standing() {
		var then Settings
		if cur.Role() != role && recallSettings(field(cur.Sentinel, settingsField), &then) && slices.Contains(then.Siblings, role) {
			by = append(by, cur.Role())
		}
	}
	return by
}

// waiting notes for people which siblings keep the account from approving the head, and
// what to do about those that don't come.
func (r *run) waiting(cfg *escalation.Config, a escalation.Action, log escalation.Log, head string) {
	if len(a.Undecided) > 0 && a.Desired == sentinel.None && !cfg.NoApprove {
		r.note("%s judged %.7s and can't approve it, so the account doesn't: see %s", a.Undecided[0].Role(), head,
			cmp.Or(a.Undecided[0].Row.URL, cfg.URL))
	}
	if len(a.Waits) == 0 || cfg.NoApprove {
		return
	}
	var gone, never []string
	for _, role := range a.Waits {
		if _, judged := log.Current(role); judged {
			gone = append(gone, "`review-bot reconcile --retire "+role+"`")
		} else {
			never = append(never, role)
		}
	}
	note := fmt.Sprintf("waiting for %s to judge %.7s", strings.Join(a.Waits, ", "), head)
	if len(gone) > 0 {
		note += "; for a role that no longer exists run " + strings.Join(gone, ", ")
	}
	if len(never) > 0 {
		note += "; if there is no role " + strings.Join(never, " or ") + ", take it out of `siblings`, and run again the roles that name it"
	}
	r.note("%s", note)
}
