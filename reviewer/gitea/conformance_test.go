package gitea_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"review-bot/reviewer"
	"review-bot/reviewer/diff"
	"review-bot/reviewer/forgetest"
	"review-bot/reviewer/gitea"
	"review-bot/reviewer/gitea/giteatest"
)

func TestMain(m *testing.M) { os.Exit(giteatest.Main(m)) }

// site is one repository for all benches, one after the other. A bench takes over
// the branches of the last one if they are as they were: making a branch costs the
// server more than all else.
type site struct {
	users map[string]*giteatest.User
	repo  *giteatest.Repo
	root  string // a commit without the files of the suite
	base  string
	head  string
	last  *realBench

	dialect forgetest.Dialect
}

var made struct {
	sync.Mutex
	site *site
}

func theSite(t giteatest.TB) *site {
	made.Lock()
	defer made.Unlock()
	if made.site != nil {
		return made.site
	}
	srv := giteatest.Get(t)
	s := &site{users: map[string]*giteatest.User{}, dialect: dialectOf(t, srv)}
	for _, a := range forgetest.DefaultAccounts() {
		s.users[a.Login] = srv.NewUser(t, giteatest.Unique(a.Login))
	}
	s.repo = srv.NewRepo(t, s.users["owner"], "app", giteatest.RepoOptions{Files: map[string]string{}})
	for _, a := range forgetest.DefaultAccounts() {
		switch a.Access {
		case forgetest.AccessWrite:
			s.repo.AddCollaborator(t, s.users[a.Login], "write")
		case forgetest.AccessRead:
			s.repo.AddCollaborator(t, s.users[a.Login], "read")
		case forgetest.AccessNone, forgetest.AccessAdmin:
		}
	}
	s.root = s.repo.SHA(t, "main")
	s.base = s.repo.Commit(t, "main", "", giteatest.Files(forgetest.BaseFiles()), "base")
	s.head = s.repo.Commit(t, "topic", "main", giteatest.Files(forgetest.HeadFiles()), "head")
	s.branch(t, "canary", s.root)
	made.site = s
	return s
}

// dialectOf is how the server behaves, by the version that it names.
func dialectOf(t giteatest.TB, srv *giteatest.Server) forgetest.Dialect {
	d := forgetest.DialectOf(srv.Version)
	t.Logf("the server is %s: %s", srv.Version, d.Name)
	return d
}

func (s *site) path(format string, args ...any) string {
	return "/repos/" + s.repo.FullName() + fmt.Sprintf(format, args...)
}

func (s *site) branch(t giteatest.TB, name, at string) {
	s.repo.Server.Call(t, s.repo.Owner.Token, http.MethodPost, s.path("/branches"),
		map[string]any{"new_branch_name": name, "old_ref_name": at}, nil)
}

// branches are two without a pull request and without a rule.
func (s *site) branches(t giteatest.TB) (base, topic string) {
	if old := s.last; old != nil && !old.moved && old.pull != nil {
		owner := s.users["owner"].Token
		s.repo.Server.Call(t, owner, http.MethodPatch, s.path("/pulls/%d", old.pull.Index), map[string]any{"state": "closed"}, nil)
		status, message := s.repo.Server.Status(t, owner, http.MethodDelete, s.path("/branch_protections/%s", old.base), nil, nil)
		if status/100 == 2 || status == http.StatusNotFound { // it had none
			return old.base, old.topic
		}
		t.Fatalf("removing the rule of %s: %d %s", old.base, status, message)
	}
	base, topic = giteatest.Unique("base"), giteatest.Unique("topic")
	s.branch(t, base, s.base)
	s.branch(t, topic, s.head)
	return base, topic
}

// realBench is a pull request on the test binary's Gitea, through the adapter.
type realBench struct {
	t           giteatest.TB
	site        *site
	pull        *giteatest.Pull
	base, topic string
	canary      *giteatest.Pull
	moved       bool // one of the branches was
}

var _ forgetest.Bench = (*realBench)(nil)

func newBench(t giteatest.TB, setup forgetest.Setup) *realBench {
	t.Helper()
	s := theSite(t)
	b := &realBench{t: t, site: s}
	b.base, b.topic = s.branches(t)
	s.last = b
	if p := setup.Protection; p != nil {
		rule := giteatest.Protection{
			RequiredApprovals: int64(p.RequiredApprovals), BlockOnRejectedReviews: p.BlockOnRejected,
			BlockOnOfficialReviewRequests: p.BlockOnRequests, DismissStaleApprovals: p.DismissStale, IgnoreStaleApprovals: p.IgnoreStale,
			AllowPush: true,
		}
		for _, name := range p.Whitelist {
			rule.ApprovalsWhitelist = append(rule.ApprovalsWhitelist, s.users[name].Name)
		}
		s.repo.Protect(t, b.base, rule)
	}
	author := setup.Author
	if author == "" {
		author = "author"
	}
	b.pull = s.repo.As(s.users[author]).OpenPull(t, giteatest.PullOptions{Head: b.topic, Base: b.base, Title: "pull topic"})
	return b
}

func (b *realBench) As(name string) reviewer.Forge {
	owner, repo, _ := strings.Cut(b.site.repo.FullName(), "/")
	return gitea.New(gitea.Config{
		Server: b.site.repo.Server.URL, Owner: owner, Name: repo, Number: b.pull.Index, Token: b.site.users[name].Token,
	})
}

func (b *realBench) Dialect() forgetest.Dialect { return b.site.dialect }

func (b *realBench) Login(name string) string { return b.site.users[name].Name }

// call sends a request of a person and returns its status, 200 for all successes.
func (b *realBench) call(by, method, path string, body any) int {
	status, _ := b.site.repo.Server.Status(b.t, b.site.users[by].Token, method, b.site.path("%s", path), body, nil)
	if status/100 == 2 {
		return http.StatusOK
	}
	return status
}

func (b *realBench) onPull(format string, args ...any) string {
	return fmt.Sprintf("/pulls/%d", b.pull.Index) + fmt.Sprintf(format, args...)
}

func (b *realBench) Push(by string, files map[string]string) string {
	return b.settled(func() string {
		return b.site.repo.As(b.site.users[by]).Commit(b.t, b.topic, "", edit(files), "push")
	})
}

// edit makes the files what their texts say, see [forgetest.Special].
func edit(files map[string]string) giteatest.Edit {
	return func(dir string) error {
		// A submodule that is checked out would be taken for what is in it.
		nested, err := filepath.Glob(filepath.Join(dir, "*", ".git"))
		for _, path := range nested {
			err = errors.Join(err, os.RemoveAll(path))
		}
		for name, text := range files {
			if err == nil {
				err = write(filepath.Join(dir, name), text)
			}
		}
		return err
	}
}

func write(path, text string) error {
	if err := os.RemoveAll(path); err != nil || text == forgetest.Gone {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	switch mode, content := forgetest.Plain(text); mode {
	case diff.ModeSymlink:
		return os.Symlink(content, path)
	case diff.ModeSubmodule: // all that git looks at in one
		return errors.Join(os.MkdirAll(filepath.Join(path, ".git", "refs"), 0o755),
			os.MkdirAll(filepath.Join(path, ".git", "objects"), 0o755),
			os.WriteFile(filepath.Join(path, ".git", "HEAD"), []byte(content+"\n"), 0o644))
	default:
		return os.WriteFile(path, []byte(content), os.FileMode(mode&0o777))
	}
}

func (b *realBench) Retarget(by, branch, at string) {
	b.moved = true
	name := giteatest.Unique(branch)
	b.site.branch(b.t, name, at)
	b.patch(by, map[string]any{"base": name})
}

func (b *realBench) MergeBase(by string, files map[string]string) string {
	b.moved = true
	b.site.repo.Commit(b.t, b.base, "", giteatest.Files(files), "news")
	return b.settled(func() string { return b.site.repo.As(b.site.users[by]).Merge(b.t, b.topic, b.base) })
}

// settled pushes and waits until the server has done all that it does in the
// background. It works off the pull requests of a branch one after the other, so
// a second one of the same branch, with a base that makes every push a change, is
// the canary: once a review there is stale, the first one is done.
func (b *realBench) settled(push func() string) string {
	b.moved = true
	repo, owner := b.site.repo, b.site.users["owner"]
	if b.canary == nil {
		var made giteatest.PullState
		repo.Server.Call(b.t, owner.Token, http.MethodPost, b.site.path("/pulls"), map[string]any{"head": b.topic, "base": "canary", "title": "canary"}, &made)
		b.canary = &giteatest.Pull{Repo: repo, Index: made.Number}
	}
	review := b.canary.Review(b.t, owner, giteatest.ReviewInput{Event: "COMMENT", Body: "canary"})
	sha := push()
	path := b.site.path("/pulls/%d/reviews/%d", b.canary.Index, review.ID)
	err := giteatest.Poll(b.t.Context(), 30*time.Second, "the server has worked off the push of "+sha, func() (bool, error) {
		var now giteatest.Review
		_, err := repo.Server.Do(b.t.Context(), owner.Token, http.MethodGet, path, nil, &now)
		return now.Stale, err
	})
	if err != nil {
		b.t.Fatalf("%v", err)
	}
	return sha
}

func (b *realBench) Dismiss(by string, review int64, message string, priors bool) int {
	return b.call(by, http.MethodPost, b.onPull("/reviews/%d/dismissals", review), map[string]any{"message": message, "priors": priors})
}

func (b *realBench) Undismiss(by string, review int64) int {
	return b.call(by, http.MethodPost, b.onPull("/reviews/%d/undismissals", review), nil)
}

func (b *realBench) RemoveRequest(by, name string) int {
	return b.call(by, http.MethodDelete, b.onPull("/requested_reviewers"), map[string]any{"reviewers": []string{b.Login(name)}})
}

func (b *realBench) BeginReview(by, body string) int {
	return b.call(by, http.MethodPost, b.onPull("/reviews"), map[string]any{"event": "PENDING", "body": body})
}

func (b *realBench) BeginComments(by, body string, comments int) int {
	list := make([]map[string]any, comments)
	for i := range list {
		list[i] = map[string]any{"path": "new.go", "new_position": 1, "body": body}
	}
	return b.call(by, http.MethodPost, b.onPull("/reviews"),
		map[string]any{"event": "LATER", "body": body, "comments": list})
}

func (b *realBench) DeleteEntry(by string, comment int64) int {
	return b.call(by, http.MethodDelete, fmt.Sprintf("/issues/comments/%d", comment), nil)
}

func (b *realBench) Resolve(by string, comment int64) int {
	return b.call(by, http.MethodPost, fmt.Sprintf("/pulls/comments/%d/resolve", comment), nil)
}

func (b *realBench) Unresolve(by string, comment int64) int {
	return b.call(by, http.MethodPost, fmt.Sprintf("/pulls/comments/%d/unresolve", comment), nil)
}

func (b *realBench) Reply(by string, comment int64, body string) int64 {
	return b.pull.Reply(b.t, b.site.users[by], comment, body)
}

func (b *realBench) Comment(by, body string) int64 { return b.pull.Say(b.t, b.site.users[by], body) }

func (b *realBench) patch(by string, body map[string]any) {
	if status := b.call(by, http.MethodPatch, b.onPull(""), body); status != http.StatusOK {
		b.t.Fatalf("%s: patching the pull request with %v: status %d", by, body, status)
	}
}

func (b *realBench) Close(by string)  { b.patch(by, map[string]any{"state": "closed"}) }
func (b *realBench) Reopen(by string) { b.patch(by, map[string]any{"state": "open"}) }
func (b *realBench) TryReopen(by string) int {
	return b.call(by, http.MethodPatch, b.onPull(""), map[string]any{"state": "open"})
}
func (b *realBench) SetTitle(by, title string) { b.patch(by, map[string]any{"title": title}) }

// Tick waits for the next second, which is what the server's times count in.
func (b *realBench) Tick() {
	now := time.Now()
	time.Sleep(now.Truncate(time.Second).Add(time.Second + 10*time.Millisecond).Sub(now))
}

func (b *realBench) Merge() (bool, string) {
	status, message := b.pull.TryMerge(b.t, b.site.users["owner"])
	b.moved = b.moved || status == http.StatusOK
	if _, reason, ok := strings.Cut(message, "[reason: "); ok { // Forgejo's words around the reason
		message = strings.TrimSuffix(reason, "]")
	}
	return status == http.StatusOK, message
}

func TestServerConforms(t *testing.T) {
	forgetest.Conformance(t, func(t forgetest.TB, s forgetest.Setup) forgetest.Bench { return newBench(t, s) })
}

// historiesEnv says how many random histories are compared; `make test` has
// histories. -rapid.seed repeats a run.
const (
	historiesEnv = "REVIEW_BOT_HISTORIES"
	histories    = "8"
	steps        = 12
)

// TestServerAndMemoryStayAlike runs random histories on the real server and on the
// forge in memory, and after each step compares all that the bot can read.
func TestServerAndMemoryStayAlike(t *testing.T) {
	count := os.Getenv(historiesEnv)
	if count == "" {
		count = histories
	}
	if n, err := strconv.Atoi(count); err != nil || n < 1 {
		t.Fatalf("%s=%q, want a number of histories", historiesEnv, count)
	}
	seed := flag.Lookup("rapid.seed").Value.String()
	if seed == "0" {
		seed = strconv.FormatUint(rand.Uint64(), 10)
	}
	setFlag(t, "rapid.checks", count)
	setFlag(t, "rapid.seed", seed)
	t.Logf("%s histories of %d steps, seed %s", count, steps, seed)
	rapid.Check(t, compareHistory)
}

func setFlag(t *testing.T, name, value string) {
	old := flag.Lookup(name).Value.String()
	t.Cleanup(func() { _ = flag.Set(name, old) })
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
}

func compareHistory(t *rapid.T) {
	intn := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
	setup := forgetest.RandomSetup(intn)
	theirs := newBench(t, setup)
	ours := forgetest.NewMemory(theirs.Dialect(), setup)
	real, err := forgetest.NewObserver(t.Context(), theirs)
	check(t, err)
	memory, err := forgetest.NewObserver(t.Context(), ours)
	check(t, err)
	history := fmt.Sprintf("%+v", setup)
	for n := range steps {
		step := forgetest.RandomStep(n, intn)
		want, err := step.Run(real)
		check(t, err)
		got, err := step.Run(memory)
		check(t, err)
		history += fmt.Sprintf("\n%s: %s", step, want)
		if got != want {
			t.Fatalf("%s\nthe forge in memory: %s", history, got)
		}
		wantSeen, err := real.Observe()
		check(t, err)
		gotSeen, err := memory.Observe()
		check(t, err)
		if diff := cmp.Diff(wantSeen, gotSeen); diff != "" {
			t.Fatalf("%s\n-real +memory\n%s", history, diff)
		}
	}
	p, err := ours.As("bot").Pull(t.Context())
	check(t, err)
	merged, reason := real.Bench.Merge()
	gotMerged, gotReason := memory.Bench.Merge()
	// What a server says about merging something closed is no business of the bot's.
	if merged != gotMerged || !p.Closed && reason != gotReason {
		t.Fatalf("%s\nmerged %t %q, the forge in memory: %t %q", history, merged, reason, gotMerged, gotReason)
	}
}

func check(t giteatest.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}
