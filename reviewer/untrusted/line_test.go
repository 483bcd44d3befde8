package untrusted

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	for _, c := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"plain", "SQL built from request input", 0, "SQL built from request input"},
		{"white space", " a\n\n b\t c ", 0, "a b c"},
		{"nothing", "\u200b\n", 10, ""},
		{"code", "`Map<K, V>` leaks", 0, "`Map<K, V>` leaks"},
		{"pipes", "a || b", 0, `a \|\| b`},
		{"pipe in code", "`a | b`", 0, `a \| b`},
		{"emphasis", "**bold** _it_ snake_case ~~x~~", 0, `\*\*bold\*\* \_it\_ snake_case \~\~x\~\~`},
		{"link", "[a](https://e.x) https://e.y", 0, "a (`https://e.x`) `https://e.y`"},
		{"image", "![a](https://e.x)", 0, "a (`https://e.x`)"},
		{"mention", "ask @bob about #12", 0, "ask `@bob` about `#12`"},
		{"brackets", "a](https://e.x) [b", 0, "a&#93;(`https://e.x`) &#91;b"},
		{"HTML", "</details><!-- x -->", 0, "&lt;/details>&lt;!-- x -->"},
		{"heading", "# x", 0, `\# x`},
		{"bullet", "- x", 0, `\- x`},
		{"quote", "> x", 0, `\> x`},
		{"number", "1. x", 0, `1\. x`},
		{"entity for a space, then a bullet", "&#32;- x", 0, `\- x`},
		{"rule", "---", 0, `\---`},
		{"fits", "abcde", 5, "abcde"},
		{"cut", "abcdef", 5, "abcd…"},
		{"cut at a space", "abc defg", 5, "abc…"},
		{"cut in runes", "日本語日本語", 4, "日本語…"},
		{"cut before an entity", "abc<def", 6, "abc…"},
		{"cut behind an entity", "abc<def", 8, "abc&lt;…"},
		{"cut before an escape", "ab*cdef", 4, "ab…"},
		{"guard and cut", "- abcdef", 6, `\- ab…`},
		{"cut in code", "see `longfunctionname` here", 16, "see `longfunct…`"},
		{"cut before code", "see `longfunctionname` here", 8, "see …"},
		{"one", "abc", 1, "…"},
	} {
		got := Line(c.in, c.limit)
		if got != c.want {
			t.Errorf("%s: Line(%q, %d) = %q, want %q", c.name, c.in, c.limit, got, c.want)
		}
		if c.limit > 0 && utf8.RuneCountInString(got) > c.limit {
			t.Errorf("%s: %q is longer than %d", c.name, got, c.limit)
		}
		checkSafe(t, got)
		checkCells(t, got)
	}
}

// Every limit gives a safe line: no border falls within an escape.
func TestLineAtEveryLimit(t *testing.T) {
	in := "1. `a``b` **x** \\* &lt;@bob|`p|q` #12 [a](https://e.x) <!-- $ \\ ! ![b](x) `" + strings.Repeat("long", 10) + "`"
	for limit := range 150 {
		line := Line(in, limit)
		checkSafe(t, line)
		checkCells(t, line)
		if n := utf8.RuneCountInString(line); limit > 0 && n > limit {
			t.Errorf("limit %d: %d runes in %q", limit, n, line)
		}
	}
}
