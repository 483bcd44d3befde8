package escalation

import (
	"testing"

	"review-bot/sentinel"
)

// onto is a base that a head can be compared with.
func onto(branch, mergeBase string) sentinel.Against {
	return sentinel.Against{Branch: sentinel.BranchDigest(branch), MergeBase: mergeBase}
}

func comparedWith(against sentinel.Against) func(*forge, *Row) {
	return func(f *forge, r *Row) {
		f.edit(r.ID, func(_ *sentinel.Body, s *sentinel.Sentinel) { s.Against = against })
	}
}

// A verdict answers for a head as it is compared with one base. Compared with
// another one, the same head is another change.
func TestAVerdictIsAboutWhatTheHeadIsComparedWith(t *testing.T) {
	lax := onto("lax", h2)
	for promise, now := range map[string]sentinel.Against{
		"another branch": onto("main", h2), "another merge base": onto("lax", h3), "the same": lax,
	} {
		same := now == lax
		log := history(review("a", approved, approved, h1, comparedWith(lax))).log()
		reconciled := Situation{Log: log, Head: h1, Against: now}
		if d := Desired(reconciled); (d.Event == approved) != same {
			t.Errorf("%s: from the records D is %s", promise, d.Event)
		}
		if a := Reconcile(reconciled, ""); a.Withdraw == same {
			t.Errorf("%s: reconcile takes the approval back: %t", promise, a.Withdraw)
		}
		judged := judge(approved, h1, siblings("a"))
		judged.Log, judged.Against, judged.Judgement.Against = log, now, now
		if d := Desired(judged); d.Waiting == same {
			t.Errorf("%s: waits for the sibling: %t", promise, d.Waiting)
		}
		judged.Judgement.Against = lax
		if a := Decide(judged); (a.Outcome == HeadMoved) == same ||
			a.Outcome == HeadMoved && (a.Hold == "" || a.Post != "" || a.Patch != nil) {
			t.Errorf("%s: the role that judged before ends %s", promise, a.Outcome)
		}
	}
}

// What is compared with another base is no news that a run could adopt, and a
// patch moves the record on.
func TestNoRecordAboutAnotherBaseIsAdopted(t *testing.T) {
	lax, strict := onto("lax", h2), onto("main", h3)
	for _, against := range []sentinel.Against{lax, strict} {
		f := history()
		seen := f.log()
		review(sec, approved, approved, h1, comparedWith(lax))(f)
		v := Verdict{Own: changes, Head: h1, Against: against, Fresh: true, Body: sentinel.Body{Text: "Something new."}}
		f.against = against
		f.publish(t, &Config{Account: me, Author: person, Key: key, Nonce: "n", Role: sec, Verdict: v, Seen: seen,
			Against: against}, false)
		cur, _ := f.log().Current(sec)
		if adopted := cur.Own() == approved; adopted != (against == lax) {
			t.Errorf("the record about the lax branch was adopted: %t", adopted)
		}
		if cur.Sentinel.Against != against {
			t.Errorf("the record is about %+v, want %+v", cur.Sentinel.Against, against)
		}
	}
	f := history(review(sec, approved, approved, h1, comparedWith(lax)))
	f.against = strict
	v := Verdict{Own: approved, Head: h1, Against: strict, Fresh: true, Body: sentinel.Body{Text: says(sec)}}
	f.publish(t, &Config{Account: me, Author: person, Key: key, Nonce: "n", Role: sec, Verdict: v, Seen: f.log(),
		Against: strict}, false)
	if cur, _ := f.log().Current(sec); cur.Sentinel.Against != strict || len(f.rows) != 1 {
		t.Errorf("%d rows, about %+v, want the one about %+v", len(f.rows), cur.Sentinel.Against, strict)
	}
}
