package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"review-bot/reviewer"
	"review-bot/reviewer/gitea"
	"review-bot/reviewer/openai"
	"review-bot/sentinel"
)

// doctorCmd takes the flags of a review, whose set-up it checks.
type doctorCmd struct {
	reviewCmd

	NoModel bool `name:"no-model" help:"Don't ask the model server; otherwise the review of a small change costs some 2,000 tokens."`
}

// diagnosis is what `doctor --json` prints.
type diagnosis struct {
	OK     bool             `json:"ok"` // nothing that a review needs is missing
	Checks []reviewer.Check `json:"checks"`
}

// modelPatience bounds the small review in all its forms; a single one has half of
// it to be answered.
const modelPatience = 2 * time.Minute

// Run checks whether a review with the same flags has all that it needs.
func (c *doctorCmd) Run(w *world, k *kong.Context) error {
	if c.Role != "" && !sentinel.ValidRole(c.Role) {
		return usage("--role %q is not of the form %s", c.Role, sentinel.RolePattern)
	}
	t, err := c.lookAt(w.env)
	if err != nil {
		return err
	}
	in, err := c.inputs(w.env)
	if err != nil {
		return err
	}
	in.target = t
	set, err := c.settings(in) // what is wrong with flags is no matter of checks
	if err != nil {
		return err
	}
	w.mask = secrets(w.env, in.secrets()...)
	out := newOutput(w, c.JSON)
	out.hide(w.env, in.secrets()...)
	out.begin("review-bot %s · doctor on %s/%s at %s", version(), t.owner, t.name, t.server)

	forge := t.forge()
	facts, err := forge.Examine(w.ctx)
	if err != nil {
		return err
	}
	lock := reviewer.LockTrial{Reaction: set.Lock}
	if c.PR != "" && lockable(facts, set.Lock) {
		lock = reviewer.TryLock(w.ctx, forge, set.Lock)
	}
	configured, cmd, set := c.configured(w.ctx, forge, facts, in, givenBy(k, w.env))
	facts.NoApprove = set.NoApprove || c.NoApprove // of a configuration that isn't read the flags are all there is
	checks := append(reviewer.JudgeForge(facts, lock), configured)
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if configured.State == reviewer.Fine && facts.Branch.OK() {
		checks = append(checks, kept(w.ctx, forge, facts, set.Ignore))
	}
	if set.PromptFile != "" {
		checks = append(checks, promptFile(w.ctx, forge, facts, set.PromptFile))
	}
	rows, err := c.model(w.ctx, out, configured, cmd, in)
	if err != nil {
		return err
	}
	return c.tell(out, append(checks, rows...))
}

// lookAt is where to look. Without a pull request there is less to see.
func (c *doctorCmd) lookAt(env map[string]string) (target, error) {
	f, none := c.targetFlags, false
	if f.PR == "" {
		n, err := f.pull(env)
		if none = err != nil; none {
			n = 1 // any will do
		}
		f.PR = strconv.FormatInt(n, 10)
	}
	t, err := f.resolve(env)
	if none {
		t.number = 0
	}
	return t, err
}

// lockable tells whether a lock could be tried.
func lockable(f reviewer.ForgeFacts, reaction string) bool {
	allowed := !f.Allowed.OK() || slices.Contains(f.Allowed.Value, reaction)
	return reaction != "" && allowed && f.Pull.OK() && f.IssueRead.OK() && (f.Account.OK() || f.Named.OK())
}

// configured is the check of the configuration, and the command and the settings
// as a review would have them; as the flags say, if it can't be read.
func (c *doctorCmd) configured(ctx context.Context, forge *gitea.Client, f reviewer.ForgeFacts, in inputs, from origins) (reviewer.Check, reviewCmd, reviewer.Settings) {
	row := reviewer.Check{Name: "configuration", State: reviewer.Fine}
	fail := func(err error, fix string) (reviewer.Check, reviewCmd, reviewer.Settings) {
		row.State = reviewer.Failed
		row.Found, row.Fix = parts(err, fix)
		return row, c.reviewCmd, reviewer.Settings{}
	}
	conf, err := newConfiguration(c.reviewCmd, in, from)
	if err != nil {
		return fail(err, "correct that file")
	}
	path, branch := conf.Path(), f.Branch.Value.Name
	var file []byte
	switch {
	case path == "":
		row.Found = c.Config + " of this machine is in order"
	case !f.Branch.OK():
		row.State, row.Found = reviewer.Skipped, "not looked at: the base branch couldn't be read"
		return row, c.reviewCmd, reviewer.Settings{}
	default:
		text, err := forge.File(ctx, path, branch)
		switch {
		case err == nil:
			file = append([]byte{}, text...) // not nil
			row.Found = path + " of the branch " + branch + " is in order"
		case errors.Is(err, reviewer.ErrNoFile):
			row.Found = "the branch " + branch + " has no " + path + ": flags and defaults count"
		default:
			return fail(err, "run doctor again")
		}
	}
	cmd, set, err := conf.effective(file)
	if err != nil {
		return fail(err, "correct that line in the branch "+branch)
	}
	return row, cmd, set
}

// kept checks for files of the base branch that can't be read. Without a pull request
// it isn't known which files there are.
func kept(ctx context.Context, forge *gitea.Client, f reviewer.ForgeFacts, globs []string) reviewer.Check {
	branch := f.Branch.Value.Name
	texts := map[string][]byte{}
	for _, name := range []string{".gitattributes", ".gitmodules"} {
		text, err := forge.File(ctx, name, branch)
		if err != nil && !errors.Is(err, reviewer.ErrNoFile) {
			found, fix := parts(err, "run doctor again")
			return reviewer.Check{Name: "unread files", State: reviewer.Warned, Found: found, Fix: fix}
		}
		texts[name] = text
	}
	var tree map[string]string
	if f.Pull.OK() {
		if pull, err := forge.Pull(ctx); err == nil {
			tree, _ = forge.Tree(ctx, pull.Base) // unknown: nothing is said of these files
		}
	}
	return reviewer.JudgeKept(texts[".gitattributes"], texts[".gitmodules"], globs, slices.Sorted(maps.Keys(tree)))
}

// parts are what an error says has happened, and what it says to do about it.
func parts(err error, fix string) (found, next string) {
	var explained *reviewer.Error
	if errors.As(err, &explained) {
		return fmt.Sprintf("%s: %v", explained.Doing, explained.Err), explained.Next
	}
	if found, next, ok := strings.Cut(err.Error(), " — "); ok {
		return found, next
	}
	return err.Error(), fix
}

// promptFile checks that the base branch has the role's instructions.
func promptFile(ctx context.Context, forge *gitea.Client, f reviewer.ForgeFacts, path string) reviewer.Check {
	const name = "prompt file"
	branch := f.Branch.Value.Name
	if !f.Branch.OK() {
		return reviewer.Check{Name: name, State: reviewer.Skipped, Found: "not looked at: the base branch couldn't be read"}
	}
	text, err := forge.File(ctx, path, branch)
	switch {
	case errors.Is(err, reviewer.ErrNoFile):
		return reviewer.Check{
			Name: name, State: reviewer.Failed, Found: "the branch " + branch + " has no file " + path,
			Fix: "commit it there, or drop --prompt-file; a file of this machine is given as ./" + path,
		}
	case err != nil:
		found, fix := parts(err, "run doctor again")
		return reviewer.Check{Name: name, State: reviewer.Failed, Found: found, Fix: fix}
	case strings.TrimSpace(string(text)) == "":
		return reviewer.Check{Name: name, State: reviewer.Failed, Found: path + " of the branch " + branch + " is empty", Fix: "write the role's instructions into it"}
	}
	return reviewer.Check{Name: name, State: reviewer.Fine, Found: path + " of the branch " + branch}
}

// model checks the model that the settings name.
func (c *doctorCmd) model(ctx context.Context, out *output, configuration reviewer.Check, cmd reviewCmd, in inputs) ([]reviewer.Check, error) {
	const name = "model"
	if cmd.Model == "" { // of a configuration that isn't read the flags are all there is
		cmd.Model, cmd.BaseURL = c.Model, c.BaseURL
	}
	switch {
	case c.NoModel:
		return []reviewer.Check{{Name: name, State: reviewer.Skipped, Found: "neither it nor its server was asked (--no-model)"}}, nil
	case cmd.Model == "" && configuration.State != reviewer.Fine:
		return []reviewer.Check{{Name: name, State: reviewer.Skipped, Found: "not looked at: the configuration comes first"}}, nil
	case cmd.Model == "":
		fix := "give --model NAME (REVIEW_BOT_MODEL), or write model: NAME into the configuration file"
		if c.Role == "" {
			fix += "; where only roles have one, give --role"
		}
		return []reviewer.Check{{Name: name, State: reviewer.Failed, Found: "none is given", Fix: fix}}, nil
	}
	out.begin("asking %s to review a small change; --no-model leaves that out", printable(cmd.Model))
	facts, err := openai.New(openai.Config{BaseURL: cmd.BaseURL, APIKey: in.key, Headers: in.headers, Model: cmd.Model, Patience: modelPatience, Sleep: sleep}).
		Probe(ctx, reviewer.Sample(rand.Text(), cmd.Model))
	facts.Most = reviewer.DefaultMaxTokens
	if cmd.MaxInputTokens != nil {
		facts.Most = *cmd.MaxInputTokens
	}
	return reviewer.JudgeModel(facts), err
}

// tell prints the checks. The error is what the exit status says.
func (c *doctorCmd) tell(out *output, checks []reviewer.Check) error {
	var failed []string
	for i, check := range checks {
		checks[i].Found, checks[i].Fix = printable(check.Found), printable(check.Fix)
		if check.State == reviewer.Failed {
			failed = append(failed, check.Name)
		}
	}
	var err error
	if c.JSON {
		err = out.printJSON(diagnosis{len(failed) == 0, checks})
	} else {
		err = out.print(table(checks))
	}
	if err == nil && len(failed) > 0 {
		err = fmt.Errorf("a review can't do without: %s — do what stands there as fix, then run doctor again", strings.Join(failed, ", "))
	}
	return err
}

// tableWidth is how long a line of the table may be, in characters.
const tableWidth = 100

// table is the checks for people: a row each, and its fix below it.
func table(checks []reviewer.Check) string {
	words := map[reviewer.CheckState]string{reviewer.Fine: "ok", reviewer.Warned: "warn", reviewer.Failed: "FAIL", reviewer.Skipped: "-"}
	count := map[reviewer.CheckState]int{}
	var b strings.Builder
	for _, check := range checks {
		count[check.State]++
		fold(&b, fmt.Sprintf("%-5s %-19s ", words[check.State], check.Name), check.Found)
		if check.Fix != "" {
			fold(&b, fmt.Sprintf("%-25s ", ""), "fix: "+check.Fix)
		}
	}
	fmt.Fprintf(&b, "\n%d ok, %d warn, %d FAIL, %d not looked at\n",
		count[reviewer.Fine], count[reviewer.Warned], count[reviewer.Failed], count[reviewer.Skipped])
	return b.String()
}

// fold writes a text behind a head, broken into lines that begin at the same column.
func fold(b *strings.Builder, head, text string) {
	indent := len([]rune(head))
	line := head
	began := false
	for word := range strings.FieldsSeq(text) {
		if began && len([]rune(line))+1+len([]rune(word)) > tableWidth {
			b.WriteString(line + "\n")
			line, began = strings.Repeat(" ", indent), false
		}
		if began {
			line += " "
		}
		line, began = line+word, true
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
