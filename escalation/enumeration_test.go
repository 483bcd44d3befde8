package escalation_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
	"review-bot/sentinel"
)

// The enumeration runs the jobs of one account against the in-memory forge in
// every order of their requests, with crashes and with people's acts in between,
// and checks the invariants of the protocol wherever all jobs have ended.
//
// What is merged, and why nothing is lost by it:
//   - A job's first reading (before the model is asked) is one step: all that it
//     decides is decided again on the reading under the lock. It still happens at
//     every possible moment, and with every head.
//   - Readings of a job that holds the lock are one step with what follows once no
//     act of a person is left to happen: nobody else writes then, so they commute
//     with all that the others can do.
//   - A job begins only where no other job's next step is something else than a write:
//     its first reading commutes with those steps, so it can be thought of as later.
//     While a person may still act, it begins anywhere.
//   - Where a role's jobs don't overlap, a job that is going to publish begins in the
//     same step in which it gets the lock: what it read earlier would be the same in
//     all that counts, its own role's record and the question. One that finds nothing
//     to do still ends at any moment.
//   - A crash is tried before every write and before the release of the lock. One
//     before a read leaves the same behind as one before the write that follows it.
//   - A job that waits for a lock which a living job holds isn't run until it is
//     free; one that waits for a dead job's lock finds the clock moved on.
//   - A job for the old head that doesn't hold the lock when a push comes is left out
//     from then on. If it has begun, it will find a newer head under the lock and write
//     nothing; if it hasn't, it would do what the role's job for the new head does, and
//     the same role twice is a case of its own.
//   - Without the lock, asking for it in vain and reading the head don't touch what
//     others see or write.
//   - The roles are alike: of cases that differ by exchanging them one is run.

const (
	h0 = "0000000000000000000000000000000000000a00" // an older head
	q  = "0123456789abcdef"
)

// verdicts say what a role finds at a head.
type verdicts map[string]sentinel.Verdict // by role+head

// act is what a person may do, once, at any moment.
type act string

const (
	noAct     act = "nobody does anything"
	push      act = "a push"
	dismissal act = "a dismissal"
	rerequest act = "a re-request"
	twice     act = "the first role runs twice"
	changing  act = "the author asks for a review and takes that back"
	retarget  act = "the base branch is changed"
	undoing   act = "a dismissal that is taken back"
)

// fault is a deliberate mistake of the jobs.
type fault string

const (
	noFault             fault = ""
	siblingsByEvent     fault = "siblings judged by published event"
	noReread            fault = "no re-read after a write"
	staleDesire         fault = "a stale D posted in repair"
	supersedeFirst      fault = "supersede before POST"
	changedPatched      fault = "a changed own verdict patched"
	approvesWithoutLock fault = "APPROVED without the lock"
	withoutHold         fault = "an approval taken back without a hold"
	endsAsItIs          fault = "a run without a verdict leaves the gate as it is"
	forgetsUndone       fault = "a dismissal that was taken back isn't noted"
	approvesBesides     fault = "APPROVED besides a sibling that couldn't read all of it"
)

// scenario is what stays the same while the jobs run.
type scenario struct {
	roles    []string
	finds    verdicts
	act      act
	lockless bool // the lock can't be had
	crashes  int
	forGood  bool // a job that dies is not run again; reconcile is, at the end
	hidden   bool // the ordinary reading of the timeline lacks requests and dismissals
	ticks    bool // a second passes with every write
	dialect  forgetest.Dialect
	stumbles bool // the server fails over one of the first role's two comments
	fault    fault
}

// job is one run of a role.
type job struct {
	role    string
	run     int // counts the role's jobs, for the nonce
	begun   bool
	over    bool
	cfg     *escalation.Config
	pub     escalation.Publication
	seen    string // fingerprint of the first reading
	reading string // fingerprint of the reading under way or last
	outcome escalation.Outcome
	failed  error
	own     sentinel.Verdict
	head    string

	// For the deliberate mistakes.
	firstRows    []escalation.Row
	firstEntries []escalation.Entry
	edited       bool // the superseding edit was made already
}

// world is a state.
type world struct {
	forge   *forgetest.Forge
	jobs    []job
	crashes int
	acted   bool
	asked   bool  // the person has done the first half of an act, and is going to take it back
	moved   bool  // to another base branch
	trail   *step // how it came about, newest first

	wrong  bool  // the starting log's gate didn't hold what a role blocks
	idle   bool  // a job began where it could only wait; see the top of the file
	died   bool  // a job died for good
	pushed int64 // newest timeline entry when the push came

	shown   bool // printed is the forge's
	printed forgetest.Fingerprint
}

// prints are the forge's fingerprints.
func (w *world) prints() forgetest.Fingerprint {
	if !w.shown {
		w.printed, w.shown = w.forge.Fingerprint(), true
	}
	return w.printed
}

type step struct {
	what string
	last *step
}

func (w *world) clone(what string) *world {
	c := *w
	c.forge = w.forge.Clone()
	c.jobs = slices.Clone(w.jobs)
	c.shown = false
	c.trail = &step{what, w.trail}
	return &c
}

func (w *world) key() string {
	var b strings.Builder
	prints := w.prints()
	b.Write(prints.Pull[:12])
	b.Write(prints.Reviews[:12])
	b.Write(prints.Timeline[:12])
	b.Write(prints.Reactions[:12])
	fmt.Fprint(&b, w.crashes, w.acted, w.asked, w.moved)
	// Jobs of a role that have not begun are alike.
	for _, j := range w.jobs {
		fmt.Fprint(&b, "|", j.role, j.run, j.begun, j.over)
		if j.begun && !j.over {
			fmt.Fprint(&b, j.pub.State(), j.seen, j.reading, j.edited, j.cfg.Rest, j.cfg.Against.MergeBase)
		}
		if j.over {
			fmt.Fprint(&b, j.outcome, j.failed != nil, j.head)
		}
	}
	return b.String()
}

func (w *world) pull() reviewer.Pull {
	pull, _ := w.forge.As("bot").Pull(context.Background())
	if w.moved {
		pull.BaseBranch, pull.MergeBase = "strict", strings.Repeat("5", 40)
	}
	return pull
}

// enumerator walks through all states that a scenario leads to.
type enumerator struct {
	sc      scenario
	visited map[string]struct{}
	rested  map[forgetest.Fingerprint]struct{} // ends at which no job writes any more
	states  int
	ends    int
	bad     string // the first violation, with the way to it
}

func newKey() sentinel.Key { return sentinel.NewKey("token of the bot", "owner/repo", 1) }

// explore visits everything that start leads to.
func (e *enumerator) explore(start *world) {
	todo := []*world{start}
	for len(todo) > 0 && e.bad == "" {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		key := w.key()
		if _, ok := e.visited[key]; ok {
			continue
		}
		e.visited[key] = struct{}{}
		e.states++
		why := e.calm(w)
		halfway := w.asked && !w.acted // what a person has cleared is open until a job has run
		if !halfway && !slices.ContainsFunc(w.jobs, func(j job) bool { return !j.over }) {
			e.ends++
			end := w
			if w.died {
				end, _ = e.reconcile(w)
			}
			why = cmp.Or(why, e.check(end))
		}
		if why != "" {
			e.bad = why + "\n" + w.story()
			return
		}
		todo = append(todo, e.next(w)...)
	}
}

func (w *world) story() string {
	var steps []string
	for s := w.trail; s != nil; s = s.last {
		steps = append(steps, s.what)
	}
	slices.Reverse(steps)
	return strings.Join(steps, "\n") + "\n" + w.forge.Dump()
}

// next lists what may happen in w.
func (e *enumerator) next(w *world) []*world {
	var list []*world
	for i := range w.jobs {
		j := &w.jobs[i]
		if j.over {
			continue
		}
		if j.begun && j.pub.Ask.Kind == escalation.AskLock && !e.sc.lockless && w.locked() && w.holderLives() {
			continue
		}
		if !j.begun && w.acted && w.others(i, e.sc) {
			continue
		}
		name := fmt.Sprintf("%s.%d", j.role, j.run)
		what := "reads"
		if j.begun {
			what = string(j.pub.Ask.Kind) + " " + string(j.pub.Ask.Post.Event)
		}
		c := w.clone(name + " " + what)
		if why := e.run(c, i); why != "" {
			e.bad = why + "\n" + c.story()
			return nil
		}
		if c.idle {
			continue
		}
		list = append(list, c)
		if w.crashes > 0 && j.begun && (writes(j.pub.Ask.Kind) || j.pub.Ask.Kind == escalation.AskUnlock) {
			c := w.clone(name + " dies before " + what)
			c.die(i, e.sc)
			list = append(list, c)
			if j.pub.Ask.Kind == escalation.AskPost && len(j.pub.Ask.Post.Comments) > 0 {
				c := w.clone(name + " dies in the middle of " + what)
				view := c.forge.As("bot")
				view.Hook = func(call forgetest.Call) error {
					if !call.Done {
						return forgetest.BrokenPost{Comments: 1}
					}
					return nil
				}
				reviewer.CarryOut(context.Background(), view, j.cfg, j.pub.Ask)
				c.die(i, e.sc)
				list = append(list, c)
			}
		}
	}
	if !w.acted {
		list = append(list, e.acts(w)...)
	}
	return list
}

// die ends a job where it is. It is run again, or left.
func (w *world) die(i int, sc scenario) {
	w.crashes--
	if sc.forGood {
		w.died = true
		w.jobs = slices.Delete(w.jobs, i, i+1)
		return
	}
	w.jobs[i] = job{role: w.jobs[i].role, run: w.jobs[i].run + 10}
}

// others tells whether a job other than i can make a step that isn't a write.
func (w *world) others(i int, sc scenario) bool {
	for k, j := range w.jobs {
		if k == i || !j.begun || j.over || writes(j.pub.Ask.Kind) {
			continue
		}
		if j.pub.Ask.Kind == escalation.AskLock && !sc.lockless && w.locked() && w.holderLives() {
			continue
		}
		return true
	}
	return false
}

func writes(k escalation.AskKind) bool {
	return slices.Contains([]escalation.AskKind{escalation.AskPost, escalation.AskEdit, escalation.AskSubmit, escalation.AskWithdraw}, k)
}

func reads(k escalation.AskKind) bool {
	return slices.Contains([]escalation.AskKind{escalation.AskReviews, escalation.AskTimeline, escalation.AskHead, escalation.AskComments}, k)
}

func (w *world) locked() bool {
	list, _, _ := w.forge.As("bot").Reactions(context.Background())
	return len(list) > 0
}

func (w *world) holderLives() bool {
	return slices.ContainsFunc(w.jobs, func(j job) bool { return j.begun && !j.over && j.pub.Held() })
}

// acts lists what a person may do in w.
func (e *enumerator) acts(w *world) []*world {
	var list []*world
	switch e.sc.act {
	case push:
		c := w.clone("a push")
		c.acted = true
		for _, r := range e.log(w).Entries {
			c.pushed = max(c.pushed, r.ID)
		}
		c.forge.Push("author", map[string]string{"a.go": "package pushed\n"})
		c.jobs = slices.DeleteFunc(c.jobs, func(j job) bool { return !j.over && !(j.begun && j.pub.Held()) })
		for _, role := range e.sc.roles {
			c.jobs = append(c.jobs, job{role: role, run: 2})
		}
		list = append(list, c)
	case rerequest:
		c := w.clone("a re-request")
		if err := c.forge.As("owner").RequestReview(context.Background(), "bot"); err == nil {
			c.acted = true
			c.jobs = append(c.jobs, job{role: e.sc.roles[0], run: 2})
			list = append(list, c)
		}
	case dismissal:
		// The person runs a job again afterwards, as one does to see it take effect.
		rows, _ := w.forge.As("owner").Reviews(context.Background())
		for _, row := range rows {
			if row.State == escalation.RowRequestChanges && !row.Dismissed {
				c := w.clone(fmt.Sprintf("a dismissal of %d", row.ID))
				c.acted = true
				c.jobs = append(c.jobs, job{role: e.sc.roles[0], run: 2})
				if err := c.forge.Dismiss("owner", row.ID, "agreed", false); err == nil {
					list = append(list, c)
				}
			}
		}
	case changing:
		// The removal starts a job, as the recommended triggers have it.
		c := w.clone("the author asks for a review")
		act := c.forge.As("author").RequestReview(context.Background(), "bot")
		if w.asked {
			c = w.clone("the author takes the request back")
			c.acted = true
			act = c.forge.RemoveRequest("author", "bot")
			c.jobs = append(c.jobs, job{role: e.sc.roles[0], run: 2})
		}
		if c.asked = true; act == nil {
			list = append(list, c)
		}
	case undoing:
		log := e.log(w)
		for _, row := range log.Rows {
			if !w.asked && row.State == escalation.RowRequestChanges && !row.Dismissed {
				c := w.clone(fmt.Sprintf("a dismissal of %d", row.ID))
				c.asked = true
				if err := c.forge.Dismiss("owner", row.ID, "agreed", false); err == nil {
					list = append(list, c)
				}
			}
		}
		for _, en := range log.Entries {
			if w.asked && en.Kind == escalation.EntryDismiss && !w.listed() {
				c := w.clone(fmt.Sprintf("the dismissal of %d is taken back", en.Review))
				c.acted = true
				c.jobs = append(c.jobs, job{role: e.sc.roles[0], run: 2})
				if err := c.forge.Undismiss("owner", en.Review); err == nil {
					list = append(list, c)
				}
			}
		}
	case retarget:
		c := w.clone("another base branch")
		c.acted, c.moved = true, true
		for _, r := range e.log(w).Entries {
			c.pushed = max(c.pushed, r.ID)
		}
		c.jobs = slices.DeleteFunc(c.jobs, func(j job) bool { return !j.over && !(j.begun && j.pub.Held()) })
		for _, role := range e.sc.roles {
			c.jobs = append(c.jobs, job{role: role, run: 2})
		}
		list = append(list, c)
	case noAct, twice:
	}
	return list
}

// listed reports whether a job has listed the reviews and may write by that. What
// happens to a dismissed review before such a write, which may dismiss it again, is
// what nobody can know.
func (w *world) listed() bool {
	return slices.ContainsFunc(w.jobs, func(j job) bool {
		kind := j.pub.Ask.Kind
		return j.begun && !j.over && (writes(kind) || reads(kind) && kind != escalation.AskReviews)
	})
}

// run makes the job's next step in w, and says what it must not have done.
func (e *enumerator) run(w *world, i int) string {
	j := &w.jobs[i]
	if !j.begun {
		e.begin(w, j)
		switch {
		case j.over:
			return ""
		case e.sc.lockless:
		case e.sc.act != noAct && e.sc.act != push && e.sc.act != retarget:
			return ""
		case w.locked() && w.holderLives():
			w.idle = true
			return ""
		}
	}
	for {
		if why := e.request(w, j); why != "" {
			return why
		}
		if j.pub.Ask.Kind == escalation.AskNothing {
			return e.end(w, j)
		}
		// See the top of the file for what is merged.
		switch kind := j.pub.Ask.Kind; {
		case kind == escalation.AskWait, j.pub.Held() && e.undisturbed(w, kind):
		case e.sc.lockless && (kind == escalation.AskLock || kind == escalation.AskHead && (w.acted || !e.sc.act.shows())):
		default:
			return ""
		}
	}
}

// shows reports whether the act shows in the pull request alone.
func (a act) shows() bool { return a == push || a == retarget }

// undisturbed tells whether nothing that may happen meanwhile changes what a job
// with the lock reads. A push shows in the head alone (what it changes in the
// other lists is left out of their fingerprints: no decision depends on it); other
// acts don't show in it.
func (e *enumerator) undisturbed(w *world, kind escalation.AskKind) bool {
	switch kind {
	case escalation.AskUnlock:
		return w.crashes == 0
	case escalation.AskReviews, escalation.AskTimeline, escalation.AskComments:
		return w.acted || e.sc.act.shows()
	case escalation.AskHead:
		return w.acted || !e.sc.act.shows()
	default:
		return false
	}
}

// begin is a job's first reading, and what the model says.
func (e *enumerator) begin(w *world, j *job) {
	ctx := context.Background()
	view := w.forge.As("bot")
	pull := w.pull()
	rows, _ := view.Reviews(ctx)
	account, _ := view.Account(ctx)
	entries, _ := view.Timeline(ctx, escalation.Since(account.ID, rows), rows)
	rows, entries = e.distort(j, rows, entries)
	log := judged(escalation.NewLog(account.ID, rows, e.shown(entries), newKey()))
	if log.Unproven(false) {
		log = judged(escalation.NewLog(account.ID, rows, entries, newKey()).Reached(escalation.ReachEnd))
	}
	j.begun, j.head = true, pull.Head
	j.seen = digest(w, escalation.AskReviews) + digest(w, escalation.AskTimeline)
	v := escalation.Verdict{
		Own: e.sc.finds[j.role+pull.Head], Head: pull.Head, Base: pull.Base, Against: pull.Against(), Q: q, Fresh: true,
		Body: sentinel.Body{Text: j.role + " finds " + string(e.sc.finds[j.role+pull.Head])},
	}
	if j.role == "a" {
		v.Comments = []escalation.NewComment{{Path: "a.go", NewLine: 1, Body: "text\n\n" + sentinel.Marker{
			Role: j.role, ID: "00000001", Head: pull.Head, Key: "0a", Version: 1,
		}.String()}}
	}
	if j.role == "a" && e.sc.stumbles {
		v.Comments = append(v.Comments, escalation.NewComment{Path: "a.go", OldLine: 1, Body: "text\n\n" + sentinel.Marker{
			Role: j.role, ID: "00000002", Head: pull.Head, Key: "0b", Version: 1,
		}.String()})
	}
	fresh := v
	cur, ok := log.Current(j.role)
	answered := ok && cur.Head() == pull.Head && cur.Sentinel.Against == pull.Against() && cur.Sentinel.Q == q && !log.AskedAgain(cur)
	if answered {
		v = escalation.Recorded(cur)
	}
	j.own = v.Own
	j.cfg = &escalation.Config{
		Account: account.ID, Login: account.Login, Author: pull.Author.ID, URL: pull.URL, Against: pull.Against(), Key: newKey(),
		Nonce: fmt.Sprint(j.role, j.run), Role: j.role, Verdict: v, Seen: log, Lock: "rocket",
		InBody: func(moved []escalation.NewComment) escalation.Verdict {
			v := fresh
			v.Comments = slices.DeleteFunc(slices.Clone(v.Comments), func(c escalation.NewComment) bool { return slices.Contains(moved, c) })
			v.Body.Text += fmt.Sprintf(", %d in the text", len(moved))
			return v
		},
	}
	if v.Own == sentinel.None && !answered {
		// It fails, finds a draft, or ends without a verdict for any other cause.
		j.cfg.Role, j.cfg.Verdict, j.cfg.Rest = "", escalation.Verdict{}, true
		_, _, needed := escalation.Preview(j.cfg, log, pull.Head, false)
		j.over = !needed || e.sc.fault == endsAsItIs
		j.pub = escalation.Publish(j.cfg, w.forge.Now())
		return
	}
	action, _, needed := escalation.Preview(j.cfg, log, pull.Head, false)
	if !needed && !v.Fresh {
		j.over, j.outcome = true, action.Outcome
		return
	}
	j.pub = escalation.Publish(j.cfg, w.forge.Now())
}

// end is a job's end, and says what must not be: that it took something else for what
// the account should say than a reconciliation does, of the same reading.
func (e *enumerator) end(w *world, j *job) string {
	j.over, j.failed = true, j.pub.Done.Err
	why := ""
	log, pull := j.pub.Log(), w.pull()
	if all := escalation.Desired(escalation.Situation{Log: log, Head: j.pub.Head(), Against: pull.Against()}); j.failed == nil &&
		j.pub.Head() == pull.Head && all.Event != j.pub.Done.Desired {
		why = fmt.Sprintf("D is %s for %s.%d, and %s for reconcile", j.pub.Done.Desired, j.role, j.run, all.Event)
	}
	if !j.cfg.Rest {
		j.outcome, j.own = j.pub.Done.Outcome, j.pub.Own()
	}
	j.pub, j.cfg, j.seen, j.reading, j.firstRows, j.firstEntries = escalation.Publication{}, nil, "", "", nil, nil
	return why
}

// request makes the one request that the job asks for.
func (e *enumerator) request(w *world, j *job) string {
	ask := j.pub.Ask
	view := w.forge.As("bot")
	if !reads(ask.Kind) {
		defer func() { w.shown = false }()
	}
	if e.sc.ticks && writes(ask.Kind) {
		w.forge.Advance(time.Second)
	}
	var r escalation.Reply
	switch {
	case ask.Kind == escalation.AskWait:
		w.forge.Advance(time.Second)
	case ask.Kind == escalation.AskLock && e.sc.lockless:
		r.Added = e.sc.fault == approvesWithoutLock
		if !r.Added {
			r.Err = errors.New("the reaction isn't allowed")
		}
		r.Created = w.forge.Now()
	case ask.Kind == escalation.AskUnlock && e.sc.lockless:
	case ask.Kind == escalation.AskReviews && e.sc.fault == noReread && j.pub.Rounds() > 0:
		j.pub.Stop(errors.New("never mind"))
		j.pub.Done.Err = nil
		return ""
	case ask.Kind == escalation.AskPost && ask.Hold && e.sc.fault == withoutHold:
	case ask.Kind == escalation.AskPost && e.sc.fault == forgetsUndone:
		body, s, _ := sentinel.Split(ask.Post.Body)
		s.Undone = nil
		ask.Post.Body = body.With(s, newKey())
		r = reviewer.CarryOut(context.Background(), view, j.cfg, ask)
	case ask.Kind == escalation.AskPost && e.sc.fault == supersedeFirst && !j.edited:
		after := j.pub
		after.Tell(escalation.Reply{Now: w.forge.Now()})
		if after.Ask.Kind == escalation.AskEdit {
			reviewer.CarryOut(context.Background(), view, j.cfg, after.Ask)
			j.edited = true
			return ""
		}
		r = reviewer.CarryOut(context.Background(), view, j.cfg, ask)
	case ask.Kind == escalation.AskEdit && j.edited:
		j.edited = false
	case ask.Kind == escalation.AskPost && e.sc.fault == changedPatched:
		if cur, ok := e.log(w).Current(j.role); ok && cur.Own() != j.own {
			r.Err = view.EditReview(context.Background(), cur.Row.CommentID, ask.Post.Body)
			break
		}
		r = reviewer.CarryOut(context.Background(), view, j.cfg, ask)
	default:
		if ask.Kind == escalation.AskLock && w.locked() {
			w.forge.Advance(46 * time.Second) // the holder is dead, or this wouldn't be run
		}
		if ask.Kind == escalation.AskEdit {
			if why := e.mayEdit(w, ask); why != "" {
				return why
			}
		}
		r = reviewer.CarryOut(context.Background(), view, j.cfg, ask)
	}
	switch ask.Kind {
	case escalation.AskReviews:
		j.reading = digest(w, ask.Kind)
		r.Rows, _ = e.distort(j, r.Rows, nil)
	case escalation.AskTimeline:
		j.reading += digest(w, ask.Kind)
		if _, r.Entries = e.distort(j, nil, r.Entries); !ask.ToEnd {
			r.Entries = e.shown(r.Entries)
		}
	case escalation.AskHead:
		j.reading += digest(w, ask.Kind)
		r.Against = w.pull().Against()
	default:
	}
	r.Now = w.forge.Now()
	j.pub.Tell(r)
	return ""
}

// digest fingerprints what a reading shows.
func digest(w *world, kind escalation.AskKind) string {
	prints := w.prints()
	switch kind {
	case escalation.AskReviews:
		return string(prints.Reviews[:12])
	case escalation.AskTimeline:
		return string(prints.Timeline[:12])
	default:
		return string(prints.Pull[:12])
	}
}

// shown is what an ordinary reading of the timeline has of it.
func (e *enumerator) shown(entries []escalation.Entry) []escalation.Entry {
	if !e.sc.hidden {
		return entries
	}
	return slices.DeleteFunc(slices.Clone(entries), func(en escalation.Entry) bool {
		return en.Kind == escalation.EntryReviewRequest || en.Kind == escalation.EntryDismiss
	})
}

// judged is the log with what is known of people.
func judged(log escalation.Log) escalation.Log {
	const owner, author = 1, 2
	log.Author, log.Writers = author, map[int64]bool{owner: true}
	return log
}

// distort shows the job something else than what stands there, as its deliberate
// mistake has it.
func (e *enumerator) distort(j *job, rows []escalation.Row, entries []escalation.Entry) ([]escalation.Row, []escalation.Entry) {
	switch {
	case e.sc.fault == siblingsByEvent:
		rows = slices.Clone(rows)
		for i, row := range rows {
			body, s, err := sentinel.Split(row.Body)
			if err == nil && s.Role != j.role && (s.Event == sentinel.Approved || s.Event == sentinel.RequestChanges) {
				s.Own = s.Event
				rows[i].Body = body.String() + "\n\n" + s.String()
			}
		}
	case e.sc.fault == approvesBesides:
		rows = slices.DeleteFunc(slices.Clone(rows), func(row escalation.Row) bool {
			_, s, err := sentinel.Split(row.Body)
			return err == nil && s.Role != j.role && s.Own == sentinel.Comment
		})
	case e.sc.fault == staleDesire && j.begun && j.pub.Rounds() == 0:
		if rows != nil {
			j.firstRows = rows
		}
		if entries != nil {
			j.firstEntries = entries
		}
	case e.sc.fault == staleDesire && j.begun:
		rows = slices.Clone(rows)
		for i, row := range rows {
			for _, old := range j.firstRows {
				if _, s, err := sentinel.Split(row.Body); old.ID == row.ID && err == nil && s.Role != j.role {
					rows[i].Dismissed = old.Dismissed
				}
			}
		}
		if entries != nil {
			entries = slices.DeleteFunc(slices.Clone(entries), func(en escalation.Entry) bool {
				return en.Kind == escalation.EntryDismiss && !slices.ContainsFunc(j.firstEntries, func(o escalation.Entry) bool { return o.ID == en.ID })
			})
		}
	}
	return rows, entries
}

func (e *enumerator) log(w *world) escalation.Log {
	ctx := context.Background()
	view := w.forge.As("bot")
	rows, _ := view.Reviews(ctx)
	entries, _ := view.Timeline(ctx, time.Time{}, nil)
	account, _ := view.Account(ctx)
	return judged(escalation.NewLog(account.ID, rows, entries, newKey()))
}

// mayEdit is I4 at the moment of an edit: a request for changes that was replaced
// is history, and so is what says already that it was.
func (e *enumerator) mayEdit(w *world, ask escalation.Ask) string {
	log := e.log(w)
	for _, r := range log.Records {
		cur, ok := log.Current(r.Role())
		if r.Row.CommentID == ask.Comment && r.Row.State == escalation.RowRequestChanges && (!ok || cur.Row.ID != r.Row.ID) {
			return "I4: a replaced request for changes is edited"
		}
		if r.Row.CommentID == ask.Comment && r.Sentinel.State == sentinel.Superseded {
			return "I4: a review that says by which it was replaced is edited"
		}
	}
	return ""
}

// calm says what must not be at a moment when no job is at work: an approval
// posted after the push, of a commit that nobody has read.
func (e *enumerator) calm(w *world) string {
	if w.pushed == 0 || slices.ContainsFunc(w.jobs, func(j job) bool { return j.begun && !j.over }) {
		return ""
	}
	log := e.log(w)
	for _, row := range log.Rows {
		if row.State == escalation.RowApproved && row.Official && !row.Dismissed && row.CommentID > w.pushed && unread(log, w.pull()) {
			return "I2: a commit that no role judged stands approved by a job that ended after it was pushed"
		}
	}
	return ""
}

// unread reports whether the account's approval stands although none of its roles
// has judged the head as it is compared now.
func unread(log escalation.Log, pull reviewer.Pull) bool {
	gate := log.Gate()
	return !gate.Unofficial && gate.Has(sentinel.Approved) && !slices.ContainsFunc(log.Standing(), func(cur escalation.Record) bool {
		return cur.Head() == pull.Head && cur.Sentinel.Against == pull.Against()
	})
}

// reconcile runs the repair job on a copy of w. It returns what it wrote first, "" for nothing.
func (e *enumerator) reconcile(w *world) (end *world, wrote escalation.AskKind) {
	c := w.clone("reconcile")
	c.died = false
	pull := c.pull()
	cfg := &escalation.Config{
		Account: e.log(c).Account, Login: "bot", Author: pull.Author.ID, URL: pull.URL, Against: pull.Against(), Key: newKey(), Nonce: "reconcile", Lock: "rocket",
	}
	j := job{begun: true, cfg: cfg, pub: escalation.Publish(cfg, c.forge.Now())}
	for j.pub.Ask.Kind != escalation.AskNothing {
		if writes(j.pub.Ask.Kind) {
			wrote = cmp.Or(wrote, j.pub.Ask.Kind)
		}
		e.request(c, &j)
	}
	e.end(c, &j)
	c.jobs = append(c.jobs, j)
	return c, wrote
}

// check says which invariant doesn't hold in w, where all jobs have ended.
func (e *enumerator) check(w *world) string {
	log, head := e.log(w), w.pull().Head
	failed := slices.ContainsFunc(w.jobs, func(j job) bool { return j.failed != nil })
	blocked, approved, undecided, waived := false, false, false, false
	for _, j := range w.jobs {
		if j.failed != nil && !e.sc.lockless {
			return fmt.Sprintf("a job of %s failed: %v", j.role, j.failed)
		}
	}
	// The newest record counts, whatever its state says: nothing but a newer one may supersede it.
	newest := map[string]escalation.Record{}
	for _, r := range log.Records {
		newest[r.Role()] = r
	}
	for role, cur := range newest {
		about := cur.Head() == head && cur.Sentinel.Against == w.pull().Against()
		switch {
		case cur.Own() == sentinel.RequestChanges && log.Waived(role, cur.Head()):
			waived = true
		case cur.Own() == sentinel.RequestChanges:
			blocked = true
		case cur.Own() == sentinel.Approved && about:
			approved = true
		case cur.Own() == sentinel.Comment && about:
			undecided = true
		}
	}
	for _, row := range log.Rows {
		if _, s, _ := sentinel.Split(row.Body); len(s.Undone) > 0 && e.sc.act != undoing {
			return "a dismissal is taken for one that was taken back"
		}
	}
	if e.sc.act == undoing && (waived || len(log.Waivers()) > 0) {
		return "a dismissal that was taken back waives"
	}
	gate := log.Gate()
	// A starting log whose gate was wrong from the start may stay so where a job failed, and said so.
	if blocked && !gate.Is(sentinel.RequestChanges) && !(failed && w.wrong) {
		return fmt.Sprintf("I1: a role blocks, the gate is %v", gate.Names())
	}
	// Runs without a verdict leave a gate alone that blocks, and a dismissal that isn't seen lifts nothing.
	judging := slices.ContainsFunc(w.jobs, func(j job) bool { return j.role == "" || j.own != sentinel.None && j.head == head })
	if !blocked && gate.Has(sentinel.RequestChanges) && !gate.Held && !failed && judging && !e.sc.hidden {
		return fmt.Sprintf("I1: no role blocks, the gate is %v", gate.Names())
	}
	if undecided && gate.Has(sentinel.Approved) && !failed {
		return "I2: a role couldn't read all of the head, and it is approved"
	}
	if !blocked && approved && !undecided && !waived && !failed && !gate.Is(sentinel.Approved) {
		return fmt.Sprintf("I2: a role approved the head and none blocks, the gate is %v", gate.Names())
	}
	if !(failed && w.wrong) {
		if unread(log, w.pull()) {
			return "I2: a commit that no role judged stands approved"
		}
		removed := w.clone("the author removes the request")
		if removed.forge.RemoveRequest("author", "bot") == nil && unread(e.log(removed), w.pull()) {
			return "I2: an approval comes back to a commit that no role judged"
		}
	}
	if len(log.Pending()) > 0 && !failed {
		return "a pending review is left"
	}
	if e.sc.stumbles && e.sc.crashes == 0 && slices.ContainsFunc(log.Rows, func(r escalation.Row) bool { return strings.Contains(r.Body, "had left") }) {
		return "a job takes its own leftover for a dead job's"
	}
	for _, j := range w.jobs {
		if j.failed != nil || j.head != head || j.own == sentinel.None || !slices.Contains([]escalation.Outcome{escalation.Posted, escalation.Patched, escalation.Reposted, escalation.Skipped}, j.outcome) {
			continue
		}
		if !slices.ContainsFunc(log.Records, func(r escalation.Record) bool {
			return r.Role() == j.role && r.Own() == j.own && r.Head() == head
		}) {
			return fmt.Sprintf("I3: %s ended %s with %s, which isn't in the log", j.role, j.outcome, j.own)
		}
	}
	if failed {
		return ""
	}
	shown := w.prints()
	if _, ok := e.rested[shown]; ok {
		return "" // the same stood there at another end
	}
	e.rested[shown] = struct{}{}
	// I5: at rest any job of a role that has judged the head writes nothing. A role whose jobs were
	// all for older heads, or whose review was asked for again, would judge, which is no rest.
	for _, role := range e.sc.roles {
		cur, ok := log.Current(role)
		if !ok || cur.Head() != head || cur.Sentinel.Against != w.pull().Against() || log.AskedAgain(cur) {
			continue
		}
		c := w.clone("at rest, " + role + " runs again")
		c.jobs = []job{{role: role, run: 99}}
		for !c.jobs[0].over {
			if c.jobs[0].begun && (writes(c.jobs[0].pub.Ask.Kind)) {
				return "I5: at rest " + role + " writes: " + string(c.jobs[0].pub.Ask.Kind)
			}
			e.run(c, 0)
		}
	}
	// Nor does reconcile, unless there were runs without a verdict, which approve nothing.
	if c, wrote := e.reconcile(w); wrote != "" {
		if judging && !slices.ContainsFunc(w.jobs, func(j job) bool { return j.role != "" && j.own == sentinel.None }) {
			return "I5: at rest reconcile writes: " + string(wrote)
		}
		if _, again := e.reconcile(c); again != "" {
			return "I5: reconcile writes again: " + string(again)
		}
	}
	return ""
}
