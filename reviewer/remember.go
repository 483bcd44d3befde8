package reviewer

import (
	"context"

	"review-bot/prompts"
	"review-bot/reviewer/finding"
	"review-bot/sentinel"
)

// round puts the answers and the earlier findings together. What it takes to judge
// why the answers leave an earlier finding out is looked up only for those.
func (r *run) round(ctx context.Context, st state, m material, s scope, calls []call, answers []prompts.Answer) (round finding.Round, summary string, err error) {
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
	return finding.Merge(c), summary, nil
}

// remembered are the sentinel's fields that say which findings are open, and which
// are fixed though their conversations don't say so.
func remembered(round finding.Round) []sentinel.Field {
	var ids []string
	for _, f := range round.Counted {
		ids = append(ids, f.ID)
	}
	fields := sentinel.IDFields(sentinel.OpenIDs, ids)
	if len(round.Fixed) > 0 {
		fields = append(fields, sentinel.IDFields(fixedField, round.Fixed)...)
	}
	return fields
}
