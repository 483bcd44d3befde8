package reviewer

import (
	"context"
	"strings"
	"time"

	"review-bot/escalation"
	"review-bot/sentinel"
)

// Rounds tells at how many heads a reviewer has requested changes since the count
// last began anew, whoever the reviewer is: a person, this bot or another one. It
// is what a tool on the author's side asks before it starts one more round.
//
// Others are counted by the reviews that the forge lists. The account whose key
// this is edits its reviews in place, so its own records are asked; of several
// roles the one with the most rounds counts.
func Rounds(ctx context.Context, forge Reader, key sentinel.Key, login string) (int, error) {
	account, err := forge.Account(ctx)
	if err != nil {
		return 0, err
	}
	rows, err := forge.Reviews(ctx)
	if err != nil {
		return 0, err
	}
	entries, err := forge.Timeline(ctx, time.Time{}, rows)
	if err != nil {
		return 0, err
	}
	if strings.EqualFold(account.Login, login) {
		log, most := escalation.NewLog(account.ID, rows, entries, key), 0
		for _, cur := range log.Standing() {
			most = max(most, log.Rounds(cur.Role()))
		}
		return most, nil
	}
	for _, e := range entries {
		if e.Kind == escalation.EntryReview && strings.EqualFold(e.Login, login) {
			return escalation.CountRounds(e.User, rows, entries), nil
		}
	}
	return 0, nil // no review of that name
}
