// Package giteatest starts real Gitea servers and fills them, for tests, the
// demo and benches.
//
// The server is built from the module in .gitea/instance, once per machine and
// Go version, into the user's cache directory (see [Build]). A server is a
// process on a free loopback port with its own data directory; it dies with the
// process that started it, also when that one is killed.
//
// A test binary shares one server:
//
//	func TestMain(m *testing.M) { os.Exit(giteatest.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		srv := giteatest.Get(t)
//		ann := srv.NewUser(t, giteatest.Unique("ann"))
//		repo := srv.NewRepo(t, ann, "app", giteatest.RepoOptions{Files: map[string]string{"a.go": "package a\n"}})
//		repo.Commit(t, "topic", "main", giteatest.Files(map[string]string{"b.go": "package a\n"}), "add b")
//		pull := repo.OpenPull(t, giteatest.PullOptions{Head: "topic"})
//		…
//	}
//
// Where the API lacks something that people do, as replying to an inline comment,
// the package signs in on the web pages and sends their form.
//
// Everything that makes something takes a [TB] and is fatal on failure. Code
// without a testing.T (the demo) wraps a stretch of such calls in [Try], which
// returns the failure as an error.
//
// The package never deletes reviews or comments: neither does the bot.
package giteatest
