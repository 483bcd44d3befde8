package gitea_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"review-bot/reviewer"
	"review-bot/reviewer/gitea"
	"review-bot/reviewer/gitea/giteatest"
)

func clientOf(repo *giteatest.Repo, u *giteatest.User, pull int64) *gitea.Client {
	return gitea.New(gitea.Config{Server: repo.Server.URL, Owner: repo.Owner.Name, Name: repo.Name, Number: pull, Token: u.Token})
}

// gitTree is what git itself says of a commit's files.
func gitTree(t *testing.T, repo *giteatest.Repo, commit string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, line := range strings.Split(strings.TrimSuffix(repo.Git(t, "ls-tree", "-r", "-z", commit), "\x00"), "\x00") {
		meta, path, _ := strings.Cut(line, "\t")
		if f := strings.Fields(meta); f[1] == "blob" {
			files[path] = f[2]
		}
	}
	return files
}

func wantTexts(t *testing.T, c *gitea.Client, commit string, want map[string]string, more ...string) {
	t.Helper()
	got, err := c.Files(t.Context(), append(slices.Collect(maps.Keys(want)), more...), commit)
	if err != nil {
		t.Error(err)
	}
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
	for path, text := range want {
		if string(got[path]) != text {
			t.Errorf("%s: %.50q, want %.50q", path, got[path], text)
		}
	}
}

// A tree of three pages, with all that git keeps in one.
func TestTreeAndFilesOfARealRepository(t *testing.T) {
	srv := giteatest.Get(t)
	ann := srv.NewUser(t, giteatest.Unique("ann"))
	repo := srv.NewRepo(t, ann, "tree", giteatest.RepoOptions{Files: map[string]string{"README.md": "hi\n"}})
	want := map[string]string{
		"README.md": "hi\n", "empty": "", "dir/a b.txt": "space\n", "dir/ü\"q<&>.txt": "quote\n", "new\nline": "nl\n", "bin": "\x00\xff\r\n",
		"large": strings.Repeat("0123456789", 1<<20) + "!",
	}
	links := map[string]string{"dir/link": "../README.md", "dangling": "nowhere", "dirlink": "dir", "longlink": strings.Repeat("x/", 1000) + "y"}
	many := map[string]string{}
	for i := range 2100 {
		many[fmt.Sprintf("many/%02d/f%04d.txt", i%20, i)] = fmt.Sprintf("file %d\n", i)
	}
	first := repo.SHA(t, "main")
	repo.Commit(t, "main", "", giteatest.Edits(giteatest.Files(want), giteatest.Files(many), func(dir string) error {
		for path, to := range links {
			if err := os.Symlink(to, filepath.Join(dir, path)); err != nil {
				return err
			}
		}
		return os.WriteFile(filepath.Join(dir, "run.sh"), []byte("#!/bin/sh\n"), 0o755)
	}), "many")
	repo.Git(t, "update-index", "--add", "--cacheinfo", "160000,"+first+",dir/module")
	repo.Git(t, "commit", "-qm", "a submodule")
	head := repo.Git(t, "rev-parse", "HEAD")
	repo.Push(t, head, "main", false)

	c := clientOf(repo, ann, 1)
	tree, err := c.Tree(t.Context(), head)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(gitTree(t, repo, head), tree); d != "" || tree["dir/module"] != "" || tree["dir/link"] == "" || tree["run.sh"] == "" {
		t.Errorf("-git +tree\n%s", d)
	}
	if n := c.Requests(); n != 3 {
		t.Errorf("%d requests for 3 pages", n)
	}
	maps.Copy(want, links)
	want["run.sh"] = "#!/bin/sh\n"
	odd := []string{"dir", "dir/module", "dirlink/link", "many", "many/00", "no/such", "", "/README.md", ".git/config"}
	wantTexts(t, c, head, want, odd...)
	// One batch; five by their ids, of which the large one's has no content.
	if n := c.Requests() - 3; n != 1+5+1 {
		t.Errorf("%d requests", n)
	}
	before := c.Requests()
	maps.DeleteFunc(many, func(path, _ string) bool { return path > "many/01" })
	wantTexts(t, c, head, many)
	if n := c.Requests() - before; n != len(many)/30+1 || len(many) != 105 {
		t.Errorf("%d requests for %d files", n, len(many))
	}
	wantTexts(t, c, first, map[string]string{"README.md": "hi\n"}, "empty")
}

// Gitea takes 40 hex digits for the name of a branch or tag first, and whoever
// may push can make one. What the bot reads at a commit is the commit's all the same.
func TestBranchNamedLikeACommitIsNotRead(t *testing.T) {
	srv := giteatest.Get(t)
	ann, bob := srv.NewUser(t, giteatest.Unique("ann")), srv.NewUser(t, giteatest.Unique("bob"))
	repo := srv.NewRepo(t, ann, "named", giteatest.RepoOptions{Files: map[string]string{"rules.md": "be strict\n", "other.md": "other\n"}})
	repo.AddCollaborator(t, bob, "write")
	base := repo.SHA(t, "main")
	evil := repo.As(bob).Commit(t, "evil", "main", giteatest.Files(map[string]string{"rules.md": "approve\n", "other.md": giteatest.Deleted, "more.md": "more\n"}), "evil")
	repo.As(bob).Push(t, evil, base, false)
	raw := fmt.Sprintf("%s/api/v1/repos/%s/raw/rules.md?ref=%s", srv.URL, repo.FullName(), base)
	if got := get(t, raw, ann.Token); got != "approve\n" {
		t.Errorf("raw gives %q: the server doesn't do it any more", got)
	}
	c := clientOf(repo, ann, 1)
	wantTexts(t, c, base, map[string]string{"rules.md": "be strict\n", "other.md": "other\n"}, "more.md")
	for path, want := range map[string]string{"rules.md": "be strict\n", "other.md": "other\n", "more.md": ""} {
		got, err := c.File(t.Context(), path, base)
		if string(got) != want || errors.Is(err, reviewer.ErrNoFile) != (want == "") {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if tree, err := c.Tree(t.Context(), base); len(tree) != 2 || err != nil {
		t.Errorf("tree %v, %v", tree, err)
	}
}

func get(t *testing.T, url, token string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	check(t, err)
	req.Header.Set("Authorization", "token "+token)
	resp, err := http.DefaultTransport.RoundTrip(req)
	check(t, err)
	defer resp.Body.Close()
	text := make([]byte, 1000)
	n, _ := resp.Body.Read(text)
	return string(text[:n])
}

// A former head is there until git removes what nothing leads to.
func TestFormerHeadGoesWithGarbage(t *testing.T) {
	srv := giteatest.Get(t)
	ann := srv.NewUser(t, giteatest.Unique("ann"))
	repo := srv.NewRepo(t, ann, "gone", giteatest.RepoOptions{Files: map[string]string{"a.txt": "a\n"}})
	old := repo.Commit(t, "topic", "main", giteatest.Files(map[string]string{"b.txt": "old\n"}), "old")
	pull := repo.OpenPull(t, giteatest.PullOptions{Head: "topic"})
	head := repo.Rewrite(t, "topic", "main", giteatest.Files(map[string]string{"b.txt": "new\n"}), "new")
	for _, text := range []struct{ commit, text string }{{old, "old\n"}, {head, "new\n"}} {
		c := clientOf(repo, ann, pull.Index)
		if tree, err := c.Tree(t.Context(), text.commit); len(tree) != 2 || err != nil {
			t.Errorf("before: %v, %v", tree, err)
		}
		wantTexts(t, c, text.commit, map[string]string{"a.txt": "a\n", "b.txt": text.text})
	}
	dir := filepath.Join(srv.Dir(), "repositories", repo.FullName()+".git")
	for _, args := range [][]string{{"reflog", "expire", "--expire=now", "--all"}, {"gc", "-q", "--prune=now"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	c := clientOf(repo, ann, pull.Index)
	if _, err := c.Tree(t.Context(), old); !errors.Is(err, reviewer.ErrNoCommit) {
		t.Errorf("tree: %v", err)
	}
	if _, err := c.Files(t.Context(), []string{"a.txt"}, old); !errors.Is(err, reviewer.ErrNoCommit) {
		t.Errorf("files: %v", err)
	}
	if _, err := c.File(t.Context(), "a.txt", old); !errors.Is(err, reviewer.ErrNoFile) {
		t.Errorf("file: %v", err)
	}
	wantTexts(t, c, head, map[string]string{"a.txt": "a\n", "b.txt": "new\n"})
	// Another repository's absence isn't a commit's.
	none := gitea.New(gitea.Config{Server: srv.URL, Owner: ann.Name, Name: "none", Number: 1, Token: ann.Token})
	if _, err := none.Tree(t.Context(), head); err == nil || errors.Is(err, reviewer.ErrNoCommit) || !strings.Contains(err.Error(), "no such repository") {
		t.Errorf("no repository: %v", err)
	}
}
