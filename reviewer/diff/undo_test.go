package diff

import (
	"strings"
	"testing"
)

// A diff that lacks a change, or shows another one, isn't one of the file: undone it
// doesn't give the version before.
func TestUndoFindsWhatADiffDoesNotTell(t *testing.T) {
	before := strings.Repeat("a line\n", 20) + "end"
	after := strings.Replace(before, "end", "the end\n", 1)
	f := Between("f", []byte(before), []byte(after))
	for promise, other := range map[string]string{
		"a line more, far from the hunk": "evil\n" + after,
		"a line more at the end":         after + "evil\n",
		"a line fewer":                   strings.TrimPrefix(after, "a line\n"),
		"a changed line in the hunk":     strings.Replace(after, "the end", "evil", 1),
		"another line end":               strings.Replace(after, "the end\n", "the end\r\n", 1),
		"nothing":                        "",
		"far from the hunk":              strings.Replace(after, "a line\n", "evil!!\n", 1),
	} {
		if got, err := f.Undo([]byte(other)); err == nil && string(got) == before {
			t.Errorf("%s: undone it is the version before", promise)
		}
	}
	if got, err := f.Undo([]byte(after)); err != nil || string(got) != before {
		t.Errorf("undone %q, %v", got, err)
	}
	if got := string(Between("f", nil, []byte(after)).Content(New)); got != after {
		t.Errorf("of an added file the diff says %q", got)
	}
	if got := string(Between("f", []byte(before), nil).Content(Old)); got != before {
		t.Errorf("of a deleted file the diff says %q", got)
	}
}

func TestVersions(t *testing.T) {
	const file, exec = Mode(0o100644), Mode(0o100755)
	version := func(path string, mode Mode, blob, text string) Version {
		return Version{Path: path, Mode: mode, Blob: blob, Content: []byte(text)}
	}
	nothing := func(path string) Version { return Version{Path: path} }
	for _, tt := range []struct {
		promise       string
		before, after Version
		want          []string // in this order in what is shown
	}{
		{"added", nothing("f"), version("f", file, "1", "x\n"), []string{"status: added, 1 added, 0 deleted", "+ x"}},
		{"an empty file", nothing("f"), version("f", file, "1", ""), []string{"status: added", "note: empty file"}},
		{"deleted", version("f", file, "1", "x\n"), nothing("f"), []string{"status: deleted, 0 added, 1 deleted", "- x"}},
		{
			"changed", version("f", file, "1", "x\n"), version("f", file, "2", "y\n"),
			[]string{"status: modified", "- x", "+ y"},
		},
		{
			"executable", version("f", file, "1", "x\n"), version("f", exec, "1", "x\n"),
			[]string{"status: mode", "mode: 100755, was 100644", "note: only the mode changed"},
		},
		{
			"renamed", version("a", file, "1", "x\n"), version("b", file, "1", "x\n"),
			[]string{"file: b", "renamed from a", "note: no lines changed"},
		},
		{
			"renamed and executable", version("a", file, "1", "x\n"), version("b", exec, "1", "x\n"),
			[]string{"renamed from a", "mode: 100755, was 100644"},
		},
		{"became a link of the same content", version("f", file, "1", "/etc\n"), version("f", ModeSymlink, "1", "/etc\n"),
			[]string{"status: modified, 1 added, 1 deleted", "mode: 120000, was 100644", "note: symbolic link", "- /etc",
				"+ /etc"}},
		{"a submodule that moved", version("m", ModeSubmodule, "1", ""), version("m", ModeSubmodule, "2", ""),
			[]string{"note: submodule", "- Subproject commit 1", "+ Subproject commit 2"}},
		{
			"a submodule that was added", nothing("m"), version("m", ModeSubmodule, "2", ""),
			[]string{"status: added", "+ Subproject commit 2"},
		},
		{
			"a file became a submodule", version("m", file, "1", "x\n"), version("m", ModeSubmodule, "2", ""),
			[]string{"- x", "+ Subproject commit 2"},
		},
		{"binary", version("f", file, "1", "\x00"), version("f", file, "2", "\x00\x00"), []string{"note: binary file"}},
	} {
		f := Versions(tt.before, tt.after)
		checkDiff(t, Diff{Files: []File{f}})
		rest, text := f.Render(), f.Render()
		for _, want := range tt.want {
			_, after, found := strings.Cut(rest, want)
			if !found {
				t.Errorf("%s: %q isn't in its place in\n%s", tt.promise, want, text)
			}
			rest = after
		}
	}
}
