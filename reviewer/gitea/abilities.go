package gitea

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"

	"review-bot/reviewer"
)

// maxEndpoints bounds the server's list of its endpoints, in bytes. Gitea 1.26's
// has 839 kB.
const maxEndpoints = 16 << 20

// The endpoints that only some servers have, beside one that all have.
const (
	endpointRead    = "get /repos/{}/{}/pulls/{}/reviews/{}/comments"
	endpointResolve = "post /repos/{}/{}/pulls/comments/{}/resolve"    // Gitea since 1.26
	endpointReply   = "post /repos/{}/{}/pulls/{}/comments/{}/replies" // Gitea since 1.27
	endpointAttach  = "post /repos/{}/{}/pulls/{}/reviews/{}/comments" // Forgejo
)

// Abilities tells what the server can do, by its own list of endpoints, and the
// account, by its permissions. It only reads. A list that is switched off, hidden
// behind a login or somebody else's tells nothing.
func (c *Client) Abilities(ctx context.Context) (reviewer.Abilities, error) {
	writer, err := c.writer(ctx)
	if err != nil {
		return reviewer.Abilities{}, err
	}
	a := reviewer.Abilities{Resolve: reviewer.Unasked, Reply: reviewer.Unasked, Writer: writer}
	list := c.endpoints(ctx)
	if err := ctx.Err(); err != nil {
		return reviewer.Abilities{}, c.explain("asking what "+c.cfg.Server+" can do", "", nil, err)
	}
	if list[endpointRead] {
		a.Resolve, a.Reply = can(list[endpointResolve]), can(list[endpointReply] || list[endpointAttach])
	}
	return a, nil
}

func can(is bool) reviewer.Ability {
	if is {
		return reviewer.Can
	}
	return reviewer.Cannot
}

// writer tells whether the account may write to the repository. A site's
// administrator may write to all.
func (c *Client) writer(ctx context.Context) (bool, error) {
	doing := "asking what the account may do in " + c.repo()
	var repo struct {
		Permissions struct {
			Push  bool `json:"push"`
			Admin bool `json:"admin"`
		} `json:"permissions"`
	}
	if resp, _, err := c.get(ctx, c.path(""), nil, &repo); err != nil {
		if resp != nil && resp.StatusCode == http.StatusNotFound {
			err = errNoRepo
		}
		return false, c.explain(doing, "write:repository", resp, err)
	}
	if repo.Permissions.Push || repo.Permissions.Admin {
		return true, nil
	}
	var user struct {
		Admin bool `json:"is_admin"`
	}
	resp, _, err := c.get(ctx, "/user", nil, &user)
	if err != nil && resp != nil && resp.StatusCode == http.StatusForbidden {
		return false, nil // the token lacks read:user, and what the repository says must do
	}
	if err != nil {
		return false, c.explain(doing, "read:user", resp, err)
	}
	return user.Admin, nil
}

var parameter = regexp.MustCompile(`\{[^}]*\}`)

// endpoints are the server's, as in "post /repos/{}/{}/pulls"; nil if it doesn't
// tell. The list is no part of the API, and wants no token.
func (c *Client) endpoints(ctx context.Context) map[string]bool {
	req, err := http.NewRequestWithContext(context.WithValue(ctx, methodKey{}, http.MethodGet), http.MethodGet, c.cfg.Server+"/swagger.v1.json", nil)
	if err != nil {
		return nil
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil
	}
	var answer struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxEndpoints+1))
	if err != nil || len(text) > maxEndpoints || json.Unmarshal(text, &answer) != nil {
		return nil
	}
	list := map[string]bool{}
	for path, methods := range answer.Paths {
		path = parameter.ReplaceAllLiteralString(strings.TrimPrefix(path, "/api/v1"), "{}")
		for method := range methods {
			list[strings.ToLower(method)+" "+path] = true
		}
	}
	return list
}
