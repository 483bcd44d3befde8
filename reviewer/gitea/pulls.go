package gitea

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
)

// OpenPull is an open pull request of a branch.
type OpenPull struct {
	Number int64
	Head   string // commit, 40 hex digits
	Fork   bool   // the branch is another repository's
}

// listedPull is what the bot reads of a pull request in a list.
type listedPull struct {
	Number int64 `json:"number"`
	Head   struct {
		Ref  string `json:"ref"`
		SHA  string `json:"sha"`
		Repo *struct {
			ID int64 `json:"id"`
		} `json:"repo"` // null if it was deleted
	} `json:"head"`
	Base struct {
		RepoID int64 `json:"repo_id"`
	} `json:"base"`
}

// OpenPulls lists the open pull requests from branches of that name, of the
// repository and of its forks, ordered by number. The server has no filter for it,
// so all that are open are read. [Config].Number isn't used.
//
// One whose branch was deleted, or that came without one (AGit), goes by another
// name there, refs/pull/…/head.
func (c *Client) OpenPulls(ctx context.Context, branch string) ([]OpenPull, error) {
	doing := "looking for the open pull requests of " + strconv.Quote(branch) + " in " + c.repo()
	seen := map[int64]bool{}
	pulls := []OpenPull{}
	for page := 1; ; page++ {
		if page > maxPages {
			return nil, c.explain(doing, "", nil, errEndless)
		}
		var items []listedPull
		resp, total, err := c.get(ctx, c.path("/pulls"), query(page, "state", "open"), &items)
		if err != nil {
			if errors.Is(c.missing(ctx, resp, err), errNoRepo) {
				err = errNoRepo
			}
			return nil, c.explain(doing, "write:repository", resp, err)
		}
		more := false
		for _, item := range items {
			if seen[item.Number] {
				continue
			}
			seen[item.Number], more = true, true
			if item.Head.Ref == branch {
				fork := item.Head.Repo == nil || item.Head.Repo.ID != item.Base.RepoID
				pulls = append(pulls, OpenPull{Number: item.Number, Head: item.Head.SHA, Fork: fork})
			}
		}
		if !more || total >= 0 && len(seen) >= total {
			break
		}
	}
	slices.SortFunc(pulls, func(a, b OpenPull) int { return cmp.Compare(a.Number, b.Number) })
	return pulls, nil
}
