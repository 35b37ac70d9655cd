package bundle

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
)

type invokeRequest struct {
	AgentID string `json:"agent_id" jsonschema:"which agent"`
	Message string `json:"message" jsonschema:"what to do, with everything needed to do it: nothing else of this conversation is passed on"`
}

type invokeResult struct {
	Success  bool   `json:"success"`
	AgentID  string `json:"agent_id"`
	Response string `json:"response"`
}

// invokeAgent returns the tool that runs another agent inside the caller's run. How
// deep that may go, and that no agent runs inside itself, is the engine's to see to.
func (c *Catalog) invokeAgent(self string, o Options) troupe.Tool {
	find := o.Invoke
	if find == nil {
		find = (&ensemble{catalog: c, options: o, agents: make(map[string]troupe.Step)}).agent
	}
	return newTool("invoke_agent", c.invokeDescription(self), func(ctx context.Context, call *troupe.Invocation, in invokeRequest) (any, error) {
		step, err := find(in.AgentID)
		if err != nil {
			return nil, failure(err, "")
		}
		out, err := call.Run.Do(ctx, step, troupe.Handoff{Task: in.Message})
		if err != nil {
			return nil, failure(err, "")
		}
		if out.Meta.Stop == "input_requested" {
			return nil, &troupe.InputNeeded{Question: out.Summary, CallAgain: true}
		}
		return invokeResult{Success: true, AgentID: in.AgentID, Response: out.Summary}, nil
	}, troupe.Timeout(-1))
}

// invokeDescription names the agents there are, as far as they are known unread.
func (c *Catalog) invokeDescription(self string) string {
	var b strings.Builder
	b.WriteString("Asks another agent to do something and returns its answer. It shares the session folder and sees nothing else of this conversation.\n\nAgents:")
	for _, e := range c.entries[:min(len(c.entries), 50)] {
		if e.ID != self {
			fmt.Fprintf(&b, "\n- %s", e.ID)
			if e.Title != "" {
				fmt.Fprintf(&b, ": %s", e.Title)
			}
		}
	}
	return b.String()
}

// An ensemble makes the agents of a catalog that are asked for, each once.
type ensemble struct {
	catalog *Catalog
	options Options

	mu     sync.Mutex
	agents map[string]troupe.Step
}

func (e *ensemble) agent(id string) (troupe.Step, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if step := e.agents[id]; step != nil {
		return step, nil
	}
	options := e.options
	options.Invoke = e.agent
	agent, err := e.catalog.Agent(id, options)
	if err != nil {
		return nil, err
	}
	e.agents[id] = agent
	return agent, nil
}
