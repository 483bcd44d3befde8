package forgetest

import (
	"strconv"
	"strings"
)

// Dialect is how a kind of server behaves where kinds of servers differ. The zero
// Dialect is Gitea 1.26's, except for its name.
type Dialect struct {
	Name string // of the servers, for people

	Unresolving  bool // conversations can't be resolved through the API
	Attaches     bool // comments can be added to a submitted review; their lines count in that review's commit
	Blames       bool // an inline comment is kept at the line of the commit that last had or changed the line
	ChecksOld    bool // a comment on the old side fails where the merge base has no such file or line
	TakesPastEnd bool // a comment past the end of the new side is taken
	KeepsEntries bool // only ordinary comments are deleted; deleting another entry changes nothing and is no error
	TakesClosed  bool // a closed pull request takes verdicts, which aren't official
	ForgetsAsked bool // a verdict takes the request for its author's review away however the verdict was begun
	TouchesSame  bool // an edit that changes no letter is an edit to the timeline's since
	StrictRefs   bool // a file at a name that is no branch is missing; otherwise it is the default branch's
	ListsWhole   bool // a list that is asked for without a page is given whole
}

// The dialects.
var (
	Gitea122  = Dialect{Name: "Gitea 1.22 to 1.25", Unresolving: true}
	Gitea126  = Dialect{Name: "Gitea 1.26"}
	Forgejo15 = Dialect{
		Name: "Forgejo 15", Unresolving: true, Attaches: true, Blames: true, TakesPastEnd: true, KeepsEntries: true,
		TakesClosed: true, ForgetsAsked: true, TouchesSame: true, StrictRefs: true, ListsWhole: true,
	}
	Forgejo17 = func() Dialect {
		d := Forgejo15
		d.Name, d.ChecksOld = "Forgejo 16 and 17", true
		return d
	}()
)

// Dialects are all of them.
func Dialects() []Dialect { return []Dialect{Gitea122, Gitea126, Forgejo15, Forgejo17} }

// DialectOf is the dialect of a server that names this version, as in "1.26.0" or
// "15.0.3+gitea-1.22.0". One that names none is taken for the Gitea of the tests.
func DialectOf(version string) Dialect {
	number, _, forgejo := strings.Cut(version, "+gitea-")
	major, rest, _ := strings.Cut(number, ".")
	minor, _, _ := strings.Cut(rest, ".")
	first, err := strconv.Atoi(major)
	second, _ := strconv.Atoi(minor)
	switch {
	case err != nil:
		return Gitea126
	case forgejo && first >= 16:
		return Forgejo17
	case forgejo:
		return Forgejo15
	case first == 1 && second < 26:
		return Gitea122
	}
	return Gitea126
}
