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
	Index        index           `json:"index"`
	ID           label           `json:"id"`
	Function     functionDelta   `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content"`
	// Some servers have no object for the function.
	functionDelta
}

type functionDelta struct {
	Name label `json:"name"`
	// Arguments is a piece of text, or with some servers the object itself.
	Arguments json.RawMessage `json:"arguments"`
}

// function returns the piece's name and arguments.
func (d *callDelta) function() (name, arguments string) {
	f := d.Function
	if f.Name == "" && f.Arguments == nil {
		f = d.functionDelta
	}
	return string(f.Name), argumentText(f.Arguments)
}

// calls are the tool calls of an answer in the making, in the order they began in.
type calls []*call

type call struct {
	index     int
	id, name  string
	arguments arguments
	extra     json.RawMessage
}

// add takes in pieces that came together and returns how much they have added, in
// bytes.
func (cs *calls) add(pieces []callDelta) (added int) {
	before := len(*cs)
	for i := range pieces {
		p := newPiece(&pieces[i])
		if c := cs.find(p, before); c != nil {
			added += c.extend(p)
			continue
		}
		added += cs.begin(p)
		if p.hasIndex {
			(*cs)[len(*cs)-1].index = p.index
		}
	}
	return added
}

// addWhole takes in whole calls, whose places are where they stand.
func (cs *calls) addWhole(pieces []callDelta) (added int) {
	for i := range pieces {
		added += cs.begin(newPiece(&pieces[i]))
	}
	return added
}

func (cs *calls) begin(p *piece) int {
	const overhead = 64
	c := &call{index: len(*cs)}
	*cs = append(*cs, c)
	return overhead + c.extend(p)
}

// A piece is a callDelta, read.
type piece struct {
	index               int
	hasIndex            bool
	id, name, arguments string
	extra               json.RawMessage
}

func newPiece(d *callDelta) *piece {
	p := &piece{index: d.Index.n, hasIndex: d.Index.set, id: string(d.ID), extra: d.ExtraContent}
	p.name, p.arguments = d.function()
	return p
}

// find returns the call that a piece belongs to, or nil if it begins a new one.
// Those from before on came together with the piece.
//
// By the book a piece names its call by index, and only the first has an id and a
// name. Servers also leave the index out, or use one for all calls; send id and name
// with every piece, or another id with each; send no id at all; or send a whole call
// again.
func (cs calls) find(p *piece, before int) *call {
	sameIndex := func(c *call) bool { return !p.hasIndex || p.index == c.index }
	for _, c := range cs {
		isOther := p.name != "" && p.name != c.name && c.arguments.isComplete() // its id is not its own
		if p.id != "" && p.id == c.id && sameIndex(c) && !isOther {
			return c
		}
	}
	last := -1
	for i, c := range slices.Backward(cs) {
		if sameIndex(c) {
			last = i
			break
		}
	}
	switch {
	case last < 0:
		return nil
	case !p.hasIndex && last >= before && (p.id != "" || p.name != ""):
		return nil // its place in the list tells it from the one before
	case !cs[last].isFollowedBy(p):
		return cs[last]
	}
	for _, c := range cs[:min(len(cs), before)] {
		if p.id == "" && sameIndex(c) && c.isRepeatedBy(p) {
			return c
		}
	}
	return nil
}

// isFollowedBy reports whether a piece begins another call than c, to which it would
// belong by its index. It has a name then, or no index and an id, and also: an id
// that is not that of c; or another name, when c has got arguments; or arguments,
// when those of c are complete and others.
func (c *call) isFollowedBy(p *piece) bool {
	goesOn := c.arguments.size() > 0 && !c.arguments.isComplete()
	switch {
	case p.name == "":
		return !p.hasIndex && p.id != "" && c.id != ""
	case goesOn && p.arguments != "" && !strings.HasPrefix(strings.TrimSpace(p.arguments), "{"):
		return false // no call begins like this
	case p.id != "" && c.id != "":
		return true
	case p.name != c.name:
		return !p.hasIndex || c.arguments.size() > 0
	case c.isRepeatedBy(p):
		return false
	case c.id != "" && p.id == "" && c.arguments.isEmptyObject():
		return false // {} stood for arguments to come
	}
	return c.arguments.isComplete() && p.arguments != ""
}

// isRepeatedBy reports whether a piece is the whole of c again.
func (c *call) isRepeatedBy(p *piece) bool {
	return p.name == c.name && c.arguments.isComplete() && sameJSON(p.arguments, c.arguments.String())
}

func (c *call) extend(p *piece) int {
	before := len(c.name) + c.arguments.size()
	if c.id == "" {
		c.id = p.id
	}
	if strings.HasPrefix(p.name, c.name) {
		c.name = p.name // the first, or sent again, or sent again with more
	} else {
		c.name += p.name
	}
	if wire.IsSet(p.extra) {
		c.extra = p.extra
	}
	c.arguments.add(p.arguments)
	return max(len(c.name)+c.arguments.size()-before, 0) + len(p.extra)
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

// areComplete reports whether all calls have arguments that can be read.
func (cs calls) areComplete() bool {
	for _, c := range cs {
		if c.arguments.size() > 0 && !c.arguments.isComplete() {
			return false
		}
	}
	return true
}

// whole returns the calls in the order of their indexes. Calls without an id, or
// with one that another call has, get one that is unique in the answer. What
// servers want back with a call goes into k.
func (cs calls) whole(k *kept) []troupe.ToolCall {
	cs = slices.DeleteFunc(slices.Clone(cs), func(c *call) bool {
		return c.id == "" && c.name == "" && c.arguments.size() == 0
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
