package knowledge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type arguments = map[string]any

// session connects to a server inside this process.
func session(tb testing.TB, s *mcp.Server) *mcp.ClientSession {
	tb.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := s.Connect(tb.Context(), theirs, nil); err != nil {
		tb.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(tb.Context(), ours, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { session.Close() })
	return session
}

// says calls a tool and checks how its text begins, and that a failure is marked.
func says(t *testing.T, s *mcp.ClientSession, want, tool string, with arguments) *mcp.CallToolResult {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: with})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if !strings.HasPrefix(text, want) || result.IsError != strings.HasPrefix(text, "Error") {
		t.Errorf("%s says %q (error: %t), not %q", tool, text, result.IsError, want)
	}
	if strings.Contains(text, string(canary)) {
		t.Errorf("%s repeats the password: %q", tool, text)
	}
	return result
}

func TestTheServerSpeaksAsGKChattyDoes(t *testing.T) {
	base, _ := newBase(t)
	s := session(t, NewServer(base, ServerOptions{User: Local}))
	says(t, s, "No users found.", "list_users", nil)
	says(t, s, "✅ Successfully created user: anna", "create_user", arguments{"username": "anna", "password": string(canary), "email": "a@example.org"})
	says(t, s, "Error creating user: ", "create_user", arguments{"username": "anna", "password": string(canary)})
	says(t, s, "Available Users:\n\n1. anna\n   Email: a@example.org\n   Role: user", "list_users", nil)
	says(t, s, "Error switching user: authentication failed", "switch_user", arguments{"username": "anna", "password": string(canary) + "x"})
	says(t, s, "Error: password parameter is required", "switch_user", arguments{"username": "anna"})
	says(t, s, "Error: the arguments do not fit", "switch_user", arguments{"username": "anna", "password": []string{string(canary)}})
	says(t, s, "Current user: local\nRole: admin", "current_user", nil)
	says(t, s, "✅ Successfully switched to user: anna", "switch_user", arguments{"username": "anna", "password": string(canary)})
	says(t, s, "Current user: anna\nRole: user", "current_user", nil)

	uploaded := says(t, s, "✅ Successfully uploaded to GKChatty!\n\nFile: a.md\nUploaded as: anna", "upload_to_gkchatty",
		arguments{"file_path": "a.md", "content": "# Fruit\n\nApples are red.", "description": "about fruit", "tags": []string{"red"}})
	if data := uploaded.StructuredContent.(map[string]any); data["sha256"] != hash("# Fruit\n\nApples are red.") {
		t.Errorf("uploaded was %v", data)
	}
	says(t, s, "GKChatty Results for \"apples\":\n\n1. a.md\n   Score: ", "search_gkchatty", arguments{"query": "apples"})
	says(t, s, "No results found for query: \"pears\"", "search_gkchatty", arguments{"query": "pears"})
	says(t, s, "GKChatty Response:\n\n[a.md] Fruit\n# Fruit", "query_gkchatty", arguments{"query": "What is red?"})
	says(t, s, "Available Tenant Knowledge Bases:\n\n1. anna\n   Documents: 1", "list_tenant_kbs", nil)

	says(t, s, "Error listing users: admin access required", "list_users", nil)
	says(t, s, "Error creating user: admin access required", "create_user", arguments{"username": "x", "password": "y", "role": "admin"})
	says(t, s, "Error searching: admin access required", "search_gkchatty", arguments{"query": "apples", "kb_name": Local})
	says(t, s, "Error deleting document: ", "delete_document", arguments{"filename": "b.md"})
	says(t, s, "Error deleting document: ", "delete_document", arguments{"document_id": "1; DROP"})
	says(t, s, "Error uploading: ", "upload_to_gkchatty", arguments{"file_path": "/etc/hostname"})

	admin := session(t, NewServer(base, ServerOptions{User: Local}))
	says(t, admin, "GKChatty Results", "search_gkchatty", arguments{"query": "apples", "kb_name": "anna"})
	says(t, admin, "No results", "search_gkchatty", arguments{"query": "apples"})
	says(t, s, "✅ Successfully deleted document: ", "delete_document", arguments{"filename": "a.md"})
	says(t, s, "No results", "search_gkchatty", arguments{"query": "apples"})
}

func TestEachSessionIsAUserOfItsOwnForHalfAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, _ := newBase(t)
		for _, name := range []string{"anna", "ben"} {
			if err := base.CreateUser(t.Context(), User{Name: name}, canary); err != nil {
				t.Fatal(err)
			}
		}
		server := NewServer(base, ServerOptions{})
		first, second := session(t, server), session(t, server)
		says(t, first, "Error searching: no user selected", "search_gkchatty", arguments{"query": "x"})
		says(t, first, "✅", "switch_user", arguments{"username": "anna", "password": string(canary)})
		says(t, second, "Error uploading: no user selected", "upload_to_gkchatty", arguments{"file_path": "a", "content": "b"})
		says(t, second, "✅", "switch_user", arguments{"username": "ben", "password": string(canary)})
		says(t, first, "Current user: anna", "current_user", nil)
		time.Sleep(idle - time.Second)
		says(t, first, "Current user: anna", "current_user", nil)
		time.Sleep(time.Second)
		says(t, second, "Error getting current user: user session expired", "current_user", nil)
		says(t, first, "Current user: anna", "current_user", nil)
		time.Sleep(idle)
		says(t, first, "Error uploading: user session expired", "upload_to_gkchatty", arguments{"file_path": "a", "content": "b"})
	})
}

func TestFilesAreReadOnlyInsideTheGrantedDirectory(t *testing.T) {
	base, _ := newBase(t)
	outside, inside := t.TempDir(), t.TempDir()
	for _, file := range []string{filepath.Join(outside, "secret.md"), filepath.Join(inside, "note.md")} {
		if err := os.WriteFile(file, []byte("of "+filepath.Base(file)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "secret.md"), filepath.Join(inside, "link.md")); err != nil {
		t.Fatal(err)
	}
	makePipe(t, filepath.Join(inside, "pipe"))
	granted, err := os.OpenRoot(inside)
	if err != nil {
		t.Fatal(err)
	}
	defer granted.Close()
	s := session(t, NewServer(base, ServerOptions{User: Local, Uploads: granted}))
	for _, path := range []string{
		filepath.Join(outside, "secret.md"), filepath.Join(inside, "..", filepath.Base(outside), "secret.md"), "../x", "link.md",
		filepath.Join(inside, "link.md"), "pipe", ".", inside, "missing.md", "note.md\x00", "/etc/passwd",
	} {
		says(t, s, "Error uploading: ", "upload_to_gkchatty", arguments{"file_path": path})
	}
	says(t, s, "✅ Successfully uploaded to GKChatty!\n\nFile: note.md", "upload_to_gkchatty", arguments{"file_path": filepath.Join(inside, "note.md")})
	says(t, s, "✅ Successfully uploaded to GKChatty!\n\nFile: note.md", "upload_to_gkchatty", arguments{"file_path": "note.md"})
	if list := documentsOf(t, base); len(list) != 1 || list[0].SHA256 != hash("of note.md") {
		t.Errorf("kept were %+v", list)
	}
}
