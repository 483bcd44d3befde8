package gitea

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	sdk "code.gitea.io/sdk/gitea"
)

// writing are the server's names of the permissions that include writing.
var writing = []string{"write", "admin", "owner"}

// Permission reports whether a user is known to have write access to the
// repository. The server tells only administrators of the repository about
// others (403). Anybody may read the list of those who can be assigned: it holds
// everybody with write access, and in the repositories of an organization also
// the members of teams that only read. So it is believed where there is no such
// team: a repository without an organization answers 405 when asked for its teams.
func (c *Client) Permission(ctx context.Context, login string) (bool, error) {
	doing := "asking what " + login + " may do in " + c.repo()
	var tells struct {
		Permission string `json:"permission"`
	}
	known, err := c.tells(ctx, doing, "/collaborators/"+url.PathEscape(login)+"/permission", &tells)
	if known || err != nil {
		return slices.Contains(writing, tells.Permission), err
	}
	var assignees []sdk.User
	if known, err = c.tells(ctx, doing, "/assignees", &assignees); !known || err != nil {
		return false, err
	}
	if !slices.ContainsFunc(assignees, func(u sdk.User) bool { return strings.EqualFold(u.UserName, login) }) {
		return false, nil
	}
	var teams []sdk.Team
	resp, _, err := c.get(ctx, c.path("/teams"), nil, &teams)
	switch {
	case err != nil && resp != nil && resp.StatusCode == http.StatusMethodNotAllowed:
		return true, nil
	case withheld(resp, err):
		return false, nil
	case err != nil:
		return false, c.explain(doing, "write:repository", resp, err)
	}
	reads := func(t sdk.Team) bool { return !slices.Contains(writing, string(t.Permission)) }
	return !slices.ContainsFunc(teams, reads), nil
}

// tells reads something about people; known is false if the server doesn't tell
// the account.
func (c *Client) tells(ctx context.Context, doing, path string, into any) (known bool, err error) {
	resp, _, err := c.get(ctx, c.path("%s", path), nil, into)
	switch {
	case withheld(resp, err):
		return false, nil
	case err != nil:
		return false, c.explain(doing, "write:repository", resp, err)
	}
	return true, nil
}

// withheld reports whether the server refused to say, or has nothing there.
func withheld(resp *sdk.Response, err error) bool {
	return err != nil && resp != nil && (resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusNotFound)
}
