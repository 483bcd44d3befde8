//go:build !linux && !windows

package main

// followParent tells when the parent has died.
func followParent(orphaned chan<- struct{}) { go awaitOrphanage(orphaned) }
