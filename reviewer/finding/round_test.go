package finding

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"review-bot/prompts"
	"review-bot/reviewer/diff"
	"review-bot/sentinel"
)

// merge decides a round in which nobody but the author may close anything.
func merge(fresh []Finding, retained []string, earlier []Earlier, shown func(string) bool, d diff.Diff, head string) Round {
	return Merge(Case{Fresh: fresh, Retained: retained, Earlier: earlier, Shown: shown, Diff: d, Head: head, Author: authorID})
}

// fixed has the answer name a change that fixes each earlier finding.
func fixed(c Case) Case {
	c.Changes = map[Version]Change{}
	for _, e := range c.Earlier {
		c.Closed = append(c.Closed, prompts.Fix{ID: e.ID, By: "fix.go:1"})
		c.Changes[Version{"fix.go", e.Head}] = between("fix.go", []string{"bad()"}, []string{"good()"})
	}
	return c
}

// deleted is what became of a file that is gone.
func deleted(path string, before []string) Change {
	return Change{Known: true, Gone: true, Path: path, Diff: diff.Between(path, []byte(text(before...)), nil)}
}

// told is what a round says of one finding: state, severity, place.
func told(list []Finding) []string {
	var got []string
	for _, f := range list {
		line := strings.TrimSpace(fmt.Sprintf("%s %s %s %s", f.ID, f.State, f.severity(), location(f)))
		if f.Doubted {
			line += " in doubt"
		}
		got = append(got, line)
	}
	return got
}

func TestTheLifeOfAFinding(t *testing.T) {
	file := strings.Fields("top one RET two RET three end")
	shifted := append([]string{"new", "newer"}, file...)
	rewritten := slices.Clone(shifted)
	rewritten[3] = "1"
	f := made("f.go", file, on("f.go", file, 2, "T"))[0]
	again := made("f.go", shifted, severe(prompts.Critical, on("f.go", shifted, 4, "In other words")))
	milder := made("f.go", shifted, severe(prompts.Low, on("f.go", shifted, 4, "T")))
	elsewhere := made("f.go", shifted, on("f.go", shifted, 6, "U"))
	gone := func(e *Earlier) { e.Since = between("f.go", file, rewritten) } // its line was changed
	reply := Reply{101, author, "fixed"}
	const id = "e0000000"
	never := func(string) bool { return false }
	closing := []sentinel.Owed{{Review: 10, Comment: 100}}
	opening := []sentinel.Owed{{Review: 10, Comment: 100, Reopen: true}}
	for promise, tt := range map[string]struct {
		change   func(*Earlier)
		fresh    []Finding
		retained []string
		shown    func(string) bool
		want     []string
		owed     []sentinel.Owed
		unknown  int
		raised   string
	}{
		"dropped, its line was changed":    {gone, nil, nil, always, []string{"e0000000 resolved high f.go:2"}, closing, 0, ""},
		"dropped for no reason":            {nil, nil, nil, always, []string{"e0000000 retained high f.go:4 in doubt"}, nil, 0, ""},
		"retained":                         {nil, nil, []string{id}, always, []string{"e0000000 retained high f.go:4"}, nil, 0, ""},
		"retained twice, as models write":  {nil, nil, []string{" `E0000000`\n", id}, always, []string{"e0000000 retained high f.go:4"}, nil, 0, ""},
		"not shown":                        {nil, nil, nil, never, []string{"e0000000 retained high f.go:4"}, nil, 0, ""},
		"described anew":                   {nil, again, nil, always, []string{"e0000000 retained critical f.go:4"}, nil, 0, "e0000000:critical"},
		"retained and described anew":      {nil, again, []string{id}, always, []string{"e0000000 retained critical f.go:4"}, nil, 0, "e0000000:critical"},
		"described as less grave":          {func(e *Earlier) { e.Severity, e.posted = prompts.Critical, prompts.Critical }, milder, nil, always, []string{"e0000000 retained critical f.go:4"}, nil, 0, ""},
		"dropped, another is new":          {gone, elsewhere, nil, always, []string{"00000001 new high f.go:6", "e0000000 resolved high f.go:2"}, closing, 0, ""},
		"dropped, the author answered":     {func(e *Earlier) { e.Replies = []Reply{reply} }, nil, nil, always, []string{"e0000000 answered high f.go:4"}, nil, 0, ""},
		"retained, whatever was answered":  {func(e *Earlier) { e.Replies = []Reply{reply} }, nil, []string{id}, always, []string{"e0000000 retained high f.go:4"}, nil, 0, ""},
		"the author closed it, it stands":  {func(e *Earlier) { e.Resolver = author }, nil, []string{id}, always, []string{"e0000000 retained high f.go:4"}, nil, 0, ""},
		"the author closed it, it is gone": {func(e *Earlier) { gone(e); e.Resolver = author }, nil, nil, always, []string{"e0000000 resolved high f.go:2"}, nil, 0, ""},
		"another id is retained":           {gone, nil, []string{"deadbeef", "e000000", "retain nothing", ""}, always, []string{"e0000000 resolved high f.go:2"}, closing, 4, ""},
		"a fixed one":                      {func(e *Earlier) { e.Status = Fixed }, nil, nil, always, nil, nil, 0, ""},
		"a fixed one is retained":          {func(e *Earlier) { e.Status = Fixed }, nil, []string{id}, always, nil, nil, 1, ""},
		"a fixed one wasn't shown":         {func(e *Earlier) { e.Status = Fixed }, nil, nil, never, nil, nil, 0, ""},
		"a fixed one is back":              {func(e *Earlier) { e.Status, e.Resolver = Fixed, bot }, again, nil, always, []string{"e0000000 reopened critical f.go:4"}, opening, 0, "e0000000:critical"},
		"a waived one":                     {func(e *Earlier) { e.Status, e.Resolver = Let, person }, nil, nil, always, []string{"e0000000 waived high f.go:4"}, nil, 0, ""},
		"a waived one is described anew":   {func(e *Earlier) { e.Status, e.Resolver = Let, person }, again, nil, always, []string{"e0000000 waived high f.go:4"}, nil, 0, ""},
		"a waived one is retained":         {func(e *Earlier) { e.Status, e.Resolver = Let, person }, nil, []string{id}, always, []string{"e0000000 waived high f.go:4"}, nil, 1, ""},
		"a waived one, others stand":       {func(e *Earlier) { e.Status, e.Resolver = Let, person }, elsewhere, nil, always, []string{"00000001 new high f.go:6", "e0000000 waived high f.go:4"}, nil, 0, ""},
		"of unknown severity":              {func(e *Earlier) { e.Severity, e.posted = "", "" }, nil, []string{id}, always, []string{"e0000000 retained unknown f.go:4"}, nil, 0, ""},
		"which becomes known":              {func(e *Earlier) { e.Severity, e.posted = "", "" }, again, nil, always, []string{"e0000000 retained critical f.go:4"}, nil, 0, "e0000000:critical"},
		"raised before":                    {func(e *Earlier) { e.posted = prompts.Low }, nil, []string{id}, always, []string{"e0000000 retained high f.go:4"}, nil, 0, "e0000000:high"},
		"raised before, and dropped":       {func(e *Earlier) { gone(e); e.posted = prompts.Low }, nil, nil, always, []string{"e0000000 resolved high f.go:2"}, closing, 0, "e0000000:high"},
		"its line is gone":                 {func(e *Earlier) { e.Since = between("f.go", file, strings.Fields("top")) }, nil, []string{id}, always, []string{"e0000000 retained high f.go:2"}, nil, 0, ""},
		"its file is gone":                 {func(e *Earlier) { e.Since = deleted("f.go", file) }, nil, nil, always, []string{"e0000000 resolved high f.go:2"}, closing, 0, ""},
		"its file has another name":        {func(e *Earlier) { e.Since.Path = "g.go" }, nil, []string{id}, always, []string{"e0000000 retained high g.go:4"}, nil, 0, ""},
		"its history isn't known":          {func(e *Earlier) { e.Since = Change{} }, nil, []string{id}, always, []string{"e0000000 retained high f.go:2"}, nil, 0, ""},
		"in the body, dropped":             {func(e *Earlier) { gone(e); e.Where, e.Comment, e.root = InBody, 0, 0 }, nil, nil, always, []string{"e0000000 resolved high f.go:2"}, nil, 0, ""},
		"a reply began the conversation": {func(e *Earlier) { gone(e); e.root = 90 }, nil, nil, always, []string{"e0000000 resolved high f.go:2"},
			[]sentinel.Owed{{Review: 10, Comment: 90}, {Review: 10, Comment: 100}}, 0, ""},
	} {
		earlier := recalled(between("f.go", file, shifted), f)
		earlier[0].Review = 10
		if tt.change != nil {
			tt.change(&earlier[0])
		}
		r := merge(tt.fresh, tt.retained, earlier, tt.shown, added("f.go", shifted...), base)
		if d := cmp.Diff(tt.want, told(r.All())); d != "" {
			t.Errorf("%s (-want +got):\n%s", promise, d)
		}
		if d := cmp.Diff(tt.owed, r.Owed); d != "" {
			t.Errorf("%s: owed (-want +got):\n%s", promise, d)
		}
		if r.Unknown != tt.unknown || r.Raised != tt.raised {
			t.Errorf("%s: %d unknown, raised %q, want %d, %q", promise, r.Unknown, r.Raised, tt.unknown, tt.raised)
		}
		for _, f := range r.Counted {
			if !f.State.Counts() {
				t.Errorf("%s: %s counts", promise, f.State)
			}
		}
		for _, f := range append(append(r.Resolved, r.Answered...), r.Waived...) {
			if f.State.Counts() {
				t.Errorf("%s: %s doesn't count", promise, f.State)
			}
		}
		if n := len(r.New()); n != strings.Count(strings.Join(told(r.Counted), ""), " new ") {
			t.Errorf("%s: %d are new", promise, n)
		}
	}
}

// Servers close conversations, not comments.
func TestAConversationOfTwoFindings(t *testing.T) {
	file := strings.Fields("one two")
	two := func(t *testing.T) []Earlier {
		t.Helper()
		earlier := recalled(Change{Known: true, Path: "f.go"}, made("f.go", file, on("f.go", file, 1, "T"), on("f.go", file, 1, "V"))...)
		for i := range earlier {
			earlier[i].conversation, earlier[i].root, earlier[i].Review = 0, 100, 10
		}
		return earlier
	}
	again := made("f.go", file, on("f.go", file, 1, "T"))
	gone := func(e []Earlier) {
		for i := range e {
			e[i].Since = between("f.go", file, strings.Fields("1 two"))
		}
	}
	said := Reply{200, author, "It is on purpose."}
	for promise, tt := range map[string]struct {
		change   func([]Earlier)
		fresh    []Finding
		retained []string
		want     []string
		owed     []sentinel.Owed
	}{
		"both are fixed":            {gone, nil, nil, []string{"resolved", "resolved"}, []sentinel.Owed{{Review: 10, Comment: 100}, {Review: 10, Comment: 101}}},
		"one stands":                {gone, nil, []string{"e0000001"}, []string{"retained", "resolved"}, nil},
		"the other, described anew": {gone, again, nil, []string{"retained", "resolved"}, nil},
		"answered, which both are":  {func(e []Earlier) { e[0].Replies, e[1].Replies = []Reply{said}, []Reply{said} }, nil, nil, []string{"answered", "answered"}, nil},
		"answered, one of them":     {func(e []Earlier) { gone(e); e[0].Replies = []Reply{said} }, nil, nil, []string{"resolved", "answered"}, nil},
		"one was fixed, one is now": {func(e []Earlier) { gone(e); e[0].Status = Fixed }, nil, nil, []string{"resolved"}, []sentinel.Owed{{Review: 10, Comment: 100}, {Review: 10, Comment: 101}}},
		"one is back, one is fixed": {func(e []Earlier) { gone(e); e[0].Status = Fixed }, again, nil, []string{"reopened", "resolved"}, []sentinel.Owed{{Review: 10, Comment: 100, Reopen: true}}},
		"both are waived":           {func(e []Earlier) { e[0].Status, e[1].Status = Let, Let }, again, nil, []string{"waived", "waived"}, nil},
	} {
		earlier := two(t)
		if tt.change != nil {
			tt.change(earlier)
		}
		r := merge(tt.fresh, tt.retained, earlier, always, added("f.go", file...), head)
		var got []string
		for _, f := range r.All() {
			got = append(got, string(f.State))
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", promise, d)
		}
		if d := cmp.Diff(tt.owed, r.Owed); d != "" {
			t.Errorf("%s: owed (-want +got):\n%s", promise, d)
		}
	}
}

func TestCountedAreInOrderAndLinkedAtHead(t *testing.T) {
	file := strings.Fields("one two three")
	shifted := append([]string{"new"}, file...)
	earlier := recalled(between("f.go", file, shifted), made("f.go", file, severe(prompts.Low, on("f.go", file, 1, "T")), severe(prompts.Critical, on("f.go", file, 3, "T")))...)
	fresh := made("f.go", shifted, on("f.go", shifted, 3, "N"))
	r := merge(fresh, []string{"e0000000", "e0000001"}, earlier, always, added("f.go", shifted...), base)
	want := []string{"e0000000 retained critical f.go:4", "00000001 new high f.go:3", "e0000001 retained low f.go:2"}
	if d := cmp.Diff(want, told(r.Counted)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, f := range r.Counted {
		if f.State == Retained && f.Head != base {
			t.Errorf("its line is known at the new head, but it is linked at %s", f.Head)
		}
	}
	for _, since := range []Change{{}, deleted("f.go", file), between("f.go", file, nil)} {
		earlier := recalled(since, made("f.go", file, on("f.go", file, 1, "T"))...)
		if f := merge(nil, []string{"e0000000"}, earlier, always, diff.Diff{}, base).Counted[0]; f.Head != head || f.standing() != "high · still open" {
			t.Errorf("its line isn't known at the new head, but it is linked there: %+v", f)
		}
		if f := merge(nil, []string{"e0000000"}, earlier, always, diff.Diff{}, head).Counted[0]; f.standing() != "high" {
			t.Errorf("%s, though nobody has had the time to do anything about it", f.standing())
		}
	}
	r.KeepInBody("kept here", func(Finding) bool { return true })
	for _, f := range r.Counted {
		if kept := f.Where == InBody && f.Reason == "kept here"; kept != (f.State == New) {
			t.Errorf("%+v", f)
		}
	}
	if Own(merge(nil, nil, earlier, always, diff.Diff{}, base).Counted, prompts.Low) != sentinel.RequestChanges {
		t.Error("findings that were dropped for no reason don't block")
	}
	if Own(Merge(fixed(Case{Earlier: earlier, Shown: always, Head: base})).Counted, prompts.Low) != sentinel.Approved {
		t.Error("findings that were fixed block")
	}
	earlier[0].Severity = ""
	if Own(merge(nil, []string{earlier[0].ID}, earlier, always, diff.Diff{}, base).Counted, prompts.Critical) != sentinel.RequestChanges {
		t.Error("a severity that isn't known counts as the worst")
	}
}

// An old line's link leads to the file's name before the change.
func TestADeletedLineOfARenamedFileKeepsItsLink(t *testing.T) {
	f := anchored(t, change, old(at("dir/new (1).go", 1, "first gone")))[0]
	earlier := memory(commented(100, f, "security")).Earlier()
	r := merge(nil, []string{earlier[0].ID}, earlier, always, parse(t, change), base)
	if got, want := report().link(r.Counted[0]), report().link(f); got != want || !strings.Contains(got, "old%20name.go#L1") {
		t.Errorf("%s, want %s", got, want)
	}
}
