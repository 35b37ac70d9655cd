package browser

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A provider is removed on the page, with its key, once nothing uses it: what is in the way is
// named with a way there, and what removing means is said before it is done.
func TestAProviderIsRemovedOnThePage(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	dir := project(t, map[string]string{"troupe.yaml": "# ours\nmodel: rehearsal\nproviders:\n  # in the cellar\n  office:\n    base_url: " + m.URL + "/v1\n    key_env: OFFICE_API_KEY\n\n# who works here\nagents:\n  clerk: {instructions: You answer., tools: [], model: office/stub-1}\n"})
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("# keys\nOFFICE_API_KEY=key-of-the-office\nOTHER=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := serve(t, dir)
	b := open(t, h.link)
	value[any](b, "void (location.hash = '#/settings/models')")
	b.click(".rows button", "Remove office")
	b.sees("dialog.removal h2", "office cannot be removed now")
	b.sees("dialog.removal", "the model of clerk")
	b.lacks("dialog.removal button", "Remove office")
	b.picture("remove-in-use")
	b.click("dialog.removal a", "the model of clerk")
	b.chooses("select[aria-label='Model of clerk']", "")
	b.toasted("Saved in troupe.yaml")
	value[any](b, "void (location.hash = '#/settings/models')")
	b.click(".rows button", "Remove office")
	b.sees("dialog.removal h2", "Remove office?")
	b.sees("dialog.removal", "Its key is removed from the keys file (.env), too.")
	b.picture("remove")
	b.click("dialog.removal button", "Keep it")
	b.sees(".rows", "office")
	b.click(".rows button", "Remove office")
	b.click("dialog.removal button", "Remove office")
	b.toasted("office is removed")
	b.lacks(".rows", "office")
	const want = "# ours\nmodel: rehearsal\nproviders: {}\n  # in the cellar\n\n# who works here\nagents:\n  clerk: {instructions: You answer., tools: []}\n"
	if got := h.read(t, "troupe.yaml"); got != want {
		t.Errorf("troupe.yaml is now\n%s\nwant\n%s", got, want)
	}
	if got := h.read(t, ".env"); got != "# keys\nOTHER=1\n" {
		t.Errorf(".env is now\n%s", got)
	}
}

// A tool server is removed on the page, unless an agent's tools name it.
func TestAToolServerIsRemovedOnThePage(t *testing.T) {
	t.Parallel()
	tools := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	mcp.AddTool(tools, &mcp.Tool{Name: "create_issue", Description: "Creates an issue."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	remote := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil))
	t.Cleanup(func() {
		remote.CloseClientConnections()
		remote.Close()
	})
	h := office(t, newModel(t), "agents: {ada: {tools: [bundle, \"issues__*\"]}}\nmcp:\n  # ours\n  issues: {url: \""+remote.URL+"\"}\n  spare: {url: \""+remote.URL+"\"} # for later\n")
	b := open(t, h.link)
	value[any](b, "void (location.hash = '#/settings/mcp')")
	b.click(".rows button", "Remove issues")
	b.sees("dialog.removal", "the tools of Ada")
	b.click("dialog.removal button", "Close")
	b.click(".rows button", "Remove spare")
	b.sees("dialog.removal", "It can be added again by its address.")
	b.picture("remove-a-tool-server")
	b.click("dialog.removal button", "Remove spare")
	b.toasted("spare is removed")
	b.lacks(".rows", "spare")
	b.holds("document.activeElement.closest('.rows > div') === find('.rows > div', 'issues')")
	b.sees(".rows", "issues")
	if file := h.read(t, "troupe.yaml"); strings.Contains(file, "spare") || !strings.Contains(file, "  # ours\n  issues:") {
		t.Errorf("troupe.yaml is now\n%s", file)
	}
}
