package finding

import (
	"fmt"
	"slices"
	"testing"
)

// Comments at one line number of one review: which conversations they are.
func TestConversationsOfOneLine(t *testing.T) {
	at := func(id int64, commit, body string) Comment {
		return Comment{ID: id, Review: ownReview, Path: "a.go", NewLine: 9, Commit: commit, Body: body}
	}
	reply := func(review, root int64) string {
		return fmt.Sprintf("Fixed.\n\n<!-- review-bot-reply:%d:%d covers=2 -->", review, root)
	}
	old := func(c Comment) Comment {
		c.OldLine, c.NewLine = c.NewLine, 0
		return c
	}
	for promise, tt := range map[string]struct {
		comments []Comment
		want     [][]int64
	}{
		"a reply":                           {[]Comment{at(1, "c1", "why?"), at(2, "c1", "because")}, [][]int64{{1, 2}}},
		"two findings of two commits":       {[]Comment{at(1, "c1", "one"), at(2, "c2", "two"), at(3, "c1", "because")}, [][]int64{{1, 3}, {2}}},
		"a reply that names the second":     {[]Comment{at(1, "c1", "one"), at(2, "c2", "two"), at(3, "c1", reply(ownReview, 2))}, [][]int64{{1}, {2, 3}}},
		"a reply that names what isn't one": {[]Comment{at(1, "c1", "one"), at(2, "c2", "two"), at(3, "c1", reply(ownReview, 7))}, [][]int64{{1, 3}, {2}}},
		"a reply that names another line's": {[]Comment{{ID: 1, Review: ownReview, Path: "b.go", NewLine: 9}, at(2, "c1", "one"), at(3, "c1", reply(ownReview, 1))}, [][]int64{{1}, {2, 3}}},
		"another commit on the old side":    {[]Comment{old(at(1, "c1", "one")), old(at(2, "c2", "because"))}, [][]int64{{1, 2}}},
	} {
		var got [][]int64
		for _, c := range Conversations(tt.comments) {
			var ids []int64
			for _, comment := range c.Comments {
				ids = append(ids, comment.ID)
			}
			got = append(got, ids)
		}
		if !slices.EqualFunc(got, tt.want, slices.Equal) {
			t.Errorf("%s: %v, want %v", promise, got, tt.want)
		}
	}
}
