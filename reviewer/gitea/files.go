package gitea

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"

	"review-bot/reviewer"
	"review-bot/reviewer/change"
)

const (
	// batchFiles is how many files Gitea gives in an answer, by its default page size.
	batchFiles = 30
	// batchBytes bounds the paths in an address, as proxies bound that at 8 KiB.
	batchBytes = 4000
	// batchTime bounds a request for several files. Gitea looks for each one's last
	// commit: behind 50,000 others that took 17 s for 30 files, and 0.4 s for all 30
	// by their ids, one after the other.
	batchTime = 5 * time.Second
)

// errOther says that a file read at a commit isn't the commit's.
var errOther = errors.New("the server gave another content than the commit's: a branch or tag has the commit's id for its name")

// Files reads files at a commit: by the endpoint that gives several at once, where
// the server has it, the rest one by one by their blobs' ids. What is too large
// for both (10 MiB by default) is read as File reads at a branch.
//
// Both raw and file-contents take a ref of 40 hex digits for a branch's or tag's
// name first, and whoever may push can make a branch with a commit's id for its
// name. So what they give is held against the id that the commit's tree has.
func (c *Client) Files(ctx context.Context, paths []string, commit string) (map[string][]byte, error) {
	if len(paths) == 0 {
		return map[string][]byte{}, nil
	}
	doing := fmt.Sprintf("reading %d files at %s of %s", len(paths), commit, c.repo())
	if len(paths) == 1 {
		doing = fmt.Sprintf("reading %s at %s of %s", paths[0], commit, c.repo())
	}
	ids, err := c.blobs(ctx, doing, paths, commit)
	if err != nil {
		return nil, err
	}
	found := &found{ids: ids, files: map[string][]byte{}, kept: &c.kept}
	found.recall()
	batches := pool.New().WithContext(ctx).WithMaxGoroutines(atOnce)
	wanted := split(found.missing())
	if len(wanted) > 1 && !c.several.Load() { // the others only if the server can
		c.batch(ctx, wanted[0], commit, found)
		wanted = wanted[1:]
	}
	for _, batch := range wanted {
		batches.Go(func(ctx context.Context) error { c.batch(ctx, batch, commit, found); return nil })
	}
	_ = batches.Wait() // what they didn't find is read below
	one := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(atOnce)
	for _, path := range found.missing() {
		one.Go(func(ctx context.Context) error { return c.file(ctx, doing, path, commit, found) })
	}
	if err := one.Wait(); err != nil {
		return nil, err
	}
	return found.files, nil
}

// found collects files from several goroutines.
type found struct {
	ids   map[string]string // of the blobs, by path
	mu    sync.Mutex
	files map[string][]byte
	kept  *kept
}

// recall takes the contents that were read before.
func (f *found) recall() {
	for path, id := range f.ids {
		if content, ok := f.kept.find(id); ok {
			f.files[path] = content
		}
	}
}

// maxKept bounds the contents that are kept, in bytes: a run reads some files for several causes.
const maxKept = 8 << 20

// kept are contents by their ids.
type kept struct {
	mu   sync.Mutex
	read map[string][]byte
	size int
}

func (k *kept) find(id string) ([]byte, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	content, ok := k.read[id]
	return content, ok
}

func (k *kept) keep(id string, content []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, has := k.read[id]; has || k.size+len(content) > maxKept {
		return
	}
	if k.read == nil {
		k.read = map[string][]byte{}
	}
	k.read[id] = content
	k.size += len(content)
}

// add takes a file's content, unless it is another than the commit's.
func (f *found) add(path string, content []byte) bool {
	if change.Blob(content) != f.ids[path] {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[path] = content
	f.kept.keep(f.ids[path], content)
	return true
}

// missing are the paths of the files that aren't there yet.
func (f *found) missing() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f.ids)), func(path string) bool { _, ok := f.files[path]; return ok })
}

// split makes batches that fit into an address and into an answer.
func split(paths []string) [][]string {
	var batches [][]string
	size := batchBytes
	for _, path := range paths {
		n := len(url.QueryEscape(quoted(path) + ","))
		if size += n; size > batchBytes || len(batches[len(batches)-1]) == batchFiles {
			batches, size = append(batches, nil), n
		}
		last := &batches[len(batches)-1]
		*last = append(*last, path)
	}
	return batches
}

func quoted(text string) string {
	b, _ := json.Marshal(text) // a string always can be
	return string(b)
}

// batch reads several files in as few requests as the server does with: it cuts
// its answer where that gets too long (DEFAULT_PAGING_NUM, DEFAULT_MAX_RESPONSE_SIZE).
// A file that isn't there, can't be read or is too large it leaves empty.
//
// A request that fails for whatever cause is the client's last of this kind. It
// isn't tried again: a cause that matters shows when files are read one by one.
func (c *Client) batch(ctx context.Context, paths []string, commit string, found *found) {
	for len(paths) > 1 && !c.oneByOne.Load() {
		list, err := c.contents(ctx, paths, commit)
		if err != nil || len(list) > len(paths) {
			c.oneByOne.Store(true)
			return
		}
		c.several.Store(true)
		if len(list) == 0 {
			return // the first one is too long by itself
		}
		for i, item := range list {
			if content, err := base64.StdEncoding.DecodeString(item.Content); err == nil {
				found.add(paths[i], content)
			}
		}
		paths = paths[len(list):]
	}
}

// fileContent is what the bot reads of a file, or of a blob, in an answer.
type fileContent struct {
	Content string `json:"content"` // base64; "" for none, or if it is too large or a link
}

func (c *Client) contents(ctx context.Context, paths []string, commit string) ([]fileContent, error) {
	ctx, cancel := context.WithTimeout(ctx, c.batchTime)
	defer cancel()
	body, err := json.Marshal(map[string][]string{"files": paths})
	if err != nil {
		return nil, err
	}
	var list []fileContent
	_, _, err = c.fetch(ctx, c.path("/file-contents"), url.Values{"ref": {commit}, "body": {string(body)}}, &list)
	return list, err
}

// file reads one file that the commit has.
func (c *Client) file(ctx context.Context, doing, path, commit string, found *found) error {
	var blob fileContent
	if resp, _, err := c.get(ctx, c.path("/git/blobs/%s", found.ids[path]), nil, &blob); err != nil {
		return c.explain(doing, "write:repository", resp, err)
	}
	if content, err := base64.StdEncoding.DecodeString(blob.Content); err == nil && found.add(path, content) {
		return nil
	}
	content, err := c.raw(ctx, doing, path, commit)
	if errors.Is(err, reviewer.ErrNoFile) || err == nil && !found.add(path, content) {
		return c.explain(doing, "", nil, errOther)
	}
	return err
}

// File reads a file at a commit or branch; see [Client.Files] for why a commit
// isn't left to the server to resolve.
func (c *Client) File(ctx context.Context, path, ref string) ([]byte, error) {
	if !fullSHA.MatchString(ref) {
		return c.raw(ctx, fmt.Sprintf("reading %s at %s of %s", path, ref, c.repo()), path, ref)
	}
	files, err := c.Files(ctx, []string{path}, ref)
	if errors.Is(err, reviewer.ErrNoCommit) {
		return nil, reviewer.ErrNoFile
	}
	if err != nil {
		return nil, err
	}
	content, ok := files[path]
	if !ok {
		return nil, reviewer.ErrNoFile
	}
	return content, nil
}

// raw reads a file at what the server takes for the ref: a branch, a tag, a commit.
func (c *Client) raw(ctx context.Context, doing, path, ref string) ([]byte, error) {
	client, err := c.read(ctx)
	if err != nil {
		return nil, c.explain(doing, "", nil, err)
	}
	data, resp, err := client.GetFile(c.cfg.Owner, c.cfg.Name, ref, path)
	if resp != nil && resp.StatusCode == http.StatusNotFound {
		return nil, reviewer.ErrNoFile
	}
	if err != nil {
		return nil, c.explain(doing, "write:repository", resp, err)
	}
	return data, nil
}
