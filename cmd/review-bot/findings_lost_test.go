package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/sentinel"
)

// A person's word keeps a conversation open for as long as it stands.
func TestReplyThatIsTakenBack(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	j := s.endless(t)
	s.round(t, j, nil, s.on(t, "code(5)"), s.on(t, "code(9)"))
	reply := s.pull.Reply(t, s.author, s.conversation(t, "code(5)").ID, "I wonder")
	s.push(t, changing("code(9)"))
	r := s.ask(t, j, keepsNone)
	wantStates(t, r, map[string]finding.State{"code(5)": finding.Answered, "code(9)": finding.Resolved})
	if r.Own != sentinel.Approved || !strings.Contains(s.text(t), "Answered") {
		t.Errorf("own %s:\n%s", r.Own, s.text(t))
	}
	s.wantResolved(t, map[string]bool{"code(5)": false, "code(9)": true})

	s.remove(t, s.maintainer, reply)
	s.push(t, changing("code(5)"))
	r = s.ask(t, j, func(shown []shownEarlier) prompts.Answer {
		if len(shown) != 1 || strings.Contains(shown[0].text, "I wonder") {
			t.Errorf("the model is shown %+v", shown)
		}
		return answer()
	})
	wantStates(t, r, map[string]finding.State{"code(5)": finding.Resolved})
	s.wantResolved(t, map[string]bool{"code(5)": true, "code(9)": true})
	if len(r.Notes) != 0 {
		t.Errorf("a run that nobody disturbed notes %q", r.Notes)
	}
}

// A maintainer deletes the bot's comment: before a round, with a reply that stays
// behind, and in the middle of one.
func TestDeletedComment(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	j, proxy := s.proxied(t, s.endless(t))
	s.round(t, j, nil, s.on(t, "code(5)"), s.on(t, "code(9)"), s.on(t, "code(13)"), s.on(t, "code(17)"))
	s.pull.Reply(t, s.author, s.conversation(t, "code(5)").ID, "no")
	s.remove(t, s.maintainer, s.conversation(t, "code(5)").ID)
	s.remove(t, s.maintainer, s.conversation(t, "code(9)").ID)
	last := s.conversation(t, "code(17)").ID
	var once sync.Once
	proxy.SetHook(func(r *giteatest.Request) *giteatest.Fault {
		if strings.HasSuffix(r.Path, "/resolve") {
			once.Do(func() {
				if err := giteatest.Try(t.Context(), func(tb giteatest.TB) {
					s.srv.Call(tb, s.maintainer.Token, "DELETE", s.api("/issues/comments/%d", last), nil, nil)
				}); err != nil {
					t.Error(err)
				}
			})
		}
		return nil
	})
	s.push(t, changing("code(17)"))
	r := s.ask(t, j, keepsOnly("code(13)"))
	wantStates(t, r, map[string]finding.State{"code(13)": finding.Retained, "code(17)": finding.Resolved})
	if r.Outcome != escalation.Patched || r.Own != sentinel.RequestChanges || len(s.inlines(t)) != 1 {
		t.Errorf("%+v, %d comments", r, len(s.inlines(t)))
	}

	// All is gone: whoever finds the fault again says so anew.
	s.remove(t, s.maintainer, s.conversation(t, "code(13)").ID)
	s.push(t, onTop(1))
	r = s.round(t, j, nil, s.on(t, "code(13)"))
	wantStates(t, r, map[string]finding.State{"code(13)": finding.New})
	if c := s.conversation(t, "code(13)"); c.Resolver != nil || r.Own != sentinel.RequestChanges {
		t.Errorf("%+v, %+v", c, r)
	}
	if r := s.rerun(t, j); r.Outcome != escalation.Skipped {
		t.Errorf("the run after it: %+v", r)
	}
}

// rerun runs once more with nothing new; no model is there to be asked.
func (s *story) rerun(t *testing.T, j job) (r reviewer.Result) {
	t.Helper()
	srv := says(t)
	r = j.with("OPENAI_BASE_URL", srv.URL()).result(t)
	if srv.Count() != 0 {
		t.Errorf("with nothing new the model is asked %d times", srv.Count())
	}
	return r
}

// The file of a finding is renamed or deleted. The model takes all of them for fixed,
// but only what was deleted is: another name changes nothing.
func TestRenamedAndDeletedFiles(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	text := func(word string) string { return strings.ReplaceAll(strings.Join(s.lines, "\n")+"\n", "code", word) }
	s.repo.Commit(t, s.branch, s.branch, giteatest.Files(map[string]string{"moved.go": text("moved"), "gone.go": text("gone"), "both.go": text("both")}), "more files")
	j := s.endless(t)
	s.pull.Settle(t, s.repo.SHA(t, s.branch))
	in := func(path, word string) prompts.Finding {
		f := at(path, 5, word+"(5)")
		f.Title = trouble(f.Quote)
		return f
	}
	s.round(t, j, nil, s.on(t, "code(5)"), in("moved.go", "moved"), in("gone.go", "gone"), in("both.go", "both"))

	s.pull.Settle(t, s.repo.Commit(t, s.branch, s.branch, giteatest.Edits(
		giteatest.Rename("moved.go", "dir/new name.go"), giteatest.Rename("both.go", "dir/both.go"),
		func(dir string) error { return os.Remove(filepath.Join(dir, "gone.go")) },
		giteatest.Files(map[string]string{"dir/both.go": "// first\n" + text("both")}),
	), "rename and delete"))
	var shown []shownEarlier
	r := s.ask(t, j, func(earlier []shownEarlier) prompts.Answer {
		shown = earlier
		return keepsOnly("code(5)")(earlier)
	})
	wantStates(t, r, map[string]finding.State{"code(5)": finding.Retained, "moved(5)": finding.Retained,
		"gone(5)": finding.Resolved, "both(5)": finding.Retained})
	for _, e := range shown {
		if want := !strings.Contains(e.words, "code(5)"); strings.Contains(e.text, "The file is gone since.") != want {
			t.Errorf("the model is told (gone: want %v)\n%s", want, e.text)
		}
	}
	s.wantResolved(t, map[string]bool{trouble("moved(5)"): false, trouble("gone(5)"): true, trouble("both(5)"): false,
		trouble("code(5)"): false})
	if r := s.rerun(t, j); r.Outcome != escalation.Skipped {
		t.Errorf("the run after it: %+v", r)
	}
}

// A file of the base that the change edits is renamed by it later: git tells that
// it is the same, and so the finding is.
func TestRenamedFileOfTheBase(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	base := strings.Join(s.lines, "\n") + "\n"
	s.repo.Commit(t, "base2", "main", giteatest.Files(map[string]string{"lib.go": strings.ReplaceAll(base, "code", "lib")}), "a file")
	branch := giteatest.Unique("topic")
	edited := strings.Replace(strings.ReplaceAll(base, "code", "lib"), "lib(20)", "changed(20)", 1)
	s.repo.Commit(t, branch, "base2", giteatest.Files(map[string]string{"lib.go": edited}), "edit")
	s.pull = s.repo.As(s.author).OpenPull(t, giteatest.PullOptions{Head: branch, Base: "base2"})
	j := s.endless(t)
	f := at("lib.go", 20, "changed(20)")
	f.Title = trouble(f.Quote)
	s.round(t, j, nil, f)
	s.pull.Settle(t, s.repo.Commit(t, branch, branch, giteatest.Edits(giteatest.Rename("lib.go", "lib/new.go"), giteatest.Files(map[string]string{"lib/new.go": "// top\n" + edited})), "rename"))

	f.Path, f.Line, f.EndLine, f.Title = "lib/new.go", 21, 21, "The same in other words"
	r := s.round(t, j, nil, f)
	wantStates(t, r, map[string]finding.State{"changed(20)": finding.Retained})
	if got := r.Findings[0]; got.Path != "lib/new.go" || got.Line != 21 || len(s.inlines(t)) != 1 {
		t.Errorf("%+v, %d comments", got, len(s.inlines(t)))
	}
	if !strings.Contains(s.prompt, "Its line is now line 21.") {
		t.Errorf("the prompt is\n%s", s.prompt)
	}
}

// After a forced push the commit at which a finding was made is nowhere to be
// found, once the server has cleaned up. The finding is.
func TestForcedPush(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	j := s.endless(t)
	s.round(t, j, nil, s.on(t, "code(5)"), s.on(t, "code(9)"), s.on(t, "quiet(15)"))
	old := s.pull.State(t).Head.SHA
	s.lines = onTop(3)(s.lines)
	s.lines[11] = "better(9)"
	quiet := strings.ReplaceAll(strings.Join(s.lines[3:], "\n")+"\n", "code", "quiet")
	head := s.repo.Rewrite(t, s.branch, "main", giteatest.Files(map[string]string{storyFile: strings.Join(s.lines, "\n") + "\n", quietFile: quiet}), "all anew")
	s.pull.Settle(t, head)
	dir := filepath.Join(s.srv.Dir(), "repositories", strings.ToLower(s.repo.FullName())+".git")
	for _, args := range [][]string{{"reflog", "expire", "--expire=now", "--all"}, {"gc", "-q", "--prune=now"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	if status, _ := s.srv.Status(t, s.bot.Token, http.MethodGet, s.api("/git/commits/%s", old), nil, nil); status != http.StatusNotFound {
		t.Fatalf("the old head is still there: %d", status)
	}
	again := s.on(t, "code(5)")
	again.Title = "In other words"
	r := s.round(t, j, []string{trouble("quiet(15)")}, again)
	wantStates(t, r,
		map[string]finding.State{"code(5)": finding.Retained, "code(9)": finding.Retained, "quiet(15)": finding.Retained})
	if !strings.Contains(s.prompt, "What became of the file since isn't known.") || r.Own != sentinel.RequestChanges || len(s.inlines(t)) != 3 {
		t.Errorf("%d comments, %+v\n%s", len(s.inlines(t)), r, s.prompt)
	}
	s.wantResolved(t, map[string]bool{"code(5)": false, "code(9)": false, "quiet(15)": false})

	// Nobody can know that the line was changed, but the author can say so.
	s.pull.Reply(t, s.author, s.conversation(t, "code(9)").ID, "It is better(9) now.")
	r = s.ask(t, j, func(shown []shownEarlier) prompts.Answer {
		a := answer()
		a.Retained = append(keeping(shown, "code(5)"), keeping(shown, "quiet(15)")...)
		return a
	})
	wantStates(t, r,
		map[string]finding.State{"code(5)": finding.Retained, "code(9)": finding.Answered, "quiet(15)": finding.Retained})
}
