package reviewer

import (
	"context"
	"strings"
	"time"

	"review-bot/escalation"
	"review-bot/sentinel"
)

// maxAskers bounds of how many people it is looked up whether they may write.
const maxAskers = 5

// writers looks up who of the people have write access. That it can't be told, for
// whatever cause, grants nobody anything.
func writers(ctx context.Context, forge Reader, people map[int64]string) map[int64]bool {
	known := map[int64]bool{}
	for user, login := range people {
		if may, err := forge.Permission(ctx, login); err == nil && may {
			known[user] = true
		}
	}
	return known
}

// read is what is on the forge when the run begins, and what of it people may do.
func (r *run) read(ctx context.Context) (state, error) {
	st, err := readState(ctx, r.env.Forge, r.key)
	r.people(ctx, &st)
	return st, err
}

// complete is state.complete with what people may do.
func (r *run) complete(ctx context.Context, st *state) error {
	if !st.partial {
		return nil
	}
	err := st.complete(ctx, r.env.Forge, r.key)
	r.people(ctx, st)
	return err
}

// people looks up whether those who ask for another look may have it.
func (r *run) people(ctx context.Context, st *state) {
	if askers := st.log.Askers(r.set.Role, maxAskers); len(askers) > 0 {
		st.log.Writers = writers(ctx, r.env.Forge, askers)
	}
}

// manner is how the role looks at the head. Where it matters what people did, the
// timeline is read to its end.
func (r *run) manner(ctx context.Context, st *state) (escalation.Look, error) {
	how := func() escalation.Look {
		return st.log.Look(r.set.Role, st.pull.Head, r.set.MaxRounds, r.set.MaxFollowUps)
	}
	if how() != escalation.FullLook && st.partial {
		if err := r.complete(ctx, st); err != nil {
			return "", err
		}
	}
	if look := how(); look != escalation.NoLook {
		return look, nil
	}
	return escalation.FollowUp, nil // forced
}

// Rounds reports at how many heads a reviewer has requested changes since the count
// last began again. The reviewer may be a person, this bot or another one. It is
// what a tool on the author's side asks before it starts one more round.
//
// Others are counted by the reviews that the forge lists. The account whose key
// this is edits its reviews in place, so its own records are asked; of several
// roles the one with the most rounds counts.
func Rounds(ctx context.Context, forge Reader, key sentinel.Key, login string) (int, error) {
	account, err := forge.Account(ctx)
	if err != nil {
		return 0, err
	}
	pull, err := forge.Pull(ctx)
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
		log := escalation.NewLog(account.ID, rows, entries, key)
		log.Author = pull.Author.ID
		return most(ctx, forge, log), nil
	}
	for _, e := range entries {
		if e.Kind == escalation.EntryReview && strings.EqualFold(e.Login, login) {
			may := writers(ctx, forge, escalation.AskersOf(e.User, pull.Author.ID, entries, maxAskers))
			return escalation.CountRounds(e.User, pull.Author.ID, may, rows, entries), nil
		}
	}
	return 0, nil // no review of that name
}

// most is the count of that role of the account which has the most rounds.
func most(ctx context.Context, forge Reader, log escalation.Log) int {
	n := 0
	for _, cur := range log.Standing() {
		log.Writers = writers(ctx, forge, log.Askers(cur.Role(), maxAskers))
		n = max(n, log.Rounds(cur.Role()))
	}
	return n
}
