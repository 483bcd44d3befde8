package openai

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"

	openai "github.com/sashabaranov/go-openai"

	"review-bot/prompts"
	"review-bot/reviewer"
)

// tiny is a question that costs next to nothing, asked in the form of a review. It
// says the form in words, too, for servers that don't take a schema.
const tiny = `There is nothing to review: this tests the connection. Answer with this JSON object and nothing else: {"summary":"ok","findings":[],"retained":[]}`

// Probe finds out what `doctor` tells about the model: whether its server lists
// it, and whether it answers a tiny request in the form that reviews have. A
// request is sent once, but for other forms if the first one is refused. The
// fallback isn't asked. The error is the context's.
func (c *Client) Probe(ctx context.Context) (reviewer.ModelFacts, error) {
	m := c.models[0]
	f := reviewer.ModelFacts{Server: shown(c.cfg.BaseURL), Model: m.name}
	f.List = c.list(ctx)
	if f.List.Status == 0 || f.List.Status == http.StatusUnauthorized || ctx.Err() != nil {
		return f, ctx.Err()
	}
	f.Asked = true
	e := &effort{began: c.cfg.Now()}
	e.turn(m, e.began.Add(c.cfg.Patience), 1)
	text, _, err := c.complete(ctx, e, []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: tiny}})
	f.Usage, f.Form = e.usage, m.known().String()
	var unusable unusableError
	switch {
	case ctx.Err() != nil:
		return f, ctx.Err()
	case errors.As(err, &unusable):
		f.Err = errors.New(c.oneLine(err.Error()))
	case err != nil:
		f.Err, f.Gone = c.explain(ctx, e, err), unknownModel(err)
	default:
		if _, err := prompts.Decode(text); err != nil {
			f.Shape = errors.New(c.oneLine(err.Error()))
		}
	}
	return f, nil
}

// list asks which models the server has.
func (c *Client) list(ctx context.Context) (models reviewer.Told[[]string]) {
	limited, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	var x exchange
	list, err := c.api.ListModels(context.WithValue(limited, exchangeKey{}, &x))
	if x.failure != nil {
		err = x.failure
	}
	var network net.Error
	var request *url.Error
	switch {
	case err == nil:
		models.Status = http.StatusOK
		for _, m := range list.Models {
			models.Value = append(models.Value, m.ID)
		}
	case status(err) != 0:
		models.Reply = reviewer.Reply{Status: status(err), Text: c.message(err)}
	case limited.Err() != nil && ctx.Err() == nil:
		models.Text = (&slowError{c.cfg.Timeout}).Error()
	case errors.As(err, &request), errors.As(err, &network):
		models.Text = c.oneLine(transport(err).Error())
	default: // it answered, in another way than such servers do
		models.Reply = reviewer.Reply{Status: http.StatusOK, Text: c.oneLine(err.Error()), Absent: true}
	}
	return models
}
