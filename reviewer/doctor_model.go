package reviewer

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"review-bot/prompts"
	"review-bot/reviewer/untrusted"
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

	Asked  bool // a review of a small change, as in Sample
	Err    error
	Gone   bool   // Err is that there is no such model
	Form   string // in which it answered: json_schema or another
	Usage  Usage
	Window int // tokens of its context; 0 if the server doesn't say
	Most   int // tokens that a request of a review may have
}

// FormSchema is what structured outputs are called in [ModelFacts].
const FormSchema = "json_schema"

// JudgeModel tells what the facts about a model mean for reviews.
func JudgeModel(f ModelFacts) []Check {
	server := f.server()
	if server.State == Failed {
		return []Check{server, unasked("model", "its server"), unasked("answer", "the model's server"), unasked("context", "the model's server")}
	}
	model := f.model()
	if model.State == Failed {
		return []Check{server, model, unasked("answer", "the model"), unasked("context", "the model")}
	}
	return []Check{server, model, f.answer(), f.context()}
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
	listed := slices.Contains(f.List.Value, f.Model) || slices.Contains(f.List.Value, f.Model+":latest") // Ollama's list
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

// answer judges the answer to a small review.
func (f ModelFacts) answer() Check {
	const name = "answer"
	var explained *Error
	tokens := fmt.Sprintf("(%d tokens)", f.Usage.Prompt+f.Usage.Completion)
	switch {
	case errors.As(f.Err, &explained):
		return Check{name, Failed, fmt.Sprintf("a small review failed: %v", explained.Err), explained.Next}
	case f.Err != nil:
		return Check{name, Failed, "a small review failed: " + f.Err.Error(), "run doctor again, or choose a model that can answer in JSON"}
	case f.Form != FormSchema:
		return Check{
			name, Warned, fmt.Sprintf("a small review was answered; the server refuses response_format json_schema, so it is asked for %s %s", f.Form, tokens),
			"go on, as answers are checked all the same, or choose a model that has structured outputs",
		}
	}
	return Check{name, Fine, "a small review was answered, in the form of its schema " + tokens, ""}
}

// context judges how much the model takes at once.
func (f ModelFacts) context() Check {
	const name = "context"
	fits := FitsInto(f.Window)
	switch {
	case f.Window == 0:
		return Check{name, Skipped, "the server doesn't say how much the model takes at once; the receipts in each request show whether it was given all", ""}
	case fits < f.Most:
		return Check{
			name, Warned, fmt.Sprintf("the model takes %d tokens at once, and a request may have %d: a long diff is divided only after a request that doesn't fit", f.Window, f.Most),
			fmt.Sprintf("give --max-input-tokens %d, or the model more context on its server", fits),
		}
	}
	return Check{name, Fine, fmt.Sprintf("the model takes %d tokens at once, and a request has at most %d", f.Window, f.Most), ""}
}

// Sample is a request for the review of a small change in which nothing is wrong, as a
// review would ask it. Its receipts are made of the secret.
func Sample(secret, model string) prompts.Request {
	const change = "file: greeting.txt\nstatus: added, 1 added, 0 deleted\n@@ -0,0 +1,1 @@\n         1 + Good morning.\n"
	boundary := untrusted.Boundary(change)
	req, err := prompts.Build(prompts.Input{
		Role: "logic", Instructions: prompts.Instructions("logic"), Boundary: boundary, Receipt: secret,
		Material: []string{untrusted.Fence("title", boundary, "Add a greeting"), untrusted.Fence("diff of 1 file", boundary, change)},
	})
	if err != nil {
		panic(fmt.Sprintf("reviewer: the embedded prompts don't render: %v", err)) // the suite renders them
	}
	count := newCounter(Settings{Model: model}).Count
	req.Tokens = count(req.System) + count(req.Material) + count(req.Task)
	return req
}

// said is an error without what was being done, and what to do.
func said(err error) string {
	var explained *Error
	if errors.As(err, &explained) {
		return explained.Err.Error()
	}
	return err.Error()
}
