package thread

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"review-bot/reviewer/finding"
)

// says is a comment on a line.
func says(id, review int64, by int64, path string, line int, body string) Remark {
	logins := map[int64]string{1: "alice", 2: "bob", 3: "review-bot", -2: "gitea-actions", -1: "Ghost"}
	return Remark{
		Comment: finding.Comment{ID: id, Review: review, Author: finding.User{ID: by, Login: logins[by]}, Body: body, Path: path, NewLine: line, URL: "u"},
		Created: time.Unix(id, 0), Updated: time.Unix(id, 0),
		Anchor: Anchor{Path: path, Side: New, Line: line},
	}
}

func TestConversations(t *testing.T) {
	marker := "x\n\n<!-- review-bot-finding:security/1f3c9a2b head=" + reviewed + " sev=high cat=logic key=abcd v=1 -->"
	old := says(10, 7, 2, "a.go", 0, "old")
	old.OldLine, old.Anchor.Side, old.Anchor.Line = 3, Old, 3
	closed := says(12, 8, 1, "b.go", 3, "closed")
	closed.Resolver = finding.User{ID: 2, Login: "bob"}
	remarks := []Remark{
		says(11, 7, 3, "a.go", 3, marker), says(20, 7, 1, "a.go", 3, "why?\n\n<!-- review-bot-finding:logic/00000000 -->"), says(13, 9, 1, "a.go", 3, "me, too"), old, closed,
		says(15, 9, -2, "a.go", 1, "build"), says(16, 9, -1, "a/z.go", 1, "gone"), says(21, 8, 2, "b.go", 3, "good"),
	}
	yes := true
	scene := Scene{PR: 5, Account: 1, Remarks: remarks, CanResolve: &yes}
	var got []string
	for _, c := range scene.Conversations() {
		var by []string
		for _, comment := range c.Comments {
			by = append(by, comment.Author+":"+string(comment.AuthorKind))
			if comment.Ours != (comment.Author == "alice") {
				t.Errorf("%+v", comment)
			}
		}
		got = append(got, strings.Join([]string{c.ID.String(), c.Path, string(c.Side), c.Role, c.FindingID, c.Resolver, strings.Join(by, " ")}, "|"))
		if c.PR != 5 || c.CanReply != nil || c.CanResolve != &yes || c.Resolved != (c.Resolver != "") {
			t.Errorf("%+v", c.Thread)
		}
	}
	want := []string{
		"9:15|a.go|new||||gitea-actions:bot",
		"7:11|a.go|new|security|1f3c9a2b||review-bot:bot alice:bot",
		"9:13|a.go|new||||alice:user",
		"7:10|a.go|old||||bob:user",
		"9:16|a/z.go|new||||Ghost:deleted",
		"8:12|b.go|new|||bob|alice:user bob:user",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// The server gives comments in no order.
	for range 20 {
		rand.Shuffle(len(remarks), func(i, j int) { remarks[i], remarks[j] = remarks[j], remarks[i] })
		if diff := cmp.Diff(scene.Conversations(), Scene{PR: 5, Account: 1, Remarks: remarks, CanResolve: &yes}.Conversations()); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestFilter(t *testing.T) {
	open := Thread{ID: ID{1, 1}, Path: "reviewer/diff/a.go", HeadPath: "reviewer/b/c.go", Comments: []Comment{{Author: "Alice"}, {Author: "bob"}}}
	resolved, outdated := open, open
	resolved.Resolved, outdated.Outdated, outdated.HeadPath = true, true, ""
	for name, tt := range map[string]struct {
		filter Filter
		thread Thread
		want   bool
	}{
		"open":                         {Filter{}, open, true},
		"resolved":                     {Filter{}, resolved, false},
		"resolved, all":                {Filter{All: true}, resolved, true},
		"outdated":                     {Filter{}, outdated, false},
		"outdated, all":                {Filter{All: true}, outdated, false},
		"outdated, included":           {Filter{IncludeOutdated: true}, outdated, true},
		"author":                       {Filter{Authors: []string{"alice"}}, open, true},
		"author of a reply":            {Filter{Authors: []string{"BOB"}}, open, true},
		"one of the authors":           {Filter{Authors: []string{"carol", "bob"}}, open, true},
		"another author":               {Filter{Authors: []string{"carol"}}, open, false},
		"part of a name":               {Filter{Authors: []string{"bo"}}, open, false},
		"file":                         {Filter{Paths: []string{"reviewer/diff/a.go"}}, open, true},
		"folder":                       {Filter{Paths: []string{"reviewer/diff"}}, open, true},
		"folder with a slash":          {Filter{Paths: []string{"reviewer/"}}, open, true},
		"folder with a dot":            {Filter{Paths: []string{"./reviewer"}}, open, true},
		"everything":                   {Filter{Paths: []string{"."}}, open, true},
		"part of a folder's name":      {Filter{Paths: []string{"reviewer/dif"}}, open, false},
		"part of a file's name":        {Filter{Paths: []string{"reviewer/diff/a"}}, open, false},
		"where it is now":              {Filter{Paths: []string{"reviewer/b"}}, open, true},
		"other case":                   {Filter{Paths: []string{"Reviewer"}}, open, false},
		"one of the paths":             {Filter{Paths: []string{"cmd", "reviewer"}}, open, true},
		"author and path":              {Filter{Authors: []string{"bob"}, Paths: []string{"reviewer"}}, open, true},
		"author and another path":      {Filter{Authors: []string{"bob"}, Paths: []string{"cmd"}}, open, false},
		"another author and the path":  {Filter{Authors: []string{"carol"}, Paths: []string{"reviewer"}}, open, false},
		"the path, but it is resolved": {Filter{Paths: []string{"reviewer"}}, resolved, false},
	} {
		if got := tt.filter.Pass(tt.thread); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestSelect(t *testing.T) {
	open, resolved, outdated := Thread{ID: ID{1, 1}}, Thread{ID: ID{1, 2}, Resolved: true}, Thread{ID: ID{1, 3}, Outdated: true}
	human := Triage{Threads: []Judgement{{ThreadID: ID{1, 1}, Classification: NeedsHuman, RequiresHumanDecision: true}}}
	valid := Triage{Threads: []Judgement{{ThreadID: ID{1, 1}, Classification: Valid}}}
	stale := Triage{Threads: []Judgement{{ThreadID: ID{1, 1}, Classification: Stale}}}
	past := Triage{Threads: []Judgement{{ThreadID: ID{1, 2}, Classification: Valid, RequiresHumanDecision: true}}}
	for name, tt := range map[string]struct {
		all                          []Thread
		filter                       Filter
		most                         int
		triage                       *Triage
		listed, selected, unresolved int
		phase                        Phase
	}{
		"none at all":                     {nil, Filter{}, 1, nil, 0, 0, 0, Verified},
		"all resolved":                    {[]Thread{resolved}, Filter{}, 1, nil, 0, 0, 0, Verified},
		"all resolved, listed":            {[]Thread{resolved}, Filter{All: true}, 1, nil, 1, 1, 0, Verified},
		"open":                            {[]Thread{open, resolved}, Filter{}, 1, nil, 1, 1, 1, InTriage},
		"open, but outdated":              {[]Thread{outdated}, Filter{}, 1, nil, 0, 0, 1, InTriage},
		"open, but another's":             {[]Thread{open}, Filter{Authors: []string{"x"}}, 1, nil, 0, 0, 1, InTriage},
		"just as many as may be":          {[]Thread{open, outdated}, Filter{IncludeOutdated: true}, 2, nil, 2, 2, 2, InTriage},
		"more":                            {[]Thread{open, outdated}, Filter{IncludeOutdated: true}, 1, nil, 1, 2, 2, Blocked},
		"more, all resolved":              {[]Thread{resolved, resolved}, Filter{All: true}, 1, nil, 1, 2, 0, Blocked},
		"a person has to decide":          {[]Thread{open}, Filter{}, 1, &human, 1, 1, 1, Blocked},
		"valid":                           {[]Thread{open}, Filter{}, 1, &valid, 1, 1, 1, Fixing},
		"nothing valid":                   {[]Thread{open}, Filter{}, 1, &stale, 1, 1, 1, InTriage},
		"what is resolved counts no more": {[]Thread{resolved}, Filter{All: true}, 1, &past, 1, 1, 0, Verified},
	} {
		l := Select(tt.all, tt.filter, tt.most)
		if tt.triage != nil {
			l.Judge(*tt.triage)
		}
		if len(l.Threads) != tt.listed || l.Selected != tt.selected || l.Unresolved != tt.unresolved || l.Total != len(tt.all) || l.Phase != tt.phase || l.Incomplete != (tt.selected > tt.listed) {
			t.Errorf("%s: %+v", name, l)
		}
	}
}
