package server

import (
	"encoding/json"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe/internal/argcheck"
)

// document is what the tests read of the OpenAPI document.
type document struct {
	OpenAPI    string
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]json.RawMessage }
}

type operation struct {
	Summary    string
	Parameters []struct{ Name, In string }
	Responses  map[string]struct {
		Content map[string]struct{ Schema json.RawMessage }
	}
	RequestBody *struct {
		Content map[string]struct{ Schema json.RawMessage }
	}
	Security *[]any
}

func (w *world) document() document {
	w.t.Helper()
	var d document
	w.want(http.StatusOK, &d, "GET", "/api/openapi.json", nil)
	return d
}

func TestTheDocumentDescribesTheRoutesThatThereAre(t *testing.T) {
	w := open(t, clerk(t, echo()))
	d := w.document()
	var described, real []string
	for path, operations := range d.Paths {
		for method, o := range operations {
			described = append(described, strings.ToUpper(method)+" "+path)
			if o.Summary == "" || len(o.Responses) != 2 {
				t.Errorf("%s %s says too little", method, path)
			}
			for _, p := range o.Parameters {
				if p.In == "path" && !strings.Contains(path, "{"+p.Name+"}") {
					t.Errorf("%s %s has no %s", method, path, p.Name)
				}
			}
		}
	}
	for _, r := range w.server.routes[:len(w.server.routes)-1] { // all but the page
		real = append(real, r.method+" "+strings.ReplaceAll(r.path, "...}", "}"))
		o := d.Paths[strings.ReplaceAll(r.path, "...}", "}")][strings.ToLower(r.method)]
		if (o.RequestBody != nil) != (r.in != nil) || (o.Security != nil) != r.open {
			t.Errorf("%s %s is not described as it is", r.method, r.path)
		}
	}
	sort.Strings(described)
	sort.Strings(real)
	if diff := cmp.Diff(real, described); diff != "" || d.OpenAPI != "3.1.0" {
		t.Error(diff)
	}
	for _, route := range []string{
		"GET /api/agents", "POST /api/sessions", "GET /api/sessions", "GET /api/sessions/{id}", "DELETE /api/sessions/{id}", "POST /api/sessions/{id}/messages",
		"GET /api/sessions/{id}/events", "POST /api/sessions/{id}/cancel", "POST /api/sessions/{id}/resume", "POST /api/sessions/{id}/fork",
		"GET /api/sessions/{id}/files", "GET /api/sessions/{id}/files/{path}", "POST /api/chat", "POST /v1/chat/completions", "GET /v1/models",
		"GET /api/flows", "POST /api/flows/{name}/runs", "POST /api/deliveries", "GET /api/logs", "GET /metrics", "GET /healthz", "GET /readyz",
	} {
		if i := sort.SearchStrings(real, route); i == len(real) || real[i] != route {
			t.Errorf("there is no %s", route)
		}
	}
}

func TestAnswersAreOfTheShapesThatTheDocumentShows(t *testing.T) {
	checked := 0
	everyRoute(t, func(t *testing.T, w *world, r *route, path, body string) {
		if r.path == pageRoute.path || strings.Contains(r.media, "event-stream") && r.out == nil {
			return
		}
		d := w.document()
		o := d.Paths[strings.ReplaceAll(r.path, "...}", "}")][strings.ToLower(r.method)]
		for _, token := range []string{"wrong", w.token} {
			var sent any
			if body != "" {
				sent = body
			}
			status, text := w.do(r.method, path, sent, as(token))
			var schema json.RawMessage
			for code, answer := range o.Responses {
				if code == "default" && status >= 400 || code != "default" && status < 400 {
					for media, content := range answer.Content {
						if strings.Contains(media, "json") {
							schema = content.Schema
						}
					}
					if status < 400 && code != strconv.Itoa(status) {
						t.Errorf("status %d is not %s", status, code)
					}
				}
			}
			if ref := "#/components/schemas/"; strings.Contains(string(schema), ref) {
				name := strings.Trim(string(schema)[strings.Index(string(schema), ref)+len(ref):], `"}`)
				schema = d.Components.Schemas[name]
			}
			if schema == nil {
				continue
			}
			check, err := argcheck.Compile(schema)
			if err != nil {
				t.Fatal(err)
			}
			if err := check.Check([]byte(text)); err != nil {
				t.Errorf("%d %s: %v", status, text, err)
			}
			checked++
		}
	})
	if checked < 40 {
		t.Errorf("only %d answers were checked", checked)
	}
}
