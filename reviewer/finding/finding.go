// Package finding turns a model's answer into findings with a place and an
// identity, and findings into the text that people read. It is pure.
package finding

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"review-bot/prompts"
	"review-bot/reviewer/diff"
	"review-bot/sentinel"
)

// Where tells where a finding's text is published.
type Where string

// Inline findings stand on a line of the diff, the others in the review's body.
const (
	Inline Where = "inline"
	InBody Where = "body"
)

// State tells what became of a finding in this round.
type State string

// What can become of a finding. New, Retained and Reopened ones count; the others
// don't.
const (
	New      State = "new"      // not known before this round
	Retained State = "retained" // still stands, nothing new is said about it
	Reopened State = "reopened" // had been fixed, and is back
	Resolved State = "resolved" // fixed, or explained soundly: its conversation is closed
	Answered State = "answered" // the same, but a person spoke in its conversation, which stays open
	Waived   State = "waived"   // a person who may do so closed its conversation
)

// Counts tells whether the verdict follows from findings of that state.
func (s State) Counts() bool { return s == New || s == Retained || s == Reopened }

// Finding is a defect with its place and identity.
type Finding struct {
	ID         string // 8 hex digits
	Key        string // fingerprint of path, code line and category; see Key
	State      State
	Severity   prompts.Severity
	Category   string
	Title      string // the model's words, not yet fit to be published
	Body       string // the model's words, not yet fit to be published
	Suggestion string // code for the lines of Place, or ""
	Place      diff.Place
	OldPath    string   // the file's name before the change, if Place is on the old side
	Code       []string // lines of the diff at Place, cut when too long to be shown; empty for findings in the body
	Where      Where
	Reason     string // why it stands in the body
	Head       string // commit at which it was made
	Blob       string // abbreviated id of the file's content at Head; "" if not known
	URL        string // address of its conversation; "" while it has none
	Doubted    bool   // retained though the model left it out: nothing that it may be closed by has happened
	FixedBy    string // path and line that the model names as the fix; "" if it names none

	anchor    string // code, or words, that the key is made of
	sameHead  bool   // an earlier finding that was made at this very head, by a run that died or was asked again
	published string // its text where it stands in the body already
}

// Anchored gives every finding of an answer its place in the diff: on the line it
// names, else where its quoted code stands, else in the body. None is dropped
// but a repetition to the letter. The order is by severity, then by place.
//
// head is the commit that the diff leads to. newID makes ids of 8 hex digits; it
// is asked again when one is taken.
func Anchored(answer prompts.Answer, d diff.Diff, head string, newID func() string) []Finding {
	var list []Finding
	ids, said := map[string]bool{}, map[string]bool{}
	for _, a := range answer.Findings {
		place, how, reason := d.Anchor(diff.Place{
			Path: a.Path, Side: diff.Side(a.Side), Line: a.Line, EndLine: a.EndLine, Quote: a.Quote,
		})
		f := Finding{
			State: New, Severity: a.Severity, Category: a.Category, Title: a.Title, Body: a.Body, Suggestion: a.Suggestion,
			Place: place, OldPath: place.Path, Where: Inline, Head: head,
		}
		if file, ok := d.File(place.Path); ok {
			f.Blob = BlobOf(file)
		}
		anchor := firstLine(a.Quote)
		if how == diff.Outside {
			f.Where, f.Reason = InBody, reason
		} else {
			f.Code = code(d, &f)
			anchor = f.Code[0]
		}
		if strings.TrimSpace(anchor) == "" {
			// Nothing says which code is meant; the words have to tell two findings apart.
			anchor = "\x00" + a.Title
		}
		f.anchor = anchor
		f.Key = Key(place.Path, anchor, a.Category)
		again := f.letters()
		if said[again] {
			continue
		}
		said[again] = true
		for f.ID = newID(); ids[f.ID]; {
			f.ID = newID()
		}
		ids[f.ID] = true
		list = append(list, f)
	}
	sorted(list)
	return list
}

// sorted puts findings in order: by severity, then by place.
func sorted(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity.Rank(), b.Severity.Rank()), strings.Compare(a.Place.Path, b.Place.Path),
			cmp.Compare(a.Place.Line, b.Place.Line))
	})
}

func firstLine(code string) string {
	for line := range strings.Lines(code) {
		if strings.TrimSpace(line) != "" {
			return line
		}
	}
	return ""
}

// BlobOf is the id of what a file holds behind the change, as far as the diff
// tells; that of a file that is gone is all zeros.
func BlobOf(f diff.File) string {
	if f.Status == diff.Deleted {
		return goneBlob
	}
	return f.NewBlob
}

const goneBlob = "0000000"

// letters is all that a finding says. Only one that says the same of the same
// lines is a repetition: the same code may be wrong in two places.
func (f Finding) letters() string {
	return fmt.Sprintf("%s\x00%s\x00%d\x00%d\x00%s\x00%s\x00%s\x00%s", f.Key, f.Place.Side, f.Place.Line, max(f.Place.Line, f.Place.EndLine),
		f.Severity, diff.Fold(f.Title), diff.Fold(f.Body), f.Suggestion)
}

// code reads the lines at the finding's place, at least one, and no more than
// needed to see that they are too many to be shown: see minus.
func code(d diff.Diff, f *Finding) []string {
	file, _ := d.File(f.Place.Path)
	f.OldPath = file.OldPath
	var lines []string
	size := 0
	for n := f.Place.Line; n <= max(f.Place.Line, f.Place.EndLine) && size <= maxText; n++ {
		line, _ := file.Line(f.Place.Side, n)
		lines = append(lines, line.Text)
		size += len("- ") + len(line.Text) + len("\n")
	}
	return lines
}

// Key fingerprints what a finding is about: the file, the code line with its
// white space folded, the category. It survives a shift of the line.
func Key(path, code, category string) string {
	sum := sha256.Sum256([]byte(path + "\x00" + diff.Fold(code) + "\x00" + category))
	return hex.EncodeToString(sum[:8])
}

// Own is the verdict that follows from the findings: a request for changes if
// one of them is at least as severe as the threshold. The model has no say in it.
func Own(findings []Finding, threshold prompts.Severity) sentinel.Verdict {
	if Blocking(findings, threshold) > 0 {
		return sentinel.RequestChanges
	}
	return sentinel.Approved
}

// Blocking counts the findings that reach the threshold.
func Blocking(findings []Finding, threshold prompts.Severity) int {
	n := 0
	for _, f := range findings {
		if f.Severity.AtLeast(threshold) {
			n++
		}
	}
	return n
}

// Marker is the hidden line that carries the finding's identity. Inline it is
// signed together with the comment; in the body, which is signed as a whole, by
// itself.
func (f Finding) Marker(role string, key sentinel.Key) sentinel.Marker {
	text := ""
	if f.Where == Inline {
		text = f.inline(role)
	}
	return key.SignMarker(sentinel.Marker{
		Role: role, ID: f.ID, Head: f.Head, Severity: string(f.Severity), Category: f.Category, Key: f.Key,
		Blob: f.Blob, Line: max(f.Place.Line, 0), Old: f.Place.Side == diff.Old, Version: sentinel.Version,
	}, text)
}
