package thread

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"review-bot/reviewer/finding"
)

// Remark is an inline comment with where it was made.
type Remark struct {
	finding.Comment

	Created, Updated time.Time
	Anchor           Anchor
}

// Scene is what the forge tells of a pull request's conversations.
type Scene struct {
	PR      int64
	Account int64 // whose token it is
	Remarks []Remark
	// CanResolve and CanReply are what the account can do here; nil: not known.
	CanResolve, CanReply *bool
}

// Conversation is a conversation before it is known whether it is outdated.
type Conversation struct {
	Thread
	Anchor Anchor
}

// Conversations are those of a scene, in the order in which they are listed: by
// path and line, as who works through the files meets them.
func (s Scene) Conversations() []Conversation {
	byID := map[int64]Remark{}
	var comments []finding.Comment
	for _, r := range s.Remarks {
		byID[r.ID] = r
		comments = append(comments, r.Comment)
	}
	var list []Conversation
	for _, talk := range finding.Conversations(comments) {
		root := byID[talk.Comments[0].ID]
		t := Thread{
			ID: ID{root.Review, root.ID}, PR: s.PR, Path: root.Path, Line: root.Anchor.Line, Side: root.Anchor.Side,
			Resolved: talk.Resolver().ID != 0, Resolver: talk.Resolver().Login, Author: root.Author.Login, AuthorKind: kindOf(root.Comment),
			URL: root.URL, CanResolve: s.CanResolve, CanReply: s.CanReply,
		}
		for _, c := range talk.Comments {
			r := byID[c.ID]
			t.Comments = append(t.Comments, Comment{
				ID: r.ID, Author: r.Author.Login, AuthorKind: kindOf(c), Body: r.Body, Created: r.Created, Updated: r.Updated, URL: r.URL,
				Ours: r.Author.ID == s.Account,
			})
			if role, id, ok := c.Claim(); ok && t.Role == "" {
				t.Role, t.FindingID = role, id
			}
		}
		list = append(list, Conversation{t, root.Anchor})
	}
	slices.SortFunc(list, func(a, b Conversation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Side, b.Side), cmp.Compare(a.ID.Root, b.ID.Root))
	})
	return list
}

// kindOf guesses what kind of account has written a comment: forges don't tell.
// System accounts have negative ids, and so has the one that stands for accounts
// that are gone.
func kindOf(c finding.Comment) AuthorKind {
	const ghost = -1
	login := strings.ToLower(c.Author.Login)
	_, _, marked := c.Claim()
	switch {
	case c.Author.ID == 0, c.Author.ID == ghost:
		return KindDeleted
	case marked, c.Author.ID < 0, strings.HasSuffix(login, "[bot]"), strings.HasSuffix(login, "-bot"), strings.HasSuffix(login, "_bot"), strings.HasPrefix(login, "bot-"):
		return KindBot
	}
	return KindUser
}

// Filter says which conversations are listed. The zero value lets those pass that
// are neither resolved nor outdated.
type Filter struct {
	All             bool     // resolved ones, too
	IncludeOutdated bool     // outdated ones, too
	Authors         []string // logins; with at least one comment by one of them; none: anybody's
	Paths           []string // files, or folders with all below; none: any
}

// Early tells whether a conversation may pass as far as that shows before it is
// known what became of its line.
func (f Filter) Early(t Thread) bool {
	return (f.All || !t.Resolved) && (len(f.Authors) == 0 || slices.ContainsFunc(t.Comments, func(c Comment) bool {
		return slices.ContainsFunc(f.Authors, func(login string) bool { return strings.EqualFold(login, c.Author) })
	}))
}

// Pass tells whether a conversation is listed.
func (f Filter) Pass(t Thread) bool {
	return f.Early(t) && (f.IncludeOutdated || !t.Outdated) &&
		(len(f.Paths) == 0 || slices.ContainsFunc(f.Paths, func(p string) bool { return below(t.Path, p) || below(t.HeadPath, p) }))
}

// below tells whether a file is the one that a path names, or in that folder.
func below(file, p string) bool {
	p = strings.TrimPrefix(path.Clean(p), "/")
	return file != "" && (p == "." || p == "" || file == p || strings.HasPrefix(file, p+"/"))
}

// Phase is how far the work on a pull request's conversations is. It is derived
// from what stands on the forge and is kept nowhere.
type Phase string

// The phases.
const (
	Blocked  Phase = "blocked"                // the list is incomplete, or a person has to decide
	InTriage Phase = "review_triage"          // there are open conversations
	Fixing   Phase = "fixing_review_findings" // some of them are valid
	Verified Phase = "verified"               // there is no open conversation, listed or not
)

// Tally counts what a triage makes of the open conversations.
type Tally struct {
	Valid          int `json:"valid"`
	Invalid        int `json:"invalid"`
	Stale          int `json:"stale"`
	AlreadyFixed   int `json:"already_fixed"`
	NeedsHuman     int `json:"needs_human"`
	HumanDecisions int `json:"human_decisions"` // conversations for a person to decide
}

// Tally counts a triage. What was resolved since counts no more.
func (t Triage) Tally(threads []Thread) Tally {
	open := map[ID]bool{}
	for _, t := range threads {
		open[t.ID] = !t.Resolved
	}
	var n Tally
	for _, j := range t.Threads {
		if !open[j.ThreadID] {
			continue
		}
		switch j.Classification {
		case Valid:
			n.Valid++
		case Invalid:
			n.Invalid++
		case Stale:
			n.Stale++
		case AlreadyFixed:
			n.AlreadyFixed++
		case NeedsHuman:
			n.NeedsHuman++
		}
		if j.RequiresHumanDecision {
			n.HumanDecisions++
		}
	}
	return n
}

// List is what `threads` prints.
type List struct {
	Repo       string   `json:"repo"` // owner/name
	PR         int64    `json:"pr"`
	URL        string   `json:"url"`
	Head       string   `json:"head"` // commit, 40 hex digits
	Phase      Phase    `json:"phase"`
	Incomplete bool     `json:"incomplete"` // the bound was hit before the end: work with nothing of it
	Total      int      `json:"total"`      // conversations of the pull request
	Unresolved int      `json:"unresolved"` // of those
	Selected   int      `json:"selected"`   // that the filters let pass, also behind the bound
	Scan       Scan     `json:"scan"`       // what a triage of the list names
	Threads    []Thread `json:"threads"`
	Triage     *Tally   `json:"triage"` // of the payload; nil if none was given
	Notes      []string `json:"notes"`
}

// Select lists the conversations that pass, most at the most.
func Select(all []Thread, f Filter, most int) List {
	list := List{Total: len(all), Threads: []Thread{}, Notes: []string{}}
	for _, t := range all {
		if !t.Resolved {
			list.Unresolved++
		}
		if !f.Pass(t) {
			continue
		}
		list.Selected++
		if t.Comments = readable(t.Comments); len(list.Threads) < most {
			list.Threads = append(list.Threads, t)
		}
	}
	list.Incomplete = list.Selected > len(list.Threads)
	list.Phase = list.phase()
	return list
}

// readable are comments as people read them, without markers and small print.
func readable(comments []Comment) []Comment {
	comments = slices.Clone(comments)
	for i, c := range comments {
		comments[i].Title, comments[i].Body = finding.Prose(c.Body)
	}
	return comments
}

// At adds the head that the list was made at.
func (l *List) At(head string) {
	l.Head, l.Scan = head, Scan{Head: head, Count: l.Selected, Complete: !l.Incomplete}
}

// Judge adds what a triage makes of the conversations.
func (l *List) Judge(t Triage) {
	n := t.Tally(l.Threads)
	l.Triage = &n
	l.Phase = l.phase()
}

// PhaseOf is how far the work is on all conversations of a pull request, by what a
// triage makes of them; a nil one makes nothing of them. forPeople are those that a
// payload leaves to a person.
func PhaseOf(all []Thread, triage *Triage, forPeople []ID) Phase {
	list := Select(all, Filter{All: true, IncludeOutdated: true}, len(all))
	var n Tally
	if triage != nil {
		n = triage.Tally(all)
	}
	for _, t := range all {
		if !t.Resolved && slices.Contains(forPeople, t.ID) {
			n.HumanDecisions++
		}
	}
	list.Triage = &n
	return list.phase()
}

func (l *List) phase() Phase {
	switch {
	case l.Incomplete, l.Triage != nil && l.Triage.HumanDecisions > 0:
		return Blocked
	case l.Unresolved == 0:
		return Verified
	case l.Triage != nil && l.Triage.Valid > 0:
		return Fixing
	}
	return InTriage
}
