package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe/server"
)

// addPrompts offers what people choose by name, as a rule with a slash: each agent, each
// of its commands, and each skill.
func (v *visitor) addPrompts(server *mcp.Server) {
	taken := map[string]bool{}
	add := func(prompt *mcp.Prompt, handler mcp.PromptHandler) {
		if taken[prompt.Name] {
			return
		}
		taken[prompt.Name] = true
		server.AddPrompt(prompt, handler)
	}
	for _, a := range v.config.Project.Agents() {
		add(&mcp.Prompt{
			Name: a.ID, Title: joined(a.Name, a.Title), Description: "Talk with " + firstOf(joined(a.Name, a.Title), a.Description),
			Arguments: []*mcp.PromptArgument{{Name: "message", Description: "what to say", Required: true}},
		}, talkPrompt(a, ""))
		for _, c := range a.Commands {
			add(&mcp.Prompt{
				Name: a.ID + "_" + promptName(c.Cmd), Title: a.ID + " " + c.Cmd, Description: firstOf(c.Description, ""),
				Arguments: []*mcp.PromptArgument{{Name: "message", Description: "what it is about"}},
			}, talkPrompt(a, c.Cmd))
		}
	}
	for _, s := range v.config.Project.Skills().List() {
		add(&mcp.Prompt{Name: "skill_" + promptName(s.Name), Title: s.Name, Description: oneLine(s.Description)}, v.skillPrompt(s.Name))
	}
}

// promptName keeps of a command what clients take in names.
func promptName(cmd string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, strings.TrimLeft(cmd, "*/"))
	return strings.Trim(name, "-")
}

// talkPrompt has the client's model pass a message on to an agent.
func talkPrompt(a server.Agent, command string) mcp.PromptHandler {
	return func(_ context.Context, request *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		message := strings.TrimSpace(command + " " + request.Params.Arguments["message"])
		if message == "" {
			return nil, fmt.Errorf("prompt %s: the message is empty", request.Params.Name)
		}
		text := fmt.Sprintf("Use the tool ask_agent with agent %q and exactly this message:\n\n%s\n\n"+
			"Show me what %s answers, unchanged. Pass on what I say next with the same session, until I ask for something else. "+
			"What %s asks is for me to answer, not for you.", a.ID, message, a.ID, a.ID)
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
	}
}

// skillPrompt is the skill itself.
func (v *visitor) skillPrompt(name string) mcp.PromptHandler {
	return func(ctx context.Context, _ *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		document, err := v.config.Project.Skills().Load(ctx, name)
		if err != nil {
			return nil, err
		}
		return &mcp.GetPromptResult{
			Description: document.Description,
			Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Work by this skill, " + name + ":\n\n" + document.Content}}},
		}, nil
	}
}
