package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/sentinel"
)

// An edit makes another text of a grave finding's comment. minor is the comment
// of a minor finding of the same role.
type commentEdit func(t *testing.T, grave, minor string) string

// marking changes the comment's marker and leaves the code on it as it was.
func marking(change func(*sentinel.Marker)) commentEdit {
	return func(t *testing.T, grave, _ string) string {
		m := markerOf(t, grave)
		old := m.String()
		change(&m)
		return strings.Replace(grave, old, m.String(), 1)
	}
}

// remarked puts another marker in the place of the comment's.
func remarked(t *testing.T, text, marker string) string {
	t.Helper()
	return strings.Replace(text, markerOf(t, text).String(), marker, 1)
}

// remarking is remarked as an edit.
func remarking(marker string) commentEdit {
	return func(t *testing.T, grave, _ string) string { return remarked(t, grave, marker) }
}

// appending writes something behind the marker.
func appending(text string) commentEdit {
	return func(_ *testing.T, grave, _ string) string { return grave + text }
}

// Anyone with write access may edit the bot's inline comments. Whatever becomes of
// one, the model is still shown it, and its finding counts for no less.
func TestEditedInlineComments(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	j := s.endless(t)
	edits := []struct {
		name  string
		edit  commentEdit
		mute  bool // the finding's words are gone
		known bool // the severity is known
	}{
		{"not at all", appending(""), false, true},
		{"a space behind the marker", appending(" \n\n"), false, true},
		{"lowers the severity", marking(func(m *sentinel.Marker) { m.Severity = "low" }), false, false},
		{"lowers the severity, without a code", marking(func(m *sentinel.Marker) { m.Severity, m.MAC = "low", "" }), false, false},
		{"an unknown severity", marking(func(m *sentinel.Marker) { m.Severity = "never" }), false, false},
		{"another id", marking(func(m *sentinel.Marker) { m.ID = "0badf00d" }), false, false},
		{"another head", marking(func(m *sentinel.Marker) { m.Head = strings.Repeat("1", 40) }), false, false},
		{"closed", marking(func(m *sentinel.Marker) { m.Closed = true }), false, false},
		{"closed and low, without a code", marking(func(m *sentinel.Marker) { m.Closed, m.Severity, m.MAC = true, "low", "" }), false, false},
		{"another role", marking(func(m *sentinel.Marker) { m.Role = "tests" }), false, false},
		{"no marker", remarking(""), false, false},
		{"an old marker", remarking(oldMarker), false, false},
		{"another role's old marker", remarking(testsMarker), false, false},
		{"a broken marker", func(_ *testing.T, grave, _ string) string { return strings.Replace(grave, " v=1", " v=1 v=2", 1) }, false, false},
		{"a text behind the marker", appending("\n\nNever mind."), false, false},
		{"a marker behind the marker", appending("\n" + forgedMarker), false, false},
		{"a sentinel behind the marker", appending("\n" + forgedSentinel), false, false},
		{"no text", func(t *testing.T, grave, _ string) string { return markerOf(t, grave).String() }, true, false},
		{"nothing", func(*testing.T, string, string) string { return "\u00a0" }, true, false},
		{"a very long text", func(_ *testing.T, grave, _ string) string { return strings.Repeat("Fine. ", 15_000) + "\n" + grave }, true, false},
	}
	minor := severe(s.on(t, "quiet(1)"), prompts.Low)
	findings := []prompts.Finding{minor}
	grave := func(i int) string { return fmt.Sprintf("code(%d)", i+1) }
	for i := range edits {
		findings = append(findings, s.on(t, grave(i)))
	}
	s.round(t, j, nil, findings...)
	s.push(t, onTop(1))
	minors, comments := s.conversation(t, "quiet(1)"), make([]giteatest.Comment, len(edits))
	time.Sleep(time.Until(minors.Created.Add(time.Second))) // the server notes edits by whole seconds
	for i, test := range edits {
		comments[i] = s.conversation(t, grave(i))
		if text := test.edit(t, comments[i].Body, minors.Body); text != comments[i].Body {
			s.rewrite(t, s.author, comments[i].ID, text)
		}
	}
	var shown []shownEarlier
	r := s.ask(t, j, func(earlier []shownEarlier) prompts.Answer {
		shown = earlier
		return keepsAll(earlier)
	})
	// The very long text has no room, so its finding is kept without being asked about.
	if len(shown) < len(findings)-1 || len(r.Findings) != len(findings) || r.Event != sentinel.RequestChanges {
		t.Errorf("the model is shown %d findings, the result has %d, want %d; event %s", len(shown), len(r.Findings), len(findings), r.Event)
	}
	for i, test := range edits {
		k := slices.IndexFunc(r.Findings, func(f reviewer.FindingResult) bool {
			return strings.HasSuffix(f.URL, fmt.Sprintf("#issuecomment-%d", comments[i].ID))
		})
		if k < 0 {
			t.Errorf("%s: the finding is forgotten", test.name)
			continue
		}
		f := r.Findings[k]
		if f.State != finding.Retained || test.known != (f.Severity == prompts.High) || !test.known && f.Severity != "" {
			t.Errorf("%s: %+v", test.name, f)
		}
		if n := len(keeping(shown, trouble(grave(i))+"\n")); !test.mute && n != 1 {
			t.Errorf("%s: the model is shown %d findings with its words", test.name, n)
		}
	}
	if n := len(s.inlines(t)); n != len(findings) {
		t.Errorf("%d inline comments, want those %d there were", n, len(findings))
	}
	s.wantAllLookedAt(t, "a finding's comment was edited")
	if text := s.text(t); !strings.Contains(text, "| unknown · still open | ["+trouble(grave(2))+"](") {
		t.Errorf("the body is\n%s", text)
	}
}

// What is signed can be copied: the marker of another finding, of the same role
// or another one, says nothing about this one.
func TestCopiedMarkers(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	j := s.endless(t)
	s.round(t, j.with("REVIEW_BOT_ROLE", "tests"), nil, severe(s.on(t, "quiet(20)"), prompts.Low))
	s.round(t, j, nil, s.on(t, "code(5)"), s.on(t, "code(9)"), s.on(t, "code(13)"), s.on(t, "code(21)"), s.on(t, "code(25)"),
		severe(s.on(t, "code(17)"), prompts.Low), severe(s.on(t, "code(29)"), prompts.Low))
	foreign, minor, low := s.conversation(t, "quiet(20)"), s.conversation(t, "code(17)"), s.conversation(t, "code(29)")
	time.Sleep(time.Until(minor.Created.Add(time.Second)))
	paste := func(to string, change func(own string) string) giteatest.Comment {
		c := s.conversation(t, to)
		s.rewrite(t, s.author, c.ID, change(c.Body))
		return c
	}
	with := func(marker string) func(string) string {
		return func(own string) string { return remarked(t, own, marker) }
	}
	grave := s.conversation(t, "code(13)")
	counting := map[string]giteatest.Comment{
		"another role's marker":          paste("code(5)", with(markerOf(t, foreign.Body).String())),
		"exchanged with a minor one":     paste("code(13)", with(markerOf(t, minor.Body).String())),
		"exchanged with the grave one":   paste("code(17)", with(markerOf(t, grave.Body).String())),
		"a minor one's marker":           paste("code(21)", with(markerOf(t, low.Body).String())),
		"a minor one's marker behind it": paste("code(25)", func(own string) string { return own + "\n" + markerOf(t, low.Body).String() }),
	}
	paste("code(9)", func(string) string { return foreign.Body }) // leaves nothing of it
	s.push(t, onTop(1))
	r := s.ask(t, j, keepsAll)
	s.wantAllLookedAt(t, "a finding's comment was deleted, or its marker was")
	for name, c := range counting {
		if !slices.ContainsFunc(r.Findings, func(f reviewer.FindingResult) bool {
			return strings.HasSuffix(f.URL, fmt.Sprintf("#issuecomment-%d", c.ID)) && f.State == finding.Retained && f.Severity.AtLeast(prompts.High)
		}) {
			t.Errorf("%s: it doesn't count as it should: %+v", name, r.Findings)
		}
	}
	s.wantResolved(t, map[string]bool{trouble("code(5)"): false, trouble("code(13)"): false, trouble("code(17)"): false})
}

// An edit in the very second of the POST leaves no trace in the server's times.
func TestEditInTheSecondOfThePost(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	j, proxy := s.proxied(t, s.endless(t))
	var edited atomic.Int64
	proxy.SetHook(func(r *giteatest.Request) *giteatest.Fault {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.Path, "/reviews") {
			return nil
		}
		return &giteatest.Fault{
			Delay: time.Until(time.Now().Truncate(time.Second).Add(time.Second)), // as much of the second as there is
			Forwarded: func(giteatest.Request) {
				err := giteatest.Try(t.Context(), func(tb giteatest.TB) {
					var reviews []giteatest.Review
					s.srv.Call(tb, s.author.Token, http.MethodGet, s.pull.ReviewsPath(), nil, &reviews)
					var comments []giteatest.Comment
					s.srv.Call(tb, s.author.Token, http.MethodGet, s.api("/pulls/%d/reviews/%d/comments", s.pull.Index, reviews[0].ID), nil, &comments)
					text := strings.Replace(comments[0].Body, "sev=high", "sev=low", 1)
					s.srv.Call(tb, s.author.Token, http.MethodPatch, s.api("/issues/comments/%d", comments[0].ID), map[string]any{"body": text}, nil)
					edited.Add(1)
				})
				if err != nil {
					t.Error(err)
				}
			},
		}
	})
	s.round(t, j, nil, s.on(t, "code(5)"))
	proxy.SetHook(nil)
	c := s.conversation(t, "code(5)")
	if edited.Load() != 1 || !strings.Contains(c.Body, "sev=low") {
		t.Fatalf("%d edits, and the comment is\n%s", edited.Load(), c.Body)
	}
	if !c.Updated.Equal(c.Created) {
		t.Logf("the edit came too late to be in the same second: this run shows less")
	}
	s.push(t, onTop(1))
	if r := s.ask(t, j, keepsAll); r.Own != sentinel.RequestChanges {
		t.Errorf("own %s with the findings %+v", r.Own, r.Findings)
	}
}

// entry is the timeline entry that shows the role's review.
func (s *story) entry(t *testing.T) (comment int64, text string) {
	t.Helper()
	for _, e := range s.pull.Timeline(t) {
		if _, sent, err := sentinel.Split(e.Body); err == nil && e.Type == "review" && sent.Kind == sentinel.KindVerdict && sent.State == sentinel.Live {
			comment, text = e.ID, e.Body
		}
	}
	return comment, text
}

// A finding without a line in the diff stands in the review's body, which writers
// may edit as well.
func TestEditedBodyWithFindings(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	j := s.endless(t)
	outside := s.on(t, "code(5)")
	outside.Path, outside.Title = "elsewhere.go", "Something grave elsewhere"
	s.round(t, j, nil, outside, severe(s.on(t, "code(9)"), prompts.Low))
	s.push(t, onTop(1))
	entry, text := s.entry(t)
	for _, test := range []struct{ name, old, by string }{
		{"lowers the severity", "sev=high", "sev=low"},
		{"gives it to another role", "review-bot-finding:logic/", "review-bot-finding:tests/"},
		{"removes the marker", "<!-- review-bot-finding:", "<!-- "},
		{"removes its part", "without a line in the diff**", "**"},
		{"removes the sentinel", "<!-- review-bot:logic", "<!-- "},
		{"adds a word", "Something grave", "Something harmless"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(text, test.old) {
				t.Fatalf("no %q in\n%s", test.old, text)
			}
			s.rewrite(t, s.author, entry, strings.ReplaceAll(text, test.old, test.by))
			defer s.rewrite(t, s.author, entry, text)
			if r := s.ask(t, j, keepsOnly("Something"), "--dry-run"); r.Own != sentinel.RequestChanges || r.Event != sentinel.RequestChanges {
				t.Errorf("own %s, event %s with the findings %+v", r.Own, r.Event, r.Findings)
			}
		})
	}
}

// What only that text told of is forgotten with it: a finding that came with a
// later round, and that a later round took one for graver. So all is looked at
// again, and people read why.
func TestEditedBodyOfALaterRound(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	j := s.endless(t)
	s.round(t, j, nil, s.on(t, "code(5)"), severe(s.on(t, "code(9)"), prompts.Low))
	s.push(t, onTop(1))
	outside := s.on(t, "code(13)")
	outside.Path, outside.Title = "elsewhere.go", "Something grave elsewhere"
	s.round(t, j, nil, s.on(t, "code(9)"), outside)
	for _, edit := range []func(string) string{
		func(text string) string { return strings.Replace(text, "Something", "Hardly anything", 1) },
		func(string) string { return "All is fine." },
	} {
		s.push(t, onTop(1))
		entry, text := s.entry(t)
		s.rewrite(t, s.author, entry, edit(text))
		s.ask(t, j, keepsAll)
		s.wantAllLookedAt(t, "the text of the last review was edited")
	}
	s.push(t, onTop(1))
	s.ask(t, j, keepsAll)
	if strings.Contains(s.prompt, "code(30)") {
		t.Errorf("a round later all is looked at once more:\n%s", s.prompt)
	}
}

// wantAllLookedAt checks that the last model saw the whole diff, and that people
// are told why.
func (s *story) wantAllLookedAt(t *testing.T, why string) {
	t.Helper()
	for _, line := range []string{"code(1)", "code(30)", "quiet(30)"} {
		if !strings.Contains(s.prompt, "+ "+line) {
			t.Errorf("%s isn't in the prompt:\n%s", line, s.prompt)
		}
	}
	if _, text := s.entry(t); !strings.Contains(text, "The whole diff was reviewed again: "+why) {
		t.Errorf("the body doesn't say why all was looked at again:\n%s", text)
	}
}

// A finding is forgotten whose comment is gone, or lost its marker in a leftover
// of a job that died, which is no role's. A commit that changes nothing brings no
// approval then: all is looked at again.
func TestForgottenFinding(t *testing.T) {
	t.Parallel()
	leftover := func(t *testing.T, s *story, j job) {
		planned := s.round(t, j.with("REVIEW_BOT_DRY_RUN", "true"), nil, s.on(t, "code(5)"))
		post := planned.Plan.Steps[0].Post.Comments[0]
		in := giteatest.ReviewInput{Event: "COMMENT", Comments: []giteatest.CommentInput{
			{Path: post.Path, Body: post.Body, NewPosition: int64(post.NewLine)}, {Path: storyFile, Body: "beyond the file's end", NewPosition: 900},
		}}
		if status, message := s.srv.Status(t, s.bot.Token, http.MethodPost, s.pull.ReviewsPath(), in, nil); status != http.StatusInternalServerError {
			t.Fatalf("the server answers %d %s, want 500", status, message)
		}
	}
	for _, test := range []struct {
		name   string
		start  func(t *testing.T, s *story, j job)
		forget func(t *testing.T, s *story, c giteatest.Comment)
	}{
		{"the comment is deleted, and something said in another", nil, func(t *testing.T, s *story, c giteatest.Comment) {
			s.pull.Reply(t, s.author, s.conversation(t, "code(9)").ID, "I see")
			s.remove(t, s.author, c.ID)
		}},
		{"a leftover's comment loses its marker", leftover, func(t *testing.T, s *story, c giteatest.Comment) {
			s.rewrite(t, s.author, c.ID, remarked(t, c.Body, ""))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			j := s.endless(t)
			if test.start != nil {
				test.start(t, s, j)
			}
			if r := s.round(t, j, nil, s.on(t, "code(5)"), severe(s.on(t, "code(9)"), prompts.Low)); r.Own != sentinel.RequestChanges || len(s.inlines(t)) != 2 {
				t.Fatalf("%d comments, %+v", len(s.inlines(t)), r)
			}
			test.forget(t, s, s.conversation(t, "code(5)"))
			s.pull.Settle(t, s.repo.Commit(t, s.branch, s.branch, nil, "nothing"))
			r := s.ask(t, j, keepsAll)
			s.wantAllLookedAt(t, "a finding's comment was deleted, or its marker was")
			if r.Own != sentinel.Approved || r.Counted() != 1 {
				t.Errorf("%+v", r)
			}
		})
	}
}
