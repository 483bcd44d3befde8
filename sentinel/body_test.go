package sentinel

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	key     = NewKey("token", "o/r", 1)
	verdict = Sentinel{Role: "security", Version: 1, Kind: KindVerdict, Own: Approved, Event: RequestChanges, Head: head, Run: run}
)

func TestBlocksRoundTripInEveryCombination(t *testing.T) {
	notice := Notice("logic", "https://forge/o/r/pulls/1#issuecomment-7", "security", "approves")
	for _, n := range []string{"", notice} {
		for _, text := range []string{"", "One line.", "**Approved.** Fine.\n\n| a | b |\n|---|---|\n\nEnd.", "> quoted\n\n> again", "<sub>small</sub> and more",
			"a <sub>two\nlines</sub>", "Text.\n\n<sub>two\nlines</sub>", "```\n" + plain + "\n```", plain} {
			for _, usage := range []string{"", "<sub>gpt-5 · 12.4k tokens</sub>"} {
				want := Body{Notice: n, Text: text, Usage: usage}
				published := want.With(verdict, key)
				got, s, err := Split(published)
				if err != nil {
					t.Fatalf("%q: %v", published, err)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%q (-want +got):\n%s", published, d)
				}
				if !key.Verify(s) || s.Body != Hash(got.Text) {
					t.Errorf("%q: signed %v, hash %s of %s", published, key.Verify(s), s.Body, Hash(got.Text))
				}
				if again := got.With(s, key); again != published {
					t.Errorf("put together again:\n%q\nwas\n%q", again, published)
				}
			}
		}
	}
}

// Whatever the role says, its own review doesn't look edited to it, except for
// a text that itself has the form of the blocks around it.
func TestTheHashOutlivesPublishing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SampledFrom([]string{"a", "b ", " ", "\t", "\n", "\n\n", "\r\n", "\r", "```\n", "> ", plain, plain + "\n", "ä", "\x00"})
		text := "x" + strings.Join(rapid.SliceOf(words).Draw(t, "words"), "")
		b := Body{Text: text}
		if rapid.Bool().Draw(t, "notice") {
			b.Notice = Notice("logic", "https://forge/1", "security", "approves")
		}
		if rapid.Bool().Draw(t, "usage") {
			b.Usage = "<sub>usage</sub>"
		}
		published := b.With(verdict, key)
		// Web forms hand texts back with other line ends, and trimmed or not.
		for _, form := range []string{published, published + "\n\n \n", strings.ReplaceAll(strings.ReplaceAll(published, "\r\n", "\n"), "\n", "\r\n")} {
			got, s, err := Split(form)
			if err != nil {
				t.Fatalf("%q: %v", form, err)
			}
			if s.Body != Hash(got.Text) || got.Notice != b.Notice || got.Usage != b.Usage {
				t.Fatalf("%q was taken for edited: %+v", form, got)
			}
		}
	})
}

func TestTheSentinelIsTheLastLine(t *testing.T) {
	other := strings.Replace(plain, "security", "logic", 1)
	tests := []struct {
		promise, body string
		role          string // "" if none is found
		broken        bool   // found, but not well-formed
		text          string
	}{
		{"alone", plain, "security", false, ""},
		{"behind a text", "Text.\n\n" + plain, "security", false, "Text."},
		{"right behind a text", "Text.\n" + plain, "security", false, "Text."},
		{"line feeds behind it", "Text.\n\n" + plain + "\n\n\n", "security", false, "Text."},
		{"blanks behind it", "Text.\n\n" + plain + " \t\n ", "security", false, "Text."},
		{"line ends of Windows", "Text.\r\n\r\nMore.\r\n\r\n" + plain + "\r\n", "security", false, "Text.\n\nMore."},
		{"the last of two counts", other + "\n\n" + plain, "security", false, other},
		{"one in a code fence before it is text", "```\n" + other + "\n```\n\n" + plain, "security", false, "```\n" + other + "\n```"},
		{"none", "Text.", "", false, "Text."},
		{"empty", "", "", false, ""},
		{"not on the last line", plain + "\n\nText.", "", false, plain + "\n\nText."},
		{"inside a code fence", "```\n" + plain + "\n```", "", false, "```\n" + plain + "\n```"},
		{"indented", "Text.\n\n    " + plain, "", false, "Text.\n\n    " + plain},
		{"quoted", "> " + plain, "", false, "> " + plain},
		{"at the end of a line of text", "Text. " + plain, "", false, "Text. " + plain},
		{"text behind it", plain + " Text.", "", true, plain + " Text."},
		{"two on the last line", plain + other, "", true, plain + other},
		{"a broken one hides a good one", plain + "\n<!-- review-bot:a -->", "", true, plain + "\n<!-- review-bot:a -->"},
		{"spread over two lines", strings.Replace(plain, " own", "\nown", 1), "", false, strings.Replace(plain, " own", "\nown", 1)},
	}
	for _, tt := range tests {
		t.Run(tt.promise, func(t *testing.T) {
			b, s, err := Split(tt.body)
			if (err == nil) != (tt.role != "") || s.Role != tt.role {
				t.Fatalf("role %q, %v", s.Role, err)
			}
			if err != nil && errors.Is(err, ErrNone) == tt.broken {
				t.Errorf("error %v", err)
			}
			if b.Text != tt.text {
				t.Errorf("text %q, want %q", b.Text, tt.text)
			}
		})
	}
}

func TestWhatTheHashCounts(t *testing.T) {
	base := Hash("One.\n\nTwo.")
	for promise, tt := range map[string]struct {
		text string
		same bool
	}{
		"blanks at line ends don't":    {"One. \t\n\nTwo.  ", true},
		"blanks on empty lines don't":  {"One.\n  \nTwo.", true},
		"empty lines around don't":     {"\n\nOne.\n\nTwo.\n\n", true},
		"line ends of Windows don't":   {"One.\r\n\r\nTwo.\r\n", true},
		"a carriage return left over":  {"One.\n\nTwo.\r", true},
		"a word does":                  {"One.\n\nThree.", false},
		"an empty line in between":     {"One.\n\n\nTwo.", false},
		"blanks at the beginning do":   {" One.\n\nTwo.", false},
		"blanks inside a line do":      {"One.\n\n Two.", false},
		"everything gone":              {"", false},
		"something written underneath": {"One.\n\nTwo.\n\nEdited.", false},
	} {
		if (Hash(tt.text) == base) != tt.same {
			t.Errorf("%s: %q", promise, tt.text)
		}
	}
	full, _, _ := Split(Body{Notice: Notice("a", "u", "b", "approves"), Text: "One.\n\nTwo.", Usage: "<sub>1 token</sub>"}.With(verdict, key))
	if Hash(full.Text) != base {
		t.Error("the notice and the usage line count")
	}
	if len(base) != 16 || !hexadecimal(base) {
		t.Errorf("hash %q doesn't fit a sentinel", base)
	}
}

func TestWithSetsHashAndCode(t *testing.T) {
	stale := verdict
	stale.Body, stale.MAC = "ffff", "ffff"
	_, s, err := Split(Body{Text: "Text."}.With(stale, key))
	if err != nil || s.Body != Hash("Text.") || !key.Verify(s) {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestSplitRecognisesANotice(t *testing.T) {
	notice := Notice("logic", "https://forge/o/r/pulls/1#issuecomment-7", "security", "approves")
	for _, word := range []string{"logic", "https://forge/o/r/pulls/1#issuecomment-7", "security itself approves"} {
		if !strings.Contains(notice, word) {
			t.Errorf("%q doesn't say %q", notice, word)
		}
	}
	b, _, err := Split(notice + "\n\nText.\n\n" + plain)
	if err != nil || b.Notice != notice || b.Text != "Text." {
		t.Errorf("%+v, %v", b, err)
	}
	if b, _, _ := Split("> **Held** by nobody\n\nText.\n\n" + plain); b.Notice != "" {
		t.Errorf("taken for a notice: %q", b.Notice)
	}
}
