package knowledge

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/peers"
)

// inspect has the MCP inspector call a server that it starts for this one call.
func inspect(t *testing.T, path string, method ...string) string {
	t.Helper()
	command := peers.Npm(t, "mcp-inspector")
	args := append(command[1:], "--cli")
	env := childEnv(t, path)
	env["KNOWLEDGE_USER"] = Local
	for name, value := range env {
		args = append(args, "-e", name+"="+value)
	}
	args = append(append(args, os.Args[0], "--method"), method...)
	cmd := exec.CommandContext(t.Context(), command[0], args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		t.Fatalf("%v: %v", method, err)
	}
	return string(out)
}

func TestTheInspectorUsesOurServer(t *testing.T) {
	_, path := newBase(t)
	var list struct {
		Tools []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(inspect(t, path, "tools/list")), &list); err != nil || len(list.Tools) != 9 {
		t.Errorf("its tools are %v, %v", list, err)
	}
	call := func(tool string, args ...string) string {
		method := []string{"tools/call", "--tool-name", tool}
		for _, arg := range args {
			method = append(method, "--tool-arg", arg)
		}
		return inspect(t, path, method...)
	}
	for _, c := range []struct {
		answer string
		want   []string
	}{
		{call("upload_to_gkchatty", "file_path=owl.md", "content=# Owls\n\nOwls hunt at night.", "description=birds"), []string{"✅ Successfully uploaded", hash("# Owls\n\nOwls hunt at night.")}},
		{call("search_gkchatty", "query=owl"), []string{"GKChatty Results", "owl.md", `"documents"`}},
		{call("query_gkchatty", "query=When do owls hunt?"), []string{"Owls hunt at night.", `"passages"`}},
		{call("upload_to_gkchatty", "file_path=/etc/hostname"), []string{"Error uploading", `"isError": true`}},
		{call("delete_document", "filename=owl.md"), []string{"✅ Successfully deleted"}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.answer, want) {
				t.Errorf("it does not say %q: %s", want, c.answer)
			}
		}
	}
}
