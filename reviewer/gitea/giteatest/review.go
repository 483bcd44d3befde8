package giteatest

import (
	"context"
	"net/http"
	"time"
)

// ReviewInput is a review to post, with the names of the API.
type ReviewInput struct {
	// Event is the state wanted: COMMENT, APPROVED or REQUEST_CHANGES; PENDING
	// leaves it unsubmitted.
	Event    string         `json:"event"`
	Body     string         `json:"body"`
	CommitID string         `json:"commit_id,omitempty"` // empty: the head
	Comments []CommentInput `json:"comments,omitempty"`
}

// CommentInput is an inline comment: on a line of the new or of the old side.
type CommentInput struct {
	Path        string `json:"path"`
	Body        string `json:"body"`
	NewPosition int64  `json:"new_position,omitempty"`
	OldPosition int64  `json:"old_position,omitempty"`
}

// A Review is a review as the server lists it.
type Review struct {
	ID            int64
	State         string
	Body          string
	CommitID      string `json:"commit_id"`
	Official      bool
	Stale         bool
	Dismissed     bool
	CommentsCount int64  `json:"comments_count"`
	HTMLURL       string `json:"html_url"`
	User          struct {
		ID    int64
		Login string
	}
}

// Comment is an inline comment of a review, as the server lists it. Those with the
// same review, path and position are a conversation.
type Comment struct {
	ID       int64
	ReviewID int64     `json:"pull_request_review_id"`
	HTMLURL  string    `json:"html_url"`
	Created  time.Time `json:"created_at"`
	Updated  time.Time `json:"updated_at"`
	Path     string
	Body     string
	Position int64  // line on the new side, 0 for the old one
	Original int64  `json:"original_position"` // line on the old side, 0 for the new one
	CommitID string `json:"commit_id"`
	Resolver *struct{ Login string }
	User     struct {
		ID    int64
		Login string
	}
}

// Review posts a review as a user. A refusal is fatal; see [Server.Status] and
// [Pull.ReviewsPath] for one that is wanted.
func (p *Pull) Review(tb TB, as *User, in ReviewInput) Review {
	tb.Helper()
	var made Review
	p.Repo.Server.Call(tb, as.Token, http.MethodPost, p.ReviewsPath(), in, &made)
	return made
}

// ReviewsPath is the path of the pull request's reviews in the API.
func (p *Pull) ReviewsPath() string { return p.path("/reviews") }

// Reviews lists all reviews in the server's order, which isn't that of submission.
func (p *Pull) Reviews(tb TB) []Review {
	tb.Helper()
	all, err := p.reviews(tb.Context())
	check(tb, err)
	return all
}

func (p *Pull) reviews(ctx context.Context) ([]Review, error) {
	const limit = 50
	var all []Review
	for page := 1; ; page++ {
		var some []Review
		// A short page isn't the end: others' pending reviews take places and aren't shown.
		list := counted{items: &some}
		path := p.path("/reviews?limit=%d&page=%d", limit, page)
		if _, err := p.Repo.Server.Do(ctx, p.Repo.actor.Token, http.MethodGet, path, nil, &list); err != nil {
			return nil, err
		}
		all = append(all, some...)
		if page*limit >= list.total {
			return all, nil
		}
	}
}

// Comments lists the inline comments of a review, in no order.
func (p *Pull) Comments(tb TB, review int64) []Comment {
	tb.Helper()
	all, err := p.comments(tb.Context(), review)
	check(tb, err)
	return all
}

func (p *Pull) comments(ctx context.Context, review int64) ([]Comment, error) {
	var all []Comment
	_, err := p.Repo.Server.Do(ctx, p.Repo.actor.Token, http.MethodGet, p.path("/reviews/%d/comments", review), nil, &all)
	return all, err
}

// Dismiss dismisses a review as a user, who must be an admin of the repository.
func (p *Pull) Dismiss(tb TB, as *User, review int64, message string) {
	tb.Helper()
	p.Repo.Server.Call(tb, as.Token, http.MethodPost, p.path("/reviews/%d/dismissals", review),
		map[string]any{"message": message}, nil)
}

// RequestReview asks users for a review, again or for the first time, as a user.
func (p *Pull) RequestReview(tb TB, as *User, reviewers ...*User) {
	tb.Helper()
	names := make([]string, len(reviewers))
	for i, u := range reviewers {
		names[i] = u.Name
	}
	p.Repo.Server.Call(tb, as.Token, http.MethodPost, p.path("/requested_reviewers"), map[string]any{"reviewers": names}, nil)
}

// Say writes an ordinary comment under the pull request, as a user, and returns
// its id.
func (p *Pull) Say(tb TB, as *User, body string) (id int64) {
	tb.Helper()
	var made struct{ ID int64 }
	p.Repo.Server.Call(tb, as.Token, http.MethodPost, p.Repo.path("/issues/%d/comments", p.Index), map[string]any{"body": body}, &made)
	return made.ID
}
