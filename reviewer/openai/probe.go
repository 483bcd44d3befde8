package openai

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"

	"review-bot/prompts"
	"review-bot/reviewer"
)

// Probe finds out what `doctor` says about the model: whether its server lists it, and
// whether it answers a request as reviews make it, with one more try for an answer that
// can't be used. What the server can't do now isn't waited for, and the fallback isn't
// asked. The error is the context's.
func (c *Client) Probe(ctx context.Context, req prompts.Request) (reviewer.ModelFacts, error) {
	m := c.models[0]
	f := reviewer.ModelFacts{Server: shown(c.cfg.BaseURL), Model: m.name}
	f.List = c.list(ctx)
	if f.List.Status == 0 || f.List.Status == http.StatusUnauthorized || ctx.Err() != nil {
		return f, ctx.Err()
	}
	f.Asked = true
	e := &effort{began: c.cfg.Now()}
	e.turn(m, e.began.Add(c.cfg.Patience), 1)
	_, err := c.ask(ctx, e, req)
	f.Usage, f.Form, f.Window = e.usage, m.known().String(), c.window(ctx, m, req)
	switch {
	case ctx.Err() != nil:
		return f, ctx.Err()
	case err != nil:
		f.Err, f.Gone = c.explain(ctx, e, err), unknownModel(err)
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
