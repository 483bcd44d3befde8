package gitea

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"review-bot/reviewer"
)

const shop = "/api/v1/repos/alice/shop"

// site answers by the path; what it doesn't have is answered 404 by the API.
type site map[string]http.HandlerFunc

func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if answer, ok := s[r.URL.Path]; ok {
		answer(w, r)
		return
	}
	status(http.StatusNotFound, plainGone)(w, r)
}

// endpointList is a list of endpoints, each as in "post /repos/{owner}/…".
func endpointList(endpoints ...string) http.HandlerFunc {
	paths := []string{`"/repos/{owner}/{repo}/pulls/{index}/reviews/{id}/comments":{"get":{}}`}
	for _, e := range endpoints {
		method, path, _ := strings.Cut(e, " ")
		paths = append(paths, fmt.Sprintf(`%q:{"parameters":[],%q:{}}`, path, method))
	}
	return status(http.StatusOK, `{"swagger":"2.0","basePath":"/api/v1","paths":{`+strings.Join(paths, ",")+`}}`)
}

func TestAbilitiesAreReadOffTheListOfEndpoints(t *testing.T) {
	const (
		resolve = "post /repos/{owner}/{repo}/pulls/comments/{id}/resolve"
		reply   = "post /repos/{owner}/{repo}/pulls/{index}/comments/{id}/replies"
		attach  = "post /repos/{owner}/{repo}/pulls/{index}/reviews/{id}/comments"
		can     = reviewer.Can
		cannot  = reviewer.Cannot
		unasked = reviewer.Unasked
	)
	long := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"info":%q,`, strings.Repeat("x", n))
			fmt.Fprintf(w, `"paths":{%q:{"get":{}}}}`, strings.TrimPrefix(attach, "post "))
		}
	}
	for promise, tt := range map[string]struct {
		list           http.HandlerFunc
		resolve, reply reviewer.Ability
		requests       int
	}{
		"Gitea 1.25":              {endpointList(), cannot, cannot, 2},
		"Gitea 1.26":              {endpointList(resolve), can, cannot, 2},
		"Gitea 1.27":              {endpointList(resolve, reply), can, can, 2},
		"Forgejo":                 {status(http.StatusOK, `{"paths":{"/repos/{owner}/{repo}/pulls/{index}/reviews/{id}/comments":{"get":{},"post":{}}}}`), cannot, can, 2},
		"with the base path":      {status(http.StatusOK, `{"paths":{"/api/v1/repos/{owner}/{repo}/pulls/{index}/reviews/{id}/comments":{"GET":{}},"/api/v1/repos/{o}/{r}/pulls/comments/{comment_id}/resolve":{"POST":{}}}}`), can, cannot, 2},
		"another method":          {endpointList(strings.Replace(resolve, "post", "get", 1), strings.Replace(reply, "post", "delete", 1)), cannot, cannot, 2},
		"switched off":            {status(http.StatusNotFound, "Not found.\n"), unasked, unasked, 2},
		"forbidden":               {status(http.StatusForbidden, ""), unasked, unasked, 2},
		"behind a login":          {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/user/login", http.StatusSeeOther) }, unasked, unasked, 3},
		"a page":                  {status(http.StatusOK, "<html>"), unasked, unasked, 2},
		"somebody else's":         {status(http.StatusOK, `{"paths":{"/pets/{id}":{"get":{}}}}`), unasked, unasked, 2},
		"other JSON":              {status(http.StatusOK, `{"paths":[]}`), unasked, unasked, 2},
		"null":                    {status(http.StatusOK, `null`), unasked, unasked, 2},
		"a failure, tried thrice": {status(http.StatusBadGateway, ""), unasked, unasked, 4},
		"as long as can be":       {long(maxEndpoints - 200), cannot, cannot, 2},
		"too long":                {long(maxEndpoints), unasked, unasked, 2},
	} {
		f := newFake(t, site{
			shop: status(http.StatusOK, `{"permissions":{"push":true}}`), "/swagger.v1.json": tt.list,
			"/user/login": status(http.StatusOK, "<html>"),
		}.ServeHTTP)
		got, err := f.client().Abilities(t.Context())
		if want := (reviewer.Abilities{Resolve: tt.resolve, Reply: tt.reply, Writer: true}); got != want || err != nil {
			t.Errorf("%s: %+v, %v; want %+v", promise, got, err, want)
		}
		seen := f.requests()
		if len(seen) != tt.requests || slices.ContainsFunc(seen, func(line string) bool { return !strings.HasPrefix(line, "GET ") }) {
			t.Errorf("%s: requests %q, want %d", promise, seen, tt.requests)
		}
	}
}

func TestWriterIsWhoMayPushOrRunsTheSite(t *testing.T) {
	const scope = `{"message":"token does not have at least one of required scope(s), required=[read:user], token scope=write:repository"}`
	user := func(admin bool) http.HandlerFunc {
		return status(http.StatusOK, fmt.Sprintf(`{"id":3,"is_admin":%t}`, admin))
	}
	for promise, tt := range map[string]struct {
		repo, user http.HandlerFunc
		writer     bool
		line       string // "" for no error
	}{
		"may push":           {status(http.StatusOK, `{"permissions":{"push":true}}`), cutAlways, true, ""},
		"an administrator":   {status(http.StatusOK, `{"permissions":{"admin":true}}`), cutAlways, true, ""},
		"may read":           {status(http.StatusOK, `{"permissions":{"pull":true}}`), user(false), false, ""},
		"runs the site":      {status(http.StatusOK, `{"permissions":{"pull":true}}`), user(true), true, ""},
		"without the scope":  {status(http.StatusOK, `{"permissions":{"pull":true}}`), status(http.StatusForbidden, scope), false, ""},
		"no such repository": {status(http.StatusNotFound, plainGone), user(true), false, "asking what the account may do in alice/shop: no such repository, or this token may not see it — check --repo (GITHUB_REPOSITORY) and that the account may read the repository"},
		"a bad token":        {status(http.StatusUnauthorized, ""), user(true), false, ": the server doesn't accept the token — create one with repository: write, issue: write, user: read, and set GITEA_TOKEN"},
		"a page":             {status(http.StatusOK, "<html>"), user(true), false, "and any proxy before it"},
		"/user fails":        {status(http.StatusOK, `{}`), status(http.StatusInternalServerError, ""), false, "the server's log says why"},
	} {
		f := newFake(t, site{shop: tt.repo, "/api/v1/user": tt.user, "/swagger.v1.json": endpointList()}.ServeHTTP)
		got, err := f.client().Abilities(t.Context())
		if got.Writer != tt.writer || (err != nil) != (tt.line != "") {
			t.Errorf("%s: %+v, %v", promise, got, err)
		}
		if err != nil {
			wantLine(t, err, tt.line)
		}
	}
}

func cutAlways(w http.ResponseWriter, _ *http.Request) { cut(w) }

func TestAbilitiesEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := newFake(t, site{shop: status(http.StatusOK, `{"permissions":{"push":true}}`), "/swagger.v1.json": func(http.ResponseWriter, *http.Request) {
		cancel()
		panic(http.ErrAbortHandler)
	}}.ServeHTTP)
	if _, err := f.client().Abilities(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// statusPages answers with a page of statuses each, all others empty.
func statusPages(sha string, pages ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		list := "null"
		n := 1
		if p := r.URL.Query().Get("page"); p != "" {
			_, _ = fmt.Sscan(p, &n)
		}
		if n <= len(pages) {
			list = pages[n-1]
		}
		fmt.Fprintf(w, `{"state":"pending","sha":%q,"total_count":0,"statuses":%s}`, sha, list)
	}
}

// pastTheLast is a page of statuses of Forgejo on which there are none.
const pastTheLast = `{"state":"","sha":"","total_count":0,"statuses":null,"repository":null,"commit_url":"","url":""}`

func TestStatusesOfOddServers(t *testing.T) {
	other := strings.Repeat("0f", 20)
	path := shop + "/commits/" + commit + "/status"
	one := reviewer.Status{Context: "a", State: "success", URL: "http://ci/1"}
	const first = `[{"id":5,"status":"success","context":"a","target_url":"http://ci/1"}]`
	const second = `[{"id":6,"status":"failure","context":"B"},{"id":4,"status":"error","context":"a"}]`
	turn := 0
	for promise, tt := range map[string]struct {
		answer   http.HandlerFunc
		want     []reviewer.Status
		err      error // in the chain
		line     string
		requests int
	}{
		"none":            {statusPages(commit), nil, nil, "", 1},
		"an empty list":   {statusPages(commit, "[]"), nil, nil, "", 1},
		"one":             {statusPages(commit, first), []reviewer.Status{one}, nil, "", 2},
		"short pages":     {statusPages(commit, first, second), []reviewer.Status{{Context: "B", State: "failure"}, one}, nil, "", 4},
		"the oldest last": {statusPages(commit, second, first), []reviewer.Status{{Context: "B", State: "failure"}, one}, nil, "", 4},
		"no pages": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"sha":%q,"statuses":%s}`, commit, first)
		}, []reviewer.Status{one}, nil, "", 2},
		"set anew while it is read": {func(w http.ResponseWriter, r *http.Request) {
			// b is on the second page until it is set anew; then it is on the first one.
			turn++
			pages := []string{`[{"id":3,"status":"success","context":"a","target_url":"http://ci/1"}]`, `[{"id":2,"status":"success","context":"b"}]`, `[{"id":1,"status":"success","context":"c"}]`}
			if turn > 1 {
				pages = []string{`[{"id":4,"status":"failure","context":"b"}]`, `[{"id":3,"status":"success","context":"a","target_url":"http://ci/1"}]`, `[{"id":1,"status":"success","context":"c"}]`}
				if r.URL.Query().Get("page") == "2" {
					pages[1] = `[{"id":1,"status":"success","context":"c"}]`
				}
			}
			statusPages(commit, pages...)(w, r)
		}, []reviewer.Status{one, {Context: "b", State: "failure"}, {Context: "c", State: "success"}}, nil, "", 4},
		"another commit": {statusPages(other, first), nil, reviewer.ErrAmbiguous, ": the server answered for another commit: a branch or tag has the commit's id for its name — remove that branch or tag", 1},
		"another commit on the second page": {func(w http.ResponseWriter, r *http.Request) {
			sha := commit
			if r.URL.Query().Get("page") != "" {
				sha = other
			}
			statusPages(sha, first, second)(w, r)
		}, nil, reviewer.ErrAmbiguous, "", 2},
		"Forgejo": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("page") != "" {
				fmt.Fprint(w, pastTheLast)
				return
			}
			statusPages(commit, first)(w, r)
		}, []reviewer.Status{one}, nil, "", 2},
		"Forgejo, none": {status(http.StatusOK, pastTheLast), nil, nil, "", 1},
		"one of no commit": {
			statusPages("", first), nil, nil,
			"answered is no Gitea answer: the answer names no commit — check --server (GITHUB_SERVER_URL) and any proxy before it", 1,
		},
		"no sha": {
			status(http.StatusOK, `{"statuses":null}`), nil, nil,
			"answered is no Gitea answer: the answer names no commit — check --server (GITHUB_SERVER_URL) and any proxy before it", 1,
		},
		"nothing": {status(http.StatusOK, ``), nil, nil, "and any proxy before it", 1},
		"204":     {status(http.StatusNoContent, ``), nil, nil, "and any proxy before it", 1},
		"a page":  {status(http.StatusOK, "<html>"), nil, nil, "and any proxy before it", 1},
		"no such commit": {
			status(http.StatusNotFound, plainGone), nil, reviewer.ErrNoCommit,
			": no such commit — run the job again: the branch was rewritten meanwhile", 2,
		},
		"one without end": {func(w http.ResponseWriter, r *http.Request) {
			turn++
			fmt.Fprintf(w, `{"sha":%q,"statuses":[{"id":%d,"status":"success","context":"c%[2]d"}]}`, commit, turn)
		}, nil, errEndless, "", maxPages},
	} {
		turn = 0
		f := newFake(t, site{shop: status(http.StatusOK, `{"id":1}`), path: tt.answer}.ServeHTTP)
		got, err := f.client().Statuses(t.Context(), commit)
		fails := tt.err != nil || tt.line != ""
		if d := cmp.Diff(tt.want, got); len(tt.want)+len(got) > 0 && d != "" || (err != nil) != fails || tt.err != nil && !errors.Is(err, tt.err) {
			t.Errorf("%s: %v (-want +got):\n%s", promise, err, d)
		}
		if err != nil {
			wantLine(t, err, tt.line)
		}
		if n := len(f.requests()); n != tt.requests {
			t.Errorf("%s: %d requests, want %d", promise, n, tt.requests)
		}
	}
	f := newFake(t, status(http.StatusNotFound, plainGone))
	_, err := f.client().Statuses(t.Context(), commit)
	wantLine(t, err, "reading the statuses at "+commit+" of alice/shop: no such repository, or this token may not see it — check --repo (GITHUB_REPOSITORY) and that the account may read the repository")
	for _, name := range []string{"main", commit[:39], strings.ToUpper(commit), ""} {
		f := newFake(t, status(http.StatusOK, `{}`))
		_, err := f.client().Statuses(t.Context(), name)
		wantLine(t, err, "reading the statuses at a commit of alice/shop: that is no commit's full id — run the job again; if it happens again, report it with this line")
		if got := f.requests(); len(got) != 0 {
			t.Errorf("%q: requests %q", name, got)
		}
	}
}

// Nothing but an empty list means that the commit is there.
func TestContainsOfOddServers(t *testing.T) {
	head, found := strings.Repeat("ab", 20), commit
	repo := status(http.StatusOK, `{"id":1}`)
	known := status(http.StatusOK, `{"sha":"`+found+`"}`)
	counted := func(total, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Total-Count", total)
			fmt.Fprint(w, text)
		}
	}
	for promise, tt := range map[string]struct {
		repo, commit, list http.HandlerFunc
		want               bool
		line               string // "" for no error
	}{
		"an empty list":                 {repo, known, status(http.StatusOK, `[]`), true, ""},
		"an empty list, counted":        {repo, known, counted("0", `[]`), true, ""},
		"an empty list of one":          {repo, known, counted("1", `[]`), false, ""},
		"null":                          {repo, known, status(http.StatusOK, `null`), false, ""},
		"a server without `not`":        {repo, known, status(http.StatusOK, `[{"sha":"`+found+`"}]`), false, ""},
		"another commit than was named": {repo, status(http.StatusOK, `{"sha":"`+strings.Repeat("0f", 20)+`"}`), status(http.StatusOK, `[]`), false, ""},
		"the head under another name":   {repo, status(http.StatusOK, `{"sha":"`+head+`"}`), status(http.StatusOK, `[]`), false, ""},
		"an unknown one":                {repo, status(http.StatusNotFound, plainGone), status(http.StatusOK, `[]`), false, ""},
		"an unknown repository":         {status(http.StatusNotFound, plainGone), status(http.StatusNotFound, plainGone), nil, false, "looking for " + found[:9] + " in the history of " + head + " of alice/shop: no such repository, or this token may not see it — check --repo (GITHUB_REPOSITORY) and that the account may read the repository"},
		"no sha":                        {repo, status(http.StatusOK, `{}`), status(http.StatusOK, `[]`), false, "the answer names no commit — check --server (GITHUB_SERVER_URL) and any proxy before it"},
		"no list":                       {repo, known, status(http.StatusOK, `{}`), false, "and any proxy before it"},
		"a head that is gone":           {repo, known, status(http.StatusInternalServerError, ""), false, "the server's log says why"},
		"an empty repository":           {repo, known, status(http.StatusConflict, `{"message":"Git Repository is empty."}`), false, "the server answered 409: Git Repository is empty. — check --server (GITHUB_SERVER_URL)"},
	} {
		routes := site{shop: tt.repo, shop + "/git/commits/" + found[:9]: tt.commit}
		if tt.list != nil {
			routes[shop+"/commits"] = tt.list
		}
		f := newFake(t, routes.ServeHTTP)
		got, err := f.client().Contains(t.Context(), head, strings.ToUpper(found[:9]))
		if got != tt.want || (err != nil) != (tt.line != "") {
			t.Errorf("%s: %t, %v", promise, got, err)
		}
		if err != nil {
			wantLine(t, err, tt.line)
		}
	}
	f := newFake(t, cutAlways)
	for _, same := range []string{head, head[:7], strings.ToUpper(head[:12])} {
		if got, err := f.client().Contains(t.Context(), head, same); !got || err != nil {
			t.Errorf("%s: %t, %v", same, got, err)
		}
	}
	for _, odd := range [][2]string{{head, "main"}, {head, head[:6]}, {head, head + "a"}, {head, ""}, {"main", found}, {head[:39], found}, {"", found}} {
		got, err := f.client().Contains(t.Context(), odd[0], odd[1])
		if wantLine(t, err, "looking for a commit in the history of alice/shop: that is no commit's full id — run the job again; if it happens again, report it with this line"); got {
			t.Errorf("%q: contained", odd)
		}
	}
	if got := f.requests(); len(got) != 0 {
		t.Errorf("requests %q", got)
	}
}

const (
	replyLine  = "POST " + shop + "/pulls/42/comments/981/replies"
	attachLine = "POST " + shop + "/pulls/42/reviews/7/comments"
	secretText = "no <one> may\nread this"
)

var talkedTo = reviewer.Comment{ID: 981, Review: 7, Path: "a b.go", NewLine: 3}

func TestReplyGoesTheWayThatTheServerHas(t *testing.T) {
	attached := `{"path":"a b.go","body":"no \u003cone\u003e may\nread this","old_position":0,"new_position":3}`
	replied := `{"body":"no \u003cone\u003e may\nread this"}`
	missing := map[string]http.HandlerFunc{
		"405": status(http.StatusMethodNotAllowed, ""), "a plain 404": status(http.StatusNotFound, "404 page not found\n"), "an empty 404": status(http.StatusNotFound, ""),
	}
	made := status(http.StatusCreated, `{"id":982}`)
	for name, none := range missing {
		for promise, tt := range map[string]struct {
			reply, attach http.HandlerFunc
			want          error
			requests      []string // of two replies
			bodies        []string
		}{
			"Gitea 1.27": {made, cutAlways, nil, []string{replyLine, replyLine}, []string{replied, replied}},
			"Forgejo":    {none, made, nil, []string{replyLine, attachLine, attachLine}, []string{replied, attached, attached}},
			"Gitea 1.26": {none, none, reviewer.ErrUnsupported, []string{replyLine, attachLine, replyLine, attachLine}, []string{replied, attached, replied, attached}},
			"gone":       {status(http.StatusNotFound, commentGone), made, reviewer.ErrGone, []string{replyLine, replyLine}, []string{replied, replied}},
			"its review": {none, status(http.StatusNotFound, reviewGone), reviewer.ErrGone, []string{replyLine, attachLine, replyLine, attachLine}, []string{replied, attached, replied, attached}},
		} {
			var bodies []string
			routes := site{strings.TrimPrefix(replyLine, "POST "): tt.reply, strings.TrimPrefix(attachLine, "POST "): tt.attach}
			f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				bodies = append(bodies, string(text))
				if r.Header.Get("Authorization") != "token "+token || r.Header.Get("Content-Type") != "application/json" {
					t.Errorf("headers %v", r.Header)
				}
				routes.ServeHTTP(w, r)
			})
			c := f.client()
			for range 2 {
				id, err := c.Reply(t.Context(), talkedTo, secretText)
				if tt.want == nil && (id != 982 || err != nil) || tt.want != nil && (id != 0 || !errors.Is(err, tt.want) || errors.Is(err, reviewer.ErrUnknown)) {
					t.Errorf("%s, %s: %d, %v", promise, name, id, err)
				}
				if err != nil {
					wantLine(t, err, "")
				}
			}
			if d := cmp.Diff(tt.requests, f.requests()) + cmp.Diff(tt.bodies, bodies); d != "" {
				t.Errorf("%s, %s (-want +got):\n%s", promise, name, d)
			}
		}
	}
	var old string
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		old = string(text)
		site{strings.TrimPrefix(attachLine, "POST "): made, strings.TrimPrefix(replyLine, "POST "): missing["405"]}.ServeHTTP(w, r)
	})
	if _, err := f.client().Reply(t.Context(), reviewer.Comment{ID: 981, Review: 7, Path: "a.go", OldLine: 5}, "x"); err != nil || old != `{"path":"a.go","body":"x","old_position":5,"new_position":0}` {
		t.Errorf("%s, %v", old, err)
	}
}

// Whatever a server says, none of its words are shown: they may be the reply's.
func TestReplyIsNeverQuoted(t *testing.T) {
	const left = "its words are left out, as they may quote what was sent"
	echo := `{"message":"can't take: ` + strings.ReplaceAll(secretText, "\n", `\n`) + `","errors":["read this"]}`
	for promise, tt := range map[string]struct {
		answer  http.HandlerFunc
		unknown bool
		line    string // %s is the server
	}{
		"422":            {status(http.StatusUnprocessableEntity, echo), false, "the server refuses it (422): " + left + " — run the job again; if it happens again, report it with this line"},
		"400":            {status(http.StatusBadRequest, echo), false, "the server answered 400: " + left + " — check --server (GITHUB_SERVER_URL)"},
		"401":            {status(http.StatusUnauthorized, echo), false, "the server doesn't accept the token — create one with repository: write, issue: write, user: read, and set GITEA_TOKEN"},
		"403":            {status(http.StatusForbidden, echo), false, "the server forbids it: " + left + " — give the account write access to the repository"},
		"403 of a scope": {status(http.StatusForbidden, `{"message":"token does not have at least one of required scope(s): read this"}`), false, "the token lacks scope write:repository — create one with repository: write, issue: write, user: read, and set GITEA_TOKEN"},
		"404":            {status(http.StatusNotFound, echo), false, "the server answered 404: " + left + " — check --repo and --pr"},
		"204":            {status(http.StatusNoContent, ""), false, "the server changed nothing (204) — run the job again; if it happens again, report it with this line"},
		"500":            {status(http.StatusInternalServerError, echo), true, "the server answered 500: " + left + " — run the job again; if it happens again, the server's log says why"},
		"200 of no id":   {status(http.StatusOK, `{"body":"read this"}`), true, "what %s answered is no Gitea answer: " + left + " — check --server (GITHUB_SERVER_URL) and any proxy before it"},
		"200, no JSON":   {status(http.StatusOK, secretText), true, "what %s answered is no Gitea answer: " + left + " — check --server (GITHUB_SERVER_URL) and any proxy before it"},
		"no HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			fmt.Fprint(conn, "read this\r\n\r\n")
			conn.Close()
		}, true, "%s can't be reached: " + left + " — check --server (GITHUB_SERVER_URL) and that the server runs"},
		"a reset": {cutAlways, true, " — check --server (GITHUB_SERVER_URL) and that the server runs"},
	} {
		f := newFake(t, tt.answer)
		_, err := f.client().Reply(t.Context(), talkedTo, secretText)
		if strings.Contains(tt.line, "%s") {
			tt.line = fmt.Sprintf(tt.line, f.url)
		}
		wantLine(t, err, tt.line)
		for all := err; all != nil; all = errors.Unwrap(all) {
			if strings.Contains(all.Error(), "read this") {
				t.Errorf("%s: %v", promise, all)
			}
		}
		if errors.Is(err, reviewer.ErrUnknown) != tt.unknown {
			t.Errorf("%s: unknown is %t: %v", promise, !tt.unknown, err)
		}
		if n := len(f.requests()); n != 1 {
			t.Errorf("%s: %d requests", promise, n)
		}
	}
	f := newFake(t, status(http.StatusCreated, `{"id":1}`))
	for _, empty := range []string{"", " \n\t"} {
		_, err := f.client().Reply(t.Context(), talkedTo, empty)
		wantLine(t, err, "replying to an inline comment on alice/shop#42: the text is empty — run the job again; if it happens again, report it with this line")
	}
	if got := f.requests(); len(got) != 0 {
		t.Errorf("requests %q", got)
	}
}

// pullJSON is a pull request in a list.
func pullJSON(number int64, ref, sha, repo string) any {
	return jsonText(fmt.Sprintf(`{"number":%d,"head":{"ref":%q,"sha":%q,"repo":%s},"base":{"repo_id":1}}`, number, ref, sha, repo))
}

type jsonText string

// MarshalJSON is the text as it is.
func (j jsonText) MarshalJSON() ([]byte, error) { return []byte(j), nil }

func TestOpenPullsOfOddServers(t *testing.T) {
	var items []any
	for n := int64(120); n > 0; n-- {
		ref, repo := "other", `{"id":1}`
		switch n {
		case 3, 111:
			ref = "topic"
		case 50:
			ref, repo = "topic", `{"id":2}`
		case 51:
			ref, repo = "topic", "null"
		}
		items = append(items, pullJSON(n, ref, commit, repo))
	}
	want := []OpenPull{{3, commit, false}, {50, commit, true}, {51, commit, true}, {111, commit, false}}
	for promise, tt := range map[string]struct {
		list     list
		requests int
	}{
		"Gitea":              {list{items: items, size: 50, total: 120}, 3},
		"smaller pages":      {list{items: items, size: 30, total: 120}, 4},
		"without a count":    {list{items: items, size: 50, total: -1}, 4},
		"a growing list":     {list{items: items, size: 50, total: 120, overlap: 1}, 3},
		"counts too many":    {list{items: items, size: 50, total: 130}, 4},
		"everything at once": {list{items: items, size: 50, total: 120, noPages: true}, 1},
		"pages ignored":      {list{items: items, size: 50, total: -1, endless: true}, 2},
	} {
		f := newFake(t, tt.list.ServeHTTP)
		got, err := f.client().OpenPulls(t.Context(), "topic")
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", promise, err, d)
		}
		if seen := f.requests(); len(seen) != tt.requests || !strings.Contains(seen[0], "state=open") {
			t.Errorf("%s: requests %q, want %d", promise, seen, tt.requests)
		}
	}
	f := newFake(t, status(http.StatusNotFound, plainGone))
	_, err := f.client().OpenPulls(t.Context(), "top\nic")
	wantLine(t, err, `looking for the open pull requests of "top\nic" in alice/shop: no such repository, or this token may not see it — check --repo (GITHUB_REPOSITORY) and that the account may read the repository`)
	n := 0
	f = newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		n++
		fmt.Fprintf(w, `[{"number":%d}]`, n)
	})
	if _, err := f.client().OpenPulls(t.Context(), "topic"); !errors.Is(err, errEndless) || n != maxPages {
		t.Errorf("one without end: %v after %d requests", err, n)
	}
}
