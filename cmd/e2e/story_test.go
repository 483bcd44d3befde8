package e2e

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
)

// A pull request from its opening to its merge, in three roles of which two share an
// account: security blocks, a push mends it, a re-run changes nothing.
func TestStory(t *testing.T) {
	t.Parallel()
	var fixed atomic.Bool
	var asked sync.WaitGroup
	asked.Add(len(roles))
	blocked, cleared := make(chan struct{}), make(chan struct{})
	s := newStage(t, func(r modeltest.Request) modeltest.Reply {
		role := roleOf(r)
		if !fixed.Load() {
			// All are asked before one gets an answer: the jobs run side by side.
			asked.Done()
			asked.Wait()
		}
		if role == "sonnet" {
			// Security is first: then sonnet's approval is held, and the block that it posts
			// for that is no longer in force when sonnet comes again.
			first := blocked
			if fixed.Load() {
				first = cleared
			}
			select {
			case <-first:
			case <-r.Context().Done():
			}
		}
		if role == "security" && !fixed.Load() {
			return answer(critical("query.go", 3, "var query = input"))
		}
		return answer()
	})

	// (a) Security blocks.
	pull := s.open(t, giteatest.Files(map[string]string{"query.go": "package app\n\nvar query = input\n"}))
	s.await(t, "security requests changes", func() bool { return latest(t, pull, s.sonnet).State == "REQUEST_CHANGES" })
	close(blocked)
	run := s.ended(t, pull.Head)
	if run.Conclusion != "failure" {
		t.Errorf("the run that blocks is a %s", run.Conclusion)
	}
	if n := s.model.Count(); n != len(roles) {
		t.Errorf("the model was asked %d times, want once for each role", n)
	}
	gpt, shared := verdicts(t, pull, s.gpt), verdicts(t, pull, s.sonnet)
	if len(gpt) != 1 || gpt[0].State != "APPROVED" {
		t.Errorf("verdicts of the account gpt: %+v, want one approval", gpt)
	}
	if !slices.ContainsFunc(shared, func(r giteatest.Review) bool {
		return r.State == "REQUEST_CHANGES" && strings.Contains(r.Body, "<!-- review-bot:sonnet ") && strings.Contains(r.Body, " own=approved ")
	}) {
		t.Errorf("sonnet isn't held by security: %+v", shared)
	}
	blocks := slices.DeleteFunc(slices.Clone(shared), func(r giteatest.Review) bool { return r.State != "REQUEST_CHANGES" })
	if !slices.ContainsFunc(blocks, func(r giteatest.Review) bool { return strings.Contains(r.Body, "<!-- review-bot:security ") }) {
		t.Errorf("no review of security requests changes: %+v", shared)
	}
	// The checks hold it as well as the review, and the server names them first.
	if status, message := pull.TryMerge(t, s.owner); status != 405 || !strings.Contains(message, "required status checks") {
		t.Errorf("merging is answered %d %q, want a 405 about required status checks", status, message)
	}
	states := s.repo.CommitStatuses(t, pull.Head)
	// Sonnet's job fails too: its account holds the pull request.
	want := map[string]string{
		"review / reconcile (pull_request)": "success", check("gpt"): "success", check("sonnet"): "failure", check("security"): "failure",
	}
	if len(states) != len(want) {
		t.Errorf("commit statuses are %v, want %v", states, want)
	}
	for context, state := range want {
		if states[context] != state {
			t.Errorf("the status %q is %q, want %s; all: %v", context, states[context], state, states)
		}
	}
	for _, role := range roles {
		s.repo.SetStatus(t, pull.Head, check(role), "success")
	}
	if status, message := pull.TryMerge(t, s.owner); status != 405 || !strings.Contains(message, "requested changes") {
		t.Errorf("with green checks merging is answered %d %q, want a 405 about requested changes", status, message)
	}
	// What a later step reads, and what nobody may.
	log := s.repo.JobLog(t, job(t, s.repo, run.ID, "review (security) into main").ID)
	if line := "posted, request_changes, 1 findings, " + s.srv.URL + "/" + s.repo.FullName() + "/pulls/"; !strings.Contains(log, line) {
		t.Errorf("the later step doesn't say %q:\n%s", line, log)
	}
	s.noSecrets(t, run.ID)

	// (b) A push mends it. The block of security stays as it was: history.
	before := texts(t, pull)
	fixed.Store(true)
	sha := s.repo.Commit(t, "topic", "", giteatest.Files(map[string]string{"query.go": "package app\n\nconst query = \"all\"\n"}), "mend it")
	pull.Settle(t, sha)
	s.await(t, "security approves", func() bool { return latest(t, pull, s.sonnet).State == "APPROVED" })
	close(cleared)
	run = s.success(t, sha)
	for _, account := range []*giteatest.User{s.gpt, s.sonnet} {
		if last := latest(t, pull, account); last.State != "APPROVED" {
			t.Errorf("the last verdict of %s is %s", account.Name, last.State)
		}
	}
	after := texts(t, pull)
	for _, r := range blocks {
		if strings.Contains(r.Body, "<!-- review-bot:sonnet ") {
			// It was held by security's, and isn't any more: it says so no longer.
			if !strings.Contains(before[r.ID], "Held by security") || strings.Contains(after[r.ID], "Held by security") {
				t.Errorf("the notice on what was held is\n%s\nbefore:\n%s", after[r.ID], before[r.ID])
			}
			continue
		}
		if after[r.ID] != before[r.ID] {
			t.Errorf("review %d, a block that has ended, isn't what it was:\n%s\nbefore:\n%s", r.ID, after[r.ID], before[r.ID])
		}
	}
	for context, state := range s.repo.CommitStatuses(t, sha) {
		if state != "success" {
			t.Errorf("the status %q is %s", context, state)
		}
	}

	// (c) A re-run asks nobody and writes nothing.
	calls := s.model.Count()
	timeline := len(pull.Timeline(t))
	s.proxy.Reset()
	s.repo.Rerun(t, run.ID)
	s.awaitAttempt(t, run.ID, 2)
	if n := s.model.Count() - calls; n != 0 {
		t.Errorf("the re-run asked the model %d times", n)
	}
	if writes := s.proxy.Writes(); len(writes) != 0 {
		t.Errorf("the re-run wrote:\n%s", lines(writes))
	}
	if n := len(s.proxy.Requests()); n == 0 || len(pull.Timeline(t)) != timeline {
		t.Errorf("%d requests in the re-run; the timeline had %d entries and has %d", n, timeline, len(pull.Timeline(t)))
	}
	if final := texts(t, pull); !equal(final, after) {
		t.Errorf("the re-run changed reviews")
	}

	if status, message := pull.TryMerge(t, s.owner); status != 200 {
		t.Errorf("merging is answered %d %q in the end", status, message)
	}
}

// latest is the account's newest verdict, the zero Review if there is none.
func latest(t *testing.T, pull *giteatest.Pull, of *giteatest.User) (last giteatest.Review) {
	t.Helper()
	for _, r := range verdicts(t, pull, of) {
		if r.ID > last.ID {
			last = r
		}
	}
	return last
}

// awaitAttempt waits until every job of a run has ended at that attempt, with success.
func (s stage) awaitAttempt(t *testing.T, run, attempt int64) {
	t.Helper()
	err := s.poll(t, "all jobs have run again", func() (bool, error) {
		for _, j := range s.repo.Jobs(t, run) {
			if j.Attempt != attempt || j.Status != "completed" {
				return false, nil
			}
		}
		return true, nil
	})
	if got := s.awaitEnd(t, run); err != nil || got.Conclusion != "success" {
		t.Fatalf("%v; run %d is a %s\n%s", err, run, got.Conclusion, s.repo.Logs(t, run))
	}
}

// noSecrets checks that no log of the run tells a token or the model's key.
func (s stage) noSecrets(t *testing.T, run int64) {
	t.Helper()
	log := s.repo.Logs(t, run)
	for _, secret := range s.secrets {
		if strings.Contains(log, secret) {
			t.Errorf("a secret is in the log of run %d", run)
		}
	}
}

func equal(a, b map[int64]string) bool {
	if len(a) != len(b) {
		return false
	}
	for id, text := range a {
		if b[id] != text {
			return false
		}
	}
	return true
}

// A push while the model is still thinking cancels the run: its processes end and
// write nothing, and the new run reviews the new head.
func TestCancelled(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := newStage(t, func(r modeltest.Request) modeltest.Reply {
		if r.Number <= len(roles) {
			<-r.Context().Done() // thinks for ever
			return answer()
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return answer()
	})
	pull := s.open(t, giteatest.Files(map[string]string{"a.go": "package app\n"}))
	old := s.repo.AwaitRun(t, limit, pull.Head)
	s.await(t, "all roles ask the model", func() bool { return s.model.Count() == len(roles) })
	processes, err := s.runner.Processes("review-bot")
	if err != nil || len(processes) != len(roles) {
		t.Fatalf("%d processes of the bot, want %d (%v): %+v", len(processes), len(roles), err, processes)
	}

	// As the runner's own child the bot would be killed without a word.
	for _, p := range processes {
		if parent, err := p.Parent(); err != nil || strings.HasPrefix(filepath.Base(parent), "runner") {
			t.Errorf("the parent of the bot is %q (%v), want the step's shell", parent, err)
		}
	}

	sha := s.repo.Commit(t, "topic", "", giteatest.Files(map[string]string{"a.go": "package app\n\nvar b int\n"}), "on")
	s.await(t, "the old run is cancelled", func() bool { return s.repo.Run(t, old.ID).Conclusion == "cancelled" })
	cancelled := time.Now()
	s.await(t, "the old run's processes end", func() bool {
		return !slices.ContainsFunc(processes, giteatest.JobProcess.Alive)
	})
	if took := time.Since(cancelled); took > 30*time.Second {
		t.Errorf("the processes of a cancelled run ended after %s, want 5 s and what a loaded machine adds", took)
	} else {
		t.Logf("the processes of the cancelled run ended after %s", took)
	}
	s.await(t, "the new run asks the model", func() bool { return s.model.Count() == 2*len(roles) })
	if writes := s.proxy.Writes(); len(writes) != 0 {
		t.Errorf("a cancelled run wrote:\n%s", lines(writes))
	}

	close(release)
	s.success(t, sha)
	for _, r := range pull.Reviews(t) {
		if r.CommitID != sha {
			t.Errorf("review %d is of %s, want the new head %s", r.ID, r.CommitID, sha)
		}
	}
	if len(verdicts(t, pull, s.gpt)) != 1 || len(verdicts(t, pull, s.sonnet)) == 0 {
		t.Errorf("the new run left %+v", pull.Reviews(t))
	}
}

func (s stage) await(t *testing.T, what string, done func() bool) {
	t.Helper()
	if err := s.poll(t, what, func() (bool, error) { return done(), nil }); err != nil {
		for _, run := range s.repo.Runs(t, "") {
			t.Logf("run %d: %s %s\n%s", run.ID, run.Status, run.Conclusion, s.repo.Logs(t, run.ID))
		}
		t.Fatal(err)
	}
}

// A pull request from a fork gets no secrets: nothing is reviewed, the checks don't
// pass, and a comment that is no verdict says so.
func TestFork(t *testing.T) {
	t.Parallel()
	s := newStage(t, modeltest.Sequence())
	stranger := s.srv.NewUser(t, giteatest.Unique("stranger"))
	fork := s.repo.Fork(t, stranger)
	fork.Commit(t, "topic", "main", giteatest.Files(map[string]string{"a.go": "package app\n"}), "change")
	pull := s.repo.As(stranger).OpenPull(t, giteatest.PullOptions{Head: stranger.Name + ":topic"})
	run := s.repo.AwaitRun(t, limit, pull.Head)
	s.repo.ApproveRun(t, s.owner, run.ID)
	if run := s.ended(t, pull.Head); run.Conclusion != "failure" {
		t.Errorf("the run without secrets is a %s", run.Conclusion)
	}
	for _, role := range roles {
		log := s.repo.JobLog(t, job(t, s.repo, run.ID, "review ("+role+") into main").ID)
		if !strings.Contains(log, "no_secrets, none, 0 findings") {
			t.Errorf("the outputs of %s aren't those of a run without secrets:\n%s", role, log)
		}
	}
	if n := s.model.Count(); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	notices := 0
	for _, r := range pull.Reviews(t) {
		if r.State != "COMMENT" {
			t.Errorf("a %s of %s stands on the pull request", r.State, r.User.Login)
		}
	}
	for _, e := range pull.Timeline(t) {
		if e.User.ID == -2 && (e.Type == "comment" || e.Type == "review") {
			notices++
			t.Logf("notice (%s): %s", e.Type, e.Body)
		}
	}
	if notices != 1 {
		t.Errorf("%d notices say that nothing was reviewed, want 1: %+v", notices, pull.Timeline(t))
	}
}

// A job that dies between the posting of its new verdict and the end of the old one:
// the reconcile job of the same run finishes its work.
func TestKilled(t *testing.T) {
	t.Parallel()
	var second atomic.Bool
	s := newStage(t, func(r modeltest.Request) modeltest.Reply {
		if second.Load() && roleOf(r) == "gpt" {
			return answer(critical("a.go", 3, "var b int"))
		}
		return answer()
	}, "REVIEW_BOT_LOCK_EXPIRE=4s", "REVIEW_BOT_LOCK_HOLD=2s")
	pull := s.open(t, giteatest.Files(map[string]string{"a.go": "package app\n"}))
	s.success(t, pull.Head)
	first := verdicts(t, pull, s.gpt)
	if len(first) != 1 || first[0].State != "APPROVED" {
		t.Fatalf("gpt's verdicts are %+v, want one approval", first)
	}

	second.Store(true)
	var killed, at atomic.Int32
	s.proxy.Reset()
	s.proxy.SetHook(func(r *giteatest.Request) *giteatest.Fault {
		if r.Method != "POST" || !strings.HasSuffix(r.Path, "/reviews") || !strings.Contains(string(r.Body), "review-bot:gpt v=") {
			return nil
		}
		at.Store(int32(r.N))
		return &giteatest.Fault{CutAfter: true, Forwarded: func(giteatest.Request) {
			processes, err := s.runner.Processes("review-bot")
			if err != nil {
				t.Error(err)
			}
			for _, p := range processes {
				if p.Env["REVIEW_BOT_ROLE"] == "gpt" {
					killed.Add(1)
					if err := p.Kill(); err != nil {
						t.Error(err)
					}
				}
			}
		}}
	})
	sha := s.repo.Commit(t, "topic", "", giteatest.Files(map[string]string{"a.go": "package app\n\nvar b int\n"}), "on")
	run := s.ended(t, sha)
	if killed.Load() != 1 {
		t.Fatalf("%d processes were killed, want 1\n%s", killed.Load(), s.repo.Logs(t, run.ID))
	}
	if j := job(t, s.repo, run.ID, "review (gpt) into main"); j.Conclusion != "failure" {
		t.Errorf("the killed job is a %s", j.Conclusion)
	}
	reconcile := job(t, s.repo, run.ID, "reconcile")
	if reconcile.Conclusion != "success" {
		t.Errorf("the reconcile job is a %s\n%s", reconcile.Conclusion, s.repo.JobLog(t, reconcile.ID))
	}
	// The new block stands, the old approval is superseded, and the lock is gone.
	list := verdicts(t, pull, s.gpt)
	if len(list) != 2 || !slices.ContainsFunc(list, func(r giteatest.Review) bool { return r.State == "REQUEST_CHANGES" && r.CommitID == sha }) {
		t.Errorf("gpt's verdicts are %+v, want the approval and a block", list)
	}
	if text := texts(t, pull)[first[0].ID]; !strings.Contains(text, "superseded") {
		t.Errorf("the old approval isn't superseded:\n%s\n%s", text, lines(s.proxy.Writes()))
	}
	var reactions []struct{ Content string }
	s.srv.Call(t, s.owner.Token, "GET", "/repos/"+s.repo.FullName()+"/issues/"+strconv.FormatInt(pull.Index, 10)+"/reactions", nil, &reactions)
	if len(reactions) != 0 {
		t.Errorf("the lock of the dead job is still there: %v", reactions)
	}
	if status, _ := pull.TryMerge(t, s.owner); status != 405 {
		t.Errorf("merging is answered %d", status)
	}
}
