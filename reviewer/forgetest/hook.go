package forgetest

import "fmt"

// Op is a request to the forge, named as the method of reviewer.Forge.
type Op string

// The requests.
const (
	GetAccount       Op = "Account"
	GetPull          Op = "Pull"
	GetDiff          Op = "Diff"
	GetFile          Op = "File"
	GetTree          Op = "Tree"
	GetChanges       Op = "Changes"
	GetHeadRef       Op = "HeadRef"
	GetAhead         Op = "Ahead"
	GetBlob          Op = "Blob"
	GetFiles         Op = "Files"
	GetReviews       Op = "Reviews"
	GetTimeline      Op = "Timeline"
	GetTimelineToEnd Op = "TimelineToEnd"
	GetPermission    Op = "Permission"
	GetComments      Op = "Comments"
	GetReactions     Op = "Reactions"
	PostReview       Op = "PostReview"
	EditReview       Op = "EditReview"
	SubmitPending    Op = "SubmitPending"
	RequestReview    Op = "RequestReview"
	Say              Op = "Say"
	React            Op = "React"
	Unreact          Op = "Unreact"
	Resolve          Op = "Resolve"
	EditComment      Op = "EditComment"
	Attach           Op = "Attach"
)

// Writes tells whether the request changes something.
func (o Op) Writes() bool {
	switch o {
	case PostReview, EditReview, SubmitPending, RequestReview, Say, React, Unreact, Resolve, EditComment, Attach:
		return true
	default:
		return false
	}
}

// Call is a moment in a request.
type Call struct {
	Account string
	Op      Op
	Step    int  // of a PostReview in steps: 1 before the first inline comment, and so on; the submission is the last
	Done    bool // the server has performed the request, and its answer is under way
}

// Hook is called before and after each request. Its error before the request
// means that the request never reached the server; after it, that the answer was
// lost; before a step, that the server failed there, in the middle.
type Hook func(Call) error

// BrokenPost as a hook's error before a PostReview makes the server answer 500
// with that many of the comments made, which stay in a pending review.
type BrokenPost struct{ Comments int }

func (b BrokenPost) Error() string {
	return fmt.Sprintf("the server failed after %d inline comments", b.Comments)
}
