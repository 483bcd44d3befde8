// Package config reads the bot's configuration file:
//
//	model: gpt-5
//	block_on: high
//	guidelines: [AGENTS.md, docs/style.md]
//	roles:
//	  security:
//	    model: gpt-5-pro
//	    prompt_file: SECURITY_REVIEW.md
//	    block_on: medium
//	settle:
//	  apply_replies: true
//	  apply_resolutions: true
//	  auto_resolve: [stale]
//	  allow_invalid_resolution: false
//	  reply_as_comment: false
//	  reply_template: docs/reply.md.tmpl
//	  enabled: true
//	  require_checks: true
//	  required_checks: [ci / test (pull_request)]
//
// Keys at the top are for every role; what stands below a role goes before them.
// What stands below settle is for the command of this name and belongs to no role.
// A key without a value counts as not set; an empty list is one.
//
// The file is read strictly: a key that isn't known, stands twice or has a value
// of another form is an error that names the line and the valid values. Anchors,
// aliases, tags and further documents are errors, too: nothing in a file is
// longer than it looks. The package is pure: it is given bytes and gives values.
package config

import (
	"fmt"
	"strings"

	"review-bot/prompts"
)

// DefaultPath is where the file is looked for in a repository.
const DefaultPath = ".review-bot.yaml"

// MaxSize is how long a file may be, in bytes.
const MaxSize = 64 << 10

// MinInputTokens is room for the instructions and a little more.
const MinInputTokens = 2500

// At is a value and its place in the file.
type At[T any] struct {
	Value  T
	Line   int // from 1; 0: it isn't set
	Column int // from 1, in characters
}

// Set tells whether the file has the value.
func (a At[T]) Set() bool { return a.Line > 0 }

// Section is what may be set for every role, and for a single one.
type Section struct {
	Model           At[string]
	BaseURL         At[string]
	FallbackModel   At[string]
	PromptFile      At[string] // path in the base branch
	Instructions    At[string]
	Guidelines      At[[]string] // paths in the base branch
	BlockOn         At[prompts.Severity]
	Inline          At[string] // one of Inlines
	Advisory        At[bool]
	ReviewDrafts    At[bool]
	NoApprove       At[bool]
	RepostStale     At[bool]
	Siblings        At[[]string] // names of roles
	Operators       At[[]string] // logins
	Ignore          At[[]string] // globs
	MaxRounds       At[int]
	MaxFollowUps    At[int]
	MaxTokensPerPR  At[int]
	MaxInputTokens  At[int]
	MaxCalls        At[int]
	MaxOutputTokens At[int]
	Parallel        At[int]
	Receipt         At[string] // on or off
	PriceIn         At[float64]
	PriceOut        At[float64]
}

// Inlines are the values of the key inline.
var Inlines = []string{"review", "attach", "body"}

// Settle is what may be set for the command settle, which no role has a part in.
// A switch that is not set is off, but for Enabled and RequireChecks.
type Settle struct {
	ApplyReplies           At[bool]
	ApplyResolutions       At[bool]
	AllowInvalidResolution At[bool]
	ReplyAsComment         At[bool]
	AutoResolve            At[[]string] // of AutoResolves, which are all meant if it isn't set; an empty list is none
	ReplyTemplate          At[string]   // path in the repository; the built-in one if it isn't set
	Enabled                At[bool]     // on if it isn't set
	RequireChecks          At[bool]     // on if it isn't set; off: the payload's evidence is enough
	RequiredChecks         At[[]string] // contexts that count, * for anything; none: those of the branch protection
}

// AutoResolves are the values that the list auto_resolve may have.
var AutoResolves = []string{"stale", "already_fixed"}

// File is what a configuration file says. The zero value says nothing.
type File struct {
	Defaults Section
	Roles    map[string]Section // what each role says itself
	Settle   Settle
}

// For is what the file says for a role.
func (f File) For(role string) Section {
	s := f.Defaults
	own, ok := f.Roles[role]
	if !ok {
		return s
	}
	for _, k := range keys {
		k.overrule(&s, &own)
	}
	return s
}

// Keys lists the keys of a Section, in alphabetical order.
func Keys() []string { return keys.names() }

// SettleKeys lists the keys of Settle, in alphabetical order.
func SettleKeys() []string { return settleKeys.names() }

// Error is a mistake in a configuration file.
type Error struct {
	File   string
	Line   int // from 1; 0: it is about the file as a whole
	Column int // from 1
	Key    string
	Text   string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Line > 0 && e.Key == "" {
		fmt.Fprintf(&b, ":%d", e.Column) // no key tells the place in the line
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	return b.String() + e.Text
}
