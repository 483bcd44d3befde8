package escalation

import (
	"fmt"

	"review-bot/sentinel"
)

// State is what a publication remembers beside its last reading, for comparing
// two that have read the same.
func (p *Publication) State() string {
	return fmt.Sprint(p.known, p.Ask.Kind, p.Ask.Post.Event, p.Ask.About, len(p.queue), p.rounds, p.posts, p.held, !p.lost.IsZero(),
		p.refused, p.apart, len(p.orphans), p.ending, p.unlocked != nil, p.verdict.Own, p.verdict.Head, p.verdict.Fresh,
		len(p.verdict.Comments), len(p.verdict.Owed), p.mending.times, p.mending.taken != 0, len(p.mending.moved), p.Done.Outcome, p.Done.Failure)
}

// Held tells whether the publication believes that it holds the lock.
func (p *Publication) Held() bool { return p.held && p.Ask.Kind != AskNothing }

// Rounds is how often it has decided to write.
func (p *Publication) Rounds() int { return p.rounds }

// Head is the pull request's head by the last reading.
func (p *Publication) Head() string { return p.head }

// Own is the verdict that it publishes, which may be another run's.
func (p *Publication) Own() sentinel.Verdict { return p.verdict.Own }
