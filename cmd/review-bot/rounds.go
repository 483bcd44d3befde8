package main

import (
	"fmt"

	"review-bot/reviewer"
	"review-bot/sentinel"
)

type roundsCmd struct {
	targetFlags

	Reviewer string `arg:"" help:"Login of the reviewer: a person, this bot or another one."`
	JSON     bool   `name:"json" help:"Print one JSON object."`
}

// roundsResult is what `rounds --json` prints.
type roundsResult struct {
	Reviewer string `json:"reviewer"`
	Rounds   int    `json:"rounds"`
}

// Run counts a reviewer's rounds.
func (c *roundsCmd) Run(w *world) error {
	t, err := c.resolve(w.env)
	if err != nil {
		return err
	}
	w.mask = secrets(w.env, t.token)
	n, err := reviewer.Rounds(w.ctx, t.forge(), sentinel.NewKey(t.token, t.owner+"/"+t.name, t.number), c.Reviewer)
	if err != nil {
		return err
	}
	if c.JSON {
		return newOutput(w, true).printJSON(roundsResult{c.Reviewer, n})
	}
	_, err = fmt.Fprintln(w.stdout, n)
	return err
}
