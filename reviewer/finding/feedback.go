package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"review-bot/reviewer/diff"
	"review-bot/reviewer/untrusted"
)

// Bounds of what the model is shown of earlier findings. Characters are bounded
// first, so that no more is counted than could be shown.
const (
	maxReplies      = 20 // of one conversation, the newest
	maxReply        = 2_000
	maxReplyTokens  = 600
	maxChanges      = 8_000 // of one file
	maxChangeTokens = 4_000
	maxShort        = 500 // of a finding's text, where it has no title
	maxShortTokens  = 200

	fenceTokens = 100 // that the lines around a text take, with their code
	noteTokens  = 30  // that a line takes which says what is left out
	minChanges  = 200 // tokens that changes of a file need, to be worth showing
)

// Space is how much a model may be shown of earlier findings, in tokens.
type Space struct {
	Tokens  int // all in all
	Replies int // of these, for what people replied
	Count   func(text string) int
}

// Feedback shows the model what stands open of earlier rounds: each finding with
// people's replies and what became of its file since. Whatever others wrote is
// fenced. mask takes secrets out of it.
//
// The findings have room first, then the replies, the pull request author's before
// those of others and later ones before earlier ones, then the changes of files. A
// finding without room isn't shown, and so kept without being asked about.
func Feedback(earlier []Earlier, author int64, space Space, mask func(string) string) Shown {
	shown := Shown{ids: map[string]bool{}}
	left := space.Tokens - fenceTokens // of the first line
	take := func(tokens int) bool {
		if tokens > left {
			return false
		}
		left -= tokens
		return true
	}
	var list []*section
	for _, e := range earlier {
		if e.Status != Open {
			continue
		}
		if s := e.section(space.Count, mask); take(s.tokens(space.Count)) { // a shorter one may fit
			list = append(list, s)
			shown.ids[e.ID] = true
		}
	}
	shown.Left = showReplies(list, author, space, take, mask)
	showChanges(list, space.Count, func() int { return left }, take, mask)
	shown.Text, shown.Tokens = rendered(list), space.Tokens-left
	return shown
}

// Shown is what a model is shown of earlier findings.
type Shown struct {
	Text   string
	Tokens int // that it takes at most
	Left   int // replies without room
	ids    map[string]bool
}

// Has reports whether a finding is in it.
func (s Shown) Has(id string) bool { return s.ids[id] }

// rendered is the text of the sections.
func rendered(list []*section) string {
	if len(list) == 0 {
		return ""
	}
	var texts []string
	for _, s := range list {
		for _, p := range s.parts() {
			texts = append(texts, p.text)
		}
	}
	boundary := untrusted.Boundary(texts...)
	var b strings.Builder
	fmt.Fprintf(&b, "The code of the boundary lines in this list is %s.\n", boundary)
	for _, s := range list {
		fmt.Fprintf(&b, "\n## %s\n", s.head)
		for _, p := range s.parts() {
			if p.label == "" {
				b.WriteString("\n" + p.text + "\n")
			} else {
				b.WriteString("\n" + untrusted.Fence(p.label, boundary, p.text))
			}
		}
	}
	return strings.TrimSpace(b.String())
}

// showReplies adds replies to the sections, as far as there is room, and returns
// how many are left out.
func showReplies(list []*section, author int64, space Space, take func(int) bool, mask func(string) string) (left int) {
	type reply struct {
		Reply
		s *section
	}
	var all []reply
	for _, s := range list {
		for _, r := range s.of.Replies {
			all = append(all, reply{r, s})
		}
	}
	slices.SortStableFunc(all, func(a, b reply) int {
		if mine := a.Author.ID == author; mine != (b.Author.ID == author) {
			return map[bool]int{true: -1, false: 1}[mine]
		}
		return cmp.Compare(b.ID, a.ID)
	})
	room := space.Replies
	for _, r := range all {
		if len(r.s.replies) == maxReplies || room <= 0 {
			r.s.older++
			left++
			continue
		}
		text := Within(short(mask(r.Body), maxReply), maxReplyTokens, space.Count)
		p := part{"reply by " + short(r.Author.Login, maxTitle), text}
		tokens := p.tokens(space.Count)
		if tokens > room || !take(tokens) {
			room = 0 // those that are older are left out, too
			r.s.older++
			left++
			continue
		}
		room -= tokens
		r.s.replies = append(r.s.replies, answer{r.ID, p})
	}
	for _, s := range list {
		slices.SortFunc(s.replies, func(a, b answer) int { return cmp.Compare(a.id, b.id) })
	}
	return left
}

// showChanges adds to the sections what became of their files, each file once.
func showChanges(
	list []*section, count func(string) int, left func() int, take func(int) bool, mask func(string) string,
) {
	first := map[Version]string{}
	for _, s := range list {
		if !s.changes {
			continue
		}
		if id, ok := first[s.of.version()]; ok {
			s.say("The file since: the same changes as shown under %s.", id)
			continue
		}
		room := min(left()-fenceTokens, maxChangeTokens)
		if room < minChanges {
			s.say("(the changes of its file since have no room here)")
			continue
		}
		text, more := hunks(s.of.Since.Diff, mask)
		p := part{"changes of the file since", Within(text, room-noteTokens, count)}
		take(p.tokens(count))
		s.notes = append(s.notes, p)
		first[s.of.version()] = s.of.ID
		if more > 0 {
			s.say("(%s of it not shown)", Count(more, "more part", "more parts"))
		}
	}
}

// section is one finding of the feedback.
type section struct {
	of      Earlier
	head    string
	finding part
	replies []answer
	older   int    // replies that are left out
	notes   []part // on what became of it
	changes bool   // the file's changes are to be shown
}

// answer is a reply as it is shown.
type answer struct {
	id int64
	part
}

// part is a text of others, fenced under its label, or one of ours without one.
type part struct{ label, text string }

// tokens is how many a part takes at most.
func (p part) tokens(count func(string) int) int {
	n := count(p.text) + 2
	if p.label != "" {
		n += count(p.label) + fenceTokens
	}
	return n
}

// tokens is how many a section takes at most before replies and changes are added,
// of which is said what is left out.
func (s *section) tokens(count func(string) int) int {
	n := count(s.head) + 8
	for _, p := range s.parts() {
		n += p.tokens(count)
	}
	return n + 3*noteTokens
}

func (s *section) say(format string, args ...any) {
	s.notes = append(s.notes, part{text: fmt.Sprintf(format, args...)})
}

// parts are the texts of a section, in order.
func (s *section) parts() []part {
	list := []part{s.finding}
	if s.older > 0 {
		list = append(list, part{text: fmt.Sprintf("(%s left out)", Count(s.older, "older reply", "older replies"))})
	}
	for _, r := range s.replies {
		list = append(list, r.part)
	}
	return append(list, s.notes...)
}

// section shows one finding, without replies and changes.
func (e Earlier) section(count func(string) int, mask func(string) string) *section {
	severity := string(e.Severity)
	if severity == "" {
		severity = "severity unknown"
	}
	head := []string{e.ID, severity}
	if e.Category != "" {
		head = append(head, e.Category)
	}
	if e.Head != "" {
		head = append(head, fmt.Sprintf("found at %.7s", e.Head))
	}
	s := &section{of: e, head: strings.Join(head, " · ")}
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
	s.finding = part{"finding", mask(strings.TrimSpace(place + "\n" + Within(title, maxShortTokens, count)))}
	switch {
	case e.Resolver.ID == 0:
	case e.Claimed:
		s.say("Somebody has closed the conversation by a tool, which claims that something was done. See for yourself.")
	case e.byAuthor:
		s.say("The author of the pull request has closed the conversation.")
	default:
		s.say("Somebody has closed the conversation who may not waive the finding.")
	}
	e.changed(s)
	return s
}

// changed tells what became of the finding's file since.
func (e Earlier) changed(s *section) {
	switch {
	case e.Place.Path == "":
		return
	case !e.Since.Known:
		s.say("What became of the file since isn't known.")
		return
	case e.Since.Gone:
		s.say("The file is gone since.")
		return
	case e.Since.same():
		s.say("The file since: (no changes)")
		return
	case e.Since.Diff.Binary:
		s.say("The file has changed since; it is binary.")
		return
	}
	s.changes = true
	if now, ok := e.Since.Diff.Forward(e.Place.Line); e.Place.Side == diff.New && e.Place.Line > 0 && !e.Since.Added {
		if ok {
			s.say("Its line is now line %d.", now)
		} else {
			s.say("Its line was changed or deleted since.")
		}
	}
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

// Within cuts a text of others to a number of tokens, but for a line that says so.
func Within(text string, most int, count func(string) int) string {
	const note = "(cut here: there is more of it)"
	runes := []rune(text)
	n := len(runes)
	for have := count(text); have > most && n > 0; have = count(string(runes[:n])) {
		n = min(n-1, n*most/have)
	}
	if n == len(runes) {
		return text
	}
	kept := strings.TrimSuffix(strings.TrimSpace(string(runes[:n])), note)
	return strings.TrimSpace(kept) + "\n\n" + note
}
