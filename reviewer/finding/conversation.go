package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"review-bot/sentinel"
)

// User is an account on the forge.
type User struct {
	ID    int64
	Login string
}

// Comment is an inline comment as it stands on the forge.
type Comment struct {
	ID       int64 // later ones have larger ids
	Review   int64
	Author   User
	Body     string // written by others, or edited by them
	Path     string
	NewLine  int    // 0 for a comment on the old side; servers may move it
	OldLine  int    // 0 for a comment on the new side; servers may move it
	Commit   string // that NewLine is a line of, where the server says so
	Resolver User
	URL      string
	Edited   bool // changed since it was posted, by whomever
}

// Conversation is what was said on one line in one review, oldest first. It has
// at least one comment. Where a server moves lines, two of one number are told apart
// by their commits.
type Conversation struct{ Comments []Comment }

// Conversations groups inline comments into conversations, oldest first. A server files
// a reply under the oldest comment of its line number. One that names the conversation
// that it belongs to, as `settle` writes them, is taken at its word.
func Conversations(comments []Comment) []Conversation {
	at := map[place]int{}
	var list []Conversation
	for _, c := range slices.SortedFunc(slices.Values(comments), func(a, b Comment) int { return cmp.Compare(a.ID, b.ID) }) {
		p := c.place()
		i, ok := at[p]
		if r, _, marked := sentinel.FindReply(c.Body); marked {
			if named := slices.IndexFunc(list, func(talk Conversation) bool { return talk.named(r.Thread, c) }); named >= 0 {
				i, ok = named, true
			}
		}
		if !ok {
			i = len(list)
			at[p] = i
			list = append(list, Conversation{})
		}
		list[i].Comments = append(list[i].Comments, c)
	}
	return list
}

// place is where a comment is.
type place struct {
	review   int64
	path     string
	old, new int
	commit   string
}

// place is where the comment is. On the old side a reply may have another commit than
// what it replies to.
func (c Comment) place() place {
	p := place{review: c.Review, path: c.Path, old: c.OldLine, new: c.NewLine}
	if c.NewLine > 0 {
		p.commit = c.Commit
	}
	return p
}

// named reports whether a comment on the same line names the conversation as the one
// that it replies in.
func (c Conversation) named(thread string, reply Comment) bool {
	root := c.Comments[0]
	here, there := root.place(), reply.place()
	here.commit, there.commit = "", ""
	return here == there && thread == fmt.Sprintf("%d:%d", root.Review, root.ID)
}

// Resolver is who closed the conversation; the zero User if it is open. Servers go
// by its oldest comment.
func (c Conversation) Resolver() User { return c.Comments[0].Resolver }

// claimed reports whether the one who closed the conversation did so by a tool,
// which says in a marked reply what was done about a finding.
func (c Conversation) claimed(finding int64) bool {
	by := c.Resolver().ID
	return by != 0 && slices.ContainsFunc(c.Comments, func(comment Comment) bool {
		_, _, marked := sentinel.FindReply(comment.Body)
		return marked && comment.Author.ID == by && comment.ID > finding
	})
}

// Reply is what a person said to a finding.
type Reply struct {
	ID     int64
	Author User
	Body   string // written by others
}

// replies are what others than the account said.
func (c Conversation) replies(account int64) []Reply {
	var list []Reply
	for _, comment := range c.Comments {
		if comment.Author.ID != account {
			list = append(list, Reply{comment.ID, comment.Author, comment.Body})
		}
	}
	return list
}

// Claim is whose finding a comment says that it is: by its marker, which anybody
// may have written. id is "" in a marker of the time before versions.
func (c Comment) Claim() (role, id string, ok bool) {
	m, _, ok := marker(c.Body)
	return m.Role, m.ID, ok
}

// marker finds the marker of a text: its last line, behind everything that a model
// or a person wrote. rest is the text before it, with Unix line ends.
func marker(text string) (m sentinel.Marker, rest string, ok bool) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	body := strings.TrimRight(text, " \t\r\n")
	last := strings.LastIndexByte(body, '\n') + 1
	m, err := sentinel.ParseMarker(body[last:])
	if err != nil {
		return sentinel.Marker{}, text, false
	}
	return m, strings.TrimRight(body[:last], " \t\r\n"), true
}
