package gitea_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"review-bot/reviewer"
	"review-bot/reviewer/gitea/giteatest"
)

// numbered is a file of so many lines, some of which are edited: by their number,
// "" removes the line.
func numbered(n int, edits map[int]string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		line, ok := edits[i]
		if !ok {
			line = fmt.Sprintf("line %d\n", i)
		}
		b.WriteString(line)
	}
	return b.String()
}

// What a comment says about its place is of the time when it was made, and stays
// so. The commit is no help in finding the line: on the new side it is the one that
// last touched it, where it may have had another number; on the old side it is the
// head, which may not have it at all.
//
// Two things do change. A push that the server takes a comment to be outdated by
// sets its time of update: on the old side nearly every push. And a reply on the
// old side made after a push has the commit and hunk of the new head.
func TestHunkEndsWithTheCommentedLine(t *testing.T) {
	t.Parallel()
	srv := giteatest.Get(t)
	ann, bob := srv.NewUser(t, giteatest.Unique("ann")), srv.NewUser(t, giteatest.Unique("bob"))
	repo := srv.NewRepo(t, ann, "hunks", giteatest.RepoOptions{Files: map[string]string{"a.txt": numbered(60, nil)}})
	repo.AddCollaborator(t, bob, "write")
	base := repo.SHA(t, "main")
	edits := map[int]string{10: "ten\n", 11: "eleven\nmore\n", 30: ""}
	head := repo.Commit(t, "topic", "main", giteatest.Files(map[string]string{"a.txt": numbered(60, edits)}), "edit")
	pull := repo.OpenPull(t, giteatest.PullOptions{Head: "topic"})
	type place struct {
		New, Old int
		Commit   string
		Hunk     string // without its header
	}
	want := map[string]place{
		"new, added":            {11, 0, head, "-line 10\n-line 11\n+ten\n+eleven"},
		"new, context after":    {14, 0, base, "+eleven\n+more\n line 12\n line 13"},
		"new, context before":   {8, 0, base, " line 7\n line 8"},
		"new, after a deletion": {31, 0, base, " line 28\n line 29\n-line 30\n line 31"},
		"old, deleted":          {0, 30, head, " line 27\n line 28\n line 29\n-line 30"},
		"old, changed":          {0, 11, head, " line 8\n line 9\n-line 10\n-line 11"},
		"old, context":          {0, 32, head, " line 29\n-line 30\n line 31\n line 32"},
		// A line that the diff doesn't show; its hunk has a newline more.
		"new, outside": {50, 0, base, " line 46\n line 47\n line 48\n line 49\n line 50\n"},
		"old, outside": {0, 50, head, " line 46\n line 47\n line 48\n line 49\n line 50\n"},
		"new, top":     {1, 0, base, " line 1\n"},
	}
	var in []giteatest.CommentInput
	for name, p := range want {
		in = append(in, giteatest.CommentInput{Path: "a.txt", Body: name, NewPosition: int64(p.New), OldPosition: int64(p.Old)})
	}
	review := pull.Review(t, bob, giteatest.ReviewInput{Event: "COMMENT", Body: "hm", Comments: in})
	first := comments(t, pull, review.ID)
	got := map[string]place{}
	for _, c := range first {
		header, lines, _ := strings.Cut(c.Hunk, "\n")
		if !strings.HasPrefix(header, "@@ -") {
			t.Errorf("%s: header %q", c.Body, header)
		}
		got[c.Body] = place{c.NewLine, c.OldLine, c.Commit, lines}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}

	// stays looks at them again, and at a reply to each that is made now.
	stays := func(when, head string) {
		roots := map[int64]reviewer.Comment{}
		for _, root := range first {
			roots[pull.Reply(t, ann, root.ID, "reply "+when)] = root
		}
		var now []reviewer.Comment
		replies := 0
		for _, c := range comments(t, pull, review.ID) {
			root, isReply := roots[c.ID]
			switch {
			case isReply:
				replies++
				same := c.Hunk == root.Hunk && c.Commit == root.Commit
				if root.OldLine != 0 {
					same = lastLine(c.Hunk) == lastLine(root.Hunk) && c.Commit == head
				}
				if !same || c.NewLine != root.NewLine || c.OldLine != root.OldLine {
					t.Errorf("%s: reply %+v to %+v", when, c, root)
				}
			case !strings.HasPrefix(c.Body, "reply"):
				now = append(now, c)
			}
		}
		ignored := cmpopts.IgnoreFields(reviewer.Comment{}, "Updated")
		if d := cmp.Diff(first, now, ignored); d != "" || replies != len(first) {
			t.Errorf("%s: %d replies, -first +now:\n%s", when, replies, d)
		}
	}
	// updated are the comments that the server calls changed.
	updated := func() (names []string) {
		for _, c := range comments(t, pull, review.ID) {
			if !strings.HasPrefix(c.Body, "reply") && !c.Updated.Equal(c.Created) {
				names = append(names, c.Body)
			}
		}
		slices.Sort(names)
		return names
	}
	stays("at once", head)
	if got := updated(); got != nil {
		t.Errorf("updated at once: %q", got)
	}
	edits[2], edits[11], edits[31] = "two\nlines\nmore\n", "", "thirty-one\n"
	time.Sleep(time.Second) // the server's times count in seconds
	head = repo.Commit(t, "topic", "", giteatest.Files(map[string]string{"a.txt": numbered(60, edits)}), "more")
	pull.Settle(t, head)
	outdated := []string{"new, added", "new, after a deletion", "old, changed", "old, context", "old, deleted", "old, outside"}
	check(t, giteatest.Poll(t.Context(), 30*time.Second, "the push has outdated comments", func() (bool, error) {
		return slices.Equal(updated(), outdated), nil
	}))
	stays("after a push", head)
	head = repo.Rewrite(t, "topic", "main", giteatest.Files(map[string]string{"a.txt": "all new\n"}), "other")
	pull.Settle(t, head)
	stays("after a forced push", head)
}

// lastLine is that of a hunk, without what it is marked as.
func lastLine(hunk string) string {
	lines := strings.Split(strings.TrimSuffix(hunk, "\n"), "\n")
	return lines[len(lines)-1][1:]
}
