package provider

import (
	"errors"
	"net/url"
	"strings"
	"testing"
)

func TestEveryProviderCanBeFoundAndReached(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range All() {
		if seen[p.Name] || p.Title == "" || len(p.Endpoints) == 0 {
			t.Errorf("%s: twice, or without title or endpoint", p.Name)
		}
		seen[p.Name] = true
		if found, ok := Find(p.Name); !ok || found.Title != p.Title {
			t.Errorf("%s is not found", p.Name)
		}
		if _, ok := p.Endpoint(Chat); !ok {
			t.Errorf("%s has no chat completions", p.Name)
		}
		if !p.Local && len(p.KeyEnv) == 0 {
			t.Errorf("%s has no variable for its key", p.Name)
		}
		for _, e := range p.Endpoints {
			at, err := url.Parse(inBraces.ReplaceAllString(e.URL, "x"))
			if err != nil || at.Host == "" || strings.HasSuffix(e.URL, "/") {
				t.Errorf("%s: %s: %v", p.Name, e.URL, err)
			}
			for _, m := range inBraces.FindAllStringSubmatch(e.URL, -1) {
				if len(p.Vars[m[1]]) == 0 {
					t.Errorf("%s: nothing fills {%s}", p.Name, m[1])
				}
			}
		}
	}
	if len(seen) < 30 {
		t.Errorf("%d providers", len(seen))
	}
	for other, name := range otherNames {
		if p, ok := Find(other); !ok || p.Name != name || seen[other] {
			t.Errorf("%s is %v", other, p.Name)
		}
	}
	if _, ok := Find("nobody"); ok {
		t.Error("nobody is found")
	}
}

// What a caller changes is the caller's own.
func TestTheTableDoesNotChange(t *testing.T) {
	p, _ := Find("snowflake")
	p.Endpoints[0].Headers["X"] = "y"
	p.KeyEnv[0], p.Vars["account"] = "X", nil
	if again, _ := Find("snowflake"); again.Endpoints[0].Headers["X"] != "" || again.KeyEnv[0] == "X" || again.Vars["account"] == nil {
		t.Error("the table was changed")
	}
}

func TestHosts(t *testing.T) {
	for host, want := range map[string]string{
		"api.openai.com": "openai", "api.mistral.ai": "mistral", "openrouter.ai": "openrouter", "api.deepseek.com": "deepseek", "api.x.ai": "xai",
		"my-company.openai.azure.com": "azure", "acme.snowflakecomputing.com": "snowflake", "eu-aiplatform.googleapis.com": "vertex", "generativelanguage.googleapis.com": "gemini",
		"bedrock-mantle.eu-west-1.api.aws": "bedrock", "x.y.openai.azure.com": "", "localhost": "", "127.0.0.1": "", "model.test": "",
		"openai.com": "", "evil-api.openai.com.test": "", "openai.azure.com.evil.test": "",
	} {
		if p, _ := OfHost(host); p.Name != want {
			t.Errorf("%s is %q, want %q", host, p.Name, want)
		}
	}
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestAddresses(t *testing.T) {
	for _, test := range []struct {
		provider string
		api      API
		env      []string
		want     string
	}{
		{"openai", Chat, nil, "https://api.openai.com/v1"},
		{"openai", Chat, []string{"OPENAI_BASE_URL", "http://h:1/x"}, "http://h:1/x"},
		{"azure", Chat, []string{"AZURE_RESOURCE_NAME", "acme"}, "https://acme.openai.azure.com/openai/v1"},
		{"azure", Chat, []string{"AZURE_OPENAI_ENDPOINT", "https://acme.openai.azure.com/"}, "https://acme.openai.azure.com/openai/v1"},
		{"azure", Chat, []string{"AZURE_OPENAI_ENDPOINT", "https://h/openai/deployments/d?api-version=1"}, "https://h/openai/deployments/d?api-version=1"},
		{"databricks", Chat, []string{"DATABRICKS_HOST", "https://w.cloud.databricks.com/"}, "https://w.cloud.databricks.com/serving-endpoints"},
		{"vertex", Chat, []string{"GOOGLE_CLOUD_PROJECT", "p", "GOOGLE_CLOUD_LOCATION", "l"}, "https://l-aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi"},
		{"bedrock", Chat, []string{"AWS_REGION", "eu-west-1"}, "https://bedrock-mantle.eu-west-1.api.aws/v1"},
		{"ollama", Chat, nil, "http://localhost:11434/v1"},
		{"ollama", Chat, []string{"OLLAMA_HOST", "0.0.0.0"}, "http://localhost:11434/v1"},
		{"ollama", Ollama, []string{"OLLAMA_HOST", "box:1234"}, "http://box:1234"},
		{"anthropic", Messages, []string{"ANTHROPIC_BASE_URL", "https://proxy.test"}, "https://proxy.test"},
		{"anthropic", Chat, []string{"ANTHROPIC_BASE_URL", "https://proxy.test"}, "https://proxy.test/v1"},
		{"lmstudio", Chat, []string{"LM_STUDIO_API_BASE", "http://box:1234/v1"}, "http://box:1234/v1"},
		{"groq", Chat, []string{"GROQ_BASE_URL", "http://h/v1"}, "http://h/v1"},
		{"gemini", Gemini, []string{"GEMINI_BASE_URL", "http://h"}, "http://h/v1beta"},
		{"gemini", Gemini, []string{"GOOGLE_GEMINI_BASE_URL", "https://h/gemini"}, "https://h/gemini/v1beta"},
		{"gemini", Gemini, []string{"GOOGLE_GEMINI_BASE_URL", "https://h/gemini/"}, "https://h/gemini/v1beta"},
		{"gemini", Gemini, []string{"GOOGLE_GEMINI_BASE_URL", "https://h/gemini/v1beta/"}, "https://h/gemini/v1beta/"},
		{"gemini", Gemini, []string{"GOOGLE_GEMINI_BASE_URL", "https://h/x/v1"}, "https://h/x/v1"},
		{"gemini", Chat, []string{"GOOGLE_GEMINI_BASE_URL", "https://h/gemini"}, "https://h/gemini/v1beta/openai"},
		{"dashscope", Chat, []string{"DASHSCOPE_API_BASE", "https://dashscope.aliyuncs.com/compatible-mode/v1"}, "https://dashscope.aliyuncs.com/compatible-mode/v1"},
		{"nvidia", Chat, nil, "https://integrate.api.nvidia.com/v1"},
		{"zai", Chat, nil, "https://api.z.ai/api/paas/v4"},
		{"deepinfra", Chat, nil, "https://api.deepinfra.com/v1/openai"},
		{"cloudflare-gateway", Chat, []string{"CLOUDFLARE_GATEWAY_BASE_URL", "http://h/x"}, "http://h/x"},
		{"vllm", Chat, []string{"VLLM_BASE_URL", "http://h:8000"}, "http://h:8000/v1"},
	} {
		p, _ := Find(test.provider)
		e, ok := p.Endpoint(test.api)
		if !ok {
			t.Fatalf("%s has no %s", test.provider, test.api)
		}
		if got, _, err := p.Address(e, env(test.env...), nil); err != nil || got != test.want {
			t.Errorf("%+v: %s, %v", test, got, err)
		}
	}
	azure, _ := Find("azure")
	_, _, err := azure.Address(azure.Endpoints[0], env(), nil)
	if missing, ok := errors.AsType[*MissingValue](err); !ok || !strings.Contains(missing.Error(), "AZURE_RESOURCE_NAME") || !strings.Contains(missing.Error(), "AZURE_OPENAI_ENDPOINT") {
		t.Errorf("error %v", err)
	}
	if got, _, err := azure.Address(azure.Endpoints[0], env(), map[string]string{"resource": "acme"}); err != nil || !strings.Contains(got, "acme.openai") {
		t.Errorf("%s, %v", got, err)
	}
	openai, _ := Find("openai")
	if _, variable, err := openai.Address(openai.Endpoints[0], env("OPENAI_BASE_URL", "localhost:1"), nil); err == nil || variable != "OPENAI_BASE_URL" {
		t.Errorf("an address without a scheme: %v", err)
	}
}

func TestOllamaHostInAllItsForms(t *testing.T) {
	for value, want := range map[string]string{
		"": "http://localhost:11434", "127.0.0.1": "http://127.0.0.1:11434", "box": "http://box:11434", "box:1234": "http://box:1234", ":1234": "http://localhost:1234",
		"0.0.0.0": "http://localhost:11434", "0.0.0.0:1234": "http://localhost:1234", "[::]:1234": "http://localhost:1234", "::": "http://localhost:11434",
		"[::1]:1234": "http://[::1]:1234", "::1": "http://[::1]:11434", "http://box": "http://box:80", "https://box": "https://box:443", "https://box:8443/": "https://box:8443",
		"http://box:11434/v1": "http://box:11434", "http://box:1/ollama": "http://box:1/ollama", "http://box:1/ollama/v1": "http://box:1/ollama", ` "box:1234" `: "http://box:1234",
	} {
		if got, err := OllamaURL(value); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", value, got, err, want)
		}
	}
	for _, value := range []string{"ftp://box", "box:port", "user@box", "a b"} {
		if got, err := OllamaURL(value); err == nil {
			t.Errorf("%q is taken for %s", value, got)
		}
	}
}

func TestKeysAreFoundUnderAnyUsualName(t *testing.T) {
	gemini, _ := Find("google")
	if key, variable := gemini.Key(env("GOOGLE_API_KEY", " k\n")); key != "k" || variable != "GOOGLE_API_KEY" {
		t.Errorf("%q in %s", key, variable)
	}
	if key, _ := gemini.Key(env("GOOGLE_GENERATIVE_AI_API_KEY", "k")); key != "k" {
		t.Errorf("%q", key)
	}
	if key, variable := gemini.Key(env()); key != "" || variable != "GEMINI_API_KEY" {
		t.Errorf("%q in %s", key, variable)
	}
}
