package main

import (
	"cmp"
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// supported are the events that a job may run on.
const supported = "pull_request, pull_request_target, or workflow_dispatch with an input pr"

// event is what a job was started by. A re-run has that of the first run.
type event struct {
	name string // "" outside a job
	ref  string // GITHUB_REF
	path string // of the event file

	pull   int64   // number of the pull request that the event file is about, 0 if none
	about  subject // the pull request as it was when it happened
	fork   string
	self   bool                       // an account has requested its own review
	inputs map[string]json.RawMessage // of workflow_dispatch
}

// payload is the part of an event file that says which pull request it is about.
type payload struct {
	Action    string  `json:"action"`
	Number    int64   `json:"number"`
	Sender    account `json:"sender"`
	Requested account `json:"requested_reviewer"`
	Pull      *struct {
		Number int64  `json:"number"`
		Head   branch `json:"head"`
		Base   branch `json:"base"`
	} `json:"pull_request"`
	Inputs map[string]json.RawMessage `json:"inputs"`
}

// subject is what a job's status is about: a commit, and the branch that it is to be
// merged into, which the name of the check may have. "" is what the event doesn't name.
type subject struct{ head, base string }

// or is the subject with a head and a base branch where it names none.
func (s subject) or(head, base string) subject {
	return subject{cmp.Or(s.head, head), cmp.Or(s.base, base)}
}

// account is a user of the forge.
type account struct {
	ID int64 `json:"id"`
}

// branch is an end of a pull request. Repo is missing when the repository was
// deleted, its number is not.
type branch struct {
	SHA    string `json:"sha"`
	Ref    string `json:"ref"`
	RepoID int64  `json:"repo_id"`
	Repo   *struct {
		ID       int64  `json:"id"`
		FullName string `json:"full_name"`
	} `json:"repo"`
}

// repo is the repository's number and name, as far as they are told.
func (b branch) repo() (id int64, name string) {
	if b.Repo != nil {
		return max(b.Repo.ID, b.RepoID), b.Repo.FullName
	}
	return b.RepoID, ""
}

// self reports whether an account has requested its own review.
func (p payload) self() bool {
	return p.Action == "review_requested" && p.Sender.ID != 0 && p.Sender.ID == p.Requested.ID
}

// fork names the head's repository, if it is another one than the base's.
func (p payload) fork() string {
	if p.Pull == nil {
		return ""
	}
	head, name := p.Pull.Head.repo()
	base, baseName := p.Pull.Base.repo()
	switch {
	case head != 0 && base != 0 && head == base, name != "" && name == baseName:
		return ""
	case name != "" && baseName != "":
		return name
	case head != 0 && base != 0:
		return "a repository that was deleted"
	default:
		return ""
	}
}

// readEvent reads what the environment and the event file say. Without a file
// there is little to know, and no error.
func readEvent(env map[string]string) (event, error) {
	e := event{name: env["GITHUB_EVENT_NAME"], ref: env["GITHUB_REF"], path: env["GITHUB_EVENT_PATH"]}
	if e.path == "" {
		return e, nil
	}
	data, err := os.ReadFile(e.path)
	if err != nil {
		return e, usage("the event file can't be read: %v — give --pr N", err)
	}
	var p payload
	if err := json.Unmarshal(data, &p); err != nil {
		return e, usage("the event file %s is not an event in JSON: %v — give --pr N", e.path, err)
	}
	if p.Pull != nil {
		e.pull, e.self = max(p.Number, p.Pull.Number, 0), p.self()
		e.about = subject{p.Pull.Head.SHA, p.Pull.Base.Ref}
	}
	e.fork, e.inputs = p.fork(), p.Inputs
	return e, nil
}

// eventSubject is what the job's status is about, as the event file says; nothing if the
// event isn't about that pull request. A re-run has the file of the first run.
func eventSubject(env map[string]string, pull int64) subject {
	if e, err := readEvent(env); err == nil && e.onPull() && e.pull == pull {
		return e.about
	}
	return subject{}
}

// selfRequested reports whether an account's request for its own review has started the
// job.
func selfRequested(env map[string]string) bool {
	e, err := readEvent(env)
	return err == nil && e.onPull() && e.self
}

// onPull tells whether the event may be about a pull request. Without a name there
// is no telling, and what the file and the ref say is believed.
func (e event) onPull() bool { return e.name == "" || strings.HasPrefix(e.name, "pull_request") }

// secretless tells whether the server keeps the repository's secrets from a job of
// this event. On pull_request_target it doesn't, whoever's branch it is.
func (e event) secretless() bool { return e.fork != "" && e.name != "pull_request_target" }

var pullRef = regexp.MustCompile(`^refs/pull/([0-9]+)/(head|merge)$`)

// number is that of the pull request that the event is about: as the event file
// says, or the ref.
func (e event) number() (int64, error) {
	switch {
	case e.name == "workflow_dispatch", e.name == "" && e.pull == 0 && e.inputs["pr"] != nil:
		return e.input()
	case !e.onPull():
		return 0, usage("the event %s is not about a pull request — run on %s, or give --pr N", e.name, supported)
	case e.pull > 0:
		return e.pull, nil
	}
	if m := pullRef.FindStringSubmatch(e.ref); m != nil {
		if n, err := strconv.ParseInt(m[1], 10, 64); err == nil && n > 0 {
			return n, nil
		}
	}
	if e.name != "" {
		return 0, usage("the event %s names no pull request — run on %s, or give --pr N", e.name, supported)
	}
	return 0, usage("no pull request is given — give --pr N, or run on the event pull_request")
}

// input is the number that was given to a workflow that was started by hand.
func (e event) input() (int64, error) {
	var text string
	if raw := e.inputs["pr"]; json.Unmarshal(raw, &text) != nil {
		text = string(raw) // a number
	}
	if text = strings.TrimSpace(text); text == "" {
		return 0, usage("the workflow was started without a pull request — give its number in the input pr, or --pr N")
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(text, "#"), 10, 64)
	if err != nil || n <= 0 {
		return 0, usage("the workflow's input pr, %q, is not the number of a pull request", text)
	}
	return n, nil
}
