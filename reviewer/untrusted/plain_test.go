package untrusted

import "testing"

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"a plain line":             "a plain line",
		"  two\r\nlines\t":         "two lines",
		"::error::x":               ": :error::x",
		"\n\u200b::error::x":       ": :error::x",
		"[::1]:3000 refused":       "[::1]:3000 refused",
		"##[add-path]/tmp":         "## [add-path]/tmp",
		"#\u200b#[add-path]/tmp":   "## [add-path]/tmp",
		"a ##[group]b":             "a ## [group]b",
		"\x1b[31mred\x1b[0m\a":     "[31mred[0m",
		"\u202egnp.exe":            "gnp.exe",
		"a\u2028b\u0085c\x00":      "a b c",
		"na\xefve":                 "na\uFFFDve",
		"größe / 大きさ / \U0001F600": "größe / 大きさ / \U0001F600",
	} {
		if got := Plain(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
