package main

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
	"review-bot/sentinel"
)

// Three roles on one account, started at the same moment: the forge refuses to
// merge iff one of them blocks, and each review keeps its own comments.
func TestThreeRolesAtOnce(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	roles := []string{"logic", "security", "tests"}
	models := map[bool][]*modeltest.Server{}
	for i := range roles {
		models[false] = append(models[false], approving(t, 1+4*i))
		models[true] = append(models[true], blocking(t, 1+4*i))
	}
	const rounds = 24
	topic := s.topic(t)
	for round := range rounds {
		verdicts := round % 8 // a bit per role
		name := fmt.Sprintf("round %d", round)
		for i, role := range roles {
			if verdicts&(1<<i) != 0 {
				name += ", " + role + " blocks"
			}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := s.open(t, topic, protected)
			if round >= 8 {
				// As close as can be: nobody gets an answer to its first try for the lock
				// before all have tried, or had read the same empty pull request.
				meet(st.proxy, len(roles), round >= 16)
			}
			start := make(chan struct{})
			results := make([]ended, len(roles))
			var wg sync.WaitGroup
			for i, role := range roles {
				job := st.job(models[verdicts&(1<<i) != 0][i], role)
				wg.Go(func() {
					<-start
					var stdout, stderr bytes.Buffer
					err := run(t.Context(), nil, job.env, strings.NewReader(""), &stdout, &stderr)
					results[i] = ended{status(err), stdout.String(), stderr.String()}
				})
			}
			close(start)
			wg.Wait()

			after := st.look(t)
			for i, role := range roles {
				if results[i].status != 0 {
					t.Errorf("%s: exit status %d\n%s%s", role, results[i].status, results[i].stdout, results[i].stderr)
				}
				want := sentinel.Approved
				if verdicts&(1<<i) != 0 {
					want = sentinel.RequestChanges
				}
				cur := after.current(role)
				if len(cur) != 1 || cur[0].posted.Own != want {
					t.Errorf("%s has %d current records, want one that says %s\n%s", role, len(cur), want, after)
				}
				if n := after.comments(role); n != 2 {
					t.Errorf("%s has %d inline comments, want 2\n%s", role, n, after)
				}
			}
			if verdicts != 0 {
				st.settled(t, blocked)
			} else {
				st.settled(t, open)
			}
		})
	}
}

// comments counts the inline comments that carry the role's marker, wherever.
func (s standing) comments(role string) int {
	n := 0
	for _, r := range s.rows {
		for _, c := range r.comments {
			if slices.ContainsFunc(sentinel.Markers(c.Body), func(m sentinel.Marker) bool { return m.Role == role }) {
				n++
			}
		}
	}
	return n
}

// meet makes n jobs meet at their first request for the lock, or for the diff,
// which is the last one before the model is asked.
func meet(proxy *giteatest.Proxy, n int, atDiff bool) {
	var mu sync.Mutex
	all := make(chan struct{})
	proxy.SetHook(func(r *giteatest.Request) *giteatest.Fault {
		there := r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/reactions")
		if atDiff {
			there = strings.HasSuffix(r.Path, ".diff")
		}
		if !there {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if n--; n == 0 {
			close(all)
		}
		return &giteatest.Fault{Hold: all}
	})
}
