package escalation

import (
	"fmt"

	"review-bot/sentinel"
)

// A hold is a review that requests changes without being a verdict. It takes the
// place of an approval that counts no more: the account then asks itself for a
// review, so that nothing of it counts, and a removal of that request, which the
// pull request's author may do, brings back the hold and not the approval.

func isHold(row Row) bool {
	_, s, err := sentinel.Split(row.Body)
	return err == nil && s.Kind == sentinel.KindHold
}

const noVerdict = "This review is no verdict: it only keeps that approval from counting again, and doesn't count itself " +
	"while a review of this account is asked for."

// holdText is what a hold says to people.
func holdText(head string, judged bool) string {
	if judged {
		return fmt.Sprintf("**Approval taken back** at %.7s: this account has approved before, and doesn't approve this commit."+
			"\n\n%s The account's next approval replaces it.", head, noVerdict)
	}
	return fmt.Sprintf("**Nobody has judged %.7s yet**: this account has approved an earlier commit, and that approval is taken back."+
		"\n\n%s The next review of this commit replaces it: run the review job again, or push. "+
		"To dismiss it approves nothing.", head, noVerdict)
}
