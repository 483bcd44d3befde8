package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"review-bot/reviewer"
)

// errNoOwner says that a token doesn't say whose it is. Forgejo's tokens that are limited
// to repositories may not ask.
var errNoOwner = errors.New("the token doesn't say whose it is")

// errStranger says that a token is another account's than was said.
var errStranger = errors.New("the token isn't that account's")

// Account is the user whose token it is. Where the token may not ask that, it is
// [Config].Account: everybody may ask for their own permission, and only administrators of
// the repository for others'. So an administrator's token is known for sure only by what it
// writes, see [Client.its].
func (c *Client) Account(ctx context.Context) (reviewer.User, error) {
	const doing = "asking whose token this is"
	client, err := c.read(ctx)
	if err != nil {
		return reviewer.User{}, c.explain(doing, "", nil, err)
	}
	u, resp, err := client.GetMyUserInfo()
	switch {
	case err != nil && resp != nil && resp.StatusCode == http.StatusForbidden && c.cfg.Account != "":
		return c.said(ctx)
	case err != nil && resp != nil && resp.StatusCode == http.StatusForbidden && !strings.Contains(err.Error(), "required scope"):
		return reviewer.User{}, c.explain(doing, "", resp, fmt.Errorf("%w: %s", errNoOwner, oneLine(err.Error())))
	case err != nil:
		return reviewer.User{}, c.explain(doing, "read:user", resp, err)
	case u.ID == 0 || u.UserName == "":
		return reviewer.User{}, c.explain(doing, "", resp, errors.New("the answer names no user"))
	case c.cfg.Account != "" && !strings.EqualFold(c.cfg.Account, u.UserName):
		return reviewer.User{}, c.explain(doing, "", resp, fmt.Errorf("%w: it is of %s, not of %s", errStranger, u.UserName, c.cfg.Account))
	}
	return reviewer.User{ID: u.ID, Login: u.UserName}, nil
}

// permissionOf is what the server tells of an account's permission.
type permissionOf struct {
	User *sdk.User `json:"user"`
}

func (c *Client) permissionPath() string {
	return c.path("/collaborators/%s/permission", url.PathEscape(c.cfg.Account))
}

// said is the account that the caller has named.
func (c *Client) said(ctx context.Context) (reviewer.User, error) {
	doing := "asking whether the token is of " + c.cfg.Account
	var answer permissionOf
	resp, _, err := c.get(ctx, c.permissionPath(), nil, &answer)
	switch {
	case withheld(resp, err):
		return reviewer.User{}, c.explain(doing, "", resp, errStranger)
	case err != nil:
		return reviewer.User{}, c.explain(doing, "write:repository", resp, err)
	case answer.User == nil || answer.User.ID == 0 || !strings.EqualFold(answer.User.UserName, c.cfg.Account):
		return reviewer.User{}, c.explain(doing, "", resp, errors.New("the answer is about somebody else"))
	}
	c.named.Store(answer.User.ID)
	return reviewer.User{ID: answer.User.ID, Login: answer.User.UserName}, nil
}

// its reports whether what was written is the account's, by the user that the answer
// names. From the first thing on that isn't, nothing more is written.
func (c *Client) its(user int64) error {
	if named := c.named.Load(); named == 0 || user == 0 || user == named {
		return nil
	}
	c.stranger.Store(true)
	return errStranger
}

// mayWrite is what keeps a write from being sent.
func (c *Client) mayWrite() error {
	if c.stranger.Load() {
		return errStranger
	}
	return nil
}
