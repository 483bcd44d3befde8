package thread

import (
	"strings"
	"testing"
)

// contexts reads "name state, name state".
func contexts(text string) []Context {
	var list []Context
	for s := range strings.SplitSeq(text, ", ") {
		if name, state, ok := strings.Cut(s, " "); ok {
			list = append(list, Context{name, state})
		}
	}
	return list
}

func TestSumUp(t *testing.T) {
	var none []string
	ci := []string{"ci/*"}
	for _, tt := range []struct {
		statuses         string
		named, protected []string
		want             Checks
		notPassed        string
	}{
		{"", none, none, NoChecks, ""},
		{"any success", none, none, ChecksUnnamed, ""}, // any writer can give a commit one
		{"any failure", none, none, Failing, "any (failure)"},
		{"any pending", none, none, Pending, "any (pending)"},

		{"ci success", []string{"ci"}, none, Passed, ""},
		{"ci success, other failure", []string{"ci"}, none, Passed, ""},
		{"other success", []string{"ci"}, none, ChecksMissing, "ci (missing)"},
		{"", []string{"ci"}, none, ChecksMissing, "ci (missing)"},
		{"ci success, other success", []string{"ci", "more"}, []string{"other"}, ChecksMissing, "more (missing)"},
		{"ci success, more skipped", []string{"ci", "more"}, none, Skipped, "more (skipped)"},
		{"ci skipped, more pending", []string{"ci", "more"}, none, Pending, "ci (skipped), more (pending)"},
		{"ci failure, more pending", []string{"ci", "more"}, none, Failing, "ci (failure), more (pending)"},
		{"ci error", []string{"ci", "more"}, none, Failing, "ci (error), more (missing)"},
		{"ci warning", []string{"ci"}, none, Failing, "ci (warning)"},
		{"ci new", []string{"ci"}, none, Failing, "ci (new)"},
		{"ci ", []string{"ci"}, none, Failing, "ci ()"},

		{"ci/a success, ci/b success", ci, none, Passed, ""},
		{"ci/a success, ci/b failure", ci, none, Failing, "ci/b (failure)"},
		{"cd/a success", ci, none, ChecksMissing, "ci/* (missing)"},

		// Beside what the protection asks for, nothing may fail.
		{"ci/a success, other success", none, ci, Passed, ""},
		{"ci/a success, other failure", none, ci, Failing, "other (failure)"},
		{"other success", none, ci, ChecksMissing, "ci/* (missing)"},
		{"{a,b} success", none, []string{"{a,b}"}, Passed, ""},
		{"a success", none, []string{"{a,b}"}, ChecksMissing, "{a,b} (missing)"},
	} {
		got, notPassed := SumUp(contexts(tt.statuses), tt.named, tt.protected)
		if got != tt.want || strings.Join(notPassed, ", ") != tt.notPassed || notPassed == nil {
			t.Errorf("%q, named %q, protected %q: %s, %q; want %s, %q", tt.statuses, tt.named, tt.protected, got, notPassed,
				tt.want, tt.notPassed)
		}
	}
}

func TestPatternsOfContexts(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"ci", "ci", true},
		{"ci", "ci2", false},
		{"*", "", true},
		{"*", "a / b (c)", true},
		{"ci*", "ci / test", true},
		{"ci*", "a ci", false},
		{"*(push)", "ci / test (push)", true},
		{"*(push)", "ci / test (push) x", false},
		{"a*b*c", "axxbyyc", true},
		{"a*b*c", "axxcyyb", false},
		{"a*a", "a", false},
		{"a**a", "aba", true},
		{"", "", true},
		{"", "x", false},
	} {
		if got := matches(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%q, %q: %v", tt.pattern, tt.name, got)
		}
	}
}
