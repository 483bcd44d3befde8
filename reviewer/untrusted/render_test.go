package untrusted

import (
	"bytes"
	stdhtml "html"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	gtext "github.com/yuin/goldmark/text"
)

// Two parsers as Gitea 1.26 sets them up: what renders a page, and what looks
// for mentions and references (modules/markup/mdstripper).
var parsers = map[string]goldmark.Markdown{
	"page": goldmark.New(
		goldmark.WithExtensions(extension.GFM, extension.DefinitionList, extension.Footnote),
		goldmark.WithParserOptions(parser.WithAttribute()),
		goldmark.WithRendererOptions(html.WithUnsafe()),
	),
	"stripper": goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList,
			extension.DefinitionList, extension.Footnote),
		goldmark.WithParserOptions(parser.WithAttribute()),
		goldmark.WithRendererOptions(html.WithUnsafe()),
	),
}

// alive is wider than all of the server's patterns together. It ignores what
// stands around a word, for the server breaks text at emphasis, code and links.
var alive = regexp.MustCompile(`@[-\w]|[#!][0-9]|\[\[|(?i:https?:|ftp:|(?:^|[^0-9A-Za-z])www\.)|\$`)

// trackers is the server's pattern for tickets of an external tracker.
var trackers = regexp.MustCompile(`(?:\s|^|\(|\[|"|')([A-Z]{1,10}-[1-9][0-9]*)(?:\s|$|\)|\]|:|\.(\s|$)|"|'|,)`)

var shown = regexp.MustCompile(`(?s)<(code|pre|a)[ >].*?</(?:code|pre|a)>|<[^>]*>`)

const sentinelLine = "sentinel paragraph"

// tb is what *testing.T and *rapid.T share.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// checkSafe fails unless md, published as a block of its own, is what the
// package promises.
func checkSafe(t tb, md string) {
	t.Helper()
	checkBytes(t, md)
	for name, gm := range parsers {
		// alone, and folded away
		src := md + "\n\n" + sentinelLine + "\n"
		blocks := checkTree(t, name, gm, src)
		if blocks != 0 {
			t.Fatalf("%s: %d HTML blocks in %q", name, blocks, md)
		}
		src = "<details><summary>s</summary>\n\n" + md + "\n\n</details>\n\n" + sentinelLine + "\n"
		if blocks := checkTree(t, name, gm, src); blocks != 2 {
			t.Fatalf("%s: %d HTML blocks with details around %q", name, blocks, md)
		}
	}
}

func checkBytes(t tb, md string) {
	t.Helper()
	if strings.Contains(md, "<!--") {
		t.Fatalf("comment opener in %q", md)
	}
	for _, r := range md {
		if invisible(r) {
			t.Fatalf("invisible %U in %q", r, md)
		}
	}
}

// checkTree checks the parsed source and returns the number of HTML blocks.
func checkTree(t tb, name string, gm goldmark.Markdown, src string) (blocks int) {
	t.Helper()
	source := []byte(src)
	doc := gm.Parser().Parse(gtext.NewReader(source))
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.HTMLBlock:
			blocks++
		case *ast.RawHTML, *ast.Image, *ast.Heading, *extast.Footnote, *extast.FootnoteLink,
			*extast.TaskCheckBox, *extast.DefinitionList:
			t.Fatalf("%s: %s in %q", name, n.Kind(), src)
		case *ast.CodeSpan:
			return ast.WalkSkipChildren, nil
		case *ast.Link:
			checkLink(t, src, string(n.Destination))
			return ast.WalkSkipChildren, nil
		case *ast.AutoLink:
			checkLink(t, src, string(n.URL(source)))
		case *ast.Text:
			// an entity's digits are no number of an issue: the "&" stays before them
			if !n.IsRaw() {
				if m := alive.FindString(entities.ReplaceAllLiteralString(around(n, source), "\x01")); m != "" {
					t.Fatalf("%s: %q is live in %q", name, m, src)
				}
			}
		}
		return ast.WalkContinue, nil
	})
	last, ok := doc.LastChild().(*ast.Paragraph)
	if !ok || strings.TrimSpace(string(last.Lines().Value(source))) != sentinelLine {
		t.Fatalf("%s: swallowed what follows: %q", name, src)
	}
	// the page is searched again, entities decoded
	var page bytes.Buffer
	if err := gm.Renderer().Render(&page, source, doc); err != nil {
		t.Fatal(err)
	}
	for _, node := range shown.Split(page.String(), -1) {
		node = stdhtml.UnescapeString(node)
		if m := alive.FindString(strings.ReplaceAll(node, "$", "\x01")); m != "" {
			t.Fatalf("%s: %q is live on the page in %q", name, m, src)
		}
		if m := trackers.FindString(node); m != "" {
			t.Fatalf("%s: %q is live on the page in %q", name, m, src)
		}
	}
	return blocks
}

// around is a text node with its sibling text nodes, as the stripper joins them.
func around(n *ast.Text, source []byte) string {
	s := string(n.Value(source))
	for next := n.NextSibling(); next != nil; next = next.NextSibling() {
		sibling, ok := next.(*ast.Text)
		if !ok {
			break
		}
		if prev := next.PreviousSibling().(*ast.Text); prev.SoftLineBreak() || prev.HardLineBreak() {
			break
		}
		s += string(sibling.Value(source))
		if len(s) > 200 {
			break
		}
	}
	return s
}

func checkLink(t tb, src, dest string) {
	t.Helper()
	dest = entities.ReplaceAllStringFunc(dest, decodeEntity)
	u, ok := destination(dest)
	if !ok || u != dest {
		t.Fatalf("link to %q in %q", dest, src)
	}
	if regexp.MustCompile(`^https?:/*[^/]+/[^/]+/[^/]+/(issues|pulls)/`).MatchString(dest) && !strings.HasPrefix(dest, "https://github.com/") {
		t.Fatalf("reference by URL %q in %q", dest, src)
	}
}
