//go:build !linux

package giteatest

import "os/exec"

// dieWithParent does nothing where the system has no such signal: a killed test
// binary then leaves its server running.
func dieWithParent(*exec.Cmd) {}
