package escalation

import (
	"slices"
	"time"

	"review-bot/sentinel"
)

// Ask is one request that a Publication wants made. Only the fields of its kind
// are set.
type Ask struct {
	Kind    AskKind
	Since   time.Time     // AskTimeline: entries updated then or later, all for the zero time
	Rows    []Row         // AskTimeline: the reviews read before
	ToEnd   bool          // AskTimeline: go on where hidden entries may follow
	Review  int64         // AskComments, AskSubmit, AskAttach, AskSettle
	Reopen  bool          // AskSettle: open it again
	Head    string        // AskSettle: the commit at which it is fixed
	Comment int64         // AskEdit: id of the timeline entry; AskSettle: of the conversation's first comment
	Post    NewReview     // AskPost
	Beside  bool          // AskPost: only further inline comments, beside the verdict's review
	Hold    bool          // AskPost: no verdict, see hold.go
	Inline  NewComment    // AskAttach, to Review
	Body    string        // AskSubmit, AskEdit, AskSay
	Wait    time.Duration // AskWait
	About   string        // for people: which role's review, and why
}

// AskKind is what kind of request it is.
type AskKind string

// The requests. Only those from AskPost on change what people see.
const (
	AskLock      AskKind = "lock"      // add the reaction
	AskReactions AskKind = "reactions" // who holds the lock, and since when
	AskUnlock    AskKind = "unlock"    // remove the account's reaction
	AskReviews   AskKind = "reviews"   // list all reviews
	AskTimeline  AskKind = "timeline"  // list the timeline
	AskHead      AskKind = "head"      // read the pull request
	AskComments  AskKind = "comments"  // list a pending review's inline comments
	AskWait      AskKind = "wait"      // let time pass
	AskPost      AskKind = "post"
	AskEdit      AskKind = "edit"
	AskSubmit    AskKind = "submit"   // submit the account's pending review
	AskAttach    AskKind = "attach"   // add an inline comment to a submitted review
	AskSettle    AskKind = "settle"   // close a conversation, or open it again
	AskSay       AskKind = "say"      // write an ordinary comment
	AskWithdraw  AskKind = "withdraw" // ask the account itself for a review, which stops its verdict from counting
	AskNothing   AskKind = ""         // the publication is over
)

// Reply is what came back of an Ask. Only the fields of its kind are set.
type Reply struct {
	Now     time.Time // this process's clock
	Err     error
	Unknown bool // Err leaves open whether the write happened
	Failed  bool // the server itself failed at it, and does nothing more about it

	Unsupported bool // AskAttach: the server can't
	Edited      bool // AskSettle: the server can't, so the comment was edited

	Added     bool      // AskLock: this process holds the lock now
	Created   time.Time // AskLock: the server's time of it
	Reactions []Reaction
	Server    time.Time // AskReactions: the server's time
	Rows      []Row
	Entries   []Entry
	Reach     Reach            // AskTimeline
	Head      string           // AskHead
	Against   sentinel.Against // AskHead
	Closed    bool             // AskHead
	Comments  []Comment
	Posted    Row // AskPost, AskSubmit
}

// LockTimes are the lock's durations. Zero fields mean the defaults.
type LockTimes struct {
	Hold   time.Duration // a holder makes no write later than this after it got the lock
	Expire time.Duration // by the server's clock: an older lock belongs to a dead job
	Wait   time.Duration // how long to wait for the lock
	Poll   time.Duration // between two looks, on average
}

// DefaultLockTimes go by what a publication takes, well under a second: a holder
// that needs 30 s has lost its way, and one of 45 s is dead.
var DefaultLockTimes = LockTimes{Hold: 30 * time.Second, Expire: 45 * time.Second, Wait: 120 * time.Second, Poll: 250 * time.Millisecond}

func (t LockTimes) orDefault() LockTimes {
	d := DefaultLockTimes
	if t.Hold != 0 {
		d.Hold = t.Hold
	}
	if t.Expire != 0 {
		d.Expire = t.Expire
	}
	if t.Wait != 0 {
		d.Wait = t.Wait
	}
	if t.Poll != 0 {
		d.Poll = t.Poll
	}
	return d
}

// Verdict is what the acting role has to say: what it found and the review's
// text. Where no model was asked it is read from the role's record.
type Verdict struct {
	Own      sentinel.Verdict
	Head     string
	Base     string
	Against  sentinel.Against // what the head was compared with
	Q        string           // digest of the question
	Round    int
	Epoch    int64
	Heard    int64            // newest timeline id that was read before the model was asked
	Body     sentinel.Body    // without notice
	Comments []NewComment     // inline; posted once
	Owed     []sentinel.Owed  // conversations to be settled once it stands
	Extra    []sentinel.Field // further fields of the sentinel, the caller's own
	Fresh    bool             // a model was asked in this run
}

// Judgement is the part of v that decisions depend on.
func (v Verdict) Judgement() Judgement {
	var extra []sentinel.Field
	for _, f := range v.Extra {
		if f.Value != "" {
			extra = append(extra, f)
		}
	}
	return Judgement{Own: v.Own, Head: v.Head, Against: v.Against, Text: sentinel.Hash(v.Body.Text), Note: Note{v.Q, v.Base, v.Heard, extra}}
}

// Noting is v with these fields of the sentinel in place of its own of the same keys.
func (v Verdict) Noting(fields []sentinel.Field) Verdict {
	v.Extra = slices.Clone(v.Extra)
	for _, f := range fields {
		i := slices.IndexFunc(v.Extra, func(own sentinel.Field) bool { return own.Key == f.Key })
		if i < 0 {
			v.Extra = append(v.Extra, f)
			continue
		}
		v.Extra[i] = f
	}
	return v
}

// Recorded is a role's verdict as its record has it, to go on with when no model
// is asked. A text that a person edited is not taken for the role's: the
// original is.
func Recorded(r Record) Verdict {
	body := r.Body
	if r.Edited {
		body, _, _ = sentinel.Split(r.Row.Body)
	}
	body.Notice = ""
	s := r.Sentinel
	return Verdict{Own: s.Own, Head: s.Head, Base: s.Base, Against: s.Against, Q: s.Q, Round: s.Round, Epoch: s.Epoch, Heard: s.Heard, Body: body, Owed: s.Owed, Extra: s.Extra}
}
