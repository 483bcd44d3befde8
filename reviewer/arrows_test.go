package reviewer_test

import (
	"cmp"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "review-bot"

// A row is what one package may import besides the standard library: packages of
// this module by folder, and libraries by module path. Nothing stands for
// "everything", so that a new import is always a decision.
type row struct {
	pure  bool     // nothing of the machine either, see [impure]
	ours  []string // packages of this module
	libs  []string // libraries
	tests []string // more libraries for the package's own tests
}

const (
	sdk        = "code.gitea.io/sdk/gitea"
	anchored   = "github.com/rogpeppe/go-internal/diff"
	conc       = "github.com/sourcegraph/conc"
	globs      = "github.com/bmatcuk/doublestar/v4"
	flock      = "github.com/gofrs/flock"
	gitdiff    = "github.com/bluekeyes/go-gitdiff"
	goOpenAI   = "github.com/sashabaranov/go-openai"
	goldmark   = "github.com/yuin/goldmark"
	jsonschema = "github.com/santhosh-tekuri/jsonschema/v6"
	kong       = "github.com/alecthomas/kong"
	retryHTTP  = "github.com/hashicorp/go-retryablehttp"
	tiktoken   = "github.com/tiktoken-go/tokenizer"
	yaml       = "github.com/goccy/go-yaml"
)

// arrows has a row for every package that there is, and no other.
var arrows = map[string]row{
	"sentinel":   {pure: true},
	"prompts":    {pure: true},
	"escalation": {pure: true, ours: []string{"sentinel"}},

	"reviewer/diff":      {pure: true, libs: []string{gitdiff, anchored}},
	"reviewer/change":    {pure: true, ours: []string{"reviewer/diff"}},
	"reviewer/untrusted": {pure: true, tests: []string{goldmark}},
	"reviewer/finding":   {pure: true, ours: []string{"sentinel", "prompts", "reviewer/diff", "reviewer/untrusted"}},
	"reviewer/ignore":    {pure: true, libs: []string{globs}},
	"reviewer/shown":     {pure: true, ours: []string{"reviewer/diff", "reviewer/ignore", "reviewer/untrusted"}},
	"reviewer/budget":    {pure: true, ours: []string{"reviewer/diff", "reviewer/ignore"}, libs: []string{tiktoken}},
	"reviewer/config":    {pure: true, ours: []string{"sentinel", "prompts", "reviewer/ignore"}, libs: []string{yaml}},
	"reviewer/thread":    {pure: true, ours: []string{"sentinel", "reviewer/diff", "reviewer/untrusted", "reviewer/finding"}, libs: []string{jsonschema}},
	"reviewer": {
		ours: []string{
			"sentinel", "prompts", "escalation", "reviewer/diff", "reviewer/untrusted", "reviewer/finding", "reviewer/budget", "reviewer/ignore",
			"reviewer/change", "reviewer/shown", "reviewer/thread",
		},
		libs: []string{conc},
	},

	// sentinel and escalation: reviewer's interfaces speak their types.
	"reviewer/gitea": {
		ours: []string{"sentinel", "escalation", "reviewer", "reviewer/change", "reviewer/diff", "reviewer/untrusted"},
		libs: []string{sdk, conc, retryHTTP},
	},
	"reviewer/forgetest":       {ours: []string{"sentinel", "escalation", "reviewer", "reviewer/change", "reviewer/diff"}},
	"reviewer/gitea/giteatest": {libs: []string{sdk, flock}},
	"reviewer/openai": {
		ours: []string{"prompts", "reviewer", "reviewer/untrusted"},
		libs: []string{goOpenAI, retryHTTP},
	},
	"reviewer/openai/modeltest": {tests: []string{goOpenAI}},

	// The commands may import everything of the module; only the demo starts a
	// real server outside of tests.
	"cmd/review-bot": {
		ours: []string{
			"sentinel", "prompts", "escalation", "reviewer", "reviewer/diff", "reviewer/untrusted", "reviewer/finding",
			"reviewer/config", "reviewer/gitea", "reviewer/openai", "reviewer/thread",
		},
		libs:  []string{kong, conc},
		tests: []string{jsonschema, yaml},
	},
	"cmd/demo": {
		ours: []string{
			"sentinel", "prompts", "escalation", "reviewer", "reviewer/diff", "reviewer/untrusted", "reviewer/finding",
			"reviewer/gitea", "reviewer/gitea/giteatest", "reviewer/openai", "reviewer/openai/modeltest",
		},
		libs: []string{kong, conc},
	},
	"cmd/e2e": {}, // tests only
}

// testLibs are what every test may import, besides what its package may and every
// package of this module.
var testLibs = []string{
	"github.com/google/go-cmp",
	"github.com/rogpeppe/go-internal",
	"pgregory.net/rapid",
}

// impure are the packages of the standard library that a pure package doesn't
// import, with all below them, other than those in notImpure. That it doesn't ask
// for the time is the linter's to say: forbidigo in .golangci.yml.
var (
	impure    = []string{"crypto/rand", "log", "math/rand", "net", "os", "plugin", "runtime", "syscall", "testing", "unsafe"}
	notImpure = []string{"net/mail", "net/netip", "net/url"}
)

func TestArrows(t *testing.T) {
	imports, err := moduleImports("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range arrowProblems(arrows, imports) {
		t.Error(problem)
	}
}

// TestArrowsFail shows that a forbidden import of each kind is one.
func TestArrowsFail(t *testing.T) {
	table := map[string]row{
		"pure":  {pure: true, libs: []string{"example.org/lib"}},
		"upper": {ours: []string{"pure"}, tests: []string{"example.org/testlib"}},
	}
	// An import that is used makes both rows exist.
	good := []imported{
		{"pure/a.go", "strings"}, {"pure/a.go", "net/url"}, {"pure/a.go", "example.org/lib/sub"},
		{"upper/a.go", "review-bot/pure"}, {"upper/a.go", "os"},
		{"pure/a_test.go", "review-bot/upper"}, {"pure/a_test.go", "os"}, {"pure/a_test.go", "pgregory.net/rapid"},
		{"upper/a_test.go", "example.org/testlib"},
	}
	if problems := arrowProblems(table, good); len(problems) > 0 {
		t.Errorf("allowed imports fail: %q", problems)
	}
	for name, bad := range map[string]imported{
		"package upwards":           {"pure/a.go", "review-bot/upper"},
		"library":                   {"upper/a.go", "example.org/lib"},
		"library of the same start": {"pure/a.go", "example.org/library"},
		"test library":              {"upper/a.go", "pgregory.net/rapid"},
		"own test library":          {"upper/a.go", "example.org/testlib"},
		"library in a test":         {"upper/a_test.go", "example.org/lib"},
		"machine":                   {"pure/a.go", "net/http"},
		"package without a row":     {"other/a.go", "strings"},
		"package below a row":       {"pure/below/a.go", "strings"},
		"cgo":                       {"upper/a.go", "C"},
	} {
		if problems := arrowProblems(table, append(slices.Clone(good), bad)); len(problems) != 1 {
			t.Errorf("%s: %s imports %s: problems %q, want one", name, bad.file, bad.path, problems)
		}
	}
	if problems := arrowProblems(table, good[:3]); len(problems) != 1 {
		t.Errorf("row without a package: problems %q, want one", problems)
	}
}

// An imported is one import, or with an empty path a file that imports nothing.
type imported struct {
	file string // from the root of the repository
	path string
}

// moduleImports reads the imports of all Go files of the module at root, for
// whatever system they are. It reads them itself instead of asking `go list`, so
// that go test sees which files the result hangs on and doesn't cache it too long.
func moduleImports(root string) ([]imported, error) {
	var found []imported
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name == root {
				return nil
			}
			// What `./...` leaves out, too.
			base := entry.Name()
			_, notModule := os.Stat(filepath.Join(name, "go.mod"))
			if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || notModule == nil {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		found = append(found, imported{file: rel})
		for _, spec := range file.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("%s: import %s: %w", rel, spec.Path.Value, err)
			}
			found = append(found, imported{file: rel, path: target})
		}
		return nil
	})
	return found, err
}

// arrowProblems returns what of imports the table doesn't allow, and which rows
// are for packages that don't exist.
func arrowProblems(table map[string]row, imports []imported) []string {
	var problems []string
	exists := map[string]bool{}
	for _, i := range imports {
		pkg := path.Dir(i.file)
		r, known := table[pkg]
		if !known {
			if !exists[pkg] {
				problems = append(problems, fmt.Sprintf("package %s has no row in the table of arrows", pkg))
			}
			exists[pkg] = true
			continue
		}
		exists[pkg] = true
		if i.path != "" && !r.allows(i.path, strings.HasSuffix(i.file, "_test.go")) {
			problems = append(problems, fmt.Sprintf("%s imports %s, which the table of arrows doesn't allow to %s", i.file, i.path, pkg))
		}
	}
	for _, pkg := range slices.SortedFunc(maps.Keys(table), cmp.Compare) {
		if !exists[pkg] {
			problems = append(problems, fmt.Sprintf("the table of arrows has a row for %s, which doesn't exist", pkg))
		}
	}
	return problems
}

func (r row) allows(target string, inTest bool) bool {
	first, _, _ := strings.Cut(target, "/")
	switch {
	case first == modulePath:
		return inTest || slices.Contains(r.ours, strings.TrimPrefix(target, modulePath+"/"))
	case strings.Contains(first, "."):
		return under(target, r.libs) || inTest && (under(target, testLibs) || under(target, r.tests))
	case target == "C":
		return false
	default:
		return !r.pure || inTest || !under(target, impure) || under(target, notImpure)
	}
}

// under reports whether target is one of the paths or below one.
func under(target string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		return target == p || strings.HasPrefix(target, p+"/")
	})
}
