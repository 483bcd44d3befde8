package shown

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"review-bot/reviewer/diff"
)

// digests of content n, as they are written.
func sha512(n int) string {
	return "sha512-" + strings.Repeat(fmt.Sprintf("Pl%02dFcillOINfeV7Ni6oF1TAEay", n), 4)[:86] + "=="
}
func hex256(n int) string { return strings.Repeat(fmt.Sprintf("%08x", 0xa3c0ffee+n), 8) }

func npm(path, version string, n int) string {
	name := path[strings.LastIndex(path, "node_modules/")+len("node_modules/"):]
	return fmt.Sprintf(`    "%s": {
      "version": "%s",
      "resolved": "https://registry.npmjs.org/%s/-/%s-%s.tgz",
      "integrity": "%s",
      "dependencies": {
        "lodash": "^4.17.0"
      }
    },
`, path, version, name, name, version, sha512(n))
}

func npmLock(entries ...string) string {
	return "{\n  \"name\": \"app\",\n  \"lockfileVersion\": 3,\n  \"packages\": {\n    \"\": {\n      \"name\": \"app\"\n    },\n" +
		strings.Join(entries, "") + "    \"node_modules/z\": {\n      \"resolved\": \"packages/z\",\n      \"link\": true\n    }\n  }\n}\n"
}

func yarn(name, asked, version string, n int) string {
	return fmt.Sprintf("%s@%s:\n  version \"%s\"\n  resolved \"https://registry.yarnpkg.com/%s/-/%s-%s.tgz#%s\"\n  integrity %s\n\n",
		name, asked, version, name, name, version, hex256(n)[:40], sha512(n))
}

func crate(name, version string, n int) string {
	return fmt.Sprintf("[[package]]\nname = \"%s\"\nversion = \"%s\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n"+
		"checksum = \"%s\"\ndependencies = [\n \"libc\",\n]\n\n", name, version, hex256(n))
}

func wheels(name, version string, n int) string {
	return fmt.Sprintf("[[package]]\nname = \"%s\"\nversion = \"%s\"\nfiles = [\n    {file = \"%s-%s-py3-none-any.whl\", hash = \"sha256:%s\"},\n"+
		"    {file = \"%s-%s.tar.gz\", hash = \"sha256:%s\"},\n]\n\n", name, version, name, version, hex256(n), name, version, hex256(n+1))
}

func pipfile(name, version string, n int) string {
	return fmt.Sprintf("        \"%s\": {\n            \"hashes\": [\n                \"sha256:%s\",\n                \"sha256:%s\"\n            ],\n"+
		"            \"version\": \"==%s\"\n        },\n", name, hex256(n), hex256(n+1), version)
}

func pnpm(name, version string, n int) string {
	return fmt.Sprintf("  %s@%s:\n    resolution: {integrity: %s}\n    engines: {node: '>=4'}\n\n", name, version, sha512(n))
}

func module(name, version string, n int) string {
	return fmt.Sprintf("%s %s h1:%s=\n%s %s/go.mod h1:%s=\n", name, version, sha512(n)[7:50], name, version, sha512(n + 1)[7:50])
}

// without drops the lines that hold a text.
func without(s, part string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if !strings.Contains(line, part) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Whose digest goes, though it stays, is shown; an update, a package that goes or one that comes isn't.
func TestLockFilesKeepTheirDigests(t *testing.T) {
	const lodash, inner = "node_modules/lodash", "node_modules/a/node_modules/lodash"
	loose := without(npm(lodash, "4.17.20", 1), "integrity")
	yarnRC := func(s string) string { return "# yarn lockfile v1\n\n" + s }
	pip := func(s string) string { return "{\n    \"default\": {\n" + s + "    }\n}\n" }
	gem := func(a, b string) string {
		return "GEM\n  remote: https://rubygems.org/\n  specs:\n    rake (13.0.6)\n    rack (3.0.0)\n\nCHECKSUMS\n" + a + b
	}
	rake, rack := "  rake (13.0.6) sha256="+hex256(1)+"\n", "  rack (3.0.0) sha256="+hex256(2)+"\n"
	for name, c := range map[string]struct {
		path, before, after string
		shown               string // what the model sees of it; "": left out
	}{
		"npm: an update": {
			"package-lock.json", npmLock(npm(lodash, "4.17.20", 1), npm("node_modules/b", "1.0.0", 2)),
			npmLock(npm(lodash, "4.17.21", 3), npm("node_modules/b", "1.0.0", 2)), "",
		},
		"npm: one goes": {
			"package-lock.json", npmLock(npm("node_modules/b", "1.0.0", 2), npm("node_modules/c", "1.0.0", 3)),
			npmLock(npm("node_modules/b", "1.0.0", 2)), "",
		},
		"npm: a copy goes": {
			"package-lock.json", npmLock(npm(inner, "3.0.0", 2), npm(lodash, "4.17.20", 1)),
			npmLock(npm(lodash, "4.17.20", 1)), "",
		},
		"npm: all at once": {
			"package-lock.json", npmLock(npm(inner, "3.0.0", 2), npm("node_modules/b", "1.0.0", 3), npm(lodash, "4.17.20", 1)),
			npmLock(npm("node_modules/b", "2.0.0", 4), npm(lodash, "4.17.21", 5)), "",
		},
		"npm: a digest": {
			"package-lock.json", npmLock(npm(lodash, "4.17.20", 1)),
			npmLock(loose), `- "integrity": "` + sha512(1),
		},
		"npm: with an update": {
			"package-lock.json", npmLock(npm(lodash, "4.17.20", 1)),
			npmLock(strings.ReplaceAll(loose, "4.17.20", "4.17.21")), `- "integrity": "` + sha512(1),
		},
		"npm: and another goes": {
			"package-lock.json", npmLock(npm("node_modules/b", "1.0.0", 2), npm(lodash, "4.17.20", 1)),
			npmLock(loose), `- "integrity": "` + sha512(1),
		},
		"npm: and another comes": {
			"package-lock.json", npmLock(npm(lodash, "4.17.20", 1)),
			npmLock(loose, npm("node_modules/m", "1.0.0", 2)), `- "integrity": "` + sha512(1),
		},
		"npm: another one's instead": {
			"package-lock.json", npmLock(without(npm("node_modules/b", "1.0.0", 2), "integrity"), npm(lodash, "4.17.20", 1)),
			npmLock(npm("node_modules/b", "1.0.0", 2), loose), `- "integrity": "` + sha512(1),
		},
		"npm: a shorter one": {
			"package-lock.json", npmLock(npm(lodash, "4.17.20", 1)),
			npmLock(strings.Replace(npm(lodash, "4.17.20", 1), sha512(1), "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=", 1)), `- "integrity": "` + sha512(1),
		},
		"npm: a second entry": {
			"package-lock.json", npmLock(npm(lodash, "4.17.20", 1)),
			npmLock(npm(lodash, "4.17.20", 1), loose), `+ "version": "4.17.20"`,
		},
		"npm: the same, spaced": {
			"package-lock.json", npmLock(npm(lodash, "4.17.20", 1)),
			npmLock(strings.Replace(loose, `": {`, `" :  {`, 1)), `- "integrity": "` + sha512(1),
		},
		"npm: in one line": {
			"package-lock.json", npmLock(npm(lodash, "4.17.20", 1)),
			npmLock(strings.Join(strings.Fields(loose), "") + "\n"), `- "integrity": "` + sha512(1),
		},
		"npm: not indented": {
			"package-lock.json", npmLock(npm(lodash, "4.17.20", 1)),
			strings.ReplaceAll(npmLock(loose), "  ", ""), `- "integrity": "` + sha512(1),
		},
		"npm: another way to call it": {
			"package-lock.json", npmLock(npm(lodash, "4.17.20", 1)),
			npmLock(strings.Replace(loose, "node_modules/lodash", "node_modules/./lodash", 1)), `+ "node_modules/./lodash": {`,
		},

		"yarn: an update": {
			"yarn.lock", yarnRC(yarn("a", "^1.0.0", "1.0.0", 1)),
			yarnRC(yarn("a", "^1.1.0", "1.1.0", 2)), "",
		},
		"yarn: one of two goes": {
			"yarn.lock", yarnRC(yarn("a", "^1.0.0", "1.0.0", 1) + yarn("a", "^2.0.0", "2.0.0", 2)),
			yarnRC(yarn("a", "^1.0.0, a@^2.0.0", "2.0.0", 2)), "",
		},
		"yarn: a digest": {
			"yarn.lock", yarnRC(yarn("a", "^1.0.0", "1.0.0", 1)),
			yarnRC(without(yarn("a", "^1.0.0", "1.0.0", 1), "integrity")), "- integrity " + sha512(1),
		},
		"yarn: in another range": {
			"yarn.lock", yarnRC(yarn("a", "^1.0.0", "1.0.0", 1)),
			yarnRC(without(yarn("a", "latest", "1.1.0", 1), "integrity")), "- integrity " + sha512(1),
		},
		"yarn: quoted": {
			"yarn.lock", yarnRC(yarn("a", "^1.0.0", "1.0.0", 1)),
			yarnRC(without(strings.Replace(yarn("a", "^1.0.0", "1.0.0", 1), "a@^1.0.0", `"a@^1.0.0"`, 1), "integrity")), "- integrity " + sha512(1),
		},
		"cargo: an update": {
			"Cargo.lock", crate("rand", "0.8.5", 1) + crate("syn", "1.0.0", 2),
			crate("rand", "0.9.0", 3) + crate("syn", "1.0.0", 2), "",
		},
		"cargo: one goes": {
			"Cargo.lock", crate("rand", "0.8.5", 1) + crate("syn", "1.0.0", 2), crate("syn", "1.0.0", 2), "",
		},
		"cargo: one of two goes": {
			"Cargo.lock", crate("syn", "1.0.0", 1) + crate("syn", "2.0.0", 2), crate("syn", "2.0.0", 2), "",
		},
		"cargo: a member comes": {
			"Cargo.lock", crate("syn", "1.0.0", 1),
			"[[package]]\nname = \"mine\"\nversion = \"0.1.0\"\n\n" + crate("syn", "1.0.0", 1), "",
		},
		"cargo: a digest": {
			"Cargo.lock", crate("rand", "0.8.5", 1) + crate("syn", "1.0.0", 2),
			without(crate("rand", "0.8.5", 1), "checksum") + crate("syn", "1.0.0", 2), "- checksum = \"" + hex256(1),
		},
		"cargo: and a member": {
			"Cargo.lock", "[[package]]\nname = \"mine\"\n\n" + crate("rand", "0.8.5", 1),
			without(crate("rand", "0.8.5", 1), "checksum"), "- checksum = \"" + hex256(1),
		},
		"poetry: an update": {
			"poetry.lock", wheels("requests", "2.31.0", 1) + wheels("idna", "3.4", 3),
			wheels("requests", "2.32.0", 5) + wheels("idna", "3.4", 3), "",
		},
		"poetry: fewer files": {
			"poetry.lock", wheels("requests", "2.31.0", 1),
			without(wheels("requests", "2.31.0", 1), "tar.gz"), "",
		},
		"poetry: a digest": {
			"poetry.lock", wheels("requests", "2.31.0", 1),
			strings.Replace(wheels("requests", "2.31.0", 1), `, hash = "sha256:`+hex256(1)+`"`, "", 1), `- {file = "requests-2.31.0-py3-none-any.whl", hash = "sha256:` + hex256(1),
		},
		"poetry: all": {
			"poetry.lock", wheels("requests", "2.31.0", 1),
			without(wheels("requests", "2.31.0", 1), "hash"), `- {file = "requests-2.31.0.tar.gz"`,
		},
		"pipenv: an update": {
			"Pipfile.lock", pip(pipfile("requests", "2.31.0", 1)), pip(pipfile("requests", "2.32.0", 3)), "",
		},
		"pipenv: all": {
			"Pipfile.lock", pip(pipfile("requests", "2.31.0", 1) + pipfile("idna", "3.4", 3)),
			pip(without(pipfile("requests", "2.31.0", 1), "sha256") + pipfile("idna", "3.4", 3)), `- "sha256:` + hex256(1),
		},
		"pnpm: an update": {
			"pnpm-lock.yaml", "packages:\n\n" + pnpm("a", "1.0.0", 1),
			"packages:\n\n" + pnpm("a", "1.1.0(react@18.2.0)", 2), "",
		},
		"pnpm: a digest": {
			"pnpm-lock.yaml", "packages:\n\n" + pnpm("a", "1.0.0", 1) + pnpm("b", "1.0.0", 2),
			"packages:\n\n" + strings.Replace(pnpm("a", "1.0.0", 1), "{integrity: "+sha512(1)+"}", "{}", 1) + pnpm("b", "1.0.0", 2), "- resolution: {integrity: " + sha512(1),
		},
		"go: an update": {
			"go.sum", module("x.org/a", "v1.0.0", 1) + module("x.org/b", "v1.0.0", 3),
			module("x.org/a", "v1.1.0", 5) + module("x.org/b", "v1.0.0", 3), "",
		},
		"go: one goes": {
			"go.sum", module("x.org/a", "v1.0.0", 1) + module("x.org/b", "v1.0.0", 3),
			module("x.org/b", "v1.0.0", 3), "",
		},
		"go: a digest": {
			"go.sum", module("x.org/a", "v1.0.0", 1) + module("x.org/b", "v1.0.0", 3),
			module("x.org/b", "v1.0.0", 3) + "x.org/a v1.0.0/go.mod h1:" + sha512(2)[7:50] + "=\n", "- x.org/a v1.0.0 h1:",
		},
		"bundler: one goes": {
			"Gemfile.lock", gem(rake, rack),
			strings.Replace(gem("", rack), "    rake (13.0.6)\n", "", 1), "",
		},
		"bundler: a digest": {
			"Gemfile.lock", gem(rake, rack), gem("  rake (13.0.6)\n", rack), "- rake (13.0.6) sha256=",
		},
		"bundler: with its line": {
			"Gemfile.lock", gem(rake, rack), gem("", rack), "- rake (13.0.6) sha256=",
		},
		"what is evaluated": {"mix.lock", "%{\n}\n", "%{\n  \"a\": System.halt(),\n}\n", `+ "a": System.halt(),`},
		"a file's only digest": {
			"Chart.lock", "dependencies:\n- name: a\n  version: 1.0.0\ndigest: sha256:" + hex256(1) + "\n",
			"dependencies:\n- name: a\n  version: 1.0.0\n", "- digest: sha256:",
		},
		"a file's digest changes": {
			"Chart.lock", "dependencies:\n- name: a\n  version: 1.0.0\ndigest: sha256:" + hex256(1) + "\n",
			"dependencies:\n- name: a\n  version: 1.1.0\ndigest: sha256:" + hex256(2) + "\n", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ch := change{path: c.path, before: text(c.before), after: text(c.after)}
			b := base(t, "", "")
			b.Has = func(string) bool { return true }
			f := classify(b, ch)[0]
			if c.shown == "" {
				if f.Fate != LeftOut {
					t.Errorf("%s", f.Render())
				}
				return
			}
			found := false
			for _, h := range f.Hunks {
				for _, l := range h.Lines {
					found = found || strings.Contains(string(l.Op)+" "+strings.TrimSpace(l.Text), c.shown)
					side := diff.New
					if l.Op == diff.Delete {
						side = diff.Old
					}
					if whole, ok := ch.file().Line(side, l.Number(side)); !ok || whole.Text != l.Text {
						t.Errorf("line %d is %q in the diff, not %q", l.Number(side), whole.Text, l.Text)
					}
				}
			}
			if f.Fate != Shown || !found {
				t.Errorf("%q isn't shown:\n%d, %s", c.shown, f.Fate, f.Render())
			}
			for i, h := range f.Hunks {
				if f.Part && len(h.Lines) != h.OldLines+h.NewLines || i > 0 && h.OldStart < f.Hunks[i-1].OldStart {
					t.Errorf("hunk -%d,%d +%d,%d of %d lines", h.OldStart, h.OldLines, h.NewStart, h.NewLines, len(h.Lines))
				}
			}
		})
	}
}

// A digest where no package manager looks for it is none, and a second value takes the first one's place.
func TestLockFilesKeepTheirDigestsWhereTheyAreRead(t *testing.T) {
	const lodash = "node_modules/lodash"
	entry, other := npm(lodash, "4.17.20", 1), npm("node_modules/b", "1.0.0", 2)
	integrity := `"integrity": "` + sha512(1) + `"`
	yaml := "packages:\n\n" + pnpm("a", "1.0.0", 1) + pnpm("b", "1.0.0", 2)
	crates := crate("rand", "0.8.5", 1) + crate("syn", "1.0.0", 2)
	pip := "{\n    \"default\": {\n" + pipfile("requests", "2.31.0", 1) + pipfile("idna", "3.4", 3) + "    }\n}\n"
	for name, c := range map[string]struct{ path, before, from, to, shown string }{
		"another key": {
			"package-lock.json", npmLock(entry, other),
			integrity, `"license": "` + sha512(1) + `"`, "+ " + `"license": "sha512`,
		},
		"a longer key": {
			"package-lock.json", npmLock(entry, other),
			integrity, `"_integrity": "` + sha512(1) + `"`, "+ " + `"_integrity": "`,
		},
		"a second value": {
			"package-lock.json", npmLock(entry, other),
			integrity, integrity + ",\n      \"integrity\": \"\"", "+ " + `"integrity": ""`,
		},
		"and on one line": {
			"package-lock.json", npmLock(entry, other),
			integrity, integrity + `, "integrity": ""`, "+ " + integrity + `, "integrity": ""`,
		},
		"an unknown kind": {
			"package-lock.json", npmLock(entry, other),
			sha512(1), "h1" + sha512(1)[6:], "+ " + `"integrity": "h1-`,
		},
		"a kind with more": {
			"package-lock.json", npmLock(entry, other),
			sha512(1), "x-" + sha512(1), "+ " + `"integrity": "x-sha512-`,
		},
		"another separator": {
			"package-lock.json", npmLock(entry, other),
			sha512(1), "sha512:" + sha512(1)[7:], "+ " + `"integrity": "sha512:`,
		},
		"hexadecimal digits": {
			"package-lock.json", npmLock(entry, other),
			sha512(1), hex256(1) + hex256(2), "+ " + `"integrity": "a3c0`,
		},
		"in a comment": {
			"pnpm-lock.yaml", yaml,
			"{integrity: " + sha512(1) + "}", "{} # integrity: " + sha512(1), "+ resolution: {} #",
		},
		"as another value": {
			"pnpm-lock.yaml", yaml,
			"{integrity: " + sha512(1) + "}", "{y: integrity, x: " + sha512(1) + "}", "+ resolution: {y",
		},
		"a line's comment": {
			"Cargo.lock", crates,
			"checksum = \"" + hex256(1), "# checksum = \"" + hex256(1), "+ # checksum",
		},
		"another list": {
			"Pipfile.lock", pip,
			"\"requests\": {\n            \"hashes\"", "\"requests\": {\n            \"others\"", "+ " + `"others": [`,
		},
		"a better one": {
			"package-lock.json", npmLock(strings.Replace(entry, sha512(1), "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=", 1)),
			"sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=", sha512(1), "",
		},
		"another package": {"package-lock.json", npmLock(entry), "4.17.20", "4.17.21", ""},
	} {
		b := base(t, "", "")
		b.Has = func(string) bool { return true }
		after := strings.Replace(c.before, c.from, c.to, 1)
		f := classify(b, change{path: c.path, before: text(c.before), after: text(after)})[0]
		if c.before == after {
			t.Errorf("%s: nothing changes", name)
		}
		found := slices.ContainsFunc(f.Hunks, func(h diff.Hunk) bool {
			return slices.ContainsFunc(h.Lines, func(l diff.Line) bool {
				return strings.HasPrefix(string(l.Op)+" "+strings.TrimSpace(l.Text), c.shown)
			})
		})
		if (f.Fate == Shown) != (c.shown != "") || c.shown != "" && !found {
			t.Errorf("%s: fate %d\n%s", name, f.Fate, f.Render())
		}
	}
}

// In a later round the diff is that from an earlier head, and sources are those that the base names.
func TestLockFilesOfALaterRound(t *testing.T) {
	const path, lodash = "package-lock.json", "node_modules/lodash"
	inBase := npmLock(npm(lodash, "4.17.19", 1))
	judged := npmLock(npm("node_modules/b", "1.0.0", 2), npm(lodash, "4.17.20", 3))
	for name, c := range map[string]struct{ after, shown string }{
		"an update": {npmLock(npm("node_modules/b", "1.0.0", 2), npm(lodash, "4.17.21", 4)), ""},
		"a digest": {
			npmLock(npm("node_modules/b", "1.0.0", 2), without(npm(lodash, "4.17.20", 3), "integrity")), `- ` + "      " + `"integrity": "` + sha512(3),
		},
		"a source": {
			npmLock(npm("node_modules/c", "1.0.0", 2), npm(lodash, "4.17.20", 3)), `+ ` + "      " + `"resolved": "https://registry.npmjs.org/c/`,
		},
	} {
		f := change{path: path, before: text(judged), after: text(c.after)}.file()
		v := Versions{Old: map[string][]byte{path: text(inBase)}, New: map[string][]byte{path: text(c.after)}}
		got := base(t, "", "").Classify([]diff.File{f}, v)[0]
		if shown := got.Render(); (got.Fate == LeftOut) != (c.shown == "") || !strings.Contains(shown, c.shown) || got.Fate == Shown && got.Added+got.Deleted > 1 {
			t.Errorf("%s: %d\n%s", name, got.Fate, shown)
		}
	}
}
