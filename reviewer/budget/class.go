package budget

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"review-bot/reviewer/ignore"
)

// Class says how relevant a file is to a review, the most relevant first.
type Class int

// The classes.
const (
	Source    Class = iota // also whatever isn't known to be anything else
	Test                   // and what tests are made of
	Docs                   // documentation, configuration, data
	Generated              // by a program, or vendored, as the name has it: see ignore.Usual
)

// String is for logs.
func (c Class) String() string {
	switch c {
	case Source:
		return "source"
	case Test:
		return "test"
	case Docs:
		return "documentation or configuration"
	case Generated:
		return "generated"
	default:
		return "unknown"
	}
}

// The names are in lower case, as they are compared.
var (
	testFolders = names("test", "tests", "testing", "__tests__", "__mocks__", "__fixtures__", "__snapshots__", "testdata", "testutil",
		"testutils", "spec", "specs", "e2e", "cypress", "fixtures", "androidtest", "integrationtest", "integration-tests", "unittests")
	// testFolderEnds end the names of projects that are tests, in C# and Swift.
	testFolderEnds = []string{".tests", ".test", ".unittests", ".integrationtests", "uitests"}
	testEnds       = names("snap", "golden", "txtar", "bats", "feature", "t")
	testNames      = names("conftest.py", "jest.config.js", "jest.config.ts", "vitest.config.ts", "playwright.config.ts", "phpunit.xml", "tox.ini", "pytest.ini")
	// testWords end a test's name; those below do in some languages.
	testWords  = names("test", "tests", "unittest", "unittests", "testcase", "testcases", "e2e", "mock", "mocks")
	specWords  = names("spec", "specs", "cy")
	specEnds   = names("js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte", "coffee", "rb", "lua", "hs", "scala", "groovy", "kt", "php", "swift", "dart", "cr")
	suiteWords = names("it", "suite", "itcase")
	suiteEnds  = names("java", "kt", "scala", "groovy", "erl")

	prose   = names("md", "mdx", "markdown", "rst", "adoc", "asciidoc", "org", "tex", "pod", "rtf")
	docEnds = names("txt", "json", "jsonc", "json5", "jsonl", "yaml", "yml", "toml", "ini", "cfg", "conf", "config", "properties", "plist", "xml",
		"editorconfig", "gitignore", "gitattributes", "gitmodules", "dockerignore", "npmrc", "nvmrc", "env", "example", "csv", "tsv", "po", "pot", "xlf", "xliff",
		"strings", "resx", "arb", "svg", "png", "jpg", "jpeg", "gif", "ico", "webp", "pdf", "woff", "woff2", "ttf", "lock", "mod", "work", "sum",
		"csproj", "vcxproj", "fsproj", "sln", "pbxproj", "1", "5", "8")
	docNames = names("license", "licence", "copying", "readme", "changelog", "changes", "news", "notice", "authors", "contributors",
		"contributing", "codeowners", "maintainers", "security", "todo", "version")
	docFolders = names("doc", "docs", "documentation", "man", ".vscode", ".idea")
	// sourceNames and sourceFolders look like configuration, but run: in builds, with their secrets.
	sourceNames   = names("cmakelists.txt", "meson_options.txt", "docker-compose.yml", "docker-compose.yaml", "action.yml", "action.yaml", ".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", ".drone.yml", ".pre-commit-config.yaml", ".goreleaser.yaml", ".goreleaser.yml", ".envrc")
	sourceFolders = names("workflows", ".circleci", ".woodpecker", ".buildkite")
)

func names(all ...string) map[string]bool {
	m := make(map[string]bool, len(all))
	for _, name := range all {
		m[name] = true
	}
	return m
}

// ClassOf guesses a file's class by its path, as it is common in the file's language: a
// name like foo_test.go, test_foo.py, FooTest.java or foo.spec.ts, or a folder like
// __tests__ or src/test. Prose is documentation wherever it is, and so are data and
// configuration, but for what continuous integration runs.
func ClassOf(name string) Class {
	if ignore.Usual(name) != "" {
		return Generated
	}
	base := path.Base(name)
	lower := strings.ToLower(base)
	end := strings.TrimPrefix(path.Ext(lower), ".")
	var folders []string
	if dir := path.Dir(strings.ToLower(name)); dir != "." {
		folders = strings.Split(dir, "/")
	}
	switch {
	case prose[end]:
		return Docs
	case slices.ContainsFunc(folders, testFolder), testEnds[end], testNames[lower], testName(base, end):
		return Test
	case sourceNames[lower], slices.ContainsFunc(folders, func(f string) bool { return sourceFolders[f] }):
		return Source
	case docEnds[end], end == "" && docNames[strings.Split(lower, "-")[0]], len(folders) > 0 && docFolders[folders[0]]:
		return Docs
	default:
		return Source
	}
}

func testFolder(folder string) bool {
	return testFolders[folder] || slices.ContainsFunc(testFolderEnds, func(end string) bool { return strings.HasSuffix(folder, end) })
}

// testName goes by the first and the last word of a name, its end aside.
func testName(base, end string) bool {
	if docEnds[end] || end == "" {
		return false
	}
	stem := base[:len(base)-len(end)-1]
	if end == "go" { // there the compiler decides
		return strings.HasSuffix(stem, "_test")
	}
	all := split(stem)
	if len(all) == 0 {
		return false
	}
	first, last := all[0], all[len(all)-1]
	if first == "test" || first == "tests" {
		return true
	}
	return len(all) > 1 && (first == "mock" || testWords[last] || specWords[last] && specEnds[end] || suiteWords[last] && suiteEnds[end])
}

// split is a name's words in lower case: foo_bar, foo-bar, foo.bar and FooBar have two, HTMLTest as well.
func split(stem string) (words []string) {
	runes := []rune(stem)
	from := 0
	end := func(to int) {
		if to > from {
			words = append(words, strings.ToLower(string(runes[from:to])))
		}
		from = to
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end(i)
			from = i + 1
		case i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end(i)
		}
	}
	end(len(runes))
	return words
}
