package escalation

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"review-bot/sentinel"
)

// Config is what a publication knows from the start. It doesn't change.
type Config struct {
	Account int64
	Login   string
	Author  int64            // of the pull request
	URL     string           // of the pull request
	Against sentinel.Against // what the head was compared with when the run began
	Key     sentinel.Key
	Nonce   string // random, of this process: the nonces of its POSTs are derived from it

	Role    string           // the acting role; "" for reconcile
	Verdict Verdict          // what it found
	Noted   []sentinel.Field // what the run knows better than the role's record, where no model was asked
	Seen    Log              // what was read before the model was asked
	Retire  string           // reconcile: role whose verdict is to be marked as retired
	Rest    bool             // no role acts, and only what [Rest] decides is done

	// InBody makes the verdict with these of its inline comments in the review's text instead,
	// for a server that fails over them; nil where that can't be. It depends on nothing else.
	InBody func(moved []NewComment) Verdict

	// Handoff is a comment that hands the pull request over to people, with its marker; nil
	// for none. It is written once per count of rounds.
	Handoff *Handover

	Advisory    bool
	NoApprove   bool
	RepostStale bool
	Siblings    []string
	Force       bool // don't adopt what another run of the role has published meanwhile
	// Attach puts new inline comments of a patched verdict into its review, where the server can
	// and the review was posted for the head; else they go into a further one.
	Attach bool

	Lock  string // content of the reaction that locks; "" for those who know that no two jobs share the account
	Times LockTimes
}

// Handover is a comment that hands a pull request over to people.
type Handover struct {
	Mark sentinel.Handoff
	// Text is the comment, given the address of the review that blocks the pull request when it
	// is written. It depends on nothing else.
	Text func(review string) string
}

// Body is the comment as it is written.
func (h Handover) Body(review string) string { return h.Text(review) + "\n\n" + h.Mark.String() }

// Bounds of a publication.
const (
	maxRepairs   = 5                // how often a publication mends what others did meanwhile
	unknownLimit = 30 * time.Second // how long a POST whose answer was lost is looked for
	unknownPoll  = time.Second
)

// Publication makes the forge say the right thing: steps 3 to 6 of a run, as a
// state machine. Ask is the request to make next; Tell takes what came back.
// It is plain data and makes no request itself, so a copy is a snapshot, and
// every order of requests of several jobs can be tried.
//
// It takes the lock; reads reviews, timeline and, last, the head; decides; writes,
// the POST before anything that it replaces; and reads again, until there is
// nothing left to write. Then it releases the lock.
type Publication struct {
	cfg *Config

	Ask  Ask
	Done Done // filled when Ask is AskNothing

	verdict Verdict // the acting role's, which may be adopted from another run
	queue   []Ask   // writes that the last decision left to do
	rows    []Row   // of the reading under way
	entries []Entry
	reach   Reach
	log     Log       // of the last reading
	from    time.Time // the timeline is read from then on; never later than before
	looked  bool      // from is set
	known   int64     // newest timeline id of the readings before

	head     string    // the pull request's, by the last reading
	began    time.Time // of the wait for the lock
	attempts int       // at the lock
	held     bool
	heldAt   time.Time
	created  time.Time // of the reaction, by the server's clock
	unlocked error     // why the lock wasn't to be had

	now     time.Time // of the last answer
	rounds  int       // readings that led to a write
	posts   int       // POSTs made
	nonce   string    // of the last POST
	lost    time.Time // when the answer to a POST was lost; zero if none is
	refused bool      // a write other than a POST was refused
	apart   bool      // the server can't attach comments to a submitted review
	pending int64
	orphans []int64 // recovered leftovers whose comments are known
	mending mending
	ending  bool
}

// Done is what a publication ends with.
type Done struct {
	Err     error // nil if the forge says what it should
	Failure Failure
	Outcome Outcome
	Desired sentinel.Verdict
	Gate    Gate
	URL     string // of the acting role's review
	Action  Action // the first that wrote something
	Notes   []string
}

// Failure tells kinds of Err apart that call for different advice.
type Failure string

// The failures.
const (
	FailedRequest  Failure = "request"  // the forge said no; Err is its error
	FailedLock     Failure = "lock"     // an approval, or taking a verdict back, needs the lock
	FailedPending  Failure = "pending"  // a person is writing a review with the account
	FailedUnknown  Failure = "unknown"  // the forge doesn't tell what became of a POST
	FailedUnstable Failure = "unstable" // others kept changing what was mended
	FailedStopped  Failure = "stopped"  // the process was told to stop
)

// Publish starts a publication.
func Publish(cfg *Config, now time.Time) Publication {
	p := Publication{cfg: cfg, verdict: cfg.Verdict, began: now, known: cfg.Seen.Newest()}
	if cfg.Lock == "" {
		p.read()
	} else {
		p.Ask = Ask{Kind: AskLock}
	}
	return p
}

// Preview decides on what was read already: what a publication would do if
// nothing changed meanwhile. needed is false if there is nothing to write.
func Preview(cfg *Config, log Log, head string, closed bool) (action Action, asks []Ask, needed bool) {
	p := Publication{cfg: cfg, verdict: cfg.Verdict, log: log, head: head}
	action = p.decide(head, cfg.Against, closed)
	p.plan(action)
	return action, p.queue, action.Writes() || len(log.Pending()) > 0 && !closed && !cfg.Rest
}

// Tell takes the answer to Ask and sets the next one.
func (p *Publication) Tell(r Reply) {
	p.now = r.Now
	switch p.Ask.Kind {
	case AskLock, AskReactions, AskUnlock, AskWait:
		p.tellLock(r)
	case AskReviews, AskTimeline, AskHead, AskComments:
		p.tellReading(r)
	case AskPost, AskEdit, AskSubmit, AskAttach, AskSettle, AskSay, AskWithdraw:
		p.tellWrite(r)
	case AskNothing:
	}
}

// --- the lock

func (p *Publication) tellLock(r Reply) {
	switch kind := p.Ask.Kind; {
	case kind == AskUnlock && p.ending:
		if r.Err != nil {
			p.note("the lock couldn't be released, it expires by itself: %v", r.Err)
		}
		p.Ask = Ask{}
	case kind == AskReactions && p.ending:
		// Held so long that others may have taken the lock over: release only one's own.
		p.Ask = Ask{}
		for _, reaction := range r.Reactions {
			if p.ours(reaction) && reaction.Created.Equal(p.created) {
				p.Ask = Ask{Kind: AskUnlock}
			}
		}
	case kind == AskWait && !p.lost.IsZero():
		p.Ask = Ask{Kind: AskReviews}
	case kind == AskLock && r.Err == nil && r.Added:
		p.held, p.heldAt, p.created = true, r.Now, r.Created
		p.read()
	case kind == AskLock && r.Err != nil && !r.Unknown:
		p.withoutLock(r.Err)
	case kind == AskLock:
		p.Ask = Ask{Kind: AskReactions}
	case r.Now.Sub(p.began) > p.times().Wait:
		p.withoutLock(fmt.Errorf("another job has held the lock for %s", p.times().Wait))
	case kind == AskUnlock, kind == AskWait:
		p.Ask = Ask{Kind: AskLock}
	default:
		p.look(r)
	}
}

// look decides about a lock that somebody holds.
func (p *Publication) look(r Reply) {
	p.attempts++
	p.Ask = Ask{Kind: AskWait, Wait: p.jitter(p.times().Poll)}
	if r.Err != nil {
		return
	}
	held := false
	for _, reaction := range r.Reactions {
		if p.ours(reaction) {
			held = true
			if r.Server.Sub(reaction.Created) > p.times().Expire {
				p.Ask = Ask{Kind: AskUnlock, About: "the lock of a dead job"}
			}
		}
	}
	if !held {
		p.Ask = Ask{Kind: AskLock}
	}
}

func (p *Publication) ours(r Reaction) bool {
	return r.User == p.cfg.Account && r.Content == p.cfg.Lock
}

func (p *Publication) times() LockTimes { return p.cfg.Times.orDefault() }

// jitter spreads the jobs' looks: between half and one and a half of d.
func (p *Publication) jitter(d time.Duration) time.Duration {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", p.cfg.Nonce, p.attempts))
	return d/2 + d*time.Duration(sum[0])/256
}

// withoutLock goes on without: a block may still be published, an approval not.
func (p *Publication) withoutLock(why error) {
	p.unlocked = why
	p.read()
}

// mayWrite tells whether a write may still be made under the lock. A holder that
// took too long asks for the lock anew: somebody may have taken it over.
func (p *Publication) mayWrite() bool {
	if !p.held || p.now.Sub(p.heldAt) <= p.times().Hold {
		return true
	}
	p.held, p.queue, p.began = false, nil, p.now
	p.Ask = Ask{Kind: AskLock}
	return false
}

// --- reading

func (p *Publication) read() {
	p.known = max(p.known, p.log.Newest())
	p.Ask = Ask{Kind: AskReviews}
}

func (p *Publication) tellReading(r Reply) {
	if r.Err != nil {
		// What decides about merging fails closed.
		p.fail(FailedRequest, r.Err)
		return
	}
	switch p.Ask.Kind {
	case AskReviews:
		p.rows = r.Rows
		if !p.lost.IsZero() && !p.foundLost() {
			return
		}
		if since := p.since(r.Rows); !p.looked || since.Before(p.from) {
			p.from, p.looked = since, true
		}
		p.Ask = Ask{Kind: AskTimeline, Since: p.from, Rows: r.Rows}
	case AskTimeline:
		p.entries, p.reach = r.Entries, r.Reach
		p.log = p.reading()
		if !p.Ask.ToEnd && p.log.Unproven(p.verdict.Own == sentinel.Approved) {
			p.Ask = Ask{Kind: AskTimeline, Since: p.Ask.Since, Rows: p.rows, ToEnd: true}
			return
		}
		if ids := p.log.takenBack(); len(ids) > 0 && ids[0] > p.known {
			p.known = ids[0] // the dismissal may have come after the reviews were listed
			p.read()
			return
		}
		p.Ask = Ask{Kind: AskHead}
	case AskHead:
		if p.log.Holes && !slices.Contains(p.Done.Notes, Holes) {
			p.note(Holes)
		}
		p.rows, p.entries = nil, nil
		p.act(r)
	case AskComments:
		if p.Ask.Review == p.pending {
			p.recover(r)
			return
		}
		p.leaveOut(r.Comments)
		p.orphans = append(slices.Clone(p.orphans), p.Ask.Review)
		p.read() // the head is read last
	default: // Tell sends the others elsewhere
	}
}

// Holes is what people are told of a timeline that is too long.
const Holes = "the timeline has thousands of entries that the server doesn't show, so it couldn't be read whole: " +
	"blocks stay, and nothing is approved — open another pull request"

// reading is the log of the reading under way.
func (p *Publication) reading() Log {
	log := NewLog(p.cfg.Account, p.rows, p.entries, p.cfg.Key).Reached(p.reach)
	log.Author = p.cfg.Author
	return log
}

// since is the time from which the timeline is read. A hand-off comment may be
// older than all reviews that still count.
func (p *Publication) since(rows []Row) time.Time {
	if p.cfg.Handoff != nil {
		return time.Time{}
	}
	return Since(p.cfg.Account, rows)
}

// foundLost looks for a POST whose answer was lost: among the submitted reviews
// by its nonce, and as a pending one, which the next step recovers.
func (p *Publication) foundLost() bool {
	for _, row := range p.rows {
		_, s, err := sentinel.Split(row.Body)
		if row.State == RowPending && !p.mending.sure && p.now.Sub(p.lost) < unknownLimit && p.knows(row) {
			continue // the server may still be at work
		}
		if row.Author == p.cfg.Account && (row.State == RowPending || err == nil && s.Run == p.nonce) {
			p.lost = time.Time{}
			switch {
			case row.State != RowPending && !isHold(row):
				p.posted(row)
			case row.State == RowPending && p.mending.carried:
				p.mending.left = row
			}
			return true
		}
	}
	if p.now.Sub(p.lost) < unknownLimit {
		p.Ask = Ask{Kind: AskWait, Wait: unknownPoll}
		return false
	}
	p.fail(FailedUnknown, errors.New("the server didn't answer a POST, and doesn't show the review"))
	return false
}

// act decides on a complete reading.
func (p *Publication) act(r Reply) {
	p.adopt()
	p.head = r.Head
	if p.verdict.Fresh {
		p.verdict.Extra = p.log.noteWaivers(p.cfg.Role, p.verdict.Heard, p.verdict.Extra)
	}
	action := p.decide(r.Head, r.Against, r.Closed)
	posts := action.Post != "" || action.Hold != "" || !p.cfg.Rest && r.Head == p.wantedHead(r.Head) ||
		p.mending.taken != 0 && (p.held || p.cfg.Lock == "")
	if left := p.mending.left; left.ID != 0 {
		p.mending.left = Row{}
		if left.Comments == 0 {
			p.mend(left.ID, nil)
			return
		}
		p.pending = left.ID
		p.Ask = Ask{Kind: AskComments, Review: p.pending}
		return
	}
	if pending := p.leftovers(action); len(pending) > 0 && !r.Closed && posts {
		if p.cfg.Lock != "" && !p.held {
			p.fail(FailedLock, p.unlocked)
			return
		}
		p.pending = pending[0].ID
		p.Ask = Ask{Kind: AskComments, Review: p.pending}
		return
	}
	if id, ok := p.unknownOrphan(); ok && !r.Closed && r.Head == p.verdict.Head {
		p.Ask = Ask{Kind: AskComments, Review: id}
		return
	}
	if p.rounds == 0 {
		p.Done.Outcome, p.Done.Action = action.Outcome, action
	}
	p.Done.Desired, p.Done.Gate = action.Desired, p.log.Gate()
	if cur, ok := p.log.Current(p.cfg.Role); ok {
		p.Done.URL = cur.Row.URL
	}
	handover := !action.Writes() && !r.Closed && action.Outcome != HeadMoved && p.handsOver()
	if !action.Writes() && !handover {
		p.finish()
		return
	}
	if p.rounds > maxRepairs {
		p.fail(FailedUnstable, fmt.Errorf("the account's verdict changed %d times while it was being published", p.rounds))
		return
	}
	// An approval without the lock could be posted over a block that was posted a
	// moment ago. What the account says otherwise may at worst be said once too often.
	if (action.Post == sentinel.Approved || action.Withdraw) && p.cfg.Lock != "" && !p.held {
		p.fail(FailedLock, p.unlocked)
		return
	}
	p.rounds++
	p.plan(action)
	if handover {
		p.queue = []Ask{{Kind: AskSay, Body: p.cfg.Handoff.Body(cmp.Or(p.log.Gating(), p.cfg.URL)), About: p.cfg.Handoff.Mark.Role}}
	}
	p.write()
}

// handsOver tells whether the hand-off comment is still to be written.
func (p *Publication) handsOver() bool {
	return p.cfg.Handoff != nil && !p.log.HandedOff(p.cfg.Handoff.Mark)
}

// wantedHead is the commit that a publication is about; reconcile is about the
// head, whichever it is.
func (p *Publication) wantedHead(head string) string {
	if p.cfg.Role == "" {
		return head
	}
	return p.verdict.Head
}

// adopt takes over what another run of the same role has published about the
// same head and question since this one began. A run that goes on with a recorded
// verdict always goes on with the newest: it has nothing of its own to say.
func (p *Publication) adopt() {
	if p.cfg.Role == "" || p.posts > 0 {
		return
	}
	cur, ok := p.log.Current(p.cfg.Role)
	switch {
	case !ok:
		return
	case !p.verdict.Fresh:
		p.verdict = Recorded(cur).Noting(p.cfg.Noted)
		return
	case p.cfg.Force || cur.Head() != p.verdict.Head || cur.Sentinel.Against != p.verdict.Against || cur.Sentinel.Q != p.verdict.Q:
		return
	case cur.Own() == p.verdict.Own && cur.Sentinel.Body == sentinel.Hash(p.verdict.Body.Text):
		return // what this run has to say stands there: its own edit, or another run's that says the same
	}
	// What was known before the model was asked, posted anew or not, is no news.
	if old, ok := p.cfg.Seen.Current(p.cfg.Role); ok && old.Own() == cur.Own() && old.Head() == cur.Head() &&
		old.Sentinel.Q == cur.Sentinel.Q && old.Sentinel.Body == cur.Sentinel.Body {
		return
	}
	p.verdict = Recorded(cur)
	p.note("another run of %s has published its verdict meanwhile: that one counts", p.cfg.Role)
}

func (p *Publication) decide(head string, against sentinel.Against, closed bool) Action {
	s := Situation{
		Log: p.log, Role: p.cfg.Role, Judgement: p.verdict.Judgement(), Head: head, Against: against, Closed: closed,
		OwnPull: p.cfg.Account == p.cfg.Author, Advisory: p.cfg.Advisory,
		NoApprove: p.cfg.NoApprove, RepostStale: p.cfg.RepostStale, Siblings: p.cfg.Siblings,
	}
	switch {
	case p.cfg.Rest:
		return Rest(s)
	case p.cfg.Role == "":
		return Reconcile(s, p.cfg.Retire)
	}
	return Decide(s)
}

// --- leftovers of dead jobs

// recover submits a pending review that a dead job has left, so that the next
// POST doesn't swallow its comments. Any comment that isn't the bot's means that
// a person is writing.
func (p *Publication) recover(r Reply) {
	own := p.ownLeftover(r.Comments)
	if own && p.mending.taken != p.pending {
		p.mend(p.pending, r.Comments)
		return
	}
	for _, c := range r.Comments {
		if len(sentinel.Markers(c.Body)) == 0 {
			p.fail(FailedPending, errors.New("somebody is writing a review with the bot's account"))
			return
		}
	}
	p.leaveOut(r.Comments)
	p.orphans = append(slices.Clone(p.orphans), p.pending)
	about := "leftovers of a job that died"
	body := sentinel.Body{Text: "A job of review-bot ended while it was posting. This is what it had left."}
	if own { // and no POST of this run is to take it in any more
		about = "leftovers of a POST that the server failed at"
		body.Text = "The server failed at the review that this was a part of, and meanwhile that review was no longer to be posted."
	}
	p.queue = []Ask{{
		Kind: AskSubmit, Review: p.pending, About: about,
		Body: body.With(sentinel.Sentinel{
			Role: p.signer(), Version: sentinel.Version, Kind: sentinel.KindOrphan, Official: p.log.counts(),
			Undone: p.log.takenBack(),
		}, p.cfg.Key),
	}}
	p.write()
}

// signer is the role in whose name a review is marked that is no role's.
func (p *Publication) signer() string { return cmp.Or(p.cfg.Role, "reconcile") }

// unknownOrphan is a leftover that another job has submitted, if its findings may
// be among those that this one is to post: the role hasn't judged since.
func (p *Publication) unknownOrphan() (int64, bool) {
	if len(p.verdict.Comments) == 0 {
		return 0, false
	}
	cur, judged := p.log.Current(p.cfg.Role)
	behind := !judged
	for _, row := range p.log.Rows {
		_, s, err := sentinel.Split(row.Body)
		if behind && err == nil && s.Kind == sentinel.KindOrphan && row.Comments > 0 && !slices.Contains(p.orphans, row.ID) {
			return row.ID, true
		}
		behind = behind || row.ID == cur.Row.ID
	}
	return 0, false
}

// leaveOut drops the inline comments whose findings are published by these, or by
// those that were found before.
func (p *Publication) leaveOut(published []Comment) {
	p.mending.there = append(slices.Clone(p.mending.there), published...)
	said := map[string]bool{}
	id := func(m sentinel.Marker) string { return m.Role + " " + m.ID }
	// The same code may be wrong in two places, which the line tells apart.
	name := func(m sentinel.Marker) string { return fmt.Sprintf("%s %s %v %d", m.Role, m.Key, m.Old, m.Line) }
	for _, c := range p.mending.there {
		for _, m := range sentinel.Markers(c.Body) {
			if p.own(m) {
				said[id(m)] = true
			} else {
				said[name(m)] = true
			}
		}
	}
	p.verdict.Comments = slices.DeleteFunc(slices.Clone(p.verdict.Comments), func(c NewComment) bool {
		return slices.ContainsFunc(sentinel.Markers(c.Body), func(m sentinel.Marker) bool { return said[id(m)] || said[name(m)] })
	})
}

// --- writing

// plan turns an action into writes, the POST first: a job that dies behind it
// leaves the pull request blocked, never open.
func (p *Publication) plan(a Action) {
	p.queue = nil
	v := p.verdict
	if a.Recorded && a.As != "" {
		cur, _ := p.log.Current(a.As)
		v = Recorded(cur)
	}
	if a.As != "" {
		v.Extra = p.log.noteWaivers(a.As, v.Heard, v.Extra)
	}
	if a.Hold != "" {
		p.hold(a.Hold)
	}
	if a.Post != "" {
		p.queue = append(p.queue, Ask{Kind: AskPost, Post: NewReview{
			// What a record says of an older head is posted for this one: that commit may be gone.
			Event: a.Post, Commit: p.head, Comments: v.Comments, Body: p.newBody(a, v),
		}, About: a.As})
	}
	if a.Patch != nil {
		p.beside(a, v)
		p.queue = append(p.queue, Ask{Kind: AskEdit, Comment: a.Patch.Row.CommentID, Body: p.edited(a, v), About: a.As})
	}
	for _, r := range a.Settle {
		p.settle(r)
	}
	for _, r := range a.Clear {
		body := r.Body
		body.Notice = ""
		p.queue = append(p.queue, Ask{Kind: AskEdit, Comment: r.Row.CommentID, Body: body.With(r.Sentinel, p.cfg.Key), About: r.Role()})
	}
	if a.Retire != nil {
		p.queue = append(p.queue, Ask{Kind: AskEdit, Comment: a.Retire.Row.CommentID, Body: p.folded(*a.Retire, sentinel.Retired, ""), About: a.Retire.Role()})
	}
	for _, r := range a.Supersede {
		p.queue = append(p.queue, Ask{Kind: AskEdit, Comment: r.Row.CommentID, Body: p.folded(r, sentinel.Superseded, p.successor(r)), About: r.Role()})
	}
	if a.Withdraw {
		p.queue = append(p.queue, Ask{Kind: AskWithdraw})
	}
}

// hold posts a review that takes an approval's place; see hold.go. It goes first: a
// job that dies after it leaves the pull request blocked.
func (p *Publication) hold(text string) {
	body := sentinel.Body{Text: text}
	p.queue = append(p.queue, Ask{Kind: AskPost, Hold: true, Post: NewReview{
		Event: sentinel.RequestChanges, Commit: p.head, Body: body.With(sentinel.Sentinel{
			Role: p.signer(), Version: sentinel.Version, Kind: sentinel.KindHold, Head: p.head, Run: p.postNonce(),
			Undone: p.log.takenBack(),
		}, p.cfg.Key),
	}})
}

// beside publishes the new inline comments of a verdict that is patched: an edit
// can't carry any. They go before the edit that moves the head; a job that dies in
// between leaves findings that the next one knows again.
func (p *Publication) beside(a Action, v Verdict) {
	if len(v.Comments) == 0 && p.mending.taken == 0 {
		return
	}
	// The server counts an attached comment's line in the commit that the review was posted for.
	if p.cfg.Attach && !p.apart && p.mending.taken == 0 && a.Patch.Row.Commit == p.head {
		for _, c := range v.Comments {
			p.queue = append(p.queue, Ask{Kind: AskAttach, Review: a.Patch.Row.ID, Inline: c, About: a.As})
		}
		return
	}
	findings := "a new finding"
	if n := len(v.Comments) + len(p.mending.there); n > 1 {
		findings = fmt.Sprintf("%d new findings", n)
	}
	body := sentinel.Body{Text: fmt.Sprintf("**%s has %s** at %.7s · the verdict is in [its review](%s)", a.As, findings, v.Head, a.Patch.Row.URL)}
	p.queue = append(p.queue, Ask{Kind: AskPost, Beside: true, About: a.As, Post: NewReview{
		Event: sentinel.Comment, Commit: v.Head, Comments: v.Comments, Body: body.With(sentinel.Sentinel{
			Role: a.As, Version: sentinel.Version, Kind: sentinel.KindFindings, Head: v.Head, Run: p.postNonce(), Official: p.log.counts(),
			Undone: p.log.takenBack(),
		}, p.cfg.Key),
	}})
}

// settle does what a record owes to conversations, and then notes in it that it
// is done.
func (p *Publication) settle(r Record) {
	for _, o := range r.Sentinel.Owed {
		p.queue = append(p.queue, Ask{Kind: AskSettle, Review: o.Review, Comment: o.Comment, Reopen: o.Reopen, Head: r.Head(), About: r.Role()})
	}
	s := r.Sentinel
	s.Owed, s.Extra = nil, p.log.noteWaivers(r.Role(), s.Heard, s.Extra)
	p.queue = append(p.queue, Ask{Kind: AskEdit, Comment: r.Row.CommentID, Body: r.Body.With(s, p.cfg.Key), About: r.Role()})
}

// newBody is the body of a review to be posted.
func (p *Publication) newBody(a Action, v Verdict) string {
	body := v.Body
	body.Notice = p.notice(a, v, a.Post == sentinel.RequestChanges)
	return body.With(sentinel.Sentinel{
		Role: a.As, Version: sentinel.Version, Kind: sentinel.KindVerdict, Own: v.Own, Event: a.Post, Head: v.Head,
		Round: v.Round, Epoch: v.Epoch, Heard: v.Heard, Q: v.Q, Base: v.Base, Against: v.Against, Run: p.postNonce(), Official: p.log.counts(),
		Advisory: p.cfg.Advisory && !a.Recorded, Undone: p.log.takenBack(), Owed: v.Owed, Extra: v.Extra,
	}, p.cfg.Key)
}

// postNonce is the nonce of the POST to be queued next. Each has one of its own: it
// also ties a signed sentinel to the one review that it was written for.
func (p *Publication) postNonce() string {
	n := p.posts
	for _, ask := range p.queue {
		if ask.Kind == AskPost {
			n++
		}
	}
	return p.nonceOf(n)
}

// nonceOf is the nonce of the POST before which n were made.
func (p *Publication) nonceOf(n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", p.cfg.Nonce, n))
	return hex.EncodeToString(sum[:16])
}

// edited is the record's body with what the role says now. Who it is and what it
// found stay as they were posted.
func (p *Publication) edited(a Action, v Verdict) string {
	s := a.Patch.Sentinel
	s.Head, s.Base, s.Against, s.Q, s.Round, s.Epoch, s.Heard, s.Owed, s.Extra = v.Head, v.Base, v.Against, v.Q, v.Round, v.Epoch, v.Heard, v.Owed, v.Extra
	s.Advisory = p.cfg.Advisory
	body := v.Body
	body.Notice = p.notice(a, v, a.Desired == sentinel.RequestChanges)
	return body.With(s, p.cfg.Key)
}

// notice says who holds the account, where the role itself doesn't.
func (p *Publication) notice(a Action, v Verdict, blocked bool) string {
	if !blocked || v.Own == sentinel.RequestChanges || len(a.Blockers) == 0 {
		return ""
	}
	holder := a.Blockers[0]
	url := holder.Row.URL
	if url == "" {
		url = p.cfg.URL
	}
	return sentinel.Notice(holder.Role(), url, a.As, "found nothing that blocks")
}

// folded is the body of a record that counts no more: a line that says so, and
// what it said below it.
func (p *Publication) folded(r Record, state sentinel.State, by string) string {
	s := r.Sentinel
	s.State = state
	var line string
	switch {
	case state == sentinel.Retired:
		line = fmt.Sprintf("~~%s~~ Retired: %s no longer reviews here, and its verdict no longer counts.", said[s.Event], s.Role)
	case by != "":
		line = fmt.Sprintf("~~%s~~ Superseded by [this review](%s) at %.7s.", said[s.Event], by, cmp.Or(p.verdict.Head, p.head))
	default:
		line = fmt.Sprintf("~~%s~~ Superseded at %.7s.", said[s.Event], cmp.Or(p.verdict.Head, p.head))
	}
	body := sentinel.Body{Text: line + "\n\n<details><summary>What it said</summary>\n\n" + r.Body.Text + "\n\n</details>"}
	return body.With(s, p.cfg.Key)
}

var said = map[sentinel.Verdict]string{
	sentinel.Approved: "approved", sentinel.RequestChanges: "requested changes", sentinel.Comment: "commented", sentinel.None: "commented",
}

// successor is the address of the review that replaces r: the role's newer one,
// if it stands already.
func (p *Publication) successor(r Record) string {
	if cur, ok := p.log.Current(r.Role()); ok && cur.Row.ID != r.Row.ID {
		return cur.Row.URL
	}
	return ""
}

// write makes the next write of the queue, or reads again behind the last.
func (p *Publication) write() {
	if len(p.queue) == 0 {
		p.read()
		return
	}
	if !p.mayWrite() {
		return
	}
	p.Ask, p.queue = p.queue[0], p.queue[1:]
}

func (p *Publication) tellWrite(r Reply) {
	if p.Ask.Kind == AskPost {
		p.nonce = p.nonceOf(p.posts)
		p.posts++
		p.mending.carried, p.mending.sure = len(p.Ask.Post.Comments) > 0, r.Failed
		p.mending.err, p.mending.taken = r.Err, 0
	}
	switch {
	case r.Unsupported, r.Err != nil && p.Ask.Kind == AskAttach:
		p.apart, p.queue = true, nil
		p.read()
		return
	case r.Err != nil && r.Unknown && p.Ask.Kind == AskPost:
		// Never repeated blindly: it may stand, or be pending.
		p.lost, p.queue = r.Now, nil
		p.read()
		return
	case r.Err != nil && r.Unknown:
		// The other writes may be made again; whether they must be shows in the reading.
		p.queue = nil
		p.read()
		return
	case r.Err != nil && p.Ask.Kind != AskPost && !p.refused:
		// Somebody else may have done it, or deleted what it was about: look again, once.
		p.refused, p.queue = true, nil
		p.read()
		return
	case r.Err != nil:
		p.fail(FailedRequest, r.Err)
		return
	case p.Ask.Kind == AskPost && p.Ask.Beside:
		p.verdict.Comments = nil
	case p.Ask.Kind == AskPost && p.Ask.Hold:
	case p.Ask.Kind == AskPost:
		p.posted(r.Posted)
		p.link(r.Posted)
	case p.Ask.Kind == AskAttach:
		attached := p.Ask.Inline
		p.verdict.Comments = slices.DeleteFunc(slices.Clone(p.verdict.Comments), func(c NewComment) bool { return c == attached })
	}
	p.write()
}

// posted remembers that the inline comments stand now.
func (p *Publication) posted(row Row) {
	p.verdict.Comments = nil
	p.Done.URL = row.URL
}

// link puts the new review's address into the texts of those that it replaces.
func (p *Publication) link(row Row) {
	p.queue = slices.Clone(p.queue) // copies of the publication share it
	for i, ask := range p.queue {
		if _, s, err := sentinel.Split(ask.Body); ask.Kind != AskEdit || err != nil || s.State != sentinel.Superseded {
			continue
		}
		for _, r := range p.log.Records {
			if r.Row.CommentID == ask.Comment {
				p.queue[i].Body = p.folded(r, sentinel.Superseded, row.URL)
			}
		}
	}
}

// --- the end

func (p *Publication) fail(kind Failure, err error) {
	p.Done.Err, p.Done.Failure, p.Done.Outcome = err, kind, Failed
	p.finish()
}

// Log is what the last reading found.
func (p *Publication) Log() Log { return p.log }

// Stop ends the publication behind the request that was made last: it only
// releases the lock. It may be called at any time.
func (p *Publication) Stop(err error) {
	if !p.ending {
		p.fail(FailedStopped, err)
	}
}

// finish releases the lock, if it is held.
func (p *Publication) finish() {
	p.ending, p.queue = true, nil
	switch {
	case !p.held:
		p.Ask = Ask{}
	case p.now.Sub(p.heldAt) > p.times().Hold:
		p.Ask = Ask{Kind: AskReactions}
	default:
		p.Ask = Ask{Kind: AskUnlock}
	}
}

func (p *Publication) note(format string, args ...any) {
	p.Done.Notes = append(slices.Clone(p.Done.Notes), fmt.Sprintf(format, args...))
}
