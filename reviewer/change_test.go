package reviewer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/reviewer/change"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/forgetest"
	"review-bot/sentinel"
)

// lying is a forge some of whose answers are others than the server's.
type lying struct {
	reviewer.Forge
	diff    func(context.Context) ([]byte, error)
	headRef func(context.Context) (string, error)
}

func (l lying) Diff(ctx context.Context) ([]byte, error) {
	if l.diff != nil {
		return l.diff(ctx)
	}
	return l.Forge.Diff(ctx)
}

func (l lying) HeadRef(ctx context.Context) (string, error) {
	if l.headRef != nil {
		return l.headRef(ctx)
	}
	return l.Forge.HeadRef(ctx)
}

// After a push the server gives the old diff for some time. It isn't taken for the
// head's, and the new one is waited for.
func TestALateDiffIsWaitedFor(t *testing.T) {
	for _, d := range forgetest.Dialects() {
		for _, fork := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, fork %t", d.Name, fork), func(t *testing.T) {
				waitForLateDiffs(t, forgetest.Options{Dialect: d, Fork: fork})
			})
		}
	}
}

func waitForLateDiffs(t *testing.T, o forgetest.Options) {
	for promise, late := range map[string]func(*forgetest.Forge){
		"all at once":              func(f *forgetest.Forge) { f.EndPush() },
		"the merge base last":      func(f *forgetest.Forge) { f.MoveRef() },
		"never":                    func(*forgetest.Forge) {},
		"and the diff for a while": nil,
	} {
		t.Run(promise, func(t *testing.T) {
			s := newStory(t, o)
			s.answer = honest
			head := s.forge.BeginPush("author", map[string]string{"evil.go": "EVIL\n"})
			pauses := 0
			s.slept = func(f *forgetest.Forge, _ time.Duration) {
				if pauses++; pauses == 3 && late != nil {
					late(f)
				}
			}
			if late == nil { // the ref names the new head, the diff is still the old one's
				old, _ := s.shared.As("bot").Diff(t.Context())
				s.forge.EndPush()
				s.wrap = func(f reviewer.Forge) reviewer.Forge {
					return lying{Forge: f, diff: func(ctx context.Context) ([]byte, error) {
						if pauses < 3 {
							return old, nil
						}
						return f.Diff(ctx)
					}}
				}
			}
			r, err := s.run()
			if promise == "never" {
				if err == nil || !strings.Contains(err.Error(), "run the job again") || len(s.asked) != 0 ||
					len(s.approvedAt()) != 0 {
					t.Fatalf("%v, %d model calls, approved at %q", err, len(s.asked), s.approvedAt())
				}
				return
			}
			if err != nil || r.Own != sentinel.RequestChanges || r.Head != head || !s.shown("EVIL", 0) || pauses < 3 {
				t.Errorf("%v, own %s at %s after %d pauses\n%s", err, r.Own, r.Head, pauses, strings.Join(s.log, "\n"))
			}
		})
	}
}

// A diff that isn't the head's is never taken for it: one that lacks a file, a line, a
// rename or a mode, also where all ids that it has begin like the right ones.
func TestAnotherDiffIsNotTaken(t *testing.T) {
	head := map[string]string{
		"main.go": "package main\n\nfunc a() {}\n", "new.go": "package app\n", "run.sh": forgetest.Executable("echo\n"),
		"moved/old.txt": forgetest.BaseFiles()["old.txt"], "old.txt": forgetest.Gone,
		"lib": forgetest.Submodule(strings.Repeat("1", 40)),
	}
	section := func(diff, name string) (before, of, after string) {
		i := strings.Index(diff, "diff --git a/"+name)
		n := strings.Index(diff[i+1:], "diff --git ")
		if n < 0 {
			n = len(diff) - i - 1
		}
		return diff[:i], diff[i : i+1+n], diff[i+1+n:]
	}
	cases := map[string]func(diff string) string{
		"a changed file is missing":   func(d string) string { b, _, a := section(d, "main.go"); return b + a },
		"a new file is missing":       func(d string) string { b, _, a := section(d, "new.go"); return b + a },
		"a new executable is missing": func(d string) string { b, _, a := section(d, "run.sh"); return b + a },
		"a rename is missing":         func(d string) string { b, _, a := section(d, "old.txt"); return b + a },
		"a file isn't executable": func(
			d string) string {
			return strings.Replace(d, "new file mode 100755", "new file mode 100644", 1)
		},
		"a new line is another one": func(
			d string) string {
			return strings.Replace(d, "+package app", "+package abb", 1)
		},
		"a changed line is another one": func(
			d string) string {
			return strings.Replace(d, "+func a() {}", "+func b() {}", 1)
		},
		"a deleted line is another one": func(
			d string) string {
			return strings.Replace(d, "-package main 7\n", "-package main 8\n", 1)
		},
		"a submodule is another one": func(d string) string {
			return strings.ReplaceAll(d, strings.Repeat("1", 40), strings.Repeat("1", 39)+"2")
		},
		"there is nothing": func(string) string { return "" },
		"a file is there twice as another": func(d string) string {
			_, of, _ := section(d, "new.go")
			return d + strings.ReplaceAll(of, "new.go", "new2.go")
		},
	}
	for promise, forge := range cases {
		t.Run(promise, func(t *testing.T) {
			s := newStory(t, forgetest.Options{Head: head})
			changed := false
			s.wrap = func(f reviewer.Forge) reviewer.Forge {
				return lying{Forge: f, diff: func(ctx context.Context) ([]byte, error) {
					data, err := f.Diff(ctx)
					text := forge(string(data))
					changed = changed || text != string(data)
					return []byte(text), err
				}}
			}
			r, err := s.run()
			if !changed {
				t.Fatal("the case changes nothing in the diff")
			}
			if err == nil || len(s.asked) > 0 || len(s.approvedAt()) > 0 {
				t.Errorf("%v, own %s, %d model calls, approved at %q", err, r.Own, len(s.asked), s.approvedAt())
			}
		})
	}
	s := newStory(t, forgetest.Options{Head: head})
	if r := s.mustRun(); r.Own != sentinel.Comment || len(r.NotReviewed) != 1 || r.NotReviewed[0].Path != "lib" {
		t.Errorf("with the right diff: own %s, not reviewed %+v", r.Own, r.NotReviewed)
	}
}

// A server that doesn't say of which commit its diff is leaves it to the contents.
func TestAServerWithoutRefs(t *testing.T) {
	s := newStory(t, forgetest.Options{})
	s.wrap = func(f reviewer.Forge) reviewer.Forge {
		return lying{Forge: f, headRef: func(context.Context) (string, error) { return "", reviewer.ErrUnsupported }}
	}
	if r := s.mustRun(); r.Own != sentinel.Approved {
		t.Errorf("own %s", r.Own)
	}
	s.forge.BeginPush("author", map[string]string{"evil.go": "EVIL\n"})
	if r, err := s.run(); err == nil {
		t.Errorf("with an old diff: own %s", r.Own)
	}
}

// The merge base is named late, too: from an older one on, a change that takes back what
// the base has since doesn't show.
func TestALateMergeBase(t *testing.T) {
	vulnerable := forgetest.BaseFiles()["main.go"] + "EVIL\n"
	s := newStory(t,
		forgetest.Options{Base: map[string]string{"main.go": vulnerable}, Head: map[string]string{"new.go": "x\n"}})
	s.answer = honest
	s.forge.PushBase(map[string]string{"main.go": forgetest.BaseFiles()["main.go"]}) // it is fixed
	s.forge.MergeBase("author")
	s.forge.BeginPush("author", map[string]string{"main.go": vulnerable}) // and taken back
	s.forge.MoveRef()
	pauses := 0
	s.slept = func(f *forgetest.Forge, _ time.Duration) {
		if pauses++; pauses == 2 {
			f.EndPush()
		}
	}
	if r := s.mustRun(); r.Own != sentinel.RequestChanges || pauses != 2 {
		t.Errorf("own %s after %d pauses\n%s", r.Own, pauses, strings.Join(s.log, "\n"))
	}
}

// A head that moves while it is read is the next run's.
func TestAHeadThatMovesWhileItIsRead(t *testing.T) {
	for promise, act := range map[string]func(*forgetest.Forge){
		"pushed again": func(f *forgetest.Forge) { f.Push("author", map[string]string{"more.go": "x\n"}) },
		"retargeted":   func(f *forgetest.Forge) { f.Retarget("author", "lax", f.PushBase(map[string]string{"b": "x\n"})) },
	} {
		s := newStory(t, forgetest.Options{})
		s.forge.BeginPush("author", map[string]string{"evil.go": "EVIL\n"})
		done := false
		s.slept = func(f *forgetest.Forge, _ time.Duration) {
			if !done {
				done = true
				act(f)
			}
		}
		if r := s.mustRun(); r.Outcome != escalation.HeadMoved || len(s.asked) != 0 {
			t.Errorf("%s: %s, %d model calls", promise, r.Outcome, len(s.asked))
		}
	}
}

// What the head is compared with is part of the question; the tip of the base branch isn't.
func TestTheQuestionHasTheBaseInIt(t *testing.T) {
	s := newStory(t, forgetest.Options{})
	s.answer = honest
	first := s.forge.Push("author", map[string]string{"evil.go": "EVIL\n"})
	head := s.forge.Push("author", map[string]string{"good.go": "fine\n"})
	main := s.pull().Base
	s.forge.Retarget("author", "lax", first) // evil.go is in that base already
	if r := s.mustRun(); r.Own != sentinel.Approved || len(s.asked) != 1 {
		t.Fatalf("against the lax base: own %s, %d model calls", r.Own, len(s.asked))
	}
	s.forge.PushBase(map[string]string{"news.txt": "news\n"})
	if r := s.mustRun(); r.Outcome != escalation.Skipped || len(s.asked) != 1 {
		t.Errorf("after a push to the base branch: %s, %d model calls, want none more", r.Outcome, len(s.asked))
	}
	s.forge.Retarget("author", "main", main)
	if r := s.mustRun(); r.Own != sentinel.RequestChanges || r.Head != head || len(s.asked) != 2 || !s.shown("EVIL", 1) {
		t.Errorf("against the strict base: own %s at %s, %d model calls", r.Own, r.Head, len(s.asked))
	}
	if r := s.mustRun(); r.Outcome != escalation.Skipped || len(s.asked) != 2 {
		t.Errorf("again: %s, %d model calls", r.Outcome, len(s.asked))
	}
}

func (s *story) pull() reviewer.Pull {
	s.tb.Helper()
	p, err := s.shared.As("bot").Pull(s.tb.Context())
	if err != nil {
		s.tb.Fatal(err)
	}
	return p
}

// What changed since the last round is told by type, mode, content and name. Each of these
// pushes is shown to the model, or named as not read by a role that doesn't approve.
func TestWhatChangedSinceTheLastRound(t *testing.T) {
	deploy := numbered("deploy", 5)
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	for promise, tt := range map[string]struct {
		push map[string]string
		want string // in what the model is shown; "": it is named as not read
	}{
		"a file named like a secret": {map[string]string{secret + ".go": "EVIL\n"}, "EVIL"},
		"a name that isn't UTF-8":    {map[string]string{"\xff.go": "EVIL\n"}, "EVIL"},
		"a pure rename": {
			map[string]string{"samples/deploy.yml": forgetest.Gone, ".gitea/workflows/deploy.yml": deploy},
			"file: .gitea/workflows/deploy.yml\nstatus: renamed from samples/deploy.yml",
		},
		"an executable": {
			map[string]string{"samples/deploy.yml": forgetest.Executable(deploy)}, "mode: 100755, was 100644",
		},
		"a link of the same content":  {map[string]string{"path": forgetest.Link("/etc/passwd")}, "mode: 120000, was 100644"},
		"an unchanged file elsewhere": {map[string]string{"copy.yml": deploy}, "file: copy.yml\nstatus: added"},
		"a file that was taken back": {
			map[string]string{"main.go": forgetest.BaseFiles()["main.go"]}, "file: main.go\nstatus: modified",
		},
		"a submodule":            {map[string]string{"lib": forgetest.Submodule(strings.Repeat("2", 40))}, ""},
		"a submodule that moved": {map[string]string{"sub": forgetest.Submodule(strings.Repeat("2", 40))}, ""},
		"a deletion":             {map[string]string{"old.txt": forgetest.Gone}, "file: old.txt\nstatus: deleted"},
		"names that look alike":  {map[string]string{"\xfe.go": "x\n", "\xff.go": "EVIL\n"}, ""},
	} {
		t.Run(promise, func(t *testing.T) {
			first := forgetest.HeadFiles()
			first["samples/deploy.yml"], first["path"] = deploy, "/etc/passwd"
			if promise == "a submodule that moved" {
				first["sub"] = forgetest.Submodule(strings.Repeat("1", 40))
			}
			s := newStory(t, forgetest.Options{Head: first})
			s.mustRun()
			s.forge.Push("author", tt.push)
			before := len(s.asked)
			r := s.mustRun()
			shown := tt.want != "" && s.shown(tt.want, before)
			named := r.Own != sentinel.Approved && len(r.NotReviewed) > 0
			if !shown && (tt.want != "" || !named) {
				var texts []string
				for _, req := range s.asked[before:] {
					texts = append(texts, req.Material)
				}
				t.Errorf("own %s, not reviewed %+v, want %q in\n%s", r.Own, r.NotReviewed, tt.want, strings.Join(texts, "\n"))
			}
			if slices.Contains(s.approvedAt(), s.pull().Head) && tt.want == "" {
				t.Error("the head is approved")
			}
		})
	}
}

// A list that can't be read in full proves nothing: nothing is approved on it.
func TestATreeTooLargeToBeRead(t *testing.T) {
	s := newStory(t, forgetest.Options{})
	s.wrap = func(f reviewer.Forge) reviewer.Forge { return hugeTree{f} }
	r := s.mustRun()
	if r.Own != sentinel.Comment || len(r.NotReviewed) != 1 || len(s.approvedAt()) != 0 {
		t.Errorf("own %s, not reviewed %+v", r.Own, r.NotReviewed)
	}
	s.wrap = func(f reviewer.Forge) reviewer.Forge { return brokenTree{f} }
	s.forge.Push("author", map[string]string{"x": "x\n"})
	if r, err := s.run(); !errors.Is(err, errHoles) {
		t.Errorf("own %s, %v", r.Own, err)
	}
}

type hugeTree struct{ reviewer.Forge }

func (hugeTree) Changes(context.Context, string, string) (change.Set, error) {
	return change.Set{}, reviewer.ErrTooLarge
}

var errHoles = errors.New("entries are missing")

type brokenTree struct{ reviewer.Forge }

func (brokenTree) Changes(context.Context, string, string) (change.Set, error) {
	return change.Set{}, errHoles
}

// A finding in a file with an odd name is one of that file, whatever the name looks like.
func TestFindingsInFilesWithOddNames(t *testing.T) {
	for _, name := range []string{"ghp_" + strings.Repeat("a1B2", 9) +
		".go", "\xff.go", "a b.go", "qu\"o\\te.go", "ta\tb.go"} {
		s := newStory(t, forgetest.Options{Head: map[string]string{name: "fine\nEVIL\n"}})
		s.answer = honest
		r := s.mustRun()
		if len(r.Findings) != 1 || r.Own != sentinel.RequestChanges || r.Findings[0].Path != name ||
			r.Findings[0].Line != 2 || r.Findings[0].Where != finding.Inline {
			t.Errorf("%q: own %s, findings %+v", name, r.Own, r.Findings)
		}
		if again := s.mustRun(); again.Outcome != escalation.Skipped {
			t.Errorf("%q: again: %s", name, again.Outcome)
		}
	}
}

// A pull request that bloats itself isn't paid for without end.
func TestTokensPerPullRequest(t *testing.T) {
	s := newStory(t, forgetest.Options{Protection: &forgetest.Protection{RequiredApprovals: 1, BlockOnRejected: true}})
	bounded := func(set *reviewer.Settings) { set.MaxSpent = 2000 } // a request takes 1,010 here
	for i, want := range []escalation.Outcome{escalation.Posted, escalation.Patched, escalation.Capped, escalation.Capped} {
		s.forge.Push("author", map[string]string{"x.go": numbered("push "+strings.Repeat("x", i), 3)})
		if r := s.mustRun(bounded); r.Outcome != want {
			t.Errorf("push %d: %s, want %s: %q", i, r.Outcome, want, r.Notes)
		}
	}
	if ok, why := s.forge.Mergeable(); len(s.asked) != 2 || ok {
		t.Errorf("%d model calls, mergeable %t %s", len(s.asked), ok, why)
	}
	if r := s.mustRun(); r.Outcome == escalation.Capped || len(s.asked) != 3 {
		t.Errorf("without a bound: %s, %d model calls", r.Outcome, len(s.asked))
	}
}

// A server that says that its diff is another commit's isn't believed the diff, whatever is in it.
func TestARefThatStaysBehind(t *testing.T) {
	s := newStory(t, forgetest.Options{})
	before := s.pull().MergeBase
	s.wrap = func(f reviewer.Forge) reviewer.Forge {
		return lying{Forge: f, headRef: func(context.Context) (string, error) { return before, nil }}
	}
	if r, err := s.run(); err == nil || len(s.asked) > 0 {
		t.Errorf("own %s, %d model calls", r.Own, len(s.asked))
	}
}

// What a round left out or couldn't read is shown once it may hold code, also if the push
// that makes it so doesn't change its lines.
func TestWhatWasNotShownBeforeIsShownInFull(t *testing.T) {
	sums := "example.com/m v1.0.0 h1:EVIL=\n"
	long := strings.Repeat("x=1;", 3000) + " // EVIL\n"
	for promise, tt := range map[string]struct {
		base, first, second map[string]string
		own                 sentinel.Verdict // of the first round
	}{
		"a lock file becomes code": {
			map[string]string{"go.mod": "module m\n", "go.sum": "example.com/m v0.9.0 h1:x=\n"},
			map[string]string{"a.go": "a\n", "go.sum": "example.com/m v0.9.0 h1:x=\n" + sums},
			map[string]string{"go.sum": forgetest.Gone, "x.go": "example.com/m v0.9.0 h1:x=\n" + sums}, sentinel.Approved,
		},
		"long lines among others": {
			map[string]string{"m": "m\n"}, map[string]string{"a.go": "a\n", "min.js": long},
			map[string]string{"min.js": long + numbered("short", 900)}, sentinel.Comment,
		},
	} {
		t.Run(promise, func(t *testing.T) {
			s := newStory(t, forgetest.Options{Base: tt.base, Head: tt.first})
			if r := s.mustRun(); r.Own != tt.own || s.shown("EVIL", 0) {
				t.Fatalf("own %s, shown %t: the case isn't what it says", r.Own, s.shown("EVIL", 0))
			}
			s.answer = honest
			s.forge.Push("author", tt.second)
			if r := s.mustRun(); r.Own == sentinel.Approved || !s.shown("EVIL", 0) {
				t.Errorf("own %s, shown %t", r.Own, s.shown("EVIL", 0))
			}
		})
	}
}

// Where what changed can't be shown by itself, all is looked at again.
func TestNothingToShowIsTheWholeDiff(t *testing.T) {
	s := newStory(t, forgetest.Options{Head: map[string]string{"a.go": numbered("of a", 3)}})
	s.mustRun()
	s.forge.Push("author", map[string]string{"lib": forgetest.Submodule(strings.Repeat("1", 40))})
	if s.mustRun(); !s.shown("of a, line 2", 1) {
		t.Error("only the submodule is shown")
	}
}

// A fork's head that the repository hasn't got yet is waited for, also where the server
// doesn't say what its diff is of.
func TestAForksHeadIsWaitedFor(t *testing.T) {
	s := newStory(t, forgetest.Options{Dialect: forgetest.Forgejo17, Fork: true})
	s.wrap = func(f reviewer.Forge) reviewer.Forge {
		return lying{Forge: f, headRef: func(context.Context) (string, error) { return "", reviewer.ErrUnsupported }}
	}
	head := s.forge.BeginPush("author", map[string]string{"b.go": "package app\n"})
	pauses := 0
	s.slept = func(f *forgetest.Forge, _ time.Duration) {
		if pauses++; pauses == 2 {
			f.EndPush()
		}
	}
	if r := s.mustRun(); r.Head != head || r.Own != sentinel.Approved || pauses != 2 {
		t.Errorf("own %s at %s after %d pauses, want %s after 2", r.Own, r.Head, pauses, head)
	}
}
