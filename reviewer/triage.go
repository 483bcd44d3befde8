package reviewer

import "context"

// Talker is what `settle` needs of a forge beside what `threads` and a review do. All
// but Reply only read.
type Talker interface {
	// Statuses lists the newest status of each context at a commit, 40 hex digits. The
	// error is ErrAmbiguous if the server answers for another commit.
	Statuses(ctx context.Context, commit string) ([]Status, error)
	// RequiredChecks lists the contexts, as patterns, that a branch's protection asks for
	// before it is merged into; none if it isn't protected, or asks for none.
	RequiredChecks(ctx context.Context, branch string) ([]string, error)
	// Contains tells whether commit, 7 to 40 hex digits, is head, 40 hex digits, or one
	// of its ancestors. One that the repository doesn't have, or that is ambiguous, isn't.
	Contains(ctx context.Context, head, commit string) (bool, error)
	// Reply adds a comment to the conversation of an inline comment, once, whatever comes
	// back. The error is ErrUnsupported where the server can't, ErrGone if the comment was
	// deleted; see [Publisher] for a reply whose outcome isn't known.
	Reply(ctx context.Context, to Comment, body string) (id int64, err error)
}

// Abilities is what can be done in conversations.
type Abilities struct {
	Resolve Ability // the server can close conversations
	Reply   Ability // the server can add to them
	Writer  bool    // the account may write to the repository, and so may close all of them
}

// Ability tells whether a server can do something.
type Ability string

// The answers. A server that hides the list of its endpoints must be tried.
const (
	Can     Ability = "yes"
	Cannot  Ability = "no"
	Unasked Ability = "unknown"
)

// Status is the status of one context at a commit.
type Status struct {
	Context string // as in ci / test (pull_request)
	State   string // as the forge calls it: success, pending, failure, error, warning, skipped
	URL     string
}
