package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer/diff"
	"review-bot/reviewer/finding"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
	"review-bot/sentinel"
)

// What 300 open conversations in 12 reviews cost before the model is asked.
func TestThreeHundredConversations(t *testing.T) {
	t.Parallel()
	const reviews, each, files = 12, 25, 10
	s := newStory(t)
	name := func(i int) string { return fmt.Sprintf("many%d.go", i) }
	line := func(file, n int) string { return fmt.Sprintf("many(%d, %d)", file, n) }
	content := map[string]string{}
	for i := range files {
		for n := range reviews * each / files {
			content[name(i)] += line(i, n+1) + "\n"
		}
	}
	// Each review is at a head of its own. The files are the same at all of them.
	heads := []string{s.repo.Commit(t, s.branch, s.branch, giteatest.Files(content), "many")}
	for range reviews - 1 {
		s.repo.Git(t, "commit", "-q", "--allow-empty", "-m", "nothing")
		heads = append(heads, s.repo.Git(t, "rev-parse", "HEAD"))
	}
	s.repo.Push(t, "HEAD", s.branch, false)
	s.pull.Settle(t, heads[reviews-1])
	s.seed(t, heads, reviews, each, func(k int) (path string, n int, code string) {
		return name(k % files), k/files + 1, line(k%files, k/files+1)
	})
	s.pull.Settle(t, s.repo.Commit(t, s.branch, s.branch, giteatest.Files(map[string]string{
		name(0): strings.Repeat("// new\n", 3), name(1): "// new\n" + line(1, 1) + "\n",
	}), "two files"))

	j, proxy := s.proxied(t, s.endless(t))
	var before, after atomic.Int64
	var shown []shownEarlier
	began := time.Now()
	var asked time.Duration
	srv := model(t, func(req modeltest.Request) modeltest.Reply {
		before.Store(int64(len(proxy.Requests())))
		asked = time.Since(began)
		s.prompt = req.Text()
		shown = earlierIn(t, s.prompt)
		a := answer()
		a.Retained = keeping(shown, "")
		return modeltest.Answer(a)
	})
	j = j.with("OPENAI_BASE_URL", srv.URL())
	r := j.result(t)
	after.Store(int64(len(proxy.Requests())))
	t.Logf("%d requests in %s before the model is asked, with %d findings in a prompt of %d characters; %d requests in all, %s",
		before.Load(), asked.Round(time.Millisecond), len(shown), len(s.prompt), after.Load(), time.Since(began).Round(time.Millisecond))
	if most := int64(reviews + 10 + 2*2); before.Load() > most {
		t.Errorf("%d requests before the model is asked, want at most %d:\n%s", before.Load(), most, strings.Join(sentLines(proxy.Requests()), "\n"))
	}
	retained := 0
	for _, f := range r.Findings {
		if f.State == finding.Retained {
			retained++
		}
	}
	if retained != reviews*each || len(r.Findings) != retained || r.Outcome != escalation.Patched || r.Own != sentinel.RequestChanges {
		t.Errorf("%d of %d findings are retained, outcome %s", retained, len(r.Findings), r.Outcome)
	}
	if len(shown) != reviews*each {
		t.Logf("the model is shown %d of them", len(shown))
	}
	if text := s.text(t); len(text) > 60_000 || !strings.Contains(text, "300 findings block") {
		t.Errorf("the body has %d characters: %.200s", len(text), text)
	}

	// With nothing new the next run asks nobody and writes nothing.
	began = time.Now()
	r = j.result(t)
	sent := proxy.Requests()[after.Load():]
	t.Logf("nothing to do: %d requests in %s", len(sent), time.Since(began).Round(time.Millisecond))
	if r.Outcome != escalation.Skipped || srv.Count() != 1 || slices.ContainsFunc(sent, func(r giteatest.Request) bool { return r.Method != http.MethodGet }) || len(sent) > 12 {
		t.Errorf("outcome %s, %d model calls, %d requests:\n%s", r.Outcome, srv.Count(), len(sent), strings.Join(sentLines(sent), "\n"))
	}
}

// seed posts reviews with findings as earlier rounds would have: the last one
// carries the verdict, those before only findings.
func (s *story) seed(t *testing.T, heads []string, reviews, each int, where func(k int) (path string, line int, code string)) {
	t.Helper()
	blobs := map[string]string{}
	for i := range reviews {
		head := heads[i]
		in := giteatest.ReviewInput{Event: "COMMENT", CommitID: head}
		for n := range each {
			path, line, code := where(i*each + n)
			if blobs[path] == "" {
				blobs[path] = s.repo.Git(t, "rev-parse", heads[0]+":"+path)
			}
			f := finding.Finding{
				ID: fmt.Sprintf("%08x", i*each+n+1), Key: finding.Key(path, code, "logic"), State: finding.New, Severity: prompts.High, Category: "logic",
				Title: trouble(code), Body: "It breaks.", Place: diff.Place{Path: path, Side: diff.New, Line: line}, OldPath: path, Code: []string{code},
				Where: finding.Inline, Head: head, Blob: blobs[path],
			}
			in.Comments = append(in.Comments, giteatest.CommentInput{Path: path, Body: f.Inline("logic", s.key()), NewPosition: int64(line)})
		}
		mark := sentinel.Sentinel{Role: "logic", Version: sentinel.Version, Kind: sentinel.KindFindings, Head: head, Run: fmt.Sprintf("%032x", i+1)}
		if i == reviews-1 {
			time.Sleep(1100 * time.Millisecond) // the timeline is asked for by whole seconds
			in.Event = "REQUEST_CHANGES"
			mark.Kind, mark.Own, mark.Event, mark.Round = sentinel.KindVerdict, sentinel.RequestChanges, sentinel.RequestChanges, 1
		}
		in.Body = sentinel.Body{Text: "Findings."}.With(mark, s.key())
		s.pull.Review(t, s.bot, in)
	}
}
