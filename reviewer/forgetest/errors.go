package forgetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"review-bot/reviewer"
)

// explain makes the adapter's error of what went wrong.
func (v *View) explain(doing string, err error) error {
	if errors.Is(err, reviewer.ErrNoFile) {
		return reviewer.ErrNoFile
	}
	e := &reviewer.Error{Doing: doing, Err: err, Next: "check --server, --repo and --pr"}
	var refusal *Refusal
	switch {
	case errors.Is(err, context.Canceled):
		e.Err, e.Next = context.Canceled, "run the job again"
	case errors.Is(err, reviewer.ErrUnsupported):
		e.Next = "go on without it"
	case errors.Is(err, reviewer.ErrGone), errors.Is(err, reviewer.ErrNoCommit):
		e.Next = "run the job again"
	case errors.Is(err, reviewer.ErrAsked):
		e.Next = "remove the request on the pull request's page, then run the job again"
	case !errors.As(err, &refusal):
	case refusal.Status == http.StatusNoContent:
		e.Err, e.Next = errors.New(changedNothing), "run the job again"
	case refusal.Status == http.StatusForbidden:
		e.Err, e.Next = fmt.Errorf("the server forbids it: %s", refusal.Message), "give the account write access to the repository"
	case refusal.Status == http.StatusNotFound:
		e.Err, e.Next = errors.New(refusal.Message), "check --repo and --pr"
	case refusal.Status == http.StatusUnprocessableEntity:
		e.Err = fmt.Errorf("the server refuses it (422): %s", refusal.Message)
		e.Next = "run the job again; if it happens again, report it with this line"
	default:
		e.Err = failedError{unknownError{fmt.Errorf("the server answered %d: %s", refusal.Status, refusal.Message)}}
		e.Next = "run the job again; if it happens again, the server's log says why"
	}
	return e
}

// changedNothing is what the adapter says of an entry that has no text to edit.
const changedNothing = "the server changed nothing (204)"

// failedError is an error with ErrFailed in its chain and not in its words.
type failedError struct{ error }

func (failedError) Is(target error) bool { return target == reviewer.ErrFailed }
func (e failedError) Unwrap() error      { return e.error }

// unknownError is an error with ErrUnknown in its chain and not in its words.
type unknownError struct{ error }

func (unknownError) Is(target error) bool { return target == reviewer.ErrUnknown }
func (e unknownError) Unwrap() error      { return e.error }
