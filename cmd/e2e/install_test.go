package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
)

// The program comes from where the action is told to get it, or from nowhere: each
// way in a job of its own, on a real runner.
func TestInstall(t *testing.T) {
	t.Parallel()
	s := newStage(t, modeltest.ByMatch(modeltest.Match{Reply: answer()}))
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(s.program) }))
	defer files.Close()
	// The owner's own review-bot has no release, and is named by the expression of the
	// workflow file.
	sourceRepo(t, s.srv, s.owner, s.files)
	address := files.URL + "/review-bot?key=hidden"
	const own = "${{ github.server_url }}/${{ github.repository_owner }}/review-bot"
	released := s.srv.URL + "/" + s.product.repo.FullName()
	step := func(from, ref, more string) string {
		return fmt.Sprintf(`
    runs-on: ubuntu-latest
    steps:
      - uses: %s/.gitea/actions/review@%s
        with: { role: logic, model: scripted-1, token: "${{ secrets.GPT_REVIEW_TOKEN }}", api-key: "${{ secrets.OPENAI_API_KEY }}", base-url: "${{ vars.OPENAI_BASE_URL }}", dry-run: true%s }
`, from, ref, more)
	}
	wrong := strings.Repeat("0", 64)
	// The server takes the workflow of the pull request's head.
	pull := s.open(t, giteatest.Files(map[string]string{".gitea/workflows/review.yml": "name: install\non: pull_request\njobs:" +
		"\n  right:" + step(own, "main", fmt.Sprintf(", binary-url: %q, binary-sha256: %s", address, strings.ToUpper(s.sum))) +
		"\n  wrong:" + step(own, "main", fmt.Sprintf(", binary-url: %q, binary-sha256: \"%s\"", address, wrong)) +
		"\n  release:" + step(released, "v1", "") +
		"\n  pinned:" + step(released, "main", ", version: v1") +
		"\n  toolchain:" + step(own, "main", ""),
	}))
	run := s.ended(t, pull.Head)
	for _, test := range []struct{ job, conclusion, line string }{
		{"right", "success", "review-bot: installed from " + files.URL + "/review-bot?…, checksum verified"},
		{"wrong", "failure", "review-bot: what stands at " + files.URL + "/review-bot?… has the sha256 " + s.sum + ", not " + wrong + " — check binary-url and binary-sha256"},
		{"release", "success", "review-bot: installed release v1 of " + released + ", checksum verified"},
		{"pinned", "success", "review-bot: installed release v1 of " + released + ", checksum verified"},
		{"toolchain", "success", "review-bot: installed built from the action's source with Go"},
	} {
		j := job(t, s.repo, run.ID, test.job)
		log := s.repo.JobLog(t, j.ID)
		if j.Conclusion != test.conclusion || !strings.Contains(log, test.line+"\n") {
			t.Errorf("%s is a %s, want %s, and its log the line %q:\n%s", test.job, j.Conclusion, test.conclusion, test.line, log)
		}
		if ran := strings.Contains(log, "nothing was written"); ran != (test.conclusion == "success") {
			t.Errorf("%s: the program ran: %t\n%s", test.job, ran, log)
		}
	}
	s.noSecrets(t, run.ID)
}

// A runner without Go, and no release: one line says what to provide.
func TestInstallNothing(t *testing.T) {
	t.Parallel()
	srv := giteatest.Get(t)
	s := stage{product: theProduct(t), srv: srv, owner: srv.NewUser(t, giteatest.Unique("owner"))}
	sourceRepo(t, srv, s.owner, s.files)
	s.repo = srv.NewRepo(t, s.owner, "app", giteatest.RepoOptions{Files: map[string]string{
		".gitea/workflows/review.yml": "on: pull_request\njobs:\n  neither:\n    runs-on: ubuntu-latest\n    steps:\n" +
			"      - uses: ${{ github.server_url }}/${{ github.repository_owner }}/review-bot/.gitea/actions/review@main\n        with: { role: logic }\n",
	}})
	s.startRunner(t, s.owner, giteatest.RunnerOptions{Path: withoutGo(t)})
	pull := s.open(t, giteatest.Files(map[string]string{"a.go": "package app\n"}))
	run := s.ended(t, pull.Head)
	log := s.repo.JobLog(t, job(t, s.repo, run.ID, "neither").ID)
	want := "review-bot: no program to run: give binary-url and binary-sha256, or publish a release with " + asset() + " and SHA256SUMS at " +
		srv.URL + "/" + s.owner.Name + "/review-bot, or install Go on the runner\n"
	if run.Conclusion != "failure" || strings.Count(log, "review-bot: ") != 1 || !strings.Contains(log, want) {
		t.Errorf("the run is a %s, want a failure, and in its log only the line %q:\n%s", run.Conclusion, want, log)
	}
}

// withoutGo is a PATH with what install.sh needs and nothing else.
func withoutGo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, tool := range []string{"sh", "curl", "env", "uname", "tr", "sed", "cut", "mktemp", "sha256sum", "chmod", "rm", "bash"} {
		path, err := exec.LookPath(tool)
		if err == nil {
			err = os.Symlink(path, filepath.Join(dir, tool))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// install.sh alone, where a real runner would show nothing more.
func TestInstallScript(t *testing.T) {
	t.Parallel()
	root, err := giteatest.Root()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(root, ".gitea", "actions", "review", "install.sh")
	program := []byte("#!/bin/sh\necho runs\n")
	sum := func(data []byte) string { s := sha256.Sum256(data); return hex.EncodeToString(s[:]) }
	served := map[string]string{
		"/good": string(program), "/evil": "#!/bin/sh\necho evil\n",
		"/o/r/releases/download/v1/SHA256SUMS":        sum([]byte("other")) + "  review-bot-plan9-mips\n" + sum(program) + "  " + asset() + "\n",
		"/o/r/releases/download/v1/" + asset():        string(program),
		"/o/r/releases/download/latest/SHA256SUMS":    sum(program) + " *" + asset() + "\n",
		"/o/r/releases/download/latest/" + asset():    string(program),
		"/o/evil/releases/download/latest/SHA256SUMS": sum(program) + "  " + asset() + "\n",
		"/o/evil/releases/download/latest/" + asset(): "#!/bin/sh\necho evil\n",
		"/o/half/releases/download/latest/SHA256SUMS": sum(program) + "  " + asset() + "\n",
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("a download sends a login: %s", r.URL)
		}
		text, ok := served[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(srv.Close) // not before the parallel subtests end
	good := srv.URL + "/good"
	for _, test := range []struct {
		name string
		env  []string
		line string // the only one
		ok   bool
	}{
		{"right", []string{"INSTALL_BINARY_URL=" + good, "INSTALL_BINARY_SHA256=" + sum(program)}, "installed from " + good + ", checksum verified", true},
		{"upper case", []string{"INSTALL_BINARY_URL=" + good, "INSTALL_BINARY_SHA256=" + strings.ToUpper(sum(program))}, "installed from " + good + ", checksum verified", true},
		{"wrong", []string{"INSTALL_BINARY_URL=" + srv.URL + "/evil", "INSTALL_BINARY_SHA256=" + sum(program)}, "what stands at " + srv.URL + "/evil has the sha256 ", false},
		{"no checksum", []string{"INSTALL_BINARY_URL=" + good}, "binary-url is given without a binary-sha256 of 64 hex digits — ", false},
		{"cut checksum", []string{"INSTALL_BINARY_URL=" + good, "INSTALL_BINARY_SHA256=" + sum(program)[:63]}, "binary-url is given without a binary-sha256 of 64 hex digits — ", false},
		{"checksum only", []string{"INSTALL_BINARY_SHA256=" + sum(program)}, "binary-sha256 is given without binary-url — give both, or none", false},
		{"not there", []string{"INSTALL_BINARY_URL=" + srv.URL + "/none", "INSTALL_BINARY_SHA256=" + sum(program)}, srv.URL + "/none can't be downloaded (status 22 of the download) — check binary-url", false},
		{"the called tag", []string{"GITHUB_ACTION_REPOSITORY=o/r", "GITHUB_ACTION_REF=v1"}, "installed release v1 of " + srv.URL + "/o/r, checksum verified", true},
		{"a branch", []string{"GITHUB_ACTION_REPOSITORY=o/r", "GITHUB_ACTION_REF=main"}, "installed release latest of " + srv.URL + "/o/r, checksum verified", true},
		{"the version", []string{"GITHUB_ACTION_REPOSITORY=o/r", "GITHUB_ACTION_REF=main", "INSTALL_VERSION=v1"}, "installed release v1 of " + srv.URL + "/o/r, checksum verified", true},
		{"no such version", []string{"GITHUB_ACTION_REPOSITORY=o/r", "INSTALL_VERSION=v9"}, "no release v9 with " + asset() + " and SHA256SUMS can be downloaded from " + srv.URL + "/o/r/releases — check version", false},
		{"replaced asset", []string{"GITHUB_ACTION_REPOSITORY=o/evil"}, srv.URL + "/o/evil/releases/download/latest/" + asset() + " has the sha256 ", false},
		{"missing asset", []string{"GITHUB_ACTION_REPOSITORY=o/half"}, srv.URL + "/o/half/releases/download/latest/" + asset() + " can't be downloaded — run the job again", false},
		{"nothing", []string{"GITHUB_ACTION_REPOSITORY=o/none"}, "no program to run: give binary-url and binary-sha256, or publish a release with " + asset() + " and SHA256SUMS at " + srv.URL + "/o/none, or install Go on the runner", false},
		{"nothing known", nil, "no program to run: give binary-url and binary-sha256, or publish a release with " + asset() + " and SHA256SUMS at the action's repository, or install Go on the runner", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			output := filepath.Join(dir, "output")
			cmd := exec.CommandContext(t.Context(), "sh", script)
			cmd.Env = append([]string{
				"PATH=" + withoutGo(t), "RUNNER_TEMP=" + dir, "GITHUB_OUTPUT=" + output, "GITHUB_SERVER_URL=" + srv.URL,
				"GITHUB_ACTION_PATH=" + filepath.Join(dir, "a", "b", "c"),
			}, test.env...)
			if err := os.MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o755); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			if (err == nil) != test.ok || stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "review-bot: "+test.line) || strings.Count(stderr.String(), "\n") != 1 {
				t.Errorf("%v\n%s%swant only the line %q", err, stdout.String(), stderr.String(), test.line)
			}
			text, err := os.ReadFile(output)
			if !test.ok {
				if err == nil || len(programs(t, dir)) > 0 {
					t.Errorf("a failed installation left %q and %q", text, programs(t, dir))
				}
				return
			}
			path, ok := strings.CutPrefix(strings.TrimSuffix(string(text), "\n"), "program=")
			if out, err := exec.CommandContext(t.Context(), path).Output(); !ok || err != nil || string(out) != "runs\n" {
				t.Errorf("the output is %q, and the program says %q: %v", text, out, err)
			}
		})
	}
}

// programs are the installed ones in a folder.
func programs(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "review-bot.*", "review-bot*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// notInputs are flags that a job has no use for.
var notInputs = []string{"help", "version", "json", "token-file", "api-key-file"}

// The action has an input for every flag, and each reaches the program as its variable.
func TestInputsAreTheFlags(t *testing.T) {
	t.Parallel()
	p := theProduct(t)
	text := p.files[".gitea/actions/review/action.yml"]
	head, steps, ok := strings.Cut(text, "\nruns:\n")
	if !ok {
		t.Fatal("action.yml has no runs")
	}
	inputs, _, _ := strings.Cut(head, "\noutputs:\n")
	var have []string
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z0-9-]+): \{`).FindAllStringSubmatch(inputs, -1) {
		have = append(have, m[1])
	}
	file := filepath.Join(t.TempDir(), "review-bot")
	if err := os.WriteFile(file, p.program, 0o755); err != nil {
		t.Fatal(err)
	}
	var flags []string
	for _, command := range []string{"review", "reconcile"} {
		out, err := exec.CommandContext(t.Context(), file, command, "--help").Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^ +(?:-[a-z], )?--(?:\[no-\])?([a-z0-9-]+)`).FindAllStringSubmatch(string(out), -1) {
			if !slices.Contains(notInputs, m[1]) && !slices.Contains(flags, m[1]) {
				flags = append(flags, m[1])
			}
		}
	}
	if len(flags) < 20 {
		t.Fatalf("the help lists only the flags %q", flags)
	}
	for _, flag := range flags {
		name := "REVIEW_BOT_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
		if !slices.Contains(have, flag) || !strings.Contains(steps, "        "+name+": ${{ inputs."+flag+" || env."+name+" }}\n") {
			t.Errorf("the flag --%s is no input of action.yml that becomes %s", flag, name)
		}
	}
	for _, input := range have {
		if own := []string{"command", "version", "binary-url", "binary-sha256"}; !slices.Contains(flags, input) && !slices.Contains(own, input) {
			t.Errorf("the input %s of action.yml is no flag", input)
		}
	}
}
