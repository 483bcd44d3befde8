package forgetest_test

import (
	"errors"
	"testing"

	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
)

func TestForgottenCommit(t *testing.T) {
	ctx := t.Context()
	f := forgetest.New(forgetest.Options{})
	bot := f.As("bot")
	p, err := bot.Pull(ctx)
	if err != nil {
		t.Fatal(err)
	}
	head := f.Push("author", map[string]string{"a.txt": "a\n"})
	before, clone := f.Key(), f.Clone()
	f.Forget(p.Head)
	if _, err := bot.Tree(ctx, p.Head); !errors.Is(err, reviewer.ErrNoCommit) {
		t.Errorf("tree: %v", err)
	}
	if _, err := bot.Files(ctx, []string{"main.go"}, p.Head); !errors.Is(err, reviewer.ErrNoCommit) {
		t.Errorf("files: %v", err)
	}
	if _, err := bot.File(ctx, "main.go", p.Head); !errors.Is(err, reviewer.ErrNoFile) {
		t.Errorf("file: %v", err)
	}
	if tree, err := bot.Tree(ctx, head); len(tree) != 4 || err != nil {
		t.Errorf("the head's tree: %v, %v", tree, err)
	}
	if f.Key() == before || f.Clone().Key() != f.Key() {
		t.Error("the key doesn't tell, or not of a clone")
	}
	if tree, err := clone.As("bot").Tree(ctx, p.Head); len(tree) != 3 || err != nil || clone.Key() != before {
		t.Errorf("in the clone: %v, %v", tree, err)
	}
	for _, sha := range []string{head, p.Base, p.Head} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s could be forgotten", sha)
				}
			}()
			f.Forget(sha)
		}()
	}
	if pull, err := bot.Pull(ctx); err != nil || pull.Head != head {
		t.Errorf("pull %+v, %v", pull, err)
	}
}

// A hook makes of a server one with too many files, or one that has lost a commit.
func TestHookOfTreeAndFiles(t *testing.T) {
	ctx := t.Context()
	bot := forgetest.New(forgetest.Options{}).As("bot")
	p, err := bot.Pull(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for op, read := range map[forgetest.Op]func() error{
		forgetest.GetTree:  func() error { _, err := bot.Tree(ctx, p.Head); return err },
		forgetest.GetFiles: func() error { _, err := bot.Files(ctx, []string{"main.go"}, p.Head); return err },
	} {
		for _, want := range []error{reviewer.ErrTooLarge, reviewer.ErrNoCommit, errCut} {
			for _, done := range []bool{false, true} {
				bot.Hook = at(forgetest.Call{Op: op, Done: done}, want)
				if err := read(); !errors.Is(err, want) || errors.Is(err, reviewer.ErrUnknown) {
					t.Errorf("%s: %v, want %v", op, err, want)
				}
			}
		}
		bot.Hook = nil
		if err := read(); err != nil || op.Writes() {
			t.Errorf("%s: %v", op, err)
		}
	}
	bot.Hook = func(c forgetest.Call) error { t.Errorf("sent %+v", c); return nil }
	if files, err := bot.Files(ctx, nil, p.Head); files == nil || len(files) != 0 || err != nil {
		t.Errorf("no files: %v, %v", files, err)
	}
	if !forgetest.Say.Writes() {
		t.Error("a comment is no write")
	}
}
