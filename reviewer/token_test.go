package reviewer_test

import (
	"strings"
	"testing"
	"time"

	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
)

// After a change of the token nobody can tell an inline comment that was edited from one
// whose time a push has moved. Its severity isn't believed then, and the review says why;
// a comment whose time says that it is as it was posted is believed.
func TestCommentsAfterTheTokenChanged(t *testing.T) {
	for _, edited := range []bool{false, true} {
		s := newStory(t, forgetest.Options{Head: map[string]string{"evil.go": "package evil // EVIL\n"}})
		s.answer = honest
		first := s.mustRun()
		if len(first.Findings) != 1 {
			t.Fatalf("%+v", first.Findings)
		}
		s.forge.Advance(3 * time.Second)
		if edited {
			bot := s.shared.As("bot")
			rows, _ := bot.Reviews(t.Context())
			comments, err := bot.Comments(t.Context(), rows[0].ID)
			if err != nil || len(comments) != 1 {
				t.Fatalf("%+v, %v", comments, err)
			}
			text := strings.Replace(comments[0].Body, "sev=high", "sev=low", 1)
			if err := bot.EditComment(t.Context(), comments[0].ID, text); err != nil || text == comments[0].Body {
				t.Fatalf("%v: %s", err, text)
			}
		}
		s.forge.Push("author", map[string]string{"more.go": "package more\n"})
		s.answer = func(prompts.Request) prompts.Answer { return prompts.Answer{} }
		env := s.env("bot")
		env.Token = "another token"
		r, err := reviewer.Review(t.Context(), s.settings(), env)
		if err != nil || len(r.Findings) != 1 {
			t.Fatalf("%v: %+v", err, r)
		}
		if known := r.Findings[0].Severity == prompts.High; known == edited {
			t.Errorf("edited %v: severity %q", edited, r.Findings[0].Severity)
		}
		rows, _ := s.shared.As("bot").Reviews(t.Context())
		entries, _ := s.shared.As("bot").Timeline(t.Context(), time.Time{}, rows)
		all := ""
		for _, e := range entries {
			all += e.Body
		}
		if strings.Contains(all, "the account's token was changed, and a finding's comment may have been edited") != edited {
			t.Errorf("edited %v:\n%s", edited, all)
		}
	}
}
