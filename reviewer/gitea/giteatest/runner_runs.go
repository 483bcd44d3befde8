package giteatest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A Run is a run of a workflow, with the names of the API.
type Run struct {
	ID         int64
	Path       string // of the workflow's file, with the ref: review.yml@refs/pull/1/head
	Event      string
	HeadSHA    string `json:"head_sha"`
	HeadBranch string `json:"head_branch"`
	Status     string // pending, waiting, queued, in_progress or completed
	Conclusion string // success, failure, cancelled or skipped, when it is completed
}

// A Job is a job of a run.
type Job struct {
	ID         int64
	RunID      int64 `json:"run_id"`
	Name       string
	Attempt    int64 `json:"run_attempt"`
	Status     string
	Conclusion string
	Started    time.Time `json:"started_at"`
	Completed  time.Time `json:"completed_at"`
}

// SetSecret stores a secret for the repository's workflows.
func (r *Repo) SetSecret(tb TB, name, value string) {
	tb.Helper()
	r.Server.Call(tb, r.Owner.Token, http.MethodPut, r.path("/actions/secrets/%s", url.PathEscape(name)), map[string]any{"data": value}, nil)
}

// SetVariable makes a variable for the repository's workflows.
func (r *Repo) SetVariable(tb TB, name, value string) {
	tb.Helper()
	r.Server.Call(tb, r.Owner.Token, http.MethodPost, r.path("/actions/variables/%s", url.PathEscape(name)), map[string]any{"value": value}, nil)
}

// Runs lists the workflow runs at a commit, the newest first.
func (r *Repo) Runs(tb TB, sha string) []Run {
	tb.Helper()
	var list struct {
		Runs []Run `json:"workflow_runs"`
	}
	r.Server.Call(tb, r.Owner.Token, http.MethodGet, r.path("/actions/runs?limit=50&head_sha=%s", url.QueryEscape(sha)), nil, &list)
	return list.Runs
}

// Run asks for a run.
func (r *Repo) Run(tb TB, id int64) Run {
	tb.Helper()
	var run Run
	r.Server.Call(tb, r.Owner.Token, http.MethodGet, r.path("/actions/runs/%d", id), nil, &run)
	return run
}

// AwaitRun waits until there is a run at the commit, and returns the newest.
func (r *Repo) AwaitRun(tb TB, limit time.Duration, sha string) Run {
	tb.Helper()
	var runs []Run
	check(tb, Poll(tb.Context(), limit, "a run at "+sha+" begins", func() (bool, error) {
		runs = r.Runs(tb, sha)
		return len(runs) > 0, nil
	}))
	return runs[0]
}

// AwaitEnd waits until a run and all its jobs are completed, and returns it. The
// server calls a run with a failed job completed while a job that needs it is still to
// come. A run that isn't in time is fatal, with its jobs' states and logs.
func (r *Repo) AwaitEnd(tb TB, limit time.Duration, id int64) Run {
	tb.Helper()
	var run Run
	err := Poll(tb.Context(), limit, fmt.Sprintf("run %d of %s is completed", id, r.FullName()), func() (bool, error) {
		for _, j := range r.Jobs(tb, id) {
			if j.Status != "completed" {
				return false, nil
			}
		}
		run = r.Run(tb, id)
		return run.Status == "completed", nil
	})
	if err != nil {
		tb.Fatalf("%v\n%s", err, r.Logs(tb, id))
	}
	return run
}

// Jobs lists the jobs of a run in the workflow's order.
func (r *Repo) Jobs(tb TB, run int64) []Job {
	tb.Helper()
	var list struct{ Jobs []Job }
	r.Server.Call(tb, r.Owner.Token, http.MethodGet, r.path("/actions/runs/%d/jobs?limit=50", run), nil, &list)
	return list.Jobs
}

// JobLog is what a job's last attempt has said so far; empty before it begins.
func (r *Repo) JobLog(tb TB, job int64) string {
	tb.Helper()
	var text string
	status, message := r.Server.Status(tb, r.Owner.Token, http.MethodGet, r.path("/actions/jobs/%d/logs", job), nil, &text)
	if status != http.StatusOK && status != http.StatusNotFound {
		tb.Fatalf("the log of job %d: %d %s", job, status, message)
	}
	return text
}

// Logs is what all jobs of a run have said, under their names: for a failing test.
func (r *Repo) Logs(tb TB, run int64) string {
	tb.Helper()
	var b strings.Builder
	for _, j := range r.Jobs(tb, run) {
		fmt.Fprintf(&b, "--- job %d %q, attempt %d: %s %s\n%s\n", j.ID, j.Name, j.Attempt, j.Status, j.Conclusion, r.JobLog(tb, j.ID))
	}
	return b.String()
}

// Rerun starts all jobs of a completed run again. The run keeps its id.
func (r *Repo) Rerun(tb TB, run int64) {
	tb.Helper()
	r.Server.Call(tb, r.Owner.Token, http.MethodPost, r.path("/actions/runs/%d/rerun", run), nil, nil)
}

// ApproveRun lets a run begin that waits for approval, as that of a pull request from
// a fork does at the author's first contribution. The API can't.
func (r *Repo) ApproveRun(tb TB, as *User, run int64) {
	tb.Helper()
	check(tb, r.Server.submit(tb.Context(), as, fmt.Sprintf("/%s/actions/runs/%d/approve", r.FullName(), run), url.Values{}))
}

// CommitStatuses are the commit's statuses: state by context.
func (r *Repo) CommitStatuses(tb TB, sha string) map[string]string {
	tb.Helper()
	var list struct {
		Statuses []struct{ Context, Status string }
	}
	r.Server.Call(tb, r.Owner.Token, http.MethodGet, r.path("/commits/%s/status?limit=50", url.PathEscape(sha)), nil, &list)
	states := map[string]string{}
	for _, s := range list.Statuses {
		states[s.Context] = s.Status
	}
	return states
}

// Release publishes a release of a tag, made at a branch or commit if there is none,
// with the named files.
func (r *Repo) Release(tb TB, tag, target string, files map[string][]byte) {
	tb.Helper()
	var made struct{ ID int64 }
	r.Server.Call(tb, r.Owner.Token, http.MethodPost, r.path("/releases"), map[string]any{"tag_name": tag, "target_commitish": target, "name": tag}, &made)
	for name, data := range files {
		check(tb, r.Server.upload(tb.Context(), r.Owner, r.path("/releases/%d/assets?name=%s", made.ID, url.QueryEscape(name)), data))
	}
}
