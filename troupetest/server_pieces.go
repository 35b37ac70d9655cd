package troupetest

import (
	"encoding/json"

	"github.com/troupe-dev/troupe"
)

// deltas are the pieces of a streamed answer.
func (e *Exchange) deltas() []object {
	thought, text := e.spoken()
	list := []object{{"role": "assistant", "content": nil}}
	for _, word := range words(thought) {
		list = append(list, e.thoughtDelta(word))
	}
	for _, word := range words(text) {
		list = append(list, object{"content": e.content(word)})
	}
	if !e.writesCalls() {
		for _, piece := range e.allCallDeltas() {
			list = append(list, object{"tool_calls": e.callList(piece)})
		}
	}
	return list
}

// oneDelta is the whole answer as one piece.
func (e *Exchange) oneDelta() object {
	thought, text := e.spoken()
	delta := object{"role": "assistant"}
	if thought != "" {
		delta = e.thoughtDelta(thought)
		delta["role"] = "assistant"
	}
	if text != "" {
		delta["content"] = e.content(text)
	}
	if calls := e.wholeCalls(); len(calls) > 0 {
		delta["tool_calls"] = calls
	}
	return delta
}

// thoughtDelta is a piece of a thought.
func (e *Exchange) thoughtDelta(piece string) object {
	switch {
	case e.is(ShapeReasoning):
		return object{"reasoning": piece}
	case e.is(ShapeReasoningDetails):
		return object{"content": "", "reasoning_details": []object{{"type": "reasoning.text", "text": piece, "index": 0}}}
	case e.is(ShapeReasoningObject):
		return object{"reasoning_content": piece, "reasoning": object{"text": piece}, "reasoning_details": object{"type": "text"}}
	}
	return object{"reasoning_content": piece}
}

// content is how a piece of text is put. Parts are objects, and some servers send
// the text itself in their place.
func (e *Exchange) content(text string) any {
	if !e.is(ShapeContentParts) {
		return text
	}
	if half := len(text) / 2; isASCII(text) {
		return []any{object{"type": "text", "text": text[:half]}, text[half:]}
	}
	return []object{{"type": "text", "text": text}}
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// callList is how the calls of a piece are put.
func (e *Exchange) callList(calls ...object) any {
	if e.is(ShapeOneCall) && len(calls) == 1 {
		return calls[0]
	}
	return calls
}

// allCallDeltas are the pieces in which the calls come.
func (e *Exchange) allCallDeltas() (list []object) {
	var perCall [][]object
	most := 0
	for i := range e.calls {
		perCall = append(perCall, e.callDeltas(i))
		most = max(most, len(perCall[i]))
	}
	if !e.is(ShapeInterleavedCalls) {
		for _, pieces := range perCall {
			list = append(list, pieces...)
		}
		return list
	}
	for n := range most {
		for _, pieces := range perCall {
			if n < len(pieces) {
				list = append(list, pieces[n])
			}
		}
	}
	return list
}

// callDeltas are the pieces in which a call comes.
func (e *Exchange) callDeltas(i int) []object {
	call := e.calls[i]
	whole := e.wholeCall(i)
	switch {
	case e.is(ShapeNoIDs):
		delete(whole, "index")
		delete(whole, "id")
		return []object{whole}
	case e.is(ShapeWholeCalls):
		whole["index"] = 0
		return []object{whole}
	case e.is(ShapeObjectArguments):
		return []object{whole}
	}
	half := len(call.Arguments) / 2
	pieces := []string{"", call.Arguments[:half], call.Arguments[half:]}
	switch {
	case e.is(ShapeRepeatedArguments):
		pieces = []string{"", call.Arguments[:half], call.Arguments[half:], call.Arguments}
	case e.is(ShapeCumulative):
		pieces = []string{"", call.Arguments[:half], call.Arguments}
	case e.is(ShapeEmptyFirst):
		pieces = []string{"{}", call.Arguments}
	}
	var list []object
	for n, piece := range pieces {
		function := object{"arguments": piece}
		d := object{"index": whole["index"], "function": function}
		if n == 0 {
			d["id"], d["type"], function["name"] = whole["id"], "function", call.Name
		}
		list = append(list, d)
	}
	return list
}

// wholeCall is a call as one piece.
func (e *Exchange) wholeCall(i int) object {
	call := e.calls[i]
	piece := object{"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": e.arguments(call)}}
	if e.is(ShapeStringIndex) {
		piece["index"] = encode(i)
	}
	if e.is(ShapeNumberID) {
		piece["id"] = 7001 + i
	}
	return piece
}

// wholeCalls are all calls, unless they are in the text.
func (e *Exchange) wholeCalls() (calls []object) {
	if e.writesCalls() {
		return nil
	}
	for i := range e.calls {
		calls = append(calls, e.wholeCall(i))
	}
	return calls
}

func (e *Exchange) arguments(call troupe.ToolCall) any {
	if e.is(ShapeObjectArguments) && json.Valid([]byte(call.Arguments)) {
		return json.RawMessage(call.Arguments)
	}
	return call.Arguments
}
