package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"review-bot/reviewer"
)

// serverError is an answer that is an error. Servers put it in many forms: go-openai
// reads OpenAI's own, and loses the status of others.
type serverError struct {
	status  int
	code    string // the server's own name for it; "" if it has none
	message string
}

func (e *serverError) Error() string {
	if e.message == "" {
		return http.StatusText(e.status)
	}
	return e.message
}

// failure reads the error that an answer is, nil if it is none. Some gateways answer 200
// with an error in place of choices.
func failure(status int, body []byte) error {
	e := &serverError{status: status}
	object := top(body)
	switch said, has := object["error"]; {
	case status >= http.StatusBadRequest && has:
		e.read(said)
	case status >= http.StatusBadRequest:
		e.read(object)
	case has && said != nil && object["choices"] == nil && object["data"] == nil:
		e.read(said)
		e.status = http.StatusBadGateway
		if code, err := strconv.Atoi(e.code); err == nil && code >= http.StatusBadRequest && code <= 599 {
			e.status = code
		}
	default:
		return nil
	}
	if e.message == "" {
		e.message = strings.TrimSpace(string(body))
	}
	if fits, long := e.tooLong(object); long {
		return &reviewer.TooLong{Fits: fits, Err: e}
	}
	return e
}

// top is the object of a JSON document, the first of a list of them (Gemini), or nil.
func top(body []byte) map[string]any {
	var v any
	if json.Unmarshal(unmarked(body), &v) != nil {
		return nil
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	object, _ := v.(map[string]any)
	return object
}

// unmarked is a document without a byte order mark, which JSON has no place for.
func unmarked(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\ufeff")) }

// read takes code and message out of an error in any of its forms.
func (e *serverError) read(said any) {
	switch v := said.(type) {
	case string:
		e.message = v
	case []any:
		var all []string
		for _, item := range v {
			var one serverError
			one.read(item)
			all = append(all, one.message)
		}
		e.message = strings.Join(all, ", ")
	case map[string]any:
		for _, name := range []string{"message", "msg", "detail", "error_description"} {
			if v[name] != nil && e.message == "" {
				e.read(v[name])
			}
		}
		for _, name := range []string{"code", "type", "status"} {
			switch code := v[name].(type) {
			case string:
				e.code = code
			case float64:
				e.code = strconv.FormatFloat(code, 'f', -1, 64)
			default:
				continue
			}
			if e.code != "" {
				break
			}
		}
	}
}

// tooLongCodes and tooLongWords are what servers say of a request that is longer than
// the model's context, or than what may be sent in a minute. No second try and no other
// form of asking makes it shorter.
var (
	tooLongCodes = []string{"context_length_exceeded", "exceed_context_size_error", "tokens_limit_reached", "request_too_large"}
	tooLongWords = regexp.MustCompile(`(?i)maximum context length|context length (?:is|of) only|exceeds? the available context size|` +
		`exceeds? the context (?:window|size|length)|longer than the (?:maximum )?(?:model(?:'s)? )?context|prompt is too long|input is too long|` +
		`input token count .{0,40}exceeds|request (?:body )?too large|exceeds? (?:the )?model(?:'s)? (?:maximum )?context|max_new_tokens\W* must be <=`)
	// How many tokens fit, where the words say it.
	fitsWords = regexp.MustCompile(`(?i)(?:maximum context length is|context length (?:is|of) only|available context size \(|` +
		`context (?:window|size|length) (?:of|is|\()|n_ctx[ =:]+|tokens >|limit:?|allowed \(|max size:|must be <=|large for model with)` +
		`\s*([0-9][0-9,_]{1,11})`)
)

// tooLong reports whether the error says that the request is too long, and how many
// tokens fit, 0 if it doesn't say.
func (e *serverError) tooLong(object map[string]any) (fits int, long bool) {
	if !slices.Contains(tooLongCodes, e.code) && !tooLongWords.MatchString(e.message) {
		return 0, false
	}
	if said, ok := object["error"].(map[string]any); ok {
		if n, ok := said["n_ctx"].(float64); ok && n > 0 && n < math.MaxInt32 {
			return int(n), true
		}
	}
	if m := fitsWords.FindStringSubmatch(e.message); m != nil {
		if n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(m[1])); err == nil {
			return n, true
		}
	}
	return 0, true
}

// hasCode reports whether the server's error has one of these codes.
func hasCode(err error, codes ...string) bool {
	var e *serverError
	return errors.As(err, &e) && slices.Contains(codes, e.code)
}

// status is the HTTP status of an answer that was an error, or 0.
func status(err error) int {
	var e *serverError
	if errors.As(err, &e) {
		return e.status
	}
	return 0
}

// plain brings a good answer into the form that go-openai reads, where it differs only
// in what doesn't matter: a byte order mark, texts in parts, a time with a fraction.
func plain(body []byte) []byte {
	body = unmarked(body)
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&object) != nil || object["choices"] == nil {
		return body
	}
	delete(object, "created")
	choices, _ := object["choices"].([]any)
	for _, c := range choices {
		choice, _ := c.(map[string]any)
		message, _ := choice["message"].(map[string]any)
		if parts, ok := message["content"].([]any); ok {
			message["content"] = text(parts)
		}
	}
	dressed, err := json.Marshal(object)
	if err != nil {
		panic(fmt.Sprintf("openai: %v", err)) // it was JSON
	}
	return dressed
}

// text is what the parts of a message say, without thoughts.
func text(parts []any) string {
	var all strings.Builder
	for _, item := range parts {
		part, _ := item.(map[string]any)
		if said, ok := part["text"].(string); ok && part["type"] != "thinking" && part["type"] != "reasoning" {
			all.WriteString(said)
		}
	}
	return all.String()
}
