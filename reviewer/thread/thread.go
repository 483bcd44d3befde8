// Package thread is the triage of a pull request's conversations: which there
// are, what is to become of them, and what of that may be done.
//
// A conversation is what [finding.Conversation] says. Here it has an id of its
// own, so that it can't be mistaken for a comment, and says what the forge's API
// doesn't: whether the line that it is about still stands at the head.
//
// The package is pure. It trusts no text: neither a comment's, whoever wrote it,
// nor a payload's.
package thread

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// ID names a conversation. The review comes first, so that nobody takes it for a
// comment's id.
type ID struct{ Review, Root int64 }

// String is the id as payloads have it, as in 12:345.
func (id ID) String() string { return fmt.Sprintf("%d:%d", id.Review, id.Root) }

var idPattern = regexp.MustCompile(`^([1-9][0-9]{0,18}):([1-9][0-9]{0,18})$`)

// ParseID reads what String writes.
func ParseID(s string) (ID, error) {
	m := idPattern.FindStringSubmatch(s)
	if m == nil {
		return ID{}, fmt.Errorf("%q is not of the form REVIEW:COMMENT, as in 12:345", s)
	}
	review, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return ID{}, fmt.Errorf("%q names no review: %w", s, err)
	}
	root, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil {
		return ID{}, fmt.Errorf("%q names no comment: %w", s, err)
	}
	return ID{review, root}, nil
}

// MarshalText is [ID.String].
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is [ParseID].
func (id *ID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseID(string(text))
	return err
}

// AuthorKind says what an account seems to be. It is for sorting, and says nothing
// about trust.
type AuthorKind string

// The kinds.
const (
	KindUser    AuthorKind = "user"
	KindBot     AuthorKind = "bot"     // a system account, a name such as renovate[bot] or review-bot, or a comment with a marker of this bot, which anybody can write
	KindDeleted AuthorKind = "deleted" // the account is gone
)

// Side is the side of a diff that a line counts on.
type Side string

// The sides.
const (
	New Side = "new"
	Old Side = "old"
)

// Thread is a conversation as `threads` lists it.
type Thread struct {
	ID         ID         `json:"id"`
	PR         int64      `json:"pr"`
	Path       string     `json:"path"` // as the forge has it: at the time of the comment
	Line       int        `json:"line"` // likewise; 0 if it is about the whole file
	Side       Side       `json:"side"`
	HeadPath   string     `json:"head_path"` // where the line is at the head; "" if it is outdated, or on the old side
	HeadLine   int        `json:"head_line"` // likewise; 0 if it isn't known
	Resolved   bool       `json:"resolved"`
	Resolver   string     `json:"resolver"` // login; "" if it is open
	Outdated   bool       `json:"outdated"` // the line no longer stands at the head
	Author     string     `json:"author"`   // login; of the oldest comment
	AuthorKind AuthorKind `json:"author_kind"`
	URL        string     `json:"url"`
	CanResolve *bool      `json:"can_resolve"` // nil: it isn't known without trying
	CanReply   *bool      `json:"can_reply"`   // likewise
	Role       string     `json:"role"`        // that the first marker in it claims, which anybody can write; "" without one
	FindingID  string     `json:"finding_id"`  // likewise
	Comments   []Comment  `json:"comments"`    // oldest first; one at least
}

// Comment is one comment of a conversation.
type Comment struct {
	ID         int64      `json:"id"`
	Author     string     `json:"author"` // login; "" if the account is gone
	AuthorKind AuthorKind `json:"author_kind"`
	Title      string     `json:"-"`    // of the finding that it carries; in lists only
	Body       string     `json:"body"` // written by others; in lists without markers and small print
	Created    time.Time  `json:"created"`
	Updated    time.Time  `json:"updated"` // of the text, or of the mark that its line changed
	URL        string     `json:"url"`
	Ours       bool       `json:"ours"` // written by the account whose token it is
}

// Newest is the id of the newest comment.
func (t Thread) Newest() int64 { return t.Comments[len(t.Comments)-1].ID }

// SaysSame tells whether the same was said as when the conversation was read
// before, and whether it is as open as it was.
func (t Thread) SaysSame(was Thread) bool {
	return t.Resolved == was.Resolved && slices.EqualFunc(t.Comments, was.Comments, func(a, b Comment) bool { return a.ID == b.ID && a.Body == b.Body })
}
