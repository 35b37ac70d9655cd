package memory

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// percent is what is set now.
func percent() int {
	now := debug.SetGCPercent(100)
	debug.SetGCPercent(now)
	return now
}

// becomes collects garbage until it is collected as is wanted: what happens after a
// collection happens some time after it.
func becomes(t *testing.T, want int) {
	t.Helper()
	for began := time.Now(); time.Since(began) < 10*time.Second; runtime.Gosched() {
		runtime.GC()
		if percent() == want {
			return
		}
	}
	t.Errorf("garbage is collected at %d percent with %d bytes in use, not at %d", percent(), inUse(), want)
}

func TestMuchIsCollectedMoreOftenThanLittle(t *testing.T) {
	const enough = 32 << 20
	before := percent()
	stop := govern(enough)
	becomes(t, ofLittle)
	held := make([]byte, 2*enough)
	becomes(t, ofMuch)
	runtime.KeepAlive(held)
	held = nil
	becomes(t, ofLittle)
	if stop(); percent() != before {
		t.Errorf("afterwards it is %d, and was %d", percent(), before)
	}
}

func TestWhatSomebodyHasSaidStays(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", "")
			t.Setenv("GOMEMLIMIT", "")
			t.Setenv(name, "100")
			before := percent()
			defer Govern()()
			if percent() != before {
				t.Errorf("it is %d, and was %d", percent(), before)
			}
		})
	}
}

func TestGarbageHasItsRoom(t *testing.T) {
	for used, want := range map[uint64]int{0: 200, 10 << 20: 200, 32 << 20: 200, 48 << 20: 100, 64 << 20: 50, 80 << 20: 30, 96 << 20: 30, 1 << 40: 30} {
		if got := percentOf(used, 96<<20); got != want {
			t.Errorf("%d bytes in use: %d percent, not %d", used, got, want)
		}
	}
}
