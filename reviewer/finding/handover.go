package finding

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"review-bot/reviewer/untrusted"
)

// Handover is what a role says to people when it has had its rounds.
type Handover struct {
	Role         string
	Rounds       int
	FollowUps    int      // so far
	MaxFollowUps int      // 0: no limit
	Operators    []string // accounts to be called; none: nobody is pinged
	Open         []Finding
	Pull         string // address of the pull request's page; "" leaves findings that have no conversation yet unlinked
}

// Text is the comment, without its marker. review is the address of the review that
// blocks the pull request.
func (h Handover) Text(review string) string {
	who := "A maintainer decides"
	if len(h.Operators) > 0 {
		var names []string
		for _, name := range h.Operators {
			names = append(names, "@"+strings.TrimPrefix(name, "@"))
		}
		who = strings.Join(names, ", ") + " decide"
	}
	left := h.MaxFollowUps - h.FollowUps
	looks := "From now on it raises only what blocks, in code that changes."
	if h.MaxFollowUps > 0 && left <= 0 {
		looks = "It looks at no further push."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**%s hands over** · it has requested changes %s. %s %s now.\n\n",
		h.Role, Count(h.Rounds, "time", "times"), looks, who)
	b.WriteString(h.open())
	b.WriteString("Ways on:\n\n")
	switch {
	case h.MaxFollowUps == 0:
		b.WriteString("- fix it by hand and push: the block goes away with what is listed\n")
	case left > 0:
		fmt.Fprintf(&b, "- fix it by hand and push: the block goes away with what is listed (%s looked at)\n",
			Count(left, "more push is", "more pushes are"))
	}
	fmt.Fprintf(&b, "- dismiss %s to merge as is: what is open now is waived\n", linked("the review", review))
	b.WriteString("- approve as a maintainer, and the next push is reviewed in full, with a new count\n" +
		"- as a maintainer, request its review again, or close and reopen the pull request: " +
		"it is reviewed in full right away")
	return b.String()
}

// open lists the findings.
func (h Handover) open() string {
	open := append([]Finding(nil), h.Open...)
	sorted(open)
	if len(open) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Still open:\n\n")
	room := maxTable
	for i, f := range open {
		title := linked(f.title(), cmp.Or(f.URL, Report{Pull: h.Pull}.conversation(f)))
		row := fmt.Sprintf("- %s · %s · %s", f.standing(), title, untrusted.CodeSpan(location(f)))
		row = strings.TrimSuffix(row, " · ") + "\n"
		if room -= utf8.RuneCountInString(row); i == maxRows || room < 0 {
			fmt.Fprintf(&b, "- and %d more\n", len(open)-i)
			break
		}
		b.WriteString(row)
	}
	return b.String() + "\n"
}
