package main

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"review-bot/reviewer/gitea/giteatest"
)

// bases makes the branches that pull requests are to be merged into.
func (p *play) bases() {
	names := []string{""}
	for name := range p.Bases {
		names = append(names, name)
	}
	slices.Sort(names)
	push := map[string]string{}
	var tip func(name string) string
	tip = func(name string) string {
		if commit, ok := p.tips[name]; ok {
			return commit
		}
		base, from := p.Bases[name], p.arena.root
		if name == "" {
			base = attackBase{Kind: p.Protection, Files: p.Base}
		} else {
			from = tip(base.On)
		}
		if base.Kind == "" {
			base.Kind = protected
		}
		commit := from
		if len(base.Files) > 0 {
			commit = p.arena.commit(p.T, p.owner, base.Files, from)
		}
		p.tips[name], p.branch[name] = commit, giteatest.Unique(base.Kind+"-base")
		push[p.branch[name]] = commit
		return commit
	}
	for _, name := range names {
		tip(name)
	}
	p.arena.push(p.T, p.owner, p.repo.CloneURL(), push)
}

// open opens a pull request, and the steps that follow are about it.
func (p *play) open(o attackOpen) {
	p.Helper()
	if o.Base == "" {
		o.Base = o.From
	}
	if o.By == "" {
		o.By = "author"
	}
	by := p.arena.person(p.T, o.By)
	st := stage{site: p.site, topic: giteatest.Unique("topic")}
	var commit string
	if o.Commit != "" {
		commit = p.head(o.Commit)
	} else {
		commit = p.arena.commit(p.T, by, o.Files, p.tips[o.From])
		p.heads = append(p.heads, commit)
	}
	url, head := p.repo.CloneURL(), st.topic
	if o.By == "outsider" {
		url, head = p.arena.fork.CloneURL(), by.Name+":"+st.topic
		p.forks[st.topic] = true
	}
	p.arena.push(p.T, by, url, map[string]string{st.topic: commit})
	title := o.Title
	if title == "" {
		title = "A change"
	}
	if o.Draft {
		title = "WIP: " + title
	}
	var made giteatest.PullState
	p.srv.Call(p.T, by.Token, http.MethodPost, p.api("/pulls"), map[string]any{
		"head": head, "base": p.branch[o.Base], "title": title, "body": o.Body,
	}, &made)
	st.pull = &giteatest.Pull{Repo: p.repo.As(p.bot), Index: made.Number, Head: made.Head.SHA, Unmergeable: o.Draft}
	st = st.beside(p.T)
	st.proxy.SetHook(p.hook)
	p.pulls, p.stage = append(p.pulls, st), st
	p.arrived(p.T, commit)
	p.keepDiff(commit)
}

// head is the commit of a label such as h1.
func (p *play) head(label string) string {
	var n int
	if _, err := fmt.Sscanf(label, "h%d", &n); err != nil || n < 1 || n > len(p.heads) {
		p.Fatalf("no head %q", label)
	}
	return p.heads[n-1]
}

// pushes pushes to the branch of the pull request.
func (p *play) pushes(s attackPush) {
	p.Helper()
	state := p.pull.State(p.T)
	by, url := p.author, p.repo.CloneURL()
	if p.forks[p.topic] {
		by, url = p.outsider, p.arena.fork.CloneURL()
	}
	var commit string
	switch {
	case s.Back != "":
		commit = p.head(s.Back)
	case s.Merge:
		commit = p.arena.commit(p.T, by, s.Files, state.Head.SHA, p.tips[""])
	case s.Rewrite:
		commit = p.arena.commit(p.T, by, s.Files, state.MergeBase)
	default:
		commit = p.arena.commit(p.T, by, s.Files, state.Head.SHA)
	}
	if s.Back == "" {
		p.heads = append(p.heads, commit)
	}
	p.arena.push(p.T, by, url, map[string]string{p.topic: commit})
	if s.NoWait {
		return
	}
	p.arrived(p.T, commit)
	p.keepDiff(commit)
}

// pushesBase pushes to a base.
func (p *play) pushesBase(s attackPush) {
	p.Helper()
	p.tips[s.Base] = p.arena.commit(p.T, p.owner, s.Files, p.tips[s.Base])
	p.arena.push(p.T, p.owner, p.repo.CloneURL(), map[string]string{p.branch[s.Base]: p.tips[s.Base]})
	want := p.tips[s.Base]
	if err := giteatest.Poll(p.Context(), 30*time.Second, "the base shows the push", func() (bool, error) {
		return p.pull.State(p.T).Base.SHA == want, nil
	}); err != nil {
		p.Fatal(err)
	}
}
