package reviewer

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// What to do about what is missing.
const (
	fixServer = "check --server (GITHUB_SERVER_URL), the address of the forge's front page, and that the server runs"
	fixToken  = "create a token of the bot's account with repository: write, issue: write, user: read, and set GITEA_TOKEN"
	fixRepo   = "check --repo (GITHUB_REPOSITORY), and give the account access if the repository is private"
	fixAgain  = "run doctor again; if it stays, the server's log says why"
)

// unasked is a row that waits for another one.
func unasked(name, after string) Check {
	return Check{name, Skipped, "not looked at: " + after + " comes first", ""}
}

// JudgeForge tells what the facts about a forge mean for reviews.
func JudgeForge(f ForgeFacts, lock LockTrial) []Check {
	server := f.server()
	if server.State == Failed {
		checks := []Check{server}
		for _, name := range []string{"token", "repository", "lock"} {
			checks = append(checks, unasked(name, "the server"))
		}
		return checks
	}
	checks := []Check{server, f.pageSize(), f.token()}
	if f.Account.Status == http.StatusUnauthorized {
		return append(checks, unasked("scopes", "the token"), unasked("repository", "the token"), unasked("lock", "the token"))
	}
	checks = append(checks, f.scopes()...)
	checks = append(checks, f.repository(), f.writeAccess(), f.official(), f.checks(), f.workflows(), f.approvals())
	checks = append(checks, f.pull(), f.lock(lock))
	checks = append(checks, f.conversations(), f.files())
	if f.Forgejo() {
		checks = append(checks, f.folder())
	}
	return checks
}

func (f ForgeFacts) server() Check {
	c := Check{"server", Failed, "", fixServer}
	switch v := f.Version; {
	case f.Forgejo():
		version, _, _ := strings.Cut(v.Value, "+gitea-")
		c.State, c.Found, c.Fix = Fine, "Forgejo "+version+" at "+f.Server, ""
	case v.OK() && v.Value != "":
		c.State, c.Found, c.Fix = Fine, "Gitea "+v.Value+" at "+f.Server, ""
	case v.Status == 0:
		c.Found = fmt.Sprintf("%s can't be reached: %s", f.Server, v)
	case v.Status/100 == 3:
		c.Found, c.Fix = f.Server+" "+v.Text, "give the address that it leads to as --server (GITHUB_SERVER_URL)"
	case v.Status >= http.StatusInternalServerError || v.Status == http.StatusTooManyRequests:
		c.Found, c.Fix = fmt.Sprintf("%s: %s", f.Server, v), fixAgain
	case v.Status == http.StatusUnauthorized || v.Status == http.StatusForbidden:
		// A server that wants everybody to sign in tells its version to those only.
		c.State, c.Found, c.Fix = Fine, f.Server+" answers, and tells its version only to those who sign in", ""
	default:
		c.Found = fmt.Sprintf("no Gitea API answers at %s (%d)", f.Server, v.Status)
	}
	return c
}

// leastPage is the page that the bot asks for. A shorter one ends a list early.
const leastPage = 50

func (f ForgeFacts) pageSize() Check {
	c := Check{"page size", Fine, fmt.Sprintf("lists give up to %d entries at once", f.PageSize.Value), ""}
	switch {
	case !f.PageSize.OK() || f.PageSize.Value <= 0:
		c.State, c.Found = Skipped, "the server doesn't tell it: "+f.PageSize.String()
	case f.PageSize.Value < leastPage:
		c.State = Warned
		c.Found = fmt.Sprintf("lists give only %d entries at once, and some are then read short", f.PageSize.Value)
		c.Fix = fmt.Sprintf("have the server's administrator set MAX_RESPONSE_ITEMS = %d under [api] in app.ini", leastPage)
	}
	return c
}

func (f ForgeFacts) token() Check {
	const name = "token"
	a := f.Account
	switch {
	case a.OK() && a.Value.Login != "":
		return Check{name, Fine, "valid, of the account " + a.Value.Login, ""}
	case a.Status == http.StatusUnauthorized:
		return Check{name, Failed, "the server doesn't accept it", fixToken}
	case f.Named.OK() && a.Value.Login != "":
		return Check{name, Fine, "valid; it doesn't say whose it is, and by --account it is of " + a.Value.Login, ""}
	case f.Named.Status == http.StatusForbidden || f.Named.Status == http.StatusNotFound:
		return Check{name, Failed, "it isn't of the account that --account names", "correct --account (REVIEW_BOT_ACCOUNT), or take that account's token"}
	case a.scopeless():
		return Check{name, Fine, "valid; whose it is can't be asked with it", ""}
	case a.Absent:
		return Check{name, Failed, "no Gitea API answers at " + f.Server, fixServer}
	case a.Status == http.StatusForbidden && f.Forgejo():
		return Check{
			name, Failed, "it doesn't say whose it is: " + a.Text,
			"give --account LOGIN (REVIEW_BOT_ACCOUNT) for a token that is limited to repositories",
		}
	case a.Status == http.StatusForbidden:
		return Check{name, Failed, "the server refuses the account: " + a.Text, "sign in as the bot once and see what the server wants of it"}
	}
	return Check{name, Failed, a.String(), fixAgain}
}

// asked is what a scope is good for, and what came of trying that.
type asked struct {
	verb  string
	reply Reply
}

// scopes judges the token's scopes by what each class of endpoints answers.
func (f ForgeFacts) scopes() []Check {
	return []Check{
		f.scope("user", asked{"read", f.Account.Reply}),
		f.scope("repository", asked{"read", f.Repository.Reply}, asked{"write", f.RepoWrite}),
		f.scope("issue", asked{"read", f.IssueRead}, asked{"write", f.IssueWrite}),
	}
}

func (f ForgeFacts) scope(class string, questions ...asked) Check {
	name := "scope " + class
	if class == "user" && f.Named.OK() {
		return Check{name, Fine, "none, and none is needed with --account", ""}
	}
	// Of a repository that isn't there the server says so whatever the token may do.
	there := f.Repository.OK() || f.Repository.scopeless() || class == "user"
	var has, lacks []string
	var doubt *Reply
	for _, q := range questions {
		switch {
		case q.reply.scopeless():
			lacks = append(lacks, q.verb)
		case q.reply.publicOnly():
			return Check{name, Failed, "for public repositories only, which this one isn't", fixToken + ", for all repositories"}
		case q.reply.known() && there:
			has = append(has, q.verb)
		default:
			doubt = &q.reply
		}
	}
	switch {
	case len(lacks) > 0:
		return Check{name, Failed, "the token lacks " + strings.Join(lacks, " and "), fixToken}
	case doubt != nil && f.Repository.Status == http.StatusNotFound:
		return unasked(name, "the repository")
	case doubt != nil:
		return Check{name, Failed, fmt.Sprintf("it couldn't be found out: %s", *doubt), fixAgain}
	}
	return Check{name, Fine, strings.Join(has, " and "), ""}
}

func (f ForgeFacts) repository() Check {
	const name = "repository"
	r := f.Repository
	switch {
	case r.scopeless():
		return unasked(name, "the token's scope")
	case r.publicOnly():
		return Check{name, Failed, f.Repo + " is private, and the token is for public ones only", fixToken + ", for all repositories"}
	case r.Status == http.StatusNotFound:
		return Check{name, Failed, f.Repo + " isn't there, or " + f.who() + " may not see it", fixRepo}
	case !r.OK():
		return Check{name, Failed, f.Repo + ": " + r.String(), fixAgain}
	case r.Value.Archived:
		return Check{name, Failed, f.Repo + " is archived: nothing can be written", "take it out of the archive in its settings"}
	case !r.Value.Pulls:
		return Check{name, Failed, f.Repo + " has no pull requests", "turn them on in its settings"}
	case r.Value.Empty:
		return Check{name, Warned, f.Repo + " is empty", "push a first commit"}
	case r.Value.Private:
		return Check{name, Fine, f.Repo + ", private", ""}
	}
	return Check{name, Fine, f.Repo + ", public", ""}
}

// who names the account.
func (f ForgeFacts) who() string {
	if f.Account.Value.Login != "" {
		return f.Account.Value.Login
	}
	return "the account"
}

func (f ForgeFacts) writeAccess() Check {
	const name = "write access"
	switch {
	case !f.Repository.OK():
		return unasked(name, "the repository")
	case !f.Repository.Value.Push:
		return Check{
			name, Failed, f.who() + " may not write to " + f.Repo + ": its verdicts aren't official, so they neither hold up a merge nor allow it",
			"add " + f.who() + " to the repository's collaborators with the permission write, or to a team that has it",
		}
	}
	return Check{name, Fine, f.who() + " may write to " + f.Repo, ""}
}

// official judges whether the account's verdicts count for the base branch.
func (f ForgeFacts) official() Check {
	const name = "official"
	b := f.Branch.Value
	switch {
	case !f.Repository.OK():
		return unasked(name, "the repository")
	case !f.Repository.Value.Push:
		return unasked(name, "write access")
	case f.Number > 0 && !f.Pull.OK():
		return unasked(name, "the pull request")
	case !f.Branch.OK():
		return Check{name, Warned, fmt.Sprintf("the base branch %s couldn't be read: %s", b.Name, f.Branch.Reply), fixAgain}
	case !b.Protected:
		return Check{
			name, Warned, fmt.Sprintf("the base branch %s isn't protected: a verdict is shown and holds nothing up", b.Name),
			"protect the branch in the repository's settings, with “Block merge on rejected reviews”",
		}
	}
	found := "the base branch " + b.Name + " is protected"
	if b.Approvals > 0 {
		found += fmt.Sprintf(" and wants %d %s", b.Approvals, plural(b.Approvals, "approval"))
	}
	rules := f.Rules.Value
	listed := f.listed()
	switch {
	case f.Rules.OK() && rules.Listed && !listed && len(rules.Teams) == 0:
		return Check{
			name, Failed,
			fmt.Sprintf("%s, and its list of approvers leaves %s out: its verdicts aren't official, and what it rejects can be merged",
				found, f.who()),
			"add " + f.who() + " to the approvers in the branch's protection, or have it go without such a list",
		}
	case f.Rules.OK() && !rules.BlockOnRejected:
		return Check{
			name, Warned, found + ", and requested changes don't hold up a merge",
			"turn on “Block merge on rejected reviews” in the branch's protection",
		}
	case f.Official:
		return Check{name, Fine, fmt.Sprintf("%s; %s has an official verdict on #%d", found, f.who(), f.Number), ""}
	case f.Rules.OK() && rules.Listed && !listed:
		return Check{
			name, Warned, fmt.Sprintf("%s; its list of approvers has %s by a team (%s) if at all", found, f.who(), strings.Join(rules.Teams, ", ")),
			"see that " + f.who() + " is in such a team, or on the list itself",
		}
	case f.Rules.OK():
		return Check{name, Fine, found + "; verdicts of " + f.who() + " count", ""}
	}
	return Check{name, Fine, found + "; a writer's verdict counts, unless a list of approvers leaves it out (administrators see that)", ""}
}

// guarded reports whether there are rules of the base branch to judge.
func (f ForgeFacts) guarded() bool {
	return f.Repository.OK() && f.Branch.OK() && f.Branch.Value.Protected
}

// checks judges whether a merge waits for the jobs that review. Without that nothing
// holds it while a job hasn't run, or when one failed.
func (f ForgeFacts) checks() Check {
	const name = "required checks"
	switch b := f.Branch.Value; {
	case !f.guarded():
		return unasked(name, "the protected branch")
	case len(b.Checks) == 0:
		return Check{
			name, Warned,
			fmt.Sprintf("a merge into %s waits for no status check: a job that failed or never ran holds nothing up", b.Name),
			"require the checks of the review jobs, " + b.check() + ", and give these jobs fail-on-block",
		}
	case !slices.ContainsFunc(b.Checks, func(check string) bool { return strings.Contains(check, b.into()) }):
		return Check{
			name, Warned,
			fmt.Sprintf("a merge into %s waits for %s, and none of these names the branch: a check of a pull request into another "+
				"branch counts here, too, after that is retargeted without a run ([skip ci])", b.Name, strings.Join(b.Checks, ", ")),
			"name the review jobs “review (ROLE) into ${{ github.base_ref }}”, and require " + b.check(),
		}
	default:
		return Check{name, Fine, fmt.Sprintf("a merge into %s waits for %s; whether these jobs have fail-on-block can't be seen",
			b.Name, strings.Join(b.Checks, ", ")), ""}
	}
}

// into is how the name of a check ends that was made for this base branch.
func (b BranchFacts) into() string { return " into " + b.Name + " " }

// check is the name of the check to require.
func (b BranchFacts) check() string {
	return "“review / review (ROLE)" + b.into() + "(pull_request)”"
}

// workflows judges whether a pull request may bring the workflow that makes its own check
// green. On pull_request the server runs the head's files.
func (f ForgeFacts) workflows() Check {
	const name = "workflow files"
	b := f.Branch.Value
	if !f.guarded() || len(b.Checks) == 0 {
		return unasked(name, "a required check")
	}
	folders := []string{".gitea/**"}
	if f.Forgejo() {
		folders = append(folders, ".forgejo/**")
	}
	const pushers = "; who may push can set a check all the same"
	switch of := slices.IndexFunc(b.Checks, ofBase); {
	case of >= 0:
		return Check{name, Fine, "“" + b.Checks[of] + "” is made by the base branch's workflow files" + pushers, ""}
	case !f.Rules.OK():
		return Check{name, Skipped, "only administrators see whether a pull request may change these, and so make its own check green", ""}
	case !slices.ContainsFunc(folders, func(folder string) bool { return !covers(f.Rules.Value.Files, folder) }):
		return Check{name, Fine, "a pull request that changes these can't be merged into " + b.Name + pushers, ""}
	}
	return Check{
		name, Warned, "a pull request may change these, and so make its own check green without a verdict",
		"write " + strings.Join(folders, ";") + " into “Protected file patterns” of the branch's protection, or run the review jobs on pull_request_target",
	}
}

// ofBase reports whether a check is one of pull_request_target.
func ofBase(check string) bool { return strings.HasSuffix(check, "(pull_request_target)") }

// covers reports whether the branch's protected file patterns have every workflow in a
// folder of the form NAME/**.
func covers(patterns, folder string) bool {
	for _, file := range []string{"a.yml", "b.yaml"} {
		path := strings.TrimSuffix(folder, "**") + "workflows/" + file
		if !slices.ContainsFunc(strings.Split(patterns, ";"), func(glob string) bool { return protects(glob, path) }) {
			return false
		}
	}
	return true
}

// protects reports whether a glob of a branch's protection has a path. Neither * nor ? is
// a dot or a slash there.
func protects(glob, path string) bool {
	pattern := regexp.QuoteMeta(strings.ToLower(strings.TrimSpace(glob)))
	for _, wild := range [][2]string{{`\*\*`, `.*`}, {`\*`, `[^./]*`}, {`\?`, `[^./]`}} {
		pattern = strings.ReplaceAll(pattern, wild[0], wild[1])
	}
	found, err := regexp.MatchString("^"+pattern+"$", path)
	return err == nil && found
}

// approvals judges what the branch's rules make of the account's approvals.
func (f ForgeFacts) approvals() Check {
	const name = "approvals"
	if !f.guarded() {
		return unasked(name, "the protected branch")
	}
	b, rules := f.Branch.Value, f.Rules.Value
	var found, fixes []string
	warn := func(what, fix string) { found, fixes = append(found, what), append(fixes, fix) }
	if b.Approvals > 0 && !f.NoApprove {
		what := fmt.Sprintf("a merge into %s wants %d %s, and one of %s counts",
			b.Name, b.Approvals, plural(b.Approvals, "approval"), f.who())
		if rules.Listed && f.listed() {
			what += ", as it is on the list of approvers"
		}
		warn(what, "give every role that gates no_approve: true (--no-approve), so that people approve")
	}
	if f.Rules.OK() && rules.KeepsStale && !f.NoApprove {
		warn("an approval still counts after a push", "turn on “Dismiss stale approvals” in the branch's protection")
	}
	if f.Rules.OK() && rules.BlockOnRequests {
		warn("requests for official reviews hold up a merge, and "+f.who()+" takes a verdict back by requesting its own",
			"turn off “Block merge on official review requests” in the branch's protection")
	}
	switch {
	case len(found) > 0:
		return Check{name, Warned, strings.Join(found, "; "), strings.Join(fixes, "; ")}
	case f.Rules.OK():
		return Check{name, Fine, "what the branch's rules make of them is in order", ""}
	}
	return Check{name, Fine, "nothing speaks against them; whether they outlive a push administrators see only", ""}
}

// listed reports whether the account itself is on the branch's list of approvers.
func (f ForgeFacts) listed() bool {
	return slices.ContainsFunc(f.Rules.Value.Users, func(login string) bool {
		return strings.EqualFold(login, f.Account.Value.Login)
	})
}

func (f ForgeFacts) pull() Check {
	const name = "pull request"
	p := f.Pull.Value
	what := fmt.Sprintf("#%d of %s, into %s", f.Number, p.Author.Login, p.BaseBranch)
	switch {
	case f.Number == 0:
		return Check{name, Skipped, "none is looked at; --pr N looks at one", ""}
	case !f.Repository.OK():
		return unasked(name, "the repository")
	case f.Pull.Status == http.StatusNotFound:
		return Check{name, Failed, fmt.Sprintf("%s has no pull request #%d", f.Repo, f.Number), "check --pr"}
	case !f.Pull.OK():
		return Check{name, Failed, fmt.Sprintf("#%d: %s", f.Number, f.Pull.Reply), fixAgain}
	case p.Author.ID == f.Account.Value.ID:
		return Check{
			name, Warned, what + ": the account's own, on which the server takes no verdict",
			"use another account for the bot than for opening pull requests",
		}
	case p.Closed:
		return Check{name, Warned, what + ", closed: it isn't reviewed", "look at an open one"}
	}
	return Check{name, Fine, what, ""}
}

func (f ForgeFacts) lock(t LockTrial) Check {
	const name = "lock"
	var explained *Error
	switch {
	case t.Reaction == "":
		return Check{name, Skipped, "turned off: no two jobs may share the account", ""}
	case f.Allowed.OK() && !slices.Contains(f.Allowed.Value, t.Reaction):
		return Check{
			name, Failed, fmt.Sprintf("the server doesn't allow the reaction %s, with which jobs lock the account", t.Reaction),
			fmt.Sprintf("give --lock-reaction one of %s, or allow it in app.ini ([ui] REACTIONS)", strings.Join(f.Allowed.Value, " ")),
		}
	case t.Err != nil && errors.As(t.Err, &explained):
		return Check{name, Failed, fmt.Sprintf("%s: %v", explained.Doing, explained.Err), explained.Next}
	case t.Err != nil:
		return Check{name, Failed, t.Err.Error(), fixAgain}
	case t.Held:
		return Check{name, Fine, fmt.Sprintf("the reaction %s is allowed; it stands on #%d already and wasn't tried", t.Reaction, f.Number), ""}
	case t.Tried:
		return Check{name, Fine, fmt.Sprintf("the reaction %s was added to #%d and taken back", t.Reaction, f.Number), ""}
	case !f.Allowed.OK():
		return Check{name, Warned, fmt.Sprintf("whether the reaction %s is allowed couldn't be read: %s", t.Reaction, f.Allowed.Reply), "give --pr N to have it tried"}
	}
	return Check{name, Fine, fmt.Sprintf("the reaction %s is allowed", t.Reaction), ""}
}

// conversations tells how the bot can close and answer conversations. It can do
// without each of these.
func (f ForgeFacts) conversations() Check {
	const name = "conversations"
	if !f.Repository.OK() {
		return unasked(name, "the repository")
	}
	var can []string
	for _, e := range []struct {
		name  string
		reply Reply
	}{{"resolve", f.Resolve}, {"reply", f.reply()}, {"attach", f.Attach}} {
		switch {
		case e.reply.Absent:
			can = append(can, e.name+": no")
		case e.reply.known():
			can = append(can, e.name+": yes")
		default:
			can = append(can, e.name+": not known")
		}
	}
	c := Check{name, Fine, strings.Join(can, ", "), ""}
	if f.Resolve.Absent {
		c.Found += "; closed ones are marked in their text instead"
		if f.Attach.Absent { // Forgejo attaches and never resolves
			c.State, c.Fix = Warned, "go on without, or update: Gitea resolves since 1.26"
		}
	}
	return c
}

// reply is how the server took a reply: by an endpoint for it, or for attaching.
func (f ForgeFacts) reply() Reply {
	if f.Reply.Absent {
		return f.Attach
	}
	return f.Reply
}

// folder judges which workflows Forgejo reads: those of one folder.
func (f ForgeFacts) folder() Check {
	const name = "workflow folder"
	w := f.Workflows
	switch {
	case !f.Branch.OK():
		return unasked(name, "the base branch")
	case !w.OK():
		return Check{name, Warned, "which folders of workflows there are couldn't be read: " + w.String(), fixAgain}
	case len(w.Value) == 0:
		return Check{name, Fine, "the branch " + f.Branch.Value.Name + " has no folder of workflows", ""}
	case len(w.Value) == 1:
		return Check{name, Fine, "read from " + w.Value[0], ""}
	}
	return Check{
		name, Warned, fmt.Sprintf("Forgejo reads %s only, and not %s", w.Value[0], strings.Join(w.Value[1:], " or ")),
		"see that the workflow that reviews is in " + w.Value[0],
	}
}

func (f ForgeFacts) files() Check {
	const name = "files"
	switch {
	case !f.Repository.OK():
		return unasked(name, "the repository")
	case f.Tree.Absent:
		return Check{name, Failed, "the server can't list a commit's files (git/trees)", "update the server"}
	case f.Tree.Status == 0 && f.Tree.Text == "":
		return unasked(name, "a first commit")
	case !f.Tree.OK():
		return Check{name, Failed, "listing a commit's files: " + f.Tree.String(), fixAgain}
	case !f.Contents.OK() && f.Forgejo():
		return Check{name, Fine, "commits are listed; files are read one by one, as Forgejo gives one at a time", ""}
	case !f.Contents.OK():
		return Check{
			name, Warned, "commits are listed; files are read one by one (no file-contents)",
			"go on with more requests, or update: Gitea gives several at once since 1.26",
		}
	}
	return Check{name, Fine, "commits are listed, files are read several at once", ""}
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
