package troupetest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

type object map[string]any

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a fault of the server itself
	}
	return string(data)
}

// answer carries out an exchange.
func (e *Exchange) answer(w http.ResponseWriter, r *http.Request, speaks protocol, body []byte) {
	var req struct {
		Model   string `json:"model"`
		Stream  bool   `json:"stream"`
		Options struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	json.Unmarshal(body, &req) // checkConversation has found it to be JSON
	if (e.silent || e.before != nil) && !wait(r.Context(), e.before) {
		panic(http.ErrAbortHandler)
	}
	out := &cutter{w: w, flush: http.NewResponseController(w).Flush, left: e.cutAt}
	for name, values := range e.header {
		w.Header()[name] = values
	}
	switch {
	case e.body != nil:
		w.WriteHeader(e.status)
		out.write(string(e.body))
	case speaks.events != nil:
		w.Header().Set("Content-Type", speaks.contentType)
		out.write("") // the status goes out before the first event
		e.stream(r.Context(), out, speaks.events(e, req.Model), speaks.keepAlive())
	case e.failure != "" && (e.place == ErrorAlone || e.place == ErrorInArray):
		w.Header().Set("Content-Type", "text/event-stream")
		alone := `{"error":` + e.failure + "}"
		if e.place == ErrorInArray {
			alone = "[" + alone + "]"
		}
		out.write(alone)
	case req.Stream && e.is(ShapeWhole):
		w.Header().Set("Content-Type", "text/event-stream")
		out.write(encode(e.whole(req.Model)))
	case req.Stream:
		if !e.is(ShapeByteOrderMark) {
			w.Header().Set("Content-Type", "text/event-stream")
		} else {
			w.Header().Set("Content-Type", "text/plain")
		}
		out.write("") // the status goes out before the first chunk
		e.stream(r.Context(), out, e.chunks(req.Model, req.Options.IncludeUsage), speaks.keepAlive())
	default:
		w.Header().Set("Content-Type", "application/json")
		out.write(encode(e.whole(req.Model)))
	}
}

// stream sends events with the faults between them.
func (e *Exchange) stream(ctx context.Context, out *cutter, events []string, keepAlive string) {
	for i, event := range events {
		if i == e.atChunk && !e.suffer(ctx) {
			return
		}
		for range e.keepAlives {
			e.sleep(ctx)
			out.write(keepAlive)
		}
		e.sleep(ctx)
		out.write(event)
	}
}

// suffer carries out the fault and reports whether the stream goes on.
func (e *Exchange) suffer(ctx context.Context) bool {
	switch e.fault {
	case faultEnd:
		return false
	case faultStall:
		<-ctx.Done()
	case faultPause:
		if wait(ctx, e.pause) {
			return true
		}
	}
	panic(http.ErrAbortHandler) // breaks the connection
}

func (e *Exchange) sleep(ctx context.Context) {
	if e.delay == 0 {
		return
	}
	timer := time.NewTimer(e.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		panic(http.ErrAbortHandler)
	}
}

// wait reports whether the channel was ready before the client left. A nil channel
// never is.
func wait(ctx context.Context, ready <-chan struct{}) bool {
	select {
	case <-ready:
		return true
	case <-ctx.Done():
		return false
	}
}

// chunks are the events of the stream.
func (e *Exchange) chunks(model string, usage bool) []string {
	var list []string
	so := "" // what was said so far
	add := func(choices []object, more object) {
		chunk := object{"id": "chatcmpl-test", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices}
		for key, value := range more {
			chunk[key] = value
		}
		list = append(list, encode(e.distort(chunk, so)))
	}
	delta := func(d object) { add([]object{{"index": 0, "delta": d, "finish_reason": nil}}, nil) }

	pieces := e.deltas()
	if e.is(ShapeHugeEvent) {
		pieces = []object{e.oneDelta()}
	}
	for _, piece := range pieces {
		if word, ok := piece["content"].(string); ok {
			so += word
		}
		delta(piece)
	}
	if e.failure != "" {
		return append(e.frame(list), e.failEvents()...)
	}
	if reason := e.reason(); reason != nil {
		add([]object{{"index": 0, "delta": object{}, "finish_reason": reason}}, nil)
	}
	if usage {
		add([]object{}, object{"usage": usageObject(e.usage)})
	}
	if e.is(ShapeEmptyUsage) {
		add([]object{}, object{"usage": object{}})
	}
	if !e.noDone {
		list = append(list, "[DONE]")
	}
	return e.frame(list)
}

// whole is the answer to a request that does not ask for a stream.
func (e *Exchange) whole(model string) object {
	if e.failure != "" {
		return object{"error": json.RawMessage(e.failure)}
	}
	thought, text := e.spoken()
	message := object{"role": "assistant", "content": e.content(text)}
	if thought != "" {
		for name, value := range e.thoughtDelta(thought) {
			if name != "content" {
				message[name] = value
			}
		}
	}
	if calls := e.wholeCalls(); calls != nil {
		for _, call := range calls {
			delete(call, "index") // only pieces have one
		}
		message["tool_calls"] = e.callList(calls...)
	}
	choice := object{"index": 0, "message": message, "finish_reason": nil}
	choice["finish_reason"] = e.reason()
	return object{"id": "chatcmpl-test", "object": "chat.completion", "created": 1, "model": model,
		"choices": []object{choice}, "usage": usageObject(e.usage)}
}

func usageObject(u troupe.Usage) object {
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Total(),
		"prompt_tokens_details":     object{"cached_tokens": u.CachedInput},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}

// words cuts text behind its spaces; empty text has none.
func words(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

// A cutter writes and flushes, and breaks the connection when its bytes are used up.
type cutter struct {
	w     http.ResponseWriter
	flush func() error
	left  int // -1 means no limit
}

func (c *cutter) write(text string) {
	cut := c.left >= 0 && len(text) > c.left
	if cut {
		text = text[:c.left]
	}
	if c.left >= 0 {
		c.left -= len(text)
	}
	_, err := c.w.Write([]byte(text))
	if c.flush() != nil || err != nil || cut {
		panic(http.ErrAbortHandler)
	}
}
