package openai

import (
	"strconv"
	"strings"
)

// Provider returns the public base URL of a provider by its short name, and the
// environment variable that by custom holds its key. A provider that runs on the
// user's machine needs no key and has no variable.
func Provider(name string) (baseURL, keyEnv string, ok bool) {
	switch name {
	case "openai":
		return "https://api.openai.com/v1", "OPENAI_API_KEY", true
	case "openrouter":
		return "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", true
	case "groq":
		return "https://api.groq.com/openai/v1", "GROQ_API_KEY", true
	case "deepseek":
		return "https://api.deepseek.com", "DEEPSEEK_API_KEY", true
	case "mistral":
		return "https://api.mistral.ai/v1", "MISTRAL_API_KEY", true
	case "ollama":
		return "http://localhost:11434/v1", "", true
	case "vllm":
		return "http://localhost:8000/v1", "", true
	case "lmstudio":
		return "http://localhost:1234/v1", "", true
	}
	return "", "", false
}

const mistralHost = "api.mistral.ai"

// takesStreamOptions is false of Mistral, which refuses fields it does not know
// and counts tokens without being asked.
func takesStreamOptions(host string) bool { return host != mistralHost }

func seedField(host string) string {
	if host == mistralHost {
		return "random_seed"
	}
	return "seed"
}

// maxTokensField knows the models of OpenAI that refuse max_tokens: o1, o3 and
// their kin, and GPT from 5 on. A vendor's prefix, as in openai/gpt-5, is no matter.
func maxTokensField(model string) string {
	model = model[strings.LastIndexByte(model, '/')+1:]
	if generation(model, "gpt-") >= 5 || generation(model, "o") >= 1 {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

// generation is the number behind the prefix, if nothing but a hyphen or a dot
// follows it: 5 of gpt-5.1, 0 of gpt-4o.
func generation(model, prefix string) int {
	rest, ok := strings.CutPrefix(model, prefix)
	if !ok {
		return 0
	}
	if end := strings.IndexAny(rest, "-."); end >= 0 {
		rest = rest[:end]
	}
	n, _ := strconv.Atoi(rest)
	return n
}
