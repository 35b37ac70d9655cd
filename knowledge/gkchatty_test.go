package knowledge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A chatty is a server that behaves as GKChatty does: it reads the path that it is
// given, shows file names and previews, and never marks an error.
type chatty struct {
	test    *testing.T
	mode    string
	release chan struct{} // what hangs waits for it

	mu       sync.Mutex
	user     string
	switches int
	kept     []string // file names
	contents map[string]string
}

func (c *chatty) serve() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "gkchatty-kb", Version: "3.0.0"}, nil)
	for tool, properties := range map[string]string{
		"switch_user":        `{"username":{"type":"string"},"password":{"type":"string"}}`,
		"search_gkchatty":    `{"query":{"type":"string"},"kb_name":{"type":"string"}}`,
		"query_gkchatty":     `{"query":{"type":"string"}}`,
		"upload_to_gkchatty": `{"file_path":{"type":"string"},"description":{"type":"string"}}`,
	} {
		if c.mode == "no query" && tool == "query_gkchatty" {
			continue
		}
		schema := json.RawMessage(`{"type":"object","properties":` + properties + `}`)
		s.AddTool(&mcp.Tool{Name: tool, InputSchema: schema}, func(_ context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct {
				Username, Password, Query, Description string
				Path                                   string `json:"file_path"`
			}
			if err := json.Unmarshal(call.Params.Arguments, &in); err != nil {
				return nil, err
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			var text string
			switch tool {
			case "switch_user":
				text = c.switchUser(in.Username, in.Password)
			case "search_gkchatty":
				text = c.search(in.Query)
			case "query_gkchatty":
				text = "GKChatty Response:\n\nThe documents say: " + strings.Join(c.kept, ", ") + ". Your password is " + string(canary)
			case "upload_to_gkchatty":
				text = c.upload(in.Path, in.Description)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	}
	return s
}

func (c *chatty) switchUser(username, password string) string {
	c.switches++
	if password != string(canary) {
		return "Error switching user: Authentication failed for user: " + username + ", not " + password
	}
	if c.mode == "unsure" {
		return "Hm, " + password + "? The session expired."
	}
	c.user = username
	return "✅ Successfully switched to user: " + username + "\n\nRole: user"
}

func (c *chatty) upload(path, description string) string {
	data, err := os.ReadFile(path)
	info, statErr := os.Stat(filepath.Dir(path))
	if err := errors.Join(err, statErr); err != nil {
		return "Error uploading: " + err.Error()
	}
	if info.Mode().Perm() != 0o700 || !filepath.IsAbs(path) || !strings.Contains(description, "sha256:") {
		c.test.Errorf("uploaded is %s in %v, %q", path, info.Mode(), description)
	}
	name := filepath.Base(path)
	switch {
	case c.user == "":
		return "Error uploading: User session expired. Please switch user again.\n\nMake sure:\n1. You've selected a user with switch_user"
	case c.mode == "error":
		return "Error uploading: the disk is full, " + string(canary) + "\n\nMake sure:\n1. GKChatty is running"
	case c.mode == "late error":
		return "Uploading " + name + "\nError: the disk is full"
	case c.mode == "forgets":
		return "✅ Successfully uploaded to GKChatty!\n\nFile: " + name
	}
	c.kept, c.contents[name] = append(c.kept, name), string(data)
	if c.mode == "hangs" {
		c.mu.Unlock()
		<-c.release
		c.mu.Lock()
	}
	return "✅ Successfully uploaded to GKChatty!\n\nFile: " + name
}

func (c *chatty) search(query string) string {
	var list []string
	for _, name := range c.kept {
		if content := strings.Join(strings.Fields(c.contents[name]), " "); strings.Contains(query, content[:min(len(content), 20)]) {
			list = append(list, fmt.Sprintf("%d. %s\n   Score: 0.731\n   %s", len(list)+1, name, preview(content)))
		}
	}
	if len(list) == 0 {
		return fmt.Sprintf("No results found for query: %q", query)
	}
	return fmt.Sprintf("GKChatty Results for %q:\n\n%s", query, strings.Join(list, "\n\n"))
}

// toServer is a client of a server inside this process.
func toServer(t *testing.T, s *mcp.Server, config ClientConfig) (*Client, error) {
	t.Helper()
	c, err := connect(t.Context(), config, func(ctx context.Context) (*link, error) {
		ours, theirs := mcp.NewInMemoryTransports()
		if _, err := s.Connect(t.Context(), theirs, nil); err != nil {
			return nil, err
		}
		return newLink(ctx, nil, ours)
	})
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, err
}

var signedInAs = ClientConfig{Username: "builder", Password: canary}

// withChatty runs a test with a client of a GKChatty that misbehaves in some way.
func withChatty(t *testing.T, mode string, test func(t *testing.T, c *Client, server *chatty)) {
	t.Helper()
	t.Run(mode, func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir())
		synctest.Test(t, func(t *testing.T) {
			server := &chatty{test: t, mode: mode, contents: map[string]string{}, release: make(chan struct{})}
			t.Cleanup(func() { close(server.release) })
			c, err := toServer(t, server.serve(), signedInAs)
			if err != nil {
				t.Fatal(err)
			}
			test(t, c, server)
			if left, err := os.ReadDir(os.TempDir()); len(left) > 0 || err != nil {
				t.Errorf("left behind are %v, %v", left, err)
			}
		})
	})
}

var plan = Document{Name: "specs/plan.md", Content: "# The plan\n\nStep 1: handle the Error: paths.\n", Description: "the plan"}

func TestADocumentIsUploadedOnceAndVerified(t *testing.T) {
	withChatty(t, "well behaved", func(t *testing.T, c *Client, server *chatty) {
		var uploads sync.WaitGroup
		for range 5 {
			uploads.Go(func() { mustUpload(t, c, plan) })
		}
		uploads.Wait()
		if want := "plan.sha256-" + hash(plan.Content) + ".md"; len(server.kept) != 1 || server.kept[0] != want || server.contents[want] != plan.Content {
			t.Errorf("kept are %v", server.kept)
		}
		server.user = "" // it forgets who this is
		mustUpload(t, c, Document{Name: "other.md", Content: "something else"})
		if len(server.kept) != 2 || server.switches != 2 {
			t.Errorf("kept are %v after signing in %d times", server.kept, server.switches)
		}
		found := mustQuery(t, c, "What is the plan?")
		if len(found) != 1 || !strings.HasPrefix(found[0].Text, "The documents say: plan.") || strings.Contains(found[0].Text, string(canary)) {
			t.Errorf("found are %+v", found)
		}
	})
	withChatty(t, "no query", func(t *testing.T, c *Client, _ *chatty) {
		mustUpload(t, c, plan)
		found := mustQuery(t, c, "What comes after # The plan Step 1: handle?")
		if len(found) != 1 || found[0].Document != "plan.md" || found[0].Score != 0.731 || !strings.HasPrefix(found[0].Text, "# The plan Step 1") {
			t.Errorf("found are %+v", found)
		}
	})
}

func TestAServerThatDoesNotKeepTheDocumentIsFoundOut(t *testing.T) {
	for mode, want := range map[string]error{"error": ErrRefused, "late error": ErrRefused, "forgets": ErrUnverified} {
		withChatty(t, mode, func(t *testing.T, c *Client, _ *chatty) {
			err := c.Upload(t.Context(), plan)
			if mode == "error" { // it told the password, so nothing of the error is left but words
				if err == nil || !strings.Contains(err.Error(), "the disk is full, [redacted]") {
					t.Errorf("uploading: %v", err)
				}
			} else if !errors.Is(err, want) {
				t.Errorf("uploading: %v, not %v", err, want)
			}
		})
	}
}

func TestARetryAfterATimeoutLeavesOneCopy(t *testing.T) {
	withChatty(t, "hangs", func(t *testing.T, c *Client, server *chatty) {
		began := time.Now()
		if err := c.Upload(t.Context(), plan); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 30*time.Second {
			t.Errorf("uploading: %v after %s", err, time.Since(began))
		}
		mustUpload(t, c, plan)
		if len(server.kept) != 1 {
			t.Errorf("kept are %v", server.kept)
		}
	})
}

func TestNobodyIsSignedInWithoutASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for mode, config := range map[string]ClientConfig{"unsure": signedInAs, "": {Username: "builder", Password: canary + "x"}} {
			_, err := toServer(t, (&chatty{test: t, mode: mode}).serve(), config)
			if err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "[redacted]") {
				t.Errorf("%s: connected, %v", mode, err)
			}
		}
		if _, err := toServer(t, mcp.NewServer(&mcp.Implementation{Name: "empty"}, nil), ClientConfig{}); err == nil {
			t.Error("a server without tools is taken")
		}
	})
}

// Whatever a server prints, nothing before its first entry counts as found.
func FuzzEntries(f *testing.F) {
	f.Add("GKChatty Results for \"1. x\":\n\n1. a.md\n   Score: 0.5\n   text\n\n2. b.md\n   Score: N/A\n   more")
	f.Add("No results found for query: \"sha256:abc\"")
	f.Add("1. \n2. \n\n10. x\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range entriesOf(answer{text: text}) {
			if !strings.Contains(text, e.name) || strings.ContainsRune(e.name, '\n') {
				t.Errorf("%q has an entry %+v", text, e)
			}
		}
		if found := entriesOf(answer{text: fmt.Sprintf("No results found for query: %q", text)}); len(found) > 0 {
			t.Errorf("the query is taken for %+v", found)
		}
	})
}

func TestFileNamesLeadBackToDocuments(t *testing.T) {
	sum := hash("")
	for name, want := range map[string]string{
		"plan.md": "plan.md", "a/b/plan.md": "plan.md", `c:\x\plan.md`: "plan.md", "..": "..", "plan": "plan", "x.y.z": "x.y.z",
		strings.Repeat("ä", 120) + ".md": strings.Repeat("ä", 75) + ".md", "v1. a long name that is no extension": "v1. a long name that is no extension",
	} {
		file := fileName(name, sum)
		if got := documentName(file); got != want || len(file) > maxName || !filepath.IsLocal(file) || filepath.Base(file) != file {
			t.Errorf("%s is given as %s and shown as %s", name, file, got)
		}
	}
}
