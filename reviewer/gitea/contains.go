package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

var someSHA = regexp.MustCompile(`^[0-9a-f]{7,40}$`)

// bare asks for a commit without its statistics, signature and files, which cost
// the server more than the commit.
func bare(more ...string) url.Values {
	q := url.Values{"stat": {"false"}, "verification": {"false"}, "files": {"false"}}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return q
}

// Contains tells whether commit is head or one of its ancestors: whether head lacks
// nothing of what leads to commit. Nothing but an empty list says so; a server that
// doesn't know `not` (Gitea before 1.19) contains no commit but head.
//
// Both ids in the request for the list are 40 hex digits, which git takes for an
// object's id and never for a branch's or tag's name. A short id it takes for
// such a name first, so the full id that it stands for is held against it.
// TestContainsIsntFooledByNames shows both.
func (c *Client) Contains(ctx context.Context, head, commit string) (bool, error) {
	commit = strings.ToLower(commit)
	if !fullSHA.MatchString(head) || !someSHA.MatchString(commit) {
		return false, c.explain("looking for a commit in the history of "+c.repo(), "", nil, errNotCommit)
	}
	if strings.HasPrefix(head, commit) {
		return true, nil
	}
	doing := fmt.Sprintf("looking for %s in the history of %s of %s", commit, head, c.repo())
	var found struct {
		SHA string `json:"sha"`
	}
	resp, _, err := c.get(ctx, c.path("/git/commits/%s", commit), bare(), &found)
	switch {
	case err != nil && resp != nil && resp.StatusCode == http.StatusNotFound:
		if err = c.missing(ctx, resp, err); errors.Is(err, errNoRepo) {
			return false, c.explain(doing, "", nil, err)
		}
		return false, nil
	case err != nil:
		return false, c.explain(doing, "write:repository", resp, err)
	case !fullSHA.MatchString(found.SHA):
		return false, c.explain(doing, "", resp, errNameless)
	case !strings.HasPrefix(found.SHA, commit):
		return false, nil
	}
	var beyond []struct{}
	resp, total, err := c.get(ctx, c.path("/commits"), bare("sha", found.SHA, "not", head, "limit", "1"), &beyond)
	if err != nil {
		return false, c.explain(doing, "write:repository", resp, err)
	}
	return beyond != nil && len(beyond) == 0 && total <= 0, nil
}
