package troupetest

import (
	"net/http"
	"time"

	"github.com/troupe-dev/troupe"
)

// An Exchange is one answer of a [Server]'s plan. Make one with a Serve function
// and add faults with its methods, each of which returns a changed copy.
type Exchange struct {
	name    string // what it is, for messages
	status  int
	header  http.Header
	body    []byte // sent as it is, if not nil
	forever bool
	silent  bool
	before  <-chan struct{}

	thought string
	text    string
	calls   []troupe.ToolCall
	finish  troupe.Finish
	usage   troupe.Usage

	keepAlives int
	delay      time.Duration
	noDone     bool
	failure    string
	place      ErrorPlace
	shapes     []Shape
	atChunk    int // where the fault happens, -1 for nowhere
	fault      fault
	pause      <-chan struct{}
	cutAt      int // bytes, -1 for never
}

// A fault is what happens in the midst of a stream.
type fault int

const (
	faultCut   fault = iota + 1 // the connection breaks
	faultEnd                    // the stream ends as if it were complete
	faultStall                  // nothing more comes
	faultPause                  // nothing more comes until the test says so
)

func serve(name string) Exchange {
	return Exchange{
		name: name, status: http.StatusOK, header: http.Header{}, atChunk: -1, cutAt: -1,
		finish: troupe.FinishStop, usage: troupe.Usage{Input: 10, Output: 5},
	}
}

// ServeText answers with text, a word to a chunk.
func ServeText(text string) Exchange {
	e := serve("a text")
	e.text = text
	return e
}

// ServeCalls answers with tool calls, the arguments of each in two chunks.
func ServeCalls(calls ...troupe.ToolCall) Exchange {
	e := serve("tool calls")
	e.calls = calls
	e.finish = troupe.FinishCalls
	return e
}

// ServeStatus answers with a status and a body, JSON or not.
func ServeStatus(status int, body string) Exchange {
	e := serve("a status")
	e.status = status
	e.body = []byte(body)
	return e.Header("Content-Type", "application/json")
}

// ServeRaw answers with status 200 and these bytes, such as garbage.
func ServeRaw(contentType, body string) Exchange {
	e := serve("raw bytes")
	e.body = []byte(body)
	return e.Header("Content-Type", contentType)
}

// ServeNothing takes the request and says nothing until the client leaves.
func ServeNothing() Exchange {
	e := serve("silence")
	e.silent = true
	return e
}

// Header adds a header to the answer, such as Retry-After.
func (e Exchange) Header(name, value string) Exchange {
	e.header = e.header.Clone()
	e.header.Set(name, value)
	return e
}

// Text puts text before the calls.
func (e Exchange) Text(text string) Exchange { e.text = text; return e }

// Thought puts reasoning before everything else, as reasoning_content.
func (e Exchange) Thought(thought string) Exchange { e.thought = thought; return e }

// Finish ends the answer with another reason. An empty one is not sent, so the
// answer has no end.
func (e Exchange) Finish(finish troupe.Finish) Exchange { e.finish = finish; return e }

// Usage sets the token counts, which otherwise are 10 and 5.
func (e Exchange) Usage(usage troupe.Usage) Exchange { e.usage = usage; return e }

// Forever repeats the exchange for all requests to come.
func (e Exchange) Forever() Exchange { e.forever = true; return e }

// Hold waits for the channel before it begins to answer.
func (e Exchange) Hold(until <-chan struct{}) Exchange { e.before = until; return e }

// KeepAlives sends as many comments before each chunk.
func (e Exchange) KeepAlives(n int) Exchange { e.keepAlives = n; return e }

// Delay waits before each chunk, and each comment.
func (e Exchange) Delay(d time.Duration) Exchange { e.delay = d; return e }

// NoDone leaves out the [DONE] at the end of the stream.
func (e Exchange) NoDone() Exchange { e.noDone = true; return e }

// FailWith sends an error object in place of the end of the stream: JSON such as
// {"message":"overloaded","code":529}.
func (e Exchange) FailWith(errorObject string) Exchange { e.failure = errorObject; return e }

// CutAfterChunks breaks the connection after n chunks of the stream.
func (e Exchange) CutAfterChunks(n int) Exchange { e.fault, e.atChunk = faultCut, n; return e }

// CutAfterBytes breaks the connection after n bytes of the body, streamed or not.
func (e Exchange) CutAfterBytes(n int) Exchange { e.cutAt = n; return e }

// EndAfterChunks ends the stream after n chunks, in good order but too early.
func (e Exchange) EndAfterChunks(n int) Exchange { e.fault, e.atChunk = faultEnd, n; return e }

// StallAfterChunks sends nothing after n chunks, until the client leaves.
func (e Exchange) StallAfterChunks(n int) Exchange { e.fault, e.atChunk = faultStall, n; return e }

// PauseAfterChunks sends nothing after n chunks until the channel is ready.
func (e Exchange) PauseAfterChunks(n int, until <-chan struct{}) Exchange {
	e.fault, e.atChunk, e.pause = faultPause, n, until
	return e
}
