package main

import (
	"strings"
	"testing"

	"review-bot/prompts"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/sentinel"
)

// A reader's pull request comes from a fork. Who has write access, but for the
// author, may let a finding pass by closing its conversation.
func TestWhoMayWaive(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	reader, writer, outsider := s.srv.NewUser(t, giteatest.Unique("reader")), s.srv.NewUser(t, giteatest.Unique("writer")), s.srv.NewUser(t, giteatest.Unique("outsider"))
	s.repo.AddCollaborator(t, reader, "read")
	s.repo.AddCollaborator(t, writer, "write")
	fork := s.repo.Fork(t, reader)
	content := giteatest.Files(map[string]string{storyFile: strings.Join(s.lines, "\n") + "\n"})
	fork.Commit(t, s.branch, "main", content, "change")
	s.pull = s.repo.As(reader).OpenPull(t, giteatest.PullOptions{Head: reader.Name + ":" + s.branch})

	author, maintainer, other, bot, nobody := "code(5)", "code(9)", "code(13)", "code(17)", "code(21)"
	j := s.endless(t)
	s.round(t, j, nil, s.on(t, author), s.on(t, maintainer), s.on(t, other), s.on(t, bot), s.on(t, nobody))
	s.pull.Resolve(t, reader, s.conversation(t, author).ID)
	s.pull.Resolve(t, s.maintainer, s.conversation(t, maintainer).ID)
	s.pull.Resolve(t, writer, s.conversation(t, other).ID)
	s.pull.Resolve(t, s.bot, s.conversation(t, bot).ID)
	if status, _ := s.pull.TryResolve(t, outsider, s.conversation(t, nobody).ID, true); status != 403 {
		t.Errorf("an outsider is answered %d", status)
	}

	force := j.with("REVIEW_BOT_FORCE", "true")
	var shown []shownEarlier
	keeps := func(earlier []shownEarlier) (a prompts.Answer) { shown = earlier; return keepsAll(earlier) }
	r := s.ask(t, force, keeps)
	wantStates(t, r, map[string]finding.State{author: finding.Retained, nobody: finding.Retained, maintainer: finding.Waived, other: finding.Waived})
	if len(shown) != 2 || !strings.Contains(s.prompt, "The author of the pull request has closed the conversation.") {
		t.Errorf("the model is shown %+v", shown)
	}
	text := s.text(t)
	for _, part := range []string{"2 findings block", "Waived by a maintainer (2)"} {
		if !strings.Contains(text, part) {
			t.Errorf("the body lacks %q:\n%s", part, text)
		}
	}

	// A model that raises them anew changes nothing about it, and posts nothing twice.
	comments := len(s.inlines(t))
	s.lines = changing(author, nobody)(s.lines)
	s.pull.Settle(t, fork.Commit(t, s.branch, s.branch,
		giteatest.Files(map[string]string{storyFile: strings.Join(s.lines, "\n") + "\n"}), "fixes"))
	r = s.round(t, force, nil, s.on(t, maintainer), s.on(t, other))
	wantStates(t, r, map[string]finding.State{author: finding.Resolved, nobody: finding.Resolved, maintainer: finding.Waived, other: finding.Waived})
	if r.Own != sentinel.Approved || r.Event != sentinel.Approved || len(s.inlines(t)) != comments {
		t.Errorf("own %s, event %s, %d comments", r.Own, r.Event, len(s.inlines(t)))
	}
	if by := s.resolved(t, author); by != reader.Name {
		t.Errorf("what the author closed is closed by %q", by)
	}
	if text := s.text(t); !strings.Contains(text, "**logic approves** · nothing ") || !strings.Contains(text, "Waived by a maintainer (2)") {
		t.Errorf("the body is\n%s", text)
	}

	// Reopened by whomever, it counts again.
	s.pull.Unresolve(t, reader, s.conversation(t, maintainer).ID)
	s.pull.Unresolve(t, writer, s.conversation(t, other).ID)
	s.pull.Unresolve(t, writer, s.conversation(t, bot).ID)
	r = s.ask(t, force, func(earlier []shownEarlier) prompts.Answer {
		shown = earlier
		a := answer()
		for _, text := range []string{maintainer, other, bot} {
			a.Retained = append(a.Retained, keeping(earlier, text)...)
		}
		return a
	})
	// The one that the author closed and the model dropped comes up every time: nothing on
	// the server tells that the account agreed.
	wantStates(t, r, map[string]finding.State{maintainer: finding.Retained, other: finding.Retained, bot: finding.Retained, author: finding.Resolved})
	if r.Own != sentinel.RequestChanges || r.Event != sentinel.RequestChanges || len(shown) != 4 {
		t.Errorf("own %s, event %s, shown %+v", r.Own, r.Event, shown)
	}
	if n := len(s.inlines(t)); n != comments {
		t.Errorf("%d inline comments, want %d", n, comments)
	}
}

// Nor does the author's second thought, of a writer's own pull request: closing
// isn't waiving, whatever the author's rights are.
func TestAuthorWithWriteAccessClosesAll(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	j := s.endless(t)
	s.round(t, j, nil, s.on(t, "code(5)"), s.on(t, "code(9)"))
	for _, c := range s.inlines(t) {
		s.pull.Resolve(t, s.author, c.ID)
	}
	s.push(t, onTop(1))
	r := s.ask(t, j, keepsAll)
	wantStates(t, r, map[string]finding.State{"code(5)": finding.Retained, "code(9)": finding.Retained})
	if r.Own != sentinel.RequestChanges || s.resolved(t, "code(5)") != s.author.Name {
		t.Errorf("own %s, closed by %q", r.Own, s.resolved(t, "code(5)"))
	}
}
