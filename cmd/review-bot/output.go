package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/untrusted"
)

// output tells people and machines what a run does: progress on stderr, the
// result on stdout, the step's outputs in the file that Actions names. Secrets
// are masked on every way.
type output struct {
	stdout, stderr io.Writer
	mask           *untrusted.Masker
	json           bool
	actions        bool   // the log is read by a runner
	live           bool   // stderr is a terminal
	file           string // for the step's outputs

	mu    sync.Mutex // lines come from several goroutines
	phase string     // of the group that is open
	shown int        // length of the live line that stands there
}

func newOutput(w *world, asJSON bool) *output {
	return &output{
		stdout: w.stdout, stderr: w.stderr, mask: w.mask, json: asJSON,
		actions: w.env["GITHUB_ACTIONS"] == "true", live: terminal(w.stderr, w.env), file: w.env["GITHUB_OUTPUT"],
	}
}

// hide has the runner mask secrets in the job's log. Those of the environment it
// knows already; those of files and flags it doesn't.
func (o *output) hide(env map[string]string, secrets ...string) {
	if !o.actions {
		return
	}
	var known []string
	for _, name := range secretVariables {
		known = append(known, strings.TrimSpace(env[name]))
	}
	for _, secret := range secrets {
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); line != "" && !slices.Contains(known, line) {
				fmt.Fprintln(o.stderr, "::add-mask::"+escapeCommand(line))
			}
		}
	}
}

// escapeCommand makes a text the value of a command to the runner.
func escapeCommand(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// start begins the log of a command on a pull request, whose token is known now.
func (o *output) start(w *world, t target, command string) {
	w.mask = secrets(w.env, t.token)
	o.mask = w.mask
	o.hide(w.env, t.token)
	o.begin("review-bot %s · %s %s at %s", version(), command, t, t.server)
}

func (o *output) begin(format string, args ...any) {
	o.say("", printable(fmt.Sprintf(format, args...)))
}

// progress prints a line of the log. In a job each phase is a group, with its
// first line as the title.
func (o *output) progress(p reviewer.Progress) {
	line := fmt.Sprintf("%-9s %s", p.Phase, printable(p.Text))
	if p.Took > 0 {
		line = fmt.Sprintf("%-78s %6.1f s", line, p.Took.Round(100*time.Millisecond).Seconds())
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.clear()
	command := ""
	if o.actions && p.Phase != o.phase {
		o.endGroup()
		o.phase, command = p.Phase, "::group::"
	}
	o.say(command, line)
}

func (o *output) endGroup() {
	if o.phase != "" {
		fmt.Fprintln(o.stderr, "::endgroup::")
		o.phase = ""
	}
}

// closeLog ends what stands on stderr.
func (o *output) closeLog() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.clear()
	o.endGroup()
}

// print writes a text for people to stdout.
func (o *output) print(s string) error {
	s = o.mask.Redact(s)
	if o.actions {
		s = harmless(s)
	}
	_, err := io.WriteString(o.stdout, s)
	return err
}

// say writes a line of the log to stderr; command is what it tells the runner, if
// anything, such as ::group::.
func (o *output) say(command, line string) {
	line = o.mask.Redact(line)
	if o.actions {
		line = harmless(line)
	}
	fmt.Fprintln(o.stderr, command+line)
}

var commandLine = regexp.MustCompile(`(?m)^(\s*)::`)

// harmless makes of what others wrote no command to the runner that reads the log: a
// dry run prints names of files and what a model said, and a line like
// "##[add-path]/tmp" would change the job. Runners look for "::" at the beginning of
// a line, and for "##[" there or, some of them, anywhere.
func harmless(s string) string {
	return commandLine.ReplaceAllString(strings.ReplaceAll(s, "##[", "## ["), "$1: :")
}

// end prints the result and writes the step's outputs.
func (o *output) end(r reviewer.Result) error {
	o.closeLog()
	if o.file != "" {
		if err := o.stepOutputs(r); err != nil {
			return err
		}
	}
	if o.json {
		return o.printJSON(r)
	}
	if r.Outcome == escalation.Failed {
		return nil // the error line says it all
	}
	return o.print(text(r))
}

// endReconcile prints what `reconcile` ended with.
func (o *output) endReconcile(r reviewer.Reconciliation) error {
	o.closeLog()
	if o.json {
		return o.printJSON(r)
	}
	if r.Error != "" {
		return nil // the error line says it all
	}
	var b strings.Builder
	for _, role := range r.Roles {
		fmt.Fprintf(&b, "%-12s %-10s own %s at %.7s  %s\n", role.Role, role.Outcome, role.Own, role.Head, printable(role.ReviewURL))
	}
	fmt.Fprintf(&b, "gate: %s\n", cmp.Or(strings.Join(r.Gate, " "), "none"))
	notes(&b, r.Notes, r.Plan)
	return o.print(b.String())
}

func (o *output) printJSON(v any) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	text := o.mask.Redact(b.String())
	if o.actions {
		text = strings.ReplaceAll(text, "##[", `##\u005b`) // the same string to who reads the JSON
	}
	_, err := io.WriteString(o.stdout, text)
	return err
}

// text is the result for people.
func text(r reviewer.Result) string {
	var b strings.Builder
	if r.Headline != "" {
		fmt.Fprintf(&b, "%s\n", printable(strings.ReplaceAll(r.Headline, "**", "")))
	} else {
		open := ""
		if n := r.Counted(); n > 0 {
			open = " · " + finding.Count(n, "finding", "findings") + " open"
		}
		fmt.Fprintf(&b, "%s: %s%s\n", r.Role, r.Outcome, open)
	}
	for _, f := range r.Findings {
		place := placeOf(f.Path, f.Line)
		if f.Where == finding.InBody {
			place += " (in the body)"
		}
		state := ""
		if f.State != finding.New {
			state = fmt.Sprintf(" (%s)", f.State)
		}
		fmt.Fprintf(&b, "  %-8s  %s  %s%s\n", f.Severity, printable(place), printable(f.Title), state)
	}
	notes(&b, r.Notes, r.Plan)
	if r.ReviewURL != "" {
		fmt.Fprintf(&b, "%s\n", r.ReviewURL)
	}
	return b.String()
}

// notes tells what the result doesn't, and the plan of a dry run.
func notes(b *strings.Builder, list []string, plan *reviewer.Plan) {
	for _, note := range list {
		fmt.Fprintf(b, "note: %s\n", printable(note))
	}
	if plan != nil {
		fmt.Fprintf(b, "\n%s", lines(plan.String()))
	}
}

// stepOutputs appends what later steps of the job may read.
func (o *output) stepOutputs(r reviewer.Result) error {
	f, err := os.OpenFile(o.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("writing the step's outputs: %w — check GITHUB_OUTPUT", err)
	}
	_, err = fmt.Fprintf(f, "outcome=%s\nevent=%s\nown=%s\nreview-url=%s\nfindings=%d\n",
		printable(string(r.Outcome)), printable(string(r.Event)), printable(string(r.Own)), printable(r.ReviewURL), r.Counted())
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("writing the step's outputs: %w — check GITHUB_OUTPUT", err)
	}
	return nil
}

// printable makes a text that others wrote fit for a terminal's line: no
// control characters, which could hide or forge output.
func printable(s string) string {
	return strings.Map(visible, strings.Join(strings.Fields(s), " "))
}

// lines is printable for a text of several lines, which keep their indentation.
func lines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.Map(visible, strings.TrimRight(line, "\n")) + "\n")
	}
	return b.String()
}

// visible drops control and format characters but for tabs.
func visible(r rune) rune {
	if r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
		return -1
	}
	return r
}
