package forgetest

import (
	"fmt"
	"net/http"
)

// Refusal is an answer of the server with a status of 400 or more.
type Refusal struct {
	Status  int
	Message string
}

func (r *Refusal) Error() string { return fmt.Sprintf("%d %s", r.Status, r.Message) }

func refuse(status int, format string, args ...any) *Refusal {
	return &Refusal{status, fmt.Sprintf(format, args...)}
}

func unprocessable(format string, args ...any) error {
	return refuse(http.StatusUnprocessableEntity, format, args...)
}

func forbidden(format string, args ...any) error {
	return refuse(http.StatusForbidden, format, args...)
}

var (
	// An answer without a message: the words are the SDK's.
	errForbidden error = refuse(http.StatusForbidden, "unknown API error: 403")
	errNotFound  error = refuse(http.StatusNotFound, "The target couldn't be found.")
	errInternal  error = refuse(http.StatusInternalServerError, "")
	// An endpoint that the server doesn't have.
	errNoEndpoint error = refuse(http.StatusMethodNotAllowed, "")
)
