package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/thread"
)

// talks is a pull request with conversations of several people.
type talks struct {
	bench
	author *giteatest.User
	people map[string]*giteatest.User // by short names
	pull   *giteatest.Pull
	branch string
}

// persons are accounts that all tests share, each with repositories of their own:
// making an account costs the server more than a whole run of the program.
var persons struct {
	sync.Mutex
	byName map[string]*giteatest.User
}

func person(t *testing.T, name string) *giteatest.User {
	t.Helper()
	persons.Lock()
	defer persons.Unlock()
	if persons.byName == nil {
		persons.byName = map[string]*giteatest.User{}
	}
	if persons.byName[name] == nil {
		persons.byName[name] = giteatest.Get(t).NewUser(t, giteatest.Unique(name))
	}
	return persons.byName[name]
}

// sourceLines are the lines of a file, each unlike all others.
func sourceLines(name string, n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("%s(%d)", name, i+1))
	}
	return list
}

func fileOf(lines []string) string { return strings.Join(lines, "\n") + "\n" }

// newTalks opens a pull request that adds the files to what main has.
func newTalks(t *testing.T, main, files map[string]string, people ...string) *talks {
	t.Helper()
	s := &talks{people: map[string]*giteatest.User{}, branch: giteatest.Unique("topic")}
	for _, name := range append(people, "owner", "author") {
		s.people[name] = person(t, name)
	}
	s.author = s.people["author"]
	s.bench = bench{srv: giteatest.Get(t), owner: s.people["owner"]}
	s.repo = s.srv.NewRepo(t, s.owner, giteatest.Unique("app"), giteatest.RepoOptions{Files: main})
	s.repo.AddCollaborator(t, s.author, "write")
	s.repo.As(s.author).Commit(t, s.branch, "main", giteatest.Files(files), "change")
	s.pull = s.repo.As(s.author).OpenPull(t, giteatest.PullOptions{Head: s.branch})
	return s
}

// review has a user post a review with a comment on each place, and returns the
// conversations' ids in the order of the places.
func (s *talks) review(t *testing.T, by string, places ...giteatest.CommentInput) []thread.ID {
	t.Helper()
	for i := range places {
		if places[i].Body == "" {
			places[i].Body = fmt.Sprintf("%s on %s, place %d of the review", by, places[i].Path, i)
		}
	}
	review := s.pull.Review(t, s.people[by], giteatest.ReviewInput{Event: "COMMENT", Body: "see below", Comments: places})
	byBody := map[string]int64{}
	for _, c := range s.pull.Comments(t, review.ID) {
		byBody[c.Body] = c.ID
	}
	var ids []thread.ID
	for _, p := range places {
		if byBody[p.Body] == 0 {
			t.Fatalf("no comment %q", p.Body)
		}
		ids = append(ids, thread.ID{Review: review.ID, Root: byBody[p.Body]})
	}
	return ids
}

// push has the author change files.
func (s *talks) push(t *testing.T, edit giteatest.Edit) string {
	t.Helper()
	head := s.repo.As(s.author).Commit(t, s.branch, s.branch, edit, "more")
	s.pull.Settle(t, head)
	return head
}

// as is the program, run by a user.
func (s *talks) as(u *giteatest.User) job {
	return job{map[string]string{
		"GITHUB_SERVER_URL": s.srv.URL, "GITHUB_REPOSITORY": s.repo.FullName(), "GITEA_TOKEN": u.Token,
		"REVIEW_BOT_PR": fmt.Sprint(s.pull.Index),
	}}
}

// list runs `threads --json` and wants the exit status.
func (j job) list(t *testing.T, status int, args ...string) thread.List {
	t.Helper()
	e := j.run(t, append([]string{"threads", "--json"}, args...)...)
	if e.status != status {
		t.Fatalf("threads %q: exit status %d\n%s%s", args, e.status, e.stdout, e.stderr)
	}
	var l thread.List
	if err := json.Unmarshal([]byte(e.stdout), &l); err != nil {
		t.Fatalf("threads %q: not one JSON object: %v\n%s", args, err, e.stdout)
	}
	return l
}

func idsOf(list []thread.Thread) []string {
	ids := []string{}
	for _, t := range list {
		ids = append(ids, t.ID.String())
	}
	return ids
}

// expected is what a conversation is made to be.
type expected struct {
	id                 thread.ID
	path, newPath      string
	line               int
	by                 []string
	resolved, outdated bool
}

// 60 conversations by 4 authors in 3 reviews, some of them resolved, some outdated
// by a later push: every filter alone and in pairs.
func TestThreads(t *testing.T) {
	t.Parallel()
	files := []string{"cmd/a.go", "cmd/b.go", "lib/c.go", "lib/deep/d.go", "lib/gone.go"}
	source := map[string]string{}
	for _, f := range files {
		source[f] = fileOf(sourceLines(strings.ReplaceAll(f, "/", "_"), 40))
	}
	s := newTalks(t, map[string]string{"README.md": "x\n"}, source, "alice", "bob", "carol")

	var all []*expected
	for n, by := range []string{"alice", "bob", "carol"} {
		var places []giteatest.CommentInput
		var made []*expected
		for i := range 20 {
			p := giteatest.CommentInput{Path: files[i%len(files)], NewPosition: int64(2*i + n%2 + 1)}
			places = append(places, p)
			made = append(made, &expected{path: p.Path, newPath: p.Path, line: int(p.NewPosition), by: []string{by}})
		}
		for i, id := range s.review(t, by, places...) {
			made[i].id = id
		}
		all = append(all, made...)
	}
	for i, e := range all {
		if i%7 == 0 {
			s.pull.Reply(t, s.author, e.id.Root, "why?")
			e.by = append(e.by, "author")
		}
		if i%6 == 0 {
			s.pull.Resolve(t, s.author, e.id.Root)
			e.resolved = true
		}
	}
	// The push: a line of a.go changes, three lines come on top of b.go, c.go gets another name, gone.go goes.
	changed := sourceLines("cmd_a.go", 40)
	for _, i := range []int{0, 10, 20} {
		changed[i] = "other"
	}
	s.push(t, giteatest.Edits(giteatest.Rename("lib/c.go", "lib/new/c.go"), giteatest.Files(map[string]string{
		"cmd/a.go": fileOf(changed), "cmd/b.go": "x\ny\nz\n" + source["cmd/b.go"], "lib/gone.go": giteatest.Deleted,
	})))
	for _, e := range all {
		e.outdated = e.path == "cmd/a.go" && slices.Contains([]int{1, 11, 21}, e.line) || e.path == "lib/gone.go"
		if e.path == "lib/c.go" {
			e.newPath = "lib/new/c.go"
		}
	}
	slices.SortFunc(all, func(a, b *expected) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line), cmp.Compare(a.id.Root, b.id.Root))
	})

	proxy := s.srv.NewProxy(t)
	defer proxy.Close()
	j := s.as(s.author).with("GITHUB_SERVER_URL", proxy.URL)
	below := func(dir string) func(*expected) bool {
		return func(e *expected) bool {
			return strings.HasPrefix(e.path, dir) || strings.HasPrefix(e.newPath, dir) && !e.outdated
		}
	}
	type filter struct {
		args []string
		pass func(*expected) bool // nil: it lets more pass
	}
	said := func(name string) filter {
		return filter{[]string{"--author", strings.ToUpper(s.people[name].Name)}, func(e *expected) bool { return slices.Contains(e.by, name) }}
	}
	filters := []filter{
		{}, {args: []string{"--all"}}, {args: []string{"--include-outdated"}}, said("alice"), said("author"),
		{[]string{"--path", "cmd/b.go"}, below("cmd/b.go")}, {[]string{"--path", "lib/"}, below("lib/")},
	}
	runs := 0
	for i, a := range filters {
		for _, b := range filters[max(i, 1):] { // with the first one, which is none, each stands alone
			args := append(slices.Clone(a.args), b.args...)
			var want []string
			for _, e := range all {
				// Repeated flags of one kind widen, others narrow.
				passes := (a.pass == nil || a.pass(e)) && (b.pass == nil || b.pass(e))
				if a.pass != nil && b.pass != nil && a.args[0] == b.args[0] {
					passes = a.pass(e) || b.pass(e)
				}
				if passes && (slices.Contains(args, "--all") || !e.resolved) && (slices.Contains(args, "--include-outdated") || !e.outdated) {
					want = append(want, e.id.String())
				}
			}
			l := j.list(t, 0, append(args, "--max-threads", "60")...)
			runs++
			if diff := gocmp.Diff(want, idsOf(l.Threads), equateEmpty); diff != "" {
				t.Errorf("threads %q (-want +got):\n%s", args, diff)
			}
			if l.Total != 60 || l.Unresolved != 50 || l.Selected != len(want) || l.Phase != thread.InTriage || l.Incomplete {
				t.Errorf("threads %q: %d in all, %d open, %d selected, phase %s", args, l.Total, l.Unresolved, l.Selected, l.Phase)
			}
		}
	}
	t.Logf("%d runs, %d requests each", runs, len(proxy.Requests())/runs)
	for _, r := range proxy.Requests() {
		if r.Method != http.MethodGet {
			t.Errorf("threads sends %s", r.Line())
		}
	}

	// What each conversation says.
	l := j.list(t, 0, "--all", "--include-outdated", "--max-threads", "60")
	for i, got := range l.Threads {
		want := all[i]
		var by []string
		for _, c := range got.Comments {
			for name, u := range s.people {
				if u.Name == c.Author {
					by = append(by, name)
				}
			}
			if c.Ours != (c.Author == s.author.Name) || c.URL != fmt.Sprintf("%s#issuecomment-%d", s.pull.State(t).HTMLURL, c.ID) || c.Created.IsZero() || c.AuthorKind != thread.KindUser {
				t.Errorf("%+v", c)
			}
		}
		line, path := want.line, want.newPath
		if want.path == "cmd/b.go" {
			line += 3
		}
		if want.outdated {
			line, path = 0, ""
		}
		if got.Path != want.path || got.Line != want.line || got.Side != thread.New || got.HeadPath != path || got.HeadLine != line || !slices.Equal(by, want.by) ||
			got.Resolved != want.resolved || (got.Resolver == s.author.Name) != want.resolved || got.Outdated != want.outdated ||
			got.CanResolve == nil || !*got.CanResolve || got.CanReply == nil || *got.CanReply || got.PR != s.pull.Index {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	fitsSchema(t, j.run(t, "threads", "--json", "--all", "--include-outdated", "--max-threads", "7").stdout)
	again := j.run(t, "threads", "--json", "--all", "--include-outdated", "--max-threads", "60")
	once := j.run(t, "threads", "--json", "--all", "--include-outdated", "--max-threads", "60")
	if again.stdout != once.stdout {
		t.Error("two runs give different lists")
	}

	if got := idsOf(j.list(t, 0, "--path", "lib/new").Threads); len(got) != 10 {
		t.Errorf("by the new name: %q", got)
	}

	// The bound.
	l = j.list(t, 1, "--all", "--include-outdated", "--max-threads", "50")
	if !l.Incomplete || l.Phase != thread.Blocked || l.Selected != 60 || !slices.Equal(idsOf(l.Threads), idsOf(j.list(t, 0, "--all", "--include-outdated", "--max-threads", "60").Threads)[:50]) {
		t.Errorf("incomplete: %t, phase %s, %d of %d", l.Incomplete, l.Phase, len(l.Threads), l.Selected)
	}
	e := j.run(t, "threads", "--all", "--include-outdated")
	if line := e.errorLine(t); e.status != 1 || !strings.Contains(line, "60 conversations are selected and --max-threads is 50 — raise it") {
		t.Errorf("exit status %d: %s", e.status, line)
	}
	// An incomplete list takes no triage.
	payload := filepath.Join(t.TempDir(), "triage.json")
	writeJSON(t, payload, triageOf(l, thread.Valid))
	if e := j.run(t, "threads", "--all", "--include-outdated", "--payload", payload); e.status != 1 || !strings.Contains(e.errorLine(t), "the list is incomplete") {
		t.Errorf("exit status %d: %s", e.status, e.stderr)
	}
	// A stranger sees the same, and whether she may do something about it must be tried.
	l = s.as(s.people["alice"]).list(t, 0, "--max-threads", "60")
	if len(l.Threads) != len(j.list(t, 0, "--max-threads", "60").Threads) || l.Threads[0].CanResolve != nil {
		t.Errorf("alice sees %d conversations, and may resolve: %v", len(l.Threads), l.Threads[0].CanResolve)
	}
}

// fitsSchema holds a list against the schema that the program prints.
func fitsSchema(t *testing.T, stdout string) {
	t.Helper()
	var schemas map[string]any
	printed := job{}.run(t, "threads", "--schema")
	if err := json.Unmarshal([]byte(printed.stdout), &schemas); err != nil || printed.status != 0 {
		t.Fatalf("exit status %d, %v\n%s", printed.status, err, printed.stderr)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("threads.json", schemas["threads"]); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("threads.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := jsonschema.UnmarshalJSON(strings.NewReader(stdout))
	if err == nil {
		err = schema.Validate(list)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, stdout)
	}
}

var equateEmpty = gocmp.Transformer("empty", func(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
})

// The line that a comment is about stands at the head, or it doesn't.
func TestThreadsOutdated(t *testing.T) {
	t.Parallel()
	base := map[string]string{"old.go": fileOf(sourceLines("old", 30)), "moved_away.go": fileOf(sourceLines("away", 30))}
	source := map[string]string{
		"moved.go": fileOf(sourceLines("moved", 30)), "changed.go": fileOf(sourceLines("changed", 30)), "deleted.go": fileOf(sourceLines("deleted", 30)),
		"renamed.go": fileOf(sourceLines("renamed", 30)), "both.go": fileOf(sourceLines("both", 30)), "removed.go": fileOf(sourceLines("removed", 30)),
		"same.go": fileOf(sourceLines("same", 30)),
		"old.go":  fileOf(append(sourceLines("old", 9), sourceLines("old", 30)[10:]...)), // without line 10
	}
	places := []giteatest.CommentInput{
		{Path: "moved.go", NewPosition: 10}, {Path: "changed.go", NewPosition: 10}, {Path: "changed.go", NewPosition: 12}, {Path: "deleted.go", NewPosition: 10},
		{Path: "renamed.go", NewPosition: 10}, {Path: "both.go", NewPosition: 10}, {Path: "both.go", NewPosition: 20}, {Path: "removed.go", NewPosition: 10},
		{Path: "same.go", NewPosition: 10}, {Path: "old.go", OldPosition: 10}, {Path: "old.go", NewPosition: 12},
	}
	changed, deleted, both := sourceLines("changed", 30), sourceLines("deleted", 30), sourceLines("both", 30)
	changed[9], both[9] = "other", "other"
	later := map[string]string{
		"moved.go": "x\ny\n" + source["moved.go"], "changed.go": fileOf(changed), "deleted.go": fileOf(slices.Delete(deleted, 9, 10)),
		"both.go": giteatest.Deleted, "sub/both2.go": "x\n" + fileOf(both), "removed.go": giteatest.Deleted,
	}
	// Path and line at the head, "" for outdated ones, in the order of the places.
	want := []string{"moved.go:12", "", "changed.go:12", "", "sub/renamed.go:10", "", "sub/both2.go:21", "", "same.go:10", ":0", "old.go:12"}

	check := func(t *testing.T, s *talks, j job, ids []thread.ID, want []string) {
		t.Helper()
		at := map[string]string{}
		for _, c := range j.list(t, 0, "--include-outdated").Threads {
			at[c.ID.String()] = fmt.Sprintf("%s:%d", c.HeadPath, c.HeadLine)
			if c.Outdated {
				at[c.ID.String()] = ""
			}
		}
		for i, id := range ids {
			if at[id.String()] != want[i] {
				t.Errorf("%s:%d%+d is at %q, want %q", places[i].Path, places[i].NewPosition, -places[i].OldPosition, at[id.String()], want[i])
			}
		}
	}
	t.Run("a push", func(t *testing.T) {
		t.Parallel()
		s := newTalks(t, base, source, "alice")
		ids := s.review(t, "alice", places...)
		stand := []string{"moved.go:10", "changed.go:10", "changed.go:12", "deleted.go:10", "renamed.go:10", "both.go:10", "both.go:20", "removed.go:10", "same.go:10", ":0", "old.go:12"}
		check(t, s, s.as(s.author), ids, stand)
		s.push(t, giteatest.Edits(giteatest.Rename("renamed.go", "sub/renamed.go"), giteatest.Files(later)))
		check(t, s, s.as(s.author), ids, want)
		// The deletion is taken back.
		s.push(t, giteatest.Files(map[string]string{"old.go": base["old.go"]}))
		back := slices.Clone(want)
		back[9], back[10] = "", "old.go:13"
		check(t, s, s.as(s.author), ids, back)
		// A second comment, on what is there now.
		places := []giteatest.CommentInput{{Path: "moved.go", NewPosition: 1}, {Path: "moved.go", NewPosition: 12}}
		more := s.review(t, "alice", places...)
		l := s.as(s.author).list(t, 0, "--path", "moved.go")
		if got := idsOf(l.Threads); !slices.Equal(got, []string{more[0].String(), ids[0].String(), more[1].String()}) {
			t.Errorf("%q, want %v, %v and %v", got, more[0], ids[0], more[1])
		}
	})
	t.Run("a forced push", func(t *testing.T) {
		t.Parallel()
		s := newTalks(t, base, source, "alice")
		ids := s.review(t, "alice", places...)
		reviewed := s.pull.Head
		now := map[string]string{"sub/renamed.go": source["renamed.go"], "same.go": source["same.go"], "old.go": source["old.go"]}
		for path, content := range later {
			if content != giteatest.Deleted {
				now[path] = content
			}
		}
		s.pull.Settle(t, s.repo.As(s.author).Rewrite(t, s.branch, "main", giteatest.Files(now), "anew"))
		check(t, s, s.as(s.author), ids, want)

		// Some time later the server has thrown the old commit away.
		proxy := s.srv.NewProxy(t)
		defer proxy.Close()
		gone := story{bench: bench{srv: s.srv, bot: s.author}, pull: &giteatest.Pull{Head: reviewed}}
		proxy.SetHook(func(r *giteatest.Request) *giteatest.Fault {
			if strings.Contains(r.Path, reviewed) || strings.Contains(r.Query, reviewed) {
				return gone.unknownCommit(t, r)
			}
			return nil
		})
		lost := slices.Clone(want)
		lost[4], lost[6] = "", "" // nothing tells any more which file they were in
		check(t, s, s.as(s.author).with("GITHUB_SERVER_URL", proxy.URL), ids, lost)
	})
}

// The text for people.
func TestThreadsText(t *testing.T) {
	t.Parallel()
	s := newTalks(t, map[string]string{"README.md": "x\n"}, map[string]string{"a.go": fileOf(sourceLines("a", 30)), "b.go": fileOf(sourceLines("b", 30))}, "alice")
	long := "This is wrong.\n\n::error::forged\x1b[31m " + strings.Repeat("word ", 100)
	ids := s.review(t, "alice", giteatest.CommentInput{Path: "a.go", NewPosition: 10, Body: long}, giteatest.CommentInput{Path: "b.go", NewPosition: 3, Body: "hm"})
	for i := range 6 {
		s.pull.Reply(t, s.author, ids[0].Root, fmt.Sprintf("reply %d", i))
	}
	s.pull.Resolve(t, s.author, ids[1].Root)
	s.push(t, giteatest.Files(map[string]string{"a.go": "x\n" + fileOf(sourceLines("a", 30))}))
	e := s.as(s.author).with("GITHUB_ACTIONS", "true").run(t, "threads")
	page := s.pull.State(t).HTMLURL
	want := fmt.Sprintf(`%s#%d at %.7s: 2 conversations, 1 open; 1 listed — review_triage

%s  a.go:10  (now a.go:11)
    %s: %s…
    … 3 comments
    %s: reply 3
    %s: reply 4
    %s: reply 5
    %s#issuecomment-%d
`, s.repo.FullName(), s.pull.Index, s.pull.State(t).Head.SHA, ids[0], s.people["alice"].Name, printable(long)[:159], s.author.Name, s.author.Name, s.author.Name, page, ids[0].Root)
	if e.status != 0 || e.stdout != want {
		t.Errorf("exit status %d\n%s\nwant\n%s", e.status, e.stdout, want)
	}
	if e := s.as(s.author).run(t, "threads", "--all"); !strings.Contains(e.stdout, fmt.Sprintf("%s  b.go:3  (resolved by %s)", ids[1], s.author.Name)) {
		t.Errorf("%s", e.stdout)
	}
}
