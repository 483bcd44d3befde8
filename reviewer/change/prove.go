package change

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's own ids
	"encoding/hex"
	"fmt"

	"review-bot/reviewer/diff"
)

// Blob is git's id of a content.
func Blob(content []byte) string {
	h := sha1.New() //nolint:gosec // git's own ids
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// Wants reports whether [Proven] has to be given what a file of a diff is after the
// change: the hunks of all others say it.
func (c Change) Wants(f diff.File) bool {
	return len(f.Hunks) > 0 && c.Old.Exists() && c.New.Exists() && sameKind(c)
}

func sameKind(c Change) bool { return c.Old.Mode&0o170000 == c.New.Mode&0o170000 && !c.submodule() }

func (c Change) submodule() bool {
	return c.Old.Mode == diff.ModeSubmodule || c.New.Mode == diff.ModeSubmodule
}

// Proven reports whether the file's hunks tell all that changed in it, by the full ids
// of its content before and after. The ids that the diff itself has are abbreviated, and
// such can be forged. What the diff shows no lines of isn't shown wrongly.
func (c Change) Proven(f diff.File, after []byte) bool {
	switch {
	case f.Binary:
		return true
	case len(f.Hunks) == 0:
		return empty(c.Old) && empty(c.New) || c.Old.ID == c.New.ID
	case c.Wants(f):
		before, err := f.Undo(after)
		return err == nil && Blob(after) == c.New.ID && Blob(before) == c.Old.ID
	default:
		return shows(f, diff.Old, c.Old) && shows(f, diff.New, c.New)
	}
}

// shows reports whether the hunks are all of one side.
func shows(f diff.File, side diff.Side, e Entry) bool {
	content := f.Content(side)
	if e.Mode == diff.ModeSubmodule {
		return bytes.Equal(content, []byte("Subproject commit "+e.ID+"\n"))
	}
	return !e.Exists() && len(content) == 0 || Blob(content) == e.ID
}

func empty(e Entry) bool { return !e.Exists() || e.ID == Blob(nil) }
