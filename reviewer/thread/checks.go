package thread

import (
	"fmt"
	"slices"
	"strings"
)

// Checks is what the statuses of the head come to.
type Checks string

// What they can come to. Only Passed lets anything be closed.
const (
	Passed        Checks = "passed"
	Pending       Checks = "pending"
	Failing       Checks = "failing"
	Skipped       Checks = "skipped"
	NoChecks      Checks = "none"
	ChecksMissing Checks = "missing"    // a context that counts has no status
	ChecksUnnamed Checks = "unnamed"    // nothing says which contexts count
	ChecksUnread  Checks = "unreadable" // the server answered for another commit
)

// Context is a status of the head: what it is about, and its state as forges call it.
type Context struct{ Name, State string }

// SumUp is what statuses come to. The worst counts; a state that isn't known is a
// failure.
//
// Anybody who may write can give a commit a status, so one success says nothing
// unless it is known which there must be: those that the settings name, of which
// the others don't matter, or those that the branch protection asks for, besides
// which all others must be successful, too. Each is a name, in which * means
// anything.
//
// notPassed are the statuses that count and aren't successful, and the contexts
// that have none.
func SumUp(statuses []Context, named, protected []string) (is Checks, notPassed []string) {
	required, order := named, []Checks{Passed, Skipped, Pending, Failing}
	if len(named) == 0 {
		required = protected
	} else {
		statuses = slices.DeleteFunc(slices.Clone(statuses), func(s Context) bool {
			return !slices.ContainsFunc(named, func(pattern string) bool { return matches(pattern, s.Name) })
		})
	}
	is, notPassed = Passed, []string{}
	for _, s := range statuses {
		var c Checks
		switch s.State {
		case "success":
			continue
		case "pending":
			c = Pending
		case "skipped":
			c = Skipped
		default: // failure, error, warning
			c = Failing
		}
		is = order[max(slices.Index(order, is), slices.Index(order, c))]
		notPassed = append(notPassed, fmt.Sprintf("%s (%s)", s.Name, s.State))
	}
	missing := false
	for _, pattern := range required {
		if !slices.ContainsFunc(statuses, func(s Context) bool { return matches(pattern, s.Name) }) {
			missing, notPassed = true, append(notPassed, pattern+" (missing)")
		}
	}
	switch {
	case is == Failing: // which is more to the point than what is missing
	case missing:
		is = ChecksMissing
	case len(statuses) == 0:
		is = NoChecks
	case is == Passed && len(required) == 0:
		is = ChecksUnnamed
	}
	return is, notPassed
}

// matches reports whether a context is one that a pattern names. Signs that mean more
// to some servers mean themselves here: then nothing fits, and nothing is closed.
func matches(pattern, name string) bool {
	first, rest, some := strings.Cut(pattern, "*")
	if !some {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for {
		part, more, some := strings.Cut(rest, "*")
		if !some {
			return strings.HasSuffix(name, rest)
		}
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name, rest = name[at+len(part):], more
	}
}
