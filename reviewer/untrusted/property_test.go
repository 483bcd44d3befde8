package untrusted

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// fragments are what attacks are made of.
var fragments = []string{
	"`", "``", "```", "````", "~~~", "~~", "~", "```go", "\n", "\n", "\n\n", " ", " ", "    ", "\t", "- ", "* ", "1. ", "23) ", "+ ",
	"> ", ">", ">> ", "<", "</", ">", "<!--", "<!-", "-->", "--", "]]>", "<![CDATA[", "<?", "<div>", "</details>", "<img src=x>", "<a href=", "<script>",
	"&#64;bob", "\\@bob", "&commat;bob", "@bob", "@org/team", "@", "&#35;", "&num;12", "&amp;#64;bob", "&lt;", "&", "&#x5b;", "&#10;", "&Tab;", "&ZeroWidthSpace;", "&dollar;",
	"#12", "!12", "alice/shop#3", "alice/shop!3", "fixes ", "closes: ", "resolves ", "ABC-123", "alice/shop@d8a994ef", "@1h30m",
	"[", "]", "(", ")", "](", "![", "[x](", "[a](https://a.b)", "![i](http://e.x/i.png)", "[r]: https://a.b \"t\"", "[^1]", "[^1]: n", "[[", "]]", "[[http://e/x.png]]", "[ ] ", "[x] ",
	"[j](javascript:alert(1))", "[d](data:text/html,x)", "[i](https://h.i/o/r/issues/12)", "https://h.i/o/r/pulls/3", "[rel](/o/r/issues/12)", "[m](mailto:/o/r/issues/3)",
	"<http://a.b/@bob>", "<mailto:a@b.c>", "<a@b.c>", "http://a.b", "https://a.b/c_d*", "www.a.bc", "http:", "https:", "ftp:", "ftp://x", "http: ",
	"a@b.c", "`a@b.c @bob`", "x`", "=", "javascript:", "*", "**", "_", "__", "***", "---", "===", "= ", ": ", ":-", "|", "||", "|-|-|", "| a | b |", "\n|---|---|\n", "\n---\n", "\n===\n", "# ", "## h",
	"\\", "\\\\", "\\`", "\\[", "\\(", "\\)", "$", "$$", "$`", "\"", "'", "{#id}", "^", "word", "x", "12", "é", "日本", "\u202e", "\u200b", "\u00a0", "\r\n", "\r", "\x00", "\xff", "\u2028",
}

func adversarial() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom(fragments), rapid.SampledFrom(fragments), rapid.SampledFrom(fragments), rapid.StringN(0, 4, -1),
		), 0, 40).Draw(t, "parts")
		return strings.Join(parts, "")
	})
}

func TestMarkdownIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := adversarial().Draw(t, "s")
		once := Markdown(s)
		checkSafe(t, once)
		if twice := Markdown(once); twice != once {
			t.Fatalf("second pass of %q: %q, first: %q", s, twice, once)
		}
		if once != strings.Trim(once, "\n") {
			t.Fatalf("newlines around %q", once)
		}
	})
}

func TestLineIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := adversarial().Draw(t, "s")
		limit := rapid.IntRange(0, 60).Draw(t, "limit")
		line := Line(s, limit)
		if strings.Contains(line, "\n") || limit > 0 && utf8.RuneCountInString(line) > limit {
			t.Fatalf("Line(%q, %d) = %q", s, limit, line)
		}
		checkSafe(t, line)
		checkSafe(t, "before "+line+" after")
		checkSafe(t, "before\n"+line+"\nafter")
		checkSafe(t, "**critical** "+line)
		checkSafe(t, "- "+line)
		checkCells(t, line)
		if line != "" {
			checkSafe(t, "["+line+"](https://a.b)")
		}
	})
}

func TestCodeIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := adversarial().Draw(t, "s")
		info := adversarial().Draw(t, "info")
		checkSafe(t, CodeFence(info, s))
		if fence := CodeFence(info, s); !strings.HasSuffix(fence, "\n") || codeOf(t, fence) == nil {
			t.Fatalf("CodeFence(%q, %q) = %q", info, s, fence)
		}
		checkSafe(t, CodeSpan(s))
		checkSafe(t, "a "+CodeSpan(s)+" b")
		checkSafe(t, CellCode(s))
		checkCells(t, CellCode(s))
		if strings.Contains(BreakMarkers(s), "<!--") {
			t.Fatalf("BreakMarkers(%q)", s)
		}
	})
}

// checkCells fails unless cell stays one cell of a table.
func checkCells(t tb, cell string) {
	t.Helper()
	table := "| a | b | c |\n| --- | --- | --- |\n| left | " + cell + " | right |"
	checkSafe(t, table)
	if got := cellsOf(table); len(got) != 3 || got[0] != "left" || got[2] != "right" {
		t.Fatalf("cells %q of %q", got, table)
	}
}

func TestLinearTime(t *testing.T) {
	for _, unit := range []string{"`", "` ", "` `` ``` ", "[", "]", "[a](", "[](a[](", "![", "<", "<a ", "<http:", "[[", "[[a", "(", "](", "](]", "[a](b \"", "&", "&#", "@", "@a", "a@", "#1", "http:", "http://", "w.", "A", "A-", "\\", "\\`",
		"> ", ">", "- ", "1. ", "  - a\n", "~", "*", "* ", "_", "|", "|a", "a|b\n-|-\n", "```\n", "\n", "a\n", "$",
		"-----BEGIN PRIVATE KEY-----\n", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----AAAA", "sk-", "eyJ", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"} {
		start := time.Now()
		s := strings.Repeat(unit, 1<<15/len(unit))
		if unit == "`" || unit == "[" || unit == "<" {
			Markdown(strings.Repeat(unit, 1<<20))
			s = strings.Repeat(unit, 1<<16)
		}
		Markdown(s)
		Line(s, 100)
		CodeFence("go", s)
		CellCode(s)
		Mask(s)
		// well under a second; quadratic time would take minutes
		if took := time.Since(start); took > 15*time.Second {
			t.Errorf("many %q: %v", unit, took)
		} else if testing.Verbose() {
			t.Logf("%q: %v", unit, took)
		}
	}
}
