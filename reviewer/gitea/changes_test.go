package gitea

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"review-bot/reviewer"
	"review-bot/reviewer/change"
)

// woods are the trees of some commits, whose files are texts by path. A folder's id is
// made of what is in it, as git's is.
type woods struct {
	commits map[string]map[string]string
	page    int // entries on a page; 0: 1,000
	broken  string
}

const other = "89abcdef0123456789abcdef0123456789abcdef"

func treeID(files map[string]string) string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%q %q\n", path, files[path])
	}
	return change.Blob([]byte(b.String()))
}

// inside are the files of a folder.
func inside(files map[string]string, folder string) map[string]string {
	found := map[string]string{}
	for path, text := range files {
		if rest, ok := strings.CutPrefix(path, folder); ok {
			found[rest] = text
		}
	}
	return found
}

func folders(files map[string]string) map[string]map[string]string {
	found := map[string]map[string]string{}
	for path := range files {
		for i, c := range path {
			if c == '/' {
				found[path[:i]] = inside(files, path[:i+1])
			}
		}
	}
	return found
}

// files are those of a commit, or of a folder by its id; nil for none.
func (w woods) files(id string) map[string]string {
	for sha, files := range w.commits {
		if sha == id {
			return files
		}
		for _, folder := range folders(files) {
			if treeID(folder) == id {
				return folder
			}
		}
	}
	return nil
}

func (w woods) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	id, ok := strings.CutPrefix(r.URL.Path, api+"/git/trees/")
	files := w.files(id)
	switch {
	case !ok:
		status(http.StatusNotFound, plainGone)(rw, r)
		return
	case files == nil:
		status(http.StatusBadRequest, `{"message":"sha not found"}`)(rw, r)
		return
	case id == w.broken:
		status(http.StatusForbidden, `{"message":"broken"}`)(rw, r)
		return
	}
	deep := r.URL.Query().Get("recursive") != ""
	var all []object
	for path, text := range files {
		if deep || !strings.Contains(path, "/") {
			all = append(all, object{"path": path, "type": "blob", "mode": "100644", "sha": change.Blob([]byte(text))})
		}
	}
	for path, folder := range folders(files) {
		if deep || !strings.Contains(path, "/") {
			all = append(all, object{"path": path, "type": "tree", "mode": "040000", "sha": treeID(folder)})
		}
	}
	slices.SortFunc(all, func(a, b object) int { return cmp.Compare(fmt.Sprint(a["path"]), fmt.Sprint(b["path"])) })
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	size := cmp.Or(w.page, 1000)
	from := min((max(page, 1)-1)*size, len(all))
	_ = json.NewEncoder(rw).Encode(
		object{"sha": id, "tree": all[from:min(from+size, len(all))], "total_count": len(all), "page": max(page, 1)})
}

// Where the commits are too long to be listed, only folders that differ are read, each once.
func TestChangesFolderByFolder(t *testing.T) {
	before := map[string]string{}
	for i := range 240 {
		before[fmt.Sprintf("d%d/sub%d/f%d.txt", i%20, i%3, i)] = fmt.Sprint("text ", i)
	}
	after := maps.Clone(before)
	delete(after, "d1/sub0/f21.txt")
	after["d2/sub2/f2.txt"] = "changed"
	after["new/deep/er/f.txt"] = "new"
	after["top.txt"] = "new"
	before["was"], after["was/now.txt"] = "a file", "a folder"
	before["late/was.txt"], after["late"] = "a folder", "a file"
	entry := func(text string) change.Entry { return change.Entry{Mode: 0o100644, ID: change.Blob([]byte(text))} }
	want := change.Set{Changes: []change.Change{
		{Path: "d1/sub0/f21.txt", Old: entry("text 21")},
		{Path: "d2/sub2/f2.txt", Old: entry("text 2"), New: entry("changed")},
		{Path: "late", New: entry("a file")}, {Path: "late/was.txt", Old: entry("a folder")},
		{Path: "new/deep/er/f.txt", New: entry("new")},
		{Path: "top.txt", New: entry("new")}, {Path: "was", Old: entry("a file")},
		{Path: "was/now.txt", New: entry("a folder")},
	}}
	w := woods{commits: map[string]map[string]string{commit: before, other: after}, page: 40}
	f := newFake(t, w.ServeHTTP)
	got, err := f.client().Changes(t.Context(), commit, other)
	if diff := gocmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	// The roots twice, as they turn out too long, and the five folders that differ, two of them on both sides.
	if n := len(f.requests()); n != 2*2+2*2+3 {
		t.Errorf("%d requests:\n%s", n, strings.Join(f.requests(), "\n"))
	}
	for what, w := range map[string]woods{
		"a root that is too long": {commits: w.commits, page: 4},
		"a folder that is broken": {commits: w.commits, page: w.page, broken: treeID(inside(after, "new/"))},
	} {
		got, err := newFake(t, w.ServeHTTP).client().Changes(t.Context(), commit, other)
		if err == nil || len(got.Changes) != 0 || errors.Is(err, reviewer.ErrTooLarge) != (w.page == 4) {
			t.Errorf("%s: %d changes, %v", what, len(got.Changes), err)
		}
	}
}

func TestHeadRef(t *testing.T) {
	ref := func(name, sha string) string {
		return fmt.Sprintf(`{"ref":%q,"object":{"sha":%q,"type":"commit"}}`, name, sha)
	}
	right := ref("refs/pull/42/head", other)
	for answer, unsupported := range map[string]bool{
		"[" + right + "]": false, right: false, "[" + ref("refs/pull/42/head2", commit) + "," + right + "]": false,
		"[]": true, "[" + ref("refs/pull/42/head2", commit) + "]": true, "[" + ref("refs/pull/42/head", "main") + "]": true,
		"": true,
	} {
		f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			if answer == "" && strings.Contains(r.URL.Path, "/git/refs/") {
				status(http.StatusNotFound, plainGone)(w, r)
				return
			}
			fmt.Fprint(w, cmp.Or(answer, "{}"))
		})
		got, err := f.client().HeadRef(t.Context())
		if unsupported != errors.Is(err, reviewer.ErrUnsupported) || !unsupported && (err != nil || got != other) {
			t.Errorf("%s: %q, %v", answer, got, err)
		}
		if want := "GET " + api + "/git/refs/pull/42/head"; !slices.Contains(f.requests(), want) {
			t.Errorf("requests %q, want %q", f.requests(), want)
		}
	}
	if _, err := newFake(t, status(http.StatusForbidden, `{"message":"no"}`)).client().HeadRef(t.Context()); err == nil ||
		errors.Is(err, reviewer.ErrUnsupported) {
		t.Errorf("a refusal: %v", err)
	}
}

func TestAheadAndBlob(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Total-Count", "7")
		fmt.Fprint(w, "[{}]")
	})
	if n, err := f.client().Ahead(t.Context(), commit, other); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if got := f.requests(); len(got) != 1 || !strings.Contains(got[0], "not="+commit) ||
		!strings.Contains(got[0], "sha="+other) {
		t.Errorf("requests %q", got)
	}
	if n, err := newFake(t, status(200, "[]")).client().Ahead(t.Context(), commit, other); err == nil {
		t.Errorf("without a count: %d", n)
	}
	id := change.Blob([]byte("hi"))
	for content, want := range map[string]error{"hi": nil, "ho": errOther, "": reviewer.ErrTooLarge} {
		f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewEncoder(w).Encode(object{"content": base64.StdEncoding.EncodeToString([]byte(content))})
		})
		if got, err := f.client().Blob(t.Context(), id); !errors.Is(err, want) || (err == nil) != (want == nil) ||
			want == nil && string(got) != "hi" {
			t.Errorf("%q: %q, %v", content, got, err)
		}
	}
}
