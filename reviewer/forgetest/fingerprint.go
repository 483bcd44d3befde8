package forgetest

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// Fingerprint is [Forge.Key] in parts, by what shows them, and quicker: for
// walks through very many states. What doesn't matter to the bot is left out: which reviews
// are stale, and the timeline's entries of pushes.
type Fingerprint struct {
	Pull, Reviews, Timeline, Reactions [sha256.Size]byte
}

// Fingerprint computes it.
func (f *Forge) Fingerprint() Fingerprint {
	reviewIDs := make([]int64, 0, len(f.reviews)+len(f.comments))
	commentIDs := make([]int64, 0, len(f.comments))
	for _, r := range f.reviews {
		reviewIDs = append(reviewIDs, r.id)
	}
	for _, c := range f.comments {
		if c.review != 0 {
			reviewIDs = append(reviewIDs, c.review)
		}
		commentIDs = append(commentIDs, c.id)
	}
	slices.Sort(reviewIDs)
	reviewIDs = slices.Compact(reviewIDs)
	slices.Sort(commentIDs)
	counts := make(map[int64]int64, len(f.reviews))
	for _, c := range f.comments {
		if c.kind == inline {
			counts[c.review]++
		}
	}
	place := func(ids []int64, id int64) int64 {
		i, ok := slices.BinarySearch(ids, id)
		if !ok {
			return 0
		}
		return int64(i) + 1
	}

	var p Fingerprint
	b := make([]byte, 0, 8192)
	b = text(b, f.title, f.body, f.baseBranch, f.base, f.main, f.mergeBase, f.head, f.ref)
	b = number(b, flag(f.closed), int64(len(f.pushes)))
	for _, push := range f.pushes {
		b = text(number(b, push.by), push.old, push.new, push.mergeBase)
	}
	b = text(b, f.forgotten...)
	p.Pull = sha256.Sum256(b)

	b = b[:0]
	for _, r := range f.reviews {
		b = number(b, place(reviewIDs, r.id), r.author, flag(r.official), flag(r.dismissed), counts[r.id], f.now-r.created)
		b = text(b, string(r.state), r.commit, r.body)
	}
	p.Reviews = sha256.Sum256(b)

	b = b[:0]
	for _, c := range f.comments {
		if c.kind == entryPush {
			continue
		}
		b = number(b, place(commentIDs, c.id), place(reviewIDs, c.review), c.author, int64(c.line), c.subject, flag(c.removed), c.resolver,
			f.now-c.created, f.now-c.updated)
		b = text(b, string(c.kind), c.path, c.commit, c.body)
	}
	p.Timeline = sha256.Sum256(b)

	b = b[:0]
	for _, r := range f.reactions {
		b = text(number(b, r.user, f.now-r.created), r.content)
	}
	p.Reactions = sha256.Sum256(b)
	return p
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func number(b []byte, list ...int64) []byte {
	for _, n := range list {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func text(b []byte, list ...string) []byte {
	for _, s := range list {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}
