package modeltest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

type wireMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type wireSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

type wireRequest struct {
	Model          string        `json:"model"`
	Messages       []wireMessage `json:"messages"`
	ResponseFormat *struct {
		Type       string      `json:"type"`
		JSONSchema *wireSchema `json:"json_schema"`
	} `json:"response_format"`
	Stream    bool            `json:"stream"`
	N         *int            `json:"n"`
	Tools     json.RawMessage `json:"tools"`
	Functions json.RawMessage `json:"functions"`
}

// decode fills req from req.Raw as far as it gets and returns the failure to
// answer with, nil if the script may be asked.
func (o options) decode(req *Request) *apiError {
	var wire wireRequest
	if err := json.Unmarshal(req.Raw, &wire); err != nil {
		return badRequest("", "the body is not a chat request in JSON: %v", err)
	}
	req.Model = wire.Model
	if f := wire.ResponseFormat; f != nil {
		if f.Type != "text" {
			req.ResponseFormat = f.Type
		}
		if s := f.JSONSchema; s != nil {
			req.SchemaName, req.Strict, req.Schema = s.Name, s.Strict, s.Schema
		}
	}
	if fail := decodeMessages(req, wire.Messages); fail != nil {
		return fail
	}

	switch {
	case wire.Model == "":
		return badRequest("model", "you must provide a model parameter")
	case !o.knows(wire.Model):
		return modelNotFound(wire.Model)
	case wire.Stream:
		return badRequest("stream", "streaming is not supported by this server")
	case present(wire.Tools):
		return badRequest("tools", "tools are not supported by this server")
	case present(wire.Functions):
		return badRequest("functions", "functions are not supported by this server")
	case wire.N != nil && *wire.N != 1:
		return badRequest("n", "n is %d, but this server gives one choice", *wire.N)
	}
	return o.checkFormat(*req, wire.ResponseFormat != nil && wire.ResponseFormat.JSONSchema != nil)
}

func decodeMessages(req *Request, messages []wireMessage) *apiError {
	if len(messages) == 0 {
		return badRequest("messages", "messages must have at least one message")
	}
	for i, m := range messages {
		if !slices.Contains([]string{"system", "developer", "user", "assistant"}, m.Role) {
			return badRequest("messages", "messages[%d].role is %q; want system, developer, user or assistant", i, m.Role)
		}
		content, ok := textContent(m.Content)
		if !ok {
			return badRequest("messages", "messages[%d].content must be a string or a list of text parts", i)
		}
		req.Messages = append(req.Messages, Message{Role: m.Role, Content: content})
	}
	return nil
}

// textContent reads the two forms of a content: a string, or a list of parts.
func textContent(raw json.RawMessage) (string, bool) {
	if !present(raw) {
		return "", false
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, true
	}
	var parts []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", false
	}
	var all strings.Builder
	for _, part := range parts {
		if part.Type != "text" || part.Text == nil {
			return "", false
		}
		all.WriteString(*part.Text)
	}
	return all.String(), true
}

func (o options) checkFormat(req Request, hasSchema bool) *apiError {
	const param = "response_format"
	switch req.ResponseFormat {
	case "":
		return nil
	case "json_object":
		if o.refuseJSONObject {
			return badRequest(param, "response_format type json_object is not supported")
		}
		// OpenAI wants this, since a model that isn't told writes white space without end.
		if !strings.Contains(strings.ToLower(req.Text()), "json") {
			return badRequest("messages", "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'")
		}
		return nil
	case "json_schema":
		if o.refuseJSONSchema {
			return badRequest(param, "response_format type json_schema is not supported")
		}
		if !hasSchema {
			return badRequest(param, "missing required parameter: response_format.json_schema")
		}
		if err := checkSchema(req.SchemaName, req.Strict, req.Schema); err != nil {
			return badRequest(param, "%v", err)
		}
		return nil
	default:
		return badRequest(param, "response_format.type is %q; want json_schema, json_object or text", req.ResponseFormat)
	}
}

func (o options) knows(model string) bool {
	return len(o.models) == 0 || slices.Contains(o.models, model)
}

func modelNotFound(model string) *apiError {
	return &apiError{
		status:  http.StatusNotFound,
		message: "the model '" + model + "' does not exist or you do not have access to it",
		param:   "model",
		code:    "model_not_found",
	}
}
