package escalation

import (
	"time"

	"review-bot/sentinel"
)

// Since is the time from which the timeline matters to the account: that of the
// oldest review which may still count, among the newest of each role and the
// account's newest verdict. Edits, dismissals and requests that concern them
// came later. For an account without reviews it is that of the newest review of
// all, or the zero time.
func Since(account int64, rows []Row) time.Time {
	newest := map[string]Row{}
	for _, row := range inOrder(rows) {
		if row.Author != account || row.State == RowPending || row.State == RowRequest {
			continue
		}
		if row.State != RowComment {
			newest[""] = row
		}
		if _, s, err := sentinel.Split(row.Body); err == nil && s.Kind == sentinel.KindVerdict {
			newest[s.Role] = row
		}
	}
	var since time.Time
	for _, row := range newest {
		if since.IsZero() || row.Submitted.Before(since) {
			since = row.Submitted
		}
	}
	if len(newest) == 0 {
		for _, row := range rows {
			if row.Submitted.After(since) {
				since = row.Submitted
			}
		}
	}
	return since
}
