package forgetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"review-bot/reviewer"
)

// Observer reads a bench and names what it saw without what differs between two
// forges of the same history: users by their names in the suite, reviews and
// entries by their order, commits by when they became the head or the base.
type Observer struct {
	Bench   Bench
	ctx     context.Context
	names   map[int64]string
	commits []named // in the order of their appearance
	heads   []string
	looks   int // so far
}

type named struct{ sha, name string }

// NewObserver begins to observe a bench.
func NewObserver(ctx context.Context, b Bench) (*Observer, error) {
	o := &Observer{Bench: b, ctx: ctx, names: map[int64]string{0: "nobody"}}
	for _, a := range DefaultAccounts() {
		u, err := b.As(a.Login).Account(ctx)
		if err != nil {
			return nil, err
		}
		o.names[u.ID] = a.Login
	}
	_, err := o.pull()
	return o, err
}

// Heads are the commits that were the head, the newest last.
func (o *Observer) Heads() []string { return o.heads }

// others are the accounts that look beside the bot: another, somebody who may do
// everything, and somebody who may do nothing.
var others = []string{"bot2", "owner", "outsider"}

// Observe is all that the bot's interfaces tell of the pull request, as text: to
// the bot, and to one of the others in turn.
func (o *Observer) Observe() (string, error) {
	var b strings.Builder
	p, err := o.pull()
	if err != nil {
		return "", err
	}
	b.WriteString(p)
	entries, err := o.Bench.As("bot").Timeline(o.ctx, time.Time{}, nil)
	if err != nil {
		return "", err
	}
	watchers := []string{"bot", others[o.looks%len(others)]}
	o.looks++
	views := map[string][]reviewer.Row{}
	for _, name := range watchers {
		if views[name], err = o.Bench.As(name).Reviews(o.ctx); err != nil {
			return "", err
		}
	}
	ids := newRanks(views, entries)
	for _, name := range watchers {
		if err := o.view(&b, name, views[name], ids); err != nil {
			return "", err
		}
	}
	for _, e := range entries {
		fmt.Fprintf(&b, "%s\n", o.entry(e, ids))
	}
	reactions, _, err := o.Bench.As("bot").Reactions(o.ctx)
	if err != nil {
		return "", err
	}
	for _, r := range reactions {
		fmt.Fprintf(&b, "reaction %s by %s\n", r.Content, o.names[r.User])
	}
	return b.String(), nil
}

func (o *Observer) pull() (string, error) {
	p, err := o.Bench.As("bot").Pull(o.ctx)
	if err != nil {
		return "", err
	}
	if !slices.Contains(o.heads, p.Head) {
		o.heads = append(o.heads, p.Head)
	}
	o.learn(p.Base, "base")
	o.learn(p.MergeBase, "base")
	o.learn(p.Head, "head")
	return fmt.Sprintf("pull %q by %s at %s base=%s mergebase=%s closed=%t draft=%t\n",
		p.Title, o.names[p.Author.ID], o.named(p.Head), o.named(p.Base), o.named(p.MergeBase), p.Closed, p.Draft), nil
}

func (o *Observer) learn(sha, kind string) {
	if !slices.ContainsFunc(o.commits, func(n named) bool { return n.sha == sha }) {
		o.commits = append(o.commits, named{sha, fmt.Sprintf("%s-%d", kind, len(o.commits))})
	}
}

// named replaces the ids of known commits in a text by their names.
func (o *Observer) named(text string) string {
	for _, n := range o.commits {
		text = strings.ReplaceAll(text, n.sha, n.name)
	}
	return text
}

func (o *Observer) view(b *strings.Builder, name string, rows []reviewer.Row, ids ranks) error {
	fmt.Fprintf(b, "%s sees\n", name)
	for _, r := range rows {
		fmt.Fprintf(b, "\t%s\n", o.row(r, ids))
		if r.Comments == 0 {
			continue
		}
		comments, err := o.Bench.As(name).Comments(o.ctx, r.ID)
		if err != nil {
			return err
		}
		slices.SortFunc(comments, func(a, b reviewer.Comment) int { return cmp.Compare(a.ID, b.ID) })
		for _, c := range comments {
			fmt.Fprintf(b, "\t\t%s\n", o.inline(c, ids))
		}
	}
	return nil
}

func (o *Observer) inline(c reviewer.Comment, ids ranks) string {
	author, resolver := o.names[c.Author], o.names[c.Resolver]
	text := fmt.Sprintf("inline in %d by %s at %q new %d old %d resolved by %s: %q", ids.reviews[c.Review], author, c.Path, c.NewLine, c.OldLine, resolver, c.Body)
	if c.Login != o.Bench.Login(author) || c.ResolverLogin != "" && c.ResolverLogin != o.Bench.Login(resolver) || (c.ResolverLogin == "") != (c.Resolver == 0) {
		text += fmt.Sprintf(" with the odd logins %q and %q", c.Login, c.ResolverLogin)
	}
	if !strings.HasSuffix(c.URL, fmt.Sprintf("#issuecomment-%d", c.ID)) {
		text += " with the odd address " + c.URL
	}
	if c.Created.IsZero() || c.Updated.Before(c.Created) {
		text += fmt.Sprintf(" with the odd times %v and %v", c.Created, c.Updated)
	}
	return text
}

func (o *Observer) row(r reviewer.Row, ids ranks) string {
	text := fmt.Sprintf("review %d by %s %s", ids.reviews[r.ID], o.names[r.Author], flags(r))
	text += fmt.Sprintf(" at %q entry %d inline %d: %q", o.named(r.Commit), ids.entries[r.CommentID], r.Comments, r.Body)
	if (r.CommentID == 0) != (r.URL == "") || r.CommentID != 0 && !strings.HasSuffix(r.URL, fmt.Sprintf("#issuecomment-%d", r.CommentID)) {
		text += " with the odd address " + r.URL
	}
	return text
}

// flags is a row's state and marks, as in "APPROVED official stale".
func flags(r reviewer.Row) string {
	text := string(r.State)
	for _, flag := range []struct {
		set  bool
		name string
	}{{r.Official, "official"}, {r.Dismissed, "dismissed"}, {r.Stale, "stale"}} {
		if flag.set {
			text += " " + flag.name
		}
	}
	return text
}

func (o *Observer) entry(e reviewer.Entry, ids ranks) string {
	login := o.names[e.User]
	if e.Login != o.Bench.Login(login) {
		login += " called " + e.Login
	}
	return fmt.Sprintf("entry %d %s by %s of review %d about %s removed=%t: %q",
		ids.entries[e.ID], e.Kind, login, ids.reviews[e.Review], o.names[e.Subject], e.Removed, o.named(e.Body))
}

// ranks number ids by their order.
type ranks struct{ reviews, entries map[int64]int }

func newRanks(views map[string][]reviewer.Row, entries []reviewer.Entry) ranks {
	var reviews, comments []int64
	for _, rows := range views {
		for _, r := range rows {
			reviews = append(reviews, r.ID)
		}
	}
	for _, e := range entries {
		reviews = append(reviews, e.Review)
		comments = append(comments, e.ID)
	}
	return ranks{inOrder(reviews), inOrder(comments)}
}

// inOrder numbers ids from 1; 0 stays 0.
func inOrder(ids []int64) map[int64]int {
	ids = append(ids, 0)
	slices.Sort(ids)
	places := map[int64]int{}
	for i, id := range slices.Compact(ids) {
		places[id] = i
	}
	return places
}

// Outcome is an error of a request in words that two forges share.
func Outcome(err error) string {
	var e *reviewer.Error
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, reviewer.ErrUnknown):
		return "unknown"
	case strings.Contains(err.Error(), changedNothing):
		return changedNothing
	case errors.As(err, &e):
		// Ids and addresses that a message ends with.
		text, _, _ := strings.Cut(e.Err.Error(), " [")
		text, _, _ = strings.Cut(text, " Request: ")
		return text
	default:
		return err.Error()
	}
}
