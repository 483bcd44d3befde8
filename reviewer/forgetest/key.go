package forgetest

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Key is a fingerprint of everything that can be observed. Two forges with the
// same key answer all requests alike, now and after the same requests: ids count
// by their order only, see [Forge.ReviewRank], and times by their distance to the
// clock.
func (f *Forge) Key() string {
	sum := sha256.Sum256([]byte(f.Dump()))
	return string(sum[:])
}

// Dump is what the key is made of, for people.
func (f *Forge) Dump() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pull %q %q closed=%t base=%s %s main=%s mergebase=%s head=%s ref=%s\n", f.title, f.body, f.closed, f.baseBranch, f.base, f.main, f.mergeBase, f.head, f.ref)
	fmt.Fprintf(&b, "server %+v fork=%t\n", f.site.dialect, f.site.fork)
	for _, sha := range f.forgotten {
		fmt.Fprintf(&b, "forgotten %s\n", sha)
	}
	if f.rule != nil {
		fmt.Fprintf(&b, "rule %+v\n", f.rule.Protection)
	}
	for _, u := range f.users {
		fmt.Fprintf(&b, "user %d %s %d\n", u.ID, u.Login, u.Access)
	}
	for _, p := range f.pushes {
		fmt.Fprintf(&b, "push %d %s..%s mergebase=%s\n", p.by, p.old, p.new, p.mergeBase)
	}
	reviews, comments := inOrder(f.reviewIDs()), inOrder(f.commentIDs())
	for _, r := range f.reviews {
		fmt.Fprintf(&b, "review %d by %d %s official=%t dismissed=%t stale=%t at=%s age=%d %q\n", reviews[r.id], r.author, r.state,
			r.official, r.dismissed, r.stale, r.commit, f.now-r.created, r.body)
	}
	for _, c := range f.comments {
		fmt.Fprintf(&b, "%s %d by %d review=%d %s:%d at=%s subject=%d removed=%t resolver=%d age=%d/%d %q\n", c.kind, comments[c.id], c.author,
			reviews[c.review], c.path, c.line, c.commit, c.subject, c.removed, c.resolver, f.now-c.created, f.now-c.updated, c.body)
	}
	for _, r := range f.reactions {
		fmt.Fprintf(&b, "reaction %d %s age=%d\n", r.user, r.content, f.now-r.created)
	}
	return b.String()
}

// ReviewRank is the place of a review's id among those given to reviews that are
// there, or that a comment names (a request that was answered is gone from the
// list, its entry still names it): 1 for the smallest, 0 for an id that nobody
// can see. A program that keeps ids beside a forge compares them by it.
func (f *Forge) ReviewRank(id int64) int { return inOrder(f.reviewIDs())[id] }

// CommentRank is the same for ids of timeline entries and inline comments.
func (f *Forge) CommentRank(id int64) int { return inOrder(f.commentIDs())[id] }

func (f *Forge) reviewIDs() []int64 {
	ids := make([]int64, 0, len(f.reviews)+len(f.comments)+1)
	for _, r := range f.reviews {
		ids = append(ids, r.id)
	}
	for _, c := range f.comments {
		ids = append(ids, c.review)
	}
	return ids
}

func (f *Forge) commentIDs() []int64 {
	ids := make([]int64, 0, len(f.comments)+1)
	for _, c := range f.comments {
		ids = append(ids, c.id)
	}
	return ids
}
