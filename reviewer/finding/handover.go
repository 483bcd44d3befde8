package finding

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"review-bot/reviewer/untrusted"
)

// Handover is what a role says when it has had its rounds.
type Handover struct {
	Role      string
	Rounds    int
	Review    string   // address of the role's review
	Operators []string // accounts to be called; none: nobody is pinged
	Earlier   []Earlier
}

// Text is the comment, without its marker.
func (h Handover) Text() string {
	who := "A maintainer decides"
	if len(h.Operators) > 0 {
		var names []string
		for _, name := range h.Operators {
			names = append(names, "@"+strings.TrimPrefix(name, "@"))
		}
		who = strings.Join(names, ", ") + " decide"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**%s hands over** · it has requested changes %s, and stops here. %s now.\n\n",
		h.Role, Count(h.Rounds, "time", "times"), who)
	var open []Finding
	for _, e := range h.Earlier {
		if e.Status == Open {
			open = append(open, e.Finding)
		}
	}
	sorted(open)
	if len(open) > 0 {
		fmt.Fprintf(&b, "Still open, as of %s:\n\n", linked("its review", h.Review))
		room := maxTable
		for i, f := range open {
			title := linked(f.title(), f.URL)
			row := strings.TrimSuffix(fmt.Sprintf("- %s · %s · %s", f.standing(), title, untrusted.CodeSpan(location(f))), " · ") + "\n"
			if room -= utf8.RuneCountInString(row); i == maxRows || room < 0 {
				fmt.Fprintf(&b, "- and %d more\n", len(open)-i)
				break
			}
			b.WriteString(row)
		}
		b.WriteString("\n")
	}
	b.WriteString("Ways on:\n\n" +
		"- fix it by hand and push; the verdict stays until one of the following\n" +
		fmt.Sprintf("- dismiss %s to merge as is\n", linked("the review", h.Review)) +
		"- approve as a maintainer, and the next push is reviewed again, with a new count\n" +
		"- close and reopen the pull request to have it reviewed again right away")
	return b.String()
}
