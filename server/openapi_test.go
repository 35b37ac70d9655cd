package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/argcheck"
)

// document is what the tests read of the OpenAPI document.
type document struct {
	OpenAPI    string
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]json.RawMessage }
}

type parameterShown struct{ Name, In string }

type operation struct {
	Summary    string
	Parameters []parameterShown
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
			if schema == nil {
				continue
			}
			check := d.compile(t, schema)
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

// compile reads a schema with those of the document that it refers to.
func (d *document) compile(t *testing.T, schema json.RawMessage) *argcheck.Schema {
	t.Helper()
	whole := map[string]any{}
	if err := json.Unmarshal(schema, &whole); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(schema), schemas) {
		whole["$defs"] = d.Components.Schemas
	}
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	check, err := argcheck.Compile([]byte(strings.ReplaceAll(string(text), schemas, "#/$defs/")))
	if err != nil {
		t.Fatal(err)
	}
	return check
}

// A client that is made from the document knows each kind of event by what is in it.
func TestTheDocumentSaysWhatIsInEachKindOfEvent(t *testing.T) {
	w := open(t, clerk(t, echo()))
	d := w.document()
	check := d.compile(t, json.RawMessage(`{"$ref":"`+schemas+`Event"}`))
	write := func(body troupe.Body) string {
		if replied, ok := body.(*troupe.ModelReplied); ok {
			replied.Message = &troupe.Message{}
		}
		text, err := json.Marshal(troupe.Event{Seq: 1, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, body := range troupe.Bodies() {
		text := write(body)
		if err := check.Check([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := check.Check([]byte(strings.Replace(text, body.Kind(), "of_another_kind", 1))); err == nil {
			t.Errorf("%s fits under another kind", text)
		}
	}
	said := write(&troupe.UserSaid{Text: "hello"})
	for _, wrong := range []string{strings.Replace(said, `"text":"hello"`, `"text":1`, 1), strings.Replace(said, `"text":"hello"`, ``, 1)} {
		if check.Check([]byte(wrong)) == nil {
			t.Errorf("%s fits", wrong)
		}
	}
	if later := strings.Replace(said, `"text"`, `"of_a_later_version":1,"text"`, 1); check.Check([]byte(later)) != nil {
		t.Errorf("%s does not fit", later)
	}
	session := w.session()
	w.talk(session, "hello")
	for e, err := range w.store.Events(t.Context(), session, 0) {
		text, failed := json.Marshal(e)
		if err := errors.Join(err, failed, check.Check(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What a route does with a header is in the document: a key is looked at by those that say so.
func TestTheDocumentSaysWhichHeadersAreRead(t *testing.T) {
	keyed := 0
	everyRoute(t, func(t *testing.T, w *world, r *route, path, body string) {
		if r.path == pageRoute.path {
			return
		}
		o := w.document().Paths[strings.ReplaceAll(r.path, "...}", "}")][strings.ToLower(r.method)]
		isKeyed := slices.Contains(o.Parameters, parameterShown{"Idempotency-Key", "header"})
		if isKeyed {
			keyed++
		}
		if r.in == nil {
			if isKeyed {
				t.Error("a request without a body has a key")
			}
			return
		}
		_, text := w.do(r.method, path, body, with("Idempotency-Key", strings.Repeat("k", maxKey+1)))
		if isAbsent := strings.Contains(text, `"code":"absent"`); isAbsent {
			return
		}
		if isRefused := strings.Contains(text, "an idempotency key has at most"); isRefused != isKeyed {
			t.Errorf("it is said to take a key: %v, and of a long one it says %s", isKeyed, text)
		}
	})
	if keyed < 8 {
		t.Errorf("%d routes take a key", keyed)
	}
	follow := open(t, clerk(t, echo())).document().Paths["/api/sessions/{id}/events"]["get"]
	if !slices.Contains(follow.Parameters, parameterShown{"Last-Event-ID", "header"}) {
		t.Error("it is not said that Last-Event-ID is read")
	}
}
