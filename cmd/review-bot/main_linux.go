package main

import (
	"os"
	"runtime"
	"syscall"
)

// The signal of the parent's death belongs to the thread that asked for it and is
// lost when that one ends. The main thread never does: it is kept for main.
func init() { runtime.LockOSThread() }

// followParent asks the kernel for a SIGTERM when the parent dies: a cancelled
// job's runner kills the step's shell only, and says nothing to its children.
func followParent(orphaned chan<- struct{}) {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0, 0, 0, 0)
	runtime.UnlockOSThread()
	switch {
	case errno != 0: // a sandbox may forbid it
		go awaitOrphanage(orphaned)
	case os.Getppid() != parent: // it died before it could be followed
		orphaned <- struct{}{}
	}
}
