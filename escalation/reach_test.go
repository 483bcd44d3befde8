package escalation

import (
	"slices"
	"strings"
	"testing"
)

// hidden is a review that another account has begun.
func hidden(f *forge) { f.rows = append(f.rows, HiddenReview()) }

// unseen takes the newest entry out of the timeline, as one that comes after many
// that aren't shown.
func unseen(f *forge) { f.entries = f.entries[:len(f.entries)-1] }

// asked is a request for the account's review, with its row.
func asked(f *forge) {
	f.withdraw(stranger)
	row := Row{ID: int64(len(f.rows) + 1), Author: me, State: RowRequest, Official: true,
		Submitted: f.entries[len(f.entries)-1].Created}
	f.entries[len(f.entries)-1].Review = row.ID
	f.rows = append(f.rows, row)
}

func TestWhenTheTimelineIsReadToItsEnd(t *testing.T) {
	approves := review(sec, approved, approved, h1)
	blocks := review(sec, changes, changes, h1)
	for promise, tt := range map[string]struct {
		log       *forge
		approving bool
		want      bool
	}{
		"nothing there":                             {history(), false, false},
		"a first approval":                          {history(), true, false},
		"an approval is there":                      {history(approves), false, false},
		"a block is to be lifted":                   {history(blocks), true, false},
		"others have reviewed":                      {history(by(person, RowApproved, "ok"), approves), false, false},
		"somebody has begun a review, nothing said": {history(hidden), false, false},
		"and a block is there":                      {history(blocks, hidden), false, false},
		"and an approval is to be published":        {history(blocks, hidden), true, true},
		"and an approval is there":                  {history(approves, hidden), false, true},
		"a request whose entry is there":            {history(approves, asked), false, false},
		"a request whose entry isn't":               {history(approves, asked, unseen), false, true},
		"the entry of a block isn't there":          {history(blocks, unseen), false, true},
		"that of another's review, and a block":     {history(blocks, by(person, RowComment, "hm"), unseen), false, false},
		"that of another's review, and an approval": {history(approves, by(person, RowComment, "hm"), unseen), false, true},
		"an entry that was deleted": {
			history(review(sec, approved, approved, h1, entryDeleted)), true, false,
		},
		"a waiver":              {history(blocks, dismiss(1)), false, true},
		"a new count of rounds": {history(blocks, reopened), false, true},
	} {
		log := tt.log.log()
		if got := log.Unproven(tt.approving); got != tt.want {
			t.Errorf("%s: Unproven is %v, want %v", promise, got, tt.want)
		}
		if log.Reached(ReachEnd).Unproven(true) || log.Reached(ReachBound).Unproven(true) {
			t.Errorf("%s: it isn't read twice", promise)
		}
	}
}

func TestWhatATimelineWithHolesSays(t *testing.T) {
	waived := history(review(sec, changes, changes, h1), dismiss(1)).log()
	again := history(review(sec, changes, changes, h1), reopened).log()
	if len(waived.Reached(ReachEnd).Waivers()) != 1 || len(waived.Reached(ReachBound).Waivers()) != 0 {
		t.Error("a waiver must count if the timeline was read to its end, and only then")
	}
	if again.Reached(ReachEnd).Epoch(sec) == 0 || again.Reached(ReachBound).Epoch(sec) != 0 {
		t.Error("a new count must begin if the timeline was read to its end, and only then")
	}
	if lost := history(review(sec, approved, approved, h1), unseen).log(); !lost.Reached(ReachEnd).Holes || lost.Holes {
		t.Error("an entry of the account's own that can't be found is a hole")
	}
	if lost := history(review(sec, approved, approved, h1), asked, unseen).log(); lost.Reached(ReachEnd).Holes {
		t.Error("a writer may have deleted the entry of a request: the row says enough")
	}
	for promise, tt := range map[string]struct {
		log    *forge
		judged Situation
		want   string
	}{
		"a first approval isn't published": {history(), judge(approved, h1), "posted, post comment"},
		"a block stays, though it is closed": {
			history(review(sec, changes, changes, h1)), judge(approved, h1), "reposted, post comment",
		},
		"a sibling's block stays": {
			history(review("a", changes, changes, h1)), judge(approved, h1), "posted, post request_changes",
		},
		"an approval is taken back": {
			history(review(sec, approved, approved, h1)), judge(approved, h1), "reposted, hold, withdraw",
		},
		"a block is published": {history(), judge(changes, h1), "posted, post request_changes"},
		"a dismissed block is published again": {
			history(review(sec, changes, changes, h1), dismiss(1)), judge(changes, h1), "reposted, post request_changes",
		},
	} {
		tt.judged.Log = tt.log.log().Reached(ReachBound)
		if got := describe(Decide(tt.judged)); got != tt.want {
			t.Errorf("%s: %s, want %s", promise, got, tt.want)
		}
	}
}

// The publication asks for the rest of a timeline that may go on, once, and goes by that.
func TestPublicationReadsOn(t *testing.T) {
	for promise, tt := range map[string]struct {
		log   *forge
		reach Reach
		want  Outcome
		reads int
		note  bool
	}{
		"nothing hidden":     {history(), ReachEnd, Posted, 1, false},
		"somebody has begun": {history(hidden), ReachEnd, Posted, 2, false},
		"too much is hidden": {history(hidden), ReachBound, Posted, 2, true},
	} {
		cfg := &Config{Account: me, Author: person, Key: key, Nonce: "n", Role: sec,
			Verdict: Verdict{Own: approved, Head: h1, Fresh: true}}
		p := Publish(cfg, began)
		var reads []bool
		var posted string
		for p.Ask.Kind != AskNothing && len(reads) < 20 && posted == "" {
			r := Reply{Now: began, Rows: tt.log.rows, Head: h1}
			switch p.Ask.Kind {
			case AskTimeline:
				reads = append(reads, p.Ask.ToEnd)
				if r.Entries = tt.log.entries; p.Ask.ToEnd {
					r.Reach = tt.reach
				}
			case AskPost:
				posted = string(p.Ask.Post.Event)
			default:
			}
			p.Tell(r)
		}
		want := "approved"
		if tt.note {
			want = "comment"
		}
		if posted != want || len(reads) != tt.reads || tt.reads == 2 && !reads[1] {
			t.Errorf("%s: posted %q, want %q; timeline read %v", promise, posted, want, reads)
		}
		if got := slices.ContainsFunc(p.Done.Notes, func(n string) bool { return strings.Contains(n, "read whole") }); got != tt.note {
			t.Errorf("%s: notes %q", promise, p.Done.Notes)
		}
	}
}
