package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// file writes a file and returns its path.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// gatekeeper is a forge that accepts no token, and so ends every run that gets past
// its settings.
type gatekeeper struct {
	job
	mu     sync.Mutex
	tokens map[string]bool // that it was shown
}

// complete is an environment with everything that a run needs.
func complete(t *testing.T) *gatekeeper {
	t.Helper()
	g := &gatekeeper{tokens: map[string]bool{}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "token ")] = true
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(srv.Close)
	g.job = job{map[string]string{
		"GITHUB_SERVER_URL": srv.URL, "GITHUB_REPOSITORY": "alice/shop", "GITHUB_REF": "refs/pull/42/head",
		"GITEA_TOKEN": "gitea-token-of-the-bot", "REVIEW_BOT_MODEL": "scripted-1", "REVIEW_BOT_ROLE": "security",
		"OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
	}}
	return g
}

// pastSettings tells whether a run had all it needs and went on to the forge.
func (e ended) pastSettings(t *testing.T) bool {
	t.Helper()
	return e.status == 1 && strings.Contains(e.errorLine(t), "the server doesn't accept the token")
}

func TestCompleteSettings(t *testing.T) {
	g := complete(t)
	if e := g.run(t); !e.pastSettings(t) || !strings.Contains(e.stderr, "security on alice/shop#42 at "+g.env["GITHUB_SERVER_URL"]) {
		t.Errorf("exit status %d\n%s", e.status, e.stderr)
	}
}

func TestUsageErrors(t *testing.T) {
	const more = " — review-bot review --help lists the flags and their values"
	const badServer = " is not an address such as https://git.example.com — give the forge's front page"
	const noPull = "no pull request is given — give --pr N, or run on the event pull_request"
	all := complete(t).job
	noFile := filepath.Join(t.TempDir(), "none")
	notEvent, empty := file(t, "event.json", `{"number":`), file(t, "empty", " \n")
	badConfig := file(t, "bad.yaml", "model: a\nblock_on: hihg\n")
	push := file(t, "push.json", `{"ref":"refs/heads/main","number":7}`)
	for promise, tt := range map[string]struct {
		job  job
		args string
		want string
	}{
		"no role":           {all.with("REVIEW_BOT_ROLE", ""), "", "no role is given — give --role NAME, such as security, logic, tests, performance, docs"},
		"bad role":          {all, "--role Security", `--role "Security" is not of the form [a-z0-9][a-z0-9._-]{0,63}`},
		"role with a slash": {all, "--role a/b", `--role "a/b" is not of the form [a-z0-9][a-z0-9._-]{0,63}`},

		"no server":             {all.with("GITHUB_SERVER_URL", ""), "", "no server is given — give --server URL, the forge's front page (inside a job it is GITHUB_SERVER_URL)"},
		"server with a user":    {all, "--server https://bot@git.example.com", `--server "https://…@git.example.com"` + badServer},
		"server by ftp":         {all, "--server ftp://git.example.com", `--server "ftp://git.example.com"` + badServer},
		"server without a host": {all, "--server https:///alice", `--server "https:///alice"` + badServer},
		"server, port only":     {all, "--server http://:3000", `--server "http://:3000"` + badServer},
		"server, name only":     {all, "--server git.example.com", `--server "git.example.com"` + badServer},
		"server with a query":   {all, "--server https://git.example.com/?a=b", `--server "https://git.example.com/?…"` + badServer},
		"server with a place":   {all, "--server https://git.example.com/#a", `--server "https://git.example.com/#…"` + badServer},

		"no repository":        {all.with("GITHUB_REPOSITORY", ""), "", "no repository is given — give --repo OWNER/NAME (inside a job it is GITHUB_REPOSITORY)"},
		"repository, one word": {all, "--repo shop", `--repo "shop" is not of the form OWNER/NAME`},
		"repository, three":    {all, "--repo a/b/c", `--repo "a/b/c" is not of the form OWNER/NAME`},
		"repository, dots":     {all, "--repo ../shop", `--repo "../shop" is not of the form OWNER/NAME`},
		"repository, address":  {all, "--repo https://git.example.com/a/b", `--repo "https://git.example.com/a/b" is not of the form OWNER/NAME`},

		"pull, a word":         {all, "--pr main", `--pr "main" is not the number of a pull request`},
		"pull, zero":           {all, "--pr 0", `--pr "0" is not the number of a pull request`},
		"pull, negative":       {all, "--pr=-1", `--pr "-1" is not the number of a pull request`},
		"pull, too large":      {all, "--pr 99999999999999999999", `--pr "99999999999999999999" is not the number of a pull request`},
		"no pull":              {all.with("GITHUB_REF", "refs/heads/main"), "", noPull},
		"ref of no pull":       {all.with("GITHUB_REF", "refs/pull/0/head"), "", noPull},
		"ref too large":        {all.with("GITHUB_REF", "refs/pull/99999999999999999999/head"), "", noPull},
		"event, another":       {all.with("GITHUB_REF", "refs/heads/main").with("GITHUB_EVENT_PATH", push), "", noPull},
		"event, not JSON":      {all.with("GITHUB_EVENT_PATH", notEvent), "", "the event file " + notEvent + " is not an event in JSON: unexpected end of JSON input — give --pr N"},
		"event, not a file":    {all.with("GITHUB_EVENT_PATH", noFile), "", "the event file can't be read: open " + noFile + ": no such file or directory — give --pr N"},
		"no token":             {all.with("GITEA_TOKEN", ""), "", "no token is given — create one for the bot's account with repository: write, issue: write, user: read, and set GITEA_TOKEN"},
		"token file, empty":    {all.with("GITEA_TOKEN", ""), "--token-file " + empty, "--token-file: " + empty + " is empty"},
		"token file, none":     {all.with("GITEA_TOKEN", ""), "--token-file " + noFile, "--token-file: open " + noFile + ": no such file or directory"},
		"no model":             {all.with("REVIEW_BOT_MODEL", ""), "--config " + empty, "no model is given — give --model NAME (REVIEW_BOT_MODEL), or write model: NAME into " + empty},
		"no configuration":     {all, "--config " + noFile, "--config: open " + noFile + ": no such file or directory"},
		"bad configuration":    {all, "--config " + badConfig, badConfig + `:2: block_on: "hihg" is not one of low, medium, high, critical, never`},
		"base url, no address": {all, "--base-url localhost:8080/v1", "--base-url is not an address such as https://api.example.com/v1"},
		"key file, empty":      {all, "--api-key-file " + empty, "--api-key-file: " + empty + " is empty"},
		"key file, none":       {all, "--api-key-file " + noFile, "--api-key-file: open " + noFile + ": no such file or directory"},
		"prompt file, none":    {all, "--prompt-file " + noFile, "--prompt-file: open " + noFile + ": no such file or directory"},
		"prompt file, empty":   {all, "--prompt-file " + empty, "--prompt-file: " + empty + " is empty"},
		"prompt file, ./":      {all, "--prompt-file ./none.md", "--prompt-file: open ./none.md: no such file or directory"},
		"feedback, none":       {all, "--feedback " + noFile, "--feedback: open " + noFile + ": no such file or directory"},

		"threshold by flag":     {all, "--block-on urgent", `--block-on: "urgent" is not one of low, medium, high, critical, never` + more},
		"threshold by variable": {all.with("REVIEW_BOT_BLOCK_ON", "urgent"), "", `--block-on: "urgent" is not one of low, medium, high, critical, never` + more},
		"switch by variable":    {all.with("REVIEW_BOT_DRY_RUN", "maybe"), "", `--dry-run: bool value must be true, 1, yes, false, 0 or no but got "maybe"` + more},
		"unknown flag":          {all, "--fail-on-blok", `unknown flag --fail-on-blok, did you mean "--fail-on-block"?` + more},
		"flag of another":       {all, "reconcile --model x", "unknown flag --model — review-bot reconcile --help lists the flags and their values"},
		"unknown command":       {all, "revue", "unexpected argument revue" + more},
		"flag without value":    {all, "--model", `--model: expected string value but got "EOL" (<EOL>)` + more},
	} {
		t.Run(promise, func(t *testing.T) {
			t.Parallel()
			e := tt.job.run(t, strings.Fields(tt.args)...)
			if got := e.errorLine(t); got != "review-bot: "+tt.want || e.stderr != got+"\n" {
				t.Errorf("stderr is\n%s, want\nreview-bot: %s", e.stderr, tt.want)
			}
			if e.status != 2 || e.stdout != "" {
				t.Errorf("exit status %d, stdout %q; want 2 and nothing", e.status, e.stdout)
			}
		})
	}
}

// The flag goes before its own variable, that before the well-known one. Which one
// counted shows in the complaint about it.
func TestPrecedence(t *testing.T) {
	for flag, tt := range map[string]struct{ own, known string }{
		"--server": {"REVIEW_BOT_SERVER", "GITHUB_SERVER_URL"},
		"--repo":   {"REVIEW_BOT_REPO", "GITHUB_REPOSITORY"},
	} {
		known := complete(t).with(tt.known, "bad-known")
		own := known.with(tt.own, "bad-own")
		for want, e := range map[string]ended{
			"bad-known": known.with(tt.own, "").run(t), // empty: unset
			"bad-own":   own.run(t),
			"bad-flag":  own.run(t, flag, "bad-flag"),
		} {
			if got := e.errorLine(t); !strings.HasPrefix(got, `review-bot: `+flag+` "`+want+`" is not `) {
				t.Errorf("%s, want %s to count", got, want)
			}
		}
	}
	for name, e := range map[string]ended{
		"role":      complete(t).with("REVIEW_BOT_ROLE", "Bad Own").run(t, "--role", "Bad-Flag"),
		"pr":        complete(t).with("REVIEW_BOT_PR", "bad-own").run(t, "--pr", "Bad-Flag"),
		"threshold": complete(t).with("REVIEW_BOT_BLOCK_ON", "low").run(t, "--block-on", "Bad-Flag"),
	} {
		if got := e.errorLine(t); !strings.Contains(got, `"Bad-Flag" is not `) {
			t.Errorf("%s: %s, want the flag to count", name, got)
		}
	}
	tokenFile := file(t, "token", "of-the-file\n")
	for _, tt := range []struct{ own, known, args, want string }{
		{"", "the-known-one", "", "the-known-one"},
		{"the-own-one", "the-known-one", "", "the-own-one"},
		{"the-own-one", "", "", "the-own-one"},
		{"the-own-one", "the-known-one", "--token of-the-flag", "of-the-flag"},
		{"", "", "--token-file " + tokenFile, "of-the-file"},
		{"", "of-gitea", "--token-file " + tokenFile, "of-the-file"},
		{"of-bot", "", "--token-file " + tokenFile, "of-the-file"},
		{"", "", "--token of-the-flag --token-file " + tokenFile, "of-the-flag"},
	} {
		g := complete(t)
		e := g.with("REVIEW_BOT_TOKEN", tt.own).with("GITEA_TOKEN", tt.known).run(t, strings.Fields(tt.args)...)
		if !e.pastSettings(t) || len(g.tokens) != 1 || !g.tokens[tt.want] {
			t.Errorf("REVIEW_BOT_TOKEN=%s GITEA_TOKEN=%s %s: the forge was shown %v, want %s\n%s", tt.own, tt.known, tt.args, g.tokens, tt.want, e.stderr)
		}
	}
}

// A composite action passes inputs that weren't given as empty variables.
func TestEmptyVariablesCountAsUnset(t *testing.T) {
	j := complete(t).job
	for _, name := range []string{
		"SERVER", "REPO", "PR", "TOKEN", "TOKEN_FILE", "BASE_URL", "API_KEY", "API_KEY_FILE", "PROMPT_FILE", "INSTRUCTIONS", "FEEDBACK", "BLOCK_ON",
		"ADVISORY", "REVIEW_DRAFTS", "FORCE", "DRY_RUN", "JSON", "FAIL_ON_BLOCK", "NO_APPROVE", "REPOST_STALE", "SIBLINGS", "LOCK", "LOCK_REACTION",
	} {
		j = j.with("REVIEW_BOT_"+name, "")
	}
	for _, name := range []string{"GITHUB_EVENT_PATH", "OPENAI_API_KEY", "GITHUB_OUTPUT", "GITHUB_ACTIONS"} {
		j = j.with(name, "")
	}
	if e := j.run(t); !e.pastSettings(t) {
		t.Errorf("exit status %d\n%s", e.status, e.stderr)
	}
}

// Which version to install may well stand in a variable of that name.
func TestHelpAndVersionAreNoVariables(t *testing.T) {
	if e := complete(t).with("REVIEW_BOT_VERSION", "1.2.0").with("REVIEW_BOT_HELP", "true").run(t); !e.pastSettings(t) {
		t.Errorf("exit status %d\n%s%s", e.status, e.stdout, e.stderr)
	}
}

func TestPullRequestIsFound(t *testing.T) {
	event := func(content string) string { return file(t, "event.json", content) }
	all := complete(t)
	for promise, tt := range map[string]struct {
		pr, event, ref string
		want           string
	}{
		"flag before all":             {"5", event(`{"number":6,"pull_request":{"number":6}}`), "refs/pull/7/head", "#5 "},
		"event before ref":            {"", event(`{"number":6,"pull_request":{"number":6}}`), "refs/pull/7/head", "#6 "},
		"event, in the pull only":     {"", event(`{"pull_request":{"number":6}}`), "refs/pull/7/head", "#6 "},
		"event, without number":       {"", event(`{"pull_request":{}}`), "refs/pull/7/head", "#7 "},
		"event of another kind":       {"", event(`{"number":6,"issue":{"number":6}}`), "refs/pull/7/head", "#7 "},
		"ref":                         {"", "", "refs/pull/7/head", "#7 "},
		"ref of the merge":            {"", "", "refs/pull/7/merge", "#7 "},
		"a broken event and the flag": {"5", event(`{`), "", "#5 "},
	} {
		e := all.with("REVIEW_BOT_PR", tt.pr).with("GITHUB_EVENT_PATH", tt.event).with("GITHUB_REF", tt.ref).run(t)
		if !e.pastSettings(t) || !strings.Contains(e.stderr, " on alice/shop"+tt.want) {
			t.Errorf("%s: exit status %d\n%s", promise, e.status, e.stderr)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, args := range []string{"--help", "-h", "review --help", "reconcile --help", "--role x --help"} {
		e := job{}.run(t, strings.Fields(args)...)
		if e.status != 0 || e.stderr != "" || !strings.HasPrefix(e.stdout, "Usage: review-bot ") {
			t.Errorf("%s: exit status %d, stderr %q\n%s", args, e.status, e.stderr, e.stdout)
		}
	}
	for command, wants := range map[string][]string{
		"":       {"REVIEW_BOT_<FLAG>", "Exit status: 0", "review ", "reconcile "},
		"review": {"--block-on=SEVERITY", "low, medium, high, critical or never; default high", "(OPENAI_API_KEY)", "(GITHUB_SERVER_URL)"},
	} {
		e := job{}.run(t, append(strings.Fields(command), "--help")...)
		for _, want := range wants {
			if !strings.Contains(strings.Join(strings.Fields(e.stdout), " "), want) {
				t.Errorf("the help of %q doesn't tell %q:\n%s", command, want, e.stdout)
			}
		}
	}
	e := job{}.run(t, "--version")
	if e.status != 0 || e.stderr != "" || e.stdout != about()+"\n" {
		t.Errorf("--version: exit status %d, stdout %q, stderr %q", e.status, e.stdout, e.stderr)
	}
}

// Secrets aren't printed, also where they stand in the wrong place.
func TestSecretsAreNeverPrinted(t *testing.T) {
	const secret = "s3cr3t-of-the-bot"
	keyFile := file(t, "secret", secret+"\n")
	plain := complete(t).with("GITEA_TOKEN", "some-other-token")
	for promise, e := range map[string]ended{
		"server, password":          plain.run(t, "--server", "https://user:"+secret+"@git.example.com"),
		"server, user":              plain.run(t, "--server", "https://"+secret+"@git.example.com"),
		"server, both by variable":  plain.with("GITHUB_SERVER_URL", "https://"+secret+":"+secret+"@git.example.com").run(t),
		"server, not an address":    plain.run(t, "--server", "https://user:"+secret+"%zz@git.example.com"),
		"server, signs within":      plain.run(t, "--server", "https://user:a?b#c@"+secret+"@git.example.com"),
		"server, no scheme":         plain.run(t, "--server", "user:"+secret+"@git.example.com"),
		"server, query":             plain.run(t, "--server", "https://git.example.com/?token="+secret),
		"repository, an address":    plain.run(t, "--repo", "https://"+secret+"@git.example.com/alice/shop"),
		"repository, by scp":        plain.run(t, "--repo", secret+"@git.example.com:alice/shop"),
		"a token for a repository":  plain.with("GITEA_TOKEN", secret).run(t, "--repo", secret),
		"a token for a number":      plain.run(t, "--token", secret, "--pr", secret),
		"a key for a number":        plain.run(t, "--api-key="+secret, "--pr", secret),
		"a key for a role":          plain.with("OPENAI_API_KEY", secret).run(t, "--role", strings.ToUpper(secret[:1])+secret),
		"a token for a threshold":   plain.run(t, "--block-on", secret, "--token="+secret),
		"a token that stands alone": plain.with("REVIEW_BOT_TOKEN", secret).run(t, "--dry-run", secret),
		"a misspelt flag":           plain.run(t, "--tokn="+secret),
		"a path":                    plain.with("GITEA_TOKEN", "").run(t, "--token", secret, "--feedback", "/none/"+secret),
		"files":                     plain.with("GITEA_TOKEN", "").run(t, "--token-file", keyFile, "--api-key-file", keyFile, "--server", plain.env["GITHUB_SERVER_URL"]+"/"+secret),
	} {
		if strings.Contains(e.stdout+e.stderr, secret) || strings.Contains(e.stdout+e.stderr, strings.ToUpper(secret)) {
			t.Errorf("%s: the secret is printed:\n%s%s", promise, e.stdout, e.stderr)
		}
		if e.status == 0 || e.errorLine(t) == "" {
			t.Errorf("%s: exit status %d\n%s", promise, e.status, e.stderr)
		}
	}
}
