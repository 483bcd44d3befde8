package e2e

import (
	"strings"
	"testing"

	"review-bot/reviewer/gitea/giteatest"
)

// The project's own checks begin in a checkout of the commit, also where the
// repository is private and the runner has git alone. What they are is .ci/run's.
func TestChecks(t *testing.T) {
	t.Parallel()
	srv := giteatest.Get(t)
	s := stage{product: theProduct(t), srv: srv, owner: srv.NewUser(t, giteatest.Unique("owner"))}
	s.startRunner(t, s.owner, giteatest.RunnerOptions{})
	s.repo = srv.NewRepo(t, s.owner, "fork-of-review-bot", giteatest.RepoOptions{Private: true, Files: map[string]string{
		".gitea/workflows/ci.yml": s.files[".gitea/workflows/ci.yml"],
		".ci/run":                 "#!/usr/bin/env bash\necho \"checks of $(git rev-parse HEAD)\"\n",
	}})
	s.checked(t, s.repo.SHA(t, "main"))
	s.checked(t, s.open(t, giteatest.Files(map[string]string{"a.go": "package app\n"})).Head)
}

func (s stage) checked(t *testing.T, sha string) {
	t.Helper()
	run := s.success(t, sha)
	if log := s.repo.JobLog(t, job(t, s.repo, run.ID, "checks").ID); !strings.Contains(log, "checks of "+sha+"\n") {
		t.Errorf("the log doesn't tell of checks of %s:\n%s", sha, log)
	}
}
