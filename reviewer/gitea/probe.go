package gitea

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"

	"review-bot/escalation"
	"review-bot/reviewer"
)

// nobodys is an id that no pull request, comment or review has. A write to it is
// refused, and shows by what it is refused for whether the token has the scope:
// the server looks at that first (403), and then for what is to be written (404).
const nobodys = math.MaxInt64

// Examine finds out what `doctor` tells about a server, an account and a
// repository. It changes nothing. Number 0 looks at no pull request. The error is
// the context's.
func (c *Client) Examine(ctx context.Context) (reviewer.ForgeFacts, error) {
	f := reviewer.ForgeFacts{Server: c.cfg.Server, Repo: c.repo(), Number: c.cfg.Number}
	f.Version = c.examineServer(ctx)
	hidden := f.Version.Status == http.StatusUnauthorized || f.Version.Status == http.StatusForbidden
	if !f.Version.OK() && !hidden {
		return f, ctx.Err()
	}
	var settings struct {
		Max int `json:"max_response_items"`
	}
	f.PageSize.Reply = c.ask(ctx, question{path: "/settings/api", into: &settings})
	f.PageSize.Value = settings.Max
	var page struct {
		Reactions []string `json:"allowed_reactions"`
	}
	f.Allowed.Reply = c.ask(ctx, question{path: "/settings/ui", into: &page})
	f.Allowed.Value = page.Reactions
	var user struct {
		ID    int64  `json:"id"`
		Login string `json:"login"`
	}
	f.Account.Reply = c.ask(ctx, question{path: "/user", into: &user})
	f.Account.Value = reviewer.User{ID: user.ID, Login: user.Login}
	if f.Account.Status == http.StatusForbidden && c.cfg.Account != "" {
		var answer permissionOf
		f.Named = c.ask(ctx, question{path: c.permissionPath(), into: &answer})
		if f.Named.OK() && answer.User != nil {
			c.named.Store(answer.User.ID) // what the trial of the lock writes shows whether it is
			f.Account.Value = reviewer.User{ID: answer.User.ID, Login: answer.User.UserName}
		}
	}
	if f.Account.Status == http.StatusUnauthorized {
		return f, ctx.Err()
	}
	c.examineScopes(ctx, &f)
	if f.Repository.OK() {
		c.examineBase(ctx, &f)
		c.examineWorkflows(ctx, &f)
		c.examineEndpoints(ctx, &f)
	}
	return f, ctx.Err()
}

// examineServer asks for the version: without the token, if that isn't accepted.
func (c *Client) examineServer(ctx context.Context) (version reviewer.Told[string]) {
	var answer struct {
		Version string `json:"version"`
	}
	version.Reply = c.ask(ctx, question{path: "/version", into: &answer})
	if version.Status == http.StatusUnauthorized || version.Status == http.StatusForbidden {
		version.Reply = c.ask(ctx, question{path: "/version", into: &answer, nameless: true})
	}
	version.Value = answer.Version
	return version
}

func (c *Client) examineScopes(ctx context.Context, f *reviewer.ForgeFacts) {
	repo := struct {
		Private       bool   `json:"private"`
		Archived      bool   `json:"archived"`
		Empty         bool   `json:"empty"`
		Pulls         bool   `json:"has_pull_requests"`
		DefaultBranch string `json:"default_branch"`
		Permissions   struct {
			Push  bool `json:"push"`
			Admin bool `json:"admin"`
		} `json:"permissions"`
	}{}
	f.Repository.Reply = c.ask(ctx, question{path: c.path(""), into: &repo})
	f.Repository.Value = reviewer.RepoFacts{
		Private: repo.Private, Archived: repo.Archived, Empty: repo.Empty, Pulls: repo.Pulls, DefaultBranch: repo.DefaultBranch,
		Push: repo.Permissions.Push, Admin: repo.Permissions.Admin,
	}
	f.IssueRead = c.ask(ctx, question{path: c.path("/issues/comments"), query: url.Values{"limit": {"1"}}})
	f.RepoWrite = c.ask(ctx, question{
		method: http.MethodPost, path: c.path("/pulls/%d/reviews", int64(nobodys)), body: map[string]string{"event": "COMMENT", "body": "-"},
	})
	f.IssueWrite = c.ask(ctx, question{
		method: http.MethodPatch, path: c.path("/issues/comments/%d", int64(nobodys)), body: map[string]string{"body": "-"},
	})
}

// examineBase looks at the pull request and at the branch that it goes into, or at
// the default branch.
func (c *Client) examineBase(ctx context.Context, f *reviewer.ForgeFacts) {
	branch := f.Repository.Value.DefaultBranch
	if f.Number > 0 {
		var pull struct {
			User struct {
				ID    int64  `json:"id"`
				Login string `json:"login"`
			} `json:"user"`
			State string `json:"state"`
			Base  struct {
				Ref string `json:"ref"`
			} `json:"base"`
		}
		if f.Pull.Reply = c.ask(ctx, question{path: c.path("/pulls/%d", f.Number), into: &pull}); !f.Pull.OK() {
			return
		}
		f.Pull.Value = reviewer.Pull{
			Number: f.Number, Author: reviewer.User{ID: pull.User.ID, Login: pull.User.Login}, BaseBranch: pull.Base.Ref, Closed: pull.State != "open",
		}
		branch = pull.Base.Ref
		rows, err := c.Reviews(ctx)
		f.Official = err == nil && slices.ContainsFunc(rows, func(r reviewer.Row) bool {
			return r.Author == f.Account.Value.ID && r.Official && (r.State == escalation.RowApproved || r.State == escalation.RowRequestChanges)
		})
	}
	var is struct {
		Protected bool     `json:"protected"`
		Approvals int      `json:"required_approvals"`
		Rule      string   `json:"effective_branch_protection_name"` // administrators are told only
		Checked   bool     `json:"enable_status_check"`
		Checks    []string `json:"status_check_contexts"`
		Commit    struct {
			ID string `json:"id"`
		} `json:"commit"`
	}
	f.Branch.Reply = c.ask(ctx, question{path: c.path("/branches/%s", (&url.URL{Path: branch}).EscapedPath()), into: &is})
	f.Branch.Value = reviewer.BranchFacts{Name: branch, Protected: is.Protected, Approvals: is.Approvals}
	if is.Checked {
		f.Branch.Value.Checks = is.Checks
	}
	if fullSHA.MatchString(is.Commit.ID) {
		f.Tree = c.ask(ctx, question{path: c.path("/git/trees/%s", is.Commit.ID), query: url.Values{"per_page": {"1"}}, into: new(any)})
		f.Contents = c.ask(ctx, question{
			path: c.path("/file-contents"), query: url.Values{"ref": {is.Commit.ID}, "body": {`{"files":["README.md"]}`}}, into: new([]any),
		})
	}
	if !is.Protected || !f.Repository.Value.Admin {
		return
	}
	f.Rules = c.examineRules(ctx, is.Rule)
}

// examineWorkflows looks which folders of workflows the base branch has, where only one
// of them is read.
func (c *Client) examineWorkflows(ctx context.Context, f *reviewer.ForgeFacts) {
	if !f.Forgejo() || !f.Branch.OK() {
		return
	}
	for _, folder := range reviewer.WorkflowFolders {
		reply := c.ask(ctx, question{
			path: c.path("/contents/%s", folder), query: url.Values{"ref": {f.Branch.Value.Name}}, into: new([]any),
		})
		switch {
		case reply.OK():
			f.Workflows.Value = append(f.Workflows.Value, folder)
		case reply.Status != http.StatusNotFound:
			f.Workflows.Reply = reply
			return
		}
	}
	f.Workflows.Reply = reviewer.Reply{Status: http.StatusOK}
}

// examineRules reads the protection of that name.
func (c *Client) examineRules(ctx context.Context, name string) (is reviewer.Told[reviewer.RuleFacts]) {
	var rules []struct {
		Name            string   `json:"rule_name"`
		BlockOnRejected bool     `json:"block_on_rejected_reviews"`
		Listed          bool     `json:"enable_approvals_whitelist"`
		Users           []string `json:"approvals_whitelist_username"`
		Teams           []string `json:"approvals_whitelist_teams"`
		DismissStale    bool     `json:"dismiss_stale_approvals"`
		IgnoreStale     bool     `json:"ignore_stale_approvals"`
		BlockOnRequests bool     `json:"block_on_official_review_requests"`
		Files           string   `json:"protected_file_patterns"`
	}
	reply := c.ask(ctx, question{path: c.path("/branch_protections"), into: &rules})
	for _, r := range rules {
		if r.Name == name {
			is.Reply, is.Value = reply, reviewer.RuleFacts{
				BlockOnRejected: r.BlockOnRejected, Listed: r.Listed, Users: r.Users, Teams: r.Teams,
				KeepsStale: !r.DismissStale && !r.IgnoreStale, BlockOnRequests: r.BlockOnRequests, Files: r.Files,
			}
		}
	}
	return is // not OK if there is none: its rules aren't known
}

// examineEndpoints asks for what only some servers have.
func (c *Client) examineEndpoints(ctx context.Context, f *reviewer.ForgeFacts) {
	f.Resolve = c.ask(ctx, question{method: http.MethodPost, path: c.path("/pulls/comments/%d/resolve", int64(nobodys))})
	body := map[string]any{"body": "-", "path": "-", "new_position": 1}
	f.Reply = c.ask(ctx, question{method: http.MethodPost, path: c.path("/pulls/%d/comments/%d/replies", int64(nobodys), int64(nobodys)), body: body})
	f.Attach = c.ask(ctx, question{method: http.MethodPost, path: c.path("/pulls/%d/reviews/%d/comments", int64(nobodys), int64(nobodys)), body: body})
}

// question is a request of which the answer's status and words are of interest.
type question struct {
	method   string // "" for GET
	path     string
	query    url.Values
	body     any  // sent as JSON; nil: nothing
	into     any  // where a success is decoded to; nil: it isn't read
	nameless bool // without the token
}

// ask asks once, and a read again if the server fails for a cause that may pass.
func (c *Client) ask(ctx context.Context, q question) reviewer.Reply {
	if q.method == "" {
		q.method = http.MethodGet
		ctx = context.WithValue(ctx, methodKey{}, http.MethodGet)
	}
	req, err := c.request(ctx, q.method, q.path, q.query, q.body)
	if err != nil {
		return reviewer.Reply{Text: oneLine(err.Error())}
	}
	if q.nameless {
		req.Header.Del("Authorization")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var sent *url.Error
		if errors.As(err, &sent) {
			err = sent.Err
		}
		return reviewer.Reply{Text: oneLine(err.Error())}
	}
	defer resp.Body.Close()
	return c.reply(resp, q.into)
}

// reply reads an answer.
func (c *Client) reply(resp *http.Response, into any) reviewer.Reply {
	r := reviewer.Reply{Status: resp.StatusCode}
	const longest = 4 << 20
	text, err := io.ReadAll(io.LimitReader(resp.Body, longest))
	if err != nil {
		return reviewer.Reply{Text: "the answer broke off: " + oneLine(err.Error())}
	}
	if resp.StatusCode/100 == 2 {
		if into != nil && json.Unmarshal(text, into) != nil {
			r.Absent, r.Text = true, "the answer is not the JSON expected"
		}
		return r
	}
	if resp.StatusCode/100 == 3 {
		r.Text = "leads to another address"
		if to, err := resp.Location(); err == nil {
			r.Text = oneLine(fmt.Sprintf("leads to another address, %s://%s", to.Scheme, to.Host))
		}
		return r
	}
	var answer said
	err = json.Unmarshal(text, &answer)
	switch {
	case resp.StatusCode == http.StatusMethodNotAllowed, resp.StatusCode == http.StatusNotFound && (err != nil || answer.Message == ""):
		r.Absent = true
	case len(answer.Errors) > 0:
		r.Text = oneLine(answer.Errors[0])
	default:
		r.Text = oneLine(answer.Message)
	}
	return r
}
