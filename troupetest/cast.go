package troupetest

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// A Cast is a model that several agents share, each with a script of its own.
type Cast struct {
	tb    testing.TB
	parts map[string]*Script
}

var _ troupe.Model = (*Cast)(nil)

// NewCast makes a script of each part. A request gets its turn from the one part
// whose name is in the request's system message. As for [NewScript], tb may be nil.
func NewCast(tb testing.TB, parts map[string][]Turn) *Cast {
	tb = orPrinter(tb)
	tb.Helper()
	c := &Cast{tb: tb, parts: map[string]*Script{}}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		c.parts[name] = newScript(tb, "script of "+name, parts[name])
	}
	return c
}

// Part returns the script of a part, nil if there is none of that name.
func (c *Cast) Part(name string) *Script { return c.parts[name] }

// Generate implements [troupe.Model].
func (c *Cast) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	system := systemOf(req)
	var found []string
	for name := range c.parts {
		if strings.Contains(system, name) {
			found = append(found, name)
		}
	}
	if len(found) == 1 {
		return c.parts[found[0]].Generate(ctx, req)
	}
	slices.Sort(found)
	return func(yield func(troupe.Chunk, error) bool) {
		err := fmt.Errorf("cast: the system message %q names %d of the parts %q and must name one: %q",
			clip(system), len(found), slices.Sorted(maps.Keys(c.parts)), found)
		c.tb.Errorf("%v", err)
		yield(troupe.Chunk{}, err)
	}
}

// systemOf returns the text of a request's system message.
func systemOf(req *troupe.Request) string {
	for _, m := range req.Messages {
		if m != nil && m.Role == troupe.RoleSystem {
			return m.Text
		}
	}
	return ""
}
