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
	"runtime"
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
	const wicked = "a\n##[add-path]/planted\n::add-path::/planted"
	s := newStage(t, modeltest.ByMatch(modeltest.Match{Reply: answer(critical(wicked, 1, "planted"))}))
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(s.program) }))
	defer files.Close()
	// The owner's own review-bot has no release, and is named by the expression of the
	// workflow file.
	sourceRepo(t, s.srv, s.owner, s.files)
	address := files.URL + "/review-bot?key=hidden"
	const own = "${{ github.server_url }}/${{ github.repository_owner }}/review-bot"
	from := s.srv.URL + "/" + s.product.repo.FullName()
	step := func(repo, ref, more string) string {
		return fmt.Sprintf(`
    runs-on: ubuntu-latest
    steps:
      - uses: %s/.gitea/actions/review@%s
        with: { role: logic, model: scripted-1, token: "${{ secrets.GPT_REVIEW_TOKEN }}", api-key: "${{ secrets.OPENAI_API_KEY }}", base-url: "${{ vars.OPENAI_BASE_URL }}", dry-run: true%s }
`, repo, ref, more)
	}
	wrong := strings.Repeat("0", 64)
	// The server takes the workflow of the pull request's head. A file's name would be a
	// command to the runner, if it were printed as it is.
	const path = "      - run: echo \"the path is $PATH\"\n"
	pull := s.open(t, giteatest.Files(
		map[string]string{wicked: "planted\n", ".gitea/workflows/review.yml": "name: install\non: pull_request\njobs:" +
			"\n  right:" +
			step(own, "main", fmt.Sprintf(", binary-url: %q, binary-sha256: %s", address, strings.ToUpper(s.sum))) + path +
			"\n  wrong:" + step(own, "main", fmt.Sprintf(", binary-url: %q, binary-sha256: \"%s\"", address, wrong)) +
			"\n  moving:" + step(from, "v1", "") +
			"\n  tag:" + step(from, released, ", version: "+released) +
			"\n  commit:" + step(from, s.release, "") +
			"\n  branch:" + step(from, "main", ", version: "+released) +
			"\n  toolchain:" + step(own, "main", ""),
		}))
	run := s.ended(t, pull.Head)
	isReleased := "review-bot: installed release " + released + " from " + from + ", checksum verified"
	for _, test := range []struct{ job, conclusion, line string }{
		{"right", "success", "review-bot: installed from " + files.URL + "/review-bot?…, checksum verified"},
		{
			"wrong", "failure",
			"review-bot: what is at " + files.URL + "/review-bot?… has the sha256 " + s.sum + ", not " + wrong +
				" — check binary-url and binary-sha256",
		},
		{"moving", "success", isReleased},
		{"tag", "success", isReleased},
		{"commit", "success", isReleased},
		{
			"branch", "failure",
			"review-bot: version " + released + " isn't the release of this checkout (none) — call the action as @" +
				released + ", or give the program's binary-sha256 too",
		},
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
	log := s.repo.JobLog(t, job(t, s.repo, run.ID, "right").ID)
	_, found, ok := strings.Cut(log, "Z the path is ")
	if found, _, _ = strings.Cut(found, "\n"); !ok || strings.Contains(found, "planted") ||
		!strings.Contains(log, "planted") {
		t.Errorf("the next step's path is %q\n%s", found, log)
	}
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
	const want = "review-bot: no program to run: this checkout of the action can't be installed as a release (it is no release), and the runner has no Go" +
		" — call the action at a release's tag, or give binary-url and binary-sha256\n"
	if run.Conclusion != "failure" || strings.Count(log, "review-bot: ") != 1 || !strings.Contains(log, want) {
		t.Errorf("the run is a %s, want a failure, and in its log only the line %q:\n%s", run.Conclusion, want, log)
	}
}

// withoutGo is a PATH with what install.sh needs and nothing else.
func withoutGo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, tool := range []string{"sh", "curl", "env", "uname", "tr", "sed", "cut", "mktemp", "sha256sum", "chmod", "rm", "bash", "dirname", "find", "sort", "grep"} {
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

// checkout is a copy of the action as a runner has it, with a little source. With a
// version it is that release, of a program.
func checkout(t *testing.T, version string, program []byte) (dir string) {
	t.Helper()
	root, err := giteatest.Root()
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(root, actionFolder, "install.sh"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{actionFolder + "/install.sh": string(script), "go.mod": "module x\n", "go.sum": ""}
	for _, folder := range []string{"cmd", "escalation", "prompts", "reviewer", "sentinel"} {
		files[folder+"/a.go"] = "package " + folder + "\n"
	}
	if version != "" {
		files[actionFolder+"/RELEASE"] = releaseFile(version, files, program)
	}
	dir = t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

const actionFolder = ".gitea/actions/review"

func write(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func sum(data []byte) string { s := sha256.Sum256(data); return hex.EncodeToString(s[:]) }

// releaseFile is what .ci/release writes for a source and its program.
func releaseFile(version string, files map[string]string, program []byte) string {
	var list []string
	for name, text := range files {
		if regexp.MustCompile(`^((cmd|escalation|prompts|reviewer|sentinel)/|go\.(mod|sum)$)`).MatchString(name) {
			list = append(list, sum([]byte(text))+"  "+name+"\n")
		}
	}
	slices.Sort(list)
	return fmt.Sprintf("version %s\ncommit %s\ngo %s\nsource %s\n%s  review-bot-plan9-mips\n%s  %s\n", version,
		strings.Repeat("0", 40), runtime.Version(),
		sum([]byte(strings.Join(list, ""))), sum([]byte("other")), sum(program), asset())
}

// install.sh alone, where a real runner would show nothing more. What it installs is
// decided by the workflow's checksum or by its own checkout, whatever a server says.
func TestInstallScript(t *testing.T) {
	t.Parallel()
	program, evil := []byte("#!/bin/sh\necho runs\n"), []byte("#!/bin/sh\necho evil\n")
	served := map[string]string{
		"/good": string(program), "/evil": string(evil),
		"/o/r/releases/download/v1.4.2/" + asset():      string(program),
		"/o/r/releases/download/latest/" + asset():      string(evil),
		"/o/r/releases/download/v1.4.2/SHA256SUMS":      sum(evil) + "  " + asset() + "\n",
		"/o/evil/releases/download/v1.4.2/" + asset():   string(evil),
		"/o/evil/releases/download/v1.4.2/SHA256SUMS":   sum(evil) + "  " + asset() + "\n",
		"/o/evil/releases/download/v9/" + asset():       string(evil),
		"/o/evil/releases/download/latest/" + asset():   string(evil),
		"/o/evil/releases/download/latest/SHA256SUMS":   sum(evil) + "  " + asset() + "\n",
		"/o/signin/releases/download/v1.4.2/" + asset(): "<!DOCTYPE html><title>Sign in</title>",
		"/o/r/releases/download/v9/" + asset():          string(program),
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
	host := strings.TrimPrefix(srv.URL, "http://")
	url := func(line string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			write(t, filepath.Join(dir, ".git", "config"), "[remote \"origin\"]\n\turl = "+line+"\n")
		}
	}
	edit := func(t *testing.T, dir string) {
		t.Helper()
		write(t, filepath.Join(dir, "cmd", "a.go"), "package evil\n")
	}
	good, set := srv.URL+"/good", "GITHUB_ACTION_REPOSITORY=o/r"
	const notRelease = "no program to run: this checkout of the action can't be installed as a release "
	for _, test := range []struct {
		name    string
		release string // of the checkout
		change  func(*testing.T, string)
		env     []string
		line    string // the only one
		ok      bool
	}{
		{
			"right", "", nil, []string{"INSTALL_BINARY_URL=" + good, "INSTALL_BINARY_SHA256=" + sum(program)},
			"installed from " + good + ", checksum verified", true,
		},
		{
			"upper case", "", nil,
			[]string{"INSTALL_BINARY_URL=" + good, "INSTALL_BINARY_SHA256=" + strings.ToUpper(sum(program))},
			"installed from " + good + ", checksum verified", true,
		},
		{
			"wrong", "", nil,
			[]string{"INSTALL_BINARY_URL=" + srv.URL + "/evil", "INSTALL_BINARY_SHA256=" + sum(program)},
			"what is at " + srv.URL + "/evil has the sha256 ", false,
		},
		{
			"no checksum", "v1.4.2", nil, []string{"INSTALL_BINARY_URL=" + good},
			"binary-url is given without a binary-sha256 of 64 hex digits — ", false,
		},
		{
			"cut checksum", "", nil,
			[]string{"INSTALL_BINARY_URL=" + good, "INSTALL_BINARY_SHA256=" + sum(program)[:63]},
			"binary-url is given without a binary-sha256 of 64 hex digits — ", false,
		},
		{
			"checksum only", "v1.4.2", nil, []string{"INSTALL_BINARY_SHA256=" + sum(program)},
			"binary-sha256 is given without binary-url or another version — give both, or none", false,
		},
		{
			"not there", "", nil,
			[]string{"INSTALL_BINARY_URL=" + srv.URL + "/none", "INSTALL_BINARY_SHA256=" + sum(program)},
			srv.URL + "/none can't be downloaded (status 22 of the download) — check binary-url", false,
		},

		{
			"the moving tag", "v1.4.2", nil, []string{set, "GITHUB_ACTION_REF=v1"},
			"installed release v1.4.2 from " + srv.URL + "/o/r, checksum verified", true,
		},
		{
			"the release's tag", "v1.4.2", nil, []string{set, "GITHUB_ACTION_REF=v1.4.2"},
			"installed release v1.4.2 from " + srv.URL + "/o/r, checksum verified", true,
		},
		{
			"the release's commit", "v1.4.2", nil, []string{set, "GITHUB_ACTION_REF=" + strings.Repeat("a", 40)},
			"installed release v1.4.2 from " + srv.URL + "/o/r, checksum verified", true,
		},
		{
			"the runner names an address", "v1.4.2", nil, []string{"GITHUB_ACTION_REPOSITORY=" + srv.URL + "/o/r"},
			"installed release v1.4.2 from " + srv.URL + "/o/r, checksum verified", true,
		},
		{
			"only the checkout knows where", "v1.4.2", url("http://user:secret@" + host + "/o/r.git"), nil,
			"installed release v1.4.2 from " + srv.URL + "/o/r, checksum verified", true,
		},
		{
			"its version", "v1.4.2", nil, []string{set, "INSTALL_VERSION=v1.4.2"},
			"installed release v1.4.2 from " + srv.URL + "/o/r, checksum verified", true,
		},
		{
			"another version with its checksum", "v1.4.2", nil,
			[]string{set, "INSTALL_VERSION=v9", "INSTALL_BINARY_SHA256=" + sum(program)},
			"installed release v9 from " + srv.URL + "/o/r, checksum verified", true,
		},

		// The line in the checkout's file doesn't go before the runner's variable, and can't
		// lead to another program.
		{
			"the checkout names another server", "v1.4.2", url(srv.URL + "/o/evil"), []string{set},
			"installed release v1.4.2 from " + srv.URL + "/o/r, checksum verified", true,
		},
		{
			"only another server", "v1.4.2", url(srv.URL + "/o/evil"), nil,
			srv.URL + "/o/evil/releases/download/v1.4.2/" + asset() + " has the sha256 ", false,
		},
		{
			"another repository of that name", "v1.4.2", url(srv.URL + "/o/r"),
			[]string{"GITHUB_ACTION_REPOSITORY=o/evil"},
			"installed release v1.4.2 from " + srv.URL + "/o/r, checksum verified", true,
		},
		{
			"a planted file", "v1.4.2", nil, []string{"GITHUB_ACTION_REPOSITORY=o/evil"},
			srv.URL + "/o/evil/releases/download/v1.4.2/" + asset() + " has the sha256 ", false,
		},
		{
			"a login page", "v1.4.2", nil, []string{"GITHUB_ACTION_REPOSITORY=o/signin"},
			srv.URL + "/o/signin/releases/download/v1.4.2/" + asset() + " has the sha256 ", false,
		},
		{
			"another version", "v1.4.2", nil, []string{set, "INSTALL_VERSION=v9"},
			"version v9 isn't the release of this checkout (v1.4.2) — call the action as @v9, or give the program's binary-sha256 too",
			false,
		},
		{
			"another version, wrong checksum", "v1.4.2", nil,
			[]string{"GITHUB_ACTION_REPOSITORY=o/evil", "INSTALL_VERSION=v9", "INSTALL_BINARY_SHA256=" + sum(program)},
			srv.URL + "/o/evil/releases/download/v9/" + asset() + " has the sha256 ", false,
		},
		{
			"another version, not there", "v1.4.2", nil,
			[]string{set, "INSTALL_VERSION=v10", "INSTALL_BINARY_SHA256=" + sum(program)},
			asset() + " of the release v10 can't be downloaded from " + srv.URL + "/o/r — check version", false,
		},
		{
			"a version that is a path", "v1.4.2", nil,
			[]string{set, "INSTALL_VERSION=../../evil/v1", "INSTALL_BINARY_SHA256=" + sum(program)},
			"version is the name of a release, such as v1.2.3 — check it", false,
		},

		// No release: nothing is downloaded.
		{
			"a branch", "", nil, []string{set, "GITHUB_ACTION_REF=main"},
			notRelease + "(it is no release), and the runner has no Go — ", false,
		},
		{
			"a branch and a version", "", nil, []string{set, "INSTALL_VERSION=v1.4.2"},
			"version v1.4.2 isn't the release of this checkout (none) — ", false,
		},
		{
			"another source", "v1.4.2", edit, []string{set, "GITHUB_ACTION_REF=v1"},
			notRelease + "(its source isn't that of v1.4.2), and the runner has no Go — ", false,
		},
		{
			"an older release's file", "v1.4.2", edit, []string{"GITHUB_ACTION_REPOSITORY=o/evil"},
			notRelease + "(its source isn't that of v1.4.2), and the runner has no Go — ", false,
		},
		{
			"out of reach", "v1.4.2", nil, []string{"GITHUB_ACTION_REPOSITORY=o/none"},
			notRelease + "(" + asset() + " of the release v1.4.2 can't be downloaded from " + srv.URL +
				"/o/none), and the runner has no Go — ",
			false,
		},
		{
			"nowhere to ask", "v1.4.2", url("git@example.com:o/r"), nil,
			notRelease + "(" + asset() +
				" of the release v1.4.2 can't be downloaded from nowhere: the action has no address), and the runner has no Go — ",
			false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			action := checkout(t, test.release, program)
			if test.change != nil {
				test.change(t, action)
			}
			dir := t.TempDir()
			output := filepath.Join(dir, "output")
			cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(action, actionFolder, "install.sh"))
			cmd.Env = append([]string{
				"PATH=" + withoutGo(t), "RUNNER_TEMP=" + dir, "GITHUB_OUTPUT=" + output, "GITHUB_SERVER_URL=" + srv.URL,
				"GITHUB_ACTION_PATH=" + filepath.Join(action, actionFolder),
			}, test.env...)
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
