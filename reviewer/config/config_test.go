package config

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"review-bot/prompts"
)

const (
	sectionKeys = "advisory, base_url, block_on, fallback_model, guidelines, ignore, inline, instructions, max_calls, max_follow_ups, max_input_tokens, max_output_tokens, max_rounds, max_tokens_per_pr, model, " +
		"no_approve, operators, parallel, price_in, price_out, prompt_file, receipt, repost_stale, review_drafts, siblings"
	topKeys     = sectionKeys + ", roles, settle"
	settleNames = "allow_invalid_resolution, apply_replies, apply_resolutions, auto_resolve, enabled, reply_as_comment, reply_template, require_checks, required_checks"
)

// Bad files, with the exact line that people get.
var bad = map[string]struct{ file, want string }{
	"value, with its line": {"model: gpt-5\n\n# how strict\n\n\n\nblock_on: hihg\n", `:7: block_on: "hihg" is not one of low, medium, high, critical, never`},
	"value of a role":      {"roles:\n  security:\n    block_on: [high]\n", `:3: roles.security.block_on: a list is not one of low, medium, high, critical, never`},
	"number for a word":    {"block_on: 3", `:1: block_on: 3 is not one of low, medium, high, critical, never`},
	"capitals":             {"block_on: High", `:1: block_on: "High" is not one of low, medium, high, critical, never`},

	"unknown key":                {"model: a\nmodle: b\n", `:2: modle: no such key, did you mean model? — the keys are ` + topKeys},
	"unknown key, as a flag":     {"max-calls: 3\n", `:1: max-calls: no such key, did you mean max_calls? — the keys are ` + topKeys},
	"unknown key, far off":       {"token: abc\n", `:1: token: no such key — the keys are ` + topKeys},
	"unknown key of a role":      {"roles:\n  gpt:\n    model: a\n    blockon: low\n", `:4: roles.gpt.blockon: no such key, did you mean block_on? — the keys are ` + sectionKeys},
	"roles in a role":            {"roles:\n  gpt:\n    roles: {}\n", `:3: roles.gpt.roles: no such key here, it belongs at the top — the keys are ` + sectionKeys},
	"unknown key without one":    {"modle:\n", `:1: modle: no such key, did you mean model? — the keys are ` + topKeys},
	"key that is a list":         {"? [a]\n: b\n", `:2:1: not valid YAML: found an invalid key for this map`},
	"key behind a question mark": {"? a\n: b\n", `:1:1: keys behind a question mark are not supported, write the value out`},
	"key that is a number":       {"1: b\n", `:1:1: 1 is not a name`},
	"role's name":                {"roles:\n  Security:\n    model: a\n", `:2: roles: "Security" is not of the form [a-z0-9][a-z0-9._-]{0,63}`},
	"role that is a text":        {"roles:\n  security: gpt-5\n", `:2: roles.security: "gpt-5" is not a list of keys with values, such as model: gpt-5`},
	"roles as a list":            {"roles:\n- security\n", `:2: roles: a list is not a list of keys with values, such as model: gpt-5`},
	"key twice":                  {"model: a\ninline: body\nmodel: b\n", `:3: model: stands in line 1 already`},
	"key twice, first one bad":   {"model: [a]\nmodel: b\n", `:1: model: a list is not a text`},
	"key twice, empty":           {"model:\nmodel: b\n", `:2: model: stands in line 1 already`},
	"key of a role twice":        {"roles:\n  a:\n    model: x\n    model: y\n", `:4: roles.a.model: stands in line 3 already`},
	"role twice":                 {"roles:\n  a: {model: x}\n  a: {model: y}\n", `:3: roles.a: stands in line 2 already`},

	"switch":            {"advisory: maybe\n", `:1: advisory: "maybe" is not one of true, false`},
	"switch, yes":       {"advisory: yes\n", `:1: advisory: "yes" is not one of true, false`},
	"switch, in quotes": {"no_approve: 'true'\n", `:1: no_approve: "true" is not one of true, false`},
	"switch, a number":  {"review_drafts: 1\n", `:1: review_drafts: 1 is not one of true, false`},

	"number, a word":     {"max_calls: many\n", `:1: max_calls: "many" is not a whole number from 1 to 1000000000`},
	"number, too small":  {"max_calls: 0\n", `:1: max_calls: 0 is not a whole number from 1 to 1000000000`},
	"number, negative":   {"max_rounds: -1\n", `:1: max_rounds: -1 is not a whole number from 0 to 1000000000`},
	"number, a fraction": {"max_rounds: 1.5\n", `:1: max_rounds: 1.5 is not a whole number from 0 to 1000000000`},
	"number, huge":       {"max_calls: 99999999999999999999999\n", `:1: max_calls: "99999999999999999999999" is not a whole number from 1 to 1000000000`},
	"tokens":             {"max_input_tokens: 100\n", `:1: max_input_tokens: 100 is not a whole number from 2500 to 1000000000`},
	"price":              {"price_in: -0.5\n", `:1: price_in: -0.5 is not a number from 0 on, such as 1.25`},
	"price, not one":     {"price_out: .inf\n", `:1: price_out: .inf is not a number from 0 on, such as 1.25`},

	"text, a number":    {"model: 4.1\n", `:1: model: 4.1 is not a text: put it in quotes`},
	"text, a switch":    {"model: true\n", `:1: model: true is not a text: put it in quotes`},
	"text, keys":        {"model:\n  name: gpt\n", `:2: model: a list of keys is not a text`},
	"place":             {"inline: diff\n", `:1: inline: "diff" is not one of review, attach, body`},
	"address":           {"base_url: api.example.com\n", `:1: base_url: not an address such as https://api.example.com/v1`},
	"address, password": {"base_url: https://me:secret@api.example.com\n", `:1: base_url: not an address such as https://api.example.com/v1`},
	"path, above":       {"prompt_file: ../x.md\n", `:1: prompt_file: "../x.md" is not the path of a file in the repository, such as docs/review.md`},
	"path, of this machine": {
		"roles: {a: {prompt_file: /etc/passwd}}\n", `:1: roles.a.prompt_file: "/etc/passwd" is not the path of a file in the repository, such as docs/review.md`,
	},
	"path, here":       {"prompt_file: ./x.md\n", `:1: prompt_file: "./x.md" is not the path of a file in the repository, such as docs/review.md`},
	"list, a text":     {"guidelines: AGENTS.md\n", `:1: guidelines: "AGENTS.md" is not a list such as [AGENTS.md]`},
	"list, the third":  {"guidelines:\n- a.md\n- b.md\n- ../c.md\n", `:4: guidelines: "../c.md" is not the path of a file in the repository, such as docs/review.md`},
	"list in a list":   {"ignore:\n- [a]\n", `:2: ignore: a list is not a text`},
	"list, a number":   {"operators: [alice, 7]\n", `:1: operators: 7 is not a text: put it in quotes`},
	"login":            {"operators: ['@alice']\n", `:1: operators: "@alice" is not a login such as alice`},
	"sibling":          {"siblings: [Gpt]\n", `:1: siblings: "Gpt" is not of the form [a-z0-9][a-z0-9._-]{0,63}`},
	"anchor":           {"model: &m gpt\n", `:1: model: anchors and aliases are not supported, write the value out`},
	"alias":            {"model: &m gpt\nfallback_model: *m\n", `:1: model: anchors and aliases are not supported, write the value out`},
	"alias in a list":  {"ignore: [*a]\n", `:1: ignore: anchors and aliases are not supported, write the value out`},
	"tag":              {"model: !!str 4.1\n", `:1: model: tags are not supported, write the value out`},
	"merge key":        {"<<: {model: a}\n", `:1:1: merge keys are not supported, write the value out`},
	"two documents":    {"model: a\n---\nmodel: b\n", `:2:1: a second document begins here, and there may be one only`},
	"a list":           {"- model: a\n", `:1:1: a list is not a list of keys with values, such as model: gpt-5`},
	"a text":           {"gpt-5\n", `:1:1: "gpt-5" is not a list of keys with values, such as model: gpt-5`},
	"not closed":       {"model: a\nignore: [a, b\n", `:2:9: not valid YAML: sequence end token ']' not found`},
	"indentation":      {"model: a\n  inline: body\n", `:1:8: not valid YAML: mapping value is not allowed in this context`},
	"a tab":            {"roles:\n\ta: {}\n", `:2:1: not valid YAML: found character ' ' that cannot start any token`},
	"too long":         {"# " + strings.Repeat("x", MaxSize), `: the file is 65538 bytes long, and may have 65536`},
	"not a text":       {"model: \xff\n", `: the file is not text in UTF-8`},
	"too many bracket": {"a: 1\nb: " + strings.Repeat("[", 200), `:2:104: too many brackets are open`},
}

func TestBadFiles(t *testing.T) {
	for promise, tt := range bad {
		refused(t, promise, tt.file, tt.want)
		refused(t, promise+", with CRLF", strings.ReplaceAll(tt.file, "\n", "\r\n"), tt.want) // the lines' ends are the editor's choice
	}
}

// refused checks the line that people get about a file.
func refused(t *testing.T, promise, file, want string) (e Error) {
	t.Helper()
	got, err := Parse(DefaultPath, []byte(file))
	if err == nil {
		t.Errorf("%s: no error, want %s", promise, want)
		return e
	}
	if err.Error() != DefaultPath+want {
		t.Errorf("%s:\n got %s\nwant %s%s", promise, err, DefaultPath, want)
	}
	if d := cmp.Diff(File{}, got); d != "" {
		t.Errorf("%s: a file with a mistake says something (-want +got):\n%s", promise, d)
	}
	if at := (*Error)(nil); errors.As(err, &at) {
		e = *at
	}
	return e
}

// Bad sections for settle, with the column, which a line that names the key leaves out.
var badSettle = map[string]struct {
	file   string
	column int
	want   string
}{
	"unknown key":             {"settle:\n  token: abc\n", 3, `:2: settle.token: no such key — the keys are ` + settleNames},
	"unknown key, near":       {"model: a\nsettle:\n  apply_replys: true\n", 3, `:3: settle.apply_replys: no such key, did you mean apply_replies? — the keys are ` + settleNames},
	"unknown key, as a flag":  {"settle: {auto-resolve: []}\n", 10, `:1: settle.auto-resolve: no such key, did you mean auto_resolve? — the keys are ` + settleNames},
	"unknown key without one": {"settle:\n  reply_templat:\n", 3, `:2: settle.reply_templat: no such key, did you mean reply_template? — the keys are ` + settleNames},
	"section, near":           {"setle:\n  apply_replies: true\n", 1, `:1: setle: no such key, did you mean settle? — the keys are ` + topKeys},
	"section in a role": {
		"roles:\n  gpt:\n    settle: {apply_replies: true}\n", 5, `:3: roles.gpt.settle: no such key here, it belongs at the top — the keys are ` + sectionKeys,
	},
	"section in itself":           {"settle:\n  settle: {}\n", 3, `:2: settle.settle: no such key here, it belongs at the top — the keys are ` + settleNames},
	"roles in it":                 {"settle:\n  roles: {}\n", 3, `:2: settle.roles: no such key here, it belongs at the top — the keys are ` + settleNames},
	"key of a role":               {"settle:\n  apply_replies: true\n  model: gpt-5\n", 3, `:3: settle.model: no such key here, it belongs at the top or below a role — the keys are ` + settleNames},
	"key of it at the top":        {"model: a\nauto_resolve: [stale]\n", 1, `:2: auto_resolve: no such key here, it belongs below settle at the top — the keys are ` + topKeys},
	"key of it in a role":         {"roles: {gpt: {reply_as_comment: true}}\n", 15, `:1: roles.gpt.reply_as_comment: no such key here, it belongs below settle at the top — the keys are ` + sectionKeys},
	"key of it, in a role settle": {"roles: {settle: {apply_replies: true}}\n", 18, `:1: roles.settle.apply_replies: no such key here, it belongs below settle at the top — the keys are ` + sectionKeys},

	"section twice":         {"settle: {apply_replies: true}\nmodel: a\nsettle: {}\n", 1, `:3: settle: stands in line 1 already`},
	"section twice, empty":  {"settle:\nsettle: {}\n", 1, `:2: settle: stands in line 1 already`},
	"key twice":             {"settle:\n  apply_replies: true\n  apply_replies: true\n", 3, `:3: settle.apply_replies: stands in line 2 already`},
	"key twice, empty":      {"settle:\n  auto_resolve:\n  auto_resolve: []\n", 3, `:3: settle.auto_resolve: stands in line 2 already`},
	"section, a switch":     {"settle: true\n", 9, `:1: settle: true is not a list of keys with values, such as apply_replies: true`},
	"section, a list":       {"settle:\n- apply_replies\n", 1, `:2: settle: a list is not a list of keys with values, such as apply_replies: true`},
	"section, an anchor":    {"settle: &s {apply_replies: true}\n", 9, `:1: settle: anchors and aliases are not supported, write the value out`},
	"key, a number":         {"settle: {1: true}\n", 10, `:1: settle: 1 is not a name`},
	"key, merged":           {"settle:\n  <<: {apply_replies: true}\n", 3, `:2: settle: merge keys are not supported, write the value out`},
	"switch, a word":        {"settle:\n  apply_replies: always\n", 18, `:2: settle.apply_replies: "always" is not one of true, false`},
	"switch, in quotes":     {"settle:\n  apply_resolutions: 'true'\n", 22, `:2: settle.apply_resolutions: "true" is not one of true, false`},
	"switch, a number":      {"settle: {allow_invalid_resolution: 1}\n", 36, `:1: settle.allow_invalid_resolution: 1 is not one of true, false`},
	"switch, a list":        {"settle:\n  reply_as_comment:\n  - true\n", 3, `:3: settle.reply_as_comment: a list is not one of true, false`},
	"resolve, a word":       {"settle:\n  auto_resolve: stale\n", 17, `:2: settle.auto_resolve: "stale" is not a list such as [stale, already_fixed]`},
	"resolve, a switch":     {"settle:\n  auto_resolve: false\n", 17, `:2: settle.auto_resolve: false is not a list such as [stale, already_fixed]`},
	"resolve, valid":        {"settle:\n  auto_resolve: [stale, valid]\n", 25, `:2: settle.auto_resolve: "valid" is not one of stale, already_fixed`},
	"resolve, invalid":      {"settle:\n  auto_resolve:\n  - already_fixed\n  - invalid\n", 5, `:4: settle.auto_resolve: "invalid" is not one of stale, already_fixed`},
	"resolve, needs_human":  {"settle: {auto_resolve: [needs_human]}\n", 25, `:1: settle.auto_resolve: "needs_human" is not one of stale, already_fixed`},
	"resolve, capitals":     {"settle: {auto_resolve: [Stale]}\n", 25, `:1: settle.auto_resolve: "Stale" is not one of stale, already_fixed`},
	"resolve, an alias":     {"settle: {auto_resolve: [*all]}\n", 25, `:1: settle.auto_resolve: anchors and aliases are not supported, write the value out`},
	"checks, a word":        {"settle:\n  required_checks: ci\n", 20, `:2: settle.required_checks: "ci" is not a list such as [ci / test (pull_request)]`},
	"checks, no name":       {"settle:\n  required_checks: [\"a\\nb\"]\n", 21, `:2: settle.required_checks: "a\nb" is not the name of a check such as ci / test (pull_request)`},
	"checks, a number":      {"settle: {require_checks: 0}\n", 26, `:1: settle.require_checks: 0 is not one of true, false`},
	"template, above":       {"settle:\n  reply_template: ../reply.md\n", 19, `:2: settle.reply_template: "../reply.md" is not the path of a file in the repository, such as docs/review.md`},
	"template, the machine": {"settle:\n  reply_template: /etc/passwd\n", 19, `:2: settle.reply_template: "/etc/passwd" is not the path of a file in the repository, such as docs/review.md`},
	"template, a number":    {"settle:\n  reply_template: 7\n", 19, `:2: settle.reply_template: 7 is not a text: put it in quotes`},
	"template, a tag":       {"settle:\n  reply_template: !!str a\n", 19, `:2: settle.reply_template: tags are not supported, write the value out`},
}

func TestBadSettle(t *testing.T) {
	for promise, tt := range badSettle {
		for _, file := range []string{tt.file, strings.ReplaceAll(tt.file, "\n", "\r\n")} {
			if e := refused(t, promise, file, tt.want); e.Column != tt.column {
				t.Errorf("%s: column %d, want %d", promise, e.Column, tt.column)
			}
		}
	}
}

func TestSettle(t *testing.T) {
	for text, want := range map[string]Settle{
		"": {},
		"settle:\n  apply_replies: true\n  apply_resolutions: false\n  auto_resolve: [already_fixed]\n  allow_invalid_resolution: true\n  reply_as_comment: true\n  reply_template: docs/reply.md.tmpl\n": {
			ApplyReplies: At[bool]{true, 2, 3}, ApplyResolutions: At[bool]{false, 3, 3}, AutoResolve: At[[]string]{[]string{"already_fixed"}, 4, 3},
			AllowInvalidResolution: At[bool]{true, 5, 3}, ReplyAsComment: At[bool]{true, 6, 3}, ReplyTemplate: At[string]{"docs/reply.md.tmpl", 7, 3},
		},
		"settle: {apply_resolutions: true, reply_template: ' a.md '}":       {ApplyResolutions: At[bool]{true, 1, 10}, ReplyTemplate: At[string]{"a.md", 1, 35}},
		"settle:\n  auto_resolve:\n  - stale\n  -\n  - already_fixed\n":     {AutoResolve: At[[]string]{[]string{"stale", "already_fixed"}, 2, 3}},
		"settle:\n  auto_resolve: []\n":                                     {AutoResolve: At[[]string]{[]string{}, 2, 3}},
		"settle: {auto_resolve: , reply_template: '', apply_replies: null}": {},
		"settle:\n":                        {},
		"settle:\n# apply_replies: true\n": {},
		"settle: {}\n":                     {},
		"settle: null\n":                   {},
		"settle: ~\n":                      {},
	} {
		// What stands beside it makes no difference, and isn't changed by it.
		text += "\nadvisory: true\nroles: {settle: {model: b}}\n"
		f, err := Parse(DefaultPath, []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if d := cmp.Diff(want, f.Settle); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
		line := strings.Count(text, "\n")
		role := Section{Advisory: At[bool]{true, line - 1, 1}, Model: At[string]{"b", line, 18}}
		if d := cmp.Diff(role, f.For("settle")); d != "" {
			t.Errorf("%q, role (-want +got):\n%s", text, d)
		}
	}
}

func TestKeysInOrderOnePerField(t *testing.T) {
	for _, tt := range []struct {
		got    []string
		want   string
		fields int
	}{
		{Keys(), sectionKeys, reflect.TypeFor[Section]().NumField()},
		{SettleKeys(), settleNames, reflect.TypeFor[Settle]().NumField()},
	} {
		if got := strings.Join(tt.got, ", "); got != tt.want || !slices.IsSorted(tt.got) || len(tt.got) != tt.fields {
			t.Errorf("%s, want %s, in order, for %d fields", got, tt.want, tt.fields)
		}
	}
}

// The example of the package's comment can be copied, and shows all of settle.
func TestDocumentedFile(t *testing.T) {
	source, err := os.ReadFile("config.go")
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := strings.Cut(string(source), "\npackage config\n")
	var example strings.Builder
	for line := range strings.Lines(comment) {
		if text, ok := strings.CutPrefix(line, "//\t"); ok {
			example.WriteString(text)
		}
	}
	f, err := Parse("config.go", []byte(example.String()))
	if err != nil {
		t.Fatal(err)
	}
	settle := reflect.ValueOf(f.Settle)
	for i := range settle.NumField() {
		if settle.Field(i).FieldByName("Line").Int() == 0 {
			t.Errorf("%s isn't shown", settle.Type().Field(i).Name)
		}
	}
	if got := f.For("security").Model.Value; got != "gpt-5-pro" {
		t.Errorf("the role's model is %q", got)
	}
}

func TestGoodFile(t *testing.T) {
	f, err := Parse(DefaultPath, []byte(`# Ours.
model: gpt-5
base_url: http://127.0.0.1:8080/v1
fallback_model: "4.1"
prompt_file: docs/review.md
instructions: |
  Be brief.
  Be kind.
guidelines: []
block_on: medium
inline: body
advisory: false
review_drafts: true
no_approve: true
repost_stale: true
siblings: [gpt, sonnet]
operators:
- alice
-
- bob
ignore: ["*.md", '!README.md']
max_rounds: 0
max_input_tokens: 4_000
max_calls: 3
max_follow_ups: 0
price_in: 1
price_out: 2.5
roles:
  docs:
  security: {model: gpt-5-pro, advisory: true, ignore: [], block_on: , prompt_file: ""}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Section{
		Model: At[string]{"gpt-5", 2, 1}, BaseURL: At[string]{"http://127.0.0.1:8080/v1", 3, 1}, FallbackModel: At[string]{"4.1", 4, 1},
		PromptFile: At[string]{"docs/review.md", 5, 1}, Instructions: At[string]{"Be brief.\nBe kind.", 6, 1}, Guidelines: At[[]string]{[]string{}, 9, 1},
		BlockOn: At[prompts.Severity]{prompts.Medium, 10, 1}, Inline: At[string]{"body", 11, 1}, Advisory: At[bool]{false, 12, 1},
		ReviewDrafts: At[bool]{true, 13, 1}, NoApprove: At[bool]{true, 14, 1}, RepostStale: At[bool]{true, 15, 1},
		Siblings: At[[]string]{[]string{"gpt", "sonnet"}, 16, 1}, Operators: At[[]string]{[]string{"alice", "bob"}, 17, 1},
		Ignore: At[[]string]{[]string{"*.md", "!README.md"}, 21, 1}, MaxRounds: At[int]{0, 22, 1}, MaxInputTokens: At[int]{4000, 23, 1},
		MaxCalls: At[int]{3, 24, 1}, MaxFollowUps: At[int]{0, 25, 1}, PriceIn: At[float64]{1, 26, 1}, PriceOut: At[float64]{2.5, 27, 1},
	}
	for _, role := range []string{"", "gpt", "docs"} {
		if d := cmp.Diff(want, f.For(role)); d != "" {
			t.Errorf("%q (-want +got):\n%s", role, d)
		}
	}
	want.Model, want.Advisory, want.Ignore = At[string]{"gpt-5-pro", 30, 14}, At[bool]{true, 30, 32}, At[[]string]{[]string{}, 30, 48}
	if d := cmp.Diff(want, f.For("security")); d != "" {
		t.Errorf("security (-want +got):\n%s", d)
	}
}

func TestFilesThatSayNothing(t *testing.T) {
	for _, text := range []string{"", "\n\n", "# nothing\n", "---\n", "---\n# nothing\n", "{}", "null", "~\n", "\ufeff", "roles:\n", "roles: {}\n", "model:\nroles: {a: }\n", "model: ''\n", "model: |\n  \n", "settle:\n", "settle: {auto_resolve: }\n", "---\n---\n", "...\n"} {
		f, err := Parse(DefaultPath, []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if d := cmp.Diff(Section{}, f.For("a")); d != "" {
			t.Errorf("%q:\n%s", text, d)
		}
		if d := cmp.Diff(Settle{}, f.Settle); d != "" {
			t.Errorf("%q:\n%s", text, d)
		}
	}
}

// What takes the parser long, or makes much of little, ends soon.
func TestSpeedHostileFiles(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'm'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+p+",", 9), ",") + "]\n"
	}
	for _, text := range []string{
		bomb, strings.Repeat("[", MaxSize), strings.Repeat("{", MaxSize), strings.Repeat("[a,", MaxSize/3), strings.Repeat("{a: ", MaxSize/4),
		strings.Repeat("- ", MaxSize/2), strings.Repeat("? ", MaxSize/2), strings.Repeat("&a ", MaxSize/3), strings.Repeat("a: ", MaxSize/3),
		strings.Repeat("\"", MaxSize), "model: " + strings.Repeat("[]", MaxSize/2-10), strings.Repeat("modle", MaxSize/5) + ":",
	} {
		began := time.Now()
		_, err := Parse(DefaultPath, []byte(text))
		if took := time.Since(began); err == nil || took > 10*time.Second || len(err.Error()) > 600 {
			t.Errorf("%.20q: %s, %.700v", text, took, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, tt := range bad {
		if len(tt.file) < 1000 {
			f.Add([]byte(tt.file))
		}
	}
	for _, tt := range badSettle {
		f.Add([]byte(tt.file))
	}
	f.Add([]byte("settle:\n  apply_replies: true\n  apply_resolutions: true\n  auto_resolve: [stale]\n  reply_template: a/b.md\n"))
	f.Add([]byte("model: a\nroles:\n  b:\n    model: c\n    ignore: [d]\ninstructions: |\n  x\n  y\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			t.Skip()
		}
		file, err := Parse("f", data)
		if err == nil {
			for role := range file.Roles {
				s := file.For(role)
				if !s.Model.Set() && s.Model.Value != "" {
					t.Errorf("a value without a place: %+v", s)
				}
			}
			settle := reflect.ValueOf(file.Settle)
			for i := range settle.NumField() {
				if field := settle.Field(i); field.FieldByName("Line").Int() == 0 && !field.IsZero() {
					t.Errorf("a value without a place: %+v", file.Settle)
				}
			}
			for _, class := range file.Settle.AutoResolve.Value {
				if class != "stale" && class != "already_fixed" {
					t.Errorf("%q is resolved", class)
				}
			}
			return
		}
		if text := err.Error(); !strings.HasPrefix(text, "f:") || strings.ContainsAny(text, "\n\r") {
			t.Errorf("%q", text)
		}
		again, err2 := Parse("f", data)
		if err2 == nil || err2.Error() != err.Error() || !cmp.Equal(again, File{}) {
			t.Errorf("not the same twice: %v, %v", err, err2)
		}
	})
}
