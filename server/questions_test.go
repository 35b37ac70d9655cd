package server

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"sync"
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
			w, begun, asked := twoWait(t, func(i int) { done[i].Add(1) })
			waiting := func() bool { return w.info(begun.Session).Status == "waiting" }
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

// While what was approved first is being done, the other is answered, too: whoever has two
// cards before them need not wait between them. What is taken is done, once.
func TestTheSecondOfTwoIsAnsweredWhileTheFirstIsAtWork(t *testing.T) {
	var done [2]atomic.Int32
	reached, goOn := make(chan struct{}), make(chan struct{})
	w, begun, asked := twoWait(t, func(i int) {
		if done[i].Add(1); i == 0 {
			reached <- struct{}{}
			<-goOn
		}
	})
	path := "/api/sessions/" + begun.Session + "/answers"
	w.want(http.StatusAccepted, nil, "POST", path, decision{Question: asked["act0"], Allow: "once"})
	<-reached
	second := decision{Question: asked["act1"], Allow: "once"}
	var taken started
	w.want(http.StatusAccepted, &taken, "POST", path, second)
	if taken != begun {
		t.Errorf("it went to %+v, not to %+v", taken, begun)
	}
	for _, id := range asked {
		var refused problem
		w.want(http.StatusConflict, &refused, "POST", path, decision{Question: id, Allow: "once"})
		if refused.Code != "answered" {
			t.Errorf("what was answered before is refused as %+v", refused)
		}
	}
	if q := w.info(begun.Session).Question; q != nil {
		t.Errorf("it still asks %+v", q)
	}
	close(goOn)
	w.eventually(func() bool { return w.info(begun.Session).Status == "completed" })
	if done[0].Load() != 1 || done[1].Load() != 1 {
		t.Errorf("done %d and %d times", done[0].Load(), done[1].Load())
	}
}

// Both cards may be answered at the same moment.
func TestTwoThatWaitAreAnsweredAtTheSameMoment(t *testing.T) {
	for range 10 {
		var done [2]atomic.Int32
		w, begun, asked := twoWait(t, func(i int) { done[i].Add(1) })
		var answers sync.WaitGroup
		for _, id := range asked {
			answers.Go(func() {
				w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+begun.Session+"/answers", decision{Question: id, Allow: "once"})
			})
		}
		answers.Wait()
		w.eventually(func() bool { return w.info(begun.Session).Status == "completed" })
		if done[0].Load() != 1 || done[1].Load() != 1 {
			t.Fatalf("done %d and %d times", done[0].Load(), done[1].Load())
		}
	}
}

// What is allowed in the whole session is on record for all that wait for it, while what was
// answered is at work: nobody can be asked about it any more, in another window for instance.
func TestWhatIsAllowedInASessionIsOnRecordAtOnce(t *testing.T) {
	var done atomic.Int32
	reached, goOn := make(chan struct{}, 2), make(chan struct{})
	w, begun, asked := twoWaitFor(t, [2]string{"act", "act"}, func(int) {
		reached <- struct{}{}
		<-goOn
		done.Add(1)
	})
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+begun.Session+"/answers", decision{Question: asked["act"], Allow: "session"})
	<-reached
	covered := 0
	for e, err := range w.store.Events(t.Context(), begun.Session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if said, ok := e.Body.(*troupe.UserSaid); ok && said.Hidden && said.Answer != nil && said.Answer.Approved {
			covered++
		}
	}
	if question := w.info(begun.Session).Question; covered != 1 || question != nil {
		t.Errorf("%d questions are settled with another, and asked is still %+v", covered, question)
	}
	close(goOn)
	w.eventually(func() bool { return w.info(begun.Session).Status == "completed" })
	if done.Load() != 2 {
		t.Errorf("done %d times", done.Load())
	}
}

// A twiceModel calls a tool twice in one turn, then answers.
type twiceModel struct{ tool string }

func (m twiceModel) Generate(_ context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		if req.Messages[len(req.Messages)-1].Role == troupe.RoleTool {
			if yield(troupe.Chunk{Text: "Done."}, nil) {
				yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop}}, nil)
			}
			return
		}
		for _, id := range []string{"c0", "c1"} {
			if !yield(troupe.Chunk{Call: &troupe.ToolCall{ID: id, Name: m.tool, Arguments: `{}`}}, nil) {
				return
			}
		}
		yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishCalls}}, nil)
	}
}

// Where two calls of one agent wait at the same time, the other waits on when one is answered.
func TestTwoCallsOfOneAgentWaitEachForItself(t *testing.T) {
	var done atomic.Int32
	guarded := approve.Policy{{Tool: "look", Do: approve.Ask}}.Tools(troupe.NewTool("look", "Looks.", func(context.Context, struct{}) (string, error) {
		done.Add(1)
		return "seen", nil
	}, troupe.ReadOnly()))
	w := open(t, clerk(t, twiceModel{"look"}, guarded...))
	session := w.session()
	w.say(session, "look")
	for n := range int32(2) {
		w.eventually(func() bool {
			info := w.info(session)
			return info.Status == "waiting" && info.Question != nil && done.Load() == n
		})
		w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/answers", decision{Question: w.info(session).Question.ID, Allow: "once"})
	}
	w.eventually(func() bool { return w.info(session).Status == "completed" })
	if done.Load() != 2 {
		t.Errorf("done %d times", done.Load())
	}
}

// Where two wait, a message is the answer to what is shown of them.
func TestAMessageAnswersWhatIsShown(t *testing.T) {
	done := make(chan int, 2)
	w, begun, _ := twoWait(t, func(i int) { done <- i })
	if shown := w.info(begun.Session).Question; shown.Tool != "act1" {
		t.Fatalf("%+v is shown", shown)
	}
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+begun.Session+"/messages", message{Text: "yes"})
	if i := <-done; i != 1 {
		t.Errorf("act%d is done", i)
	}
	w.eventually(func() bool { shown := w.info(begun.Session).Question; return shown != nil && shown.Tool == "act0" })
}

// Who has answered while a run was under way sees its end beside whoever began it: the queue is
// gone on with once.
func TestTheQueueGoesOnOnceWhoeverSeesTheRunEnd(t *testing.T) {
	words := make(chan string)
	w := open(t, clerk(t, gated(words)))
	session := w.session()
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "one"})
	for _, text := range []string{"two", "three"} {
		w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: text, When: "after"})
	}
	words <- "One."
	w.eventually(func() bool { return w.info(session).Queued == 1 })
	end := ending{session: session}
	for e, err := range w.store.Events(t.Context(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if isEnd(e.Body) {
			end.seq = e.Seq
		}
	}
	w.server.ended("", end)
	var q queueView
	if w.want(http.StatusOK, &q, "GET", "/api/sessions/"+session+"/queue", nil); q.Held || len(q.Messages) != 1 {
		t.Fatalf("the queue is %+v", q)
	}
	words <- "Two."
	words <- "Three."
	w.eventually(func() bool { return w.info(session).Status == "completed" && w.info(session).Queued == 0 })
}

// twoWait is a flow of two agents that wait for approval at the same time, to do something
// each, and the questions by the tools that ask.
func twoWait(t *testing.T, do func(i int)) (w *world, begun started, asked map[string]int64) {
	return twoWaitFor(t, [2]string{"act0", "act1"}, do)
}

// twoWaitFor is twoWait for tools of these names. The second asks first.
func twoWaitFor(t *testing.T, tools [2]string, do func(i int)) (w *world, begun started, asked map[string]int64) {
	var steps []troupe.Step
	hasAsked := make(chan struct{})
	for i, tool := range tools {
		calls := calling(tool, `{}`)
		model := scriptedFunc(func(req *troupe.Request) troupe.Chunk {
			if i == 0 {
				<-hasAsked
			}
			for chunk := range calls.Generate(t.Context(), req) {
				return chunk
			}
			return troupe.Chunk{}
		})
		guarded := approve.Policy{{Tool: tool, Do: approve.Ask}}.Tools(troupe.NewTool(tool, "Acts.", func(context.Context, struct{}) (string, error) {
			do(i)
			return "done", nil
		}))
		agent, err := troupe.NewAgent(troupe.AgentConfig{ID: fmt.Sprint("agent", i), Instructions: "Act.", Model: model, Tools: guarded})
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, agent)
	}
	both := flow.Parallel("round", steps...)
	w = open(t, cast{"round": func() (troupe.Step, error) { return both, nil }})
	w.want(http.StatusAccepted, &begun, "POST", "/api/flows/round/runs", message{Text: "go"})
	w.eventually(func() bool { return w.info(begun.Session).Question != nil })
	close(hasAsked)
	w.eventually(func() bool { return w.info(begun.Session).Status == "waiting" })
	asked = map[string]int64{}
	var feed struct{ Events []troupe.Event }
	w.want(http.StatusOK, &feed, "GET", "/api/sessions/"+begun.Session+"/events?before=&limit=50", nil)
	for _, e := range feed.Events {
		if b, ok := e.Body.(*troupe.InputRequested); ok {
			asked[b.Tool] = e.Seq
		}
	}
	return w, begun, asked
}
