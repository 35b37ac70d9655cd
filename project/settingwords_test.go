package project_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/server"
)

// served is a server of a project with a configuration.
func served(t *testing.T, yaml string) (dir string, s *server.Server) {
	t.Helper()
	dir = write(t, yaml)
	s, err := open(t, dir, project.Options{}).Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return dir, s
}

// What an operator types into a field and is no value of it is refused in words about that value,
// without the file's place on the machine, and changes nothing.
func TestWhatIsNoLimitIsRefusedInWords(t *testing.T) {
	dir, s := served(t, "limits: {turns: 7}\nagents: {clerk: {instructions: You answer.}}\n")
	before := read(t, dir, project.Name)
	for body, why := range map[string]string{
		`"limits.cost":"much"`: "is no amount of money", `"limits.cost":"-1"`: "is no amount of money", `"server.month_cost":"inf"`: "is no amount of money", `"server.month_cost":"nan"`: "is no amount of money",
		`"limits.time":"soon"`: "is no time", `"limits.turns":"0"`: "is no number of turns", `"limits.turns":"-3"`: "“-3” is no number of turns: write a whole one from 1 on", `"limits.turns":"2.5"`: "is no number of turns", `"limits.tokens":"-4"`: "is no number of tokens",
	} {
		if status, text := request(s, "PATCH", "/api/settings", `{"values":{`+body+`}}`); status != http.StatusUnprocessableEntity || !strings.Contains(text, why) || strings.Contains(text, dir) {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	if got := read(t, dir, project.Name); got != before {
		t.Errorf("what was refused has changed the file:\n%s", got)
	}
	for body, want := range map[string]string{`"limits.cost":"0.5"`: "cost: 0.5", `"limits.time":"1h30m"`: "time: 1h30m", `"limits.turns":"12"`: "turns: 12", `"limits.turns":""`: ""} {
		if status, text := request(s, "PATCH", "/api/settings", `{"values":{`+body+`}}`); status != http.StatusOK || !strings.Contains(read(t, dir, project.Name), want) {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	// Somebody has written something wrong into the file meanwhile.
	for file, why := range map[string]string{"limits:\n  turns: many\n": "limits.turns must be a whole number", "model: rehearsal\nlimits: turns: 4\n": "this is not YAML: mapping values are not allowed"} {
		if err := os.WriteFile(filepath.Join(dir, project.Name), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
		for body, path := range map[string]string{`{"values":{"limits.cost":"2"}}`: "PATCH /api/settings", `{"base_url":"http://127.0.0.1:1/v1"}`: "PUT /api/providers/office"} {
			method, path, _ := strings.Cut(path, " ")
			if status, text := request(s, method, path, body); status != http.StatusUnprocessableEntity || !strings.Contains(text, "nothing was changed: troupe.yaml is wrong as it is, and must be corrected first: "+why) || !strings.Contains(text, "(line 2 of troupe.yaml)") || strings.Contains(text, dir) {
				t.Errorf("%s: %d %s", path, status, text)
			}
		}
	}
}

// A limit is shown as it is when the file is read again, whatever was typed: whoever changes it next
// has seen what it is.
func TestALimitIsShownAsTheFileHasIt(t *testing.T) {
	dir, s := served(t, "agents: {clerk: {instructions: You answer.}}\n")
	for body, want := range map[string][2]string{`"limits.cost":"2.50"`: {`"value":"2.5"`, "cost: 2.5\n"}, `"limits.time":"90m"`: {`"value":"1h30m0s"`, "time: 90m\n"}, `"limits.turns":"012"`: {`"value":"12"`, "turns: 12\n"}} {
		status, text := request(s, "PATCH", "/api/settings", `{"values":{`+body+`}}`)
		if file := read(t, dir, project.Name); status != http.StatusOK || !strings.Contains(text, want[0]) || !strings.Contains(file, want[1]) {
			t.Errorf("%s: %d %s\n%s", body, status, text, file)
		}
	}
}

// A price is shown where somebody knows it: written as 0 it is none, and what runs nearby and is
// not known to Troupe has none that anybody knows.
func TestOnlyKnownPricesAreShown(t *testing.T) {
	_, s := served(t, `model: office/m
providers:
  office: {base_url: "http://127.0.0.1:1/v1", models: {m: {}, dear: {price: {input: 2, output: 8}}, gift: {price: {input: 0, output: 0}}}}
  vllm: {base_url: "http://127.0.0.1:2/v1", models: {v: {}}}
  far: {base_url: "http://127.0.0.1:3/v1", key_env: FAR_KEY, models: {f: {}}}
agents: {clerk: {instructions: You answer.}}
`)
	_, text := request(s, "GET", "/api/models", "")
	var list []server.Model
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"office/m": "not known", "office/dear": "2 8", "office/gift": "0 0", "vllm/v": "0 0", "rehearsal": "0 0"} {
		got := "not listed"
		for _, m := range list {
			if m.ID == id && m.Price == nil {
				got = "not known"
			} else if m.ID == id {
				got = fmt.Sprint(m.Price.Input, m.Price.Output)
			}
		}
		if got != want {
			t.Errorf("the price of %s is %s, want %s", id, got, want)
		}
	}
	for _, m := range list {
		if m.ID == "far/f" && (m.Available || m.Reason != "no key is set") {
			t.Errorf("%+v", m)
		}
	}
}

// Why a model cannot be chosen is said to people who know of no keys in a file.
func TestAModelThatCannotBeChosenSaysWhyInWords(t *testing.T) {
	_, s := served(t, `model: office/dear
limits: {cost: 1}
providers: {office: {base_url: "http://198.51.100.1:1/v1", models: {m: {window: 9000}, dear: {window: 9000, price: {input: 2, output: 8}}}}}
agents: {clerk: {instructions: You answer.}}
`)
	_, text := request(s, "GET", "/api/models", "")
	var list []server.Model
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		if m.ID == "office/m" && (m.Available || m.Reason != "what an answer may cost is limited, and what this model costs is not known") {
			t.Errorf("%+v", m)
		}
	}
	if !strings.Contains(text, `"office/m"`) {
		t.Errorf("%s", text)
	}
}

// Of several operators who let the same person in at the same time, one makes the token, and the
// others are told that the person is there.
func TestAPersonIsLetInOnce(t *testing.T) {
	ann := strings.Repeat("a", 40)
	dir := write(t, "agents: {clerk: {instructions: You answer.}}\nserver:\n  operators: [ann]\n  users: {ann: ANN_TOKEN}\n")
	s, err := open(t, dir, project.Options{LookupEnv: func(name string) (string, bool) { return ann, name == "ANN_TOKEN" }}).Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answers := make([]string, 8)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			r := httptest.NewRequest("POST", "http://127.0.0.1/api/people", strings.NewReader(`{"name":"bob"}`))
			r.Header.Set("Authorization", "Bearer "+ann)
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			answers[i] = w.Body.String()
		})
	}
	wg.Wait()
	made, token := 0, strings.TrimSpace(strings.TrimPrefix(read(t, dir, ".env"), "TROUPE_TOKEN_BOB="))
	for _, answer := range answers {
		if strings.Contains(answer, "#token="+token) {
			made++
		} else if !strings.Contains(answer, `"code":"stale"`) || !strings.Contains(answer, "bob may come in already") {
			t.Errorf("%s", answer)
		}
	}
	if made != 1 {
		t.Errorf("%d have a token for bob", made)
	}
}

// Who is removed goes out of both files, with the rest as it was; an operator stays.
func TestAPersonIsRemovedFromTheFiles(t *testing.T) {
	ann := strings.Repeat("a", 40)
	for yaml, want := range map[string]string{
		"server:\n  operators: [ann, bob]\n  users: {ann: ANN_TOKEN, bob: BOB_TOKEN}\n":                                                 "server:\n  operators: [ann]\n  users: {ann: ANN_TOKEN}\n",
		"server:\n  operators:\n    - bob # too\n    - ann # me\n  users:\n    ann: ANN_TOKEN # mine\n    bob: BOB_TOKEN\n  # so far\n": "server:\n  operators:\n    - ann # me\n  users:\n    ann: ANN_TOKEN # mine\n  # so far\n",
	} {
		const agents = "# Ours.\nagents: {clerk: {instructions: You answer.}}\n"
		dir := write(t, agents+yaml)
		if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("# keys\nBOB_TOKEN="+strings.Repeat("b", 40)+"\nOTHER=1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := open(t, dir, project.Options{LookupEnv: func(name string) (string, bool) { return ann, name == "ANN_TOKEN" }}).Server(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		remove := func(name, by string) (int, string) {
			r := httptest.NewRequest("DELETE", "http://127.0.0.1/api/people/"+name, nil)
			r.Header.Set("Authorization", "Bearer "+by)
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		if status, text := remove("bob", ann); status != http.StatusNoContent {
			t.Fatalf("%d %s", status, text)
		}
		if got, env := read(t, dir, project.Name), read(t, dir, ".env"); got != agents+want || env != "# keys\nOTHER=1\n" {
			t.Errorf("it is now\n%s\nand .env\n%s", got, env)
		}
	}
	// Two who remove each other leave one.
	bob := strings.Repeat("b", 40)
	dir := write(t, "agents: {clerk: {instructions: You answer.}}\nserver:\n  operators: [bob, ann]\n  users: {ann: ANN_TOKEN, bob: BOB_TOKEN}\n")
	s, err := open(t, dir, project.Options{LookupEnv: func(name string) (string, bool) {
		token, ok := map[string]string{"ANN_TOKEN": ann, "BOB_TOKEN": bob}[name]
		return token, ok
	}}).Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for name, by := range map[string]string{"bob": ann, "ann": bob} {
		wg.Go(func() {
			r := httptest.NewRequest("DELETE", "http://127.0.0.1/api/people/"+name, nil)
			r.Header.Set("Authorization", "Bearer "+by)
			s.Handler().ServeHTTP(httptest.NewRecorder(), r)
		})
	}
	wg.Wait()
	if file := read(t, dir, project.Name); strings.Contains(file, "ANN_TOKEN") == strings.Contains(file, "BOB_TOKEN") {
		t.Errorf("it is now\n%s", file)
	}
}

// What a flag fixes is shown as it is, locked with the reason, for every agent; a model for all
// agents goes before the usual one on the page as everywhere else.
func TestWhatDecidesOverTheModelIsShown(t *testing.T) {
	const yaml = `model: office/a
providers: {office: {base_url: "http://127.0.0.1:1/v1", models: {a: {}, b: {}, c: {}}}}
agents: {"*": {model: office/b}, clerk: {instructions: You answer.}, ada: {instructions: You answer., model: office/a}}
`
	_, s := served(t, yaml)
	if _, text := request(s, "GET", "/api/agents", ""); !strings.Contains(text, `"office/b"`) {
		t.Errorf("the agents are answered for by %s", text)
	}
	dir := write(t, yaml)
	s, err := open(t, dir, project.Options{Model: "office/c"}).Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, text := request(s, "GET", "/api/settings", "")
	var shown struct{ Settings []server.Setting }
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		t.Fatal(err)
	}
	locked := 0
	for _, setting := range shown.Settings {
		if strings.HasSuffix(setting.Key, "model") {
			if setting.Value != "office/c" || setting.Locked != "--model on the command line decides" {
				t.Errorf("%+v", setting)
			}
			locked++
		} else if setting.Locked != "" {
			t.Errorf("%+v", setting)
		}
	}
	if locked != 3 {
		t.Errorf("%d models are locked", locked)
	}
	if status, text := request(s, "PATCH", "/api/settings", `{"values":{"agents.ada.model":"office/b"}}`); status != http.StatusUnprocessableEntity || !strings.Contains(text, "this cannot be changed here: --model on the command line decides") {
		t.Errorf("%d %s", status, text)
	}
}

// The last operator stays, whoever is one by what troupe.yaml says now, and it is said why.
func TestTheLastOperatorIsNotRemoved(t *testing.T) {
	ann, bob := strings.Repeat("a", 40), strings.Repeat("b", 40)
	const yaml = "agents: {clerk: {instructions: You answer.}}\nserver:\n  users: {ann: ANN_TOKEN, bob: BOB_TOKEN}\n  operators: "
	dir := write(t, yaml+"[ann, bob]\n")
	s, err := open(t, dir, project.Options{LookupEnv: func(name string) (string, bool) {
		token, ok := map[string]string{"ANN_TOKEN": ann, "BOB_TOKEN": bob}[name]
		return token, ok
	}}).Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, project.Name), []byte(yaml+"[bob]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, why := range map[string]string{"bob": "without bob nobody could change settings any more: name another operator under server.operators", "ann": "nobody removes themselves: another operator can do it"} {
		r := httptest.NewRequest("DELETE", "http://127.0.0.1/api/people/"+name, nil)
		r.Header.Set("Authorization", "Bearer "+ann)
		w := httptest.NewRecorder()
		if s.Handler().ServeHTTP(w, r); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), why) {
			t.Errorf("to remove %s: %d %s", name, w.Code, w.Body)
		}
	}
	if got := read(t, dir, project.Name); got != yaml+"[bob]\n" {
		t.Errorf("it is now\n%s", got)
	}
}
