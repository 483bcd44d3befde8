package sentinel

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const mark = "<!-- review-bot-finding:security/1f3c9a2b head=" + head + " sev=high cat=logic key=00ff v=1 -->"

func TestWhatAMarkerEncodesDecodesToTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Marker{
			Role: rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,9}`).Draw(t, "role"), ID: hexOf(8).Draw(t, "id"), Head: hexOf(40).Draw(t, "head"),
			Severity: rapid.SampledFrom([]string{"", "low", "critical"}).Draw(t, "severity"),
			Category: rapid.SampledFrom([]string{"", "logic", "access_control"}).Draw(t, "category"),
			Key:      hexOf(rapid.IntRange(1, 32).Draw(t, "digits")).Draw(t, "key"), Version: rapid.IntRange(1, 3).Draw(t, "version"),
		}
		if rapid.Bool().Draw(t, "placed") {
			m.Blob, m.Line = hexOf(10).Draw(t, "blob"), rapid.IntRange(1, 99999).Draw(t, "line")
			m.Old, m.Closed = rapid.Bool().Draw(t, "old"), rapid.Bool().Draw(t, "closed")
		}
		if rapid.Bool().Draw(t, "signed") {
			m = NewKey("token", "o/r", 1).SignMarker(m, "Words.")
		}
		if rapid.IntRange(0, 4).Draw(t, "unversioned") == 0 {
			m.Version = 0
			if rapid.Bool().Draw(t, "nothing but the role") {
				m = Marker{Role: m.Role}
			}
		}
		if rapid.Bool().Draw(t, "extra") {
			m.Extra = []Field{{"x", "1"}, {"by", "a/b"}}
		}
		got, err := ParseMarker(m.String())
		if err != nil {
			t.Fatalf("%s: %v", m, err)
		}
		if d := cmp.Diff(m, got); d != "" {
			t.Fatalf("%s (-want +got):\n%s", m, d)
		}
	})
}

func TestAMarkerIsReadStrictly(t *testing.T) {
	want := Marker{Role: "security", ID: "1f3c9a2b", Head: head, Severity: "high", Category: "logic", Key: "00ff", Version: 1}
	if got, err := ParseMarker(mark); err != nil || !cmp.Equal(got, want) {
		t.Fatalf("%+v, %v", got, err)
	}
	if want.String() != mark {
		t.Errorf("encoded as %s", want)
	}
	with := func(old, new string) string {
		line := strings.Replace(mark, old, new, 1)
		if line == mark {
			t.Fatalf("%q is not in the example", old)
		}
		return line
	}
	for promise, tt := range map[string]struct {
		line string
		ok   bool
	}{
		"a newer version":           {with("v=1", "v=2"), true},
		"an unknown key":            {with("v=1", "x=1 v=1"), true},
		"another order":             {with("sev=high cat=logic", "cat=logic sev=high"), true},
		"two spaces":                {with(" sev", "  sev"), false},
		"a space behind":            {mark + " ", false},
		"text behind":               {mark + "x", false},
		"text in front":             {"x" + mark, false},
		"not closed":                {with(" -->", ""), false},
		"closed in the middle":      {with("cat=logic", "cat=-->"), false},
		"a key twice":               {with("sev=high", "sev=high sev=low"), false},
		"no role":                   {with("security/", ""), false},
		"an empty role":             {with("security/", "/"), false},
		"a role in capitals":        {with("security/", "Security/"), false},
		"no id":                     {with("/1f3c9a2b", ""), false},
		"an empty id":               {with("1f3c9a2b", ""), false},
		"an id of 7 digits":         {with("1f3c9a2b", "1f3c9a2"), false},
		"an id of 9 digits":         {with("1f3c9a2b", "1f3c9a2b0"), false},
		"an id in capitals":         {with("1f3c9a2b", "1F3C9A2B"), false},
		"a second slash":            {with("1f3c9a2b", "1f3c9a2b/1"), false},
		"no head":                   {with("head="+head+" ", ""), false},
		"a short head":              {with(head, head[1:]), false},
		"a head in capitals":        {with(head, strings.ToUpper(head)), false},
		"no key":                    {with("key=00ff ", ""), false},
		"a key that is no hash":     {with("key=00ff", "key=xyz"), false},
		"no version":                {with(" v=1", ""), true},
		"an old one: role alone":    {"<!-- review-bot-finding:security -->", true},
		"an old one: role and id":   {"<!-- review-bot-finding:security/1f3c9a2b -->", true},
		"an old one: half an id":    {"<!-- review-bot-finding:security/1f3c -->", false},
		"placed":                    {with("v=1", "blob=00ff line=7 side=old state=closed v=1"), true},
		"a blob that is no hash":    {with("v=1", "blob=x v=1"), false},
		"line 0":                    {with("v=1", "line=0 v=1"), false},
		"an unknown side":           {with("v=1", "side=left v=1"), false},
		"an unknown state":          {with("v=1", "state=open v=1"), false},
		"version 0":                 {with("v=1", "v=0"), false},
		"version 01":                {with("v=1", "v=01"), false},
		"the sentinel of a review":  {plain, false},
		"a value with a line break": {with("cat=logic", "cat=lo\ngic"), false},
	} {
		if _, err := ParseMarker(tt.line); (err == nil) != tt.ok {
			t.Errorf("%s: ParseMarker(%q): %v", promise, tt.line, err)
		}
	}
	for _, line := range []string{"", "x", plain} {
		if _, err := ParseMarker(line); !errors.Is(err, ErrNone) {
			t.Errorf("ParseMarker(%q): %v, want ErrNone", line, err)
		}
	}
}

func TestMarkersStandAloneOnTheirLine(t *testing.T) {
	second := strings.Replace(mark, "1f3c9a2b", "00000002", 1)
	for promise, tt := range map[string]struct {
		text string
		want []string
	}{
		"none":                      {"Text.", nil},
		"empty":                     {"", nil},
		"at the end":                {"Text.\n\n" + mark, []string{"1f3c9a2b"}},
		"line ends of Windows":      {"Text.\r\n\r\n" + mark + "\r\n", []string{"1f3c9a2b"}},
		"blanks behind":             {mark + " \t", []string{"1f3c9a2b"}},
		"several, in their order":   {second + "\n- a\n" + mark + "\n" + plain, []string{"00000002", "1f3c9a2b"}},
		"the same twice":            {mark + "\n" + mark, []string{"1f3c9a2b", "1f3c9a2b"}},
		"inside a line":             {"- a " + mark + "\n" + mark + " b", nil},
		"indented":                  {"  " + mark, nil},
		"quoted":                    {"> " + mark, nil},
		"a broken one is no hurdle": {strings.Replace(mark, "v=1", "v=0", 1) + "\n" + second, []string{"00000002"}},
	} {
		var got []string
		for _, m := range Markers(tt.text) {
			got = append(got, m.ID)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", promise, d)
		}
	}
}

func TestNamesOfRolesAndFindings(t *testing.T) {
	for name, want := range map[string]bool{"a": true, "gpt-5.1_mini": true, "0": true, "": false, "-a": false, "_a": false, "A": false, "a b": false, "a\n": false, "ä": false} {
		if ValidRole(name) != want {
			t.Errorf("ValidRole(%q) is %v", name, !want)
		}
	}
	for id, want := range map[string]bool{"00000000": true, "1f3c9a2b": true, "": false, "1f3c9a2": false, "1F3C9A2B": false, "1f3c9a2g": false, "1f3c9a2b\n": false} {
		if ValidID(id) != want {
			t.Errorf("ValidID(%q) is %v", id, !want)
		}
	}
}

func FuzzMarker(f *testing.F) {
	for _, seed := range []string{
		"", mark, mark + "\r\n" + mark, "<!-- review-bot-finding:", "<!-- review-bot-finding:/ -->", "<!-- review-bot-finding:a/00000000 v=1 -->",
		strings.Replace(mark, "v=1", "x=y v=7", 1), strings.Replace(mark, "sev=high ", "", 1), strings.Replace(mark, " sev", "  sev", 1), plain,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range Markers(text) {
			if !ValidRole(m.Role) || m.ID != "" && !ValidID(m.ID) || m.Version > 0 && m.ID == "" {
				t.Errorf("a marker of no finding: %+v", m)
			}
		}
		m, err := ParseMarker(text)
		if err != nil {
			return
		}
		if again, err := ParseMarker(m.String()); err != nil || !cmp.Equal(m, again) {
			t.Fatalf("%q\nfirst  %+v\nsecond %+v\n%v", text, m, again, err)
		}
	})
}

func TestAnEditedMarkerIsNotTheAccounts(t *testing.T) {
	key := NewKey("token", "o/r", 1)
	m, err := ParseMarker(mark)
	if err != nil {
		t.Fatal(err)
	}
	if key.VerifyMarker(m, "Words.") {
		t.Error("a marker without a code is right")
	}
	signed := key.SignMarker(m, "Words.")
	read, err := ParseMarker(signed.String())
	if err != nil || !key.VerifyMarker(read, "Words.\r\n") {
		t.Errorf("%s: %v", signed, err)
	}
	if NewKey("token", "o/r", 2).VerifyMarker(signed, "Words.") {
		t.Error("the code of one pull request is right on another")
	}
	if key.VerifyMarker(signed, "Other words.") {
		t.Error("the code is right under another text")
	}
	signed.Severity = "low"
	if key.VerifyMarker(signed, "Words.") {
		t.Error("the severity was changed, and the code is still right")
	}
}
