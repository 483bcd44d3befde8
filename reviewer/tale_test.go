package reviewer_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"review-bot/escalation"
	"review-bot/prompts"
	"review-bot/reviewer"
	"review-bot/reviewer/forgetest"
)

// Whatever authors, maintainers and dying jobs do in whatever order, to two roles of one
// account with a model that is honest: evil code is never approved, also once the author
// takes the account's own request back; a role that has judged it blocks it; in the end
// nothing is written any more, and the door is open for good code.
func TestWhateverHappens(t *testing.T) {
	seed := seedOf(t)
	seen := map[string]int{}
	const tales = 120
	for i := range uint64(tales) {
		newTale(t, rand.New(rand.NewPCG(seed, i)), seen).play()
		if t.Failed() {
			t.Fatalf("%s=%d, tale %d", seedEnv, seed, i)
		}
	}
	t.Logf("%s=%d: %d tales, %v", seedEnv, seed, tales, seen)
	for _, what := range []string{
		"push", "retarget", "title", "request", "request removed", "advisory", "no-approve", "dismissed", "dismissed no more",
		"reconciled", "run", "killed", "without the model", "meanwhile", "evil", "blocked", "open in the end",
	} {
		if seen[what] == 0 {
			t.Errorf("%s=%d: there was never: %s", seedEnv, seed, what)
		}
	}
}

var taleRoles = []string{"logic", "security"}

// tale is a random story of one pull request.
type tale struct {
	*story
	t         *testing.T
	r         *rand.Rand
	seen      map[string]int
	told      []string
	main      string          // commit of the base branch
	advisory  map[string]bool // by role
	noApprove map[string]bool
	dismisses bool // a maintainer may dismiss reviews, so evil code may be unblocked by right
	waived    bool // and has
}

func newTale(t *testing.T, r *rand.Rand, seen map[string]int) *tale {
	s := newStory(t, forgetest.Options{Protection: &forgetest.Protection{
		BlockOnRejected: true, RequiredApprovals: 1, DismissStale: r.IntN(3) == 0,
	}})
	s.answer = honest
	return &tale{
		story: s, t: t, r: r, seen: seen, main: s.pull().Base, dismisses: r.IntN(2) == 0,
		advisory: map[string]bool{}, noApprove: map[string]bool{},
	}
}

func (w *tale) tell(what, format string, args ...any) {
	w.seen[what]++
	w.told = append(w.told, what+" "+fmt.Sprintf(format, args...))
}

func (w *tale) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Errorf("%s\n%s\n%s", fmt.Sprintf(format, args...), strings.Join(w.told, "\n"), w.forge.Dump())
}

func (w *tale) chance(of int) bool { return w.r.IntN(of) == 0 }

func oneOf[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (w *tale) play() {
	for range 14 {
		w.forge.Advance(time.Duration(w.r.IntN(3)) * time.Second)
		if w.chance(2) {
			w.act()
		} else {
			w.job()
		}
		if w.t.Failed() {
			return
		}
	}
	w.end()
}

// act is something that a person does, or reconcile.
func (w *tale) act() {
	role := oneOf(w.r, taleRoles...)
	switch w.r.IntN(12) {
	case 0, 1, 2, 3:
		files := map[string]string{}
		for i := range 2 {
			text := fmt.Sprintf("package p\n\nvar v%d = %d\n", i, w.r.IntN(1000))
			if w.chance(3) {
				text += "EVIL()\n"
			}
			files[fmt.Sprintf("f%d.go", i)] = text
		}
		w.forge.Push("author", files)
		w.tell("push", "%q", files)
	case 4:
		branch := oneOf(w.r, "main", "lax")
		w.forge.Retarget("author", branch, w.main)
		w.tell("retarget", "%s", branch)
	case 5:
		title := oneOf(w.r, "WIP: change", "change")
		w.forge.SetTitle("author", title)
		w.tell("title", "%s", title)
	case 6:
		who := oneOf(w.r, "author", "owner")
		w.tell("request", "by %s: %v", who, w.shared.As(who).RequestReview(w.t.Context(), "bot"))
	case 7:
		w.tell("request removed", "by the author: %v", w.forge.RemoveRequest("author", "bot"))
	case 8:
		w.advisory[role] = !w.advisory[role]
		w.tell("advisory", "%s: %v", role, w.advisory[role])
	case 9:
		w.noApprove[role] = !w.noApprove[role]
		w.tell("no-approve", "%s: %v", role, w.noApprove[role])
	case 10:
		rows := w.rows()
		if !w.dismisses || len(rows) == 0 {
			return
		}
		id := oneOf(w.r, rows...).ID
		if w.chance(2) {
			w.waived = true
			w.tell("dismissed", "%d: %v", id, w.forge.Dismiss("owner", id, "it isn't", false))
		} else {
			w.tell("dismissed no more", "%d: %v", id, w.forge.Undismiss("owner", id))
		}
	case 11:
		res, err := w.reconcile(nil, "")
		w.tell("reconciled", "gate %v, %v", res.Gate, err)
		if err == nil {
			w.nothingEvilPasses()
		}
	}
}

// job is a run of a role, which may die at any request, find no model, or have something
// happen in the middle of it.
func (w *tale) job() {
	role := oneOf(w.r, taleRoles...)
	dies, unheardOf := 0, w.chance(3)
	if w.chance(3) {
		dies = 1 + w.r.IntN(45)
	}
	w.refuse = nil
	if w.chance(6) {
		w.refuse = func(prompts.Request) error { return errors.New("no model") }
		w.tell("without the model", "")
	}
	meanwhile, at := w.chance(2), 1+w.r.IntN(40)
	happened := false
	w.wrap = func(f reviewer.Forge) reviewer.Forge {
		view, calls := f.(*forgetest.View), 0
		view.Hook = func(c forgetest.Call) (err error) {
			w.shared.Do(func(f *forgetest.Forge) { // requests are made side by side
				if calls++; meanwhile && calls == at {
					happened = true
					w.meanwhile(f)
				}
				switch {
				case dies == 0 || calls < dies, calls == dies && !(unheardOf && c.Done):
				case calls == dies:
					err = unheard("killed")
				default:
					err = errors.New("killed")
				}
			})
			return err
		}
		return view
	}
	res, err := w.asRole(role)
	w.wrap, w.refuse = nil, nil
	if dies > 0 {
		w.tell("killed", "at request %d", dies)
	}
	w.tell("run", "%s: %s, own %s, gate %v, %v", role, res.Outcome, res.Own, res.Gate, err)
	if happened || err != nil && dies > 0 {
		return
	}
	w.nothingEvilPasses()
	judged := err == nil && !w.advisory[role] && res.Outcome != escalation.Draft && res.Outcome != escalation.Capped
	if judged && w.evil() && !w.waived {
		w.seen["blocked"]++
		w.evilIsBlocked()
	}
}

// meanwhile is what others do while a job runs.
func (w *tale) meanwhile(f *forgetest.Forge) {
	switch w.r.IntN(4) {
	case 0:
		f.Push("author", map[string]string{"f0.go": oneOf(w.r, "package q\nEVIL()\n", "package q\n")})
	case 1:
		f.Retarget("author", oneOf(w.r, "main", "lax"), w.main)
	case 2:
		_ = f.RemoveRequest("author", "bot")
	case 3:
		f.SetTitle("author", oneOf(w.r, "WIP: change", "change"))
	}
	w.tell("meanwhile", "")
}

// end has every role look once more, and then nothing is left to do.
func (w *tale) end() {
	w.forge.Advance(time.Minute) // a dead job's lock expires
	w.forge.SetTitle("author", "change")
	for i := range 3 {
		for _, role := range taleRoles {
			w.log = nil
			if _, err := w.asRole(role); err != nil {
				w.fail("%s in the end: %v", role, err)
			}
			if i == 2 && w.wrote() {
				w.fail("%s isn't at rest: %s", role, strings.Join(w.log, "\n"))
			}
		}
	}
	gates := slices.ContainsFunc(taleRoles, func(role string) bool { return !w.advisory[role] })
	w.log = nil
	if _, err := w.reconcile(nil, ""); err != nil || gates && w.wrote() {
		w.fail("reconcile isn't at rest: %v %s", err, strings.Join(w.log, "\n"))
	}
	w.nothingEvilPasses()
	switch {
	case !gates || w.waived:
	case w.evil():
		w.evilIsBlocked()
	case !w.noApprove["logic"] && !w.noApprove["security"]:
		w.seen["open in the end"]++
		if ok, why := w.forge.Mergeable(); !ok {
			w.fail("the door is shut for good code: %s", why)
		}
	}
}

func (w *tale) asRole(role string) (reviewer.Result, error) {
	set := w.settings()
	set.Role, set.Advisory, set.NoApprove = role, w.advisory[role], w.noApprove[role]
	w.forge.Advance(time.Second)
	env := w.env("bot")
	env.Configuration = flags{set, w}
	return reviewer.Review(w.t.Context(), set, env)
}

func (w *tale) rows() []escalation.Row {
	rows, err := w.shared.As("bot").Reviews(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return rows
}

func (w *tale) wrote() bool {
	return slices.ContainsFunc(w.log, func(line string) bool { return strings.HasPrefix(line, "publish:") })
}

// evil reports whether the head has evil code.
func (w *tale) evil() bool {
	for _, text := range w.forge.Files(w.pull().Head) {
		if strings.Contains(text, "EVIL") {
			return true
		}
	}
	return false
}

// nothingEvilPasses fails if the account approves evil code, or would once the author
// removes the request for its review.
func (w *tale) nothingEvilPasses() {
	if !w.evil() {
		return
	}
	w.seen["evil"]++
	if at := w.approvedAt(); len(at) > 0 {
		w.fail("evil code is approved: %v", at)
	}
	then := w.forge.Clone()
	if then.RemoveRequest("author", "bot") != nil {
		return
	}
	rows, err := then.As("bot").Reviews(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, row := range rows {
		if row.State == escalation.RowApproved && row.Official && !row.Dismissed {
			w.fail("evil code is approved once the author removes the request")
		}
	}
}

// evilIsBlocked fails unless requested changes alone hold the merge.
func (w *tale) evilIsBlocked() {
	then := w.forge.Clone()
	then.Protect(&forgetest.Protection{BlockOnRejected: true})
	if ok, why := then.Mergeable(); ok || !strings.Contains(why, "changes") {
		w.fail("evil code isn't blocked: %v %s", ok, why)
	}
}
