package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/sentinel"
)

const (
	approved = sentinel.Approved
	changes  = sentinel.RequestChanges
	comment  = sentinel.Comment
	none     = sentinel.None
)

// exitRow is a row of the table in docs/exit-status.md.
type exitRow struct {
	outcomes      []escalation.Outcome
	when          string
	own, event    sentinel.Verdict
	about         subject // of the verdict; what it names not is the event's
	advisory      bool
	without, with int
}

const (
	head  = "1111111111111111111111111111111111111111"
	older = "2222222222222222222222222222222222222222"
)

// theEvent is what the event file names.
var theEvent = subject{head, "main"}

// written are the outcomes of a run that has a verdict on record.
var written = []escalation.Outcome{escalation.Posted, escalation.Patched, escalation.Reposted, escalation.Skipped}

// exitRows is the whole table. Every outcome that a run can end with has a row.
var exitRows = []exitRow{
	{written, "the role approves, and the account does", approved, approved, subject{}, false, 0, 0},
	{written, "the role approves, with `--no-approve`", approved, comment, subject{}, false, 0, 0},
	{
		written, "the role approves, and its siblings (`--siblings`) haven't all judged: its own verdict decides",
		approved, none, subject{}, false, 0, 0,
	},
	{
		written, "the role approves, and another role of the account couldn't read all of the change: its own verdict decides",
		approved, none, subject{}, false, 0, 0,
	},
	{
		written, "the role approves, and another role of the account requests changes", approved, changes, subject{}, false,
		0, 3,
	},
	{written, "the role requests changes", changes, changes, subject{}, false, 0, 3},
	{written, "not all of the change was read, and the account says nothing", comment, none, subject{}, false, 0, 3},
	{written, "not all of the change was read, and another role requests changes", comment, changes, subject{}, false, 0, 3},
	{written, "not all of the change was read, with `--no-approve`", comment, comment, subject{}, false, 0, 3},
	{written, "the role is advisory (`--advisory`), whatever it found", comment, comment, subject{}, true, 0, 0},
	{written, "the verdict is about another commit than the event", approved, approved, subject{head: older}, false, 0, 3},
	{
		written, "the verdict is about another base branch than the event's: the pull request was retargeted meanwhile",
		approved, approved, subject{base: "lax"}, false, 0, 3,
	},
	{
		[]escalation.Outcome{escalation.Skipped},
		"there is no verdict: the change is empty, or an account's request for its own review started the job and nothing answers for this commit",
		"", none, subject{}, false, 0, 3,
	},
	{
		[]escalation.Outcome{escalation.Waived}, "a person dismissed what the role requests", changes, none, subject{},
		false, 0, 0,
	},
	{
		[]escalation.Outcome{escalation.Waived},
		"the role approves, and a person dismissed what another role requests", approved, none, subject{}, false, 0, 0,
	},
	{
		[]escalation.Outcome{escalation.Waived},
		"not all of the change was read, and a person dismissed what was requested", comment, none, subject{}, false, 0, 3,
	},
	{
		[]escalation.Outcome{escalation.Waived}, "the dismissal is about another commit than the event", changes,
		none, subject{head: older}, false, 0, 3,
	},
	{
		[]escalation.Outcome{escalation.OwnPull}, "the account opened the pull request; the role approves", approved,
		comment, subject{}, false, 0, 0,
	},
	{
		[]escalation.Outcome{escalation.OwnPull},
		"the account opened the pull request; the role requests changes, and only the exit status can say so",
		changes, comment, subject{}, false, 3, 3,
	},
	{
		[]escalation.Outcome{escalation.OwnPull},
		"the account opened the pull request; not all of the change was read", comment, comment, subject{}, false, 0, 3,
	},
	{
		[]escalation.Outcome{escalation.OwnPull}, "the account opened the pull request; there is no verdict", "",
		comment, subject{}, false, 0, 3,
	},
	{[]escalation.Outcome{escalation.Capped}, "the role asks no model any more", changes, changes, subject{}, false, 0, 3},
	{
		[]escalation.Outcome{escalation.HeadMoved}, "a push came while the role was reading", approved, none, subject{},
		false, 0, 3,
	},
	{
		[]escalation.Outcome{escalation.Draft}, "the pull request is a draft, without `--review-drafts`", "", none,
		subject{}, false, 0, 3,
	},
	{
		[]escalation.Outcome{escalation.NoSecrets}, "the job has no secrets: the pull request comes from a fork", "",
		none, subject{}, false, 0, 3,
	},
	{
		[]escalation.Outcome{escalation.Closed}, "the pull request is closed or merged; its commit may be reopened, or be another pull request's",
		"", none, subject{}, false, 0, 3,
	},
	{[]escalation.Outcome{escalation.Failed}, "the run failed, and its last line says why", "", none, subject{}, false, 1, 1},
}

func (row exitRow) result(o escalation.Outcome) reviewer.Result {
	r := reviewer.Result{Role: "logic", Outcome: o, Own: row.own, Event: row.event, Advisory: row.advisory}
	about := row.about.or(theEvent.head, theEvent.base)
	r.Head, r.BaseBranch = about.head, about.base
	return r
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	for _, row := range exitRows {
		for _, o := range row.outcomes {
			r := row.result(o)
			for flag, want := range map[bool]int{false: row.without, true: row.with} {
				got, why := exitOf(r, theEvent, flag)
				if got != want {
					t.Errorf("%s, %s: exit status %d with the flag %t, want %d", o, row.when, got, flag, want)
				}
				if why != "" && (got != exitRefused || strings.ContainsAny(why, "\n") || !strings.Contains(why, " — ") && o != "") {
					t.Errorf("%s, %s: exit status %d says %q", o, row.when, got, why)
				}
			}
		}
	}
	// Outside a job the pull request counts as it is.
	r := exitRow{own: approved, event: approved, about: subject{older, "lax"}}.result(escalation.Posted)
	if got, _ := exitOf(r, subject{}, true); got != exitDone {
		t.Errorf("without an event's head: exit status %d", got)
	}
	if got, _ := exitOf(reviewer.Result{Outcome: "new", Own: approved, Event: approved}, subject{}, true); got != exitRefused {
		t.Errorf("an outcome that the table doesn't know: exit status %d", got)
	}
}

// sourceOutcomes are the constants of type Outcome, as the source has them.
func sourceOutcomes(t *testing.T) []escalation.Outcome {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../escalation/decide.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var list []escalation.Outcome
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Outcome" && len(spec.Values) == 1 {
			if value, ok := spec.Values[0].(*ast.BasicLit); ok {
				list = append(list, escalation.Outcome(strings.Trim(value.Value, `"`)))
			}
		}
		return true
	})
	if len(list) < 12 {
		t.Fatalf("the source has only the outcomes %q: does this test still read it?", list)
	}
	return list
}

func TestEveryOutcomeHasAnExitStatus(t *testing.T) {
	t.Parallel()
	for _, o := range sourceOutcomes(t) {
		if !slices.ContainsFunc(exitRows, func(row exitRow) bool { return slices.Contains(row.outcomes, o) }) {
			t.Errorf("the outcome %s has no row in the table of exit statuses", o)
		}
	}
}

// The page for people has the same table.
func TestExitStatusPage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| outcome | when | own | event | exit | with `--fail-on-block` |\n|---|---|---|---|---|---|\n")
	word := func(v sentinel.Verdict) string {
		if v == "" {
			return "–"
		}
		return "`" + string(v) + "`"
	}
	for _, row := range exitRows {
		var names []string
		for _, o := range row.outcomes {
			names = append(names, "`"+string(o)+"`")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %d |\n", strings.Join(names, " "), row.when, word(row.own), word(row.event), row.without, row.with)
	}
	page, err := os.ReadFile("../../docs/exit-status.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), b.String()) {
		t.Errorf("docs/exit-status.md doesn't have this table:\n%s", b.String())
	}
}

func TestExitStatusOfReconcile(t *testing.T) {
	t.Parallel()
	role := func(own, event sentinel.Verdict, at string) reviewer.Result {
		return reviewer.Result{Role: "logic", Outcome: escalation.Skipped, Own: own, Event: event, Head: at, BaseBranch: "main", Findings: []reviewer.FindingResult{}}
	}
	waived := role(changes, none, head)
	waived.Outcome = escalation.Waived
	elsewhere := role(approved, approved, head)
	elsewhere.BaseBranch = ""
	advisory := role(comment, none, head)
	advisory.Advisory = true
	for promise, tt := range map[string]struct {
		roles         []reviewer.Result
		change        func(*reviewer.Reconciliation)
		without, with int
		why           string
	}{
		"all approve": {
			roles: []reviewer.Result{role(approved, approved, head), role(approved, approved, head)},
		},
		"no approvals":     {roles: []reviewer.Result{role(approved, comment, head)}},
		"advisory as well": {roles: []reviewer.Result{role(approved, approved, head), advisory}},
		"waived":           {roles: []reviewer.Result{waived}},
		"one blocks": {
			roles: []reviewer.Result{role(approved, changes, head), role(changes, changes, head)}, with: 3,
		},
		"one is of an old head": {
			roles: []reviewer.Result{role(approved, approved, head), role(approved, approved, older)}, with: 3,
			why: "logic: the verdict is about 2222222",
		},
		"one is of another base branch": {
			roles: []reviewer.Result{role(approved, approved, head), elsewhere}, with: 3,
			why: "logic: the verdict isn't about the change into main",
		},
		"the event's base branch is it": {
			roles:  []reviewer.Result{role(approved, approved, head)},
			change: func(r *reviewer.Reconciliation) { r.BaseBranch, r.Roles[0].BaseBranch = "lax", "lax" }, with: 3,
			why: "the verdict isn't about the change into main",
		},
		"nothing is said": {
			roles: []reviewer.Result{role(approved, none, head)}, with: 3, why: "the account doesn't approve 1111111",
		},
		"not all was read": {
			roles: []reviewer.Result{role(comment, none, head)}, with: 3, why: "not all of the change was read",
		},
		"nobody has judged": {with: 3, why: "no role of the account has judged it"},
		"closed": {
			change: func(r *reviewer.Reconciliation) { r.Closed = true }, with: 3, why: "a closed pull request isn't judged",
		},
		"failed": {
			change: func(r *reviewer.Reconciliation) { r.Error = "no luck" }, without: 1, with: 1,
		},
		"the event's head is it": {
			roles:  []reviewer.Result{role(approved, approved, older)},
			change: func(r *reviewer.Reconciliation) { r.Head = older }, with: 3, why: "this job is for 1111111",
		},
	} {
		r := reviewer.Reconciliation{Roles: tt.roles, Head: head, BaseBranch: "main"}
		if tt.change != nil {
			tt.change(&r)
		}
		if got, why := exitOfReconciliation(r, theEvent, false); got != tt.without || why != "" {
			t.Errorf("%s: exit status %d %q without the flag, want %d", promise, got, why, tt.without)
		}
		if got, why := exitOfReconciliation(r, theEvent, true); got != tt.with || !strings.Contains(why, tt.why) {
			t.Errorf("%s: exit status %d %q, want %d %q", promise, got, why, tt.with, tt.why)
		}
	}
}

func TestExitError(t *testing.T) {
	t.Parallel()
	var e *exitError
	if err := exit(exitDone, ""); err != nil {
		t.Errorf("done: %v", err)
	}
	if err := exit(exitRefused, "why"); !errors.As(err, &e) || status(err) != 3 || err.Error() != "why" {
		t.Errorf("refused: %v", err)
	}
}
