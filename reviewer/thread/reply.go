package thread

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"unicode/utf8"

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

// Stands tells whether the last reply still answers all that was said. It doesn't
// if somebody has reopened the conversation since it was closed.
func (s Said) Stands(t Thread) bool {
	if s.Comment == 0 || s.Closed && !t.Resolved {
		return false
	}
	for _, c := range t.Comments {
		if c.ID > s.Covers && !s.replies[c.ID] {
			return false
		}
	}
	return true
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
	for _, c := range Classifications {
		full := replyData{c, "a", "b", "c", "0123456", []string{"d"}, []string{"e"}}
		for _, data := range []replyData{full, {Classification: c}} {
			text, err := t.execute(data)
			if err != nil {
				return nil, err
			}
			if p := placeholder.FindString(text); p != "" {
				return nil, fmt.Errorf("template %s: the place %s isn't filled — the places are .Classification, .FixSummary, .ReplyBody, .HumanDecision, .CommitSHA, .Verification, .ChecksRun", name, p)
			}
		}
		if text, _ := t.execute(full); strings.TrimSpace(text) == "" {
			return nil, fmt.Errorf("template %s: it says nothing about what is %s", name, c)
		}
	}
	return t, nil
}

// placeholder is what other template languages, and slips, leave in a text.
var placeholder = regexp.MustCompile(`<no value>|\{\{.{0,40}?\}\}|\$\{[^}]{0,40}\}|\{\{|\}\}`)

func (t *Template) execute(data replyData) (string, error) {
	var b strings.Builder
	if err := t.parsed.Execute(&b, data); err != nil {
		return "", err
	}
	return b.String(), nil
}

// errEmptyReply says that there would be nothing to read.
var errEmptyReply = errors.New("the template makes an empty reply of it")

// blankLines is what places leave that weren't filled.
var blankLines = regexp.MustCompile(`\n{3,}`)

// Reply is the text of a reply, its marker included. What the payload says is made
// safe and masked by redact: it may repeat what strangers wrote.
func (t *Template) Reply(item Item, to Thread, redact func(string) string) (string, error) {
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
	if text == "" {
		return "", errEmptyReply
	}
	if utf8.RuneCountInString(text) > maxReply {
		// Cut text may have lost the end of a fence; made safe once more it hasn't.
		text = untrusted.Markdown(string([]rune(text)[:maxReply])) + "\n\n(cut here)"
	}
	return signed(text, sentinel.Reply{Thread: to.ID.String(), Covers: to.Newest()}), nil
}

// Quoting is a reply as a comment under the pull request, behind what it answers.
func Quoting(reply string, to Thread, redact func(string) string) string {
	root := to.Comments[0]
	place := to.Path
	if to.Line > 0 {
		place = fmt.Sprintf("%s:%d", to.Path, to.Line)
	}
	said := untrusted.Line(redact(root.Body), maxQuote)
	who := untrusted.Line(root.Author, 0)
	if who == "" {
		who = "somebody"
	}
	quote := fmt.Sprintf("> %s in %s ([there](%s)):", who, untrusted.CodeSpan(place), to.URL)
	if said != "" {
		quote += "\n> " + said
	}
	return quote + "\n\n" + reply
}
