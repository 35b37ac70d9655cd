package browser

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// archived waits for the archive that the page hands to the browser, and returns what is
// in it.
func (b *tab) archived(begin func()) map[string]string {
	b.t.Helper()
	value[any](b, `void (() => {
		const make = URL.createObjectURL;
		URL.createObjectURL = (blob) => {
			const reader = new FileReader();
			reader.onload = () => { window.archive = reader.result.split(",")[1]; };
			reader.readAsDataURL(blob);
			return make.call(URL, blob);
		};
	})()`)
	begin()
	data, err := base64.StdEncoding.DecodeString(until[string](b, "window.archive"))
	if err != nil {
		b.t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		b.t.Fatal(err)
	}
	content := map[string]string{}
	for _, file := range archive.File {
		opened, err := file.Open()
		if err != nil {
			b.t.Fatal(err)
		}
		text, err := io.ReadAll(opened)
		if err != nil {
			b.t.Fatal(err)
		}
		opened.Close()
		content[file.Name] = string(text)
	}
	return content
}

// Documents that are the project's own files are read, edited and zipped on the page,
// and an editor finds them where they belong. What one conversation saved is read in
// another once a person says so.
func TestDocumentsInPlaceAreTheProjectsOwnFiles(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := office(t, m, "documents: in-place\n")
	b := begin(t, h.link, "Ada")
	b.say("Write the brief")
	saves(t, m, "{planning_artifacts}/brief.md", "# Lockers\n\nOne bank.\n", "The brief is written.")
	b.sees(answers, "The brief is written.")
	if got := h.read(t, "planning/brief.md"); !strings.Contains(got, "One bank.") {
		t.Errorf("the project's file holds %q", got)
	}
	b.click(".doc button", "Lockers")
	b.click(".panel button", "Edit")
	b.write(".panel textarea", "# Lockers\n\nTwo banks, by hand.\n")
	b.click(".panel button", "Save a version")
	b.sees(".panel .prose", "Two banks, by hand.")
	if got := h.read(t, "planning/brief.md"); !strings.Contains(got, "by hand") {
		t.Errorf("the project's file holds %q", got)
	}
	b.click(".panel button", "Close")
	b.lacks(".panel", "")
	b.say("And a note")
	saves(t, m, "{session-folder}/note.md", "# A note\n\nThe porter is called Tom.\n", "Noted.")
	b.sees(answers, "Noted.")
	session := strings.TrimPrefix(value[string](b, "location.hash"), "#/s/")

	value[any](b, "void (location.hash = '#/files')")
	b.holds("all('.library input[type=checkbox]').length === 2")
	value[any](b, "void all('.library input[type=checkbox]').forEach((e) => e.click())")
	b.sees(".chosen", "2 chosen")
	files := b.archived(func() { b.click(".chosen button", "Download as zip") })
	found := strings.Builder{}
	for name, content := range files {
		found.WriteString(name + ": " + content)
	}
	if len(files) != 2 || !strings.Contains(found.String(), "Two banks, by hand.") || !strings.Contains(found.String(), "The porter is called Tom.") {
		t.Errorf("the archive holds %q", found.String())
	}

	// Ben may not read Ada's note, until somebody says so on the page.
	value[any](b, "void (location.hash = '#/')")
	b.click(".agent header button", "Ben")
	b.sees(".beginning h2", "Ben")
	reads := func(says string) string {
		t.Helper()
		b.say(says)
		m.calls(t, "read_file", map[string]any{"file_path": "{session-" + session + "}/note.md"})
		a := m.asked(t)
		a.say("So it is.")
		a.end()
		b.holds("find('.composer button', 'Send')")
		return a.last
	}
	if got := reads("Who is the porter?"); strings.Contains(got, "Tom") {
		t.Errorf("Ben has read what is not his: %q", got)
	}
	b.click(".bar button", "More")
	b.click(".pop button", "Files of other conversations")
	b.click("dialog .related label", "Write the brief")
	b.picture("related")
	b.click("dialog button", "Save")
	b.toasted("may read the files of 1 other conversation")
	if got := reads("And now?"); !strings.Contains(got, "Tom") {
		t.Errorf("Ben was given %q", got)
	}
	b.do(chromedp.Reload())
	b.click(".bar button", "More")
	b.sees(".pop button", "Files of other conversations (1)")
}

// A tool server that runs already is added on the page once it answers; one that does
// not answer, and one that is named badly, change nothing.
func TestAToolServerIsAddedOnThePage(t *testing.T) {
	t.Parallel()
	tools := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	mcp.AddTool(tools, &mcp.Tool{Name: "create_issue", Description: "Creates an issue."}, func(_ context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Issue 7 is there."}}}, nil, nil
	})
	remote := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil))
	t.Cleanup(func() {
		remote.CloseClientConnections()
		remote.Close()
	})
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	m := newModel(t)
	h := office(t, m, "# Who may use what.\nagents: {ada: {tools: [bundle, \"issues__*\"]}}\n")
	b := open(t, h.link)
	b.sees(".agent", "Ada")
	value[any](b, "void (location.hash = '#/settings/mcp')")
	b.click(".set button", "Add a server")
	b.write("#server-name", "issues")
	b.write("#server-url", away.URL+"/mcp")
	b.click("form.add button", "Add it")
	b.sees("form.add [role=alert]", "Nothing was added. Nothing answers")
	if file := h.read(t, "troupe.yaml"); strings.Contains(file, "mcp:") {
		t.Errorf("what did not answer was added:\n%s", file)
	}
	b.write("#server-url", remote.URL)
	b.picture("add-a-server")
	b.click("form.add button", "Add it")
	b.sees(".rows", "1 tool")
	if file := h.read(t, "troupe.yaml"); !strings.Contains(file, remote.URL) || !strings.Contains(file, "# Who may use what.") {
		t.Errorf("troupe.yaml is now:\n%s", file)
	}
	for _, bad := range []map[string]string{{"name": "Issues", "url": remote.URL}, {"name": "x: {command: sh}", "url": remote.URL}, {"name": "issues", "url": remote.URL}, {"name": "other", "url": "file:///etc/passwd"}, {"name": "other", "url": "http://ann:secret@127.0.0.1/"}} {
		if status, answer := h.try(t, "POST", "/api/mcp", bad); status != 422 {
			t.Errorf("%v: %d %s", bad, status, answer)
		}
	}
	value[any](b, "void (location.hash = '#/')")
	b.click(".agent header button", "Ada")
	b.sees(".beginning h2", "Ada")
	b.say("Make an issue")
	m.calls(t, "issues__create_issue", map[string]any{})
	if a := m.asked(t); !strings.Contains(a.last, "Issue 7 is there.") {
		t.Errorf("the tool said %q", a.last)
	} else {
		a.say("It is there.")
		a.end()
	}
	b.sees(answers, "It is there.")

	// What a model is told, and playing by rule.
	value[any](b, "void (location.hash = '#/settings/agents')")
	b.click(".rows > div:has(b) button", "What its model is told")
	b.sees(".told", "Works with documents.")
	b.picture("told")
	value[any](b, "void (location.hash = '#/settings/models')")
	b.click("[role=switch]", "Rehearsal")
	b.holds("find('[role=switch]', 'Rehearsal').getAttribute('aria-checked') === 'true'")
	if file := h.read(t, "troupe.yaml"); !strings.Contains(file, "model: rehearsal") {
		t.Errorf("troupe.yaml is now:\n%s", file)
	}
	b.click("[role=switch]", "Rehearsal")
	b.holds("find('[role=switch]', 'Rehearsal').getAttribute('aria-checked') === 'false'")
	if file := h.read(t, "troupe.yaml"); !strings.Contains(file, "model: stub/stub-1") {
		t.Errorf("troupe.yaml is now:\n%s", file)
	}
}
