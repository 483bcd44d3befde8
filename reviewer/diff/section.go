package diff

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// go-gitdiff reads most of what git writes, but not all of it, and is lenient where a
// reviewer must not be. So the diff is cut into one section per file and each section's
// header is rewritten, line for line, into a form that is read right.

// section is the part of a diff about one file.
type section struct {
	line int    // of its first line in the diff, from 1
	data []byte // from "diff --git " to before the next one, ended by a newline
}

const fileMark = "diff --git "

// split cuts a diff before each "diff --git ": no line of content begins with it, for
// they all carry a sign. Text before the first one (`git show` prints the commit there) is skipped.
func split(data []byte) ([]section, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	if data[len(data)-1] != '\n' {
		data = append(bytes.Clone(data), '\n')
	}
	pre := 0
	if !bytes.HasPrefix(data, []byte(fileMark)) {
		pre = nextFile(data)
	}
	if i := lineWithPrefix(data[:pre], "diff --c"); i > 0 { // --cc, --combined
		return nil, fmt.Errorf("line %d: a combined diff has no sides to comment on", i)
	}
	if pre == len(data) {
		return nil, fmt.Errorf("line 1: not a git diff: no line begins with %q", fileMark)
	}
	line := 1 + bytes.Count(data[:pre], []byte("\n"))
	data = data[pre:]
	var all []section
	for len(data) > 0 {
		end := nextFile(data)
		all = append(all, section{line: line, data: data[:end]})
		line += bytes.Count(data[:end], []byte("\n"))
		data = data[end:]
	}
	return all, nil
}

// nextFile is where the next line that begins with fileMark starts, after the first line;
// len(data) if there is none.
func nextFile(data []byte) int {
	if i := bytes.Index(data, []byte("\n"+fileMark)); i >= 0 {
		return i + 1
	}
	return len(data)
}

// lineWithPrefix is the number, from 1, of the first line with a prefix; 0 if there is none.
func lineWithPrefix(data []byte, prefix string) int {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if bytes.HasPrefix(line, []byte(prefix)) {
			return n
		}
	}
	return 0
}

// headerWords begin the lines of a file's header, after the first.
var headerWords = []string{
	"index ", "--- ", "+++ ", "old mode ", "new mode ", "new file mode ", "deleted file mode ",
	"similarity index ", "dissimilarity index ", "rename from ", "rename to ", "copy from ", "copy to ",
}

// normal gives the section's text for go-gitdiff, with as many lines in the same places,
// but without the payload of a binary patch (nobody looks at it, and decoding it costs).
// header is the number of lines before the first hunk. A line that git wouldn't write there
// is an error: go-gitdiff takes it for the end of the file's entry and goes on.
func (s section) normal() (text []byte, header int, err error) {
	out := bytes.NewBuffer(make([]byte, 0, len(s.data)+len(s.data)/8))
	for rest := s.data; len(rest) > 0; header++ {
		end := bytes.IndexByte(rest, '\n') + 1
		line := string(rest[:end-1])
		switch {
		case header == 0:
			names, ok := headerNames(line[len(fileMark):])
			if !ok {
				return nil, 0, fmt.Errorf("line %d: file names without the prefixes a/ and b/", s.line)
			}
			line = fileMark + names
		case strings.HasPrefix(line, "@@ -"):
			out.Write(rest)
			return out.Bytes(), header, nil
		case line == "GIT binary patch":
			out.WriteString("Binary files differ\n")
			return out.Bytes(), header, nil
		case strings.HasPrefix(line, "Binary files ") && strings.HasSuffix(line, " differ"):
			out.Write(rest[:end])
			return out.Bytes(), header, s.blank(rest[end:], header+1)
		case slices.ContainsFunc(headerWords, func(w string) bool { return strings.HasPrefix(line, w) }):
			line = plainEscapes(line)
		default:
			return out.Bytes(), header, s.blank(rest, header)
		}
		out.WriteString(line)
		out.WriteByte('\n')
		rest = rest[end:]
	}
	return out.Bytes(), header, nil
}

// blank makes sure that nothing but white space stands at the section's end. before is
// the number of the section's lines that come before rest.
func (s section) blank(rest []byte, before int) error {
	n := s.line + before
	for line := range bytes.Lines(rest) {
		if len(bytes.TrimSpace(line)) > 0 {
			return fmt.Errorf("line %d: not part of a git diff: %.60q", n, bytes.TrimSpace(line))
		}
		n++
	}
	return nil
}

// skip leaves out n lines.
func skip(text []byte, n int) []byte {
	for ; n > 0; n-- {
		text = text[bytes.IndexByte(text, '\n')+1:]
	}
	return text
}

// hunkHeight is how many lines of text a hunk takes at its beginning: its header,
// its lines, and those that say that a newline is missing.
func hunkHeight(text []byte, lines int) int {
	height, left := 0, 1+lines
	for line := range bytes.Lines(text) {
		if line[0] != '\\' {
			if left == 0 {
				break
			}
			left--
		}
		height++
	}
	return height
}

// headerNames rewrites the two names of a "diff --git" line. Names with blanks stand
// there unquoted, and go-gitdiff tries every blank as the border, in quadratic time. But
// the line's names only matter where no other line gives them, and then both are the
// same: the border is in the middle, or nowhere.
func headerNames(names string) (string, bool) {
	if strings.Contains(names, `"`) {
		ok := strings.HasPrefix(names, `"a/`) || strings.HasPrefix(names, "a/")
		return plainEscapes(names), ok && (strings.Contains(names, ` "b/`) || strings.Contains(names, " b/"))
	}
	if !strings.HasPrefix(names, "a/") || !strings.Contains(names, " b/") {
		return "", false
	}
	mid := len(names) / 2
	if names[mid] == ' ' && strings.HasPrefix(names[mid+1:], "b/") && names[len("a/"):mid] == names[mid+1+len("b/"):] {
		return quoteName(names[:mid]) + " " + quoteName(names[mid+1:]), true
	}
	return `"a/renamed from" "b/renamed to"`, true // two names: the lines below give them
}

// quoteName writes a name the way git quotes unusual ones, but all escapes in octal.
func quoteName(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		if c := name[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// plainEscapes writes \\ and \" within quotes in octal: go-gitdiff takes the quote after an
// escaped backslash for an escaped quote, and so misses the end of such a name.
func plainEscapes(s string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '\\' && quoted && i+1 < len(s):
			i++
			switch s[i] {
			case '\\':
				b.WriteString(`\134`)
			case '"':
				b.WriteString(`\042`)
			default:
				b.WriteByte('\\')
				b.WriteByte(s[i])
			}
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
