//go:build race

package rehearse_test

const raceEnabled = true
