package models_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/models"
)

const canary = "canary-key-77d1"

// chooser reads a troupe.yaml and an environment of NAME=value words.
func chooser(t *testing.T, flag, yaml, environment string) *models.Chooser {
	t.Helper()
	c, err := config.Parse("troupe.yaml", []byte(yaml), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for word := range strings.FieldsSeq(environment) {
		name, value, _ := strings.Cut(word, "=")
		env[name] = value
	}
	return &models.Chooser{Config: c, Flag: flag, Getenv: func(name string) string { return env[name] }}
}

func TestTheFirstThatAppliesDecides(t *testing.T) {
	const yaml = "model: groq/project\nagents: {alex: {model: groq/own}}\n"
	const env = "TROUPE_MODEL=groq/variable OPENAI_API_KEY=" + canary
	for _, test := range []struct{ flag, yaml, agent, env, ref, from string }{
		{"groq/flag", yaml, "alex", env, "groq/flag", "--model"},
		{"", yaml, "alex", env, "groq/own", "agents.alex.model in troupe.yaml"},
		{"", yaml, "casey", env, "groq/project", "model in troupe.yaml"},
		{"", "", "alex", env, "groq/variable", "TROUPE_MODEL"},
		{"", "", "alex", "OPENAI_API_KEY=" + canary, "openai/gpt-4.1-mini", "OPENAI_API_KEY"},
		{"", "", "alex", "MISTRAL_API_KEY=" + canary, "mistral/mistral-small-latest", "MISTRAL_API_KEY"},
		{"", "", "alex", "GROQ_API_KEY=a OPENAI_API_KEY=b", "openai/gpt-4.1-mini", "OPENAI_API_KEY"},
		{"", "providers: {openai: {key_env: MINE}}", "alex", "OPENAI_API_KEY=a", "rehearsal", ""},
		{"", "providers: {openai: {key_env: MINE}}", "alex", "MINE=a", "openai/gpt-4.1-mini", "MINE"},
		{"", "", "alex", "OPENAI_BASE_URL=http://h/v1 OPENAI_MODEL=own", "openai/own", "OPENAI_BASE_URL"},
		{"", "", "alex", "", "rehearsal", ""},
	} {
		got := chooser(t, test.flag, test.yaml, test.env).For(test.agent)
		if got.Ref != test.ref || got.From != test.from {
			t.Errorf("%+v: chose %+v", test, got)
		}
	}
}

func TestAnEndpointHasTheRightAddressAndKey(t *testing.T) {
	for _, test := range []struct{ ref, yaml, env, url, key string }{
		{"openai/m", "", "OPENAI_API_KEY=" + canary, "https://api.openai.com/v1", canary},
		{"openai/m", "", "OPENAI_API_KEY=" + canary + " OPENAI_BASE_URL=http://h/v1", "http://h/v1", canary},
		{"openai/m", "", "OPENAI_BASE_URL=http://h/v1", "http://h/v1", ""},
		{"openai/m", "providers: {openai: {base_url: http://own/v1}}", "OPENAI_BASE_URL=http://h/v1", "http://own/v1", ""},
		{"ollama/m:7b", "", "", "http://localhost:11434", ""},
		{"ollama/m:7b", "providers: {ollama: {api: chat}}", "", "http://localhost:11434/v1", ""},
		{"local/a/b", "providers: {local: {base_url: http://l/v1, key_env: K}}", "K=" + canary, "http://l/v1", canary},
		{"openrouter/x/y", "", "OPENROUTER_API_KEY=" + canary, "https://openrouter.ai/api/v1", canary},
		{"groq/m", "providers: {groq: {headers: {authorization: Bearer x}}}", "", "https://api.groq.com/openai/v1", ""},
	} {
		e, err := chooser(t, "", test.yaml, test.env).Endpoint(models.Choice{Ref: test.ref, From: "--model"})
		if err != nil || e.BaseURL != test.url || string(e.Key) != test.key {
			t.Errorf("%+v: %s, key %q, %v", test, e.BaseURL, string(e.Key), err)
		}
		if strings.Contains(fmt.Sprintf("%v %+v %#v", e, e, e), canary) {
			t.Errorf("%+v: the endpoint shows its key", test)
		}
	}
}

func TestABadChoiceIsRefusedWithAWayOut(t *testing.T) {
	for _, test := range []struct{ ref, yaml, want string }{
		{"gpt-4.1-minj", "", "did you mean openai/gpt-4.1-mini?"},
		{"/x", "", "a model is chosen as provider/name"},
		{"openai/", "", "a model is chosen as provider/name"},
		{"openia/x", "", `no provider is called "openia"; did you mean openai?`},
		{"zebra/x", "", "there are anthropic, azure,"},
		{"openai/x", "", "OPENAI_API_KEY is not set"},
		{"local/x", "providers: {local: {key_env: K}}", "providers.local has no base_url"},
		{"local/x", "providers: {local: {base_url: http://l, key_env: K}}", "K is not set"},
	} {
		_, err := chooser(t, "", test.yaml, "").Open(models.Choice{Ref: test.ref, From: "--model"})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "--model") {
			t.Errorf("%s: error %v, want %s", test.ref, err, test.want)
		}
	}
	_, err := chooser(t, "", "", "").Open(models.Choice{Ref: "openai/x"})
	if missing, ok := errors.AsType[*models.MissingKey](err); !ok || missing.Variable != "OPENAI_API_KEY" {
		t.Errorf("error %v", err)
	}
}

func TestWhatIsKnownOfAModelGoesWithIt(t *testing.T) {
	const yaml = "providers: {local: {base_url: http://l/v1, models: {m: {window: 8000, price: {input: 1, output: 2}}}}}"
	opened, err := chooser(t, "", yaml, "").Open(models.Choice{Ref: "local/m", From: "--model"})
	if err != nil || opened.Window != 8000 || opened.Price.Input != 1 || opened.Price.Output != 2 || opened.Model == nil {
		t.Errorf("%+v, %v", opened, err)
	}
	opened, err = chooser(t, "", yaml, "").Open(models.Choice{Ref: "rehearsal"})
	if err != nil || opened.Model == nil || !opened.IsRehearsal() {
		t.Errorf("%+v, %v", opened, err)
	}
}
