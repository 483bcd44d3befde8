package escalation

import (
	"math"
	"slices"

	"review-bot/sentinel"
)

// Epoch is the timeline id of what last started the role's count of rounds anew;
// 0 if nothing has. That is the newest of: the pull request was reopened; a
// person dismissed a request for changes of the account; a person's official
// approval came after the role's last review. What the role's record carries
// counts too, as the log may begin later.
func (l Log) Epoch(role string) int64 {
	cur, ok := l.Current(role)
	epoch := cur.Sentinel.Epoch
	if l.Holes {
		return epoch
	}
	for _, e := range l.Entries {
		if e.Kind == EntryReopen || e.Kind == EntryDismiss && e.User != l.Account && l.blocked(e.Review) {
			epoch = max(epoch, e.ID)
		}
	}
	if !ok {
		return epoch
	}
	for _, row := range l.Approvals {
		if row.CommentID > max(cur.Row.CommentID, cur.Sentinel.Heard) {
			epoch = max(epoch, row.CommentID)
		}
	}
	return epoch
}

// blocked tells whether a review is a request for changes of the account.
func (l Log) blocked(review int64) bool {
	return slices.ContainsFunc(l.Rows, func(row Row) bool { return row.ID == review && row.State == RowRequestChanges })
}

// Rounds is at how many heads the role itself has requested changes since its
// epoch. Escalations aren't its own.
func (l Log) Rounds(role string) int {
	cur, ok := l.Current(role)
	if !ok || cur.Sentinel.Epoch != l.Epoch(role) {
		return 0
	}
	return cur.Sentinel.Round
}

// RoundsAt is Rounds once the role has judged head: what its record is to carry,
// together with Epoch.
func (l Log) RoundsAt(role string, own sentinel.Verdict, head string) int {
	n := l.Rounds(role)
	if own != sentinel.RequestChanges {
		return n
	}
	if cur, ok := l.Current(role); ok && n > 0 && cur.Head() == head && cur.Own() == own {
		return n
	}
	return n + 1
}

// Capped tells whether the role has had its rounds, and head would be one more.
// With most 0 there is no limit.
func (l Log) Capped(role, head string, most int) bool {
	cur, ok := l.Current(role)
	return ok && most > 0 && cur.Head() != head && l.Rounds(role) >= most
}

// HandedOff tells whether the role has handed the pull request over to people
// since its epoch.
func (l Log) HandedOff(h sentinel.Handoff) bool {
	return slices.ContainsFunc(l.Entries, func(e Entry) bool {
		found, ok := sentinel.FindHandoff(e.Body)
		return ok && e.Kind == EntryComment && e.User == l.Account && found == h
	})
}

// CountRounds is the same question about any reviewer, by what the forge alone
// tells: at how many commits it has requested changes since the newest of the
// events that start a count anew. Its approvals and comments don't count, and
// rows that name no commit are passed over.
func CountRounds(reviewer int64, rows []Row, entries []Entry) int {
	first := int64(math.MaxInt64) // the reviewer's first review
	var blocks []Row
	for _, row := range inOrder(rows) {
		if row.Author != reviewer || row.State == RowPending || row.State == RowRequest {
			continue
		}
		if row.CommentID == 0 {
			continue
		}
		first = min(first, row.CommentID)
		if row.State == RowRequestChanges && row.Commit != "" {
			blocks = append(blocks, row)
		}
	}
	var epoch int64
	for _, e := range entries {
		ofBlock := slices.ContainsFunc(blocks, func(row Row) bool { return row.ID == e.Review })
		if e.Kind == EntryReopen || e.Kind == EntryDismiss && e.User != reviewer && ofBlock {
			epoch = max(epoch, e.ID)
		}
	}
	for _, row := range rows {
		if row.Author != reviewer && approvesAsPerson(row) && row.CommentID > first {
			epoch = max(epoch, row.CommentID)
		}
	}
	commits := map[string]bool{}
	for _, row := range blocks {
		if row.CommentID > epoch {
			commits[row.Commit] = true
		}
	}
	return len(commits)
}

// approvesAsPerson tells whether a review is an official approval that counts,
// and not one of another account of review-bot.
func approvesAsPerson(row Row) bool {
	_, _, err := sentinel.Split(row.Body)
	return row.State == RowApproved && row.Official && !row.Dismissed && err != nil
}
