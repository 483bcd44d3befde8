package reviewer_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
	"review-bot/sentinel"
)

// followUps is a story whose model says what a test has it say, and keeps all
// earlier findings but those that were fixed.
type followUps struct {
	*story
	t     *testing.T
	file  []string // lines of the file under review
	says  []prompts.Finding
	fixed string // a finding whose title has this isn't kept
}

const followedFile = "app.go"

func newFollowUps(t *testing.T) *followUps {
	s := &followUps{story: newStory(t, forgetest.Options{Protection: &forgetest.Protection{BlockOnRejected: true}}), t: t}
	for i := range 20 {
		s.file = append(s.file, fmt.Sprintf("code(%d)", i+1))
	}
	s.answer = func(req prompts.Request) prompts.Answer {
		a := prompts.Answer{Findings: s.says, Retained: []string{}}
		for _, m := range earlierHeading.FindAllStringSubmatch(req.System+req.Material+req.Task, -1) {
			if s.fixed == "" || !strings.Contains(m[0], s.fixed) {
				a.Retained = append(a.Retained, m[1])
			}
		}
		return a
	}
	return s
}

var earlierHeading = regexp.MustCompile(`(?ms)^## ([0-9a-f]{8}) · .*?<<<end`)

// push changes one line of the file, or adds one at its end.
func (s *followUps) push(line int, text string) {
	for len(s.file) <= line {
		s.file = append(s.file, fmt.Sprintf("code(%d)", len(s.file)+1))
	}
	s.file[line] = text
	s.forge.Advance(3 * time.Second)
	s.forge.Push("author", map[string]string{followedFile: strings.Join(s.file, "\n") + "\n"})
}

func (s *followUps) on(line int, severity prompts.Severity) prompts.Finding {
	return prompts.Finding{
		Path: followedFile, Side: "new", Line: line + 1, Quote: s.file[line], Severity: severity, Category: "logic",
		Title: "Trouble with " + s.file[line], Body: "It breaks.",
	}
}

// review runs the role, two rounds and then two follow-ups at most, with a model
// that finds that.
func (s *followUps) review(found ...prompts.Finding) reviewer.Result {
	s.t.Helper()
	s.says = found
	s.forge.Advance(3 * time.Second)
	r := s.mustRun(func(set *reviewer.Settings) { set.MaxRounds, set.MaxFollowUps = 2, 2 })
	s.forge.Advance(3 * time.Second)
	return r
}

// blocked is a role that has had its rounds.
func (s *followUps) blocked() {
	s.t.Helper()
	for i := range 2 {
		s.push(i, fmt.Sprintf("bad(%d)", i))
		if r := s.review(s.on(i, prompts.High)); r.Own != sentinel.RequestChanges || r.Rounds != i+1 {
			s.t.Fatalf("round %d: %+v", i+1, r)
		}
	}
}

// want compares what a run ends with, and whether the model was asked.
func (s *followUps) want(r reviewer.Result, own, event sentinel.Verdict, outcome escalation.Outcome, asked int) {
	s.t.Helper()
	if r.Own != own || r.Event != event || outcome != "" && r.Outcome != outcome || r.ModelRequests != asked {
		s.t.Errorf("own %s, event %s, outcome %s, %d models asked; want %s, %s, %s, %d\nnotes %q\nlog:\n%s",
			r.Own, r.Event, r.Outcome, r.ModelRequests, own, event, outcome, asked, r.Notes, strings.Join(s.log, "\n"))
	}
}

// gate is what the merge check counts.
func (s *followUps) gate(want ...escalation.RowState) {
	s.t.Helper()
	got := map[escalation.RowState]bool{}
	for _, r := range s.rows() {
		if r.Official && !r.Dismissed && (r.State == escalation.RowApproved || r.State == escalation.RowRequestChanges) {
			got[r.State] = true
		}
	}
	for _, state := range want {
		if !got[state] {
			s.t.Errorf("the gate is %v, want %v", got, want)
		}
	}
	if len(got) != len(want) {
		s.t.Errorf("the gate is %v, want %v", got, want)
	}
}

func (s *followUps) rows() []reviewer.Row {
	s.t.Helper()
	rows, err := s.shared.As("bot").Reviews(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return rows
}

func (s *followUps) entries() []reviewer.Entry {
	s.t.Helper()
	entries, err := s.shared.As("bot").Timeline(s.t.Context(), time.Time{}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return entries
}

// text is the current text of the account's newest verdict.
func (s *followUps) text() (text string) {
	for _, e := range s.entries() {
		if _, k, err := sentinel.Split(e.Body); err == nil && k.Kind == sentinel.KindVerdict && k.State == sentinel.Live {
			text = e.Body
		}
	}
	return text
}

func (s *followUps) reads(parts ...string) {
	s.t.Helper()
	for _, part := range parts {
		if text := s.text(); !strings.Contains(text, part) {
			s.t.Errorf("the review lacks %q:\n%s", part, text)
		}
	}
}

// handOffs are the comments by which the role handed over.
func (s *followUps) handOffs() (list []string) {
	for _, e := range s.entries() {
		if _, ok := sentinel.FindHandoff(e.Body); ok {
			list = append(list, e.Body)
		}
	}
	return list
}

// block is the account's newest request for changes.
func (s *followUps) block() (block reviewer.Row) {
	for _, r := range s.rows() {
		if r.State == escalation.RowRequestChanges {
			block = r
		}
	}
	return block
}

// dismiss has a maintainer dismiss the account's newest request for changes.
func (s *followUps) dismiss(by string) {
	s.t.Helper()
	if err := s.forge.Dismiss(by, s.block().ID, "as is", false); err != nil {
		s.t.Fatal(err)
	}
}

// A fix by hand opens the gate after the rounds, and nits don't shut it again.
func TestAFixOpensTheGateAfterTheRounds(t *testing.T) {
	s := newFollowUps(t)
	s.blocked()
	s.push(0, "good(0)")
	s.push(1, "good(1)")
	s.fixed = "Trouble"
	r := s.review(s.on(0, prompts.Medium), s.on(1, prompts.Low))
	s.want(r, sentinel.Approved, sentinel.Approved, escalation.Reposted, 1)
	s.gate(escalation.RowApproved)
	s.reads("follow-up 1 of 2", "2 minor findings withheld: the role has had its rounds.")
	if len(s.handOffs()) != 0 || r.Counted() != 0 {
		t.Errorf("%q, %d findings", s.handOffs(), r.Counted())
	}
	// A head that comes after an approval is looked at in full.
	s.push(5, "more()")
	r = s.review(s.on(5, prompts.Medium))
	s.want(r, sentinel.Approved, sentinel.Approved, escalation.Patched, 1)
	if r.Counted() != 1 || strings.Contains(s.text(), "withheld") {
		t.Errorf("%d findings\n%s", r.Counted(), s.text())
	}
	// Also where that was the last follow-up.
	s.push(5, "evil()")
	s.want(s.review(s.on(5, prompts.High)), sentinel.RequestChanges, sentinel.RequestChanges, escalation.Reposted, 1)
	s.gate(escalation.RowRequestChanges)
}

// Three trivial blocks buy nobody a push that isn't read.
func TestAFollowUpBlocksForWhatChanged(t *testing.T) {
	s := newFollowUps(t)
	s.blocked()
	s.push(0, "good(0)")
	s.push(1, "evil(1)")
	s.fixed = "bad("
	s.want(s.review(s.on(1, prompts.High)), sentinel.RequestChanges, sentinel.RequestChanges, "", 1)
	s.gate(escalation.RowRequestChanges)
	s.reads("round 3: follow-up 1 of 2", "1 finding blocks")

	// It hands over, once, and links the review that gates.
	list := s.handOffs()
	if len(list) != 1 || !strings.Contains(list[0], "](https://forge.example/owner/app/pulls/1#issuecomment-"+
		fmt.Sprint(s.block().CommentID)+")") ||
		!strings.Contains(list[0], "evil(1)") || strings.Contains(list[0], "bad(") ||
		!strings.Contains(list[0], "1 more push is looked at") {
		t.Errorf("%q", list)
	}
	s.want(s.review(), sentinel.RequestChanges, sentinel.RequestChanges, escalation.Skipped, 0)
	s.push(2, "more()")
	s.want(s.review(), sentinel.RequestChanges, sentinel.RequestChanges, "", 1)
	s.reads("round 4: follow-up 2 of 2")

	// No more follow-ups: the verdict stays.
	s.push(3, "more()")
	for range 2 {
		s.want(s.review(), sentinel.RequestChanges, sentinel.RequestChanges, escalation.Capped, 0)
	}
	s.gate(escalation.RowRequestChanges)
	if got := s.handOffs(); len(got) != 1 {
		t.Errorf("%d hand-offs: %q", len(got), got)
	}
}

// What would block in code that did not change doesn't shut the door again, and the
// role doesn't approve over it, however often it is run.
func TestWhatWouldBlockInOldCodeIsNeverApproved(t *testing.T) {
	s := newFollowUps(t)
	s.blocked()
	s.push(0, "good(0)")
	s.push(1, "good(1)")
	s.fixed = "bad("
	s.want(s.review(s.on(3, prompts.High)), sentinel.Comment, sentinel.None, escalation.Reposted, 1)
	s.gate()
	s.reads("follow-up 1 of 2", "Trouble with code(4)", "1 finding is in code that did not change since the last look",
		"doesn't approve either")
	s.want(s.review(), sentinel.Comment, sentinel.None, escalation.Skipped, 0)
	s.push(9, "more()")
	s.want(s.review(), sentinel.Comment, sentinel.None, escalation.Patched, 1)
	s.gate()

	// A maintainer's look is a full one: what blocks counts.
	s.must(s.forge.RemoveRequest("owner", "bot")) // the account's own, by which it took the block back
	s.must(s.shared.As("owner").RequestReview(t.Context(), "bot"))
	s.want(s.review(), sentinel.RequestChanges, sentinel.RequestChanges, escalation.Reposted, 1)
	s.gate(escalation.RowRequestChanges)
}

func (s *followUps) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// capped is a role that has had its rounds and its follow-ups, at a head that it
// didn't look at.
func (s *followUps) capped() {
	s.t.Helper()
	s.blocked()
	for i := range 3 {
		s.push(10+i, "more()")
		r := s.review()
		if (r.Outcome == escalation.Capped) != (i == 2) || r.Event != sentinel.RequestChanges {
			s.t.Fatalf("push %d after the rounds: %+v", i+1, r)
		}
	}
}

// Each way that the hand-off names works when it is tried, and the author's own
// acts buy one look at most.
func TestTheWaysOutOfTheCap(t *testing.T) {
	full := func(t *testing.T, s *followUps) {
		t.Helper()
		r := s.review(s.on(10, prompts.Low))
		s.want(r, sentinel.RequestChanges, sentinel.RequestChanges, "", 1)
		if r.Rounds != 1 || r.Counted() != 3 { // a minor finding counts again
			t.Errorf("%d rounds, %d findings", r.Rounds, r.Counted())
		}
	}
	for way, try := range map[string]func(*testing.T, *followUps){
		"a maintainer requests a review": func(t *testing.T, s *followUps) {
			s.must(s.shared.As("writer").RequestReview(t.Context(), "bot"))
			full(t, s)
		},
		"a maintainer closes and reopens": func(t *testing.T, s *followUps) {
			s.forge.Close("writer")
			s.forge.Reopen("writer")
			full(t, s)
		},
		"a maintainer approves": func(t *testing.T, s *followUps) {
			head, err := s.shared.As("writer").Pull(t.Context())
			s.must(err)
			_, err = s.shared.As("writer").PostReview(t.Context(),
				reviewer.NewReview{Event: sentinel.Approved, Commit: head.Head, Body: "Fine."})
			s.must(err)
			s.push(15, "more()")
			full(t, s)
		},
		"a maintainer dismisses": func(t *testing.T, s *followUps) {
			s.dismiss("owner")
			s.gate()
			r := s.review()
			s.want(r, sentinel.RequestChanges, sentinel.None, escalation.Waived, 1)
			s.gate()
		},
		"the author requests a review": func(t *testing.T, s *followUps) {
			s.must(s.shared.As("author").RequestReview(t.Context(), "bot"))
			r := s.review(s.on(10, prompts.Low))
			s.want(r, sentinel.RequestChanges, sentinel.RequestChanges, "", 1)
			s.gate(escalation.RowRequestChanges)
			if r.Counted() != 2 {
				t.Errorf("%d findings", r.Counted())
			}
			for range 2 { // and no more at this head
				s.must(s.shared.As("author").RequestReview(t.Context(), "bot"))
				s.forge.Close("author")
				s.forge.Reopen("author")
				s.want(s.review(), sentinel.RequestChanges, sentinel.RequestChanges, "", 0)
				s.gate(escalation.RowRequestChanges)
			}
		},
		"the author closes and reopens": func(t *testing.T, s *followUps) {
			s.forge.Close("author")
			s.forge.Reopen("author")
			r := s.review()
			s.want(r, sentinel.RequestChanges, sentinel.RequestChanges, "", 1)
			if r.Rounds == 1 {
				t.Error("the count began again")
			}
		},
	} {
		t.Run(way, func(t *testing.T) {
			s := newFollowUps(t)
			s.capped()
			try(t, s)
		})
	}
}

// A dismissal waives the findings that were open, at later heads too, and nothing
// that is found later.
func TestADismissalWaivesFindings(t *testing.T) {
	s := newFollowUps(t)
	s.push(0, "bad(0)")
	s.push(1, "bad(1)")
	s.want(s.review(s.on(0, prompts.High), s.on(1, prompts.Low)), sentinel.RequestChanges, sentinel.RequestChanges, "", 1)
	s.dismiss("owner")
	s.want(s.review(), sentinel.RequestChanges, sentinel.None, escalation.Waived, 0)

	s.push(8, "more()")
	r := s.review()
	s.want(r, sentinel.RequestChanges, sentinel.None, escalation.Waived, 1)
	s.gate()
	s.reads("**logic comments** · nothing open", "2 waived")
	if r.Counted() != 0 {
		t.Errorf("%d findings count", r.Counted())
	}
	s.want(s.review(), sentinel.RequestChanges, sentinel.None, escalation.Waived, 0)

	s.push(9, "evil()")
	s.want(s.review(s.on(9, prompts.High)), sentinel.RequestChanges, sentinel.RequestChanges, "", 1)
	s.gate(escalation.RowRequestChanges)
	s.reads("1 finding blocks", "Waived by a maintainer (2)")

	s.push(9, "good()")
	s.fixed = "evil()"
	s.want(s.review(), sentinel.RequestChanges, sentinel.None, escalation.Waived, 1)
	s.gate()

	s.push(0, "good(0)")
	s.fixed = "bad(0)"
	s.want(s.review(), sentinel.Approved, sentinel.Approved, "", 1)
	s.gate(escalation.RowApproved)
}

// While the model is asked about a push a maintainer dismisses the block: what it
// then finds blocks all the same.
func TestADismissalWhileTheModelIsAsked(t *testing.T) {
	for _, anew := range []bool{false, true} {
		s := newFollowUps(t)
		s.push(0, "bad(0)")
		s.review(s.on(0, prompts.High))
		s.push(1, "bad(1)")
		answer, block := s.answer, s.block().ID
		s.answer = func(req prompts.Request) prompts.Answer {
			a := answer(req)
			if err := s.forge.Dismiss("owner", block, "as is", false); err != nil {
				t.Fatal(err)
			}
			return a
		}
		var found []prompts.Finding
		want := sentinel.None
		if anew {
			found, want = append(found, s.on(1, prompts.High)), sentinel.RequestChanges
		}
		s.want(s.review(found...), sentinel.RequestChanges, want, "", 1)
		s.answer = answer
		s.want(s.review(), sentinel.RequestChanges, want, "", 0)
	}
}

// A pull request that is too long to be read whole uses its rounds up all the same.
func TestAPartialReviewIsARound(t *testing.T) {
	s := newFollowUps(t)
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("big%d.go", i)] = numbered(fmt.Sprintf("text of file %d", i), 200)
	}
	s.forge.Push("author", files)
	few := func(set *reviewer.Settings) { set.MaxTokens, set.MaxCalls, set.MaxRounds = 20_000, 1, 1 }
	for range 2 {
		if r := s.mustRun(few, func(set *reviewer.Settings) { set.Force = true }); r.Own != sentinel.Comment ||
			r.Rounds != 1 {
			t.Errorf("own %s, %d rounds; want comment, 1\n%s", r.Own, r.Rounds, s.text())
		}
	}
	s.push(0, "more()")
	if r := s.mustRun(few); r.Own != sentinel.Comment || r.Rounds != 2 {
		t.Errorf("own %s, %d rounds; want comment, 2", r.Own, r.Rounds)
	}
	s.reads("follow-up 1")
}
