package main

import (
	"fmt"
	"net/http"
	"strings"

	"review-bot/reviewer/gitea/giteatest"
	"review-bot/sentinel"
)

// expects checks what must be so now.
func (p *play) expects(want attackExpect) {
	p.Helper()
	s := p.look(p.T)
	before := len(p.faults)
	if want.Counts != "" {
		got := s.gate()
		if got == "" {
			got = "none"
		}
		if got != want.Counts {
			p.fault("the forge counts %s of the account, want %s", got, want.Counts)
		}
	}
	if want.Reviews != nil && len(s.rows) != *want.Reviews {
		p.fault("%d reviews, want %d", len(s.rows), *want.Reviews)
	}
	if want.Body != nil || want.NotBody != nil {
		p.contains("the review", p.current(s, want.Role), want.Body, want.NotBody)
	}
	p.contains("what the account published", s.published(), want.Said, nil)
	p.contains("what a reader sees of that", visibleOnly(s.published()), nil, want.NotSaid)
	p.handOffs(s, want)
	if want.Replaced {
		p.superseded(s)
	}
	p.conversations(s, want)
	if want.Asked != nil && p.asked != *want.Asked {
		p.fault("models were asked %d times, want %d", p.asked, *want.Asked)
	}
	if want.Gate != "" {
		p.gate(s, want.Gate)
	}
	if len(p.faults) > before {
		p.fault("%s", s)
	}
}

// current is the text of the role's current review.
func (p *play) current(s standing, role string) string {
	if role == "" {
		role = "logic"
	}
	rows := s.current(role)
	if len(rows) == 0 {
		p.fault("%s has no review", role)
		return ""
	}
	return rows[len(rows)-1].text
}

// published is every text of the account on the pull request.
func (s standing) published() string {
	var b strings.Builder
	for _, r := range s.rows {
		b.WriteString(r.Body + "\n" + r.text + "\n")
		for _, c := range r.comments {
			b.WriteString(c.Body + "\n")
		}
	}
	for _, e := range s.timeline {
		if e.User.Login == s.bot {
			b.WriteString(e.Body + "\n")
		}
	}
	return b.String()
}

// visibleOnly is a text as a reader sees it.
func visibleOnly(text string) string {
	return strings.Map(visible, strings.ReplaceAll(text, "\n", "\t"))
}

// handOffs checks the comments by which a role handed over.
func (p *play) handOffs(s standing, want attackExpect) {
	var texts []string
	for _, e := range s.timeline {
		if _, ok := sentinel.FindHandoff(e.Body); ok && e.Type == "comment" && e.User.Login == s.bot {
			texts = append(texts, e.Body)
		}
	}
	if want.HandOffs != nil && len(texts) != *want.HandOffs {
		p.fault("%d hand-off comments, want %d: %q", len(texts), *want.HandOffs, texts)
	}
	if !want.Links || len(texts) == 0 {
		return
	}
	for _, r := range s.rows {
		gates := r.State == "REQUEST_CHANGES" && r.Official && !r.Dismissed
		if gates && strings.Contains(texts[len(texts)-1], r.HTMLURL) {
			return
		}
	}
	p.fault("the hand-off links no review that gates: %s", texts[len(texts)-1])
}

// superseded checks that each superseded review links the role's next one.
func (p *play) superseded(s standing) {
	found := 0
	for i, r := range s.rows {
		if r.now.State != sentinel.Superseded {
			continue
		}
		found++
		for _, next := range s.rows[i+1:] {
			if next.posted.Role != r.posted.Role || next.posted.Kind != sentinel.KindVerdict {
				continue
			}
			if !strings.Contains(r.text, fmt.Sprintf("#issuecomment-%d)", next.comment())) {
				p.fault("review %d isn't superseded by the next one, %d: %s", r.ID, next.ID, r.text)
			}
			break
		}
	}
	if found == 0 {
		p.fault("no review is superseded")
	}
}

// conversations checks which are resolved.
func (p *play) conversations(s standing, want attackExpect) {
	check := func(words string, resolved bool) {
		c, ok := s.conversation(words)
		if !ok {
			p.fault("there is no conversation about %q", words)
		} else if (c.Resolver != nil) != resolved {
			p.fault("the conversation about %q is resolved: %v, want %v", words, c.Resolver != nil, resolved)
		}
	}
	for _, words := range want.Resolved {
		check(words, true)
	}
	for _, words := range want.Open {
		check(words, false)
	}
}

// conversation is the inline comment that says this.
func (s standing) conversation(words string) (giteatest.Comment, bool) {
	for _, r := range s.rows {
		for _, c := range r.comments {
			if c.User.Login == s.bot && strings.Contains(c.Body, words) {
				return c, true
			}
		}
	}
	return giteatest.Comment{}, false
}

// The merge endpoint's words for a pull request that isn't open.
const shut = "shut"

// gate asks the merge endpoint. A pull request that is merged by it is at its end.
func (p *play) gate(s standing, want string) {
	p.Helper()
	status, message := p.pull.TryMerge(p.T, p.maintainer)
	if merged := status == http.StatusOK; merged != (want == open) {
		p.fault("merging answers %d %s, want %s", status, message, want)
	}
	if want == open || want == shut || status == http.StatusOK {
		return
	}
	p.pull.Review(p.T, p.maintainer, giteatest.ReviewInput{Event: "APPROVED"})
	status, message = p.pull.TryMerge(p.T, p.maintainer)
	refused := status == http.StatusMethodNotAllowed && message == "There are requested changes"
	if want == blocked && !refused || want == waiting && status != http.StatusOK {
		p.fault("with a person's approval merging answers %d %s, want %s", status, message, want)
	}
}
