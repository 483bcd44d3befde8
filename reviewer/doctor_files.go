package reviewer

import (
	"fmt"
	"slices"
	"strings"

	"review-bot/reviewer/finding"
	"review-bot/reviewer/ignore"
)

// JudgeKept judges whether the base branch has files whose content is kept elsewhere, in
// Git LFS or in submodules: a change of these can't be read, so it isn't approved, unless
// the settings leave them out. attributes and modules are the branch's .gitattributes and
// .gitmodules, nil where there are none; globs are the settings' ignore.
func JudgeKept(attributes, modules []byte, globs []string) Check {
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
	if len(kept) == 0 {
		return Check{name, Fine, "nothing is kept in Git LFS or submodules that an approval would need", ""}
	}
	const most = 5
	more, shown := "", kept
	if len(kept) > most {
		more, shown = fmt.Sprintf(" and %d more", len(kept)-most), kept[:most]
	}
	return Check{
		name, Warned, fmt.Sprintf("%s kept elsewhere (%s%s): a change there can't be read, so it isn't approved",
			finding.Count(len(kept), "kind of files is", "kinds of files are"), strings.Join(shown, ", "), more),
		fmt.Sprintf("where nobody needs to read these write ignore: [%s] into .review-bot.yaml", quotedList(shown)),
	}
}

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
