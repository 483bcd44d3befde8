package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/sentinel"
)

// publishFlags say how verdicts are published.
type publishFlags struct {
	NoApprove    bool     `help:"Publish no approval: comment instead, and take a block back by withdrawing it."`
	RepostStale  bool     `help:"Post an approval anew when its commit is no longer the head, for branches that ignore stale approvals."`
	Siblings     []string `help:"Roles that must have judged the head before it is approved; reconcile takes them from the roles' reviews, unless they are given (--siblings= for none)." placeholder:"ROLE,…"`
	Lock         onOff    `help:"on or off; default on. off is for those who know that no two jobs share the account." placeholder:"on|off"`
	LockReaction string   `help:"Reaction on the pull request that serves as the lock; default rocket." placeholder:"NAME"`

	// For tests, which can't wait as long as the protocol does: see escalation.LockTimes.
	LockHold   time.Duration `hidden:"" help:"For tests: how long the lock may be written under."`
	LockExpire time.Duration `hidden:"" help:"For tests: age of a lock from which it belongs to a dead job; negative: any."`
	LockWait   time.Duration `hidden:"" help:"For tests: how long to wait for the lock."`
}

// onOff is a switch that is on unless it says off.
type onOff string

// UnmarshalText reads it; the error names the valid values.
func (o *onOff) UnmarshalText(text []byte) error {
	if v := string(text); v != "on" && v != "off" {
		return fmt.Errorf("%q is not one of on, off", v)
	}
	*o = onOff(text)
	return nil
}

func (f publishFlags) apply(set *reviewer.Settings) error {
	for _, role := range f.Siblings {
		if !sentinel.ValidRole(role) {
			return usage("--siblings: %q is not of the form %s", role, sentinel.RolePattern)
		}
	}
	if n := len(strings.Join(f.Siblings, ",")); n > reviewer.MaxSiblings {
		return usage("--siblings: the names have %d characters together, and %d are the most", n, reviewer.MaxSiblings)
	}
	set.NoApprove, set.RepostStale, set.Siblings = f.NoApprove, f.RepostStale, f.Siblings
	set.LockTimes = escalation.LockTimes{Hold: f.LockHold, Expire: f.LockExpire, Wait: f.LockWait}
	switch {
	case f.Lock == "off":
	case f.LockReaction != "":
		set.Lock = f.LockReaction
	default:
		set.Lock = reviewer.DefaultLock
	}
	return nil
}

// sleep waits for d, or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
