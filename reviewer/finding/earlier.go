package finding

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"review-bot/prompts"
	"review-bot/reviewer/diff"
	"review-bot/sentinel"
)

// Earlier is a finding of an earlier round, as far as the forge tells.
type Earlier struct {
	Finding

	Review   int64 // that carries its comment
	Comment  int64 // its inline comment; 0 for one in the body
	Replies  []Reply
	Resolver User // who closed its conversation; zero if it is open
	Status   Status
	Claimed  bool   // its conversation was closed by a tool that says what was done
	Since    Change // what became of its file since Head; the same for all of one file and head

	posted       prompts.Severity // that its marker names
	root         int64            // oldest comment of its conversation
	conversation int              // in which its comment stands, by number; negative for one in the body
	shared       bool             // a finding of another role stands in the conversation too
	settled      bool             // an earlier round noted it in Round.Fixed
	byAuthor     bool             // the pull request's author closed its conversation
}

// Status is how an earlier finding stands before the model is asked.
type Status string

// The statuses.
const (
	Open  Status = "open"  // it is shown to the model
	Fixed Status = "fixed" // the account closed it
	Let   Status = "let"   // a person who may do so waived it
)

// Memory is where earlier findings are recalled from.
type Memory struct {
	Role     string
	Key      sentinel.Key
	Account  int64
	Author   int64            // of the pull request
	Own      func(int64) bool // whether a review is the role's
	Comments []Comment        // of the role's reviews, and of leftovers
	Raised   string           // severities that were raised since, see Round.Raised
	Closed   []string         // ids of findings that were closed by an edit, where the server can't resolve
	Fixed    []string         // ids of findings that are fixed, see Round.Fixed
	Heard    int64            // the newest comment that the role knew when it noted Fixed
	Body     string           // text of the role's current review, as the account wrote it
	BodyURL  string           // its address

	MayWrite func(User) bool         // whether somebody is known to have write access; nil: nobody is
	Claims   func(Conversation) bool // whether a tool replied outside of a conversation that it closed; may be nil
}

// Earlier recalls the role's findings, oldest first, no two with one id.
//
// A comment of the account belongs to the role by its marker. One in the role's
// own review that begins a conversation and has none, or one of the time before
// versions, or one whose marker a person may have written, is recalled too: its
// severity isn't known then, which counts as the worst.
func (m Memory) Earlier() []Earlier {
	body := m.inBody()
	originals := m.originals(body)
	var list []Earlier
	ids := map[string]bool{}
	for n, conversation := range Conversations(m.Comments) {
		shared := m.shared(conversation)
		for i, c := range conversation.Comments {
			if c.Author.ID != m.Account {
				continue
			}
			e, ok := m.recall(c, i == 0, originals)
			if !ok {
				continue
			}
			ids[e.ID] = true
			e.conversation, e.root, e.shared = n, conversation.Comments[0].ID, shared
			e.Replies, e.Resolver = conversation.replies(m.Account), conversation.Resolver()
			e.Claimed = conversation.claimed(e.Comment) || m.Claims != nil && m.Claims(conversation)
			e.Status, e.settled = m.status(e), slices.Contains(m.Fixed, e.ID)
			e.byAuthor = e.Resolver.ID != 0 && e.Resolver.ID == m.Author
			list = append(list, e)
		}
	}
	for i, e := range body {
		if !ids[e.ID] {
			ids[e.ID] = true
			e.conversation = -1 - i
			e.Status = m.status(e)
			list = append(list, e)
		}
	}
	return m.raise(list)
}

// status is the state of a finding of this memory. A conversation that a person
// resolved by hand is waived if the person has write access and isn't the author of
// the pull request. One that a tool resolved only claims that something was done.
func (m Memory) status(e Earlier) Status {
	byAccount := e.Resolver.ID != 0 && e.Resolver.ID == m.Account
	byHand := e.Resolver.ID != 0 && !byAccount && !e.Claimed && e.Resolver.ID != m.Author
	said := slices.ContainsFunc(e.Replies, func(r Reply) bool { return r.ID > m.Heard })
	switch {
	case e.Status == Fixed, byAccount && !e.Claimed:
		return Fixed
	case slices.Contains(m.Fixed, e.ID) && !said:
		return Fixed
	case byHand && m.MayWrite != nil && m.MayWrite(e.Resolver):
		return Let
	default:
		return Open
	}
}

// Resolvers are those who closed a conversation by hand, of whom MayWrite has to know
// whether they have write access. Servers let few people do that.
func (m Memory) Resolvers() []User {
	var list []User
	for _, c := range Conversations(m.Comments) {
		by := c.Resolver()
		if by.ID > 0 && by.ID != m.Account && by.ID != m.Author && !slices.Contains(list, by) {
			list = append(list, by)
		}
	}
	return list
}

// raise applies what Round.Raised noted.
func (m Memory) raise(list []Earlier) []Earlier {
	for item := range strings.SplitSeq(m.Raised, ",") {
		id, severity, _ := strings.Cut(item, ":")
		if !slices.Contains(prompts.Severities, prompts.Severity(severity)) {
			continue
		}
		for i, e := range list {
			if e.ID == id {
				list[i].Severity = graver(e.Severity, prompts.Severity(severity))
			}
		}
	}
	return list
}

// authentic tells whether a comment is as the account wrote it. A
// token that was changed since makes all codes wrong, so a comment that nobody
// edited needs none.
func (m Memory) authentic(c Comment) bool { return !c.Edited || Vouched(c.Body, m.Key) }

// originals tells which comment each id was made for. A marker with its code can
// be copied into another comment: so of several with one id the oldest that nobody
// edited is meant, and if all were edited, none. One in the body is never meant by
// an edited comment.
func (m Memory) originals(body []Earlier) map[string]int64 {
	type claim struct {
		comment int64
		edited  bool
	}
	claims := map[string]claim{}
	for _, e := range body {
		claims[e.ID] = claim{}
	}
	for _, c := range m.Comments {
		mark, _, ok := marker(c.Body)
		if !ok || c.Author.ID != m.Account || mark.Role != m.Role || mark.ID == "" || !mark.Closed && mark.Version == 0 || !m.authentic(c) {
			continue
		}
		first, taken := claims[mark.ID]
		switch {
		case !taken, !c.Edited && (first.edited || first.comment == 0 || c.ID < first.comment):
			claims[mark.ID] = claim{c.ID, c.Edited}
		case c.Edited && first.edited:
			claims[mark.ID] = claim{0, true}
		}
	}
	list := map[string]int64{}
	for id, c := range claims {
		list[id] = c.comment
	}
	return list
}

// shared tells whether the account has a comment in the conversation that isn't
// the role's: what another role found, and only that role may close.
func (m Memory) shared(conversation Conversation) bool {
	for i, c := range conversation.Comments {
		if c.Author.ID != m.Account {
			continue
		}
		mark, _, marked := marker(c.Body)
		switch {
		case marked && mark.Role != m.Role && !(mark.Closed && m.authentic(c)),
			!marked && i == 0 && !m.Own(c.Review):
			return true
		}
	}
	return false
}

// recall makes a finding of a comment of the account, if it is one of the role.
func (m Memory) recall(c Comment, first bool, originals map[string]int64) (Earlier, bool) {
	mark, rest, marked := marker(c.Body)
	believed := marked && m.authentic(c)
	byMarker, byPlace := marked && mark.Role == m.Role, !believed && first && m.Own(c.Review)
	if !byMarker && !byPlace {
		return Earlier{}, false
	}
	if byMarker && mark.ID != "" && originals[mark.ID] != c.ID {
		believed = false
	}
	place := diff.Place{Path: c.Path, Side: diff.New, Line: c.NewLine}
	if c.OldLine > 0 {
		place.Side, place.Line = diff.Old, c.OldLine
	}
	e := Earlier{Finding: Finding{ID: idOf(c), Where: Inline, URL: c.URL, Place: place}, Review: c.Review, Comment: c.ID, Status: Open}
	if believed && mark.Version > 0 {
		e.read(mark)
	}
	if believed && mark.Closed && slices.Contains(m.Closed, e.ID) {
		e.Status = Fixed // and not just an old text that somebody put back
	}
	if mark.Closed {
		rest = unfolded(rest)
	}
	e.words(rest)
	e.OldPath = e.Place.Path
	return e, true
}

// read takes over what the marker says.
func (e *Earlier) read(mark sentinel.Marker) {
	e.ID, e.Head, e.Key, e.Blob = mark.ID, mark.Head, mark.Key, mark.Blob
	e.Category, e.Severity = mark.Category, prompts.Severity(mark.Severity)
	if !slices.Contains(prompts.Severities, e.Severity) {
		e.Severity = ""
	}
	e.posted = e.Severity
	e.Place.Side = diff.New
	if mark.Old {
		e.Place.Side = diff.Old
	}
	if mark.Line > 0 {
		e.Place.Line = mark.Line
	}
}

// idOf makes an id for a comment that has none of its own: always the same.
func idOf(c Comment) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "comment %d", c.ID))
	return hex.EncodeToString(sum[:4])
}
