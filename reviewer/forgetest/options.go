package forgetest

import (
	"fmt"
	"strings"
	"time"
)

// Access is what an account may do in the repository. The repository is public:
// everyone may read it, comment and post reviews.
type Access int

// From the least to the most.
const (
	AccessNone  Access = iota // no collaborator
	AccessRead                // a collaborator, who may ask for reviews
	AccessWrite               // whose verdicts count
	AccessAdmin               // who may dismiss
)

// Account is a user of the forge.
type Account struct {
	ID     int64
	Login  string
	Access Access
}

// DefaultAccounts are the accounts of a forge whose options name none.
func DefaultAccounts() []Account {
	return []Account{
		{1, "owner", AccessAdmin},
		{2, "author", AccessWrite},
		{3, "writer", AccessWrite},
		{4, "bot", AccessWrite},
		{5, "bot2", AccessWrite},
		{6, "outsider", AccessNone},
	}
}

// Protection is the branch protection of the base branch, as far as reviews
// matter to it.
type Protection struct {
	RequiredApprovals int
	BlockOnRejected   bool     // block_on_rejected_reviews
	BlockOnRequests   bool     // block_on_official_review_requests
	DismissStale      bool     // dismiss_stale_approvals
	IgnoreStale       bool     // ignore_stale_approvals
	Whitelist         []string // whose reviews are official; nil: every writer's
}

// Options say what a new forge holds. The zero value is a good one.
type Options struct {
	Accounts   []Account         // nil: DefaultAccounts
	Author     string            // of the pull request; "": author
	Protection *Protection       // nil: the base branch isn't protected
	Base       map[string]string // files of the base branch, text by path; nil: BaseFiles
	Head       map[string]string // what the pull request changes in them; nil: HeadFiles
	Title      string            // "": "pull topic". With WIP: in front it is a draft
	Body       string            // of the pull request
	Now        time.Time         // the server's clock; zero: 2026-01-02 03:04:05 UTC
	URL        string            // the server's; "": https://forge.example
	Repo       string            // owner/name; "": owner/app
	Number     int64             // of the pull request; 0: 1
	Page       int               // places on a page of the timeline; 0: 50
	Dialect    Dialect           // zero: Gitea126
	Fork       bool              // the pull request is a fork's: its commits are there once the ref has moved
}

// Gone as a file's text means that there is no such file.
const Gone = "\x00gone"

// BaseFiles are the files of the base branch where the options name none.
func BaseFiles() map[string]string {
	return map[string]string{"main.go": lines("package main", 20), "old.txt": lines("old", 3)}
}

// HeadFiles are what the pull request changes in [BaseFiles] where the options
// name nothing: a changed file of 21 lines and a new one of 10.
func HeadFiles() map[string]string {
	return map[string]string{
		"main.go": strings.Replace(lines("package main", 20), "package main 10\n", "package main 10, changed\nadded\n", 1),
		"new.go":  lines("package app", 10),
	}
}

func lines(word string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s %d\n", word, i+1)
	}
	return b.String()
}

func (o Options) withDefaults() Options {
	if o.Accounts == nil {
		o.Accounts = DefaultAccounts()
	}
	if o.Author == "" {
		o.Author = "author"
	}
	if o.Base == nil {
		o.Base = BaseFiles()
	}
	if o.Head == nil {
		o.Head = HeadFiles()
	}
	if o.Title == "" {
		o.Title = "pull topic"
	}
	if o.Now.IsZero() {
		o.Now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	}
	if o.URL == "" {
		o.URL = "https://forge.example"
	}
	if o.Repo == "" {
		o.Repo = "owner/app"
	}
	if o.Number == 0 {
		o.Number = 1
	}
	if o.Dialect.Name == "" {
		o.Dialect.Name = Gitea126.Name
	}
	if o.Page == 0 {
		o.Page = 50
	}
	return o
}
