package reviewer

import (
	"fmt"
	"slices"
	"strings"

	"review-bot/reviewer/finding"
	"review-bot/reviewer/ignore"
	"review-bot/reviewer/shown"
)

// JudgeKept judges whether the base branch has files whose content is kept elsewhere, in
// Git LFS or in submodules, or that are no text: a change of these can't be read, so it
// isn't approved, unless the settings leave them out. attributes and modules are the
// branch's .gitattributes and .gitmodules, nil where there are none; globs are the
// settings' ignore; names are the branch's files, nil if they aren't known.
func JudgeKept(attributes, modules []byte, globs, names []string) Check {
	const name = "unread files"
	rules, err := ignore.New(globs, attributes)
	if err != nil {
		return unasked(name, "the configuration")
	}
	var kept []string
	for _, pattern := range append(largeFiles(attributes), submodules(modules)...) {
		example := strings.TrimPrefix(strings.ReplaceAll(pattern, "*", "x"), "/")
		if rules.Why(example) == "" && !slices.Contains(kept, pattern) {
			kept = append(kept, pattern)
		}
	}
	var opaque []string
	for _, kind := range shown.Ahead(rules, names) {
		opaque = append(opaque, kind.Glob)
	}
	var found []string
	for _, group := range []struct {
		globs []string
		what  string
	}{{kept, "kept elsewhere"}, {opaque, "no text that can be read"}} {
		if len(group.globs) > 0 {
			found = append(found, fmt.Sprintf("%s %s (%s%s)",
				finding.Count(len(group.globs), "kind of files is", "kinds of files are"), group.what, strings.Join(few(group.globs), ", "), more(group.globs)))
		}
	}
	if len(found) == 0 {
		return Check{name, Fine, "nothing is kept in Git LFS or submodules that an approval would need", ""}
	}
	return Check{
		name, Warned, strings.Join(found, ", ") + ": a change there can't be read, so it isn't approved",
		fmt.Sprintf("where nobody needs to read these write ignore: [%s] into .review-bot.yaml", quotedList(append(few(kept), few(opaque)...))),
	}
}

// few is the beginning of a list that is shown, and more what is said of the rest.
func few(globs []string) []string { return slices.Clone(globs[:min(len(globs), mostKinds)]) }

func more(globs []string) string {
	if len(globs) <= mostKinds {
		return ""
	}
	return fmt.Sprintf(" and %d more", len(globs)-mostKinds)
}

const mostKinds = 5

// largeFiles are the patterns of files that Git LFS keeps.
func largeFiles(attributes []byte) (patterns []string) {
	for line := range strings.Lines(string(attributes)) {
		words := strings.Fields(line)
		if len(words) > 1 && !strings.HasPrefix(words[0], "#") && slices.Contains(words[1:], "filter=lfs") {
			patterns = append(patterns, words[0])
		}
	}
	return patterns
}

// submodules are the folders that .gitmodules names.
func submodules(modules []byte) (paths []string) {
	for line := range strings.Lines(string(modules)) {
		if key, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == "path" {
			paths = append(paths, "/"+strings.TrimSpace(value))
		}
	}
	return paths
}

func quotedList(list []string) string {
	var quoted []string
	for _, s := range list {
		quoted = append(quoted, fmt.Sprintf("%q", s))
	}
	return strings.Join(quoted, ", ")
}
