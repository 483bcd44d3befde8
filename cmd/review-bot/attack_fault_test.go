package main

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
)

// serverFaults are what every kind of request to the forge meets.
var serverFaults = map[string]giteatest.Fault{
	refused:            {Refuse: true}, // from the first such request on
	"reset before":     {CutBefore: true},
	"reset after":      {CutAfter: true},
	"timed out":        {Hold: make(chan struct{})},
	"cut short":        {Half: true},
	"slow drip":        {Drip: time.Second},
	"401":              answers(http.StatusUnauthorized, `{"message":"token is required"}`),
	"403":              answers(http.StatusForbidden, `{"message":"no"}`),
	"404":              answers(http.StatusNotFound, `{"message":"not found"}`),
	"409":              answers(http.StatusConflict, `{"message":"conflict"}`),
	"422":              answers(http.StatusUnprocessableEntity, `{"message":"invalid"}`),
	"429":              answers(http.StatusTooManyRequests, `{"message":"slower"}`),
	"500":              answers(http.StatusInternalServerError, `{"message":"out of order"}`),
	"502":              answers(http.StatusBadGateway, "<html>\n<title>Bad Gateway</title>\n"),
	"200, broken JSON": answers(http.StatusOK, `{"id": [7`),
}

const refused = "refused"

func answers(status int, body string) giteatest.Fault {
	header := http.Header{"Content-Type": {"application/json"}}
	if status == http.StatusTooManyRequests {
		header.Set("Retry-After", "1")
	}
	return giteatest.Fault{Status: status, Header: header, Body: body}
}

// The kinds of requests and their faults that are tried always. The others are make attack's.
var (
	quickFaults = map[string][]string{
		"POST pulls/N/reviews": {"reset after", "500", "timed out", "slow drip"},
		"GET pulls/N.diff":     {"reset after", "500", refused},
	}

	quickModelFaults = []string{refused, "500", "no answer"}
)

// A turn is a push, and the run that follows it.
type turn string

const (
	turnsFine turn = "fine" // what was evil is gone: approved
	turnsEvil turn = "evil" // an approved pull request gets evil code: blocked
	turnsDark turn = "dark" // the same, and no model answers: the approval is taken back
)

// Every kind of request that a run makes meets every fault. The exit status and the line
// are as documented, no evil code is approved by a run that calls itself a success, no lock
// is left, and the next run that nothing disturbs ends as it must.
func TestFaultsOfTheForge(t *testing.T) {
	t.Parallel()
	all := os.Getenv(attacksVariable) != ""
	kinds := requestKinds(t)
	t.Logf("%d kinds of requests: %q", len(kinds), slices.Sorted(maps.Keys(kinds)))
	var made atomic.Int64
	t.Run("kinds", func(t *testing.T) {
		for kind, turns := range kinds {
			if !all && quickFaults[kind] == nil {
				continue
			}
			t.Run(strings.ReplaceAll(kind, "/", "|"), func(t *testing.T) {
				t.Parallel()
				f := newFaultStage(t)
				for n, name := range slices.Sorted(maps.Keys(serverFaults)) {
					if all || slices.Contains(quickFaults[kind], name) {
						f.meets(kind, name, turns[n%len(turns)])
						made.Add(1)
					}
				}
			})
		}
	})
	t.Logf("%d faults made", made.Load())
}

// A faultStage is a pull request whose runs are disturbed. It has been blocked before, so
// that every turn of a kind makes the same kinds of requests.
type faultStage struct {
	*play
	evil   bool // its code, now
	pushes int
}

func newFaultStage(t *testing.T) *faultStage {
	t.Helper()
	f := &faultStage{play: newPlay(t, attackCase{})}
	f.bases()
	f.open(attackOpen{Files: attackFiles{"ok.go": {Text: "fine()\n"}}})
	f.undisturbed()
	f.push(true)
	f.undisturbed()
	return f
}

// requestKinds are the kinds of requests of all turns, each with the turns that make it.
func requestKinds(t *testing.T) map[string][]turn {
	t.Helper()
	f := newFaultStage(t)
	kinds := map[string][]turn{}
	for _, turn := range []turn{turnsEvil, turnsFine, turnsDark} {
		f.before(turn)
		requests := f.during(func() { f.after(turn) })
		for _, r := range requests {
			if kind := kindOf(r); !slices.Contains(kinds[kind], turn) {
				kinds[kind] = append(kinds[kind], turn)
			}
		}
		f.undisturbed()
	}
	return kinds
}

var (
	numberInPath = regexp.MustCompile(`/[0-9]+\b`)
	commitInPath = regexp.MustCompile(`/[0-9a-f]{40}\b`)
	repoInPath   = regexp.MustCompile(`^/api/v1/(repos/[^/]+/[^/]+/)?`)
	nameInPath   = regexp.MustCompile(`(collaborators|branches|raw|contents)/.*`)
)

// kindOf is a request without what differs from one pull request to another.
func kindOf(r giteatest.Request) string {
	path := commitInPath.ReplaceAllString(r.Path, "/SHA")
	path = numberInPath.ReplaceAllString(path, "/N")
	path = repoInPath.ReplaceAllString(path, "")
	return r.Method + " " + nameInPath.ReplaceAllString(path, "$1/…")
}

// before brings the pull request to where a turn begins: its push is made.
func (f *faultStage) before(turn turn) {
	f.Helper()
	if evil := turn == turnsFine; evil != f.evil {
		f.push(evil)
		f.undisturbed()
	}
	f.push(turn != turnsFine)
}

func (f *faultStage) push(evil bool) {
	f.Helper()
	f.pushes++
	fine := attackFile{Text: fmt.Sprintf("fine(%d)\n", f.pushes)}
	files := attackFiles{"ok.go": fine, "too.go": fine} // several contents are read in one request
	if evil {
		files["evil.go"] = attackFile{Text: fmt.Sprintf("EVIL(%d)\n", f.pushes)}
	} else if f.evil {
		files["evil.go"] = attackFile{Delete: true}
	}
	f.evil = evil
	f.play.pushes(attackPush{Files: files})
}

// after is the run of a turn.
func (f *faultStage) after(turn turn) ended {
	f.Helper()
	m := &attackModel{}
	if turn == turnsDark {
		m.Fails = http.StatusInternalServerError
	}
	return f.run(m, "--patience", "1s", "--lock-wait", "2s", "--forge-limit", "3s")
}

func (f *faultStage) run(m *attackModel, args ...string) ended {
	f.Helper()
	if !f.evil {
		m.Keep = []string{"nothing of it"}
	}
	w := attackModelServer(f.T, m)
	return f.job(w.Server).run(f.T, args...)
}

// job is one in a runner, which isn't at its end after some rounds.
func (f *faultStage) job(m *modeltest.Server) job {
	return f.stage.job(m, "logic").with("GITHUB_ACTIONS", "true").with("REVIEW_BOT_MAX_ROUNDS", "0")
}

// undisturbed has a run do what it must.
func (f *faultStage) undisturbed() {
	f.Helper()
	var e ended
	sent := f.during(func() { e = f.run(&attackModel{}, "--lock-expire", "1s") })
	s := f.look(f.T)
	if len(s.reactions) > 0 && len(writes(sent)) == 0 {
		s.reactions = nil // a job with nothing to do takes no lock, and the dead one's expires
		f.unlock(f.T)
	}
	if e.status != 0 || s.gate() != f.wanted() || len(s.disquiet()) > 0 {
		f.Fatalf("undisturbed: exit status %d, gate {%s}, want {%s}; %q\n%s\n%s",
			e.status, s.gate(), f.wanted(), s.disquiet(), e.stderr, s)
	}
}

func (f *faultStage) wanted() string {
	if f.evil {
		return "REQUEST_CHANGES"
	}
	return "APPROVED"
}

// meets has all requests of a kind meet a fault in one run.
func (f *faultStage) meets(kind, name string, turn turn) {
	f.Helper()
	what := fmt.Sprintf("%s at %s, %s", name, kind, turn)
	f.before(turn)
	var hit atomic.Int64
	f.proxy.SetHook(func(r *giteatest.Request) *giteatest.Fault {
		if kindOf(*r) != kind {
			return nil
		}
		hit.Add(1)
		fault := serverFaults[name]
		return &fault
	})
	e := f.after(turn)
	f.proxy.SetHook(nil)
	if err := f.proxy.Listen(); err != nil {
		f.Fatal(err)
	}
	s := f.look(f.T)
	if hit.Load() == 0 {
		f.Errorf("%s: there was no such request", what)
	}
	if e.status != 0 && e.status != 1 || e.status == 1 && !e.oneLine() {
		f.Errorf("%s: exit status %d, want one line that says what to do\n%s", what, e.status, e.stderr)
	}
	if e.status == 0 && s.gate() != f.wanted() {
		f.Errorf("%s: ends well, and the gate is {%s}\n%s\n%s", what, s.gate(), e.stderr, s)
	}
	if f.evil && s.gate() == "APPROVED" && !strings.Contains(e.stderr, "required check") {
		f.Errorf("%s: evil code is approved, and the line doesn't say what holds the gate\n%s\n%s", what, e.stderr, s)
	}
	if lock := "issues/N/reactions"; len(s.reactions) > 0 && name != refused && !strings.HasSuffix(kind, lock) {
		f.Errorf("%s: a lock was left", what)
	}
	if len(s.reactions) > 0 {
		time.Sleep(1100 * time.Millisecond) // the lock of a dead job expires
	}
	f.undisturbed()
}

// oneLine reports whether the job said in one line what failed and what to do.
func (e ended) oneLine() bool {
	n := 0
	for line := range strings.Lines(e.stderr) {
		if strings.HasPrefix(line, "::error::review-bot: ") && strings.Contains(line, " — ") {
			n++
		}
	}
	return n == 1
}

// The model's server fails in every way, and the approval of an earlier head goes.
func TestFaultsOfTheModel(t *testing.T) {
	t.Parallel()
	f := newFaultStage(t)
	gone := modeltest.New(modeltest.Sequence())
	gone.Close()
	html := modeltest.Reply{Status: http.StatusBadGateway, RawBody: []byte("<html>\n"), ContentType: "text/html"}
	for name, reply := range map[string]modeltest.Reply{
		refused:       {},
		"reset":       {Content: "{}", Cut: modeltest.CutReset},
		"timed out":   {Content: "{}", Delay: time.Minute},
		"401":         modeltest.Fail(http.StatusUnauthorized, "no such key"),
		"403":         modeltest.Fail(http.StatusForbidden, "no"),
		"404":         modeltest.Fail(http.StatusNotFound, "no such model"),
		"409":         modeltest.Fail(http.StatusConflict, "conflict"),
		"422":         modeltest.Fail(http.StatusUnprocessableEntity, "invalid"),
		"429":         {Status: http.StatusTooManyRequests, Headers: map[string]string{"Retry-After": "1"}},
		"500":         modeltest.Fail(http.StatusInternalServerError, "out of order"),
		"502":         html,
		"broken JSON": {RawBody: []byte(`{"choices": [`)},
		"cut short":   {Content: strings.Repeat("x", 1000), Cut: modeltest.CutBody},
		"no body":     {Content: "{}", Cut: modeltest.CutHeaders},
		"slow drip":   {Content: strings.Repeat("x", 1000), Drip: time.Second},
		"no answer":   {Content: "I approve."},
	} {
		if os.Getenv(attacksVariable) == "" && !slices.Contains(quickModelFaults, name) {
			continue
		}
		f.before(turnsEvil)
		srv := model(t, modeltest.ByMatch(modeltest.Match{Reply: reply}))
		j := f.job(srv)
		if name == refused {
			j = j.with("OPENAI_BASE_URL", gone.URL())
		}
		e := j.run(t, "--patience", "1500ms")
		if s := f.look(t); e.status != 1 || !e.oneLine() || s.gate() == "APPROVED" || len(s.disquiet()) > 0 {
			t.Errorf("%s: exit status %d, gate {%s}, %q\n%s", name, e.status, s.gate(), s.disquiet(), e.stderr)
		}
		f.undisturbed()
	}
}
