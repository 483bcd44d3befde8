package reviewer

import (
	"cmp"
	"context"
	"errors"

	"github.com/sourcegraph/conc"

	"review-bot/escalation"
	"review-bot/reviewer/diff"
	"review-bot/reviewer/untrusted"
	"review-bot/sentinel"
)

// state is what stands on the forge when a run begins.
type state struct {
	account User
	pull    Pull
	log     escalation.Log
}

// readState reads account, pull request, reviews and timeline. What doesn't
// depend on each other is read side by side. Of several failures the one is
// returned that explains the others.
func readState(ctx context.Context, forge Reader, key sentinel.Key) (state, error) {
	var s state
	var rows []Row
	var accountErr, pullErr, rowsErr error
	var wg conc.WaitGroup
	wg.Go(func() { s.account, accountErr = forge.Account(ctx) })
	wg.Go(func() { s.pull, pullErr = forge.Pull(ctx) })
	wg.Go(func() { rows, rowsErr = forge.Reviews(ctx) })
	wg.Wait()
	if err := cmp.Or(accountErr, pullErr, rowsErr); err != nil {
		return state{}, err
	}
	entries, err := forge.Timeline(ctx, escalation.Since(s.account.ID, rows), rows)
	if err != nil {
		return state{}, err
	}
	s.log = escalation.NewLog(s.account.ID, rows, entries, key)
	return s, nil
}

// material is what the model is shown of the pull request, secrets masked.
type material struct {
	title, body  string
	diff         diff.Diff
	instructions string // of the role, from the base branch; "" if none were asked for
	masked       int    // values that looked like secrets
}

// readMaterial reads the diff and the role's prompt file side by side.
//
// Secrets are masked in the diff before it is taken apart, so that a quote of a
// masked line still finds its line.
func readMaterial(ctx context.Context, forge Reader, pull Pull, promptFile string, secrets *untrusted.Masker) (material, error) {
	var m material
	var data, file []byte
	var diffErr, fileErr error
	var wg conc.WaitGroup
	wg.Go(func() { data, diffErr = forge.Diff(ctx) })
	if promptFile != "" {
		wg.Go(func() { file, fileErr = forge.File(ctx, promptFile, pull.Base) })
	}
	wg.Wait()
	if diffErr != nil {
		return material{}, diffErr
	}
	if errors.Is(fileErr, ErrNoFile) {
		return material{}, &Error{
			Doing: "reading the prompt file " + promptFile,
			Err:   errors.New("the base branch " + pull.BaseBranch + " has no such file"),
			Next:  "commit it there, or drop --prompt-file; a file of this machine is given as ./" + promptFile,
		}
	}
	if fileErr != nil {
		return material{}, fileErr
	}
	m.instructions = string(file)
	var inTitle, inBody int
	m.title, inTitle = secrets.Mask(pull.Title)
	m.body, inBody = secrets.Mask(pull.Body)
	masked, inDiff := secrets.Mask(string(data))
	m.masked = inTitle + inBody + inDiff
	var err error
	if m.diff, err = diff.Parse([]byte(masked)); err != nil {
		return material{}, &Error{
			Doing: "reading the diff of " + pull.URL, Err: err, Next: "report it with this line: the server's diff isn't understood",
		}
	}
	return m, nil
}
