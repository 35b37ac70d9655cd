package mcp_test

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/peers"
	"github.com/troupe-dev/troupe/tool/mcp"
)

// peerConfig is for a server that others wrote.
func peerConfig(t *testing.T, name, program string, args ...string) mcp.Config {
	t.Helper()
	command := peers.Npm(t, program)
	return mcp.Config{
		Name: name, Command: command[0], Args: append(command[1:], args...), Dir: t.TempDir(),
		Pins: filepath.Join(t.TempDir(), "pins.json"), TrustHints: true,
	}
}

func TestTheEverythingServerOverStdio(t *testing.T) {
	c := peerConfig(t, "everything", "mcp-server-everything")
	c.Env = map[string]string{"GIVEN": "yes"}
	s := open(t, c)
	useEverything(t, s)
	text, err := use(t, s, "everything__get-env", nil)
	if err != nil || strings.Contains(text, "PATH") || !strings.Contains(text, `"GIVEN": "yes"`) {
		t.Errorf("its environment is %s, %v", text, err)
	}
}

func TestTheEverythingServerOverHTTP(t *testing.T) {
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	useEverything(t, open(t, mcp.Config{
		Name: "everything", URL: everythingURL(t), HTTPClient: client,
		Pins: filepath.Join(t.TempDir(), "pins.json"), TrustHints: true,
	}))
}

// useEverything calls tools of the server with all kinds of results.
func useEverything(t *testing.T, s *mcp.Server) {
	t.Helper()
	for _, c := range []struct {
		tool string
		with arguments
		want string
	}{
		{"echo", arguments{"message": "hällo"}, "Echo: hällo"},
		{"get-sum", arguments{"a": 2, "b": 3}, "The sum of 2 and 3 is 5."},
		{"get-tiny-image", nil, "[image image/png, "},
		{"get-structured-content", arguments{"location": "Chicago"}, `"temperature":36`},
		{"get-resource-links", arguments{"count": 1}, "[resource "},
		{"get-resource-reference", arguments{"resourceType": "Text", "resourceId": 1}, "demo://resource/dynamic/text/1"},
	} {
		text, err := use(t, s, "everything__"+c.tool, c.with)
		if err != nil || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, %v; not … %s …", c.tool, text, err, c.want)
		}
		if strings.Count(text, `"temperature"`) > 1 {
			t.Errorf("%s: the structured content is there twice: %s", c.tool, text)
		}
	}
	if spec := find(t, s, "everything__echo").Spec(); !spec.RepeatSafe || !strings.Contains(string(spec.Input), `"required":["message"]`) {
		t.Errorf("the tool echo is %+v", spec)
	}
	_, err := use(t, s, "everything__get-sum", arguments{"a": "two"})
	wantClass(t, err, "failed", "expected number")
}

// onLoopback has servers of a node program listen on a free loopback port, and
// print which.
const onLoopback = `data:text/javascript,import net from "node:net";
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
	this.once("listening", () => console.error("port=" + this.address().port));
	return listen.call(this, { port: 0, host: "127.0.0.1" }, ...rest);
};`

// everythingURL starts the server and returns its address.
func everythingURL(t *testing.T) string {
	t.Helper()
	command := peers.Npm(t, "mcp-server-everything")
	cmd := exec.Command(command[0], "--import", onLoopback, command[1], "streamableHttp")
	cmd.Env = []string{}
	printed, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(printed)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for lines.Scan() {
		if _, port, ok := strings.Cut(lines.Text(), "port="); ok {
			return "http://127.0.0.1:" + port + "/mcp"
		}
	}
	t.Fatal("the server does not listen")
	return ""
}

func TestTheFilesystemServerKeepsToItsDirectory(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, peerConfig(t, "fs", "mcp-server-filesystem", dir))
	file := filepath.Join(dir, "note.md")
	if _, err := use(t, s, "fs__write_file", arguments{"path": file, "content": "# Hällo\n"}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "# Hällo\n" {
		t.Errorf("written was %q, %v", data, err)
	}
	if text, err := use(t, s, "fs__read_text_file", arguments{"path": file}); err != nil || strings.Count(text, "# Hällo") != 1 {
		t.Errorf("read was %q, %v", text, err)
	}
	_, err = use(t, s, "fs__read_text_file", arguments{"path": "/etc/passwd"})
	wantClass(t, err, "failed", "Access denied")
	reads, edits := find(t, s, "fs__read_text_file").Spec(), find(t, s, "fs__edit_file").Spec()
	if !reads.RepeatSafe || !reads.ReadOnly || edits.RepeatSafe || edits.ReadOnly {
		t.Error("hints are not believed, or where there are none")
	}
}

func TestTheMemoryServerRemembersAcrossARestart(t *testing.T) {
	c := peerConfig(t, "memory", "mcp-server-memory")
	c.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.json")}
	c.TrustHints = false
	s := open(t, c)
	entity := arguments{"name": "Mira", "entityType": "person", "observations": []string{"likes SQLite"}}
	if _, err := use(t, s, "memory__create_entities", arguments{"entities": []any{entity}}); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(s.Tools(), func(tool troupe.Tool) bool { return tool.Spec().RepeatSafe }) {
		t.Error("hints are believed though nobody said so")
	}
	if !find(t, s, "memory__read_graph").Spec().ReadOnly || find(t, s, "memory__create_entities").Spec().ReadOnly {
		t.Error("what only reads is not told from what writes")
	}
	s.Close()
	text, err := use(t, open(t, c), "memory__read_graph", nil)
	if err != nil || !strings.Contains(text, "likes SQLite") {
		t.Errorf("remembered is %q, %v", text, err)
	}
}
