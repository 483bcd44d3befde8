package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"review-bot/prompts"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
	"review-bot/sentinel"
)

// The tests of the publishing protocol share one repository. A pull request in
// it is a topic branch and a base. A push of so many branches takes the server
// minutes; so they are made on its disk, and a fork makes it take notice of them.
type site struct {
	bench
	maintainer *giteatest.User // an administrator of the repository
	author     *giteatest.User // of the pull requests
	writer     *giteatest.User // a further collaborator
	outsider   *giteatest.User // no collaborator; the repository is public
	commits    []string        // a topic's, each on top of the one before; 0 is the base
	topics     atomic.Int64
	bases      atomic.Int64
}

const (
	topics = 60
	bases  = 170 // of each kind

	// The kinds of bases: protected by one approval and by block_on_rejected_reviews,
	// and some by a further rule.
	protected  = "protected"
	dismissing = "dismissing" // dismiss_stale_approvals
	ignoring   = "ignoring"   // ignore_stale_approvals
)

var shared struct {
	sync.Mutex
	site *site
}

func theSite(t *testing.T) *site {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.site != nil {
		return shared.site
	}
	srv := giteatest.Get(t)
	s := &site{}
	s.srv = srv
	for _, u := range []struct {
		name string
		to   **giteatest.User
	}{{"owner", &s.owner}, {"bot", &s.bot}, {"maintainer", &s.maintainer}, {"author", &s.author}, {"writer", &s.writer}, {"outsider", &s.outsider}} {
		*u.to = srv.NewUser(t, giteatest.Unique(u.name))
	}
	s.repo = srv.NewRepo(t, srv.NewUser(t, giteatest.Unique("seed")), "app", giteatest.RepoOptions{Files: map[string]string{"a.txt": "a\n"}})
	s.commits = append(s.commits, s.repo.SHA(t, "main"))
	for i := range 4 {
		edit := giteatest.Files(map[string]string{"b.txt": numbered(20, "\n"), fmt.Sprintf("step%d.txt", i+1): "done\n"})
		if err := edit(s.repo.Dir()); err != nil {
			t.Fatal(err)
		}
		s.repo.Git(t, "add", "--all")
		s.repo.Git(t, "commit", "-q", "-m", "step")
		s.commits = append(s.commits, s.repo.SHA(t, "HEAD"))
	}
	s.repo.Push(t, "HEAD", "story", false)
	var refs strings.Builder
	for i := range topics {
		fmt.Fprintf(&refs, "create refs/heads/topic-%02d %s\n", i, s.commits[1])
	}
	for _, kind := range []string{protected, dismissing, ignoring} {
		for i := range bases {
			fmt.Fprintf(&refs, "create refs/heads/%s-%03d %s\n", kind, i, s.commits[0])
		}
	}
	update := exec.CommandContext(t.Context(), "git", "-C", s.dir(), "update-ref", "--stdin")
	update.Stdin = strings.NewReader(refs.String())
	if out, err := update.CombinedOutput(); err != nil {
		t.Fatalf("git update-ref: %v: %s", err, out)
	}
	s.repo = s.repo.Fork(t, s.owner)
	s.repo.SHA(t, "story") // fetches the commits
	s.quickHooks(t)
	// Without Actions the server doesn't look for workflows at every push and review.
	srv.Call(t, s.owner.Token, http.MethodPatch, s.api(""), map[string]any{"has_actions": false, "has_wiki": false, "has_projects": false}, nil)
	for user, permission := range map[*giteatest.User]string{s.bot: "write", s.author: "write", s.writer: "write", s.maintainer: "admin"} {
		s.repo.AddCollaborator(t, user, permission)
	}
	rule := giteatest.Protection{RequiredApprovals: 1, BlockOnRejectedReviews: true}
	s.repo.Protect(t, protected+"-*", rule)
	rule.DismissStaleApprovals = true
	s.repo.Protect(t, dismissing+"-*", rule)
	rule.DismissStaleApprovals, rule.IgnoreStaleApprovals = false, true
	s.repo.Protect(t, ignoring+"-*", rule)
	shared.site = s
	return s
}

// quickHooks spares the server's own pushes, such as that of a new pull request's
// head, from starting it three times for hooks in which it does nothing for them.
func (s *site) quickHooks(t *testing.T) {
	t.Helper()
	for _, hook := range []string{"pre-receive", "update", "post-receive"} {
		path := filepath.Join(s.dir(), "hooks", hook+".d", "gitea")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		quick := strings.Replace(string(text), "\n", "\n[ \"$GITEA_INTERNAL_PUSH\" = true ] && exit 0\n", 1)
		if err := os.WriteFile(path, []byte(quick), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// dir is the repository on the server's disk.
func (s *site) dir() string {
	return filepath.Join(s.srv.Dir(), "repositories", strings.ToLower(s.repo.FullName())+".git")
}

// topic is a branch that no other test uses. It is at commit 1.
func (s *site) topic(t *testing.T) string {
	t.Helper()
	n := s.topics.Add(1) - 1
	if n >= topics {
		t.Fatalf("%d topics are used up: raise the constant", topics)
	}
	return fmt.Sprintf("topic-%02d", n)
}

// stage is a pull request that the bot reaches through a proxy of its own, which
// sees every request of it.
type stage struct {
	*site
	pull  *giteatest.Pull
	proxy *giteatest.Proxy
	topic string
}

// newStage opens a pull request at commit 1 against a base of that kind.
func newStage(t *testing.T, kind string) stage {
	t.Helper()
	s := theSite(t)
	return s.open(t, s.topic(t), kind)
}

// open opens a pull request of a topic. Several may have the same topic: each has
// a base of its own, which nothing else is merged into.
func (s *site) open(t *testing.T, topic, kind string) stage {
	t.Helper()
	n := s.bases.Add(1) - 1
	if n >= bases {
		t.Fatalf("%d bases are used up: raise the constant", bases)
	}
	base := fmt.Sprintf("%s-%03d", kind, n)
	st := stage{site: s, topic: topic}
	// Nothing waits until the server has checked for conflicts: only merging needs
	// that, and asks again. The bot's view: a pending review is its author's to see.
	st.pull = &giteatest.Pull{Repo: s.repo.As(s.bot)}
	var made giteatest.PullState
	s.srv.Call(t, s.author.Token, http.MethodPost, s.api("/pulls"), map[string]any{"head": topic, "base": base, "title": "pull " + topic}, &made)
	st.pull.Index, st.pull.Head = made.Number, made.Head.SHA
	return st.beside(t)
}

// beside is the same pull request through a further proxy: for a job that another
// one's faults are to spare. In the end nothing was deleted through it.
func (st stage) beside(t *testing.T) stage {
	t.Helper()
	st.proxy = st.srv.NewProxy(t)
	t.Cleanup(func() {
		st.nothingDeleted(t)
		st.proxy.Close()
	})
	return st
}

// nothingDeleted checks that nothing but the lock was ever deleted.
func (st stage) nothingDeleted(t *testing.T) {
	t.Helper()
	for _, r := range st.proxy.Requests() {
		if r.Method == "DELETE" && !strings.HasSuffix(r.Path, fmt.Sprintf("/issues/%d/reactions", st.pull.Index)) {
			t.Errorf("the bot sent %s", r.Line())
		}
	}
}

// push makes the topic's head that commit. What the server does in the background
// (marking reviews as stale, dismissing approvals) may come later.
func (st stage) push(t *testing.T, commit int) {
	t.Helper()
	st.repoint(t, commit)
	st.arrived(t, st.commits[commit])
}

// arrived waits until the server has taken in a push: its diff is that of the new head.
// Before that a run reads again and again, and sends more requests than otherwise.
// The timeline's entry may come a little later, or be hidden.
func (st stage) arrived(t *testing.T, head string) {
	t.Helper()
	ref := fmt.Sprintf("refs/pull/%d/head", st.pull.Index)
	if err := giteatest.Poll(t.Context(), time.Minute, ref+" is at "+head, func() (bool, error) {
		var text string
		_, err := st.srv.Do(t.Context(), st.bot.Token, http.MethodGet, st.api("/git/%s", ref), nil, &text)
		return strings.Contains(text, head) && st.pull.State(t).Head.SHA == head, err
	}); err != nil {
		t.Fatalf("%v\n%s", err, st.look(t))
	}
	_ = giteatest.Poll(t.Context(), 3*time.Second, "the timeline has the push", func() (bool, error) {
		return slices.ContainsFunc(st.pull.Timeline(t), func(e giteatest.TimelineEntry) bool {
			return e.Type == "pull_push" && strings.Contains(e.Body, head)
		}), nil
	})
}

func (st stage) repoint(t giteatest.TB, commit int) {
	t.Helper()
	st.repo.As(st.author).Git(t, "push", "-q", st.repo.CloneURL(), st.commits[commit]+":refs/heads/"+st.topic)
}

func (s *site) api(format string, args ...any) string {
	return "/repos/" + s.repo.FullName() + fmt.Sprintf(format, args...)
}

// job is the role's job on this pull request.
func (st stage) job(m *modeltest.Server, role string) job {
	return st.bench.job(st.pull, m, role).with("GITHUB_SERVER_URL", st.proxy.URL)
}

// blocking and approving are models with two inline findings each, on lines that
// tell the role. They are others than those of a blocking model for the same
// line, so that the one's findings aren't taken for the other's. Whatever they are
// shown of earlier rounds and don't say again they take for fixed by the push.
func blocking(t *testing.T, line int) *modeltest.Server {
	t.Helper()
	return fixing(t, onLine(line), onLine(line+1))
}

func approving(t *testing.T, line int) *modeltest.Server {
	t.Helper()
	return fixing(t, severe(onLine(line+5), prompts.Low), severe(onLine(line+6), prompts.Low))
}

// fixing is a model that names the newest commit as the fix of all earlier findings.
func fixing(t *testing.T, findings ...prompts.Finding) *modeltest.Server {
	t.Helper()
	return model(t, func(req modeltest.Request) modeltest.Reply {
		a, step := answer(findings...), ""
		if steps := stepFile.FindAllString(req.Text(), -1); len(steps) > 0 {
			step = slices.Max(steps)
		}
		for _, e := range earlierIn(t, req.Text()) {
			a.Closed = append(a.Closed, prompts.Fix{ID: e.id, By: step + ":1"})
		}
		return modeltest.Answer(a)
	})
}

// stepFile is a file that a commit of a topic adds, see theSite.
var stepFile = regexp.MustCompile(`\bstep\d\.txt\b`)

func onLine(n int) prompts.Finding { return at("b.txt", n, fmt.Sprintf("line %d of the file", n)) }

// reconcile is the command of that name. It asks no model.
func (st stage) reconcile(t *testing.T, args ...string) ended {
	t.Helper()
	e := st.job(model(t, modeltest.Sequence()), "").run(t, append([]string{"reconcile"}, args...)...)
	if e.status != 0 {
		t.Fatalf("reconcile: exit status %d\n%s%s\n%s", e.status, e.stdout, e.stderr, st.look(t))
	}
	return e
}

// during returns the requests that the bot sent while fn ran.
func (st stage) during(fn func()) []giteatest.Request {
	before := len(st.proxy.Requests())
	fn()
	return st.proxy.Requests()[before:]
}

// writes are the requests among them that aren't GET, one line each.
func writes(requests []giteatest.Request) []string {
	list := []string{}
	for _, r := range requests {
		if r.Method != http.MethodGet {
			list = append(list, fmt.Sprintf("%s → %d", r.Line(), r.Status))
		}
	}
	return list
}

// published are the writes but those of the lock.
func published(requests []giteatest.Request) []string {
	return slices.DeleteFunc(writes(requests), func(line string) bool { return strings.Contains(line, "/reactions ") })
}

// standing is what stands on a pull request.
type standing struct {
	rows      []row // the account's, in the order of submission
	others    []giteatest.Review
	timeline  []giteatest.TimelineEntry
	reactions []string
	bot       string
}

// row is a review of the bot's account.
type row struct {
	giteatest.Review
	text     string            // current
	posted   sentinel.Sentinel // of the body as it was posted
	now      sentinel.Sentinel // of the current text
	comments []giteatest.Comment
}

// look reads everything that stands on the pull request, without the proxy.
func (st stage) look(t *testing.T) standing {
	t.Helper()
	s := standing{timeline: st.pull.Timeline(t), bot: st.bot.Name}
	texts := map[int64]string{}
	for _, e := range s.timeline {
		if e.Type == "review" {
			texts[e.ReviewID] = e.Body
		}
	}
	for _, review := range st.pull.Reviews(t) {
		if review.User.ID != st.bot.ID {
			s.others = append(s.others, review)
			continue
		}
		if review.State == "REQUEST_REVIEW" {
			continue
		}
		r := row{Review: review, text: texts[review.ID]}
		if _, ok := texts[review.ID]; !ok {
			r.text = review.Body
		}
		_, r.posted, _ = sentinel.Split(review.Body)
		_, r.now, _ = sentinel.Split(r.text)
		if review.CommentsCount > 0 {
			r.comments = st.pull.Comments(t, review.ID)
			slices.SortFunc(r.comments, func(a, b giteatest.Comment) int { return cmp.Compare(a.Body, b.Body) })
		}
		s.rows = append(s.rows, r)
	}
	slices.SortStableFunc(s.rows, func(a, b row) int { return cmp.Compare(a.place(), b.place()) })
	for _, r := range st.reactions(t) {
		s.reactions = append(s.reactions, r.User.Login+" "+r.Content)
	}
	return s
}

type reaction struct {
	User    struct{ Login string }
	Content string
	Created time.Time `json:"created_at"`
}

func (st stage) reactions(t *testing.T) (list []reaction) {
	t.Helper()
	st.srv.Call(t, st.bot.Token, http.MethodGet, st.api("/issues/%d/reactions", st.pull.Index), nil, &list)
	return list
}

// comment is the id of the row's timeline entry, 0 if it was deleted.
func (r row) comment() int64 {
	_, id, _ := strings.Cut(r.HTMLURL, "#issuecomment-")
	n, _ := strconv.ParseInt(id, 10, 64)
	return n
}

func (r row) place() int64 { return cmp.Or(r.comment(), 1<<62+r.ID) }

// gate is what the forge counts of the account, in one word per verdict.
func (s standing) gate() string {
	states := map[string]bool{}
	for _, r := range s.rows {
		if r.Official && !r.Dismissed && (r.State == "APPROVED" || r.State == "REQUEST_CHANGES") {
			states[r.State] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(states)), " ")
}

// current are the role's records that are neither superseded nor retired, older
// requests for changes aside: those stay as they were.
func (s standing) current(role string) []row {
	var list []row
	for _, r := range s.rows {
		if r.posted.Kind != sentinel.KindVerdict || r.posted.Role != role || r.now.State != sentinel.Live {
			continue
		}
		if n := len(list); n > 0 && list[n-1].State == "REQUEST_CHANGES" {
			list = list[:n-1]
		}
		list = append(list, r)
	}
	return list
}

// states are the rows' states, oldest first.
func (s standing) states() string {
	var list []string
	for _, r := range s.rows {
		list = append(list, r.State)
	}
	return strings.Join(list, " ")
}

// String shows it all, for a failure.
func (s standing) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "what stands on the pull request (gate {%s}, reactions %q):\n", s.gate(), s.reactions)
	for _, r := range s.rows {
		fmt.Fprintf(&b, "  review %d %s official=%v dismissed=%v stale=%v at %.7s, entry %d\n    posted %s\n", r.ID, r.State, r.Official, r.Dismissed, r.Stale, r.CommitID, r.comment(), r.posted)
		if r.text != r.Body {
			fmt.Fprintf(&b, "    now    %s\n", r.now)
		}
		for line := range strings.Lines(r.text) {
			fmt.Fprintf(&b, "    | %s\n", strings.TrimRight(line, "\r\n"))
		}
		for _, c := range r.comments {
			fmt.Fprintf(&b, "    inline %s new %d old %d: %q\n", c.Path, c.Position, c.Original, c.Body)
		}
	}
	for _, r := range s.others {
		fmt.Fprintf(&b, "  review %d %s by %s official=%v dismissed=%v: %q\n", r.ID, r.State, r.User.Login, r.Official, r.Dismissed, r.Body)
	}
	for _, e := range s.timeline {
		fmt.Fprintf(&b, "  entry %d %s by %s review %d\n", e.ID, e.Type, e.User.Login, e.ReviewID)
	}
	return b.String()
}

// quiet checks what must hold whenever no job is at work, see disquiet.
func (s standing) quiet(t *testing.T) {
	t.Helper()
	if faults := s.disquiet(); len(faults) > 0 {
		t.Errorf("%s\n%s", strings.Join(faults, "\n"), s)
	}
}

// disquiet is what must not be while no job is at work: a lock, a review that was
// begun and not submitted, two current records of one role, or an inline comment
// in another role's review.
func (s standing) disquiet() (faults []string) {
	if len(s.reactions) > 0 {
		faults = append(faults, "a reaction was left")
	}
	roles := map[string]bool{}
	for _, r := range s.rows {
		roles[r.posted.Role] = true
		if r.State == "PENDING" {
			faults = append(faults, fmt.Sprintf("review %d is pending", r.ID))
		}
		for _, c := range r.comments {
			markers := sentinel.Markers(c.Body)
			if r.posted.Kind == sentinel.KindVerdict && c.User.ID == r.User.ID &&
				(len(markers) != 1 || markers[0].Role != r.posted.Role) {
				faults = append(faults, fmt.Sprintf("comment %d is in review %d of %s: %q", c.ID, r.ID, r.posted.Role, c.Body))
			}
		}
	}
	for role := range roles {
		if n := len(s.current(role)); n > 1 {
			faults = append(faults, fmt.Sprintf("%s has %d current records", role, n))
		}
	}
	return faults
}

// What the merge endpoint says.
const (
	open    = "open"    // the account approves
	blocked = "blocked" // the account requests changes, and no approval of others helps
	waiting = "waiting" // the account says nothing: it takes an approval by a person
)

// settled checks that a pull request is at rest, what the forge counts of the
// account, and that the merge endpoint agrees. It ends with merging, where that
// is allowed.
func (st stage) settled(t *testing.T, want string) {
	t.Helper()
	s := st.look(t)
	s.quiet(t)
	if got, want := s.gate(), map[string]string{open: "APPROVED", blocked: "REQUEST_CHANGES"}[want]; got != want {
		t.Errorf("the gate is {%s}, want {%s}\n%s", got, want, s)
	}
	status, message := st.pull.TryMerge(t, st.maintainer)
	if (status == http.StatusOK) != (want == open) {
		t.Errorf("merging answers %d %s, want %s\n%s", status, message, want, s)
	}
	if want == open || status == http.StatusOK {
		return
	}
	// Only now does the endpoint tell a block from a missing approval.
	st.pull.Review(t, st.maintainer, giteatest.ReviewInput{Event: "APPROVED"})
	status, message = st.pull.TryMerge(t, st.maintainer)
	if want == blocked && (status != http.StatusMethodNotAllowed || message != "There are requested changes") || want == waiting && status != http.StatusOK {
		t.Errorf("with a person's approval merging answers %d %s, want %s\n%s", status, message, want, s)
	}
}
