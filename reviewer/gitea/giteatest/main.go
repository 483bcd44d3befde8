package giteatest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Main runs the tests and then stops the server that [Get] started, if any. It
// returns the exit status:
//
//	func TestMain(m *testing.M) { os.Exit(giteatest.Main(m)) }
func Main(m *testing.M) int {
	code := m.Run()
	if shared.server != nil {
		if err := shared.server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			if code == 0 {
				code = 1
			}
		}
	}
	return code
}

// Get returns the test binary's one server. The first call starts it, and builds
// it when this machine has none yet, with progress on standard error. A server
// that doesn't start fails every test that asks for it.
//
// Tests share the server, so they make users of their own, see [Unique].
func Get(tb TB) *Server {
	tb.Helper()
	// Not tb's context: the server outlives the test that happened to be first.
	shared.once.Do(func() {
		shared.server, shared.err = Start(context.Background(), Options{Progress: os.Stderr})
	})
	check(tb, shared.err)
	return shared.server
}

var uniqueCount atomic.Int64

// Unique returns base with a number that is used once per process: "ann-7".
func Unique(base string) string {
	return fmt.Sprintf("%s-%d", base, uniqueCount.Add(1))
}
