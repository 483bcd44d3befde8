package sentinel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	head = "0123456789abcdef0123456789abcdef01234567"
	run  = "00112233445566778899aabbccddeeff"
	// plain is the shortest sentinel of kind verdict that is well-formed.
	plain = "<!-- review-bot:security v=1 kind=verdict own=approved event=approved head=" + head + " run=" + run + " -->"
)

func hexOf(n int) *rapid.Generator[string] {
	return rapid.Map(rapid.Uint64(), func(u uint64) string { return strings.Repeat(fmt.Sprintf("%016x", u), 4)[:n] })
}

// sentinels draws every well-formed sentinel.
func sentinels(t *rapid.T) Sentinel {
	maybe := func(name string, g *rapid.Generator[string]) string {
		return rapid.OneOf(rapid.Just(""), g).Draw(t, name)
	}
	s := Sentinel{
		Role:    rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,9}`).Draw(t, "role"),
		Version: rapid.IntRange(1, 3).Draw(t, "version"),
		Kind:    rapid.SampledFrom([]Kind{KindVerdict, KindFindings, KindOrphan, KindHold}).Draw(t, "kind"),
		Round:   rapid.IntRange(0, 40).Draw(t, "round"),
		Epoch:   rapid.Int64Range(0, 1<<40).Draw(t, "epoch"),
		Heard:   rapid.Int64Range(0, 1<<40).Draw(t, "heard"),
		Q:       maybe("q", hexOf(64)),
		Base:    maybe("base", hexOf(40)),
		Against: Against{maybe("branch", hexOf(16)), maybe("mergebase", hexOf(40))},
		Body:    maybe("body", hexOf(16)),
		State:   rapid.SampledFrom([]State{Live, Superseded, Retired}).Draw(t, "state"),
		MAC:     maybe("mac", hexOf(32)),

		Official: rapid.Bool().Draw(t, "official"), Advisory: rapid.Bool().Draw(t, "advisory"),
	}
	if n := rapid.SampledFrom([]int{0, 0, 1, 2, MaxUndone}).Draw(t, "undone"); n > 0 {
		s.Undone = rapid.SliceOfN(rapid.Int64Range(1, 1<<63-1), n, n).Draw(t, "ids")
	}
	if s.Kind == KindVerdict {
		s.Own = rapid.SampledFrom([]Verdict{Approved, RequestChanges, Comment}).Draw(t, "own")
		s.Event = rapid.SampledFrom([]Verdict{Approved, RequestChanges, Comment, None}).Draw(t, "event")
		s.Head, s.Run = hexOf(40).Draw(t, "head"), hexOf(32).Draw(t, "run")
	}
	for _, key := range rapid.SliceOfNDistinct(rapid.StringMatching("x[a-z0-9_]{0,8}"), 0, 3, rapid.ID).Draw(t, "extra") {
		s.Extra = append(s.Extra, Field{key, rapid.StringMatching(`[A-Za-z0-9._:,/+=-]{1,5}`).Draw(t, "value")})
	}
	return s
}

func TestWhatIsEncodedDecodesToTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sentinels(t)
		if err := s.Validate(); err != nil {
			t.Fatalf("the generator made an invalid sentinel: %v", err)
		}
		line := s.String()
		got, err := Parse(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if d := cmp.Diff(s, got); d != "" {
			t.Fatalf("%s (-want +got):\n%s", line, d)
		}
		if strings.ContainsAny(line, "\n\r") || strings.Count(line, "-->") != 1 {
			t.Fatalf("not one comment on one line: %q", line)
		}
	})
}

func TestParseIsStrict(t *testing.T) {
	with := func(old, new string) string {
		line := strings.Replace(plain, old, new, 1)
		if line == plain {
			t.Fatalf("%q is not in the example", old)
		}
		return line
	}
	add := func(field string) string { return with(" -->", " "+field+" -->") }
	tests := []struct {
		promise, line string
		ok            bool
	}{
		{"the plain one is read", plain, true},
		{"any order of fields is read", with("v=1 kind=verdict", "kind=verdict v=1"), true},
		{"event none is read", with("event=approved", "event=none"), true},
		{"superseded is read", add("state=superseded"), true},
		{"retired is read", add("state=retired"), true},
		{"kind findings needs no verdict", "<!-- review-bot:a v=1 kind=findings -->", true},
		{"kind orphan needs no verdict", "<!-- review-bot:a v=1 kind=orphan -->", true},
		{"kind hold needs no verdict", "<!-- review-bot:a v=1 kind=hold official=1 -->", true},
		{"an unknown kind", with("kind=verdict", "kind=held"), false},
		{"official that isn't 1", add("official=0"), false},
		{"a role of 64 letters", with("security", strings.Repeat("a", 64)), true},
		{"a value of 512 letters", add("x=" + strings.Repeat("a", 512)), true},

		{"two spaces between fields", with(" kind", "  kind"), false},
		{"two spaces before the end", with(" -->", "  -->"), false},
		{"a tab between fields", with(" kind", "\tkind"), false},
		{"a space in front", " " + plain, false},
		{"a space behind", plain + " ", false},
		{"text in front", "See " + plain, false},
		{"text behind", plain + " approved", false},
		{"a carriage return behind", plain + "\r", false},
		{"a line feed behind", plain + "\n", false},
		{"two on one line", plain + " " + plain, false},
		{"no space before the end", with(" -->", "-->"), false},
		{"not closed", with(" -->", ""), false},
		{"closed in the middle", add("x=a-->b"), false},
		{"closed twice", plain + " -->", false},
		{"a line feed inside", with(" kind", "\nkind"), false},
		{"another opening", with("<!-- ", "<!--"), false},
		{"capitals in the opening", with("review-bot", "Review-Bot"), false},
		{"a finding's marker", with("review-bot:", "review-bot-finding:"), false},

		{"no role", with("security ", ""), false},
		{"an empty role", with("security", ""), false},
		{"a role in capitals", with("security", "Security"), false},
		{"a role that begins with a dot", with("security", ".security"), false},
		{"a role with a slash", with("security", "a/b"), false},
		{"a role of 65 letters", with("security", strings.Repeat("a", 65)), false},
		{"a role in another script", with("security", "sеcurity"), false},

		{"a key twice", add("own=request_changes"), false},
		{"a key twice with the same value", add("own=approved"), false},
		{"an unknown key twice", add("x=1 x=2"), false},
		{"a field without a value", add("q="), false},
		{"a field without =", add("q"), false},
		{"a key in capitals", add("Q=1"), false},
		{"a key that begins with a digit", add("1q=1"), false},
		{"a key of 33 letters", add(strings.Repeat("k", 33) + "=1"), false},
		{"a value of 513 letters", add("x=" + strings.Repeat("a", 513)), false},
		{"a value with a quotation mark", add(`x="a"`), false},
		{"a value beyond ASCII", add("x=ä"), false},
		{"a no-break space in a value", add("x=a\u00a0b"), false},

		{"no version", with("v=1 ", ""), false},
		{"version 0", with("v=1", "v=0"), false},
		{"version -1", with("v=1", "v=-1"), false},
		{"version 01", with("v=1", "v=01"), false},
		{"version +1", with("v=1", "v=+1"), false},
		{"version x", with("v=1", "v=x"), false},
		{"a version beyond all integers", with("v=1", "v=99999999999999999999"), false},
		{"no kind", with("kind=verdict ", ""), false},
		{"unknown kind", with("kind=verdict", "kind=summary"), false},
		{"no own verdict", with("own=approved ", ""), false},
		{"unknown own verdict", with("own=approved", "own=ok"), false},
		{"own verdict none", with("own=approved", "own=none"), false},
		{"own verdict in capitals", with("own=approved", "own=APPROVED"), false},
		{"no event", with("event=approved ", ""), false},
		{"unknown event", with("event=approved", "event=dismissed"), false},
		{"no head", with("head="+head+" ", ""), false},
		{"a short head", with(head, head[:39]), false},
		{"a long head", with(head, head+"0"), false},
		{"a head in capitals", with(head, strings.ToUpper(head)), false},
		{"a head that isn't hexadecimal", with(head, "g"+head[1:]), false},
		{"no run", with("run="+run+" ", ""), false},
		{"a short run", with(run, run[:31]), false},
		{"a run in capitals", with(run, strings.ToUpper(run)), false},
		{"a mac in capitals", add("mac=ABCDEF"), false},
		{"a hash in capitals", add("body=ABCDEF"), false},
		{"a question that isn't hexadecimal", add("q=what"), false},
		{"a base that isn't hexadecimal", add("base=main"), false},
		{"unknown state", add("state=deleted"), false},
		{"round 0 has another spelling", add("round=0"), false},
		{"a round with a sign", add("round=+2"), false},
		{"a negative round", add("round=-2"), false},
		{"a round with a leading zero", add("round=02"), false},
		{"a fraction of a round", add("round=1.5"), false},
		{"a negative epoch", add("epoch=-7"), false},
		{"an epoch beyond all integers", add("epoch=99999999999999999999"), false},
	}
	for _, tt := range tests {
		t.Run(tt.promise, func(t *testing.T) {
			s, err := Parse(tt.line)
			if (err == nil) != tt.ok {
				t.Fatalf("Parse(%q) = %+v, %v", tt.line, s, err)
			}
			if err != nil && !cmp.Equal(s, Sentinel{}) {
				t.Errorf("a refused line gave %+v", s)
			}
		})
	}
}

func TestNoSentinelIsNotABrokenOne(t *testing.T) {
	for line, none := range map[string]bool{
		"":                          true,
		"LGTM":                      true,
		" " + plain:                 true,
		"<!-- a comment -->":        true,
		"<!-- review-bot-finding:a": true,
		"<!-- review-bot:":          false,
		"<!-- review-bot:a -->":     false,
		plain + "x":                 false,
	} {
		if _, err := Parse(line); err == nil || errors.Is(err, ErrNone) != none {
			t.Errorf("Parse(%q): %v", line, err)
		}
	}
}

func TestValidateRefusesWhatParseWouldRefuse(t *testing.T) {
	good := Sentinel{Role: "a", Version: 1, Kind: KindVerdict, Own: Approved, Event: Approved, Head: head, Run: run}
	for promise, spoil := range map[string]func(*Sentinel){
		"a space in the role":          func(s *Sentinel) { s.Role = "a b" },
		"version 0":                    func(s *Sentinel) { s.Version = 0 },
		"a negative round":             func(s *Sentinel) { s.Round = -1 },
		"a negative epoch":             func(s *Sentinel) { s.Epoch = -1 },
		"a negative timeline id":       func(s *Sentinel) { s.Heard = -1 },
		"a state made up":              func(s *Sentinel) { s.State = "gone" },
		"an extra key with a space":    func(s *Sentinel) { s.Extra = []Field{{"a b", "1"}} },
		"an extra value that ends it":  func(s *Sentinel) { s.Extra = []Field{{"x", "-->"}} },
		"an extra value with a space":  func(s *Sentinel) { s.Extra = []Field{{"x", "1 own=approved"}} },
		"an extra key that is a known": func(s *Sentinel) { s.Extra = []Field{{"own", "approved"}} },
		"an extra mac":                 func(s *Sentinel) { s.Extra = []Field{{"mac", "00"}} },
	} {
		s := good
		spoil(&s)
		if s.Validate() == nil {
			t.Errorf("%s: Validate accepts %+v", promise, s)
		}
		if got, err := Parse(s.String()); err == nil && cmp.Equal(got, s) {
			t.Errorf("%s: Parse reads back what Validate refuses", promise)
		}
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

func TestUnknownVersionsAndKeysAreKept(t *testing.T) {
	key := NewKey("token", "o/r", 1)
	s := Sentinel{Role: "a", Version: 2, Kind: KindVerdict, Own: Approved, Event: Approved, Head: head, Run: run,
		Extra: []Field{{"zeta", "1"}, {"alpha", "a=b"}}}
	line := key.Sign(s).String()
	got, err := Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	if got.Version != 2 || !slices.Equal(got.Extra, s.Extra) {
		t.Errorf("version %d, extra %v", got.Version, got.Extra)
	}
	if got.String() != line {
		t.Errorf("encoded again: %s\nwas: %s", got, line)
	}
	if !key.Verify(got) {
		t.Error("the code isn't right any more")
	}
	got.Extra[1].Value = "c"
	if key.Verify(got) {
		t.Error("the code doesn't cover a key that this version doesn't know")
	}
}

func TestAnyChangedFieldBreaksTheCode(t *testing.T) {
	changes := map[string]func(*Sentinel){
		"role":          func(s *Sentinel) { s.Role += "x" },
		"version":       func(s *Sentinel) { s.Version++ },
		"kind":          func(s *Sentinel) { s.Kind += "x" },
		"own":           func(s *Sentinel) { s.Own += "x" },
		"event":         func(s *Sentinel) { s.Event += "x" },
		"head":          func(s *Sentinel) { s.Head += "0" },
		"round":         func(s *Sentinel) { s.Round++ },
		"epoch":         func(s *Sentinel) { s.Epoch++ },
		"heard":         func(s *Sentinel) { s.Heard++ },
		"q":             func(s *Sentinel) { s.Q += "0" },
		"base":          func(s *Sentinel) { s.Base += "0" },
		"run":           func(s *Sentinel) { s.Run += "0" },
		"body":          func(s *Sentinel) { s.Body += "0" },
		"state":         func(s *Sentinel) { s.State += "x" },
		"extra added":   func(s *Sentinel) { s.Extra = append(slices.Clone(s.Extra), Field{"y", "1"}) },
		"mac":           func(s *Sentinel) { s.MAC += "0" },
		"mac cut":       func(s *Sentinel) { s.MAC = s.MAC[:8] },
		"mac left out":  func(s *Sentinel) { s.MAC = "" },
		"values traded": func(s *Sentinel) { s.Q, s.Base = s.Base+"0", s.Q },
	}
	rapid.Check(t, func(t *rapid.T) {
		key := NewKey("token", "o/r", 1)
		s := key.Sign(sentinels(t))
		if !key.Verify(s) {
			t.Fatal("Verify refuses what Sign made")
		}
		for name, change := range changes {
			changed := s
			change(&changed)
			if key.Verify(changed) {
				t.Fatalf("%s changed, and still right: %s", name, changed)
			}
		}
	})
}

func TestTheCodeIsForOneAccountAndOnePullRequest(t *testing.T) {
	s := NewKey("token", "owner/name", 12).Sign(Sentinel{Role: "a", Version: 1, Kind: KindOrphan})
	for promise, tt := range map[string]struct {
		key  Key
		want bool
	}{
		"the same":                     {NewKey("token", "owner/name", 12), true},
		"capitals of the name are one": {NewKey("token", "Owner/Name", 12), true},
		"another token":                {NewKey("other", "owner/name", 12), false},
		"another repository":           {NewKey("token", "owner/name2", 12), false},
		"another pull request":         {NewKey("token", "owner/name", 1), false},
		"digits moved over":            {NewKey("token", "owner/name1", 2), false},
		"no key":                       {Key{}, false},
	} {
		if tt.key.Verify(s) != tt.want {
			t.Errorf("%s: Verify is %v", promise, !tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", plain, plain + "\n", " " + plain, plain + plain,
		"<!-- review-bot: -->", "<!-- review-bot: v=1 -->", "<!-- review-bot:-->", "<!-- review-bot:a v=1 kind=orphan -->",
		"<!-- review-bot:a v=2 kind=findings round=3 epoch=9 x=1 y=a=b -->",
		"<!-- review-bot:a v=1 kind=orphan v=1 -->", "<!-- review-bot:a v=1 kind=orphan  q=00 -->",
		"> **Held by a**: text\n\nText\n\n<sub>usage</sub>\n\n" + plain,
		"```\n" + plain + "\n```", "<sub></sub>\r\n" + plain + "\r\n",
	} {
		f.Add(seed)
	}
	key := NewKey("token", "o/r", 1)
	f.Fuzz(func(t *testing.T, text string) {
		body, found, err := Split(text)
		if err == nil && found.Validate() != nil {
			t.Errorf("Split gave an invalid sentinel: %+v", found)
		}
		_, _ = body.String(), Hash(text)
		s, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(s.String())
		if err != nil || !cmp.Equal(s, again) {
			t.Fatalf("%q\nfirst  %+v\nsecond %+v\n%v", text, s, again, err)
		}
		if signed, err := Parse(key.Sign(s).String()); err != nil || !key.Verify(signed) {
			t.Fatalf("signed and read again, it isn't right: %+v, %v", signed, err)
		}
	})
}
