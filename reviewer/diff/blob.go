package diff

import "strings"

// minBlob is how many digits of a blob id say enough: git abbreviates to no fewer by itself.
const minBlob = 7

// SameBlob says whether two ids, each abbreviated or not, name the same content: one begins
// with the other, and both have at least 7 digits. An empty id or one of zeros names none.
//
// It is as good as the shorter id. Git makes an abbreviation unique among the objects there
// are at the time; later content that agrees in 7 digits can be made on purpose, with some
// minutes of computing, so nothing that guards the merge may rest on it alone.
func SameBlob(a, b string) bool {
	a, b = blobID(a), blobID(b)
	if len(a) > len(b) {
		a, b = b, a
	}
	return len(a) >= minBlob && strings.HasPrefix(b, a)
}

// blobID is an id as git writes it; empty if it is nothing but zeros, by which git says that
// there is no content, or isn't an id at all.
func blobID(s string) string {
	if strings.Trim(s, "0") == "" || strings.Trim(s, "0123456789abcdef") != "" {
		return ""
	}
	return s
}
