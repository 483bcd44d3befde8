package forgetest

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"review-bot/reviewer/diff"
)

const diffContext = 3

// textOf is the difference between two trees in git's form, with one hunk for each
// file: from its first changed line to the last. A file that has gone and one that
// has come with the same content, or half of it at both ends, are one that was renamed.
func textOf(from, to map[string]string) []byte {
	var b strings.Builder
	renamed := renames(from, to)
	left := map[string]bool{}
	for _, old := range renamed {
		left[old] = true
	}
	for _, path := range paths(from, to) {
		old, isNew := renamed[path]
		switch {
		case left[path] || !differ(from, to, path):
		case isNew:
			renameDiff(&b, old, path, from, to)
		default:
			fileDiff(&b, path, from, to)
		}
	}
	return []byte(b.String())
}

// renames are the old names of files that were renamed: without a change of content as
// git finds them, those of the same name in another folder first, and then with one.
func renames(from, to map[string]string) map[string]string {
	gone := map[string][]string{}
	for _, name := range paths(from) {
		mode, content := Plain(from[name])
		if _, stays := to[name]; !stays && content != "" && mode == regular {
			gone[content] = append(gone[content], name)
		}
	}
	found := map[string]string{}
	for _, sameBase := range []bool{true, false} {
		for _, name := range paths(to) {
			_, had := from[name]
			mode, content := Plain(to[name])
			if _, done := found[name]; had || done || mode != regular && mode != executable {
				continue
			}
			i := slices.IndexFunc(gone[content], func(old string) bool { return !sameBase || path.Base(old) == path.Base(name) })
			if i >= 0 {
				found[name] = gone[content][i]
				gone[content] = slices.Delete(slices.Clone(gone[content]), i, i+1)
			}
		}
	}
	for _, name := range paths(to) {
		_, had := from[name]
		if _, done := found[name]; had || done {
			continue
		}
		for _, old := range paths(from) {
			if _, stays := to[old]; !stays && similar(from[old], to[name]) >= 50 && !slices.Contains(slices.Collect(maps.Values(found)), old) {
				found[name] = old
				break
			}
		}
	}
	return found
}

// similar is how many percent of the longer text are the same lines at both ends; 0 for
// what is no ordinary file.
func similar(old, now string) int {
	if strings.HasPrefix(old, special) || strings.HasPrefix(now, special) || old == "" {
		return 0
	}
	was, is := strings.SplitAfter(old, "\n"), strings.SplitAfter(now, "\n")
	same, head := 0, 0
	for head < min(len(was), len(is)) && was[head] == is[head] {
		same += len(was[head])
		head++
	}
	for i := 1; i <= min(len(was), len(is))-head && was[len(was)-i] == is[len(is)-i]; i++ {
		same += len(was[len(was)-i])
	}
	return 100 * same / max(len(old), len(now))
}

func renameDiff(b *strings.Builder, old, name string, from, to map[string]string) {
	fmt.Fprintf(b, "diff --git %s %s\n", quoted("a/"+old), quoted("b/"+name))
	was, _ := Plain(from[old])
	if is, _ := Plain(to[name]); is != was {
		fmt.Fprintf(b, "old mode %06o\nnew mode %06o\n", was, is)
	}
	_, before := Plain(from[old])
	_, after := Plain(to[name])
	if before == after {
		fmt.Fprintf(b, "similarity index 100%%\nrename from %s\nrename to %s\n", quoted(old), quoted(name))
		return
	}
	fmt.Fprintf(b, "similarity index %d%%\nrename from %s\nrename to %s\n", similar(before, after), quoted(old), quoted(name))
	fmt.Fprintf(b, "index %s..%s %06o\n--- %s\n+++ %s\n", idOf(before)[:7], idOf(after)[:7], regular, tabbed(quoted("a/"+old)), tabbed(quoted("b/"+name)))
	hunk(b, strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n"))
}

func fileDiff(b *strings.Builder, path string, from, to map[string]string) {
	old, had := from[path]
	now, has := to[path]
	was, _ := Plain(old)
	is, _ := Plain(now)
	switch {
	case !had:
		oneDiff(b, path, nil, &now)
	case !has:
		oneDiff(b, path, &old, nil)
	case was&kindOf != is&kindOf: // all of the one, then all of the other
		oneDiff(b, path, &old, nil)
		oneDiff(b, path, nil, &now)
	default:
		oneDiff(b, path, &old, &now)
	}
}

// kindOf are the bits of a mode that tell files, links and submodules apart.
const kindOf diff.Mode = 0o170000

// oneDiff is a file before and after; nil: there was none.
func oneDiff(b *strings.Builder, path string, before, after *string) {
	fmt.Fprintf(b, "diff --git %s %s\n", quoted("a/"+path), quoted("b/"+path))
	older, newer := quoted("a/"+path), quoted("b/"+path)
	var was, is string
	var wasMode, isMode diff.Mode
	wasID, isID := strings.Repeat("0", 7), strings.Repeat("0", 7)
	if before != nil {
		wasMode, was = Plain(*before)
		was, wasID = shownAs(wasMode, was), idOf(*before)[:7]
	}
	if after != nil {
		isMode, is = Plain(*after)
		is, isID = shownAs(isMode, is), idOf(*after)[:7]
	}
	index := fmt.Sprintf("index %s..%s", wasID, isID)
	switch {
	case before == nil:
		fmt.Fprintf(b, "new file mode %06o\n", isMode)
		older = "/dev/null"
	case after == nil:
		fmt.Fprintf(b, "deleted file mode %06o\n", wasMode)
		newer = "/dev/null"
	case wasMode != isMode:
		fmt.Fprintf(b, "old mode %06o\nnew mode %06o\n", wasMode, isMode)
	default:
		index += fmt.Sprintf(" %06o", isMode)
	}
	if before != nil && after != nil && was == is {
		return // the mode alone
	}
	b.WriteString(index + "\n")
	switch {
	case was == is: // an empty file came or went
	case strings.Contains(was, "\x00") || strings.Contains(is, "\x00"):
		fmt.Fprintf(b, "Binary files %s and %s differ\n", older, newer)
	default:
		fmt.Fprintf(b, "--- %s\n+++ %s\n", tabbed(older), tabbed(newer))
		hunk(b, strings.SplitAfter(was, "\n"), strings.SplitAfter(is, "\n"))
	}
}

// shownAs is what git shows of a content; of a submodule it makes a line up.
func shownAs(mode diff.Mode, content string) string {
	if mode == diff.ModeSubmodule {
		return "Subproject commit " + content + "\n"
	}
	return content
}

// quoted is a name as git writes it: with control characters, quotes and backslashes
// escaped, and bytes from 0x80 on as they are, since the server sets core.quotePath off.
func quoted(name string) string {
	var b strings.Builder
	special := false
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			special = true
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			special = true
			if i := strings.IndexByte("\a\b\t\n\v\f\r", c); i >= 0 {
				b.WriteString(`\` + "abtnvfr"[i:i+1])
			} else {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		default:
			b.WriteByte(c)
		}
	}
	if special {
		return `"` + b.String() + `"`
	}
	return b.String()
}

// tabbed is a name as git writes it before a hunk: one with a blank ends in a tab.
func tabbed(name string) string {
	if strings.Contains(name, " ") && !strings.HasPrefix(name, `"`) {
		return name + "\t"
	}
	return name
}

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
