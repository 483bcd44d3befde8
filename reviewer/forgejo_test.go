package reviewer_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
	"review-bot/sentinel"
)

// old are the lines of a file before it is renamed.
func old(name string) string { return numbered(name, 20) }

// now is a file's name after that.
func now(name string) string { return strings.Replace(name, ".", "2.", 1) }

// renamed is a push that renames a file and replaces two of its lines.
func renamed(name string) map[string]string {
	text := strings.Replace(old(name), name+", line 9 of it\n", "another ninth\n", 1)
	return map[string]string{name: forgetest.Gone, now(name): strings.Replace(text, name+", line 10 of it\n", "", 1)}
}

// onDeleted finds something on the deleted lines of renamed files.
func onDeleted(name string, line int) prompts.Finding {
	return prompts.Finding{
		Path: now(name), Side: "old", Line: line + 1, Quote: fmt.Sprintf("%s, line %d of it", name, line), Severity: prompts.High,
		Category: "bug", Title: fmt.Sprintf("Missing line %d of %s", line, name), Body: "It was needed.",
	}
}

func onNew(line int) prompts.Finding {
	return prompts.Finding{
		Path: "new.go", Side: "new", Line: line, Quote: fmt.Sprintf("package app %d", line), Severity: prompts.High, Category: "bug",
		Title: fmt.Sprintf("Wrong line %d", line), Body: "It is wrong.",
	}
}

// said are the titles of the findings that the account has published: inline, and in the
// texts of its reviews.
func (s *story) said() (inline, text []string) {
	s.tb.Helper()
	bot := s.shared.As("bot")
	rows, err := bot.Reviews(s.tb.Context())
	if err != nil {
		s.tb.Fatal(err)
	}
	entries, err := bot.Timeline(s.tb.Context(), s.forge.Now().AddDate(-1, 0, 0), rows)
	if err != nil {
		s.tb.Fatal(err)
	}
	for _, row := range rows {
		if row.State == escalation.RowRequest {
			continue
		}
		if row.State == escalation.RowPending {
			if row.Comments > 0 { // an empty one says nothing, and the next review takes it in
				s.tb.Errorf("review %d is pending with %d comments", row.ID, row.Comments)
			}
			continue
		}
		comments, err := bot.Comments(s.tb.Context(), row.ID)
		if err != nil {
			s.tb.Fatal(err)
		}
		for _, c := range comments {
			inline = append(inline, titlesIn(c.Body)...)
		}
		i := slices.IndexFunc(entries, func(e reviewer.Entry) bool { return e.ID == row.CommentID })
		_, below, _ := strings.Cut(entries[i].Body, "without a line in the diff**")
		text = append(text, titlesIn(below)...)
	}
	return inline, text
}

func titlesIn(text string) []string {
	var titles []string
	for line := range strings.Lines(text) {
		if _, title, ok := strings.Cut(strings.TrimSpace(line), "** — "); ok {
			titles = append(titles, title)
		}
	}
	return titles
}

func titles(findings ...prompts.Finding) []string {
	var list []string
	for _, f := range findings {
		list = append(list, f.Title)
	}
	slices.Sort(list)
	return list
}

// A server that fails over a comment keeps no verdict from being published, once, and
// no finding is lost or said twice.
func TestVerdictsGetOutWhereTheServerFailsOverComments(t *testing.T) {
	for name, tt := range map[string]struct {
		before    bool // a first round blocks already, so the verdict is patched
		finds     []prompts.Finding
		fall      int // that are in the text in the end
		reviews   int
		mode      reviewer.Inline
		otherwise forgetest.Dialect // where that isn't Forgejo 17
	}{
		"one of three":                      {finds: []prompts.Finding{onNew(2), onDeleted("a.txt", 9), onNew(5)}, fall: 1, reviews: 1},
		"the only one":                      {finds: []prompts.Finding{onDeleted("a.txt", 9)}, fall: 1, reviews: 1},
		"the last one":                      {finds: []prompts.Finding{onNew(2), onDeleted("z.txt", 9)}, fall: 1, reviews: 1},
		"two, and what comes after them":    {finds: []prompts.Finding{onDeleted("a.txt", 9), onDeleted("a.txt", 10), onNew(5)}, fall: 3, reviews: 1},
		"in a further round":                {before: true, finds: []prompts.Finding{onNew(2), onDeleted("a.txt", 9), onNew(5)}, fall: 1, reviews: 2},
		"the only one, in a further round":  {before: true, finds: []prompts.Finding{onDeleted("a.txt", 9)}, fall: 1, reviews: 1},
		"the last one, in a further round":  {before: true, finds: []prompts.Finding{onNew(2), onDeleted("z.txt", 9)}, fall: 1, reviews: 2},
		"attached in a further round":       {before: true, finds: []prompts.Finding{onNew(2), onDeleted("a.txt", 9)}, fall: 1, reviews: 2, mode: reviewer.InlineAttach},
		"two of three, in a further round":  {before: true, finds: []prompts.Finding{onNew(2), onDeleted("a.txt", 9), onDeleted("z.txt", 9)}, fall: 2, reviews: 2},
		"none, where the server takes them": {finds: []prompts.Finding{onNew(2), onDeleted("a.txt", 9)}, reviews: 1, otherwise: forgetest.Forgejo15},
	} {
		t.Run(name, func(t *testing.T) {
			d := tt.otherwise
			if d.Name == "" {
				d = forgetest.Forgejo17
			}
			base := forgetest.BaseFiles()
			base["a.txt"], base["z.txt"] = old("a.txt"), old("z.txt")
			s := newStory(t, forgetest.Options{Dialect: d, Base: base})
			want := slices.Clone(tt.finds)
			if tt.before {
				first := onNew(8)
				want = append(want, first)
				s.answer = func(prompts.Request) prompts.Answer { return prompts.Answer{Findings: []prompts.Finding{first}} }
				s.mustRun()
			}
			files := renamed("a.txt")
			maps.Copy(files, renamed("z.txt"))
			s.forge.Push("author", files)
			s.answer = func(prompts.Request) prompts.Answer { return prompts.Answer{Findings: tt.finds} }
			edit := func(set *reviewer.Settings) {
				if tt.mode != "" {
					set.Inline = tt.mode
				}
			}
			r := s.mustRun(edit)
			if r.Own != sentinel.RequestChanges || !slices.Contains(r.Gate, "REQUEST_CHANGES") && !slices.Contains(r.Gate, "request_changes") {
				t.Errorf("own %s, gate %v", r.Own, r.Gate)
			}
			inline, text := s.said()
			all := append(slices.Clone(inline), text...)
			slices.Sort(all)
			if !slices.Equal(all, titles(want...)) || len(text) != tt.fall {
				t.Errorf("inline %q, in the text %q, want %q and %d in the text\n%s", inline, text, titles(want...), tt.fall, s.forge.Dump())
			}
			rows, err := s.shared.As("bot").Reviews(t.Context())
			rows = slices.DeleteFunc(rows, func(row reviewer.Row) bool { return row.State == escalation.RowPending })
			if err != nil || len(rows) != tt.reviews {
				t.Errorf("%d reviews, %v; want %d:\n%s", len(rows), err, tt.reviews, s.forge.Dump())
			}
			if strings.Contains(s.forge.Dump(), "ended while it was posting") {
				t.Errorf("the run's own leftover is taken for a dead job's:\n%s", s.forge.Dump())
			}
			asked, writes := len(s.asked), s.writes
			if s.mustRun(edit); len(s.asked) != asked || s.writes != writes {
				t.Errorf("the next run asks %d times and writes %d times", len(s.asked)-asked, s.writes-writes)
			}
		})
	}
}

// An attached comment counts its line in the commit that its review was posted for, so
// after a push a finding goes into a review of its own: on the line that it is about.
func TestFindingsAreAttachedToAReviewOfTheHeadOnly(t *testing.T) {
	attach := func(set *reviewer.Settings) { set.Inline = reviewer.InlineAttach }
	for name, tt := range map[string]struct {
		push    bool
		reviews int
	}{"asked again about the head": {false, 1}, "after a push": {true, 2}} {
		s := newStory(t, forgetest.Options{Dialect: forgetest.Forgejo17})
		s.answer = func(prompts.Request) prompts.Answer { return prompts.Answer{Findings: []prompts.Finding{onNew(8)}} }
		s.mustRun(attach)
		s.answer = func(prompts.Request) prompts.Answer { return prompts.Answer{Findings: []prompts.Finding{onNew(5)}} }
		if tt.push {
			s.forge.Push("author", map[string]string{"new.go": "three\nmore\nlines\n" + forgetest.HeadFiles()["new.go"]})
			s.answer = func(prompts.Request) prompts.Answer {
				f := onNew(5)
				f.Line += 3
				return prompts.Answer{Findings: []prompts.Finding{f}}
			}
		}
		s.mustRun(attach, func(set *reviewer.Settings) { set.Force = true })
		rows, err := s.shared.As("bot").Reviews(t.Context())
		if err != nil || len(rows) != tt.reviews {
			t.Fatalf("%s: %d reviews, %v; want %d", name, len(rows), err, tt.reviews)
		}
		comments, err := s.shared.As("bot").Comments(t.Context(), rows[len(rows)-1].ID)
		if err != nil {
			t.Fatal(err)
		}
		last := comments[len(comments)-1]
		// The server keeps it at the line of the commit that wrote the line.
		if !strings.Contains(last.Body, "Wrong line 5") || last.NewLine != 5 || last.Commit != comments[0].Commit {
			t.Errorf("%s: the comment is at line %d of %s: %s", name, last.NewLine, last.Commit, last.Body)
		}
	}
}

// Where the server keeps two findings at one line number, a reply to one of them is none
// to the other.
func TestFindingsOfOneStoredLineAreTwoConversations(t *testing.T) {
	s := newStory(t, forgetest.Options{Dialect: forgetest.Forgejo17})
	s.forge.Push("author", map[string]string{"new.go": "three\nmore\nlines\n" + forgetest.HeadFiles()["new.go"]})
	above := prompts.Finding{
		Path: "new.go", Side: "new", Line: 2, Quote: "more", Severity: prompts.High, Category: "bug", Title: "More", Body: "Too much.",
	}
	below := onNew(2)
	below.Line = 5
	s.answer = func(prompts.Request) prompts.Answer { return prompts.Answer{Findings: []prompts.Finding{above, below}} }
	s.mustRun()
	rows, err := s.shared.As("bot").Reviews(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	comments, err := s.shared.As("bot").Comments(t.Context(), rows[0].ID)
	if err != nil || len(comments) != 2 || comments[0].NewLine != comments[1].NewLine || comments[0].Commit == comments[1].Commit {
		t.Fatalf("comments %+v, %v, want two at one line of two commits", comments, err)
	}
	if _, err := s.forge.Reply("author", comments[0].ID, "It is meant."); err != nil {
		t.Fatal(err)
	}
	s.forge.Push("author", map[string]string{"other.go": "package other\n"})
	asked := len(s.asked)
	s.mustRun()
	if n := strings.Count(s.asked[asked].Task, "It is meant."); n != 1 {
		t.Errorf("the model was told of %d replies, want one:\n%s", n, s.asked[asked].Task)
	}
}

// pushing is a forge on which somebody pushes while a POST fails.
type pushing struct {
	reviewer.Forge
	push func()
}

func (p pushing) PostReview(ctx context.Context, review reviewer.NewReview) (reviewer.Row, error) {
	row, err := p.Forge.PostReview(ctx, review)
	if err != nil {
		p.push()
	}
	return row, err
}

// A run that finds another head after the server failed over one of its comments takes
// back an older approval all the same. What the server has of its findings is published,
// and not as a dead job's.
func TestAPushWhileTheServerFailsOverAComment(t *testing.T) {
	base := forgetest.BaseFiles()
	base["z.txt"] = old("z.txt")
	s := newStory(t, forgetest.Options{Dialect: forgetest.Forgejo17, Base: base})
	s.mustRun()
	s.forge.Push("author", renamed("z.txt"))
	found := []prompts.Finding{onNew(2), onDeleted("z.txt", 9)}
	s.answer = func(prompts.Request) prompts.Answer { return prompts.Answer{Findings: found} }
	s.wrap = func(f reviewer.Forge) reviewer.Forge {
		return pushing{f, func() {
			s.shared.Do(func(f *forgetest.Forge) { f.Push("author", map[string]string{"other.go": "package other\n"}) })
		}}
	}
	r := s.mustRun()
	if r.Outcome != escalation.HeadMoved || len(r.Gate) > 0 {
		t.Errorf("%s, gate %v\n%s", r.Outcome, r.Gate, s.forge.Dump())
	}
	if inline, _ := s.said(); !slices.Equal(inline, titles(found[0])) || strings.Contains(s.forge.Dump(), "ended while it was posting") {
		t.Errorf("inline %q, want the first finding, of this run\n%s", inline, s.forge.Dump())
	}
	s.wrap = nil
	s.mustRun()
	inline, text := s.said()
	if all := slices.Sorted(slices.Values(slices.Concat(inline, text))); !slices.Equal(all, titles(found...)) {
		t.Errorf("after the next run: %q, want %q", all, titles(found...))
	}
}
