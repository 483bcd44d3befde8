package diff

import (
	"strings"
	"testing"
)

// The ids are those of git's objects, whatever happened to the file.
func TestBlobs(t *testing.T) {
	r := newRepo(t)
	edited := strings.Replace(story, "five", "FIVE", 1)
	r.write("edited", story+"edited\n")
	r.write("deleted", "deleted\n")
	r.write("emptied", "content\n")
	r.write("moved from", story+"moved\n")
	r.write("moved and edited from", story+"moved and edited\n")
	r.write("mode", "mode\n")
	r.write("mode and edited", "mode and edited\n")
	r.write("kind", "kind\n")
	r.write("binary", "\x00\x01")
	before := r.tree()
	r.write("edited", edited+"edited\n")
	r.remove("deleted")
	r.write("added", "added\n")
	r.write("emptied", "")
	r.git("mv", "moved from", "moved")
	r.remove("moved and edited from")
	r.write("moved and edited", edited+"moved and edited\n")
	chmod(r, "mode", 0o755)
	r.write("mode and edited", "edited\n")
	chmod(r, "mode and edited", 0o755)
	r.remove("kind")
	symlink(r, "target", "kind")
	r.write("binary", "\x00\x02")
	after := r.tree()
	for _, options := range [][]string{nil, {"--full-index"}, {"--abbrev=12"}, {"--binary"}, {"-U0"}} {
		d := mustParse(t, r.diff(before, after, options...))
		if len(d.Files) != 10 {
			t.Fatalf("%q: %d files", options, len(d.Files))
		}
		for _, f := range d.Files {
			oldID, newID := "", ""
			if f.Status != Added {
				oldID = strings.TrimSpace(r.git("rev-parse", before+":"+f.OldPath))
			}
			if f.Status != Deleted {
				newID = strings.TrimSpace(r.git("rev-parse", after+":"+f.Path))
			}
			if oldID == newID { // the content stays: git doesn't say
				if f.OldBlob != "" || f.NewBlob != "" || len(f.Hunks) > 0 {
					t.Errorf("%q %s: %s, %s", options, f.Path, f.OldBlob, f.NewBlob)
				}
				continue
			}
			for _, ids := range [][2]string{{f.OldBlob, oldID}, {f.NewBlob, newID}} {
				if got, want := ids[0], ids[1]; (got == "") != (want == "") || !strings.HasPrefix(want, got) || want != "" && !SameBlob(got, want) {
					t.Errorf("%q %s: %q, want %q", options, f.Path, got, want)
				}
			}
			if SameBlob(f.OldBlob, f.NewBlob) {
				t.Errorf("%s: the same content before and after", f.Path)
			}
		}
	}
}

func TestBlobsOfOddLines(t *testing.T) {
	for _, tt := range []struct{ header, oldID, newID string }{
		{"index 1..2 100644\n", "1", "2"},
		{"index abcdef0..0000001\n", "abcdef0", "0000001"},
		{"index 0..0\n", "", ""},
		{"index ..\n", "", ""},
		{"index 1234567..ABCDEF0 100644\n", "1234567", ""},
		{"index ../../x..1234567\n", "", ""},
		{"new file mode 100644\nindex 1234567..abcdef0\n", "", "abcdef0"},
		{"deleted file mode 100644\nindex 1234567..abcdef0\n", "1234567", ""},
		{"", "", ""},
	} {
		f := mustParse(t, "diff --git a/f b/f\n"+tt.header).Files[0]
		if f.OldBlob != tt.oldID || f.NewBlob != tt.newID {
			t.Errorf("%q: %q, %q", tt.header, f.OldBlob, f.NewBlob)
		}
	}
}

func TestSameBlob(t *testing.T) {
	full := "83db48f84ec878fbfb30b46d16630e944e34f205"
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{full, full, true},
		{full, full[:7], true},
		{full[:10], full[:8], true},
		{full, full[:6], false},
		{full[:6], full[:6], false},
		{full, "83db48e", false},
		{full, full[:39] + "6", false},
		{full[1:9], full, false},
		{full, "", false},
		{"", "", false},
		{"0000000", "0000000", false},
		{"0000000", "00000001", false},
		{"hello world", "hello world", false},
	} {
		if SameBlob(tt.a, tt.b) != tt.want || SameBlob(tt.b, tt.a) != tt.want {
			t.Errorf("%q, %q: not %t both ways", tt.a, tt.b, tt.want)
		}
	}
}
