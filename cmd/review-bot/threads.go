package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"review-bot/reviewer"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/thread"
)

// maxThreads is the most that --max-threads may be; a payload may name as many.
const maxThreads = 500

type threadsCmd struct {
	targetFlags

	All             bool     `help:"Resolved conversations, too."`
	Author          []string `help:"Only conversations with a comment by this account; may be repeated." placeholder:"LOGIN"`
	Path            []string `help:"Only conversations on this file, or below this folder; may be repeated." placeholder:"PATH" sep:"none"`
	IncludeOutdated bool     `help:"Conversations whose line no longer stands at the head, too."`
	MaxThreads      int      `help:"Most conversations to list, 1 to 500; if there are more, the list is incomplete and the exit status 1; default 50." default:"50" placeholder:"N"`
	Payload         string   `help:"File with a triage, to be checked against the list; - for standard input." placeholder:"FILE"`
	Schema          bool     `help:"Print the JSON Schemas of the list, the triage and the payload of settle."`
	JSON            bool     `name:"json" help:"Print one JSON object."`
}

// Help is what `threads --help` says beside its flags.
func (*threadsCmd) Help() string {
	return `Without more flags the conversations are listed that are neither resolved nor outdated: whose line still stands at the head. Outside of a job the pull request is the open one of the branch that is checked out.

A triage says what each listed conversation is worth (--schema prints its form); --payload checks it against the list and tells in which phase the work is.`
}

// Run lists the conversations. It never writes to the forge.
func (c *threadsCmd) Run(w *world) error {
	if c.Schema {
		_, err := w.stdout.Write(thread.Schemas())
		return err
	}
	if c.MaxThreads < 1 || c.MaxThreads > maxThreads {
		return usage("--max-threads %d is not a number from 1 to %d", c.MaxThreads, maxThreads)
	}
	out := newOutput(w, c.JSON)
	set := reviewer.ThreadsSettings{
		Filter: thread.Filter{All: c.All, IncludeOutdated: c.IncludeOutdated, Authors: c.Author, Paths: c.Path}, Most: c.MaxThreads,
	}
	if c.Payload != "" {
		data, err := w.file("--payload", c.Payload)
		if err != nil {
			return err
		}
		triage, problems := thread.ParseTriage(data)
		if len(problems) > 0 {
			return out.problems(c.Payload, problems)
		}
		set.Triage = &triage
	}
	t, err := c.here(w, "repository: read, issue: read, user: read")
	if err != nil {
		return err
	}
	set.Repo = t.owner + "/" + t.name
	out.start(w, t, "threads of")
	list, problems, err := reviewer.Threads(w.ctx, t.reader(), set, out.progress)
	if err != nil {
		return err
	}
	out.closeLog()
	if len(problems) > 0 {
		return out.problems(c.Payload, problems)
	}
	if !c.All && !c.IncludeOutdated && list.Unresolved > list.Selected {
		list.Notes = append(list.Notes, fmt.Sprintf("%s: outdated (--include-outdated), or another author's or file's", finding.Count(list.Unresolved-list.Selected, "open conversation isn't listed", "open conversations aren't listed")))
	}
	if c.JSON {
		err = out.printJSON(list)
	} else {
		err = out.print(threadsText(list))
	}
	if err == nil && list.Incomplete {
		err = fmt.Errorf("the list is incomplete: %d conversations are selected and --max-threads is %d — raise it (at most %d), or select fewer by --path and --author", list.Selected, c.MaxThreads, maxThreads)
	}
	return err
}

// file reads a file that a flag names, or standard input.
func (w *world) file(flag, path string) (data []byte, err error) {
	if path == "-" {
		data, err = io.ReadAll(w.stdin)
	} else {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, usage("%s: %v", flag, err)
	}
	return data, nil
}

// rejection is what `--json` prints of a payload that is wrong.
type rejection struct {
	File     string           `json:"file"`
	Problems []thread.Problem `json:"problems"`
}

// problems tells what is wrong with a payload, and ends the command.
func (o *output) problems(file string, list []thread.Problem) error {
	o.closeLog()
	var err error
	if o.json {
		err = o.printJSON(rejection{file, list})
	} else {
		var b strings.Builder
		for _, p := range list {
			fmt.Fprintf(&b, "%s: %s\n", printable(file), printable(p.String()))
		}
		err = o.print(b.String())
	}
	return errors.Join(usage("%s: %s, first %s — correct the file; review-bot threads --schema prints what it has to be like", file, finding.Count(len(list), "problem", "problems"), list[0]), err)
}

const (
	// shownBody bounds what is shown of a comment, in characters.
	shownBody = 160
	// shownComments bounds how many of a conversation are: the first, and the newest.
	shownComments = 4
)

// threadsText is the list for people.
func threadsText(l thread.List) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s#%d at %.7s: %s, %d open; %d listed — %s\n", l.Repo, l.PR, l.Head, finding.Count(l.Total, "conversation", "conversations"), l.Unresolved, len(l.Threads), l.Phase)
	for _, t := range l.Threads {
		fmt.Fprintf(&b, "\n%s  %s%s\n", t.ID, printable(placeOf(t.Path, t.Line)), marks(t))
		for i, c := range t.Comments {
			if hidden := len(t.Comments) - shownComments; hidden > 0 && i > 0 && i <= hidden {
				if i == 1 {
					fmt.Fprintf(&b, "    … %s\n", finding.Count(hidden, "comment", "comments"))
				}
				continue
			}
			fmt.Fprintf(&b, "    %s: %s\n", printable(orGone(c.Author)), preview(cmp.Or(c.Title, c.Body)))
		}
		fmt.Fprintf(&b, "    %s\n", printable(t.URL))
	}
	if n := l.Triage; n != nil {
		fmt.Fprintf(&b, "\ntriage: %d valid, %d invalid, %d stale, %d already fixed, %d for people\n", n.Valid, n.Invalid, n.Stale, n.AlreadyFixed, n.HumanDecisions)
	}
	notes(&b, l.Notes, nil)
	return b.String()
}

// marks are what is to be said of a conversation beside its place.
func marks(t thread.Thread) string {
	var list []string
	if t.Side == thread.Old {
		list = append(list, "deleted line")
	}
	if t.HeadPath != "" && (t.HeadPath != t.Path || t.HeadLine != 0 && t.HeadLine != t.Line) {
		list = append(list, "now "+placeOf(t.HeadPath, t.HeadLine))
	}
	if t.Outdated {
		list = append(list, "outdated")
	}
	if t.Resolved {
		list = append(list, "resolved by "+t.Resolver)
	}
	if t.Role != "" {
		list = append(list, strings.TrimSpace(t.Role+" "+t.FindingID))
	}
	if len(list) == 0 {
		return ""
	}
	return "  " + printable("("+strings.Join(list, ", ")+")")
}

func placeOf(path string, line int) string {
	path = reviewer.Quoted(path)
	if line == 0 {
		return path
	}
	return fmt.Sprintf("%s:%d", path, line)
}

func orGone(login string) string {
	if login == "" {
		return "(deleted account)"
	}
	return login
}

// preview is the beginning of a text that others wrote, in one line.
func preview(text string) string {
	line := printable(text)
	if utf8.RuneCountInString(line) > shownBody {
		line = string([]rune(line)[:shownBody-1]) + "…"
	}
	return line
}
