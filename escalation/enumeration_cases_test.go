package escalation_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer/forgetest"
	"review-bot/sentinel"
)

// record is one of a starting log.
type record struct {
	role       string
	own, event sentinel.Verdict
	old        bool // of an older head
}

// startingLogs are all logs of up to n records of the roles.
func startingLogs(roles []string, n int, partly bool) [][]record {
	pairs := [][2]sentinel.Verdict{
		{sentinel.Approved, sentinel.Approved}, {sentinel.Approved, sentinel.RequestChanges}, {sentinel.RequestChanges, sentinel.RequestChanges},
		{sentinel.Approved, sentinel.Comment}, {sentinel.RequestChanges, sentinel.Comment},
	}
	if partly {
		pairs = append(pairs, [2]sentinel.Verdict{sentinel.Comment, sentinel.Comment}, [2]sentinel.Verdict{sentinel.Comment, sentinel.RequestChanges})
	}
	var kinds []record
	for _, role := range roles {
		for _, pair := range pairs {
			kinds = append(kinds, record{role, pair[0], pair[1], false}, record{role, pair[0], pair[1], true})
		}
	}
	logs := [][]record{nil}
	for from := 0; n > 0; n-- {
		to := len(logs)
		for _, log := range logs[from:to] {
			for _, k := range kinds {
				logs = append(logs, append(slices.Clone(log), k))
			}
		}
		from = to
	}
	return logs
}

// start is a world with a starting log and a job for each role.
func start(sc scenario, log []record) *world {
	forge := forgetest.New(forgetest.Options{Dialect: sc.dialect, Protection: &forgetest.Protection{BlockOnRejected: true, RequiredApprovals: 1}})
	view := forge.As("bot")
	pull, _ := view.Pull(context.Background())
	for i, r := range log {
		head := pull.Head
		if r.old {
			head = h0
		}
		body := sentinel.Body{Text: r.role + " finds " + string(r.own)}
		if sc.ticks {
			forge.Advance(time.Second)
		}
		_, err := view.PostReview(context.Background(), escalation.NewReview{
			Event: r.event, Commit: pull.Head, Body: body.With(sentinel.Sentinel{
				Role: r.role, Version: 1, Kind: sentinel.KindVerdict, Own: r.own, Event: r.event, Head: head, Q: q, Base: pull.Base, Against: pull.Against(),
				Run: fmt.Sprintf("%032x", i+1),
			}, newKey()),
		})
		if err != nil {
			panic(err)
		}
	}
	w := &world{forge: forge, crashes: sc.crashes, acted: sc.act == noAct || sc.act == twice, trail: &step{fmt.Sprintf("start with %+v, they find %v, lock to be had: %t", log, sc.finds, !sc.lockless), nil}}
	for _, role := range sc.roles {
		w.jobs = append(w.jobs, job{role: role, run: 0})
	}
	before := (&enumerator{}).log(w)
	for _, cur := range before.Standing() {
		if cur.Own() == sentinel.RequestChanges && !before.Gate().Is(sentinel.RequestChanges) {
			w.wrong = true
		}
	}
	if unread(before, w.pull()) {
		w.wrong = true
	}
	if sc.act == twice {
		w.jobs = append(w.jobs, job{role: sc.roles[0], run: 1})
	}
	return w
}

// heads are the head that a forge starts with and the one that the push makes.
var heads = sync.OnceValue(func() [2]string {
	f := forgetest.New(forgetest.Options{Protection: &forgetest.Protection{BlockOnRejected: true, RequiredApprovals: 1}})
	first, _ := f.As("bot").Pull(context.Background())
	f.Push("author", map[string]string{"a.go": "package pushed\n"})
	second, _ := f.As("bot").Pull(context.Background())
	return [2]string{first.Head, second.Head}
})

// findings are all ways in which the roles may judge the heads. If runs may fail, or
// read a head only in part, they do at the one that is there in the end.
func findings(roles []string, pushed, fails, partly bool) []verdicts {
	all := []verdicts{{}}
	for i, head := range heads() {
		if i == 1 && !pushed {
			break
		}
		for _, role := range roles {
			var more []verdicts
			for _, v := range all {
				owns := []sentinel.Verdict{sentinel.Approved, sentinel.RequestChanges}
				if fails && (i == 1 || !pushed) {
					owns = append(owns, sentinel.None)
				}
				if partly && (i == 1 || !pushed) {
					owns = append(owns, sentinel.Comment)
				}
				for _, own := range owns {
					c := maps.Clone(v)
					c[role+head] = own
					more = append(more, c)
				}
			}
			all = more
		}
	}
	return all
}

// family is a set of scenarios that are run together.
type family struct {
	name     string
	roles    []string
	records  int
	act      act
	lockless bool
	crashes  int
	forGood  bool
	fails    bool
	partly   bool
	hidden   bool
	ticks    bool
	dialect  forgetest.Dialect
	stumbles bool
	fault    fault
}

// enumerate runs a family on all processors and reports the number of states and
// ends, and the first violation.
func enumerate(f family) (states, ends int, bad string) {
	type task struct {
		sc  scenario
		log []record
	}
	byScenario := map[string][]task{}
	for _, finds := range findings(f.roles, f.act == push, f.fails, f.partly) {
		for _, log := range startingLogs(f.roles, f.records, f.partly) {
			if mirrored(f, finds, log) || f.partly && !partly(finds, log) {
				continue
			}
			sc := scenario{
				roles: f.roles, finds: finds, act: f.act, lockless: f.lockless, crashes: f.crashes, forGood: f.forGood,
				hidden: f.hidden, ticks: f.ticks, dialect: f.dialect, stumbles: f.stumbles, fault: f.fault,
			}
			name := fmt.Sprint(finds)
			byScenario[name] = append(byScenario[name], task{sc, log})
		}
	}
	names := slices.Sorted(maps.Keys(byScenario))
	var mu sync.Mutex
	var wg sync.WaitGroup
	work := make(chan []task)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for tasks := range work {
				e := &enumerator{sc: tasks[0].sc, visited: map[string]struct{}{}, rested: map[forgetest.Fingerprint]struct{}{}}
				for _, t := range tasks {
					if e.bad == "" {
						e.explore(start(t.sc, t.log))
					}
				}
				mu.Lock()
				states, ends = states+e.states, ends+e.ends
				if bad == "" {
					bad = e.bad
				}
				mu.Unlock()
			}
		})
	}
	for _, name := range names {
		tasks := byScenario[name]
		for chunk := range slices.Chunk(tasks, 8) {
			mu.Lock()
			stop := bad != ""
			mu.Unlock()
			if !stop {
				work <- chunk
			}
		}
	}
	close(work)
	wg.Wait()
	return states, ends, bad
}

// partly reports whether a role reads a head in part, or has. Without that a case is
// one of another family.
func partly(finds verdicts, log []record) bool {
	return slices.Contains(slices.Collect(maps.Values(finds)), sentinel.Comment) ||
		slices.ContainsFunc(log, func(r record) bool { return r.own == sentinel.Comment })
}

// mirrored tells whether exchanging roles gives a case that is run anyway. The
// first role's name matters where it runs twice or after a person's act.
func mirrored(f family, finds verdicts, log []record) bool {
	describe := func(names []string) string {
		index := map[string]int{}
		for i, name := range names {
			index[name] = i
		}
		var b strings.Builder
		for _, head := range heads() {
			for _, name := range names {
				fmt.Fprint(&b, finds[name+head], " ")
			}
		}
		for _, r := range log {
			fmt.Fprint(&b, index[r.role], r.own, r.event, r.old, " ")
		}
		return b.String()
	}
	mine := describe(f.roles)
	return slices.ContainsFunc(permutations(f.roles), func(names []string) bool {
		fixed := f.act == noAct || f.act.shows() || names[0] == f.roles[0]
		return fixed && describe(names) < mine
	})
}

func permutations(list []string) [][]string {
	if len(list) <= 1 {
		return [][]string{list}
	}
	var all [][]string
	for i := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		for _, p := range permutations(rest) {
			all = append(all, append([]string{list[i]}, p...))
		}
	}
	return all
}

// wide is set by `make fuzz`: starting logs of two records in every case.
var wide = os.Getenv("ENUMERATION") == "wide"

func families() []family {
	two, three := []string{"a", "b"}, []string{"a", "b", "c"}
	acted := 1
	if wide {
		acted = 2
	}
	return []family{
		{name: "two roles, a crash", roles: two, records: 2, act: noAct, crashes: 1},
		{name: "two roles without the lock, a crash", roles: two, records: 2, act: noAct, crashes: 1, lockless: true},
		{name: "two roles, one of them twice", roles: two, records: 2, act: twice},
		{name: "two roles, a crash for good, reconcile", roles: two, records: acted, act: noAct, crashes: 1, forGood: true},
		{name: "two roles, a push", roles: two, records: acted, act: push},
		{name: "two roles, a dismissal", roles: two, records: acted, act: dismissal},
		{name: "two roles, a re-request", roles: two, records: acted, act: rerequest},
		{name: "two roles without the lock, a push", roles: two, records: acted - 1, act: push, lockless: true},
		{name: "three roles, a crash", roles: three, records: 1, act: noAct, crashes: 1},
		{name: "three roles, a push", roles: three, records: 1, act: push},
		{name: "two roles that may fail, a push", roles: two, records: acted, act: push, fails: true},
		{name: "two roles that may fail, a crash", roles: two, records: acted, act: noAct, crashes: 1, fails: true},
		{name: "two roles that may fail, a crash for good, reconcile", roles: two, records: acted, act: noAct, crashes: 1, forGood: true, fails: true},
		{name: "two roles that may fail, a request and its removal", roles: two, records: acted - 1, act: changing, fails: true},
		{name: "two roles, a request and its removal that a timeline lacks", roles: two, records: acted - 1, act: changing, hidden: true},
		{name: "two roles, a dismissal that a timeline lacks", roles: two, records: acted, act: dismissal, hidden: true},
		{name: "two roles, a dismissal that is taken back", roles: two, records: acted, act: undoing},
		{name: "two roles, another base branch", roles: two, records: acted, act: retarget},
		{name: "Forgejo, two roles, a crash", roles: two, records: acted, act: noAct, crashes: 1, dialect: forgetest.Forgejo17},
		{name: "Forgejo, two roles, a re-request", roles: two, records: acted, act: rerequest, dialect: forgetest.Forgejo17},
		{name: "Forgejo, two roles that may fail, a request and its removal", roles: two, records: acted - 1, act: changing, fails: true, dialect: forgetest.Forgejo17},
		{name: "Forgejo fails over a comment", roles: two, records: acted, act: noAct, dialect: forgetest.Forgejo17, stumbles: true},
		{name: "Forgejo fails over a comment, a push", roles: two, records: acted, act: push, dialect: forgetest.Forgejo17, stumbles: true},
		{name: "Forgejo fails over a comment, a crash", roles: two, records: acted - 1, act: noAct, crashes: 1, dialect: forgetest.Forgejo17, stumbles: true},
		{name: "two roles that may read in part, a crash", roles: two, records: acted, act: noAct, crashes: 1, partly: true},
		{name: "two roles that may read in part, one of them twice", roles: two, records: acted, act: twice, partly: true},
		{name: "two roles that may read in part, a push", roles: two, records: acted, act: push, partly: true},
		{name: "two roles that may read in part or fail, a push", roles: two, records: acted - 1, act: push, partly: true, fails: true},
		{name: "two roles that may read in part, a crash for good, reconcile", roles: two, records: acted, act: noAct, crashes: 1, forGood: true, partly: true},
		{name: "three roles that may read in part", roles: three, records: acted - 1, act: noAct, partly: true},
		{name: "two roles, a crash, seconds pass", roles: two, records: acted, act: noAct, crashes: 1, ticks: true},
	}
}

func TestEnumeration(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // many small, short-lived things
	total := 0
	began := time.Now()
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			at := time.Now()
			states, ends, bad := enumerate(f)
			total += states
			fmt.Printf("%s: %d states, %d ends, %.1f s\n", f.name, states, ends, time.Since(at).Seconds())
			if bad != "" {
				t.Fatal(bad)
			}
		})
	}
	fmt.Printf("enumeration: %d states, %.1f s\n", total, time.Since(began).Seconds())
}

// The enumeration must notice each of these mistakes, or it shows nothing.
func TestEnumerationNoticesMistakes(t *testing.T) {
	two := []string{"a", "b"}
	for _, f := range []family{
		{fault: siblingsByEvent, roles: two, records: 2, act: noAct},
		{fault: noReread, roles: two, records: 0, act: push},
		{fault: staleDesire, roles: two, records: 1, act: dismissal},
		{fault: supersedeFirst, roles: two, records: 1, act: noAct, crashes: 1, forGood: true},
		{fault: changedPatched, roles: two, records: 1, act: noAct},
		{fault: approvesWithoutLock, roles: two, records: 1, act: push, lockless: true},
		{fault: withoutHold, roles: two, records: 1, act: noAct, fails: true},
		{fault: endsAsItIs, roles: two, records: 1, act: push, fails: true},
		{fault: forgetsUndone, roles: two, records: 1, act: undoing},
		{fault: approvesBesides, roles: two, records: 0, act: noAct, partly: true},
	} {
		t.Run(string(f.fault), func(t *testing.T) {
			states, _, bad := enumerate(f)
			if bad == "" {
				t.Fatalf("not noticed in %d states", states)
			}
			why, _, _ := strings.Cut(bad, "\n")
			t.Logf("after %d states: %s", states, why)
		})
	}
}
