package gitea

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"review-bot/reviewer"
	"review-bot/sentinel"
)

// What Forgejo answers to a token that is limited to repositories.
const (
	scope   = `{"message":"token does not have at least one of required scope(s), required=[read:user], token scope=write:repository"}`
	limited = `{"message":"token requires access to all repositories"}`
	named   = `{"permission":"write","role_name":"write","user":{"id":7,"login":"Bot"}}`
)

func TestWhoseTokenItIs(t *testing.T) {
	const permission = shop + "/collaborators/bot/permission"
	user := status(http.StatusOK, `{"id":7,"login":"Bot"}`)
	for promise, tt := range map[string]struct {
		account          string
		user, permission http.HandlerFunc
		line             string // "" for the account
		requests         int
	}{
		"it says so":                {"", user, nil, "", 1},
		"it says so, as was given":  {"bot", user, nil, "", 1},
		"it says another":           {"bot2", user, nil, "asking whose token this is: the token isn't that account's: it is of Bot, not of bot2 — correct --account (REVIEW_BOT_ACCOUNT), or take that account's token", 1},
		"it may not say":            {"", status(403, limited), nil, "asking whose token this is: the token doesn't say whose it is: token requires access to all repositories — give --account LOGIN, as a token that is limited to repositories can't be asked, or create one with repository: write, issue: write, user: read", 1},
		"it may not say, and given": {"bot", status(403, limited), status(200, named), "", 2},
		"lacks the scope, given":    {"bot", status(403, scope), status(200, named), "", 2},
		"given, of another":         {"bot", status(403, limited), status(403, `{"message":"Only admins can query all permissions"}`), "asking whether the token is of bot: the token isn't that account's — correct --account (REVIEW_BOT_ACCOUNT), or take that account's token", 2},
		"given, nobody":             {"bot", status(403, limited), nil, "asking whether the token is of bot: the token isn't that account's — correct --account (REVIEW_BOT_ACCOUNT), or take that account's token", 2},
		"given, an odd answer":      {"bot", status(403, limited), status(200, `{"user":{"id":8,"login":"eve"}}`), "asking whether the token is of bot: what ADDRESS answered is no Gitea answer: the answer is about somebody else — check --server (GITHUB_SERVER_URL) and any proxy before it", 2},
	} {
		answers := site{"/api/v1/user": tt.user}
		if tt.permission != nil {
			answers[permission] = tt.permission
		}
		f := newFake(t, answers.ServeHTTP)
		client := f.client()
		client.cfg.Account = tt.account
		got, err := client.Account(t.Context())
		if tt.line == "" && (err != nil || got != (reviewer.User{ID: 7, Login: "Bot"})) {
			t.Errorf("%s: %+v, %v", promise, got, err)
		}
		if tt.line != "" {
			wantLine(t, err, strings.ReplaceAll(tt.line, "ADDRESS", f.url))
		}
		if n := len(f.requests()); n != tt.requests {
			t.Errorf("%s: %d requests, want %d: %q", promise, n, tt.requests, f.requests())
		}
	}
}

// An administrator's token gets an answer for any account. The first thing that it writes
// shows whose it is, and then nothing more is written.
func TestATokenOfAnotherAccountWritesNothingMore(t *testing.T) {
	const reactions, reviews = shop + "/issues/42/reactions", shop + "/pulls/42/reviews"
	review := reviewer.NewReview{Event: sentinel.Comment, Commit: commit, Body: "hm"}
	for promise, tt := range map[string]struct {
		first func(*Client) error
		sent  []string
	}{
		"the lock": {func(c *Client) error {
			_, _, err := c.React(t.Context(), "rocket")
			return err
		}, []string{"POST " + reactions, "DELETE " + reactions}},
		"a review": {func(c *Client) error {
			_, err := c.PostReview(t.Context(), review)
			return err
		}, []string{"POST " + reviews}},
		"a comment": {func(c *Client) error {
			_, err := c.Say(t.Context(), "hm")
			return err
		}, []string{"POST " + shop + "/issues/42/comments"}},
		"a reply": {func(c *Client) error {
			_, err := c.Reply(t.Context(), reviewer.Comment{ID: 5, Review: 4, Path: "a.go", NewLine: 1}, "hm")
			return err
		}, []string{"POST " + shop + "/pulls/42/comments/5/replies"}},
		"what doctor tries": {func(c *Client) error {
			_, _, err := c.React(t.Context(), "rocket")
			return err
		}, []string{"POST " + reactions, "DELETE " + reactions}},
	} {
		f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/api/v1/user":
				status(403, limited)(w, r)
			case r.Method == http.MethodGet:
				status(200, named)(w, r)
			case r.URL.Path == reactions:
				status(201, `{"user":{"id":1,"login":"owner"},"content":"rocket","created_at":"2026-01-02T03:04:05Z"}`)(w, r)
			default:
				status(200, `{"id":3,"user":{"id":1,"login":"owner"}}`)(w, r)
			}
		})
		client := f.client()
		client.cfg.Account = "bot"
		ask := func() error { _, err := client.Account(t.Context()); return err }
		if promise == "what doctor tries" {
			ask = func() error { _, err := client.Examine(t.Context()); return err }
		}
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		known := len(f.requests())
		err := tt.first(client)
		if !errors.Is(err, errStranger) || errors.Is(err, reviewer.ErrUnknown) || !strings.Contains(err.Error(), "correct --account") {
			t.Errorf("%s: %v", promise, err)
		}
		for name, write := range map[string]func() error{
			"PostReview":    func() error { _, err := client.PostReview(t.Context(), review); return err },
			"EditReview":    func() error { return client.EditReview(t.Context(), 1, "x") },
			"RequestReview": func() error { return client.RequestReview(t.Context(), "bot") },
			"Say":           func() error { _, err := client.Say(t.Context(), "x"); return err },
			"Resolve":       func() error { return client.Resolve(t.Context(), 1, true) },
		} {
			if err := write(); !errors.Is(err, errStranger) {
				t.Errorf("%s, then %s: %v", promise, name, err)
			}
		}
		if sent := f.requests()[known:]; !slices.Equal(sent, tt.sent) {
			t.Errorf("%s: sent %q, want %q", promise, sent, tt.sent)
		}
	}
}
