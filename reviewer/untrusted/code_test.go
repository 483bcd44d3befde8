package untrusted

import (
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	gtext "github.com/yuin/goldmark/text"
)

// codeOf returns the only block of md if it is a fence: its language and code.
func codeOf(t tb, md string) []string {
	t.Helper()
	source := []byte(md)
	doc := parsers["page"].Parser().Parse(gtext.NewReader(source))
	fence, ok := doc.FirstChild().(*ast.FencedCodeBlock)
	if !ok || doc.FirstChild() != doc.LastChild() {
		return nil
	}
	return []string{string(fence.Language(source)), string(fence.Lines().Value(source))}
}

// cellsOf returns the text of the cells of a table's last row.
func cellsOf(md string) (cells []string) {
	source := []byte(md)
	doc := parsers["page"].Parser().Parse(gtext.NewReader(source))
	table, ok := doc.FirstChild().(*extast.Table)
	if !ok || doc.FirstChild() != doc.LastChild() {
		return nil
	}
	for c := table.LastChild().FirstChild(); c != nil; c = c.NextSibling() {
		var b strings.Builder
		_ = ast.Walk(c, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if n, ok := n.(*ast.Text); ok && entering {
				b.Write(n.Value(source))
			}
			return ast.WalkContinue, nil
		})
		cells = append(cells, b.String())
	}
	return cells
}

func TestCodeFence(t *testing.T) {
	for _, c := range []struct{ name, info, code, want string }{
		{"plain", "diff", "- a\n+ b\n", "```diff\n- a\n+ b\n```\n"},
		{"empty", "", "", "```\n```\n"},
		{"blank lines at the end", "go", "x\n\n\n", "```go\nx\n```\n"},
		{"fence inside", "", "```\nx\n````\n", "`````\n```\nx\n````\n`````\n"},
		{"comment", "html", "<!-- review-bot:x -->", "```html\n< !-- review-bot:x -->\n```\n"},
		{"bidi shown", "go", "if a \u202e\u2066// b\u200b {", "```go\nif a \\u{202E}\\u{2066}// b\\u{200B} {\n```\n"},
		{"split opener", "", "<\u200b!--", "```\n<\\u{200B}!--\n```\n"},
		{"carriage returns", "", "a\r\nb\rc", "```\na\nb\\u{000D}c\n```\n"},
		{"info of several words", "go title=`x`", "x", "```go\nx\n```\n"},
		{"info that isn't one", "`x`", "x", "```\nx\n```\n"},
		{"info with a newline", "go\n```\n@bob", "x", "```go\nx\n```\n"},
		{"drawn languages", "mermaid", "x", "```text\nx\n```\n"},
		{"c++", "c++", "x", "```c++\nx\n```\n"},
		{"invalid UTF-8", "", "a\xffb", "```\na\uFFFDb\n```\n"},
		{"tab stays", "", "\tx", "```\n\tx\n```\n"},
	} {
		got := CodeFence(c.info, c.code)
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		checkSafe(t, got)
	}
}

func TestCodeSpan(t *testing.T) {
	for _, c := range []struct{ name, s, span, cell, shown string }{
		{"path", "store/user.go:42", "`store/user.go:42`", "`store/user.go:42`", "store/user.go:42"},
		{"nothing", " \n", "", "", ""},
		{"backtick inside", "a`b", "``a`b``", "``a`b``", "a`b"},
		{"backticks at the ends", "`a`", "`` `a` ``", "`` `a` ``", "`a`"},
		{"two backticks", "a``b", "`a``b`", "`a``b`", "a``b"},
		{"newline", "a\nb", "`a b`", "`a b`", "a b"},
		{"pipe", "a|b", "`a|b`", "`a\\|b`", "a|b"},
		{"backslash and pipe", `a\|b`, "`a\\|b`", `a&#92;\|b`, ""},
		{"backslash at the end", `C:\`, "`C:\\`", "`C:\\`", `C:\`},
		{"comment", "<!--", "`< !--`", "`< !--`", "< !--"},
		{"bidi", "a\u202eb", "`a\\u{202E}b`", "`a\\u{202E}b`", `a\u{202E}b`},
		{"mention", "@bob", "`@bob`", "`@bob`", "@bob"},
	} {
		if got := CodeSpan(c.s); got != c.span {
			t.Errorf("%s: span %q, want %q", c.name, got, c.span)
		}
		got := CellCode(c.s)
		if got != c.cell {
			t.Errorf("%s: cell %q, want %q", c.name, got, c.cell)
		}
		cells := cellsOf("| a | b |\n| --- | --- |\n| " + got + " | end |")
		if len(cells) != 2 || cells[1] != "end" || c.shown != "" && cells[0] != c.shown {
			t.Errorf("%s: cells %q", c.name, cells)
		}
	}
}
