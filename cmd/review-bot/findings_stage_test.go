package main

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
	"review-bot/sentinel"
)

// shownEarlier is a finding as a prompt lists it.
type shownEarlier struct {
	id, head string
	words    string // of its own: place and title
	text     string // all, with people's replies and what became of the file
}

var (
	earlierCode    = regexp.MustCompile(`(?m)^The code of the boundary lines in this list is ([0-9a-f]{32})\.$`)
	earlierHeading = regexp.MustCompile(`^## ([0-9a-f]{8}) · (.+)$`)
)

// earlierIn reads the earlier findings off a prompt as a model should: what stands
// between boundary lines with the right code is text and nothing else.
func earlierIn(t *testing.T, prompt string) []shownEarlier {
	t.Helper()
	_, list, ok := strings.Cut(prompt, "# Earlier findings\n")
	code := earlierCode.FindStringSubmatch(list)
	if !ok || code == nil {
		return nil
	}
	var all []shownEarlier
	inside, own := false, false
	for line := range strings.Lines(list) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "<<<untrusted ") && strings.HasSuffix(line, " "+code[1]+">>>"):
			inside, own = true, strings.HasPrefix(line, "<<<untrusted finding ")
		case line == "<<<end "+code[1]+">>>":
			inside, own = false, false
		case inside && own && len(all) > 0:
			all[len(all)-1].words += line + "\n"
		case !inside:
			if m := earlierHeading.FindStringSubmatch(line); m != nil {
				all = append(all, shownEarlier{id: m[1], head: m[2]})
				continue
			}
		}
		if n := len(all); n > 0 {
			all[n-1].text += line + "\n"
		}
	}
	if inside {
		t.Errorf("a boundary isn't closed:\n%s", list)
	}
	return all
}

// keeping are the ids of the earlier findings in whose words that is; "" for all.
func keeping(shown []shownEarlier, text string) []string {
	ids := []string{}
	for _, e := range shown {
		if strings.Contains(e.words, text) {
			ids = append(ids, e.id)
		}
	}
	return ids
}

// ask has the job run once, with a model that answers what fn makes of the
// earlier findings it is shown.
func (s *story) ask(t *testing.T, j job, fn func(shown []shownEarlier) prompts.Answer, args ...string) reviewer.Result {
	t.Helper()
	srv := model(t, func(req modeltest.Request) modeltest.Reply {
		s.prompt = req.Text()
		return modeltest.Answer(fn(earlierIn(t, s.prompt)))
	})
	r := j.with("OPENAI_BASE_URL", srv.URL()).result(t, args...)
	if srv.Count() != 1 {
		t.Fatalf("%d model requests, want 1: %+v", srv.Count(), r)
	}
	return r
}

// keepsAll is a model that keeps whatever it is shown and says nothing new.
func keepsAll(shown []shownEarlier) prompts.Answer {
	a := answer()
	a.Retained = keeping(shown, "")
	return a
}

// keepsNone is a model that drops whatever it is shown and says nothing new.
func keepsNone([]shownEarlier) prompts.Answer { return answer() }

// keepsOnly is a model that keeps what says this.
func keepsOnly(text string) func([]shownEarlier) prompts.Answer {
	return func(shown []shownEarlier) prompts.Answer {
		a := answer()
		a.Retained = keeping(shown, text)
		return a
	}
}

// trouble is the title that [story.on] gives.
func trouble(text string) string { return "Trouble with " + text }

// inlines are the inline comments of the bot's account, oldest first.
func (s *story) inlines(t *testing.T) []giteatest.Comment {
	t.Helper()
	var all []giteatest.Comment
	for _, review := range s.pull.Reviews(t) {
		if review.User.ID != s.bot.ID {
			continue
		}
		for _, c := range s.pull.Comments(t, review.ID) {
			if c.User.ID == s.bot.ID {
				all = append(all, c)
			}
		}
	}
	slices.SortFunc(all, func(a, b giteatest.Comment) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func (s *story) api(format string, args ...any) string {
	return "/repos/" + s.repo.FullName() + fmt.Sprintf(format, args...)
}

// rewrite has a user replace a comment's text.
func (s *story) rewrite(t *testing.T, as *giteatest.User, comment int64, text string) {
	t.Helper()
	s.srv.Call(t, as.Token, http.MethodPatch, s.api("/issues/comments/%d", comment), map[string]any{"body": text}, nil)
}

// remove has a user delete a comment.
func (s *story) remove(t *testing.T, as *giteatest.User, comment int64) {
	t.Helper()
	s.srv.Call(t, as.Token, "DELETE", s.api("/issues/comments/%d", comment), nil, nil)
}

// endless is the role's job without a limit of rounds.
func (s *story) endless(t *testing.T) job {
	t.Helper()
	return s.job(t).with("REVIEW_BOT_MAX_ROUNDS", "0")
}

// proxied is the job through a proxy of its own.
func (s *story) proxied(t *testing.T, j job) (job, *giteatest.Proxy) {
	t.Helper()
	proxy := s.srv.NewProxy(t)
	t.Cleanup(func() { proxy.Close() })
	return j.with("GITHUB_SERVER_URL", proxy.URL), proxy
}

// markerOf is the marker on the last line of one of the bot's comments.
func markerOf(t *testing.T, text string) sentinel.Marker {
	t.Helper()
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	m, err := sentinel.ParseMarker(lines[len(lines)-1])
	if err != nil {
		t.Fatalf("no marker on the last line: %v\n%s", err, text)
	}
	return m
}

// key is that of the bot's account on the story's pull request.
func (s *story) key() sentinel.Key {
	return sentinel.NewKey(s.bot.Token, s.repo.FullName(), s.pull.Index)
}

// texts are the current texts of all that the bot's account has published, by
// kind, and the texts as they were posted.
func (s *story) texts(t *testing.T) (bodies, comments []string) {
	t.Helper()
	for _, e := range s.pull.Timeline(t) {
		if e.Type == "review" && e.User.ID == s.bot.ID {
			bodies = append(bodies, e.Body)
		}
	}
	for _, r := range s.pull.Reviews(t) {
		if r.User.ID == s.bot.ID {
			bodies = append(bodies, r.Body)
		}
	}
	for _, c := range s.inlines(t) {
		comments = append(comments, c.Body)
	}
	return bodies, comments
}
