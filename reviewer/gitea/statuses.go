package gitea

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"review-bot/reviewer"
)

// errNameless says that an answer doesn't tell which commit it is about.
var errNameless = errors.New("the answer names no commit")

// combined is what the bot reads of a commit's statuses.
type combined struct {
	SHA      *string        `json:"sha"`      // nil: the answer is something else
	Statuses []commitStatus `json:"statuses"` // null for none
}

type commitStatus struct {
	ID      int64  `json:"id"`
	State   string `json:"status"`
	Context string `json:"context"`
	URL     string `json:"target_url"`
}

// Statuses lists the newest status of each context, ordered by context. The error
// is ErrNoCommit if there is no such commit.
//
// The endpoint takes 40 hex digits for the name of a branch or tag first, so
// the commit that the answer is about is compared on every page. The server counts
// neither what is on the page nor what there is in a way to go by, and its pages
// may be shorter than asked for: only an empty page is the end, on which Forgejo
// names no commit either. What is set
// meanwhile comes first and pushes the others on, so after several pages the first
// one is read again.
func (c *Client) Statuses(ctx context.Context, commit string) ([]reviewer.Status, error) {
	doing := fmt.Sprintf("reading the statuses at %s of %s", commit, c.repo())
	if !fullSHA.MatchString(commit) {
		return nil, c.explain("reading the statuses at a commit of "+c.repo(), "", nil, errNotCommit)
	}
	newest := map[string]commitStatus{}
	// take reads a page, and tells whether something on it is new.
	take := func(page int) (more bool, err error) {
		var answer combined
		resp, _, err := c.get(ctx, c.path("/commits/%s/status", commit), query(page), &answer)
		if err != nil && resp != nil && resp.StatusCode == http.StatusNotFound {
			if err = c.missing(ctx, resp, err); !errors.Is(err, errNoRepo) {
				err = reviewer.ErrNoCommit
			}
		}
		switch {
		case err != nil:
			return false, c.explain(doing, "write:repository", resp, err)
		case answer.SHA != nil && *answer.SHA == "" && len(answer.Statuses) == 0:
			return false, nil
		case answer.SHA == nil || *answer.SHA == "":
			return false, c.explain(doing, "", resp, errNameless)
		case *answer.SHA != commit:
			return false, c.explain(doing, "", resp, reviewer.ErrAmbiguous)
		}
		for _, s := range answer.Statuses {
			if old, ok := newest[s.Context]; !ok || old.ID < s.ID {
				newest[s.Context], more = s, true
			}
		}
		return more, nil
	}
	page := 1
	for ; ; page++ {
		if page > maxPages {
			return nil, c.explain(doing, "", nil, errEndless)
		}
		more, err := take(page)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	if page > 2 {
		if _, err := take(1); err != nil {
			return nil, err
		}
	}
	list := make([]reviewer.Status, 0, len(newest))
	for s := range maps.Values(newest) {
		list = append(list, reviewer.Status{Context: s.Context, State: s.State, URL: s.URL})
	}
	slices.SortFunc(list, func(a, b reviewer.Status) int { return cmp.Compare(a.Context, b.Context) })
	return list, nil
}

// RequiredChecks lists the contexts that a branch's protection asks for. Everybody who
// may read is told them, unlike the rest of the protection.
func (c *Client) RequiredChecks(ctx context.Context, branch string) ([]string, error) {
	doing := fmt.Sprintf("asking which checks the branch %s of %s requires", branch, c.repo())
	var is struct {
		Name     string   `json:"name"`
		Asks     bool     `json:"enable_status_check"`
		Contexts []string `json:"status_check_contexts"`
	}
	resp, _, err := c.get(ctx, c.path("/branches/%s", (&url.URL{Path: branch}).EscapedPath()), nil, &is)
	switch {
	case err != nil:
		return nil, c.explain(doing, "write:repository", resp, err)
	case is.Name != branch:
		return nil, c.explain(doing, "", resp, errors.New("the answer is about another branch"))
	case !is.Asks:
		return nil, nil
	}
	return is.Contexts, nil
}
