package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// Whoever signs out has no cookie any more; a browser that has none is told nothing.
func TestSigningOutTakesTheCookieAway(t *testing.T) {
	w := open(t, clerk(t, echo()))
	in := w.send(t.Context(), "POST", "/api/login", `{"token":"`+w.token+`"}`)
	in.Body.Close()
	if len(in.Cookies()) != 1 {
		t.Fatalf("signing in set %v", in.Cookies())
	}
	cookie := in.Cookies()[0]
	out := w.send(t.Context(), "POST", "/api/logout", nil, with("Cookie", cookie.Name+"="+cookie.Value))
	out.Body.Close()
	if gone := out.Cookies(); out.StatusCode != http.StatusNoContent || len(gone) != 1 || gone[0].Name != cookie.Name || gone[0].MaxAge >= 0 || gone[0].Value != "" {
		t.Errorf("signing out: %d %v", out.StatusCode, gone)
	}
	again := w.send(t.Context(), "POST", "/api/logout", nil)
	again.Body.Close()
	if len(again.Cookies()) != 0 {
		t.Errorf("a browser without a cookie gets %v", again.Cookies())
	}
}

// Only a call whose server was not there says so to people, by the server's name.
func TestToolsWhoseServerIsGoneAreTold(t *testing.T) {
	for _, c := range []struct{ tool, class, text, want string }{
		{"calendar__look", "failed", "the MCP server calendar is not running; it is tried again in 2s", "calendar"},
		{"calendar__look", "interrupted", "the MCP server calendar did not answer; whether the call took effect is unknown", "calendar"},
		{"calendar__look", "failed", "the MCP server calendar no longer has this tool", ""},
		{"calendar__look", "", "the MCP server calendar is not running", ""},
		{"read_file", "failed", "the MCP server calendar is not running", ""}, // a tool may say what it likes
	} {
		found := toolCause(&troupe.ToolReturned{Tool: c.tool, Class: c.class, Error: c.text})
		if found.Server != c.want || (found.Code == "tool_server_down") != (c.want != "") {
			t.Errorf("%s %q: %+v", c.tool, c.text, found)
		}
		e := &troupe.Event{Body: &troupe.ToolReturned{Tool: c.tool, Class: c.class, Error: c.text}}
		if data := string(explained(e, []byte(`{"body":{"tool":"x"}}`))); strings.Contains(data, "tool_server_down") != (c.want != "") {
			t.Errorf("%s %q: the event is sent as %s", c.tool, c.text, data)
		}
	}
}
