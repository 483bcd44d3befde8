package giteatest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// settleLimit bounds the wait for the server's background work on a pull
// request; it usually takes a few tenths of a second.
const settleLimit = 30 * time.Second

// checkLimit bounds the wait for the check for conflicts.
const checkLimit = 15 * time.Second

// tryLater is what the merge endpoint answers while it checks for conflicts, and
// for ever when there are some.
const tryLater = "Please try again later"

// PullOptions says what a new pull request is like.
type PullOptions struct {
	Head  string // branch, or user:branch of a fork
	Base  string // empty: main
	Title string // empty: made of Head. A title with "WIP:" in front is a draft
	Body  string
	// Unmergeable says that the pull request can't be merged as it stands, because
	// of a conflict or as a draft: nothing waits until it can be.
	Unmergeable bool
}

// A Pull is a pull request.
type Pull struct {
	Repo        *Repo
	Index       int64
	Head        string // the head commit's id when it was opened
	Unmergeable bool   // see [PullOptions]
}

// PullState is what the server says about a pull request.
type PullState struct {
	Number    int64
	State     string // open or closed
	Draft     bool
	Merged    bool
	Mergeable bool // no conflict known; true also when protection blocks
	Title     string
	Body      string
	Head      struct{ Ref, SHA string }
	Base      struct{ Ref, SHA string }
	MergeBase string `json:"merge_base"`
	HTMLURL   string `json:"html_url"`
}

// OpenPull opens a pull request as the repository's user (see [Repo.As]) and
// waits until the server has checked it.
func (r *Repo) OpenPull(tb TB, opts PullOptions) *Pull {
	tb.Helper()
	if opts.Base == "" {
		opts.Base = "main"
	}
	if opts.Title == "" {
		opts.Title = "pull " + opts.Head
	}
	var made PullState
	r.Server.Call(tb, r.actor.Token, http.MethodPost, r.path("/pulls"),
		map[string]any{"head": opts.Head, "base": opts.Base, "title": opts.Title, "body": opts.Body}, &made)
	p := &Pull{Repo: r, Index: made.Number, Head: made.Head.SHA, Unmergeable: opts.Unmergeable}
	p.Settle(tb, p.Head)
	return p
}

// path is that of the pull request in the API, with rest appended.
func (p *Pull) path(format string, args ...any) string {
	return p.Repo.path("/pulls/%d", p.Index) + fmt.Sprintf(format, args...)
}

// State asks for the pull request.
func (p *Pull) State(tb TB) PullState {
	tb.Helper()
	var state PullState
	p.Repo.Server.Call(tb, p.Repo.actor.Token, http.MethodGet, p.path(""), nil, &state)
	return state
}

// Settle waits until the server has taken in a push of the head sha: the pull
// request is at sha, its timeline has the push, and the check for conflicts is
// done, or takes too long. Dismissals by that push can still come a moment later: a test that needs
// one polls for it, see [Poll].
func (p *Pull) Settle(tb TB, sha string) {
	tb.Helper()
	check(tb, Poll(tb.Context(), settleLimit, "the pull request's timeline has the push of "+sha, func() (bool, error) {
		entries, err := p.timeline(tb.Context())
		return slices.ContainsFunc(entries, func(e TimelineEntry) bool {
			return e.Type == "pull_push" && strings.Contains(e.Body, sha)
		}), err
	}))
	// The check begins just after the entry is there; until then the pull request
	// shows what the last check found. So one look isn't enough.
	var since time.Time
	var state PullState
	err := Poll(tb.Context(), checkLimit, "the pull request is at "+sha+" and checked", func() (bool, error) {
		state = PullState{}
		_, err := p.Repo.Server.Do(tb.Context(), p.Repo.actor.Token, http.MethodGet, p.path(""), nil, &state)
		switch {
		case err != nil:
			return false, err
		case state.Head.SHA != sha || !state.Mergeable && !p.Unmergeable:
			since = time.Time{}
			return false, nil
		case since.IsZero():
			since = time.Now()
		}
		return time.Since(since) > 100*time.Millisecond, nil
	})
	if err != nil && state.Head.SHA == sha && tb.Context().Err() == nil {
		// Once in many hundred pushes the server never says that the check is over. Only
		// those who merge need it, and they ask the merge endpoint.
		tb.Logf("%v; going on; the server's log ends with: %s", err, p.Repo.Server.logTail())
		return
	}
	check(tb, err)
}

// rendered finds the texts that people wrote on a page: each stands before its
// hidden source.
var rendered = regexp.MustCompile(`(?s)class="render-content markup"[^>]*>(.*?)<div id="[^"]*-raw"`)

// Rendered is what a visitor without an account reads on the pull request's page,
// in HTML: its description, comments, reviews and inline comments, in the page's
// order. The repository must be public.
func (p *Pull) Rendered(tb TB) (texts []string) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, p.State(tb).HTMLURL, nil)
	check(tb, err)
	resp, err := p.Repo.Server.client.Do(req)
	check(tb, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	check(tb, err)
	if resp.StatusCode != http.StatusOK {
		tb.Fatalf("the page %s answers %d", req.URL, resp.StatusCode)
	}
	for _, match := range rendered.FindAllSubmatch(data, -1) {
		texts = append(texts, strings.TrimSpace(string(match[1])))
	}
	return texts
}

// Close closes the pull request without merging it.
func (p *Pull) Close(tb TB) { tb.Helper(); p.patch(tb, map[string]any{"state": "closed"}) }

// Reopen opens it again.
func (p *Pull) Reopen(tb TB) { tb.Helper(); p.patch(tb, map[string]any{"state": "open"}) }

// Edit changes title and body.
func (p *Pull) Edit(tb TB, title, body string) {
	tb.Helper()
	p.patch(tb, map[string]any{"title": title, "body": body})
}

// Retarget changes the branch that it is to be merged into.
func (p *Pull) Retarget(tb TB, base string) { tb.Helper(); p.patch(tb, map[string]any{"base": base}) }

func (p *Pull) patch(tb TB, body map[string]any) {
	tb.Helper()
	p.Repo.Server.Call(tb, p.Repo.Owner.Token, http.MethodPatch, p.path(""), body, nil)
}

// Merge tries to merge the pull request as a user: the judge of what branch
// protection lets through. It really merges when allowed. While the server says
// that it is still checking, Merge asks again, for half a minute at most. It
// returns the last answer's status (200: merged) and, for a refusal, the message;
// err is for no answer at all.
func (p *Pull) Merge(ctx context.Context, as *User) (status int, message string, err error) {
	deadline := time.Now().Add(settleLimit)
	for {
		status, message, err = refusal(p.Repo.Server.Do(ctx, as.Token, http.MethodPost, p.path("/merge"), map[string]any{"Do": "merge"}, nil))
		if err != nil || message != tryLater || time.Now().After(deadline) {
			return status, message, err
		}
		select {
		case <-ctx.Done():
			return status, message, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TryMerge is [Pull.Merge] for tests.
func (p *Pull) TryMerge(tb TB, as *User) (status int, message string) {
	tb.Helper()
	status, message, err := p.Merge(tb.Context(), as)
	check(tb, err)
	return status, message
}

// lacks reports whether entries don't have some review that was submitted: others may be
// hidden before it, whole pages of them.
func lacks(entries []TimelineEntry, reviews []Review) bool {
	return slices.ContainsFunc(reviews, func(r Review) bool {
		submitted := r.State == "APPROVED" || r.State == "REQUEST_CHANGES" || r.State == "COMMENT"
		return submitted && !slices.ContainsFunc(entries, func(e TimelineEntry) bool { return e.ReviewID == r.ID })
	})
}

// A TimelineEntry is one entry of a pull request's timeline, as far as tests
// look at it; Raw is all of it.
type TimelineEntry struct {
	ID       int64
	Type     string // review, dismiss_review, review_request, pull_push, comment …
	Body     string
	ReviewID int64 `json:"review_id"`
	User     struct {
		ID    int64
		Login string
	}
	Raw json.RawMessage `json:"-"`
}

// Timeline returns the pull request's timeline, oldest first.
func (p *Pull) Timeline(tb TB) []TimelineEntry {
	tb.Helper()
	entries, err := p.timeline(tb.Context())
	check(tb, err)
	return entries
}

// timeline reads the pages that there can be. The server cuts the pages first and
// leaves entries out afterwards, one for each inline comment, so a short or empty
// page isn't the end.
func (p *Pull) timeline(ctx context.Context) ([]TimelineEntry, error) {
	const limit, margin, most = 50, 1, 20
	reviews, err := p.reviews(ctx)
	if err != nil {
		return nil, err
	}
	hidden := 0
	for _, r := range reviews {
		hidden += int(r.CommentsCount)
	}
	var all []TimelineEntry
	for page := 1; page <= (len(all)+hidden)/limit+1+margin || page <= most && lacks(all, reviews); page++ {
		var raws []json.RawMessage
		path := p.Repo.path("/issues/%d/timeline?limit=%d&page=%d", p.Index, limit, page)
		if _, err := p.Repo.Server.Do(ctx, p.Repo.actor.Token, http.MethodGet, path, nil, &raws); err != nil {
			return nil, err
		}
		for _, raw := range raws {
			e := TimelineEntry{Raw: raw}
			if err := json.Unmarshal(raw, &e); err != nil {
				return nil, fmt.Errorf("%s: decode an entry: %w", path, err)
			}
			all = append(all, e)
		}
	}
	return all, nil
}
