//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ledgerFile is the environment variable that makes this program an MCP server whose
// one tool adds a line to the file that it names. To do so twice is not to do it once.
const ledgerFile = "TORTURE_LEDGER"

// servedLedger serves, if that is what the process is for.
func servedLedger() bool {
	name := os.Getenv(ledgerFile)
	if name == "" {
		return false
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "ledger", Version: "1"}, nil)
	type entry struct {
		Line string `json:"line"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "enter", Description: "Adds a line to the ledger."},
		func(_ context.Context, _ *mcp.CallToolRequest, in entry) (*mcp.CallToolResult, any, error) {
			err := enter(name, in.Line)
			time.Sleep(5 * pace) // to be killed in
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "entered"}}}, nil, err
		})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err) // troupe was killed, or is done
	}
	return true
}

func enter(name, line string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line + "\n")
	return err
}

// entries returns how often each line is in a ledger.
func entries(name string) (map[string]int, error) {
	found := map[string]int{}
	data, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return found, nil
	}
	for line := range strings.Lines(string(data)) {
		found[strings.TrimSuffix(line, "\n")]++
	}
	return found, err
}
