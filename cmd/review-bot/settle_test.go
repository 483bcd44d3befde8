package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"review-bot/reviewer"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/thread"
	"review-bot/sentinel"
)

// settlement is a stage with conversations that are to be settled.
type settlement struct {
	*talks
	ids []thread.ID
	fix string // a commit of the head
	dir string
}

// checked is a configuration that names the checks that count.
const checked = "settle:\n  required_checks: [ci*]\n"

// newSettlement makes conversations on lines 1 to n of a file; a later push
// changes line 1.
func newSettlement(t *testing.T, n int) *settlement {
	t.Helper()
	lines := sourceLines("a", 40)
	s := &settlement{talks: newTalks(t, map[string]string{"README.md": "x\n", ".review-bot.yaml": checked}, map[string]string{"a.go": fileOf(lines)}, "alice"), dir: t.TempDir()}
	var places []giteatest.CommentInput
	for i := range n {
		places = append(places, giteatest.CommentInput{Path: "a.go", NewPosition: int64(i + 1), Body: fmt.Sprintf("point %d", i+1)})
	}
	s.ids = s.review(t, "alice", places...)
	lines[0] = "fixed"
	s.fix = s.push(t, giteatest.Files(map[string]string{"a.go": fileOf(lines)}))
	return s
}

// item says that a conversation was fixed, with all that a resolution needs.
func (s *settlement) item(i int) thread.Item {
	return thread.Item{
		ThreadID: s.ids[i], Classification: thread.Valid, Verification: []string{"a test of it"}, ChecksRun: []string{"go test ./..."}, ResolveRequested: true,
		FixSummary: fmt.Sprintf("Point %d is seen to, says PHRASE.", i+1), CommitSHA: s.fix[:10],
	}
}

func (s *settlement) status(t *testing.T, context, state string) {
	t.Helper()
	s.srv.Call(t, s.owner.Token, http.MethodPost, s.api("/statuses/%s", s.pull.State(t).Head.SHA), map[string]any{"context": context, "state": state}, nil)
}

func (s *settlement) api(format string, args ...any) string {
	return "/repos/" + s.repo.FullName() + fmt.Sprintf(format, args...)
}

// payload writes items to a file, and returns the flags that have it settled.
func (s *settlement) payload(t *testing.T, items ...thread.Item) []string {
	t.Helper()
	path := filepath.Join(s.dir, "payload.json")
	writeJSON(t, path, thread.Settlement{Items: items})
	return []string{"settle", "--json", "--detached", "--payload", path}
}

// settled runs the program and wants the exit status.
func (j job) settled(t *testing.T, status int, args ...string) (reviewer.SettleResult, ended) {
	t.Helper()
	e := j.run(t, args...)
	if e.status != status {
		t.Fatalf("%q: exit status %d\n%s%s", args, e.status, e.stdout, e.stderr)
	}
	var r reviewer.SettleResult
	if err := json.Unmarshal([]byte(e.stdout), &r); err != nil {
		t.Fatalf("%q: not one JSON object: %v\n%s", args, err, e.stdout)
	}
	return r, e
}

// outcomes are what came of the items: the reply, then the resolution.
func outcomes(r reviewer.SettleResult) []string {
	var list []string
	for _, i := range r.Items {
		list = append(list, strings.TrimSuffix(fmt.Sprintf("%s %s", i.Reply.Status, i.Reply.Reason), " ")+" / "+strings.TrimSuffix(fmt.Sprintf("%s %s", i.Resolve.Status, i.Resolve.Reason), " "))
	}
	return list
}

func wantOutcomes(t *testing.T, r reviewer.SettleResult, want ...string) {
	t.Helper()
	if diff := gocmp.Diff(want, outcomes(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// talk is a conversation as it stands: its comments' texts, and who resolved it.
func (s *settlement) talk(t *testing.T, i int) (texts []string, resolver string) {
	t.Helper()
	comments := s.pull.Comments(t, s.ids[i].Review)
	slices.SortFunc(comments, func(a, b giteatest.Comment) int { return int(a.ID - b.ID) })
	for _, c := range comments {
		if c.Position != int64(i+1) {
			continue
		}
		if c.ID == s.ids[i].Root && c.Resolver != nil {
			resolver = c.Resolver.Login
		}
		texts = append(texts, c.Body)
	}
	return texts, resolver
}

// watched is a proxy whose requests are looked at bit by bit.
type watched struct {
	*giteatest.Proxy

	seen int
}

// through is the program behind a proxy.
func (s *settlement) through(t *testing.T, hook giteatest.Hook) (job, *watched) {
	t.Helper()
	proxy := s.srv.NewProxy(t)
	t.Cleanup(func() { proxy.Close() })
	proxy.SetHook(hook)
	return s.as(s.author).with("GITHUB_SERVER_URL", proxy.URL), &watched{Proxy: proxy}
}

// wrote lists the requests since the last look that change something.
func (w *watched) wrote() []string {
	var list []string
	all := w.Requests()
	for _, r := range all[w.seen:] {
		if r.Method != http.MethodGet {
			list = append(list, r.Method+" "+r.Path[strings.LastIndex(r.Path, "/")+1:])
		}
	}
	w.seen = len(all)
	return list
}

// On a real Gitea 1.26: replies are reported as what the server can't, and nothing is
// resolved without one; as comments of the pull request they do.
func TestSettle(t *testing.T) {
	t.Parallel()
	s := newSettlement(t, 7)
	s.pull.Resolve(t, s.author, s.ids[5].Root)
	items := []thread.Item{s.item(0), s.item(1), s.item(2), s.item(3), s.item(4), s.item(5), s.item(6)}
	items[0].Classification = thread.Stale
	items[1].CommitSHA = "" // valid, and no commit
	items[2].Classification = thread.NeedsHuman
	items[3].Classification, items[3].ReplyBody = thread.Invalid, "It is meant to be so."
	items[6].CommitSHA = strings.Repeat("12", 20)
	args := s.payload(t, items...)
	j, proxy := s.through(t, nil)

	// Checks that aren't all successful block resolutions, and none do, too.
	for _, state := range []string{"", "pending", "failure", "skipped", "error", "warning"} {
		reason := map[string]string{"": "checks_missing", "pending": "checks_pending", "skipped": "checks_skipped"}[state]
		if reason == "" {
			reason = "checks_failing"
		}
		if state != "" {
			s.status(t, "ci/build", "success")
			s.status(t, "ci/test", state)
		}
		r, _ := j.settled(t, 0, append(args, "--apply")...)
		wantOutcomes(t, r, "unsupported reply_unsupported / blocked "+reason, "unsupported reply_unsupported / blocked no_commit", "none needs_human / none needs_human",
			"unsupported reply_unsupported / blocked invalid_not_allowed", "unsupported reply_unsupported / blocked "+reason, "already already_resolved / already already_resolved",
			"blocked commit_not_in_head / blocked commit_not_in_head")
		if state == "" && !slices.Equal(r.NotPassed, []string{"ci* (missing)"}) || state != "" && (len(r.NotPassed) != 1 || r.NotPassed[0] != "ci/test ("+state+")") {
			t.Errorf("%q didn't pass", r.NotPassed)
		}
		if w := proxy.wrote(); w != nil {
			t.Errorf("it writes %q", w)
		}
	}

	// A preview writes nothing, whatever else is said, and shows what would be done.
	s.status(t, "ci/test", "success")
	for _, flags := range [][]string{{}, {"--dry-run"}, {"--apply", "--dry-run"}, {"--apply-replies", "--apply-resolutions", "--dry-run"}} {
		r, _ := j.settled(t, 0, append(args, flags...)...)
		wantOutcomes(t, r, "unsupported reply_unsupported / unsupported no_claim", "unsupported reply_unsupported / blocked no_commit", "none needs_human / none needs_human",
			"unsupported reply_unsupported / blocked invalid_not_allowed", "unsupported reply_unsupported / unsupported no_claim", "already already_resolved / already already_resolved",
			"blocked commit_not_in_head / blocked commit_not_in_head")
		if w := proxy.wrote(); w != nil {
			t.Errorf("%q writes %q", flags, w)
		}
	}
	e := j.run(t, append(slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--json" }), "--reply-as-comment")...)
	for _, want := range []string{": checks passed\n", s.ids[0].String() + "  stale  a.go:1\n    reply    planned: as a comment of the pull request\n    resolve  planned\n    | > ", "nothing was written — give --apply-replies"} {
		if !strings.Contains(e.stdout, want) {
			t.Errorf("%q isn't in\n%s", want, e.stdout)
		}
	}
	proxy.wrote()

	// Replies alone: nothing that this server can do.
	r, _ := j.settled(t, 0, append(args, "--apply-replies")...)
	if w := proxy.wrote(); w != nil || r.Items[0].Resolve.Status != thread.Unsupported {
		t.Errorf("it writes %q: %+v", w, outcomes(r))
	}

	// Nor is anything resolved of which nobody would know by whom and why.
	args = append(args, "--apply", "--allow-invalid-resolution")
	r, _ = j.settled(t, 0, args...)
	wantOutcomes(t, r, "unsupported reply_unsupported / unsupported no_claim", "unsupported reply_unsupported / blocked no_commit", "none needs_human / none needs_human",
		"unsupported reply_unsupported / unsupported no_claim", "unsupported reply_unsupported / unsupported no_claim", "already already_resolved / already already_resolved",
		"blocked commit_not_in_head / blocked commit_not_in_head")
	if w := proxy.wrote(); w != nil {
		t.Errorf("it writes %q", w)
	}
	args = append(args, "--reply-as-comment")
	r, _ = j.settled(t, 0, args...)
	wantOutcomes(t, r, "done as_comment / done", "done as_comment / blocked no_commit", "none needs_human / none needs_human",
		"done as_comment / done", "done as_comment / done", "already already_resolved / already already_resolved",
		"blocked commit_not_in_head / blocked commit_not_in_head")
	w := slices.DeleteFunc(proxy.wrote(), func(w string) bool { return strings.HasPrefix(w, "PATCH ") }) // notes that it is closed
	if want := []string{"POST comments", "POST resolve", "POST comments", "POST comments", "POST resolve", "POST comments", "POST resolve"}; !slices.Equal(w, want) {
		t.Errorf("it writes %q", w)
	}
	for i, want := range []string{s.author.Name, "", "", s.author.Name, s.author.Name, s.author.Name, ""} {
		if texts, resolver := s.talk(t, i); resolver != want || len(texts) != 1 {
			t.Errorf("conversation %d is resolved by %q, and says %q", i, resolver, texts)
		}
	}

	// Once more: there is nothing to do.
	r, _ = j.settled(t, 0, args...)
	if w := proxy.wrote(); w != nil || r.Items[0].Resolve != (thread.Step{Status: thread.Already, Reason: thread.AlreadyResolved}) {
		t.Errorf("it writes %q: %q", w, outcomes(r))
	}

	// A branch that is named like the head can't lend it its checks.
	other := s.repo.Commit(t, "other", "main", nil, "other")
	s.srv.Call(t, s.owner.Token, http.MethodPost, s.api("/statuses/%s", other), map[string]any{"context": "ci", "state": "success"}, nil)
	s.repo.Push(t, other, s.pull.State(t).Head.SHA, false)
	r, _ = j.settled(t, 0, append(s.payload(t, s.item(1)), "--apply")...)
	wantOutcomes(t, r, "unsupported reply_unsupported / blocked checks_unreadable")
}

// A server that can reply, in its two ways: told once, told again when something
// new is said, and not before.
func TestSettleReplies(t *testing.T) {
	t.Parallel()
	for _, dialect := range []giteatest.Dialect{giteatest.Replies, giteatest.Attaches} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			s := newSettlement(t, 3)
			s.status(t, "ci", "failure")
			j, proxy := s.through(t, s.repo.Replies(t, dialect, s.author))
			items := []thread.Item{s.item(0), s.item(1), s.item(2)}
			items[1].ResolveRequested, items[2].Classification = false, thread.NeedsHuman
			args := append(s.payload(t, items...), "--apply")

			// A failing check holds back the resolution, and not the reply.
			r, _ := j.settled(t, 0, args...)
			wantOutcomes(t, r, "done / blocked checks_failing", "done / none not_requested", "none needs_human / none needs_human")
			if w := proxy.wrote(); len(w) < 2 || strings.Contains(strings.Join(w, " "), "resolve") {
				t.Errorf("it writes %q", w)
			}
			texts, _ := s.talk(t, 0)
			want := fmt.Sprintf("Fixed in %s.\n\nPoint 1 is seen to, says PHRASE.\n\nMade sure by:\n\n- a test of it\n\nChecks run:\n\n- go test ./...\n\n<!-- review-bot-reply:%s covers=%d -->", s.fix[:10], s.ids[0], s.ids[0].Root)
			if len(texts) != 2 || texts[1] != want {
				t.Fatalf("the conversation is %q, want\n%s", texts, want)
			}

			r, _ = j.settled(t, 0, args...)
			wantOutcomes(t, r, "already already_replied / blocked checks_failing", "already already_replied / none not_requested", "none needs_human / none needs_human")
			if w := proxy.wrote(); w != nil {
				t.Errorf("the second run writes %q", w)
			}

			// Something new is said.
			said := s.pull.Reply(t, s.people["alice"], s.ids[1].Root, "I don't think so")
			r, _ = j.settled(t, 0, args...)
			wantOutcomes(t, r, "already already_replied / blocked checks_failing", "done / none not_requested", "none needs_human / none needs_human")
			if texts, _ := s.talk(t, 1); len(texts) != 4 || !strings.HasSuffix(texts[3], fmt.Sprintf("covers=%d -->", said)) {
				t.Errorf("the conversation is %q", texts)
			}
			proxy.wrote()

			// The check passes.
			s.status(t, "ci", "success")
			r, _ = j.settled(t, 0, args...)
			if dialect == giteatest.Attaches {
				wantOutcomes(t, r, "already already_replied / unsupported resolve_unsupported", "already already_replied / none not_requested", "none needs_human / none needs_human")
				if w := proxy.wrote(); w != nil {
					t.Errorf("it writes %q", w)
				}
				return
			}
			wantOutcomes(t, r, "already already_replied / done", "already already_replied / none not_requested", "none needs_human / none needs_human")
			if w := proxy.wrote(); len(w) != 2 || w[0] != "POST resolve" || !strings.HasPrefix(w[1], "PATCH ") {
				t.Errorf("it writes %q", w)
			}
			r, _ = j.settled(t, 0, args...)
			wantOutcomes(t, r, "already already_resolved / already already_resolved", "already already_replied / none not_requested", "none needs_human / none needs_human")
			if w := proxy.wrote(); w != nil {
				t.Errorf("the run after it writes %q", w)
			}

			// Somebody reopens it: that is answered, and in the same words it isn't closed over it.
			s.pull.Unresolve(t, s.owner, s.ids[0].Root)
			r, _ = j.settled(t, 0, args...)
			wantOutcomes(t, r, "done / blocked disputed", "already already_replied / none not_requested", "none needs_human / none needs_human")
			items[0].ReplyBody = "A second look says the same."
			args = append(s.payload(t, items...), "--apply")
			r, _ = j.settled(t, 0, args...)
			wantOutcomes(t, r, "done / done", "already already_replied / none not_requested", "none needs_human / none needs_human")
			texts, resolver := s.talk(t, 0)
			if len(texts) != 4 || resolver != s.author.Name || !strings.HasSuffix(texts[3], " state=closed -->") {
				t.Errorf("the conversation is %q, resolved by %q", texts, resolver)
			}
			proxy.wrote()
			r, _ = j.settled(t, 0, args...)
			wantOutcomes(t, r, "already already_resolved / already already_resolved", "already already_replied / none not_requested", "none needs_human / none needs_human")
			if w := proxy.wrote(); w != nil {
				t.Errorf("the last run writes %q", w)
			}
		})
	}
}

// Where the server can't reply, a comment under the pull request quotes what it
// answers.
func TestSettleByComments(t *testing.T) {
	t.Parallel()
	s := newSettlement(t, 2)
	s.status(t, "ci", "success")
	j, proxy := s.through(t, nil)
	args := append(s.payload(t, s.item(0), s.item(1)), "--apply", "--reply-as-comment")
	r, _ := j.settled(t, 0, args...)
	wantOutcomes(t, r, "done as_comment / done", "done as_comment / done")
	if w := proxy.wrote(); len(w) != 6 {
		t.Errorf("it writes %q", w)
	}
	var comments []string
	for _, e := range s.pull.Timeline(t) {
		if e.Type == "comment" {
			comments = append(comments, e.Body)
		}
	}
	want := fmt.Sprintf("> %s in `a.go:1` ([there](%s#issuecomment-%d)):\n> point 1\n\nFixed in ", s.people["alice"].Name, s.pull.State(t).HTMLURL, s.ids[0].Root)
	if len(comments) != 2 || !strings.HasPrefix(comments[0], want) {
		t.Errorf("%q, want %q", comments, want)
	}
	shown := slices.DeleteFunc(s.pull.Rendered(t), func(html string) bool { return !strings.Contains(html, "Point 1 is seen to") })
	if len(shown) != 1 || !strings.Contains(shown[0], "<blockquote>") || !strings.Contains(shown[0], "<li>a test of it</li>") || strings.Contains(shown[0], "review-bot-reply") {
		t.Errorf("it is shown as\n%s", shown)
	}
	if r, _ := j.settled(t, 0, args...); proxy.wrote() != nil {
		t.Errorf("the second run writes: %q", outcomes(r))
	}
	// Reopened, and other words: both once more, and only for that one.
	s.pull.Unresolve(t, s.owner, s.ids[0].Root)
	items := []thread.Item{s.item(0), s.item(1)}
	items[0].ReplyBody = "Once more."
	args = append(s.payload(t, items...), "--apply", "--reply-as-comment")
	r, _ = j.settled(t, 0, args...)
	wantOutcomes(t, r, "done as_comment / done", "already already_resolved / already already_resolved")
	if r, _ := j.settled(t, 0, args...); len(proxy.wrote()) != 3 || !slices.Equal(outcomes(r)[1:], []string{"already already_resolved / already already_resolved"}) {
		t.Errorf("%q", outcomes(r))
	}

	// A server that says it can reply and then can't: once is enough all the same.
	s.pull.Unresolve(t, s.owner, s.ids[1].Root)
	s.status(t, "ci", "pending")
	says, proxy := s.through(t, func(r *giteatest.Request) *giteatest.Fault {
		if strings.HasSuffix(r.Path, "/swagger.v1.json") {
			return &giteatest.Fault{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"paths":{"/repos/{owner}/{repo}/pulls/{index}/comments/{id}/replies":{"post":{}},"/repos/{owner}/{repo}/pulls/comments/{id}/resolve":{"post":{}}}}`}
		}
		return nil
	})
	items[1].ReplyBody = "Once more, too."
	args = append(s.payload(t, items[1]), "--apply", "--reply-as-comment")
	r, _ = says.settled(t, 0, args...)
	wantOutcomes(t, r, "done as_comment / blocked checks_pending")
	proxy.wrote()
	r, _ = says.settled(t, 0, args...)
	wantOutcomes(t, r, "already already_replied / blocked checks_pending")
	if w := proxy.wrote(); w != nil {
		t.Errorf("it writes %q", w)
	}
}

// Whatever request fails: what was done is reported, the next run does the rest,
// and nothing twice.
func TestSettleBrokenOff(t *testing.T) {
	t.Parallel()
	type fault struct {
		name   string
		during string // the end of the path of the write that fails, the second of its kind
		fault  func(inner giteatest.Hook, r *giteatest.Request) *giteatest.Fault
		first  []string // outcomes of the run that fails
	}
	// Servers may repeat what they don't take.
	repeating := func(status int) func(giteatest.Hook, *giteatest.Request) *giteatest.Fault {
		return func(_ giteatest.Hook, r *giteatest.Request) *giteatest.Fault {
			text, err := json.Marshal(map[string]string{"message": "not this: " + string(r.Body)})
			if err != nil {
				panic(err)
			}
			return &giteatest.Fault{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: string(text)}
		}
	}
	refused, broken := repeating(http.StatusUnprocessableEntity), repeating(http.StatusInternalServerError)
	lost := func(inner giteatest.Hook, r *giteatest.Request) *giteatest.Fault {
		if f := inner(r); f != nil { // done, and the answer lost
			return &giteatest.Fault{CutBefore: true}
		}
		return &giteatest.Fault{CutAfter: true}
	}
	s := newSettlement(t, 3*5)
	s.status(t, "ci", "success")
	inner := s.repo.Replies(t, giteatest.Replies, s.author)
	for n, f := range []fault{
		{"a reply is refused", "/replies", refused, []string{"done / done", "failed / not_reached", "done / done"}},
		{"a reply's answer is lost", "/replies", lost, []string{"done / done", "unknown / not_reached", "not_reached / not_reached"}},
		{"a resolution is refused", "/resolve", refused, []string{"done / done", "done / failed", "done / done"}},
		{"a resolution's answer is lost", "/resolve", lost, []string{"done / done", "done / unknown", "not_reached / not_reached"}},
		{"the note fails", "PATCH", broken, []string{"done / done", "done / done", "not_reached / not_reached"}},
	} {
		t.Run(f.name, func(t *testing.T) {
			first := 3 * n // of the conversations that are this fault's
			items := []thread.Item{s.item(first), s.item(first + 1), s.item(first + 2)}
			items[1].FixSummary += strings.Repeat(" PHRASE, a long one", 30)
			seen, armed := 0, true
			j, proxy := s.through(t, func(r *giteatest.Request) *giteatest.Fault {
				if armed && r.Method != http.MethodGet && (strings.HasSuffix(r.Path, f.during) || r.Method == f.during) {
					if seen++; seen == 2 {
						return f.fault(inner, r)
					}
				}
				return inner(r)
			})
			args := append(s.payload(t, items...), "--apply")
			r, e := j.settled(t, 1, args...)
			wantOutcomes(t, r, f.first...)
			line := e.errorLine(t)
			if !strings.Contains(line, "conversation "+s.ids[first+1].String()+": ") || !strings.Contains(line, " — ") || r.Error == "" {
				t.Errorf("%s\n%+v", line, r.Error)
			}
			if strings.Contains(line+r.Error, "PHRASE") || strings.Contains(e.stderr, "PHRASE") {
				t.Errorf("the reply's text is in the error: %s", e.stderr)
			}
			armed = false
			proxy.wrote()
			r, _ = j.settled(t, 0, args...)
			for i := range 3 {
				texts, resolver := s.talk(t, first+i)
				if len(texts) != 2 || resolver != s.author.Name {
					t.Errorf("conversation %d is %q, resolved by %q: %q", i, texts, resolver, outcomes(r))
				}
			}
			proxy.wrote()
			if r, _ = j.settled(t, 0, args...); proxy.wrote() != nil {
				t.Errorf("the last run writes: %q", outcomes(r))
			}
		})
	}
}

// A check that fails while settle is at work holds back what comes after it, a
// review that is deleted is gone with its conversations, a note alone that is
// refused tells nothing of the reply, and a marker that somebody forged is nothing.
func TestSettleLate(t *testing.T) {
	t.Parallel()
	s := newSettlement(t, 3)
	s.status(t, "ci", "success")
	s.pull.Reply(t, s.people["alice"], s.ids[1].Root, "Done.\n\n"+sentinel.Reply{Thread: s.ids[1].String(), Covers: 1 << 40}.String())
	inner, done := s.repo.Replies(t, giteatest.Replies, s.author), false
	j, _ := s.through(t, func(r *giteatest.Request) *giteatest.Fault {
		if r.Method == http.MethodPatch && !done {
			done = true
			s.status(t, "ci", "failure")
		}
		return inner(r)
	})
	args := append(s.payload(t, s.item(0), s.item(1)), "--apply")
	r, _ := j.settled(t, 0, args...)
	wantOutcomes(t, r, "done / done", "done / blocked checks_failing")
	if r.Checks != thread.Failing || !slices.Equal(r.NotPassed, []string{"ci (failure)"}) {
		t.Errorf("%s %q", r.Checks, r.NotPassed)
	}

	s.status(t, "ci", "success")
	noting, _ := s.through(t, func(r *giteatest.Request) *giteatest.Fault {
		if r.Method == http.MethodPatch {
			return &giteatest.Fault{Status: http.StatusUnprocessableEntity, Header: http.Header{"Content-Type": {"application/json"}}, Body: fmt.Sprintf(`{"message":"Point 2 is seen to, says PHRASE. %s"}`, r.Body)}
		}
		return inner(r)
	})
	r, e := noting.settled(t, 1, args...)
	wantOutcomes(t, r, "already already_resolved / already already_resolved", "already already_replied / done")
	if line := e.errorLine(t); strings.Contains(e.stderr+r.Error, "PHRASE") || !strings.Contains(line, "the server didn't take it (422)") {
		t.Errorf("%s", e.stderr)
	}

	other := s.review(t, "owner", giteatest.CommentInput{Path: "a.go", NewPosition: 30})[0]
	done = false
	deleting, _ := s.through(t, func(r *giteatest.Request) *giteatest.Fault {
		if r.Method == http.MethodPatch && !done {
			done = true
			s.srv.Call(t, s.owner.Token, "DELETE", s.api("/pulls/%d/reviews/%d", s.pull.Index, other.Review), nil, nil)
		}
		return inner(r)
	})
	gone := s.item(0)
	gone.ThreadID = other
	r, _ = deleting.settled(t, 1, append(s.payload(t, s.item(2), gone), "--apply")...)
	wantOutcomes(t, r, "done / done", "blocked gone / blocked gone")
}

// What changes between reading and writing stops the writing.
func TestSettleMeanwhile(t *testing.T) {
	t.Parallel()
	s := newSettlement(t, 2*5)
	s.status(t, "ci", "success")
	inner := s.repo.Replies(t, giteatest.Replies, s.author)
	for n, tt := range []struct {
		name   string
		change func(t *testing.T, root int64)
		want   string
	}{
		{"somebody replies", func(t *testing.T, root int64) { s.pull.Reply(t, s.owner, root, "wait") }, "blocked conversation_changed / blocked conversation_changed"},
		{"somebody resolves", func(t *testing.T, root int64) { s.pull.Resolve(t, s.owner, root) }, "blocked conversation_changed / blocked conversation_changed"},
		{"the comment is deleted", func(t *testing.T, root int64) {
			s.srv.Call(t, s.owner.Token, "DELETE", s.api("/issues/comments/%d", root), nil, nil)
		}, "blocked gone / blocked gone"},
		{"the comment is edited", func(t *testing.T, root int64) {
			s.srv.Call(t, s.people["alice"].Token, http.MethodPatch, s.api("/issues/comments/%d", root), map[string]any{"body": "something else"}, nil)
		}, "blocked conversation_changed / blocked conversation_changed"},
		{"the head moves", func(t *testing.T, _ int64) { s.push(t, giteatest.Files(map[string]string{"b.go": "x\n"})) }, "blocked head_moved / blocked head_moved"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			done := false
			j, _ := s.through(t, func(r *giteatest.Request) *giteatest.Fault {
				if r.Method == http.MethodPatch && !done { // the first item is settled
					done = true
					tt.change(t, s.ids[2*n+1].Root)
				}
				return inner(r)
			})
			r, e := j.settled(t, 1, append(s.payload(t, s.item(2*n), s.item(2*n+1)), "--apply")...)
			wantOutcomes(t, r, "done / done", tt.want)
			if line := e.errorLine(t); !strings.Contains(line, "settling "+s.ids[2*n+1].String()+": the conversation or the head changed meanwhile — look at it anew") {
				t.Error(line)
			}
		})
	}
}

// The configuration of the base branch turns on what flags don't.
func TestSettleConfiguration(t *testing.T) {
	t.Parallel()
	s := newSettlement(t, 2)
	s.status(t, "ci", "success")
	s.repo.Commit(t, "main", "main", giteatest.Files(map[string]string{
		".review-bot.yaml": checked + "  apply_resolutions: true\n  reply_as_comment: true\n  auto_resolve: [already_fixed]\n  reply_template: docs/reply.tmpl\n",
		"docs/reply.tmpl":  "**{{.Classification}}** {{.FixSummary}}\n",
	}), "configuration")
	// The pull request's own file doesn't count.
	s.pull.Unmergeable = true
	s.push(t, giteatest.Files(map[string]string{".review-bot.yaml": "settle:\n  apply_replies: true\n  auto_resolve: [stale]\n"}))
	s.status(t, "ci", "success")
	items := []thread.Item{s.item(0), s.item(1)}
	items[0].Classification, items[1].Classification = thread.Stale, thread.AlreadyFixed
	args := s.payload(t, items...)
	j := s.as(s.author)
	r, _ := j.settled(t, 0, append(args, "--dry-run")...)
	wantOutcomes(t, r, "planned as_comment / blocked not_configured", "planned as_comment / planned")
	if !strings.Contains(r.Items[1].Reply.Text, "\n\n**already_fixed** Point 2 is seen to") {
		t.Errorf("%s", r.Items[1].Reply.Text)
	}
	r, _ = j.settled(t, 0, args...)
	wantOutcomes(t, r, "planned as_comment / blocked not_configured", "planned as_comment / blocked no_claim")
	r, _ = j.settled(t, 0, append(args, "--apply-replies")...)
	wantOutcomes(t, r, "done as_comment / blocked not_configured", "done as_comment / done")
	r, _ = j.settled(t, 0, append(args, "--auto-resolve", "stale")...)
	wantOutcomes(t, r, "already already_replied / done", "already already_resolved / already already_resolved")
}

// A payload that doesn't fit is refused before anything is done. Whether a stranger
// may resolve isn't known without trying, and neither is what a server can that
// hides it.
func TestSettleRejects(t *testing.T) {
	t.Parallel()
	s := newSettlement(t, 2)
	j := s.as(s.author)
	path := filepath.Join(s.dir, "payload.json")
	triage := filepath.Join(s.dir, "triage.json")
	l := j.list(t, 0, "--include-outdated")
	if len(l.Threads) != 2 {
		t.Fatalf("%+v", l)
	}
	writeJSON(t, triage, triageOf(l, thread.NeedsHuman))
	unknown := s.item(0)
	unknown.ThreadID.Root += 1_000_000
	decided := s.item(0)
	decided.HumanDecision = "We fix it."
	for name, tt := range map[string]struct {
		payload any
		flags   []string
		status  int
		want    string
	}{
		"no payload":            {nil, []string{"--detached"}, 2, "no payload is given — give --payload FILE"},
		"neither":               {thread.Settlement{Items: []thread.Item{s.item(0)}}, []string{"--payload", path}, 2, "give --triage FILE, or --detached"},
		"both":                  {thread.Settlement{Items: []thread.Item{s.item(0)}}, []string{"--payload", path, "--detached", "--triage", triage}, 2, "exclude each other"},
		"no such file":          {nil, []string{"--payload", path + "x", "--detached"}, 2, "--payload: open "},
		"another pull request":  {thread.Settlement{PR: 77, Items: []thread.Item{s.item(0)}}, []string{"--payload", path, "--detached"}, 2, "$.pr: is 77, and the pull request is"},
		"no such conversation":  {thread.Settlement{Items: []thread.Item{s.item(1), unknown}}, []string{"--payload", path, "--detached"}, 2, "$.items[1].thread_id: "},
		"twice":                 {thread.Settlement{Items: []thread.Item{s.item(1), s.item(1)}}, []string{"--payload", path, "--detached"}, 2, "stands in $.items[0] already"},
		"a wrong form":          {map[string]any{"items": []any{map[string]any{"thread_id": "7"}}}, []string{"--payload", path, "--detached"}, 2, "problems, first $.items[0]."},
		"other than the triage": {thread.Settlement{Items: []thread.Item{s.item(0)}}, []string{"--payload", path, "--triage", triage}, 2, "$.items[0].classification: is valid, and the triage says needs_human"},
		"decided by a person":   {thread.Settlement{Items: []thread.Item{decided}}, []string{"--payload", path, "--triage", triage}, 0, ""},
		"a wrong triage":        {thread.Settlement{Items: []thread.Item{s.item(0)}}, []string{"--payload", path, "--triage", path}, 2, "payload.json: "},
		"a wrong class":         {thread.Settlement{Items: []thread.Item{s.item(0)}}, []string{"--payload", path, "--detached", "--auto-resolve", "valid"}, 2, `--auto-resolve: "valid" is not one of stale, already_fixed (or none alone)`},
		"a wrong template":      {thread.Settlement{Items: []thread.Item{s.item(0)}}, []string{"--payload", path, "--detached", "--reply-template", path}, 2, "nothing fills ${fix_summary}"},
		"no such template":      {thread.Settlement{Items: []thread.Item{s.item(0)}}, []string{"--payload", path, "--detached", "--reply-template", "no.tmpl"}, 2, "has no file no.tmpl"},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: they share a file
			if tt.payload != nil {
				writeJSON(t, path, tt.payload)
			}
			if name == "a wrong template" {
				tt.flags[len(tt.flags)-1] = filepath.Join(s.dir, "template")
				writeJSON(t, tt.flags[len(tt.flags)-1], "${fix_summary}")
			}
			e := j.run(t, append([]string{"settle"}, tt.flags...)...)
			if e.status != tt.status || tt.status != 0 && !strings.Contains(e.errorLine(t), tt.want) {
				t.Errorf("exit status %d\n%s%s", e.status, e.stdout, e.stderr)
			}
			if strings.Contains(e.stderr, "PHRASE") {
				t.Errorf("a text of the payload is in the error: %s", e.stderr)
			}
		})
	}

	s.status(t, "ci", "success")
	_, proxy := s.through(t, nil)
	j = s.as(s.people["alice"]).with("GITHUB_SERVER_URL", proxy.URL)
	if l := j.list(t, 0, "--include-outdated"); l.Threads[0].CanResolve != nil || l.Threads[0].CanReply == nil || *l.Threads[0].CanReply {
		t.Errorf("%+v", l.Threads[0])
	}
	r, e := j.settled(t, 1, append(s.payload(t, s.item(0), s.item(1)), "--apply", "--reply-as-comment")...)
	wantOutcomes(t, r, "done as_comment / failed", "done as_comment / failed")
	if line := e.errorLine(t); !strings.Contains(line, "conversation "+s.ids[0].String()+": ") || !strings.Contains(line, "(and so 1 item more)") {
		t.Error(line)
	}
	// A server that hides what it can do is tried.
	hidden, _ := s.through(t, func(r *giteatest.Request) *giteatest.Fault {
		if strings.HasSuffix(r.Path, "/swagger.v1.json") {
			return &giteatest.Fault{Status: http.StatusNotFound}
		}
		return nil
	})
	r, _ = hidden.settled(t, 0, append(s.payload(t, s.item(0)), "--apply")...)
	wantOutcomes(t, r, "unsupported reply_unsupported / unsupported no_claim")
	r, _ = hidden.settled(t, 0, append(s.payload(t, s.item(0)), "--apply", "--reply-as-comment")...)
	wantOutcomes(t, r, "done as_comment / done")
}

// What a person has to decide is left to a person, whatever the payload says; a triage
// of a part or of another history settles nothing; and which checks count is said by
// the configuration, or by the branch protection, or nothing is closed.
func TestSettleHoldsBack(t *testing.T) {
	t.Parallel()
	s := newSettlement(t, 3)
	s.status(t, "ci", "success")
	j, proxy := s.through(t, nil)
	path, triage := filepath.Join(s.dir, "payload.json"), filepath.Join(s.dir, "triage.json")
	list := j.list(t, 0, "--include-outdated")
	judged := triageOf(list, thread.Valid)
	judged.Threads[0] = triageOf(list, thread.NeedsHuman).Threads[0]
	judged.Threads[1].RequiresHumanDecision, judged.Threads[1].CanResolveAfterChecks = true, false
	items := []thread.Item{s.item(0), s.item(1), s.item(2)}
	items[0].HumanDecision, items[1].HumanDecision = "The owner says: resolve it.", "The owner says: resolve it."
	writeJSON(t, path, thread.Settlement{Items: items})
	args := []string{"settle", "--json", "--payload", path, "--triage", triage, "--apply"}

	for want, spoil := range map[string]func(*thread.Triage){
		"$.triage.scan.complete: is false": func(t *thread.Triage) { t.Scan.Complete = false },
		"$.triage.scan.count: is 4":        func(t *thread.Triage) { t.Scan.Count++ },
		"$.triage.scan.head: is 1212121":   func(t *thread.Triage) { t.Scan.Head = strings.Repeat("12", 20) },
	} {
		spoilt := judged
		spoil(&spoilt)
		writeJSON(t, triage, spoilt)
		if e := j.run(t, args...); e.status != 2 || !strings.Contains(e.errorLine(t), want) {
			t.Errorf("%s: exit status %d\n%s", want, e.status, e.stderr)
		}
	}
	// The scan is of an older head: what was fixed since is in the head.
	judged.Scan.Head = s.pull.State(t).Head.SHA
	s.fix = s.push(t, giteatest.Files(map[string]string{"b.go": "package b\n"}))
	writeJSON(t, triage, judged)
	r, _ := j.settled(t, 0, args...)
	wantOutcomes(t, r, "unsupported reply_unsupported / blocked needs_human", "unsupported reply_unsupported / blocked needs_human", "unsupported reply_unsupported / blocked checks_missing")
	if r.Phase != thread.Blocked || !slices.Equal(r.NotPassed, []string{"ci* (missing)"}) {
		t.Errorf("phase %s, %q not passed", r.Phase, r.NotPassed)
	}
	if w := proxy.wrote(); w != nil {
		t.Errorf("it writes %q", w)
	}

	configured := func(text string) {
		s.pull.Unmergeable = true
		s.repo.Commit(t, "main", "main", giteatest.Files(map[string]string{".review-bot.yaml": text}), "configuration")
	}
	detached := append(s.payload(t, items[2]), "--apply")
	// One status, by anybody who may write, doesn't stand for all.
	s.status(t, "anything", "success")
	configured("advisory: false\n")
	r, _ = j.settled(t, 0, detached...)
	wantOutcomes(t, r, "unsupported reply_unsupported / blocked checks_unnamed")
	s.srv.Call(t, s.owner.Token, http.MethodPost, s.api("/branch_protections"), map[string]any{
		"rule_name": "main", "enable_status_check": true, "status_check_contexts": []string{"ci"}, "enable_push": true,
	}, nil)
	r, _ = j.settled(t, 0, detached...)
	wantOutcomes(t, r, "unsupported reply_unsupported / blocked checks_missing")
	s.status(t, "ci", "success")
	r, _ = j.settled(t, 0, append(detached, "--dry-run", "--reply-as-comment")...)
	wantOutcomes(t, r, "planned as_comment / planned")

	configured("settle:\n  enabled: false\n")
	if e := j.run(t, detached...); e.status != 2 || !strings.HasSuffix(e.errorLine(t), "settle is turned off for this repository — .review-bot.yaml:2 says enabled: false; answer and resolve on the pull request's page") {
		t.Errorf("exit status %d\n%s", e.status, e.stderr)
	}
	s.status(t, "ci", "failure")
	configured("settle:\n  require_checks: false\n")
	r, _ = j.settled(t, 0, append(detached, "--reply-as-comment")...)
	wantOutcomes(t, r, "done as_comment / done")
	if r.Phase != thread.InTriage || r.Checks != "" {
		t.Errorf("phase %s, checks %q", r.Phase, r.Checks)
	}
}
