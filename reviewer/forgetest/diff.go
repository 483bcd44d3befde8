package forgetest

import (
	"fmt"
	"slices"
	"strings"
)

const diffContext = 3

// diff is the difference between two trees in git's form, with one hunk for each
// file: from its first changed line to the last.
func diff(from, to map[string]string) []byte {
	var b strings.Builder
	for _, path := range paths(from, to) {
		if differ(from, to, path) {
			fileDiff(&b, path, from, to)
		}
	}
	return []byte(b.String())
}

func fileDiff(b *strings.Builder, path string, from, to map[string]string) {
	was, had := from[path]
	is, has := to[path]
	fmt.Fprintf(b, "diff --git a/%s b/%s\n", path, path)
	older, newer := "a/"+path, "b/"+path
	switch {
	case !had:
		fmt.Fprintf(b, "new file mode 100644\nindex 0000000..%s\n", blob(is))
		older = "/dev/null"
	case !has:
		fmt.Fprintf(b, "deleted file mode 100644\nindex %s..0000000\n", blob(was))
		newer = "/dev/null"
	default:
		fmt.Fprintf(b, "index %s..%s 100644\n", blob(was), blob(is))
	}
	if was == is {
		return // an empty file came or went
	}
	fmt.Fprintf(b, "--- %s\n+++ %s\n", older, newer)
	hunk(b, strings.SplitAfter(was, "\n"), strings.SplitAfter(is, "\n"))
}

// blob is an id as an index line has it, in a small repository.
func blob(text string) string { return blobID(text)[:7] }

func hunk(b *strings.Builder, was, is []string) {
	was, is = trimEmpty(was), trimEmpty(is)
	head := 0
	for head < len(was) && head < len(is) && was[head] == is[head] {
		head++
	}
	tail := 0
	for tail < len(was)-head && tail < len(is)-head && was[len(was)-1-tail] == is[len(is)-1-tail] {
		tail++
	}
	start := max(0, head-diffContext)
	after := min(tail, diffContext)
	wasEnd, isEnd := len(was)-tail, len(is)-tail
	fmt.Fprintf(b, "@@ -%s +%s @@%s\n", span(start, wasEnd+after-start), span(start, isEnd+after-start), section(was[:start]))
	mark(b, " ", was[start:head])
	mark(b, "-", was[head:wasEnd])
	mark(b, "+", is[head:isEnd])
	mark(b, " ", was[wasEnd:wasEnd+after])
}

// section is what git writes behind a hunk's place: the last line before it that
// begins like a name.
func section(before []string) string {
	for _, line := range slices.Backward(before) {
		if c := line[0]; c == '_' || c == '$' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			return " " + strings.TrimRight(line[:min(len(line), 80)], "\n ")
		}
	}
	return ""
}

func trimEmpty(lines []string) []string {
	if n := len(lines); n > 0 && lines[n-1] == "" {
		return lines[:n-1]
	}
	return lines
}

// span is a hunk's place on one side: an empty one is named by the line before it.
func span(start, count int) string {
	switch count {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	default:
		return fmt.Sprintf("%d,%d", start+1, count)
	}
}

func mark(b *strings.Builder, sign string, lines []string) {
	for _, line := range lines {
		b.WriteString(sign + line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
