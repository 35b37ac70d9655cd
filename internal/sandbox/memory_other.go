//go:build !linux

package sandbox

// MemoryIsBounded reports whether the kernel bounds what programs hold.
func MemoryIsBounded() bool { return false }
