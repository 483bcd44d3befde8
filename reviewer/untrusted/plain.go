package untrusted

import "strings"

// Plain is what others wrote as one line of a log or of an error: white space is
// folded, what is invisible or steers a terminal is dropped, and nothing in it is a
// command to the runner that reads the log.
func Plain(s string) string {
	s = strings.ReplaceAll(fold(clean(s)), "##[", "## [")
	if strings.HasPrefix(s, "::") {
		s = ":" + " " + s[1:]
	}
	return s
}
