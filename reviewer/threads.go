package reviewer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/sourcegraph/conc"

	"review-bot/escalation"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/thread"
)

// TalkReader is a pull request to read conversations of. Nothing is ever written
// through it.
type TalkReader interface {
	Reader
	// Comments lists a review's inline comments.
	Comments(ctx context.Context, review int64) ([]Comment, error)
	// Abilities tells what the server can do in conversations, and the account in the
	// repository, as far as it shows without writing.
	Abilities(ctx context.Context) (Abilities, error)
}

// ThreadsSettings say which conversations to list.
type ThreadsSettings struct {
	Repo   string // owner/name
	Filter thread.Filter
	Most   int            // conversations in the list
	Triage *thread.Triage // to be checked against the list; nil for none
}

// Threads lists the conversations of a pull request. The problems are those of the
// triage; an incomplete list isn't one that a triage can be checked against.
func Threads(ctx context.Context, forge TalkReader, set ThreadsSettings, log func(Progress)) (thread.List, []thread.Problem, error) {
	s := scan{forge: forge, log: log}
	if err := s.read(ctx, func(c thread.Conversation) bool { return set.Filter.Early(c.Thread) }); err != nil {
		return thread.List{}, nil, err
	}
	list := thread.Select(s.threads, set.Filter, set.Most)
	list.Repo, list.PR, list.URL = set.Repo, s.pull.Number, s.pull.URL
	list.At(s.pull.Head)
	list.Notes = append(list.Notes, s.notes...)
	if set.Triage == nil || list.Incomplete {
		return list, nil, nil
	}
	if problems := set.Triage.Check(list.Scan, list.Threads, s.threads); len(problems) > 0 {
		return list, problems, nil
	}
	list.Judge(*set.Triage)
	return list, nil, nil
}

// scan is what stands in a pull request's conversations.
type scan struct {
	forge TalkReader
	log   func(Progress)

	account   User
	pull      Pull
	rows      []Row
	abilities Abilities
	threads   []thread.Thread // all of them
	notes     []string        // what couldn't be found out
}

// read reads the conversations, and of those that are wanted whether their line
// still stands.
func (s *scan) read(ctx context.Context, wanted func(thread.Conversation) bool) error {
	var accountErr, pullErr, rowsErr, abilitiesErr error
	var wg conc.WaitGroup
	wg.Go(func() { s.account, accountErr = s.forge.Account(ctx) })
	wg.Go(func() { s.pull, pullErr = s.forge.Pull(ctx) })
	wg.Go(func() { s.rows, rowsErr = s.forge.Reviews(ctx) })
	wg.Go(func() { s.abilities, abilitiesErr = s.forge.Abilities(ctx) })
	wg.Wait()
	if err := cmp.Or(accountErr, pullErr, rowsErr, abilitiesErr); err != nil {
		return err
	}
	remarks, reviews, err := s.remarks(ctx)
	if err != nil {
		return err
	}
	talks := thread.Scene{
		PR: s.pull.Number, Account: s.account.ID, Remarks: remarks, CanResolve: s.mayResolve(), CanReply: known(s.abilities.Reply),
	}.Conversations()
	if err := s.standings(ctx, talks, wanted); err != nil {
		return err
	}
	for _, c := range talks {
		s.threads = append(s.threads, c.Thread)
	}
	s.log(Progress{Phase: "read", Text: fmt.Sprintf("%s in %s", finding.Count(len(talks), "conversation", "conversations"), finding.Count(reviews, "review", "reviews"))})
	return nil
}

// remarks reads the inline comments of all reviews but of those that are pending:
// nobody else sees these.
func (s *scan) remarks(ctx context.Context) (remarks []thread.Remark, reviews int, err error) {
	var ids []int64
	commits := map[int64]string{}
	for _, row := range s.rows {
		if row.Comments > 0 && row.State != escalation.RowPending {
			ids, commits[row.ID] = append(ids, row.ID), row.Commit
		}
	}
	lists, err := inReviews(ctx, ids, func(ctx context.Context, review int64) ([]Comment, error) {
		comments, err := s.forge.Comments(ctx, review)
		if errors.Is(err, ErrGone) { // deleted meanwhile
			return nil, nil
		}
		return comments, err
	})
	if err != nil {
		return nil, 0, err
	}
	for i, list := range lists {
		for _, c := range list {
			remarks = append(remarks, remark(c, commits[ids[i]]))
		}
	}
	return remarks, len(ids), nil
}

var fullCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// remark is an inline comment of a review that was made at a commit.
func remark(c Comment, commit string) thread.Remark {
	r := thread.Remark{
		Comment: asFound(c), Created: c.Created, Updated: c.Updated,
		Anchor: thread.Anchor{Path: c.Path, Side: thread.New, Line: c.NewLine, Hunk: c.Hunk},
	}
	if c.OldLine > 0 {
		r.Anchor.Side, r.Anchor.Line = thread.Old, c.OldLine
	}
	for _, at := range []string{commit, c.Commit} { // anybody may post a review of what isn't a commit
		if fullCommit.MatchString(at) && (len(r.Anchor.Commits) == 0 || r.Anchor.Commits[0] != at) {
			r.Anchor.Commits = append(r.Anchor.Commits, at)
		}
	}
	return r
}

// mayResolve tells whether the account may close conversations here. Gitea lets the
// pull request's author, writers and official reviewers; and others, too, whom a
// team lets write pull requests: for them it must be tried.
func (s *scan) mayResolve() *bool {
	allowed := s.abilities.Writer || s.account.ID == s.pull.Author.ID
	for _, row := range s.rows {
		allowed = allowed || row.Official && row.Author == s.account.ID
	}
	if !allowed && s.abilities.Resolve != Cannot {
		return nil
	}
	return known(s.abilities.Resolve)
}

// known is an ability as a list shows it.
func known(a Ability) *bool {
	switch a {
	case Can:
		return new(true)
	case Cannot:
		return new(false)
	default:
		return nil
	}
}

// again reads a conversation once more, just before it is written to. false: it is
// gone. What became of its line isn't read again.
func (s *scan) again(ctx context.Context, was thread.Thread) (thread.Thread, bool, error) {
	comments, err := s.forge.Comments(ctx, was.ID.Review)
	if errors.Is(err, ErrGone) {
		return thread.Thread{}, false, nil
	}
	if err != nil {
		return thread.Thread{}, false, err
	}
	now := thread.Scene{PR: was.PR, Account: s.account.ID, CanResolve: was.CanResolve, CanReply: was.CanReply}
	for _, c := range comments {
		now.Remarks = append(now.Remarks, remark(c, ""))
	}
	for _, c := range now.Conversations() {
		if c.ID == was.ID {
			c.Outdated, c.HeadPath, c.HeadLine = was.Outdated, was.HeadPath, was.HeadLine
			return c.Thread, true, nil
		}
	}
	return thread.Thread{}, false, nil
}
