//go:build race

package pipeline

// isRace says that the race detector makes everything ten times as slow.
const isRace = true
