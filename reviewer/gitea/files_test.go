package gitea

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"review-bot/reviewer"
	"review-bot/reviewer/change"
)

// store is a repository on a server with one commit, [commit], whose files are
// texts by path. It answers as Gitea 1.26 does unless it is told otherwise.
type store struct {
	files    map[string]string
	links    []string       // paths of files that are symbolic links
	sub      string         // path of a submodule, if any
	page     int            // entries on a page of a tree; 0: 1,000
	old      bool           // every page of a tree that has several is called truncated, as by Forgejo
	short    int            // how many entries the trees have less than they count
	several  int            // file-contents answers this; 0: the files
	most     int            // files in an answer; 0: 30
	lies     http.Handler   // answers file-contents and raw, as for a branch with the commit's id for its name; nil: none
	maxBlob  int            // bytes, from which contents aren't given; 0: 1,000
	maxBytes int            // of an answer of file-contents; 0: no bound
	broken   map[string]int // path -> status
}

const api = "/api/v1/repos/alice/shop"

func (s store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	what := strings.TrimPrefix(r.URL.Path, api)
	for path, code := range s.broken {
		if strings.HasPrefix(what, path) {
			status(code, `{"message":"broken"}`)(w, r)
			return
		}
	}
	switch {
	case strings.HasPrefix(what, "/git/trees/"):
		s.tree(w, strings.TrimPrefix(what, "/git/trees/"), q)
	case strings.HasPrefix(what, "/git/blobs/"):
		for _, text := range s.files {
			if what == "/git/blobs/"+change.Blob([]byte(text)) {
				_ = json.NewEncoder(w).Encode(object{"content": s.content(text), "encoding": "base64"})
				return
			}
		}
		status(http.StatusNotFound, plainGone)(w, r)
	case s.lies != nil:
		s.lies.ServeHTTP(w, r)
	case what == "/file-contents" && s.several != 0:
		status(s.several, "404 page not found\n")(w, r)
	case what == "/file-contents" && q.Get("ref") == commit:
		s.contents(w, q.Get("body"))
	case strings.HasPrefix(what, "/raw/") && q.Get("ref") == commit:
		fmt.Fprint(w, s.files[strings.TrimPrefix(what, "/raw/")])
	default:
		status(http.StatusNotFound, plainGone)(w, r)
	}
}

func (s store) content(text string) any {
	if most := cmp.Or(s.maxBlob, 1000); len(text) > most {
		return nil
	}
	return base64.StdEncoding.EncodeToString([]byte(text))
}

func (s store) contents(w http.ResponseWriter, body string) {
	var asked struct{ Files []string }
	if err := json.Unmarshal([]byte(body), &asked); err != nil {
		panic(err)
	}
	list := []any{}
	size := 0
	for _, path := range asked.Files {
		text, ok := s.files[path]
		switch {
		case !ok:
			list = append(list, nil)
			continue
		case slices.Contains(s.links, path):
			list = append(list, object{"type": "symlink", "content": nil, "target": text[:min(len(text), 1024)]})
			continue
		}
		if size += len(text); s.maxBytes > 0 && size > s.maxBytes {
			break
		}
		list = append(list, object{"type": "file", "content": s.content(text)})
		if len(list) == cmp.Or(s.most, 30) {
			break
		}
	}
	_ = json.NewEncoder(w).Encode(list)
}

// tree answers for the commit, or for a folder by an id that is made of its path.
func (s store) tree(w http.ResponseWriter, id string, q url.Values) {
	folder := ""
	if id != commit {
		folder = id + "/"
	}
	byPath := map[string]object{}
	add := func(path, kind, id string) {
		rest := strings.TrimPrefix(path, folder)
		if name, _, deeper := strings.Cut(rest, "/"); q.Get("recursive") == "" && deeper {
			rest, kind, id = name, "tree", folder+name
		}
		byPath[rest] = object{"path": rest, "type": kind, "sha": id}
	}
	for path, text := range s.files {
		if !strings.HasPrefix(path, folder) {
			continue
		}
		add(path, "blob", change.Blob([]byte(text)))
		for i, c := range path {
			if c == '/' && q.Get("recursive") != "" {
				byPath[path[:i]] = object{"path": path[:i], "type": "tree", "sha": path[:i]}
			}
		}
	}
	if s.sub != "" && strings.HasPrefix(s.sub, folder) {
		add(s.sub, "commit", commit)
	}
	var all []object
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		all = append(all, byPath[path])
	}
	total, size := len(all), cmp.Or(s.page, 1000)
	all = all[:total-s.short]
	page, _ := strconv.Atoi(q.Get("page"))
	from := (max(page, 1) - 1) * size
	var shown []object // null past the end
	if from < len(all) {
		shown = all[from:min(from+size, len(all))]
	}
	truncated := from+size < total || s.old && total > size
	_ = json.NewEncoder(w).Encode(object{"sha": id, "tree": shown, "total_count": total, "truncated": truncated, "page": max(page, 1)})
}

// texts are n files in folders.
func texts(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("dir%d/sub/f%05d.txt", i%7, i)] = fmt.Sprintf("text %d", i)
	}
	return files
}

func blobsOf(files map[string]string) map[string]string {
	ids := map[string]string{}
	for path, text := range files {
		ids[path] = change.Blob([]byte(text))
	}
	return ids
}

func TestBlobIDIsGits(t *testing.T) {
	for text, want := range map[string]string{"": "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "hi\n": "45b983be36b73c0788dc9cbcb76cbb80fc7bb057"} {
		if got := change.Blob([]byte(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestTreeReadsAllPages(t *testing.T) {
	// Seven folders in seven folders take 14 places.
	for _, tt := range []struct{ files, page, requests int }{
		{0, 1000, 1}, {1, 1000, 1}, {986, 1000, 1}, {987, 1000, 2}, {1986, 1000, 2}, {1987, 1000, 3}, {4986, 1000, 5}, {36, 10, 5}, {7, 1, 0}, {37, 10, 0}, {4987, 1000, 0},
	} {
		for _, old := range []bool{false, true} {
			s := store{files: texts(tt.files), page: tt.page, old: old, sub: "dir0/module", links: []string{"dir1/sub/f00001.txt"}}
			if tt.files < 100 || tt.files > 4000 {
				s.sub = "" // it takes a place, too
			}
			if s.sub != "" {
				delete(s.files, "dir0/sub/f00000.txt")
			}
			f := newFake(t, s.ServeHTTP)
			c := f.client()
			for range 2 {
				got, err := c.Tree(t.Context(), commit)
				if tt.requests == 0 {
					if !errors.Is(err, reviewer.ErrTooLarge) || got != nil {
						t.Errorf("%+v: %d files, %v; want ErrTooLarge", tt, len(got), err)
					}
					wantLine(t, err, "listing the files at "+commit+" of alice/shop: the list is too long to be read — go on without it, or raise DEFAULT_GIT_TREES_PER_PAGE in the server's app.ini")
				} else if d := gocmp.Diff(blobsOf(s.files), got); d != "" || err != nil {
					t.Errorf("%+v: %v (-want +got)\n%s", tt, err, d)
				}
				maps.DeleteFunc(got, func(string, string) bool { return true }) // that isn't kept
			}
			if n := len(f.requests()); n != max(tt.requests, 1) {
				t.Errorf("%+v: requests %q", tt, f.requests())
			}
		}
	}
}

func TestTreeWithHolesIsAnError(t *testing.T) {
	for _, s := range []store{{files: texts(3), short: 1}, {files: texts(2500), short: 1}, {files: texts(2500), short: 600}, {files: texts(2), short: 6}} {
		c := newFake(t, s.ServeHTTP).client()
		got, err := c.Tree(t.Context(), commit)
		if got != nil {
			t.Errorf("%d files of %d", len(got), len(s.files))
		}
		wantLine(t, err, "the server gave a list with entries missing — run the job again; if it happens again, report it with this line")
	}
}

func TestUnknownCommitIsToldApart(t *testing.T) {
	const notFound = `{"message":"sha not found [` + commit + `]","url":"http://forge/api/swagger"}`
	for promise, tt := range map[string]struct {
		tree, commit, repo http.HandlerFunc
		want               error // nil: another
		line               string
	}{
		"unknown":           {status(400, notFound), status(404, `{"errors":null,"message":"commit doesn't exist: x"}`), nil, reviewer.ErrNoCommit, "no such commit — run the job again: the branch was rewritten meanwhile"},
		"couldn't be read":  {status(400, notFound), status(200, `{"sha":"x"}`), nil, nil, "the server couldn't read the commit — run the job again; if it happens again, report it with this line"},
		"can't be asked":    {status(400, notFound), status(500, ""), nil, nil, "the server answered 400: sha not found [" + commit + "] — check --server (GITHUB_SERVER_URL)"},
		"another 400":       {status(400, `{"message":"sha not provided"}`), nil, nil, nil, "the server answered 400: sha not provided — check --server (GITHUB_SERVER_URL)"},
		"no repository":     {status(404, plainGone), nil, status(404, plainGone), nil, "no such repository, or this token may not see it — check --repo (GITHUB_REPOSITORY) and that the account may read the repository"},
		"another 404":       {status(404, plainGone), nil, status(200, `{"id":1}`), nil, "not found — check --repo and --pr"},
		"a failing server":  {status(500, notFound), nil, nil, nil, "the server answered 500: sha not found [" + commit + "] — run the job again; if it happens again, the server's log says why"},
		"a forbidden thing": {status(403, notFound), nil, nil, nil, "the server forbids it: sha not found [" + commit + "] — give the account write access to the repository"},
	} {
		f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			answer := map[string]http.HandlerFunc{api + "/git/trees/" + commit: tt.tree, api + "/git/commits/" + commit: tt.commit, api: tt.repo}[r.URL.Path]
			if answer == nil {
				t.Errorf("%s: request %s", promise, r.URL)
				answer = status(500, "")
			}
			answer(w, r)
		})
		_, treeErr := f.client().Tree(t.Context(), commit)
		_, filesErr := f.client().Files(t.Context(), []string{"a"}, commit)
		for _, err := range []error{treeErr, filesErr} {
			wantLine(t, err, tt.line)
			if errors.Is(err, reviewer.ErrNoCommit) != (tt.want != nil) || errors.Is(err, reviewer.ErrNoFile) {
				t.Errorf("%s: %v, want %v", promise, err, tt.want)
			}
		}
		if _, err := f.client().File(t.Context(), "a", commit); errors.Is(err, reviewer.ErrNoFile) != (tt.want != nil) {
			t.Errorf("%s: %v", promise, err)
		}
	}
	f := newFake(t, status(200, "{}"))
	for _, name := range []string{"main", "", commit[:39], commit + "0", strings.ToUpper(commit), "HEAD^", "../.."} {
		_, err := f.client().Tree(t.Context(), name)
		wantLine(t, err, "that is no commit's full id — run the job again; if it happens again, report it with this line")
		_, err = f.client().Files(t.Context(), []string{"a"}, name)
		wantLine(t, err, "that is no commit's full id — run the job again; if it happens again, report it with this line")
	}
	if got := f.requests(); len(got) != 0 {
		t.Errorf("requests %q", got)
	}
}

// counts are the requests by what they ask for.
func (f *fake) counts() map[string]int {
	n := map[string]int{}
	for _, r := range f.requests() {
		what := strings.TrimPrefix(r, "GET "+api+"/")
		what, _, _ = strings.Cut(what, "?")
		what, _, _ = strings.Cut(strings.TrimPrefix(what, "git/"), "/")
		n[what]++
	}
	return n
}

func TestFiles(t *testing.T) {
	long := strings.Repeat("long ", 300)
	some := map[string]string{"a.txt": "a", "empty": "", "link": "a.txt", "dir/b c.txt": "b\x00\xff", "ü\"<&>.txt": "u"}
	big := maps.Clone(some)
	big["big"] = long
	lying := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/file-contents") {
			fmt.Fprint(w, `[{"type":"file","content":"ZXZpbA=="},null,{"type":"file","content":"*"},{"type":"dir"},{"type":"file","content":null}]`)
			return
		}
		fmt.Fprint(w, "evil")
	})
	type counts = map[string]int
	for promise, tt := range map[string]struct {
		store store
		want  counts // of requests
		line  string // of the error; "": none
	}{
		"one request for all, and one for a link":          {store{files: some, links: []string{"link"}}, counts{"trees": 1, "file-contents": 1, "blobs": 1}, ""},
		"30 in a request":                                  {store{files: texts(65)}, counts{"trees": 1, "file-contents": 3}, ""},
		"a server that gives fewer":                        {store{files: texts(30), most: 9}, counts{"trees": 1, "file-contents": 4}, ""},
		"one is left: by its id":                           {store{files: texts(31)}, counts{"trees": 1, "file-contents": 1, "blobs": 1}, ""},
		"an answer that would be too long":                 {store{files: texts(6), maxBytes: 13}, counts{"trees": 1, "file-contents": 3}, ""},
		"a file that makes the answer too long":            {store{files: texts(6), maxBytes: 5}, counts{"trees": 1, "file-contents": 1, "blobs": 6}, ""},
		"no such endpoint: Forgejo":                        {store{files: texts(9), several: 404}, counts{"trees": 1, "file-contents": 1, "blobs": 9}, ""},
		"Forgejo, asked once":                              {store{files: texts(150), several: 404}, counts{"trees": 1, "file-contents": 1, "blobs": 150}, ""},
		"no such method":                                   {store{files: texts(9), several: 405}, counts{"trees": 1, "file-contents": 1, "blobs": 9}, ""},
		"an address that is too long":                      {store{files: texts(9), several: 414}, counts{"trees": 1, "file-contents": 1, "blobs": 9}, ""},
		"a server that fails at several isn't asked again": {store{files: texts(9), several: 500}, counts{"trees": 1, "file-contents": 1, "blobs": 9}, ""},
		"a file too large for both":                        {store{files: big, links: []string{"link"}}, counts{"trees": 1, "file-contents": 1, "blobs": 2, "raw": 1}, ""},
		"another branch's content isn't taken":             {store{files: some, lies: lying}, counts{"trees": 1, "file-contents": 1, "blobs": 5}, ""},
		"more than was asked for is no answer":             {store{files: some, lies: status(200, `[`+strings.Repeat(`{"content":"ZXZpbA=="},`, 20)+`null]`)}, counts{"trees": 1, "file-contents": 1, "blobs": 5}, ""},
		"nor for a file that is too large":                 {store{files: big, lies: lying}, nil, "the server gave another content than the commit's: a branch or tag has the commit's id for its name — remove that branch or tag"},
		"a blob that can't be read":                        {store{files: some, several: 404, broken: map[string]int{"/git/blobs": 403}}, nil, "the server forbids it: broken — give the account write access to the repository"},
		"a raw file that can't be read":                    {store{files: big, broken: map[string]int{"/raw": 502}}, nil, "the server answered 502: broken — run the job again; if it happens again, the server's log says why"},
		"a raw file that isn't there":                      {store{files: big, broken: map[string]int{"/raw": 404}}, nil, "has the commit's id for its name — remove that branch or tag"},
		"a tree too large to be listed: folder by folder":  {store{files: texts(40), page: 9}, counts{"trees": 1 + 1 + 7 + 7, "file-contents": 2}, ""},
		"a folder too large to be listed is an error":      {store{files: texts(40), page: 1}, nil, "the list is too long to be read — go on without it, or raise DEFAULT_GIT_TREES_PER_PAGE in the server's app.ini"},
		"an answer that is cut off": {store{files: some, lies: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `[{"type":`)
		})}, counts{"trees": 1, "file-contents": 1, "blobs": 5}, ""},
	} {
		f := newFake(t, tt.store.ServeHTTP)
		odd := []string{"no/such", "dir", "dir0", "dir0/sub", "dir/", "/a.txt", "./a.txt", "dir//b c.txt", "a.txt/x", "dir0/sub/f00000.txt/x", "..", "../a.txt", "", ".", "/"}
		all := append(slices.Collect(maps.Keys(tt.store.files)), odd...)
		got, err := f.client().Files(t.Context(), append(all, all...), commit)
		if tt.line != "" {
			wantLine(t, err, tt.line)
			if !strings.HasPrefix(err.Error(), "reading ") || strings.Count(err.Error(), " — ") != 1 {
				t.Errorf("%s: %v", promise, err)
			}
			continue
		}
		seen := map[string]string{}
		for path, content := range got {
			seen[path] = string(content)
		}
		if d := gocmp.Diff(tt.store.files, seen); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", promise, err, d)
		}
		if d := gocmp.Diff(tt.want, f.counts()); d != "" {
			t.Errorf("%s: requests (-want +got)\n%s", promise, d)
		}
	}
}

func TestMissingEndpointIsAskedForOnce(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Millisecond)
		store{files: texts(70), several: 404}.ServeHTTP(w, r)
	})
	c := f.client()
	paths := slices.Sorted(maps.Keys(texts(60)))
	for some := range slices.Chunk(paths, 20) {
		got, err := c.Files(t.Context(), some, commit)
		if len(got) != 20 || err != nil {
			t.Fatalf("%d files, %v", len(got), err)
		}
	}
	// What was read once is known.
	if got, err := c.Files(t.Context(), paths, commit); len(got) != 60 || err != nil {
		t.Fatalf("%d files, %v", len(got), err)
	}
	if d := gocmp.Diff(map[string]int{"trees": 1, "file-contents": 1, "blobs": 60}, f.counts()); d != "" {
		t.Error(d)
	}
	if most := f.most.Load(); most < 2 || most > atOnce {
		t.Errorf("%d requests at the same time", most)
	}
}

// Where the history is long, a request for several files takes too long.
func TestSlowEndpointIsGivenUp(t *testing.T) {
	files := texts(5)
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/file-contents") {
			<-r.Context().Done()
			return
		}
		store{files: files}.ServeHTTP(w, r)
	})
	c := f.client()
	c.batchTime = 20 * time.Millisecond
	begin := time.Now()
	if got, err := c.Files(t.Context(), slices.Collect(maps.Keys(files)), commit); len(got) != 5 || err != nil {
		t.Errorf("%d files, %v", len(got), err)
	}
	if d := gocmp.Diff(map[string]int{"trees": 1, "file-contents": 1, "blobs": 5}, f.counts()); d != "" {
		t.Error(d)
	}
	if took := time.Since(begin); took > batchTime {
		t.Errorf("it took %s", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Files(ctx, []string{"a", "b"}, strings.Repeat("2", 40)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	c = f.client()
	ctx, cancel = context.WithCancel(t.Context())
	c.batchTime = time.Minute
	time.AfterFunc(50*time.Millisecond, cancel)
	if got, err := c.Files(ctx, slices.Collect(maps.Keys(files)), commit); !errors.Is(err, context.Canceled) || got != nil {
		t.Errorf("cancelled in the middle: %d files, %v", len(got), err)
	}
}

func TestFileAtACommit(t *testing.T) {
	f := newFake(t, store{files: map[string]string{"a.txt": "a", "b.txt": "b"}, lies: status(200, "evil")}.ServeHTTP)
	c := f.client()
	for path, want := range map[string]string{"a.txt": "a", "b.txt": "b", "c.txt": ""} {
		got, err := c.File(t.Context(), path, commit)
		if string(got) != want || (want == "") != errors.Is(err, reviewer.ErrNoFile) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if got, err := c.File(t.Context(), "a.txt", "main"); string(got) != "evil" || err != nil {
		t.Errorf("at a branch: %q, %v", got, err)
	}
	if d := gocmp.Diff(map[string]int{"trees": 1, "blobs": 2, "raw": 1}, f.counts()); d != "" {
		t.Error(d)
	}
}

func TestBatchesFitIntoAnAddress(t *testing.T) {
	var paths []string
	for i := range 100 {
		paths = append(paths, fmt.Sprintf("%s/%02d", strings.Repeat(`ü"&`, i), i))
	}
	paths = append(paths, strings.Repeat("x", 5000))
	files := map[string]string{}
	for _, path := range paths {
		files[path] = path
	}
	var most atomic.Int64
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if n := int64(len(r.URL.RequestURI())); n > most.Load() {
			most.Store(n)
		}
		store{files: files, maxBlob: 6000}.ServeHTTP(w, r)
	})
	got, err := f.client().Files(t.Context(), paths, commit)
	if len(got) != len(paths) || err != nil {
		t.Errorf("%d files of %d, %v", len(got), len(paths), err)
	}
	if most.Load() > batchBytes+200 || f.counts()["file-contents"] > 30 {
		t.Errorf("an address of %d bytes, requests %v", most.Load(), f.counts())
	}
	if got := split(nil); len(got) != 0 {
		t.Errorf("no paths: %q", got)
	}
}

func TestNoFilesAreNoRequest(t *testing.T) {
	f := newFake(t, status(500, ""))
	got, err := f.client().Files(t.Context(), nil, commit)
	if got == nil || len(got) != 0 || err != nil || len(f.requests()) != 0 {
		t.Errorf("%v, %v, requests %q", got, err, f.requests())
	}
}

func TestSay(t *testing.T) {
	var body string
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		var b struct{ Body string }
		_ = json.NewDecoder(r.Body).Decode(&b)
		body = b.Body
		status(http.StatusCreated, `{"id":981,"body":"x"}`)(w, r)
	})
	id, err := f.client().Say(t.Context(), " text <!-- x -->\n")
	if id != 981 || err != nil || body != " text <!-- x -->\n" {
		t.Errorf("%d, %v, sent %q", id, err, body)
	}
	for _, empty := range []string{"", " \n"} {
		_, err := f.client().Say(t.Context(), empty)
		wantLine(t, err, "commenting on alice/shop#42: the text is empty — run the job again; if it happens again, report it with this line")
	}
	if d := gocmp.Diff([]string{"POST " + api + "/issues/42/comments"}, f.requests()); d != "" {
		t.Error(d)
	}
	f = newFake(t, status(http.StatusCreated, `{"body":"text"}`))
	if _, err := f.client().Say(t.Context(), "text"); !errors.Is(err, reviewer.ErrUnknown) {
		t.Errorf("an answer without an id: %v", err)
	}
	f = newFake(t, status(http.StatusForbidden, `{"message":"You cannot comment on a locked issue."}`))
	_, err = f.client().Say(t.Context(), "text")
	wantLine(t, err, "commenting on alice/shop#42: the server forbids it: You cannot comment on a locked issue. — give the account write access to the repository")
}
