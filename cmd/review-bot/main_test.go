package main

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// How a process is told to stop, and what then becomes of it if it doesn't end.
func TestObey(t *testing.T) {
	for _, test := range []struct {
		name    string
		signals []time.Duration // SIGTERMs, after the first
		parent  bool            // died, instead of the first signal
		took    time.Duration
		says    string
	}{
		{"one signal", nil, false, stopLimit, "stopped by SIGTERM, and a request didn't end in time; "},
		{"a second one", []time.Duration{time.Second}, false, time.Second, "ended at once by a second SIGTERM; "},
		{"two that are one", []time.Duration{oneStop - 1}, false, stopLimit, "stopped by SIGTERM, "},
		{"two that are one, and another", []time.Duration{oneStop - 1, oneStop}, false, oneStop, "ended at once by a second SIGTERM; "},
		{"the parent's death", nil, true, stopLimit, "stopped by the death of the parent process, "},
		{"the parent's death, and a signal", []time.Duration{time.Second}, true, time.Second, "ended at once by a second SIGTERM; "},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancelCause(t.Context())
				signals, orphaned := make(chan os.Signal, 8), make(chan struct{}, 1)
				began := time.Now()
				if test.parent {
					orphaned <- struct{}{}
				} else {
					signals <- syscall.SIGTERM
				}
				for _, after := range test.signals {
					time.AfterFunc(after, func() { signals <- syscall.SIGTERM })
				}
				line := obey(signals, orphaned, end)
				if !strings.HasPrefix(line, test.says) || !strings.HasSuffix(line, "a lock that is left expires by itself — run the job again") || time.Since(began) != test.took {
					t.Errorf("after %s it says %q, want %q after %s", time.Since(began), line, test.says, test.took)
				}
				if want, _, _ := strings.Cut(test.says, ","); ctx.Err() == nil || len(test.signals) == 0 && context.Cause(ctx).Error() != want {
					t.Errorf("the context ended by %v", context.Cause(ctx))
				}
			})
		})
	}
}
