package finding

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"review-bot/prompts"
	"review-bot/reviewer/diff"
	"review-bot/reviewer/untrusted"
	"review-bot/sentinel"
)

// Who takes part in the tests' pull request, and the review of the role.
const (
	botID, authorID, personID, ownReview, otherReview = 1, 2, 3, 10, 11
)

var (
	bot    = User{botID, "sonnet-bot"}
	author = User{authorID, "alice"}
	person = User{personID, "bob"}
)

// memory recalls from comments, of which ownReview is the role's.
func memory(comments ...Comment) Memory {
	return Memory{
		Role: "security", Key: testKey, Account: botID, Author: authorID, Own: func(id int64) bool { return id == ownReview },
		Comments: comments, MayWrite: func(u User) bool { return u == person },
	}
}

// posted is a finding as it was posted inline: a.go:11 in the first test diff.
func posted(t testing.TB) Finding {
	t.Helper()
	return anchored(t, change, at("a.go", 11, "TWO"))[0]
}

// commented is the comment of the account that carries a finding.
func commented(id int64, f Finding, role string) Comment {
	c := Comment{ID: id, Review: ownReview, Author: bot, Body: f.Inline(role, testKey), Path: f.Place.Path, URL: fmt.Sprintf("https://x/%d", id)}
	if f.Place.Side == diff.Old {
		c.OldLine = f.Place.Line
	} else {
		c.NewLine = f.Place.Line
	}
	return c
}

// as changes a comment in one respect or several.
func as(c Comment, changes ...func(*Comment)) Comment {
	for _, change := range changes {
		change(&c)
	}
	return c
}

func edited(c *Comment)        { c.Edited = true }
func misfiled(c *Comment)      { c.Review = otherReview }
func byPerson(c *Comment)      { c.Author = person }
func by(u User) func(*Comment) { return func(c *Comment) { c.Author = u } }
func resolved(u User) func(*Comment) {
	return func(c *Comment) { c.Resolver = u }
}
func saying(body string) func(*Comment) { return func(c *Comment) { c.Body = body } }
func swapped(pairs ...string) func(*Comment) {
	return func(c *Comment) { c.Body = strings.NewReplacer(pairs...).Replace(c.Body) }
}

// markedBy replaces the marker of a comment.
func markedBy(line string) func(*Comment) {
	return func(c *Comment) {
		_, rest, _ := marker(c.Body)
		c.Body = rest + "\n\n" + line
	}
}

const bareMarker = "<!-- review-bot-finding:security -->"

func TestOnlyTheRolesFindingsAreRecalled(t *testing.T) {
	f := posted(t)
	f.ID = "1f3c9a2b"
	mine := commented(100, f, "security")
	line := f.Marker("security", testKey).String()
	stranger := sentinel.NewKey("another token", "alice/shop", 42)
	edit := swapped("sev=high", "sev=low")
	for promise, tt := range map[string]struct {
		comment Comment
		want    string // id, severity, status; "" if it isn't recalled
	}{
		"as it was posted":                  {mine, "1f3c9a2b high open"},
		"in a leftover of another's review": {as(mine, misfiled), "1f3c9a2b high open"},
		"by the web form":                   {as(mine, swapped("\n", "\r\n")), "1f3c9a2b high open"},
		"with blanks behind it":             {as(mine, func(c *Comment) { c.Body += " \t\r\n\r\n" }), "1f3c9a2b high open"},
		"edited, but for the marker":        {as(mine, edited, swapped("Body of it", "Nothing at all")), "synthetic unknown open"},
		"the token was changed":             {as(commented(100, f, "security"), saying(f.Inline("security", stranger))), "1f3c9a2b high open"},
		"of a later version":                {as(mine, markedBy(strings.Replace(line, " v=1", " new=1 v=2", 1))), "1f3c9a2b high open"},

		"another role's":                         {commented(100, f, "logic"), ""},
		"another role's, misfiled":               {as(commented(100, f, "logic"), misfiled), ""},
		"another role's whose token was changed": {as(mine, saying(f.Inline("logic", stranger))), ""},
		"another role's of the time before":      {as(mine, markedBy("<!-- review-bot-finding:logic -->")), ""},
		"a person's with the account's marker":   {as(mine, byPerson), ""},
		"no marker in a leftover":                {as(mine, misfiled, saying("something")), ""},
		"a sentinel in a leftover":               {as(mine, misfiled, saying("<!-- review-bot:security v=1 -->")), ""},

		// What isn't known for sure counts as the worst.
		"the severity was edited":      {as(mine, edited, edit), "synthetic unknown open"},
		"edited in a leftover":         {as(mine, edited, edit, misfiled), "synthetic unknown open"},
		"edited to be another role's":  {as(mine, edited, swapped("finding:security", "finding:logic")), "synthetic unknown open"},
		"edited to be closed":          {as(mine, edited, swapped(" v=1", " state=closed v=1")), "synthetic unknown open"},
		"the marker was deleted":       {as(mine, edited, saying("Nothing at all")), "synthetic unknown open"},
		"the marker isn't last":        {as(mine, edited, saying(line+"\n\nNo, this is")), "synthetic unknown open"},
		"no line of its own":           {as(mine, saying("see "+line)), "synthetic unknown open"},
		"no text":                      {as(mine, saying("")), "synthetic unknown open"},
		"of the time before versions":  {as(mine, markedBy(bareMarker)), "synthetic unknown open"},
		"of then, with an id":          {as(mine, markedBy("<!-- review-bot-finding:security/1f3c9a2b sev=low -->")), "synthetic unknown open"},
		"of then, in a leftover":       {as(mine, misfiled, markedBy(bareMarker)), "synthetic unknown open"},
		"a severity nobody has":        {as(mine, markedBy(strings.Replace(line, "sev=high", "sev=never", 1))), "1f3c9a2b unknown open"},
		"both markers, the false last": {as(mine, edited, func(c *Comment) { c.Body += "\n" + bareMarker }), "synthetic unknown open"},
	} {
		list := memory(tt.comment).Earlier()
		got := ""
		for _, e := range list {
			id := e.ID
			if id == idOf(tt.comment) {
				id = "synthetic"
			}
			got += strings.TrimSpace(fmt.Sprintf(" %s %s %s", id, e.severity(), e.Status))
			if e.Comment != 100 || e.Review != tt.comment.Review || e.Where != Inline || e.URL != "https://x/100" || !sentinel.ValidID(e.ID) {
				t.Errorf("%s: %+v", promise, e)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", promise, got, tt.want)
		}
	}
}

// All of a finding that was posted comes back, but for what only a model says.
func TestAFindingIsRecalledAsItWasPosted(t *testing.T) {
	for _, p := range []prompts.Finding{at("a.go", 12, "return nil"), old(at("a.go", 11, "two")), severe(prompts.Low, at("dir/new (1).go", 1, "package dir"))} {
		f := anchored(t, change, p)[0]
		f.Blob = "1234567"
		c := commented(7, f, "security")
		c.NewLine, c.OldLine = c.NewLine*3, c.OldLine*3 // servers may move it
		c.NewLine = max(c.NewLine, 1-c.OldLine)
		want := Earlier{Finding: f, Review: ownReview, Comment: 7, Status: Open, posted: f.Severity, root: 7}
		want.URL, want.OldPath, want.State, want.Code, want.anchor = c.URL, f.Place.Path, "", nil, ""
		want.Place.EndLine, want.Place.Quote, want.Suggestion = 0, "", ""
		want.Body = "Body of it."
		got := memory(c).Earlier()
		if d := cmp.Diff([]Earlier{want}, got, cmp.AllowUnexported(Earlier{}, Finding{})); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

func TestReadingAClosedComment(t *testing.T) {
	f := posted(t)
	mine := commented(100, f, "security")
	closed := as(mine, edited, saying(Closed(mine.Body, base, testKey)))
	before := as(mine, markedBy(bareMarker))
	for promise, tt := range map[string]struct {
		comment Comment
		status  Status
	}{
		"closed by an edit of the account":       {closed, Fixed},
		"and opened by one":                      {as(closed, saying(Opened(closed.Body, testKey))), Open},
		"closed, of the time before":             {as(before, edited, saying(Closed(before.Body, base, testKey))), Fixed},
		"closed, then edited by a person":        {as(closed, swapped("state=closed", "state=closed x=1")), Open},
		"closed, and a maintainer tidied up":     {as(closed, resolved(person)), Fixed},
		"a person says that it is fixed":         {as(mine, edited, swapped(" mac=", " state=closed mac=")), Open},
		"resolved by the account":                {as(mine, resolved(bot)), Fixed},
		"resolved by the author":                 {as(mine, resolved(author)), Open},
		"resolved by another person":             {as(mine, resolved(person)), Let},
		"resolved by one who left the forge":     {as(mine, resolved(User{ID: -1})), Open},
		"resolved by a person who may not write": {as(mine, resolved(User{9, "reviewer"})), Open},
		"edited, and resolved by another person": {as(mine, edited, swapped("high", "low"), resolved(person)), Let},
	} {
		m := memory(tt.comment)
		m.Closed = []string{f.ID, idOf(before)}
		list := m.Earlier()
		if len(list) != 1 || list[0].Status != tt.status || list[0].Resolver != tt.comment.Resolver {
			t.Errorf("%s: %+v", promise, list)
			continue
		}
		if e := list[0]; e.Title != "Title of TWO" || e.Body != "Body of it." {
			t.Errorf("%s: it says %q, %q", promise, e.Title, e.Body)
		}
	}
}

// A closing is signed for good: put back over a finding that was opened again, or
// never closed as far as the verdict knows, it says nothing.
func TestAnOldClosingIsNotBelieved(t *testing.T) {
	f := posted(t)
	mine := commented(100, f, "security")
	closed := as(mine, edited, saying(Closed(mine.Body, base, testKey)))
	for _, ids := range [][]string{nil, {""}, {"00000009"}} {
		m := memory(closed)
		m.Closed = ids
		if list := m.Earlier(); len(list) != 1 || list[0].Status != Open || list[0].Severity != f.Severity {
			t.Errorf("closed are %q: %+v", ids, list)
		}
	}
}

// A marker with its code can be copied into a graver finding's comment. The copy
// says nothing, whichever is older.
func TestACopiedMarkerIsNotBelieved(t *testing.T) {
	low, grave := posted(t), posted(t)
	low.ID, low.Severity, grave.ID, grave.Severity = "00000001", prompts.Low, "00000002", prompts.Critical
	mark := low.Marker("security", testKey).String()
	closedLow := as(commented(0, low, "security"), edited)
	closedLow.Body = Closed(closedLow.Body, head, testKey)
	_, _, _ = marker(closedLow.Body)
	closedMark := closedLow.Body[strings.LastIndexByte(closedLow.Body, '\n')+1:]
	number := func(id int64) func(*Comment) { return func(c *Comment) { c.ID, c.NewLine = id, int(id) } }
	original := commented(100, low, "security")
	copied := as(commented(0, grave, "security"), edited, markedBy(mark))
	body := report(inBody(low))
	for promise, tt := range map[string]struct {
		comments []Comment
		body     string
		want     []string // comment, severity, status
	}{
		"the copy is newer":        {[]Comment{original, as(copied, number(101))}, "", []string{"100 low open", "101 unknown open"}},
		"the copy is older":        {[]Comment{original, as(copied, number(99))}, "", []string{"99 unknown open", "100 low open"}},
		"of a closed one":          {[]Comment{as(closedLow, number(100)), as(copied, markedBy(closedMark), number(99))}, "", []string{"99 unknown open", "100 low open"}},
		"both were edited":         {[]Comment{as(original, edited), as(copied, number(101))}, "", []string{"100 low open", "101 unknown open"}},
		"a third one, all edited":  {[]Comment{as(original, edited), as(copied, number(101)), as(copied, number(102))}, "", []string{"100 low open", "101 unknown open", "102 unknown open"}},
		"of one in the body":       {[]Comment{as(copied, number(99))}, body.Text(), []string{"99 unknown open", "0 low open"}},
		"of the time before":       {[]Comment{as(original, number(99), markedBy("<!-- review-bot-finding:security/00000001 -->")), original}, "", []string{"99 unknown open", "100 low open"}},
		"posted twice by accident": {[]Comment{as(original, number(101)), original}, "", []string{"100 low open", "101 unknown open"}},
		"posted again from a body": {[]Comment{original}, body.Text(), []string{"100 low open"}},
	} {
		m := memory(tt.comments...)
		m.Body = tt.body
		var got []string
		ids := map[string]bool{}
		for _, e := range m.Earlier() {
			got = append(got, fmt.Sprintf("%d %s %s", e.Comment, e.severity(), e.Status))
			if ids[e.ID] {
				t.Errorf("%s: id %s twice", promise, e.ID)
			}
			ids[e.ID] = true
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", promise, d)
		}
	}
}

func inBody(f Finding) Finding {
	f.Where, f.Reason, f.Code = InBody, "line 11 is not in the diff", nil
	return f
}

func TestConversations(t *testing.T) {
	f := posted(t)
	first := commented(100, f, "security")
	place := func(id int64, review int64, path string, old, new int) Comment {
		return Comment{ID: id, Review: review, Path: path, OldLine: old, NewLine: new}
	}
	list := Conversations([]Comment{
		place(9, 1, "a", 0, 5), place(3, 1, "a", 0, 5), place(4, 2, "a", 0, 5), place(5, 1, "b", 0, 5), place(6, 1, "a", 5, 0), place(7, 1, "a", 0, 6), place(1, 1, "a", 5, 0), place(8, 1, "a", 6, 0),
	})
	var got [][]int64
	for _, c := range list {
		var ids []int64
		for _, comment := range c.Comments {
			ids = append(ids, comment.ID)
		}
		got = append(got, ids)
	}
	if d := cmp.Diff([][]int64{{1, 6}, {3, 9}, {4}, {5}, {7}, {8}}, got); d != "" {
		t.Errorf("conversations are by review, path, side and line, all oldest first (-want +got):\n%s", d)
	}
	if Conversations(nil) != nil {
		t.Error("conversations of nothing")
	}

	// What people say, with or without a marker, is a reply to every finding of the
	// conversation; what the account says is none.
	second := f
	second.ID, second.Severity = "00000002", prompts.Low
	forged := as(commented(103, f, "security"), by(author), swapped(f.ID, "deadbeef"))
	comments := []Comment{
		forged, as(first, func(c *Comment) { c.ID = 102 }, byPerson, saying("fixed")), as(commented(101, second, "security"), resolved(person)),
		as(first, func(c *Comment) { c.ID = 104 }, saying("by the account, no marker")), first,
	}
	earlier := memory(comments...).Earlier()
	if len(earlier) != 2 || earlier[0].ID != f.ID || earlier[1].ID != second.ID {
		t.Fatalf("%+v", earlier)
	}
	for _, e := range earlier {
		want := []Reply{{102, person, "fixed"}, {103, author, forged.Body}}
		if d := cmp.Diff(want, e.Replies); d != "" {
			t.Errorf("replies (-want +got):\n%s", d)
		}
		if e.root != 100 || e.Status != Open || e.Resolver.ID != 0 {
			t.Errorf("servers go by the conversation's oldest comment: %+v", e)
		}
	}
}

// Two jobs of one account may find their comments in one conversation.
func TestAConversationWithAnotherRoleIsntClosed(t *testing.T) {
	f := posted(t)
	mine, theirs := commented(101, f, "security"), commented(100, f, "logic")
	closed := as(theirs, edited, saying(Closed(theirs.Body, head, testKey)))
	for promise, tt := range map[string]struct {
		other  Comment
		shared bool
	}{
		"another role's":                        {theirs, true},
		"another role's, behind":                {as(theirs, func(c *Comment) { c.ID = 200 }), true},
		"another role's, edited":                {as(theirs, edited, swapped("high", "low")), true},
		"another role's, closed by the account": {closed, false},
		"another role's, closed by who knows":   {as(closed, swapped("mac=", "mac=0")), true},
		"nobody knows whose":                    {as(theirs, saying("unmarked")), true},
		"another role's marker of a person":     {as(theirs, byPerson), false},
		"the account's later comment, unmarked": {as(theirs, func(c *Comment) { c.ID = 200 }, saying("unmarked")), false},
		"one's own":                             {as(mine, func(c *Comment) { c.ID = 99 }, swapped(f.ID, "99999999")), false},
		"another line":                          {as(theirs, func(c *Comment) { c.NewLine++ }), false},
	} {
		earlier := memory(as(mine, misfiled), as(tt.other, misfiled)).Earlier()
		for i := range earlier {
			earlier[i].Replies = nil
		}
		r := Merge(fixed(Case{Earlier: earlier, Shown: always, Diff: parse(t, change), Head: head}))
		if len(r.Resolved) == 0 || (len(r.Owed) == 0) != tt.shared {
			t.Errorf("%s: resolved %d, owed %v", promise, len(r.Resolved), r.Owed)
		}
	}
}

func always(string) bool { return true }

func TestRaisedSeverities(t *testing.T) {
	f := posted(t)
	f.ID = "1f3c9a2b"
	mine := commented(100, f, "security")
	for promise, tt := range map[string]struct {
		comment Comment
		raised  string
		want    prompts.Severity
	}{
		"none":                       {mine, "", prompts.High},
		"raised":                     {mine, "1f3c9a2b:critical", prompts.Critical},
		"among others":               {mine, "00000001:low,1f3c9a2b:critical,00000002:low", prompts.Critical},
		"another's":                  {mine, "00000001:critical", prompts.High},
		"never lowered":              {mine, "1f3c9a2b:low", prompts.High},
		"a severity nobody has":      {mine, "1f3c9a2b:never", prompts.High},
		"cut short":                  {mine, "1f3c9a2b", prompts.High},
		"broken":                     {mine, ",,:,1f3c9a2b:,:critical", prompts.High},
		"known since, though edited": {as(mine, markedBy(bareMarker)), idOf(mine) + ":low", prompts.Low},
		"of the marker, not of this": {as(mine, edited, swapped("high", "low")), "1f3c9a2b:low", ""},
	} {
		m := memory(tt.comment)
		m.Raised = tt.raised
		if list := m.Earlier(); len(list) != 1 || list[0].Severity != tt.want {
			t.Errorf("%s: %+v, want %q", promise, list, tt.want)
		}
	}
}

// A severity that was raised is noted round after round, the worst ones first.
func TestRaisedSeveritiesLast(t *testing.T) {
	f := posted(t)
	f.ID, f.Severity = "1f3c9a2b", prompts.Low
	m := memory(commented(100, f, "security"))
	again := posted(t)
	again.Severity = prompts.High
	d := parse(t, change)
	for round, fresh := range [][]Finding{{again}, nil, nil} {
		earlier := m.Earlier()
		for i := range earlier {
			earlier[i].Since = Change{Known: true, Path: "a.go"}
		}
		r := merge(fresh, []string{"1f3c9a2b"}, earlier, always, d, head)
		if r.Raised != "1f3c9a2b:high" || len(r.Counted) != 1 || r.Counted[0].Severity != prompts.High {
			t.Fatalf("round %d: raised %q, %+v", round, r.Raised, r.Counted)
		}
		m.Raised = r.Raised
	}
	var earlier []Earlier
	for i := range 100 {
		e := Earlier{Finding: f, Status: Open, posted: prompts.Low}
		e.ID, e.Severity = fmt.Sprintf("%08x", i), prompts.Severities[3-min(i%50, 3)]
		earlier = append(earlier, e)
	}
	r := merge(nil, nil, earlier, func(string) bool { return false }, d, head)
	s := sentinel.Sentinel{Role: "security", Version: 1, Kind: sentinel.KindFindings, Extra: []sentinel.Field{{Key: "raised", Value: r.Raised}}}
	if err := s.Validate(); err != nil || !strings.HasPrefix(r.Raised, "00000003:critical,") || strings.Contains(r.Raised, "high") || len(r.Raised) < 480 {
		t.Errorf("%v: %s", err, r.Raised)
	}
	for i := range earlier[:90] {
		earlier[i].Status, earlier[i].Severity = Fixed, prompts.Critical
	}
	earlier[99].Severity = prompts.Medium
	if r := merge(nil, nil, earlier, func(string) bool { return false }, d, head); !strings.Contains(r.Raised, "00000063:medium,00000000:critical") {
		t.Errorf("those that count go first: %s", r.Raised)
	}
}

// What stands in the body comes back and is published again just so, round after
// round, whatever the model wrote.
func TestBodyRoundTrip(t *testing.T) {
	d := parse(t, change)
	rapid.Check(t, func(t *rapid.T) {
		answer := prompts.Answer{
			Summary:  rapid.OneOf(hostile(), rapid.Just("**1 of 3 findings without a line in the diff**\n\nx")).Draw(t, "summary"),
			Findings: rapid.SliceOfN(rapid.Custom(bodyFinding), 1, 6).Draw(t, "findings"),
		}
		fresh := Anchored(answer, d, head, counter())
		r := report(fresh...)
		r.Summary = answer.Summary
		var want []Finding
		for _, f := range fresh {
			if f.Where == InBody {
				want = append(want, f)
			}
		}
		if rapid.Bool().Draw(t, "web form") {
			r.Summary += "\r\n"
		}
		text := r.Text()
		for round := range 3 {
			m := memory()
			m.Body = text
			if rapid.Bool().Draw(t, "CRLF") {
				m.Body = strings.ReplaceAll(text, "\n", "\r\n")
			}
			earlier := m.Earlier()
			if len(earlier) != len(want) {
				t.Fatalf("round %d: %d findings come back of %d:\n%s", round, len(earlier), len(want), text)
			}
			var retained []string
			for i, e := range earlier {
				f := want[i]
				if e.ID != f.ID || e.Key != f.Key || e.Severity != f.Severity || e.Category != f.Category || e.Head != f.Head || e.Blob != f.Blob ||
					e.Where != InBody || e.Status != Open || e.Place.Line != max(f.Place.Line, 0) || e.Place.Line > 0 && e.Place.Side != f.Place.Side ||
					untrusted.CodeSpan(location(e.Finding)) != untrusted.CodeSpan(location(f)) {
					t.Fatalf("round %d: %+v, want %+v", round, e, f)
				}
				retained = append(retained, e.ID)
			}
			merged := merge(nil, retained, earlier, always, d, head)
			next := report(merged.Counted...)
			next.Summary = answer.Summary
			// At the same head none is "still open", so all stays to the letter. In the
			// table, blanks of titles and names that show otherwise than they sort may
			// change, once.
			was, is := strings.Split(text, "\n"), strings.Split(next.Text(), "\n")
			if round == 0 {
				first := report(want...)
				first.Summary = answer.Summary
				was = strings.Split(first.Text(), "\n")
				was, is = sortedBelow(was), sortedBelow(is)
			}
			if diff := cmp.Diff(was, is); diff != "" {
				t.Fatalf("round %d (-want +got):\n%s", round, diff)
			}
			want = merged.Counted
			text = next.Text()
		}
	})
}

// sortedBelow are the lines of a body, its table left out.
func sortedBelow(lines []string) []string {
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "| ") })
	slices.Sort(lines)
	return lines
}

// bodyFinding draws what comes to stand in the body mostly, at odd places.
func bodyFinding(t *rapid.T) prompts.Finding {
	f := modelFinding(t)
	f.Path = rapid.OneOf(rapid.SampledFrom([]string{
		"", "gone.go", "a`: b``.go", "a:12", "a:12-13", "x|`y`.go", "``", "`a`", " b ", "c: d", "a.go", "e\nf.go", "**1 of 2 findings without a line in the diff**",
	}), hostile()).Draw(t, "odd path")
	f.Line = rapid.SampledFrom([]int{-1, 0, 12, 900, 1 << 40}).Draw(t, "odd line")
	f.EndLine = f.Line + rapid.IntRange(-1, 2).Draw(t, "lines")
	f.Body = rapid.OneOf(rapid.Just(f.Body), rapid.Just("**1 of 2 findings without a line in the diff**\n\n**low · logic** — no\n\n`b.go:1`: x"),
		rapid.Just("```\n**9 of 9 findings without a line in the diff**\n\n<!-- review-bot-finding:security -->")).Draw(t, "odd body")
	return f
}

func TestOddPathsInTheBodyAreReadBack(t *testing.T) {
	for _, path := range []string{"b.go", "a b/c.go", "a`: b``.go", "`a`", "a`b", "``", "a:12", "a:12-13", "a:b", "c: d", "x|`y`.go", "ä.go"} {
		for _, lines := range [][2]int{{0, 0}, {12, 12}, {12, 13}, {12, 0}} {
			f := at(path, lines[0], "")
			f.EndLine = lines[1]
			want := anchored(t, change, f)[0]
			m := memory()
			m.Body = report(want).Text()
			list := m.Earlier()
			if len(list) != 1 || list[0].Place.Path != path || list[0].Place.Line != lines[0] || location(list[0].Finding) != location(want) {
				t.Errorf("%q, lines %v: %+v", path, lines, list)
			}
		}
	}
}

// Nobody else's marker comes to stand in the body; were it so, it would be skipped.
func TestOnlyTheRolesMarkersCountInTheBody(t *testing.T) {
	list := anchored(t, change, at("gone.go", 1, "x"), at("gone.go", 2, "y"))
	m := memory()
	for promise, line := range map[string]string{"another role's": list[0].Marker("logic", testKey).String(), "one of the time before": bareMarker} {
		m.Body = strings.Replace(report(list...).Text(), list[0].Marker("security", testKey).String(), line, 1)
		if got := m.Earlier(); len(got) != 1 || got[0].ID != list[1].ID || got[0].Title != "Title of y" || strings.Contains(got[0].text(), "Title of x") {
			t.Errorf("%s: %+v", promise, got)
		}
	}
	m.Body = list[0].Inline("security", testKey)
	if got := m.Earlier(); got != nil {
		t.Errorf("a marker that doesn't stand below the title: %+v", got)
	}
}

// The severity of a finding in the body may get worse, and its text says so.
func TestABodyFindingThatGotWorse(t *testing.T) {
	d := parse(t, change)
	first := anchored(t, change, severe(prompts.Low, at("gone.go", 5, "x")))
	m := memory()
	m.Body = report(first...).Text()
	again := anchored(t, change, severe(prompts.Critical, at("gone.go", 5, "x")))
	r := merge(again, nil, m.Earlier(), always, d, base)
	m.Body = report(r.Counted...).Text()
	for _, want := range []string{"\n**critical · logic** — Title of x\n\nBody of it.\n", "| critical · still open |", " sev=critical "} {
		if !strings.Contains(m.Body, want) {
			t.Errorf("it doesn't say %q:\n%s", want, m.Body)
		}
	}
	if list := m.Earlier(); len(list) != 1 || list[0].Severity != prompts.Critical || list[0].ID != first[0].ID {
		t.Errorf("%+v", list)
	}
}

func FuzzRecall(f *testing.F) {
	list := anchored(f, change, at("a.go", 11, "TWO"), at("gone.go", 3, ""))
	for _, x := range list {
		f.Add(x.Inline("security", testKey), report(list...).Text())
	}
	f.Add(Closed(list[0].Inline("security", testKey), head, testKey), "x\r\n"+list[1].Marker("logic", testKey).String())
	f.Add(bareMarker, "**1 of 1 finding without a line in the diff**\n"+bareMarker)
	f.Add("<!-- review-bot-finding:logic/00000000 -->\r", "``a`: b``: c")
	f.Fuzz(func(t *testing.T, comment, body string) {
		roles := map[string]bool{}
		for _, m := range append(sentinel.Markers(comment), sentinel.Markers(body)...) {
			roles[m.ID] = roles[m.ID] || m.Role == "security"
		}
		c := Comment{ID: 5, Review: ownReview, Author: bot, Body: comment, Path: "a.go", NewLine: 1, Edited: true}
		for _, c := range []Comment{c, as(c, byPerson), as(c, misfiled), as(c, func(c *Comment) { c.Edited = false })} {
			m := memory(c)
			m.Body = body
			for _, e := range m.Earlier() {
				switch {
				case e.Where == InBody:
					if !roles[e.ID] || e.Comment != 0 {
						t.Fatalf("a finding in the body that no marker of the role names: %+v", e)
					}
				case c.Author.ID != botID:
					t.Fatalf("a person's comment is recalled: %+v", e)
				case c.Edited && e.Head != "" && !Vouched(comment, testKey):
					t.Fatalf("an edited marker is believed: %+v", e)
				case e.Head != "" && !roles[e.ID]:
					t.Fatalf("another role's marker is believed: %+v", e)
				}
				if !sentinel.ValidID(e.ID) || e.severity() == "unknown" && e.Severity != "" {
					t.Fatalf("%+v", e)
				}
			}
		}
		if once := Closed(comment, head, testKey); once != comment {
			if Closed(once, base, testKey) != once {
				t.Fatalf("closing twice changes %q", once)
			}
			open := Opened(once, testKey)
			if Opened(open, testKey) != open || Closed(open, head, testKey) != once {
				t.Fatalf("%q closed and opened: %q, closed again: %q", comment, open, Closed(open, head, testKey))
			}
		}
	})
}
