package ignore

import (
	"strings"
	"testing"
	"time"
)

// FuzzRules: whatever is read neither panics nor takes long, and a glob that is refused
// says so with its name.
func FuzzRules(f *testing.F) {
	f.Add("*.{svg,png} !a/ [a-z]", "*.go linguist-generated\n[attr]m linguist-vendored\n\"a b\" m", "a/b.svg")
	f.Add(strings.Repeat("{a,b}", 8)+strings.Repeat("*a", 9), "[[:digit:]]*/** -linguist-generated", "a/a/a/a/ab")
	f.Add("[]a] \\[ a** /**/ **/x/", "!x linguist-generated=false\n\"\\303\\244\" linguist-generated", "ä\xff")
	f.Fuzz(func(t *testing.T, globs, attributes, path string) {
		start := time.Now()
		rules := Rules{}
		for glob := range strings.FieldsSeq(globs) {
			one, err := New([]string{glob}, []byte(attributes))
			if err != nil {
				if !strings.HasPrefix(err.Error(), "--ignore "+glob+": ") {
					t.Errorf("%q: %v", glob, err)
				}
				continue
			}
			rules.attributes = one.attributes
			rules.globs = append(rules.globs, one.globs...)
		}
		why := rules.Why(path)
		if again := rules.Why(path); again != why {
			t.Errorf("%q, then %q", why, again)
		}
		if bound := 2*time.Second + time.Duration(len(globs)+len(attributes)+len(path))*time.Millisecond; time.Since(start) > bound {
			t.Errorf("took %v", time.Since(start))
		}
	})
}
