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
func (m *Masker) Mask(s string) (masked string, count int) {
	s, known := m.known(s)
	s, count = Mask(s)
	return s, known + count
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
	text, count := maskText("own secret"), 0
	for _, form := range m.forms {
		if n := strings.Count(s, form); n > 0 {
			// pieces, so that a value can't be found in the replacement
			s = strings.Join(strings.Split(s, form), text)
			count += n
		}
	}
	return s, count
}
