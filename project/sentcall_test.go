package project_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/server"
)

// request sends a request to a server that does not listen.
func request(s *server.Server, method, path, body string) (int, string) {
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+s.Token())
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// A sentBody is what tests read of a chat-completions request.
type sentBody struct {
	Model    string `json:"model"`
	Messages []struct {
		Role, Content string
		ID            string `json:"tool_call_id"`
		Calls         []struct {
			ID, Type string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
}

// A call that is copied is the one that was sent: to the address it went to, with the name
// that the model has there and the variable that its key is in.
func TestACopiedCallIsWhatWasSent(t *testing.T) {
	var sent sentBody
	office := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		if strings.HasSuffix(r.URL.Path, "/chat/completions") && r.Header.Get("Authorization") == "Bearer key-of-the-office" {
			sent = sentBody{}
			if err := json.Unmarshal(data, &sent); err != nil {
				t.Error(err)
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if len(sent.Messages) < 3 { // once a tool was called, what is sent has a call and its outcome
			fmt.Fprint(w, "data: {\"model\":\"big\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Let me see.\",\"tool_calls\":[{\"index\":0,\"id\":\"call-1\",\"type\":\"function\",\"function\":{\"name\":\"calculator\",\"arguments\":\"{\\\"expression\\\": \\\"6*7\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n")
			return
		}
		fmt.Fprint(w, "data: {\"model\":\"big\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Well.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer office.Close()
	dir := write(t, "model: office/big\nproviders: {office: {base_url: "+office.URL+"/v1, key_env: OFFICE_KEY}}\nagents: {clerk: {instructions: You answer., tools: [calculator]}}\n")
	p := open(t, dir, project.Options{LookupEnv: func(name string) (string, bool) { return "key-of-the-office", name == "OFFICE_KEY" }})
	s, err := p.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status, text := request(s, "POST", "/v1/chat/completions", `{"model":"clerk","messages":[{"role":"user","content":"it's me"}]}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	var sessions []struct{ ID string }
	if _, text := request(s, "GET", "/api/sessions", ""); json.Unmarshal([]byte(text), &sessions) != nil || len(sessions) != 1 {
		t.Fatal(text)
	}
	var page struct {
		Events []struct {
			Seq  int
			Kind string
		}
	}
	path := "/api/sessions/" + sessions[0].ID
	if _, text := request(s, "GET", path+"/events?before=1000&limit=100", ""); json.Unmarshal([]byte(text), &page) != nil {
		t.Fatal(text)
	}
	for _, e := range slices.Backward(page.Events) {
		if e.Kind != "model_replied" {
			continue
		}
		_, curl := request(s, "GET", fmt.Sprintf("%s/calls/%d?as=curl", path, e.Seq), "")
		for _, want := range []string{`curl "` + office.URL + `/v1/chat/completions"`, `Bearer $OFFICE_KEY"`, `"model": "big"`} {
			if !strings.Contains(curl, want) {
				t.Errorf("%s is not in\n%s", want, curl)
			}
		}
		if strings.Contains(curl, "key-of-the-office") {
			t.Error("the key is in it")
		}
		_, text := request(s, "GET", fmt.Sprintf("%s/calls/%d?as=json", path, e.Seq), "")
		if len(sent.Messages) < 4 || !strings.Contains(text, `"tool_call_id":"call-1"`) && !strings.Contains(text, `"tool_call_id": "call-1"`) {
			t.Errorf("the call of a tool is not in\n%s", text)
		}
		var copied sentBody
		if err := json.Unmarshal([]byte(text), &copied); err != nil || fmt.Sprint(copied) != fmt.Sprint(sent) {
			t.Errorf("%v: copied is\n%+v, sent was\n%+v", err, copied, sent)
		}
		return
	}
	t.Errorf("no call in %+v", page)
}

// What a person answers where a call asked is told by the call's result alone: it is no
// message, however it was answered.
func TestACopiedCallAfterAnApprovalIsWhatWasSent(t *testing.T) {
	for name, answer := range map[string]troupe.Input{
		"approved":          {Answer: &troupe.Answer{Approved: true}},
		"refused":           {Answer: &troupe.Answer{Denied: true}},
		"refused, with why": {Answer: &troupe.Answer{Denied: true, Text: "It is 42."}},
		"said yes":          {Text: "yes"},
		"said no":           {Text: "No, use your head."},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []sentBody
			office := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var body sentBody
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				sent = append(sent, body)
				w.Header().Set("Content-Type", "text/event-stream")
				if body.Messages[len(body.Messages)-1].Role == "user" {
					fmt.Fprint(w, "data: {\"model\":\"big\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Let me see.\",\"tool_calls\":[{\"index\":0,\"id\":\"call-1\",\"type\":\"function\",\"function\":{\"name\":\"calculator\",\"arguments\":\"{\\\"expression\\\": \\\"6*7\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n")
					return
				}
				fmt.Fprint(w, "data: {\"model\":\"big\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Well.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			}))
			defer office.Close()
			p := open(t, write(t, "model: office/big\nproviders: {office: {base_url: "+office.URL+"/v1}}\nagents: {clerk: {instructions: You answer., tools: [calculator]}}\napprove: [{tool: calculator, do: ask}]\n"), project.Options{})
			s, err := p.Server(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			step, err := p.Step(t.Context(), "clerk")
			if err != nil {
				t.Fatal(err)
			}
			session := ""
			for _, in := range []troupe.Input{{Text: "What is 6*7?"}, answer, {Text: "Once more."}, answer} {
				in.Session = session
				outcome, err := troupe.Collect(engine(t, p).Run(t.Context(), step, in))
				if err != nil {
					t.Fatal(err)
				}
				session = outcome.Session
			}
			checkCopies(t, p, s, session, sent)
		})
	}
}

// checkCopies compares the calls of a session, as they are copied, with what was sent.
func checkCopies(t *testing.T, p *project.Project, s *server.Server, session string, sent []sentBody) {
	t.Helper()
	calls := 0
	for e, err := range engine(t, p).Events(t.Context(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Body.(*troupe.ModelReplied); !ok {
			continue
		}
		_, text := request(s, "GET", fmt.Sprintf("/api/sessions/%s/calls/%d?as=json", session, e.Seq), "")
		var copied sentBody
		if err := json.Unmarshal([]byte(text), &copied); err != nil || calls >= len(sent) || fmt.Sprint(copied) != fmt.Sprint(sent[calls]) {
			t.Fatalf("%v: call %d is copied as\n%+v, sent was\n%+v", err, calls+1, copied, sent[min(calls, len(sent)-1)])
		}
		calls++
	}
	if calls == 0 || calls != len(sent) {
		t.Errorf("%d calls are on record, %d were sent", calls, len(sent))
	}
}
