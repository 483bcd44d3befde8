package gitea

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	sdk "code.gitea.io/sdk/gitea"
	"github.com/sourcegraph/conc/pool"

	"review-bot/reviewer"
	"review-bot/reviewer/change"
	"review-bot/reviewer/diff"
)

// HeadRef is the commit that the server makes the pull request's diff of. After a
// push it follows the pull request's head some time later, in the background.
func (c *Client) HeadRef(ctx context.Context) (string, error) {
	doing := "reading which commit the diff of " + c.what() + " is of"
	name := fmt.Sprintf("pull/%d/head", c.cfg.Number)
	var answer json.RawMessage
	if resp, _, err := c.get(ctx, c.path("/git/refs/%s", name), nil, &answer); err != nil {
		if resp != nil && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed) {
			err = c.orNoRepo(ctx, resp, err, reviewer.ErrUnsupported)
		}
		return "", c.explain(doing, "write:repository", resp, err)
	}
	type ref struct {
		Ref    string `json:"ref"`
		Object struct {
			SHA string `json:"sha"`
		} `json:"object"`
	}
	var refs []ref // those whose names begin so; by the documentation a single one may come by itself
	if err := json.Unmarshal(answer, &refs); err != nil {
		var one ref
		if err := json.Unmarshal(answer, &one); err != nil {
			return "", c.explain(doing, "", nil, fmt.Errorf("the answer is not the JSON expected: %w", err))
		}
		refs = []ref{one}
	}
	for _, r := range refs {
		if r.Ref == "refs/"+name && fullSHA.MatchString(r.Object.SHA) {
			return r.Object.SHA, nil
		}
	}
	return "", c.explain(doing, "", nil, reviewer.ErrUnsupported)
}

// orNoRepo is what an answer of 404 means, unless there is no such repository.
func (c *Client) orNoRepo(ctx context.Context, resp *sdk.Response, err, means error) error {
	if errors.Is(c.missing(ctx, resp, err), errNoRepo) {
		return errNoRepo
	}
	return means
}

// Ahead counts the commits that lead to commit and not to base.
func (c *Client) Ahead(ctx context.Context, base, commit string) (int, error) {
	doing := fmt.Sprintf("counting the commits of %s that %.7s hasn't, at %.7s", c.repo(), base, commit)
	if !fullSHA.MatchString(base) || !fullSHA.MatchString(commit) {
		return 0, c.explain(doing, "", nil, errNotCommit)
	}
	q := url.Values{
		"sha": {commit}, "not": {base}, "limit": {"1"}, "stat": {"false"}, "verification": {"false"}, "files": {"false"},
	}
	var list []struct{}
	resp, total, err := c.get(ctx, c.path("/commits"), q, &list)
	switch {
	case err != nil && resp != nil && resp.StatusCode == http.StatusNotFound:
		return 0, c.explain(doing, "write:repository", resp, c.orNoRepo(ctx, resp, err, reviewer.ErrNoCommit))
	case err != nil:
		return 0, c.explain(doing, "write:repository", resp, err)
	case total < 0:
		return 0, c.explain(doing, "", nil, errors.New("the server doesn't say how many there are"))
	}
	return total, nil
}

// Blob reads a content by its id.
func (c *Client) Blob(ctx context.Context, id string) ([]byte, error) {
	doing := fmt.Sprintf("reading blob %.7s of %s", id, c.repo())
	if !fullSHA.MatchString(id) {
		return nil, c.explain(doing, "", nil, errNotCommit)
	}
	var blob fileContent
	if resp, _, err := c.get(ctx, c.path("/git/blobs/%s", id), nil, &blob); err != nil {
		return nil, c.explain(doing, "write:repository", resp, err)
	}
	content, err := base64.StdEncoding.DecodeString(blob.Content)
	switch {
	case err != nil:
		return nil, c.explain(doing, "", nil, fmt.Errorf("the content isn't base64: %w", err))
	case change.Blob(content) != id && blob.Content == "":
		return nil, c.explain(doing, "", nil, reviewer.ErrTooLarge)
	case change.Blob(content) != id:
		return nil, c.explain(doing, "", nil, errOther)
	}
	return content, nil
}

// maxFolders bounds how many pairs of folders are compared where a commit's whole
// tree is too long for one list.
const maxFolders = 300

// Changes compares what two commits hold: by whole lists, and where these are too
// long folder by folder, of which only those are read whose ids differ.
func (c *Client) Changes(ctx context.Context, before, after string) (change.Set, error) {
	doing := fmt.Sprintf("comparing %.7s and %.7s of %s", before, after, c.repo())
	if !fullSHA.MatchString(before) || !fullSHA.MatchString(after) {
		return change.Set{}, c.explain(doing, "", nil, errNotCommit)
	}
	if before == after {
		return change.Set{}, nil
	}
	w := &walk{client: c, doing: doing, turns: make(chan struct{}, atOnce)}
	if err := w.folder(ctx, "", before, after); err != nil {
		return change.Set{}, err
	}
	return change.Join(w.sets...), nil
}

// walk compares folders, several side by side.
type walk struct {
	client *Client
	doing  string
	turns  chan struct{} // as many as lists may be read at once
	mu     sync.Mutex
	sets   []change.Set
	pairs  int
}

// folder compares two folders by the ids of their trees, "" for none.
func (w *walk) folder(ctx context.Context, path, before, after string) error {
	w.mu.Lock()
	w.pairs++
	tooMany := w.pairs > maxFolders
	w.mu.Unlock()
	if tooMany {
		return w.client.explain(w.doing, "", nil, reviewer.ErrTooLarge)
	}
	old, now, err := w.both(ctx, before, after, true)
	whole := err == nil
	if errors.Is(err, reviewer.ErrTooLarge) {
		old, now, err = w.both(ctx, before, after, false)
	}
	if err != nil {
		return err
	}
	set := change.Between(below(path, old), below(path, now), whole)
	if whole {
		w.add(set)
		return nil
	}
	return w.deeper(ctx, set)
}

// deeper compares the folders that differ, and keeps the rest of what does.
func (w *walk) deeper(ctx context.Context, set change.Set) error {
	files := change.Set{Unclear: set.Unclear}
	p := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	for _, c := range set.Changes {
		old, now := tree(c.Old), tree(c.New)
		if old != "" || now != "" {
			p.Go(func(ctx context.Context) error { return w.folder(ctx, c.Path+"/", old, now) })
		}
		if old != "" {
			c.Old = change.Entry{}
		}
		if now != "" {
			c.New = change.Entry{}
		}
		if c.Old != c.New { // a file, also one that was a folder or is one now
			files.Changes = append(files.Changes, c)
		}
	}
	w.add(files)
	return p.Wait()
}

func (w *walk) add(set change.Set) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sets = append(w.sets, set)
}

// both lists two trees side by side.
func (w *walk) both(ctx context.Context, before, after string, recursive bool) (old, now []sdk.GitEntry, err error) {
	lists := make([][]sdk.GitEntry, 2)
	p := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	for i, object := range []string{before, after} {
		if object != "" {
			p.Go(func(ctx context.Context) (err error) {
				w.turns <- struct{}{}
				defer func() { <-w.turns }()
				lists[i], err = w.client.list(ctx, w.doing, listing{object, recursive})
				return err
			})
		}
	}
	err = p.Wait()
	return lists[0], lists[1], err
}

func tree(e change.Entry) string {
	if e.Mode == change.ModeTree {
		return e.ID
	}
	return ""
}

// below are the entries of a folder with their paths in the commit.
func below(path string, entries []sdk.GitEntry) []change.Listed {
	list := make([]change.Listed, 0, len(entries))
	for _, e := range entries {
		mode, err := strconv.ParseUint(e.Mode, 8, 32)
		if err != nil {
			mode = 0 // none that a diff could name
		}
		list = append(list, change.Listed{Path: path + e.Path, Entry: change.Entry{Mode: diff.Mode(mode), ID: e.SHA}})
	}
	return list
}
