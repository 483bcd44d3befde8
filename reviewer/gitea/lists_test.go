package gitea

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"review-bot/escalation"
	"review-bot/reviewer"
)

// fake is a server that plays one of the quirks that real ones were seen with.
// What real ones do is in the tests that start a Gitea; here are the cases
// that are hard to bring about.
type fake struct {
	url string

	mu   sync.Mutex
	seen []string // method and address of each request
	busy atomic.Int32
	most atomic.Int32 // requests at the same time
}

type tester interface {
	Helper()
	Cleanup(func())
}

func newFake(t tester, handler http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.seen = append(f.seen, r.Method+" "+r.URL.RequestURI())
		f.mu.Unlock()
		n := f.busy.Add(1)
		defer f.busy.Add(-1)
		for m := f.most.Load(); n > m && !f.most.CompareAndSwap(m, n); m = f.most.Load() {
		}
		handler(w, r)
	}))
	t.Cleanup(srv.Close)
	f.url = srv.URL
	return f
}

const token = "0123456789abcdef0123456789abcdef01234567"

func (f *fake) client() *Client {
	return New(Config{Server: f.url, Owner: "alice", Name: "shop", Number: 42, Token: token, Retries: 2, Wait: time.Millisecond})
}

func (f *fake) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// list is a list on the server. An item that is hidden takes a place on its page
// and is left out of it.
type list struct {
	items   []any // nil is hidden
	size    int   // most entries on a page
	total   int   // X-Total-Count; below 0 for none
	noPages bool  // without `page` everything is given, as by Forgejo
	overlap int   // how many places each page goes back, as in a list that grows in front
	endless bool  // pages are ignored altogether
	limit   int   // what the server says that size is; 0 if it doesn't say
}

func (l list) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/v1/settings/api" {
		if l.limit == 0 {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"max_response_items":%d}`, l.limit)
		return
	}
	if l.total >= 0 {
		w.Header().Set("X-Total-Count", strconv.Itoa(l.total))
	}
	q := r.URL.Query()
	page := l.items
	if !l.endless && !(l.noPages && !q.Has("page")) {
		n, _ := strconv.Atoi(q.Get("page"))
		limit, _ := strconv.Atoi(q.Get("limit"))
		size := min(l.size, limit)
		from := max(max(n-1, 0)*(size-l.overlap), 0)
		page = l.items[min(from, len(l.items)):min(from+size, len(l.items))]
	}
	var shown []any // an empty one is null, as Gitea writes it
	for _, item := range page {
		if item != nil {
			shown = append(shown, item)
		}
	}
	_ = json.NewEncoder(w).Encode(shown)
}

type object = map[string]any

// reviews are n reviews with the ids from 1, of which some are hidden.
func reviews(n int, hidden ...int) []any {
	var items []any
	for i := 1; i <= n; i++ {
		if slices.Contains(hidden, i) {
			items = append(items, nil)
			continue
		}
		items = append(items, object{"id": i, "state": "COMMENT"})
	}
	return items
}

// numbers are the whole numbers from 1 to n without some.
func numbers(n int, without ...int) []int64 {
	var ids []int64
	for i := 1; i <= n; i++ {
		if !slices.Contains(without, i) {
			ids = append(ids, int64(i))
		}
	}
	return ids
}

func upTo(n int) []int {
	var list []int
	for i := 1; i <= n; i++ {
		list = append(list, i)
	}
	return list
}

func TestReviewsAreReadToTheEnd(t *testing.T) {
	for promise, tt := range map[string]struct {
		list     list
		want     []int64
		requests int
	}{
		"none":                     {list{items: nil, size: 50, total: 0}, nil, 1},
		"less than a page":         {list{items: reviews(30), size: 50, total: 30}, numbers(30), 1},
		"a page":                   {list{items: reviews(50), size: 50, total: 50}, numbers(50), 1},
		"a page and one":           {list{items: reviews(51), size: 50, total: 51}, numbers(51), 2},
		"a thousand":               {list{items: reviews(1000), size: 50, total: 1000}, numbers(1000), 20},
		"smaller pages":            {list{items: reviews(100), size: 30, total: 100}, numbers(100), 4},
		"larger pages asked for":   {list{items: reviews(100), size: 100, total: 100}, numbers(100), 2},
		"hidden on the first page": {list{items: reviews(120, 7, 8), size: 50, total: 120}, numbers(120, 7, 8), 3},
		"hidden on the last page":  {list{items: reviews(120, 119, 120), size: 50, total: 120}, numbers(120, 119, 120), 3},
		"hidden in the middle": {
			list{items: reviews(150, 60, 61, 62), size: 50, total: 150}, numbers(150, 60, 61, 62), 3,
		},
		"a page of hidden ones": {
			list{items: reviews(150, upTo(100)[50:]...), size: 50, total: 150}, numbers(150, upTo(100)[50:]...), 3,
		},
		"nothing but hidden ones": {list{items: reviews(3, 1, 2, 3), size: 50, total: 3, limit: 50}, nil, 2},
		"hidden on smaller pages": {list{items: reviews(40, 40), size: 30, total: 40}, numbers(39), 2},
		"an empty page goes first": {
			list{items: reviews(53, upTo(51)...), size: 50, total: 53, limit: 50}, numbers(53, upTo(51)...), 3,
		},
		"nearly empty pages": {
			list{items: reviews(200, upTo(190)[1:]...), size: 50, total: 200, limit: 50}, numbers(200, upTo(190)[1:]...), 5,
		},
		"empty pages of unknown size": {
			list{items: reviews(53, upTo(51)...), size: 10, total: 53}, numbers(53, upTo(51)...), 54,
		},
		"small empty pages": {
			list{items: reviews(53, upTo(51)...), size: 10, total: 53, limit: 10}, numbers(53, upTo(51)...), 7,
		},
		"no total":                {list{items: reviews(120), size: 50, total: -1}, numbers(120), 4},
		"no total, smaller pages": {list{items: reviews(45), size: 30, total: -1}, numbers(45), 3},
		"no total, nothing":       {list{items: nil, size: 50, total: -1}, nil, 1},
		"everything at once":      {list{items: reviews(120), size: 30, total: 120, noPages: true}, numbers(120), 1},
		"everything, one hidden": {
			list{items: reviews(120, 5), size: 30, total: 120, noPages: true}, numbers(120, 5), 1,
		},
		"everything, however asked":  {list{items: reviews(120), total: -1, endless: true}, numbers(120), 2},
		"everything, too large":      {list{items: reviews(120), total: 121, endless: true}, numbers(120), 1},
		"pages that overlap":         {list{items: reviews(140), size: 50, total: 144, overlap: 2}, numbers(140), 3},
		"overlap, without its total": {list{items: reviews(140), size: 50, total: -1, overlap: 2}, numbers(140), 4},
	} {
		f := newFake(t, tt.list.ServeHTTP)
		rows, err := f.client().Reviews(t.Context())
		if err != nil {
			t.Errorf("%s: %v", promise, err)
			continue
		}
		var got []int64
		hidden := 0
		for _, row := range rows {
			if row == escalation.HiddenReview() {
				hidden++
				continue
			}
			got = append(got, row.ID)
		}
		if want := max(tt.list.total-len(tt.want), 0); hidden != want {
			t.Errorf("%s: %d reviews are said to be hidden, want %d", promise, hidden, want)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: ids (-want +got):\n%s", promise, d)
		}
		if n := len(f.requests()); n != tt.requests {
			t.Errorf("%s: %d requests, want %d: %q", promise, n, tt.requests, f.requests())
		}
		if first := f.requests()[0]; first != "GET /api/v1/repos/alice/shop/pulls/42/reviews?limit=50" {
			t.Errorf("%s: the first request is %s", promise, first)
		}
		if f.most.Load() > atOnce {
			t.Errorf("%s: %d requests at once", promise, f.most.Load())
		}
	}
}

func TestPagesAreReadSideBySide(t *testing.T) {
	l := list{items: reviews(1000), size: 50, total: 1000}
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(5 * time.Millisecond)
		l.ServeHTTP(w, r)
	})
	if _, err := f.client().Reviews(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := f.most.Load(); n < 2 || n > atOnce {
		t.Errorf("%d requests at once, want 2 to %d", n, atOnce)
	}
}

func TestReviewIsReadAsARow(t *testing.T) {
	const sha = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"
	f := newFake(t, list{size: 50, total: 3, items: []any{
		object{
			"id": 7, "user": object{"id": 3, "login": "bot"}, "state": "REQUEST_CHANGES", "body": "text", "official": true, "stale": true,
			"dismissed": true, "commit_id": sha, "comments_count": 2, "submitted_at": "2026-01-02T03:04:05+02:00",
			"html_url": "https://git.example.com/alice/shop/pulls/42#issuecomment-981",
		},
		object{"id": 8, "user": nil, "team": object{"id": 1}, "state": "REQUEST_REVIEW", "html_url": "https://git.example.com/alice/shop/pulls/42"}, // of a team
		object{"id": 9, "user": object{"id": 4}, "state": "APPROVED", "html_url": ""},                                                               // its timeline entry was deleted
	}}.ServeHTTP)
	rows, err := f.client().Reviews(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []reviewer.Row{
		{
			ID: 7, Author: 3, State: escalation.RowRequestChanges, Body: "text", Official: true, Stale: true, Dismissed: true, Commit: sha, Comments: 2,
			URL: "https://git.example.com/alice/shop/pulls/42#issuecomment-981", CommentID: 981, Submitted: rows[0].Submitted,
		},
		{ID: 8, State: escalation.RowRequest, URL: "https://git.example.com/alice/shop/pulls/42"},
		{ID: 9, Author: 4, State: escalation.RowApproved},
	}
	if d := cmp.Diff(want, rows); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if at := time.Date(2026, 1, 2, 1, 4, 5, 0, time.UTC); !rows[0].Submitted.Equal(at) {
		t.Errorf("submitted at %s, want %s", rows[0].Submitted, at)
	}
}

func TestCommentID(t *testing.T) {
	for address, want := range map[string]int64{
		"https://git.example.com/a/b/pulls/1#issuecomment-12":    12,
		"https://git.example.com/a/b/pulls/1#issuecomment-":      0,
		"https://git.example.com/a/b/pulls/1#issuecomment-x":     0,
		"https://git.example.com/a/b/pulls/1#issuecomment-1-2":   0,
		"https://git.example.com/a/b/pulls/1":                    0,
		"https://git.example.com/a/b/pulls/1#files-issuecomment": 0,
		"": 0,
	} {
		if got := commentID(address); got != want {
			t.Errorf("%q: %d, want %d", address, got, want)
		}
	}
}

// entries is a timeline, its ids from 1: 'v' is an entry, 'h' an inline comment,
// which takes a place and isn't shown.
func entries(pattern string) []any {
	var items []any
	for i, c := range pattern {
		if c == 'h' {
			items = append(items, nil)
			continue
		}
		items = append(items, object{"id": i + 1, "type": "comment"})
	}
	return items
}

func TestTimelineIsReadToTheEnd(t *testing.T) {
	v, h := func(n int) string { return strings.Repeat("v", n) }, func(n int) string { return strings.Repeat("h", n) }
	mixed := strings.Repeat("vvvvhhvhhh", 1000) // 10,000 places, half of them inline comments
	for promise, tt := range map[string]struct {
		pattern  string
		uncl     int // of the hidden ones those that no review counts
		noPages  bool
		requests int
	}{
		"empty":                       {"", 0, false, 1},
		"short":                       {v(10), 0, false, 1},
		"almost a page":               {v(39), 0, false, 1},
		"a page":                      {v(50), 0, false, 2},
		"some pages":                  {v(120), 0, false, 3},
		"a page that is null":         {h(50) + v(20), 0, false, 2},
		"a page that is null, inside": {v(50) + h(100) + v(20), 0, false, 4},
		"short pages":                 {strings.Repeat(h(49)+"v", 6), 0, false, 7},
		"one entry at the end":        {h(499) + "v", 0, false, 11},
		"hidden ones at the end":      {v(20) + h(70), 0, false, 3},
		"a few that nobody counts":    {h(10) + v(45), 10, false, 2},
		"ten thousand":                {mixed, 0, false, 201},
		"all at once":                 {v(120), 0, true, 1},
		"all at once, two pages":      {v(60) + h(100), 0, true, 1},
	} {
		l := list{items: entries(tt.pattern), size: 50, total: 3, noPages: tt.noPages} // the total is the page's own
		f := newFake(t, l.ServeHTTP)
		got, err := f.client().Timeline(t.Context(), time.Time{}, withInline(strings.Count(tt.pattern, "h")-tt.uncl))
		if err != nil {
			t.Errorf("%s: %v", promise, err)
			continue
		}
		if d := cmp.Diff(visible(tt.pattern), ids(got)); d != "" {
			t.Errorf("%s: ids (-want +got):\n%s", promise, d)
		}
		if n := len(f.requests()); n != tt.requests {
			t.Errorf("%s: %d requests, want %d", promise, n, tt.requests)
		}
		if f.most.Load() > atOnce {
			t.Errorf("%s: %d requests at once", promise, f.most.Load())
		}
	}
}

func visible(pattern string) []int64 {
	var want []int64
	for i, c := range pattern {
		if c == 'v' {
			want = append(want, int64(i+1))
		}
	}
	return want
}

func ids(list []reviewer.Entry) []int64 {
	var got []int64
	for _, e := range list {
		got = append(got, e.ID)
	}
	return got
}

// Wherever the inline comments stand, every entry is found, in its order, and at most
// one page is asked for in vain.
func TestTimelineOfAnyShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.SampledFrom([]string{"v", "h"}).Draw(t, "kind"), rapid.IntRange(1, 120).Draw(t, "length"))
		}), 0, 6).Draw(t, "runs")
		pattern := strings.Join(runs, "")
		f := newFake(t, list{items: entries(pattern), size: 50, total: -1}.ServeHTTP)
		hidden := strings.Count(pattern, "h")
		got, err := f.client().Timeline(t.Context(), time.Time{}, withInline(max(hidden-rapid.IntRange(0, hiddenMargin).Draw(t, "uncounted"), 0)))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(visible(pattern), ids(got)); d != "" {
			t.Fatalf("ids (-want +got):\n%s", d)
		}
		if n, most := len(f.requests()), (len(pattern)+hiddenMargin)/50+1; n > most {
			t.Fatalf("%d requests for %d places, want at most %d", n, len(pattern), most)
		}
	})
}

func TestTimelineIsAskedForSinceATime(t *testing.T) {
	for want, since := range map[string]time.Time{
		"":                     {},
		"2026-01-02T01:04:05Z": time.Date(2026, 1, 2, 3, 4, 5, 999_999_999, time.FixedZone("", 2*60*60)), // never later than asked
	} {
		f := newFake(t, list{items: entries(strings.Repeat("v", 60)), size: 50, total: -1}.ServeHTTP)
		if _, err := f.client().Timeline(t.Context(), since, nil); err != nil {
			t.Fatal(err)
		}
		for i, request := range f.requests() {
			r, err := http.NewRequest(http.MethodGet, strings.TrimPrefix(request, "GET "), nil)
			if err != nil {
				t.Fatal(err)
			}
			q := r.URL.Query()
			if q.Get("since") != want || q.Has("since") != (want != "") || q.Get("limit") != "50" || q.Has("page") != (i > 0) || r.URL.Path != "/api/v1/repos/alice/shop/issues/42/timeline" {
				t.Errorf("since %s: request %d is %s", since, i+1, request)
			}
		}
	}
}

func TestTimelineEntryIsReadWithItsReview(t *testing.T) {
	f := newFake(t, list{size: 50, total: -1, items: []any{
		object{"id": 1, "type": "review", "user": object{"id": 3, "login": "bot"}, "body": "text", "review_id": 7, "created_at": "2026-01-02T03:04:05Z"},
		object{"id": 2, "type": "review_request", "user": object{"id": 4}, "assignee": object{"id": 3}, "removed_assignee": true},
		object{"id": 3, "type": "a_type_to_come", "user": nil, "assignee": nil, "new_field": object{}},
		object{"id": 1, "type": "review", "user": nil, "body": "the same again"},
	}}.ServeHTTP)
	got, err := f.client().Timeline(t.Context(), time.Time{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []reviewer.Entry{
		{ID: 1, Kind: escalation.EntryReview, User: 3, Login: "bot", Body: "text", Review: 7, Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		{ID: 2, Kind: escalation.EntryReviewRequest, User: 4, Subject: 3, Removed: true},
		{ID: 3, Kind: "a_type_to_come"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A list without an end, or one that claims to be as long, is an error and not a part
// of it: what counts stands at the end.
func TestListsThatNeverEndAreBounded(t *testing.T) {
	var id atomic.Int64
	endless := func(total string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if total != "" {
				w.Header().Set("X-Total-Count", total)
			}
			var page []string
			for range 50 {
				page = append(page, fmt.Sprintf(`{"id":%d,"user":{"id":1}}`, id.Add(1)))
			}
			fmt.Fprintf(w, "[%s]", strings.Join(page, ","))
		}
	}
	for promise, tt := range map[string]struct {
		total string
		read  func(t *testing.T, c *Client) (int, error)
		most  int // requests
	}{
		"reviews":         {"", func(t *testing.T, c *Client) (int, error) { l, err := c.Reviews(t.Context()); return len(l), err }, maxPages},
		"reviews counted": {"2000000000", func(t *testing.T, c *Client) (int, error) { l, err := c.Reviews(t.Context()); return len(l), err }, 1},
		"timeline": {"", func(t *testing.T, c *Client) (int, error) {
			l, err := c.Timeline(t.Context(), time.Time{}, nil)
			return len(l), err
		}, maxPages},
		"timeline of many comments": {"", func(t *testing.T, c *Client) (int, error) {
			l, err := c.Timeline(t.Context(), time.Time{}, withInline(2_000_000_000))
			return len(l), err
		}, 1},
		"reactions": {"", func(t *testing.T, c *Client) (int, error) { l, _, err := c.Reactions(t.Context()); return len(l), err }, maxPages},
	} {
		t.Run(promise, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, endless(tt.total))
			n, err := tt.read(t, f.client())
			if !errors.Is(err, errEndless) || n != 0 {
				t.Fatalf("%d items, %v", n, err)
			}
			if got := len(f.requests()); got > tt.most {
				t.Errorf("%d requests, want at most %d", got, tt.most)
			}
			wantLine(t, err, "alice/shop#42: the list has no end — open another pull request: this one has grown too long to be read")
		})
	}
}

func TestAFailingPageIsAnError(t *testing.T) {
	for _, bad := range []int{1, 2, 4} {
		f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			if page := r.URL.Query().Get("page"); page == strconv.Itoa(bad) || page == "" && bad == 1 {
				http.Error(w, `{"message":"not yours"}`, http.StatusForbidden)
				return
			}
			list{items: reviews(400), size: 50, total: 400}.ServeHTTP(w, r)
		})
		rows, err := f.client().Reviews(t.Context())
		if rows != nil {
			t.Errorf("page %d: %d rows", bad, len(rows))
		}
		wantLine(t, err, "reading the reviews of alice/shop#42: the server forbids it: not yours — give the account write access to the repository")
		entries, err := f.client().Timeline(t.Context(), time.Time{}, withInline(350))
		if entries != nil {
			t.Errorf("page %d: %d entries", bad, len(entries))
		}
		wantLine(t, err, "reading the timeline of alice/shop#42: the server forbids it: not yours — give the account write access to the repository")
	}
}

func TestCommentsAreReadFromBothSides(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode([]object{
			{
				"id": 1, "pull_request_review_id": 7, "user": object{"id": 3, "login": "bot"}, "body": "a", "path": "x.go", "position": 12, "original_position": 0,
				"resolver": object{"id": 5, "login": "ann"}, "html_url": "https://forge/a/b/pulls/1#issuecomment-1",
				"created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:06Z",
			},
			{"id": 2, "pull_request_review_id": 7, "user": nil, "body": "b", "path": "x.go", "position": 0, "original_position": 9, "resolver": nil},
		})
	})
	got, err := f.client().Comments(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	want := []reviewer.Comment{
		{
			ID: 1, Review: 7, Author: 3, Login: "bot", Body: "a", Path: "x.go", NewLine: 12, Resolver: 5, ResolverLogin: "ann",
			URL:     "https://forge/a/b/pulls/1#issuecomment-1",
			Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Updated: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC),
		},
		{ID: 2, Review: 7, Body: "b", Path: "x.go", OldLine: 9},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"GET /api/v1/repos/alice/shop/pulls/42/reviews/7/comments"}, f.requests()); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
}

func TestReactionsWithTheServersTime(t *testing.T) {
	const date = "Fri, 02 Jan 2026 03:04:05 GMT"
	var many []object
	for i := range 70 {
		many = append(many, object{"user": object{"id": i + 1}, "content": "eyes", "created_at": "2026-01-02T03:04:00Z"})
	}
	for promise, tt := range map[string]struct {
		pages    [][]object // nil is null
		want     int
		requests int
	}{
		"none":        {[][]object{nil}, 0, 1},
		"some":        {[][]object{{{"user": object{"id": 3}, "content": "rocket"}, {"user": nil, "content": "eyes"}}}, 1, 1},
		"two pages":   {[][]object{many[:50], many[50:]}, 70, 2},
		"a full page": {[][]object{many[:50], nil}, 50, 2},
	} {
		f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			n, _ := strconv.Atoi(r.URL.Query().Get("page"))
			w.Header().Set("Date", date)
			_ = json.NewEncoder(w).Encode(tt.pages[max(n-1, 0)])
		})
		got, now, err := f.client().Reactions(t.Context())
		if err != nil || len(got) != tt.want || !now.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
			t.Errorf("%s: %d reactions at %s, %v; want %d", promise, len(got), now, err, tt.want)
		}
		if n := len(f.requests()); n != tt.requests {
			t.Errorf("%s: %d requests, want %d", promise, n, tt.requests)
		}
	}
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		fmt.Fprint(w, "[]")
	})
	_, _, err := f.client().Reactions(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the answer has no date") {
		t.Errorf("no date: %v", err)
	}
}

// withInline are reviews with n inline comments.
func withInline(n int) []reviewer.Row { return []reviewer.Row{{Comments: n}} }

// More was left out of the pages than anybody can know of: the reviews' own
// entries tell that the list isn't over yet. What is missing all the same is for the
// caller to see.
func TestTimelineGoesOnForTheReviewsEntries(t *testing.T) {
	pattern := strings.Repeat("v", 20) + strings.Repeat("h", 130) + "vvv"
	row := func(id int64) []reviewer.Row {
		return []reviewer.Row{{ID: 1, State: escalation.RowApproved, CommentID: id, Submitted: time.Unix(1000, 0)}}
	}
	f := newFake(t, list{items: entries(pattern), size: 50, total: -1}.ServeHTTP)
	got, err := f.client().Timeline(t.Context(), time.Time{}, row(153))
	if err != nil || len(got) != 23 {
		t.Errorf("%d entries and %v, want all 23", len(got), err)
	}
	pattern += strings.Repeat("h", 600) + "v"
	f = newFake(t, list{items: entries(pattern), size: 50, total: -1}.ServeHTTP)
	if got, err = f.client().Timeline(t.Context(), time.Time{}, row(754)); err != nil || len(got) != 23 ||
		len(f.requests()) != 9 {
		t.Errorf("%d entries and %v with %d requests, want the first 23 with 9", len(got), err, len(f.requests()))
	}
	if got, err = f.client().Timeline(t.Context(), time.Unix(2000, 0), row(153)); err != nil || len(f.requests()) != 10 {
		t.Errorf("an entry from before the time asked for is missed: %d entries, %v", len(got), err)
	}
}

func TestTimelineToEnd(t *testing.T) {
	v, h := func(n int) string { return strings.Repeat("v", n) }, func(n int) string { return strings.Repeat("h", n) }
	for promise, tt := range map[string]struct {
		pattern  string
		row      int64 // entry of a review, 0 for none
		noPages  bool
		want     int // entries
		reach    escalation.Reach
		requests int
	}{
		"few":                          {v(10), 0, false, 10, escalation.ReachEnd, 41},
		"a pending review of 120":      {v(10) + h(120) + "v", 0, false, 11, escalation.ReachEnd, 49},
		"a pending review of 330":      {v(10) + h(330) + "v", 0, false, 11, escalation.ReachEnd, 49},
		"two thousand hidden":          {"v" + h(1950) + "v", 0, false, 2, escalation.ReachEnd, 81},
		"more than that":               {"v" + h(2200) + "v", 0, false, 1, escalation.ReachEnd, 41},
		"more, and a review tells":     {"v" + h(2200) + "v", 2202, false, 2, escalation.ReachEnd, 89},
		"ten thousand":                 {strings.Repeat("vvvvhhvhhh", 1000), 0, false, 5000, escalation.ReachEnd, 241},
		"more than is read":            {"v" + h(20_000) + "v", 20_002, false, 1, escalation.ReachBound, 400},
		"always something":             {strings.Repeat("v"+h(99), 400), 0, false, 200, escalation.ReachBound, 400},
		"everything at once (Forgejo)": {v(120), 0, true, 120, escalation.ReachEnd, 1},
	} {
		f := newFake(t, list{items: entries(tt.pattern), size: 50, total: 3, noPages: tt.noPages}.ServeHTTP)
		rows := []reviewer.Row{{ID: 1, State: escalation.RowApproved, CommentID: tt.row}}
		got, reach, err := f.client().TimelineToEnd(t.Context(), time.Time{}, rows)
		if err != nil || len(got) != tt.want || reach != tt.reach {
			t.Errorf("%s: %d entries, reach %q, %v; want %d, %q", promise, len(got), reach, err, tt.want, tt.reach)
		}
		if n := len(f.requests()); n != tt.requests || f.most.Load() > endAtOnce {
			t.Errorf("%s: %d requests, want %d; %d at once", promise, n, tt.requests, f.most.Load())
		}
	}
}
