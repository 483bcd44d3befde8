package untrusted

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
)

// secret is a kind of token that can be told by its look.
type secret struct {
	name  string
	hints []string       // one of these occurs in every match: a cheap first look
	re    *regexp.Regexp // its last group is the token's random part
	// valid, if there is one, reports whether a match is such a token indeed.
	valid func(match string) bool
}

// find returns where the tokens of that kind are. What is legible is none: a name of 40 letters has the form of many a
// token, and in "SG.a.b" and "sk-a-b" an interpreter sees calls.
func (p secret) find(s string) (spans [][2]int) {
	if !containsAny(s, p.hints) {
		return nil
	}
	for _, at := range p.re.FindAllStringSubmatchIndex(s, -1) {
		random := s[at[len(at)-2]:at[len(at)-1]]
		if !legible(random) && (p.valid == nil || p.valid(s[at[0]:at[1]])) {
			spans = append(spans, [2]int{at[0], at[1]})
		}
	}
	return spans
}

// secrets is ordered: the more special pattern goes first. All ask for the
// length real tokens have, so that a prefix in prose or in a scanner's own
// source stays.
var secrets = []secret{
	prefixed("github token", `gh[pousr]_([A-Za-z0-9]{36,255})`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
	prefixed("github token", `github_pat_([A-Za-z0-9_]{22,255})`, "github_pat_"),
	prefixed("gitlab token", `\bgl(?:pat|dt|rt|cbt|ptt|ft|oas|soat|agent|imt|ffct)-([A-Za-z0-9_-]{20,})`, "gl"),
	prefixed("anthropic key", `\bsk-ant-([A-Za-z0-9_-]{20,})`, "sk-ant-"),
	prefixed("openai key", `\bsk-(?:proj|svcacct|admin|or-v1)-([A-Za-z0-9_-]{20,})`, "sk-"),
	prefixed("api key", `\bsk-([A-Za-z0-9]{32,})`, "sk-"),
	prefixed("aws key id", `\b(?:AKIA|ASIA)([A-Z0-9]{16})\b`, "AKIA", "ASIA"),
	prefixed("slack token", `\bxox[abeprs]-([A-Za-z0-9-]{10,})`, "xox"),
	prefixed("google key", `\bAIza([A-Za-z0-9_-]{35})`, "AIza"),
	prefixed("npm token", `\bnpm_([A-Za-z0-9]{36})\b`, "npm_"),
	prefixed("pypi token", `\bpypi-([A-Za-z0-9_-]{50,})`, "pypi-"),
	prefixed("hugging face token", `\bhf_([A-Za-z0-9]{30,})`, "hf_"),
	prefixed("sendgrid key", `\bSG\.([A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64})`, "SG."),
	prefixed("stripe key", `\b[sr]k_live_([A-Za-z0-9]{16,})`, "k_live_"),
	{
		"jwt", []string{"eyJ"},
		regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.([A-Za-z0-9_-]{16,})`), claims,
	},
}

func prefixed(name, pattern string, hints ...string) secret {
	return secret{name: name, hints: hints, re: regexp.MustCompile(pattern)}
}

// claims reports whether the first two parts of a JWT are what they must be, objects in JSON: else it may be
// names with dots between them.
func claims(jwt string) bool {
	for _, part := range strings.Split(jwt, ".")[:2] {
		data, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || !json.Valid(data) {
			return false
		}
	}
	return true
}

// Mask replaces what looks like a secret by "[masked: github token]" or the
// like, and returns how many it replaced. It knows the tokens above, also with
// invisible characters in them, and private key blocks, whole or cut, also as
// lines of a diff or of a quoted string. Masking keeps the number of lines, so
// line numbers stay right. Hashes, UUIDs and words are no secrets; neither are
// tokens without a prefix of their own, such as Gitea's: see [Masker] for those
// the process knows.
//
// What may be code isn't masked, see [legible] and [secretLine]: an author could
// hide it so.
//
// Masking masked text changes nothing.
func Mask(s string) (masked string, count int) { return (*Masker)(nil).Mask(s) }

// maskTokens masks tokens that are written as they are.
func maskTokens(s string) (masked string, count int) {
	for _, p := range secrets {
		var b strings.Builder
		done := 0
		for _, at := range p.find(s) {
			b.WriteString(s[done:at[0]] + maskText(p.name))
			done = at[1]
			count++
		}
		if done > 0 {
			s = b.String() + s[done:]
		}
	}
	return s, count
}

// hiddenTokens finds known values, and tokens, in a shadow.
func (m *Masker) hiddenTokens(text string) (spans []hit) {
	if m != nil {
		for _, form := range m.forms {
			for at := 0; ; {
				i := strings.Index(text[at:], form)
				if i < 0 {
					break
				}
				spans = append(spans, hit{at + i, at + i + len(form), ownSecret})
				at += i + len(form)
			}
		}
	}
	for _, p := range secrets {
		for _, at := range p.find(text) {
			spans = append(spans, hit{at[0], at[1], p.name})
		}
	}
	return spans
}

func maskText(name string) string { return "[masked: " + name + "]" }

func containsAny(s string, subs []string) bool {
	for _, sub := range subs {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}
