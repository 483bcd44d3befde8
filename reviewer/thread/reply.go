package thread

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"

	"review-bot/reviewer/finding"
	"review-bot/reviewer/untrusted"
	"review-bot/sentinel"
)

// Said is what the account has replied to a conversation before.
type Said struct {
	Comment int64 // the newest reply's id; 0 if there is none
	Body    string
	Covers  int64 // the newest comment that it answers
	Closed  bool  // the conversation was closed behind it
	replies map[int64]bool
}

// SaidIn finds the account's replies to a conversation: in it, and among elsewhere,
// the account's own comments under the pull request.
func SaidIn(t Thread, elsewhere []Comment) Said {
	said := Said{replies: map[int64]bool{}}
	for _, list := range [][]Comment{t.Comments, elsewhere} {
		for _, c := range list {
			r, _, ok := sentinel.FindReply(c.Body)
			if !ok || !c.Ours || r.Thread != t.ID.String() {
				continue
			}
			said.replies[c.ID] = true
			if c.ID > said.Comment {
				said.Comment, said.Body, said.Covers, said.Closed = c.ID, c.Body, r.Covers, r.Closed
			}
		}
	}
	return said
}

// Stands tells whether the last reply says the text, and still answers all that was
// said. It doesn't if somebody has reopened the conversation since it was closed.
func (s Said) Stands(t Thread, text string) bool { return s.says(text) && !s.overtaken(t) }

// Disputed tells whether somebody has spoken, or reopened the conversation, since
// the account replied with the very same text. Whoever wrote that text knew
// nothing of it.
func (s Said) Disputed(t Thread, text string) bool { return s.says(text) && s.overtaken(t) }

func (s Said) says(text string) bool {
	_, said, ok := sentinel.FindReply(s.Body)
	return ok && words(said) == words(text) || ok && strings.HasSuffix(words(said), "\n\n"+words(text)) // behind a quote
}

// words is a text as servers may give it back.
func words(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
}

func (s Said) overtaken(t Thread) bool {
	return s.Closed && !t.Resolved || slices.ContainsFunc(t.Comments, func(c Comment) bool { return c.ID > s.Covers && !s.replies[c.ID] })
}

// Noted is the last reply's text with the note that the conversation was closed
// behind it; false if there is none, or it has the note.
func (s Said) Noted() (text string, ok bool) {
	r, rest, found := sentinel.FindReply(s.Body)
	if !found || r.Closed {
		return "", false
	}
	r.Closed = true
	return signed(rest, r), true
}

func signed(text string, r sentinel.Reply) string { return text + "\n\n" + r.String() }

const (
	// maxReply bounds what a template makes, in characters.
	maxReply = 10_000
	// maxQuote bounds what is quoted of a conversation.
	maxQuote = 300
)

// Template is the text of a reply, with places for what a payload says.
type Template struct{ parsed *template.Template }

// replyData are the places. Texts are safe to publish.
type replyData struct {
	Classification Classification
	FixSummary     string   // Markdown
	ReplyBody      string   // Markdown
	HumanDecision  string   // Markdown
	CommitSHA      string   // as given; "" without one
	Verification   []string // lines of Markdown
	ChecksRun      []string // likewise
}

// ParseTemplate reads a template, in the language of Go's text/template. One that
// names a place that there isn't, or leaves one as it stands, is refused here and
// not when a reply is due.
func ParseTemplate(name, text string) (*Template, error) {
	parsed, err := template.New(name).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err // it names the template and the line
	}
	t := &Template{parsed}
	if place := unfilled(parsed); place != "" {
		return nil, fmt.Errorf("template %s: nothing fills %s — the places are {{.Classification}}, {{.FixSummary}}, {{.ReplyBody}}, {{.HumanDecision}}, {{.CommitSHA}}, {{.Verification}}, {{.ChecksRun}}", name, place)
	}
	for _, c := range Classifications {
		full := replyData{c, "a", "b", "c", "0123456", []string{"d", "d"}, []string{"e", "e"}}
		text, err := t.execute(full)
		if err == nil {
			_, err = t.execute(replyData{Classification: c})
		}
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) == "" {
			return nil, fmt.Errorf("template %s: it says nothing about what is %s", name, c)
		}
	}
	return t, nil
}

// unfilled is the first place in a template's own text that other languages would
// fill, or "".
func unfilled(t *template.Template) string {
	for _, part := range t.Templates() {
		if part.Tree == nil {
			continue
		}
		if place := unfilledIn(part.Root); place != "" {
			return place
		}
	}
	return ""
}

func unfilledIn(node parse.Node) string {
	switch n := node.(type) {
	case *parse.TextNode:
		return placeholder.FindString(string(n.Text))
	case *parse.ListNode:
		if n == nil {
			return ""
		}
		for _, inner := range n.Nodes {
			if place := unfilledIn(inner); place != "" {
				return place
			}
		}
	case *parse.IfNode:
		return cmp.Or(unfilledIn(n.List), unfilledIn(n.ElseList))
	case *parse.WithNode:
		return cmp.Or(unfilledIn(n.List), unfilledIn(n.ElseList))
	case *parse.RangeNode:
		return cmp.Or(unfilledIn(n.List), unfilledIn(n.ElseList))
	}
	return ""
}

// placeholder is what other template languages, and slips, leave in a text.
var placeholder = regexp.MustCompile(`\$\{[^}\n]{0,40}\}|\}\}`)

func (t *Template) execute(data replyData) (string, error) {
	var b strings.Builder
	if err := t.parsed.Execute(&b, data); err != nil {
		return "", err
	}
	return b.String(), nil
}

// blankLines is what places leave that weren't filled.
var blankLines = regexp.MustCompile(`\n{3,}`)

// Text is the text of a reply; "" if the template makes nothing of the item. What
// the payload says is made safe, as it may repeat what strangers wrote, and secrets
// are masked by redact.
func (t *Template) Text(item Item, redact func(string) string) (string, error) {
	data := replyData{
		Classification: item.Classification, CommitSHA: item.CommitSHA, FixSummary: untrusted.Markdown(redact(item.FixSummary)),
		ReplyBody: untrusted.Markdown(redact(item.ReplyBody)), HumanDecision: untrusted.Markdown(redact(item.HumanDecision)),
	}
	for _, v := range item.Verification {
		data.Verification = append(data.Verification, untrusted.Line(redact(v), 0))
	}
	for _, v := range item.ChecksRun {
		data.ChecksRun = append(data.ChecksRun, untrusted.Line(redact(v), 0))
	}
	text, err := t.execute(data)
	if err != nil {
		return "", err
	}
	text = strings.TrimSpace(blankLines.ReplaceAllString(text, "\n\n"))
	if utf8.RuneCountInString(text) > maxReply {
		// Cut text may have lost the end of a fence; made safe once more it hasn't.
		text = untrusted.Markdown(string([]rune(text)[:maxReply])) + "\n\n(cut here)"
	}
	return redact(text), nil // once more: making it safe takes away what a secret was hidden by
}

// Signed is a reply with its marker: that it answers all that was said so far.
func Signed(text string, to Thread) string {
	return signed(text, sentinel.Reply{Thread: to.ID.String(), Covers: to.Newest()})
}

// Quoting is a reply as a comment under the pull request, after what it answers: of
// a finding the title.
func Quoting(reply string, to Thread, redact func(string) string) string {
	root := to.Comments[0]
	place := to.Path
	if to.Line > 0 {
		place = fmt.Sprintf("%s:%d", to.Path, to.Line)
	}
	said := untrusted.Line(redact(cmp.Or(finding.Prose(root.Body))), maxQuote)
	who := untrusted.Line(root.Author, 0)
	if who == "" {
		who = "somebody"
	}
	quote := fmt.Sprintf("> %s in %s ([there](%s)):", who, untrusted.CodeSpan(place), to.URL)
	if said != "" {
		quote += "\n> " + said
	}
	return redact(quote) + "\n\n" + reply
}
