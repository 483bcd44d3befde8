package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/goccy/go-yaml"
)

// An attackCase is one file of testdata/attacks: what is tried, by whom and in
// which order, and what must not come of it. The folder is its kind.
type attackCase struct {
	name string // kind/file

	Title string `yaml:"title"`
	// Before says whether the attack came off on the release before these cases were
	// written: "fails", the case failed there, or "holds: " and why it didn't.
	Before string `yaml:"before"`
	// Until names what is missing while the program can't withstand the attack. The
	// case must fail then: once it holds, the line is to be removed.
	Until string `yaml:"until"`
	// Quick cases are part of make test.
	Quick bool `yaml:"quick"`
	// Elsewhere is the test that has what can't be shown at this level: "folder TestName".
	Elsewhere string `yaml:"elsewhere"`

	Protection string                `yaml:"protection"` // a kind of base, see [site]; default protected
	Base       attackFiles           `yaml:"base"`       // files of the base branch
	Bases      map[string]attackBase `yaml:"bases"`      // further bases
	Flags      []string              `yaml:"flags"`      // of every review
	Model      *attackModel          `yaml:"model"`      // of every review
	Steps      []attackStep          `yaml:"steps"`
}

// An attackBase is a branch on top of the base, or of another one.
type attackBase struct {
	On    string      `yaml:"on"`
	Kind  string      `yaml:"kind"`
	Files attackFiles `yaml:"files"`
}

// An attackStep is one thing that somebody does. Exactly one field is set.
type attackStep struct {
	Open      *attackOpen     `yaml:"open"`
	Push      *attackPush     `yaml:"push"`
	PushBase  *attackPush     `yaml:"push-base"`
	Run       *attackRun      `yaml:"run"`
	Reconcile *attackRun      `yaml:"reconcile"`
	Settle    *attackSettle   `yaml:"settle"`
	Review    *attackReview   `yaml:"review"`
	Crowd     *attackCrowd    `yaml:"crowd"`
	Request   *attackPerson   `yaml:"request"`
	Unrequest *attackPerson   `yaml:"unrequest"`
	Dismiss   *attackPerson   `yaml:"dismiss"`
	Close     *attackPerson   `yaml:"close"`
	Reopen    *attackPerson   `yaml:"reopen"`
	Say       *attackWords    `yaml:"say"`
	Reply     *attackWords    `yaml:"reply"`
	Resolve   *attackWords    `yaml:"resolve"`
	Rewrite   *attackWords    `yaml:"rewrite"`
	Describe  *attackDescribe `yaml:"describe"`
	Retarget  string          `yaml:"retarget"`
	Wait      attackPause     `yaml:"wait"`
	Late      *attackLate     `yaml:"late"`
	Fault     *attackFault    `yaml:"fault"`
	Status    *attackStatus   `yaml:"status"`
	Expect    *attackExpect   `yaml:"expect"`
	Token     *attackPerson   `yaml:"token"` // the account gets another token
	Pull      int             `yaml:"pull"`  // the steps that follow are about the n-th pull request opened
}

// attackOpen opens a pull request of a new branch.
type attackOpen struct {
	Files  attackFiles `yaml:"files"`
	From   string      `yaml:"from"`   // the base it begins at; default the first
	Base   string      `yaml:"base"`   // what it is to be merged into; default From
	Commit string      `yaml:"commit"` // of a pull request before: "h1"
	By     string      `yaml:"by"`     // default author; outsider: from a fork
	Draft  bool        `yaml:"draft"`
	Title  string      `yaml:"title"`
	Body   string      `yaml:"body"`
}

// attackPush is a commit on top of the branch, or a commit from before.
type attackPush struct {
	Files   attackFiles `yaml:"files"`
	Back    string      `yaml:"back"`    // "h1": a forced push to that head
	Rewrite bool        `yaml:"rewrite"` // a forced push: the commit is on top of the base
	Merge   bool        `yaml:"merge"`   // merges the base in
	NoWait  bool        `yaml:"no-wait"` // what the server does in the background isn't waited for
	Base    string      `yaml:"base"`    // for push-base: which; default the first
}

// attackRun is a job of the bot's.
type attackRun struct {
	Role    string            `yaml:"role"`    // default logic
	Account string            `yaml:"account"` // default bot
	Args    []string          `yaml:"args"`    // a command and its flags
	Flags   []string          `yaml:"flags"`   // of the review
	Env     map[string]string `yaml:"env"`
	Event   *attackEvent      `yaml:"event"`
	Model   *attackModel      `yaml:"model"`
	Process bool              `yaml:"process"` // the program is a process of its own
	Memory  int               `yaml:"memory"`  // MiB that the process may take

	Exit      []int             `yaml:"exit"`
	Asked     *int              `yaml:"asked"`   // how often the model was
	AtMost    int               `yaml:"at-most"` // how many requests the forge got
	Prompt    []string          `yaml:"prompt"`
	NoPrompt  []string          `yaml:"no-prompt"`
	Prints    []string          `yaml:"prints"`
	NotPrints []string          `yaml:"not-prints"`
	Outputs   map[string]string `yaml:"outputs"`
	ErrorLine bool              `yaml:"error-line"` // it says in one line what failed and what to do
}

// attackEvent is the event file that a runner writes.
type attackEvent struct {
	Name   string `yaml:"name"`
	Action string `yaml:"action"`
	By     string `yaml:"by"`   // the sender
	Of     string `yaml:"of"`   // the reviewer requested
	Base   string `yaml:"base"` // the base branch when it happened, main or one of the case; default the one now
}

// attackModel is how a model answers. The default is an honest one.
type attackModel struct {
	Finds    []string          `yaml:"finds"`    // reports each added line and name with one of these; default EVIL
	Severity string            `yaml:"severity"` // of what it finds; default high
	Keep     []string          `yaml:"keep"`     // which earlier findings it keeps, by their words; default all; [none]
	Closed   map[string]string `yaml:"closed"`   // "path:line" that fixes the earlier finding with these words
	Findings []attackFinding   `yaml:"findings"` // reported always
	Summary  string            `yaml:"summary"`
	Fails    int               `yaml:"fails"`   // the status of every answer
	Content  string            `yaml:"content"` // instead of an answer
	Bare     bool              `yaml:"bare"`    // leaves out what may be missing: retained
	Gzip     int               `yaml:"gzip"`    // answers so many MiB, compressed
}

type attackFinding struct {
	Path     string `yaml:"path"`
	Line     int    `yaml:"line"`
	Quote    string `yaml:"quote"`
	Severity string `yaml:"severity"`
	Title    string `yaml:"title"`
	Body     string `yaml:"body"`
}

type attackSettle struct {
	By     string           `yaml:"by"`
	Apply  bool             `yaml:"apply"`
	Items  []map[string]any `yaml:"items"`  // of a payload; of: names the conversation, commit: a head
	Triage []map[string]any `yaml:"triage"` // judgements; of: names the conversation
	Part   bool             `yaml:"part"`   // the triage is of the first conversation listed, and of no other
	Flags  []string         `yaml:"flags"`
	Exit   []int            `yaml:"exit"`
	Prints []string         `yaml:"prints"`
}

type attackReview struct {
	By       string `yaml:"by"`
	Event    string `yaml:"event"`
	Body     string `yaml:"body"`
	Comments int    `yaml:"comments"` // inline, on Path
	Path     string `yaml:"path"`
	Refused  bool   `yaml:"refused"` // a server may refuse it
}

// attackCrowd is a review each of many accounts.
type attackCrowd struct {
	Accounts int          `yaml:"accounts"`
	Review   attackReview `yaml:"review"`
}

type attackPerson struct {
	By    string `yaml:"by"`
	Of    string `yaml:"of"`    // account, or for dismiss: whose newest block; default bot
	Times int    `yaml:"times"` // default once
	// Refused says that the server may refuse it, and then nothing came of it.
	Refused bool `yaml:"refused"`
}

type attackWords struct {
	By    string `yaml:"by"`
	To    string `yaml:"to"` // the conversation about this
	Say   string `yaml:"say"`
	Times int    `yaml:"times"`
	Long  int    `yaml:"long"` // the text that many times over
	// For rewrite: which review, "newest" or "first"; Say is put in front.
	Which string `yaml:"which"`
}

type attackDescribe struct {
	By    string  `yaml:"by"`
	Title *string `yaml:"title"`
	Body  *string `yaml:"body"`
	Long  int     `yaml:"long"` // the body that many times over
}

// attackLate has the server show the diff, and what it is made of, of another head.
type attackLate struct {
	Shows string `yaml:"shows"` // "h1"
	Times int    `yaml:"times"` // of the diff; 0: for ever
	Ref   bool   `yaml:"ref"`   // refs/pull/N/head names that commit, too, as long
}

type attackFault struct {
	Method string `yaml:"method"`
	Path   string `yaml:"path"` // a part of it
	Times  int    `yaml:"times"`
	Status int    `yaml:"status"`
	Body   string `yaml:"body"`
	Gzip   int    `yaml:"gzip"` // answers so many MiB, compressed
	Cut    bool   `yaml:"cut"`
	Off    bool   `yaml:"off"` // no faults any more
}

type attackStatus struct {
	By      string `yaml:"by"`
	Context string `yaml:"context"`
	State   string `yaml:"state"`
}

// attackExpect is what must be so.
type attackExpect struct {
	// Gate is what the merge endpoint says, which ends a pull request: open, it merges;
	// shut, it doesn't as it is; blocked, no approval by a person helps; waiting, one does.
	Gate string `yaml:"gate"`
	// Counts are the states of the account's verdicts that the forge counts, or "none".
	Counts   string   `yaml:"counts"`
	Reviews  *int     `yaml:"reviews"` // of the account
	Body     []string `yaml:"body"`    // in the role's current review
	NotBody  []string `yaml:"not-body"`
	Said     []string `yaml:"said"`     // in anything that the account published
	NotSaid  []string `yaml:"not-said"` // nor looks like it with invisible characters dropped
	HandOffs *int     `yaml:"hand-offs"`
	Links    bool     `yaml:"links"`      // the newest hand-off links the review that gates
	Replaced bool     `yaml:"superseded"` // a superseded review links the one that came after it
	Role     string   `yaml:"role"`       // for body; default logic
	Resolved []string `yaml:"resolved"`
	Open     []string `yaml:"unresolved"`
	Asked    *int     `yaml:"asked"` // how often models were in all
}

// attackPause is a time to wait, such as 3s.
type attackPause time.Duration

// UnmarshalYAML reads a duration.
func (p *attackPause) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if err := unmarshal(&text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	*p = attackPause(d)
	return err
}

// attackFiles are changes to a tree by path. A path in quotes is one of Go's string
// literals, so that it may have any bytes.
type attackFiles map[string]attackFile

// attackFile is what becomes of a path: a text, or one of the other fields.
type attackFile struct {
	Text      string `yaml:"text"`
	Base64    string `yaml:"base64"`
	Lines     int    `yaml:"lines"`  // the text that many times, with a number for each %d
	UTF16     bool   `yaml:"utf16"`  // how the text is stored
	Latin1    bool   `yaml:"latin1"` // how the text is stored
	Bytes     string `yaml:"bytes"`  // a Go string literal without the quotes
	Mode      string `yaml:"mode"`   // 755
	Link      string `yaml:"link"`   // where it points to
	Submodule string `yaml:"submodule"`
	Rename    string `yaml:"rename"` // from there
	Delete    bool   `yaml:"delete"`
	Copies    int    `yaml:"copies"` // files of that content; a %d in the path is the number
}

// UnmarshalYAML reads a text or the fields.
func (f *attackFile) UnmarshalYAML(unmarshal func(any) error) error {
	if unmarshal(&f.Text) == nil {
		return nil
	}
	type fields attackFile
	return unmarshal((*fields)(f))
}

// path is the name of a file with its bytes.
func attackPath(name string) (string, error) {
	if strings.HasPrefix(name, `"`) {
		return strconv.Unquote(name)
	}
	return name, nil
}

// content is the file's bytes.
func (f attackFile) content() ([]byte, error) {
	switch {
	case f.Base64 != "":
		return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(f.Base64), ""))
	case f.Bytes != "":
		text, err := strconv.Unquote(`"` + f.Bytes + `"`)
		return []byte(text), err
	case f.Link != "":
		return []byte(f.Link), nil
	}
	text := f.Text
	if f.Lines > 0 {
		var b strings.Builder
		for i := range f.Lines {
			b.WriteString(strings.ReplaceAll(f.Text, "%d", strconv.Itoa(i+1)))
		}
		text = b.String()
	}
	switch {
	case f.UTF16:
		data := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(text)) {
			data = append(data, byte(u), byte(u>>8))
		}
		return data, nil
	case f.Latin1:
		var data []byte
		for _, r := range text {
			if r > 0xff {
				return nil, fmt.Errorf("%q isn't in Latin-1", r)
			}
			data = append(data, byte(r))
		}
		return data, nil
	}
	return []byte(text), nil
}

// fastImport is the files as git fast-import takes them.
func (f attackFiles) fastImport() ([]byte, error) {
	var b bytes.Buffer
	var moved, rest bytes.Buffer
	for name, file := range f {
		path, err := attackPath(name)
		if err != nil {
			return nil, fmt.Errorf("the path %s: %w", name, err)
		}
		switch {
		case file.Delete:
			fmt.Fprintf(&rest, "D %s\n", quotedPath(path))
			continue
		case file.Submodule != "":
			fmt.Fprintf(&rest, "M 160000 %s %s\n", file.Submodule, quotedPath(path))
			continue
		case file.Rename != "":
			from, err := attackPath(file.Rename)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&moved, "R %s %s\n", quotedPath(from), quotedPath(path))
			if file.Text == "" && file.Mode == "" {
				continue
			}
		}
		data, err := file.content()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		mode := "100644"
		switch {
		case file.Link != "":
			mode = "120000"
		case file.Mode != "":
			mode = "100" + file.Mode
		}
		for i := range max(file.Copies, 1) {
			name := strings.ReplaceAll(path, "%d", fmt.Sprintf("%03d", i+1))
			fmt.Fprintf(&rest, "M %s inline %s\ndata %d\n%s\n", mode, quotedPath(name), len(data), data)
		}
	}
	b.Write(moved.Bytes())
	b.Write(rest.Bytes())
	return b.Bytes(), nil
}

// quotedPath is a path in git's quotes.
func quotedPath(path string) string {
	var b strings.Builder
	for i := range len(path) {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}

// attackCases reads the corpus.
func attackCases(t *testing.T) []attackCase {
	t.Helper()
	names, err := filepath.Glob("testdata/attacks/*/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no attacks found: %v", err)
	}
	var all []attackCase
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var c attackCase
		if err := yaml.UnmarshalWithOptions(data, &c, yaml.Strict()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c.name = filepath.Base(filepath.Dir(name)) + "/" + strings.TrimSuffix(filepath.Base(name), ".yaml")
		all = append(all, c)
	}
	return all
}
