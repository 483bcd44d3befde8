package reviewer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"review-bot/escalation"
)

// hanging is a forge of which only the lock answers, or not even that.
type hanging struct {
	Forge

	all  bool
	made []string
}

func (h *hanging) React(context.Context, string) (bool, time.Time, error) {
	h.made = append(h.made, "lock")
	return true, time.Time{}, nil
}

func (h *hanging) Reviews(ctx context.Context) ([]Row, error) {
	h.made = append(h.made, "reviews")
	<-ctx.Done()
	return nil, ctx.Err()
}

func (h *hanging) Unreact(ctx context.Context, _ string) error {
	h.made = append(h.made, "unlock")
	if h.all {
		<-ctx.Done()
	}
	return ctx.Err()
}

// A publication that is told to stop gives a request that hangs its time, and
// then the release of the lock.
func TestStopBoundsWhatHangs(t *testing.T) {
	for _, test := range []struct {
		name  string
		all   bool
		early bool // told before it begins
		made  string
		took  time.Duration
	}{
		{"a request", false, false, "lock reviews unlock", Grace},
		{"the release, too", true, false, "lock reviews unlock", Grace * 3 / 2},
		{"nothing has begun", true, true, "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				forge := &hanging{all: test.all}
				p := &publisher{forge: forge, cfg: &escalation.Config{Lock: DefaultLock}, env: Env{Now: time.Now}, log: func(string, time.Time, string, ...any) {}}
				if test.early {
					stop()
				}
				began := time.Now()
				time.AfterFunc(10*time.Second, func() { began = time.Now(); stop() })
				_, err := p.publish(ctx)
				if err == nil || strings.Join(forge.made, " ") != test.made || time.Since(began) != test.took {
					t.Errorf("it made %q, and ended %s after it was told to stop, with %v; want %q and %s", forge.made, time.Since(began), err, test.made, test.took)
				}
				if !test.early && !errors.Is(err, context.Canceled) {
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}
