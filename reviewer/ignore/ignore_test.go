package ignore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func mustNew(t *testing.T, globs []string, attributes string) Rules {
	t.Helper()
	r, err := New(globs, []byte(attributes))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestUsual(t *testing.T) {
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
			if got := Usual(path); got != why {
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
		{"vendor/ !vendor/ours/", "vendor/a.go x/vendor/ours/a.go", "vendor/ours/a.go"},
		{"*.sum !go.sum", "x.sum", "go.sum x/go.sum vendor/go.sum"},
		{"* !*", "", "go.sum vendor/a.go a.min.js"},
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
		{"*.go linguist-generated=false", "a.go", ""},
		{"*.go !linguist-generated", "a.go", ""},
		{"vendor/** linguist-vendored -linguist-generated", "vendor/go.sum", "vendored (.gitattributes)"},
		{"vendor/** -linguist-vendored linguist-generated", "vendor/go.sum", "generated (.gitattributes)"},
		{"vendor/ linguist-vendored", "vendor/a.go", ""}, // of the folder, as in git
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

// The author chooses names: no name hides a file that neither the base branch nor the
// operator has named.
func TestNoNameHides(t *testing.T) {
	for _, path := range []string{
		"src/auth_generated.js", "gradlew", "lib/vendor/x.js", "a.min.js", "go.sum", "package-lock.json", "node_modules/x.js",
		"x.pb.go", "a.js.map",
	} {
		for _, r := range []Rules{{}, mustNew(t, []string{"*.svg", "!x"}, "*.svg linguist-generated")} {
			if why := r.Why(path); why != "" || r.Asked(path) {
				t.Errorf("%s: %q", path, why)
			}
		}
	}
}

func TestAsked(t *testing.T) {
	for _, c := range []struct {
		globs, attributes, path string
		want                    bool
	}{
		{"!*.min.js", "", "a.min.js", true},
		{"*.js !a.js", "", "a.js", true},
		{"!a.js *.js", "", "a.js", false},
		{"", "*.pb.go -linguist-generated", "a.pb.go", true},
		{"", "*.pb.go linguist-generated=false", "a.pb.go", true},
		{"", "go.sum -linguist-vendored", "go.sum", true},
		{"", "go.sum !linguist-vendored", "go.sum", false},
		{"go.sum", "go.sum -linguist-generated", "go.sum", false},
		{"", "vendor/** linguist-vendored -linguist-generated", "vendor/a.js", false},
	} {
		if got := mustNew(t, strings.Fields(c.globs), c.attributes).Asked(c.path); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// The glob that a review proposes for a file leaves out that file, and nothing else.
func TestLine(t *testing.T) {
	for path, want := range map[string]string{
		"a.bin": "/a.bin", "x/y z.bin": "/x/y z.bin", "[a]*{b,c}?.bin": `/\[a\]\*\{b,c\}\?.bin`, `a\b`: `/a\\b`, "!a": "/!a",
		"#a": "/#a", "a ": "/a?",
		"ä.bin": "/ä.bin", "\xff.bin": "/?.bin", "a\nb": "/a?b", "a\u202eb": "/a?b", "it's": "/it's",
		strings.Repeat("x", 2000): "",
	} {
		if got := Line(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		path := strings.Trim(rapid.OneOf(genPath, rapid.StringN(1, 9, 30),
			rapid.StringMatching(`[ab\[\]{},*?\\!# \xff-]{1,6}`)).Draw(t, "path"), "/")
		line := Line(path)
		if strings.Contains(path, "//") || line == "" {
			return
		}
		r, err := New([]string{line}, nil)
		if err != nil || r.Why(path) == "" {
			t.Fatalf("%q: %q doesn't leave it out: %v", path, line, err)
		}
		if other := path + "x"; r.Why(other) != "" {
			t.Fatalf("%q leaves out %q, too", line, other)
		}
	})
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
