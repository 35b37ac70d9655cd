//go:build !race

package pipeline

const isRace = false
