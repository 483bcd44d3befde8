package sentinel

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWhatIsOwedEncodesAndDecodesToTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := example(t)
		want.Owed = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Owed {
			return Owed{rapid.Int64Range(1, 1<<62).Draw(t, "review"), rapid.Int64Range(1, 1<<62).Draw(t, "comment"), rapid.Bool().Draw(t, "reopen")}
		}), 1, 400).Draw(t, "owed")
		line := want.String()
		got, err := Parse(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
		if got.String() != line {
			t.Fatalf("%s\nis encoded again as\n%s", line, got)
		}
	})
}

func example(t rapid.TB) Sentinel {
	t.Helper()
	s, err := Parse(plain)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatIsOwedIsReadStrictly(t *testing.T) {
	full := strings.TrimSuffix(strings.Repeat("1/2,", owedInOne), ",")
	for promise, tt := range map[string]struct {
		fields string
		ok     bool
	}{
		"one":                      {"owed=1/2", true},
		"one to be reopened":       {"owed=1/-2", true},
		"a full field":             {"owed=" + full, true},
		"two fields":               {"owed=" + full + " owed2=3/4", true},
		"a field too long":         {"owed=" + full + ",3/4", false},
		"a second field too early": {"owed=1/2 owed2=3/4", false},
		"a third field too early":  {"owed=" + full + " owed3=3/4", false},
		"a second one alone":       {"owed2=3/4", false},
		"an unknown one":           {"owed=1/2 owedx=3/4", false},
		"no review":                {"owed=2", false},
		"an empty item":            {"owed=1/2,", false},
		"review 0":                 {"owed=0/2", false},
		"a comment that is none":   {"owed=1/x", false},
		"two signs":                {"owed=1/--2", false},
		"leading zero":             {"owed=01/2", false},
	} {
		line := strings.Replace(plain, " -->", " "+tt.fields+" -->", 1)
		if _, err := Parse(line); (err == nil) != tt.ok {
			t.Errorf("%s: Parse(%q): %v", promise, line, err)
		}
	}
	s := example(t)
	s.Owed = []Owed{{Review: 1, Comment: -2}}
	if s.Validate() == nil {
		t.Error("a comment below 1 is valid")
	}
}

func TestWhatIsOwedIsSigned(t *testing.T) {
	key := NewKey("token", "o/r", 1)
	s := key.Sign(example(t))
	s.Owed = []Owed{{Review: 1, Comment: 2}}
	if key.Verify(s) {
		t.Error("something owed was added, and the code is still right")
	}
}
