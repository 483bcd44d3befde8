package escalation

import (
	"slices"

	"review-bot/sentinel"
)

// Outcome is what became of a run, as it is reported.
type Outcome string

// The outcomes.
const (
	Posted    Outcome = "posted"
	Patched   Outcome = "patched"
	Reposted  Outcome = "reposted"
	Skipped   Outcome = "skipped"
	Waived    Outcome = "waived"
	OwnPull   Outcome = "own_pr"
	Capped    Outcome = "capped"
	HeadMoved Outcome = "head_moved"
	Closed    Outcome = "closed"
	Draft     Outcome = "draft"
	NoSecrets Outcome = "no_secrets"
	Failed    Outcome = "failed"
)

// Judgement is what the acting role found.
type Judgement struct {
	Own     sentinel.Verdict
	Head    string           // commit that was judged
	Against sentinel.Against // what it was compared with
	Text    string           // sentinel.Hash of what the role says
	Note    Note
}

// Note is what a sentinel remembers of how its verdict came about: the question,
// what was known when it was asked, and what the caller adds. It moves with every
// answer, also with one that says the same, or the same would be asked for ever.
type Note struct {
	Q     string
	Base  string
	Heard int64
	Extra []sentinel.Field
}

func (n Note) equal(s sentinel.Sentinel) bool {
	return n.Q == s.Q && n.Base == s.Base && n.Heard == s.Heard && slices.Equal(n.Extra, s.Extra)
}

// Situation is everything that a decision depends on.
type Situation struct {
	Log       Log
	Role      string    // the acting role
	Judgement Judgement // what it found; when no model was asked, what its current record says

	Head     string           // the pull request's head now
	Against  sentinel.Against // what it is compared with now
	Closed   bool             // closed or merged
	Draft    bool             // and drafts aren't to be reviewed
	OwnPull  bool             // the account is the pull request's author
	Advisory bool             // the role's verdict never gates

	NoApprove   bool     // publish no APPROVED
	RepostStale bool     // post an approval anew when its commit is no longer the head
	Siblings    []string // roles that must have judged this head before anything is approved
}

// Action is what to do. The zero value does nothing.
type Action struct {
	Outcome   Outcome
	Desired   sentinel.Verdict // what the account should say: D
	As        string           // role under which a review is posted or patched
	Post      sentinel.Verdict // event of the review to POST; "" for none
	Patch     *Record          // record whose body is to be replaced; nil for none
	Supersede []Record         // to be marked as replaced, after the POST
	Retire    *Record          // record to be marked as retired; nil for none
	Settle    []Record         // records whose owed conversations are to be settled; nothing else is left to do
	Hold      string           // text of a hold to POST in place of an approval, before anything else; "" for none
	Withdraw  bool             // in the end take the account's verdict back, by asking for its review again
	Clear     []Record         // records whose notice of an escalation is out of date
	Recorded  bool             // nobody acts: what is posted is what the role's record says
	Blockers  []Record         // records of other roles that hold the account, newest first
	Waits     []string         // siblings that haven't judged the head: but for them the account would approve it
	Undecided []Record         // records of other roles that judged the head and can't approve it, newest first
	Reason    string           // one clause for the log
}

// Writes reports whether the action changes anything on the forge.
func (a Action) Writes() bool {
	return a.Post != "" || a.Patch != nil || a.Retire != nil || len(a.Supersede) > 0 || a.Hold != "" || a.Withdraw || len(a.Settle) > 0 || len(a.Clear) > 0
}

// Desire is what the account should say, and why.
type Desire struct {
	Event    sentinel.Verdict // request_changes, approved or none
	Blockers []Record         // current records that hold the account, the acting role's not among them; newest first
	Waived   bool             // some role's request for changes was dismissed by a person
	Waiting  bool             // approval waits for siblings that haven't judged the head, or for a timeline that can be read whole
	Waits    []string         // those siblings, if nothing else keeps the account from approving

	// Undecided are the current records by which the account can't approve, the acting role's
	// not among them: comments about this head, of roles that gate. Newest first.
	Undecided []Record
}

// Desired computes worst-wins from the roles' own verdicts: those of their current
// records, but for the acting role, whose judgement takes its record's place. So it is
// the same before a role has published its verdict and after, whichever role acts.
// Published events play no part: two escalated roles would hold each other for ever.
func Desired(s Situation) Desire {
	var d Desire
	approved, blocked, undecided := false, false, false
	count := func(own sentinel.Verdict, about, waived bool) {
		switch own {
		case sentinel.RequestChanges:
			d.Waived, blocked = d.Waived || waived, blocked || !waived
		case sentinel.Approved:
			approved = approved || about
		default:
			undecided = undecided || about
		}
	}
	if s.Role != "" && !s.Advisory {
		j := s.Judgement
		count(j.Own, s.asked(), s.Log.waives(s.Role, j.Head, j.Note.Heard, j.Note.Extra))
	}
	for _, cur := range slices.Backward(s.Log.Standing()) {
		if cur.Role() == s.Role || cur.Sentinel.Advisory {
			continue
		}
		about, waived := s.about(cur), s.Log.Waived(cur.Role(), cur.Head())
		count(cur.Own(), about, waived)
		switch {
		case cur.Own() == sentinel.RequestChanges && !waived:
			d.Blockers = append(d.Blockers, cur)
		case cur.Own() == sentinel.Comment && about:
			d.Undecided = append(d.Undecided, cur)
		}
	}
	waits := slices.DeleteFunc(slices.Clone(s.Siblings), func(role string) bool { return role == s.Role || s.judged(role) })
	d.Waiting = s.Log.Holes || len(waits) > 0
	switch {
	case blocked:
		d.Event = sentinel.RequestChanges
	case approved && !undecided && !d.Waived && !d.Waiting:
		d.Event = sentinel.Approved
	default:
		d.Event = sentinel.None
		if approved && !undecided && !d.Waived && !s.Log.Holes {
			d.Waits = waits
		}
	}
	return d
}

func (s Situation) judged(role string) bool {
	cur, ok := s.Log.Current(role)
	return ok && s.about(cur)
}

// about reports whether the record answers for the head as it is compared now.
func (s Situation) about(cur Record) bool {
	return cur.Head() == s.Head && cur.Sentinel.Against == s.Against
}

// asked reports the same of what the acting role found.
func (s Situation) asked() bool {
	return s.Judgement.Head == s.Head && s.Judgement.Against == s.Against
}

// Decide is the decision table for one role's run: total, and the same for the
// same situation. What a verdict owes to conversations comes last, when the
// verdict itself stands.
func Decide(s Situation) Action {
	a := s.verdict()
	if cur, ok := s.Log.Current(s.Role); ok && !s.Closed && !s.Draft && s.Judgement.Head == s.Head && !a.Writes() && s.owes(cur) {
		a.Outcome, a.Settle, a.Reason = Patched, []Record{cur}, settles
	}
	return a
}

const settles = "conversations are still to be settled"

// owes tells whether the record's verdict on the head has conversations left to
// settle, and can be told that they are.
func (s Situation) owes(cur Record) bool {
	return len(cur.Sentinel.Owed) > 0 && cur.Head() == s.Head && patchable(cur)
}

// verdict decides about the role's verdict.
func (s Situation) verdict() Action {
	cur, has := s.Log.Current(s.Role)
	switch {
	case s.Closed:
		return Action{Outcome: Closed, Reason: "the pull request is closed"}
	case s.Draft:
		return Action{Outcome: Draft, Reason: "the pull request is a draft"}
	case s.Judgement.Head != s.Head:
		return s.moved("the pull request has a newer head")
	case !s.asked():
		return s.moved("the head is compared with another base now")
	case s.OwnPull:
		a := s.comment(cur, has)
		a.Outcome, a.Reason = OwnPull, "the account is the pull request's author"
		return a
	case s.Advisory:
		return s.advise(cur, has)
	}
	want := Desired(s)
	a := s.table(cur, has, want)
	a.Desired, a.Blockers, a.Waits, a.Undecided = want.Event, want.Blockers, want.Waits, want.Undecided
	a.Supersede = append(s.leftovers(cur), a.Supersede...)
	a.clear(s.Log)
	return a
}

// moved is what is done where what was judged isn't what is to be merged now.
func (s Situation) moved(why string) Action {
	a := Rest(s)
	a.Outcome, a.Reason = HeadMoved, why
	return a
}

// clear has the notices removed that say what isn't true any more: that a sibling
// holds the account. A sibling's run does it, too, as the role's own may not come again.
func (a *Action) clear(log Log) {
	rests := !a.Writes()
	for _, cur := range log.Standing() {
		held := a.Desired == sentinel.RequestChanges && cur.Own() != sentinel.RequestChanges
		written := !rests && (cur.Role() == a.As || slices.ContainsFunc(a.Supersede, func(r Record) bool { return r.Row.ID == cur.Row.ID }))
		if cur.Body.Notice != "" && !held && !written && patchable(cur) {
			a.Clear = append(a.Clear, cur)
		}
	}
	if len(a.Clear) > 0 && rests {
		a.Reason = "a role isn't held any more"
		if a.Outcome == Skipped {
			a.Outcome = Patched
		}
	}
}

// comment publishes without gating: for advisory roles and the account's own
// pull requests.
func (s Situation) comment(cur Record, has bool) Action {
	a := Action{As: s.Role, Desired: sentinel.None, Supersede: s.leftovers(cur)}
	switch {
	case has && cur.Own() == s.Judgement.Own && s.same(cur):
		a.Outcome = Skipped
	case has && cur.Own() == s.Judgement.Own && patchable(cur) && cur.Row.State == RowComment:
		a.Outcome, a.Patch = Patched, &cur
	default:
		a.Outcome, a.Post = Posted, sentinel.Comment
		if has {
			a.Outcome = Reposted
			a.Supersede = append(a.Supersede, replaceable(cur)...)
		}
	}
	return a
}

// advise comments for a role that doesn't gate. The account's other roles may not run
// again, so what the account says of the head is seen to all the same: a block of theirs
// that was lost is posted, and an approval of another head is taken back.
func (s Situation) advise(cur Record, has bool) Action {
	want := Desired(s)
	if rest := Rest(s); want.Event == sentinel.RequestChanges && rest.Post != "" {
		return rest // then it comments
	}
	a := s.comment(cur, has)
	a.Desired, a.Reason = want.Event, "the role is advisory"
	if want.Event == sentinel.None || want.Event == sentinel.Approved && s.NoApprove {
		if a.Hold, a.Withdraw = s.takesBack(want, s.Log.Gate()); a.Hold == "" {
			a.Withdraw = false
		} else if a.Outcome == Skipped {
			a.Outcome = Reposted
		}
	}
	return a
}

// same tells whether the role says what its record says, about the same commit.
func (s Situation) same(cur Record) bool {
	return cur.Own() == s.Judgement.Own && cur.Head() == s.Judgement.Head && cur.Sentinel.Against == s.Judgement.Against &&
		cur.Sentinel.Body == s.Judgement.Text && cur.Sentinel.Advisory == s.Advisory && s.Judgement.Note.equal(cur.Sentinel)
}

func (s Situation) table(cur Record, has bool, want Desire) Action {
	gate := s.Log.Gate()
	a := Action{As: s.Role}
	event := want.Event
	if event == sentinel.Approved && s.NoApprove {
		event = sentinel.None
	}
	if event == sentinel.None {
		a.Hold, a.Withdraw = s.takesBack(want, gate)
	}
	gateRight := gate.Is(event) || event == sentinel.None
	stale := s.RepostStale && event == sentinel.Approved && has && cur.Row.State == RowApproved && cur.Row.Commit != s.Head

	switch {
	case has && s.same(cur) && gateRight && !stale:
		a.Outcome, a.Reason = Skipped, "nothing changed"
		if a.Withdraw {
			a.Outcome, a.Reason = Reposted, "the account's verdict no longer stands"
		}
	case !has:
		a.Outcome, a.Post, a.Reason = Posted, publish(event), "first review of the role"
	case cur.Own() != s.Judgement.Own:
		a.Outcome, a.Post, a.Reason = Reposted, publish(event), "the role's own verdict changed"
		a.Supersede = replaceable(cur)
	case event == sentinel.None:
		a.Outcome, a.Patch, a.Reason = Patched, &cur, "nothing may gate now"
	case cur.Row.State == rowState[event] && gate.Is(event) && !stale:
		a.Outcome, a.Patch, a.Reason = Patched, &cur, "same verdict, text or head changed"
	case cur.Row.State == RowApproved && event == sentinel.RequestChanges && gate.Is(event):
		a.Outcome, a.Patch, a.Reason = Patched, &cur, "a sibling's block holds the account already"
	default:
		a.Outcome, a.Post, a.Reason = Reposted, publish(event), reason(cur, event, gate)
		a.Supersede = replaceable(cur)
	}
	if a.Patch != nil {
		anew := ""
		switch {
		case cur.Edited:
			// A person wrote there: what they wrote stays, and what is new is said anew.
			anew = "a person edited the role's review"
		case cur.Unseen:
			anew = "what the role's review says now can't be read"
		case !patchable(cur):
			anew = "the review's timeline entry was deleted"
		case s.dismissedSince(cur):
			anew = "a person dismissed the verdict on an older head"
		}
		if anew != "" {
			a.Outcome, a.Post, a.Patch, a.Reason = Reposted, publish(event), nil, anew
			a.Supersede = replaceable(cur)
		}
	}
	if want.Waived && want.Event == sentinel.None {
		a.Outcome = Waived
	}
	return a
}

// publish is the event of a POST for what the account should say. Where it
// should say nothing, the role still puts its own verdict on record.
func publish(event sentinel.Verdict) sentinel.Verdict {
	if event == sentinel.None {
		return sentinel.Comment
	}
	return event
}

func reason(cur Record, event sentinel.Verdict, gate Gate) string {
	switch {
	case cur.Row.State == RowApproved && event == sentinel.RequestChanges:
		return "a sibling blocks"
	case cur.Row.State == RowRequestChanges && event == sentinel.Approved:
		return "nothing blocks any more"
	case cur.Row.State == RowComment:
		return "the role's last review doesn't gate"
	case !gate.Is(event):
		return "the forge counts another verdict"
	default:
		return "the approval names an older commit"
	}
}

// patchable reports whether the record's text may be replaced: not what a person
// edited, or may have edited, and not where the timeline entry is gone, by whose id
// it is done.
func patchable(r Record) bool { return !r.Edited && !r.Unseen && r.Row.CommentID != 0 }

// dismissedSince tells whether a PATCH would move the record to another head
// across a dismissal. A waiver covers what a record said when the review was
// dismissed, so what the role says of a commit that the person never saw goes into
// a review of its own, where anybody can see that it is newer.
func (s Situation) dismissedSince(cur Record) bool {
	return cur.Head() != s.Judgement.Head && slices.ContainsFunc(s.Log.Waivers(), func(w Waiver) bool {
		return s.Log.after(w.Entry, cur.Row) && (cur.Own() == sentinel.RequestChanges || cur.Row.ID == w.Row.ID)
	})
}

// replaceable is the record as the list to supersede, or nothing: a request for
// changes stays as history, byte for byte, and so does what can't be patched.
func replaceable(r Record) []Record {
	if r.Row.State == RowRequestChanges || !patchable(r) || r.Sentinel.State != sentinel.Live {
		return nil
	}
	return []Record{r}
}

// leftovers are the role's older records that a job should have superseded.
func (s Situation) leftovers(cur Record) []Record { return s.Log.leftovers(s.Role, cur) }

func (l Log) leftovers(role string, cur Record) []Record {
	var list []Record
	for _, r := range l.Records {
		if r.Role() == role && r.Row.ID != cur.Row.ID {
			list = append(list, replaceable(r)...)
		}
	}
	return list
}
