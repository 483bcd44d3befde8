package reviewer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"review-bot/escalation"
	"review-bot/reviewer/thread"
)

const (
	reviewedHead = "1111111111111111111111111111111111111111"
	presentHead  = "2222222222222222222222222222222222222222"
)

// talkForge is a pull request with conversations, of which some can't be read.
type talkForge struct {
	Reader

	rows     []Row
	comments map[int64][]Comment
	files    map[string]map[string]string // by commit and path
	diff     string
	broken   map[string]error // by what fails: a commit, tree and a commit, a review's number
}

func (f *talkForge) Account(context.Context) (User, error) { return User{1, "alice"}, nil }
func (f *talkForge) Pull(context.Context) (Pull, error) {
	return Pull{Number: 5, Author: User{1, "alice"}, Head: presentHead}, nil
}
func (f *talkForge) Reviews(context.Context) ([]Row, error) { return f.rows, nil }
func (f *talkForge) Diff(context.Context) ([]byte, error)   { return []byte(f.diff), nil }
func (f *talkForge) Abilities(context.Context) (Abilities, error) {
	return Abilities{Resolve: Can, Reply: Unasked}, nil
}

func (f *talkForge) Comments(_ context.Context, review int64) ([]Comment, error) {
	return f.comments[review], f.broken[fmt.Sprint(review)]
}

func (f *talkForge) Tree(_ context.Context, commit string) (map[string]string, error) {
	tree := map[string]string{}
	for path, text := range f.files[commit] {
		tree[path] = "blob of " + text
	}
	return tree, f.broken["tree "+commit]
}

func (f *talkForge) Files(_ context.Context, paths []string, commit string) (map[string][]byte, error) {
	if f.files[commit] == nil {
		return nil, ErrNoCommit
	}
	found := map[string][]byte{}
	for _, path := range paths {
		if text, ok := f.files[commit][path]; ok {
			found[path] = []byte(text)
		}
	}
	return found, f.broken[commit]
}

const lineOf = "first(1)\nsecond(2)\nthird(3)\n"

// newTalkForge has a comment on the second line of a.go, which stands.
func newTalkForge() *talkForge {
	return &talkForge{
		rows:     []Row{{ID: 7, State: escalation.RowComment, Comments: 1, Commit: reviewedHead}},
		comments: map[int64][]Comment{7: {{ID: 70, Review: 7, Author: 2, Login: "bob", Path: "a.go", NewLine: 2}}},
		files:    map[string]map[string]string{reviewedHead: {"a.go": lineOf}, presentHead: {"a.go": "x\n" + lineOf}},
		broken:   map[string]error{},
	}
}

// What can't be found out doesn't hide a conversation, and doesn't keep anybody
// from working on the others; the list says so.
func TestThreadsOfWhatCantBeRead(t *testing.T) {
	renamed := func(f *talkForge) { f.files[presentHead] = map[string]string{"b.go": "x\n" + lineOf} }
	for name, tt := range map[string]struct {
		change func(*talkForge)
		want   string // path and line at the head, or outdated
		note   string
	}{
		"all can be read":         {func(*talkForge) {}, "a.go:3", ""},
		"the head is too large":   {func(f *talkForge) { f.broken[presentHead] = ErrTooLarge }, "a.go:0", "1 file couldn't be read"},
		"the head refuses":        {func(f *talkForge) { f.broken[presentHead] = errors.New("422") }, "a.go:0", "1 file couldn't be read"},
		"the commit is too large": {func(f *talkForge) { f.broken[reviewedHead] = ErrTooLarge }, "a.go:0", "1 file couldn't be read"},
		"the commit is gone":      {func(f *talkForge) { delete(f.files, reviewedHead) }, "a.go:0", ""},
		"the commit is no commit": {func(f *talkForge) { f.rows[0].Commit = "../../main" }, "a.go:0", ""},
		"renamed":                 {renamed, "b.go:3", ""},
		"renamed, the same":       {func(f *talkForge) { f.files[presentHead] = map[string]string{"b.go": lineOf} }, "b.go:2", ""},
		"renamed, another kind":   {func(f *talkForge) { f.files[presentHead] = map[string]string{"b.txt": "x\n" + lineOf} }, "outdated", ""},
		"renamed, a large tree":   {func(f *talkForge) { renamed(f); f.broken["tree "+presentHead] = ErrTooLarge }, ":0", ""},
		"renamed, among very many": {
			func(f *talkForge) {
				renamed(f)
				delete(f.files[presentHead], "b.go")
				f.files[presentHead]["z.go"] = "x\n" + lineOf
				for i := range maxCandidates {
					f.files[presentHead][fmt.Sprintf("b%d.go", i)] = "nothing like it\n"
				}
			}, ":0", "",
		},
		"deleted, among some": {func(f *talkForge) { f.files[presentHead] = map[string]string{"b.go": "nothing like it\n"} }, "outdated", ""},
		"deleted":             {func(f *talkForge) { f.files[presentHead] = map[string]string{} }, "outdated", ""},
		"the old side, no diff": {
			func(f *talkForge) {
				f.diff = "--- nonsense\n@@ -1 +1 @@\n"
				f.comments[7][0].NewLine, f.comments[7][0].OldLine = 0, 2
			}, ":0", "the diff of the pull request can't be read",
		},
		"the old side": {
			func(f *talkForge) { f.comments[7][0].NewLine, f.comments[7][0].OldLine = 0, 2 }, "outdated", "",
		},
		"a pending review's comments are nobody's": {
			func(f *talkForge) {
				f.rows = append(f.rows, Row{ID: 8, State: escalation.RowPending, Comments: 1})
				f.comments[8] = []Comment{{ID: 80, Review: 8, Path: "a.go", NewLine: 1}}
			}, "a.go:3", "",
		},
		"a review is deleted meanwhile": {
			func(f *talkForge) {
				f.rows = append(f.rows, Row{ID: 8, State: escalation.RowComment, Comments: 1})
				f.broken["8"] = ErrGone
			}, "a.go:3", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTalkForge()
			tt.change(f)
			list, _, err := Threads(t.Context(), f, ThreadsSettings{Filter: thread.Filter{IncludeOutdated: true}, Most: 10}, func(Progress) {})
			if err != nil || len(list.Threads) != 1 {
				t.Fatalf("%v, %+v", err, list)
			}
			c := list.Threads[0]
			got := fmt.Sprintf("%s:%d", c.HeadPath, c.HeadLine)
			if c.Outdated {
				got = "outdated"
			}
			notes := strings.Join(list.Notes, "\n")
			if got != tt.want || (notes != "") != (tt.note != "") || !strings.Contains(notes, tt.note) {
				t.Errorf("%s, notes %q, want %s, %q", got, notes, tt.want, tt.note)
			}
			if c.CanResolve == nil || !*c.CanResolve || c.CanReply != nil {
				t.Errorf("can resolve %v, can reply %v", c.CanResolve, c.CanReply)
			}
		})
	}
}

// A server that fails for a passing cause is no reason to guess.
func TestThreadsWithoutTheServer(t *testing.T) {
	for _, what := range []string{presentHead, reviewedHead, "7"} {
		f := newTalkForge()
		f.broken[what] = fmt.Errorf("reading: %w", ErrUnavailable)
		if list, _, err := Threads(t.Context(), f, ThreadsSettings{Most: 10}, func(Progress) {}); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v, %+v", what, err, list)
		}
	}
}
