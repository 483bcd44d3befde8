package untrusted

import (
	"strings"
	"testing"
)

var markdownCases = []struct{ name, in, want string }{
	// what people and models write: it must stay what it is
	{"plain words", `Two plain sentences. And "quotes", 50%, a+b=c.`, `Two plain sentences. And "quotes", 50%, a+b=c.`},
	{"emphasis", "This is **bold**, *italic*, __strong__, _em_ and ~~gone~~.", "This is **bold**, *italic*, __strong__, _em_ and ~~gone~~."},
	{"identifiers", "snake_case_name and __init__.py, 2 * 3 * 4", "snake_case_name and __init__.py, 2 * 3 * 4"},
	{"generics in code", "Use `Map<String, List<T>>` here", "Use `Map<String, List<T>>` here"},
	{"comparison in text", "if a < b && c <= d then x > y", "if a < b && c <= d then x > y"},
	{"generics in text", "a List<String> in text", "a List&lt;String> in text"},
	{"list", "Found:\n- one\n- two\n  - nested\n    deeper text\n- three\n\nDone.", "Found:\n\n- one\n- two\n  - nested\n    deeper text\n- three\n\nDone."},
	{"ordered list", "1. first\n2. second\n   - sub\n10) tenth", "1. first\n2. second\n   - sub\n10. tenth"},
	{"loose list", "* a\n\n* b\n\n  more of b\n\nout", "- a\n\n- b\n\n  more of b\n\nout"},
	{"tab-indented list", "- a\n\t- b\n\t\t- c", "- a\n  - b\n    - c"},
	{"fence", "See:\n```go\nif a < b && c {\n\tx := `y`\n}\n```\nafter", "See:\n\n```go\nif a < b && c {\n\tx := `y`\n}\n```\n\nafter"},
	{"fence in a list", "- do this:\n  ```diff\n  - a\n  + b\n  ```\n- next", "- do this:\n\n```diff\n- a\n+ b\n```\n\n- next"},
	{"fence behind a marker", "1. ```\n   x\n   ```", "```\nx\n```"},
	{"fence in a quote", "> said\n> ```\n> code\n> ```\n> end", "> said\n\n```\ncode\n```\n\n> end"},
	{"tilde fence", "~~~\n```\n~~~", "````\n```\n````"},
	{"unclosed fence", "text\n````js\n```\nalert(1)", "text\n\n````js\n```\nalert(1)\n````"},
	{"fence that isn't one", "```not a fence```", "`not a fence`"},
	{"quote", "> one\n> two\n>\n> three\nlazy", "> one\n> two\n>\n> three\n\nlazy"},
	{"nested quote", "> a\n>> b", "> a\n\n> > b"},
	{"heading", "# Title #\n## Sub `code` **x**\ntext", "**Title**\n\n**Sub `code` x**\n\ntext"},
	{"setext heading", "Title\n=====\nbody\n\nSub\n---\nbody", "**Title**\n\nbody\n\n**Sub**\n\nbody"},
	{"rule", "above\n\n---\n\nbelow", "above\n\n***\n\nbelow"},
	{"front matter", "---\ntitle: x\n---\ntext", "***\n\n**title: x**\n\ntext"},
	{"table", "| name | n |\n|:-----|--:|\n| `a` | 1 |\n| b | 2 |", "| name | n |\n| :--- | ---: |\n| `a` | 1 |\n| b | 2 |"},
	{"pipe in code in a table", "| a | b |\n|---|---|\n| `x|y` | z |\n| p\\|q | r |", "| a | b |\n| --- | --- |\n| `x\\|y` | z |\n| p\\|q | r |"},
	{"pipe and backslash in code in a table", "| a |\n|---|\n| `x\\\\|@y` |", "| a |\n| --- |\n| x&#92;\\|`@y` |"},
	{"too many cells", "a | b\n--|--\n1 | 2 | 3", "| a | b |\n| --- | --- |\n| 1 | 2 \\| 3 |"},
	{"delimiter row alone", "text\n|---|---|\n:--\n=-=", "text\n\\|---|---|\n\\:--\n=-="},

	// links and images
	{"link", `[docs](https://example.com/a_b?x=1&copy=2#f "title")`, "[docs](https://example.com/a_b?x=1&copy=2#f)"},
	{"link with an entity", "[a](https://e.x/?a&amp;b&copy;)", "[a](https://e.x/?a&b%C2%A9)"},
	{"link with parentheses", "[w](https://en.wikipedia.org/wiki/Go_(game))", "[w](https://en.wikipedia.org/wiki/Go_%28game%29)"},
	{"bare URL", "See https://example.com/a_b_c?x=1, or (http://x.org/y).", "See <https://example.com/a_b_c?x=1>, or (<http://x.org/y>)."},
	{"autolinks", "<https://example.com> <mailto:dev@example.com> <dev@example.com>", "<https://example.com> [` dev@example.com `](mailto:dev@example.com) ` dev@example.com `"},
	{"mail link", "[write](mailto:dev@example.com)", "[write](mailto:dev@example.com)"},
	{"code in a link", "[`main.go`](https://example.com/main.go)", "[`main.go`](https://example.com/main.go)"},
	{"image", "![chart](https://evil.example/p.png)", "[chart](https://evil.example/p.png)"},
	{"image in a link", "[![ci](https://e.x/b.svg)](https://e.x/run)", "[ci](https://e.x/run)"},
	{"reference image", "![a][i]\n\n[i]: https://evil.example/p.png", "!&#91;a&#93;&#91;i&#93;\n\n&#91;i&#93;: <https://evil.example/p.png>"},
	{"escaped image bang", `\![a](https://e.x)`, "&#33;[a](https://e.x)"},
	{"script link", "[click](javascript:alert(1)) [d](data:text/html;base64,AA==)", "click (`javascript:alert(1)`) d (`data:text/html;base64,AA==`)"},
	{"encoded script link", "[c](java&#115;cript:alert(1)) [c](&#x6A;avascript:x)", "c (`javascript:alert(1)`) c (`javascript:x`)"},
	{"relative link", "[readme](../README.md) [a](/alice/shop/issues/3)", "readme (`../README.md`) a (`/alice/shop/issues/3`)"},
	{"userinfo link", "[x](https://good.example@evil.example/)", "x (`https://good.example@evil.example/`)"},
	{"link in a link", "[a [b](https://e.x/1) c](https://e.x/2)", "[a b (`https://e.x/1`) c](https://e.x/2)"},
	{"link without a label", "[](https://e.x) [ ](https://e.x) [](x)", "[`https://e.x`](https://e.x) [`https://e.x`](https://e.x) `x`"},
	{"link across code", "[a](`b)` c", "&#91;a&#93;(`b)` c"},
	{"check boxes", "- [ ] open\n- [x] done\n- [x](https://e.x)", "- &#91; &#93; open\n- &#91;x&#93; done\n- [&#120;](https://e.x)"},

	// mentions and references
	{"mention", "@bob, (@alice) @org/team: @a-b.c's **@d**", "`@bob`, (`@alice`) `@org/team`: ` @a-b.c `'s **`@d`**"},
	{"escaped mention", `\@bob \@\_x`, "`@bob` `@_x`"},
	{"entity mention", "&#64;bob &commat;bob &#x40;bob &amp;#64;bob", "`@bob` `@bob` `@bob` &`#64`;bob"},
	{"split mention", "@\u200bbob @&#8203;bob @&ZeroWidthSpace;bob", "`@bob` `@bob` `@bob`"},
	{"mention behind a dropped star", "# @*bob*", "**`@bob`**"},
	{"mention behind a dropped link", "@[bob](x) #[12](y)", "`@bob` (`x`) `#12` (`y`)"},
	{"mention next to code", "`a`@bob`c`", "`a` `@bob` `c`"},
	{"mail address", "mail dev@example.com now", "mail ` dev@example.com ` now"},
	{"time log", "#1 @2h30m", "`#1` `@2h30m`"},
	{"issue numbers", "#12 !12 (#3) **#4** C#5 alice/shop#6 alice/shop!7", "`#12` `!12` (`#3`) **`#4`** `C#5` `alice/shop#6` `alice/shop!7`"},
	{"closing keywords", "fixes #1, Closes: alice/shop#2, resolves https://git.example.com/alice/shop/issues/3", "fixes `#1`, Closes: `alice/shop#2`, resolves `https://git.example.com/alice/shop/issues/3`"},
	{"issue links", "[x](https://git.example.com/alice/shop/pulls/3) [y](https://github.com/golang/go/issues/4)", "x (`https://git.example.com/alice/shop/pulls/3`) [y](https://github.com/golang/go/issues/4)"},
	{"issue without host", "[x](http:///alice/shop/issues/3) [y](mailto:/alice/shop/issues/3)", "x (`http:///alice/shop/issues/3`) y (`mailto:/alice/shop/issues/3`)"},
	{"tickets", "ABC-123, SHA-256; CVE-2024-1234 and UTF-8.", "`ABC-123`, `SHA-256`; CVE-2024-1234 and `UTF-8`."},
	{"commit elsewhere", "alice/shop@d8a994ef", "`alice/shop@d8a994ef`"},
	{"commit here", "see 1a2b3c4d", "see 1a2b3c4d"},
	{"wiki links", "[[Home]] [[https://e.x/a.png]] if [[ -f x ]]; a[[0]", "`[[Home]]` `[[https://e.x/a.png]]` if `[[ -f x ]]`; a`[[0]`"},
	{"linkifier's long arm", "http: `see https://e.x @bob` ftp: www.e.x", "`http:` `see https://e.x @bob` `ftp:` `www.e.x`"},
	{"address over a backtick", "x`a@b.c @bob`", "x` a@b.c @bob `"},
	{"other schemes", "ftp://e.x/f git+ssh://h/r", "`ftp://e.x/f` `git+ssh://h/r`"},

	// markup that would act
	{"comment", "a <!-- review-bot:x v=1 --> b", "a &lt;!-- review-bot:x v=1 --> b"},
	{"comment in code", "`<!-- x -->`\n\n```\n<!-- review-bot:x v=1 -->\n```", "`< !-- x -->`\n\n```\n< !-- review-bot:x v=1 -->\n```"},
	{"comment split", "<\u200b!-- x --> &lt;!-- y --> <!<!---- z", "&lt;!-- x --> &lt;!-- y --> &lt;!&lt;!---- z"},
	{"raw HTML", "<b onclick=x>hi</b><br><img src=x>", "&lt;b onclick=x>hi&lt;/b>&lt;br>&lt;img src=x>"},
	{"break out of details", "</details>\n<script>alert(1)</script>\n<![CDATA[ x ]]> <?php", "&lt;/details>\n&lt;script>alert(1)&lt;/script>\n&lt;!&#91;CDATA&#91; x &#93;&#93;> &lt;?php"},
	{"math", `$x$ and $$y$$ cost $5 \(z\) \[w\]`, "&#36;x&#36; and &#36;&#36;y&#36;&#36; cost &#36;5 (z) &#91;w&#93;"},
	{"footnote", "a[^1]\n\n[^1]: note", "a&#91;^1&#93;\n\n&#91;^1&#93;: note"},
	{"definition list", "term\n: definition", "term\n\\: definition"},
	{"drawn language", "```mermaid\ngraph\n```", "```text\ngraph\n```"},

	// odds and ends
	{"stray backticks", "a ` b `` c", "a &#96; b &#96;&#96; c"},
	{"backticks in code", "`` a`b `` and ``` `` ```", "``a`b`` and ` `` `"},
	{"code over two lines", "`a\nb` @x", "&#96;a\nb&#96; `@x`"},
	{"backslashes", `C:\dir\file \d+ a\\b end\`, `C:\dir\file \d+ a\b end&#92;`},
	{"bidi", "if a\u202e \u2066b\u2069", "if a b"},
	{"line ends", "a\r\nb\rc\u2028d\u00a0e\x00f", "a\nb\nc d ef"},
	{"text that starts like a block", "- # x\n- > y\n\n&#35; z\n\n1986\\. A year\n\n\\- no item\n\n+", "- \\# x\n- \\> y\n\n\\# z\n\n1986\\. A year\n\n\\- no item"},
	{"indented code", "text\n\n    code @bob", "text\n\ncode `@bob`"},
	{"nothing", " \n\t\n\u200b", ""},
}

func TestMarkdown(t *testing.T) {
	for _, c := range markdownCases {
		t.Run(c.name, func(t *testing.T) {
			got := Markdown(c.in)
			if got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
			checkSafe(t, got)
		})
	}
}

// What people must still see of ordinary markdown, rendered.
func TestMarkdownStaysReadable(t *testing.T) {
	for _, c := range []struct{ name, in, html string }{
		{"inline", "**bold** `Map<String, List<T>>` a < b && c List<T>", "<p><strong>bold</strong> <code>Map&lt;String, List&lt;T&gt;&gt;</code> a &lt; b &amp;&amp; c List&lt;T&gt;</p>"},
		{"list", "- a\n  - b\n- c", "<ul>\n<li>a\n<ul>\n<li>b</li>\n</ul>\n</li>\n<li>c</li>\n</ul>"},
		{"ordered list", "2. a\n3. b", "<ol start=\"2\">\n<li>a</li>\n<li>b</li>\n</ol>"},
		{"link", "[a](https://e.x/?a=1&b=(2))", "<p><a href=\"https://e.x/?a=1&amp;b=%282%29\">a</a></p>"},
		{"fence", "```go\na < b\n```", "<pre><code class=\"language-go\">a &lt; b\n</code></pre>"},
		{"cell", "|a|\n|---|\n|`x|y`|", "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><code>x|y</code></td>\n</tr>\n</tbody>\n</table>"},
		{"quote", "> a\n> - b", "<blockquote>\n<p>a</p>\n<ul>\n<li>b</li>\n</ul>\n</blockquote>"},
		{"mail address", "to a@b.cd", "<p>to <code>a@b.cd</code></p>"},
		{"literal markup", `\*a\* \_b\_ \~~c \# \<d>`, "<p>*a* _b_ ~~c # &lt;d&gt;</p>"},
	} {
		var b strings.Builder
		if err := parsers["page"].Convert([]byte(Markdown(c.in)), &b); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(b.String()); got != c.html {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.html)
		}
	}
}
