package forgetest

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/reviewer/change"
	"review-bot/sentinel"
)

func (l *lab) tree(commit string) map[string]string {
	l.Helper()
	tree, err := l.As("bot").Tree(l.Context(), commit)
	l.must(err)
	return tree
}

func (l *lab) files(commit string, paths ...string) map[string]string {
	l.Helper()
	files, err := l.As("bot").Files(l.Context(), paths, commit)
	l.must(err)
	texts := map[string]string{}
	for path, content := range files {
		texts[path] = string(content)
	}
	return texts
}

func (l *lab) wantFiles(what string, got, want map[string]string) {
	l.Helper()
	if !maps.Equal(got, want) {
		l.Errorf("%s: %q, want %q", what, got, want)
	}
}

// ids are a tree's of texts.
func idsOf(texts map[string]string) map[string]string {
	ids := map[string]string{}
	for path, text := range texts {
		ids[path] = change.Blob([]byte(text))
	}
	return ids
}

var indexLine = regexp.MustCompile(`(?m)^index ([0-9a-f]+)\.\.([0-9a-f]+)`)

var fileFacts = []fact{
	{"a commit's tree is every file by git's id of its content, also that of a former head", approving(), func(l *lab) {
		p := l.pull()
		head := BaseFiles()
		maps.Copy(head, HeadFiles())
		l.wantFiles("base", l.tree(p.Base), idsOf(BaseFiles()))
		l.wantFiles("head", l.tree(p.Head), idsOf(head))
		now := l.Push("author", map[string]string{"old.txt": Gone, "a/deep/folder/x.txt": "x", "a/empty": "", "a b.txt": "\x00\xff", "same.go": head["new.go"]})
		l.wantFiles("former head", l.tree(p.Head), idsOf(head))
		delete(head, "old.txt")
		maps.Copy(head, map[string]string{"a/deep/folder/x.txt": "x", "a/empty": "", "a b.txt": "\x00\xff", "same.go": head["new.go"]})
		l.wantFiles("new head", l.tree(now), idsOf(head))
	}},
	{"the diff's index lines begin the ids of the trees", approving(), func(l *lab) {
		p := l.pull()
		was, is := l.tree(p.MergeBase), l.tree(p.Head)
		text, err := l.As("bot").Diff(l.Context())
		l.must(err)
		lines := indexLine.FindAllStringSubmatch(string(text), -1)
		if len(lines) != 2 || !strings.HasPrefix(was["main.go"], lines[0][1]) || !strings.HasPrefix(is["main.go"], lines[0][2]) || !strings.HasPrefix(is["new.go"], lines[1][2]) {
			l.Errorf("index lines %q, trees %v and %v", lines, was, is)
		}
	}},
	{"files are read at a commit, and what is no file isn't there", approving(), func(l *lab) {
		p := l.pull()
		now := l.Push("author", map[string]string{"a/b.txt": "b\n", "empty": "", "bin": "\x00\xff\r\n", "ü \"q\".txt": "q"})
		l.wantFiles("base", l.files(p.Base, "main.go", "new.go", "old.txt"), BaseFiles())
		l.wantFiles("former head", l.files(p.Head, "main.go", "new.go", "a/b.txt"), HeadFiles())
		l.wantFiles("head", l.files(now, "a/b.txt", "empty", "bin", "ü \"q\".txt", "empty"), map[string]string{"a/b.txt": "b\n", "empty": "", "bin": "\x00\xff\r\n", "ü \"q\".txt": "q"})
		odd := []string{"a", "a/", "a/b", "/a/b.txt", "./a/b.txt", "a//b.txt", "a/b.txt/", "a/b.txt/c", "../a/b.txt", "a/../a/b.txt", "", ".", "..", " bin", "bin\x00", ".git/config"}
		l.wantFiles("odd paths", l.files(now, append(odd, "empty")...), map[string]string{"empty": ""})
		l.wantFiles("nothing", l.files(now), nil)
	}},
	{"more files than an answer holds are read", approving(), func(l *lab) {
		many := map[string]string{}
		for i := range 65 {
			many[fmt.Sprintf("many/%d/%d.txt", i%3, i)] = fmt.Sprintf("text %d\n", i)
		}
		now := l.Push("author", many)
		l.wantFiles("many", l.files(now, append(slices.Collect(maps.Keys(many)), "no/such")...), many)
	}},
	{"a commit that doesn't exist has no tree and no files", approving(), func(l *lab) {
		for _, who := range []string{"bot", "outsider"} {
			if _, err := l.As(who).Tree(l.Context(), noCommit); !errors.Is(err, reviewer.ErrNoCommit) {
				l.Errorf("%s: tree: %v, want ErrNoCommit", who, err)
			}
			if _, err := l.As(who).Files(l.Context(), []string{"main.go"}, noCommit); !errors.Is(err, reviewer.ErrNoCommit) {
				l.Errorf("%s: files: %v, want ErrNoCommit", who, err)
			}
		}
		p := l.pull()
		for _, name := range []string{p.BaseBranch, "no-such-branch", p.Head[:12], strings.ToUpper(p.Head), ""} {
			_, err := l.As("bot").Tree(l.Context(), name)
			l.refused(err, errNotCommit.Error())
			_, err = l.As("bot").Files(l.Context(), []string{"main.go"}, name)
			l.refused(err, errNotCommit.Error())
		}
	}},
}

var sayFacts = []fact{
	{"whoever may see the pull request may comment on it, also when it is closed", approving(), func(l *lab) {
		for i, by := range []string{"bot", "outsider", "author"} {
			if by == "author" {
				l.Close("owner")
			}
			body := fmt.Sprintf("text %d\n\n<!-- marker --> @%s\n", i, l.Login("owner"))
			id, err := l.As(by).Say(l.Context(), body)
			l.must(err)
			entries := l.entries(escalation.EntryComment)
			if len(entries) != i+1 {
				l.Fatalf("%d comments, want %d", len(entries), i+1)
			}
			want := reviewer.Entry{ID: id, Kind: escalation.EntryComment, Body: body, User: l.id(by), Login: l.Login(by),
				Created: entries[i].Created, Updated: entries[i].Created}
			if entries[i] != want || want.Created.IsZero() {
				l.Errorf("entry %+v, want %+v", entries[i], want)
			}
		}
		if rows := l.rows("bot", "bot"); len(rows) != 0 {
			l.Errorf("rows %+v, want none", rows)
		}
	}},
	{"a comment of the bot can be edited, and is shown as updated", approving(), func(l *lab) {
		id, err := l.As("bot").Say(l.Context(), "first")
		l.must(err)
		first := l.createdOf(id)
		l.Tick()
		l.Tick()
		l.must(l.As("bot").EditComment(l.Context(), id, "second"))
		if e := l.entry(escalation.EntryComment); e.ID != id || e.Body != "second" || !e.Created.Equal(first) {
			l.Errorf("entry %+v", e)
		}
		if got := ids(l.since(first.Add(time.Second))); !slices.Equal(got, []int64{id}) {
			l.Errorf("entries %v, want the edited %d only", got, id)
		}
	}},
	{"a comment without a text isn't sent, and one says nothing of the verdict", blocking(), func(l *lab) {
		row := l.post("bot", sentinel.RequestChanges, "no")
		for _, body := range []string{"", " \n"} {
			_, err := l.As("bot").Say(l.Context(), body)
			l.refused(err, errNoText.Error())
		}
		if n := len(l.entries(escalation.EntryComment)); n != 0 {
			l.Errorf("%d comments, want none", n)
		}
		_, err := l.As("bot").Say(l.Context(), "never mind")
		l.must(err)
		if now := l.row(row.ID); !now.Official || now.Body != "no" {
			l.Errorf("row %+v, was %+v", now, row)
		}
		l.judge(rejected)
	}},
}
