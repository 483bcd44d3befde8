package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/config"
	"review-bot/reviewer/thread"
)

type settleCmd struct {
	targetFlags

	Payload  string `help:"File that says what was done about which conversation; - for standard input." placeholder:"FILE"`
	Triage   string `help:"File with the triage that it follows from; see threads." placeholder:"FILE"`
	Detached bool   `help:"There is no triage."`

	Apply            bool `help:"Publish replies and resolve conversations; otherwise settle only says what it would do."`
	ApplyReplies     bool `help:"Publish replies."`
	ApplyResolutions bool `help:"Resolve conversations."`
	DryRun           bool `help:"Write nothing, whatever else is said."`

	AutoResolve            []string `help:"Which of stale, already_fixed may be resolved; none: neither; default both." placeholder:"CLASS"`
	AllowInvalidResolution bool     `help:"Conversations whose point is invalid may be resolved, too."`
	ReplyAsComment         bool     `help:"Where the server can't reply, quote the conversation in a comment of the pull request."`
	ReplyTemplate          string   `help:"Template of replies: a file of the repository's base branch, or of this machine if it begins with ./ or /; default a built-in one." placeholder:"PATH"`

	Config string `help:"Configuration file: of the repository's base branch, or of this machine if it begins with ./ or /; default .review-bot.yaml of the base branch, if it is there." placeholder:"PATH"`
	JSON   bool   `name:"json" help:"Print one JSON object."`
}

// Help is what `settle --help` says beside its flags.
func (*settleCmd) Help() string {
	return `The payload says what was done about each conversation, and how that was made sure (threads --schema prints its form). Replies need evidence; resolutions need it too, and all checks of the head successful. Nothing is written without a flag or the configuration that says so.

Outside of a job the pull request is that of the payload, or the open one of the branch that is checked out.`
}

// noClass is what turns automatic resolution off by flag.
const noClass = "none"

// Run answers and closes conversations, as far as it is told to.
func (c *settleCmd) Run(w *world) error {
	out := newOutput(w, c.JSON)
	set, rejected, err := c.payloads(w, out)
	if err != nil || rejected {
		return err
	}
	if c.PR == "" && set.Payload.PR != 0 && !inJob(w.env) {
		c.PR = fmt.Sprint(set.Payload.PR)
	}
	t, err := c.here(w, "repository: write, issue: write, user: read")
	if err != nil {
		return err
	}
	set.Repo = t.owner + "/" + t.name
	out.start(w, t, "settle on")
	if err := c.configure(w.ctx, t, &set); err != nil {
		return err
	}
	forge := t.forge()
	result, problems, err := reviewer.Settle(w.ctx, set, reviewer.SettleEnv{Forge: forge, Redact: w.mask.Redact, Log: out.progress})
	result.ForgeRequests = forge.Requests()
	if len(problems) > 0 {
		return out.problems(c.Payload, problems)
	}
	if printErr := out.endSettle(result, set.Rules); err == nil {
		err = printErr
	}
	return err
}

// payloads reads what is to be settled, and the triage. rejected: what is wrong
// with them was told.
func (c *settleCmd) payloads(w *world, out *output) (set reviewer.SettleSettings, rejected bool, err error) {
	switch {
	case c.Payload == "":
		return set, false, usage("no payload is given — give --payload FILE; review-bot threads --schema prints what it has to be like")
	case c.Triage == "" && !c.Detached:
		return set, false, usage("no triage is given — give --triage FILE, or --detached if there is none")
	case c.Triage != "" && c.Detached:
		return set, false, usage("--triage and --detached exclude each other")
	case c.Payload == "-" && c.Triage == "-":
		return set, false, usage("--payload and --triage can't both be standard input")
	}
	data, err := w.file("--payload", c.Payload)
	if err != nil {
		return set, false, err
	}
	payload, problems := thread.ParseSettlement(data)
	if len(problems) > 0 {
		return set, true, out.problems(c.Payload, problems)
	}
	set.Payload = payload
	if c.Triage == "" {
		return set, false, nil
	}
	if data, err = w.file("--triage", c.Triage); err != nil {
		return set, false, err
	}
	triage, problems := thread.ParseTriage(data)
	if len(problems) > 0 {
		return set, true, out.problems(c.Triage, problems)
	}
	set.Triage = &triage
	return set, false, nil
}

// configure puts flags and the configuration file together. What the one or the
// other turns on is on.
func (c *settleCmd) configure(ctx context.Context, t target, set *reviewer.SettleSettings) error {
	file, err := c.configured(ctx, t)
	if err != nil {
		return err
	}
	if file.Enabled.Set() && !file.Enabled.Value {
		return usage("settle is turned off for this repository — %s:%d says enabled: false; answer and resolve on the pull request's page", cmp.Or(c.Config, config.DefaultPath), file.Enabled.Line)
	}
	set.Rules = thread.Rules{
		WithoutChecks:    file.RequireChecks.Set() && !file.RequireChecks.Value,
		RequiredChecks:   file.RequiredChecks.Value,
		ApplyReplies:     (c.Apply || c.ApplyReplies || file.ApplyReplies.Value) && !c.DryRun,
		ApplyResolutions: (c.Apply || c.ApplyResolutions || file.ApplyResolutions.Value) && !c.DryRun,
		AllowInvalid:     c.AllowInvalidResolution || file.AllowInvalidResolution.Value,
		ReplyAsComment:   c.ReplyAsComment || file.ReplyAsComment.Value,
	}
	auto := c.AutoResolve
	switch {
	case slices.Equal(auto, []string{noClass}):
		auto = nil
	case len(auto) == 0 && file.AutoResolve.Set():
		auto = file.AutoResolve.Value
	case len(auto) == 0:
		auto = config.AutoResolves
	}
	for _, class := range auto {
		if !slices.Contains(config.AutoResolves, class) {
			return usage("--auto-resolve: %q is not one of %s (or %s alone)", class, strings.Join(config.AutoResolves, ", "), noClass)
		}
		set.Rules.AutoResolve = append(set.Rules.AutoResolve, thread.Classification(class))
	}
	path, origin, text := c.ReplyTemplate, "--reply-template", []byte(prompts.Reply)
	if path == "" && file.ReplyTemplate.Set() {
		path, origin = file.ReplyTemplate.Value, fmt.Sprintf("%s:%d: reply_template", cmp.Or(c.Config, config.DefaultPath), file.ReplyTemplate.Line)
	}
	if path != "" {
		if text, err = replyTemplate(ctx, t, path, origin); err != nil {
			return err
		}
	}
	if set.Template, err = thread.ParseTemplate(cmp.Or(path, "reply.md.tmpl"), string(text)); err != nil {
		return usage("%s: %v", origin, err)
	}
	return nil
}

// configured is what the configuration file says about settling.
func (c *settleCmd) configured(ctx context.Context, t target) (config.Settle, error) {
	var text []byte
	var err error
	if local(c.Config) {
		if text, err = os.ReadFile(c.Config); err != nil {
			return config.Settle{}, usage("--config: %v", err)
		}
	} else if text, _, err = baseFile(ctx, t, cmp.Or(c.Config, config.DefaultPath)); err != nil {
		return config.Settle{}, err
	}
	file, err := parseConfig(c.Config, text)
	return file.Settle, err
}

// replyTemplate reads a template from where its path leads.
func replyTemplate(ctx context.Context, t target, path, origin string) ([]byte, error) {
	if local(path) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, usage("%s: %v", origin, err)
		}
		return text, nil
	}
	text, base, err := baseFile(ctx, t, path)
	if err == nil && text == nil {
		err = usage("%s: the base branch at %.7s has no file %s — commit it there; a file of this machine is given as ./%s", origin, base, path, path)
	}
	return text, err
}

// settleRows are the settings of `settle` that a file may make, for `config`.
func settleRows(file string, s config.Settle) []setting {
	row := func(name string, value any, line int) setting {
		from := "default"
		if line > 0 {
			from = fmt.Sprintf("%s:%d", file, line)
		}
		return setting{Name: "settle." + name, Value: value, From: from}
	}
	auto := config.AutoResolves
	if s.AutoResolve.Set() {
		auto = s.AutoResolve.Value
	}
	return []setting{
		row("apply_replies", s.ApplyReplies.Value, s.ApplyReplies.Line), row("apply_resolutions", s.ApplyResolutions.Value, s.ApplyResolutions.Line),
		row("auto_resolve", auto, s.AutoResolve.Line), row("allow_invalid_resolution", s.AllowInvalidResolution.Value, s.AllowInvalidResolution.Line),
		row("reply_as_comment", s.ReplyAsComment.Value, s.ReplyAsComment.Line), row("reply_template", s.ReplyTemplate.Value, s.ReplyTemplate.Line),
		row("enabled", !s.Enabled.Set() || s.Enabled.Value, s.Enabled.Line),
		row("require_checks", !s.RequireChecks.Set() || s.RequireChecks.Value, s.RequireChecks.Line),
		row("required_checks", append([]string{}, s.RequiredChecks.Value...), s.RequiredChecks.Line),
	}
}

// endSettle prints what `settle` ended with.
func (o *output) endSettle(r reviewer.SettleResult, rules thread.Rules) error {
	o.closeLog()
	if o.json {
		return o.printJSON(r)
	}
	if len(r.Items) == 0 {
		return nil // the error line says it all
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s#%d at %.7s", r.Repo, r.PR, r.Head)
	if r.Phase != "" {
		fmt.Fprintf(&b, " — %s", r.Phase)
	}
	if r.Checks != "" {
		fmt.Fprintf(&b, ": checks %s", r.Checks)
	}
	if len(r.NotPassed) > 0 {
		fmt.Fprintf(&b, ": %s", printable(strings.Join(r.NotPassed, ", ")))
	}
	b.WriteString("\n")
	for _, i := range r.Items {
		fmt.Fprintf(&b, "\n%s  %s  %s\n    reply    %s\n    resolve  %s\n", i.ThreadID, i.Classification, printable(placeOf(i.Path, i.Line)), step(i.Reply.Step), step(i.Resolve))
		if i.Reply.Status == thread.Planned {
			for line := range strings.Lines(i.Reply.Text) {
				b.WriteString("    | " + lines(line))
			}
			b.WriteString("\n")
		}
	}
	notes(&b, r.Notes, nil)
	if !rules.ApplyReplies && !rules.ApplyResolutions && r.Error == "" {
		b.WriteString("\nnothing was written — give --apply-replies, --apply-resolutions or --apply, without --dry-run\n")
	}
	return o.print(b.String())
}

// step is what came of a reply or resolution, for people.
func step(s thread.Step) string {
	word := strings.ReplaceAll(string(s.Status), "_", " ")
	if text := s.Reason.Text(); text != "" {
		word += ": " + text
	}
	return word
}
