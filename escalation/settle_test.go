package escalation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"review-bot/sentinel"
)

func TestWhatIsOwedComesLast(t *testing.T) {
	decide(t, []decision{
		{"it is all that is left", history(review(sec, changes, changes, h1, owes)), judge(changes, h1), changes, "patched, settle 1"},
		{"an approval owes too", history(review(sec, approved, approved, h1, owes)), judge(approved, h1), approved, "patched, settle 1"},
		{"the gate goes first", history(review(sec, changes, changes, h1, owes), rerequest), judge(changes, h1), changes, "reposted, post request_changes"},
		{"and a new text", history(review(sec, changes, changes, h1, owes)), judge(changes, h1, newText), changes, "patched, patch 1"},
		{"of an older head nothing is owed", history(review(sec, changes, changes, h1, owes)), judge(changes, h2), changes, "patched, patch 1"},
		{"nor on a head that nobody has judged", history(review(sec, changes, changes, h1, owes)), judge(changes, h1, movedOn), changes, "head_moved"},
		{"nor on a closed pull request", history(review(sec, changes, changes, h1, owes)), judge(changes, h1, closed), "", "closed"},
		{"a text that a person edited can't note that it is done", history(review(sec, changes, changes, h1, owes, edited)), judge(changes, h1), changes, "skipped"},
		{"nor can one whose entry was deleted", history(review(sec, changes, changes, h1, owes, entryDeleted)), judge(changes, h1), changes, "skipped"},
		{"an advisory role owes", history(review(sec, comment, comment, h1, advises, owes)), judge(comment, h1, advisory), none, "patched, settle 1"},
		{"a waived one, too", history(review(sec, changes, changes, h1, owes), dismiss(1)), judge(changes, h1), none, "patched, settle 1"},
	})
}

func TestReconcileSettlesWhatADeadJobOwed(t *testing.T) {
	log := history(review("a", changes, changes, h1, owes), review("b", changes, changes, h1), review("c", changes, changes, h2, owes)).log()
	a := Reconcile(Situation{Log: log, Head: h1}, "")
	if got := describe(a); got != "patched, settle 1" {
		t.Errorf("%s, want only what is owed at the head to be settled", got)
	}
}

// publish carries a publication out against the model of the forge, and tells the
// writes in words.
func (f *forge) publish(t *testing.T, cfg *Config, attach bool) []string {
	t.Helper()
	var writes []string
	p := Publish(cfg, began)
	for range 100 {
		ask, r := p.Ask, Reply{Now: began}
		switch ask.Kind {
		case AskNothing:
			if p.Done.Err != nil {
				t.Errorf("it ends with %v", p.Done.Err)
			}
			return writes
		case AskReviews:
			r.Rows = f.all()
			if f.between != nil {
				f.between(f)
				f.between = nil
			}
		case AskComments:
		case AskSubmit:
			r.Posted = *f.submit(ask.Review, ask.Body)
		case AskTimeline:
			r.Entries = slices.Clone(f.entries)
		case AskHead:
			r.Head, r.Against = f.head, f.against
		case AskPost:
			words := fmt.Sprintf("post %s %s %d inline", sentinelOf(t, ask.Post.Body).Kind, ask.Post.Event, len(ask.Post.Comments))
			writes = append(writes, words)
			r.Posted = *f.post(me, rowState[ask.Post.Event], ask.Post.Commit, ask.Post.Body)
		case AskAttach:
			if !attach {
				r.Unsupported = true
				break
			}
			writes = append(writes, "attach "+ask.Inline.Path)
		case AskEdit:
			for i, e := range f.entries {
				if e.ID == ask.Comment {
					f.entries[i].Body = ask.Body
					writes = append(writes, fmt.Sprintf("edit %d, %d owed", e.Review, len(sentinelOf(t, ask.Body).Owed)))
				}
			}
		case AskWithdraw:
			writes = append(writes, "withdraw")
			f.withdraw(me)
		case AskSay:
			writes = append(writes, "say")
			f.entry(Entry{Kind: EntryComment, User: me, Body: ask.Body})
		case AskSettle:
			writes = append(writes, fmt.Sprintf("settle %d/%d %v at %.1s", ask.Review, ask.Comment, ask.Reopen, strings.TrimLeft(ask.Head, "0")))
		default:
			t.Fatalf("unexpected: %+v", ask)
		}
		p.Tell(r)
	}
	t.Fatalf("no end: %q", writes)
	return nil
}

func sentinelOf(t *testing.T, body string) sentinel.Sentinel {
	t.Helper()
	_, s, err := sentinel.Split(body)
	if err != nil || !key.Verify(s) {
		t.Fatalf("%v in %s", err, body)
	}
	return s
}

// New findings of a patched verdict stand before the head moves; conversations
// are settled once it has; and then that is noted.
func TestTheOrderOfAPatchedRound(t *testing.T) {
	verdict := Verdict{
		Own: changes, Head: h2, Fresh: true, Body: sentinel.Body{Text: "Something new."},
		Comments: []NewComment{{Path: "a.go"}, {Path: "b.go"}}, Owed: []sentinel.Owed{{Review: 1, Comment: 11}, {Review: 1, Comment: 12, Reopen: true}},
	}
	behind := []string{"edit 1, 2 owed", "settle 1/11 false at 2", "settle 1/12 true at 2", "edit 1, 0 owed"}
	for _, tt := range []struct {
		promise       string
		attach, can   bool
		posted        string
		before        []string
		rows, entries int
	}{
		{"beside", false, false, h2, []string{"post findings comment 2 inline"}, 2, 2},
		{"attached", true, true, h2, []string{"attach a.go", "attach b.go"}, 1, 1},
		{"beside, where the server can't attach", true, false, h2, []string{"post findings comment 2 inline"}, 2, 2},
		{"beside, as the review was posted for an older head", true, true, h1, []string{"post findings comment 2 inline"}, 2, 2},
	} {
		f := history(review(sec, changes, changes, tt.posted))
		f.head = h2
		cfg := &Config{Account: me, Author: person, Key: key, Nonce: "n", Role: sec, Verdict: verdict, Seen: f.log(), Attach: tt.attach}
		got := f.publish(t, cfg, tt.can)
		if d := cmp.Diff(append(slices.Clone(tt.before), behind...), got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.promise, d)
		}
		if cur, _ := f.log().Current(sec); cur.Row.ID != 1 || cur.Head() != h2 || len(f.rows) != tt.rows {
			t.Errorf("%s: the verdict is in row %d at %s, %d rows", tt.promise, cur.Row.ID, cur.Head(), len(f.rows))
		}
		// Again, with nothing to say: nothing to do.
		cur, _ := f.log().Current(sec)
		cfg.Verdict = Recorded(cur)
		if again := f.publish(t, cfg, tt.can); len(again) > 0 {
			t.Errorf("%s: the second run writes %q", tt.promise, again)
		}
	}
}

// A verdict that is posted anew owes as well, and what another run's record owes
// is kept when it is edited for the gate's sake.
func TestWhatIsOwedMovesWithTheVerdict(t *testing.T) {
	f := history(review(sec, changes, changes, h1))
	f.head = h2
	cfg := &Config{Account: me, Author: person, Key: key, Nonce: "n", Role: sec, Seen: f.log(), Verdict: Verdict{
		Own: approved, Head: h2, Fresh: true, Body: sentinel.Body{Text: "Fine."}, Owed: []sentinel.Owed{{Review: 1, Comment: 11}},
		Extra: []sentinel.Field{{Key: "raised", Value: "x"}},
	}}
	want := []string{"post verdict approved 0 inline", "settle 1/11 false at 2", "edit 2, 0 owed"}
	if d := cmp.Diff(want, f.publish(t, cfg, false)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if cur, _ := f.log().Current(sec); len(cur.Sentinel.Extra) != 1 || cur.Edited {
		t.Errorf("the caller's field is lost: %+v", cur)
	}

	// A re-request took the block from the forge before its job could settle.
	f = history(review(sec, changes, changes, h1, owes), rerequest)
	cur, _ := f.log().Current(sec)
	cfg = &Config{Account: me, Author: person, Key: key, Nonce: "n", Role: sec, Seen: f.log(), Verdict: Recorded(cur)}
	want = []string{"post verdict request_changes 0 inline", "settle 1/11 false at 1", "settle 1/12 true at 1", "edit 2, 0 owed"}
	if d := cmp.Diff(want, f.publish(t, cfg, false)); d != "" {
		t.Errorf("posted anew (-want +got):\n%s", d)
	}
}
