package main

import (
	"os"
	"syscall"
)

// peak is how many MiB of memory a process took at most.
func peak(p *os.ProcessState) int {
	if usage, ok := p.SysUsage().(*syscall.Rusage); ok {
		return int(usage.Maxrss >> 10)
	}
	return 0
}
