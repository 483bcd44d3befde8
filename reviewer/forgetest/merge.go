package forgetest

import "review-bot/escalation"

// Mergeable is what the merge endpoint would answer: whether branch protection
// lets the pull request through, else the server's reason.
func (f *Forge) Mergeable() (ok bool, reason string) {
	switch {
	case f.closed:
		return false, "closed"
	case f.draft():
		return false, "Work in progress PRs cannot be merged"
	case len(f.pushes) > 0:
		return false, "Please try again later"
	case f.rule == nil:
		return true, ""
	case f.approvals() < f.rule.RequiredApprovals:
		return false, "Does not have enough approvals"
	case f.rule.BlockOnRejected && f.counts(escalation.RowRequestChanges):
		return false, "There are requested changes"
	case f.rule.BlockOnRequests && f.counts(escalation.RowRequest):
		return false, "There are official review requests"
	}
	return true, ""
}

func (f *Forge) approvals() int {
	n := 0
	for _, r := range f.reviews {
		if r.state == escalation.RowApproved && r.official && !r.dismissed && (!r.stale || !f.rule.IgnoreStale) {
			n++
		}
	}
	return n
}

func (f *Forge) counts(state escalation.RowState) bool {
	for _, r := range f.reviews {
		if r.state == state && r.official && !r.dismissed {
			return true
		}
	}
	return false
}
