package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
)

// What each kind of run costs in requests to the forge, counted at a proxy.
func TestRequestsPerRun(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	approves, blocks := approving(t, 1), blocking(t, 1)
	run := func(m *modeltest.Server, outcome escalation.Outcome, most int, want ...string) {
		t.Helper()
		var r reviewer.Result
		asked := m.Count()
		sent := st.during(func() { r = st.job(m, "logic").result(t) })
		if r.Outcome != outcome || len(sent) > most || r.ForgeRequests != len(sent) {
			t.Errorf("outcome %s with %d requests (told: %d), want %s with at most %d:\n%s\n%s",
				r.Outcome, len(sent), r.ForgeRequests, outcome, most, strings.Join(sentLines(sent), "\n"), st.look(t))
		}
		got := writes(sent)
		for i, line := range got {
			got[i], _, _ = strings.Cut(line, " ")
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the writes are %q, want %q", outcome, writes(sent), want)
		}
		if outcome == escalation.Skipped && (len(sent) != 4 || m.Count() != asked) {
			t.Errorf("a run with nothing to do sent %d requests and asked %d models, want 4 and none:\n%s", len(sent), m.Count()-asked, strings.Join(sentLines(sent), "\n"))
		}
	}
	// Beside what the protocol needs: the base's tree, in which .gitattributes would be.
	run(approves, escalation.Posted, 18, "POST", "POST", "DELETE")
	run(approves, escalation.Skipped, 4)
	st.push(t, 2)
	// The conversations, both heads' trees, and what differs between them.
	run(approves, escalation.Patched, 21, "POST", "PATCH", "DELETE")
	run(approves, escalation.Skipped, 4)
	st.push(t, 3)
	// Both minor findings are gone: the file that is named as the fix is read at both ends, two conversations
	// are closed, that is noted, and read again.
	run(blocks, escalation.Reposted, 30, "POST", "POST", "PATCH", "POST", "POST", "PATCH", "DELETE")
	run(blocks, escalation.Skipped, 4)
	st.settled(t, blocked)
}

func sentLines(requests []giteatest.Request) []string {
	var list []string
	for _, r := range requests {
		list = append(list, fmt.Sprintf("%2d %s → %d", r.N, r.Line(), r.Status))
	}
	return list
}

// An old sibling's block may be on any page, so every page of reviews is read;
// of the timeline only what is new enough to matter.
//
// The rows are the proxy's: to post 999 reviews takes a real server 45 s. It gave
// the same count.
func TestNoOpOnAThousandReviews(t *testing.T) {
	t.Parallel()
	st := newStage(t, protected)
	m := approving(t, 1)
	st.pull.Review(t, st.outsider, giteatest.ReviewInput{Event: "COMMENT", Body: "A remark."})
	time.Sleep(1100 * time.Millisecond) // the timeline is asked for by whole seconds
	st.job(m, "logic").result(t)
	st.thousand(t)

	var r reviewer.Result
	sent := st.during(func() { r = st.job(m, "logic").result(t) })

	if r.Outcome != escalation.Skipped || len(sent) != 23 || len(writes(sent)) != 0 || m.Count() != 1 {
		t.Errorf("outcome %s, %d requests, %d writes, %d model calls; want skipped, 23, none, 1:\n%s",
			r.Outcome, len(sent), len(writes(sent)), m.Count(), strings.Join(sentLines(sent), "\n"))
	}
}

// thousand makes the list of reviews 1,000 rows long: all but the last are copies
// of the first.
func (st stage) thousand(t *testing.T) {
	t.Helper()
	const total, size = 1000, 50
	var rows []map[string]any
	st.srv.Call(t, st.bot.Token, http.MethodGet, st.pull.ReviewsPath(), nil, &rows)
	if len(rows) != 2 {
		t.Fatalf("%d reviews, want 2\n%s", len(rows), st.look(t))
	}
	first, last := rows[0], rows[1]
	path := "/api/v1" + st.pull.ReviewsPath()
	st.proxy.SetHook(func(r *giteatest.Request) *giteatest.Fault {
		if r.Method != http.MethodGet || r.Path != path {
			return nil
		}
		query, _ := url.ParseQuery(r.Query)
		page := 1
		if n, err := strconv.Atoi(query.Get("page")); err == nil {
			page = n
		}
		list := []map[string]any{}
		for i := (page - 1) * size; i < min(page*size, total-1); i++ {
			row := maps.Clone(first)
			row["id"] = -i - 1
			list = append(list, row)
		}
		if page == total/size {
			list = append(list, last)
		}
		body, err := json.Marshal(list)
		if err != nil {
			return nil
		}
		return &giteatest.Fault{
			Status: http.StatusOK, Body: string(body),
			Header: http.Header{"Content-Type": {"application/json"}, "X-Total-Count": {strconv.Itoa(total)}},
		}
	})
}
