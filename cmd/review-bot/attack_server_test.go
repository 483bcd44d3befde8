package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"review-bot/reviewer/gitea/giteatest"
)

// keepDiff keeps what the server shows of a head, for a late answer.
func (p *play) keepDiff(head string) {
	var text string
	p.srv.Call(p.T, p.bot.Token, http.MethodGet, p.api("/pulls/%d.diff", p.pull.Index), nil, &text)
	p.diffs[head] = text
}

// hook makes the faults that a case asks for.
func (p *play) hook(r *giteatest.Request) *giteatest.Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.stale(r); f != nil {
		return f
	}
	for i, f := range p.faulty {
		if f.Method != "" && f.Method != r.Method || !strings.Contains(r.Path, f.Path) {
			continue
		}
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				p.faulty = slices.Delete(p.faulty, i, i+1)
			}
		}
		switch {
		case f.Cut:
			return &giteatest.Fault{CutBefore: true}
		case f.Gzip > 0:
			header := http.Header{"Content-Encoding": {"gzip"}}
			return &giteatest.Fault{Status: http.StatusOK, Header: header, Body: string(compressed(f.Gzip))}
		default:
			return &giteatest.Fault{Status: f.Status, Body: f.Body, Header: inJSON}
		}
	}
	return nil
}

// stale answers for the diff what the server showed of another head.
func (p *play) stale(r *giteatest.Request) *giteatest.Fault {
	l := p.late
	if l == nil || r.Method != http.MethodGet {
		return nil
	}
	switch {
	case strings.HasSuffix(r.Path, fmt.Sprintf("/pulls/%d.diff", p.pull.Index)):
		if l.Times > 0 {
			if l.Times--; l.Times == 0 {
				p.late = nil
			}
		}
		header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
		return &giteatest.Fault{Status: http.StatusOK, Header: header, Body: p.diffs[p.head(l.Shows)]}
	case l.Ref && strings.HasSuffix(r.Path, fmt.Sprintf("/git/refs/pull/%d/head", p.pull.Index)):
		var text string
		p.srv.Call(p.T, p.bot.Token, http.MethodGet, p.api("/git/refs/pull/%d/head", p.pull.Index), nil, &text)
		text = strings.ReplaceAll(text, p.pull.State(p.T).Head.SHA, p.head(l.Shows))
		return &giteatest.Fault{Status: http.StatusOK, Header: inJSON, Body: text}
	}
	return nil
}

var inJSON = http.Header{"Content-Type": {"application/json"}}
