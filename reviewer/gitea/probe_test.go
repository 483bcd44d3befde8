package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"review-bot/reviewer"
	"review-bot/reviewer/gitea/giteatest"
)

// What Examine sends, and that it writes to nothing that could be there: the
// biggest id stands in every write.
func TestExamineSendsNothingThatChangesAnything(t *testing.T) {
	answers := map[string]string{
		"/version": `{"version":"1.26.0"}`, "/settings/api": `{"max_response_items":50}`, "/settings/ui": `{"allowed_reactions":["eyes"]}`,
		"/user":                                 `{"id":7,"login":"bot"}`,
		"/repos/alice/shop":                     `{"private":true,"has_pull_requests":true,"default_branch":"main","permissions":{"push":true,"admin":true}}`,
		"/repos/alice/shop/pulls/42":            `{"user":{"id":8,"login":"alice"},"state":"open","base":{"ref":"a/b c"}}`,
		"/repos/alice/shop/pulls/42/reviews":    `[{"id":1,"user":{"id":7},"state":"REQUEST_CHANGES","official":true}]`,
		"/repos/alice/shop/branches/a/b c":      `{"protected":true,"required_approvals":2,"effective_branch_protection_name":"a/*","commit":{"id":"` + commit + `"}}`,
		"/repos/alice/shop/branch_protections":  `[{"rule_name":"main"},{"rule_name":"a/*","block_on_rejected_reviews":true,"protected_file_patterns":".gitea/**","enable_approvals_whitelist":true,"approvals_whitelist_username":["bot"],"approvals_whitelist_teams":["t"]},{"rule_name":"z"}]`,
		"/repos/alice/shop/git/trees/" + commit: `{}`, "/repos/alice/shop/file-contents": `[null]`, "/repos/alice/shop/issues/comments": `[]`,
	}
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if text, ok := answers[strings.TrimPrefix(r.URL.Path, "/api/v1")]; ok && r.Method == http.MethodGet {
			w.Header().Set("X-Total-Count", "1")
			fmt.Fprint(w, text)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"message":"GetIt","errors":["it does not exist"]}`)
	})
	got, err := f.client().Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const max = "9223372036854775807"
	const at = "/api/v1/repos/alice/shop"
	if d := cmp.Diff([]string{
		"GET /api/v1/version", "GET /api/v1/settings/api", "GET /api/v1/settings/ui", "GET /api/v1/user",
		"GET " + at, "GET " + at + "/issues/comments?limit=1", "POST " + at + "/pulls/" + max + "/reviews", "PATCH " + at + "/issues/comments/" + max,
		"GET " + at + "/pulls/42", "GET " + at + "/pulls/42/reviews?limit=50", "GET " + at + "/branches/a/b%20c",
		"GET " + at + "/git/trees/" + commit + "?per_page=1",
		"GET " + at + "/file-contents?body=%7B%22files%22%3A%5B%22README.md%22%5D%7D&ref=" + commit,
		"GET " + at + "/branch_protections",
		"POST " + at + "/pulls/comments/" + max + "/resolve", "POST " + at + "/pulls/" + max + "/comments/" + max + "/replies",
		"POST " + at + "/pulls/" + max + "/reviews/" + max + "/comments",
	}, f.requests()); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
	ok, refused := reviewer.Reply{Status: 200}, reviewer.Reply{Status: 404, Text: "it does not exist"}
	want := reviewer.ForgeFacts{
		Server: f.url, Repo: "alice/shop", Number: 42,
		Version: reviewer.Told[string]{Reply: ok, Value: "1.26.0"}, PageSize: reviewer.Told[int]{Reply: ok, Value: 50},
		Allowed: reviewer.Told[[]string]{Reply: ok, Value: []string{"eyes"}}, Account: reviewer.Told[reviewer.User]{Reply: ok, Value: reviewer.User{ID: 7, Login: "bot"}},
		Repository: reviewer.Told[reviewer.RepoFacts]{Reply: ok, Value: reviewer.RepoFacts{Private: true, Pulls: true, Push: true, Admin: true, DefaultBranch: "main"}},
		RepoWrite:  refused, IssueWrite: refused, IssueRead: ok,
		Pull:     reviewer.Told[reviewer.Pull]{Reply: ok, Value: reviewer.Pull{Number: 42, Author: reviewer.User{ID: 8, Login: "alice"}, BaseBranch: "a/b c"}},
		Official: true,
		Branch:   reviewer.Told[reviewer.BranchFacts]{Reply: ok, Value: reviewer.BranchFacts{Name: "a/b c", Protected: true, Approvals: 2}},
		Rules:    reviewer.Told[reviewer.RuleFacts]{Reply: ok, Value: reviewer.RuleFacts{BlockOnRejected: true, KeepsStale: true, Listed: true, Users: []string{"bot"}, Teams: []string{"t"}, Files: ".gitea/**"}},
		Resolve:  refused, Reply: refused, Attach: refused, Tree: ok, Contents: ok,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("facts (-want +got):\n%s", d)
	}
}

// Forgejo reads one folder of workflows, so it is asked which there are.
func TestExamineTheFoldersOfWorkflows(t *testing.T) {
	for promise, tt := range map[string]struct {
		version string
		has     []string
		failing string
		want    reviewer.Told[[]string]
	}{
		"two":      {"15.0.3+gitea-1.22.0", []string{".forgejo", ".gitea"}, "", told(200, ".forgejo/workflows", ".gitea/workflows")},
		"none":     {"15.0.3+gitea-1.22.0", nil, "", told(200)},
		"no word":  {"15.0.3+gitea-1.22.0", []string{".forgejo"}, ".gitea", told(502, ".forgejo/workflows")},
		"on Gitea": {"1.26.0", []string{".forgejo", ".gitea"}, "", reviewer.Told[[]string]{}},
	} {
		answers := site{
			"/api/v1/version": status(http.StatusOK, fmt.Sprintf(`{"version":%q}`, tt.version)), shop: status(http.StatusOK, `{"default_branch":"main"}`),
			shop + "/branches/main": status(http.StatusOK, `{}`), shop + "/pulls/42": status(http.StatusOK, `{"base":{"ref":"main"}}`),
		}
		for _, folder := range tt.has {
			answers[shop+"/contents/"+folder+"/workflows"] = status(http.StatusOK, `[]`)
		}
		if tt.failing != "" {
			answers[shop+"/contents/"+tt.failing+"/workflows"] = status(http.StatusBadGateway, "")
		}
		got, err := newFake(t, answers.ServeHTTP).client().Examine(t.Context())
		if d := cmp.Diff(tt.want, got.Workflows); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", promise, err, d)
		}
	}
}

func told(status int, folders ...string) reviewer.Told[[]string] {
	return reviewer.Told[[]string]{Reply: reviewer.Reply{Status: status}, Value: folders}
}

// How answers are told apart; those of Gitea 1.26.0 where there is one.
func TestReplies(t *testing.T) {
	for promise, tt := range map[string]struct {
		status int
		body   string
		want   reviewer.Reply
	}{
		"a refusal":            {404, commentGone, reviewer.Reply{Status: 404, Text: "comment does not exist [id: 981, issue_id: 0]"}},
		"a message only":       {404, plainGone, reviewer.Reply{Status: 404, Text: "not found"}},
		"no such route":        {404, "404 page not found\n", reviewer.Reply{Status: 404, Absent: true}},
		"no such method":       {405, "", reviewer.Reply{Status: 405, Absent: true}},
		"another 404 in JSON":  {404, `{"error":"x"}`, reviewer.Reply{Status: 404, Absent: true}},
		"a failure":            {500, "<html>\noops", reviewer.Reply{Status: 500}},
		"not the API's":        {200, "<html>", reviewer.Reply{Status: 200, Absent: true, Text: "the answer is not the JSON expected"}},
		"a redirect":           {307, "", reviewer.Reply{Status: 307, Text: "leads to another address, https://git.example.com"}},
		"a redirect without a": {307, "nowhere", reviewer.Reply{Status: 307, Text: "leads to another address"}},
		"a long message":       {400, `{"message":"` + strings.Repeat("a\u00a0b ", 200) + `"}`, reviewer.Reply{Status: 400, Text: oneLine(strings.Repeat("a b ", 200))}},
	} {
		f := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
			if tt.status == http.StatusTemporaryRedirect && tt.body == "" {
				w.Header().Set("Location", "https://user:secret@git.example.com/api?token=secret")
			}
			w.WriteHeader(tt.status)
			fmt.Fprint(w, tt.body)
		})
		if d := cmp.Diff(tt.want, f.client().ask(t.Context(), question{method: http.MethodPost, path: "/x", into: new([]any)})); d != "" {
			t.Errorf("%s (-want +got):\n%s", promise, d)
		}
		if n := len(f.requests()); n != 1 {
			t.Errorf("%s: a write is sent %d times", promise, n)
		}
	}
}

// A token that isn't accepted leaves nothing else to ask, and the server is
// looked at without it.
func TestExamineWithABadToken(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"version":"1.26.0"}`)
	})
	got, err := f.client().Examine(t.Context())
	if err != nil || !got.Version.OK() || got.Account.Status != http.StatusUnauthorized || len(f.requests()) != 5 {
		t.Errorf("%v, %+v, %v", err, got, f.requests())
	}
}

func TestExamineStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			cancel()
		}
		fmt.Fprint(w, `{"version":"1.26.0","id":1,"login":"bot"}`)
	})
	if _, err := f.client().Examine(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's error", err)
	}
	if n := len(f.requests()); n > 8 {
		t.Errorf("%d requests", n)
	}
}

// The probes of write scopes on a real server: each scope is missed at its own
// endpoint and nowhere else, and an account that may do everything changes nothing.
func TestWriteProbesOnTheServer(t *testing.T) {
	t.Parallel()
	srv := giteatest.Get(t)
	owner := srv.NewUser(t, giteatest.Unique("owner"))
	repo := srv.NewRepo(t, owner, "app", giteatest.RepoOptions{Files: map[string]string{"a.txt": "a\n"}})
	repo.Commit(t, "topic", "main", giteatest.Files(map[string]string{"b.txt": "b\n"}), "b")
	pull := repo.OpenPull(t, giteatest.PullOptions{Head: "topic"})
	before := len(pull.Timeline(t))
	const lacks = "token does not have at least one of required scope(s), required=["
	for _, tt := range []struct {
		token                              string
		repoRead, repoWrite, issRead, issW string // what is said; "" for a success
	}{
		{owner.Token, "", "pull request does not exist [id: 0, issue_id: 0, head_repo_id: 0, base_repo_id: ", "", "comment does not exist ["},
		{srv.NewToken(t, owner, "write:repository"), "", "pull request does not exist [", lacks + "read:issue", lacks + "write:issue"},
		{srv.NewToken(t, owner, "read:repository"), "", lacks + "write:repository", lacks + "read:issue", lacks + "write:issue"},
		{srv.NewToken(t, owner, "write:issue"), lacks + "read:repository", lacks + "write:repository", "", "comment does not exist ["},
		{srv.NewToken(t, owner, "read:issue"), lacks + "read:repository", lacks + "write:repository", "", lacks + "write:issue"},
	} {
		f, err := New(Config{Server: srv.URL, Owner: owner.Name, Name: "app", Number: pull.Index, Token: tt.token}).Examine(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for what, is := range map[string]struct {
			reply reviewer.Reply
			want  string
		}{
			"read repository": {f.Repository.Reply, tt.repoRead}, "write repository": {f.RepoWrite, tt.repoWrite},
			"read issue": {f.IssueRead, tt.issRead}, "write issue": {f.IssueWrite, tt.issW},
		} {
			status := http.StatusOK
			switch {
			case strings.HasPrefix(is.want, lacks):
				status = http.StatusForbidden
			case is.want != "":
				status = http.StatusNotFound
			}
			if is.reply.Status != status || !strings.HasPrefix(is.reply.Text, is.want) || is.reply.Absent {
				t.Errorf("%s: %+v, want %d %s", what, is.reply, status, is.want)
			}
		}
	}
	if n := len(pull.Timeline(t)); n != before || len(pull.Reviews(t)) != 0 {
		t.Errorf("%d entries, before %d; reviews %v", n, before, pull.Reviews(t))
	}
}

// A server that isn't one, or is out of order, isn't asked for more.
func TestExamineEndsAtTheServer(t *testing.T) {
	for _, status := range []int{200, 301, 404, 502} {
		f := newFake(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		got, err := f.client().Examine(t.Context())
		if err != nil || got.Version.Status != status || got.Version.OK() {
			t.Errorf("%d: %v, %+v", status, err, got.Version)
		}
		for _, r := range f.requests() {
			if r != "GET /api/v1/version" {
				t.Errorf("%d: %s", status, r)
			}
		}
	}
}

// A verdict is the account's own, is one, and counts.
func TestExamineTellsAnOfficialVerdict(t *testing.T) {
	for reviews, want := range map[string]bool{
		`[{"id":1,"user":{"id":7},"state":"APPROVED","official":true}]`:        true,
		`[{"id":1,"user":{"id":8},"state":"APPROVED","official":true}]`:        false,
		`[{"id":1,"user":{"id":7},"state":"REQUEST_CHANGES"}]`:                 false,
		`[{"id":1,"user":{"id":7},"state":"REQUEST_REVIEW","official":true}]`:  false,
		`[{"id":1,"user":{"id":7},"state":"REQUEST_CHANGES","official":true}]`: true,
	} {
		f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Total-Count", "1")
			if strings.HasSuffix(r.URL.Path, "/pulls/42/reviews") {
				fmt.Fprint(w, reviews)
				return
			}
			fmt.Fprint(w, `{"version":"1.26.0","id":7,"login":"bot","state":"open","base":{"ref":"main"}}`)
		})
		if got, err := f.client().Examine(t.Context()); err != nil || got.Official != want {
			t.Errorf("%s: official %v, %v", reviews, got.Official, err)
		}
	}
}
