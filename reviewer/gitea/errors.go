package gitea

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"review-bot/reviewer"
	"review-bot/reviewer/untrusted"
)

// The scopes that a bot's token needs, as the server's page for tokens words them.
const needed = "repository: write, issue: write, user: read"

// explain turns what came back into a line that says what failed, on what, and
// what to do. scope is the token scope that the request needs, "" if it isn't
// about the token.
func (c *Client) explain(doing, scope string, resp *sdk.Response, err error) error {
	needed, access := needed, "write"
	if c.cfg.Reading {
		needed, access, scope = strings.ReplaceAll(needed, "write", "read"), "read", strings.Replace(scope, "write:", "read:", 1)
	}
	e := &reviewer.Error{Doing: untrusted.Plain(doing), Err: err}
	code := 0
	if resp != nil && resp.Response != nil {
		code = resp.StatusCode
	}
	message := oneLine(err.Error())
	var urlErr *url.Error
	var netErr net.Error
	var syntax *json.SyntaxError
	var tooMuch *tooMuchError
	switch {
	case errors.Is(err, context.Canceled):
		e.Err, e.Next = context.Canceled, "run the job again"
	case errors.As(err, &tooMuch):
		e.Err, e.Next = tooMuch, tooMuch.next
	case errors.Is(err, errEndless):
		e.Next = "open another pull request: this one has grown too long to be read"
	case errors.Is(err, errUnchanged), errors.Is(err, errEmpty), errors.Is(err, errHoles), errors.Is(err, errUnread), errors.Is(err, errNotCommit):
		e.Next = "run the job again; if it happens again, report it with this line"
	case errors.Is(err, reviewer.ErrAsked):
		e.Next = "remove the request on the pull request's page, then run the job again"
	case errors.Is(err, errOther), errors.Is(err, reviewer.ErrAmbiguous):
		e.Next = "remove that branch or tag"
	case errors.Is(err, reviewer.ErrNoCommit):
		e.Next = "run the job again: the branch was rewritten meanwhile"
	case errors.Is(err, reviewer.ErrTooLarge):
		e.Next = "go on without it, or raise DEFAULT_GIT_TREES_PER_PAGE in the server's app.ini"
	case errors.Is(err, reviewer.ErrUnsupported):
		e.Next = "go on without it, or use a server that can (Gitea resolves since 1.26 and replies since 1.27, Forgejo attaches)"
	case errors.Is(err, reviewer.ErrGone):
		e.Next = "run the job again: it reads anew what is there"
	case errors.Is(err, errNoOwner):
		e.Next = "give --account LOGIN, as a token that is limited to repositories can't be asked, or create one with " + needed
	case errors.Is(err, errStranger):
		e.Next = "correct --account (REVIEW_BOT_ACCOUNT), or take that account's token"
	case errors.Is(err, errNoRepo):
		e.Next = "check --repo (GITHUB_REPOSITORY) and that the account may read the repository"
	case code == http.StatusUnauthorized:
		e.Err = errors.New("the server doesn't accept the token")
		e.Next = "create one with " + needed + ", and set GITEA_TOKEN"
	case code == http.StatusForbidden && strings.Contains(message, "required scope"):
		e.Err = fmt.Errorf("the token lacks scope %s", scope)
		e.Next = "create one with " + needed + ", and set GITEA_TOKEN"
		if scope == "read:user" {
			e.Next += "; or give --account LOGIN"
		}
	case code == http.StatusForbidden:
		e.Err = fmt.Errorf("the server forbids it: %s", message)
		e.Next = "give the account " + access + " access to the repository"
	case code == http.StatusNotFound && scope == "read:user":
		e.Err = errors.New("no Gitea API answers there (404)")
		e.Next = "check --server (GITHUB_SERVER_URL): it is the address of the forge's front page"
	case code == http.StatusNotFound:
		e.Err = errors.New(message)
		e.Next = "check --repo and --pr"
	case code == http.StatusUnprocessableEntity:
		e.Err = fmt.Errorf("the server refuses it (422): %s", message)
		e.Next = "run the job again; if it happens again, report it with this line"
	case code == http.StatusTooManyRequests:
		e.Err = errors.New("the server answers 429, too many requests")
		e.Next = "run the job again later"
	case code >= http.StatusInternalServerError:
		e.Err = fmt.Errorf("the server answered %d: %s", code, message)
		e.Next = "run the job again; if it happens again, the server's log says why"
	case errors.Is(err, errBroken) && errors.As(err, &urlErr) && !errors.Is(err, context.DeadlineExceeded):
		e.Err = fmt.Errorf("%s: %s", c.cfg.Server, oneLine(urlErr.Err.Error()))
		e.Next = "run the job again; if it happens again, check any proxy before the server"
	case errors.As(err, &urlErr), errors.As(err, &netErr):
		cause := err
		if urlErr != nil {
			cause = urlErr.Err
		}
		e.Err = fmt.Errorf("%s can't be reached: %s", c.cfg.Server, oneLine(cause.Error()))
		e.Next = "check --server (GITHUB_SERVER_URL) and that the server runs"
	case errors.As(err, &syntax), code != 0 && code/100 == 2:
		e.Err = fmt.Errorf("what %s answered is no Gitea answer: %s", c.cfg.Server, message)
		e.Next = "check --server (GITHUB_SERVER_URL) and any proxy before it"
	case code != 0:
		e.Err = fmt.Errorf("the server answered %d: %s", code, message)
		e.Next = "check --server (GITHUB_SERVER_URL)"
	default:
		e.Err = errors.New(message)
		e.Next = "check --server, --repo and --pr"
	}
	if code == http.StatusTooManyRequests || code >= http.StatusInternalServerError || code == 0 && (urlErr != nil || netErr != nil) {
		e.Err = passingError{e.Err}
	}
	if errors.Is(err, reviewer.ErrUnknown) {
		e.Err = unknownError{e.Err}
	}
	if code == http.StatusInternalServerError {
		e.Err = failedError{e.Err}
	}
	return e
}

// failedError is an error with ErrFailed in its chain and not in its words.
type failedError struct{ error }

func (failedError) Is(target error) bool { return target == reviewer.ErrFailed }
func (e failedError) Unwrap() error      { return e.error }

// passingError is an error with ErrUnavailable in its chain and not in its words.
type passingError struct{ error }

func (passingError) Is(target error) bool { return target == reviewer.ErrUnavailable }
func (e passingError) Unwrap() error      { return e.error }

// oneLine folds a server's words into a line of bearable length that is safe to
// print; some answer with whole pages.
func oneLine(s string) string {
	s = untrusted.Plain(s)
	if r := []rune(s); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return s
}
