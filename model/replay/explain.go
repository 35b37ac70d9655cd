package replay

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// explain says which recorded request is nearest to one that was not recorded, and
// where the two begin to differ.
func (r *recording) explain(req *request) string {
	nearest, shared := r.nearest(req)
	if nearest == nil {
		return "the recording is empty"
	}
	where := fmt.Sprintf("the nearest is line %d (%s), which ", nearest.line, nearest.Request)
	switch {
	case shared < len(req.digests) && shared < len(nearest.Messages):
		now, then := &req.messages[shared], r.messages[nearest.Messages[shared]]
		return where + fmt.Sprintf("differs in message %d\n%s", shared+1, differing(then.whole(), now.whole()))
	case shared < len(req.digests):
		return where + fmt.Sprintf("has no message %d: %s", shared+1, excerpt(req.messages[shared].whole(), 0, 160))
	case shared < len(nearest.Messages):
		return where + fmt.Sprintf("goes on with message %d: %s", shared+1, excerpt(r.messages[nearest.Messages[shared]].whole(), 0, 160))
	case !slices.Equal(req.tools, nearest.Tools):
		return where + "has other tools\n" + differing(strings.Join(nearest.Tools, " "), strings.Join(req.tools, " "))
	case req.params != string(nearest.Params):
		return where + "has other parameters\n" + differing(string(nearest.Params), req.params)
	}
	return where + "has other extra parameters"
}

// nearest returns the recorded request that shares most messages with req from
// the beginning on; of several, one of the closest length, and then one with the
// same tools.
func (r *recording) nearest(req *request) (found *exchange, shared int) {
	var best []int
	for _, e := range r.exchanges {
		n := 0
		for n < min(len(e.Messages), len(req.digests)) && e.Messages[n] == req.digests[n] {
			n++
		}
		longer, sameTools := len(e.Messages)-len(req.digests), 0
		if slices.Equal(e.Tools, req.tools) {
			sameTools = 1
		}
		if score := []int{n, -max(longer, -longer), sameTools}; slices.Compare(score, best) > 0 {
			found, shared, best = e, n, score
		}
	}
	return found, shared
}

// whole is all that counts of a message, as text.
func (m *message) whole() string {
	who := string(m.Role)
	if m.Answers != "" {
		who += " (call " + m.Answers + ")"
	}
	return who + ": " + m.shown()
}

// differing shows two texts around the place where they begin to differ.
func differing(then, now string) string {
	at := 0
	for at < min(len(then), len(now)) && then[at] == now[at] {
		at++
	}
	return "- " + excerpt(then, at, 160) + "\n+ " + excerpt(now, at, 160)
}

// excerpt returns about n bytes of a text on one line, with the place at in view.
func excerpt(text string, at, n int) string {
	start := max(0, at-n/4)
	stop := min(len(text), start+n)
	for start > 0 && start < len(text) && !utf8.RuneStart(text[start]) {
		start--
	}
	for stop < len(text) && !utf8.RuneStart(text[stop]) {
		stop++
	}
	shown := text[start:stop]
	if start > 0 {
		shown = "…" + shown
	}
	if stop < len(text) {
		shown += "…"
	}
	return strings.ReplaceAll(shown, "\n", "⏎")
}
