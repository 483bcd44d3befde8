package main

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"review-bot/reviewer/gitea"
)

// targetFlags say which pull request is meant, and as whom.
type targetFlags struct {
	Server    string `help:"Address of the forge's front page." placeholder:"URL" also:"GITHUB_SERVER_URL"`
	Repo      string `help:"Repository." placeholder:"OWNER/NAME" also:"GITHUB_REPOSITORY"`
	PR        string `name:"pr" help:"Number of the pull request; inside a job it is taken from the event." placeholder:"N"`
	Token     string `help:"The account's token. In CI give it by environment only: arguments show in process lists." also:"GITEA_TOKEN"`
	Account   string `help:"Whose token it is, for one that doesn't say so: Forgejo's tokens that are limited to repositories." placeholder:"LOGIN"`
	TokenFile string `help:"File that holds the token." type:"path" placeholder:"FILE"`

	ForgeLimit time.Duration `hidden:"" help:"For tests: how long a request to the forge may take."`
}

// target is a pull request, and the token to see it with.
type target struct {
	server      string
	owner, name string
	number      int64
	token       string
	account     string        // whose it is; "" asks the server
	limit       time.Duration // of a request; 0 for the default
}

// forge is the pull request on its server.
func (t target) forge() *gitea.Client { return gitea.New(t.config()) }

// reader is forge for what only reads.
func (t target) reader() *gitea.Client {
	cfg := t.config()
	cfg.Reading = true
	return gitea.New(cfg)
}

func (t target) config() gitea.Config {
	return gitea.Config{
		Server: t.server, Owner: t.owner, Name: t.name, Number: t.number, Token: t.token, Account: t.account, Retries: 3, Limit: t.limit,
	}
}

func (t target) String() string { return fmt.Sprintf("%s/%s#%d", t.owner, t.name, t.number) }

// Owner and name as Gitea allows them; nothing that could lead a path astray.
var repoPattern = regexp.MustCompile(`^([A-Za-z0-9._-]+)/([A-Za-z0-9._-]+)$`)

// resolve finds the pull request and the token.
func (f targetFlags) resolve(env map[string]string) (target, error) {
	t, err := f.place(env)
	if err != nil {
		return t, err
	}
	if t.token, err = f.secret(env); err != nil {
		return t, err
	}
	if t.token == "" {
		return t, usage("no token is given — create one for the bot's account with repository: write, issue: write, user: read, and set GITEA_TOKEN")
	}
	return t, nil
}

// secret is the token, "" if none is given.
func (f targetFlags) secret(env map[string]string) (string, error) {
	return secretValue(env, f.Token, f.TokenFile, "--token-file", "REVIEW_BOT_TOKEN", "GITEA_TOKEN")
}

// place is the pull request without the token.
func (f targetFlags) place(env map[string]string) (target, error) {
	t := target{limit: f.ForgeLimit, account: f.Account}
	if f.Server == "" {
		return t, usage("no server is given — give --server URL, the forge's front page (inside a job it is GITHUB_SERVER_URL)")
	}
	u, err := url.Parse(f.Server)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return t, usage("--server %q is not an address such as https://git.example.com — give the forge's front page", redactURL(f.Server))
	}
	t.server = strings.TrimRight(f.Server, "/")
	if f.Repo == "" {
		return t, usage("no repository is given — give --repo OWNER/NAME (inside a job it is GITHUB_REPOSITORY)")
	}
	m := repoPattern.FindStringSubmatch(f.Repo)
	if m == nil || strings.Trim(m[1], ".") == "" || strings.Trim(m[2], ".") == "" {
		return t, usage("--repo %q is not of the form OWNER/NAME", redactURL(f.Repo))
	}
	t.owner, t.name = m[1], m[2]
	if t.number, err = f.pull(env); err != nil {
		return t, err
	}
	return t, nil
}

// redactURL hides what may be secret in an address, or in what was meant as one:
// the user and password, of which either may be a token, and the query.
func redactURL(s string) string {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		scheme := ""
		if j := strings.Index(s[:i], "://"); j >= 0 {
			scheme = s[:j+len("://")]
		}
		s = scheme + "…" + s[i:]
	}
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s = s[:i+1] + "…"
	}
	return s
}

// pull finds the number: the flag, then the event.
func (f targetFlags) pull(env map[string]string) (int64, error) {
	if f.PR != "" {
		n, err := strconv.ParseInt(f.PR, 10, 64)
		if err != nil || n <= 0 {
			return 0, usage("--pr %q is not the number of a pull request", f.PR)
		}
		return n, nil
	}
	e, err := readEvent(env)
	if err != nil {
		return 0, err
	}
	return e.number()
}

// secretValue is the value of a flag, or the content of the file that the flag
// beside it names. A file goes before a value that only stands in one of the
// variables: whoever names a file means it.
func secretValue(env map[string]string, value, path, flag string, variables ...string) (string, error) {
	fromEnvironment := slices.ContainsFunc(variables, func(name string) bool { return env[name] == value })
	if path == "" || (value != "" && !fromEnvironment) {
		return strings.TrimSpace(value), nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", usage("%s: %v", flag, err)
	}
	if strings.TrimSpace(string(data)) == "" {
		return "", usage("%s: %s is empty", flag, path)
	}
	return strings.TrimSpace(string(data)), nil
}
