package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"review-bot/reviewer/gitea/giteatest"
)

// The attacks share a repository and its people. Each case has branches of its own.
type arena struct {
	*site

	second *giteatest.User // a further account of bots
	root   string          // the commit that every base begins at

	mu    sync.Mutex
	crowd []*giteatest.User
	fork  *giteatest.Repo // of the outsider
}

var theArena struct {
	sync.Mutex
	arena *arena
}

// newArena makes the repository, or returns the one that is there.
func newArena(t *testing.T) *arena {
	t.Helper()
	theArena.Lock()
	defer theArena.Unlock()
	if theArena.arena != nil {
		return theArena.arena
	}
	srv := giteatest.Get(t)
	a := &arena{site: &site{}}
	a.srv = srv
	for name, to := range map[string]**giteatest.User{
		"owner": &a.owner, "bot": &a.bot, "second": &a.second, "maintainer": &a.maintainer,
		"author": &a.author, "writer": &a.writer, "outsider": &a.outsider,
	} {
		*to = srv.NewUser(t, giteatest.Unique(name))
	}
	a.repo = srv.NewRepo(t, a.owner, "arena", giteatest.RepoOptions{Files: map[string]string{
		"README.md": "A program.\n", "app.go": numbered(40, "\n"),
	}})
	a.root = a.repo.SHA(t, "main")
	a.quickHooks(t)
	without := map[string]any{"has_actions": false, "has_wiki": false, "has_projects": false}
	srv.Call(t, a.owner.Token, http.MethodPatch, a.api(""), without, nil)
	for user, permission := range map[*giteatest.User]string{
		a.bot: "write", a.second: "write", a.author: "write", a.writer: "write", a.maintainer: "admin",
	} {
		a.repo.AddCollaborator(t, user, permission)
	}
	for kind, rule := range map[string]giteatest.Protection{
		protected:  {RequiredApprovals: 1, BlockOnRejectedReviews: true},
		dismissing: {RequiredApprovals: 1, BlockOnRejectedReviews: true, DismissStaleApprovals: true},
	} {
		rule.AllowPush = true // a base moves on
		a.repo.Protect(t, kind+"-*", rule)
	}
	a.fork = a.repo.Fork(t, a.outsider)
	theArena.arena = a
	return a
}

// person is the user with that name in a case.
func (a *arena) person(t *testing.T, name string) *giteatest.User {
	t.Helper()
	u := map[string]*giteatest.User{
		"owner": a.owner, "bot": a.bot, "second": a.second, "maintainer": a.maintainer,
		"author": a.author, "writer": a.writer, "outsider": a.outsider,
	}[name]
	if u == nil {
		t.Fatalf("nobody is called %q", name)
	}
	return u
}

// people are n accounts without rights.
func (a *arena) people(t *testing.T, n int) []*giteatest.User {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.crowd) < n {
		a.crowd = append(a.crowd, a.srv.NewUser(t, giteatest.Unique("crowd")))
	}
	return a.crowd[:n]
}

// git runs git in the arena's clone, as a user of the server.
func (a *arena) git(t *testing.T, u *giteatest.User, stdin []byte, args ...string) string {
	t.Helper()
	login := base64.StdEncoding.EncodeToString([]byte(u.Name + ":" + u.Password))
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = a.repo.Dir()
	cmd.Env = append(os.Environ(),
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_COMMITTER_NAME="+u.Name, "GIT_COMMITTER_EMAIL="+u.Email(),
		"GIT_AUTHOR_NAME="+u.Name, "GIT_AUTHOR_EMAIL="+u.Email(),
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic "+login,
		"GIT_CONFIG_KEY_1=gc.auto", "GIT_CONFIG_VALUE_1=0",
	)
	cmd.Stdin = bytes.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("git %s as %s: %v: %s", strings.Join(args, " "), u.Name, err, stderr.String())
	}
	return strings.TrimSpace(stdout.String())
}

// commit makes a commit of these changes in the clone, with these parents.
func (a *arena) commit(t *testing.T, u *giteatest.User, files attackFiles, parents ...string) string {
	t.Helper()
	changes, err := files.fastImport()
	if err != nil {
		t.Fatal(err)
	}
	ref := "refs/attacks/" + giteatest.Unique("commit")
	var in bytes.Buffer
	fmt.Fprintf(&in, "commit %s\ncommitter %s <%s> now\ndata 6\nchange\nfrom %s\n", ref, u.Name, u.Email(), parents[0])
	for _, parent := range parents[1:] {
		fmt.Fprintf(&in, "merge %s\n", parent)
	}
	in.Write(changes)
	in.WriteString("\n")
	a.git(t, u, in.Bytes(), "fast-import", "--quiet", "--date-format=now", "--force")
	return a.git(t, u, nil, "rev-parse", ref)
}

// push makes branches on the server what commits are, all in one push.
func (a *arena) push(t *testing.T, u *giteatest.User, url string, branches map[string]string) {
	t.Helper()
	args := []string{"push", "-q", url}
	for branch, commit := range branches {
		args = append(args, "+"+commit+":refs/heads/"+branch)
	}
	a.git(t, u, nil, args...)
}
