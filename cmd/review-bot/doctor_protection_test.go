package main

import (
	"net/http"
	"strings"
	"testing"

	"review-bot/reviewer"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/sentinel"
)

// A list of approvers that leaves the bot out: the server lets through what the bot
// rejects, and doctor calls that set-up broken.
func TestListOfApproversWithoutTheBot(t *testing.T) {
	t.Parallel()
	srv := giteatest.Get(t)
	for promise, tt := range map[string]struct {
		listed []string
		bot    string // doctor's row
		merge  int
	}{
		"no list":         {nil, "", http.StatusMethodNotAllowed},
		"without the bot": {[]string{"owner"}, "its list of approvers leaves", http.StatusOK},
		"with the bot":    {[]string{"owner", "bot"}, "", http.StatusMethodNotAllowed},
	} {
		t.Run(promise, func(t *testing.T) {
			t.Parallel()
			owner, bot := srv.NewUser(t, giteatest.Unique("owner")), srv.NewUser(t, giteatest.Unique("bot"))
			b := bench{srv: srv, owner: owner, bot: bot}
			b.repo = srv.NewRepo(t, b.owner, "app", giteatest.RepoOptions{Files: map[string]string{"a.txt": "a\n"}})
			b.repo.AddCollaborator(t, b.bot, "admin") // who sees the branch's rules
			names := map[string]string{"owner": b.owner.Name, "bot": b.bot.Name}
			var list []string
			for _, name := range tt.listed {
				list = append(list, names[name])
			}
			b.repo.Protect(t, "main", giteatest.Protection{BlockOnRejectedReviews: true, ApprovalsWhitelist: list})
			pull := b.open(t, giteatest.Files(map[string]string{"b.txt": "one\n"}))
			j := b.job(pull, says(t, at("b.txt", 1, "one")), "logic")
			if r := j.result(t); r.Own != sentinel.RequestChanges {
				t.Fatalf("result is %+v", r)
			}
			d, _ := j.doctor(t, "--no-model")
			row := d.row(t, "official")
			if (row.State == reviewer.Failed) != (tt.bot != "") || !strings.Contains(row.Found, tt.bot) {
				t.Errorf("doctor says %+v", row)
			}
			if status, message := pull.TryMerge(t, b.owner); status != tt.merge {
				t.Errorf("merging what the bot rejects is answered %d %q, want %d", status, message, tt.merge)
			}
		})
	}
}

// A pull request that changes its own workflow makes its own check green. What doctor says
// of the branch's protected file patterns is what the server makes of them.
func TestProtectedWorkflowFiles(t *testing.T) {
	t.Parallel()
	srv := giteatest.Get(t)
	owner, bot := srv.NewUser(t, giteatest.Unique("owner")), srv.NewUser(t, giteatest.Unique("bot"))
	const check = "review / review (logic) into main (pull_request)"
	for promise, tt := range map[string]struct {
		patterns string
		row      reviewer.CheckState
		merge    int
	}{
		"none":           {"", reviewer.Warned, http.StatusOK},
		"all":            {"docs/**; .Gitea/** ", reviewer.Fine, http.StatusMethodNotAllowed},
		"no folder deep": {".gitea/*", reviewer.Warned, http.StatusOK},
		"no dot":         {".gitea/workflows/*", reviewer.Warned, http.StatusOK},
		"both endings":   {".gitea/workflows/*.yml;.gitea/workflows/*.y?ml", reviewer.Fine, http.StatusMethodNotAllowed},
	} {
		t.Run(promise, func(t *testing.T) {
			t.Parallel()
			b := bench{srv: srv, owner: owner, bot: bot}
			b.repo = srv.NewRepo(t, owner, giteatest.Unique("app"), giteatest.RepoOptions{Files: map[string]string{"a.txt": "a\n"}})
			b.repo.AddCollaborator(t, bot, "admin") // who sees the branch's rules
			b.repo.Protect(t, "main", giteatest.Protection{BlockOnRejectedReviews: true, StatusChecks: []string{check}, ProtectedFiles: tt.patterns})
			pull := b.open(t, giteatest.Files(map[string]string{".gitea/workflows/any.yaml": "on: push\n"}))
			b.repo.SetStatus(t, pull.Head, check, "success")
			d, _ := b.job(pull, says(t), "logic").doctor(t, "--no-model")
			if row := d.row(t, "workflow files"); row.State != tt.row {
				t.Errorf("doctor says %+v, want %s", row, tt.row)
			}
			if status, message := pull.TryMerge(t, owner); status != tt.merge {
				t.Errorf("merging is answered %d %q, want %d", status, message, tt.merge)
			}
		})
	}
}
