package ignore

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func mustNew(t *testing.T, globs []string, attributes string) Rules {
	t.Helper()
	r, err := New(globs, []byte(attributes))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDefaults(t *testing.T) {
	for why, paths := range map[string][]string{
		"vendored": {
			"vendor/a.go", "a/vendor/b/c.go", "web/node_modules/x/index.js", "third_party/x.c", "Godeps/_workspace/x.go",
			"ios/Pods/x.m", "Carthage/Checkouts/x.swift", ".yarn/releases/yarn-4.cjs", ".pnp.cjs", "gradlew",
			"vendor/x/go.sum", "vendor/x.min.js", // the folder says more than the name
		},
		"lock file": {
			"go.sum", "a/go.sum", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "Cargo.lock", "poetry.lock", "composer.lock",
			"Gemfile.lock", "uv.lock", "flake.lock", "Pipfile.lock", ".terraform.lock.hcl", "bun.lockb", "mix.lock", "Package.resolved",
		},
		"minified":   {"a.min.js", "web/a.min.css", "jquery-3.1.min.js", "a-min.js"},
		"source map": {"a.js.map", "dist/a.css.map", "a.d.ts.map"},
		"generated": {
			"a.pb.go", "x/a_generated.go", "zz_generated.deepcopy.go", "Form1.Designer.cs", "a_pb2.py", "schema_generated.rs",
			"api.generated.ts", "a.g.dart", "src/__generated__/q.ts", "wire_gen.go",
		},
		"": {
			"a.go", "vendor.go", "vendoring/a.go", "a/vendor", "go.mod", "package.json", "x.snap", "__snapshots__/x.snap", "lock.go",
			".min.js", "admin.js", "map.js", "a.map", "pb.go", "generated.go", "id_gen.go", "poetry.lock.md", "deps/a.c", "dist/a.js", "",
			"mygo.sum", "Cartfile", "releases/x.cjs", "designer.cs", "a/b.mocks/x.go",
		},
	} {
		for _, path := range paths {
			if got := (Rules{}).Why(path); got != why {
				t.Errorf("%s: %q, want %q", path, got, why)
			}
		}
	}
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		globs    string // separated by blanks
		ignored  string // paths, too
		reviewed string
	}{
		{"*.svg", "a.svg x/y/a.svg .svg dir.svg/a.go", "a.svgz svg"},
		{"build/", "build/a x/build/a x/build/y/z", "build x/build builds/a"},
		{"/build/", "build/a build/x/y", "x/build/a build"},
		{"build", "build build/a x/build x/build/a/b", "builds abuild"},
		{"/build", "build build/a", "x/build"},
		{"docs/*.md", "docs/a.md docs/a.md/b", "docs/x/a.md x/docs/a.md"},
		{"docs/**/*.md", "docs/a.md docs/x/a.md docs/x/y/a.md", "x/docs/a.md docs/a.txt"},
		{"docs/**", "docs/a docs/x/y", "docs x/docs/a"},
		{"**/docs/**", "docs/a x/docs/a", "docs x/docs"},
		{"**/docs", "docs docs/a x/docs", "docsx"},
		{"docs/api/", "docs/api/x", "x/docs/api/x docs/api"},
		{"**", "a x/y", ""},
		{"*", "a x/y", ""},
		{"*.go !main.go", "a.go x/b.go", "main.go x/main.go"},
		{"!main.go *.go", "a.go main.go", "a.c"},
		{"*.go !/cmd/ /cmd/x/", "a.go x/cmd/a.go cmd/x/a.go", "cmd/a.go cmd/y/a.go"},
		{"!vendor/ours/", "vendor/a.go x/vendor/ours/a.go", "vendor/ours/a.go"},
		{"!go.sum", "yarn.lock", "go.sum x/go.sum vendor/go.sum"},
		{"!*", "", "go.sum vendor/a.go a.min.js"},
		{`\!a \#b`, "!a #b", "a b"},
		{"#b", "#b x/#b", "b"}, // a glob, not a comment
		{"a?c", "abc", "a/c ac abbc"},
		{"[a-c]x [!a-c]y [^a]z", "ax cx dy bz", "dx ay az x/z"},
		{"a[!b]c a[+-9]d a[^/]e", "axc a5d a.d aye", "a/c a/d a/e"},
		{"[]x]a []]b [[:digit:]]c [[:x]d", "]a xa ]b 7c [d :d xd", "a xb xc"},
		{`\[a] a\*`, "[a] a*", "a ab"},
		{"*.{png,jpg} img/{a,b}/", "x.png y/x.jpg img/a/x img/b/y/z", "x.gif img/c/x x.{png,jpg}"},
		{`\{a\} \{`, "{a} {", "a"},
		{"{go,{cargo,x}}.toml", "go.toml cargo.toml x.toml", "y.toml"},
		{"a**b", "ab axxb", "a/b a/x/b"},
		{"ä*.txt [äö]x ?y", "ä1.txt öx üy", "a.txt ax"},
	} {
		var globs []string
		for g := range strings.FieldsSeq(c.globs) {
			globs = append(globs, g)
		}
		r := mustNew(t, globs, "")
		for path := range strings.FieldsSeq(c.ignored) {
			if r.Why(path) == "" {
				t.Errorf("%s: %s is reviewed", c.globs, path)
			}
		}
		for path := range strings.FieldsSeq(c.reviewed) {
			if why := r.Why(path); why != "" {
				t.Errorf("%s: %s isn't reviewed: %s", c.globs, path, why)
			}
		}
	}
}

func TestGlobWithBlanks(t *testing.T) {
	r := mustNew(t, []string{"", "  ", " my docs/ ", "\ta b.svg\n"}, "")
	for path, want := range map[string]string{
		"x/my docs/a": "ignored (--ignore my docs/)", "a b.svg": "ignored (--ignore a b.svg)", "b.svg": "", "a": "",
	} {
		if got := r.Why(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestGlobErrors(t *testing.T) {
	for glob, want := range map[string]string{
		"src/[ab":                       "--ignore src/[ab: a [ without its ]; for the character itself write \\[",
		"[]":                            "--ignore []: a [ without its ]",
		"[a-":                           "--ignore [a-: a [ without its ]",
		`[a\`:                           `--ignore [a\: a [ without its ]`,
		"[[:nope:]]":                    "--ignore [[:nope:]]: there is no class [:nope:]",
		"*.{png,jpg":                    "--ignore *.{png,jpg: a { without its }",
		"*.png}":                        "--ignore *.png}: a } without its {",
		`a\`:                            `--ignore a\: it ends in \`,
		`a\/`:                           `--ignore a\/: it ends in \`,
		"!":                             "--ignore !: it names nothing",
		"/":                             "--ignore /: it names nothing",
		"!/":                            "--ignore !/: it names nothing",
		strings.Repeat("{a,b}", 9):      "its braces stand for more than 256 globs",
		strings.Repeat("x", maxGlob+1):  "it is longer than 1024 bytes",
		strings.Repeat("{a,b,c,d,", 99): "a { without its }",
	} {
		_, err := New([]string{"*.svg", glob}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", glob, err, want)
		}
	}
}

func TestAttributes(t *testing.T) {
	for _, c := range []struct{ attributes, path, want string }{
		{"*.go linguist-generated", "x/a.go", "generated (.gitattributes)"},
		{"*.go linguist-generated=true", "a.go", "generated (.gitattributes)"},
		{"*.go linguist-vendored", "a.go", "vendored (.gitattributes)"},
		{"*.go linguist-vendored linguist-generated", "a.go", "vendored (.gitattributes)"},
		{"*.go -linguist-generated", "a.go", ""},
		{"*.pb.go -linguist-generated", "a.pb.go", ""},
		{"*.pb.go linguist-generated=false", "a.pb.go", ""},
		{"*.pb.go !linguist-generated", "a.pb.go", "generated"},
		{"*.pb.go linguist-generated", "a.pb.go", "generated"},
		{"go.sum -linguist-generated", "x/go.sum", ""},
		{"a.min.js -linguist-generated", "a.min.js", ""},
		{"vendor/** -linguist-vendored", "vendor/a.go", ""},
		{"vendor/** -linguist-vendored", "vendor/go.sum", "lock file"},
		{"vendor/** -linguist-generated", "vendor/go.sum", "vendored"},
		{"vendor/ -linguist-vendored", "vendor/a.go", "vendored"}, // of the folder, as in git
		{"*.bin binary", "a.bin", ""},
		{"*.md linguist-documentation", "a.md", ""},
		{"*.go linguist-generated\na.go -linguist-generated", "a.go", ""},
		{"a.go -linguist-generated\n*.go linguist-generated", "a.go", "generated (.gitattributes)"},
		{"[attr]gen linguist-generated\n*.go gen", "a.go", "generated (.gitattributes)"},
	} {
		if got := mustNew(t, nil, c.attributes).Why(c.path); got != c.want {
			t.Errorf("%q: %s: %q, want %q", c.attributes, c.path, got, c.want)
		}
	}
}

// The operator has the last word.
func TestOrder(t *testing.T) {
	r := mustNew(t, []string{"*.sql", "!gen/keep/", "x.go"}, "gen/** linguist-generated\n*.sql -linguist-generated\nx.go -linguist-generated\n")
	for path, want := range map[string]string{
		"gen/a.go":      "generated (.gitattributes)",
		"gen/keep/a.go": "",
		"gen/keep/x.go": "ignored (--ignore x.go)",
		"a.sql":         "ignored (--ignore *.sql)",
	} {
		if got := r.Why(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func within(t *testing.T, bound time.Duration, what string, work func()) {
	t.Helper()
	start := time.Now()
	work()
	if took := time.Since(start); took > bound {
		t.Errorf("%s took %v, bound %v", what, took, bound)
	}
}

// The bounds are for a busy machine; each takes a fraction of a second.
func TestSpeed(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "dir%d/**/*.x linguist-generated\n*.y%d text\n", i, i)
	}
	var globs []string
	for i := range 50 {
		globs = append(globs, fmt.Sprintf("some/**/dir%d/*.{a,b,c}", i))
	}
	within(t, 5*time.Second, "3000 files", func() {
		r := mustNew(t, globs, b.String())
		for i := range 3000 {
			if why := r.Why(fmt.Sprintf("some/long/path/to/dir%d/file%d.go", i/10, i)); why != "" {
				t.Fatal(why)
			}
		}
	})
	long := strings.Repeat("a", 4000)
	deep := strings.Repeat("a/", 2000)
	for _, glob := range []string{
		strings.Repeat("*a", 500) + "b", strings.Repeat("**/a/", 200) + "b", strings.Repeat("**/", 300) + "b", strings.Repeat("{*,*}", 8) + "b",
		strings.Repeat("{a*,a*}", 8) + "b", strings.Repeat("{*a}", 200) + "b", strings.Repeat("{,}", 8) + "b", strings.Repeat("[!b]*", 200) + "b",
		strings.Repeat("{", 500) + strings.Repeat("}", 500),
	} {
		r := mustNew(t, []string{glob}, "")
		for _, path := range []string{long, deep, long + "/" + deep} {
			within(t, 5*time.Second, glob[:20], func() { r.Why(path) })
		}
	}
	var macros strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&macros, "[attr]m%d m%d m%d\n", i, i+1, i/2)
	}
	macros.WriteString("[attr]m50000 linguist-generated\n* m0\n")
	within(t, 5*time.Second, "macros", func() {
		if why := mustNew(t, nil, macros.String()).Why("a"); why != "generated (.gitattributes)" {
			t.Error(why)
		}
	})
}
