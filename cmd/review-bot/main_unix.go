//go:build !windows

package main

import (
	"os"
	"time"
)

// awaitOrphanage looks for the parent's death, where nothing tells of it.
func awaitOrphanage(orphaned chan<- struct{}) {
	for os.Getppid() == parent {
		time.Sleep(500 * time.Millisecond)
	}
	orphaned <- struct{}{}
}
