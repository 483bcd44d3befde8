package untrusted

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// minSecret: shorter values would mask ordinary words.
const minSecret = 8

const ownSecret = "own secret"

// Masker masks the secrets that the process knows, by their exact values, and
// then what [Mask] finds. It is safe for concurrent use; a nil Masker knows no
// values.
type Masker struct {
	forms []string // longest first
}

// NewMasker knows the given values: the bot's own token, the model's API key.
// Each is found as it is, URL-encoded, JSON-escaped, in hex, and in base64,
// there also as a part of something longer ("user:token" of basic auth).
// Surrounding white space doesn't count; the lines of a value are looked for
// one by one. Values or lines shorter than 8 bytes are ignored.
func NewMasker(values ...string) *Masker {
	seen := map[string]bool{}
	for _, value := range values {
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) < minSecret {
				continue
			}
			for _, form := range forms(line) {
				seen[form] = true
			}
		}
	}
	m := &Masker{}
	for form := range seen {
		if len(form) >= minSecret {
			m.forms = append(m.forms, form)
		}
	}
	slices.SortFunc(m.forms, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return m
}

// forms returns the ways in which a value may turn up.
func forms(value string) []string {
	found := []string{value}
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value)} {
		found = append(found, escaped, lowerEscapes(escaped))
	}
	if quoted, err := json.Marshal(value); err == nil {
		found = append(found, string(quoted[1:len(quoted)-1]))
	}
	digits := hex.EncodeToString([]byte(value))
	found = append(found, digits, strings.ToUpper(digits))
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			// Base64 of a longer text shows the value in one of three ways; the
			// characters at the ends hold bits of the neighbours too.
			padded := make([]byte, shift, shift+len(value))
			encoded := encoding.EncodeToString(append(padded, value...))
			from := (shift*8 + 5) / 6
			to := (shift + len(value)) * 8 / 6
			found = append(found, encoded[from:to])
		}
		found = append(found, encoding.EncodeToString([]byte(value)))
	}
	return found
}

// lowerEscapes writes %2F as %2f, as some clients do.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
			i += 2
		}
	}
	return string(b)
}

// Mask masks known values, as "[masked: own secret]", and whatever else looks
// like a secret. Like the function, it keeps the number of lines.
func (m *Masker) Mask(s string) (masked string, count int) { return m.mask(s, raw) }

// MaskMarkdown is Mask for Markdown that others wrote, before it is made fit to
// be published: a token is found as its readers would see it, without escapes,
// entities and emphasis in it.
func (m *Masker) MaskMarkdown(s string) (masked string, count int) { return m.mask(s, marked) }

// RedactMarkdown masks known values and tokens in what [Markdown] and [Line]
// made, as the page shows it. It takes no character away that closes something.
func (m *Masker) RedactMarkdown(s string) string {
	for _, look := range []rendering{raw, escaped} {
		d := asRead(s, look)
		s, _ = d.replace(s, m.hiddenTokens(d.text), escaped)
	}
	return s
}

// MaskLines is Mask for lines of one text, none of which holds a newline. There
// are as many as before.
func (m *Masker) MaskLines(lines []string) (masked []string, count int) {
	text, count := m.Mask(strings.Join(lines, "\n"))
	if count == 0 {
		return lines, 0
	}
	return strings.Split(text, "\n"), count
}

func (m *Masker) mask(s string, as rendering) (masked string, count int) {
	s, known := m.known(s)
	s, keys := maskKeys(s)
	s, tokens := maskTokens(s)
	s, hidden := maskHiddenKeys(s)
	count = known + keys + tokens + hidden
	for _, look := range []rendering{raw, as} {
		if d := asRead(s, look); d.from != nil {
			if spans := m.hiddenTokens(d.text); len(spans) > 0 {
				var n int
				s, n = d.replace(s, spans, raw)
				count += n
			}
		}
		if as == raw {
			break
		}
	}
	return s, count
}

// Redact is Mask without the count, for logs and errors.
func (m *Masker) Redact(s string) string {
	s, _ = m.Mask(s)
	return s
}

func (m *Masker) known(s string) (string, int) {
	if m == nil {
		return s, 0
	}
	text, count := maskText(ownSecret), 0
	for _, form := range m.forms {
		if n := strings.Count(s, form); n > 0 {
			// pieces, so that a value can't be found in the replacement
			s = strings.Join(strings.Split(s, form), text)
			count += n
		}
	}
	return s, count
}
