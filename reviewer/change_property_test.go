package reviewer_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"review-bot/reviewer"
	"review-bot/reviewer/change"
	"review-bot/reviewer/diff"
	"review-bot/reviewer/forgetest"
	"review-bot/sentinel"
)

// seedEnv repeats a random test that printed its seed.
const seedEnv = "REVIEW_BOT_SEED"

// seedOf is the seed of a random test.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv(seedEnv)
	if text == "" {
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// Whatever a pull request changes, however it is written and whenever the server gives its
// diff: each added or changed line is in a prompt, or its file is named as unread and the
// role hasn't approved. What changed without a line is named to the model, or as unread.
func TestNothingUnreadIsApproved(t *testing.T) {
	seed := seedOf(t)
	seen := map[string]int{}
	const histories = 150
	for i := range uint64(histories) {
		h := &changer{T: t, r: rand.New(rand.NewPCG(seed, i)), seen: seen, passed: map[string]string{}}
		h.play()
		if t.Failed() {
			t.Fatalf("%s=%d, history %d:\n%s", seedEnv, seed, i, strings.Join(h.told, "\n"))
		}
	}
	t.Logf("%s=%d: %d histories, %v", seedEnv, seed, histories, seen)
	for _, what := range []string{"approved", "comment", "unread", "failed", "late", "stale", "second push approved", "renamed", "mode", "misnamed",
		"new module", "digest gone"} {
		if seen[what] == 0 {
			t.Errorf("%s=%d: nothing was ever %s", seedEnv, seed, what)
		}
	}
}

// changer makes random histories of a pull request.
type changer struct {
	*testing.T
	r      *rand.Rand
	seen   map[string]int
	passed map[string]string // contents that were left out and named, by path
	told   []string
	lines  int
	s      *story
	diffs  [][]byte // that the server gave for earlier heads
	judged []string
}

func (h *changer) tell(format string, args ...any) {
	h.told = append(h.told, fmt.Sprintf(format, args...))
}

func (h *changer) chance(of int) bool { return h.r.IntN(of) == 0 }

func pick[T any](h *changer, of ...T) T { return of[h.r.IntN(len(of))] }

func (h *changer) play() {
	base := map[string]string{".gitattributes": "left/** linguist-generated\n*.dat -diff\n", "go.mod": "module m\n"}
	for range 1 + h.r.IntN(6) {
		name := h.name()
		base[name] = h.text(name)
	}
	if h.chance(3) {
		base["go.sum"] = h.text("go.sum")
	}
	head := h.edits(base, 1+h.r.IntN(8))
	if sums := base["go.sum"]; strings.HasPrefix(sums, "serial") && head["go.sum"] == "" {
		lines := slices.DeleteFunc(strings.SplitAfter(sums, "\n"), func(string) bool { return h.chance(2) })
		if head["go.sum"] = strings.Join(lines, ""); head["go.sum"] == sums {
			delete(head, "go.sum")
		}
	}
	h.tell("base %q\nhead %q", base, head)
	h.s = newStory(h.T, forgetest.Options{Dialect: pick(h, forgetest.Dialects()...), Base: base, Head: head})
	if len(head) == 0 {
		return
	}
	h.s.wrap = h.between
	judged := h.run("")
	for range h.r.IntN(3) {
		before := h.s.pull().Head
		push := h.edits(h.files(before), 1+h.r.IntN(3))
		h.tell("push %q", push)
		data, err := h.s.shared.As("bot").Diff(h.Context())
		if err != nil {
			h.Fatal(err)
		}
		h.diffs = append(h.diffs, data)
		if h.chance(8) {
			h.s.forge.PushBase(map[string]string{"news.txt": h.text("news.txt")})
			h.s.forge.MergeBase("author")
		}
		h.s.forge.BeginPush("author", push)
		if h.chance(2) {
			h.s.forge.EndPush()
		} else {
			h.seen["late"]++
			done := h.r.IntN(4)
			h.s.slept = func(f *forgetest.Forge, _ time.Duration) {
				switch done--; done {
				case 1:
					f.MoveRef()
				case 0:
					f.EndPush()
				}
			}
		}
		judged = h.run(judged)
		h.s.forge.EndPush()
	}
}

// between gives another head's diff now and then, for a while or for good.
func (h *changer) between(f reviewer.Forge) reviewer.Forge {
	if len(h.diffs) == 0 || !h.chance(3) {
		return f
	}
	h.seen["stale"]++
	old, times := pick(h, h.diffs...), h.r.IntN(15)
	return lying{Forge: f, diff: func(ctx context.Context) ([]byte, error) {
		if times--; times >= 0 {
			return old, nil
		}
		return f.Diff(ctx)
	}}
}

func (h *changer) files(commit string) (files map[string]string) {
	h.s.shared.Do(func(f *forgetest.Forge) { files = f.Files(commit) })
	return files
}

// run runs the role, and holds what it says against what the commits hold. judged is the
// head that it judged before, "" for none.
func (h *changer) run(judged string) string {
	asked := len(h.s.asked)
	res, err := h.s.run()
	if err != nil {
		h.seen["failed"]++
		h.tell("failed: %v", err)
		h.approvedOnly()
		return judged
	}
	h.seen[string(res.Own)]++
	h.tell("%s at %.7s, not reviewed %+v", res.Own, res.Head, res.NotReviewed)
	if res.Own == sentinel.Approved && judged != "" && judged != res.Head {
		h.seen["second push approved"]++
	}
	p := h.s.pull()
	if res.Head != p.Head {
		h.Errorf("it judged %s, the head is %s", res.Head, p.Head)
	}
	base := h.files(p.MergeBase)
	h.check(res, base, base, h.files(p.Head), 0)
	if judged != "" {
		after := h.files(p.Head)
		// The base's news aren't the author's, and what was taken back isn't in the whole diff.
		maps.DeleteFunc(after, func(path, text string) bool { return base[path] == text })
		h.check(res, base, h.files(judged), after, asked)
	}
	h.judged = append(h.judged, res.Head)
	h.approvedOnly()
	return res.Head
}

// approvedOnly fails if another commit than those that were judged is approved.
func (h *changer) approvedOnly() {
	for _, commit := range h.s.approvedAt() {
		if !slices.Contains(h.judged, commit) {
			h.Errorf("%s is approved", commit)
		}
	}
}

// check holds the lines of one commit that another hasn't, and what else differs, against
// what the model was shown from its n-th request on.
func (h *changer) check(res reviewer.Result, base, before, after map[string]string, n int) {
	unread, leftOut := map[string]bool{}, map[string]bool{}
	for _, f := range res.NotReviewed {
		unread[f.Path], leftOut[f.Path] = !f.LeftOut, f.LeftOut
	}
	had := map[string]bool{}
	for _, texts := range []map[string]string{base, before} {
		for _, text := range texts {
			for _, line := range read(text) {
				had[line] = true
			}
		}
	}
	for path, text := range after {
		if was, ok := before[path]; ok && was == text {
			continue
		}
		if sameForm(before, path, text) {
			continue // the trees can't tell it from what was there, and a stale diff doesn't say it
		}
		name := diff.ShowName(path)
		named := unread[path] || unread[change.Form(path)]
		if named {
			h.seen["unread"]++
			if res.Own == sentinel.Approved {
				h.Errorf("approved with %q unread", path)
			}
			continue
		}
		if path == "go.sum" {
			h.checkSums(base[path], text)
		}
		if leftOut[path] {
			if !strings.HasPrefix(path, "left/") && path != "go.sum" {
				h.Errorf("%q is left out", path)
			}
			h.passed[path] = text
			continue
		}
		if passed, ok := h.passed[path]; ok && passed == text {
			continue // it was named as left out in an earlier round, and is as it was then
		}
		if !h.s.shown("file: "+name+"\n", n) {
			h.Errorf("%q isn't named to the model from request %d on, own %s", path, n, res.Own)
		}
		for _, line := range read(text) {
			// Of a lock file not all lines are shown, see checkSums.
			if !had[line] && path != "go.sum" && !h.s.shown(line, 0) {
				h.Errorf("the model wasn't shown %q of %q, own %s", line, path, res.Own)
			}
		}
	}
}

// sameForm reports whether some file had the content under a name that a tree's JSON gives in
// the same form.
func sameForm(before map[string]string, path, text string) bool {
	form := change.Form(path)
	if change.Exact(form) {
		return false
	}
	for was, content := range before {
		if change.Form(was) == form && content == text {
			return true
		}
	}
	return false
}

// checkSums holds what is shown of go.sum, if it is a lock file, against the base branch's: the lines of new modules,
// and those that are gone though another line of their module is left. Its other lines aren't: updates, and what
// has no form that go.sum has.
func (h *changer) checkSums(before, after string) {
	module := func(line string) string { return strings.Fields(line)[0] }
	kind := func(line string) string { return module(line) + fmt.Sprint(strings.Contains(line, "/go.mod ")) }
	was, is := map[string]bool{}, map[string]bool{}
	whole := true
	for _, line := range read(before) {
		was[module(line)] = true
	}
	for _, line := range read(after) {
		is[module(line)], is[kind(line)] = true, true
		whole = whole && h.s.shown(line, 0)
		if !strings.HasPrefix(line, "serial ") && !was[module(line)] {
			h.seen["new module"]++
			if !h.s.shown(line, 0) {
				h.Errorf("the model wasn't shown the new module of %q", line)
			}
		}
	}
	for _, line := range read(before) {
		if !strings.HasPrefix(line, "serial ") && is[module(line)] && !is[kind(line)] {
			h.seen["digest gone"]++
			if !h.s.shown(line, 0) && !whole {
				h.Errorf("the model wasn't shown that %q is gone", line)
			}
		}
	}
}

// read are the lines of a text that have a serial number.
func read(text string) []string {
	_, content := forgetest.Plain(text)
	if strings.HasPrefix(content, "\xff\xfe") {
		var units []uint16
		for i := 2; i+1 < len(content); i += 2 {
			units = append(units, uint16(content[i])|uint16(content[i+1])<<8)
		}
		content = string(utf16.Decode(units))
	}
	var lines []string
	for line := range strings.FieldsFuncSeq(content, func(r rune) bool {
		return r == '\n' || r == '\r' || r == '\x00' ||
			r == '\ufffd'
	}) {
		if strings.HasPrefix(line, "serial") {
			lines = append(lines, line)
		}
	}
	return lines
}

// edits change some files of a commit.
func (h *changer) edits(files map[string]string, n int) map[string]string {
	edits := map[string]string{}
	names := slices.Sorted(maps.Keys(files))
	for range n {
		name := h.name()
		if len(names) > 0 && h.chance(2) {
			name = pick(h, names...)
		}
		if name == ".gitattributes" || name == "go.mod" || edits[name] != "" {
			continue
		}
		text, had := files[name]
		mode, content := forgetest.Plain(text)
		switch what := h.r.IntN(10); {
		case !had || what < 3:
			edits[name] = h.text(name)
		case what == 3:
			edits[name] = forgetest.Gone
		case what == 4 && content != "":
			to := h.name()
			if _, taken := files[to]; taken || edits[to] != "" {
				continue
			}
			h.seen["renamed"]++
			edits[name], edits[to] = forgetest.Gone, text
		case what == 5 && mode != diff.ModeSubmodule:
			h.seen["mode"]++
			edits[name] = forgetest.Executable(content)
		case what == 6 && mode != diff.ModeSubmodule && !strings.Contains(content, "\x00"):
			edits[name] = forgetest.Link(content)
		case what == 7:
			edits[name] = forgetest.Submodule(fmt.Sprintf("%040x", h.r.Uint64()))
		default:
			if mode != 0o100644 || strings.HasPrefix(content, "\xff\xfe") {
				continue
			}
			if lines := strings.SplitAfter(content, "\n"); name == "go.sum" && h.chance(2) {
				at := h.r.IntN(len(lines))
				edits[name] = strings.Join(slices.Delete(lines, at, at+1), "")
				continue
			}
			edits[name] = content + h.line(name) + "\n"
		}
	}
	maps.DeleteFunc(edits, func(name, text string) bool {
		return files[name] == text || text == forgetest.Gone && files[name] == ""
	})
	return edits
}

func (h *changer) name() string {
	name := pick(h, "a.go", "b.go", "dir/c.go", "dir/sub/d.txt", "ü.go", "a b.txt",
		"ghp_"+strings.Repeat("x1Y2", 9)+".go", "qu\"o\\te.go", "ta\tb.md",
		"left/gen.go", "vendor/v.go", "x_generated.js", "gradlew", "pic.png", "go.sum", "go.sum", "\xff.go", "\xfe.go", "dir/\xc3/e.go",
		"-----BEGIN PRIVATE KEY-----")
	if !utf8.ValidString(name) {
		h.seen["misnamed"]++
	}
	return name
}

// line is one that nothing else has.
func (h *changer) line(name string) string {
	h.lines++
	if name == "go.sum" && !h.chance(10) {
		digest := strings.Repeat(fmt.Sprintf("%08x", h.r.Uint32()), 5) + "aQ3"
		return fmt.Sprintf("serial%d.example/m v1.%d.0%s h1:%s=", h.r.IntN(4), h.lines, pick(h, "", "/go.mod"), digest)
	}
	return fmt.Sprintf("serial %d of %d", h.lines, h.r.Uint64())
}

func (h *changer) text(name string) string {
	var lines []string
	for range pick(h, 0, 1, 1, 3, 30, 300) {
		lines = append(lines, h.line(name))
	}
	text := strings.Join(lines, pick(h, "\n", "\n", "\r\n"))
	switch h.r.IntN(14) {
	case 0:
		b := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(text)) {
			b = append(b, byte(u), byte(u>>8))
		}
		return string(b)
	case 1:
		return text + "\n\xe4\xf6\xfc\n" // Latin-1
	case 2:
		return text + "\n\x00\n"
	case 3:
		return strings.Repeat("\x00\x01\x02\xff", 20) + text
	case 4:
		return "-----BEGIN RSA PRIVATE KEY-----\n" + text + "\n-----END RSA PRIVATE KEY-----\n"
	case 5:
		return "// Code generated by x. DO NOT EDIT.\n" + text
	case 6:
		return text // no newline
	default:
		return text + "\n"
	}
}
