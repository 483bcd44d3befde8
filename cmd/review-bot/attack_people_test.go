package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"review-bot/reviewer/gitea/giteatest"
)

// persons does what people do on the forge.
func (p *play) persons(s attackStep) {
	p.Helper()
	switch {
	case s.Review != nil:
		p.reviews(*s.Review)
	case s.Crowd != nil:
		for _, u := range p.arena.people(p.T, s.Crowd.Accounts) {
			p.review(u, s.Crowd.Review)
		}
	case s.Request != nil:
		p.requests(http.MethodPost, *s.Request)
	case s.Unrequest != nil:
		p.requests("DELETE", *s.Unrequest)
	case s.Dismiss != nil:
		p.dismiss(*s.Dismiss)
	case s.Close != nil:
		p.state(s.Close.By, "closed")
	case s.Reopen != nil:
		p.state(s.Reopen.By, "open")
	case s.Describe != nil:
		p.describe(*s.Describe)
	case s.Retarget != "":
		base := p.branch[strings.TrimPrefix(s.Retarget, "main")]
		p.call(p.author, http.MethodPatch, fmt.Sprintf("/pulls/%d", p.pull.Index), map[string]any{"base": base})
	case s.Say != nil:
		for range max(s.Say.Times, 1) {
			p.pull.Say(p.T, p.arena.person(p.T, s.Say.By), s.Say.text())
		}
	case s.Reply != nil:
		c := p.about(s.Reply.To)
		for range max(s.Reply.Times, 1) {
			p.pull.Reply(p.T, p.arena.person(p.T, s.Reply.By), c.ID, s.Reply.text())
		}
	case s.Resolve != nil:
		p.pull.Resolve(p.T, p.arena.person(p.T, s.Resolve.By), p.about(s.Resolve.To).ID)
	case s.Rewrite != nil:
		p.rewrite(*s.Rewrite)
	case s.Status != nil:
		p.call(p.arena.person(p.T, s.Status.By), http.MethodPost, "/statuses/"+p.pull.State(p.T).Head.SHA,
			map[string]any{"context": s.Status.Context, "state": s.Status.State})
	case s.Token != nil:
		p.token = p.srv.NewToken(p.T, p.bot, "write:repository", "write:issue", "read:user")
	default:
		p.Fatalf("a step does nothing")
	}
}

// call has a user send a request, and fails the test if it's refused.
func (p *play) call(as *giteatest.User, method, path string, body any) {
	p.Helper()
	p.srv.Call(p.T, as.Token, method, p.api("%s", path), body, nil)
}

func (w attackWords) text() string { return strings.Repeat(w.Say, max(w.Long, 1)) }

// about is the comment that began the conversation about something.
func (p *play) about(words string) giteatest.Comment {
	p.Helper()
	s := p.look(p.T)
	c, ok := s.conversation(words)
	if !ok {
		p.fault("there is no conversation about %q\n%s", words, s)
		panic(over{})
	}
	return c
}

func (p *play) reviews(r attackReview) {
	p.Helper()
	p.review(p.arena.person(p.T, r.By), r)
}

// review posts a review. An event that the server doesn't know leaves it pending.
func (p *play) review(as *giteatest.User, r attackReview) {
	p.Helper()
	in := giteatest.ReviewInput{Event: r.Event, Body: r.Body}
	for i := range r.Comments {
		path := r.Path
		if path == "" {
			path = "app.go"
		}
		text := fmt.Sprintf("point %d", i)
		in.Comments = append(in.Comments, giteatest.CommentInput{Path: path, NewPosition: 1, Body: text})
	}
	status, message := p.srv.Status(p.T, as.Token, http.MethodPost, p.pull.ReviewsPath(), in, nil)
	if status >= 300 && !r.Refused {
		p.Fatalf("a review by %s: %d %s", as.Name, status, message)
	}
}

// requests makes or removes a request for a review.
func (p *play) requests(method string, r attackPerson) {
	p.Helper()
	of := p.bot
	if r.Of != "" {
		of = p.arena.person(p.T, r.Of)
	}
	by, body := p.arena.person(p.T, r.By), map[string]any{"reviewers": []string{of.Name}}
	for range max(r.Times, 1) {
		path := p.api("/pulls/%d/requested_reviewers", p.pull.Index)
		status, message := p.srv.Status(p.T, by.Token, method, path, body, nil)
		if status >= 300 && !r.Refused {
			p.Fatalf("%s of %s by %s: %d %s", method, of.Name, r.By, status, message)
		}
	}
}

// dismiss dismisses the account's newest request for changes.
func (p *play) dismiss(r attackPerson) {
	p.Helper()
	s := p.look(p.T)
	for _, row := range slices.Backward(s.rows) {
		if row.State == "REQUEST_CHANGES" {
			p.pull.Dismiss(p.T, p.arena.person(p.T, r.By), row.ID, "as it is")
			return
		}
	}
	p.fault("there is no block to dismiss\n%s", s)
	panic(over{})
}

func (p *play) state(by, state string) {
	p.Helper()
	path := fmt.Sprintf("/pulls/%d", p.pull.Index)
	p.call(p.arena.person(p.T, by), http.MethodPatch, path, map[string]any{"state": state})
}

// describe edits title and description.
func (p *play) describe(d attackDescribe) {
	p.Helper()
	change := map[string]any{}
	if d.Title != nil {
		change["title"] = *d.Title
		p.pull.Unmergeable = strings.HasPrefix(*d.Title, "WIP:")
	}
	if d.Body != nil {
		change["body"] = strings.Repeat(*d.Body, max(d.Long, 1))
	}
	by := p.author
	if d.By != "" {
		by = p.arena.person(p.T, d.By)
	}
	p.call(by, http.MethodPatch, fmt.Sprintf("/pulls/%d", p.pull.Index), change)
}

// rewrite has a person put words in front of a review of the account.
func (p *play) rewrite(w attackWords) {
	p.Helper()
	s := p.look(p.T)
	if len(s.rows) == 0 {
		p.fault("there is no review to edit")
		panic(over{})
	}
	row := s.rows[len(s.rows)-1]
	if w.Which == "first" {
		row = s.rows[0]
	}
	p.rewritten = true
	p.edit(p.T, p.arena.person(p.T, w.By), row.comment(), w.Say+"\n\n"+row.text)
}
