package knowledge

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe/internal/peers"
)

func mustConnect(t *testing.T, config ClientConfig) *Client {
	t.Helper()
	c, err := Connect(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// useClient does with a server all that a client can.
func useClient(t *testing.T, c *Client) {
	t.Helper()
	steps := Document{Name: "specs/plan.md", Description: "the plan", Tags: []string{"plan"}, Key: "run-1",
		Content: "# Plan\n\n## Step 1\n\nDraw the owl.\n\n## Step 2\n\nColour the badger; an Error is no \"failure\".\n"}
	mustUpload(t, c, steps, steps, Document{Name: "copy.md", Content: steps.Content}, Document{Name: "empty.md"})
	changed := steps
	changed.Content, changed.Key = strings.Replace(steps.Content, "badger", "heron", 1), "run-2"
	mustUpload(t, c, changed)
	found, err := c.Query(t.Context(), "What is coloured in step 2, a heron?", 1)
	if err != nil || len(found) != 1 || found[0].Document != "specs/plan.md" || found[0].Heading != "Plan > Step 2" || !strings.Contains(found[0].Text, "heron") {
		t.Errorf("found are %+v, %v", found, err)
	}
	if found := mustQuery(t, c, "badger"); len(found) != 1 || found[0].Document != "copy.md" {
		t.Errorf("of the version before, found are %+v", found)
	}
	back := steps
	back.Key = ""
	mustUpload(t, c, back)
	if found := mustQuery(t, c, "heron"); len(found) != 0 {
		t.Errorf("of the version that was undone, found are %+v", found)
	}
	if err := c.Upload(t.Context(), Document{Name: "x", Content: "\xff"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("uploading what cannot be kept: %v", err)
	}
}

func TestOurClientWithOurServerAsAProcess(t *testing.T) {
	base, path := newBase(t)
	if err := base.CreateUser(t.Context(), User{Name: "builder"}, canary); err != nil {
		t.Fatal(err)
	}
	c := mustConnect(t, ClientConfig{Command: os.Args[0], Env: childEnv(t, path), Username: "builder", Password: canary})
	useClient(t, c)
	large := Document{Name: "large.md", Content: strings.Repeat("\x01word ", 50_000)}
	mustUpload(t, c, large)
	if list := documentsOf(t, base.As("builder")); len(list) != 4 {
		t.Errorf("kept are %+v", list)
	}
	c.link.process.end(0) // as if it had been killed
	if err := c.Upload(t.Context(), plan); !errors.Is(err, errLost) {
		t.Errorf("uploading to a server that is gone: %v", err)
	}
	mustUpload(t, c, plan)
	c.Close()
	if _, err := c.Query(t.Context(), "x", 1); err == nil || c.link != nil {
		t.Errorf("a client that is closed is used: %v", err)
	}
}

func TestOurClientWithOurServerOverHTTP(t *testing.T) {
	base, _ := newBase(t)
	if err := base.CreateUser(t.Context(), User{Name: "builder"}, canary); err != nil {
		t.Fatal(err)
	}
	server := NewServer(base, ServerOptions{})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close)
	config := ClientConfig{URL: web.URL, HTTPClient: web.Client(), Username: "builder", Password: canary}
	c := mustConnect(t, config)
	useClient(t, c)
	config.Username = ""
	if err := mustConnect(t, config).Upload(t.Context(), plan); !errors.Is(err, errSignedOut) {
		t.Errorf("nobody uploads: %v", err)
	}
}

func TestOurClientSignsInAgainWhenTheSessionHasExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, _ := newBase(t)
		if err := base.CreateUser(t.Context(), User{Name: "builder"}, canary); err != nil {
			t.Fatal(err)
		}
		c, err := toServer(t, NewServer(base, ServerOptions{}), signedInAs)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(idle)
		mustUpload(t, c, plan)
		time.Sleep(2 * idle)
		if found := mustQuery(t, c, "plan"); len(found) != 1 {
			t.Errorf("found are %+v", found)
		}
	})
}

func TestOurClientWithTheMemoryServer(t *testing.T) {
	command := peers.Npm(t, "mcp-server-memory")
	config := ClientConfig{
		Command: command[0], Args: command[1:], Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.json")},
	}
	useClient(t, mustConnect(t, config))
	config.Username = "builder"
	if _, err := Connect(t.Context(), config); !errors.Is(err, ErrRefused) {
		t.Errorf("signing in to a server without users: %v", err)
	}
}

// A server that reads nothing keeps a call from returning, but not for ever.
func TestAServerThatDoesNotReadIsGivenUp(t *testing.T) {
	if _, err := os.Stat("/bin/sleep"); err != nil {
		t.Skip("sleep is not installed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Connect(ctx, ClientConfig{Command: "/bin/sleep", Args: []string{"60"}}); err == nil {
		t.Error("it is connected to")
	}
	p, err := start(&ClientConfig{Command: "/bin/sleep", Args: []string{"60"}})
	if err != nil {
		t.Fatal(err)
	}
	stop := (&link{process: p}).guard(ctx) // ctx is done
	defer stop()
	if _, err := p.in.Write(make([]byte, 1<<20)); err == nil {
		t.Error("it has read")
	}
	p.wait()
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	for name, config := range map[string]ClientConfig{
		"nothing": {}, "both": {Command: "x", URL: "http://localhost"}, "no client": {URL: "http://localhost"},
		"a password in the url": {URL: "http://a:" + string(canary) + "@localhost", HTTPClient: http.DefaultClient},
		"a key in the url":      {URL: "http://localhost?key=" + string(canary), HTTPClient: http.DefaultClient},
		"another scheme":        {URL: "file:///x", HTTPClient: http.DefaultClient},
		"no such program":       {Command: "there-is-no-such-program"},
	} {
		_, err := Connect(t.Context(), config)
		if err == nil || strings.Contains(err.Error(), string(canary)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASecretDoesNotShowItself(t *testing.T) {
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("connecting", "config", ClientConfig{Password: canary, Stderr: &log}.Password, "password", canary)
	slog.New(slog.NewTextHandler(&log, nil)).Info("connecting", "request", request{Password: canary})
	if text := log.String(); strings.Contains(text, string(canary)) || !strings.Contains(text, "[redacted]") {
		t.Errorf("logged was %s", text)
	}
}

// A server without the tools is told from one that is down: what is needed, and what it has.
func TestAServerWithoutTheToolsIsToldSo(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "take_note"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close)
	client, err := Connect(t.Context(), ClientConfig{URL: web.URL, HTTPClient: web.Client()})
	if err == nil {
		_, err = client.Query(t.Context(), "x", 1)
		client.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "upload_to_gkchatty") || !strings.Contains(err.Error(), "it has take_note") {
		t.Error(err)
	}
}
