package forgetest

import (
	"fmt"
	"slices"
	"time"

	"review-bot/escalation"
)

// Forge is a server with one pull request. It is plain data, for one goroutine;
// see [Shared] for more.
type Forge struct {
	site    *site     // never changes, shared by clones
	history []commit  // commits are appended, or the list is replaced; never changed
	rule    *rule     // replaced, never changed
	users   []Account // replaced, never changed

	now         int64 // unix seconds
	title       string
	body        string
	closed      bool
	baseBranch  string
	base        string // tip of the base branch
	main        string // tip of the default branch
	mergeBase   string
	head        string // tip of the pull request's branch
	ref         string // head as the server's background work knows it
	pushes      []push // that it has not worked off
	reviews     []review
	comments    []comment
	reactions   []reaction
	forgotten   []string // commits, in order; replaced, never changed
	lastReview  int64    // the last id given
	lastComment int64
}

// site is what stays the same for a forge's life.
type site struct {
	url    string
	repo   string
	number int64
	author int64

	dialect Dialect
	fork    bool
	page    int
}

// rule is a branch protection; see [Protection].
type rule struct{ Protection }

// review is a row of the server's table of reviews.
type review struct {
	id        int64
	author    int64 // for a request: who is asked
	state     escalation.RowState
	body      string
	official  bool
	dismissed bool
	stale     bool
	commit    string
	created   int64
}

// comment is a row of the server's table of comments: an entry of the timeline,
// or an inline comment.
type comment struct {
	id       int64
	kind     escalation.EntryKind
	review   int64
	author   int64
	body     string
	path     string // of an inline comment
	line     int    // of an inline comment; negative on the old side
	commit   string // of an inline comment, whose line that is; "" where the dialect moves none
	subject  int64
	removed  bool
	resolver int64
	created  int64
	updated  int64
}

// Kinds of comments beside those that the bot reads.
const (
	inline      escalation.EntryKind = "code"       // isn't shown in the timeline
	entryHidden escalation.EntryKind = "hidden_ref" // isn't shown in the timeline
	entryPush   escalation.EntryKind = "pull_push"
	entryClose  escalation.EntryKind = "close"
	entryTitle  escalation.EntryKind = "change_title"
	entryTarget escalation.EntryKind = "change_target_branch"
	autoDismiss                      = "New commits pushed, approval review dismissed automatically according to repository settings"
)

// reaction is a reaction on the pull request.
type reaction struct {
	user    int64
	content string
	created int64
}

// push is one that the server's background work hasn't seen yet.
type push struct {
	by        int64
	old, new  string
	mergeBase string // with new as head
}

// New makes a forge with an open pull request.
func New(o Options) *Forge {
	o = o.withDefaults()
	f := &Forge{
		users: slices.Clone(o.Accounts), now: o.Now.Unix(), title: o.Title, body: o.Body,
	}
	f.site = &site{url: o.URL, repo: o.Repo, number: o.Number, author: f.user(o.Author).ID, dialect: o.Dialect, fork: o.Fork, page: o.Page}
	f.Protect(o.Protection)
	f.base = f.commit(o.Base)
	f.baseBranch, f.main, f.mergeBase = mainBranch, f.base, f.base
	f.head = f.commit(o.Head, f.base)
	f.ref = f.head
	f.pushEntry(f.site.author, f.head)
	return f
}

// Clone is a copy that shares nothing with f that can change.
func (f *Forge) Clone() *Forge {
	c := *f
	c.history = slices.Clip(f.history)
	c.pushes = slices.Clone(f.pushes)
	c.reviews = slices.Clone(f.reviews)
	c.comments = slices.Clone(f.comments)
	c.reactions = slices.Clone(f.reactions)
	return &c
}

// As is the pull request with the account's token.
func (f *Forge) As(login string) *View {
	return &View{forge: f, account: f.user(login).ID, lock: noLock{}}
}

// Advance moves the server's clock. It counts in whole seconds.
func (f *Forge) Advance(d time.Duration) { f.now += int64(d / time.Second) }

// Now is the server's clock.
func (f *Forge) Now() time.Time { return at(f.now) }

func at(unix int64) time.Time { return time.Unix(unix, 0).UTC() }

// Protect replaces the branch protection; nil removes it.
func (f *Forge) Protect(p *Protection) {
	f.rule = nil
	if p != nil {
		f.rule = &rule{*p}
		f.rule.Whitelist = slices.Clone(p.Whitelist)
	}
}

// SetAccess changes what an account may do.
func (f *Forge) SetAccess(login string, a Access) {
	u := f.user(login)
	f.users = slices.Clone(f.users)
	for i := range f.users {
		if f.users[i].ID == u.ID {
			f.users[i].Access = a
		}
	}
}

// user is the account of that name. The test made it, so there is one.
func (f *Forge) user(login string) Account {
	u, ok := f.lookup(login)
	if !ok {
		panic(fmt.Sprintf("forgetest: no account %q", login))
	}
	return u
}

func (f *Forge) lookup(login string) (Account, bool) {
	for _, u := range f.users {
		if u.Login == login {
			return u, true
		}
	}
	return Account{}, false
}

func (f *Forge) byID(id int64) Account {
	for _, u := range f.users {
		if u.ID == id {
			return u
		}
	}
	panic(fmt.Sprintf("forgetest: no account %d", id))
}

// official tells whether the account's verdicts count: on the list if there is
// one, else by write access.
func (f *Forge) official(account int64) bool {
	u := f.byID(account)
	if f.rule != nil && f.rule.Whitelist != nil {
		return slices.Contains(f.rule.Whitelist, u.Login)
	}
	return u.Access >= AccessWrite
}
