package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/thread"
)

// triageOf is a triage that says the same of every conversation of a list.
func triageOf(list thread.List, class thread.Classification) thread.Triage {
	t := thread.Triage{Scan: list.Scan, Threads: []thread.Judgement{}}
	for _, c := range list.Threads {
		t.Threads = append(t.Threads, thread.Judgement{
			ThreadID: c.ID, Classification: class, Confidence: 0.9, Reason: "It says so.", RecommendedAction: "See to it.",
			FilesToInspect: []string{c.Path}, FilesToChange: []string{}, ChecksToRun: []string{}, ReplyBody: "",
			CanResolveAfterChecks: class != thread.NeedsHuman, RequiresHumanDecision: class == thread.NeedsHuman,
		})
	}
	return t
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A triage is checked against what is listed, and tells how far the work is.
func TestThreadsTriage(t *testing.T) {
	t.Parallel()
	s := newTalks(t, map[string]string{"README.md": "x\n"}, map[string]string{"a.go": fileOf(sourceLines("a", 30))}, "alice")
	ids := s.review(t, "alice", giteatest.CommentInput{Path: "a.go", NewPosition: 3}, giteatest.CommentInput{Path: "a.go", NewPosition: 7}, giteatest.CommentInput{Path: "a.go", NewPosition: 9})
	j := s.as(s.author)
	list := j.list(t, 0)
	listed := list.Threads
	// A token that may read does.
	reading := j.with("GITEA_TOKEN", s.srv.NewToken(t, s.author, "read:repository", "read:issue", "read:user")).list(t, 0)
	if diff := gocmp.Diff(listed, reading.Threads); diff != "" || len(listed) != 3 {
		t.Errorf("%d listed; with a reading token:\n%s", len(listed), diff)
	}
	path := filepath.Join(t.TempDir(), "triage.json")

	phase := func(want thread.Phase, classes ...thread.Classification) thread.List {
		t.Helper()
		triage := triageOf(list, thread.Stale)
		for i, class := range classes {
			triage.Threads[i] = triageOf(list, class).Threads[i]
		}
		writeJSON(t, path, triage)
		l := j.list(t, 0, "--payload", path)
		if l.Phase != want {
			t.Errorf("%v: phase %s, want %s", classes, l.Phase, want)
		}
		return l
	}
	phase(thread.InTriage)
	phase(thread.Fixing, thread.Valid)
	l := phase(thread.Blocked, thread.Valid, thread.NeedsHuman)
	if l.Triage == nil || *l.Triage != (thread.Tally{Valid: 1, Stale: 1, NeedsHuman: 1, HumanDecisions: 1}) {
		t.Errorf("%+v", l.Triage)
	}
	if e := j.run(t, "threads", "--payload", path); !strings.HasSuffix(e.stdout, "\ntriage: 1 valid, 0 invalid, 1 stale, 0 already fixed, 1 for people\n") {
		t.Errorf("%s", e.stdout)
	}

	// What doesn't fit is named with its place, for people and for programs.
	triage := triageOf(list, thread.Valid)
	triage.Threads[1].Confidence = 7
	triage.Threads[2].Reason = "SECRET " + strings.Repeat("x", 3000)
	writeJSON(t, path, triage)
	e := j.run(t, "threads", "--payload", path)
	if e.status != 2 || !strings.HasPrefix(e.errorLine(t), "review-bot: "+path+": 2 problems, first $.threads[1].confidence: ") || strings.Count(e.stdout, "\n") != 2 || strings.Contains(e.stdout+e.stderr, "SECRET") {
		t.Errorf("exit status %d\n%s%s", e.status, e.stdout, e.stderr)
	}
	if e := j.run(t, "threads", "--payload", "-"); e.status != 2 || !strings.HasPrefix(e.errorLine(t), "review-bot: -: 1 problem, first $: ") { // it is empty
		t.Errorf("exit status %d\n%s%s", e.status, e.stdout, e.stderr)
	}
	unknown := triageOf(list, thread.Valid)
	unknown.Threads[0].ThreadID.Root += 1_000_000
	writeJSON(t, path, unknown)
	e = j.run(t, "threads", "--json", "--payload", path)
	var told rejection
	if err := json.Unmarshal([]byte(e.stdout), &told); err != nil || e.status != 2 || told.File != path || len(told.Problems) != 2 {
		t.Fatalf("exit status %d, %v\n%s", e.status, err, e.stdout)
	}
	for i, want := range []string{
		"$.threads: leaves out selected conversations: " + ids[0].String(),
		"$.threads[0].thread_id: " + unknown.Threads[0].ThreadID.String() + " is no conversation of the pull request",
	} {
		if told.Problems[i].String() != want {
			t.Errorf("%s, want %s", told.Problems[i], want)
		}
	}

	// Everything is resolved.
	for _, id := range ids {
		s.pull.Resolve(t, s.author, id.Root)
	}
	if l := j.list(t, 0); l.Phase != thread.Verified || len(l.Threads) != 0 {
		t.Errorf("phase %s, %d listed", l.Phase, len(l.Threads))
	}
}

// A valid triage and a valid payload of 60 conversations pass, from a list of 60.
func TestSixtyConversations(t *testing.T) {
	t.Parallel()
	s := newTalks(t, map[string]string{"README.md": "x\n"}, map[string]string{"a.go": fileOf(sourceLines("a", 70))}, "alice")
	var places []giteatest.CommentInput
	for i := range 60 {
		places = append(places, giteatest.CommentInput{Path: "a.go", NewPosition: int64(i + 1)})
	}
	ids := s.review(t, "alice", places...)
	j := s.as(s.author)
	dir := t.TempDir()
	triage, payload := filepath.Join(dir, "triage.json"), filepath.Join(dir, "payload.json")
	writeJSON(t, triage, triageOf(j.list(t, 0, "--max-threads", "60"), thread.AlreadyFixed))
	if l := j.list(t, 0, "--max-threads", "60", "--payload", triage); l.Triage == nil || l.Triage.AlreadyFixed != 60 {
		t.Errorf("%+v", l.Triage)
	}
	var items []thread.Item
	for _, id := range ids {
		items = append(items, thread.Item{ThreadID: id, Classification: thread.AlreadyFixed, Verification: []string{"read it"}, ChecksRun: []string{}, FixSummary: "It is."})
	}
	writeJSON(t, payload, thread.Settlement{Items: items})
	r, _ := j.settled(t, 0, "settle", "--json", "--payload", payload, "--triage", triage)
	if len(r.Items) != 60 || r.Items[59].ThreadID != ids[59] || r.ForgeRequests > 15 {
		t.Errorf("%d items, %d requests", len(r.Items), r.ForgeRequests)
	}
}

// Outside of a job the pull request is that of the branch which is checked out.
func TestPullRequestOfTheBranch(t *testing.T) {
	t.Parallel()
	s := newTalks(t, map[string]string{"README.md": "x\n"}, map[string]string{"a.go": "x\n"}, "alice")
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", s.branch)
	threads := func(status int, want string, args ...string) {
		t.Helper()
		j := s.as(s.author).with("REVIEW_BOT_PR", "")
		cmd, out := process{theProgram(t), j}.command(t, append([]string{"threads"}, args...)...)
		cmd.Dir = dir
		_ = cmd.Run() // its status is looked at
		if got := cmd.ProcessState.ExitCode(); got != status || !strings.Contains(out.String(), want) {
			t.Errorf("exit status %d, want %d, and %q in\n%s", got, status, want, out)
		}
	}
	threads(0, fmt.Sprintf("%s#%d at ", s.repo.FullName(), s.pull.Index))
	// The same branch into another one: two pull requests, told apart by nothing.
	s.repo.Commit(t, "release", "main", nil, "release")
	second := s.repo.As(s.author).OpenPull(t, giteatest.PullOptions{Head: s.branch, Base: "release"})
	threads(2, fmt.Sprintf("have a branch %s: #%d, #%d — give --pr N", s.branch, s.pull.Index, second.Index))
	threads(0, fmt.Sprintf("#%d at ", second.Index), "--pr", fmt.Sprint(second.Index))
	second.Close(t)
	threads(0, fmt.Sprintf("#%d at ", s.pull.Index))
	// Anybody may have a fork with such a branch; that of the repository is meant.
	alice := s.people["alice"]
	fork := s.repo.Fork(t, alice)
	forked := fork.Commit(t, s.branch, "main", giteatest.Files(map[string]string{"b.go": "x\n"}), "another change")
	third := s.repo.As(alice).OpenPull(t, giteatest.PullOptions{Head: alice.Name + ":" + s.branch})
	threads(0, fmt.Sprintf("#%d at ", s.pull.Index))
	s.pull.Close(t)
	threads(2, "the branch "+s.branch+" has no open pull request")
	// In a clone of the fork, it is.
	git("fetch", "-q", fork.CloneURL(), s.branch)
	git("reset", "-q", "--hard", "FETCH_HEAD")
	threads(0, fmt.Sprintf("#%d at %.7s", third.Index, forked))
	git("tag", s.branch) // makes git's short name of the branch a longer one
	threads(0, fmt.Sprintf("#%d at ", third.Index))
	git("checkout", "-q", "-b", "elsewhere")
	threads(2, "the branch elsewhere has no open pull request in "+s.repo.FullName()+" — give --pr N")
	git("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "--allow-empty", "-m", "x")
	git("checkout", "-q", "--detach")
	threads(2, "no pull request is given, and no branch is checked out here — give --pr N")
}
