package main

import (
	"slices"
	"testing"

	"github.com/alecthomas/kong"

	"review-bot/reviewer"
)

// An empty list of siblings is something else than none given: reconcile waits for
// nobody then.
func TestSiblingsThatAreGivenEmpty(t *testing.T) {
	for _, tt := range []struct {
		args, env string
		want      []string
	}{
		{"", "", nil},
		{"--siblings=", "", []string{}},
		{"--siblings=", "a", []string{}},
		{"--siblings=a,b", "", []string{"a", "b"}},
		{"", "a,b", []string{"a", "b"}},
	} {
		var c cli
		parser, err := kong.New(&c, kong.Resolvers(environment(map[string]string{"REVIEW_BOT_SIBLINGS": tt.env})),
			kong.Vars{"version": ""})
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"reconcile"}
		if tt.args != "" {
			args = append(args, tt.args)
		}
		if _, err := parser.Parse(args); err != nil {
			t.Fatal(err)
		}
		var set reviewer.Settings
		if err := c.Reconcile.apply(&set); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(set.Siblings, tt.want) || (set.Siblings == nil) != (tt.want == nil) {
			t.Errorf("%q, %q: %#v", tt.args, tt.env, set.Siblings)
		}
	}
}
