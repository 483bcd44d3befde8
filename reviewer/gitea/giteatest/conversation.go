package giteatest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// Resolve marks the conversation of an inline comment as resolved, as a user. A
// refusal is fatal; see [Pull.TryResolve] for one that is wanted.
func (p *Pull) Resolve(tb TB, as *User, comment int64) {
	tb.Helper()
	p.Repo.Server.Call(tb, as.Token, http.MethodPost, p.resolvePath(comment, true), nil, nil)
}

// Unresolve opens the conversation again, as a user.
func (p *Pull) Unresolve(tb TB, as *User, comment int64) {
	tb.Helper()
	p.Repo.Server.Call(tb, as.Token, http.MethodPost, p.resolvePath(comment, false), nil, nil)
}

// TryResolve is [Pull.Resolve] or [Pull.Unresolve] that may be refused: it returns
// the answer's status and, for a refusal, its message.
func (p *Pull) TryResolve(tb TB, as *User, comment int64, resolved bool) (status int, message string) {
	tb.Helper()
	return p.Repo.Server.Status(tb, as.Token, http.MethodPost, p.resolvePath(comment, resolved), nil, nil)
}

func (p *Pull) resolvePath(comment int64, resolved bool) string {
	verb := "resolve"
	if !resolved {
		verb = "unresolve"
	}
	return p.Repo.path("/pulls/comments/%d/%s", comment, verb)
}

// Reply answers in the conversation of an inline comment, as a user, and returns
// the id of the reply. It is what the pull request's page does: Gitea 1.26 has
// nothing in its API for it.
func (p *Pull) Reply(tb TB, as *User, comment int64, text string) (id int64) {
	tb.Helper()
	id, err := p.reply(tb.Context(), as, comment, text)
	check(tb, err)
	return id
}

func (p *Pull) reply(ctx context.Context, as *User, comment int64, text string) (int64, error) {
	to, err := p.findComment(ctx, comment)
	if err != nil {
		return 0, err
	}
	side, line := "proposed", to.Position
	if line == 0 {
		side, line = "previous", to.Original
	}
	form := url.Values{
		"origin": {"timeline"}, "latest_commit_id": {to.CommitID}, "side": {side}, "line": {strconv.FormatInt(line, 10)},
		"path": {to.Path}, "content": {text}, "reply": {strconv.FormatInt(to.ReviewID, 10)}, "single_review": {"true"},
	}
	if p.Repo.Server.forgejo() { // its API has what its page does
		var made struct{ ID int64 }
		_, err := p.Repo.Server.Do(ctx, as.Token, http.MethodPost, p.path("/reviews/%d/comments", to.ReviewID),
			map[string]any{"path": to.Path, "body": text, "new_position": to.Position, "old_position": to.Original}, &made)
		return made.ID, err
	}
	before, err := p.comments(ctx, to.ReviewID)
	if err != nil {
		return 0, err
	}
	path := fmt.Sprintf("/%s/pulls/%d/files/reviews/comments", p.Repo.FullName(), p.Index)
	if err := p.Repo.Server.submit(ctx, as, path, form); err != nil {
		return 0, err
	}
	after, err := p.comments(ctx, to.ReviewID)
	if err != nil {
		return 0, err
	}
	for _, c := range after {
		isNew := !slices.ContainsFunc(before, func(old Comment) bool { return old.ID == c.ID })
		if isNew && c.User.ID == as.ID && c.Body == text && c.Path == to.Path && c.Position == to.Position && c.Original == to.Original {
			return c.ID, nil
		}
	}
	return 0, fmt.Errorf("%s: the reply of %s to comment %d isn't among the comments of review %d", path, as.Name, comment, to.ReviewID)
}

var errNoComment = errors.New("no inline comment")

// findComment looks for an inline comment in all reviews: the API gives none by its id.
func (p *Pull) findComment(ctx context.Context, id int64) (Comment, error) {
	reviews, err := p.reviews(ctx)
	if err != nil {
		return Comment{}, err
	}
	for _, r := range reviews {
		if r.CommentsCount == 0 {
			continue
		}
		comments, err := p.comments(ctx, r.ID)
		if err != nil {
			return Comment{}, err
		}
		for _, c := range comments {
			if c.ID == id {
				return c, nil
			}
		}
	}
	return Comment{}, fmt.Errorf("%s#%d has %w %d", p.Repo.FullName(), p.Index, errNoComment, id)
}
