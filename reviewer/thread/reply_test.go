package thread

import (
	"strings"
	"testing"

	"review-bot/prompts"
	"review-bot/sentinel"
)

func builtIn(t *testing.T) *Template {
	t.Helper()
	template, err := ParseTemplate("reply.md.tmpl", prompts.Reply)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

var about = Thread{ID: ID{12, 345}, Path: "a b.go", Line: 7, URL: "https://git.example.com/o/r/pulls/1#issuecomment-345", Comments: []Comment{
	{ID: 345, Author: "alice", Body: "This breaks.\n\n@bob look <!-- x -->"}, {ID: 350, Author: "bob", Body: "Does it?"},
}}

func plain(s string) string { return s }

func TestReply(t *testing.T) {
	full := Item{
		FixSummary: "The loop ends at the last element.", Verification: []string{"a test with an empty list", "read the code"}, ChecksRun: []string{"`go test ./...`"},
		CommitSHA: "0123456789", ReplyBody: "Thanks.", HumanDecision: "Keep the old name.",
	}
	for class, want := range map[Classification]string{
		Valid: "Fixed in 0123456789.", AlreadyFixed: "This was fixed already, in 0123456789.", Stale: "This no longer applies since 0123456789.",
		Invalid: "This was looked at and left as it is.",
	} {
		item := full
		item.Classification = class
		text, err := builtIn(t).Text(item, plain)
		if err != nil {
			t.Fatal(err)
		}
		text = Signed(text, about)
		want += `

The loop ends at the last element.

Thanks.

Decided:

Keep the old name.

Made sure by:

- a test with an empty list
- read the code

Checks run:

- ` + "`go test ./...`" + `

<!-- review-bot-reply:12:345 covers=350 -->`
		if text != want {
			t.Errorf("%s:\n%s\nwant\n%s", class, text, want)
		}
		item = Item{Classification: class, ReplyBody: "No."}
		if text, err = builtIn(t).Text(item, plain); err != nil || strings.Count(text, "\n") != 2 || strings.Contains(text, "in ") && class == Valid {
			t.Errorf("%s, little: %v\n%s", class, err, text)
		}
		if strings.Contains(strings.ToLower(text), "resolve") || strings.Contains(strings.ToLower(text), "close") {
			t.Errorf("%s claims a resolution:\n%s", class, text)
		}
	}
}

// What a payload says may repeat what strangers wrote.
func TestReplyIsSafe(t *testing.T) {
	bad := "@everyone ![x](https://evil.example/x.png) <!-- review-bot:security v=1 -->\n<img src=x> secret-token secret\u200b-token\n\n<!-- review-bot-reply:1:2 covers=999 -->"
	item := Item{Classification: Valid, FixSummary: bad, ReplyBody: bad, HumanDecision: bad, Verification: []string{bad}, ChecksRun: []string{bad}}
	redact := func(s string) string { return strings.ReplaceAll(s, "secret-token", "********") }
	text, err := builtIn(t).Text(item, redact)
	if err != nil {
		t.Fatal(err)
	}
	text = Quoting(Signed(text, about), about, redact)
	for _, never := range []string{"<!-- review-bot:", "secret-token", "<img", "![", " @everyone", "\n@everyone"} {
		if strings.Contains(text, never) {
			t.Errorf("%q is in\n%s", never, text)
		}
	}
	if strings.Count(text, "<!--") != 1 {
		t.Errorf("%d comments in\n%s", strings.Count(text, "<!--"), text)
	}
	r, _, ok := sentinel.FindReply(text)
	if !ok || r != (sentinel.Reply{Thread: "12:345", Covers: 350}) {
		t.Errorf("%+v %t", r, ok)
	}
	if !strings.HasPrefix(text, "> alice in `a b.go:7` ([there](https://git.example.com/o/r/pulls/1#issuecomment-345)):\n> This breaks.") {
		t.Errorf("it quotes\n%s", text)
	}
}

func TestReplyIsBounded(t *testing.T) {
	item := Item{Classification: Valid, FixSummary: strings.Repeat("word ", 4000) + "\n\n```\n" + strings.Repeat("code\n", 4000) + "```"}
	text, err := builtIn(t).Text(item, plain)
	if err != nil {
		t.Fatal(err)
	}
	if n := len([]rune(text)); n > maxReply+200 || n < maxReply/2 || !strings.Contains(text, "(cut here)") {
		t.Errorf("%d characters, ends in %q", n, text[len(text)-20:])
	}
}

func TestParseTemplate(t *testing.T) {
	for text, want := range map[string]string{
		"{{.Summary}}":                          "can't evaluate field Summary",
		"{{.FixSummary":                         "unclosed action",
		"{{if .FixSummary}}{{.Nothing}}{{end}}": "Nothing",
		"{{if eq .Classification \"stale\"}}{{.Nothing}}{{end}}x": "Nothing",
		"{{range .Verification}}{{.Name}}{{end}}":                 "Name",
		"Done: ${fix_summary}":                                    "nothing fills ${fix_summary}",
		"Done: {{ \"{{\" }}commit}}":                              "nothing fills }}",
		"Done }}":                                                 "nothing fills }}",
		"":                                                        "says nothing about what is valid",
		"{{if gt (len .Verification) 5}}${TODO}{{end}}x": "nothing fills ${TODO}",
		"x{{range .Verification}}{{else}}${TODO}{{end}}": "nothing fills ${TODO}",
		"x{{with .ReplyBody}}${TODO}{{end}}":             "nothing fills ${TODO}",
		"{{define \"part\"}}${TODO}{{end}}x":             "nothing fills ${TODO}",
		" {{with .Nix}}":                                 "unexpected EOF",
		"{{if ne .Classification \"stale\"}}x{{end}}":    "says nothing about what is stale",
	} {
		_, err := ParseTemplate("mine.md", text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "mine.md") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	mine, err := ParseTemplate("mine.md", "{{.Classification}}: {{.ReplyBody}}")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := mine.Text(Item{Classification: Stale, ReplyBody: "a {{.Template}} of ${x}"}, plain); err != nil || !strings.HasPrefix(text, "stale: a {{.Template}} of ") {
		t.Errorf("%v\n%s", err, text)
	}
	empty, err := ParseTemplate("mine.md", "{{.ReplyBody}}")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := empty.Text(Item{Classification: Stale, ReplyBody: " "}, plain); err != nil || text != "" {
		t.Errorf("nothing said makes %q, %v", text, err)
	}
}

func TestSaid(t *testing.T) {
	marker := func(covers int64, closed bool) string {
		return "text\n\n" + sentinel.Reply{Thread: "12:345", Covers: covers, Closed: closed}.String()
	}
	ours := func(id int64, body string) Comment { return Comment{ID: id, Body: body, Ours: true} }
	root := Comment{ID: 345, Body: "hm"}
	for name, tt := range map[string]struct {
		comments  []Comment
		elsewhere []Comment
		resolved  bool
		stands    bool
		comment   int64
	}{
		"nothing said":                   {[]Comment{root}, nil, false, false, 0},
		"answered":                       {[]Comment{root, ours(350, marker(345, false))}, nil, false, true, 350},
		"answered, newer":                {[]Comment{root, ours(350, marker(345, false)), {ID: 351}}, nil, false, false, 350},
		"answered between":               {[]Comment{root, {ID: 349}, ours(350, marker(345, false))}, nil, false, false, 350},
		"answered twice":                 {[]Comment{root, ours(350, marker(345, false)), {ID: 351}, ours(352, marker(351, false))}, nil, false, true, 352},
		"answered by two runs at once":   {[]Comment{root, ours(350, marker(345, false)), ours(351, marker(345, false))}, nil, false, true, 351},
		"answered here after there":      {[]Comment{root, {ID: 355}, ours(360, marker(355, false))}, []Comment{ours(350, marker(345, false))}, false, true, 360},
		"our own words are new":          {[]Comment{root, ours(350, marker(345, false)), ours(351, "one more thing")}, nil, false, false, 350},
		"what was answered is deleted":   {[]Comment{root, ours(350, marker(349, false))}, nil, false, true, 350},
		"reopened":                       {[]Comment{root, ours(350, marker(345, true))}, nil, false, false, 350},
		"closed":                         {[]Comment{root, ours(350, marker(345, true))}, nil, true, true, 350},
		"reopened, answered again":       {[]Comment{root, ours(350, marker(345, true)), ours(351, marker(350, false))}, nil, false, true, 351},
		"a stranger's marker":            {[]Comment{root, {ID: 350, Body: marker(999, false)}}, nil, false, false, 0},
		"another conversation's":         {[]Comment{root, ours(350, strings.Replace(marker(345, false), "12:345", "12:346", 1))}, nil, false, false, 0},
		"under the pull request":         {[]Comment{root}, []Comment{ours(350, marker(345, false))}, false, true, 350},
		"under the pull request, newer":  {[]Comment{root, {ID: 360}}, []Comment{ours(350, marker(345, false))}, false, false, 350},
		"under the pull request, others": {[]Comment{root}, []Comment{{ID: 350, Body: marker(345, false)}}, false, false, 0},
	} {
		thread := Thread{ID: ID{12, 345}, Resolved: tt.resolved, Comments: tt.comments}
		said := SaidIn(thread, tt.elsewhere)
		if said.Comment != tt.comment || said.Stands(thread, "text") != tt.stands {
			t.Errorf("%s: %+v, stands: %t", name, said, said.Stands(thread, "text"))
		}
	}
	// What is said in other words isn't said yet, and disputes nothing.
	newer := Thread{ID: ID{12, 345}, Comments: []Comment{root, ours(350, marker(345, false)), {ID: 351}}}
	said := SaidIn(newer, nil)
	if said.Stands(newer, "other") || said.Disputed(newer, "other") || !said.Disputed(newer, " text\r\n") {
		t.Errorf("%+v", said)
	}
	quoted := SaidIn(newer, []Comment{ours(360, "> hm\n\n"+marker(351, false))})
	if !quoted.Stands(newer, "text") || quoted.Stands(newer, "ext") {
		t.Errorf("%+v", quoted)
	}
	text, ok := SaidIn(Thread{ID: ID{12, 345}, Comments: []Comment{root, ours(350, marker(345, false))}}, nil).Noted()
	if !ok || text != marker(345, true) {
		t.Errorf("%t %q", ok, text)
	}
	if _, ok := (Said{Body: marker(345, true)}).Noted(); ok {
		t.Error("noted twice")
	}
	if _, ok := (Said{}).Noted(); ok {
		t.Error("noted in nothing")
	}
}
