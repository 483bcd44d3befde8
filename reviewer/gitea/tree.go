package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	sdk "code.gitea.io/sdk/gitea"

	"review-bot/reviewer"
)

// maxTreePages bounds how many pages of a tree are read. A page has 1,000
// entries, folders among them, unless the server is configured otherwise.
const maxTreePages = 5

var (
	// errHoles says that a server gave fewer entries of a tree than it counts.
	errHoles = errors.New("the server gave a list with entries missing")
	// errUnread says that a server failed at a commit that it has.
	errUnread = errors.New("the server couldn't read the commit")
	// errNotCommit says that a commit isn't named by its full id. A name would
	// mean another commit tomorrow.
	errNotCommit = errors.New("that is no commit's full id")
)

// listings keeps what was read of trees, by their commit's or their own id. What
// such an id names never changes.
type listings struct {
	mu   sync.Mutex
	read map[listing]*listed
}

type listing struct {
	object    string
	recursive bool
}

// listed is locked while it is read, so that those who want the same tree at once ask for it once.
type listed struct {
	mu      sync.Mutex
	known   bool
	entries []sdk.GitEntry
	err     error // nil or ErrTooLarge
}

func (l *listed) keep(entries []sdk.GitEntry, err error) {
	l.known, l.entries, l.err = true, entries, err
}

// of returns what is known of a tree, locked.
func (l *listings) of(key listing) *listed {
	l.mu.Lock()
	if l.read == nil {
		l.read = map[listing]*listed{}
	}
	is := l.read[key]
	if is == nil {
		is = &listed{}
		l.read[key] = is
	}
	l.mu.Unlock()
	is.mu.Lock()
	return is
}

// Tree is every file of a commit.
//
// Unlike the endpoints that read a file at a ref, this one takes 40 hex digits for
// an object's id and never for the name of a branch or tag, so that nobody can
// make it show something else by a branch with a commit's id for its name.
func (c *Client) Tree(ctx context.Context, commit string) (map[string]string, error) {
	return c.tree(ctx, fmt.Sprintf("listing the files at %s of %s", commit, c.repo()), commit)
}

func (c *Client) tree(ctx context.Context, doing, commit string) (map[string]string, error) {
	if !fullSHA.MatchString(commit) {
		return nil, c.explain(doing, "", nil, errNotCommit)
	}
	entries, err := c.list(ctx, doing, listing{commit, true})
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, e := range entries {
		if e.Type == "blob" { // a symbolic link, too
			files[e.Path] = e.SHA
		}
	}
	return files, nil
}

// list reads the entries of a commit's tree, or of a folder's by its id.
//
// The list's end is known by its total: Gitea before 1.26 and Forgejo call the
// last page truncated, too. The page's size is left to the server, as it gives no
// more than its default.
func (c *Client) list(ctx context.Context, doing string, what listing) ([]sdk.GitEntry, error) {
	is := c.listings.of(what)
	defer is.mu.Unlock()
	if is.err != nil {
		return nil, c.explain(doing, "", nil, is.err)
	}
	if is.known {
		return is.entries, nil
	}
	total := -1
	one := func(ctx context.Context, page int) ([]sdk.GitEntry, error) {
		q := url.Values{}
		if what.recursive {
			q.Set("recursive", "1")
		}
		if page > 1 {
			q.Set("page", strconv.Itoa(page))
		}
		var answer sdk.GitTreeResponse
		if resp, _, err := c.get(ctx, c.path("/git/trees/%s", what.object), q, &answer); err != nil {
			return nil, c.explain(doing, "write:repository", resp, c.noCommit(ctx, resp, err, what.object))
		}
		if page == 1 {
			total = answer.TotalCount
		}
		return answer.Entries, nil
	}
	all, err := one(ctx, 1)
	if err != nil {
		return nil, err
	}
	if size := len(all); size > 0 && size < total {
		last := (total + size - 1) / size
		if last > maxTreePages {
			is.keep(nil, reviewer.ErrTooLarge)
			return nil, c.explain(doing, "", nil, reviewer.ErrTooLarge)
		}
		rest, err := pages(ctx, 2, last, one)
		if err != nil {
			return nil, err
		}
		all = append(all, rest...)
	}
	if len(all) != total {
		return nil, c.explain(doing, "", nil, errHoles)
	}
	is.keep(all, nil)
	return all, nil
}

// noCommit tells an unknown commit from other failures. The server says “sha not
// found” (400) also if it couldn't read the commit for another cause, so it is
// asked again at another place.
func (c *Client) noCommit(ctx context.Context, resp *sdk.Response, err error, object string) error {
	switch {
	case resp == nil:
		return err
	case resp.StatusCode == http.StatusNotFound:
		if errors.Is(c.missing(ctx, resp, err), errNoRepo) {
			return errNoRepo
		}
	case resp.StatusCode == http.StatusBadRequest && strings.HasPrefix(err.Error(), "sha not found"):
		var commit struct{}
		q := url.Values{"stat": {"false"}, "verification": {"false"}, "files": {"false"}}
		again, _, cerr := c.get(ctx, c.path("/git/commits/%s", object), q, &commit)
		switch {
		case cerr != nil && again != nil && again.StatusCode == http.StatusNotFound:
			return reviewer.ErrNoCommit
		case cerr == nil:
			return errUnread
		}
	}
	return err
}

// blobs are the blob ids of those of the paths that are files at the commit.
func (c *Client) blobs(ctx context.Context, doing string, paths []string, commit string) (map[string]string, error) {
	tree, err := c.tree(ctx, doing, commit)
	ids := map[string]string{}
	if errors.Is(err, reviewer.ErrTooLarge) {
		return ids, c.walk(ctx, doing, commit, "", paths, ids)
	}
	for _, path := range paths {
		if id, ok := tree[path]; ok {
			ids[path] = id
		}
	}
	return ids, err
}

// walk looks the paths up folder by folder, each of which is read once. object is
// the folder's tree, paths begin with its name.
func (c *Client) walk(ctx context.Context, doing, object, folder string, paths []string, ids map[string]string) error {
	entries, err := c.list(ctx, doing, listing{object, false})
	if err != nil {
		return err
	}
	byName := map[string]sdk.GitEntry{}
	for _, e := range entries {
		byName[e.Path] = e
	}
	inside := map[string][]string{}
	for _, path := range paths {
		name, _, deeper := strings.Cut(path[len(folder):], "/")
		switch e := byName[name]; {
		case deeper && e.Type == "tree":
			inside[name] = append(inside[name], path)
		case !deeper && e.Type == "blob":
			ids[path] = e.SHA
		}
	}
	for name, paths := range inside {
		if err := c.walk(ctx, doing, byName[name].SHA, folder+name+"/", paths, ids); err != nil {
			return err
		}
	}
	return nil
}
