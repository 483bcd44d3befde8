package gitea_test

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"review-bot/reviewer"
	"review-bot/reviewer/gitea"
	"review-bot/reviewer/gitea/giteatest"
)

func wantStatuses(t *testing.T, c *gitea.Client, commit string, want []reviewer.Status) {
	t.Helper()
	got, err := c.Statuses(t.Context(), commit)
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestStatusesOfARealCommit(t *testing.T) {
	t.Parallel()
	srv := giteatest.Get(t)
	ann := srv.NewUser(t, giteatest.Unique("ann"))
	repo := srv.NewRepo(t, ann, "statuses", giteatest.RepoOptions{Files: map[string]string{"a.txt": "a\n"}})
	base := repo.SHA(t, "main")
	head := repo.Commit(t, "topic", "main", giteatest.Files(map[string]string{"b.txt": "b\n"}), "b")
	c := clientOf(repo, ann, 1)
	if got, err := c.Statuses(t.Context(), head); len(got) != 0 || err != nil {
		t.Errorf("none: %v, %v", got, err)
	}
	post := func(sha, context, state, url string) {
		srv.Call(t, ann.Token, http.MethodPost, "/repos/"+repo.FullName()+"/statuses/"+sha, map[string]any{"context": context, "state": state, "target_url": url}, nil)
	}
	var want []reviewer.Status
	for _, state := range []string{"error", "failure", "pending", "skipped", "success", "warning"} {
		post(head, "ci / "+state, state, "http://ci/"+state)
		want = append(want, reviewer.Status{Context: "ci / " + state, State: state, URL: "http://ci/" + state})
	}
	post(base, "ci / base", "failure", "")
	wantStatuses(t, c, head, want)
	wantStatuses(t, c, base, []reviewer.Status{{Context: "ci / base", State: "failure"}})

	// What is replaced isn't there any more, whichever came first.
	for _, state := range []string{"pending", "success", "failure", "pending", "success"} {
		post(head, "again", state, "http://ci/again-"+state)
	}
	post(head, "ci / success", "failure", "")
	want = append([]reviewer.Status{{Context: "again", State: "success", URL: "http://ci/again-success"}}, want...)
	want[5] = reviewer.Status{Context: "ci / success", State: "failure"}
	wantStatuses(t, c, head, want)

	// More than two pages.
	for i := range 100 {
		post(head, fmt.Sprintf("many %03d", i), "success", "")
		want = append(want, reviewer.Status{Context: fmt.Sprintf("many %03d", i), State: "success"})
	}
	before := c.Requests()
	wantStatuses(t, c, head, want)
	if n := c.Requests() - before; n != 3+1+1 {
		t.Errorf("%d requests for 3 pages, the end and the first one again", n)
	}

	if _, err := c.Statuses(t.Context(), strings.Repeat("1", 40)); !errors.Is(err, reviewer.ErrNoCommit) {
		t.Errorf("an unknown commit: %v", err)
	}
	none := gitea.New(gitea.Config{Server: srv.URL, Owner: ann.Name, Name: "none", Number: 1, Token: ann.Token})
	if _, err := none.Statuses(t.Context(), head); err == nil || errors.Is(err, reviewer.ErrNoCommit) || !strings.Contains(err.Error(), "no such repository") {
		t.Errorf("no repository: %v", err)
	}
}

// A branch or tag with a commit's id for its name hides the commit's statuses:
// whoever may push could show another commit's green ones.
func TestStatusesOfABranchNamedLikeTheCommitAreNotTaken(t *testing.T) {
	t.Parallel()
	srv := giteatest.Get(t)
	ann, bob := srv.NewUser(t, giteatest.Unique("ann")), srv.NewUser(t, giteatest.Unique("bob"))
	repo := srv.NewRepo(t, ann, "named", giteatest.RepoOptions{Files: map[string]string{"a.txt": "a\n"}})
	repo.AddCollaborator(t, bob, "write")
	c := clientOf(repo, ann, 1)
	green := repo.SHA(t, "main")
	repo.SetStatus(t, green, "ci", "success")
	for _, kind := range []string{"branch", "tag"} {
		red := repo.Commit(t, "red-"+kind, "main", giteatest.Files(map[string]string{kind: "b\n"}), "b")
		repo.SetStatus(t, red, "ci", "failure")
		wantStatuses(t, c, red, []reviewer.Status{{Context: "ci", State: "failure"}})
		if kind == "branch" {
			repo.As(bob).Push(t, green, red, false)
		} else {
			srv.Call(t, bob.Token, http.MethodPost, "/repos/"+repo.FullName()+"/tags", map[string]any{"tag_name": red, "target": green}, nil)
		}
		var answer struct{ SHA, State string }
		srv.Call(t, ann.Token, http.MethodGet, "/repos/"+repo.FullName()+"/commits/"+red+"/status", nil, &answer)
		if answer.SHA != green || answer.State != "success" {
			t.Errorf("%s: the server doesn't do it any more: %+v", kind, answer)
		}
		got, err := c.Statuses(t.Context(), red)
		if len(got) != 0 || !errors.Is(err, reviewer.ErrAmbiguous) || !strings.HasSuffix(err.Error(), " — remove that branch or tag") {
			t.Errorf("%s: %v, %v", kind, got, err)
		}
	}
}

// twins are two commits on parent whose ids begin with the same 7 digits.
func twins(t *testing.T, repo *giteatest.Repo, parent string) (string, string) {
	t.Helper()
	tree := repo.Git(t, "rev-parse", parent+"^{tree}")
	seen := map[string]string{}
	for n := 0; ; n++ {
		text := fmt.Sprintf("tree %s\nparent %s\nauthor a <a@example.org> 1700000000 +0000\ncommitter a <a@example.org> 1700000000 +0000\n\n%d\n", tree, parent, n)
		id := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "commit %d\x00%s", len(text), text)))
		other, ok := seen[id[:7]]
		if !ok {
			seen[id[:7]] = text
			continue
		}
		var made []string
		for _, text := range []string{other, text} {
			path := filepath.Join(t.TempDir(), "commit")
			check(t, os.WriteFile(path, []byte(text), 0o600))
			made = append(made, repo.Git(t, "hash-object", "-t", "commit", "-w", path))
		}
		return made[0], made[1]
	}
}

func wantContained(t *testing.T, c *gitea.Client, head string, want map[string]bool, commits map[string]string) {
	t.Helper()
	for name, is := range want {
		if got, err := c.Contains(t.Context(), head, commits[name]); got != is || err != nil {
			t.Errorf("%s (%s) in %s: %t, %v", name, commits[name], head, got, err)
		}
	}
}

func TestContainsOnARealServer(t *testing.T) {
	t.Parallel()
	srv := giteatest.Get(t)
	ann := srv.NewUser(t, giteatest.Unique("ann"))
	repo := srv.NewRepo(t, ann, "contains", giteatest.RepoOptions{Files: map[string]string{"a.txt": "a\n"}})
	s := map[string]string{"root": repo.SHA(t, "main")}
	commit := func(branch, from, name string) {
		s[name] = repo.Commit(t, branch, from, giteatest.Files(map[string]string{name: name + "\n"}), name)
		s[name+" in short"], s[name+" in capitals"] = s[name][:7], strings.ToUpper(s[name])
	}
	commit("main", "", "base")
	commit("topic", "main", "dropped")
	pull := repo.OpenPull(t, giteatest.PullOptions{Head: "topic"})
	s["rewritten"] = repo.Rewrite(t, "topic", "main", giteatest.Files(map[string]string{"r": "r\n"}), "r")
	commit("topic", "", "ancestor")
	commit("sibling", "main", "sibling")
	commit("merged", "main", "merged")
	s["merge"] = repo.Merge(t, "topic", "merged")
	commit("main", "", "later base")
	one, two := twins(t, repo, s["merge"])
	repo.Push(t, one, "topic", false)
	repo.Push(t, two, "twin", false)
	s["twin"], s["other twin"], s["both twins"], s["twin in 9"] = one, two, one[:7], one[:9]
	commit("topic", "", "head")
	s["unknown"], s["unknown in short"] = strings.Repeat("1", 40), strings.Repeat("1", 8)
	s["a tree"], s["a blob"] = repo.Git(t, "rev-parse", s["head"]+"^{tree}"), repo.Git(t, "rev-parse", s["head"]+":a.txt")
	pull.Settle(t, s["head"])
	c := clientOf(repo, ann, pull.Index)
	wantContained(t, c, s["head"], map[string]bool{
		"head": true, "head in short": true, "head in capitals": true, "ancestor": true, "ancestor in short": true, "ancestor in capitals": true,
		"rewritten": true, "base": true, "base in short": true, "root": true, "merge": true, "merged": true, "merged in short": true, "twin": true, "twin in 9": true,
		"dropped": false, "dropped in short": false, "sibling": false, "sibling in short": false, "later base": false, "other twin": false,
		"both twins": false, "unknown": false, "unknown in short": false, "a tree": false, "a blob": false,
	}, s)
	wantContained(t, c, s["ancestor"], map[string]bool{"head": false, "head in short": false, "merged": false, "ancestor": true, "base": true}, s)
	before := c.Requests()
	wantContained(t, c, s["head"], map[string]bool{"root": true, "head": true}, s)
	if n := c.Requests() - before; n != 2 {
		t.Errorf("%d requests", n)
	}
	// A head that isn't there says nothing.
	if got, err := c.Contains(t.Context(), s["unknown"], s["root"]); got || err == nil {
		t.Errorf("in an unknown head: %t, %v", got, err)
	}
}

// A branch or tag that has a commit's id, or its begin, for its name; and git's own
// way to pass one commit off as another: whoever may push can make them. None
// makes a commit contained that isn't.
func TestContainsIsntFooledByNames(t *testing.T) {
	t.Parallel()
	srv := giteatest.Get(t)
	ann, bob := srv.NewUser(t, giteatest.Unique("ann")), srv.NewUser(t, giteatest.Unique("bob"))
	repo := srv.NewRepo(t, ann, "names", giteatest.RepoOptions{Files: map[string]string{"a.txt": "a\n"}})
	repo.AddCollaborator(t, bob, "write")
	s := map[string]string{"base": repo.SHA(t, "main")}
	s["head"] = repo.Commit(t, "topic", "main", giteatest.Files(map[string]string{"h": "h\n"}), "h")
	for _, name := range []string{"by branch", "by tag", "by short branch", "by short tag", "by the head's name", "by replacement"} {
		s[name] = repo.Commit(t, "away", "main", giteatest.Files(map[string]string{name: "x\n"}), name)
		s[name+" in short"] = s[name][:9]
	}
	evil := repo.As(bob)
	tag := func(name, at string) {
		srv.Call(t, bob.Token, http.MethodPost, "/repos/"+repo.FullName()+"/tags", map[string]any{"tag_name": name, "target": at}, nil)
	}
	// In `sha`: names of commits that lead to one that is contained.
	evil.Push(t, s["base"], s["by branch"], false)
	tag(s["by tag"], s["base"])
	evil.Push(t, s["base"], s["by short branch"][:9], false)
	tag(s["by short tag"][:9], s["base"])
	// In `not`: the head's id leads to a commit that contains all.
	evil.Push(t, s["by replacement"], s["head"], false)
	tag(s["head"], s["by replacement"])
	evil.Push(t, s["by replacement"], s["head"][:9], false)
	// git shows the head as the commit that contains all, unless it is told not to.
	evil.Git(t, "replace", s["head"], s["by replacement"])
	evil.Git(t, "push", "-q", strings.Replace(repo.CloneURL(), "://", "://"+bob.Name+":"+bob.Token+"@", 1), "refs/replace/*:refs/replace/*")

	for name := range s {
		if strings.HasPrefix(name, "by ") {
			if got, err := clientOf(repo, ann, 1).Contains(t.Context(), s["head"], s[name]); got || err != nil {
				t.Errorf("%s (%s): %t, %v", name, s[name], got, err)
			}
		}
	}
	// The names are there, and a request by a name follows them.
	var found struct{ SHA string }
	srv.Call(t, ann.Token, http.MethodGet, "/repos/"+repo.FullName()+"/git/commits/"+s["by short branch in short"], nil, &found)
	if found.SHA != s["base"] {
		t.Errorf("the server doesn't take a short id for a branch's name any more: %s", found.SHA)
	}
	wantContained(t, clientOf(repo, ann, 1), s["head"], map[string]bool{"base": true, "head": true}, s)
	if got := repo.Git(t, "ls-remote", strings.Replace(repo.CloneURL(), "://", "://"+bob.Name+":"+bob.Token+"@", 1), "refs/replace/*", s["head"]); strings.Count(got, "\n") != 2 {
		t.Errorf("refs %q, want the replacement, the branch and the tag", got)
	}
}

func TestAbilitiesOnARealServer(t *testing.T) {
	t.Parallel()
	srv := giteatest.Get(t)
	users := map[string]*giteatest.User{"administrator": srv.Admin}
	for _, name := range []string{"owner", "writer", "manager", "reader", "outsider"} {
		users[name] = srv.NewUser(t, giteatest.Unique(name))
	}
	repo := srv.NewRepo(t, users["owner"], "abilities", giteatest.RepoOptions{Files: map[string]string{"a.txt": "a\n"}})
	for name, permission := range map[string]string{"writer": "write", "manager": "admin", "reader": "read"} {
		repo.AddCollaborator(t, users[name], permission)
	}
	proxy := srv.NewProxy(t)
	defer proxy.Close()
	ask := func(token string) (reviewer.Abilities, error) {
		return gitea.New(gitea.Config{Server: proxy.URL, Owner: users["owner"].Name, Name: "abilities", Token: token}).Abilities(t.Context())
	}
	for name, writer := range map[string]bool{"owner": true, "writer": true, "manager": true, "administrator": true, "reader": false, "outsider": false} {
		got, err := ask(users[name].Token)
		if want := (reviewer.Abilities{Resolve: reviewer.Can, Reply: reviewer.Cannot, Writer: writer}); got != want || err != nil {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
	// Without read:user.
	for name, writer := range map[string]bool{"writer": true, "reader": false, "administrator": true} {
		got, err := ask(srv.NewToken(t, users[name], "write:repository"))
		if want := (reviewer.Abilities{Resolve: reviewer.Can, Reply: reviewer.Cannot, Writer: writer}); got != want || err != nil {
			t.Errorf("%s without read:user: %+v, %v; want %+v", name, got, err, want)
		}
	}
	if writes := proxy.Writes(); len(writes) != 0 {
		t.Errorf("written: %+v", writes)
	}
	none := gitea.New(gitea.Config{Server: srv.URL, Owner: users["owner"].Name, Name: "none", Token: users["owner"].Token})
	if _, err := none.Abilities(t.Context()); err == nil || !strings.Contains(err.Error(), "no such repository") {
		t.Errorf("no repository: %v", err)
	}
}

// talked is a pull request with an inline comment of writer's on each side.
func talked(t *testing.T) (pull *giteatest.Pull, owner, writer *giteatest.User, onNew, onOld reviewer.Comment) {
	t.Helper()
	srv := giteatest.Get(t)
	owner, writer = srv.NewUser(t, giteatest.Unique("owner")), srv.NewUser(t, giteatest.Unique("writer"))
	repo := srv.NewRepo(t, owner, "talk", giteatest.RepoOptions{Files: map[string]string{"dir/a b.go": "1\n2\n3\n"}})
	repo.AddCollaborator(t, writer, "write")
	repo.Commit(t, "topic", "main", giteatest.Files(map[string]string{"dir/a b.go": "1\nzwei\n3\n"}), "german")
	pull = repo.OpenPull(t, giteatest.PullOptions{Head: "topic"})
	review := pull.Review(t, writer, giteatest.ReviewInput{Event: "COMMENT", Body: "hm", Comments: []giteatest.CommentInput{
		{Path: "dir/a b.go", Body: "why?", NewPosition: 2}, {Path: "dir/a b.go", Body: "and this?", OldPosition: 2},
	}})
	for _, comment := range comments(t, pull, review.ID) {
		if comment.NewLine != 0 {
			onNew = comment
		} else {
			onOld = comment
		}
	}
	return pull, owner, writer, onNew, onOld
}

// comments are the adapter's, by their ids.
func comments(t *testing.T, pull *giteatest.Pull, review int64) []reviewer.Comment {
	t.Helper()
	list, err := clientOf(pull.Repo, pull.Repo.Owner, pull.Index).Comments(t.Context(), review)
	check(t, err)
	slices.SortFunc(list, func(a, b reviewer.Comment) int { return int(a.ID - b.ID) })
	return list
}

func TestReplyIsWhatGitea126Cant(t *testing.T) {
	t.Parallel()
	pull, owner, _, onNew, _ := talked(t)
	before := pull.Timeline(t)
	c := clientOf(pull.Repo, owner, pull.Index)
	id, err := c.Reply(t.Context(), onNew, "because")
	if id != 0 || !errors.Is(err, reviewer.ErrUnsupported) || errors.Is(err, reviewer.ErrUnknown) || c.Requests() != 2 {
		t.Errorf("%d, %v after %d requests", id, err, c.Requests())
	}
	if got := comments(t, pull, onNew.Review); len(got) != 2 || len(pull.Timeline(t)) != len(before) {
		t.Errorf("something was written: %+v", got)
	}
}

// Through a proxy that makes a server of the real one that can reply.
func TestReplyStandsInTheConversation(t *testing.T) {
	t.Parallel()
	for dialect, abilities := range map[giteatest.Dialect]reviewer.Abilities{
		giteatest.Replies:  {Resolve: reviewer.Can, Reply: reviewer.Can, Writer: true},
		giteatest.Attaches: {Resolve: reviewer.Cannot, Reply: reviewer.Can, Writer: true},
	} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			pull, owner, writer, onNew, onOld := talked(t)
			proxy := pull.Repo.Server.NewProxy(t)
			defer proxy.Close()
			proxy.SetHook(pull.Repo.Replies(t, dialect, owner, writer))
			client := func(u *giteatest.User) *gitea.Client {
				return gitea.New(gitea.Config{Server: proxy.URL, Owner: owner.Name, Name: "talk", Number: pull.Index, Token: u.Token})
			}
			c := client(owner)
			if got, err := c.Abilities(t.Context()); got != abilities || err != nil {
				t.Errorf("%+v, %v; want %+v", got, err, abilities)
			}
			made := map[int64]reviewer.Comment{}
			for i, to := range []reviewer.Comment{onNew, onOld, onNew} {
				id, err := c.Reply(t.Context(), to, fmt.Sprintf("because of <%d> & \"that\"", i))
				check(t, err)
				made[id] = to
			}
			id, err := client(writer).Reply(t.Context(), onOld, "I see")
			check(t, err)
			all := comments(t, pull, onNew.Review)
			if len(all) != 6 || len(made) != 3 || len(pull.Reviews(t)) != 1 {
				t.Errorf("comments %+v", all)
			}
			for _, got := range all[2:] {
				to, by := made[got.ID], owner
				if got.ID == id {
					to, by = onOld, writer
				}
				if got.Path != to.Path || got.NewLine != to.NewLine || got.OldLine != to.OldLine || got.Author != by.ID || got.Hunk != to.Hunk || got.Commit != to.Commit {
					t.Errorf("%+v is no reply to %+v by %s", got, to, by.Name)
				}
			}
			resolving := c.Resolve(t.Context(), onNew.ID, true)
			if errors.Is(resolving, reviewer.ErrUnsupported) != (abilities.Resolve == reviewer.Cannot) || (resolving == nil) != (abilities.Resolve == reviewer.Can) {
				t.Errorf("resolving: %v", resolving)
			}
			if _, err := c.Reply(t.Context(), reviewer.Comment{ID: onNew.ID + 1_000_000, Review: onNew.Review + 1_000_000, Path: onNew.Path, NewLine: 2}, "x"); !errors.Is(err, reviewer.ErrGone) {
				t.Errorf("to what isn't there: %v", err)
			}
			if _, err := c.Reply(t.Context(), reviewer.Comment{Review: onNew.Review, Path: onNew.Path, NewLine: 3}, "x"); dialect == giteatest.Attaches && !strings.Contains(err.Error(), "refuses it (422)") {
				t.Errorf("where no conversation is: %v", err)
			}
			stranger := gitea.New(gitea.Config{Server: proxy.URL, Owner: owner.Name, Name: "talk", Number: pull.Index, Token: "x"})
			if _, err := stranger.Reply(t.Context(), onNew, "x"); err == nil || !strings.Contains(err.Error(), "doesn't accept the token") {
				t.Errorf("by nobody: %v", err)
			}
			if n := len(comments(t, pull, onNew.Review)); n != 6 {
				t.Errorf("%d comments", n)
			}
		})
	}
}

// A reply whose answer is lost, and one that never came.
func TestReplyThroughFaults(t *testing.T) {
	t.Parallel()
	for _, dialect := range []giteatest.Dialect{giteatest.Replies, giteatest.Attaches} {
		pull, owner, _, onNew, _ := talked(t)
		proxy := pull.Repo.Server.NewProxy(t)
		defer proxy.Close()
		inner := pull.Repo.Replies(t, dialect, owner)
		for promise, tt := range map[string]struct {
			hook giteatest.Hook
			more int
		}{
			"lost": {func(r *giteatest.Request) *giteatest.Fault {
				if f := inner(r); f == nil || f.Status/100 != 2 {
					return f
				}
				return &giteatest.Fault{CutBefore: true}
			}, 1},
			"never came": {func(r *giteatest.Request) *giteatest.Fault {
				if strings.HasSuffix(r.Path, "/replies") && dialect == giteatest.Attaches {
					return inner(r)
				}
				return &giteatest.Fault{Status: http.StatusBadGateway}
			}, 0},
		} {
			before := len(comments(t, pull, onNew.Review))
			proxy.SetHook(tt.hook)
			c := gitea.New(gitea.Config{Server: proxy.URL, Owner: owner.Name, Name: "talk", Number: pull.Index, Token: owner.Token, Retries: 2})
			if _, err := c.Reply(t.Context(), onNew, "a secret"); !errors.Is(err, reviewer.ErrUnknown) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s, %s: %v", dialect, promise, err)
			}
			if got := comments(t, pull, onNew.Review); len(got) != before+tt.more {
				t.Errorf("%s, %s: %d more, want %d", dialect, promise, len(got)-before, tt.more)
			}
		}
	}
}

func TestOpenPullsOfABranch(t *testing.T) {
	t.Parallel()
	srv := giteatest.Get(t)
	ann, bob := srv.NewUser(t, giteatest.Unique("ann")), srv.NewUser(t, giteatest.Unique("bob"))
	repo := srv.NewRepo(t, ann, "pulls", giteatest.RepoOptions{Files: map[string]string{"a.txt": "a\n"}})
	topic := repo.Commit(t, "topic", "main", giteatest.Files(map[string]string{"b.txt": "b\n"}), "b")
	repo.Push(t, "main", "other-base", false)
	first := repo.OpenPull(t, giteatest.PullOptions{Head: "topic"})
	fork := repo.Fork(t, bob)
	forked := fork.Commit(t, "topic", "main", giteatest.Files(map[string]string{"c.txt": "c\n"}), "c")
	second := repo.As(bob).OpenPull(t, giteatest.PullOptions{Head: bob.Name + ":topic"})
	third := repo.OpenPull(t, giteatest.PullOptions{Head: "topic", Base: "other-base"})
	closed := repo.Commit(t, "closed", "main", giteatest.Files(map[string]string{"d.txt": "d\n"}), "d")
	repo.OpenPull(t, giteatest.PullOptions{Head: "closed"}).Close(t)
	// AGit: a pull request without a branch, and one whose branch was deleted.
	repo.Git(t, "push", "-q", strings.Replace(repo.CloneURL(), "://", "://"+ann.Name+":"+ann.Token+"@", 1), closed+":refs/for/main/agit")
	repo.Push(t, closed, "gone", false)
	repo.OpenPull(t, giteatest.PullOptions{Head: "gone"})
	srv.Call(t, ann.Token, http.MethodDelete, "/repos/"+repo.FullName()+"/branches/gone", nil, nil)

	c := gitea.New(gitea.Config{Server: srv.URL, Owner: ann.Name, Name: "pulls", Token: ann.Token})
	for branch, want := range map[string][]gitea.OpenPull{
		"topic":  {{Number: first.Index, Head: topic}, {Number: second.Index, Head: forked, Fork: true}, {Number: third.Index, Head: topic}},
		"closed": {}, "agit": {}, "gone": {}, "main": {}, "none": {}, "": {},
	} {
		got, err := c.OpenPulls(t.Context(), branch)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%q: %v (-want +got):\n%s", branch, err, d)
		}
	}
	if n := c.Requests(); n != 7 {
		t.Errorf("%d requests for 7 questions", n)
	}
}
