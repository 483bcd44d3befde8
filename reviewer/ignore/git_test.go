package ignore

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// git runs git apart from the machine's and the user's configuration.
func git(t interface{ Fatal(...any) }, dir, stdin string, args ...string) []string {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C", "GIT_ATTR_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null",
	}
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !(args[0] == "check-ignore" && errors.As(err, &exit) && exit.ExitCode() == 1) { // 1: none is ignored
		t.Fatal("git ", args, ": ", err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func repository(t *testing.T) string {
	dir := t.TempDir()
	git(t, dir, "", "init", "-q")
	git(t, dir, "", "config", "core.ignoreCase", "false")
	return dir
}

func write(t interface{ Fatal(...any) }, dir, name, text string) {
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// checkAttr asks git what a .gitattributes file says of paths: for each path the two
// attributes' values, as git prints them.
func checkAttr(t interface{ Fatal(...any) }, dir, attributes string, paths []string) [][2]string {
	write(t, dir, ".gitattributes", attributes)
	words := git(t, dir, strings.Join(paths, "\x00")+"\x00", "check-attr", "-z", "--stdin", vendoredName, generatedName)
	if len(words) != 6*len(paths) {
		t.Fatal("git check-attr printed ", len(words), " words for ", len(paths), " paths")
	}
	var all [][2]string
	for ; len(words) > 0; words = words[6:] {
		all = append(all, [2]string{words[2], words[5]})
	}
	return all
}

// saidByGit is what a value that git prints means.
func saidByGit(value string) said {
	switch value {
	case "unspecified":
		return nothing
	case "unset", "false":
		return no
	default:
		return yes
	}
}

// compare checks readAttributes against git, and counts the answers.
func compare(t interface {
	Fatal(...any)
	Errorf(string, ...any)
}, dir, attributes string, paths []string, seen map[said]int) {
	a := readAttributes([]byte(attributes))
	for i, values := range checkAttr(t, dir, attributes, paths) {
		v, g := a.of(paths[i])
		if v != saidByGit(values[0]) || g != saidByGit(values[1]) {
			t.Errorf("%q\n%q: vendored %d, generated %d; git: %q", attributes, paths[i], v, g, values)
		}
		seen[v]++
		seen[g]++
	}
}

// The forms that .gitattributes has, one by one.
func TestAttributesAsGit(t *testing.T) {
	dir := repository(t)
	seen := map[said]int{}
	paths := []string{
		"a.go", "x/a.go", "x/y/a.go", "a b.go", "!a.go", "#a.go", "a.txt", "gen/a.go", "x/gen/a.go", "gen", "x/gen", "{a,b}.go", `a"b`, "a\\b",
		"[attr]gen", ".gitattributes", "ä.go", "a\tb", "-a", "]a", "7c", "a/c", "abc", "vendor/x/y.go", "a}", "\x01\x7f",
	}
	for _, attributes := range []string{
		"", "\n\n", "# *.go linguist-generated\n", "  # a", "*.go", "*.go linguist-generated", "\ufeff*.go linguist-generated",
		"*.go linguist-generated\r\na.go -linguist-generated\r\n", " \t*.go\t linguist-generated", "*.go linguist-generated \t",
		"*.go linguist-generated=true", "*.go linguist-generated=false", "*.go linguist-generated=", "*.go linguist-generated=1", "*.go linguist-generated=a=b",
		"*.go -linguist-generated", "*.go !linguist-generated", "*.go -linguist-generated=true", "*.go !linguist-generated=x",
		"*.go linguist-generated -linguist-generated", "*.go -linguist-generated linguist-generated", "*.go linguist-generated !linguist-generated",
		"*.go linguist-generated\n*.go !linguist-generated", "*.go linguist-generated\na.go text",
		"*.go linguist-generated bad$name", "*.go bad$name linguist-generated", "*.go --linguist-generated", "*.go linguist-generated -", "*.go =x linguist-generated",
		"*.go\x00 linguist-generated", "*.go linguist-generated\x00 -linguist-generated",
		"!a.go linguist-generated", `\!a.go linguist-generated`, `"!a.go" linguist-generated`, `\#a.go linguist-generated`, `"#a.go" linguist-generated`,
		`"a b.go" linguist-generated`, `"a b.go"linguist-generated`, `"a\040b.go" linguist-generated`, `"a\tb" linguist-generated`, `"a\"b" linguist-generated`,
		`"a\\\\b" linguist-generated`, `"a\\b" linguist-generated`, `a\\b linguist-generated`, `"a.go linguist-generated`, `"a\qb" linguist-generated`, `"a\40" linguist-generated`, `"a\x" linguist-generated`,
		`"" linguist-generated`, `"\303\244.go" linguist-generated`, `"ä.go" linguist-generated`, `"\001*" linguist-generated`, `"\777" linguist-generated`, `"a\`, `"`,
		"gen linguist-generated", "gen/ linguist-generated", "gen/* linguist-generated", "gen/** linguist-generated", "**/gen/** linguist-generated", "***/gen/**** linguist-generated", "*** linguist-generated", "/gen/a.go linguist-generated",
		"/a.go linguist-generated", "x/** linguist-generated", "x/**/a.go linguist-generated", "**/a.go linguist-generated", "** linguist-generated", "* linguist-generated",
		"/** linguist-generated", "/* linguist-generated", "/ linguist-generated", "// linguist-generated", "x/a.* linguist-generated", "x** linguist-generated", "x**go linguist-generated",
		"x/**a.go linguist-generated", "**/** linguist-generated", "**/*.go linguist-generated", "gen/**/ linguist-generated", "x/**/**/a.go linguist-generated",
		"{a,b}.go linguist-generated", "*.{go,txt} linguist-generated", "a} linguist-generated", "[{]a linguist-generated",
		"[a-c].go linguist-generated", "[!a-c]* linguist-generated", "[^a]* linguist-generated", "[]a linguist-generated", "[]]a linguist-generated", "[!]]a* linguist-generated", "[a linguist-generated",
		"[[:digit:]]c linguist-generated", "[[:alpha:][:digit:]]* linguist-generated", "[![:alpha:]]* linguist-generated", "[[:nope:]]* linguist-generated", "[[:digit]a linguist-generated", "[a-[:digit:]]* linguist-generated",
		"a[!b]c linguist-generated", "a[+-9]c linguist-generated", "a[/]c linguist-generated", "a?c linguist-generated", "x/a[!b]go linguist-generated", `[\a-\c]* linguist-generated`, `[a\-c]* linguist-generated`, "[-a]* linguist-generated", "[a-]* linguist-generated", "[c-a]* linguist-generated",
		`a\ linguist-generated`, `*.go\ linguist-generated`, `\a.go linguist-generated`,
		"[attr]gen linguist-generated\n*.go gen", "[attr]gen linguist-generated\n*.go -gen", "[attr]gen linguist-generated\n*.go gen=true", "[attr]gen linguist-generated\n*.go gen -linguist-generated",
		"*.go gen\n[attr]gen linguist-generated", "[attr]gen linguist-generated\n[attr]gen -linguist-generated\n*.go gen", "[attr]gen linguist-generated\n[attr]all gen linguist-vendored\n*.go all\na.go -linguist-vendored",
		"[attr]a b\n[attr]b a linguist-generated\n*.go a", "[attr]gen linguist-generated\n*.go gen\na.go -gen", "[attr]gen linguist-generated\na.go gen\n*.go !gen", "[attr]linguist-generated linguist-vendored\n*.go linguist-generated",
		"[attr] gen linguist-generated\n*.go gen", "[attr]gen\n*.go gen", "[attr]-gen linguist-generated\n*.go gen", `"[attr]gen x" linguist-generated` + "\n*.go gen", `"[attr] gen" linguist-generated` + "\n*.go gen", "[attr]gen bad$ linguist-generated\n*.go gen", "[attr]!gen linguist-generated",
		"[attr]binary linguist-generated\n*.go binary", "*.go binary", "[attr]a linguist-generated !b\n[attr]b linguist-vendored\n*.go b a",
		"*.go " + strings.Repeat("x", 2000) + " linguist-generated", "*.go " + strings.Repeat("x", 2022) + " linguist-generated", "*.go " + strings.Repeat("x", 2023) + " linguist-generated", "*.go " + strings.Repeat("x", 2024) + " linguist-generated",
	} {
		compare(t, dir, attributes, paths, seen)
	}
	if seen[yes] == 0 || seen[no] == 0 || seen[nothing] == 0 {
		t.Errorf("saw %v", seen)
	}
}

// midStars is where git contradicts its documentation: it takes the letters before off the
// pattern, and then ** stands at the beginning.
var midStars = regexp.MustCompile(`([^/*])\*\*+`)

var genBit = rapid.SampledFrom([]string{"a", "b", "c", "ab", "*", "*", "**", "?", "/", "/", "/**/", "[ab]", "[!a]", "[^b-c]", "[]a]", "[", "]", "{", "}", ",", `\*`, `\`, `\a`, "-", "!", "#", `"`, "[[:lower:]]", "[a-", "[+-b]"})

var genGlob = rapid.Custom(func(t *rapid.T) string {
	return midStars.ReplaceAllString(strings.Join(rapid.SliceOfN(genBit, 1, 5).Draw(t, "bits"), ""), "$1*")
})

var genPath = rapid.OneOf(
	rapid.StringMatching(`[ab]{1,2}(/[ab]){0,3}`),
	rapid.StringMatching(`[ab]/[abc]{1,2}`),
	rapid.StringMatching(`[abc*\[\]\\{},#!-]{1,3}(/[abc]{1,2}){0,2}`),
)

// And all of them mixed.
func TestAttributesAsGitProperty(t *testing.T) {
	dir := repository(t)
	seen := map[said]int{}
	glob := rapid.Custom(func(t *rapid.T) string {
		g := genGlob.Draw(t, "glob")
		if rapid.IntRange(0, 7).Draw(t, "quote") == 0 {
			return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(g) + `"`
		}
		return g
	})
	word := rapid.SampledFrom([]string{generatedName, generatedName, "-" + generatedName, "!" + generatedName, generatedName + "=false", vendoredName, "-" + vendoredName, "m", "-m", "n", "!n", "text", "m=x", "bad$"})
	line := rapid.Custom(func(t *rapid.T) string {
		start := glob.Draw(t, "glob")
		if rapid.IntRange(0, 4).Draw(t, "macro") == 0 {
			start = "[attr]" + rapid.SampledFrom([]string{"m", "n", generatedName}).Draw(t, "name")
		}
		return start + " " + strings.Join(rapid.SliceOfN(word, 0, 3).Draw(t, "words"), " ")
	})
	rapid.Check(t, func(t *rapid.T) {
		attributes := strings.Join(rapid.SliceOfN(line, 1, 6).Draw(t, "lines"), "\n")
		compare(t, dir, attributes, rapid.SliceOfN(genPath, 20, 40).Draw(t, "paths"), seen)
	})
	if seen[yes] == 0 || seen[no] == 0 || seen[nothing] == 0 {
		t.Errorf("saw %v", seen)
	}
	t.Logf("saw %v", seen)
}

// Globs without braces and without ! are lines of .gitignore.
func TestGlobsAsGitProperty(t *testing.T) {
	dir := repository(t)
	ignored := 0
	rapid.Check(t, func(t *rapid.T) {
		text := genGlob.Filter(func(g string) bool { return g[0] != '!' && g[0] != '#' && !strings.ContainsAny(g, "{}") }).Draw(t, "glob")
		g, err := newGlob(text)
		if err != nil && (strings.Contains(text, "[") || strings.HasSuffix(strings.TrimSuffix(text, "/"), `\`) || strings.Trim(text, "/") == "") {
			t.Skip(err) // git passes over it
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, ".gitignore", text+"\n")
		paths := rapid.SliceOfN(genPath, 20, 40).Draw(t, "paths")
		byGit := map[string]bool{}
		for _, path := range git(t, dir, strings.Join(paths, "\x00")+"\x00", "check-ignore", "--no-index", "-z", "--stdin") {
			byGit[path] = true
		}
		for _, path := range paths {
			if got := g.pattern.match(path); got != byGit[path] {
				t.Errorf("%q ignores %q: %t, git: %t", text, path, got, byGit[path])
			}
			if byGit[path] {
				ignored++
			}
		}
	})
	if ignored == 0 {
		t.Error("nothing was ignored")
	}
}
