package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/sentinel"
)

// testOutput is an output to two buffers, in a job of that environment.
func testOutput(env map[string]string, secrets_ ...string) (o *output, stdout, stderr *bytes.Buffer) {
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	return newOutput(&world{env: env, stdout: stdout, stderr: stderr, mask: secrets(env, secrets_...)}, false), stdout, stderr
}

var inActions = map[string]string{"GITHUB_ACTIONS": "true"}

// Errors are commands to the runner inside a job, and plain outside.
func TestErrorsInActions(t *testing.T) {
	const want = `review-bot: --role "100%\nsure" is not of the form [a-z0-9][a-z0-9._-]{0,63}`
	g := complete(t)
	if e := g.run(t, "--role", "100%\nsure"); e.stderr != want+"\n" {
		t.Errorf("outside of a job: %q, want %q", e.stderr, want)
	}
	if e := g.with("GITHUB_ACTIONS", "true").run(t, "--role", "100%\nsure"); e.stderr != "::error::"+strings.ReplaceAll(want, "%", "%25")+"\n" {
		t.Errorf("in a job: %q", e.stderr)
	}
	if got := escapeCommand("a%0Ab\r\nc"); got != "a%250Ab%0D%0Ac" {
		t.Errorf("escaped: %q", got)
	}
	// The group is closed before the error is told.
	e := g.with("GITHUB_ACTIONS", "true").run(t)
	if !e.pastSettings(t) || strings.Count(e.stderr, "::group::") != strings.Count(e.stderr, "::endgroup::") || !strings.HasPrefix(e.stderr[strings.LastIndex(strings.TrimSpace(e.stderr), "\n")+1:], "::error::review-bot: ") {
		t.Errorf("stderr is\n%s", e.stderr)
	}
}

// The runner is told of the secrets that it can't know.
func TestSecretsAreMaskedInTheJobsLog(t *testing.T) {
	g := complete(t)
	tokenFile, keyFile := file(t, "token", "token-of-a-file\n"), file(t, "key", "key%of-a-file")
	files := g.with("GITEA_TOKEN", "").with("REVIEW_BOT_TOKEN_FILE", tokenFile).with("REVIEW_BOT_API_KEY_FILE", keyFile)
	masks := func(e ended) (list []string) {
		for line := range strings.Lines(e.stderr) {
			if value, ok := strings.CutPrefix(line, "::add-mask::"); ok {
				list = append(list, strings.TrimSpace(value))
			}
		}
		return list
	}
	e := files.with("GITHUB_ACTIONS", "true").run(t)
	if got := strings.Join(masks(e), " "); got != "token-of-a-file key%25of-a-file" || !strings.HasPrefix(e.stderr, "::add-mask::") {
		t.Errorf("masked are %q\n%s", got, e.stderr)
	}
	e = files.with("GITHUB_ACTIONS", "true").run(t, "reconcile")
	if got := strings.Join(masks(e), " "); got != "token-of-a-file" {
		t.Errorf("reconcile: masked are %q\n%s", got, e.stderr)
	}
	// Outside of a job it would print them; those of the environment the runner knows.
	for promise, e := range map[string]ended{
		"outside of a job": files.run(t),
		"by variables":     g.with("GITHUB_ACTIONS", "true").with("OPENAI_API_KEY", "key-of-a-variable").run(t),
	} {
		if !e.pastSettings(t) || len(masks(e)) > 0 || strings.Contains(e.stderr, "-of-a-") {
			t.Errorf("%s: exit status %d\n%s", promise, e.status, e.stderr)
		}
	}
}

// What others wrote is no command to the runner.
func TestTextIsNoCommand(t *testing.T) {
	const text = "first\n::add-mask::a\n  ::error file=x::b\n\t::set-output name=c::d\na ::notice::e\n"
	o, stdout, _ := testOutput(inActions)
	if err := o.print(text); err != nil {
		t.Fatal(err)
	}
	if want := "first\n: :add-mask::a\n  : :error file=x::b\n\t: :set-output name=c::d\na ::notice::e\n"; stdout.String() != want {
		t.Errorf("printed is\n%s, want\n%s", stdout, want)
	}
	o, stdout, _ = testOutput(nil)
	if err := o.print(text); err != nil || stdout.String() != text {
		t.Errorf("outside of a job: %v\n%s", err, stdout)
	}
}

// Names of files, and the words of models and servers, are no commands to the runner,
// wherever they are printed.
func TestHostileWordsAreNoCommands(t *testing.T) {
	const command = "##[add-path]/tmp/evil"
	for _, evil := range []string{
		command, "::add-path::/tmp/evil", "a\n" + command, "a\r\n::add-path::/tmp/evil", "\x1b[2K" + command,
		"\u200b" + command, " \t" + command,
		"a\u2028" + command, "\x00" + command, "\xff\n::stop-commands::x",
	} {
		r := reviewer.Result{
			Role: "logic", Outcome: escalation.Posted, Headline: evil, ReviewURL: evil, Notes: []string{evil}, Gate: []string{},
			Error:       evil,
			Findings:    []reviewer.FindingResult{{Path: evil, Line: 1, Title: evil, Category: evil, URL: evil}},
			NotReviewed: []reviewer.NotReviewed{{Path: evil, Why: evil}},
			Plan: &reviewer.Plan{Outcome: escalation.Posted, Reason: evil, Steps: []reviewer.Step{
				{
					Post: &reviewer.NewReview{Event: sentinel.Comment, Commit: "1", Body: evil,
						Comments: []reviewer.NewComment{{Path: evil, NewLine: 1, Body: evil}}},
				},
				{Say: evil}, {Edit: &reviewer.Edit{About: evil, Body: evil}},
			}},
		}
		for _, asJSON := range []bool{false, true} {
			o, stdout, stderr := testOutput(inActions)
			o.json = asJSON
			o.begin("%s", evil)
			o.progress(reviewer.Progress{Phase: "read", Text: evil})
			o.progress(reviewer.Progress{Phase: "read", Text: evil})
			if err := o.end(r); err != nil {
				t.Fatal(err)
			}
			var back reviewer.Result
			if err := json.Unmarshal(stdout.Bytes(), &back); asJSON &&
				(err != nil || back.Findings[0].Path != strings.ToValidUTF8(evil, "\ufffd")) {
				t.Errorf("the JSON doesn't say %q: %v\n%s", evil, err, stdout)
			}
			commands := commandsIn(stdout.String() + stderr.String())
			if got := strings.Join(commands, " "); got != "::group::read ::endgroup::" {
				t.Errorf("%q: the runner is told %q\n%s%s", evil, commands, stdout, stderr)
			}
		}
		// The line of an error.
		g := complete(t)
		if got := commandsIn(g.with("GITHUB_ACTIONS", "true").run(t, "--role", evil).stderr); len(got) != 1 ||
			!strings.HasPrefix(got[0], "::error::review-bot:") {
			t.Errorf("%q: the runner is told %q", evil, got)
		}
	}
}

// commandsIn are the words at which a runner would take a line for a command: some
// look for "##[" anywhere in it.
func commandsIn(log string) (list []string) {
	for line := range strings.SplitSeq(strings.ReplaceAll(log, "\r", "\n"), "\n") {
		line = strings.TrimSpace(line)
		if _, command, ok := strings.Cut(line, "##["); ok {
			list = append(list, "##["+command)
		}
		if strings.HasPrefix(line, "::") {
			list = append(list, strings.Fields(line)[0])
		}
	}
	return list
}

// A value of several lines would set other outputs.
func TestOutputsAreSingleLines(t *testing.T) {
	path := file(t, "output", "before=1\n")
	o, _, _ := testOutput(map[string]string{"GITHUB_OUTPUT": path})
	wicked := "x\noutcome=posted\r\nevent=approved"
	err := o.end(reviewer.Result{Role: "r", Outcome: escalation.Outcome(wicked), Event: sentinel.Verdict(wicked), Own: sentinel.Verdict(wicked), ReviewURL: wicked})
	if err != nil {
		t.Fatal(err)
	}
	const line = "x outcome=posted event=approved\n"
	if got, want := content(t, path), "before=1\noutcome="+line+"event="+line+"own="+line+"review-url="+line+"findings=0\n"; got != want {
		t.Errorf("outputs are\n%swant\n%s", got, want)
	}
}
