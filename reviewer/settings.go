package reviewer

import (
	"context"
	"fmt"
	"io"
	"time"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer/untrusted"
)

// Settings say what to review and how. They are trusted: they come from flags,
// the environment and the base branch; see [Configuration].
type Settings struct {
	Role         string
	Repo         string // owner/name
	Number       int64
	Model        string
	PromptFile   string   // path in the base branch; "" for Instructions
	Instructions string   // of the role
	Guidelines   []string // paths in the base branch; nil: DefaultGuidelines, those that are there
	Extra        string   // the operator's further instructions
	Feedback     string   // further feedback, as given
	BlockOn      prompts.Severity
	Inline       Inline   // where new findings of a patched verdict go
	Ignore       []string // globs of files that the model isn't shown
	MaxTokens    int      // of one request to the model
	MaxCalls     int      // requests to the model, for a diff that doesn't fit into one
	MaxOutput    int      // tokens of an answer; 0: as the server has it
	Parallel     int      // requests to the model at once
	MaxRounds    int      // heads at which the role requests changes, before it only follows up; 0: no limit
	MaxFollowUps int      // heads that the role looks at after that; 0: no limit
	MaxSpent     int      // tokens that the role may spend on the pull request, all rounds together; 0: no limit
	NoReceipt    bool     // ask for no receipt of having read the request, see prompts.Request
	Operators    []string // accounts that the hand-off calls
	Price        Price
	Advisory     bool
	ReviewDrafts bool
	DryRun       bool
	Force        bool     // ask the model, whatever stands there
	NoApprove    bool     // publish no approval
	RepostStale  bool     // post an approval anew when its commit isn't the head any more
	Siblings     []string // roles that must have judged the head before it is approved
	Lock         string   // reaction that locks the account; "" for none
	LockTimes    escalation.LockTimes

	// SelfRequested says that an account's request for its own review has started the run. The bot's accounts take
	// verdicts back by that.
	SelfRequested bool
}

// Price is what a model costs, per million tokens. Zero: not known.
type Price struct{ In, Out float64 }

// The defaults of what bounds a run.
const (
	DefaultMaxTokens    = 100_000
	DefaultMaxCalls     = 8
	DefaultParallel     = 4
	DefaultMaxRounds    = 3
	DefaultMaxFollowUps = 10
)

// Inline tells where new findings go when the verdict's review is patched, which
// can't carry inline comments.
type Inline string

// The places. The first is the default.
const (
	InlineReview Inline = "review" // inline in a further review, which comments only
	InlineAttach Inline = "attach" // inline in the verdict's review, where the server can attach; else as review
	InlineBody   Inline = "body"   // in the verdict's body
)

// UnmarshalText reads it; the error names the valid values.
func (i *Inline) UnmarshalText(text []byte) error {
	switch v := Inline(text); v {
	case InlineReview, InlineAttach, InlineBody:
		*i = v
		return nil
	default:
		return fmt.Errorf("%q is not one of review, attach, body", text)
	}
}

// DefaultLock is the reaction that locks an account on a pull request. It is
// among those that servers allow by default.
const DefaultLock = "rocket"

// Env is the world of a run.
type Env struct {
	Forge Forge
	Model Model // not needed with a Configuration, which names it
	// Configuration completes the settings; nil: they are complete.
	Configuration Configuration

	Token   string // of the forge account; signs sentinels
	Secrets *untrusted.Masker
	Now     func() time.Time
	Sleep   func(context.Context, time.Duration) // returns early when the context ends
	Random  io.Reader
	Log     func(Progress) // one call per phase that ended, or that takes long
}

// Progress is one line of the job's log.
type Progress struct {
	Phase string // read, ask, decide, publish
	Text  string
	Took  time.Duration // 0: not measured
}
