package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/url"
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
	p := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(atOnce)
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

// Reviews lists every review. Gitea pages the list at 50; its total counts other
// people's pending reviews too, which it doesn't show, so the pages may hold
// fewer than it says.
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
	switch first := len(all); {
	case first >= pageSize && total > first: // full pages: their number is known
		last := (total + first - 1) / first
		if last > maxPages {
			return nil, c.explain(doing, "", nil, errEndless)
		}
		rest, err := pages(ctx, 2, last, one)
		if err != nil {
			return nil, err
		}
		all = append(all, rest...)
	case total > first || (total < 0 && first > 0): // a server with smaller pages, or one that doesn't count
		for page := 2; total < 0 || len(all) < total; page++ {
			if page > maxPages {
				return nil, c.explain(doing, "", nil, errEndless)
			}
			items, err := one(ctx, page)
			if err != nil {
				return nil, err
			}
			// The end, or a server that has no pages and gives the same again.
			if len(items) == 0 || len(all) > 0 && all[len(all)-1].ID == items[len(items)-1].ID {
				break
			}
			all = append(all, items...)
		}
	}
	return unique(all, row, func(r reviewer.Row) int64 { return r.ID }), nil
}

// timelineEntry is what the bot reads of an entry. The SDK's own type lacks
// review_id, without which an entry can't be tied to its review.
type timelineEntry struct {
	ID       int64     `json:"id"`
	Type     string    `json:"type"`
	User     *sdk.User `json:"user"`
	Body     string    `json:"body"`
	Created  time.Time `json:"created_at"`
	ReviewID int64     `json:"review_id"`
	Assignee *sdk.User `json:"assignee"`
	Removed  bool      `json:"removed_assignee"`
}

// Timeline lists the entries updated at since or later.
//
// Gitea cuts a page first and leaves inline comments out of it afterwards, so a
// page may be short, empty or null in the middle of the list. The list is over
// when more places were paged through than entries seen and comments that can
// have been left out. Should an entry of a review be missing then, more was left
// out than could be known, and the next pages are read; what can't be found at
// all is an error: a list with holes must not decide about merging.
func (c *Client) Timeline(ctx context.Context, since time.Time, rows []reviewer.Row) ([]reviewer.Entry, error) {
	doing := "reading the timeline of " + c.what()
	var more []string
	if !since.IsZero() {
		more = []string{"since", since.UTC().Format(time.RFC3339)}
	}
	one := func(ctx context.Context, page int) ([]timelineEntry, error) {
		var items []timelineEntry
		resp, _, err := c.get(ctx, c.path("/issues/%d/timeline", c.cfg.Number), query(page, more...), &items)
		if err != nil {
			return nil, c.explain(doing, "write:issue", resp, err)
		}
		return items, nil
	}
	all, err := one(ctx, 1)
	if err != nil {
		return nil, err
	}
	inline := 0
	for _, row := range rows {
		inline += row.Comments
	}
	empty := 0
	for read := 1; len(all) <= read*pageSize; {
		last := (len(all)+inline+hiddenMargin)/pageSize + 1
		if last <= read {
			missing := missingEntry(since, rows, all)
			if missing == 0 {
				break
			}
			if empty == emptyPages {
				return nil, c.explain(doing, "", nil, fmt.Errorf("the entry %d of a review isn't in it: it is incomplete, or was just deleted", missing))
			}
			last = read + 1
		}
		if last > maxPages {
			return nil, c.explain(doing, "", nil, errEndless)
		}
		items, err := pages(ctx, read+1, last, one)
		if err != nil {
			return nil, err
		}
		all, read, empty = append(all, items...), last, empty+1
		if len(items) > 0 {
			empty = 0
		}
	}
	return unique(all, entry, func(e reviewer.Entry) int64 { return e.ID }), nil
}

// missingEntry is the id of a timeline entry that a review has and that wasn't
// read, or 0.
func missingEntry(since time.Time, rows []reviewer.Row, read []timelineEntry) int64 {
	seen := map[int64]bool{}
	for _, e := range read {
		seen[e.ID] = true
	}
	for _, row := range rows {
		submitted := row.State == escalation.RowApproved || row.State == escalation.RowRequestChanges || row.State == escalation.RowComment
		if submitted && row.CommentID != 0 && !row.Submitted.Before(since) && !seen[row.CommentID] {
			return row.CommentID
		}
	}
	return 0
}

func entry(t timelineEntry) reviewer.Entry {
	e := reviewer.Entry{
		ID: t.ID, Kind: escalation.EntryKind(t.Type), Review: t.ReviewID, Body: t.Body, Removed: t.Removed, Created: t.Created,
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
