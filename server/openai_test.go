package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

// recited is a model that recites what it is told, the system prompt aside.
func recited() troupe.Model {
	return modelFunc(func(_ context.Context, req *troupe.Request, say func(string)) error {
		var all []string
		for _, m := range req.Messages[1:] {
			var text strings.Builder
			text.WriteString(m.Text)
			for _, p := range m.Parts {
				text.WriteString(fmt.Sprintf("<%s %s %s%s>", p.MIME, p.Name, p.URL, p.Data))
			}
			all = append(all, text.String())
		}
		say("I was ")
		say("told: " + strings.Join(all, "|"))
		return nil
	})
}

func turns(said ...string) []object {
	var list []object
	for i, text := range said {
		list = append(list, object{"role": []string{"user", "assistant"}[i%2], "content": text})
	}
	return list
}

// complete asks for an answer and returns it with the session it was given in.
func (w *world) complete(messages []object, more object, headers ...header) (text, session string) {
	w.t.Helper()
	body := object{"model": "clerk", "messages": messages, "temperature": 0.5}
	maps.Copy(body, more)
	response := w.send(w.t.Context(), "POST", "/v1/chat/completions", body, headers...)
	defer response.Body.Close()
	var got completion
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil || response.StatusCode != http.StatusOK {
		w.t.Fatalf("%d %+v: %v", response.StatusCode, got, err)
	}
	if len(got.Choices) != 1 || *got.Choices[0].FinishReason != "stop" || got.Usage.Total != 10 || got.Object != "chat.completion" || got.Model != "clerk" {
		w.t.Errorf("the answer is %+v", got)
	}
	return got.Choices[0].Message.Content, response.Header.Get(sessionHeader)
}

func TestAConversationIsFoundByWhatWasSaidInIt(t *testing.T) {
	w := open(t, clerk(t, recited()))
	one, session := w.complete(turns("hello"), nil)
	if one != "I was told: hello" {
		t.Errorf("the first answer is %q", one)
	}
	two, same := w.complete(turns("hello", one+"\n", "and?"), nil)
	if same != session || two != "I was told: hello|"+one+"|and?" {
		t.Errorf("the conversation went on in %s, not %s, with %q", same, session, two)
	}
	// The same again from the same place is another way to go on, not a longer one.
	three, forked := w.complete(turns("hello", one, "or?"), nil)
	if forked == session || three != "I was told: hello|"+one+"|or?" {
		t.Errorf("the other way went on in %s with %q", forked, three)
	}
	// Both ways go on.
	if _, got := w.complete(turns("hello", one, "and?", two, "x"), nil); got != session {
		t.Errorf("the first way went on in %s", got)
	}
	if _, got := w.complete(turns("hello", one, "or?", three, "x"), nil); got != forked {
		t.Errorf("the second way went on in %s", got)
	}
	// To begin anew is to begin anew, and so is the same conversation of another user.
	if _, got := w.complete(turns("hello"), nil); got == session {
		t.Error("a new conversation went on with an old one")
	}
	if _, got := w.complete(turns("hello", one, "and?"), object{"user": "somebody else"}); got == session {
		t.Error("somebody else's conversation went on with this one")
	}
	// One that is gone is told of, like one that was never here.
	w.want(http.StatusNoContent, nil, "DELETE", "/api/sessions/"+session, nil)
	if got, _ := w.complete(turns("hello", one, "and?", two, "x"), nil); !strings.Contains(got, "<text/plain The conversation so far user: hello") {
		t.Errorf("the answer is %q", got)
	}
}

func TestAnUnknownConversationIsToldOfWithTheClientsInstructions(t *testing.T) {
	w := open(t, clerk(t, recited()))
	messages := append([]object{{"role": "system", "content": "Be brief."}}, turns("hi", "hello", "and?")...)
	got, session := w.complete(messages, nil)
	want := "I was told: and?<text/plain Instructions of the application Be brief.><text/plain The conversation so far user: hi\n\nassistant: hello>"
	if got != want {
		t.Errorf("%q is not %q", got, want)
	}
	var info troupe.SessionInfo
	w.want(http.StatusOK, &info, "GET", "/api/sessions/"+session, nil)
	if info.Title != "and?" {
		t.Errorf("the session's title is %q", info.Title)
	}
	again, same := w.complete(append(messages, object{"role": "assistant", "content": got}, object{"role": "user", "content": "more"}), nil)
	if same != session || !strings.HasSuffix(again, "|more") {
		t.Errorf("it went on in %s with %q", same, again)
	}
}

func TestAConversationGoesOnInTheSessionItNames(t *testing.T) {
	w := open(t, clerk(t, recited()))
	session := w.session()
	w.talk(session, "hello")
	for _, name := range []object{{"metadata": object{"session": session}}, {"user": session}} {
		if got, in := w.complete(turns("next"), name); in != session || !strings.Contains(got, "hello|") {
			t.Errorf("%v: in %s: %q", name, in, got)
		}
	}
}

func TestPartsOfMessagesReachTheAgent(t *testing.T) {
	w := open(t, clerk(t, recited()))
	got, _ := w.complete([]object{{"role": "user", "content": []object{
		{"type": "text", "text": "look"}, {"type": "image_url", "image_url": object{"url": "data:image/png;base64,UE5H"}},
		{"type": "image_url", "image_url": object{"url": "https://example.org/a.png"}},
		{"type": "file", "file": object{"filename": "a.txt", "file_data": "data:text/plain;base64,dGV4dA=="}},
	}}}, object{"stream": nil, "user": nil, "metadata": nil, "tools": nil})
	if want := "I was told: look<image/png  PNG><image/*  https://example.org/a.png><text/plain a.txt text>"; got != want {
		t.Errorf("%q is not %q", got, want)
	}
}

func TestACompletionIsStreamedInPieces(t *testing.T) {
	w := open(t, clerk(t, echo()))
	f := w.stream("POST", "/v1/chat/completions", object{"model": "clerk", "messages": turns("hi"), "stream": true, "stream_options": object{"include_usage": true}})
	var text, why []string
	used := 0
	for data := f.next(); data != "[DONE]"; data = f.next() {
		var piece completion
		if err := json.Unmarshal([]byte(data), &piece); err != nil || piece.Object != "chat.completion.chunk" || piece.Model != "clerk" {
			t.Fatalf("%s: %v", data, err)
		}
		for _, c := range piece.Choices {
			text = append(text, c.Delta.Content)
			if c.FinishReason != nil {
				why = append(why, *c.FinishReason)
			}
		}
		if piece.Usage != nil && len(piece.Choices) == 0 {
			used = piece.Usage.Total
		}
	}
	if got := strings.Join(text, ""); got != "You said: hi" || len(text) < 3 || used != 10 || cmp.Diff([]string{"stop"}, why) != "" {
		t.Errorf("%q, finished %v, %d tokens", text, why, used)
	}
}

func TestAClientThatClosesTheConnectionWantsNoAnswer(t *testing.T) {
	w := open(t, clerk(t, gated(nil)))
	session := w.session()
	f := w.stream("POST", "/v1/chat/completions", object{"model": "clerk", "messages": turns("hi"), "stream": true, "user": session})
	f.next()
	f.leave()
	events := w.follow(session, 0).until(ends)
	if cancelled, ok := events[len(events)-1].Body.(*troupe.RunCancelled); !ok || cancelled.Reason != errClientLeft.Error() {
		t.Errorf("the run ended with %+v", events[len(events)-1].Body)
	}
}

func TestErrorsHaveTheShapeThatOpenAIsClientsKnow(t *testing.T) {
	broken := clerk(t, modelFunc(func(context.Context, *troupe.Request, func(string)) error { return errors.New("out of order") }))
	w := open(t, broken)
	ask := func(more object) object {
		body := object{"model": "clerk", "messages": turns("hi")}
		maps.Copy(body, more)
		return body
	}
	for name, c := range map[string]struct {
		status int
		body   any
		param  string
		code   string
		token  string
	}{
		"no model":     {404, ask(object{"model": "nobody"}), "model", "model_not_found", w.token},
		"no token":     {401, ask(nil), "", "invalid_api_key", "wrong"},
		"tools":        {400, ask(object{"tools": []object{{"type": "function"}}}), "tools", "unsupported_parameter", w.token},
		"functions":    {400, ask(object{"functions": []object{{}}}), "functions", "unsupported_parameter", w.token},
		"n":            {400, ask(object{"n": 2}), "n", "unsupported_parameter", w.token},
		"format":       {400, ask(object{"response_format": object{"type": "json_object"}}), "response_format", "unsupported_parameter", w.token},
		"a tool":       {400, ask(object{"messages": []object{{"role": "tool", "content": "x"}}}), "messages", "invalid_value", w.token},
		"no message":   {400, ask(object{"messages": []object{}}), "messages", "invalid_value", w.token},
		"no question":  {400, ask(object{"messages": turns("hi", "hello")}), "messages", "invalid_value", w.token},
		"bad part":     {400, ask(object{"messages": []object{{"role": "user", "content": []object{{"type": "video"}}}}}), "messages", "invalid_value", w.token},
		"local image":  {400, ask(object{"messages": []object{{"role": "user", "content": []object{{"type": "image_url", "image_url": object{"url": "file:///etc/passwd"}}}}}}), "messages", "invalid_value", w.token},
		"bad shape":    {400, ask(object{"messages": "hi"}), "", "", w.token},
		"no such chat": {404, ask(object{"metadata": object{"session": "00000000-0000-4000-8000-000000000000"}}), "", "", w.token},
		"a failed run": {500, ask(nil), "", "", w.token},
	} {
		status, text := w.do("POST", "/v1/chat/completions", c.body, as(c.token))
		var got openaiError
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%s: %s: %v", name, text, err)
		}
		value := func(s *string) string {
			if s == nil {
				return ""
			}
			return *s
		}
		if status != c.status || got.Error.Message == "" || got.Error.Type == "" || value(got.Error.Param) != c.param || value(got.Error.Code) != c.code {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	f := w.stream("POST", "/v1/chat/completions", ask(object{"stream": true}))
	f.next()
	if last := f.next(); !strings.HasPrefix(last, `{"error":{"message":"`) || !strings.Contains(last, "out of order") {
		t.Errorf("a stream that fails ends with %s", last)
	}
}

func TestAgentsAndFlowsAreModels(t *testing.T) {
	w := open(t, clerk(t, echo()))
	var list modelList
	w.want(http.StatusOK, &list, "GET", "/v1/models", nil)
	if len(list.Data) != 2 || list.Data[0].ID != "clerk" || list.Data[1].ID != "round" || list.Object != "list" {
		t.Errorf("models are %+v", list)
	}
	w.want(http.StatusOK, nil, "GET", "/v1/models/round", nil)
	w.want(http.StatusNotFound, nil, "GET", "/v1/models/none", nil)
	if got, _ := w.complete(turns("hi"), object{"model": "clerk"}); got != "You said: hi" {
		t.Errorf("the agent says %q", got)
	}
}

func TestTheUsageOfAFlowIsThatOfAllItsAgents(t *testing.T) {
	agent := func(id string) *troupe.Agent {
		a, err := troupe.NewAgent(troupe.AgentConfig{ID: id, Instructions: "You are a clerk.", Model: echo()})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	one, two, three := agent("one"), agent("two"), agent("three")
	flows, want := cast{}, map[string]int{"sequence": 2, "parallel": 3, "team": 1, "nested": 4}
	for _, step := range []troupe.Step{
		flow.Sequence("sequence", one, two), flow.Parallel("parallel", one, two, three), flow.Team("team", one, two),
		flow.Sequence("nested", flow.Parallel("both", one, two), flow.Sequence("then", three, one)),
	} {
		flows[step.Name()] = func() (troupe.Step, error) { return step, nil }
	}
	w := open(t, flows)
	for name, agents := range want {
		wanted := usage{Prompt: 7 * agents, Completion: 3 * agents, Total: 10 * agents}
		var got completion
		w.want(http.StatusOK, &got, "POST", "/v1/chat/completions", object{"model": name, "messages": turns("hi")})
		if got.Usage == nil || *got.Usage != wanted {
			t.Errorf("the usage of %s is %+v, not %+v", name, got.Usage, wanted)
		}
		f := w.stream("POST", "/v1/chat/completions", object{"model": name, "messages": turns("hi"), "stream": true, "stream_options": object{"include_usage": true}})
		var streamed *usage
		for data := f.next(); data != "[DONE]"; data = f.next() {
			var piece completion
			if err := json.Unmarshal([]byte(data), &piece); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			streamed = piece.Usage
		}
		if streamed == nil || *streamed != wanted {
			t.Errorf("the streamed usage of %s is %+v, not %+v", name, streamed, wanted)
		}
	}
}
