package shown

import (
	"bytes"
	"path"
	"strings"
	"testing"

	"review-bot/reviewer/diff"
)

// FuzzClassify: whatever a file holds and is named, nothing panics, every line that is added is shown or the
// file is listed, and what is left out without the base branch saying so is a picture, a font or a lock file.
func FuzzClassify(f *testing.F) {
	for name, data := range pictures(f) {
		f.Add(name, []byte(nil), data, uint32(regular))
	}
	f.Add("go.sum", []byte("a.b/c v1 h1:x\n"), []byte("a.b/c v1 h1:x\nhttps://\\u002e.b/\n"), uint32(regular))
	f.Add("a.ps1", []byte("x"), encode16(evil), uint32(0o100755))
	f.Add("x.pb.go", []byte("// Code generated. DO NOT EDIT.\n"), []byte(lfs), uint32(diff.ModeSymlink))
	f.Fuzz(func(t *testing.T, name string, before, after []byte, mode uint32) {
		c := change{path: name, before: before, after: after, mode: diff.Mode(mode & 0o177777)}
		if len(before) == 0 {
			c.before = nil
		}
		if len(after) == 0 || name == "" {
			return
		}
		got := classify(base(t, "", ""), c)[0]
		switch {
		case got.Fate == Unread && got.Why == "", got.Path != name:
			t.Fatalf("%+v", got)
		case got.Fate == LeftOut && got.Why != "picture" && got.Why != "font" && got.Why != lockFile:
			t.Fatalf("left out as %s", got.Why)
		case got.Fate == LeftOut && got.Why != lockFile && (checkers[extension(name)] == nil || got.NewMode != regular):
			t.Fatalf("%s of mode %o is left out as %s", name, got.NewMode, got.Why)
		case got.Fate == LeftOut && got.Why == lockFile && (got.NewMode != regular || manifests[path.Base(name)] == nil):
			t.Fatalf("%s of mode %o is left out as %s", name, got.NewMode, got.Why)
		case got.Fate != Shown || bytes.Equal(before, after) || strings.HasPrefix(got.Note, "lock file"):
			return
		}
		added := 0
		for _, h := range got.Hunks {
			for _, l := range h.Lines {
				if l.Op == diff.Add {
					added++
				}
			}
		}
		if want := diff.Between(name, before, after); added < want.Added {
			t.Fatalf("%d of %d added lines are shown", added, want.Added)
		}
	})
}
