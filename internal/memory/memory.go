// Package memory has a server spend memory while it has little of it in use, and processor
// time on keeping it when it has much.
package memory

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// How much garbage there may be for what is in use, in percent, before it is collected: much
// of little, and little of much.
const (
	ofLittle = 200
	ofMuch   = 30
	// enough is what garbage and what is in use may take together in between, in bytes: a
	// server that grows to many conversations at once does not collect at every step of it.
	enough = 104 << 20
)

// Govern sets how often garbage is collected in this process, and goes on doing so as it
// grows and shrinks, until stop is called. It leaves that alone where somebody has said in
// GOGC or GOMEMLIMIT how they want it.
func Govern() (stop func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	return govern(enough)
}

func govern(enough uint64) (stop func()) {
	before := debug.SetGCPercent(ofLittle)
	var stopped atomic.Bool
	now := ofLittle
	afterEachCollection(func() bool {
		if stopped.Load() {
			return false
		}
		// To set it stops the world: it is not changed at every wavering.
		if wanted := percentOf(inUse(), enough); wanted*5 < now*4 || wanted*4 > now*5 || wanted != now && (wanted == ofLittle || wanted == ofMuch) {
			now = wanted
			debug.SetGCPercent(now)
		}
		return true
	})
	return func() {
		stopped.Store(true)
		debug.SetGCPercent(before)
	}
}

// percentOf is how much garbage there may be beside what is in use.
func percentOf(used, enough uint64) int {
	room := enough - min(used, enough)
	return int(min(max(100*room/max(used, 1), ofMuch), ofLittle))
}

// inUse is what the last collection left: the heap, and the stacks.
func inUse() (sum uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			sum += s.Value.Uint64()
		}
	}
	return sum
}

// A sentinel is what nothing refers to: that it is found means that garbage is collected.
type sentinel struct{ _ *byte }

// afterEachCollection calls do whenever garbage has been collected, until it returns false.
func afterEachCollection(do func() bool) {
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		if do() {
			afterEachCollection(do)
		}
	})
}
