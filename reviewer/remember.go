package reviewer

import (
	"context"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer/finding"
	"review-bot/sentinel"
)

// round puts the answers and the earlier findings together. What it takes to judge
// why the answers leave an earlier finding out is looked up only for those.
func (r *run) round(
	ctx context.Context, st state, m material, s scope, calls []call, answers []prompts.Answer,
) (round finding.Round, summary string, err error) {
	c, summary := r.merge(answers, s, m, st.pull.Head)
	c.Shown = func(id string) bool {
		for _, call := range calls {
			if call.shown(id) {
				return true
			}
		}
		return false
	}
	c.Earlier, c.Diff, c.Head, c.Author = m.earlier, m.diff, st.pull.Head, st.pull.Author.ID
	if c.Changes, err = r.since(ctx, c.Versions(), m.diff, st.pull.Head); err != nil {
		return finding.Round{}, "", err
	}
	c.MayWrite = r.mayWrite(ctx, c.Repliers())
	return finding.Merge(c), summary, nil
}

// maxSpeakers bounds of how many people who replied or closed a conversation it is
// looked up whether they may write; the others count as strangers.
const maxSpeakers = 20

// mayWrite reports who of these is known to have write access.
func (r *run) mayWrite(ctx context.Context, users []finding.User) func(finding.User) bool {
	people := map[int64]string{}
	for _, u := range users[:min(len(users), maxSpeakers)] {
		if u.ID > 0 {
			people[u.ID] = u.Login
		}
	}
	may := writers(ctx, r.env.Forge, people)
	return func(u finding.User) bool { return may[u.ID] }
}

// remembered are the sentinel's fields that say which findings are fixed though
// their conversations don't say so.
func remembered(round finding.Round) []sentinel.Field {
	if len(round.Fixed) == 0 {
		return nil
	}
	return sentinel.IDFields(fixedField, round.Fixed)
}

// recorded puts into the result what is open by the role's record, when no model is
// asked: without a further request, as far as the record's text says it.
func (r *run) recorded(st state, cur escalation.Record) {
	waived := st.log.Dismissals(r.set.Role)
	text := escalation.Recorded(cur).Body.Text
	if cur.Edited {
		text = ""
	}
	lifted := func(id string) bool { return waived.Whole || waived.IDs[id] }
	r.result.Findings = results(finding.Remembered(text, cur.Sentinel, lifted))
}
