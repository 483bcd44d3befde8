package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
	"review-bot/sentinel"
)

// What makes a new question about a head that was judged already, and what doesn't.
func TestTheSameQuestionIsAskedOnce(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	srv := says(t, s.on(t, "code(5)"))
	j := s.bench.job(s.pull, srv, "logic")
	asks := func(what string, want int, outcome escalation.Outcome, j job) {
		t.Helper()
		before := srv.Count()
		r := j.result(t)
		if got := srv.Count() - before; got != want || r.ModelRequests != want || r.Outcome != outcome {
			t.Errorf("%s: %d models were asked (told: %d), outcome %s; want %d, %s\nnotes: %q", what, got, r.ModelRequests, r.Outcome, want, outcome, r.Notes)
		}
	}
	asks("the first time", 1, escalation.Posted, j)
	asks("again", 0, escalation.Skipped, j)
	s.pull.Reply(t, s.author, s.conversation(t, "code(5)").ID, "it can't happen")
	asks("a person replied", 1, escalation.Patched, j)
	asks("and again", 0, escalation.Skipped, j)
	s.pull.RequestReview(t, s.author, s.bot)
	asks("the author requested its review", 0, escalation.Reposted, j)
	s.pull.RequestReview(t, s.maintainer, s.bot)
	asks("a maintainer requested its review", 1, escalation.Reposted, j)
	asks("and again", 0, escalation.Skipped, j)
	other := j.with("REVIEW_BOT_MODEL", "scripted-2")
	asks("another model", 1, escalation.Patched, other)
	asks("and again", 0, escalation.Skipped, other)
	asks("another threshold", 1, escalation.Patched, other.with("REVIEW_BOT_BLOCK_ON", "medium"))
	asks("forced", 1, escalation.Skipped, other.with("REVIEW_BOT_BLOCK_ON", "medium").with("REVIEW_BOT_FORCE", "true"))
}

// A history that can't be read doesn't keep a change from being reviewed; but
// nothing is published on what wasn't read.
func TestAnUnreadableHistory(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"/reviews", "/timeline"} {
		t.Run(strings.Trim(list, "/"), func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			proxy := s.srv.NewProxy(t)
			defer proxy.Close()
			j := s.job(t).with("GITHUB_SERVER_URL", proxy.URL)
			s.round(t, j, nil, s.on(t, "code(5)"), s.on(t, "code(9)"))
			s.push(t, onTop(2))
			srv := says(t, s.on(t, "code(9)"))
			j = j.with("OPENAI_BASE_URL", srv.URL())
			broken := func(until func() bool) giteatest.Hook {
				return func(r *giteatest.Request) *giteatest.Fault {
					if r.Method == http.MethodGet && strings.HasSuffix(r.Path, list) && !until() {
						return &giteatest.Fault{Status: http.StatusInternalServerError, Body: `{"message":"out of order"}`}
					}
					return nil
				}
			}
			proxy.SetHook(broken(func() bool { return false }))
			e := j.run(t)
			if e.status != 1 || srv.Count() != 1 || !strings.Contains(e.errorLine(t), "out of order") || len(s.pull.Reviews(t)) != 1 {
				t.Errorf("exit status %d, %d models asked\n%s", e.status, srv.Count(), e.stderr)
			}
			proxy.SetHook(broken(func() bool { return srv.Count() > 1 }))
			r := j.result(t)
			if srv.Count() != 2 || r.Outcome != escalation.Patched || r.Counted() != 2 {
				t.Errorf("%d models asked, %+v", srv.Count(), r)
			}
			// Neither finding was posted again, though the model wasn't told of them.
			s.conversation(t, "code(5)")
			s.conversation(t, "code(9)")
		})
	}
}

// Three trivial blocks buy nobody a push that isn't read: a follow-up blocks for
// what it changed, and a fix by hand opens the gate.
func TestFollowUps(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	j := s.job(t).with("REVIEW_BOT_OPERATORS", s.maintainer.Name)
	for n := range 3 {
		s.replace(t, n, fmt.Sprintf("bad(%d)", n))
		var kept []string
		for i := range n {
			kept = append(kept, trouble(fmt.Sprintf("bad(%d)", i)))
		}
		if r := s.round(t, j, kept, s.on(t, fmt.Sprintf("bad(%d)", n))); r.Own != sentinel.RequestChanges || r.Rounds != n+1 {
			t.Fatalf("round %d: %+v", n+1, r)
		}
	}
	s.reads(t, "round 3 of 3")
	for n := range 3 {
		s.lines[n] = fmt.Sprintf("good(%d)", n)
	}
	s.replace(t, 3, "evil()")
	nit := s.on(t, "good(1)")
	nit.Severity = prompts.Medium
	r := s.round(t, j, nil, s.on(t, "evil()"), nit)
	if r.Own != sentinel.RequestChanges || r.Event != sentinel.RequestChanges || r.Counted() != 1 {
		t.Errorf("%+v", r)
	}
	s.reads(t, "round 4: follow-up 1 of 10", "1 minor finding withheld: the role has had its rounds.")
	if status, message := s.pull.TryMerge(t, s.maintainer); status != http.StatusMethodNotAllowed {
		t.Errorf("merging: %d %s", status, message)
	}
	list := s.handOffs(t)
	if len(list) != 1 {
		t.Fatalf("%d hand-offs: %q", len(list), list)
	}
	for _, part := range []string{
		"@" + s.maintainer.Name, "[" + trouble("evil()") + "](" + s.pull.State(t).HTMLURL + "/files#diff-",
		"requested changes 4 times", "fix it by hand",
		"](" + s.gating(t) + ") to merge as is", "approve as a maintainer", "close and reopen", "request its review again",
	} {
		if !strings.Contains(list[0], part) {
			t.Errorf("the hand-off lacks %q:\n%s", part, list[0])
		}
	}

	s.replace(t, 3, "good(3)")
	if r = s.round(t, j, nil, nit); r.Own != sentinel.Approved || r.Event != sentinel.Approved {
		t.Errorf("%+v", r)
	}
	s.reads(t, "follow-up 2 of 10", "1 minor finding withheld")
	if got := s.handOffs(t); len(got) != 1 {
		t.Errorf("%d hand-offs", len(got))
	}
	// A push after an approval gets a full review, after all those rounds.
	s.replace(t, 3, "evil()")
	if r = s.round(t, j, nil, s.on(t, "evil()"), nit); r.Own != sentinel.RequestChanges || r.Counted() != 2 {
		t.Errorf("%+v", r)
	}
	if status, message := s.pull.TryMerge(t, s.maintainer); status != http.StatusMethodNotAllowed {
		t.Errorf("merging: %d %s", status, message)
	}
}

// replace has the author change one line.
func (s *story) replace(t *testing.T, line int, text string) {
	t.Helper()
	s.push(t, func(lines []string) []string {
		lines[line] = text
		return lines
	})
}

// reads fails unless the role's text has all parts.
func (s *story) reads(t *testing.T, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if text := s.text(t); !strings.Contains(text, part) {
			t.Errorf("the review lacks %q:\n%s", part, text)
		}
	}
}

// gating is the address of the account's newest request for changes.
func (s *story) gating(t *testing.T) string {
	t.Helper()
	block := s.newestBlock(t)
	for _, r := range s.pull.Reviews(t) {
		if r.ID == block {
			return r.HTMLURL
		}
	}
	t.Fatal("nothing blocks")
	return ""
}

// Each way out that the hand-off names works when it is tried, on an account that
// two roles share.
func TestTheWaysOutOfTheHandOff(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	j := s.job(t).with("REVIEW_BOT_MAX_ROUNDS", "1").with("REVIEW_BOT_MAX_FOLLOW_UPS", "1")
	sibling := s.job(t).with("REVIEW_BOT_ROLE", "tests")
	silent := says(t)
	n := 0
	keep := func() []string { return []string{trouble("code(5)")} }
	more := func() { n++; s.replace(t, 20, fmt.Sprintf("more(%d)", n)) }
	// capped goes on until the role doesn't look any more.
	capped := func(handOffs int) {
		t.Helper()
		more()
		s.round(t, j, keep()) // follows up, and hands over
		list := s.handOffs(t)
		if len(list) != handOffs || !strings.Contains(list[len(list)-1], "]("+s.gating(t)+") to merge as is") {
			t.Errorf("%d hand-offs, want %d that link %s: %q", len(list), handOffs, s.gating(t), list)
		}
		more()
		for range 2 { // a re-run changes nothing
			r := j.with("OPENAI_BASE_URL", silent.URL()).result(t)
			if r.Outcome != escalation.Capped || r.ModelRequests != 0 || r.Usage != nil || r.Event != sentinel.RequestChanges {
				t.Errorf("%+v", r)
			}
		}
		if got := s.handOffs(t); len(got) != handOffs {
			t.Errorf("%d hand-offs, want %d", len(got), handOffs)
		}
	}
	full := func(way string) {
		t.Helper()
		if r := s.round(t, j, keep()); r.Own != sentinel.RequestChanges || r.Rounds != 1 {
			t.Errorf("%s: own %s, %d rounds", way, r.Own, r.Rounds)
		}
	}
	s.round(t, j, nil, s.on(t, "code(5)"))
	s.round(t, sibling, nil) // held: its review is the one that gates now
	capped(1)
	s.pull.RequestReview(t, s.author, s.bot)
	if r := s.round(t, j, keep()); r.Rounds == 1 || r.Event != sentinel.RequestChanges {
		t.Errorf("the author's request began a new count: %+v", r)
	}
	s.pull.Close(t)
	s.srv.Call(t, s.author.Token, http.MethodPatch, s.api("/pulls/%d", s.pull.Index), map[string]any{"state": "open"}, nil)
	if r := j.with("OPENAI_BASE_URL", silent.URL()).result(t); r.ModelRequests != 0 || r.Event != sentinel.RequestChanges {
		t.Errorf("the author bought another look: %+v", r)
	}
	s.pull.RequestReview(t, s.maintainer, s.bot)
	full("a maintainer requested a review")
	capped(2)
	s.pull.Close(t)
	s.pull.Reopen(t)
	full("a maintainer reopened")
	capped(3)
	s.pull.Review(t, s.maintainer, giteatest.ReviewInput{Event: "APPROVED", Body: "Enough."})
	more()
	full("a maintainer approved")
	for login, want := range map[string]string{s.bot.Name: "1\n", s.maintainer.Name: "0\n", "nobody": "0\n"} {
		if e := j.run(t, "rounds", login); e.status != 0 || e.stdout != want {
			t.Errorf("rounds %s: exit status %d, %q, want %q\n%s", login, e.status, e.stdout, want, e.stderr)
		}
	}
	if e := j.run(t, "rounds", s.bot.Name, "--json"); e.stdout != fmt.Sprintf("{\"reviewer\":%q,\"rounds\":1}\n", s.bot.Name) {
		t.Errorf("rounds --json: %q", e.stdout)
	}
	capped(4)
	time.Sleep(1100 * time.Millisecond) // the server's times count in seconds
	s.pull.Dismiss(t, s.maintainer, s.newestBlock(t), "we talked")
	for range 2 { // a re-run doesn't overturn it, though the record is of an older head
		if r := j.with("OPENAI_BASE_URL", silent.URL()).result(t); r.Event == sentinel.RequestChanges {
			t.Errorf("the dismissal was overturned: %+v", r)
		}
	}
	if status, message := s.pull.TryMerge(t, s.maintainer); status != http.StatusOK {
		t.Errorf("merging as is: %d %s", status, message)
	}
}

// handOffs are the comments by which the role handed over.
func (s *story) handOffs(t *testing.T) (list []string) {
	t.Helper()
	for _, e := range s.pull.Timeline(t) {
		if _, ok := sentinel.FindHandoff(e.Body); ok && e.Type == "comment" {
			list = append(list, e.Body)
		}
	}
	return list
}

// newestBlock is the account's newest request for changes.
func (s *story) newestBlock(t *testing.T) int64 {
	t.Helper()
	var id int64
	for _, r := range s.pull.Reviews(t) {
		if r.State == "REQUEST_CHANGES" {
			id = max(id, r.ID)
		}
	}
	return id
}

// Escalations of an approving role aren't rounds of its own.
func TestEscalatedRoundsDontCount(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	blocks, approves := s.job(t).with("REVIEW_BOT_ROLE", "tests"), s.job(t)
	s.round(t, blocks, nil, s.on(t, "code(5)"))
	for i := range 5 {
		if i > 0 {
			s.push(t, onTop(1))
		}
		r := s.round(t, approves, nil)
		if r.Own != sentinel.Approved || r.Event != sentinel.RequestChanges || r.Rounds != 0 {
			t.Fatalf("round %d: %+v", i+1, r)
		}
	}
}

// A later round shows the model what changed since, and no more.
func TestLaterRoundsLookAtWhatChanged(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.lines = nil
	for i := range 2000 {
		s.lines = append(s.lines, fmt.Sprintf("code(%d) // %s", i+1, strings.Repeat("word ", i%7)))
	}
	s.push(t, func(lines []string) []string { return lines })
	j := s.job(t)
	first := s.round(t, j, nil, s.on(t, s.lines[99]), s.on(t, s.lines[1499]))
	s.push(t, func(lines []string) []string {
		lines[1000] = "changed(1001)"
		return lines
	})
	second := s.round(t, j, []string{"Trouble with " + strings.TrimSpace(s.lines[99])}, s.on(t, "changed(1001)"))
	if 10*second.Usage.Prompt > first.Usage.Prompt {
		t.Errorf("%d tokens after %d: more than a tenth", second.Usage.Prompt, first.Usage.Prompt)
	}
	for _, want := range []string{"changed(1001)", "Trouble with " + strings.TrimSpace(s.lines[99]), "Trouble with " + strings.TrimSpace(s.lines[1499])} {
		if !strings.Contains(s.prompt, want) {
			t.Errorf("the prompt lacks %q", want)
		}
	}
	if strings.Contains(s.prompt, s.lines[900]) || strings.Contains(s.prompt, s.lines[1100]) || strings.Contains(s.prompt, "quiet(") {
		t.Error("the prompt holds what didn't change")
	}
	// The new finding stands on its line, which the pull request's own diff has, too.
	c := s.conversation(t, "changed(1001)")
	if c.Position != 1001 || c.Path != storyFile {
		t.Errorf("%+v", c)
	}
	if text := s.text(t); !strings.Contains(strings.SplitN(text, "\n", 2)[0], "changes since "+first.Head[:7]) {
		t.Errorf("the body doesn't say that only changes were looked at:\n%s", text)
	}
}

// Where it isn't known what changed, or more than the pull request did, all is
// looked at again, and the body says why.
func TestTheWholeDiffAgain(t *testing.T) {
	t.Parallel()
	t.Run("the old head is gone", func(t *testing.T) {
		t.Parallel()
		s := newStory(t)
		j := s.job(t)
		s.round(t, j, nil, s.on(t, "code(5)"))
		head := s.repo.Rewrite(t, s.branch, "main", giteatest.Files(map[string]string{storyFile: strings.Join(s.lines, "\n") + "\nmore()\n"}), "anew")
		s.pull.Settle(t, head)
		proxy := s.srv.NewProxy(t) // garbage collection takes the server weeks
		defer proxy.Close()
		proxy.SetHook(func(r *giteatest.Request) *giteatest.Fault {
			if r.Method == http.MethodGet && (strings.Contains(r.Path, s.pull.Head) || strings.Contains(r.Query, s.pull.Head)) {
				return s.unknownCommit(t, r)
			}
			return nil
		})
		s.round(t, j.with("GITHUB_SERVER_URL", proxy.URL), []string{"Trouble with code(5)"})
		s.sawAll(t, "which was reviewed last, is gone")
	})
	t.Run("the base was merged in", func(t *testing.T) {
		t.Parallel()
		s := newStory(t)
		j := s.job(t)
		s.round(t, j, nil, s.on(t, "code(5)"))
		s.srv.Call(t, s.owner.Token, "DELETE", "/repos/"+s.repo.FullName()+"/branch_protections/main", nil, nil)
		s.repo.Commit(t, "main", "main", giteatest.Files(map[string]string{"other.go": "package other\n"}), "elsewhere")
		s.pull.Settle(t, s.repo.Merge(t, s.branch, "main"))
		s.round(t, j, []string{"Trouble with code(5)"})
		s.sawAll(t, "the base was merged in")
	})
}

// unknownCommit is what the server answers about a commit that it doesn't have.
func (s *story) unknownCommit(t *testing.T, r *giteatest.Request) *giteatest.Fault {
	path := strings.ReplaceAll(strings.TrimPrefix(r.Path, "/api/v1"), s.pull.Head, strings.Repeat("9", 40))
	query := strings.ReplaceAll(r.Query, s.pull.Head, strings.Repeat("9", 40))
	if query != "" {
		path += "?" + query
	}
	status, message := s.srv.Status(t, s.bot.Token, http.MethodGet, path, nil, nil)
	if status < 400 {
		t.Errorf("%s answers %d", path, status)
	}
	return &giteatest.Fault{Status: status, Body: fmt.Sprintf(`{"message":%q}`, message), Header: http.Header{"Content-Type": {"application/json"}}}
}

func (s *story) sawAll(t *testing.T, why string) {
	t.Helper()
	for _, line := range []string{"code(20)", "quiet(20)"} {
		if !strings.Contains(s.prompt, line) && !(line == "quiet(20)" && why != "the base was merged in") {
			t.Errorf("the prompt lacks %q", line)
		}
	}
	if text := s.text(t); !strings.Contains(text, "The whole diff was reviewed again: ") || !strings.Contains(text, why) {
		t.Errorf("the body doesn't say why all was looked at again:\n%s", text)
	}
	s.conversation(t, "code(5)")
}

// What two roles send about the same pull request is the same up to the role's
// own part, so that a server's prefix cache serves both.
func TestRolesShareThePrefixOfTheirPrompts(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.push(t, func(lines []string) []string { return slices.Concat(lines, lines, lines, lines, lines) })
	var texts []string
	for _, role := range []string{"security", "tests"} {
		srv := model(t, modeltest.ByMatch(modeltest.Match{Reply: modeltest.Answer(answer())}))
		s.bench.job(s.pull, srv, role).result(t)
		texts = append(texts, srv.Requests()[0].Text())
	}
	n := 0
	for n < min(len(texts[0]), len(texts[1])) && texts[0][n] == texts[1][n] {
		n++
	}
	share := float64(n) / float64(len(texts[0]))
	t.Logf("of %d characters the first %d are the same: %.0f %%", len(texts[0]), n, 100*share)
	if end := strings.LastIndex(texts[0], "code(40)"); end < 0 || n < end {
		t.Errorf("the prompts part at %d, before the diff ends at %d: …%s", n, end, texts[0][max(0, n-80):n])
	}
	if share < 0.75 {
		t.Errorf("only %.0f %% are the same", 100*share)
	}
}

// A model server that is busy, or broken, for a while or for good.
func TestABusyModelServer(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	good := modeltest.Answer(answer(severe(s.on(t, "code(5)"), prompts.Low)))
	busy := modeltest.Reply{Status: 429, Headers: map[string]string{"Retry-After": "2"}}
	srv := model(t, modeltest.Sequence(busy, good))
	began := time.Now()
	j := s.bench.job(s.pull, srv, "logic")
	e := j.run(t, "--json")
	if took := time.Since(began); e.status != 0 || took < 2*time.Second || !strings.Contains(e.stderr, "answered 429, again in 2 s") {
		t.Errorf("after %s: exit status %d, want a wait of 2 s that is told\n%s", took, e.status, e.stderr)
	}

	// Four failures: the second model answers, and the review says so.
	srv = model(t, modeltest.ByMatch(modeltest.Match{Model: "scripted-1", Reply: modeltest.Fail(500, "out of order")}, modeltest.Match{Model: "other-1", Reply: good}))
	s.push(t, onTop(1))
	r := j.with("OPENAI_BASE_URL", srv.URL()).with("REVIEW_BOT_FALLBACK_MODEL", "other-1").result(t)
	if r.Usage.Model != "other-1" || r.ModelRequests != 5 || r.Own != sentinel.Approved || !strings.Contains(s.text(t), "<sub>other-1 · ") {
		t.Errorf("%+v\n%s", r, s.text(t))
	}

	// Nothing at all: the verdict stays as it was.
	before := s.text(t)
	srv = model(t, modeltest.ByMatch(modeltest.Match{Reply: modeltest.Fail(503, "away")}))
	s.push(t, onTop(1))
	e = j.with("OPENAI_BASE_URL", srv.URL()).run(t, "--patience", "1500ms")
	if e.status != 1 || !strings.Contains(e.errorLine(t), "503") || s.text(t) != before {
		t.Errorf("exit status %d\n%s", e.status, e.stderr)
	}
}
