// Package reviewer is one run of the bot: gather what stands on the forge, ask
// the model, decide, publish.
//
// Servers, clocks and randomness are passed in. The interfaces here are the
// consumer's: reviewer/gitea and reviewer/forgetest implement them for a forge,
// reviewer/openai for a model.
package reviewer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer/change"
	"review-bot/sentinel"
)

// User is an account on the forge.
type User struct {
	ID    int64
	Login string
}

// Pull is a pull request as far as the bot cares.
type Pull struct {
	Number     int64
	Title      string // written by others
	Body       string // written by others
	Author     User
	URL        string // its page
	Repo       string // the repository's page, to link lines of code
	Head       string // commit, 40 hex digits
	Base       string // tip of the base branch, 40 hex digits
	BaseBranch string
	MergeBase  string
	Closed     bool // closed or merged
	Draft      bool
}

// Against is what the pull request's head is compared with.
func (p Pull) Against() sentinel.Against {
	return sentinel.Against{Branch: sentinel.BranchDigest(p.BaseBranch), MergeBase: p.MergeBase}
}

// Row is a review in the forge's list of reviews.
type Row = escalation.Row

// Entry is an entry of the pull request's timeline.
type Entry = escalation.Entry

// Reader is what a run reads of one pull request. Every error is one line that
// says what failed, on what, and what to do.
type Reader interface {
	Account(ctx context.Context) (User, error)
	Pull(ctx context.Context) (Pull, error)
	// Diff is the pull request's diff between merge base and head, as git writes it.
	Diff(ctx context.Context) ([]byte, error)
	// Reviews lists all reviews, those of other accounts included. For each that the server
	// counts and doesn't show there is an [escalation.HiddenReview].
	Reviews(ctx context.Context) ([]Row, error)
	// Timeline lists the entries that were updated at since or later, all for the zero time.
	// rows are the reviews as they were read just before: their counts say where the list is
	// over. A server may leave entries out of what it gives, and anybody can add many of those,
	// so an entry that isn't in the list may exist all the same.
	Timeline(ctx context.Context, since time.Time, rows []Row) ([]Entry, error)
	// TimelineToEnd reads on until nothing has come for long, and says whether it did or
	// had to stop before. It may take a hundred requests.
	TimelineToEnd(ctx context.Context, since time.Time, rows []Row) ([]Entry, escalation.Reach, error)
	// Permission reports whether a user is known to have write access to the repository. It is
	// false, without an error, where the server doesn't tell the account.
	Permission(ctx context.Context, login string) (write bool, err error)
	// File is a file's content at a commit or branch; the error is ErrNoFile if there is none.
	File(ctx context.Context, path, ref string) ([]byte, error)
	// Tree is every file of a commit: its blob's id, in full, by its path. Symbolic links are
	// files, submodules are left out. commit is 40 hex digits; the error is ErrNoCommit if there
	// is none, ErrTooLarge if there are thousands of files.
	Tree(ctx context.Context, commit string) (map[string]string, error)
	// Changes is where two commits' trees differ, named as in [Reader.Tree]. The error is
	// ErrNoCommit without one of them, ErrTooLarge if there is too much to be read.
	Changes(ctx context.Context, before, after string) (change.Set, error)
	// HeadRef is the commit that Diff is of; ErrUnsupported where the server doesn't say.
	HeadRef(ctx context.Context) (string, error)
	// Ahead counts the commits that lead to commit and not to base.
	Ahead(ctx context.Context, base, commit string) (int, error)
	// Blob is a content by its id, in full; ErrTooLarge if the server doesn't give it for its size.
	Blob(ctx context.Context, id string) ([]byte, error)
	// Files reads files at a commit, as [Reader.Tree] takes it, in as few requests as the server
	// can do with. What is missing or no file isn't in the map; without the commit the error is
	// ErrNoCommit. A symbolic link's content is the path that it names.
	Files(ctx context.Context, paths []string, commit string) (map[string][]byte, error)
}

// ErrUnavailable says that a server didn't answer, or failed, for a cause that may pass.
var ErrUnavailable = errors.New("the server is not available")

// ErrNoFile says that a repository has no such file at that commit.
var ErrNoFile = errors.New("no such file")

// ErrNoCommit says that a repository has no such commit, or has it no more: git
// removes one that nothing leads to, some time after a forced push.
var ErrNoCommit = errors.New("no such commit")

// ErrTooLarge says that a list is too long to be read.
var ErrTooLarge = errors.New("the list is too long to be read")

// Publisher is what a run writes, and what it must see to write safely.
//
// A write whose outcome isn't known (the answer was lost, or the server failed
// in the middle) has ErrUnknown in its error's chain, and is never repeated by
// the implementation.
type Publisher interface {
	// PostReview publishes a review with its inline comments.
	PostReview(ctx context.Context, review NewReview) (Row, error)
	// EditReview replaces the body of a submitted review; commentID is Row.CommentID.
	EditReview(ctx context.Context, commentID int64, body string) error
	// Comments lists a review's inline comments, also those of the account's own pending one.
	// The error is ErrGone if the review was deleted.
	Comments(ctx context.Context, review int64) ([]Comment, error)
	// SubmitPending submits the account's pending review as a comment.
	SubmitPending(ctx context.Context, review int64, body string) (Row, error)
	// RequestReview asks a user for a review. Asking the account itself takes its verdict back:
	// the forge stops counting it. The error is ErrAsked if that changed nothing.
	RequestReview(ctx context.Context, login string) error
	// Say writes an ordinary comment under the pull request; id is its timeline entry's.
	Say(ctx context.Context, body string) (id int64, err error)
}

// ErrFailed says that the server itself failed at a write (500), and is over with it: what
// there is of it now is all that will come of it.
var ErrFailed = errors.New("the server failed at it")

// ErrUnknown says that a write may or may not have happened.
var ErrUnknown = errors.New("whether it happened is not known")

// Locker is the forge's one atomic test-and-set per account and pull request:
// a reaction on the pull request.
type Locker interface {
	// React adds the account's reaction. added is true for exactly one of several who try at
	// once; created is the server's time of it.
	React(ctx context.Context, content string) (added bool, created time.Time, err error)
	// Reactions lists the reactions on the pull request, and the server's time now.
	Reactions(ctx context.Context) ([]Reaction, time.Time, error)
	// Unreact removes the account's reaction. It is no error if there is none.
	Unreact(ctx context.Context, content string) error
}

// Reaction is a user's reaction on the pull request.
type Reaction = escalation.Reaction

// Comment is an inline comment of a review.
type Comment = escalation.Comment

// Settler closes and reopens conversations, which are the inline comments with
// the same review, path and line. Its writes are sent once; see [Publisher] for
// those whose outcome isn't known.
type Settler interface {
	// Resolve marks the conversation of an inline comment as resolved, or as open again. It is
	// no error if it is so already. The error is ErrUnsupported where the server has no such
	// endpoint, and ErrGone if the comment was deleted.
	//
	// The server keeps the mark on the very comment that is named, and goes by the oldest of a
	// conversation: comment is to be that one.
	Resolve(ctx context.Context, comment int64, resolved bool) error
	// EditComment replaces the text of an inline comment of the account; ErrGone if it was deleted.
	EditComment(ctx context.Context, comment int64, body string) error
	// Attach adds an inline comment to a submitted review of the account; ErrUnsupported where
	// the server can't, ErrGone if there is no such review.
	Attach(ctx context.Context, review int64, comment NewComment) error
}

// ErrAsked says that a request for review changed nothing, as one is there already.
// It may be older than the verdict that counts: that goes on counting.
var ErrAsked = errors.New("the review is asked for already, so the server changed nothing")

// ErrUnsupported says that the server has no such endpoint.
var ErrUnsupported = errors.New("the server can't")

// ErrAmbiguous says that a server took a commit's id for the name of something else.
var ErrAmbiguous = errors.New("the server answered for another commit: a branch or tag has the commit's id for its name")

// ErrGone says that what was to be changed isn't there any more.
var ErrGone = errors.New("it isn't there any more")

// Forge is one pull request on a server.
type Forge interface {
	Reader
	Publisher
	Locker
	Settler
}

// NewReview is a review to be posted.
type NewReview = escalation.NewReview

// NewComment is an inline comment of a review to be posted.
type NewComment = escalation.NewComment

// Model answers review requests.
type Model interface {
	Review(ctx context.Context, req prompts.Request) (prompts.Answer, Usage, error)
}

// TooLong is a model server's word that a request is longer than it takes. Asking the
// same again is no use.
type TooLong struct {
	Fits int // tokens of a request and its answer, as the server counts them; 0 if it doesn't say
	Err  error
}

func (e *TooLong) Error() string { return e.Err.Error() }
func (e *TooLong) Unwrap() error { return e.Err }

// FitsInto is how many tokens a request may have by our own count, where a model takes so
// many for a request and its answer: its vocabulary may make more of the same text, and
// the answer needs room.
func FitsInto(context int) int {
	const (
		vocabularies = 1.3
		answer       = 6000
	)
	return int(float64(max(context-answer, context/2)) / vocabularies)
}

// Usage is what asking a model cost. Tokens are as the server counts them.
type Usage struct {
	Model      string  `json:"model"`
	Calls      int     `json:"calls"`
	Prompt     int     `json:"prompt_tokens"`
	Cached     int     `json:"cached_tokens"` // of the prompt tokens
	Completion int     `json:"completion_tokens"`
	Window     int     `json:"window,omitempty"` // tokens of the model's context, the smallest of several; 0 if that isn't known
	Seconds    float64 `json:"seconds"`
	Cost       float64 `json:"cost,omitempty"` // by the prices that were given, in their currency
}

// Error is a failure as people read it: one line that says what the program was
// doing and on what, what went wrong, and what to do next.
type Error struct {
	Doing string
	Err   error
	Next  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %v — %s", e.Doing, e.Err, e.Next)
}

func (e *Error) Unwrap() error { return e.Err }
