package sentinel

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestListsOfIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.StringMatching("[0-9a-f]{8}"), 0, 600).Draw(t, "ids")
		s := Sentinel{Role: "security", Kind: KindFindings, Version: 1}
		s.Extra = append(s.Extra, IDFields(WaivedIDs, nil)...)
		s.Extra = append(s.Extra, IDFields(OpenIDs, ids)...)
		again, err := Parse(s.String())
		if err != nil {
			t.Fatal(err)
		}
		if got, known := again.IDs(OpenIDs); !known || !slices.Equal(got, ids) {
			t.Fatalf("%d ids come back as %d, known: %v", len(ids), len(got), known)
		}
		if got, known := again.IDs(WaivedIDs); !known || len(got) > 0 {
			t.Fatalf("an empty list comes back as %q, known: %v", got, known)
		}
	})
}

// A list that is missing or holds anything else isn't an empty one.
func TestAListThatIsntKnown(t *testing.T) {
	for _, fields := range [][]Field{
		nil, {{"opened", "none"}}, {{"open2", "00000001"}}, {{"open", ""}}, {{"open", "0000001"}}, {{"open", "00000001,"}},
		{{"open", "00000001,none"}},
		{{"open", "00000001"}, {"open2", "none"}}, {{"open", "0000000G"}},
	} {
		if ids, known := (Sentinel{Extra: fields}).IDs(OpenIDs); known || len(ids) > 0 {
			t.Errorf("%v: %q, known: %v", fields, ids, known)
		}
	}
	if ids, known := (Sentinel{Extra: []Field{{"open", "00000001"}, {"open3", "00000002"}}}).IDs(OpenIDs); !known ||
		fmt.Sprint(ids) != "[00000001]" {
		t.Errorf("%q, known: %v", ids, known)
	}
}
