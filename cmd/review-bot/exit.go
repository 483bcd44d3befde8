package main

import (
	"fmt"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/sentinel"
)

// The exit statuses, see docs/exit-status.md.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitRefused = 3
)

// closedLine says why a closed pull request passes no check: its commit's status would be green when it is
// reopened, and for every other pull request with that commit.
const closedLine = "a closed pull request isn't judged, so its commit doesn't pass — reopen it to have it reviewed"

// exitOf is the exit status of a result, and the line that says why where the result
// doesn't. want is what the job's status is about; what it leaves open is as the pull
// request has it.
//
// With failOnBlock only a verdict that lets exactly that pass is a success: the job may
// be a required check, and whatever isn't known to be fine holds the merge.
func exitOf(r reviewer.Result, want subject, failOnBlock bool) (status int, why string) {
	switch {
	case r.Outcome == escalation.Failed:
		return exitFailed, ""
	case r.Outcome == escalation.OwnPull && r.Own == sentinel.RequestChanges:
		return exitRefused, "" // the forge takes no verdict there, so the status has to carry it
	case !failOnBlock:
		return exitDone, ""
	}
	if refused, why := refusal(r, want.or(r.Head, r.BaseBranch)); refused {
		return exitRefused, why
	}
	return exitDone, ""
}

// refusal reports whether a run doesn't let the subject pass, and why, "" if the result
// says that.
func refusal(r reviewer.Result, want subject) (refused bool, why string) {
	switch r.Outcome {
	case escalation.Draft, escalation.NoSecrets, escalation.Capped, escalation.HeadMoved:
		return true, "" // the outcome says it
	case escalation.Closed:
		return true, closedLine
	case escalation.Posted, escalation.Patched, escalation.Reposted, escalation.Skipped, escalation.Waived,
		escalation.OwnPull:
	default:
		return true, fmt.Sprintf("the outcome %s lets nothing pass", r.Outcome)
	}
	switch {
	case r.Own == "":
		return true, fmt.Sprintf("no verdict lets %.7s pass: it wasn't judged — see the notes above", want.head)
	case r.Head != want.head:
		return true, fmt.Sprintf("the verdict is about %.7s, and this job is for %.7s — the run for the newer commit counts",
			r.Head, want.head)
	case r.BaseBranch != want.base:
		return true, fmt.Sprintf("the verdict isn't about the change into %s, which this job is for — the run for the base "+
			"branch counts; editing the title starts one", want.base)
	case r.Event == sentinel.RequestChanges:
		return true, ""
	case (r.Own == sentinel.Comment || r.NotRead() > 0) && !r.Advisory:
		return true, fmt.Sprintf("%.7s isn't approved: not all of the change was read — see the review", want.head)
	case r.Own == sentinel.RequestChanges && r.Outcome != escalation.Waived:
		return true, ""
	}
	return false, ""
}

// exitOfReconciliation is exitOf for all roles of an account. Where the account says
// nothing, and nothing was waived, no role lets the head pass, or not all have judged it.
func exitOfReconciliation(r reviewer.Reconciliation, want subject, failOnBlock bool) (status int, why string) {
	want = want.or(r.Head, r.BaseBranch)
	switch {
	case r.Error != "":
		return exitFailed, ""
	case !failOnBlock:
		return exitDone, ""
	case r.Closed:
		return exitRefused, closedLine
	case len(r.Roles) == 0:
		return exitRefused,
			fmt.Sprintf("no verdict lets %.7s pass: no role of the account has judged it — run the review jobs", want.head)
	}
	for _, role := range r.Roles {
		refused, why := refusal(role, want)
		if !refused && role.Event == sentinel.None && role.Outcome != escalation.Waived && !role.Advisory {
			refused, why = true, fmt.Sprintf("the account doesn't approve %.7s — run the review jobs", want.head)
		}
		if refused {
			if why != "" {
				why = role.Role + ": " + why
			}
			return exitRefused, why
		}
	}
	return exitDone, ""
}

// exit is the error for an exit status.
func exit(status int, why string) error {
	if status == exitDone {
		return nil
	}
	return &exitError{status, why}
}
