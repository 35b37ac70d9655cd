package troupetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Shape is an odd form in which real servers put answers. A client that reads them
// as they are meant gets the same from each as from an ordinary answer.
type Shape string

// The shapes, each with who sends it.
const (
	ShapeNoReason           Shape = "no reason for the end"                // Snowflake always, gateways now and then
	ShapeNumberReason       Shape = "a number as reason for the end"       // Gemini's own, behind gateways
	ShapeWhole              Shape = "all at once under a stream's header"  // gateways
	ShapeNoBlankLines       Shape = "no blank lines between events"        // proxies
	ShapeByteOrderMark      Shape = "a byte order mark, no content type"   // proxies
	ShapePings              Shape = "data that is no JSON between events"  // gateways
	ShapeNaN                Shape = "NaN among the numbers"                // servers in Python
	ShapeMessageBesideDelta Shape = "all so far beside each piece"         // Perplexity
	ShapeMistyped           Shape = "side fields of other types"           // many
	ShapeEmptyUsage         Shape = "an empty usage after the real one"    // gateways
	ShapeThinkTags          Shape = "thoughts inside the text"             // servers without a reasoning parser
	ShapeReasoning          Shape = "thoughts as reasoning"                // Groq, Ollama, vLLM
	ShapeReasoningDetails   Shape = "thoughts in reasoning_details only"   // Snowflake
	ShapeWholeCalls         Shape = "whole calls that share an index"      // Ollama, Gemini behind proxies
	ShapeNoIDs              Shape = "calls without index and id"           // proxies
	ShapeObjectArguments    Shape = "arguments as an object"               // local servers
	ShapeRepeatedArguments  Shape = "complete arguments sent again"        // vLLM
	ShapeCumulative         Shape = "all arguments so far with each piece" // gateways
	ShapeEmptyFirst         Shape = "empty arguments before the real ones" // translators of the Messages API
	ShapeCallsInText        Shape = "calls written into the text"          // servers without a tool parser
	ShapeStringIndex        Shape = "a call's index as a string"           // proxies
	ShapeNumberID           Shape = "a call's id as a number"              // local servers
	ShapeOneCall            Shape = "a call that is in no list"            // proxies
	ShapeInterleavedCalls   Shape = "pieces of all calls by turns"         // servers that write calls at the same time
	ShapeContentParts       Shape = "text as a list of parts"              // Mistral, gateways
	ShapeReasoningObject    Shape = "an object as reasoning"               // gateways, beside reasoning_content
	ShapeHugeEvent          Shape = "all in one event of over a megabyte"  // calls that write a file, padding against eavesdroppers
)

// Shapes lists all shapes.
func Shapes() []Shape {
	return []Shape{
		ShapeNoReason, ShapeNumberReason, ShapeWhole, ShapeNoBlankLines, ShapeByteOrderMark, ShapePings, ShapeNaN, ShapeMessageBesideDelta,
		ShapeMistyped, ShapeEmptyUsage, ShapeThinkTags, ShapeReasoning, ShapeReasoningDetails, ShapeWholeCalls, ShapeNoIDs, ShapeObjectArguments,
		ShapeRepeatedArguments, ShapeCumulative, ShapeEmptyFirst, ShapeCallsInText, ShapeStringIndex, ShapeNumberID, ShapeOneCall,
		ShapeInterleavedCalls, ShapeContentParts, ShapeReasoningObject, ShapeHugeEvent,
	}
}

// As puts the answer into odd shapes. Those that are about thoughts or calls change
// nothing where there are none; calls are written into the text only where there is
// no other text.
func (e Exchange) As(shapes ...Shape) Exchange {
	e.shapes = append(slices.Clone(e.shapes), shapes...)
	return e
}

// An ErrorPlace is where a server tells of a failure in an answer whose status is
// good.
type ErrorPlace string

// The places, beside the error of a chunk, which is where [Exchange.FailWith] puts it.
const (
	ErrorInChoice  ErrorPlace = "in the choice"            // gateways
	ErrorField     ErrorPlace = "in a field named error"   // llama.cpp
	ErrorEvent     ErrorPlace = "in an event named error"  // Groq
	ErrorBare      ErrorPlace = "in a line without a name" // proxies
	ErrorAlone     ErrorPlace = "in place of the answer"   // Ollama, vLLM
	ErrorInArray   ErrorPlace = "in an array, alone"       // Google
	ErrorBesideEnd ErrorPlace = "beside the end"           // OpenRouter
)

// ErrorPlaces lists all places.
func ErrorPlaces() []ErrorPlace {
	return []ErrorPlace{ErrorInChoice, ErrorField, ErrorEvent, ErrorBare, ErrorAlone, ErrorInArray, ErrorBesideEnd}
}

// FailIn is [Exchange.FailWith] with another place for the error object.
func (e Exchange) FailIn(place ErrorPlace, errorObject string) Exchange {
	e.failure, e.place = errorObject, place
	return e
}

func (e *Exchange) is(shape Shape) bool { return slices.Contains(e.shapes, shape) }

// spoken is what comes as text, and what of the thought comes apart from it.
func (e *Exchange) spoken() (thought, text string) {
	thought, text = e.thought, e.text
	if e.is(ShapeThinkTags) && thought != "" {
		thought, text = "", "<think>\n"+thought+"\n</think>\n\n"+text
	}
	if e.writesCalls() {
		for _, call := range e.calls {
			text += fmt.Sprintf("<tool_call>\n{\"name\": %s, \"arguments\": %s}\n</tool_call>\n", encode(call.Name), call.Arguments)
		}
	}
	return thought, text
}

// writesCalls reports whether calls go into the text.
func (e *Exchange) writesCalls() bool {
	return e.is(ShapeCallsInText) && e.text == "" && len(e.calls) > 0
}

// reason is how the end of the answer is put; nil leaves it out.
func (e *Exchange) reason() any {
	switch {
	case e.finish == "" || e.is(ShapeNoReason):
		return nil
	case e.writesCalls() && e.finish == "tool_calls":
		return "stop"
	case e.is(ShapeNumberReason) && (e.finish == "stop" || e.finish == "tool_calls"):
		return 1
	case e.is(ShapeNumberReason) && e.finish == "length":
		return 2
	}
	return e.finish
}

// distort changes a chunk in ways that must make no difference.
func (e *Exchange) distort(chunk object, so string) object {
	choices, _ := chunk["choices"].([]object)
	for _, choice := range choices {
		if e.is(ShapeMessageBesideDelta) {
			choice["message"] = object{"role": "assistant", "content": so}
		}
		if e.is(ShapeMistyped) {
			choice["index"] = "0"
			if delta, ok := choice["delta"].(object); ok {
				delta["refusal"], delta["role"] = false, object{"name": "assistant"}
			}
		}
		if e.is(ShapeNaN) {
			choice["logprobs"] = nan{}
		}
	}
	if e.is(ShapeHugeEvent) && len(choices) > 0 && choices[0]["finish_reason"] == nil {
		chunk["obfuscation"] = strings.Repeat("x", 3<<19)
	}
	if e.is(ShapeMistyped) {
		chunk["created"], chunk["id"], chunk["system_fingerprint"] = "now", 17, []int{1}
	}
	return chunk
}

// nan is the number that Python writes and JSON does not have.
type nan struct{}

// MarshalJSON writes a mark that frame replaces.
func (nan) MarshalJSON() ([]byte, error) { return []byte(`"\u0000NaN"`), nil }

// frame puts the payloads of a stream into events.
func (e *Exchange) frame(payloads []string) []string {
	var events []string
	for i, payload := range payloads {
		payload = strings.ReplaceAll(payload, `"\u0000NaN"`, "NaN")
		event := "data: " + payload + "\n\n"
		if e.is(ShapeNoBlankLines) {
			event = "data: " + payload + "\n"
		}
		if e.is(ShapePings) {
			event = "data: ping\n\n" + event
		}
		if e.is(ShapeByteOrderMark) && i == 0 {
			event = "\ufeff" + event
		}
		events = append(events, event)
	}
	return events
}

// failEvents is how the error is told of, in place of the end of a stream.
func (e *Exchange) failEvents() []string {
	var compact bytes.Buffer
	failure := e.failure
	if json.Compact(&compact, []byte(failure)) == nil {
		failure = compact.String() // a line of a stream has no line breaks
	}
	event := func(format string) []string { return []string{fmt.Sprintf(format, failure)} }
	switch e.place {
	case ErrorInChoice:
		return event("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"error\",\"error\":%s}]}\n\n")
	case ErrorBesideEnd:
		return event("data: {\"error\":%s,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]}\n\ndata: [DONE]\n\n")
	case ErrorField:
		return event("error: %s\n\n")
	case ErrorEvent:
		return event("event: error\ndata: {\"error\":%s}\n\n")
	case ErrorBare:
		return event("{\"error\":%s}\n\n")
	}
	return event("data: {\"choices\":[],\"error\":%s}\n\n")
}
