package mcp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/mcp"
	"github.com/troupe-dev/troupe/troupetest"
)

// The tools of an MCP server, offered to an agent. A server that is a program is given
// by Command and Args in place of URL.
func ExampleConnect() {
	ctx := context.Background()
	greeter := sdk.NewServer(&sdk.Implementation{Name: "greeter", Version: "1"}, nil)
	type person struct {
		Name string `json:"name"`
	}
	sdk.AddTool(greeter, &sdk.Tool{Name: "greet", Description: "Greets."}, func(_ context.Context, _ *sdk.CallToolRequest, p person) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Hello, " + p.Name + "!"}}}, nil, nil
	})
	remote := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return greeter }, nil))
	defer remote.Close()
	dir, err := os.MkdirTemp("", "pins")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	client := &http.Client{Transport: &http.Transport{}} // egress.NewClient, for servers of others
	defer client.CloseIdleConnections()
	server, err := mcp.Connect(ctx, mcp.Config{Name: "hello", URL: remote.URL, HTTPClient: client, Pins: filepath.Join(dir, "pins.json")})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	model := troupetest.NewScript(nil, troupetest.Call("hello__greet", `{"name":"Ann"}`), troupetest.Say("Ann is greeted.").Expect(troupetest.ToolResult("hello__greet", "Hello, Ann!")))
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "host", Model: model, Tools: server.Tools()})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	outcome, err := troupe.Collect(engine.Run(ctx, agent, troupe.Input{Text: "Greet Ann."}))
	fmt.Println(outcome.Text, err)
	for session := range greeter.Sessions() {
		_ = session.Close()
	}
	// Output: Ann is greeted. <nil>
}
