package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/peers"
)

// mcpProject writes a project with a real MCP server.
func mcpProject(t *testing.T, more string) string {
	t.Helper()
	command := peers.Npm(t, "mcp-server-everything")
	arguments, err := json.Marshal(command[1:])
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "mcp:\n  every: {command: "+command[0]+", args: "+string(arguments)+", env: {PATH: \"${PATH}\"}}\n"+
		"agents: {clerk: {instructions: You answer., tools: [every__echo, every__get-sum]}}\n"+more)
}

func TestAnAgentUsesTheToolsOfAnMCPServer(t *testing.T) {
	dir := mcpProject(t, "")
	list := start(t, dir, nil, nil, "mcp", "list")
	if list.code() != 0 || !strings.Contains(list.out.String(), "every__echo") {
		t.Fatalf("%s%s", &list.out, &list.err)
	}
	p := start(t, dir, nil, nil, "--json", "run", "clerk", "every__echo message: \"otters\"")
	if p.code() != 0 || !strings.Contains(p.out.String(), `"tool":"every__echo"`) || !strings.Contains(p.out.String(), "Echo: otters") {
		t.Errorf("%s%s", &p.out, &p.err)
	}
}

// A tool that is not what it was when it was first seen is withheld until it is
// accepted.
func TestAChangedToolIsWithheldUntilItIsAccepted(t *testing.T) {
	dir := mcpProject(t, "")
	if p := start(t, dir, nil, nil, "mcp", "list"); p.code() != 0 {
		t.Fatal(p.err.String())
	}
	file := filepath.Join(dir, "data", "mcp-pins.json")
	pins, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var known map[string]map[string]string
	if err := json.Unmarshal(pins, &known); err != nil {
		t.Fatal(err)
	}
	known["every"]["echo"] = "another"
	pins, _ = json.Marshal(known)
	if err := os.WriteFile(file, pins, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, nil, nil, "--json", "run", "clerk", "every__echo message: \"otters\"")
	if p.code(); strings.Contains(p.out.String(), "Echo: otters") || !strings.Contains(p.err.String(), "withheld") {
		t.Errorf("it is used all the same:\n%s%s", &p.out, &p.err)
	}
	if p := start(t, dir, nil, nil, "mcp", "accept", "every", "echo"); p.code() != 0 || !strings.HasPrefix(p.out.String(), "every__echo: ") {
		t.Errorf("%s%s", &p.out, &p.err)
	}
	p = start(t, dir, nil, nil, "--json", "run", "clerk", "every__echo message: \"otters\"")
	if p.code(); !strings.Contains(p.out.String(), "Echo: otters") {
		t.Errorf("it is still withheld:\n%s%s", &p.out, &p.err)
	}
	if p := start(t, dir, nil, nil, "mcp", "accept", "every"); p.code() != 1 {
		t.Errorf("there was nothing to accept: %s", &p.out)
	}
}

// A server that is not there is warned of, and the conversation goes on without it.
func TestAProjectGoesOnWithoutAnMCPServer(t *testing.T) {
	dir := write(t, "mcp: {gone: {command: no-such-program}}\nagents: {clerk: {instructions: You answer., tools: [gone__*, calculator]}}\n")
	p := start(t, dir, nil, nil, "run", "clerk", "Calculate 6*7")
	if p.code() != 0 || !strings.Contains(p.out.String(), "42") || !strings.Contains(p.err.String(), "mcp server not connected") {
		t.Errorf("%s%s", &p.out, &p.err)
	}
}
