package reviewer

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Check is a row of what `doctor` found.
type Check struct {
	Name  string     `json:"check"`
	State CheckState `json:"state"`
	Found string     `json:"found"`
	Fix   string     `json:"fix,omitempty"` // what to do, where the state asks for something
}

// CheckState tells how a check ended.
type CheckState string

// The states. Whoever needs a review needs all rows not to be Failed.
const (
	Fine    CheckState = "ok"
	Warned  CheckState = "warn" // reviews work, but not as well as they could
	Failed  CheckState = "fail" // something that a review needs
	Skipped CheckState = "skip" // it wasn't looked at, or can't be seen
)

// Reply is how a server took a question: the data that checks are judged by.
type Reply struct {
	Status int    // HTTP's; 0: it wasn't asked, or there was no answer
	Text   string // why there was no answer, or what the refusal says: one line
	Absent bool   // there is no such endpoint: the answer isn't the API's
}

// OK tells whether the question was answered.
func (r Reply) OK() bool { return r.Status/100 == 2 && !r.Absent }

// scopeless tells whether the token lacks the scope of the question.
func (r Reply) scopeless() bool {
	return r.Status == http.StatusForbidden && strings.Contains(r.Text, "required scope")
}

// publicOnly tells whether the token is for public repositories, and this is none.
func (r Reply) publicOnly() bool {
	return r.Status == http.StatusForbidden && strings.Contains(r.Text, "limited to public")
}

// known tells whether the API spoke of the question itself, whatever it said.
func (r Reply) known() bool {
	return r.Status/100 == 2 || r.Status/100 == 4 && r.Status != http.StatusUnauthorized && r.Status != http.StatusTooManyRequests
}

// String tells in words what was answered.
func (r Reply) String() string {
	switch {
	case r.Status == 0 && r.Text == "":
		return "it wasn't asked"
	case r.Status == 0:
		return r.Text
	case r.Text == "":
		return fmt.Sprintf("the server answered %d", r.Status)
	}
	return fmt.Sprintf("the server answered %d: %s", r.Status, r.Text)
}

// Told is a reply with what it said.
type Told[T any] struct {
	Reply
	Value T
}

// ForgeFacts is what was found out about a forge, as an account on it sees it.
type ForgeFacts struct {
	Server, Repo string // address, owner/name

	Version    Told[string] // as the server tells it
	PageSize   Told[int]    // most entries of a list that it gives at once
	Allowed    Told[[]string]
	Account    Told[User] // by Named, where the token doesn't say whose it is
	Named      Reply      // whether it is the account's that was named with --account
	Repository Told[RepoFacts]

	// Writes of what isn't there: refused, but not for want of a scope.
	RepoWrite, IssueWrite Reply
	IssueRead             Reply

	Number   int64 // of the pull request; 0: none is looked at
	Pull     Told[Pull]
	Official bool // a verdict of the account on it counts for merging

	Branch Told[BranchFacts] // the base branch
	Rules  Told[RuleFacts]   // of its protection, which administrators may see only

	// Workflows are those of WorkflowFolders that the base branch has; asked of Forgejo only.
	Workflows Told[[]string]

	NoApprove bool // the settings publish no approval

	// By ids that aren't there.
	Resolve, Reply, Attach Reply
	Tree, Contents         Reply
}

// Forgejo reports whether the server says that it is a Forgejo.
func (f ForgeFacts) Forgejo() bool {
	return f.Version.OK() && strings.Contains(f.Version.Value, "+gitea-")
}

// WorkflowFolders are where Forgejo looks for workflows. It reads the first that exists.
var WorkflowFolders = []string{".forgejo/workflows", ".gitea/workflows", ".github/workflows"}

// RepoFacts is what a repository is like for the account.
type RepoFacts struct {
	Private, Archived, Empty bool
	Pulls                    bool // it has pull requests
	Push, Admin              bool // what the account may do
	DefaultBranch            string
}

// BranchFacts is what a branch is like.
type BranchFacts struct {
	Name      string
	Protected bool
	Approvals int      // that a merge needs
	Checks    []string // that a merge needs; nil: none
}

// RuleFacts is what a branch's protection says about reviews.
type RuleFacts struct {
	BlockOnRejected bool
	Listed          bool // only those on a list are official reviewers
	Users, Teams    []string
	KeepsStale      bool   // an approval counts after a push
	BlockOnRequests bool   // a request for an official review holds up a merge
	Files           string // that no pull request may change: globs with ; between them
}

// LockTrial is what came of locking the account on a pull request and unlocking it.
type LockTrial struct {
	Reaction string // "" if no lock is wanted
	Tried    bool
	Held     bool // there is one already, which was left alone
	Err      error
}

// TryLock adds the account's reaction and takes it back, unless anybody has it.
func TryLock(ctx context.Context, l Locker, reaction string) LockTrial {
	trial := LockTrial{Reaction: reaction, Tried: true}
	list, _, err := l.Reactions(ctx)
	if err != nil {
		trial.Err = err
		return trial
	}
	if trial.Held = slices.ContainsFunc(list, func(r Reaction) bool { return r.Content == reaction }); trial.Held {
		return trial
	}
	added, _, err := l.React(ctx, reaction)
	switch {
	case err != nil:
		trial.Err = err
	case !added: // another job's, from just now
		trial.Held = true
	default:
		releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), Grace/2)
		defer cancel()
		trial.Err = l.Unreact(releasing, reaction)
	}
	return trial
}
