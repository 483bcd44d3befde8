// Package forgetest is a forge in memory: one pull request with branch
// protection and a few accounts, answering as reviewer/gitea over Gitea 1.26
// does, or over another server ([Dialect]). The suite that shows so is here, too
// ([Conformance], [Observe], [RandomStep]); it runs on this forge in every dialect
// and on a real server, and any difference that isn't its dialect's is a failing
// test.
//
// A forge is plain data. It has no goroutines and no clock of its own, so it can
// be cloned, compared and walked through state by state:
//
//	f := forgetest.New(forgetest.Options{Protection: &forgetest.Protection{BlockOnRejected: true, RequiredApprovals: 1}})
//	bot := f.As("bot")                       // a reviewer.Forge
//	bot.PostReview(ctx, …)
//	f.Push("author", map[string]string{"a.go": "package b\n"})
//	f.Push("author", map[string]string{"run.sh": forgetest.Executable("echo\n"), "lib": forgetest.Submodule(commit)})
//	f.BeginPush("author", …); f.MoveRef(); f.EndPush() // the server's background work, step by step
//	f.Retarget("author", "lax", commit)      // another base branch
//	f.Dismiss("owner", review, "agreed on the phone", false)
//	f.Reply("author", comment, "because")    // in an inline comment's conversation
//	f.Resolve("author", comment)
//	f.Forget(old)                            // git has removed a commit: reviewer.ErrNoCommit
//	ok, why := f.Mergeable()                 // what the merge endpoint would say
//	other := f.Clone()                       // shares nothing that changes
//	same := f.Key() == other.Key()           // ids renumbered, times relative to the clock
//	f.Advance(45 * time.Second)              // the server's clock
//
// The default accounts are owner, author (of the pull request), writer, bot, bot2
// and outsider; see [DefaultAccounts]. What people do are methods of [Forge] that
// name the account that does it; an answer of the server that refuses is a
// [*Refusal]. An unknown account is a mistake in the test and panics.
//
// Faults are made by a hook of one job's view:
//
//	job := f.As("bot")
//	job.Hook = func(c forgetest.Call) error {
//		if c.Op == forgetest.PostReview && c.Done {
//			return errors.New("connection reset") // it happened, the answer is lost: reviewer.ErrUnknown
//		}
//		return nil
//	}
//
// An error before a request (Done is false) means that it never reached the
// server; an error of type [BrokenPost] means that the server answered 500 after
// making some of the comments, and left them pending.
//
// PostReview is one step. With View.Steps it is several, as on the server: one
// for each inline comment, and the submission; between them the hook is called
// and, on a [Shared] forge, others of the account come in and mix their comments.
//
// Not modelled: teams, private repositories, site administrators, a second pull
// request, merging itself, forced pushes (but that old commits go), pushes to a closed pull request,
// references between issues, and that lists have pages.
package forgetest
