package untrusted

import (
	"regexp"
	"strings"
)

// secret is a kind of token that can be told by its look.
type secret struct {
	name  string
	hints []string // one of these occurs in every match: a cheap first look
	re    *regexp.Regexp
}

// secrets is ordered: the more special pattern goes first. All ask for the
// length real tokens have, so that a prefix in prose or in a scanner's own
// source stays.
var secrets = []secret{
	{"github token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, regexp.MustCompile(`gh[pousr]_[A-Za-z0-9]{36,255}`)},
	{"github token", []string{"github_pat_"}, regexp.MustCompile(`github_pat_[A-Za-z0-9_]{22,255}`)},
	{"gitlab token", []string{"gl"}, regexp.MustCompile(`\bgl(?:pat|dt|rt|cbt|ptt|ft|oas|soat|agent|imt|ffct)-[A-Za-z0-9_-]{20,}`)},
	{"anthropic key", []string{"sk-ant-"}, regexp.MustCompile(`\bsk-ant-[A-Za-z0-9_-]{20,}`)},
	{"openai key", []string{"sk-"}, regexp.MustCompile(`\bsk-(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{20,}`)},
	{"api key", []string{"sk-"}, regexp.MustCompile(`\bsk-[A-Za-z0-9]{32,}`)},
	{"aws key id", []string{"AKIA", "ASIA"}, regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)},
	{"slack token", []string{"xox"}, regexp.MustCompile(`\bxox[abeprs]-[A-Za-z0-9-]{10,}`)},
	{"google key", []string{"AIza"}, regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{35}`)},
	{"npm token", []string{"npm_"}, regexp.MustCompile(`\bnpm_[A-Za-z0-9]{36}\b`)},
	{"pypi token", []string{"pypi-"}, regexp.MustCompile(`\bpypi-[A-Za-z0-9_-]{50,}`)},
	{"hugging face token", []string{"hf_"}, regexp.MustCompile(`\bhf_[A-Za-z0-9]{30,}`)},
	{"sendgrid key", []string{"SG."}, regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}`)},
	{"stripe key", []string{"k_live_"}, regexp.MustCompile(`\b[sr]k_live_[A-Za-z0-9]{16,}`)},
	{"jwt", []string{"eyJ"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}`)},
}

// Mask replaces what looks like a secret by "[masked: github token]" or the
// like, and returns how many it replaced. It knows the tokens above, also with
// invisible characters in them, and private key blocks, whole or cut, also as
// lines of a diff or of a quoted string. Masking keeps the number of lines, so
// line numbers stay right. Hashes, UUIDs and words are no secrets; neither are
// tokens without a prefix of their own, such as Gitea's: see [Masker] for those
// the process knows.
//
// Masking masked text changes nothing.
func Mask(s string) (masked string, count int) { return (*Masker)(nil).Mask(s) }

// maskTokens masks tokens that are written as they are.
func maskTokens(s string) (masked string, count int) {
	for _, p := range secrets {
		if !containsAny(s, p.hints) {
			continue
		}
		s = p.re.ReplaceAllStringFunc(s, func(string) string {
			count++
			return maskText(p.name)
		})
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
		if containsAny(text, p.hints) {
			for _, at := range p.re.FindAllStringIndex(text, -1) {
				spans = append(spans, hit{at[0], at[1], p.name})
			}
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
