package reviewer_test

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"
	"unicode/utf16"

	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
	"review-bot/sentinel"
)

func utf16Text(s string) string {
	var b strings.Builder
	b.WriteString("\xff\xfe")
	for _, unit := range utf16.Encode([]rune(s)) {
		b.WriteByte(byte(unit))
		b.WriteByte(byte(unit >> 8))
	}
	return b.String()
}

// Whatever an author does to a file, a role that approves has seen its code, or the base branch left it out.
func TestWhatIsNotReadIsNotApproved(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 9, 9))); err != nil {
		t.Fatal(err)
	}
	const sums = "example.com/a/b v1.0.0 h1:fzj3JxZmvFNIEJhvYwWOFVHsPqHIpA9n0kRmDNuE6Lk=\n"
	base := map[string]string{"go.mod": "module m\n", "go.sum": sums, ".gitattributes": "gen/** linguist-generated\n"}
	for name, c := range map[string]struct {
		path, content string
		own           sentinel.Verdict
		body          string
	}{
		"UTF-16":                {"a.ps1", utf16Text("one\nEVIL()\n"), sentinel.RequestChanges, "a.ps1"},
		"a NUL in a comment":    {"a.js", "// \x00\nEVIL()\n", sentinel.RequestChanges, "a.js"},
		"Latin-1":               {"a.c", "/* gr\xfc\xdfe */\nEVIL()\n", sentinel.RequestChanges, "a.c"},
		"the name of generated": {"src/auth_generated.js", "EVIL()\n", sentinel.RequestChanges, "auth_generated.js"},
		"a lock file's new host": {
			"go.sum", sums + "EVIL.example.com/a/b v1.0.0 h1:x=\n", sentinel.RequestChanges, "go.sum",
		},
		"between the lines of keys": {
			"a.py", "# -----BEGIN PRIVATE KEY-----\nx=EVIL\n# -----END PRIVATE KEY-----\n", sentinel.RequestChanges, "a.py",
		},
		"a program": {
			"tool", "\x7fELF\x02\x01\x00\x00\x00\x00\x00\x00\x00EVIL", sentinel.Comment, "- `tool`: binary · `- '/tool'`",
		},
		"a picture and more": {
			"a.png", picture.String() + "\n\x00EVIL()\n", sentinel.Comment,
			"- `a.png`: named as a picture, but its content is not, or not only, one · `- '/a.png'`",
		},
		"a picture": {"a.png", picture.String(), sentinel.Approved, "- `a.png`: picture"},
		"a lock file's new version": {
			"go.sum", sums + strings.ReplaceAll(sums, "v1.0.0", "v1.1.0"), sentinel.Approved, "- `go.sum`: lock file",
		},
		"left out by the base": {"gen/a.go", "EVIL()\n", sentinel.Approved, "- `gen/a.go`: generated (.gitattributes)"},
		"a pointer of Git LFS": {
			"a.iso", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 1\n",
			sentinel.Comment, "Git LFS keeps its content elsewhere",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, forgetest.Options{Base: base, Head: map[string]string{"ok.go": "package ok\n", c.path: c.content}})
			s.answer = honest
			r := s.mustRun()
			review := s.latest()
			if r.Own != c.own || !strings.Contains(review, c.body) {
				t.Errorf("own %s, not %s\n%s\n%s", r.Own, c.own, review, s.asked[0].Material)
			}
			if first, _, _ := strings.Cut(review, "\n"); strings.Contains(first, " · 1 file not read") != (c.own == sentinel.Comment) || (r.NotRead() == 1) != (c.own == sentinel.Comment) {
				t.Errorf("%d not read: %s", r.NotRead(), first)
			}
			if approved := len(s.approvedAt()) > 0; approved != (c.own == sentinel.Approved) {
				t.Errorf("approved: %t", approved)
			}
			// What isn't read isn't forgotten: a push to another file doesn't make it read.
			s.forge.Push("author", map[string]string{"ok.go": "package ok\n\n// more\n"})
			if again := s.mustRun(); again.Own != c.own || again.NotRead() != r.NotRead() {
				t.Errorf("then %s, %d not read", again.Own, again.NotRead())
			}
		})
	}
}

// Nothing but what needn't be read: there is nothing to approve.
func TestNothingToReviewIsNoApproval(t *testing.T) {
	s := newStory(t, forgetest.Options{
		Base: map[string]string{".gitattributes": "gen/** linguist-generated\n"},
		Head: map[string]string{"gen/a.go": "EVIL()\n"},
	})
	if r := s.mustRun(); r.Own != sentinel.Comment || len(s.approvedAt()) != 0 || len(s.asked) != 0 {
		t.Errorf("own %s, approved at %q, %d calls", r.Own, s.approvedAt(), len(s.asked))
	}
}

// A token that the model wrote is published in no way that shows it, whatever is between its characters.
func TestNoTokenIsPublished(t *testing.T) {
	token := "ghp_" + strings.Repeat("aB3", 12)
	for _, written := range []string{token, token[:9] + "\u200b" + token[9:], `ghp\_` + token[4:], "ghp&#95;" +
		token[4:], "**ghp_**" + token[4:], "ghp_" + token[4:9] + "\u00ad" + token[9:]} {
		s := newStory(t, forgetest.Options{Head: map[string]string{"a.go": "EVIL()\n"}})
		s.answer = func(prompts.Request) prompts.Answer {
			f := prompts.Finding{Path: "a.go", Side: "new", Quote: "EVIL()", Severity: prompts.High, Category: "security",
				Title: "See " + written, Body: "It is " + written, Suggestion: written}
			return prompts.Answer{Summary: "The token is " + written, Findings: []prompts.Finding{f}}
		}
		s.mustRun(func(set *reviewer.Settings) { set.Inline = reviewer.InlineBody })
		published := strings.Map(func(r rune) rune {
			if r == '\\' || r == '*' || r == '`' || r > 126 {
				return -1
			}
			return r
		}, s.latest())
		if strings.Contains(published, token[8:]) || !strings.Contains(published, "masked") {
			t.Errorf("%q:\n%s", written, s.latest())
		}
	}
}

// latest is the text of the account's newest review, with its inline comments.
func (s *story) latest() string {
	s.tb.Helper()
	rows, err := s.shared.As("bot").Reviews(s.tb.Context())
	if err != nil || len(rows) == 0 {
		s.tb.Fatal(err, rows)
	}
	last := rows[len(rows)-1]
	comments, err := s.shared.As("bot").Comments(s.tb.Context(), last.ID)
	if err != nil {
		s.tb.Fatal(err)
	}
	text := last.Body
	for _, c := range comments {
		text += "\n" + c.Path + ": " + c.Body
	}
	return text
}

// Nor is one that is in a file's name, though files are found by their names as they are.
func TestNoTokenInANameIsPublished(t *testing.T) {
	token := "ghp_" + strings.Repeat("aB3", 12)
	s := newStory(t, forgetest.Options{Head: map[string]string{token +
		".bin": "\x7fELF\x02\x01\x00\x00\x00\x00\x00\x00\x00", "ok.go": "package ok\n"}})
	r := s.mustRun()
	if text := s.latest(); strings.Contains(text, token[8:]) || strings.Count(text, "masked-github-token.bin") != 2 {
		t.Errorf("%s", text)
	}
	if r.Own != sentinel.Comment || r.NotReviewed[0].Path != token+".bin" {
		t.Errorf("own %s, %+v", r.Own, r.NotReviewed)
	}
}

// What a lock file lost since the base is shown in a later round too, though it was lost before with its package.
func TestLockFileOfALaterRoundIsShownAsAWhole(t *testing.T) {
	const digest = "h1:fzj3JxZmvFNIEJhvYwWOFVHsPqHIpA9n0kRmDNuE6Lk=\n"
	const zip, mod, other = "example.com/a/b v1.0.0 " + digest, "example.com/a/b v1.0.0/go.mod " + digest, "example.com/c v1.0.0 " + digest
	s := newStory(t, forgetest.Options{
		Base: map[string]string{"go.mod": "module m\n", "go.sum": zip + mod + other},
		Head: map[string]string{"go.sum": other, "ok.go": "package ok\n"},
	})
	if r := s.mustRun(); r.Own != sentinel.Approved || s.shown(strings.TrimSpace(zip), 0) {
		t.Errorf("own %s, and what went with its package is shown: %t", r.Own, s.shown(strings.TrimSpace(zip), 0))
	}
	s.forge.Push("author", map[string]string{"go.sum": mod + other + "example.org/d v1.0.0 " + digest})
	if s.mustRun(); !s.shown(strings.TrimSpace(zip), 0) {
		t.Errorf("%s", s.asked[len(s.asked)-1].Material)
	}
}
