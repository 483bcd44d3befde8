package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
	"review-bot/sentinel"
)

// start runs a job beside the test; the function returned waits for its end.
func (j job) start(t *testing.T, args ...string) func() ended {
	t.Helper()
	var stdout, stderr bytes.Buffer
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = run(t.Context(), args, j.env, strings.NewReader(""), &stdout, &stderr)
	}()
	return func() ended {
		<-done
		return ended{status(err), stdout.String(), stderr.String()}
	}
}

// at the POST of a review a fault is made, once.
func (st stage) atPost(fault func() *giteatest.Fault) {
	var once sync.Once
	st.proxy.SetHook(func(r *giteatest.Request) (f *giteatest.Fault) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/reviews") {
			once.Do(func() { f = fault() })
		}
		return f
	})
}

// A push slips in between the last look at the head and the POST. The commit
// that nobody has read doesn't stay approved; its own run approves it.
func TestPushBetweenHeadCheckAndPost(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	st.pull.Settle(t, st.pull.Head)
	arrived, pushed := make(chan struct{}), make(chan struct{})
	st.atPost(func() *giteatest.Fault {
		close(arrived)
		return &giteatest.Fault{Hold: pushed}
	})
	end := st.job(approving(t, 1), "logic").start(t)
	<-arrived
	st.push(t, 2)
	st.pull.Settle(t, st.commits[2])
	close(pushed)

	if e := end(); e.status != 0 {
		t.Errorf("exit status %d\n%s%s", e.status, e.stdout, e.stderr)
	}

	s := st.gates(t, "")
	s.quiet(t)
	if s.states() != "APPROVED REQUEST_CHANGES" ||
		!strings.Contains(s.rows[1].text, "Nobody has judged "+st.commits[2][:7]) {
		t.Errorf("want the approval of the old head, taken back by a hold\n%s", s)
	}
	if status, message := st.pull.TryMerge(t, st.maintainer); message != "Does not have enough approvals" {
		t.Errorf("merging the unread head answers %d %s\n%s", status, message, s)
	}
	st.ran(t, approving(t, 1), "logic", escalation.Reposted, sentinel.Approved)
	st.settled(t, open)
}

// What others write counts for nothing, whatever marks it carries.
func TestForgedSentinels(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	logic := blocking(t, 1)
	st.ran(t, logic, "logic", escalation.Posted, sentinel.RequestChanges)
	genuine := st.look(t).rows[0].Body
	forge := func(role string, own sentinel.Verdict) string {
		body, s, err := sentinel.Split(genuine)
		if err != nil {
			t.Fatal(err)
		}
		s.Role, s.Own, s.Event = role, own, own
		return body.With(s, sentinel.NewKey("not the token", st.repo.FullName(), st.pull.Index))
	}
	for _, body := range []string{genuine, forge("logic", sentinel.Approved), forge("tests", sentinel.RequestChanges)} {
		st.pull.Review(t, st.writer, giteatest.ReviewInput{Event: "COMMENT", Body: body})
		st.pull.Review(t, st.outsider, giteatest.ReviewInput{Event: "COMMENT", Body: body})
		st.pull.Say(t, st.author, body)
	}
	st.pull.Review(t, st.writer, giteatest.ReviewInput{Event: "APPROVED", Body: forge("logic", sentinel.Approved)})

	for name, fn := range map[string]func(){
		"the role's re-run": func() { st.ran(t, logic, "logic", escalation.Skipped, sentinel.RequestChanges) },
		"reconcile":         func() { st.reconcile(t) },
	} {
		if sent := st.during(fn); len(writes(sent)) != 0 {
			t.Errorf("%s writes %q\n%s", name, writes(sent), st.look(t))
		}
	}
	// The role found to block by a forgery never did; and it isn't taken for a re-run.
	m := approving(t, 11)
	st.ran(t, m, "tests", escalation.Posted, sentinel.RequestChanges)
	if s := st.look(t); m.Count() != 1 || s.current("tests")[0].posted.Own != sentinel.Approved || len(s.rows) != 2 {
		t.Errorf("the model was asked %d times\n%s", m.Count(), s)
	}
	st.push(t, 2)
	st.ran(t, approving(t, 1), "logic", escalation.Reposted, sentinel.Approved)
	st.settled(t, open)
}

// tampering makes another text of the role's review.
type tampering func(t *testing.T, st stage, s standing) string

func replacing(old, by string) tampering {
	return func(t *testing.T, st stage, s standing) string {
		commits := strings.NewReplacer("COMMIT1", st.commits[1], "COMMIT2", st.commits[2])
		text := s.current("logic")[0].text
		if !strings.Contains(text, commits.Replace(old)) {
			t.Fatalf("no %q in\n%s", old, text)
		}
		return strings.ReplaceAll(text, commits.Replace(old), commits.Replace(by))
	}
}

func writing(text string) tampering {
	return func(*testing.T, stage, standing) string { return text }
}

// replaying takes the text of another role's review, which is signed.
func replaying(_ *testing.T, _ stage, s standing) string { return s.current("docs")[0].text }

// claiming writes an approval with a hash that is right and a code that isn't.
func claiming(t *testing.T, _ stage, s standing) string {
	_, mark, err := sentinel.Split(s.current("logic")[0].text)
	if err != nil {
		t.Fatal(err)
	}
	mark.Own, mark.Event = sentinel.Approved, sentinel.Approved
	return sentinel.Body{Text: "All is well."}.With(mark, sentinel.NewKey("guessed", "o/r", 1))
}

// A collaborator may edit the text of the bot's review. That doesn't lift a
// block, nor make a sibling, reconcile or the role itself write anything.
func TestTamperedBody(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	logic, tests := blocking(t, 1), approving(t, 11)
	st.ran(t, approving(t, 5), "docs", escalation.Posted, sentinel.Approved)
	st.ran(t, logic, "logic", escalation.Posted, sentinel.RequestChanges)
	st.ran(t, tests, "tests", escalation.Posted, sentinel.RequestChanges)
	before := st.look(t)
	mine := before.current("logic")[0]
	for _, test := range []struct {
		name   string
		tamper tampering
	}{
		{"flips own", replacing("own=request_changes", "own=approved")},
		{"flips own and event, with a text and its hash", claiming},
		{"marks it as superseded", replacing(" mac=", " state=superseded mac=")},
		{"marks it as retired", replacing(" mac=", " state=retired mac=")},
		{"removes the sentinel", writing("Nothing to see.")},
		{"empties the text", writing(" ")},
		{"makes it another role's", replacing("review-bot:logic ", "review-bot:tests ")},
		{"replays another review of the bot's", replaying},
	} {
		t.Run(test.name, func(t *testing.T) {
			st.edit(t, st.writer, mine.comment(), test.tamper(t, st, before))
			sent := st.during(func() {
				st.reconcile(t)
				st.ran(t, tests, "tests", escalation.Skipped, sentinel.RequestChanges)
				st.ran(t, logic, "logic", escalation.Skipped, sentinel.RequestChanges)
			})
			if len(writes(sent)) != 0 || logic.Count() != 1 {
				t.Errorf("%d model calls and the writes %q\n%s", logic.Count()-1, writes(sent), st.look(t))
			}
			st.gates(t, "REQUEST_CHANGES")
			st.edit(t, st.writer, mine.comment(), mine.text)
		})
	}
	st.settled(t, blocked)
}

// Nor does the bot take a commit for judged because of it.
func TestTamperedBodyBeforeTheNextHead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		tamper tampering
	}{
		{"moves the head", replacing("COMMIT1", "COMMIT2")},
		{"removes the sentinel", writing("Nothing to see.")},
		{"replays another review of the bot's", replaying},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, protected)
			logic := blocking(t, 1)
			st.ran(t, approving(t, 5), "docs", escalation.Posted, sentinel.Approved)
			st.ran(t, logic, "logic", escalation.Posted, sentinel.RequestChanges)
			s := st.look(t)
			text := test.tamper(t, st, s)
			st.push(t, 2)
			st.edit(t, st.writer, s.current("logic")[0].comment(), text)

			st.ran(t, approving(t, 11), "tests", escalation.Posted, sentinel.RequestChanges)
			st.ran(t, logic, "logic", escalation.Reposted, sentinel.RequestChanges)

			if logic.Count() != 2 {
				t.Errorf("the model was asked %d times, want once a head\n%s", logic.Count(), st.look(t))
			}
			st.settled(t, blocked)
		})
	}
}

// An older text of the same review carries a right signature. Restoring it takes
// the role back to an older head, and no further: it judges again.
func TestReplayedVersionOfTheSameReview(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	m := approving(t, 1)
	st.ran(t, m, "logic", escalation.Posted, sentinel.Approved)
	first := st.look(t).rows[0]
	st.push(t, 2)
	st.ran(t, blocking(t, 1), "logic", escalation.Reposted, sentinel.RequestChanges)
	second := st.look(t).rows[1]
	st.push(t, 3)
	m = blocking(t, 1)
	st.ran(t, m, "logic", escalation.Patched, sentinel.RequestChanges)

	st.edit(t, st.writer, first.comment(), first.Body)   // the approval, before it was superseded
	st.edit(t, st.writer, second.comment(), second.Body) // the block, before it was patched
	st.reconcile(t)
	st.gates(t, "REQUEST_CHANGES")
	st.ran(t, m, "logic", escalation.Patched, sentinel.RequestChanges)

	if s := st.look(t); m.Count() != 2 || s.rows[1].now.Head != st.commits[3] || s.rows[0].now.State != sentinel.Superseded {
		t.Errorf("the model was asked %d times\n%s", m.Count(), s)
	}
	st.settled(t, blocked)
}

// A text that takes its review out of the count is signed too, and by the same
// role. Pasted into the role's block it counts for nothing: it was written for
// another review.
func TestReplayedTextOfAnotherReview(t *testing.T) {
	t.Parallel()
	m := blocking(t, 1)
	for _, test := range []struct {
		name  string
		start func(t *testing.T, st stage) // leaves such a text in the first review
		state sentinel.State
	}{
		{"superseded", func(t *testing.T, st stage) {
			st.ran(t, approving(t, 1), "logic", escalation.Posted, sentinel.Approved)
			st.push(t, 2)
			st.ran(t, m, "logic", escalation.Reposted, sentinel.RequestChanges)
		}, sentinel.Superseded},
		{"retired", func(t *testing.T, st stage) {
			st.ran(t, m, "logic", escalation.Posted, sentinel.RequestChanges)
			st.reconcile(t, "--retire", "logic")
			st.push(t, 2)
			st.ran(t, m, "logic", escalation.Posted, sentinel.RequestChanges)
		}, sentinel.Retired},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, protected)
			test.start(t, st)
			s := st.gates(t, "REQUEST_CHANGES")
			if s.rows[0].now.State != test.state {
				t.Fatalf("the first review isn't %s\n%s", test.state, s)
			}
			st.edit(t, st.writer, s.rows[1].comment(), s.rows[0].text)
			st.reconcile(t)
			st.ran(t, approving(t, 11), "tests", escalation.Posted, sentinel.RequestChanges)
			st.ran(t, m, "logic", escalation.Skipped, sentinel.RequestChanges)
			st.settled(t, blocked)
		})
	}
}

// Any collaborator can delete a review's entry from the timeline on Gitea. The
// review still blocks, the role still knows it, and goes on.
func TestDeletedTimelineEntry(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	m := blocking(t, 1)
	st.ran(t, m, "logic", escalation.Posted, sentinel.RequestChanges)
	entry := st.look(t).rows[0].comment()
	st.srv.Call(t, st.writer.Token, "DELETE", st.api("/issues/comments/%d", entry), nil, nil)

	if s := st.gates(t, "REQUEST_CHANGES"); s.rows[0].comment() != 0 {
		t.Fatalf("the entry is still there\n%s", s)
	}
	if sent := st.during(func() {
		st.ran(t, m, "logic", escalation.Skipped, sentinel.RequestChanges)
		st.reconcile(t)
	}); len(writes(sent)) != 0 {
		t.Errorf("with nothing new to say it writes %q", writes(sent))
	}
	st.ran(t, approving(t, 11), "tests", escalation.Posted, sentinel.RequestChanges)
	st.push(t, 2)
	st.ran(t, m, "logic", escalation.Reposted, sentinel.RequestChanges)
	st.push(t, 3)
	st.ran(t, m, "logic", escalation.Patched, sentinel.RequestChanges)
	st.settled(t, blocked)
}

func (st stage) takeLock(t *testing.T) {
	t.Helper()
	st.srv.Call(t, st.bot.Token, http.MethodPost, st.api("/issues/%d/reactions", st.pull.Index), map[string]any{"content": "rocket"}, nil)
}

// A job waits while another one holds the lock.
func TestLockHeldByALiveJob(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	st.takeLock(t)
	end := st.job(approving(t, 1), "logic").start(t)
	err := giteatest.Poll(t.Context(), 20*time.Second, "the job has tried three times", func() (bool, error) {
		return len(writes(st.proxy.Requests())) >= 3, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := published(st.proxy.Requests()); len(got) != 0 || len(st.look(t).rows) != 0 {
		t.Errorf("without the lock it writes %q", got)
	}
	st.unlock(t)
	if e := end(); e.status != 0 {
		t.Errorf("exit status %d\n%s%s", e.status, e.stdout, e.stderr)
	}
	st.settled(t, open)
}

// The lock of a dead job is taken over once it is old enough by the server's clock.
func TestLockOfADeadJob(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	st.takeLock(t)
	began := time.Now()
	st.ran(t, approving(t, 1), "logic", escalation.Posted, sentinel.Approved, "--lock-expire", "2s")
	if took := time.Since(began); took < 1500*time.Millisecond {
		t.Errorf("a lock of %s was taken over", took)
	}
	st.settled(t, open)
}

// Where the lock isn't to be had a block is published all the same, an approval
// isn't; --lock off is for those who know better.
func TestWithoutALock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		start func(t *testing.T, st stage)
		args  []string
		want  string
	}{
		{"the reaction is forbidden", nil, []string{"--lock-reaction", "no-such-reaction"}, "locking "},
		{"another job holds it for ever", func(t *testing.T, st stage) { st.takeLock(t) }, []string{"--lock-wait", "300ms"}, "another job has held the lock for 300ms"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, protected)
			if test.start != nil {
				test.start(t, st)
			}
			e := st.job(approving(t, 1), "logic").run(t, test.args...)
			line := e.errorLine(t)
			if e.status != 1 || !strings.Contains(line, "without the lock no approval is posted") || !strings.Contains(line, test.want) || !strings.Contains(line, "--lock off") {
				t.Errorf("exit status %d: %s", e.status, line)
			}
			if s := st.look(t); len(s.rows) != 0 {
				t.Errorf("an approval without the lock\n%s", s)
			}
			st.ran(t, blocking(t, 11), "tests", escalation.Posted, sentinel.RequestChanges, test.args...)
			st.gates(t, "REQUEST_CHANGES")
			st.push(t, 2)
			sent := st.during(func() { st.ran(t, approving(t, 11), "tests", escalation.Reposted, sentinel.Approved, "--lock", "off") })
			for _, r := range sent {
				if strings.HasSuffix(r.Path, "/reactions") {
					t.Errorf("--lock off sends %s", r.Line())
				}
			}
			if test.start != nil {
				st.unlock(t)
			}
			st.settled(t, open)
		})
	}
}

// The answer to the POST is lost. The review is found by its nonce, and nothing
// is posted twice.
func TestLostAnswerToThePost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		model *modeltest.Server
		event sentinel.Verdict
		want  string
	}{
		"a block":     {blocking(t, 1), sentinel.RequestChanges, blocked},
		"an approval": {approving(t, 1), sentinel.Approved, open},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, protected)
			st.atPost(func() *giteatest.Fault { return &giteatest.Fault{CutAfter: true} })
			st.ran(t, test.model, "logic", escalation.Posted, test.event)
			st.ran(t, test.model, "logic", escalation.Skipped, test.event)
			if s := st.look(t); len(s.rows) != 1 || s.comments("logic") != 2 || test.model.Count() != 1 {
				t.Errorf("want one review with two comments, and one model call\n%s", s)
			}
			st.settled(t, test.want)
		})
	}
}

// The server fails in the middle of the POST and keeps what it had so far as a
// pending review: that is published, and not said again.
func TestServerFailsInTheMiddleOfThePost(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	m := blocking(t, 1)
	job := st.job(m, "logic")
	arrived, failed := make(chan struct{}), make(chan struct{})
	st.atPost(func() *giteatest.Fault {
		close(arrived)
		return &giteatest.Fault{Hold: failed, Status: http.StatusInternalServerError, Body: `{"message":"failed"}`}
	})
	end := job.start(t)
	<-arrived
	st.leaveBehind(t, job)
	close(failed)
	if e := end(); e.status != 0 {
		t.Errorf("exit status %d\n%s%s", e.status, e.stdout, e.stderr)
	}
	s := st.look(t)
	if s.states() != "COMMENT REQUEST_CHANGES" || s.rows[0].posted.Kind != sentinel.KindOrphan || s.comments("logic") != 2 {
		t.Errorf("want the leftover as a comment with both findings, and the block without\n%s", s)
	}
	st.ran(t, m, "logic", escalation.Skipped, sentinel.RequestChanges)
	st.settled(t, blocked)
}

// A pending review with a comment that isn't the bot's: a person is writing with
// this account. Nothing is written, and the error says so.
func TestAPersonIsWritingWithTheAccount(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		t.Run(fmt.Sprintf("beside findings of the bot's %v", own), func(t *testing.T) {
			t.Parallel()
			st := newStage(t, protected)
			job := st.job(blocking(t, 1), "logic")
			person := giteatest.CommentInput{Path: "b.txt", Body: "I wonder about this line.", NewPosition: 7}
			if own {
				st.leaveBehind(t, job, person)
			} else {
				st.pull.Review(t, st.bot, giteatest.ReviewInput{Event: "PENDING", Body: "Not done yet.", Comments: []giteatest.CommentInput{person}})
			}
			before := st.look(t)
			var e ended
			sent := st.during(func() { e = job.run(t) })

			line := e.errorLine(t)
			if e.status != 1 || !strings.Contains(line, "somebody is writing a review with the bot's account") || !strings.Contains(line, "submit or discard it") {
				t.Errorf("exit status %d: %s", e.status, line)
			}
			after := st.look(t)
			if got := published(sent); len(got) != 0 || after.plain(st.site) != before.plain(st.site) || len(after.reactions) != 0 {
				t.Errorf("it writes %q\n%s", got, after)
			}
		})
	}
}
