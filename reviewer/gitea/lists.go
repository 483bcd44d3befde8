package gitea

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"

	sdk "code.gitea.io/sdk/gitea"
	"github.com/sourcegraph/conc/pool"

	"review-bot/escalation"
	"review-bot/reviewer"
)

const (
	// pageSize is the most entries that Gitea gives on a page.
	pageSize = 50
	// atOnce bounds how many pages are asked for side by side.
	atOnce = 4
	// maxPages bounds a list, so that a server that never ends one can't hold a job.
	maxPages = 1000
	// hiddenMargin is how many entries a server may leave out of the timeline's pages
	// beside inline comments: references from repositories that the token may not see.
	hiddenMargin = 10
	// emptyPages is how many pages in a row may be empty while entries are missing.
	emptyPages = 5
)

// errEndless says that a list goes on behind maxPages. What was read of it isn't
// used: what counts is at its end.
var errEndless = errors.New("the list has no end")

// query is a page's query. The first page is asked for without a number:
// Forgejo then gives the whole list at once, and Gitea its first page.
func query(page int, more ...string) url.Values {
	q := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return q
}

// pages reads the pages from first to last side by side, in order.
func pages[T any](ctx context.Context, first, last int, one func(ctx context.Context, page int) ([]T, error)) ([]T, error) {
	return abreast(ctx, first, last, atOnce, one)
}

// abreast is pages with so many requests at once.
func abreast[T any](
	ctx context.Context, first, last, most int, one func(ctx context.Context, page int) ([]T, error),
) ([]T, error) {
	p := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(most)
	byPage := make([][]T, last-first+1)
	for n := first; n <= last; n++ {
		p.Go(func(ctx context.Context) error {
			items, err := one(ctx, n)
			byPage[n-first] = items
			return err
		})
	}
	if err := p.Wait(); err != nil {
		return nil, err
	}
	var all []T
	for _, items := range byPage {
		all = append(all, items...)
	}
	return all, nil
}

// Reviews lists every review.
//
// Gitea cuts a page first and leaves other people's pending reviews out of it
// afterwards, so a page may be short or empty in the middle of the list. Its total
// counts those too: the list is over when as many places were paged through.
func (c *Client) Reviews(ctx context.Context) ([]reviewer.Row, error) {
	doing := "reading the reviews of " + c.what()
	total := -1
	one := func(ctx context.Context, page int) ([]sdk.PullReview, error) {
		var items []sdk.PullReview
		resp, n, err := c.get(ctx, c.path("/pulls/%d/reviews", c.cfg.Number), query(page), &items)
		if err != nil {
			return nil, c.explain(doing, "write:repository", resp, err)
		}
		if page == 1 {
			total = n
		}
		return items, nil
	}
	all, err := one(ctx, 1)
	if err != nil {
		return nil, err
	}
	if total < 0 {
		all, err = c.uncounted(ctx, doing, all, one)
	} else if last := c.lastPage(ctx, len(all), total); last > maxPages {
		return nil, c.explain(doing, "", nil, errEndless)
	} else if last > 1 {
		var rest []sdk.PullReview
		rest, err = pages(ctx, 2, last, one)
		all = append(all, rest...)
	}
	if err != nil {
		return nil, err
	}
	rows := unique(all, row, func(r reviewer.Row) int64 { return r.ID })
	for hidden := total - len(rows); hidden > 0; hidden-- {
		rows = append(rows, escalation.HiddenReview())
	}
	return rows, nil
}

// lastPage is the number of pages that total entries take, of which the first
// page showed so many.
func (c *Client) lastPage(ctx context.Context, shown, total int) int {
	size := shown // no page is smaller than what one shows
	switch {
	case shown == total || shown > pageSize: // the second is a server that gave everything at once
		return 1
	case shown == 0 || (total-1)/shown > 2*(total/pageSize)+2:
		// Most of the first page is hidden, or the pages are much smaller than asked for.
		size = max(c.pageLimit(ctx), shown, 1)
	}
	return (total + size - 1) / size
}

// pageLimit is how many entries the server gives on a page of [pageSize] at most,
// or 0 if it doesn't say.
func (c *Client) pageLimit(ctx context.Context) int {
	var settings struct {
		Most int `json:"max_response_items"`
	}
	if _, _, err := c.get(ctx, "/settings/api", nil, &settings); err != nil {
		return 0
	}
	return min(settings.Most, pageSize)
}

// uncounted reads the rest of a list whose first page has no total.
func (c *Client) uncounted(
	ctx context.Context, doing string, all []sdk.PullReview, one func(context.Context, int) ([]sdk.PullReview, error),
) ([]sdk.PullReview, error) {
	for page := 2; len(all) > 0; page++ {
		if page > maxPages {
			return nil, c.explain(doing, "", nil, errEndless)
		}
		items, err := one(ctx, page)
		if err != nil {
			return nil, err
		}
		// The end, or a server that has no pages and gives the same again.
		if len(items) == 0 || all[len(all)-1].ID == items[len(items)-1].ID {
			break
		}
		all = append(all, items...)
	}
	return all, nil
}

// timelineEntry is what the bot reads of an entry. The SDK's own type lacks
// review_id, without which an entry can't be tied to its review.
type timelineEntry struct {
	ID       int64     `json:"id"`
	Type     string    `json:"type"`
	User     *sdk.User `json:"user"`
	Body     string    `json:"body"`
	Created  time.Time `json:"created_at"`
	Updated  time.Time `json:"updated_at"`
	ReviewID int64     `json:"review_id"`
	Assignee *sdk.User `json:"assignee"`
	Removed  bool      `json:"removed_assignee"`
}

// Timeline lists the entries updated at since or later.
//
// Gitea cuts a page first and leaves entries out of it afterwards: inline comments,
// those of other people's pending reviews among them, and references from
// repositories that the token may not see. So a page may be short, empty or null in
// the middle of the list, and no total says where that ends. The list is taken to
// be over when more places were paged through than entries seen and comments that
// the reviews count. Should an entry of a review be missing then, more was left out
// than could be known, and a few more pages are read.
func (c *Client) Timeline(ctx context.Context, since time.Time, rows []reviewer.Row) ([]reviewer.Entry, error) {
	t := c.timeline(since)
	if err := t.read(ctx, 1, 1); err != nil {
		return nil, err
	}
	inline := 0
	for _, row := range rows {
		inline += row.Comments
	}
	for len(t.items) <= (t.next-1)*pageSize { // else the server gave everything at once
		last := (len(t.items)+inline+hiddenMargin)/pageSize + 1
		if last < t.next {
			if t.empty >= emptyPages || !t.lacks(since, rows) {
				return t.entries(), nil
			}
			last = t.next
		}
		if last > maxPages {
			return nil, c.explain(t.doing, "", nil, errEndless)
		}
		if err := t.read(ctx, last, atOnce); err != nil {
			return nil, err
		}
	}
	return t.entries(), nil
}

// Bounds of a timeline that is read to its end.
const (
	endAtOnce = 8   // pages side by side
	endEmpty  = 40  // pages in a row that must be empty
	endPages  = 400 // in all
)

// TimelineToEnd reads the timeline until 40 pages in a row are empty, which 2,000
// hidden entries in a row would take, and no entry of a review is missing. It stops
// at 400 pages. That is 41 requests at least, 8 at a time, and 400 at most.
func (c *Client) TimelineToEnd(
	ctx context.Context, since time.Time, rows []reviewer.Row,
) ([]reviewer.Entry, escalation.Reach, error) {
	t := c.timeline(since)
	if err := t.read(ctx, 1, 1); err != nil {
		return nil, "", err
	}
	for len(t.items) <= (t.next-1)*pageSize && (t.empty < endEmpty || t.lacks(since, rows)) {
		if t.next > endPages {
			return t.entries(), escalation.ReachBound, nil
		}
		if err := t.read(ctx, min(t.next+endAtOnce-1, endPages), endAtOnce); err != nil {
			return nil, "", err
		}
	}
	return t.entries(), escalation.ReachEnd, nil
}

// timeline is a timeline that is being read, page by page.
type timeline struct {
	c     *Client
	doing string
	more  []string // of each page's query
	items []timelineEntry
	next  int // page
	empty int // how many pages were empty before it
}

func (c *Client) timeline(since time.Time) *timeline {
	t := &timeline{c: c, doing: "reading the timeline of " + c.what(), next: 1}
	if !since.IsZero() {
		t.more = []string{"since", since.UTC().Format(time.RFC3339)}
	}
	return t
}

// read reads the next pages up to last, so many at once at most.
func (t *timeline) read(ctx context.Context, last, most int) error {
	type page []timelineEntry
	list, err := abreast(ctx, t.next, last, most, func(ctx context.Context, n int) ([]page, error) {
		var items page
		resp, _, err := t.c.get(ctx, t.c.path("/issues/%d/timeline", t.c.cfg.Number), query(n, t.more...), &items)
		if err != nil {
			return nil, t.c.explain(t.doing, "write:issue", resp, err)
		}
		return []page{items}, nil
	})
	if err != nil {
		return err
	}
	for _, items := range list {
		t.items = append(t.items, items...)
		t.empty++
		if len(items) > 0 {
			t.empty = 0
		}
	}
	t.next = last + 1
	return nil
}

// lacks reports whether the entry of a review isn't among those read.
func (t *timeline) lacks(since time.Time, rows []reviewer.Row) bool {
	read := map[int64]bool{}
	for _, e := range t.items {
		read[e.ID] = true
	}
	return slices.ContainsFunc(rows, func(row reviewer.Row) bool { return row.Lacking(since, read) })
}

func (t *timeline) entries() []reviewer.Entry {
	return unique(t.items, entry, func(e reviewer.Entry) int64 { return e.ID })
}

func entry(t timelineEntry) reviewer.Entry {
	e := reviewer.Entry{
		ID: t.ID, Kind: escalation.EntryKind(t.Type), Review: t.ReviewID, Body: t.Body, Removed: t.Removed,
		Created: t.Created, Updated: t.Updated,
	}
	if t.User != nil {
		e.User, e.Login = t.User.ID, t.User.UserName
	}
	if t.Assignee != nil {
		e.Subject = t.Assignee.ID
	}
	return e
}

// unique converts items and drops repetitions: a list that grows while it is
// paged through shows an item twice.
func unique[T, U any](items []T, convert func(T) U, id func(U) int64) []U {
	seen := map[int64]bool{}
	out := make([]U, 0, len(items))
	for _, item := range items {
		u := convert(item)
		if !seen[id(u)] {
			seen[id(u)] = true
			out = append(out, u)
		}
	}
	return out
}
