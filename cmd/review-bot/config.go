package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/config"
	"review-bot/sentinel"
)

// local tells a path of this machine from one in the repository.
func local(path string) bool { return strings.HasPrefix(path, "./") || strings.HasPrefix(path, "/") }

// origins tell where a setting's value came from, by its flag: "--model",
// "REVIEW_BOT_MODEL", ".review-bot.yaml:3". What isn't there is a default.
type origins map[string]string

// given are the origins of what flags and environment say.
func givenBy(k *kong.Context, env map[string]string) origins {
	from := origins{}
	for _, p := range k.Path {
		switch {
		case p.Flag == nil:
		case !p.Resolved:
			from[p.Flag.Name] = "--" + p.Flag.Name
		case from[p.Flag.Name] == "":
			from[p.Flag.Name], _ = variable(p.Flag, env)
		}
	}
	return from
}

// configuration makes settings of flags, environment and a configuration file.
// It implements reviewer.Configuration.
type configuration struct {
	cmd   reviewCmd // as flags and environment say
	from  origins
	in    inputs
	text  []byte // of a file of this machine; nil if the base branch's counts
	model func(reviewCmd, reviewer.Settings) reviewer.Model
}

var _ reviewer.Configuration = (*configuration)(nil)

// newConfiguration reads the file, if it is one of this machine.
func newConfiguration(c reviewCmd, in inputs, from origins) (*configuration, error) {
	conf := &configuration{cmd: c, from: from, in: in}
	if !local(c.Config) {
		return conf, nil
	}
	text, err := os.ReadFile(c.Config)
	if err != nil {
		return nil, usage("--config: %v", err)
	}
	conf.text = append([]byte{}, text...) // not nil
	_, err = conf.parse(nil)
	return conf, err
}

// Path is the file's in the base branch; "" for one of this machine.
func (c *configuration) Path() string {
	if c.text != nil {
		return ""
	}
	return cmp.Or(c.cmd.Config, config.DefaultPath)
}

// Given tells what flags, environment and a file of this machine say.
func (c *configuration) Given() string {
	var b strings.Builder
	set, err := c.cmd.settings(c.in)
	if err != nil {
		return err.Error() // the run ends with it
	}
	for _, row := range c.rows(c.cmd, set, c.from) {
		if c.from[row.flag] != "" && !row.secret {
			fmt.Fprintf(&b, "%s %q\n", row.Name, fmt.Sprint(row.Value))
		}
	}
	return b.String() + string(c.text)
}

// Effective are the settings of a run, and its model.
func (c *configuration) Effective(file []byte) (reviewer.Settings, reviewer.Model, error) {
	cmd, set, err := c.reviewable(file)
	if err != nil {
		return set, nil, err
	}
	return set, c.model(cmd, set), nil
}

// reviewable is effective with all that a review must have.
func (c *configuration) reviewable(file []byte) (reviewCmd, reviewer.Settings, error) {
	cmd, set, err := c.effective(file)
	if err == nil && cmd.Model == "" {
		err = usage("no model is given — give --model NAME (REVIEW_BOT_MODEL), or write model: NAME into %s", cmp.Or(c.cmd.Config, config.DefaultPath))
	}
	return cmd, set, err
}

// effective is the command as if all that the file says had been given by flags.
func (c *configuration) effective(file []byte) (reviewCmd, reviewer.Settings, error) {
	parsed, err := c.parse(file)
	if err != nil {
		return reviewCmd{}, reviewer.Settings{}, err
	}
	cmd, set, _, err := c.completed(parsed)
	return cmd, set, err
}

// parse reads the base branch's file, or that of this machine if it counts.
func (c *configuration) parse(file []byte) (config.File, error) {
	if c.text != nil {
		file = c.text
	}
	return parseConfig(c.cmd.Config, file)
}

// completed is effective for a file that was read, with where each setting came from.
func (c *configuration) completed(parsed config.File) (reviewCmd, reviewer.Settings, origins, error) {
	cmd, from := c.cmd, origins{}
	for flag, origin := range c.from {
		from[flag] = origin
	}
	cmd.complete(parsed.For(c.cmd.Role), cmp.Or(c.cmd.Config, config.DefaultPath), from)
	set, err := cmd.settings(c.in)
	return cmd, set, from, err
}

// parseConfig reads a configuration file. Only one that was asked for must be there.
func parseConfig(flag string, file []byte) (config.File, error) {
	name := cmp.Or(flag, config.DefaultPath)
	if file == nil && flag != "" {
		return config.File{}, usage("--config: the base branch has no file %s — commit it there; a file of this machine is given as ./%s", name, name)
	}
	parsed, err := config.Parse(name, file)
	if err != nil {
		return config.File{}, usage("%v", err)
	}
	return parsed, nil
}

// complete takes from the file what neither flags nor environment say.
func (c *reviewCmd) complete(s config.Section, file string, from origins) {
	f := filler{file, from}
	fill(f, "model", &c.Model, s.Model)
	fill(f, "base-url", &c.BaseURL, s.BaseURL)
	fill(f, "fallback-model", &c.FallbackModel, s.FallbackModel)
	fill(f, "prompt-file", &c.PromptFile, s.PromptFile)
	fill(f, "instructions", &c.Instructions, s.Instructions)
	fill(f, "advisory", &c.Advisory, s.Advisory)
	fill(f, "review-drafts", &c.ReviewDrafts, s.ReviewDrafts)
	fill(f, "no-approve", &c.NoApprove, s.NoApprove)
	fill(f, "repost-stale", &c.RepostStale, s.RepostStale)
	fill(f, "siblings", &c.Siblings, s.Siblings)
	fill(f, "operators", &c.Operators, s.Operators)
	fill(f, "ignore", &c.Ignore, s.Ignore)
	fill(f, "guidelines", &c.Guidelines, s.Guidelines)
	fill(f, "receipt", &c.Receipt, config.At[onOff]{Value: onOff(s.Receipt.Value), Line: s.Receipt.Line, Column: s.Receipt.Column})
	fill(f, "price-in", &c.PriceIn, s.PriceIn)
	fill(f, "price-out", &c.PriceOut, s.PriceOut)
	fillPointer(f, "max-rounds", &c.MaxRounds, s.MaxRounds)
	fillPointer(f, "max-follow-ups", &c.MaxFollowUps, s.MaxFollowUps)
	fillPointer(f, "max-tokens-per-pr", &c.MaxTokensPerPR, s.MaxTokensPerPR)
	fillPointer(f, "max-input-tokens", &c.MaxInputTokens, s.MaxInputTokens)
	fillPointer(f, "max-calls", &c.MaxCalls, s.MaxCalls)
	fillPointer(f, "max-output-tokens", &c.MaxOutput, s.MaxOutputTokens)
	fillPointer(f, "parallel", &c.Parallel, s.Parallel)
	fillPointer(f, "block-on", &c.BlockOn, s.BlockOn)
	fillPointer(f, "inline", &c.Inline, config.At[reviewer.Inline]{Value: reviewer.Inline(s.Inline.Value), Line: s.Inline.Line, Column: s.Inline.Column})
}

// filler fills in what a file says.
type filler struct {
	file string
	from origins
}

func fill[T any](f filler, flag string, to *T, a config.At[T]) {
	if given, isText := any(*to).(string); !a.Set() || f.from[flag] != "" && (!isText || given != "") {
		return // an empty text counts as not given
	}
	*to, f.from[flag] = a.Value, fmt.Sprintf("%s:%d", f.file, a.Line)
}

func fillPointer[T any](f filler, flag string, to **T, a config.At[T]) {
	if a.Set() && f.from[flag] == "" {
		*to, f.from[flag] = &a.Value, fmt.Sprintf("%s:%d", f.file, a.Line)
	}
}

// setting is an effective one.
type setting struct {
	Name  string `json:"name"` // as in the file, where it may stand there
	Value any    `json:"value"`
	From  string `json:"from"`

	flag   string
	secret bool
}

// rows are the settings of a command that is complete.
func (c *configuration) rows(cmd reviewCmd, set reviewer.Settings, from origins) []setting {
	guidelines := set.Guidelines
	if guidelines == nil {
		guidelines = reviewer.DefaultGuidelines
	}
	list := []setting{
		{flag: "role", Value: set.Role}, {flag: "server", Value: redactURL(cmd.Server)}, {flag: "repo", Value: redactURL(cmd.Repo)}, {flag: "pr", Value: cmd.PR},
		{flag: "token", Value: cmd.Token, secret: true}, {flag: "token-file", Value: cmd.TokenFile},
		{flag: "model", Value: cmd.Model}, {flag: "base-url", Value: redactURL(cmp.Or(cmd.BaseURL, "https://api.openai.com/v1"))},
		{flag: "api-key", Value: cmd.APIKey, secret: true}, {flag: "api-key-file", Value: cmd.APIKeyFile},
		{flag: "fallback-model", Value: cmd.FallbackModel}, {flag: "patience", Value: cmp.Or(cmd.Patience, 10*time.Minute).String()},
		{flag: "prompt-file", Value: cmd.PromptFile}, {flag: "instructions", Value: cmd.Instructions}, {flag: "feedback", Value: cmd.Feedback},
		{flag: "guidelines", Value: guidelines}, {flag: "block-on", Value: set.BlockOn}, {flag: "inline", Value: set.Inline}, {flag: "ignore", Value: set.Ignore},
		{flag: "advisory", Value: set.Advisory}, {flag: "review-drafts", Value: set.ReviewDrafts}, {flag: "no-approve", Value: set.NoApprove},
		{flag: "repost-stale", Value: set.RepostStale}, {flag: "siblings", Value: set.Siblings}, {flag: "operators", Value: set.Operators},
		{flag: "max-rounds", Value: set.MaxRounds}, {flag: "max-follow-ups", Value: set.MaxFollowUps}, {flag: "max-tokens-per-pr", Value: set.MaxSpent}, {flag: "max-input-tokens", Value: set.MaxTokens}, {flag: "max-calls", Value: set.MaxCalls},
		{flag: "max-output-tokens", Value: set.MaxOutput}, {flag: "parallel", Value: set.Parallel}, {flag: "header", Value: strings.Join(cmd.Headers, ""), secret: true},
		{flag: "receipt", Value: string(cmp.Or(cmd.Receipt, "on"))},
		{flag: "price-in", Value: set.Price.In}, {flag: "price-out", Value: set.Price.Out},
		{flag: "lock", Value: string(cmp.Or(cmd.Lock, "on"))}, {flag: "lock-reaction", Value: cmp.Or(cmd.LockReaction, reviewer.DefaultLock)},
		{flag: "config", Value: cmp.Or(cmd.Config, config.DefaultPath)},
	}
	for i, r := range list {
		if texts, ok := r.Value.([]string); ok && texts == nil {
			list[i].Value = []string{}
		}
		if r.secret && r.Value != "" {
			list[i].Value = "********"
		}
		list[i].Name, list[i].From = strings.ReplaceAll(r.flag, "-", "_"), cmp.Or(from[r.flag], "default")
	}
	return list
}

// configCmd takes the flags of a review, which it tells about.
type configCmd struct {
	reviewCmd
}

// configResult is what `config --json` prints.
type configResult struct {
	Role     string    `json:"role"` // "" for what holds for every role
	File     string    `json:"file"` // "" if there is none
	Base     string    `json:"base"` // commit that it was read at; "" for a file of this machine
	Settings []setting `json:"settings"`
}

// Run prints the effective settings.
func (c *configCmd) Run(w *world, k *kong.Context) error {
	if c.Role != "" && !sentinel.ValidRole(c.Role) {
		return usage("--role %q is not of the form %s", c.Role, sentinel.RolePattern)
	}
	in, err := c.inputs(w.env)
	if err != nil {
		return err
	}
	conf, err := newConfiguration(c.reviewCmd, in, givenBy(k, w.env))
	if err != nil {
		return err
	}
	result := configResult{Role: c.Role, File: c.Config}
	var file []byte
	if path := conf.Path(); path != "" {
		t, err := c.resolve(w.env)
		if err != nil {
			return usage("%v; or give --config ./%s to look at a file of this machine", err, config.DefaultPath)
		}
		in.target = t
		w.mask = secrets(w.env, in.secrets()...)
		if file, result.Base, err = baseFile(w.ctx, t, path); err != nil {
			return err
		}
		if result.File = path; file == nil {
			result.File = ""
		}
	}
	parsed, err := conf.parse(file)
	if err != nil {
		return err
	}
	cmd, set, from, err := conf.completed(parsed)
	if err != nil {
		return err
	}
	result.Settings = append(conf.rows(cmd, set, from), settleRows(cmp.Or(c.Config, config.DefaultPath), parsed.Settle)...)
	out := newOutput(w, c.JSON)
	if c.JSON {
		return out.printJSON(result)
	}
	return out.print(result.text())
}

// baseFile reads a file of the pull request's base branch; nil if there is none.
func baseFile(ctx context.Context, t target, path string) (file []byte, base string, err error) {
	forge := t.forge()
	pull, err := forge.Pull(ctx)
	if err != nil {
		return nil, "", err
	}
	files, err := forge.Files(ctx, []string{path}, pull.Base)
	if content, ok := files[path]; ok {
		file = append([]byte{}, content...)
	}
	return file, pull.Base, err
}

func (r configResult) text() string {
	var b strings.Builder
	role, file := "every role", "no configuration file"
	if r.Role != "" {
		role = r.Role
	}
	if r.File != "" {
		file = r.File
	}
	if r.Base != "" {
		file += fmt.Sprintf(", base branch at %.7s", r.Base)
	}
	fmt.Fprintf(&b, "settings of %s (%s)\n", role, file)
	for _, s := range r.Settings {
		value := fmt.Sprint(s.Value)
		if list, ok := s.Value.([]string); ok {
			value = strings.Join(list, ", ")
		}
		if value = printable(value); len([]rune(value)) > 60 {
			value = string([]rune(value)[:59]) + "…"
		}
		fmt.Fprintf(&b, "%-31s %-60s %s\n", s.Name, cmp.Or(value, "-"), s.From)
	}
	return b.String()
}

// inputs are what a run takes from outside besides the forge and its flags.
type inputs struct {
	target   target // zero for a command that has none
	key      string
	headers  http.Header // for the model server
	prompt   string      // content of a prompt file of this machine
	feedback string
}

// secrets are what must not be shown.
func (in inputs) secrets() []string {
	return append(slices.Concat(slices.Collect(maps.Values(in.headers))...), in.target.token, in.key)
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// headers are the further headers for the model server. An error names no value: they may
// be secret.
func (c *reviewCmd) headers() (http.Header, error) {
	headers := http.Header{}
	for _, given := range c.Headers {
		for line := range strings.Lines(given) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			name, value, ok := strings.Cut(line, "=")
			if !ok || !headerName.MatchString(name) {
				return nil, usage("--header is not of the form NAME=VALUE")
			}
			headers.Add(name, value)
		}
	}
	return headers, nil
}

// inputs reads the files of this machine that flags name.
func (c *reviewCmd) inputs(env map[string]string) (in inputs, err error) {
	if in.key, err = secretValue(env, c.APIKey, c.APIKeyFile, "--api-key-file", "REVIEW_BOT_API_KEY", "OPENAI_API_KEY"); err != nil {
		return in, err
	}
	if in.headers, err = c.headers(); err != nil {
		return in, err
	}
	if local(c.PromptFile) {
		text, err := os.ReadFile(c.PromptFile)
		if err != nil {
			return in, usage("--prompt-file: %v", err)
		}
		if in.prompt = string(text); strings.TrimSpace(in.prompt) == "" {
			return in, usage("--prompt-file: %s is empty", c.PromptFile)
		}
	}
	if c.Feedback != "" {
		text, err := os.ReadFile(c.Feedback)
		if err != nil {
			return in, usage("--feedback: %v", err)
		}
		in.feedback = string(text)
	}
	return in, nil
}

// noGuidelines is what turns guidelines off by flag.
var noGuidelines = []string{"none"}

// guidelines are the paths of guideline files; nil for the default ones.
func (c *reviewCmd) guidelines() []string {
	if slices.Equal(c.Guidelines, noGuidelines) {
		return []string{}
	}
	return c.Guidelines
}

// instructions are those of a prompt file of this machine, or the built-in ones.
func (c *reviewCmd) instructions(in inputs) string {
	if local(c.PromptFile) {
		return in.prompt
	}
	return prompts.Instructions(c.Role)
}
