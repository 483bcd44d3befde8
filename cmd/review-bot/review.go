package main

import (
	"cmp"
	"crypto/rand"
	"net/url"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/config"
	"review-bot/reviewer/openai"
	"review-bot/sentinel"
)

type reviewCmd struct {
	Role string `help:"Name of the reviewer. security, logic, tests, performance and docs have instructions of their own; any other reviews in general." placeholder:"NAME"`

	targetFlags

	Model      string `help:"Model to ask." placeholder:"NAME"`
	BaseURL    string `name:"base-url" help:"OpenAI-compatible endpoint; default https://api.openai.com/v1." placeholder:"URL" also:"OPENAI_BASE_URL"`
	APIKey     string `name:"api-key" help:"Key for the model server; may be missing for local ones." also:"OPENAI_API_KEY"`
	APIKeyFile string `name:"api-key-file" help:"File that holds the key." type:"path" placeholder:"FILE"`

	PromptFile   string   `help:"The role's instructions: a file of the repository's base branch, or of this machine if it begins with ./ or /." placeholder:"PATH"`
	Instructions string   `help:"Further instructions, added last." placeholder:"TEXT"`
	Guidelines   []string `help:"Files of the base branch that tell how the project works; none: no such files; default AGENTS.md, CLAUDE.md, CONTRIBUTING.md where they are there." placeholder:"PATH,…"`
	Feedback     string   `help:"File of this machine with further feedback for the model." type:"path" placeholder:"FILE"`

	BlockOn      *prompts.Severity `help:"Lowest severity that requests changes: low, medium, high, critical or never; default high." placeholder:"SEVERITY"`
	Inline       *reviewer.Inline  `help:"Where new findings go when the verdict's review is edited in place, which can't carry inline comments: review (a further review that only comments), attach (into the review itself, where the server can) or body; default review." placeholder:"PLACE"`
	Ignore       []string          `help:"Globs of files that the model isn't shown, as in .gitignore; !glob asks for files to be shown, whatever they look like." placeholder:"GLOB,…"`
	Advisory     bool              `help:"Comment only: the verdict never gates."`
	ReviewDrafts bool              `help:"Review draft pull requests too."`
	QuietForks   bool              `help:"Leave no comment on a pull request from a fork whose job has no secrets; otherwise one says that nothing was reviewed."`
	Force        bool              `help:"Ask the model, even if the same question about the same head is answered already."`

	MaxRounds      *int          `help:"How many heads the role requests changes at before it only follows up, which raises nothing minor any more; 0: no limit; default 3." placeholder:"N"`
	MaxTokensPerPR *int          `name:"max-tokens-per-pr" help:"How many tokens the role may spend on a pull request, all rounds together: over it no model is asked; 0: no limit; default 0." placeholder:"N"`
	MaxFollowUps   *int          `help:"How many pushes the role still looks at after --max-rounds; 0: no limit; default 10." placeholder:"N"`
	Operators      []string      `help:"Accounts that the hand-off comment calls; default: nobody." placeholder:"LOGIN,…"`
	MaxInputTokens *int          `help:"Most tokens of one request to the model; a longer diff is split; default 100000." placeholder:"N"`
	MaxCalls       *int          `help:"Most requests to the model for one diff; what is beyond is listed as not reviewed; default 8." placeholder:"N"`
	FallbackModel  string        `help:"Model to ask when the first one keeps failing." placeholder:"NAME"`
	Parallel       *int          `help:"Most requests to the model at once; after one that took too long it is one at a time; default 4." placeholder:"N"`
	MaxOutput      *int          `name:"max-output-tokens" help:"Most tokens of an answer of the model; 0: as its server has it; default 0." placeholder:"N"`
	Headers        []string      `name:"header" help:"Header sent with each request to the model server, as gateways want them, once for each or a line for each; its value isn't shown." placeholder:"NAME=VALUE" sep:"none"`
	Patience       time.Duration `help:"How long to try for an answer of a model server that is busy or broken, in all; default 10m." placeholder:"DURATION"`
	Receipt        onOff         `help:"on or off; default on. off is for models that can't copy the codes that show that a model was given the whole request: then nothing is approved unless the server says how much it takes." placeholder:"on|off"`
	PriceIn        float64       `help:"Price of a million tokens sent, to tell what a run costs." placeholder:"AMOUNT"`
	PriceOut       float64       `help:"Price of a million tokens answered." placeholder:"AMOUNT"`

	publishFlags

	Config string `help:"Configuration file: of the repository's base branch, or of this machine if it begins with ./ or /; default .review-bot.yaml of the base branch, if it is there." placeholder:"PATH"`

	DryRun      bool `help:"Read everything, ask the model, print what would be published, write nothing."`
	JSON        bool `name:"json" help:"Print one JSON object."`
	FailOnBlock bool `help:"Exit 3 unless the verdict lets the commit pass: for jobs that are required checks."`
}

// Run reviews once.
func (c *reviewCmd) Run(w *world, k *kong.Context) error {
	if done, err := c.withoutSecrets(w); done {
		return err
	}
	if c.Role == "" {
		return usage("no role is given — give --role NAME, such as %s", strings.Join(prompts.Roles, ", "))
	}
	if !sentinel.ValidRole(c.Role) {
		return usage("--role %q is not of the form %s", c.Role, sentinel.RolePattern)
	}
	t, err := c.resolve(w.env)
	if err != nil {
		return err
	}
	in, err := c.inputs(w.env)
	if err != nil {
		return err
	}
	in.target = t
	conf, err := newConfiguration(*c, in, givenBy(k, w.env))
	if err != nil {
		return err
	}
	set, err := c.settings(in) // what is wrong with flags is said before the forge is asked
	if err != nil {
		return err
	}
	if conf.Path() == "" {
		if _, set, err = conf.reviewable(nil); err != nil {
			return err
		}
	}
	w.mask = secrets(w.env, in.secrets()...)
	out := newOutput(w, c.JSON)
	forge := t.forge()
	conf.model = func(c reviewCmd, set reviewer.Settings) reviewer.Model {
		return &patient{name: set.Model, out: out, clock: realClock(), Model: openai.New(openai.Config{
			BaseURL: c.BaseURL, APIKey: in.key, Headers: in.headers, Model: set.Model, Fallback: c.FallbackModel, Patience: c.Patience, Sleep: sleep,
			MaxOutput: set.MaxOutput,
			Progress:  func(line string) { out.progress(reviewer.Progress{Phase: "ask", Text: line}) },
		})}
	}
	set.SelfRequested = selfRequested(w.env)
	out.hide(w.env, in.secrets()...)
	out.begin("review-bot %s · %s on %s at %s", version(), set.Role, t, t.server)
	result, err := reviewer.Review(w.ctx, set, reviewer.Env{
		Forge: forge, Configuration: conf, Token: t.token, Secrets: w.mask, Now: time.Now, Sleep: sleep, Random: rand.Reader, Log: out.progress,
	})
	result.ForgeRequests = forge.Requests()
	if printErr := out.end(result); err == nil {
		err = printErr
	}
	if err != nil {
		return err
	}
	return exit(exitOf(result, eventSubject(w.env, t.number), c.FailOnBlock))
}

// settings are what flags say, and the defaults of what they don't. A model may
// still be missing.
func (c *reviewCmd) settings(in inputs) (set reviewer.Settings, err error) {
	if u, err := url.Parse(c.BaseURL); c.BaseURL != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "") {
		return set, usage("--base-url is not an address such as https://api.example.com/v1")
	}
	set = reviewer.Settings{
		Role: c.Role, Repo: in.target.owner + "/" + in.target.name, Number: in.target.number, Model: c.Model,
		Instructions: c.instructions(in), Guidelines: c.guidelines(), Extra: c.Instructions, Feedback: in.feedback,
		BlockOn: *cmp.Or(c.BlockOn, new(prompts.High)), Inline: *cmp.Or(c.Inline, new(reviewer.InlineReview)), Advisory: c.Advisory, ReviewDrafts: c.ReviewDrafts, DryRun: c.DryRun, Force: c.Force,
	}
	set.NoReceipt = c.Receipt == "off"
	if !local(c.PromptFile) {
		set.PromptFile = c.PromptFile
	}
	set.Ignore, set.Operators, set.Price = c.Ignore, c.Operators, reviewer.Price{In: c.PriceIn, Out: c.PriceOut}
	for _, n := range []struct {
		flag        string
		given       *int
		least, none int
		to          *int
	}{
		{"--max-rounds", c.MaxRounds, 0, reviewer.DefaultMaxRounds, &set.MaxRounds},
		{"--max-follow-ups", c.MaxFollowUps, 0, reviewer.DefaultMaxFollowUps, &set.MaxFollowUps},
		{"--max-tokens-per-pr", c.MaxTokensPerPR, 0, 0, &set.MaxSpent},
		{"--max-input-tokens", c.MaxInputTokens, config.MinInputTokens, reviewer.DefaultMaxTokens, &set.MaxTokens},
		{"--max-calls", c.MaxCalls, 1, reviewer.DefaultMaxCalls, &set.MaxCalls},
		{"--max-output-tokens", c.MaxOutput, 0, 0, &set.MaxOutput},
		{"--parallel", c.Parallel, 1, reviewer.DefaultParallel, &set.Parallel},
	} {
		if *n.to = *cmp.Or(n.given, &n.none); *n.to < n.least {
			return set, usage("%s %d is less than %d", n.flag, *n.to, n.least)
		}
	}
	if c.Patience < 0 {
		return set, usage("--patience %s is less than 0", c.Patience)
	}
	if c.PriceIn < 0 || c.PriceOut < 0 {
		return set, usage("--price-in and --price-out are not below 0")
	}
	if err = c.apply(&set); err != nil {
		return set, err
	}
	return set, nil
}
