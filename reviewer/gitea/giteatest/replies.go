package giteatest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Dialect is how a server does in its API what Gitea 1.26 only does on its pages.
type Dialect string

// The dialects. The answers' statuses are those of the servers.
const (
	// Replies is Gitea 1.27: a comment is replied to by its id.
	Replies Dialect = "Gitea 1.27"
	// Attaches is Forgejo: a comment is attached to a review, and one with the path and
	// line of another is a reply to it. Conversations can't be resolved, files are read
	// one by one, and past the last page of a commit's statuses no commit is named.
	Attaches Dialect = "Forgejo"
)

// Replies makes a proxy in front of the repository's server speak a dialect:
// its requests for a reply, as a user whose token stands in the request, send the
// form of the web page. The list of endpoints in /swagger.v1.json says so. All
// else goes to the server.
//
// Only users' first tokens ([User.Token]) are known, whatever their scope. A reply
// has been made when the hook returns: a hook around it that returns CutBefore
// instead makes one whose answer is lost, and one that doesn't call it makes none.
// The repository must not be seen through the proxy ([Server.Via]).
func (r *Repo) Replies(tb TB, dialect Dialect, users ...*User) Hook {
	d := &dialogue{ctx: tb.Context(), repo: r, dialect: dialect, users: users}
	d.list = sync.OnceValues(d.endpoints)
	return d.hook
}

type dialogue struct {
	ctx     context.Context
	repo    *Repo
	dialect Dialect
	users   []*User
	list    func() ([]byte, error)
}

// talk is the endpoints that the dialects differ in, below the repository's.
var talk = regexp.MustCompile(`^/pulls/(?:comments/\d+/(resolve|unresolve)|(\d+)/(comments|reviews)/(\d+)/(replies|comments))$`)

const (
	listPath     = "/swagger.v1.json"
	replyPath    = "/repos/{owner}/{repo}/pulls/{index}/comments/{id}/replies"
	attachPath   = "/repos/{owner}/{repo}/pulls/{index}/reviews/{id}/comments"
	resolveStart = "/repos/{owner}/{repo}/pulls/comments/{id}/"
)

func (d *dialogue) hook(r *Request) *Fault {
	if r.Path == listPath && r.Method == http.MethodGet {
		text, err := d.list()
		if err != nil {
			return refuse(err)
		}
		return answerJSON(http.StatusOK, text)
	}
	rest, ok := strings.CutPrefix(r.Path, "/api/v1"+d.repo.path(""))
	if d.dialect == Attaches && r.Method == http.MethodGet {
		return forgejoReads(rest, r.Query)
	}
	parts := talk.FindStringSubmatch(rest)
	if !ok || parts == nil || r.Method != http.MethodPost {
		return nil
	}
	verb, isReply := parts[1], parts[3] == "comments" && parts[5] == "replies"
	isAttached := parts[3] == "reviews" && parts[5] == "comments"
	switch {
	case d.dialect == Attaches && (verb != "" || isReply):
		return &Fault{Status: http.StatusMethodNotAllowed}
	case d.dialect == Replies && isReply, d.dialect == Attaches && isAttached:
		status := map[bool]int{true: http.StatusCreated, false: http.StatusOK}[isReply]
		made, err := d.reply(r, parts[2], parts[4])
		if err != nil {
			return refuse(err)
		}
		return answerJSON(status, made)
	}
	return nil
}

// forgejoReads is what Forgejo answers to a read where Gitea answers something else.
// Nobody here sets as many statuses as would take a second page.
func forgejoReads(path, query string) *Fault {
	values, err := url.ParseQuery(query)
	switch {
	case err != nil:
	case path == "/file-contents":
		return &Fault{Status: http.StatusNotFound, Body: "Not found.\n"}
	case strings.HasPrefix(path, "/commits/") && strings.HasSuffix(path, "/status") && values.Get("page") > "1":
		return answerJSON(http.StatusOK, []byte(`{"state":"","sha":"","total_count":0,"statuses":null}`))
	}
	return nil
}

// reply makes the reply, and returns it as the server lists it. id is the
// comment's or the review's.
func (d *dialogue) reply(r *Request, index, id string) ([]byte, error) {
	var in struct {
		Body, Path string
		New        int64 `json:"new_position"`
		Old        int64 `json:"old_position"`
	}
	if err := json.Unmarshal(r.Body, &in); err != nil || in.Body == "" {
		return nil, &APIError{Status: http.StatusUnprocessableEntity, Message: "[Body]: Required"}
	}
	by, err := d.user(r)
	if err != nil {
		return nil, err
	}
	// The pattern has let nothing but digits pass.
	number, errNumber := strconv.ParseInt(index, 10, 64)
	to, errTo := strconv.ParseInt(id, 10, 64)
	if err := errors.Join(errNumber, errTo); err != nil {
		return nil, err
	}
	pull := &Pull{Repo: d.repo, Index: number}
	if d.dialect == Attaches {
		all, err := pull.comments(d.ctx, to)
		if refused, ok := errors.AsType[*APIError](err); ok && refused.Status == http.StatusNotFound {
			return nil, errNoReview
		}
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all, func(c Comment) bool { return c.Path == in.Path && c.Position == in.New && c.Original == in.Old })
		if i < 0 {
			return nil, &APIError{Status: http.StatusUnprocessableEntity, Message: "the proxy attaches replies only: nothing of the review is on that line"}
		}
		to = all[i].ID
	}
	root, err := pull.findComment(d.ctx, to)
	if err != nil {
		return nil, err
	}
	made, err := pull.reply(d.ctx, by, to, in.Body)
	if err != nil {
		return nil, err
	}
	var listed []json.RawMessage
	if _, err := d.repo.Server.Do(d.ctx, by.Token, http.MethodGet, pull.path("/reviews/%d/comments", root.ReviewID), nil, &listed); err != nil {
		return nil, err
	}
	for _, text := range listed {
		var c struct{ ID int64 }
		if err := json.Unmarshal(text, &c); err == nil && c.ID == made {
			return text, nil
		}
	}
	return nil, fmt.Errorf("the reply %d isn't listed", made)
}

// user is whose token the request has.
func (d *dialogue) user(r *Request) (*User, error) {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	for _, u := range d.users {
		if u.Token == token {
			return u, nil
		}
	}
	return nil, &APIError{Status: http.StatusUnauthorized, Message: "the proxy doesn't know the token"}
}

// endpoints is the server's list of its endpoints, turned into the dialect's.
func (d *dialogue) endpoints() ([]byte, error) {
	req, err := http.NewRequestWithContext(d.ctx, http.MethodGet, d.repo.Server.URL+listPath, nil)
	if err != nil {
		return nil, err
	}
	resp, err := d.repo.Server.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var list map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: %w", listPath, err)
	}
	paths, ok := list["paths"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s has no paths", listPath)
	}
	added := replyPath
	if d.dialect == Attaches {
		added = attachPath
		maps.DeleteFunc(paths, func(path string, _ any) bool { return strings.HasPrefix(path, resolveStart) })
	}
	methods, ok := paths[added].(map[string]any)
	if !ok {
		methods = map[string]any{}
	}
	methods["post"] = map[string]any{}
	paths[added] = methods
	return json.Marshal(list)
}

func answerJSON(status int, text []byte) *Fault {
	return &Fault{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: string(text)}
}

var errNoReview = errors.New("no such review")

// refuse is the answer to what went wrong, in the servers' words for what is gone.
func refuse(err error) *Fault {
	said, status := map[string]any{"message": err.Error(), "errors": nil, "url": ""}, http.StatusInternalServerError
	if refused, ok := errors.AsType[*APIError](err); ok {
		status, said["message"] = refused.Status, cmp.Or(refused.Message, http.StatusText(refused.Status))
	}
	switch {
	case errors.Is(err, errNoComment):
		status, said["message"], said["errors"] = http.StatusNotFound, "GetCommentByID", []string{"comment does not exist [id: 0, issue_id: 0]"}
	case errors.Is(err, errNoReview):
		status, said["message"], said["errors"] = http.StatusNotFound, "GetReviewByID", []string{"review does not exist [id: 0]"}
	}
	text, _ := json.Marshal(said) // strings always can be
	return answerJSON(status, text)
}
