package prompts

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func input(role string) Input {
	return Input{
		Role: role, Instructions: Instructions(role), Boundary: "5f0c1d2e",
		Material: []string{"--- 5f0c1d2e pull request\nTitle: Add a cache <b> & {{.Role}}\n--- 5f0c1d2e end", "--- 5f0c1d2e diff\n--- 5f0c1d2e end"},
		Receipt:  "secret",
	}
}

// golden is a request as a person reads it.
func (r Request) golden() string {
	return "=== system ===\n" + r.System + "\n=== material ===\n" + r.Material + "\n=== task ===\n" + r.Task + "\n"
}

// The whole request of every role, as the model gets it. After a change of the
// words: go test ./prompts -update, and read the difference.
func TestRequestsAreAsTheGoldenFilesShow(t *testing.T) {
	inputs := map[string]Input{"general": input("reviewer")}
	for _, role := range Roles {
		inputs[role] = input(role)
	}
	full := input("security")
	full.Guidelines = "## AGENTS.md\n\nUse tabs & <b>, never {{.Role}}."
	full.Earlier = "The code is 9d9d.\n\n## 1f3c9a2b · high\n\n--- 9d9d finding\na.go:12\nOff by one\n--- 9d9d end"
	full.Feedback = "The testers found <nothing> & {{.Role}}."
	full.Extra = "Mind that handlers run <in> parallel & {{.Boundary}}."
	inputs["full"] = full
	for name, in := range inputs {
		t.Run(name, func(t *testing.T) {
			r, err := Build(in)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(r.golden()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v: write it by go test ./prompts -update", err)
			}
			if d := cmp.Diff(string(want), r.golden()); d != "" {
				t.Errorf("%s (-want +got):\n%s", file, d)
			}
		})
	}
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) != len(inputs) {
		t.Errorf("%d golden files for %d requests, %v", len(files), len(inputs), err)
	}
}

func TestSystemPartIsTheSameForAllRoles(t *testing.T) {
	want, err := Build(input("security"))
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range append(slices.Clone(Roles), "somebody") {
		in := input(role)
		in.Earlier, in.Feedback, in.Extra = "Findings of "+role, "Feedback of "+role, "Extra for "+role
		got, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		if got.System != want.System || got.Material != want.Material {
			t.Errorf("%s: another prefix, no cache hit", role)
		}
	}
}

func TestOrderOfTheTask(t *testing.T) {
	in := input("security")
	in.Earlier, in.Feedback, in.Extra = "EARLIER", "FEEDBACK", "EXTRA"
	r, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	last := -1
	for _, part := range []string{"# Your role: security", Instructions("security"), "# Earlier findings", "still open", "EARLIER", "FEEDBACK", "# From the people who run you", "EXTRA", "Now answer"} {
		at := strings.Index(r.Task, part)
		if at <= last {
			t.Errorf("%q isn't behind what precedes it:\n%s", part, r.Task)
		}
		last = at
	}
	in.Earlier, in.Feedback = "", ""
	if r, err := Build(in); err != nil || !strings.Contains(r.Task, "EXTRA") || strings.Contains(r.Task, "Earlier findings") {
		t.Errorf("the operator's instructions alone: %v\n%s", err, r.Task)
	}
	in.Feedback, in.Extra = "FEEDBACK", ""
	if r, err := Build(in); err != nil || !strings.Contains(r.Task, "FEEDBACK") || strings.Contains(r.Task, "From the people") {
		t.Errorf("the feedback alone: %v\n%s", err, r.Task)
	}
	in.Earlier, in.Feedback = "EARLIER", ""
	if r, err := Build(in); err != nil || !strings.Contains(r.Task, "EARLIER\n\nNow answer") || strings.Contains(r.Task, "From the people") {
		t.Errorf("the earlier findings alone: %v\n%s", err, r.Task)
	}
	bare, err := Build(input("security"))
	if err != nil {
		t.Fatal(err)
	}
	for _, heading := range []string{"# Earlier findings", "# From the people", "\n\n\n"} {
		if strings.Contains(bare.Task, heading) {
			t.Errorf("%q stands there with nothing below it:\n%s", heading, bare.Task)
		}
	}
}

// What others wrote is put in as it is: it isn't a template, and nothing is
// escaped as if it were HTML.
func TestDataIsNotATemplate(t *testing.T) {
	const hostile = "{{.Boundary}} {{template \"base.md\" .}} <b>&amp;\" {{"
	r, err := Build(Input{Role: hostile, Instructions: hostile, Boundary: "b0", Material: []string{hostile}, Earlier: hostile, Feedback: hostile, Extra: hostile})
	if err != nil {
		t.Fatal(err)
	}
	if r.Material != "The code of the boundary lines is b0.\n\n"+hostile || strings.Count(r.Task, hostile) != 5 {
		t.Errorf("%s\n%s", r.Material, r.Task)
	}
	if strings.Contains(r.Task, "b0") {
		t.Error("a template in the data was carried out")
	}
}

func TestEveryRoleHasInstructionsOfItsOwn(t *testing.T) {
	seen := map[string]string{}
	for _, role := range append(slices.Clone(Roles), "general") {
		text := Instructions(role)
		if len(text) < 200 || !strings.Contains(text, "Look for:") && !strings.Contains(text, "Look for,") || !strings.Contains(text, "Do not report:") {
			t.Errorf("%s: what to look for and what not to report:\n%s", role, text)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("%s and %s have the same", role, other)
		}
		seen[text] = role
	}
	for _, role := range []string{"", "gpt", "Security", "../base", "security.md"} {
		if Instructions(role) != Instructions("general") {
			t.Errorf("%q doesn't get the general instructions", role)
		}
	}
	entries, err := files.ReadDir("roles")
	if err != nil || len(entries) != len(Roles)+1 {
		t.Errorf("%d files for %d roles and the general one, %v", len(entries), len(Roles), err)
	}
}

// The words and the code must not drift apart.
func TestBaseNamesWhatTheCodeKnows(t *testing.T) {
	r, err := Build(Input{Boundary: "b0"})
	if err != nil {
		t.Fatal(err)
	}
	base := r.System
	section := func(heading string) string {
		_, text, ok := strings.Cut(base, "\n# "+heading+"\n")
		if !ok {
			t.Fatalf("base.md has no section %q", heading)
		}
		text, _, _ = strings.Cut(text, "\n# ")
		return text
	}
	names := func(text, pattern string) []string {
		var list []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			list = append(list, m[1])
		}
		return list
	}

	var severities []string
	for _, s := range Severities {
		severities = append(severities, string(s))
	}
	if d := cmp.Diff(severities, names(section("Severity"), "(?m)^- `([a-z_]+)`:")); d != "" {
		t.Errorf("severities, worst first (-code +words):\n%s", d)
	}
	how := section("How to answer")
	categories := regexp.MustCompile("(?m)^- `category` is one of (.*)\\.$").FindString(how)
	if d := cmp.Diff(append([]string{"category"}, Categories...), names(categories, "`([a-z_]+)`")); d != "" {
		t.Errorf("categories (-code +words):\n%s", d)
	}
	sides := regexp.MustCompile("(?m)^- `side` is `(new)`.*`(old)`").FindStringSubmatch(how)
	if len(sides) != 3 {
		t.Errorf("the sides aren't explained:\n%s", how)
	}
	known := slices.Concat(answerFields, findingFields)
	for _, name := range names(how, "(?m)^- `([a-z_]+)`") {
		if !slices.Contains(known, name) {
			t.Errorf("the words explain a field %q, which there isn't", name)
		}
	}

	// The example is an answer: the decoder takes it, and it shows every field.
	example := regexp.MustCompile(`(?m)^\{.*\}$`).FindString(how)
	if _, err := Decode(example); err != nil {
		t.Errorf("the example isn't a valid answer: %v\n%s", err, example)
	}
	var top struct {
		Findings []map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(example), &top); err != nil || len(top.Findings) == 0 || len(top.Findings[0]) != len(findingFields) {
		t.Errorf("the example doesn't show every field of a finding: %v\n%s", err, example)
	}
	if given := section("What you are given"); !strings.Contains(given, "CODE") || strings.Contains(given, "b0") {
		t.Errorf("the boundary lines aren't explained, or their code stands among the rules:\n%s", given)
	}
}
