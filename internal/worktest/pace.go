package worktest

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// A Pace says how much there is to do in a test, and when.
type Pace struct {
	// Runs is how many runs there are, and Blows how many times somebody is killed or frozen.
	Runs, Blows int
	// Between is how long it is from one blow to the next. In the short form blows are
	// spread over the work instead, and it is zero.
	Between time.Duration
	began   time.Time
}

// isLong reports whether the long form of the tests was asked for: make scale.
func isLong() bool { return os.Getenv("TROUPE_KILLS") != "" }

// Begin returns the pace of the short form, or what TROUPE_RUNS and TROUPE_KILLS say for the
// long form: a blow every two seconds, and runs that come one after the other for as long as
// blows do, as they come to workers that have hands free.
func Begin(tb testing.TB, runs, blows int) Pace {
	tb.Helper()
	p := Pace{Runs: Scaled(tb, "TROUPE_RUNS", runs), Blows: Scaled(tb, "TROUPE_KILLS", blows), began: time.Now()}
	if isLong() {
		p.Between = 2 * time.Second
	}
	return p
}

// Scaled returns a number of a test, or what an environment variable says instead, for the
// long form of it.
func Scaled(tb testing.TB, variable string, usual int) int {
	tb.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatalf("%s: %v", variable, err)
	}
	return n
}

// Due is how many runs have come by now.
func (p *Pace) Due() int {
	if p.Between == 0 {
		return p.Runs
	}
	whole := time.Duration(p.Blows) * p.Between
	return min(p.Runs, 1+int(int64(p.Runs)*int64(time.Since(p.began))/int64(whole)))
}
