package server

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe"
)

// alone is a cast of agents alone.
type alone struct{ Cast }

func (alone) Flows() []Flow { return nil }

func (a alone) Step(ctx context.Context, name string) (troupe.Step, error) {
	if name != "clerk" {
		return nil, ErrUnknown
	}
	return a.Cast.Step(ctx, name)
}

// The page shows parts that the server has, by what /api/me says of them.
func TestMeSaysWhichPartsThereAre(t *testing.T) {
	parts := func(options ...option) []string {
		var me person
		open(t, alone{clerk(t, echo())}, options...).want(http.StatusOK, &me, "GET", "/api/me", nil)
		return me.Can
	}
	bare := parts()
	for _, part := range []string{"flows", "deliveries", "settings", "mcp", "skills"} {
		if slices.Contains(bare, part) {
			t.Errorf("a server without %s says that it has them", part)
		}
	}
	if with := parts(func(c *Config) { c.Deliveries = struct{ Deliveries }{} }); !slices.Contains(with, "deliveries") {
		t.Errorf("a server with deliveries has %v", with)
	}
}
