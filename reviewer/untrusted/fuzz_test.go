package untrusted

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzMarkdown(f *testing.F) {
	for _, c := range markdownCases {
		f.Add(c.in)
	}
	f.Add(strings.Join(fragments, ""))
	f.Add("http://0/0/0/issues/") // found by fuzzing
	for i := range fragments {
		f.Add(fragments[i] + fragments[(i*7+3)%len(fragments)] + "@bob`" + fragments[(i*31+11)%len(fragments)])
	}
	f.Fuzz(func(t *testing.T, s string) {
		md := Markdown(s)
		checkSafe(t, md)
		if twice := Markdown(md); twice != md {
			t.Fatalf("second pass of %q: %q, first: %q", s, twice, md)
		}
		line := Line(s, 80)
		if utf8.RuneCountInString(line) > 80 {
			t.Fatalf("long line %q", line)
		}
		checkSafe(t, line)
		checkCells(t, line)
		checkCells(t, CellCode(s))
		checkSafe(t, "x"+CodeSpan(s))
		checkSafe(t, CodeFence(s, s))
	})
}

func FuzzMask(f *testing.F) {
	for _, values := range tokens {
		f.Add(strings.Join(values, "\n+"))
	}
	f.Add("+-----BEGIN PRIVATE KEY-----\n+" + many("MIIE", 64) + "\n+-----END PRIVATE KEY-----\n")
	f.Add("-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----\\n-----BEGIN EC PRIVATE KEY-----MIIEMIIEMIIEMIIEMIIE")
	masker := NewMasker("own-secret-token")
	f.Fuzz(func(t *testing.T, s string) {
		once, n := masker.Mask(s)
		if strings.Count(once, "\n") != strings.Count(s, "\n") || n == 0 && once != s {
			t.Fatalf("Mask(%q) = %q, %d", s, once, n)
		}
		if strings.Contains(once, "own-secret-token") {
			t.Fatalf("own secret left in %q", once)
		}
	})
}
