package giteatest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) {
	if os.Getenv("GITEATEST_CHILD") != "" {
		startAndHang()
	}
	os.Exit(Main(m))
}

func TestVersion(t *testing.T) {
	srv := Get(t)
	var got struct{ Version string }
	srv.Call(t, "", http.MethodGet, "/version", nil, &got)
	if got.Version != Version {
		t.Errorf("the server is version %q, want %q", got.Version, Version)
	}
	if Get(t) != srv {
		t.Error("a second Get returned another server")
	}
}

func TestTokenScopes(t *testing.T) {
	t.Parallel()
	srv := Get(t)
	ann := srv.NewUser(t, Unique("ann"))
	if ann.ID == 0 || srv.Admin.ID == 0 {
		t.Errorf("user ids %d and %d, want some", ann.ID, srv.Admin.ID)
	}
	repo := srv.NewRepo(t, ann, "app", RepoOptions{Private: true, Files: map[string]string{"a": "1\n"}})
	repo.Commit(t, "topic", "main", Files(map[string]string{"a": "2\n"}), "change a")
	pull := repo.OpenPull(t, PullOptions{Head: "topic"})
	timeline := repo.path("/issues/%d/timeline", pull.Index)

	code := srv.NewToken(t, ann, "write:repository")
	status, message := srv.Status(t, code, http.MethodGet, timeline, nil, nil)
	if status != 403 || !strings.Contains(message, "required scope") {
		t.Errorf("timeline with write:repository: %d %q, want a 403 about scopes", status, message)
	}
	srv.Call(t, srv.NewToken(t, ann, "write:issue"), http.MethodGet, timeline, nil, nil)
	srv.Call(t, code, http.MethodGet, pull.path(""), nil, nil)

	bob := srv.NewUser(t, Unique("bob"))
	if status, _ := srv.Status(t, bob.Token, http.MethodGet, pull.path(""), nil, nil); status != 404 {
		t.Errorf("a stranger's look at a private repository: %d, want 404", status)
	}
	repo.AddCollaborator(t, bob, "read")
	srv.Call(t, bob.Token, http.MethodGet, pull.path(""), nil, nil)
}

func TestCommits(t *testing.T) {
	t.Parallel()
	srv := Get(t)
	ann, bob := srv.NewUser(t, Unique("ann")), srv.NewUser(t, Unique("bob"))
	repo := srv.NewRepo(t, ann, "app", RepoOptions{})
	repo.AddCollaborator(t, bob, "write")
	binary := "\x00\x01\xff"
	first := repo.Commit(t, "main", "", Files(map[string]string{
		".gitignore": "*.log\n", "sub/old name.txt": "text\n", "tool.sh": "#!/bin/sh\n", "gone": "x\n", "ü\t\"q\".txt": "odd\n", "seen.log": "log\n",
	}), "first")
	second := repo.As(bob).Commit(t, "topic", "main", Edits(
		Files(map[string]string{"gone": Deleted, "data.bin": binary, "empty": ""}),
		Rename("sub/old name.txt", "other/new.txt"),
		Chmod("tool.sh", 0o755),
	), "second")

	tree := func(rev string) map[string]string {
		got := map[string]string{}
		for _, line := range strings.Split(strings.TrimSuffix(repo.Git(t, "ls-tree", "-rz", rev), "\x00"), "\x00") {
			meta, name, _ := strings.Cut(line, "\t")
			got[name] = strings.Fields(meta)[0]
		}
		return got
	}
	want := map[string]string{
		".gitignore": "100644", "other/new.txt": "100644", "tool.sh": "100755", "ü\t\"q\".txt": "100644",
		"seen.log": "100644", "data.bin": "100644", "empty": "100644",
	}
	if diff := cmp.Diff(want, tree(second)); diff != "" {
		t.Errorf("second commit's tree (-want +got):\n%s", diff)
	}
	var raw string
	srv.Call(t, ann.Token, http.MethodGet, repo.path("/raw/data.bin?ref=topic"), nil, &raw)
	if raw != binary {
		t.Errorf("the server has %q, want %q", raw, binary)
	}
	if got := repo.Git(t, "log", "-1", "--format=%an %cI", second); !strings.HasPrefix(got, bob.Name+" 2026-01-02T03:05:05") {
		t.Errorf("second commit is by %q, want %s a minute after the first", got, bob.Name)
	}

	third := repo.Commit(t, "topic", "", nil, "third, empty")
	if got := repo.SHA(t, "topic"); got != third {
		t.Errorf("topic is at %s, want %s", got, third)
	}
	repo.Push(t, second, "topic", true)
	if got := repo.SHA(t, "topic"); got != second {
		t.Errorf("after the forced push topic is at %s, want %s", got, second)
	}
	rewritten := repo.Rewrite(t, "topic", "main", Files(map[string]string{"b": "b\n"}), "again")
	if got := repo.SHA(t, "topic~1"); got != first {
		t.Errorf("the rewritten %s is on %s, want %s", rewritten, got, first)
	}
	base := repo.Commit(t, "main", "", Files(map[string]string{"c": "c\n"}), "news")
	merged := repo.Merge(t, "topic", "main")
	if got := repo.Git(t, "log", "-1", "--format=%P", merged); got != rewritten+" "+base {
		t.Errorf("the merge has parents %s, want %s %s", got, rewritten, base)
	}
}

func TestPushRefused(t *testing.T) {
	t.Parallel()
	srv := Get(t)
	ann, bob := srv.NewUser(t, Unique("ann")), srv.NewUser(t, Unique("bob"))
	repo := srv.NewRepo(t, ann, "app", RepoOptions{Files: map[string]string{"a": "1\n"}})
	err := Try(t.Context(), func(tb TB) { repo.As(bob).Commit(tb, "main", "", nil, "not mine") })
	if err == nil || !strings.Contains(err.Error(), "git push") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a push without rights: %v, want one line about the push", err)
	}
}

func TestPullsAndForks(t *testing.T) {
	t.Parallel()
	srv := Get(t)
	ann, bob := srv.NewUser(t, Unique("ann")), srv.NewUser(t, Unique("bob"))
	repo := srv.NewRepo(t, ann, "app", RepoOptions{Files: map[string]string{"a": "1\n"}})
	fork := repo.Fork(t, bob)
	head := fork.Commit(t, "topic", "main", Files(map[string]string{"a": "2\n"}), "change a")
	pull := repo.As(bob).OpenPull(t, PullOptions{Head: bob.Name + ":topic", Title: "from a fork", Body: "text"})
	if pull.Index != 1 || pull.Head != head {
		t.Errorf("pull %d at %s, want 1 at %s", pull.Index, pull.Head, head)
	}
	for _, step := range []struct {
		name string
		push func() string
	}{
		{"a commit", func() string { return fork.Commit(t, "topic", "", Files(map[string]string{"b": "b\n"}), "add b") }},
		{"a forced push of a new commit", func() string {
			return fork.Rewrite(t, "topic", "main", Files(map[string]string{"c": "c\n"}), "instead")
		}},
		{"a forced push back", func() string { fork.Push(t, head, "topic", true); return head }},
	} {
		sha := step.push()
		pull.Settle(t, sha)
		if state := pull.State(t); state.Head.SHA != sha || !state.Mergeable {
			t.Errorf("after %s: head %s, mergeable %v, want %s, true", step.name, state.Head.SHA, state.Mergeable, sha)
		}
	}
	pull.Close(t)
	if state := pull.State(t); state.State != "closed" || state.Merged {
		t.Errorf("closed pull: state %q, merged %v", state.State, state.Merged)
	}
	pull.Reopen(t)
	pull.Edit(t, "WIP: new title", "new text")
	if state := pull.State(t); state.State != "open" || !state.Draft || state.Body != "new text" {
		t.Errorf("reopened and edited pull: %+v", state)
	}
}

func TestUnmergeablePull(t *testing.T) {
	t.Parallel()
	srv := Get(t)
	ann := srv.NewUser(t, Unique("ann"))
	repo := srv.NewRepo(t, ann, "app", RepoOptions{Files: map[string]string{"a": "1\n"}})
	repo.Commit(t, "topic", "main", Files(map[string]string{"a": "2\n"}), "change a")
	repo.Commit(t, "main", "", Files(map[string]string{"a": "3\n"}), "change a too")
	pull := repo.OpenPull(t, PullOptions{Head: "topic", Unmergeable: true})
	if state := pull.State(t); state.Mergeable {
		t.Error("a pull request with a conflict is mergeable")
	}
}

func TestProtectionJudge(t *testing.T) {
	t.Parallel()
	srv := Get(t)
	ann, bob, eve := srv.NewUser(t, Unique("ann")), srv.NewUser(t, Unique("bob")), srv.NewUser(t, Unique("eve"))
	repo := srv.NewRepo(t, ann, "app", RepoOptions{Files: map[string]string{"a": "1\n"}})
	repo.AddCollaborator(t, bob, "write")
	repo.AddCollaborator(t, eve, "admin")
	repo.Protect(t, "main", Protection{BlockOnRejectedReviews: true, RequiredApprovals: 1, DismissStaleApprovals: true, StatusChecks: []string{"ci"}})
	repo.Commit(t, "topic", "main", Files(map[string]string{"a": "2\n"}), "change a")
	pull := repo.OpenPull(t, PullOptions{Head: "topic"})
	judge := func(want int, say string) {
		t.Helper()
		if status, message := pull.TryMerge(t, ann); status != want || !strings.Contains(message, say) {
			t.Errorf("merge: %d %q, want %d with %q", status, message, want, say)
		}
	}

	judge(405, "status")
	repo.SetStatus(t, pull.Head, "ci", "success")
	judge(405, "Does not have enough approvals")
	approval := pull.Review(t, bob, ReviewInput{Event: "APPROVED", Body: "good", CommitID: pull.Head})
	if !approval.Official || approval.User.Login != bob.Name {
		t.Errorf("approval: %+v, want an official one by %s", approval, bob.Name)
	}
	rejection := pull.Review(t, eve, ReviewInput{Event: "REQUEST_CHANGES", Body: "bad", Comments: []CommentInput{{Path: "a", Body: "why?", NewPosition: 1}}})
	judge(405, "There are requested changes")
	comments := pull.Comments(t, rejection.ID)
	if len(comments) != 1 || comments[0].Path != "a" || comments[0].Position != 1 {
		t.Fatalf("comments of the review: %+v, want one on line 1 of a", comments)
	}
	pull.Resolve(t, ann, comments[0].ID)
	if c := pull.Comments(t, rejection.ID)[0]; c.Resolver == nil || c.Resolver.Login != ann.Name {
		t.Errorf("resolver of the comment: %+v, want %s", c.Resolver, ann.Name)
	}
	pull.Dismiss(t, ann, rejection.ID, "never mind")

	second := repo.Commit(t, "topic", "", Files(map[string]string{"a": "3\n"}), "change a again")
	pull.Settle(t, second)
	repo.SetStatus(t, second, "ci", "success")
	err := Poll(t.Context(), time.Minute, "the push has dismissed the approval", func() (bool, error) {
		return slices.ContainsFunc(pull.Reviews(t), func(r Review) bool { return r.ID == approval.ID && r.Dismissed }), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	judge(405, "Does not have enough approvals")
	pull.RequestReview(t, ann, bob)
	pull.Review(t, bob, ReviewInput{Event: "APPROVED"})
	pull.Say(t, ann, "now then")
	judge(200, "")
	if !pull.State(t).Merged {
		t.Error("the merge was accepted and the pull request isn't merged")
	}

	var types []string
	for _, e := range pull.Timeline(t) {
		if len(e.Raw) == 0 || e.ID == 0 {
			t.Errorf("timeline entry without JSON or id: %+v", e)
		}
		types = append(types, e.Type)
	}
	for _, want := range []string{"pull_push", "review", "dismiss_review", "review_request", "comment", "merge_pull"} {
		if !slices.Contains(types, want) {
			t.Errorf("timeline has %q, want a %s among them", types, want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	srv := Get(t)
	ann := srv.NewUser(t, Unique("ann"))
	repo := srv.NewRepo(t, ann, "app", RepoOptions{Files: map[string]string{"a": "1\n"}})
	html := srv.Markdown(t, "**loud** <script>alert(1)</script> @"+ann.Name, repo)
	if !strings.Contains(html, "<strong>loud</strong>") || strings.Contains(html, "<script") || !strings.Contains(html, `href="`+srv.URL+`/`+ann.Name+`"`) {
		t.Errorf("rendered: %s", html)
	}
}

func TestTry(t *testing.T) {
	srv := Get(t)
	err := Try(t.Context(), func(tb TB) { srv.Call(tb, "", http.MethodGet, "/user", nil, nil) })
	var refused *APIError
	if !errors.As(err, &refused) || refused.Status != 401 {
		t.Errorf("GET /user as nobody: %v, want a 401", err)
	}
	if err := Try(t.Context(), func(tb TB) { srv.Call(tb, "", http.MethodGet, "/version", nil, nil) }); err != nil {
		t.Errorf("GET /version: %v", err)
	}
}

func TestBuildErrors(t *testing.T) {
	_, err := Build(t.Context(), t.TempDir(), nil)
	if err == nil || !strings.Contains(err.Error(), "repository's root") {
		t.Errorf("a build outside of the repository: %v, want an error about its root", err)
	}

	root := t.TempDir()
	module := filepath.Join(root, ".gitea", "instance")
	if err := os.MkdirAll(module, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.26\n", "go.sum": ""} {
		if err := os.WriteFile(filepath.Join(module, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var progress bytes.Buffer
	_, err = Build(t.Context(), root, &progress)
	if err == nil || !strings.Contains(err.Error(), "code.gitea.io/gitea") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a build that can't succeed: %v, want one line that names the package", err)
	}
	if !strings.Contains(progress.String(), "building Gitea") {
		t.Errorf("progress: %q", progress.String())
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	srv := Get(t)
	port, err := strconv.Atoi(srv.URL[strings.LastIndex(srv.URL, ":")+1:])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Port: port}); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a start on a taken port: %v", err)
	}
	for name, c := range map[string]struct {
		config string
		err    error
		say    string
	}{
		// What a start sees whose port is taken at the last moment, every time.
		"no port": {"[server]\nHTTP_PORT = " + strconv.Itoa(port), errNoListener, "address already in use"},
		"exit":    {"[DEFAULT]\nRUN_USER = nobody-here", errNoServer, "nobody-here"},
	} {
		_, err := Start(t.Context(), Options{Config: c.config})
		if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.say) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with the log's end: %q", name, err, c.say)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(canceled, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a start that was called off: %v", err)
	}
}

func TestKeptDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "kept")
	start := time.Now()
	first, err := Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %v", time.Since(start))
	ann := first.NewUser(t, "ann")
	first.NewRepo(t, ann, "app", RepoOptions{Files: map[string]string{"a": "1\n"}})
	if err := errors.Join(first.Close(), first.Close()); err != nil {
		t.Fatal(err)
	}

	second, err := Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	repo := second.Repo(t, ann, "app")
	repo.Commit(t, "main", "", Files(map[string]string{"a": "2\n"}), "after the restart")
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if !isFile(filepath.Join(dir, "gitea.db")) || isDir(second.scratch) {
		t.Error("Close must keep the directory given and remove its own")
	}
}

// startAndHang is the child of TestServerDiesWithItsParent.
func startAndHang() {
	srv, err := Start(context.Background(), Options{Dir: os.Getenv("GITEATEST_CHILD")})
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(os.Stdout, srv.URL+"\n")
	select {}
}

func TestServerDiesWithItsParent(t *testing.T) {
	t.Parallel()
	Get(t) // builds
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "GITEATEST_CHILD="+t.TempDir(), "TMPDIR="+t.TempDir())
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 200)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(string(line[:n])) + "/api/v1/version"
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // killed
	err = Poll(t.Context(), time.Minute, "the server is gone", func() (bool, error) {
		resp, err := client.Get(url)
		if err == nil {
			resp.Body.Close()
		}
		return err != nil, nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestConcurrentStarts(t *testing.T) {
	t.Parallel()
	Get(t)
	var wg sync.WaitGroup
	servers := make([]*Server, 3)
	for i := range servers {
		wg.Go(func() {
			var err error
			if servers[i], err = Start(t.Context(), Options{}); err != nil {
				t.Error(err)
				return
			}
			servers[i].NewUser(t, "ann")
		})
	}
	wg.Wait()
	for _, s := range servers {
		if s != nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
