package finding

import (
	"strings"
	"testing"

	"review-bot/prompts"
	"review-bot/sentinel"
)

func TestProse(t *testing.T) {
	key := sentinel.NewKey("token", "o/r", 1)
	f := Finding{
		ID: "0a1b2c3d", Severity: prompts.High, Category: "security", Key: "0123456789abcdef", Title: "SQL from input",
		Body: "The name goes into the query.",
		Head: strings.Repeat("ab", 20),
	}
	inline := f.Inline("security", key)
	reply := "Done.\n\n" + sentinel.Reply{Thread: "1:2", Covers: 3}.String()
	for name, tt := range map[string]struct{ text, title, prose string }{
		"a person's":         {"I disagree.\n\n<sub>no</sub>", "", "I disagree.\n\n<sub>no</sub>"},
		"nothing":            {"", "", ""},
		"a reply of settle":  {reply, "", "Done."},
		"a finding":          {inline, "SQL from input", f.text()},
		"a finding, closed":  {Closed(inline, f.Head, key), "SQL from input", f.text()},
		"a marker elsewhere": {inline + "\n\nAnd more.", "", inline + "\n\nAnd more."},
	} {
		title, prose := Prose(tt.text)
		if title != tt.title || prose != tt.prose {
			t.Errorf("%s: title %q, prose %q; want %q, %q", name, title, prose, tt.title, tt.prose)
		}
	}
	for _, small := range []string{"<!--", "<sub>", "0a1b2c3d"} {
		if _, prose := Prose(inline); strings.Contains(prose, small) {
			t.Errorf("%q is left in %q", small, prose)
		}
	}
}
