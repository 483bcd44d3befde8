package reviewer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// sound are the facts of a set-up with nothing to complain about, as seen by an
// administrator.
func sound() ForgeFacts {
	ok, refused := Reply{Status: 200}, Reply{Status: 404, Text: "not found"}
	return ForgeFacts{
		Server: "https://git.example.com", Repo: "alice/shop", Number: 3,
		Version: Told[string]{ok, "1.26.0"}, PageSize: Told[int]{ok, 50}, Allowed: Told[[]string]{ok, []string{"eyes", "rocket"}},
		Account: Told[User]{ok, User{7, "bot"}}, Repository: Told[RepoFacts]{ok, RepoFacts{Pulls: true, Push: true, Admin: true, DefaultBranch: "main"}},
		RepoWrite: refused, IssueWrite: refused, IssueRead: ok,
		Pull:    Told[Pull]{ok, Pull{Number: 3, Author: User{8, "alice"}, BaseBranch: "main"}},
		Branch:  Told[BranchFacts]{ok, BranchFacts{"main", true, 0, []string{"review / review (logic) into main (pull_request)"}}},
		Rules:   Told[RuleFacts]{ok, RuleFacts{BlockOnRejected: true, Files: "docs/*;.gitea/**"}},
		Resolve: refused, Reply: refused, Attach: refused, Tree: ok, Contents: ok,
	}
}

// forgejo makes the facts those of a Forgejo.
func forgejo(f *ForgeFacts) {
	absent := Reply{Status: 405, Absent: true}
	f.Version.Value = "15.0.3+gitea-1.22.0"
	f.Resolve, f.Reply, f.Contents = absent, absent, Reply{Status: 404, Absent: true}
}

func rowOf(t *testing.T, checks []Check, name string) Check {
	t.Helper()
	at := slices.IndexFunc(checks, func(c Check) bool { return c.Name == name })
	if at < 0 {
		t.Fatalf("no row %s in %+v", name, checks)
	}
	return checks[at]
}

func TestJudgeForge(t *testing.T) {
	lock := LockTrial{Reaction: "rocket"}
	for _, c := range JudgeForge(sound(), lock) {
		if c.State != Fine || c.Fix != "" {
			t.Errorf("a sound set-up: %+v", c)
		}
	}
	for promise, tt := range map[string]struct {
		change     func(*ForgeFacts)
		row        string
		state      CheckState
		found, fix string
	}{
		"on the list": {func(f *ForgeFacts) {
			f.Rules.Value = RuleFacts{BlockOnRejected: true, Listed: true, Users: []string{"BOT"}}
		}, "official", Fine, "verdicts of bot count", ""},
		"not on the list": {
			func(f *ForgeFacts) {
				f.Rules.Value = RuleFacts{BlockOnRejected: true, Listed: true, Users: []string{"ann"}}
			}, "official", Failed,
			"its list of approvers leaves bot out: its verdicts aren't official, and what it rejects can be merged", "add bot to the approvers",
		},
		"a list with teams": {
			func(f *ForgeFacts) {
				f.Rules.Value = RuleFacts{BlockOnRejected: true, Listed: true, Teams: []string{"bots", "staff"}}
			}, "official", Warned,
			"by a team (bots, staff) if at all", "see that bot is in such a team",
		},
		"official already, with teams": {
			func(f *ForgeFacts) {
				f.Rules.Value, f.Official = RuleFacts{BlockOnRejected: true, Listed: true, Teams: []string{"bots"}}, true
			}, "official", Fine,
			"bot has an official verdict on #3", "",
		},
		"Forgejo, talk":  {forgejo, "conversations", Fine, "resolve: no, reply: yes, attach: yes; closed ones are marked", ""},
		"Forgejo, files": {forgejo, "files", Fine, "one by one, as Forgejo", ""},
		"a token that may not say": {func(f *ForgeFacts) {
			forgejo(f)
			f.Account = Told[User]{Reply: Reply{Status: 403, Text: "limited"}}
		}, "token", Failed, "it doesn't say whose it is: limited", "give --account LOGIN"},
		"a token that may not say, named": {func(f *ForgeFacts) {
			forgejo(f)
			f.Account, f.Named = Told[User]{Reply{Status: 403, Text: "limited"}, User{7, "bot"}}, Reply{Status: 200}
		}, "token", Fine, "by --account it is of bot", ""},
		"no scope user, named": {func(f *ForgeFacts) {
			f.Account, f.Named = Told[User]{Reply{Status: 403, Text: "required scope"}, User{7, "bot"}}, Reply{Status: 200}
		}, "scope user", Fine, "none is needed with --account", ""},
		"another's token": {func(f *ForgeFacts) {
			f.Account, f.Named = Told[User]{Reply: Reply{Status: 403, Text: "limited"}}, Reply{Status: 403, Text: "no"}
		}, "token", Failed, "it isn't of the account that --account names", "correct --account"},
		"one folder of workflows": {func(f *ForgeFacts) {
			forgejo(f)
			f.Workflows = Told[[]string]{Reply{Status: 200}, []string{".gitea/workflows"}}
		}, "workflow folder", Fine, "read from .gitea/workflows", ""},
		"a hidden folder of workflows": {
			func(f *ForgeFacts) {
				forgejo(f)
				f.Workflows = Told[[]string]{Reply{Status: 200}, []string{".forgejo/workflows", ".gitea/workflows"}}
			}, "workflow folder", Warned,
			"Forgejo reads .forgejo/workflows only, and not .gitea/workflows", "the workflow that reviews is in .forgejo/workflows",
		},
		"no folder of workflows": {func(f *ForgeFacts) {
			forgejo(f)
			f.Workflows = Told[[]string]{Reply: Reply{Status: 200}}
		}, "workflow folder", Fine, "has no folder of workflows", ""},
		"folders of workflows that can't be read": {forgejo, "workflow folder", Warned, "couldn't be read: it wasn't asked", "run doctor again"},
		"no checks": {
			func(f *ForgeFacts) { f.Branch.Value.Checks = nil }, "required checks", Warned,
			"a merge into main waits for no status check", "fail-on-block",
		},
		"checks": {
			func(*ForgeFacts) {}, "required checks", Fine,
			"waits for review / review (logic) into main (pull_request); whether these jobs have fail-on-block can't be seen",
			"",
		},
		"checks of every branch": {
			func(f *ForgeFacts) { f.Branch.Value.Checks = []string{"review / review (logic) (pull_request)"} },
			"required checks", Warned, "none of these names the branch", "“review / review (ROLE) into main (pull_request)”",
		},
		"checks of another branch": {
			func(f *ForgeFacts) { f.Branch.Value.Name = "mai" }, "required checks", Warned, "none of these names the branch", "into mai ",
		},
		"workflow files": {
			func(*ForgeFacts) {}, "workflow files", Fine, "can't be merged into main; who may push can set a check all the same", "",
		},
		"workflow files, no pattern": {
			func(f *ForgeFacts) { f.Rules.Value.Files = "" }, "workflow files", Warned, "may change these", "write .gitea/** into",
		},
		"workflow files, patterns that miss some": {
			func(f *ForgeFacts) { f.Rules.Value.Files = ".gitea/*; .gitea/workflows/*;.gitea/workflows/*.yml" },
			"workflow files", Warned, "may change these", "pull_request_target",
		},
		"workflow files, other patterns": {
			func(f *ForgeFacts) { f.Rules.Value.Files = " .Gitea/workflows/?.y*ml " }, "workflow files", Fine, "can't be merged", "",
		},
		"workflow files of Forgejo": {
			func(f *ForgeFacts) { f.Version.Value = "15.0.3+gitea-1.22.0" }, "workflow files", Warned, "may change these",
			"write .gitea/**;.forgejo/** into",
		},
		"workflow files of the base": {func(f *ForgeFacts) {
			f.Rules.Value.Files, f.Branch.Value.Checks = "", []string{"ci / a (push)", "review / a into main (pull_request_target)"}
		}, "workflow files", Fine, "“review / a into main (pull_request_target)” is made by the base branch's workflow files", ""},
		"workflow files, not an administrator": {
			func(f *ForgeFacts) { f.Rules = Told[RuleFacts]{} }, "workflow files", Skipped, "only administrators see", "",
		},
		"workflow files, no checks": {
			func(f *ForgeFacts) { f.Branch.Value.Checks = nil }, "workflow files", Skipped, "a required check comes first", "",
		},
		"checks, no protection": {
			func(f *ForgeFacts) { f.Branch.Value.Protected = false }, "required checks", Skipped,
			"the protected branch comes first", "",
		},
		"approvals wanted": {
			func(f *ForgeFacts) { f.Branch.Value.Approvals = 2 }, "approvals", Warned,
			"wants 2 approvals, and one of bot counts", "no_approve: true",
		},
		"approvals, on the list": {func(f *ForgeFacts) {
			f.Branch.Value.Approvals, f.Rules.Value = 1, RuleFacts{BlockOnRejected: true, Listed: true, Users: []string{"bot"}}
		}, "approvals", Warned, "as it is on the list of approvers", "no_approve: true"},
		"approvals, by people": {
			func(f *ForgeFacts) { f.Branch.Value.Approvals, f.NoApprove = 2, true }, "approvals", Fine, "in order",
			"",
		},
		"approvals that stay": {
			func(f *ForgeFacts) { f.Rules.Value.KeepsStale = true }, "approvals", Warned, "still counts after a push",
			"Dismiss stale approvals",
		},
		"requests hold up": {
			func(f *ForgeFacts) { f.Rules.Value.BlockOnRequests = true }, "approvals", Warned,
			"takes a verdict back by requesting its own", "turn off",
		},
		"approvals, not an administrator": {
			func(f *ForgeFacts) { f.Rules = Told[RuleFacts]{} }, "approvals", Fine, "administrators see only", "",
		},
		"may not write": {
			func(f *ForgeFacts) { f.Repository.Value.Push = false }, "write access", Failed,
			"bot may not write to alice/shop", "add bot to the repository's collaborators",
		},
		"own": {
			func(f *ForgeFacts) { f.Pull.Value.Author.ID = 7 }, "pull request", Warned, "the account's own",
			"use another account",
		},
		"Forgejo": {
			func(f *ForgeFacts) { f.Version.Value = "15.0.3+gitea-1.22.0" }, "server", Fine, "Forgejo 15.0.3 at", "",
		},
		"attaches and never resolves": {
			func(f *ForgeFacts) { f.Resolve.Absent = true }, "conversations", Fine,
			"resolve: no, reply: yes, attach: yes; closed ones are marked", "",
		},
		"neither": {
			func(f *ForgeFacts) { f.Resolve.Absent, f.Attach.Absent = true, true }, "conversations", Warned,
			"resolve: no, reply: yes, attach: no", "Gitea resolves since 1.26",
		},
		"no scope": {func(f *ForgeFacts) {
			f.RepoWrite = Reply{Status: 403, Text: "token does not have at least one of required scope(s)"}
		}, "scope repository", Failed, "the token lacks write", "create a token"},
		"not accepted":          {func(f *ForgeFacts) { f.Account.Reply = Reply{Status: 401} }, "token", Failed, "doesn't accept it", "create a token"},
		"rejections ignored":    {func(f *ForgeFacts) { f.Rules.Value.BlockOnRejected = false }, "official", Warned, "don't hold up a merge", "turn on"},
		"no administrator":      {func(f *ForgeFacts) { f.Rules = Told[RuleFacts]{} }, "official", Fine, "unless a list of approvers leaves it out", ""},
		"branch unreadable":     {func(f *ForgeFacts) { f.Branch.Status = 500 }, "official", Warned, "main couldn't be read: the server answered 500", "run doctor again"},
		"no pull requests":      {func(f *ForgeFacts) { f.Repository.Value.Pulls = false }, "repository", Failed, "has no pull requests", "turn them on"},
		"empty":                 {func(f *ForgeFacts) { f.Repository.Value.Empty = true }, "repository", Warned, "is empty", "push a first commit"},
		"nothing to list":       {func(f *ForgeFacts) { f.Tree = Reply{} }, "files", Skipped, "a first commit comes first", ""},
		"trees fail":            {func(f *ForgeFacts) { f.Tree = Reply{Status: 500} }, "files", Failed, "the server answered 500", "run doctor again"},
		"a failing repository":  {func(f *ForgeFacts) { f.Repository.Status = 503 }, "repository", Failed, "alice/shop: the server answered 503", "run doctor again"},
		"closed":                {func(f *ForgeFacts) { f.Pull.Value.Closed = true }, "pull request", Warned, "closed: it isn't reviewed", "look at an open one"},
		"account barred":        {func(f *ForgeFacts) { f.Account.Reply = Reply{Status: 403, Text: "You must change your password"} }, "token", Failed, "You must change your password", "sign in as the bot once"},
		"account, failure":      {func(f *ForgeFacts) { f.Account.Reply = Reply{Status: 500} }, "token", Failed, "the server answered 500", "run doctor again"},
		"page size not told":    {func(f *ForgeFacts) { f.PageSize.Reply = Reply{Status: 404, Absent: true} }, "page size", Skipped, "the server doesn't tell it", ""},
		"page size of 49":       {func(f *ForgeFacts) { f.PageSize.Value = 49 }, "page size", Warned, "only 49", "MAX_RESPONSE_ITEMS = 50"},
		"connection broke":      {func(f *ForgeFacts) { f.IssueWrite = Reply{Text: "EOF"} }, "scope issue", Failed, "couldn't be found out: EOF", "run doctor again"},
		"a 401 in between":      {func(f *ForgeFacts) { f.IssueWrite = Reply{Status: 401} }, "scope issue", Failed, "couldn't be found out: the server answered 401", "run doctor again"},
		"too many":              {func(f *ForgeFacts) { f.RepoWrite = Reply{Status: 429} }, "scope repository", Failed, "couldn't be found out: the server answered 429", "run doctor again"},
		"resolve is the only":   {func(f *ForgeFacts) { f.Attach.Absent, f.Reply.Absent = true, true }, "conversations", Fine, "resolve: yes, reply: no, attach: no", ""},
		"resolve without scope": {func(f *ForgeFacts) { f.Resolve = Reply{Status: 403, Text: "required scope"} }, "conversations", Fine, "resolve: yes", ""},
		"resolve, failure":      {func(f *ForgeFacts) { f.Resolve = Reply{Status: 502} }, "conversations", Fine, "resolve: not known", ""},
		"reaction forbidden":    {func(f *ForgeFacts) { f.Allowed.Value = []string{"eyes", "heart"} }, "lock", Failed, "doesn't allow the reaction rocket", "--lock-reaction one of eyes heart"},
	} {
		f := sound()
		tt.change(&f)
		row := rowOf(t, JudgeForge(f, lock), tt.row)
		if row.State != tt.state || !strings.Contains(row.Found, tt.found) || !strings.Contains(row.Fix, tt.fix) || (row.Fix == "") != (tt.fix == "") {
			t.Errorf("%s: %+v, want %s %q %q", promise, row, tt.state, tt.found, tt.fix)
		}
	}
	explained := &Error{Doing: "locking it", Err: errors.New("no luck"), Next: "try this"}
	for promise, tt := range map[string]struct {
		trial LockTrial
		want  Check
	}{
		"off":       {LockTrial{}, Check{"lock", Skipped, "turned off: no two jobs may share the account", ""}},
		"held":      {LockTrial{Reaction: "rocket", Tried: true, Held: true}, Check{"lock", Fine, "the reaction rocket is allowed; it stands on #3 already and wasn't tried", ""}},
		"explained": {LockTrial{Reaction: "rocket", Tried: true, Err: explained}, Check{"lock", Failed, "locking it: no luck", "try this"}},
		"failure":   {LockTrial{Reaction: "rocket", Tried: true, Err: errors.New("no luck")}, Check{"lock", Failed, "no luck", fixAgain}},
	} {
		if row := rowOf(t, JudgeForge(sound(), tt.trial), "lock"); row != tt.want {
			t.Errorf("%s: %+v, want %+v", promise, row, tt.want)
		}
	}
}

func TestJudgeKept(t *testing.T) {
	const attributes = "# *.txt filter=lfs\n*.psd filter=lfs diff=lfs merge=lfs -text\nart/*.bin filter=lfs\n*.go text\ngen/** linguist-generated\ngen/*.dat filter=lfs\n"
	const modules = "[submodule \"lib\"]\n\tpath = lib/one\n\turl = ../one\n"
	for promise, tt := range map[string]struct {
		attributes, modules string
		globs               []string
		names               []string
		state               CheckState
		found, fix          string
	}{
		"none": {"*.go text\n", "", nil, nil, Fine, "nothing is kept", ""},
		"all": {
			attributes, modules, nil, nil, Warned, "3 kinds of files are kept elsewhere (*.psd, art/*.bin, /lib/one)",
			`ignore: ["*.psd", "art/*.bin", "/lib/one"]`,
		},
		"some are ignored": {
			attributes, modules, []string{"*.psd", "lib/"}, nil, Warned, "1 kind of files is kept elsewhere (art/*.bin)",
			`ignore: ["art/*.bin"]`,
		},
		"all are ignored": {
			attributes, modules, []string{"*.psd", "/art/*.bin", "/lib/one"}, []string{"a.go", "a.png"}, Fine, "nothing is kept", "",
		},
		"a bad glob": {attributes, modules, []string{"[a"}, nil, Skipped, "the configuration comes first", ""},
		"many": {
			strings.ReplaceAll(attributes, "*.psd", "*.p1 filter=lfs\n*.p2 filter=lfs\n*.p3 filter=lfs\n*.psd"),
			modules, nil, nil, Warned, "and 1 more", "ignore:",
		},
		"binaries": {
			"", "", []string{"*.pdf"}, []string{"a.go", "x/a.jar", "b.jar", "a.pdf", "a.png"}, Warned,
			"1 kind of files is no text that can be read (*.jar): a change", `ignore: ["*.jar"]`,
		},
		"both": {
			attributes, "", []string{"*.psd"}, []string{"x.min.js"}, Warned,
			"1 kind of files is kept elsewhere (art/*.bin), 1 kind of files is no text that can be read (*.min.js): a", `ignore: ["art/*.bin", "*.min.js"]`,
		},
	} {
		c := JudgeKept([]byte(tt.attributes), []byte(tt.modules), tt.globs, tt.names)
		if c.State != tt.state || !strings.Contains(c.Found, tt.found) || !strings.Contains(c.Fix, tt.fix) || (c.Fix == "") != (tt.fix == "") {
			t.Errorf("%s: %+v, want %s %q %q", promise, c, tt.state, tt.found, tt.fix)
		}
	}
}

func TestJudgeModel(t *testing.T) {
	gone := &Error{Doing: "asking m", Err: errors.New("the server answered 404: no such model"), Next: "check"}
	for promise, tt := range map[string]struct {
		facts  ModelFacts
		states [4]CheckState
		found  string // in one of the rows
	}{
		"listed":            {ModelFacts{List: Told[[]string]{Reply{Status: 200}, []string{"m"}}, Asked: true, Form: FormSchema}, [4]CheckState{Fine, Fine, Fine, Skipped}, "m is listed"},
		"not listed":        {ModelFacts{List: Told[[]string]{Reply{Status: 200}, []string{"x"}}, Asked: true, Form: FormSchema}, [4]CheckState{Fine, Fine, Fine, Skipped}, "though the server doesn't list it"},
		"no list":           {ModelFacts{List: Told[[]string]{Reply: Reply{Status: 404}}, Asked: true, Form: FormSchema}, [4]CheckState{Fine, Fine, Fine, Skipped}, "lists no models"},
		"listed and gone":   {ModelFacts{List: Told[[]string]{Reply{Status: 200}, []string{"m"}}, Asked: true, Gone: true, Err: gone}, [4]CheckState{Fine, Failed, Skipped, Skipped}, "no such model"},
		"no list and gone":  {ModelFacts{List: Told[[]string]{Reply: Reply{Status: 200}}, Asked: true, Gone: true, Err: gone}, [4]CheckState{Fine, Failed, Skipped, Skipped}, "no such model"},
		"no list, no reply": {ModelFacts{List: Told[[]string]{Reply: Reply{Status: 200}}, Asked: true, Err: errors.New("no choices")}, [4]CheckState{Fine, Skipped, Failed, Skipped}, "no choices"},
		"objects only":      {ModelFacts{List: Told[[]string]{Reply{Status: 200}, []string{"m"}}, Asked: true, Form: "json_object"}, [4]CheckState{Fine, Fine, Warned, Skipped}, "so it is asked for json_object"},
		"unusable answers":  {ModelFacts{List: Told[[]string]{Reply{Status: 200}, []string{"m"}}, Asked: true, Err: errors.New("odd")}, [4]CheckState{Fine, Fine, Failed, Skipped}, "a small review failed: odd"},
		"Ollama's list":     {ModelFacts{List: Told[[]string]{Reply{Status: 200}, []string{"m:latest"}}, Asked: true, Form: FormSchema}, [4]CheckState{Fine, Fine, Fine, Skipped}, "m is listed"},
		"a small context":   {ModelFacts{List: Told[[]string]{Reply{Status: 200}, []string{"m"}}, Asked: true, Form: FormSchema, Window: 4096, Most: 100_000}, [4]CheckState{Fine, Fine, Fine, Warned}, "takes 4096 tokens at once, and a request may have 100000"},
		"a large context":   {ModelFacts{List: Told[[]string]{Reply{Status: 200}, []string{"m"}}, Asked: true, Form: FormSchema, Window: 200_000, Most: 100_000}, [4]CheckState{Fine, Fine, Fine, Fine}, "takes 200000 tokens at once"},
		"unknown":           {ModelFacts{List: Told[[]string]{Reply{Status: 200}, []string{"x", "y"}}, Asked: true, Gone: true, Err: gone}, [4]CheckState{Fine, Failed, Skipped, Skipped}, "m isn't among the 2 models"},
		"limited":           {ModelFacts{List: Told[[]string]{Reply: Reply{Status: 429}}, Asked: true, Err: gone}, [4]CheckState{Failed, Skipped, Skipped, Skipped}, "429"},
	} {
		tt.facts.Model, tt.facts.Server = "m", "https://model.example.com/v1"
		checks := JudgeModel(tt.facts)
		var all string
		for i, c := range checks {
			if all += c.Found + "\n"; c.State != tt.states[i] || (c.Fix == "") != (c.State == Fine || c.State == Skipped) {
				t.Errorf("%s: %+v, want %s", promise, c, tt.states[i])
			}
		}
		if len(checks) != 4 || !strings.Contains(all, tt.found) {
			t.Errorf("%s: %+v, want %q found", promise, checks, tt.found)
		}
	}
}

// pegs is a lock that is told how to answer.
type pegs struct {
	list     []Reaction
	added    bool
	err      error
	freeErr  error
	calls    []string
	released context.Context //nolint:containedctx // to look at
	on       func()
}

func (p *pegs) Reactions(context.Context) ([]Reaction, time.Time, error) {
	p.calls = append(p.calls, "list")
	return p.list, time.Time{}, nil
}

func (p *pegs) React(context.Context, string) (bool, time.Time, error) {
	if p.calls = append(p.calls, "add"); p.on != nil {
		p.on()
	}
	return p.added, time.Time{}, p.err
}

func (p *pegs) Unreact(ctx context.Context, _ string) error {
	p.calls, p.released = append(p.calls, "remove"), ctx
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return p.freeErr
}

func TestTryLock(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	no := errors.New("no")
	for promise, tt := range map[string]struct {
		ctx   context.Context //nolint:containedctx // of the case
		pegs  pegs
		calls string
		want  LockTrial
	}{
		"free":                  {t.Context(), pegs{added: true, list: []Reaction{{User: 1, Content: "eyes"}}}, "list add remove", LockTrial{Reaction: "rocket", Tried: true}},
		"held":                  {t.Context(), pegs{list: []Reaction{{User: 1, Content: "rocket"}}}, "list", LockTrial{Reaction: "rocket", Tried: true, Held: true}},
		"taken meanwhile":       {t.Context(), pegs{}, "list add", LockTrial{Reaction: "rocket", Tried: true, Held: true}},
		"refused":               {t.Context(), pegs{err: no}, "list add", LockTrial{Reaction: "rocket", Tried: true, Err: no}},
		"not taken back":        {t.Context(), pegs{added: true, freeErr: no}, "list add remove", LockTrial{Reaction: "rocket", Tried: true, Err: no}},
		"stopped in the middle": {ctx, pegs{added: true, on: cancel}, "list add remove", LockTrial{Reaction: "rocket", Tried: true}},
	} {
		if got := TryLock(tt.ctx, &tt.pegs, "rocket"); got != tt.want || strings.Join(tt.pegs.calls, " ") != tt.calls {
			t.Errorf("%s: %+v after %v, want %+v after %s", promise, got, tt.pegs.calls, tt.want, tt.calls)
		}
	}
}
