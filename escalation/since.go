package escalation

import (
	"time"

	"review-bot/sentinel"
)

// Since is the time from which the timeline matters to the account: that of the
// oldest review which may still count or be edited, among the newest two of each
// role and the account's newest verdict. Edits, dismissals and requests that
// concern them came later: of the one before the newest it shows whether a job has
// marked it as superseded, or a person has edited it. Of older ones it doesn't, and
// they are left alone. For an account without reviews it is that of the newest
// review of all, or the zero time.
func Since(account int64, rows []Row) time.Time {
	return since(account, rows, func(row Row) string {
		if _, s, err := sentinel.Split(row.Body); err == nil && s.Kind == sentinel.KindVerdict {
			return s.Role
		}
		return ""
	})
}

// since is Since, given whose verdict a row is, "" for none.
func since(account int64, rows []Row, role func(Row) string) time.Time {
	newest := map[string][2]Row{}
	for _, row := range inOrder(rows) {
		if row.Author != account || row.State == RowPending || row.State == RowRequest {
			continue
		}
		if row.State != RowComment {
			newest[""] = [2]Row{row, row}
		}
		if role := role(row); role != "" {
			newest[role] = [2]Row{newest[role][1], row}
		}
	}
	var oldest time.Time
	for _, two := range newest {
		for _, row := range two {
			if row.ID != 0 && (oldest.IsZero() || row.Submitted.Before(oldest)) {
				oldest = row.Submitted
			}
		}
	}
	if len(newest) == 0 {
		for _, row := range rows {
			if row.Submitted.After(oldest) {
				oldest = row.Submitted
			}
		}
	}
	return oldest
}
