package untrusted

import (
	"fmt"
	"html"
	"regexp"
	"strings"
)

// maxURL bounds a link; longer ones are shown as text.
const maxURL = 2048

// origin is what a kept link begins with: a scheme and a host without user
// info, which would let the text lie about where the link leads.
var origin = regexp.MustCompile(`^(?i)https?://[a-z0-9][a-z0-9._-]*(?::[0-9]{1,5})?(?:[/?#]|$)`)

var mailto = regexp.MustCompile(`^(?i:mailto):[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9][A-Za-z0-9.-]*$`)

var email = regexp.MustCompile(`^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+$`)

// issueURL is what the server may take for a reference to an issue or a pull
// request on itself. It checks the host; here the host isn't known, so only
// github.com is exempt.
var issueURL = regexp.MustCompile(`(?i)/(?:issues|pulls)/`)

// destination returns u in the form in which it can stand in "(…)" or "<…>",
// and whether it may be a link at all.
func destination(u string) (string, bool) {
	if len(u) > maxURL {
		return "", false
	}
	if mailto.MatchString(u) {
		return u, true
	}
	if !origin.MatchString(u) {
		return "", false
	}
	path, _, _ := strings.Cut(u, "?")
	path, _, _ = strings.Cut(path, "#")
	if issueURL.MatchString(path) && !strings.HasPrefix(u, "https://github.com/") {
		return "", false
	}
	var b strings.Builder
	for i := range len(u) {
		c := u[i]
		switch {
		case c == '%' && !(i+2 < len(u) && isHex(u[i+1]) && isHex(u[i+2])), !isURLByte(c), c == '(', c == ')':
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

// entity is what a parser would decode, at the start of a text. Not every such
// name exists; escaping one "&" too many shows the same.
var (
	entity   = regexp.MustCompile(`^` + entityPattern)
	entities = regexp.MustCompile(entityPattern)
)

const entityPattern = `&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{0,40});`

// decodeEntity returns what raw stands for, or raw if there is no such entity.
// The library also decodes HTML's short forms ("&notit;" begins with "&not"),
// which markdown doesn't have.
func decodeEntity(raw string) string {
	decoded := html.UnescapeString(raw)
	if len(decoded) > 1 && strings.HasSuffix(decoded, ";") {
		return raw
	}
	return decoded
}

// inParens escapes what would be decoded in a link's destination.
func inParens(u string) string {
	var b strings.Builder
	for i := range len(u) {
		if u[i] == '&' && entity.MatchString(u[i:min(i+50, len(u))]) {
			b.WriteString("&amp;")
			continue
		}
		b.WriteByte(u[i])
	}
	return b.String()
}

// isURLByte reports whether c may stand in a URL in plain text.
func isURLByte(c byte) bool {
	return isAlnum(rune(c)) || strings.IndexByte("-._~:/?#@!$&'()*+,;=%", c) >= 0
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// parseDestination reads "(url "title")" of a link from src, which begins behind
// the opening parenthesis. It returns the URL decoded, and the length read. The
// title is dropped. Brackets end the search: they keep the time linear when a
// line is full of openers, and real URLs have them encoded.
func parseDestination(src string) (u string, length int, ok bool) {
	i := spaces(src, 0)
	start, depth := i, 0
	if i < len(src) && src[i] == '<' {
		end := strings.IndexAny(src[i+1:min(len(src), i+maxURL)], "<>[]`")
		if end < 0 || src[i+1+end] != '>' {
			return "", 0, false
		}
		u, i = src[i+1:i+1+end], i+end+2
	} else {
	scan:
		for ; ; i++ {
			if i >= len(src) || i-start > 4*maxURL {
				return "", 0, false
			}
			switch src[i] {
			case '\\':
				if i+1 < len(src) && isPunct(rune(src[i+1])) {
					i++
				}
			case ' ', '\t':
				break scan
			case '[', ']', '<', '`':
				return "", 0, false
			case '(':
				depth++
			case ')':
				if depth == 0 {
					break scan
				}
				depth--
			}
		}
		if depth != 0 {
			return "", 0, false
		}
		u = src[start:i]
	}
	i = skipTitle(src, spaces(src, i))
	if i >= len(src) || src[i] != ')' {
		return "", 0, false
	}
	return fold(clean(entities.ReplaceAllStringFunc(unescape(u), decodeEntity))), i + 1, true
}

// skipTitle returns the offset behind a link title and the spaces after it.
func skipTitle(src string, i int) int {
	if i >= len(src) || strings.IndexByte(`"'(`, src[i]) < 0 {
		return i
	}
	closing := src[i]
	if closing == '(' {
		closing = ')'
	}
	for j := i + 1; j < len(src) && j < i+512; j++ {
		switch src[j] {
		case '\\':
			j++
		case '`':
			return i
		case closing:
			return spaces(src, j+1)
		}
	}
	return i
}

func spaces(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

// unescape drops the backslash of a backslash escape.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && isPunct(rune(s[i+1])) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
