package server

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
	"github.com/troupe-dev/troupe/tool/approve"
)

// Where two agents wait for approval at the same time, what is approved is what is done,
// whichever is answered first, and the other waits on.
func TestWhatIsApprovedIsWhatIsDoneWhereTwoWait(t *testing.T) {
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			var done [2]atomic.Int32
			var steps []troupe.Step
			for i := range done {
				tool := fmt.Sprint("act", i)
				guarded := approve.Policy{{Tool: tool, Do: approve.Ask}}.Tools(troupe.NewTool(tool, "Acts.", func(context.Context, struct{}) (string, error) {
					done[i].Add(1)
					return "done", nil
				}))
				agent, err := troupe.NewAgent(troupe.AgentConfig{ID: fmt.Sprint("agent", i), Instructions: "Act.", Model: calling(tool, `{}`), Tools: guarded})
				if err != nil {
					t.Fatal(err)
				}
				steps = append(steps, agent)
			}
			both := flow.Parallel("round", steps...)
			w := open(t, cast{"round": func() (troupe.Step, error) { return both, nil }})
			var begun started
			w.want(http.StatusAccepted, &begun, "POST", "/api/flows/round/runs", message{Text: "go"})
			waiting := func() bool { return w.info(begun.Session).Status == "waiting" }
			w.eventually(waiting)
			asked := map[string]int64{}
			var feed struct{ Events []troupe.Event }
			w.want(http.StatusOK, &feed, "GET", "/api/sessions/"+begun.Session+"/events?before=&limit=50", nil)
			for _, e := range feed.Events {
				if b, ok := e.Body.(*troupe.InputRequested); ok {
					asked[b.Tool] = e.Seq
				}
			}
			first, second := order[0], order[1]
			answer := decision{Question: asked[fmt.Sprint("act", first)], Allow: "once"}
			path := "/api/sessions/" + begun.Session + "/answers"
			w.want(http.StatusAccepted, nil, "POST", path, answer)
			w.eventually(func() bool { return waiting() && done[first].Load() == 1 })
			if q := w.info(begun.Session).Question; done[second].Load() != 0 || q == nil || q.ID != asked[fmt.Sprint("act", second)] {
				t.Fatalf("what was not approved was done %d times, and what waits is %+v", done[second].Load(), q)
			}
			w.want(http.StatusConflict, nil, "POST", path, answer)
			w.want(http.StatusAccepted, nil, "POST", path, decision{Question: asked[fmt.Sprint("act", second)], Allow: "once"})
			w.eventually(func() bool { return w.info(begun.Session).Status == "completed" })
			if done[0].Load() != 1 || done[1].Load() != 1 {
				t.Errorf("done %d and %d times", done[0].Load(), done[1].Load())
			}
		})
	}
}
