package reviewer

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// What to do about a model server.
const (
	fixKey    = "check OPENAI_API_KEY and what it may use"
	fixModels = "check --base-url (OPENAI_BASE_URL): it ends in /v1 on most servers, and must be reachable from here"
)

// ModelFacts is what was found out about a model and its server.
type ModelFacts struct {
	Server string // its address, without what may be secret in it
	Model  string
	List   Told[[]string] // the models that the server tells of

	Asked bool // a tiny review
	Err   error
	Gone  bool   // Err is that there is no such model
	Form  string // in which it answered: json_schema or another
	Shape error  // what is wrong with the answer's form
	Usage Usage
}

// FormSchema is what structured outputs are called in [ModelFacts].
const FormSchema = "json_schema"

// JudgeModel tells what the facts about a model mean for reviews.
func JudgeModel(f ModelFacts) []Check {
	server := f.server()
	if server.State == Failed {
		return []Check{server, unasked("model", "its server"), unasked("structured outputs", "the model's server")}
	}
	model := f.model()
	if model.State == Failed {
		return []Check{server, model, unasked("structured outputs", "the model")}
	}
	return []Check{server, model, f.structured()}
}

func (f ModelFacts) server() Check {
	const name = "model server"
	l := f.List
	answers := Check{name, Fine, f.Server + " answers", ""}
	switch {
	case l.OK(), f.Asked && f.Err == nil:
		return answers
	case l.Status == http.StatusUnauthorized || l.Status == http.StatusForbidden:
		return Check{name, Failed, fmt.Sprintf("%s refuses the key: %s", f.Server, l.Reply), fixKey}
	case l.Status == 0:
		return Check{name, Failed, fmt.Sprintf("%s can't be reached: %s", f.Server, l.Reply), fixModels}
	case l.Status/100 == 2:
		return Check{name, Failed, "what answers at " + f.Server + " is no OpenAI-compatible server: " + l.Text, fixModels}
	case l.Status >= http.StatusInternalServerError || l.Status == http.StatusTooManyRequests:
		return Check{name, Failed, fmt.Sprintf("%s: %s", f.Server, l.Reply), "run doctor again when the model server works"}
	case f.Gone: // it has neither a list nor an endpoint for reviews
		return Check{name, Failed, fmt.Sprintf("%s has no such endpoints (%d)", f.Server, l.Status), fixModels}
	}
	return answers
}

func (f ModelFacts) model() Check {
	const name = "model"
	listed := slices.Contains(f.List.Value, f.Model)
	switch {
	case listed && !f.Gone:
		return Check{name, Fine, f.Model + " is listed", ""}
	case f.Asked && f.Err == nil && len(f.List.Value) > 0:
		return Check{name, Fine, f.Model + " answers, though the server doesn't list it", ""}
	case f.Asked && f.Err == nil:
		return Check{name, Fine, f.Model + " answers; the server lists no models", ""}
	case !listed && len(f.List.Value) > 0:
		return Check{
			name, Failed, fmt.Sprintf("%s isn't among the %d %s that the server lists", f.Model, len(f.List.Value), plural(len(f.List.Value), "model")),
			"give --model a name that it lists, such as " + strings.Join(f.List.Value[:min(3, len(f.List.Value))], ", "),
		}
	case f.Gone:
		return Check{name, Failed, f.Model + ": " + said(f.Err), "check --model, and --base-url (it ends in /v1 on most servers)"}
	}
	return Check{name, Skipped, f.Model + ": the server lists no models, and it gave no answer", ""}
}

// structured judges the answer to a tiny review.
func (f ModelFacts) structured() Check {
	const name = "structured outputs"
	const fix = "go on, as answers are checked all the same, or choose a model that has structured outputs"
	var explained *Error
	tokens := fmt.Sprintf("(%d tokens)", f.Usage.Prompt+f.Usage.Completion)
	switch {
	case errors.As(f.Err, &explained):
		return Check{name, Failed, fmt.Sprintf("a tiny request failed: %v", explained.Err), explained.Next}
	case f.Err != nil:
		return Check{name, Failed, "a tiny request failed: " + f.Err.Error(), "run doctor again, or choose a model that can answer in JSON"}
	case f.Form != FormSchema:
		return Check{name, Warned, fmt.Sprintf("the server refuses response_format json_schema; it is asked for %s instead %s", f.Form, tokens), fix}
	case f.Shape != nil:
		return Check{name, Warned, fmt.Sprintf("accepted, but the answer isn't of that form: %v %s", f.Shape, tokens), fix}
	}
	return Check{name, Fine, "accepted " + tokens, ""}
}

// said is an error without what was being done, and what to do.
func said(err error) string {
	var explained *Error
	if errors.As(err, &explained) {
		return explained.Err.Error()
	}
	return err.Error()
}
