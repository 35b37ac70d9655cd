package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/project/converse"
	"github.com/troupe-dev/troupe/skill"
)

// schema is a JSON schema, as far as tools need it.
type schema map[string]any

// object is the schema of an object. The properties that are named are required.
func object(properties map[string]schema, required ...string) schema {
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func text(description string) schema { return schema{"type": "string", "description": description} }

func oneOf(description string, values ...string) schema {
	return schema{"type": "string", "description": description, "enum": values}
}

// arguments are those of all tools.
type arguments struct {
	Agent, Flow, Message, Task, Request string
	Session, Decision, Text             string
	To, Approve                         string
	Query, Name, Category               string
	Limit                               int
}

// addTools adds the tools. Those for which the project has nothing are left out.
func (v *visitor) addTools(server *mcp.Server) {
	p := v.config.Project
	var agents, flows []string
	for _, a := range p.Agents() {
		agents = append(agents, a.ID)
	}
	for _, f := range p.Flows() {
		flows = append(flows, f.Name)
	}
	session := text("the session of an earlier result, to go on with that conversation; leave it out to begin a new one")
	if len(agents) > 0 {
		v.addTool(server, &mcp.Tool{
			Name: "ask_agent", Title: "Ask an agent",
			Description: "Talks with an agent of this project, which has a role, tools and workflows of its own. A message may be one of the agent's commands, such as *help. The agents:\n" + v.listAgents(),
			InputSchema: object(map[string]schema{"agent": oneOf("the agent's id", agents...), "message": text("what to say to the agent"), "session": session}, "agent", "message"),
		}, v.askAgent)
	}
	if len(flows) > 0 {
		v.addTool(server, &mcp.Tool{
			Name: "run_flow", Title: "Run a flow", Description: "Runs a flow, in which several agents work on one task. The flows:\n" + v.listFlows(),
			InputSchema: object(map[string]schema{"flow": oneOf("the flow's name", flows...), "task": text("what is to be done")}, "flow", "task"),
		}, v.runFlow)
	}
	v.addTool(server, &mcp.Tool{
		Name: "deliver", Title: "Deliver a change",
		Description: "Turns a request into a branch of the project's repository that is built, checked and reviewed, by way of requirements, architecture, plan and implementation. It takes long.",
		InputSchema: object(map[string]schema{
			"request": text("what the change is to do"),
			"to":      text("the last phase to carry out, such as planning; all of them by default"),
			"approve": oneOf("when a person is asked: auto (never, the default), plan, diff, or manual (after every phase)", "auto", "plan", "diff", "manual"),
		}, "request"),
	}, v.deliver)
	v.addTool(server, &mcp.Tool{
		Name: "answer", Title: "Answer an agent's question",
		Description: "Passes on what a person answered to the question of a session that is waiting. A decision is for questions that ask whether something may be done; everything else is a text. Ask the user: do not decide for them.",
		InputSchema: object(map[string]schema{
			"session": text("the session that waits"), "text": text("what the person says"),
			"decision": oneOf("what the person decides where approval is asked for", "approve", "deny"),
		}, "session"),
	}, v.answer)
	v.addTool(server, &mcp.Tool{
		Name: "list_sessions", Title: "List sessions", Description: "Lists conversations, flows and deliveries, the latest first, with their status.", Annotations: reads,
		InputSchema: object(map[string]schema{
			"status": oneOf("only those that stand so", "running", "waiting", "completed", "failed", "cancelled", "interrupted"),
			"limit":  {"type": "integer", "minimum": 1, "maximum": 100, "description": "at most so many, 20 by default"},
		}),
	}, v.listSessions)
	if len(p.Skills().List()) > 0 {
		for _, tool := range skill.Tools(p.Skills()) {
			v.addTool(server, &mcp.Tool{Name: tool.Spec().Name, Description: tool.Spec().Description, InputSchema: tool.Spec().Input, Annotations: reads}, pass(tool))
		}
	}
	for _, tool := range knowledge.Tools(finder{v}) {
		v.addTool(server, &mcp.Tool{Name: tool.Spec().Name, Description: tool.Spec().Description, InputSchema: tool.Spec().Input, Annotations: reads}, pass(tool))
	}
}

// A finder finds passages of the visitor's documents, wherever they are kept.
type finder struct{ visitor *visitor }

// Query implements [knowledge.Finder].
func (f finder) Query(ctx context.Context, question string, limit int) ([]knowledge.Passage, error) {
	return f.visitor.config.Project.SearchKnowledge(ctx, f.visitor.user, question, limit)
}

// reads marks tools that change nothing.
var reads = &mcp.ToolAnnotations{ReadOnlyHint: true}

// A handler carries out a tool.
type handler func(context.Context, *mcp.CallToolRequest, *arguments) (*mcp.CallToolResult, error)

// addTool adds a tool. What it fails with is told to the client's model, in plain words.
func (v *visitor) addTool(server *mcp.Server, tool *mcp.Tool, do handler) {
	server.AddTool(tool, func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in arguments
		if len(call.Params.Arguments) > 0 {
			if err := json.Unmarshal(call.Params.Arguments, &in); err != nil {
				return failed(fmt.Errorf("the arguments of %s do not fit its schema: %w", tool.Name, err)), nil
			}
		}
		result, err := do(ctx, call, &in)
		if err != nil {
			return failed(err), nil
		}
		return result, nil
	})
}

func failed(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Error: " + err.Error()}}, IsError: true}
}

// pass hands a call on to a tool that agents have, too.
func pass(tool troupe.Tool) handler {
	return func(ctx context.Context, call *mcp.CallToolRequest, _ *arguments) (*mcp.CallToolResult, error) {
		given := call.Params.Arguments
		if len(given) == 0 {
			given = json.RawMessage("{}")
		}
		result, err := tool.Call(ctx, &troupe.Invocation{Arguments: given})
		if refused, ok := errors.AsType[*troupe.ToolError](err); ok && refused.Content != "" {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: refused.Content}}, IsError: true}, nil
		}
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: result.Content}}}, nil
	}
}

func (v *visitor) askAgent(ctx context.Context, call *mcp.CallToolRequest, in *arguments) (*mcp.CallToolResult, error) {
	if strings.TrimSpace(in.Message) == "" {
		return nil, errors.New("the message is empty")
	}
	if in.Session == "" {
		c, err := converse.Begin(ctx, v.config.Project, in.Agent, v.user)
		if err != nil {
			return nil, err
		}
		return v.say(ctx, call, c, troupe.Input{Text: in.Message})
	}
	c, err := converse.Continue(ctx, v.config.Project, in.Session, v.user)
	if err != nil {
		return nil, err
	}
	if c.Agent != in.Agent {
		return nil, fmt.Errorf("session %s is with %s, not with %s; leave session out to begin a conversation with %s", in.Session, c.Agent, in.Agent, in.Agent)
	}
	return v.say(ctx, call, c, troupe.Input{Text: in.Message})
}

func (v *visitor) runFlow(ctx context.Context, call *mcp.CallToolRequest, in *arguments) (*mcp.CallToolResult, error) {
	if strings.TrimSpace(in.Task) == "" {
		return nil, errors.New("the task is empty")
	}
	c, err := converse.Begin(ctx, v.config.Project, in.Flow, v.user)
	if err != nil {
		return nil, err
	}
	return v.say(ctx, call, c, troupe.Input{Text: in.Task})
}

func (v *visitor) deliver(ctx context.Context, call *mcp.CallToolRequest, in *arguments) (*mcp.CallToolResult, error) {
	if strings.TrimSpace(in.Request) == "" {
		return nil, errors.New("the request is empty")
	}
	order := v.config.Project.Delivery()
	order.To = in.To
	if in.Approve != "" {
		order.Approve = in.Approve
	}
	c, err := converse.BeginDelivery(ctx, v.config.Project, in.Request, order, v.user)
	if err != nil {
		return nil, err
	}
	return v.say(ctx, call, c, troupe.Input{})
}

func (v *visitor) answer(ctx context.Context, call *mcp.CallToolRequest, in *arguments) (*mcp.CallToolResult, error) {
	c, err := converse.Continue(ctx, v.config.Project, in.Session, v.user)
	if err != nil {
		return nil, err
	}
	if c.Question == nil {
		return nil, fmt.Errorf("session %s does not wait for an answer; talk with %s by ask_agent", in.Session, c.Agent)
	}
	input, err := c.Answer(in.Decision, in.Text)
	if err != nil {
		return nil, err
	}
	return v.say(ctx, call, c, input)
}

// listed is how a session is listed.
type listed struct {
	Session string `json:"session"`
	Agent   string `json:"agent"`
	Title   string `json:"title,omitempty"`
	Status  string `json:"status"`
	Updated string `json:"updated"`
	URI     string `json:"uri"`
}

// usualSessions is how many sessions are listed where nobody says.
const usualSessions = 20

func (v *visitor) listSessions(ctx context.Context, call *mcp.CallToolRequest, in *arguments) (*mcp.CallToolResult, error) {
	var asked struct{ Status string }
	if len(call.Params.Arguments) > 0 {
		if err := json.Unmarshal(call.Params.Arguments, &asked); err != nil {
			return nil, err
		}
	}
	limit := in.Limit
	if limit < 1 || limit > 100 {
		limit = usualSessions
	}
	list := []listed{}
	for info, err := range v.engine.Sessions(ctx, troupe.SessionFilter{User: v.user, Status: asked.Status, Limit: limit}) {
		if err != nil {
			return nil, err
		}
		list = append(list, listed{info.ID, info.Agent, info.Title, info.Status, info.Updated.UTC().Format("2006-01-02T15:04:05Z"), sessionURI(info.ID)})
	}
	return structured(map[string]any{"sessions": list})
}

// structured is a result that is data, as text too for clients that want text.
func structured(value any) (*mcp.CallToolResult, error) {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(data)}}, StructuredContent: value}, nil
}
