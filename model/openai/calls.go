package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// maxCalls bounds the calls of one answer.
const maxCalls = 256

// A callDelta is a piece of a tool call, or a whole one.
type callDelta struct {
	Index        *int            `json:"index"`
	ID           string          `json:"id"`
	Function     functionDelta   `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content"`
}

type functionDelta struct {
	Name string `json:"name"`
	// Arguments is a piece of text, or with some servers the object itself.
	Arguments json.RawMessage `json:"arguments"`
}

// calls are the tool calls of an answer in the making, in the order they began in.
type calls []*call

type call struct {
	index     int
	id, name  string
	arguments strings.Builder
	nesting   nesting // of arguments
	extra     json.RawMessage
}

// add takes in a piece of a call and returns how much it has added, in bytes.
func (cs *calls) add(d *callDelta) int {
	if c := cs.find(d); c != nil {
		return c.extend(d)
	}
	added := cs.addWhole(d)
	if d.Index != nil {
		(*cs)[len(*cs)-1].index = *d.Index
	}
	return added
}

// addWhole takes in a whole call, whose place is where it stands.
func (cs *calls) addWhole(d *callDelta) int {
	const overhead = 64
	c := &call{index: len(*cs)}
	*cs = append(*cs, c)
	return overhead + c.extend(d)
}

// find returns the call that a piece belongs to, or nil if it begins a new one.
//
// By the book a piece names its call by index, and only the first has an id and a
// name. Servers also leave the index out, or use one for all calls; send id and name
// with every piece, or another id with each; or send no id at all.
func (cs calls) find(d *callDelta) *call {
	sameIndex := func(c *call) bool { return d.Index == nil || *d.Index == c.index }
	for _, c := range cs {
		if d.ID != "" && d.ID == c.id && sameIndex(c) {
			return c
		}
	}
	if d.Index == nil && (d.ID != "" || d.Function.Name != "") {
		return nil
	}
	for _, c := range slices.Backward(cs) {
		if sameIndex(c) {
			if c.isFollowedBy(d) {
				return nil
			}
			return c
		}
	}
	return nil
}

// isFollowedBy reports whether a piece with the index of c begins another call. It
// has a name then, and also: an id that is not that of c; or another name, when c
// has got arguments; or arguments, when those of c are complete.
func (c *call) isFollowedBy(d *callDelta) bool {
	switch {
	case d.Function.Name == "":
		return false
	case d.ID != "" && c.id != "":
		return true
	case d.Function.Name != c.name:
		return c.arguments.Len() > 0
	}
	return c.nesting.closed && argumentText(d.Function.Arguments) != ""
}

func (c *call) extend(d *callDelta) int {
	before := len(c.name) + c.arguments.Len()
	if c.id == "" {
		c.id = d.ID
	}
	if strings.HasPrefix(d.Function.Name, c.name) {
		c.name = d.Function.Name // the first, or sent again, or sent again with more
	} else {
		c.name += d.Function.Name
	}
	if wire.IsSet(d.ExtraContent) {
		c.extra = d.ExtraContent
	}
	text := argumentText(d.Function.Arguments)
	c.arguments.WriteString(text)
	c.nesting.scan(text)
	return len(c.name) + c.arguments.Len() - before + len(d.ExtraContent)
}

// argumentText is a piece of arguments: the text, or the JSON itself where a server
// sends an object.
func argumentText(raw json.RawMessage) string {
	if !wire.IsSet(raw) {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// whole returns the calls in the order of their indexes. Calls without an id, or
// with one that another call has, get one that is unique in the answer. What
// servers want back with a call goes into k.
func (cs calls) whole(k *kept) []troupe.ToolCall {
	cs = slices.DeleteFunc(slices.Clone(cs), func(c *call) bool {
		return c.id == "" && c.name == "" && c.arguments.Len() == 0
	})
	slices.SortStableFunc(cs, func(a, b *call) int { return cmp.Compare(a.index, b.index) })
	list := make([]troupe.ToolCall, len(cs))
	taken := map[string]bool{"": true}
	for i, c := range cs {
		id := c.id
		for n := 1; taken[id]; n++ {
			id = "call_" + strconv.Itoa(n)
		}
		taken[id] = true
		list[i] = troupe.ToolCall{ID: id, Name: c.name, Arguments: c.arguments.String()}
		if strings.TrimSpace(list[i].Arguments) == "" {
			list[i].Arguments = "{}"
		}
		if c.extra != nil {
			k.keepCall(id, c.extra)
		}
	}
	return list
}

// nesting follows the braces of JSON text that comes in pieces.
type nesting struct {
	depth             int
	inString, escaped bool
	closed            bool // the outermost brace was closed
}

func (n *nesting) scan(text string) {
	for _, c := range []byte(text) {
		switch {
		case n.escaped:
			n.escaped = false
		case n.inString:
			n.escaped = c == '\\'
			n.inString = c != '"'
		case c == '"':
			n.inString = true
		case c == '{':
			n.depth++
		case c == '}':
			n.depth--
			n.closed = n.depth == 0
		}
	}
}
