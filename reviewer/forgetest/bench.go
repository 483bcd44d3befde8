package forgetest

import (
	"errors"
	"net/http"
	"time"

	"review-bot/reviewer"
)

// Setup says which pull request a bench has. Its files are [BaseFiles] and
// [HeadFiles], its accounts those of [DefaultAccounts].
type Setup struct {
	Protection *Protection // nil: none
	Author     string      // "": author

	where func(Dialect) bool // the dialects of which a fact holds; nil: all
}

// in is the setup of a fact that holds of some dialects only.
func (s Setup) in(where func(Dialect) bool) Setup {
	s.where = where
	return s
}

// Bench is a pull request on some forge, with what people do to it. Accounts go by
// the names of [DefaultAccounts], whatever their logins are. A status is that of
// the server's answer, 200 for every success.
type Bench interface {
	Dialect() Dialect
	As(name string) reviewer.Forge
	Login(name string) string

	// Push and MergeBase return when the server has done its background work. They must
	// change some file: a real server shows nothing by which its work on an empty commit
	// could be seen to be over. MergeBase changes files on the base branch and merges it into the pull request's.
	Push(by string, files map[string]string) (head string)
	MergeBase(by string, files map[string]string) (head string)
	// Retarget makes a branch at a commit and makes it the pull request's base branch.
	Retarget(by, branch, at string)

	Dismiss(by string, review int64, message string, priors bool) (status int)
	Undismiss(by string, review int64) (status int)
	RemoveRequest(by, name string) (status int)
	BeginReview(by, body string) (status int)
	// BeginComments is BeginReview with so many inline comments.
	BeginComments(by, body string, comments int) (status int)
	DeleteEntry(by string, comment int64) (status int)
	Resolve(by string, comment int64) (status int)
	Unresolve(by string, comment int64) (status int)
	// Reply answers an inline comment of a submitted review.
	Reply(by string, comment int64, body string) (reply int64)
	Comment(by, body string) (comment int64)
	Close(by string)
	Reopen(by string)
	TryReopen(by string) (status int)
	SetTitle(by, title string)

	// Tick lets the server's clock go on by a second at least.
	Tick()
	// Merge asks the merge endpoint, which merges if it may: nothing works after it.
	Merge() (merged bool, reason string)
}

// Memory is the bench of a forge in memory.
type Memory struct{ Forge *Forge }

var _ Bench = Memory{}

// NewMemory makes the forge for a setup.
func NewMemory(d Dialect, s Setup) Memory {
	return Memory{New(Options{Dialect: d, Protection: s.Protection, Author: s.Author})}
}

// Dialect is the forge's.
func (m Memory) Dialect() Dialect { return m.Forge.site.dialect }

func statusOf(err error) int {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Status
	}
	return http.StatusOK
}

// As is the account's view.
func (m Memory) As(name string) reviewer.Forge { return m.Forge.As(name) }

// Login is the account's name.
func (m Memory) Login(name string) string { return name }

// Push is [Forge.Push].
func (m Memory) Push(by string, files map[string]string) string { return m.Forge.Push(by, files) }

// MergeBase is [Forge.PushBase], [Forge.MergeBase] and [Forge.EndPush].
func (m Memory) MergeBase(by string, files map[string]string) string {
	m.Forge.PushBase(files)
	sha := m.Forge.MergeBase(by)
	m.Forge.EndPush()
	return sha
}

// Retarget is [Forge.Retarget].
func (m Memory) Retarget(by, branch, at string) { m.Forge.Retarget(by, branch, at) }

// Dismiss is [Forge.Dismiss].
func (m Memory) Dismiss(by string, review int64, message string, priors bool) int {
	return statusOf(m.Forge.Dismiss(by, review, message, priors))
}

// Undismiss is [Forge.Undismiss].
func (m Memory) Undismiss(by string, review int64) int {
	return statusOf(m.Forge.Undismiss(by, review))
}

// RemoveRequest is [Forge.RemoveRequest].
func (m Memory) RemoveRequest(by, name string) int { return statusOf(m.Forge.RemoveRequest(by, name)) }

// BeginReview is [Forge.BeginReview].
func (m Memory) BeginReview(by, body string) int { return statusOf(m.Forge.BeginReview(by, body)) }

// BeginComments is [Forge.BeginComments].
func (m Memory) BeginComments(by, body string, comments int) int {
	return statusOf(m.Forge.BeginComments(by, body, comments))
}

// DeleteEntry is [Forge.DeleteTimelineEntry].
func (m Memory) DeleteEntry(by string, comment int64) int {
	return statusOf(m.Forge.DeleteTimelineEntry(by, comment))
}

// Resolve is [Forge.Resolve], through the API.
func (m Memory) Resolve(by string, comment int64) int { return m.mark(m.Forge.Resolve, by, comment) }

// Unresolve is [Forge.Unresolve], through the API.
func (m Memory) Unresolve(by string, comment int64) int {
	return m.mark(m.Forge.Unresolve, by, comment)
}

func (m Memory) mark(mark func(by string, comment int64) error, by string, comment int64) int {
	if m.Forge.site.dialect.Unresolving {
		return statusOf(errNoEndpoint)
	}
	return statusOf(mark(by, comment))
}

// Reply is [Forge.Reply]. No such comment is a mistake in the test.
func (m Memory) Reply(by string, comment int64, body string) int64 {
	id, err := m.Forge.Reply(by, comment, body)
	if err != nil {
		panic(err)
	}
	return id
}

// Comment is [Forge.Comment].
func (m Memory) Comment(by, body string) int64 { return m.Forge.Comment(by, body) }

// Close is [Forge.Close].
func (m Memory) Close(by string) { m.Forge.Close(by) }

// Reopen is [Forge.Reopen].
func (m Memory) Reopen(by string) { m.Forge.Reopen(by) }

// TryReopen is [Forge.TryReopen].
func (m Memory) TryReopen(by string) int { return statusOf(m.Forge.TryReopen(by)) }

// SetTitle is [Forge.SetTitle].
func (m Memory) SetTitle(by, title string) { m.Forge.SetTitle(by, title) }

// Tick is [Forge.Advance] by a second.
func (m Memory) Tick() { m.Forge.Advance(time.Second) }

// Merge is [Forge.Mergeable].
func (m Memory) Merge() (merged bool, reason string) { return m.Forge.Mergeable() }
