// Package sentinel holds the names of verdicts and the grammar of the hidden
// markers by which review-bot finds its own reviews again.
//
// A sentinel is an HTML comment, the last line of a review's body:
//
//	<!-- review-bot:security v=1 kind=verdict own=approved event=approved head=… run=… body=… mac=… -->
//
// It says which role wrote the review and what that role found. The package is
// pure: it encodes, decodes and checks, and knows nothing of servers.
//
// What a sentinel proves is little by itself: anybody may write one into a
// review of theirs. It counts only in a review of the bot's own account, and a
// text that was edited later counts only with a right [Sentinel.Verify] code.
package sentinel

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Verdict is what a role found (its own verdict) or what it published (its
// event). The two differ while a sibling role blocks.
type Verdict string

// The verdicts. None is an event only: nothing that gates was published.
const (
	Approved       Verdict = "approved"
	RequestChanges Verdict = "request_changes"
	Comment        Verdict = "comment"
	None           Verdict = "none"
)

// Kind tells what a marked review is.
type Kind string

const (
	// KindVerdict is a review that carries a role's verdict.
	KindVerdict Kind = "verdict"
	// KindFindings is a review that only carries further inline comments.
	KindFindings Kind = "findings"
	// KindOrphan is a leftover of a job that died while it was posting.
	KindOrphan Kind = "orphan"
	// KindHold is a review that requests changes because nobody has judged the head:
	// it takes the place of an approval that counts no more. It is no verdict of a role.
	KindHold Kind = "hold"
)

// State is what became of a review after it was posted.
type State string

const (
	// Live is the state of a review that nothing has replaced.
	Live State = ""
	// Superseded marks a review whose role has published a newer one.
	Superseded State = "superseded"
	// Retired marks the last verdict of a role that no longer exists.
	Retired State = "retired"
)

// Version is the version of the grammar that this package writes.
const Version = 1

// Sentinel is one decoded marker.
type Sentinel struct {
	Role    string
	Version int
	Kind    Kind
	Own     Verdict // what the role found
	Event   Verdict // what the role published
	Head    string  // commit that was judged, 40 hex digits
	Round   int     // heads at which the role has requested changes so far
	Epoch   int64   // timeline id of the event that last reset Round; 0: none
	Q       string  // digest of the question that the model was asked
	Base    string  // tip of the base branch that was read, 40 hex digits
	Against Against // what the head was compared with
	Run     string  // random nonce of the POST that made the review, 32 hex digits
	Body    string  // hash of the text, see Hash
	State   State
	Heard   int64 // newest timeline id that was known when the model was asked; 0: not noted
	// Official says that the account's verdicts counted for merging when this was posted. A
	// review takes the mark of a request for review away, which alone would show it later.
	Official bool
	// Advisory says that the role only comments, whatever it finds: its verdict has no part in
	// what the account says. A comment of another role means that it can't approve the head.
	Advisory bool
	// Undone are the timeline ids of dismissals that were found taken back when this was
	// posted, at most [MaxUndone]. The server dismisses a review again when a newer one is
	// posted, and leaves no trace of its own.
	Undone []int64
	Owed   []Owed
	Extra  []Field // keys that this version doesn't know, in the order read
	MAC    string  // see Sign
}

// Against is what a head is compared with. The same head is another change on
// another base branch, or from another merge base.
type Against struct {
	Branch    string // digest of the base branch's name, in hexadecimal; see [BranchDigest]
	MergeBase string // commit, 40 hex digits
}

// BranchDigest is a base branch's name as a sentinel holds it: a name may have
// characters that a sentinel can't.
func BranchDigest(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// Field is a key with its value.
type Field struct{ Key, Value string }

const (
	open  = "<!-- review-bot:"
	close = " -->"

	officialKey = "official"
	advisoryKey = "advisory"
	undoneKey   = "undone"
)

// MaxUndone is how many ids Undone has room for.
const MaxUndone = (MaxValue + 1) / (maxDigits + 1)

const maxDigits = 19 // of an int64

// ErrNone says that a text carries no sentinel at all, as opposed to a broken one.
var ErrNone = errors.New("no sentinel")

// ValidRole tells whether name may be a role's name.
func ValidRole(name string) bool {
	return name != "" && len(name) <= 64 && (lower(name[0]) || digit(name[0])) &&
		every(name, func(c byte) bool { return lower(c) || digit(c) || c == '.' || c == '_' || c == '-' })
}

// RolePattern is the form of a role's name, for messages to people.
const RolePattern = "[a-z0-9][a-z0-9._-]{0,63}"

// fields lists what stands behind the role, in canonical order, without the mac.
// Empty values are left out.
func (s Sentinel) fields() []Field {
	list := []Field{
		{"v", strconv.Itoa(s.Version)},
		{"kind", string(s.Kind)},
		{"own", string(s.Own)},
		{"event", string(s.Event)},
		{"head", s.Head},
	}
	if s.Round != 0 {
		list = append(list, Field{"round", strconv.Itoa(s.Round)})
	}
	if s.Epoch != 0 {
		list = append(list, Field{"epoch", strconv.FormatInt(s.Epoch, 10)})
	}
	if s.Heard != 0 {
		list = append(list, Field{"heard", strconv.FormatInt(s.Heard, 10)})
	}
	list = append(list,
		Field{"q", s.Q},
		Field{"base", s.Base},
		Field{"branch", s.Against.Branch},
		Field{"mergebase", s.Against.MergeBase},
		Field{"run", s.Run},
		Field{"body", s.Body},
		Field{"state", string(s.State)},
	)
	if s.Official {
		list = append(list, Field{officialKey, "1"})
	}
	if s.Advisory {
		list = append(list, Field{advisoryKey, "1"})
	}
	if len(s.Undone) > 0 {
		var ids []string
		for _, id := range s.Undone {
			ids = append(ids, strconv.FormatInt(id, 10))
		}
		list = append(list, Field{undoneKey, strings.Join(ids, ",")})
	}
	list = append(list, owedFields(s.Owed)...)
	list = append(list, s.Extra...)
	return slices.DeleteFunc(list, func(f Field) bool { return f.Value == "" })
}

// String encodes the sentinel as one line.
func (s Sentinel) String() string {
	var b strings.Builder
	b.WriteString(open)
	b.WriteString(s.Role)
	for _, f := range s.fields() {
		fmt.Fprintf(&b, " %s=%s", f.Key, f.Value)
	}
	if s.MAC != "" {
		b.WriteString(" mac=")
		b.WriteString(s.MAC)
	}
	b.WriteString(close)
	return b.String()
}

// Validate reports the first field whose value the grammar doesn't allow.
func (s Sentinel) Validate() error {
	if !ValidRole(s.Role) {
		return fmt.Errorf("role %q is not of the form %s", s.Role, RolePattern)
	}
	if s.Version < 1 {
		return fmt.Errorf("version %d", s.Version)
	}
	switch s.Kind {
	case KindVerdict, KindFindings, KindOrphan, KindHold:
	default:
		return fmt.Errorf("unknown kind %q", s.Kind)
	}
	if s.Kind == KindVerdict {
		if !slices.Contains([]Verdict{Approved, RequestChanges, Comment}, s.Own) {
			return fmt.Errorf("own verdict %q", s.Own)
		}
		if !slices.Contains([]Verdict{Approved, RequestChanges, Comment, None}, s.Event) {
			return fmt.Errorf("event %q", s.Event)
		}
		if len(s.Head) != 40 {
			return fmt.Errorf("head %q is not a commit id", s.Head)
		}
		if len(s.Run) != 32 {
			return fmt.Errorf("run %q is not a nonce of 32 hex digits", s.Run)
		}
	}
	for _, f := range []Field{{"head", s.Head}, {"base", s.Base}, {"run", s.Run}, {"q", s.Q}, {"body", s.Body}, {"mac", s.MAC}, {"branch", s.Against.Branch}, {"mergebase", s.Against.MergeBase}} {
		if f.Value != "" && !hexadecimal(f.Value) {
			return fmt.Errorf("%s %q is not hexadecimal", f.Key, f.Value)
		}
	}
	if !slices.Contains([]State{Live, Superseded, Retired}, s.State) {
		return fmt.Errorf("unknown state %q", s.State)
	}
	if s.Round < 0 || s.Epoch < 0 || s.Heard < 0 {
		return errors.New("negative round, epoch or timeline id")
	}
	if slices.ContainsFunc(s.Undone, func(id int64) bool { return id <= 0 }) {
		return errors.New("something undone that is no timeline id")
	}
	if slices.ContainsFunc(s.Owed, func(o Owed) bool { return o.Review <= 0 || o.Comment <= 0 }) {
		return errors.New("something owed that is no conversation")
	}
	fields := s.fields()
	for i, f := range fields {
		if !validKey(f.Key) || !validValue(f.Value) || f.Key == "mac" ||
			slices.ContainsFunc(fields[:i], func(o Field) bool { return o.Key == f.Key }) {
			return fmt.Errorf("field %q", f.Key)
		}
	}
	return nil
}

// Parse decodes one line. It is strict: one space between fields, no key twice,
// every value of its form. Keys it doesn't know are kept in Extra. The error is
// ErrNone if the line doesn't begin as a sentinel does.
func Parse(line string) (Sentinel, error) {
	role, fields, err := split(line, open)
	if errors.Is(err, ErrNone) {
		return Sentinel{}, err
	}
	if err != nil {
		return Sentinel{}, fmt.Errorf("sentinel: %w", err)
	}
	s := Sentinel{Role: role}
	for _, f := range fields {
		if err := s.set(f.Key, f.Value); err != nil {
			return Sentinel{}, fmt.Errorf("sentinel: %w", err)
		}
	}
	if err := s.Validate(); err != nil {
		return Sentinel{}, fmt.Errorf("sentinel: %w", err)
	}
	return s, nil
}

func (s *Sentinel) set(key, value string) (err error) {
	switch key {
	case "v":
		s.Version, err = number(key, value)
	case "kind":
		s.Kind = Kind(value)
	case "own":
		s.Own = Verdict(value)
	case "event":
		s.Event = Verdict(value)
	case "head":
		s.Head = value
	case "round":
		s.Round, err = number(key, value)
	case "epoch":
		var n int
		n, err = number(key, value)
		s.Epoch = int64(n)
	case "heard":
		var n int
		n, err = number(key, value)
		s.Heard = int64(n)
	case "q":
		s.Q = value
	case "base":
		s.Base = value
	case "branch":
		s.Against.Branch = value
	case "mergebase":
		s.Against.MergeBase = value
	case "run":
		s.Run = value
	case "body":
		s.Body = value
	case "state":
		s.State = State(value)
	case "mac":
		s.MAC = value
	case undoneKey:
		for item := range strings.SplitSeq(value, ",") {
			var n int
			if n, err = number(key, item); err != nil {
				return err
			}
			s.Undone = append(s.Undone, int64(n))
		}
	case officialKey:
		s.Official, err = flag(key, value)
	case advisoryKey:
		s.Advisory, err = flag(key, value)
	default:
		if strings.HasPrefix(key, owedKey) {
			s.Owed, err = appendOwed(s.Owed, key, value)
			return err
		}
		s.Extra = append(s.Extra, Field{key, value})
	}
	return err
}

// flag reads what is there only if it is so.
func flag(key, value string) (bool, error) {
	if value != "1" {
		return false, fmt.Errorf("%s %q is not 1", key, value)
	}
	return true, nil
}

// number reads a positive decimal in its only spelling, so that what is decoded
// encodes to the same bytes again.
func number(key, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n <= 0 || strconv.Itoa(n) != value {
		return 0, fmt.Errorf("%s %q is not a positive number", key, value)
	}
	return n, nil
}

// validKey: [a-z][a-z0-9_]{0,31}
func validKey(s string) bool {
	return s != "" && len(s) <= 32 && lower(s[0]) && every(s, func(c byte) bool { return lower(c) || digit(c) || c == '_' })
}

// MaxValue is how long a field's value may be, in characters.
const MaxValue = 512

// validValue: at most MaxValue of [A-Za-z0-9._:,/+=-], nothing that could end the comment.
func validValue(s string) bool {
	return len(s) <= MaxValue && every(s, func(c byte) bool {
		return lower(c) || digit(c) || ('A' <= c && c <= 'Z') || strings.IndexByte("._:,/+=-", c) >= 0
	})
}

func hexadecimal(s string) bool {
	return s != "" && every(s, func(c byte) bool { return digit(c) || ('a' <= c && c <= 'f') })
}

func lower(c byte) bool { return 'a' <= c && c <= 'z' }
func digit(c byte) bool { return '0' <= c && c <= '9' }

func every(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}
