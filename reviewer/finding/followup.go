package finding

import (
	"fmt"
	"strings"
)

// FollowUp is what a report says of a follow-up; the zero value is a full review.
type FollowUp struct {
	N, Most   int // which one it is, from 1; 0: no limit
	Minor     int // new findings that don't block, and aren't shown
	Unchanged int // findings that would block, on lines that did not change: shown, and not counted
}

// text says in one line what a follow-up withholds, and what the author can do.
func (f FollowUp) text(role string) string {
	if f.N == 0 {
		return ""
	}
	var parts []string
	if f.Minor > 0 {
		parts = append(parts, Count(f.Minor, "minor finding", "minor findings")+" withheld: the role has had its rounds.")
	}
	if f.Unchanged > 0 {
		parts = append(parts, fmt.Sprintf("%s in code that did not change since the last look: "+
			"%s doesn't block for that any more, and doesn't approve either.",
			Count(f.Unchanged, "finding is", "findings are"), role))
	}
	return strings.Join(parts, " ")
}

// String names a follow-up.
func (f FollowUp) String() string {
	if f.Most == 0 {
		return fmt.Sprintf("follow-up %d", f.N)
	}
	return fmt.Sprintf("follow-up %d of %d", f.N, f.Most)
}
