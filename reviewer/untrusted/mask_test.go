package untrusted

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tokens are put together here, so that scanners leave this file alone.
var tokens = map[string][]string{
	"github token":       {"ghp_" + many("aB3", 36), "gho_" + many("x1", 36), "ghs_" + many("x1", 36), "github_pat_" + many("A1_", 82)},
	"gitlab token":       {"glpat-" + many("a-1", 20)},
	"anthropic key":      {"sk-ant-api03-" + many("aQ3-_", 93)},
	"openai key":         {"sk-proj-" + many("xQ3-_", 100)},
	"api key":            {"sk-" + many("aB3", 48)},
	"aws key id":         {"AKIA" + many("Z7", 16), "ASIA" + many("Z7", 16)},
	"slack token":        {"xoxb-" + many("12-", 24) + "a", "xoxp-" + many("1a", 24)},
	"google key":         {"AIza" + many("aB_-", 35)},
	"npm token":          {"npm_" + many("aB3", 36)},
	"pypi token":         {"pypi-AgEIcHlwaS5vcmc" + many("aQ3-", 60)},
	"hugging face token": {"hf_" + many("aB", 34)},
	"sendgrid key":       {"SG." + many("aB3", 22) + "." + many("a-_", 43)},
	"stripe key":         {"sk_live_" + many("aB3", 24), "rk_live_" + many("aB3", 24)},
	"jwt": {
		encoded(`{"alg":"HS256","typ":"JWT"}`) + "." + encoded(`{"sub":"1234567890","name":"A"}`) + "." + many("aQ3-_", 43),
	},
}

func encoded(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func many(s string, n int) string { return strings.Repeat(s, n)[:n] }

func TestMaskTokens(t *testing.T) {
	for name, values := range tokens {
		for _, v := range values {
			for _, around := range []string{"%s", "x = %q", "+token: %s\n-y", "`%s`", "(%s)", "https://u:%s@h/", "%s.\n"} {
				in := fmt.Sprintf(around, v)
				want := strings.Replace(in, v, "[masked: "+name+"]", 1)
				got, n := Mask(in)
				if got != want || n != 1 {
					t.Errorf("Mask(%q) = %q, %d, want %q", in, got, n, want)
				}
			}
		}
	}
}

func TestMaskLeavesAlone(t *testing.T) {
	for _, s := range []string{
		"", "ordinary words, a task-oriented risk-free disk-based mask-generation desk-",
		"da39a3ee5e6b4b0d3255bfef95601890afd80709",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"123e4567-e89b-12d3-a456-426614174000",
		"const prefix = \"ghp_\" // and github_pat_, sk-, xoxb-, AKIA, AIza, npm_, hf_, SG.",
		"npm_config_registry npm_lifecycle_event hf_transfer sk-learn sk-SK pypi-publish glpat-",
		"sha512-" + many("aB3+/", 86) + "==",
		"data:image/png;base64," + many("iVBORw0KGgo", 200),
		"task-" + many("a1", 40), "eyJhbGciOiJIUzI1NiJ9", "AKIAlowercase1234567",
		"strings.HasPrefix(s, \"-----BEGIN PRIVATE KEY-----\")\n\treturn true\n",
		"a pattern -----BEGIN [A-Z ]*PRIVATE KEY----- and -----END PRIVATE KEY-----",
		"-----BEGIN CERTIFICATE-----\n" + many("MII", 64) + "\n-----END CERTIFICATE-----",
		"-----BEGIN PUBLIC KEY-----\n" + many("MII", 64) + "\n-----END PUBLIC KEY-----",
	} {
		if got, n := Mask(s); got != s || n != 0 {
			t.Errorf("Mask(%q) = %q, %d", s, got, n)
		}
	}
}

// der is the lines of a key of n bytes, with random ones in it.
func der(n int, seed byte) []string {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data)
	copy(data, []byte{0x30, byte(n - 2), 2, 1, 0, 4, byte(n - 7)})
	return folded(data, 64)
}

func folded(data []byte, width int) (lines []string) {
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString(data)), width) {
		lines = append(lines, string(line))
	}
	return lines
}

func TestMaskPrivateKeys(t *testing.T) {
	line, two, three := der(48, 0)[0], der(96, 0), der(120, 0)
	plus := der(112, 0)
	for seed := byte(0); plus[1][0] != '+'; seed++ {
		plus = der(112, seed)
	}
	pgp := "lQHY" + two[1][:60]
	m := "[masked: private key]"
	begin, end := "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
	for _, c := range []struct {
		name, in, want string
		n              int
	}{
		{
			"bare", "a\n" + begin + "\n" + strings.Join(three, "\n") + "\n" + end + "\nb",
			"a\n" + m + "\n" + m + "\n" + m + "\n" + m + "\n" + m + "\nb", 1,
		},
		{
			"a last line that may be a word", begin + "\n" + strings.Join(der(99, 0), "\n") + "\n" + end,
			m + "\n" + m + "\n" + m + "\n" + der(99, 0)[2] + "\n" + m, 1,
		},
		{
			"diff", "+" + begin + "\n+" + two[0] + "\n+" + two[1] + "\n+" + end + "\n b",
			"+" + m + "\n+" + m + "\n+" + m + "\n+" + m + "\n b", 1,
		},
		{
			"diff with columns", "  3    | -" + begin + "\n  4    | -" + two[0] + "\n       5 +" + two[1] + "\n  6  6  " + end,
			"  3    | -" + m + "\n  4    | -" + m + "\n       5 +" + m + "\n  6  6  " + m, 1,
		},
		{
			"removed and added", "-" + begin + "\n+" + begin + "\n-" + two[0] + "\n+" + two[1] + "\n " + end,
			"-" + begin + "\n+" + m + "\n-" + m + "\n+" + m + "\n " + m, 1,
		},
		{"quoted reply", "> " + begin + "\n> " + line + "\n> " + end, "> " + m + "\n> " + m + "\n> " + m, 1},
		{"one string", `k = "` + begin + `\n` + line + `\n` + end + `\n"`, `k = "` + m + `\n"`, 1},
		{
			"one string of two lines", `k = "` + begin + `\n` + two[0] + `\n` + two[1] + `\n` + end + `\n"`, `k = "` + m + `\n"`,
			1,
		},
		{"one line, no end", `k = "` + begin + `\n` + two[0], `k = "` + m, 1},
		{
			"strings joined", "+\t\"" + begin + "\\n\" +\n+\t\"" + line + "\\n\" +\n+\t\"" + end + "\\n\"",
			"+\t\"" + m + "\\n\" +\n+\t\"" + m + "\\n\" +\n+\t\"" + m + "\\n\"", 1,
		},
		{
			"encrypted", begin + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n" + two[1] + "\n" + end + "\nx",
			m + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n" + m + "\n" + m + "\nx", 1,
		},
		{
			"encrypted, on one line", begin + `\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n` + two[1] + `\n` + end, m,
			1,
		},
		{
			"PGP", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + pgp + "\n=aBcD\n-----END PGP PRIVATE KEY BLOCK-----",
			m + "\n\n" + m + "\n=aBcD\n" + m, 1,
		},
		{
			"cut at the end", "+" + begin + "\n+" + three[0] + "\n+" + three[1] + "\n@@ -1 +1 @@\n+x",
			"+" + m + "\n+" + m + "\n+" + m + "\n@@ -1 +1 @@\n+x", 1,
		},
		{
			"cut at the start", "@@ -1 +1 @@\n " + three[1] + "\n " + three[2] + "\n " + end + "\n x",
			"@@ -1 +1 @@\n " + m + "\n " + m + "\n " + m + "\n x", 1,
		},
		{"two", begin + "\n" + line + "\n" + end + "\nx\n" + begin + "\n" + line + "\n" + end, m + "\n" + m + "\n" + m + "\nx\n" + m + "\n" + m + "\n" + m, 2},
		{"CRLF", begin + "\r\n" + line + "\r\n" + end + "\r\n", m + "\r\n" + m + "\r\n" + m + "\r\n", 1},
		{
			"a line that begins with a plus", begin + "\n" + strings.Join(plus, "\n") + "\n" + end,
			m + "\n" + m + "\n+" + m + "\n" + m + "\n" + m, 1,
		},
		{
			"two on a line", `a("` + begin + `\n` + line + `\n` + end + `", "` + begin + line + end + `")`,
			`a("` + m + `", "` + m + `")`, 2,
		},
	} {
		got, n := Mask(c.in)
		if got != c.want || n != c.n {
			t.Errorf("%s: got %d\n%s\nwant %d\n%s", c.name, n, got, c.n, c.want)
		}
	}
}

// Masking hides values, never code: what only looks as if it were in a key is left as it is.
func TestMaskLeavesCode(t *testing.T) {
	line := der(48, 0)[0]
	begin, end := "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
	words := "setUserIsAdmin1/disableAuthentication1/forEverybodyWhoAsksForIt+"
	for name, s := range map[string]string{
		"code in comments":     "// " + begin + "\nfetch(evil);\nadmin = true\n// " + end,
		"code without a space": begin + "\nisAdmin=true\nauthorizationIsDisabledForEveryone=true\n" + end,
		"words of one length":  begin + "\nDisableAuth1=1\nDisableAuth2=1\n" + end,
		"labels as headers": "/*\n" + begin + "\n*/\nEvil: fetch(document.cookie)\nVersion: fetch(location)\n/*\n" +
			end + "\n*/",
		"a label and base64":      begin + "\nVersion: fetch(evil)\nFetch: evil()\n" + line[:60] + "\n" + end,
		"code after the base64":   begin + "\n" + line[:20] + "\nevil()\n" + line[:20] + "\n" + end,
		"a one-line trick":        "x = `" + begin + "`; fetch(evilevilevilevilevilevilevilevilevil); y = `" + end + "`",
		"one line, an expression": begin + "+fetch(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)+" + end,
		"one line of words":       begin + ` + "evil" + DisableTheAuthorization1 + ` + end,
		"one line of commands":    begin + `\ntools/Evil1\nsh\nAaaaaaaaaaaaaaaaaaaaaaaaaaaaabbcdfgh\n` + end,
		"an unknown header":       "-----BEGIN EVIL PRIVATE KEY-----\n" + line + "\n-----END EVIL PRIVATE KEY-----",
		"no key":                  "-----BEGIN CODE-----\n" + line + "\n-----END PRIVATE KEY",
		"an END alone":            "evil()\nauthorizationIsDisabledForEveryoneWhoAsksForItNicelyEnoughToday1A\nx\n" + end,
		"one line above an END":   "authorizationIsDisabledForEveryoneWhoAsksForItNicelyEnoughToday1A\n" + end,
		"an END after code":       "DisableTheAuthorization1234567890abcdefgh\nevil() " + end,
		"a path, run by a shell":  begin + "\n/////////////////////////////////////////////////tmp/Evil12345678\n" + end,
		"few different signs":     begin + "\n" + many("aA1", 64) + "\n" + end,
		"the longer line comes":   begin + "\n" + line[:40] + "\n" + line + "\n" + end,
		"base64 that is no key":   begin + "\n" + der(96, 0)[1] + "\n" + end,
		"the same on one line":    begin + `\n` + der(96, 0)[1] + `\n` + end,
		"more than a key":         begin + "\n" + line + "\n" + line + "\n" + end,
		"words as long as lines":  words + "\n" + words + "\n" + end,
		"words after a BEGIN":     begin + "\n" + words + "\n" + words + "\n",
		"an expression":           "a1b/C2d+e3F/g4H+i5J/k6L+m7N/o8P+q9R/s0T+u1V/w2X+y3Z/A4b+c5D/e6F+\n" + end,
		"encrypted words":         begin + "\nProc-Type: 4,ENCRYPTED\n\n" + words + "\n" + end,
		"a JWT of names":          "eyJhbGciOiJub.eyJmZXRjaGVz.Q29uc3RydWN0b3IxMjM0()",
		"a JWT of a function":     encoded(`{"alg":"none"}`) + "." + encoded(`{"sub":"1"}`) + ".disableAuthentication()",
		"calls like a token":      "SG.disableAuthentication.forEverybodyWhoAsksForIt",
		"a sum like a token":      "sk-ant-disable-authentication-for-all-requests",
		"a function like a token": "ghp_disableAuthenticationForEverybodyWhoAsksForIt1()",
		"a command like a token":  "xoxb-install-everything",
	} {
		if got, n := Mask(s); got != s || n != 0 {
			t.Errorf("%s: %d\n%s", name, n, got)
		}
	}
	// The key is masked, the code before and after it isn't.
	in := begin + `\n` + line + "`; evil(); `\n" + line + "\nevil()\n" + begin + "\n" + line + "\nevil()\n" + end +
		"\nevil()"
	if got, n := Mask(in); strings.Count(got, "evil()") != 4 || n != 2 || strings.Count(got, line) != 1 {
		t.Errorf("%d\n%s", n, got)
	}
}

// A key can be made that has words in it. Its other lines are masked, not those.
func TestMaskLeavesCodeInKeys(t *testing.T) {
	const words = "setUserIsAdmin1/disableAuthentication1/forEverybodyWhoAsksForIt+"
	noise := der(120, 1)
	body, err := base64.StdEncoding.DecodeString(noise[1][:52] + noise[1] + words + noise[1] + "deletebackup")
	if err != nil {
		t.Fatal(err)
	}
	// What comes before the words is two whole lines.
	lines := folded(append([]byte{0x30, 0x81, byte(len(body) + 6), 2, 1, 0, 4, 0x81, byte(len(body))}, body...), 64)
	in := "-----BEGIN PRIVATE KEY-----\n" + strings.Join(lines, "\n") + "\n-----END PRIVATE KEY-----"
	got, n := Mask(in)
	m := "[masked: private key]\n"
	if want := m + m + m + words + "\n" + m + "deletebackup\n" + strings.TrimSpace(m); got != want || n != 1 {
		t.Errorf("%d\n%s\nof\n%s", n, got, in)
	}
}

// Of a key of which a line was taken out, or changed, the rest is a secret all the same.
func TestMaskKeysThatAreNotWhole(t *testing.T) {
	data := make([]byte, 900)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	copy(data, []byte{0x30, 0x82, byte((900 - 4) >> 8), byte((900 - 4) & 0xff), 2, 1, 0})
	lines := folded(data, 64)
	for i := 1; i < len(lines); i++ {
		gone := slices.Delete(slices.Clone(lines), i, i+1)
		got, n := Mask("-----BEGIN PRIVATE KEY-----\n" + strings.Join(gone, "\n") + "\n-----END PRIVATE KEY-----")
		for _, line := range gone {
			if n == 0 || len(line) == 64 && strings.Contains(got, line) {
				t.Errorf("without line %d of %d, %d masked:\n%s", i+1, len(lines), n, got)
				break
			}
		}
	}
}

// Keys as programs write them are masked: whole, on one line, and what a hunk's edge leaves of them.
func TestMaskGeneratedKeys(t *testing.T) {
	r := rand.NewChaCha8([32]byte{1})
	random := func(n int) []byte {
		data := make([]byte, n)
		_, _ = r.Read(data)
		return data
	}
	number := func(n int) *big.Int { return new(big.Int).SetBytes(random(n)) }
	must := func(data []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	sized := func(data []byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
	}
	curve := func() *ecdsa.PrivateKey {
		key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), random(32))
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	kinds := []struct {
		label, header string
		width         int
		make          func() []byte
	}{
		{"RSA PRIVATE KEY", "", 64, func() []byte {
			return must(asn1.Marshal(struct{ V, N, E, D, P, Q, DP, DQ, I *big.Int }{
				new(big.Int), number(256), big.NewInt(65537), number(256), number(128), number(128), number(128), number(128),
				number(128),
			}))
		}},
		{
			"RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n", 64,
			func() []byte { return random(16 * (40 + len(random(1)))) },
		},
		{"EC PRIVATE KEY", "", 64, func() []byte { return must(x509.MarshalECPrivateKey(curve())) }},
		{"PRIVATE KEY", "", 64, func() []byte { return must(x509.MarshalPKCS8PrivateKey(curve())) }},
		{
			"PRIVATE KEY", "", 64,
			func() []byte { return must(x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(random(32)))) },
		},
		{"ENCRYPTED PRIVATE KEY", "", 64, func() []byte {
			return must(asn1.Marshal(struct {
				A struct{ O asn1.ObjectIdentifier }
				D []byte
			}{struct{ O asn1.ObjectIdentifier }{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}}, random(1200)}))
		}},
		{"OPENSSH PRIVATE KEY", "", 70, func() []byte {
			key := random(32)
			public := slices.Concat(sized([]byte("ssh-ed25519")), sized(key))
			check := random(4)
			secret := slices.Concat(check, check, public, sized(append(random(32), key...)),
				sized([]byte("alice@build.example.com")), []byte{1, 2, 3})
			return slices.Concat([]byte("openssh-key-v1\x00"), sized([]byte("none")), sized([]byte("none")), sized(nil),
				[]byte{0, 0, 0, 1}, sized(public), sized(secret))
		}},
		{"PGP PRIVATE KEY BLOCK", "\n", 64, func() []byte { return append([]byte{0x95, 0x03, 0x98, 4}, random(917)...) }},
	}
	const each = 125
	all, left := 0, 0
	for _, kind := range kinds {
		for range each {
			lines := folded(kind.make(), kind.width)
			begin, end := "-----BEGIN "+kind.label+"-----", "-----END "+kind.label+"-----"
			text := strings.Join(lines, "\n")
			if kind.label[0] == 'P' && kind.width == 64 && kind.header != "" {
				text += "\n=aQ3x"
			}
			half := lines[:max(len(lines)/2, 1)]
			forms := []string{
				begin + "\n" + kind.header + text + "\n" + end,
				begin + "\n" + kind.header + strings.Join(half, "\n"),
				strings.Join(lines[min(len(lines)-1, 1):], "\n") + "\n" + end,
			}
			if kind.header == "" {
				forms = append(forms, begin+`\n`+strings.Join(lines, `\n`)+`\n`+end)
			}
			for form, s := range forms {
				got, n := Mask("x\n" + s)
				if n != 1 && !(form == 2 && len(lines) == 2) { // of those the one line that is left has no length to know it by
					t.Fatalf("%s, form %d: %d are masked of\n%s", kind.label, form, n, s)
				}
				for _, line := range lines {
					if len(line) >= minLine && strings.Contains(s, line) {
						all++
						if strings.Contains(got, line) {
							left++
							t.Logf("%s, form %d: %s", kind.label, form, line)
						}
					}
				}
			}
		}
	}
	if left*1000 > all {
		t.Errorf("%d of %d lines are left", left, all)
	}
	t.Logf("%d keys, %d lines, %d left", each*len(kinds), all, left)
}

// Code and random bytes are told apart line by line.
func TestLegible(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{2}))
	signs := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	const lines = 20_000
	taken := 0
	for range lines {
		line := make([]byte, 64)
		for i := range line {
			line[i] = signs[r.IntN(len(signs))]
		}
		if !secretLine(string(line)) {
			taken++
		}
	}
	if t.Logf("%d of %d lines", taken, lines); taken*5_000 > lines {
		t.Errorf("%d of %d random lines are taken for words", taken, lines)
	}
	for _, words := range []string{
		"authorizationIsDisabledForEveryone", "DISABLE+AUTHENTICATION", "tools/install/everything",
		"fetchAndExecuteTheScript", "isAdmin/processRequest",
		"MIIEpAIBAAKCAQEAdisableAuthentication7Qx9ZkPw2",
	} {
		if !legible(words) {
			t.Errorf("%s isn't legible", words)
		}
	}
}

func TestMasker(t *testing.T) {
	token := "s3cr/t+tok\"n & more"
	m := NewMasker(token, "short", "", "  0123456789abcdef0123456789abcdef01234567\n")
	for name, form := range map[string]string{
		"raw": token, "query": url.QueryEscape(token), "path": url.PathEscape(token), "lower case escapes": strings.ToLower(url.QueryEscape(token)),
		"json":       strings.ReplaceAll(strings.ReplaceAll(token, `"`, `\"`), "&", `\u0026`),
		"base64":     base64.StdEncoding.EncodeToString([]byte(token)),
		"basic auth": base64.StdEncoding.EncodeToString([]byte("bot:" + token)), "basic auth 1": base64.StdEncoding.EncodeToString([]byte("robot:" + token)),
		"base64 in the middle": base64.URLEncoding.EncodeToString([]byte("a:" + token + ":tail")),
		"hex":                  fmt.Sprintf("%x", token), "HEX": fmt.Sprintf("%X", token), "other": "0123456789abcdef0123456789abcdef01234567",
	} {
		got, n := m.Mask("a " + form + " b")
		if n != 1 || !strings.Contains(got, "[masked: own secret]") || len(got) > len("a [masked: own secret] b")+12 {
			t.Errorf("%s: %q, %d", name, got, n)
		}
		if again := m.Redact(got); again != got {
			t.Errorf("%s: masked again: %q", name, again)
		}
	}
	if got := m.Redact("short and ghp_" + many("a", 36)); got != "short and [masked: github token]" {
		t.Errorf("got %q", got)
	}
	if got, n := (*Masker)(nil).Mask("x"); got != "x" || n != 0 {
		t.Errorf("nil: %q, %d", got, n)
	}
}

func TestMaskKeepsLines(t *testing.T) {
	var pieces []string
	for _, values := range tokens {
		pieces = append(pieces, values...)
	}
	pieces = append(pieces, "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----BEGIN PGP PRIVATE KEY BLOCK-----",
		der(48, 0)[0], der(120, 0)[1], "\n", "\n", "\n", "\n+", "\n-", "\n 12 13 ", `\n`, " ", "x", "\"", "masked",
		"[masked: private key]")
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 30).Draw(t, "pieces"), "")
		once, n := Mask(s)
		if strings.Count(once, "\n") != strings.Count(s, "\n") {
			t.Fatalf("lines of %q became %q", s, once)
		}
		if n == 0 && once != s {
			t.Fatalf("%q changed to %q without a count", s, once)
		}
	})
}

// A token is one to readers though its bytes are apart.
func TestMaskAsRead(t *testing.T) {
	token := "ghp_" + many("aB3", 36)
	own := "s3cr3t-0123456789"
	m := NewMasker(own)
	line := der(48, 0)[0]
	key := "-----BEGIN RSA PRIVATE KEY-----\n" + line + "\n-----END RSA PRIVATE KEY-----"
	for _, gap := range []string{"\u200b", "\u00ad", "\u202e", "\u2060", "\ufeff", "\x00", "\u034f", "\U000e0041", "\u200b\u200c"} {
		for name, s := range map[string]string{
			"one":      token[:9] + gap + token[9:],
			"prefix":   token[:2] + gap + token[2:],
			"all over": strings.Join(strings.Split(token, ""), gap),
			"own":      own[:5] + gap + own[5:],
		} {
			got, n := m.Mask("é a " + s + " b")
			if n != 1 || !strings.HasPrefix(got, "é a [masked: ") || !strings.HasSuffix(got, "] b") || len(got) > 40 {
				t.Errorf("%q, %s: %q, %d", gap, name, got, n)
			}
		}
		hidden := strings.Replace(strings.Replace(key, "PRIV", "PRI"+gap+"V", 1), line[9:], gap+line[9:], 1)
		if got, n := m.Mask("x" + gap + "\n" + hidden + "\ny"); n != 1 ||
			got != "x"+gap+"\n"+strings.Repeat("[masked: private key]\n", 3)+"y" {
			t.Errorf("%q: %q, %d", gap, got, n)
		}
	}
	if s := "ghp_\u200b " + many("a", 36) + " grüße\u200b"; m.Redact(s) != s {
		t.Errorf("%q", m.Redact(s))
	}
}

// As Markdown a token may be written in more ways. What is published holds none that a page shows.
func TestMaskMarkdown(t *testing.T) {
	token := "ghp_" + many("aB3", 36)
	m := NewMasker("s3cr3t_0123456789")
	for _, s := range []string{
		token, `ghp\_` + token[4:], "ghp&#95;" + token[4:], "ghp&lowbar;" + token[4:], "ghp&#x5f;" + token[4:],
		"ghp_" + "**" + token[4:12] + "**" + token[12:],
		"`ghp_`" + token[4:], "[ghp_" + token[4:9] + "](https://a.b)" + token[9:], "ghp_<b>" + token[4:] + "</b>",
		"ghp_<!-- x -->" + token[4:], "ghp_&ZeroWidthSpace;" + token[4:],
		`s3cr3t\_0123456789`, "gh\u200bp\\_" + token[4:], "[ghp_\u200b" + token[4:] + "](https://a.b)",
		"[x](https://a.b/ghp_\u200b" + token[4:] + ")",
	} {
		masked, n := m.MaskMarkdown("see " + s + " there")
		if n != 1 || strings.Contains(masked, "B3aB3") || strings.Contains(masked, "12345") ||
			!strings.HasPrefix(masked, "see ") || !strings.HasSuffix(masked, " there") {
			t.Errorf("%q: %q, %d", s, masked, n)
		}
		if again, n := m.MaskMarkdown(masked); n != 0 || again != masked {
			t.Errorf("%q, then %q", masked, again)
		}
	}
	for _, written := range []string{Markdown("see " + token), Line("see "+
		token, 0), Markdown("s3cr3t_0123456789 and `x`")} {
		if got := m.RedactMarkdown(written); strings.Contains(got, "B3aB3") || strings.Contains(got, "0123456789") ||
			!strings.Contains(got, "masked-") {
			t.Errorf("%q: %q", written, got)
		}
	}
	for _, plain := range []string{"", "a *b* `c` [d](https://e.f) &amp; \\_ <g>", "ghp_ and " + many("a", 36)} {
		if got := m.RedactMarkdown(plain); got != plain {
			t.Errorf("%q: %q", plain, got)
		}
		if got, n := m.MaskMarkdown(plain); got != plain || n != 0 {
			t.Errorf("%q: %q", plain, got)
		}
	}
}

// What was redacted once it was made fit to be published is still fit.
func TestRedactedMarkdownIsSafe(t *testing.T) {
	m := NewMasker("s3cr3t_0123456789")
	rapid.Check(t, func(t *rapid.T) {
		s := adversarial().Draw(t, "a") + rapid.SampledFrom([]string{"ghp_" + many("aB3", 36), "s3cr3t_0123456789"}).Draw(t,
			"token") + adversarial().Draw(t, "b")
		checkSafe(t, m.RedactMarkdown(Markdown(s)))
		checkSafe(t, m.RedactMarkdown(Line(s, 0)))
	})
}

func TestMaskLines(t *testing.T) {
	line := der(96, 0)
	in := []string{"a", "-----BEGIN PRIVATE KEY-----", line[0], line[1], "-----END PRIVATE KEY-----",
		"ghp_" + many("aB3", 36), ""}
	got, n := NewMasker().MaskLines(in)
	m := "[masked: private key]"
	if want := []string{"a", m, m, m, m, "[masked: github token]", ""}; n != 2 ||
		strings.Join(got, "\n") != strings.Join(want, "\n") || in[2] != line[0] {
		t.Errorf("%q, %d", got, n)
	}
	if got, n := NewMasker().MaskLines(nil); len(got) != 0 || n != 0 {
		t.Errorf("%q, %d", got, n)
	}
}
