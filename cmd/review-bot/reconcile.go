package main

import (
	"crypto/rand"
	"time"

	"review-bot/reviewer"
	"review-bot/sentinel"
)

type reconcileCmd struct {
	targetFlags
	publishFlags

	Retire string `help:"Role that no longer exists: its verdict is marked as retired and counts no more." placeholder:"ROLE"`
	DryRun bool   `help:"Read everything, print what would be published, write nothing."`
	JSON   bool   `name:"json" help:"Print one JSON object."`

	FailOnBlock bool `help:"Exit 3 unless the verdicts of all roles let the commit pass."`
}

// Run repairs the gate from the records.
func (c *reconcileCmd) Run(w *world) error {
	if done, err := c.withoutSecrets(w); done {
		return err
	}
	t, err := c.resolve(w.env)
	if err != nil {
		return err
	}
	if c.Retire != "" && !sentinel.ValidRole(c.Retire) {
		return usage("--retire %q is not of the form %s", c.Retire, sentinel.RolePattern)
	}
	set := reviewer.Settings{Repo: t.owner + "/" + t.name, Number: t.number, DryRun: c.DryRun, SelfRequested: selfRequested(w.env)}
	if err := c.apply(&set); err != nil {
		return err
	}
	out := newOutput(w, c.JSON)
	out.start(w, t, "reconcile on")
	forge := t.forge()
	result, err := reviewer.Reconcile(w.ctx, set, c.Retire, reviewer.Env{
		Forge: forge, Token: t.token, Secrets: w.mask, Now: time.Now, Sleep: sleep, Random: rand.Reader, Log: out.progress,
	})
	result.ForgeRequests = forge.Requests()
	if printErr := out.endReconcile(result); err == nil {
		err = printErr
	}
	if err != nil {
		return err
	}
	return exit(exitOfReconciliation(result, eventSubject(w.env, t.number), c.FailOnBlock))
}
