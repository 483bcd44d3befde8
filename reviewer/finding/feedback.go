package finding

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"review-bot/reviewer/diff"
	"review-bot/reviewer/untrusted"
)

// Bounds of what the model is shown of earlier findings, in characters.
const (
	maxReplies = 20 // of one conversation, the newest
	maxReply   = 2_000
	maxChanges = 8_000 // of one file
	maxShort   = 500   // of a finding's text, where it has no title
)

// Feedback shows the model what stands open of earlier rounds: each finding with
// people's replies and what became of its file since. Whatever others wrote is
// fenced. mask takes secrets out of it.
//
// It has room characters at most. shown tells which findings are in it: one without
// room is kept without being asked for.
func Feedback(earlier []Earlier, room int, mask func(string) string) (text string, shown func(id string) bool) {
	var parts []string
	ids := map[string]bool{}
	var fit []section
	changes := map[string]string{} // file and commit to the finding that shows them
	for _, e := range earlier {
		if e.Status != Open || room <= 0 {
			continue
		}
		s, shows := e.section(changes, mask)
		if s.size() > room {
			continue // a shorter one may fit
		}
		room -= s.size()
		if shows != "" {
			changes[shows] = e.ID
		}
		ids[s.id] = true
		fit = append(fit, s)
		for _, p := range s.parts {
			parts = append(parts, p.text)
		}
	}
	shown = func(id string) bool { return ids[id] }
	if len(fit) == 0 {
		return "", shown
	}
	boundary := untrusted.Boundary(parts...)
	var b strings.Builder
	fmt.Fprintf(&b, "The code of the boundary lines in this list is %s.\n", boundary)
	for _, s := range fit {
		fmt.Fprintf(&b, "\n## %s\n", s.head)
		for _, p := range s.parts {
			if p.label == "" {
				b.WriteString("\n" + p.text + "\n")
			} else {
				b.WriteString("\n" + untrusted.Fence(p.label, boundary, p.text))
			}
		}
	}
	return strings.TrimSpace(b.String()), shown
}

// section is one finding of the feedback.
type section struct {
	id, head string
	parts    []part
}

// part is a text of others, fenced under its label, or one of ours without one.
type part struct{ label, text string }

// size is how many characters it takes at most.
func (s section) size() int {
	n := len(s.head) + 100
	for _, p := range s.parts {
		n += utf8.RuneCountInString(p.text) + len(p.label) + 100
	}
	return n
}

// section shows one finding. shows names the changes of a file that it shows and
// that weren't shown before, if any.
func (e Earlier) section(changes map[string]string, mask func(string) string) (s section, shows string) {
	severity := string(e.Severity)
	if severity == "" {
		severity = "severity unknown"
	}
	head := []string{e.ID, severity}
	if e.Category != "" {
		head = append(head, e.Category)
	}
	s = section{id: e.ID}
	if e.Head != "" {
		head = append(head, fmt.Sprintf("found at %.7s", e.Head))
	}
	s.head = strings.Join(head, " · ")
	title := short(e.Title, maxShort)
	if e.Head == "" || strings.TrimSpace(title) == "" {
		title = short(mask(e.Title+"\n"+e.Body), maxShort)
	}
	place := diff.Fold(location(e.Finding)) // on one line
	if e.Place.Side == diff.Old && e.Place.Line > 0 {
		place += " (old file)"
	}
	if now := e.Since.Path; now != "" && now != e.Place.Path && !e.Since.Gone {
		place += "\nnow " + diff.Fold(now)
	}
	s.parts = append(s.parts, part{"finding", mask(strings.TrimSpace(place + "\n" + title))})
	replies := e.Replies
	if left := len(replies) - maxReplies; left > 0 {
		s.parts = append(s.parts, part{text: fmt.Sprintf("(%s left out)", Count(left, "older reply", "older replies"))})
		replies = replies[left:]
	}
	for _, r := range replies {
		s.parts = append(s.parts, part{"reply by " + r.Author.Login, short(mask(r.Body), maxReply)})
	}
	if e.Resolver.ID != 0 {
		s.parts = append(s.parts, part{text: "The author of the pull request has closed the conversation."})
	}
	return e.changed(s, changes, mask)
}

// changed tells what became of the finding's file since.
func (e Earlier) changed(s section, shown map[string]string, mask func(string) string) (section, string) {
	say := func(format string, args ...any) {
		s.parts = append(s.parts, part{text: fmt.Sprintf(format, args...)})
	}
	switch {
	case e.Place.Path == "":
		return s, ""
	case !e.Since.Known:
		say("What became of the file since isn't known.")
		return s, ""
	case e.Since.Gone:
		say("The file is gone since.")
		return s, ""
	case e.Since.same():
		say("The file since: (no changes)")
		return s, ""
	case e.Since.Diff.Binary:
		say("The file has changed since; it is binary.")
		return s, ""
	}
	if now, ok := e.Since.Diff.Forward(e.Place.Line); e.Place.Side == diff.New && e.Place.Line > 0 && !e.Since.Added {
		if ok {
			say("Its line is now line %d.", now)
		} else {
			say("Its line was changed or deleted since.")
		}
	}
	key := e.Place.Path + "\x00" + e.Head
	if first, ok := shown[key]; ok {
		say("The file since: the same changes as shown under %s.", first)
		return s, ""
	}
	text, left := hunks(e.Since.Diff, mask)
	s.parts = append(s.parts, part{"changes of the file since", text})
	if left > 0 {
		say("(%s of it not shown)", Count(left, "more part", "more parts"))
	}
	return s, key
}

// hunks shows a file's changes as far as there is room for whole hunks, at least
// one.
func hunks(f diff.File, mask func(string) string) (text string, left int) {
	all, n, room := f.Hunks, 0, maxChanges
	for _, h := range all {
		if room -= utf8.RuneCountInString(h.Render()); n > 0 && room < 0 {
			break
		}
		n++
	}
	f.Hunks = all[:n]
	return short(mask(f.Render()), 4*maxChanges), len(all) - n
}

// short cuts a text of others, secrets masked before: half of one isn't known as
// one any more.
func short(masked string, most int) string {
	return cut(masked, most, "(cut here: there is more of it)")
}
