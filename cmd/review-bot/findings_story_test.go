package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
	"review-bot/sentinel"
)

// A story is a pull request whose author pushes and talks, beside a maintainer,
// and one role that reviews it round after round. Each round has a model of its
// own.
type story struct {
	bench
	author, maintainer *giteatest.User
	pull               *giteatest.Pull
	branch             string
	lines              []string // of the file under review, as the author last pushed it
	prompt             string   // what the model was asked last
}

// The story's files. The second one stays as it is.
const (
	storyFile = "app.go"
	quietFile = "quiet.go"
)

func newStory(t *testing.T) *story {
	t.Helper()
	s := &story{bench: newBench(t, map[string]string{"README.md": "x\n"}), branch: giteatest.Unique("topic")}
	s.author, s.maintainer = s.srv.NewUser(t, giteatest.Unique("author")), s.srv.NewUser(t, giteatest.Unique("maintainer"))
	s.repo.AddCollaborator(t, s.author, "write")
	s.repo.AddCollaborator(t, s.maintainer, "admin")
	for i := range 40 {
		s.lines = append(s.lines, fmt.Sprintf("code(%d)", i+1))
	}
	head := s.repo.Commit(t, s.branch, "main", giteatest.Files(map[string]string{
		storyFile: strings.Join(s.lines, "\n") + "\n", quietFile: strings.ReplaceAll(strings.Join(s.lines, "\n")+"\n", "code", "quiet"),
	}), "change")
	s.pull = s.repo.As(s.author).OpenPull(t, giteatest.PullOptions{Head: s.branch})
	if s.pull.Head != head {
		t.Fatalf("the pull request is at %s, want %s", s.pull.Head, head)
	}
	return s
}

// push has the author change the file's lines.
func (s *story) push(t *testing.T, change func(lines []string) []string) {
	t.Helper()
	s.lines = change(slices.Clone(s.lines))
	head := s.repo.Commit(t, s.branch, s.branch, giteatest.Files(map[string]string{storyFile: strings.Join(s.lines, "\n") + "\n"}), "more")
	s.pull.Settle(t, head)
}

// onTop inserts lines at the file's beginning.
func onTop(n int) func([]string) []string {
	return func(lines []string) []string {
		var top []string
		for i := range n {
			top = append(top, fmt.Sprintf("header(%d)", i))
		}
		return append(top, lines...)
	}
}

// changing gives the lines with these texts other ones.
func changing(texts ...string) func([]string) []string {
	return func(lines []string) []string {
		for i, line := range lines {
			if slices.Contains(texts, line) {
				lines[i] = "better" + strings.TrimPrefix(line, "code")
			}
		}
		return lines
	}
}

// on is a finding of high severity on the line with that text, wherever it is now.
func (s *story) on(t *testing.T, text string) prompts.Finding {
	t.Helper()
	path, i := storyFile, slices.Index(s.lines, text)
	if n, err := fmt.Sscanf(text, "quiet(%d)", &i); n == 1 && err == nil {
		path = quietFile
		i--
	}
	if i < 0 {
		t.Fatalf("no line %q", text)
	}
	f := at(path, i+1, text)
	f.Title, f.Body = "Trouble with "+text, "It breaks."
	return f
}

// round has the role review once. The model answers with these findings, and
// keeps the earlier findings with these titles.
func (s *story) round(t *testing.T, j job, retained []string, findings ...prompts.Finding) reviewer.Result {
	t.Helper()
	srv := model(t, func(req modeltest.Request) modeltest.Reply {
		a := answer(findings...)
		s.prompt = req.Text()
		for _, title := range retained {
			a.Retained = append(a.Retained, idOf(s.prompt, title))
		}
		return modeltest.Answer(a)
	})
	r := j.with("OPENAI_BASE_URL", srv.URL()).result(t)
	if srv.Count() != 1 {
		t.Fatalf("%d model requests, want 1", srv.Count())
	}
	return r
}

// idOf finds the id under which a prompt lists the finding with that title.
func idOf(prompt, title string) string {
	_, list, _ := strings.Cut(prompt, "# Earlier findings")
	for section := range strings.SplitSeq(list, "\n## ") {
		if id, rest, ok := strings.Cut(section, " "); ok && strings.Contains(rest, title+"\n") {
			return id
		}
	}
	return "not shown: " + title
}

func (s *story) job(t *testing.T) job {
	t.Helper()
	return s.bench.job(s.pull, says(t), "logic")
}

// earlier is the part of the last prompt that lists earlier findings.
func (s *story) earlier() string {
	_, list, _ := strings.Cut(s.prompt, "# Earlier findings")
	return list
}

// conversation is the comment that began the only conversation about a line.
func (s *story) conversation(t *testing.T, text string) giteatest.Comment {
	t.Helper()
	var found []giteatest.Comment
	for _, review := range s.pull.Reviews(t) {
		for _, c := range s.pull.Comments(t, review.ID) {
			if c.User.ID == s.bot.ID && strings.Contains(c.Body, "Trouble with "+text+"\n") {
				found = append(found, c)
			}
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d comments about %s, want 1: %+v", len(found), text, found)
	}
	return found[0]
}

// resolved tells who resolved the conversation about a line.
func (s *story) resolved(t *testing.T, text string) string {
	t.Helper()
	if r := s.conversation(t, text).Resolver; r != nil {
		return r.Login
	}
	return ""
}

// states are the findings as the result tells them, by title.
func states(r reviewer.Result) map[string]finding.State {
	m := map[string]finding.State{}
	for _, f := range r.Findings {
		m[strings.TrimPrefix(f.Title, "Trouble with ")] = f.State
	}
	return m
}

func wantStates(t *testing.T, r reviewer.Result, want map[string]finding.State) {
	t.Helper()
	got := states(r)
	if len(got) != len(want) || len(r.Findings) != len(want) {
		t.Errorf("findings %+v, want %v", r.Findings, want)
		return
	}
	for title, state := range want {
		if got[title] != state {
			t.Errorf("%s is %q, want %q", title, got[title], state)
		}
	}
}

func (s *story) text(t *testing.T) string {
	t.Helper()
	var text string
	for _, e := range s.pull.Timeline(t) {
		if _, sent, err := sentinel.Split(e.Body); err == nil && e.Type == "review" && sent.Kind == sentinel.KindVerdict && sent.State == sentinel.Live {
			text = e.Body
		}
	}
	return text
}

// The story of four findings over four rounds.
func TestFindingsAreRemembered(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	one, two, three, four := "code(5)", "code(10)", "quiet(15)", "code(20)"
	j := s.job(t).with("REVIEW_BOT_MAX_ROUNDS", "4")
	r := s.round(t, j, nil, s.on(t, one), s.on(t, two), s.on(t, three), s.on(t, four))
	wantStates(t, r, map[string]finding.State{one: finding.New, two: finding.New, three: finding.New, four: finding.New})
	if strings.Contains(s.prompt, "# Earlier findings") {
		t.Error("the first prompt speaks of earlier findings")
	}

	// Run 2: the author answers #1, fixes #2, claims to have fixed #3, and shifts everything.
	const intentional = "intentional, because the caller checks it"
	s.pull.Reply(t, s.author, s.conversation(t, one).ID, intentional)
	s.pull.Reply(t, s.author, s.conversation(t, three).ID, "fixed")
	s.push(t, func(lines []string) []string {
		lines[slices.Index(lines, two)] = "better(10)"
		return onTop(30)(lines)
	})
	r = s.round(t, j, []string{"Trouble with " + three, "Trouble with " + four})
	for _, title := range []string{one, two, three, four} {
		if !strings.Contains(s.prompt, "Trouble with "+title+"\n") {
			t.Errorf("the prompt doesn't show %s", title)
		}
	}
	for _, part := range []string{
		"reply by " + s.author.Name, intentional, "\nfixed\n", "Its line is now line 35.", "Its line was changed or deleted since.", "better(10)", "header(0)",
		"the same changes as shown under", "The file since: (no changes)",
	} {
		if !strings.Contains(s.prompt, part) {
			t.Errorf("the prompt lacks %q:\n%s", part, s.earlier())
		}
	}
	wantStates(t, r, map[string]finding.State{one: finding.Answered, two: finding.Resolved, three: finding.Retained, four: finding.Retained})
	if r.Outcome != escalation.Patched || r.Own != sentinel.RequestChanges || r.Counted() != 2 {
		t.Errorf("%+v", r)
	}
	if by := []string{s.resolved(t, one), s.resolved(t, two), s.resolved(t, three), s.resolved(t, four)}; !slices.Equal(by, []string{"", s.bot.Name, "", ""}) {
		t.Errorf("resolved by %q, want only the second, by the bot", by)
	}
	text := s.text(t)
	for _, part := range []string{
		"**logic requests changes** · 2 findings block · changes since ", " · round 2 of 4\n", "still open", "Closed since", "Answered",
		fmt.Sprintf("[Trouble with %s](%s#issuecomment-%d)", four, s.pull.State(t).HTMLURL, s.conversation(t, four).ID),
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the body lacks %q:\n%s", part, text)
		}
	}
	if n := len(s.pull.Reviews(t)); n != 1 {
		t.Errorf("%d reviews, want the one that was edited", n)
	}

	// Run 3: #2 is back, #4 is described anew, in other words on its shifted line. A
	// file that didn't change is said to be so.
	s.push(t, func(lines []string) []string {
		lines[slices.Index(lines, "better(10)")] = two
		return onTop(2)(lines)
	})
	again := s.on(t, four)
	again.Title, again.Body = "In quite other words", "Still."
	r = s.round(t, j, []string{"Trouble with " + three}, again, s.on(t, two))
	wantStates(t, r, map[string]finding.State{one: finding.Answered, two: finding.Reopened, three: finding.Retained, four: finding.Retained})
	if by := s.resolved(t, two); by != "" {
		t.Errorf("the conversation of the finding that is back is resolved by %s", by)
	}

	// The maintainer lets #4 pass; the author closes #3, which still stands.
	s.pull.Resolve(t, s.maintainer, s.conversation(t, four).ID)
	s.pull.Resolve(t, s.author, s.conversation(t, three).ID)
	s.pull.Resolve(t, s.author, s.conversation(t, two).ID)
	r = s.round(t, j.with("REVIEW_BOT_FORCE", "true"), []string{"Trouble with " + three}, s.on(t, four))
	if strings.Contains(s.prompt, "Trouble with "+four+"\n") {
		t.Error("the model is asked about a finding that a maintainer waived")
	}
	if !strings.Contains(s.prompt, "The author of the pull request has closed the conversation.") {
		t.Errorf("the prompt doesn't tell who closed what:\n%s", s.earlier())
	}
	wantStates(t, r, map[string]finding.State{one: finding.Answered, two: finding.Retained, three: finding.Retained,
		four: finding.Waived})
	if r.Own != sentinel.RequestChanges || r.Counted() != 2 ||
		!strings.Contains(s.text(t), "high · still open · in doubt") {
		t.Errorf(
			"own %s from %d findings, want request_changes from the third, and from the second, of which the model forgot to speak", r.Own, r.Counted())
	}

	// At last all is fixed, or explained.
	s.push(t, changing(two))
	r = s.round(t, j, nil)
	if r.Own != sentinel.Approved || r.Event != sentinel.Approved {
		t.Errorf("%+v", r)
	}
	status, message := s.pull.TryMerge(t, s.maintainer)
	if status != 200 {
		t.Errorf("merging answers %d %s", status, message)
	}
}

// New findings of a round that edits the verdict in place stand inline in a
// review that only comments; the gate doesn't notice.
func TestNewFindingsOfAPatchedRound(t *testing.T) {
	t.Parallel()
	for _, place := range []reviewer.Inline{reviewer.InlineReview, reviewer.InlineAttach, reviewer.InlineBody} {
		t.Run(string(place), func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			j := s.job(t).with("REVIEW_BOT_INLINE", string(place))
			s.round(t, j, nil, s.on(t, "code(5)"))
			s.push(t, onTop(1))
			r := s.round(t, j, []string{"Trouble with code(5)"}, s.on(t, "code(8)"), s.on(t, "code(9)"))
			wantStates(t, r, map[string]finding.State{"code(5)": finding.Retained, "code(8)": finding.New, "code(9)": finding.New})
			reviews := s.pull.Reviews(t)
			if place == reviewer.InlineBody {
				if len(reviews) != 1 || !strings.Contains(s.text(t), "Trouble with code(9)\n\nIt breaks.") {
					t.Errorf("%d reviews, and the body is\n%s", len(reviews), s.text(t))
				}
			} else {
				slices.SortFunc(reviews, func(a, b giteatest.Review) int { return int(a.ID - b.ID) })
				if len(reviews) != 2 || reviews[1].State != "COMMENT" || reviews[1].CommentsCount != 2 || reviews[1].CommitID != r.Head {
					t.Fatalf("want one more review that comments, with two inline: %+v", reviews)
				}
				if _, sent, err := sentinel.Split(reviews[1].Body); err != nil || sent.Kind != sentinel.KindFindings || sent.Role != "logic" {
					t.Errorf("%v\n%s", err, reviews[1].Body)
				}
				s.conversation(t, "code(8)")
			}
			s.pull.Review(t, s.maintainer, giteatest.ReviewInput{Event: "APPROVED"})
			if status, message := s.pull.TryMerge(t, s.maintainer); status != 405 || message != "There are requested changes" {
				t.Errorf("merging answers %d %s, want the block to hold", status, message)
			}
			// They are remembered wherever they stand, and closed like any other.
			s.push(t, changing("code(5)", "code(8)"))
			r = s.round(t, j, []string{"Trouble with code(9)"})
			wantStates(t, r, map[string]finding.State{"code(5)": finding.Resolved, "code(8)": finding.Resolved, "code(9)": finding.Retained})
		})
	}
}

// Without a complete answer nothing is closed and nothing is said.
func TestABrokenAnswerClosesNothing(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.round(t, s.job(t), nil, s.on(t, "code(5)"), s.on(t, "code(9)"))
	s.push(t, onTop(3))
	before := s.text(t)
	for name, reply := range map[string]modeltest.Reply{
		"broken": {Content: `{"summary":"S","findings":[],"retained":[}`}, "cut short": {Content: `{"summary":"S","findings":[],"reta`, FinishReason: "length"},
	} {
		srv := model(t, modeltest.ByMatch(modeltest.Match{Reply: reply}))
		e := s.bench.job(s.pull, srv, "logic").run(t)
		if e.status != 1 {
			t.Errorf("%s: exit status %d\n%s%s", name, e.status, e.stdout, e.stderr)
		}
		e.errorLine(t)
		if by := s.resolved(t, "code(5)") + s.resolved(t, "code(9)"); by != "" || s.text(t) != before || len(s.pull.Reviews(t)) != 1 {
			t.Errorf("%s: resolved by %q, and the body is\n%s", name, by, s.text(t))
		}
	}
}
