package reviewer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/pool"

	"review-bot/reviewer/change"
	"review-bot/reviewer/diff"
)

// movedError says that the pull request became another one while it was read: the run
// for what it is now will review.
type movedError struct{ what string }

func (e *movedError) Error() string { return e.what }

// wholeChange is what the pull request changes, as it was read and checked.
type wholeChange struct {
	diff  diff.Diff    // as the server has it, nothing masked
	match change.Match // of its files; empty if unproven isn't
	// unproven says for people why it can't be shown that the diff is all of the change; ""
	// if it was shown.
	unproven string
}

// pauses are how long it is waited for a server whose diff isn't the head's yet, all in
// all some 20 s. Servers were seen to need up to 2.4 s.
var pauses = []time.Duration{
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Second, 2 * time.Second, 2 * time.Second,
	2 * time.Second, 3 * time.Second, 4 * time.Second, 5 * time.Second,
}

// readWhole reads the diff until it is that of the head, and returns all that the trees of
// the merge base and of the head differ in. The merge base may be another one by then.
func (r *run) readWhole(ctx context.Context, pull *Pull) (wholeChange, error) {
	for n := 0; ; n++ {
		whole, late, err := r.readOnce(ctx, *pull)
		if err != nil {
			return wholeChange{}, err
		}
		switch {
		case late == "":
			return whole, nil
		case n == len(pauses) && whole.unproven != "":
			return whole, nil
		case n == len(pauses):
			return wholeChange{}, &Error{
				Doing: "reading the diff of " + pull.URL, Err: errors.New(late),
				Next: "the server didn't catch up with the push; run the job again",
			}
		case n == 0:
			r.progress("read", time.Time{}, "waiting for the server's diff: %s", late)
		}
		if r.env.Sleep(ctx, pauses[n]); ctx.Err() != nil {
			return wholeChange{}, ctx.Err()
		}
		if err := r.readAgain(ctx, pull); err != nil {
			return wholeChange{}, err
		}
	}
}

// readAgain reads the pull request again. What it is compared with may have been named late.
func (r *run) readAgain(ctx context.Context, pull *Pull) error {
	now, err := r.env.Forge.Pull(ctx)
	switch {
	case err != nil:
		return err
	case now.Head != pull.Head:
		return &movedError{"the pull request has a newer head: the run for it will review"}
	case now.BaseBranch != pull.BaseBranch:
		return &movedError{"the pull request has another base branch now: the run for that will review"}
	case now.Closed:
		return &movedError{"the pull request was closed meanwhile"}
	}
	pull.MergeBase = now.MergeBase
	return nil
}

// readOnce reads the diff and what proves it. late says what the diff lacks yet.
func (r *run) readOnce(ctx context.Context, pull Pull) (whole wholeChange, late string, err error) {
	if late, err = r.headRef(ctx, pull); late != "" || err != nil {
		return wholeChange{}, late, err
	}
	var data []byte
	var set change.Set
	var dataErr, setErr, baseErr error
	var behind string
	var wg conc.WaitGroup
	wg.Go(func() { data, dataErr = r.env.Forge.Diff(ctx) })
	wg.Go(func() { set, setErr = r.env.Forge.Changes(ctx, pull.MergeBase, pull.Head) })
	wg.Go(func() { behind, baseErr = mergeBase(ctx, r.env.Forge, pull) })
	wg.Wait()
	if errors.Is(setErr, ErrTooLarge) {
		setErr = nil
		whole.unproven = "what the commits hold is too much to be listed: the server's diff may not be all of it"
	}
	if err := cmp.Or(setErr, baseErr); errors.Is(err, ErrNoCommit) {
		return wholeChange{}, fmt.Sprintf("the repository hasn't got the head %.7s yet", pull.Head), nil // of a fork, say
	}
	if err := cmp.Or(dataErr, setErr, baseErr); err != nil {
		return wholeChange{}, "", err
	}
	if late, err = r.headRef(ctx, pull); late != "" || err != nil {
		return wholeChange{}, late, err
	}
	if whole.diff, err = diff.Parse(data); err != nil {
		return wholeChange{}, "", &Error{
			Doing: "reading the diff of " + pull.URL, Err: err,
			Next: "report it with this line: the server's diff isn't understood",
		}
	}
	if whole.unproven == "" {
		var differs string
		if whole.match, differs = change.Compare(set, whole.diff); differs != "" {
			return wholeChange{}, "it isn't what the head changes: " + differs, nil
		}
		if differs, err = prove(ctx, r.env.Forge, whole, pull.Head); differs != "" || err != nil {
			return wholeChange{}, differs, err
		}
	}
	if whole.unproven == "" {
		whole.unproven = behind
	}
	return whole, behind, nil
}

// headRef reports whether the server's diff is that of the head. Where the server doesn't
// say, what the trees hold decides.
func (r *run) headRef(ctx context.Context, pull Pull) (late string, err error) {
	ref, err := r.env.Forge.HeadRef(ctx)
	switch {
	case errors.Is(err, ErrUnsupported):
		return "", nil
	case err != nil:
		return "", err
	case ref != pull.Head:
		return fmt.Sprintf("it is of %.7s yet, the head is %.7s", ref, pull.Head), nil
	}
	return "", nil
}

// mergeBase reports whether the merge base that the pull request names is that of its
// base branch and its head: a server names an older one for some time after the base was
// merged in. From the right one as many commits lead to the head as from the base branch,
// and to itself none. What is compared with an older one may take back what the base has
// since, and that wouldn't show.
func mergeBase(ctx context.Context, forge Reader, pull Pull) (late string, err error) {
	if pull.MergeBase == pull.Base {
		return "", nil
	}
	counts := make([]int, 3)
	p := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	for i, c := range [][2]string{{pull.MergeBase, pull.Head}, {pull.Base, pull.Head}, {pull.Base, pull.MergeBase}} {
		p.Go(func(ctx context.Context) (err error) {
			counts[i], err = forge.Ahead(ctx, c[0], c[1])
			return err
		})
	}
	if err := p.Wait(); err != nil {
		return "", err
	}
	if counts[0] != counts[1] || counts[2] != 0 {
		return fmt.Sprintf("it is from %.7s on, and that isn't the newest commit that %s and the head have in common",
			pull.MergeBase, pull.BaseBranch), nil
	}
	return "", nil
}

// provedAtOnce bounds how many files' contents are held to be compared.
const provedAtOnce = 120

// prove reports whether the diff's lines are those of the contents that the trees name.
func prove(ctx context.Context, forge Reader, whole wholeChange, head string) (differs string, err error) {
	var wanted []int
	for i, c := range whole.match.Files {
		switch f := whole.diff.Files[i]; {
		case whole.match.Unclear(f):
		case c.Wants(f):
			wanted = append(wanted, i)
		case !c.Proven(f, nil):
			return notItsContent(f), nil
		}
	}
	for some := range slices.Chunk(wanted, provedAtOnce) {
		contents, err := contentsOf(ctx, forge, whole, some, head)
		if err != nil {
			return "", err
		}
		for n, i := range some {
			if f := whole.diff.Files[i]; !whole.match.Files[i].Proven(f, contents[n]) {
				return notItsContent(f), nil
			}
		}
	}
	return "", nil
}

func notItsContent(f diff.File) string {
	return fmt.Sprintf("the lines of %s aren't those that the head changes", diff.ShowName(f.Path))
}

// contentsOf reads what some of the diff's files are at the head: by their names, as many
// as possible in a request, and by their ids where JSON can't name them.
func contentsOf(ctx context.Context, forge Reader, whole wholeChange, some []int, head string) ([][]byte, error) {
	var names []string
	for _, i := range some {
		if name := whole.diff.Files[i].Path; utf8.ValidString(name) {
			names = append(names, name)
		}
	}
	found, err := forge.Files(ctx, names, head)
	if err != nil {
		return nil, err
	}
	contents := make([][]byte, len(some))
	p := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(atOnce)
	for n, i := range some {
		content, ok := found[whole.diff.Files[i].Path]
		if contents[n] = content; ok {
			continue
		}
		p.Go(func(ctx context.Context) (err error) {
			contents[n], err = forge.Blob(ctx, whole.match.Files[i].New.ID)
			return err
		})
	}
	return contents, p.Wait()
}
