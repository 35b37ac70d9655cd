package otel

import (
	"cmp"
	"strings"
)

// families are models that one provider alone offers, or offers first, by how
// their names begin. Models with open weights are anybody's to serve.
var families = []struct{ prefix, provider string }{
	{"gpt-oss", ""},
	{"gpt-", "openai"},
	{"chatgpt-", "openai"},
	{"o1", "openai"},
	{"o3", "openai"},
	{"o4-", "openai"},
	{"claude-", "anthropic"},
	{"gemini-", "gcp.gemini"},
	{"grok-", "x_ai"},
}

// spelled are providers that the conventions spell differently.
var spelled = map[string]string{
	"azure": "azure.ai.openai", "bedrock": "aws.bedrock", "gemini": "gcp.gemini", "mistral": "mistral_ai", "vertex": "gcp.vertex_ai", "watsonx": "ibm.watsonx.ai", "xai": "x_ai",
}

// providerOf returns the provider as the conventions spell it: the one that is known, or
// the one that the model's name tells. It returns nothing where that does not tell.
func providerOf(provider, model string) string {
	if provider != "" {
		return cmp.Or(spelled[provider], provider)
	}
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, f := range families {
		if strings.HasPrefix(name, f.prefix) {
			return f.provider
		}
	}
	return ""
}
