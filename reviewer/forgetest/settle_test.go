package forgetest_test

import (
	"errors"
	"testing"

	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
	"review-bot/sentinel"
)

func TestServerThatCannotResolve(t *testing.T) {
	f := forgetest.New(forgetest.Options{Dialect: forgetest.Dialect{Unresolving: true}})
	bot := f.As("bot")
	row := post(t, bot, sentinel.Comment, "hm", "one")
	list, err := bot.Comments(t.Context(), row.ID)
	if err != nil || len(list) != 1 {
		t.Fatalf("comments %+v, %v", list, err)
	}
	for _, id := range []int64{list[0].ID, 99} {
		if err := bot.Resolve(t.Context(), id, true); !errors.Is(err, reviewer.ErrUnsupported) {
			t.Errorf("resolving %d: %v", id, err)
		}
		if err := bot.Resolve(t.Context(), id, false); !errors.Is(err, reviewer.ErrUnsupported) {
			t.Errorf("reopening %d: %v", id, err)
		}
	}
	if err := bot.EditComment(t.Context(), list[0].ID, "Fixed"); err != nil {
		t.Errorf("editing: %v", err)
	}
}

func TestServerThatAttaches(t *testing.T) {
	f := forgetest.New(forgetest.Options{Dialect: forgetest.Dialect{Attaches: true}})
	bot := f.As("bot")
	row := post(t, bot, sentinel.RequestChanges, "no", "one")
	for _, late := range []reviewer.NewComment{{Path: "new.go", NewLine: 1, Body: "to the same line"}, {Path: "main.go", OldLine: 10, Body: "to another"}} {
		if err := bot.Attach(t.Context(), row.ID, late); err != nil {
			t.Fatal(err)
		}
	}
	list, err := bot.Comments(t.Context(), row.ID)
	if err != nil || len(list) != 3 || list[1].NewLine != 1 || list[2].OldLine != 10 || list[2].Author != row.Author || list[2].Body != "to another" {
		t.Errorf("comments %+v, %v", list, err)
	}
	rows, err := bot.Reviews(t.Context())
	if err != nil || len(rows) != 1 || rows[0].Comments != 3 || rows[0].State != row.State || !rows[0].Official {
		t.Errorf("rows %+v, %v", rows, err)
	}
	if err := bot.Attach(t.Context(), 99, reviewer.NewComment{Path: "a", NewLine: 1, Body: "x"}); !errors.Is(err, reviewer.ErrGone) {
		t.Errorf("to a review that isn't there: %v", err)
	}
	err = bot.Attach(t.Context(), row.ID, reviewer.NewComment{Path: "../a", NewLine: 1, Body: "x"})
	if !errors.Is(err, reviewer.ErrUnknown) {
		t.Errorf("to a path that leads out: %v", err)
	}
}

// What a server can do is seen, so forges that differ by it alone have other keys.
func TestKeyTellsServersApart(t *testing.T) {
	keys := map[string]bool{}
	for _, d := range append(forgetest.Dialects(), forgetest.Dialect{}) {
		keys[forgetest.New(forgetest.Options{Dialect: d}).Clone().Key()] = true
	}
	if len(keys) != 4 { // no dialect is Gitea126
		t.Errorf("%d keys, want 4", len(keys))
	}
}

func TestLostAnswerOfAResolve(t *testing.T) {
	f := forgetest.New(forgetest.Options{})
	bot := f.As("bot")
	row := post(t, bot, sentinel.Comment, "hm", "one")
	list, err := bot.Comments(t.Context(), row.ID)
	if err != nil {
		t.Fatal(err)
	}
	bot.Hook = func(c forgetest.Call) error {
		if c.Op == forgetest.Resolve && c.Done {
			return errors.New("connection reset")
		}
		return nil
	}
	if err := bot.Resolve(t.Context(), list[0].ID, true); !errors.Is(err, reviewer.ErrUnknown) {
		t.Errorf("the answer was lost: %v", err)
	}
	if list, err = bot.Comments(t.Context(), row.ID); err != nil || list[0].ResolverLogin != "bot" {
		t.Errorf("comments %+v, %v", list, err)
	}
}
