package browser

import (
	"context"
	"net"
	"testing"

	"github.com/chromedp/chromedp"

	library "github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/troupetest"
	"github.com/troupe-dev/troupe/web"
)

// A figure is what the counter of a program returns.
type figure struct {
	Lockers int    `json:"lockers"`
	Where   string `json:"where"`
}

// counting is a program with a flow whose first agent returns a value, and the second writes of it.
type counting struct{ steps map[string]library.Step }

func (c counting) Agents() []server.Agent {
	return []server.Agent{{ID: "counter", Name: "counter"}, {ID: "writer", Name: "writer"}}
}

func (c counting) Flows() []server.Flow {
	return []server.Flow{{Name: "report", Description: "First counted, then written.", Tree: "report",
		Nodes: []server.FlowNode{{ID: "report", Kind: "sequence"}, {ID: "1", Kind: "agent", Agent: "counter", In: "report"}, {ID: "2", Kind: "agent", Agent: "writer", In: "report"}},
		Edges: []server.FlowEdge{{From: "1", To: "2"}}}}
}

func (c counting) Step(_ context.Context, name string) (library.Step, error) {
	if step, ok := c.steps[name]; ok {
		return step, nil
	}
	return nil, server.ErrUnknown
}

// countingHouse serves the program, with what its agents say.
func countingHouse(t *testing.T, says *troupetest.Cast) (link string) {
	t.Helper()
	agent := func(c library.AgentConfig) *library.Agent {
		c.Instructions, c.Model = "You are the "+c.ID+".", says
		made, err := library.NewAgent(c)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	counter := agent(library.AgentConfig{ID: "counter", Output: library.OutputOf[figure]()})
	writer := agent(library.AgentConfig{ID: "writer"})
	report, err := flow.NewSequence(flow.SequenceConfig{Name: "report", Steps: []library.Step{counter, writer}})
	if err != nil {
		t.Fatal(err)
	}
	return programHouse(t, counting{map[string]library.Step{"counter": counter, "writer": writer, "report": report}})
}

// programHouse serves the agents of a program, with the page.
func programHouse(t *testing.T, cast server.Cast) (link string) {
	t.Helper()
	return programHouseWith(t, cast, library.NewMemoryStore())
}

// programHouseWith serves the agents of a program that has had conversations before.
func programHouseWith(t *testing.T, cast server.Cast, store library.Store) (link string) {
	t.Helper()
	link, s := programServer(t, server.Config{Store: store, Cast: cast})
	return link + "#token=" + s.Token()
}

// programServer serves what a program has configured, with the page and an engine of its own.
func programServer(t *testing.T, c server.Config) (link string, s *server.Server) {
	t.Helper()
	engine, err := library.New(library.Config{Store: c.Store})
	if err != nil {
		t.Fatal(err)
	}
	c.Engine, c.Page = engine, web.Page()
	s, err = server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		<-served // it was told to stop, and how it did is no matter of the page
		engine.Close()
	})
	return "http://" + listener.Addr().String() + "/", s
}

// A person edits the JSON value of a step in the flow's picture: what is no JSON, and what does
// not fit what the agent before returns, is refused below the field with the reason; a good one
// is what the step gets.
func TestAPersonEditsTheJSONValueOfAStep(t *testing.T) {
	t.Parallel()
	says := troupetest.NewCast(t, map[string][]troupetest.Turn{
		"You are the counter.": {troupetest.Say(`{"lockers": 24, "where": "entrance"}`)},
		"You are the writer.":  {troupetest.Say("One bank of 24."), troupetest.Say("Two banks, 48 in all.")},
	})
	b := open(t, countingHouse(t, says))
	b.write("[aria-label='Task for report']", "How many lockers?")
	b.do(chromedp.Reload()) // what was written is kept until it is sent
	b.holds("find(\"[aria-label='Task for report']\")?.value === 'How many lockers?'")
	b.click("[aria-label=Flows] button", "Run")
	b.sees(".node[data-state=done]", "writer")
	original := value[string](b, "location.hash.split('/').slice(0, 3).join('/')")

	b.click(".node", "writer")
	b.click(".panel button", "Was given")
	b.sees(".panel .given pre", `"lockers": 24`)
	b.click(".panel button", "Change and run from here")
	const field = ".change-given textarea.mono"
	b.holds("JSON.parse(find(%s).value).lockers === 24", field)

	// What is no JSON cannot be sent, and the field says why.
	b.write(field, "{\n  \"lockers\": 48,\n  \"where\": entrance\n}")
	b.sees(".change-given .field:has(textarea.mono) + p.bad", "This is not JSON: Unexpected token 'e', ...\" \"where\": entrance")
	b.holds("find(%s).getAttribute('aria-invalid') === 'true' && document.getElementById(find(%s).getAttribute('aria-describedby')).innerText.startsWith('This is not JSON')", field, field)
	b.holds("find('.change-given button', 'Run from here').disabled")
	b.picture("value-not-json")

	// What the counter could not have returned is refused by the server, and said there, too.
	b.write(field, `{"lockers": "many", "where": "entrance"}`)
	b.lacks(".change-given", "This is not JSON")
	b.click(".change-given button", "Run from here")
	b.sees(".change-given .field:has(textarea.mono) + p.bad[role=alert]", "The value does not fit what counter returns")
	b.sees(".change-given .field:has(textarea.mono) + p.bad", "lockers")
	b.holds("location.hash.startsWith(%s)", original)
	b.picture("value-refused")

	b.write(field, `{"lockers": 48, "where": "entrance"}`)
	b.lacks(".change-given", "does not fit")
	b.click(".change-given button", "Run from here")
	b.holds("!location.hash.startsWith(%s)", original)
	b.sees(".node[data-state=done]", "Two banks, 48 in all.")
	b.click(".node", "writer")
	b.click(".panel button", "Was given")
	b.sees(".panel .given pre", `"lockers": 48`)
	b.sees(".panel", "Changed by you")
	if asked := says.Part("You are the writer.").Requests(); len(asked) != 2 {
		t.Errorf("the writer was asked %d times", len(asked))
	}
	if asked := says.Part("You are the counter.").Requests(); len(asked) != 1 {
		t.Errorf("the counter was asked %d times", len(asked))
	}
}
