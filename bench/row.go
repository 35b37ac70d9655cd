package main

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A contender does the work of every row in its own way. Each method prepares
// what the row takes for granted, such as the model, and returns what is measured.
type contender interface {
	// create makes an agent whose tool is ready.
	create(s *script) (job, error)
	// createWithTool makes the typed tool, with its schema, and the agent.
	createWithTool(s *script) (job, error)
	// ask has an agent play the script and checks the answer.
	ask(s *script) (job, error)
	// stream has an agent play the script and checks every piece of the answer
	// as it comes.
	stream(s *script) (job, error)
	// askTogether has n agents play the script at once and checks every answer.
	askTogether(s *script, n int) (job, error)
}

// A job is one measured operation. It fails when its outcome is wrong.
type job func(context.Context) error

// notOffered is the error of a contender that has no such thing, and says why.
type notOffered string

func (reason notOffered) Error() string { return string(reason) }

// An entry is a contender in the table.
type entry struct {
	name string
	contender
}

// The names of the two entries that are not peers. The hand-written loop is the
// floor: what the work costs without a framework.
const (
	troupeName = "Troupe"
	floorName  = "by hand"
)

// entries are the table's columns.
func entries() []entry {
	return []entry{
		{troupeName, troupeContender{}},
		{floorName, byHand{}},
		{"fantasy", fantasyContender{}},
		{"blades", bladesContender{}},
		{"adk-go", adkGo{}},
		{"eino adk", einoADK{}},
		{"eino react", einoReact{}},
		{"langchaingo", langchain{}},
		{"genkit", genkitContender{}},
	}
}

func (e entry) isPeer() bool { return e.name != troupeName && e.name != floorName }

// A row is one piece of work that everybody does.
type row struct {
	name string
	prep func(c contender) (job, error)
}

// The rows that a target speaks of.
const (
	textTurn    = "one text turn"
	toolTurn    = "one tool turn"
	tenTurns    = "10 tool turns"
	hundred     = "100 tool turns"
	slowTools   = "ten tools of 20 ms in one turn"
	manyAgents  = 5
	manyPieces  = 100
	slowToolFor = 20 * time.Millisecond
)

// rows are the table's rows.
func rows() []row {
	asking := func(s *script) func(contender) (job, error) {
		return func(c contender) (job, error) { return c.ask(s) }
	}
	return []row{
		{"create an agent", func(c contender) (job, error) { return c.create(newScript(1, 1)) }},
		{"create an agent and its tool", func(c contender) (job, error) { return c.createWithTool(newScript(1, 1)) }},
		{textTurn, asking(newScript(0, 0))},
		{toolTurn, asking(newScript(1, 1))},
		{tenTurns, asking(newScript(10, 1))},
		{hundred, asking(newScript(100, 1))},
		{"ten tools in one turn", asking(newScript(1, 10))},
		{"100 streamed pieces", func(c contender) (job, error) { return c.stream(newScript(0, 0).inPieces(manyPieces)) }},
		{"5 agents at once, a text turn each", func(c contender) (job, error) { return c.askTogether(newScript(0, 0), manyAgents) }},
		{slowTools, asking(newScript(1, 10).taking(slowToolFor))},
	}
}

// together does a job n times at once: what an application writes around a
// framework that has nothing of its own for it.
func together(do job, n int) job {
	return func(ctx context.Context) error {
		errs := make([]error, n)
		var group sync.WaitGroup
		for i := range n {
			group.Go(func() { errs[i] = do(ctx) })
		}
		group.Wait()
		return errors.Join(errs...)
	}
}
