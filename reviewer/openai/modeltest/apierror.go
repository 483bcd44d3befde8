package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// apiError is a failure in OpenAI's shape.
type apiError struct {
	status  int
	message string
	kind    string // "type" on the wire; "" picks the usual one for the status
	param   string // "" is null on the wire
	code    string // "" is null on the wire
}

func badRequest(param, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, param: param, message: fmt.Sprintf(format, args...)}
}

// body is the JSON document of the failure.
func (e *apiError) body() []byte {
	kind := e.kind
	if kind == "" {
		kind = errorType(e.status)
	}
	type detail struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	return encode(struct {
		Error detail `json:"error"`
	}{detail{e.message, kind, orNull(e.param), orNull(e.code)}})
}

func errorType(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= http.StatusInternalServerError:
		return "server_error"
	default:
		return "invalid_request_error"
	}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// encode marshals one of this package's own wire types.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("modeltest: %T can't be marshalled: %v", v, err)) // strings, numbers and slices only
	}
	return data
}
