package browser

import (
	"net/http"
	"testing"

	library "github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/server"
)

// alone is a program with one agent and nothing else.
type alone struct{ counting }

func (alone) Flows() []server.Flow { return nil }

// What a program has not configured is not shown, to an operator neither.
func TestPartsThatAreNotThereAreNotShown(t *testing.T) {
	t.Parallel()
	link, _ := programServer(t, server.Config{Store: library.NewMemoryStore(), Cast: alone{}, Auth: func(*http.Request) (user, role string, err error) {
		return "ann", server.RoleOperator, nil
	}})
	b := open(t, link)
	b.sees(".side .foot", "ann")
	b.sees(".side nav", "Files")
	for _, part := range []string{"Flows", "Deliveries", "Activity"} {
		b.lacks(".side nav", part)
	}
	value[any](b, "void (location.hash = '#/settings/models')")
	b.sees(".set h2", "This page")
	b.sees(".set nav", "People")
	for _, part := range []string{"Models and keys", "Tool servers", "Skills", "Limits"} {
		b.lacks(".set nav", part)
	}
	b.lacks(".bar", "Kept in troupe.yaml")
	value[any](b, "void (location.hash = '#/deliveries')")
	b.sees("main", "This server has no deliveries.")
	b.holds("!find('main textarea')")
}
