package giteatest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
)

// A Repo is a repository on the server with a local clone, seen by one user: that
// user's name and rights are behind every call. See [Repo.As].
type Repo struct {
	Server *Server
	Owner  *User
	Name   string

	actor *User
	clone *clone
}

// RepoOptions says what a new repository is like.
type RepoOptions struct {
	Private bool
	// Files is the first commit on main; nil: the repository stays empty.
	Files map[string]string
}

// NewRepo makes a repository that owner owns. Its default branch is main.
func (s *Server) NewRepo(tb TB, owner *User, name string, opts RepoOptions) *Repo {
	tb.Helper()
	s.Call(tb, owner.Token, http.MethodPost, "/user/repos",
		map[string]any{"name": name, "private": opts.Private, "default_branch": "main"}, nil)
	r := s.Repo(tb, owner, name)
	if opts.Files != nil {
		r.Commit(tb, "main", "", Files(opts.Files), "first commit")
	}
	return r
}

// Repo is the handle of a repository that is there already.
func (s *Server) Repo(tb TB, owner *User, name string) *Repo {
	tb.Helper()
	dir, err := os.MkdirTemp(s.scratch, "clone-")
	check(tb, err)
	r := &Repo{Server: s, Owner: owner, Name: name, actor: owner}
	r.clone = &clone{dir: dir, url: r.CloneURL()}
	_, err = r.clone.git(tb.Context(), owner, "", "init", "-q", "-b", "main")
	check(tb, err)
	return r
}

// As is the same repository, and the same local clone, seen by u.
func (r *Repo) As(u *User) *Repo {
	seen := *r
	seen.actor = u
	return &seen
}

// FullName is owner/name.
func (r *Repo) FullName() string { return r.Owner.Name + "/" + r.Name }

// CloneURL is the address for git, without a login.
func (r *Repo) CloneURL() string { return r.Server.URL + "/" + r.FullName() + ".git" }

// path is that of the repository in the API, with rest appended.
func (r *Repo) path(format string, args ...any) string {
	return "/repos/" + url.PathEscape(r.Owner.Name) + "/" + url.PathEscape(r.Name) + fmt.Sprintf(format, args...)
}

// Commit makes a commit on a branch and pushes it: the branch's tip with edit
// applied (nil: an empty commit). A branch that the server doesn't have begins at
// from: another branch or a commit; empty: at main, or at nothing in an empty
// repository. It returns the commit's id.
func (r *Repo) Commit(tb TB, branch, from string, edit Edit, message string) (sha string) {
	tb.Helper()
	r.clone.mu.Lock()
	defer r.clone.mu.Unlock()
	check(tb, r.clone.fetch(tb.Context(), r.actor))
	start, ok := r.clone.resolve(tb.Context(), r.actor, branch)
	if !ok {
		start = r.start(tb, from)
	}
	sha, err := r.clone.commit(tb.Context(), r.actor, start, edit, message)
	check(tb, err)
	check(tb, r.clone.push(tb.Context(), r.actor, sha, branch, false))
	if start == "" {
		check(tb, r.awaitContent(tb.Context()))
	}
	return sha
}

// awaitContent waits until the server knows that the repository isn't empty. It
// finds out in the background after the first push, and answers 404 until then.
func (r *Repo) awaitContent(ctx context.Context) error {
	return Poll(ctx, settleLimit, r.FullName()+" is no longer empty", func() (bool, error) {
		var state struct{ Empty bool }
		_, err := r.Server.Do(ctx, r.actor.Token, http.MethodGet, r.path(""), nil, &state)
		return !state.Empty, err
	})
}

// Rewrite is [Repo.Commit] with the branch thrown away first: it becomes from
// plus one commit, by a forced push.
func (r *Repo) Rewrite(tb TB, branch, from string, edit Edit, message string) (sha string) {
	tb.Helper()
	r.clone.mu.Lock()
	defer r.clone.mu.Unlock()
	check(tb, r.clone.fetch(tb.Context(), r.actor))
	sha, err := r.clone.commit(tb.Context(), r.actor, r.start(tb, from), edit, message)
	check(tb, err)
	check(tb, r.clone.push(tb.Context(), r.actor, sha, branch, true))
	return sha
}

// Merge merges from, a branch or a commit, into a branch with a merge commit and
// pushes it: what an author does to get the base's news. A conflict is fatal.
func (r *Repo) Merge(tb TB, branch, from string) (sha string) {
	tb.Helper()
	r.clone.mu.Lock()
	defer r.clone.mu.Unlock()
	check(tb, r.clone.fetch(tb.Context(), r.actor))
	check(tb, r.clone.checkout(tb.Context(), r.actor, r.known(tb, branch)))
	_, err := r.clone.git(tb.Context(), r.actor, "", "merge", "-q", "--no-ff", "-m", "merge "+from+" into "+branch, r.known(tb, from))
	check(tb, err)
	r.clone.commits++
	sha, err = r.clone.git(tb.Context(), r.actor, "", "rev-parse", "HEAD")
	check(tb, err)
	check(tb, r.clone.push(tb.Context(), r.actor, sha, branch, false))
	return sha
}

// Push makes a branch on the server what rev names: a branch there, or a commit
// made in this clone. With force, also when that drops commits.
func (r *Repo) Push(tb TB, rev, branch string, force bool) {
	tb.Helper()
	r.clone.mu.Lock()
	defer r.clone.mu.Unlock()
	check(tb, r.clone.fetch(tb.Context(), r.actor))
	check(tb, r.clone.push(tb.Context(), r.actor, r.known(tb, rev), branch, force))
}

// SHA is the commit that rev names: a branch on the server, or anything that git
// resolves in the clone.
func (r *Repo) SHA(tb TB, rev string) string {
	tb.Helper()
	r.clone.mu.Lock()
	defer r.clone.mu.Unlock()
	check(tb, r.clone.fetch(tb.Context(), r.actor))
	return r.known(tb, rev)
}

// Git runs git in the clone and returns its output without the last newline. The
// server is the URL of [Repo.CloneURL]; no remote has a name.
func (r *Repo) Git(tb TB, args ...string) string {
	tb.Helper()
	r.clone.mu.Lock()
	defer r.clone.mu.Unlock()
	out, err := r.clone.git(tb.Context(), r.actor, "", args...)
	check(tb, err)
	return out
}

// Dir is the clone's working tree. Its state between calls is that of the last
// commit made.
func (r *Repo) Dir() string { return r.clone.dir }

// start is the commit at which a new branch begins, empty for a root commit.
func (r *Repo) start(tb TB, from string) string {
	tb.Helper()
	if from != "" {
		return r.known(tb, from)
	}
	start, _ := r.clone.resolve(tb.Context(), r.actor, "main")
	return start
}

func (r *Repo) known(tb TB, rev string) string {
	tb.Helper()
	sha, ok := r.clone.resolve(tb.Context(), r.actor, rev)
	if !ok {
		tb.Fatalf("%s has no branch or commit %q", r.FullName(), rev)
	}
	return sha
}

// AddCollaborator gives u a permission on the repository: read, write or admin.
func (r *Repo) AddCollaborator(tb TB, u *User, permission string) {
	tb.Helper()
	r.Server.Call(tb, r.Owner.Token, http.MethodPut, r.path("/collaborators/%s", url.PathEscape(u.Name)),
		map[string]any{"permission": permission}, nil)
}

// Fork forks the repository for u and returns the fork, seen by u.
func (r *Repo) Fork(tb TB, u *User) *Repo {
	tb.Helper()
	r.Server.Call(tb, u.Token, http.MethodPost, r.path("/forks"), map[string]any{}, nil)
	return r.Server.Repo(tb, u, r.Name)
}

// A Protection is a branch protection rule.
type Protection struct {
	RequiredApprovals             int64
	ApprovalsWhitelist            []string // user names; nil: every writer's approval is official
	BlockOnRejectedReviews        bool
	BlockOnOfficialReviewRequests bool
	BlockOnOutdatedBranch         bool
	DismissStaleApprovals         bool
	IgnoreStaleApprovals          bool
	StatusChecks                  []string // contexts that must be success; nil: none
	ProtectedFiles                string   // globs of files that no pull request may change, with ; between them
	AllowPush                     bool     // directly to the branch, by writers
}

// Protect puts a rule on the branches that match branch.
func (r *Repo) Protect(tb TB, branch string, p Protection) {
	tb.Helper()
	r.Server.Call(tb, r.Owner.Token, http.MethodPost, r.path("/branch_protections"), map[string]any{
		"rule_name":                         branch,
		"enable_push":                       p.AllowPush,
		"required_approvals":                p.RequiredApprovals,
		"enable_approvals_whitelist":        p.ApprovalsWhitelist != nil,
		"approvals_whitelist_username":      p.ApprovalsWhitelist,
		"block_on_rejected_reviews":         p.BlockOnRejectedReviews,
		"block_on_official_review_requests": p.BlockOnOfficialReviewRequests,
		"block_on_outdated_branch":          p.BlockOnOutdatedBranch,
		"dismiss_stale_approvals":           p.DismissStaleApprovals,
		"ignore_stale_approvals":            p.IgnoreStaleApprovals,
		"enable_status_check":               p.StatusChecks != nil,
		"status_check_contexts":             p.StatusChecks,
		"protected_file_patterns":           p.ProtectedFiles,
	}, nil)
}

// SetStatus sets a commit status: state is pending, success, error or failure.
func (r *Repo) SetStatus(tb TB, sha, context, state string) {
	tb.Helper()
	r.Server.Call(tb, r.actor.Token, http.MethodPost, r.path("/statuses/%s", url.PathEscape(sha)),
		map[string]any{"context": context, "state": state}, nil)
}
