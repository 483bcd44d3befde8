package thread

// Classification says what a conversation's point is worth.
type Classification string

// The classifications.
const (
	Valid        Classification = "valid"
	Invalid      Classification = "invalid"
	Stale        Classification = "stale"
	AlreadyFixed Classification = "already_fixed"
	NeedsHuman   Classification = "needs_human"
)

// Classifications are all of them, in the order in which they are explained.
var Classifications = []Classification{Valid, Invalid, Stale, AlreadyFixed, NeedsHuman}

// Triage is what somebody, a person or an agent, makes of the conversations that
// `threads` listed.
type Triage struct {
	Scan    Scan        `json:"scan"`
	Threads []Judgement `json:"threads"`
}

// Scan says which list a triage is of, so that it isn't taken for one of another
// list, or of a part.
type Scan struct {
	Head     string `json:"head"`     // commit, 40 hex digits
	Count    int    `json:"count"`    // conversations that the filters let pass
	Complete bool   `json:"complete"` // all of them are listed
}

// Judgement is what is made of one conversation.
type Judgement struct {
	ThreadID              ID             `json:"thread_id"`
	Classification        Classification `json:"classification"`
	Confidence            float64        `json:"confidence"` // 0 to 1
	Reason                string         `json:"reason"`
	RecommendedAction     string         `json:"recommended_action"`
	FilesToInspect        []string       `json:"files_to_inspect"`
	FilesToChange         []string       `json:"files_to_change"`
	ChecksToRun           []string       `json:"checks_to_run"`
	ReplyBody             string         `json:"reply_body"`
	CanResolveAfterChecks bool           `json:"can_resolve_after_checks"`
	RequiresHumanDecision bool           `json:"requires_human_decision"`
}

// Settlement is what was done about conversations, and is to be told and closed.
type Settlement struct {
	PR    int64  `json:"pr,omitempty"` // 0 if the payload names none
	Items []Item `json:"items"`
}

// Item is what was done about one conversation. The optional texts are "" where
// the payload has none.
type Item struct {
	ThreadID         ID             `json:"thread_id"`
	Classification   Classification `json:"classification"`
	Verification     []string       `json:"verification"` // how it was made sure
	ChecksRun        []string       `json:"checks_run"`
	ResolveRequested bool           `json:"resolve_requested"`
	FixSummary       string         `json:"fix_summary,omitempty"`
	CommitSHA        string         `json:"commit_sha,omitempty"` // 7 to 40 hex digits
	ReplyBody        string         `json:"reply_body,omitempty"`
	HumanDecision    string         `json:"human_decision,omitempty"` // what a person decided where the triage asked for it; it lets the reply out, and closes nothing
}

// Problem is what is wrong with a payload, and where.
type Problem struct {
	Path   string `json:"path"` // as in $.threads[3].confidence
	Reason string `json:"reason"`
}

func (p Problem) String() string { return p.Path + ": " + p.Reason }
