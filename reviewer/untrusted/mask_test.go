package untrusted

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tokens are put together here, so that scanners leave this file alone.
var tokens = map[string][]string{
	"github token":       {"ghp_" + many("aB3", 36), "gho_" + many("x1", 36), "ghs_" + many("x1", 36), "github_pat_" + many("A1_", 82)},
	"gitlab token":       {"glpat-" + many("a-1", 20)},
	"anthropic key":      {"sk-ant-api03-" + many("aB-_", 93)},
	"openai key":         {"sk-proj-" + many("aB-_", 100)},
	"api key":            {"sk-" + many("aB3", 48)},
	"aws key id":         {"AKIA" + many("Z7", 16), "ASIA" + many("Z7", 16)},
	"slack token":        {"xoxb-" + many("12-", 24) + "a", "xoxp-" + many("1a", 24)},
	"google key":         {"AIza" + many("aB_-", 35)},
	"npm token":          {"npm_" + many("aB3", 36)},
	"pypi token":         {"pypi-AgEIcHlwaS5vcmc" + many("aB-", 60)},
	"hugging face token": {"hf_" + many("aB", 34)},
	"sendgrid key":       {"SG." + many("aB3", 22) + "." + many("a-_", 43)},
	"stripe key":         {"sk_live_" + many("aB3", 24), "rk_live_" + many("aB3", 24)},
	"jwt":                {"eyJ" + many("aB3", 20) + ".eyJ" + many("aB3", 40) + "." + many("aB-_", 43)},
}

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

func TestMaskPrivateKeys(t *testing.T) {
	line := many("MIIEpAIBAAKCAQEA7+/", 64)
	m := "[masked: private key]"
	begin, end := "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
	for _, c := range []struct {
		name, in, want string
		n              int
	}{
		{"bare", "a\n" + begin + "\n" + line + "\nQ2Fi\n" + end + "\nb", "a\n" + m + "\n" + m + "\n" + m + "\n" + m + "\nb", 1},
		{"diff", "+" + begin + "\n+" + line + "\n+" + line + "\n+" + end + "\n b", "+" + m + "\n+" + m + "\n+" + m + "\n+" + m + "\n b", 1},
		{"diff with columns", "  3    | -" + begin + "\n  4    | -" + line + "\n       5 +" + line + "\n  6  6  " + end, "  3    | -" + m + "\n  4    | -" + m + "\n       5 +" + m + "\n  6  6  " + m, 1},
		{"removed and added", "-" + begin + "\n+" + begin + "\n-" + line + "\n+" + line + "\n " + end, "-" + begin + "\n+" + m + "\n-" + m + "\n+" + m + "\n " + m, 1},
		{"quoted reply", "> " + begin + "\n> " + line + "\n> " + end, "> " + m + "\n> " + m + "\n> " + m, 1},
		{"one string", `k = "` + begin + `\n` + line + `\n` + end + `\n"`, `k = "` + m + `\n"`, 1},
		{"one line, no end", `k = "` + begin + `\n` + line, `k = "` + m, 1},
		{"strings joined", "+\t\"" + begin + "\\n\" +\n+\t\"" + line + "\\n\" +\n+\t\"" + end + "\\n\"", "+\t\"" + m + "\\n\" +\n+\t\"" + m + "\\n\" +\n+\t\"" + m + "\\n\"", 1},
		{"encrypted", begin + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n" + line + "\n" + end + "\nx", m + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n" + m + "\n" + m + "\nx", 1},
		{"PGP", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + line + "\n=aBcD\n-----END PGP PRIVATE KEY BLOCK-----", m + "\n\n" + m + "\n" + m + "\n" + m, 1},
		{"cut at the end", "+" + begin + "\n+" + line + "\n+" + line + "\n@@ -1 +1 @@\n+x", "+" + m + "\n+" + m + "\n+" + m + "\n@@ -1 +1 @@\n+x", 1},
		{"cut at the start", "@@ -1 +1 @@\n " + line + "\n " + line + "\n " + end + "\n x", "@@ -1 +1 @@\n " + m + "\n " + m + "\n " + m + "\n x", 1},
		{"two", begin + "\n" + line + "\n" + end + "\nx\n" + begin + "\n" + line + "\n" + end, m + "\n" + m + "\n" + m + "\nx\n" + m + "\n" + m + "\n" + m, 2},
		{"CRLF", begin + "\r\n" + line + "\r\n" + end + "\r\n", m + "\r\n" + m + "\r\n" + m + "\r\n", 1},
		{"a line that begins with a plus", begin + "\n" + line + "\n+" + line[1:] + "\n" + line[:20] + "==\n" + end, m + "\n" + m + "\n+" + m + "\n" + m + "\n" + m, 1},
		{"two on a line", `a("` + begin + `\n` + line + `\n` + end + `", "` + begin + line + end + `")`, `a("` + m + `", "` + m + `")`, 2},
	} {
		got, n := Mask(c.in)
		if got != c.want || n != c.n {
			t.Errorf("%s: got %d\n%s\nwant %d\n%s", c.name, n, got, c.n, c.want)
		}
	}
}

// Masking hides values, never code: what only looks as if it were in a key is left as it is.
func TestMaskLeavesCode(t *testing.T) {
	line := many("MIIEpAIBAAKCAQEA7+/", 64)
	begin, end := "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
	for name, s := range map[string]string{
		"code in comments":        "// " + begin + "\nfetch(evil);\nadmin = true\n// " + end,
		"code without a space":    begin + "\nisAdmin=true\nauthorizationIsDisabledForEveryone=true\n" + end,
		"words of one length":     begin + "\nDisableAuth1=1\nDisableAuth2=1\n" + end,
		"labels as headers":       "/*\n" + begin + "\n*/\nEvil: fetch(document.cookie)\nVersion: fetch(location)\n/*\n" + end + "\n*/",
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
	} {
		if got, n := Mask(s); got != s || n != 0 {
			t.Errorf("%s: %d\n%s", name, n, got)
		}
	}
	// The key is masked, the code before and after it isn't.
	in := begin + `\n` + line + "`; evil(); `\n" + line + "\nevil()\n" + begin + "\n" + line + "\nevil()\n" + end + "\nevil()"
	if got, n := Mask(in); strings.Count(got, "evil()") != 4 || n != 2 || strings.Count(got, line) != 1 {
		t.Errorf("%d\n%s", n, got)
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
		many("MIIE", 64), "\n", "\n", "\n", "\n+", "\n-", "\n 12 13 ", `\n`, " ", "x", "\"", "masked", "[masked: private key]")
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
	key := "-----BEGIN RSA PRIVATE KEY-----\n" + many("MIIEpAIBAAKCAQEA7+/", 64) + "\n-----END RSA PRIVATE KEY-----"
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
		hidden := strings.Replace(strings.Replace(key, "PRIV", "PRI"+gap+"V", 1), "AKCA", "AK"+gap+"CA", 1)
		if got, n := m.Mask("x" + gap + "\n" + hidden + "\ny"); n != 1 || got != "x"+gap+"\n"+strings.Repeat("[masked: private key]\n", 3)+"y" {
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
		token, `ghp\_` + token[4:], "ghp&#95;" + token[4:], "ghp&lowbar;" + token[4:], "ghp&#x5f;" + token[4:], "ghp_" + "**" + token[4:12] + "**" + token[12:],
		"`ghp_`" + token[4:], "[ghp_" + token[4:9] + "](https://a.b)" + token[9:], "ghp_<b>" + token[4:] + "</b>", "ghp_<!-- x -->" + token[4:], "ghp_&ZeroWidthSpace;" + token[4:],
		`s3cr3t\_0123456789`, "gh\u200bp\\_" + token[4:], "[ghp_\u200b" + token[4:] + "](https://a.b)", "[x](https://a.b/ghp_\u200b" + token[4:] + ")",
	} {
		masked, n := m.MaskMarkdown("see " + s + " there")
		if n != 1 || strings.Contains(masked, "B3aB3") || strings.Contains(masked, "12345") || !strings.HasPrefix(masked, "see ") || !strings.HasSuffix(masked, " there") {
			t.Errorf("%q: %q, %d", s, masked, n)
		}
		if again, n := m.MaskMarkdown(masked); n != 0 || again != masked {
			t.Errorf("%q, then %q", masked, again)
		}
	}
	for _, written := range []string{Markdown("see " + token), Line("see "+token, 0), Markdown("s3cr3t_0123456789 and `x`")} {
		if got := m.RedactMarkdown(written); strings.Contains(got, "B3aB3") || strings.Contains(got, "0123456789") || !strings.Contains(got, "masked-") {
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
		s := adversarial().Draw(t, "a") + rapid.SampledFrom([]string{"ghp_" + many("aB3", 36), "s3cr3t_0123456789"}).Draw(t, "token") + adversarial().Draw(t, "b")
		checkSafe(t, m.RedactMarkdown(Markdown(s)))
		checkSafe(t, m.RedactMarkdown(Line(s, 0)))
	})
}

func TestMaskLines(t *testing.T) {
	line := many("MIIEpAIBAAKCAQEA7+/", 64)
	in := []string{"a", "-----BEGIN PRIVATE KEY-----", line, line, "-----END PRIVATE KEY-----", "ghp_" + many("aB3", 36), ""}
	got, n := NewMasker().MaskLines(in)
	m := "[masked: private key]"
	if want := []string{"a", m, m, m, m, "[masked: github token]", ""}; n != 2 || strings.Join(got, "\n") != strings.Join(want, "\n") || in[2] != line {
		t.Errorf("%q, %d", got, n)
	}
	if got, n := NewMasker().MaskLines(nil); len(got) != 0 || n != 0 {
		t.Errorf("%q, %d", got, n)
	}
}
