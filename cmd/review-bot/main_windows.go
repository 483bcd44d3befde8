package main

import "syscall"

// followParent tells when the parent has died. Its number stays what it was, so
// the process itself is waited for.
func followParent(orphaned chan<- struct{}) {
	process, err := syscall.OpenProcess(syscall.SYNCHRONIZE, false, uint32(parent))
	if err != nil {
		return // it can't be followed, or is gone: the number may be another's by now
	}
	go func() {
		if _, err := syscall.WaitForSingleObject(process, syscall.INFINITE); err == nil {
			orphaned <- struct{}{}
		}
	}()
}
