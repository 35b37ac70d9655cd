package otel

import "strings"

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

// providerOf tells a provider by the model's name, as the conventions spell it. It
// returns nothing where the name does not tell.
func providerOf(model string) string {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, f := range families {
		if strings.HasPrefix(name, f.prefix) {
			return f.provider
		}
	}
	return ""
}
