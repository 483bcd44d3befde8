package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"review-bot/reviewer"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
)

// clinic is a good set-up: nothing for doctor to complain about.
type clinic struct {
	bench
	pull  *giteatest.Pull
	model *modeltest.Server
	job
}

// neededScopes are the ones that the documentation asks for, no more.
var neededScopes = []string{"write:repository", "write:issue", "read:user"}

func newClinic(t *testing.T) clinic {
	t.Helper()
	c := clinic{bench: newBench(t, map[string]string{"a.txt": "a\n", ".review-bot.yaml": "model: scripted-1\n"})}
	c.srv.Call(t, c.owner.Token, http.MethodPatch, "/repos/"+c.repo.FullName()+"/branch_protections/main", map[string]any{
		"enable_status_check": true, "status_check_contexts": []string{"review / review (logic) into main (pull_request)"}, "dismiss_stale_approvals": true,
	}, nil)
	c.pull = c.open(t, giteatest.Files(map[string]string{"b.txt": "b\n"}))
	c.model = model(t, modeltest.ByMatch(modeltest.Match{Reply: modeltest.Answer(answer())}), modeltest.Models("scripted-1", "scripted-2"), modeltest.APIKey("key-of-the-model"))
	c.job = job{map[string]string{
		"GITHUB_SERVER_URL": c.srv.URL, "GITHUB_REPOSITORY": c.repo.FullName(),
		"GITEA_TOKEN": c.srv.NewToken(t, c.bot, neededScopes...), "OPENAI_BASE_URL": c.model.URL(), "OPENAI_API_KEY": "key-of-the-model",
		"REVIEW_BOT_NO_APPROVE": "true",
	}}
	return c
}

func (c clinic) pr() string { return fmt.Sprint(c.pull.Index) }

// plain takes out of a text what differs from one run to the next.
func (c clinic) plain(text string) string {
	text = strings.NewReplacer(
		c.srv.URL, "http://forge", strings.TrimSuffix(c.model.URL(), "/v1"), "http://model", c.repo.FullName(), "alice/shop", c.bot.Name, "bot", c.owner.Name, "alice",
	).Replace(text)
	return regexp.MustCompile(`\(\d+ tokens\)`).ReplaceAllString(text, "(N tokens)")
}

// doctor runs it for its rows.
func (j job) doctor(t *testing.T, args ...string) (diagnosis, ended) {
	t.Helper()
	e := j.run(t, append([]string{"doctor", "--json"}, args...)...)
	var d diagnosis
	if err := json.Unmarshal([]byte(e.stdout), &d); err != nil {
		t.Fatalf("stdout is not one JSON object: %v\n%s%s", err, e.stdout, e.stderr)
	}
	return d, e
}

func (d diagnosis) row(t *testing.T, name string) reviewer.Check {
	t.Helper()
	at := slices.IndexFunc(d.Checks, func(c reviewer.Check) bool { return c.Name == name })
	if at < 0 {
		t.Fatalf("no row %s in %+v", name, d.Checks)
	}
	return d.Checks[at]
}

// in are the names of the rows with a state.
func (d diagnosis) in(state reviewer.CheckState) string {
	var names []string
	for _, c := range d.Checks {
		if c.State == state {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}

// wantSound holds what is true of every diagnosis: the exit status is that of the
// rows, and every row that isn't as it should be says what to do.
func (c clinic) wantSound(t *testing.T, d diagnosis, e ended) {
	t.Helper()
	if failed := d.in(reviewer.Failed); d.OK != (failed == "") || e.status != map[bool]int{true: 0, false: 1}[d.OK] {
		t.Errorf("rows that failed: %q, but ok is %v and the exit status %d", failed, d.OK, e.status)
	} else if !d.OK && !strings.Contains(e.errorLine(t), "a review can't do without: "+failed+" — ") {
		t.Errorf("the error line is %s", e.errorLine(t))
	}
	for _, row := range d.Checks {
		if (row.Fix == "") != (row.State == reviewer.Fine || row.State == reviewer.Skipped) || row.Found == "" {
			t.Errorf("a row finds or advises nothing: %+v", row)
		}
	}
	for _, secret := range []string{c.env["GITEA_TOKEN"], c.env["OPENAI_API_KEY"]} {
		if secret != "" && strings.Contains(e.stdout+e.stderr, secret) {
			t.Errorf("a secret is printed:\n%s%s", e.stdout, e.stderr)
		}
	}
}

const goodTable = `ok    server              Gitea 1.26.0 at http://forge
ok    page size           lists give up to 50 entries at once
ok    token               valid, of the account bot
ok    scope user          read
ok    scope repository    read and write
ok    scope issue         read and write
ok    repository          alice/shop, public
ok    write access        bot may write to alice/shop
ok    official            the base branch main is protected and wants 1 approval; a writer's verdict
                          counts, unless a list of approvers leaves it out (administrators see that)
ok    required checks     a merge into main waits for review / review (logic) into main
                          (pull_request); whether these jobs have fail-on-block can't be seen
-     workflow files      only administrators see whether a pull request may change these, and so
                          make its own check green
ok    approvals           nothing speaks against them; whether they outlive a push administrators
                          see only
ok    pull request        #1 of alice, into main
ok    lock                the reaction rocket was added to #1 and taken back
ok    conversations       resolve: yes, reply: no, attach: no
ok    files               commits are listed, files are read several at once
ok    configuration       .review-bot.yaml of the branch main is in order
ok    unread files        nothing is kept in Git LFS or submodules that an approval would need
ok    model server        http://model/v1 answers
ok    model               scripted-1 is listed
ok    answer              a small review was answered, in the form of its schema (N tokens)
-     context             the server doesn't say how much the model takes at once; the receipts in
                          each request show whether it was given all

20 ok, 0 warn, 0 FAIL, 2 not looked at
`

func TestDoctorOnAGoodSetUp(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	proxy := c.srv.NewProxy(t)
	defer proxy.Close()
	before := len(c.pull.Timeline(t))

	e := c.with("GITHUB_SERVER_URL", proxy.URL).run(t, "doctor", "--pr", c.pr())

	// Names of any length are folded the same: the golden has short ones.
	got := strings.Join(strings.Fields(c.plain(strings.ReplaceAll(e.stdout, proxy.URL, c.srv.URL))), " ")
	if diff := cmp.Diff(strings.Join(strings.Fields(goodTable), " "), got); diff != "" || e.status != 0 {
		t.Errorf("exit status %d, table (-want +got):\n%s\n%s%s", e.status, diff, e.stdout, e.stderr)
	}
	if e.stderr != fmt.Sprintf("review-bot %s · doctor on %s at %s\nasking scripted-1 to review a small change; --no-model leaves that out\n", version(), c.repo.FullName(), proxy.URL) {
		t.Errorf("stderr is\n%s", e.stderr)
	}
	var written []string
	for _, r := range proxy.Writes() {
		if r.Status/100 == 2 {
			written = append(written, fmt.Sprint(r.Method, " ", strings.TrimPrefix(r.Path, "/api/v1/repos/"+c.repo.FullName()), " ", r.Status))
		}
	}
	lock := "/issues/" + c.pr() + "/reactions "
	if diff := cmp.Diff([]string{"POST " + lock + "201", "DELETE " + lock + "204"}, written); diff != "" {
		t.Errorf("writes that were taken (-want +got):\n%s", diff)
	}
	if n := len(c.pull.Timeline(t)); n != before || len(c.pull.Reviews(t)) != 0 {
		t.Errorf("the timeline has %d entries, before %d; reviews %v", n, before, c.pull.Reviews(t))
	}
	if c.model.Count() != 1 {
		t.Errorf("%d requests to the model, want 1", c.model.Count())
	}
}

// The golden is how the table really looks: its folding is another test's.
func TestDoctorTable(t *testing.T) {
	t.Parallel()
	var checks []reviewer.Check
	head := regexp.MustCompile(`^(ok|-) +(\S+(?: \S+)*?)  +(.*)$`)
	for line := range strings.Lines(goodTable) {
		if m := head.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			state := map[string]reviewer.CheckState{"ok": reviewer.Fine, "-": reviewer.Skipped}[m[1]]
			checks = append(checks, reviewer.Check{Name: m[2], State: state, Found: m[3]})
		} else if strings.HasPrefix(line, " ") {
			checks[len(checks)-1].Found += " " + strings.TrimSpace(line)
		}
	}
	if diff := cmp.Diff(goodTable, table(checks)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	got := table([]reviewer.Check{
		{Name: "token", State: reviewer.Failed, Found: "the server doesn't accept it", Fix: strings.Repeat("create another ", 8) + strings.Repeat("x", 120)},
		{Name: "lock", State: reviewer.Skipped, Found: "turned off"},
	})
	want := `FAIL  token               the server doesn't accept it
                          fix: create another create another create another create another create
                          another create another create another create another
                          ` + strings.Repeat("x", 120) + `
-     lock                turned off

0 ok, 0 warn, 1 FAIL, 1 not looked at
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestDoctorWithoutModelAndPull(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	proxy := c.srv.NewProxy(t)
	defer proxy.Close()
	// The pull request of the job's event is looked at, and no lock is tried on it.
	for ref, state := range map[string]reviewer.CheckState{"": reviewer.Skipped, "refs/pull/" + c.pr() + "/head": reviewer.Fine} {
		proxy.Reset()
		d, e := c.with("GITHUB_SERVER_URL", proxy.URL).with("GITHUB_REF", ref).doctor(t, "--no-model")
		c.wantSound(t, d, e)
		if row := d.row(t, "model"); !d.OK || row.State != reviewer.Skipped || !strings.Contains(row.Found, "--no-model") || c.model.Count() != 0 {
			t.Errorf("%+v, %d requests to the model", row, c.model.Count())
		}
		if row := d.row(t, "pull request"); row.State != state {
			t.Errorf("%q: %+v", ref, row)
		}
		if row := d.row(t, "lock"); row.State != reviewer.Fine || row.Found != "the reaction rocket is allowed" {
			t.Errorf("%+v", row)
		}
		for _, r := range proxy.Writes() {
			if r.Status/100 == 2 {
				t.Errorf("written: %s", r.Line())
			}
		}
	}
}

// What can be wrong, on a real server: the rows that fail or warn, what they find
// and what they advise. All others are fine, or wait for those.
func TestDoctorFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	reader, outsider, absent := c.srv.NewUser(t, giteatest.Unique("reader")), c.srv.NewUser(t, giteatest.Unique("outsider")), c.srv.NewUser(t, giteatest.Unique("absent"))
	boss := c.srv.NewUser(t, giteatest.Unique("boss"))
	c.repo.AddCollaborator(t, reader, "read")
	c.repo.AddCollaborator(t, boss, "admin")
	secretRepo := c.srv.NewRepo(t, c.owner, "secret", giteatest.RepoOptions{Private: true, Files: map[string]string{"a.txt": "a\n"}})
	secretRepo.AddCollaborator(t, c.bot, "write")
	checks, files := []string{"review / review (logic) into main (pull_request)"}, ".gitea/**"
	listed := c.srv.NewRepo(t, c.owner, "listed", giteatest.RepoOptions{Files: map[string]string{"a.txt": "a\n", ".review-bot.yaml": "block_on: hihg\n"}})
	listed.AddCollaborator(t, boss, "admin")
	listed.Protect(t, "main", giteatest.Protection{ApprovalsWhitelist: []string{c.owner.Name}, BlockOnRejectedReviews: true, StatusChecks: checks, ProtectedFiles: files})
	open := c.srv.NewRepo(t, boss, "open", giteatest.RepoOptions{Files: map[string]string{"a.txt": "a\n"}})
	lax := c.srv.NewRepo(t, boss, "lax", giteatest.RepoOptions{Files: map[string]string{"a.txt": "a\n"}})
	lax.Protect(t, "main", giteatest.Protection{RequiredApprovals: 2, StatusChecks: checks, ProtectedFiles: files})
	own := c.repo.As(c.bot)
	own.Commit(t, "own", "main", giteatest.Files(map[string]string{"c.txt": "c\n"}), "own")
	ownPull := fmt.Sprint(own.OpenPull(t, giteatest.PullOptions{Head: "own"}).Index)
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	noAPI := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(noAPI.Close) // behind the parallel tests
	noSchema := model(t, modeltest.ByMatch(modeltest.Match{Reply: modeltest.Answer(answer())}), modeltest.RefuseJSONSchema())
	nothing := model(t, modeltest.ByMatch(modeltest.Match{Reply: modeltest.Answer(answer())}), modeltest.RefuseJSONSchema(), modeltest.RefuseJSONObject())
	shapeless := model(t, modeltest.ByMatch(modeltest.Match{Reply: modeltest.Reply{Content: `{"fine":true}`}}))
	broke := model(t, modeltest.ByMatch(modeltest.Match{Reply: modeltest.Reply{Status: 429, Error: "no credit", Code: "insufficient_quota"}}))
	busy := model(t, modeltest.ByMatch(modeltest.Match{Reply: modeltest.Fail(503, "too busy")}))
	tokenOf := func(scopes ...string) job { return c.with("GITEA_TOKEN", c.srv.NewToken(t, c.bot, scopes...)) }
	as := func(u *giteatest.User) job { return c.with("GITEA_TOKEN", c.srv.NewToken(t, u, neededScopes...)) }
	at := func(j job, r *giteatest.Repo) job { return j.with("GITHUB_REPOSITORY", r.FullName()) }
	const create = "create a token of the bot's account with repository: write, issue: write, user: read, and set GITEA_TOKEN"
	type rows map[string]string // name: "found — fix", each a part

	for promise, tt := range map[string]struct {
		job          job
		args         string
		fails, warns rows
	}{
		"token of nobody":              {job: c.with("GITEA_TOKEN", strings.Repeat("1", 40)), fails: rows{"token": "the server doesn't accept it — " + create}},
		"scope user missing":           {job: tokenOf("write:repository", "write:issue"), fails: rows{"scope user": "the token lacks read — " + create}},
		"scope repository missing":     {job: tokenOf("write:issue", "read:user"), fails: rows{"scope repository": "the token lacks read and write — " + create}},
		"scope repository to read":     {job: tokenOf("read:repository", "write:issue", "read:user"), fails: rows{"scope repository": "the token lacks write — " + create}},
		"scope issue missing":          {job: tokenOf("write:repository", "read:user"), args: "--pr " + c.pr(), fails: rows{"scope issue": "the token lacks read and write — " + create}},
		"scope issue to read":          {job: tokenOf("write:repository", "read:issue", "read:user"), fails: rows{"scope issue": "the token lacks write — " + create}},
		"all scopes missing":           {job: tokenOf("read:misc"), fails: rows{"scope user": "lacks read — ", "scope repository": "lacks read and write — ", "scope issue": "lacks read and write — "}},
		"no collaborator":              {job: as(outsider), fails: rows{"write access": outsider.Name + " may not write to " + c.repo.FullName() + ": its verdicts aren't official — add " + outsider.Name + " to the repository's collaborators with the permission write"}},
		"a collaborator that may read": {job: as(reader), fails: rows{"write access": reader.Name + " may not write — add " + reader.Name}},
		"unknown repository":           {job: c.with("GITHUB_REPOSITORY", c.owner.Name+"/none"), fails: rows{"repository": c.owner.Name + "/none isn't there, or " + c.bot.Name + " may not see it — check --repo (GITHUB_REPOSITORY)"}},
		"unknown owner":                {job: c.with("GITHUB_REPOSITORY", "nobody-at-all/none"), fails: rows{"repository": "isn't there — check --repo"}},
		"private repository unseen":    {job: at(as(absent), secretRepo), fails: rows{"repository": "isn't there, or " + absent.Name + " may not see it — give the account access if the repository is private"}},
		"token for public only": {
			job: at(tokenOf(append(slices.Clone(neededScopes), "public-only")...), secretRepo),
			fails: rows{
				"scope repository": "for public repositories only — for all repositories", "scope issue": "for public repositories only — for all repositories",
				"repository": "is private — " + create + ", for all repositories",
			},
		},
		"unknown pull request":  {job: c.job, args: "--pr 999", fails: rows{"pull request": c.repo.FullName() + " has no pull request #999 — check --pr"}},
		"own pull request":      {job: c.job, args: "--pr " + ownPull, warns: rows{"pull request": "the account's own, on which the server takes no verdict — use another account"}},
		"base unprotected":      {job: at(as(boss), open), args: "--model scripted-1", warns: rows{"official": "main isn't protected: a verdict is shown and holds nothing up — protect the branch"}},
		"rejections don't hold": {job: at(as(boss), lax), args: "--model scripted-1", warns: rows{"official": "wants 2 approvals, and requested changes don't hold up a merge — turn on “Block merge on rejected reviews”"}},
		"not among the approvers, bad configuration": {
			job: at(as(boss), listed),
			fails: rows{
				"official":      "its list of approvers leaves " + boss.Name + " out — add " + boss.Name + " to the approvers",
				"configuration": `.review-bot.yaml:1: block_on: "hihg" is not one of low, medium, high, critical, never — correct that line in the branch main`,
			},
		},
		"configuration missing":     {job: c.job, args: "--config other.yaml", fails: rows{"configuration": "the base branch has no file other.yaml — commit it there"}},
		"configuration of here":     {job: c.job, args: "--model scripted-1 --config " + file(t, "bad.yaml", "modle: x\n"), fails: rows{"configuration": "bad.yaml:1: modle: no such key, did you mean model? — the keys are advisory, base_url"}},
		"prompt file missing":       {job: c.job, args: "--prompt-file NONE.md", fails: rows{"prompt file": "the branch main has no file NONE.md — commit it there, or drop --prompt-file"}},
		"reaction forbidden":        {job: c.job, args: "--lock-reaction tada --pr " + c.pr(), fails: rows{"lock": "the server doesn't allow the reaction tada — give --lock-reaction one of +1 -1 laugh hooray confused heart rocket eyes"}},
		"server down":               {job: c.with("GITHUB_SERVER_URL", down.URL), fails: rows{"server": down.URL + " can't be reached: connection refused — check --server (GITHUB_SERVER_URL)"}},
		"server of another kind":    {job: c.with("GITHUB_SERVER_URL", noAPI.URL), fails: rows{"server": "no Gitea API answers at " + noAPI.URL + " (404) — check --server"}},
		"model server down":         {job: c.with("OPENAI_BASE_URL", down.URL+"/v1"), fails: rows{"model server": down.URL + "/v1 can't be reached: connection refused — check --base-url (OPENAI_BASE_URL)"}},
		"model server elsewhere":    {job: c.with("OPENAI_BASE_URL", strings.TrimSuffix(c.model.URL(), "/v1")), fails: rows{"model server": "has no such endpoints (404) — it ends in /v1 on most servers"}},
		"key refused":               {job: c.with("OPENAI_API_KEY", "another-key-than-that"), fails: rows{"model server": "refuses the key — check OPENAI_API_KEY"}},
		"model unknown":             {job: c.job, args: "--model gpt-99", fails: rows{"model": "gpt-99 isn't among the 2 models that the server lists — give --model a name that it lists, such as scripted-1, scripted-2"}},
		"no model":                  {job: at(as(boss), open), fails: rows{"model": "none is given — give --model NAME"}, warns: rows{"official": "isn't protected — protect"}},
		"no structured outputs":     {job: c.with("OPENAI_BASE_URL", noSchema.URL()), warns: rows{"answer": "the server refuses response_format json_schema, so it is asked for json_object — choose a model that has structured outputs"}},
		"no response format at all": {job: c.with("OPENAI_BASE_URL", nothing.URL()), warns: rows{"answer": "so it is asked for plain text — choose a model"}},
		"schema not heeded":         {job: c.with("OPENAI_BASE_URL", shapeless.URL()), fails: rows{"answer": "a small review failed: two answers in a row could not be used — choose a model that can answer in JSON"}},
		"no credit":                 {job: c.with("OPENAI_BASE_URL", broke.URL()), fails: rows{"answer": "a small review failed: no credit — raise the account's limit or its credit"}},
		"model server busy":         {job: c.with("OPENAI_BASE_URL", busy.URL()), fails: rows{"answer": "a small review failed: 503: too busy — run the job again when the model server works"}},
	} {
		t.Run(promise, func(t *testing.T) {
			t.Parallel()
			d, e := tt.job.doctor(t, strings.Fields(tt.args)...)
			clinic{job: tt.job}.wantSound(t, d, e)
			for state, want := range map[reviewer.CheckState]rows{reviewer.Failed: tt.fails, reviewer.Warned: tt.warns} {
				for _, row := range d.Checks {
					if row.State == state && want[row.Name] == "" {
						t.Errorf("unwanted: %+v", row)
					}
				}
				for name, parts := range want {
					row := d.row(t, name)
					found, fix, _ := strings.Cut(parts, " — ")
					for part := range strings.SplitSeq(found, ": ") {
						if !strings.Contains(row.Found, part) {
							t.Errorf("%s finds %q, want %q in it", name, row.Found, part)
						}
					}
					if row.State != state || !strings.Contains(row.Fix, fix) {
						t.Errorf("%+v, want %s and the fix %q", row, state, fix)
					}
				}
			}
		})
	}
}

// A job that reviews at the same time has the lock: it is left to it.
func TestDoctorLeavesALockAlone(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	path := fmt.Sprintf("/repos/%s/issues/%d/reactions", c.repo.FullName(), c.pull.Index)
	for _, holder := range []*giteatest.User{c.bot, c.owner} {
		c.srv.Call(t, holder.Token, http.MethodPost, path, map[string]string{"content": "rocket"}, nil)
		d, e := c.doctor(t, "--no-model", "--pr", c.pr())
		c.wantSound(t, d, e)
		if row := d.row(t, "lock"); row.State != reviewer.Fine || !strings.Contains(row.Found, "stands on #"+c.pr()+" already and wasn't tried") {
			t.Errorf("%+v", row)
		}
		var left []struct{ Content string }
		if c.srv.Call(t, c.owner.Token, http.MethodGet, path, nil, &left); len(left) != 1 {
			t.Errorf("reactions are %v, want the one", left)
		}
		c.srv.Call(t, holder.Token, http.MethodDelete, path, map[string]string{"content": "rocket"}, nil)
	}
}

// An account whose verdict on the pull request counts needs no administrator to say so.
func TestDoctorSeesAnOfficialVerdict(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	c.pull.Review(t, c.bot, giteatest.ReviewInput{Event: "APPROVED", Body: "fine"})
	d, e := c.doctor(t, "--no-model", "--pr", c.pr())
	c.wantSound(t, d, e)
	if row := d.row(t, "official"); row.State != reviewer.Fine || !strings.Contains(row.Found, c.bot.Name+" has an official verdict on #"+c.pr()) {
		t.Errorf("%+v", row)
	}
}

// Other servers than the one at hand: Gitea with some answers replaced by theirs.
func TestDoctorOnOtherServers(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	type answers map[string]giteatest.Fault // by the end of a path
	json200 := func(body string) giteatest.Fault { return giteatest.Fault{Status: 200, Body: body} }
	gone, none := giteatest.Fault{Status: 405}, giteatest.Fault{Status: 404, Body: "404 page not found\n"}
	notFound := giteatest.Fault{Status: 404, Body: `{"message":"not found","url":"x"}`}
	for promise, tt := range map[string]struct {
		answers answers
		fails   string
		warns   string
		found   map[string]string
		fix     map[string]string
	}{
		"Forgejo": {
			answers: answers{"/version": json200(`{"version":"15.0.3+gitea-1.22.0"}`), "/resolve": gone, "/reviews/9223372036854775807/comments": notFound, "/file-contents": notFound},
			found:   map[string]string{"server": "Forgejo 15.0.3 at ", "conversations": "resolve: no, reply: yes, attach: yes; closed ones are marked in their text instead", "files": "one by one"},
		},
		"Gitea before 1.26": {
			answers: answers{"/version": json200(`{"version":"1.24.6"}`), "/resolve": none, "/file-contents": none},
			warns:   "conversations, files",
			found:   map[string]string{"server": "Gitea 1.24.6 at ", "conversations": "resolve: no, reply: no, attach: no"},
			fix:     map[string]string{"conversations": "Gitea resolves since 1.26", "files": "update"},
		},
		"Gitea of tomorrow": {
			answers: answers{"/version": json200(`{"version":"development"}`), "/replies": notFound},
			found:   map[string]string{"server": "Gitea development at ", "conversations": "resolve: yes, reply: yes, attach: no"},
		},
		"short pages": {
			answers: answers{"/settings/api": json200(`{"max_response_items":20}`)}, warns: "page size",
			found: map[string]string{"page size": "only 20 entries"}, fix: map[string]string{"page size": "MAX_RESPONSE_ITEMS = 50"},
		},
		"no trees": {answers: answers{"/git/trees/": none}, fails: "files", fix: map[string]string{"files": "update the server"}},
		"moved": {
			answers: answers{"/version": {Status: 301, Header: http.Header{"Location": {"https://git.example.com/api/v1/version"}}}},
			fails:   "server", found: map[string]string{"server": "https://git.example.com"}, fix: map[string]string{"server": "give the address that it leads to as --server"},
		},
		"a failing server": {answers: answers{"/version": {Status: 502, Body: "<html>"}}, fails: "server", found: map[string]string{"server": "the server answered 502"}, fix: map[string]string{"server": "run doctor again"}},
		"a page of some proxy": {
			answers: answers{"/version": json200("<html>hello")}, fails: "server",
			found: map[string]string{"server": "no Gitea API answers"}, fix: map[string]string{"server": "check --server"},
		},
		"a failure at one place": {
			answers: answers{"/issues/comments/9223372036854775807": {Status: 500, Body: "{}"}}, fails: "scope issue",
			found: map[string]string{"scope issue": "couldn't be found out: the server answered 500"}, fix: map[string]string{"scope issue": "run doctor again"},
		},
		"version for those who sign in": {
			answers: answers{"/version": {Status: 403, Body: `{"message":"Only signed in user is allowed to call APIs."}`}},
			found:   map[string]string{"server": "tells its version only to those who sign in"},
		},
		"reactions unknown": {answers: answers{"/settings/ui": none}, warns: "lock", fix: map[string]string{"lock": "--pr N"}},
		"archived": {
			answers: answers{c.repo.FullName(): json200(`{"archived":true,"has_pull_requests":true,"default_branch":"main","permissions":{"push":true}}`)}, fails: "repository",
			found: map[string]string{"repository": "is archived"}, fix: map[string]string{"repository": "take it out of the archive"},
		},
	} {
		t.Run(promise, func(t *testing.T) {
			t.Parallel()
			proxy := c.srv.NewProxy(t)
			defer proxy.Close()
			proxy.SetHook(func(r *giteatest.Request) *giteatest.Fault {
				for path, fault := range tt.answers {
					if strings.HasSuffix(r.Path, path) || strings.HasSuffix(path, "/") && strings.Contains(r.Path, path) {
						return &fault
					}
				}
				return nil
			})
			d, e := c.with("GITHUB_SERVER_URL", proxy.URL).doctor(t, "--no-model")
			c.wantSound(t, d, e)
			if d.in(reviewer.Failed) != tt.fails || d.in(reviewer.Warned) != tt.warns {
				t.Errorf("failed: %q, want %q; warned: %q, want %q\n%s", d.in(reviewer.Failed), tt.fails, d.in(reviewer.Warned), tt.warns, e.stdout)
			}
			for name, want := range tt.found {
				if row := d.row(t, name); !strings.Contains(row.Found, want) {
					t.Errorf("%+v, want %q found", row, want)
				}
			}
			for name, want := range tt.fix {
				if row := d.row(t, name); !strings.Contains(row.Fix, want) {
					t.Errorf("%+v, want the fix %q", row, want)
				}
			}
		})
	}
}

// What is wrong with flags ends doctor as it ends a review.
func TestDoctorUsage(t *testing.T) {
	t.Parallel()
	all := complete(t).job
	for args, want := range map[string]string{
		"--role Bad":         `--role "Bad" is not of the form`,
		"--pr zero":          `--pr "zero" is not the number of a pull request`,
		"--max-calls 0":      "--max-calls 0 is less than 1",
		"--base-url nowhere": "--base-url is not an address",
		"--repo x":           `--repo "x" is not of the form`,
	} {
		if e := all.run(t, append([]string{"doctor"}, strings.Fields(args)...)...); e.status != 2 || !strings.Contains(e.errorLine(t), want) || e.stdout != "" {
			t.Errorf("%s: exit status %d, want 2 and %q\n%s%s", args, e.status, want, e.stdout, e.stderr)
		}
	}
	if e := all.with("GITEA_TOKEN", "").run(t, "doctor"); e.status != 2 || !strings.Contains(e.errorLine(t), "no token is given — create one") {
		t.Errorf("exit status %d\n%s", e.status, e.stderr)
	}
}

// A server that repeats the token doesn't get it into the table, also if it came
// from a file; and a reaction that isn't allowed isn't tried.
func TestDoctorKeepsSecretsAndTriesNothingForbidden(t *testing.T) {
	t.Parallel()
	const token = "s3cr3t-of-the-bot"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/reactions"):
			t.Errorf("tried: %s %s", r.Method, r.URL.Path)
		case strings.HasSuffix(r.URL.Path, "/issues/comments"):
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(w, `{"message":"what is %s"}`, strings.TrimPrefix(r.Header.Get("Authorization"), "token "))
			return
		}
		fmt.Fprint(w, `{"version":"1.26.0","id":7,"login":"bot","allowed_reactions":["eyes"],"state":"open","base":{"ref":"main"},"user":{"id":8}}`)
	}))
	t.Cleanup(srv.Close)
	j := complete(t).with("GITHUB_SERVER_URL", srv.URL).with("GITEA_TOKEN", "")
	for _, args := range [][]string{nil, {"--json"}} {
		e := j.run(t, append([]string{"doctor", "--no-model", "--pr", "42", "--token-file", file(t, "token", token)}, args...)...)
		if strings.Contains(e.stdout+e.stderr, token) || !strings.Contains(e.stdout, "masked") || e.status != 1 {
			t.Errorf("exit status %d\n%s%s", e.status, e.stdout, e.stderr)
		}
	}
}
