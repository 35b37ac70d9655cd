package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) mcpCommand() *cobra.Command {
	c := &cobra.Command{Use: "mcp", Short: "Offer the project to MCP clients, or show the MCP servers that it uses", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return usage("mcp: serve, list or accept?") }}
	c.AddCommand(
		p.mcpServeCommand(),
		&cobra.Command{Use: "list", Short: "List the tools of the MCP servers, and those that are withheld", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				return p.inProject(func(project *project.Project) error { return p.listServers(c.Context(), project) })
			}},
		&cobra.Command{Use: "accept SERVER [TOOL]", Short: "Offer tools as they are now, although they have changed since they were first seen", Args: cobra.RangeArgs(1, 2),
			RunE: func(c *cobra.Command, args []string) error {
				return p.inProject(func(project *project.Project) error { return p.acceptTools(c.Context(), project, args) })
			}},
	)
	return c
}

// A serverInfo is how an MCP server is listed.
type serverInfo struct {
	Server string     `json:"server"`
	Error  string     `json:"error,omitempty"`
	Tools  []toolInfo `json:"tools"`
}

type toolInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Withheld says why the tool is not offered, where it is not.
	Withheld string `json:"withheld,omitempty"`
}

func (p *program) listServers(ctx context.Context, opened *project.Project) error {
	list := []serverInfo{}
	for _, name := range opened.MCPServers() {
		list = append(list, describeServer(ctx, opened, name))
	}
	if p.flags.json {
		return p.writeJSON(list)
	}
	if len(list) == 0 {
		p.tell("There are no MCP servers: mcp in %s names them.", project.Name)
		return nil
	}
	table := p.table()
	for _, server := range list {
		if server.Error != "" {
			fmt.Fprintf(table, "%s\tnot connected\t%s\n", server.Server, terminal.OneLine(server.Error, 200))
		}
		for _, tool := range server.Tools {
			state := "offered"
			if tool.Withheld != "" {
				state = "withheld: " + tool.Withheld
			}
			fmt.Fprintf(table, "%s\t%s\t%s\n", terminal.OneLine(tool.Name, 70), terminal.OneLine(state, 80), terminal.OneLine(tool.Description, 80))
		}
	}
	return table.Flush()
}

func describeServer(ctx context.Context, p *project.Project, name string) serverInfo {
	info := serverInfo{Server: name, Tools: []toolInfo{}}
	server, err := p.ConnectMCP(ctx, name)
	if err != nil {
		info.Error = err.Error()
		return info
	}
	defer server.Close()
	for _, tool := range server.Tools() {
		info.Tools = append(info.Tools, toolInfo{Name: tool.Spec().Name, Description: tool.Spec().Description})
	}
	for _, w := range server.Withheld() {
		info.Tools = append(info.Tools, toolInfo{name + toolSeparator + w.Tool, w.Description, w.Reason})
	}
	return info
}

// toolSeparator stands between the name of an MCP server and that of its tool.
const toolSeparator = "__"

// acceptTools has withheld tools of a server offered, all of them or one.
func (p *program) acceptTools(ctx context.Context, project *project.Project, args []string) error {
	name := args[0]
	server, err := project.ConnectMCP(ctx, name)
	if err != nil {
		return err
	}
	defer server.Close()
	accepted := 0
	for _, w := range server.Withheld() {
		if len(args) == 2 && args[1] != w.Tool && args[1] != name+toolSeparator+w.Tool {
			continue
		}
		if err := project.AcceptMCPTool(ctx, name, w); err != nil {
			return err
		}
		fmt.Fprintln(p.out, terminal.Clean(fmt.Sprintf("%s%s%s: %s", name, toolSeparator, w.Tool, w.Description)))
		accepted++
	}
	if accepted == 0 {
		return fmt.Errorf("server %s withholds no such tool; 'troupe mcp list' shows them all", name)
	}
	return nil
}
