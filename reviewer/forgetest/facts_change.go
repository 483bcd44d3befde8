package forgetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/reviewer/change"
	"review-bot/reviewer/diff"
)

func (l *lab) changes(before, after string) change.Set {
	l.Helper()
	set, err := l.As("bot").Changes(l.Context(), before, after)
	l.must(err)
	return set
}

// wantChanges compares two commits. want is by path, with the texts before and after.
func (l *lab) wantChanges(what, before, after string, want map[string][2]string) {
	l.Helper()
	var expected []change.Change
	for path, texts := range want {
		expected = append(expected, change.Change{Path: change.Form(path), Old: entryOf(texts[0]), New: entryOf(texts[1])})
	}
	slices.SortFunc(expected, func(a, b change.Change) int { return strings.Compare(a.Path, b.Path) })
	if got := l.changes(before, after); !slices.Equal(got.Changes, expected) || len(got.Unclear) > 0 {
		l.Errorf("%s: %+v, want %+v", what, got, expected)
	}
}

func entryOf(text string) change.Entry {
	if text == Gone {
		return change.Entry{}
	}
	mode, _ := Plain(text)
	return change.Entry{Mode: mode, ID: idOf(text)}
}

// module is a commit for submodules that every bench knows: they are never read.
var module = strings.Repeat("5", 40)

var changeFacts = []fact{
	{"two commits are compared by type, mode and content of each file", approving(), func(l *lab) {
		p := l.pull()
		head := HeadFiles()
		l.wantChanges("the pull request", p.MergeBase, p.Head, map[string][2]string{
			"main.go": {BaseFiles()["main.go"], head["main.go"]}, "new.go": {Gone, head["new.go"]},
		})
		l.wantChanges("nothing", p.Head, p.Head, nil)
		now := l.Push("author", map[string]string{
			"new.go": Executable(head["new.go"]), "old.txt": Link("new.go"), "a/deep/x.txt": "x", "a/deep/y.txt": "y", "lib": Submodule(module),
			"\xff.go": "bytes", "ü \"q\"\t.txt": "q", "main.go": BaseFiles()["main.go"],
		})
		l.wantChanges("a push", p.Head, now, map[string][2]string{
			"new.go": {head["new.go"], Executable(head["new.go"])}, "old.txt": {BaseFiles()["old.txt"], Link("new.go")}, "lib": {Gone, Submodule(module)},
			"a/deep/x.txt": {Gone, "x"}, "a/deep/y.txt": {Gone, "y"}, "\xff.go": {Gone, "bytes"}, "ü \"q\"\t.txt": {Gone, "q"},
			"main.go": {head["main.go"], BaseFiles()["main.go"]},
		})
		moved := strings.Repeat("6", 40)
		next := l.Push("author", map[string]string{"a/deep/x.txt": Gone, "b/x.txt": "x", "a/deep/y.txt": "z", "lib": Submodule(moved), "new.go": Gone})
		l.wantChanges("another push", now, next, map[string][2]string{
			"a/deep/x.txt": {"x", Gone}, "b/x.txt": {Gone, "x"}, "a/deep/y.txt": {"y", "z"}, "lib": {Submodule(module), Submodule(moved)},
			"new.go": {Executable(head["new.go"]), Gone},
		})
		l.wantChanges("backwards", next, now, map[string][2]string{
			"a/deep/x.txt": {Gone, "x"}, "b/x.txt": {"x", Gone}, "a/deep/y.txt": {"z", "y"}, "lib": {Submodule(moved), Submodule(module)},
			"new.go": {Gone, Executable(head["new.go"])},
		})
	}},
	{"names that aren't UTF-8 can't be told apart in a list", approving(), func(l *lab) {
		p := l.pull()
		now := l.Push("author", map[string]string{"x/\xfe.go": "1", "x/\xff.go": "2", "x/y.go": "3"})
		if got := l.changes(p.Head, now); !slices.Equal(got.Unclear, []string{"x/\uFFFD.go"}) || len(got.Changes) != 1 || got.Changes[0].Path != "x/y.go" {
			l.Errorf("changes %+v", got)
		}
		next := l.Push("author", map[string]string{"z": "4"})
		if got := l.changes(now, next); len(got.Unclear) != 0 || len(got.Changes) != 1 {
			l.Errorf("where the folder stays the same: changes %+v", got)
		}
	}},
	{"a commit that doesn't exist can't be compared", approving(), func(l *lab) {
		p := l.pull()
		_, err := l.As("bot").Changes(l.Context(), p.Head, noCommit)
		l.is(err, reviewer.ErrNoCommit)
		_, err = l.As("bot").Changes(l.Context(), noCommit, p.Head)
		l.is(err, reviewer.ErrNoCommit)
		_, err = l.As("bot").Changes(l.Context(), p.BaseBranch, p.Head)
		l.refused(err, errNotCommit.Error())
		_, err = l.As("bot").Ahead(l.Context(), p.Base, noCommit)
		l.is(err, reviewer.ErrNoCommit)
		_, err = l.As("bot").Ahead(l.Context(), p.BaseBranch, p.Head)
		l.refused(err, errNotCommit.Error())
	}},
	{"the diff is of the commit that the ref names, which is the head once the server is done", approving(), func(l *lab) {
		for i := range 2 {
			for _, who := range []string{"bot", "outsider"} {
				ref, err := l.As(who).HeadRef(l.Context())
				l.must(err)
				if head := l.pull().Head; ref != head {
					l.Errorf("%s: the ref names %s, the head is %s", who, ref, head)
				}
			}
			l.Push("author", map[string]string{"x": fmt.Sprintln(i)})
		}
	}},
	{"how many commits one has that another hasn't", approving(), func(l *lab) {
		ahead := func(base, commit string, want int) {
			l.Helper()
			if got, err := l.As("bot").Ahead(l.Context(), base, commit); err != nil || got != want {
				l.Errorf("ahead by %d, %v; want %d", got, err, want)
			}
		}
		p := l.pull()
		ahead(p.MergeBase, p.Head, 1)
		ahead(p.Head, p.MergeBase, 0)
		ahead(p.Head, p.Head, 0)
		l.Push("author", map[string]string{"x": "x\n"})
		l.MergeBase("author", map[string]string{"base.txt": "news\n"})
		now := l.pull()
		ahead(now.MergeBase, now.Head, 3) // two commits and the merge
		ahead(now.Base, now.Head, 3)
		ahead(p.MergeBase, now.Head, 4) // from the older merge base on, the news, too
		ahead(now.Base, now.MergeBase, 0)
	}},
	{"a content is read by its id, in full", approving(), func(l *lab) {
		for _, text := range []string{"", "\x00\xff\r\n", HeadFiles()["new.go"]} {
			l.Push("author", map[string]string{"\xff.bin": text, "x": "x" + text})
			if got, err := l.As("bot").Blob(l.Context(), change.Blob([]byte(text))); err != nil || !bytes.Equal(got, []byte(text)) {
				l.Errorf("%q, %v; want %q", got, err, text)
			}
		}
		if _, err := l.As("bot").Blob(l.Context(), noCommit); err == nil || errors.Is(err, reviewer.ErrTooLarge) {
			l.Errorf("no such content: %v", err)
		}
	}},
	{"the diff tells modes, links, submodules, renames and odd names", approving(), func(l *lab) {
		head := BaseFiles()
		for path, text := range HeadFiles() {
			head[path] = text
		}
		for _, push := range []map[string]string{
			{"run.sh": Executable("echo\n"), "link": Link("main.go"), "lib": Submodule(module), "empty": "", "bin": "a\x00b", "a b.txt": "x\n"},
			{"\xff\xfe.go": "bytes\n", "ü.go": "umlaut\n", "ta\tb.go": "tab\n", "qu\"ote.go": "quote\n", "back\\slash.go": "slash\n"},
			{"old.txt": Gone, "elsewhere/old.txt": head["old.txt"], "main.go": Link("new.go")},
			{"elsewhere/old.txt": Gone, "elsewhere/new.txt": Executable(head["old.txt"]), "main.go": Executable(head["main.go"])},
		} {
			l.Push("author", push)
			for path, text := range push {
				if head[path] = text; text == Gone {
					delete(head, path)
				}
			}
			got, err := l.As("bot").Diff(l.Context())
			l.must(err)
			if want := textOf(BaseFiles(), head); !bytes.Equal(fullIndex(got), fullIndex(want)) {
				l.Fatalf("diff\n%s\nwant\n%s", got, want)
			}
			d, err := diff.Parse(got)
			l.must(err)
			p := l.pull()
			if m, differs := change.Compare(l.changes(p.MergeBase, p.Head), d); differs != "" || len(m.Untold) > 0 {
				l.Errorf("the diff isn't what changed: %s %+v", differs, m.Untold)
			}
		}
	}},
	{"another base branch is another change of the same head", approving(), func(l *lab) {
		p := l.pull()
		first := p.Head
		head := l.Push("author", map[string]string{"x.txt": "x\n"})
		l.Retarget("author", "elsewhere", first)
		now := l.pull()
		if now.Head != head || now.Base != first || now.MergeBase != first || now.BaseBranch == p.BaseBranch {
			l.Errorf("pull %+v, was %+v", now, p)
		}
		data, err := l.As("bot").Diff(l.Context())
		l.must(err)
		d, err := diff.Parse(data)
		l.must(err)
		if len(d.Files) != 1 || d.Files[0].Path != "x.txt" {
			l.Errorf("diff\n%s", data)
		}
		var kinds []escalation.EntryKind
		for _, e := range l.since(at(0)) {
			kinds = append(kinds, e.Kind)
		}
		if want := []escalation.EntryKind{entryTarget, entryPush}; !slices.Equal(kinds, want) {
			l.Errorf("entries %v, want %v", kinds, want)
		}
	}},
}

// fullIndex is a diff with its ids cut to seven digits.
func fullIndex(text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for i, line := range lines {
		if m := indexLine.FindSubmatch(line); m != nil {
			rest := line[len(m[0]):]
			lines[i] = slices.Concat([]byte("index "), m[1][:7], []byte(".."), m[2][:7], rest)
		}
	}
	return bytes.Join(lines, nil)
}
