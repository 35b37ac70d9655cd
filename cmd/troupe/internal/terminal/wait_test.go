package terminal

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
)

func TestWhatIsWaitedForIsToldWithItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Wait
		says := func(want string) {
			t.Helper()
			if got, _ := w.For(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		says("") // nothing was asked yet
		w.Begin()
		time.Sleep(time.Second)
		says("")
		time.Sleep(39 * time.Second)
		says("waiting for the model, 40 s")
		time.Sleep(5 * time.Minute)
		says("waiting for the model, 5 min 40 s")
		w.Note(delta("so", 1))
		says("")
		time.Sleep(6 * time.Second)
		says("waiting for the model, 6 s")
		w.Note(&troupe.Event{Run: "r", Body: &troupe.ToolCalled{Tool: "search", CallID: "1"}})
		time.Sleep(time.Minute)
		says("") // the tool is what is waited for
		w.Note(&troupe.Event{Run: "r", Body: &troupe.ToolReturned{Tool: "search", CallID: "1"}})
		w.Note(&troupe.Event{Body: &troupe.ModelFailed{Attempt: 1, RetryIn: troupe.Millis(8 * time.Second)}})
		says("asking the model again in 8 s")
		time.Sleep(7 * time.Second)
		says("asking the model again in 1 s")
		time.Sleep(7 * time.Second)
		says("waiting for the model, 6 s")
		w.Note(&troupe.Event{Body: &troupe.RunFinished{}})
		time.Sleep(time.Minute)
		says("")
	})
}
