package reviewer

import (
	"context"
	"io"
	"time"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer/untrusted"
)

// Settings say what to review and how. They are trusted: they come from flags,
// the environment and the base branch.
type Settings struct {
	Role         string
	Repo         string // owner/name
	Number       int64
	Model        string
	PromptFile   string // path in the base branch; "" for Instructions
	Instructions string // of the role
	Extra        string // the operator's further instructions
	Feedback     string // further feedback, as given
	BlockOn      prompts.Severity
	Advisory     bool
	ReviewDrafts bool
	DryRun       bool
	Force        bool     // ask the model, whatever stands there
	NoApprove    bool     // publish no approval
	RepostStale  bool     // post an approval anew when its commit isn't the head any more
	Siblings     []string // roles that must have judged the head before it is approved
	Lock         string   // reaction that locks the account; "" for none
	LockTimes    escalation.LockTimes
}

// DefaultLock is the reaction that locks an account on a pull request. It is
// among those that servers allow by default.
const DefaultLock = "rocket"

// Env is the world of a run.
type Env struct {
	Forge   Forge
	Model   Model
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
