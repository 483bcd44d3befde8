package escalation

import (
	"math"
	"slices"
	"strconv"

	"review-bot/sentinel"
)

// The fields of a verdict's sentinel that count the rounds, besides round and epoch.
const (
	followUpsField = "followups" // heads that the role has followed up in this count
	followUpField  = "followup"  // the record's head is one of them
)

// people decides by whose acts a reviewer's count of rounds starts again.
type people struct {
	reviewer int64
	author   int64          // of the pull request
	writers  map[int64]bool // who are known to have write access
}

// may reports whether a person's request for a review is one of a maintainer:
// somebody with write access who isn't the author. Reopening and dismissing need
// no look-up, as the server lets nobody else do them, but for the author.
func (p people) may(e Entry) bool {
	if e.User == p.reviewer || e.User == p.author {
		return false
	}
	return e.Kind != EntryReviewRequest || p.writers[e.User]
}

// asks reports whether the entry asks the reviewer for another look.
func (p people) asks(e Entry) bool {
	return e.Kind == EntryReopen || e.Kind == EntryReviewRequest && e.Subject == p.reviewer && !e.Removed
}

func (l Log) people() people { return people{l.Account, l.Author, l.Writers} }

// Askers are those whose requests for a review of the account may matter to the
// role if they have write access: the logins by user, of at most limit people,
// the newest first.
func (l Log) Askers(role string, limit int) map[int64]string {
	cur, ok := l.Current(role)
	if !ok {
		return nil
	}
	news := slices.DeleteFunc(slices.Clone(l.Entries), func(e Entry) bool {
		return e.ID <= max(cur.Sentinel.Epoch, cur.Sentinel.Heard)
	})
	return AskersOf(l.Account, l.Author, news, limit)
}

// AskersOf is the same about any reviewer. The entries are ordered by id.
func AskersOf(reviewer, author int64, entries []Entry, limit int) map[int64]string {
	who := people{reviewer: reviewer, author: author}
	askers := map[int64]string{}
	for _, e := range slices.Backward(entries) {
		if len(askers) == limit {
			break
		}
		if e.Kind == EntryReviewRequest && who.asks(e) && e.User != reviewer && e.User != author {
			askers[e.User] = e.Login
		}
	}
	return askers
}

// Epoch is the timeline id of what last started the role's count of rounds again;
// 0 if nothing has. That is the newest of: a maintainer reopened the pull request,
// asked the account for a review, or dismissed its request for changes while that
// was in force; a person's official approval came after the role's last review. A
// maintainer is somebody with write access who isn't the author. What the role's
// record carries counts too, as the log may begin later.
func (l Log) Epoch(role string) int64 {
	cur, ok := l.Current(role)
	epoch := cur.Sentinel.Epoch
	if l.Holes {
		return epoch
	}
	waivers := l.Waivers()
	for _, e := range l.Entries {
		dismissal := slices.ContainsFunc(waivers, func(w Waiver) bool { return w.Entry.ID == e.ID })
		if (dismissal || l.people().asks(e)) && l.people().may(e) {
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

// AskedAgain reports whether a maintainer has asked for another look, by a request
// for a review or by reopening, since the model was asked for the record. The
// author, who could ask for ever, isn't heard while the head has a verdict, and
// strangers never are.
func (l Log) AskedAgain(cur Record) bool {
	return !l.Holes && slices.ContainsFunc(l.Entries, func(e Entry) bool {
		return l.people().asks(e) && l.people().may(e) && l.after(e, cur.Row) && e.ID > cur.Sentinel.Heard
	})
}

// askedByAuthor reports whether the author has asked for a look since the model
// was asked for the record.
func (l Log) askedByAuthor(cur Record) bool {
	return !l.Holes && slices.ContainsFunc(l.Entries, func(e Entry) bool {
		return l.people().asks(e) && e.User == l.Author && l.after(e, cur.Row) && e.ID > cur.Sentinel.Heard
	})
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
// together with Epoch. counts says whether that was a round: it requested changes,
// or there was more than it could read, which must not be had for nothing.
func (l Log) RoundsAt(role string, own sentinel.Verdict, counts bool, head string) int {
	n := l.Rounds(role)
	if !counts {
		return n
	}
	if cur, ok := l.Current(role); ok && n > 0 && cur.Head() == head && cur.Own() == own {
		return n
	}
	return n + 1
}

// Look is how a role looks at a head.
type Look string

// The looks. What a role may say at a follow-up is less than at a full look: new
// findings count only if they block.
const (
	FullLook Look = "full"
	FollowUp Look = "follow-up"
	NoLook   Look = "none" // the head isn't judged, and the verdict stays
)

// Look decides how the role looks at head. After its rounds, the heads at which it
// has requested changes, it follows up; after its follow-ups it doesn't look. A
// head that comes after an approval gets a full look at any round, or nobody would
// read it. The author may ask for one look at a head that has none. No limit is 0.
func (l Log) Look(role, head string, rounds, followUps int) Look {
	cur, ok := l.Current(role)
	switch {
	case !ok || rounds <= 0 || l.Rounds(role) < rounds:
		return FullLook
	case cur.Head() == head && !cur.FollowUp():
		return FullLook
	case cur.Head() == head:
		return FollowUp
	case cur.Own() == sentinel.Approved:
		return FullLook
	case followUps > 0 && l.FollowUps(role) >= followUps && !l.askedByAuthor(cur):
		return NoLook
	}
	return FollowUp
}

// FollowUps is how many heads the role has followed up since its epoch.
func (l Log) FollowUps(role string) int {
	cur, ok := l.Current(role)
	if !ok || cur.Sentinel.Epoch != l.Epoch(role) {
		return 0
	}
	n, err := strconv.Atoi(cur.Sentinel.Field(followUpsField))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// FollowUp reports whether the record's head was followed up.
func (r Record) FollowUp() bool { return r.Sentinel.Field(followUpField) != "" }

// FollowUpsAt is FollowUps once the role has looked at head in that way, and
// fields are what the sentinel is to note of it.
func (l Log) FollowUpsAt(role string, look Look, head string) (n int, fields []sentinel.Field) {
	n = l.FollowUps(role)
	cur, ok := l.Current(role)
	if look == FollowUp {
		if !ok || n == 0 || cur.Head() != head || !cur.FollowUp() {
			n++
		}
		fields = append(fields, sentinel.Field{Key: followUpField, Value: "1"})
	}
	if n > 0 {
		fields = append(fields, sentinel.Field{Key: followUpsField, Value: strconv.Itoa(n)})
	}
	return n, fields
}

// HandedOff reports whether the role has handed the pull request over to people
// since its epoch.
func (l Log) HandedOff(h sentinel.Handoff) bool {
	return slices.ContainsFunc(l.Entries, func(e Entry) bool {
		found, ok := sentinel.FindHandoff(e.Body)
		return ok && e.Kind == EntryComment && e.User == l.Account && found == h
	})
}

// Gating is the address of the review by which the account blocks the pull
// request: its newest request for changes that counts. It is "" if there is none,
// or its entry in the timeline was deleted.
func (l Log) Gating() string {
	unofficial := l.Gate().Unofficial
	for _, row := range slices.Backward(l.Rows) {
		if row.State == RowRequestChanges && !row.Dismissed && (row.Official || unofficial) {
			return row.URL
		}
	}
	return ""
}

// CountRounds is the same question about any reviewer, by what the forge alone
// tells: at how many commits it has requested changes since the newest of the
// events that start a count again. author is the pull request's, writers those who
// are known to have write access. Its approvals and comments don't count, and rows
// that name no commit are passed over.
func CountRounds(reviewer, author int64, writers map[int64]bool, rows []Row, entries []Entry) int {
	who := people{reviewer, author, writers}
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
		if row.State == RowRequestChanges && row.Commit != "" && !isHold(row) {
			blocks = append(blocks, row)
		}
	}
	var epoch int64
	for _, e := range entries {
		ofBlock := slices.ContainsFunc(blocks, func(row Row) bool { return row.ID == e.Review })
		if (e.Kind == EntryDismiss && ofBlock || who.asks(e)) && who.may(e) {
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

// approvesAsPerson reports whether a review is an official approval that counts,
// and not one of another account of review-bot.
func approvesAsPerson(row Row) bool {
	_, _, err := sentinel.Split(row.Body)
	return row.State == RowApproved && row.Official && !row.Dismissed && err != nil
}
