package finding

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"review-bot/prompts"
	"review-bot/reviewer/diff"
	"review-bot/sentinel"
)

// later is the report of a second round about change: of every kind one finding.
func later(t *testing.T) Report {
	t.Helper()
	d := parse(t, change)
	posted := anchored(t, change,
		severe(prompts.Critical, at("a.go", 10, "one")), at("a.go", 13, "three"), at("a.go", 14, "four"), old(at("a.go", 11, "two")),
		severe(prompts.Medium, at("dir/new (1).go", 1, "package dir")), severe(prompts.Low, at("p.png", 1, "")), severe(prompts.Low, at("gone.go", 3, "")))
	var comments []Comment
	var unplaced []Finding
	for i, f := range posted {
		f.ID = fmt.Sprintf("%08x", i+1)
		if f.Where == InBody {
			unplaced = append(unplaced, f)
			continue
		}
		comments = append(comments, commented(int64(100+i), f, "security"))
		comments[len(comments)-1].URL = fmt.Sprintf("https://git.example.com/alice/shop/pulls/42#issuecomment-%d", 100+i)
	}
	for i := range comments {
		switch {
		case strings.Contains(comments[i].Body, "Title of three"):
			comments[i].Resolver = person
		case strings.Contains(comments[i].Body, "Title of four"):
			comments = append(comments, as(comments[i], func(c *Comment) { c.ID = 200 }, byPerson, saying("It can't be nil here.")))
		case strings.Contains(comments[i].Body, "Title of two"):
			comments[i].Resolver = bot
		}
	}
	m := memory(comments...)
	m.Body = report(unplaced...).Text()
	earlier := m.Earlier()
	var retained []string
	for i, e := range earlier {
		earlier[i].Since = Change{Known: true, Path: e.Place.Path}
		if e.Title == "Title of one" || e.Where == InBody && e.Place.Path == "gone.go" {
			retained = append(retained, e.ID)
		}
	}
	back := old(at("a.go", 11, "two"))
	fresh := Anchored(prompts.Answer{Findings: []prompts.Finding{at("a.go", 11, "TWO"), back}}, d, base, func() func() string {
		next := counter()
		return func() string { return "f" + next()[1:] }
	}())
	doubted := earlier[0].ID // the critical one: the answer forgets it
	c := fixed(
		Case{Fresh: fresh, Retained: retained[1:], Earlier: earlier, Shown: always, Diff: d, Head: base, Author: authorID})
	c.Closed = slices.DeleteFunc(c.Closed, func(f prompts.Fix) bool { return f.ID == doubted })
	round := Merge(c)
	r := report(round.Counted...)
	r.Head, r.Resolved, r.Answered, r.Waived = base, round.Resolved, round.Answered, round.Waived
	return r
}

// What a pull request's author reads in later rounds.
func TestLaterBodiesAreAsTheGoldenFilesShow(t *testing.T) {
	r := later(t)
	golden(t, "later", splits(t, r)+"\n")

	left := report()
	left.Resolved, left.Answered, left.Waived = r.Resolved, r.Answered, r.Waived
	golden(t, "answered", splits(t, left)+"\n")
}

func TestHeadlines(t *testing.T) {
	one, many := []Finding{{Severity: prompts.High}}, []Finding{{Severity: prompts.High}, {Severity: ""}, {Severity: prompts.Low}}
	for want, change := range map[string]func(*Report){
		"**security approves** · nothing found in 2 files":                                func(*Report) {},
		"**security approves** · nothing found in 1 file":                                 func(r *Report) { r.Files = 1 },
		"**security approves** · nothing open in 2 files: 1 answered":                     func(r *Report) { r.Answered = one },
		"**security approves** · nothing open in 2 files: 3 waived":                       func(r *Report) { r.Waived = many },
		"**security approves** · nothing open in 2 files: 1 closed, 3 answered, 1 waived": func(r *Report) { r.Resolved, r.Answered, r.Waived = one, many, one },
		"**security comments** · nothing open in 2 files: 1 closed":                       func(r *Report) { r.Resolved, r.Own = one, sentinel.Comment },
		"**security requests changes** · 2 findings block, 1 is minor":                    func(r *Report) { r.Findings, r.Own = many, sentinel.RequestChanges },
		"**security requests changes** · 1 finding blocks":                                func(r *Report) { r.Findings, r.Own, r.Answered = one, sentinel.RequestChanges, many },
		"**security approves** · 1 minor finding":                                         func(r *Report) { r.Findings = many[2:] },
		"**security comments** · 3 findings":                                              func(r *Report) { r.Findings, r.Own = many, sentinel.Comment },
	} {
		r := report()
		change(&r)
		if got := r.Headline(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if !strings.HasPrefix(r.Text(), want+"\n") && r.Text() != want {
			t.Errorf("the body begins otherwise: %.100s", r.Text())
		}
	}
}

// An address may hold anything: neither the link nor the row ends in it.
func TestNoAddressEndsALink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		evil := rapid.OneOf(hostile(), rapid.String()).Draw(t, "address")
		url := rapid.SampledFrom([]string{"x", "https://x/", "http://x/", "javascript:", "//x/"}).Draw(t, "scheme") + evil
		f := Finding{
			ID: "1f3c9a2b", Title: rapid.SampledFrom([]string{"T", "a|b\nc", "x](y", "[z]", "\\"}).Draw(t, "title"), Severity: prompts.High, Where: Inline, URL: url, Head: head, State: Retained,
			Place: diff.Place{Path: hostile().Draw(t, "path"), Line: 3, Side: diff.New},
		}
		for _, mine := range []bool{true, false} {
			r := report(f)
			r.Resolved, r.Summary = []Finding{f}, ""
			if mine {
				r.Repo, r.Pull, r.Findings[0].URL, r.Resolved[0].URL = url, url, "", ""
			}
			text := splits(t, r)
			lines := strings.Split(text, "\n")
			row, item := lines[4], lines[8]
			cells := strings.Split(strings.ReplaceAll(row, `\|`, ""), "|")
			if len(cells) != 5 || cells[1] != " high · still open " || cells[4] != "" || lines[5] != "" || !strings.HasPrefix(item, "- ") || lines[9] != "" || lines[10] != "</details>" {
				t.Fatalf("%q\n%s", cells, text)
			}
			for _, link := range strings.Split(cells[2], "](")[1:] {
				if strings.Trim(link, " ") != strings.TrimRight(link, " ") || strings.Count(link, ")") != 1 || !strings.HasSuffix(strings.TrimSpace(link), ")") || !strings.HasPrefix(link, "http") {
					t.Fatalf("a link ends early, or leads to no page: %q", link)
				}
			}
			if strings.HasPrefix(url, "http") != strings.Contains(cells[2], "](http") {
				t.Fatalf("%q is linked: %q", url, cells[2])
			}
		}
	})
}

func TestATitleThatShowsNothingIsSaid(t *testing.T) {
	f := Finding{ID: "1f3c9a2b", Title: "\u200b \u202e", Severity: prompts.High, Where: Inline, URL: "https://x/1", State: Retained}
	r := report(f)
	r.Resolved = []Finding{f}
	if text := r.Text(); strings.Count(text, "[(no title)](https://x/1)") != 2 {
		t.Errorf("%s", text)
	}
}

// The worst case of everything at once stays within bounds, and says what it leaves out.
func TestABodyOfEverythingIsBounded(t *testing.T) {
	for _, title := range []string{"T", strings.Repeat("`&<", 300)} {
		var list []Finding
		for i := range 500 {
			f := posted(t)
			f.ID, f.Title, f.State, f.URL = fmt.Sprintf("%08x", i), title, Retained, "https://git.example.com/alice/shop/pulls/42#issuecomment-"+fmt.Sprint(i)
			f.Place.Path = strings.Repeat("dir(/", i%40) + "f.go"
			list = append(list, f)
		}
		r := report(list...)
		r.Resolved, r.Answered, r.Waived = list, list, list
		r.Summary = strings.Repeat("&<|*[", 2000)
		for i := range 300 {
			r.Unread = append(r.Unread, Unread{Path: strings.Repeat("(", i+1), Why: "binary"})
		}
		below := inBody(posted(t))
		below.ID, below.Body = "ffffffff", strings.Repeat("<", 5000)
		r.Findings = append(r.Findings, below)
		text := splits(t, r)
		if n := utf8.RuneCountInString(text); n > maxBody+1000 || n < 20_000 {
			t.Errorf("%d characters", n)
		}
		for _, want := range []string{
			"501 findings block", " more in the comments and below.", "<details><summary>Closed since the last round (500)</summary>",
			"<summary>Answered, no longer counted (500)</summary>", "<summary>Waived by a maintainer (500)</summary>",
			"<summary>Not read (300 files): no approval covers these</summary>",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("it doesn't say %q", want)
			}
		}
		if n := strings.Count(text, "\n- and "); n != 4 {
			t.Errorf("%d lists say that they are cut", n)
		}
		if strings.Count(text, "<details>") != 4 || strings.Count(text, "</details>") != 4 {
			t.Error("a list isn't closed")
		}
	}
}

// Every file that wasn't read is named, as long as there is room: a hundred others hide none.
func TestEveryUnreadFileIsNamed(t *testing.T) {
	for _, c := range []struct {
		files, findings, named int // named: at least
		allow                  bool
	}{{106, 0, 106, true}, {800, 0, 800, false}, {1500, 0, 1500, false}, {5000, 0, 2000, false}, {106, 300, 106, true},
		{600, 300, 300, false}} {
		r := report()
		r.Own, r.Files = sentinel.Comment, 0
		for i := range c.files {
			path := fmt.Sprintf("dist/bundle-%04d.min.js", i)
			r.Unread = append(r.Unread, Unread{Path: path, Why: "minified, or data in very long lines", Allow: "/" + path})
		}
		for i := range c.findings {
			f := inBody(posted(t))
			f.ID, f.Body = fmt.Sprintf("%08x", i), strings.Repeat("text ", 100)
			r.Findings = append(r.Findings, f)
		}
		text := splits(t, r)
		if n := utf8.RuneCountInString(text); n > maxBody+1000 {
			t.Errorf("%+v: %d characters", c, n)
		}
		named := strings.Count(text, "- `dist/")
		if named < c.named || strings.Contains(text, "- '/dist/bundle-0000.min.js'") != c.allow {
			t.Errorf("%+v: %d are named\n%.600s", c, named, text)
		}
		if more := fmt.Sprintf("- and %d more had no room here", c.files-named); (named < c.files) != strings.Contains(text, more) {
			t.Errorf("%+v: %d are named, and the text doesn't say %q", c, named, more)
		}
		if want := fmt.Sprintf(" · %d files not read", c.files); !strings.Contains(strings.SplitN(text, "\n", 2)[0], want) {
			t.Errorf("%s", r.Headline())
		}
	}
}

// What nobody reviewed is no reason to approve, and is said first.
func TestHeadlinesOfUnreadFiles(t *testing.T) {
	unread := []Unread{{Path: "a.bin"}, {Path: "b.go"}, {Path: "b.go"}, {Path: "c.png", LeftOut: true}}
	for want, change := range map[string]func(*Report){
		"**security comments** · nothing found in 2 files · 2 files not read": func(
			r *Report) {
			r.Unread = unread
		},
		"**security comments** · nothing found in 2 files · 1 file not read": func(
			r *Report) {
			r.Unread = unread[:1]
		},
		"**security comments** · nothing found in 2 files": func(
			r *Report) {
			r.Unread = unread[3:]
		},
		"**security comments** · nothing could be reviewed · 2 files not read": func(r *Report) {
			r.Files,
				r.Unread = 0, unread
		},
		"**security comments** · nothing to review": func(
			r *Report) {
			r.Files = 0
		},
		"**partly reviewed — security comments** · nothing found in 2 files · 2 files not read": func(
			r *Report) {
			r.Unread, r.Partial = unread, true
		},
	} {
		r := report()
		r.Own = sentinel.Comment
		change(&r)
		if got := r.Headline(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
