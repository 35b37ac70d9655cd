package wire

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// judge decides what a complaint is about and whether the same request may succeed
// later. The words go before the status where both speak: gateways answer with 400
// or 500 for whatever the provider behind them said.
func (c *complaint) judge(e *troupe.ModelError) {
	e.Temporary = isTemporary(e.Status)
	if e.Status < 300 {
		e.Temporary = !strings.HasPrefix(c.kind, "invalid_")
	}
	e.Reason = c.reason(e.Status)
	switch e.Reason {
	case "context", "too_large":
		e.Err = troupe.ErrContextFull
		e.Temporary = false
	case "money", "key", "model", "memory", "country", "refused", "address", "tools":
		e.Temporary = false
	case "rate", "overloaded":
		e.Temporary = e.Temporary || e.Status < 400 || e.Status >= 500
	}
	if c.mentions("tool_use_failed") {
		e.Temporary = true // the model may call better next time
	}
	if m := tryAgainIn.FindStringSubmatch(c.text); c.wait == "" && e.Reason == "rate" && m != nil {
		c.wait = m[1]
	}
	if wait, err := time.ParseDuration(c.wait); err == nil {
		e.RetryAfter = bounded(wait.Seconds(), time.Second)
	}
}

// tryAgainIn is how OpenAI and Groq say how long to wait.
var tryAgainIn = regexp.MustCompile(`(?i)try again in ((?:\d+h)?(?:\d+m)?(?:[\d.]+m?s)?)`)

func (c *complaint) reason(status int) string {
	switch c.number {
	case "1002": // MiniMax has numbers of its own
		return "rate"
	case "1004":
		return "key"
	case "1008":
		return "money"
	case "1026", "1027":
		return "refused"
	}
	switch {
	case status == http.StatusProxyAuthRequired: // no provider's
		return "unreachable"
	case c.isAboutMoney() || status == http.StatusPaymentRequired:
		return "money"
	case c.isAboutLength(status):
		return "context"
	case status == http.StatusRequestEntityTooLarge || status == http.StatusTooManyRequests && c.mentions("request too large"):
		return "too_large"
	case status != http.StatusTooManyRequests && c.isAboutMemory():
		return "memory"
	case c.isAboutKey(status):
		return "key"
	case c.isAboutCountry(status):
		return "country"
	case c.isAboutTools(status):
		return "tools"
	case c.isAboutModel(status):
		return "model"
	case c.isAboutAddress(status):
		return "address"
	case c.isRefused(status):
		return "refused"
	case status == http.StatusForbidden: // nothing is said against what was asked, so it is about who asks
		return "key"
	case status == http.StatusTooManyRequests || c.mentions("rate_limit", "rate limit", "too many requests", "throttl", "resource_exhausted"):
		return "rate"
	case status == 529 || status == http.StatusServiceUnavailable || c.mentions("overloaded", "at capacity", "insufficient_system_resource", "server is busy", "temporarily unavailable", "model is loading", "loading model"):
		return "overloaded"
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout || status == 524:
		return "timeout"
	case status >= 500:
		return "overloaded"
	case status >= 400 && c.isAboutSchema():
		return "schema"
	case status >= 400:
		return "request"
	case strings.HasPrefix(c.kind, "invalid_") || status >= 300:
		return "request"
	}
	return "overloaded" // a failure of its own, in the midst of a good answer
}

// isTemporary reports whether the same request may succeed later.
func isTemporary(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// isAboutMoney reports whether waiting will not help, because an account is empty
// or at its limit. Some servers answer so with the status of a rate limit.
func (c *complaint) isAboutMoney() bool {
	return c.mentions("insufficient_quota", "spend_limit", "spend limit", "billing_hard_limit", "billing_not_active",
		"insufficient balance", "insufficient_balance", "insufficient credit", "credit balance")
}

func (c *complaint) isAboutKey(status int) bool {
	if status == http.StatusUnauthorized {
		return true
	}
	if status >= 500 || status == http.StatusTooManyRequests {
		return false
	}
	return c.mentions("invalid_api_key", "invalid api key", "incorrect api key", "api key not valid", "authentication_error", "permission_denied", "permission_error")
}

// isAboutModel reports whether the server does not have the model.
func (c *complaint) isAboutModel(status int) bool {
	if c.mentions("model_not_found", "not_found_error", "unknown model", "model not found", "no such model", "model_not_available", "access to the model", "is not a valid model") {
		return true
	}
	return (status == http.StatusNotFound || status == http.StatusBadRequest) &&
		c.mentions("model") && c.mentions("does not exist", "not found", "do not have access", "not supported", "try pulling it", "no endpoints found") &&
		!c.isAboutSchema() && !c.isAboutParameter()
}

// isAboutParameter reports whether the server has the model, and does not take something
// that was sent along for it.
func (c *complaint) isAboutParameter() bool {
	return c.mentions("unsupported parameter", "unsupported_parameter", "unsupported value", "unsupported_value",
		"not supported with this model", "not supported by this model", "not supported for this model", "not supported in this model", "not supported on this model")
}

// isAboutMemory reports whether the server cannot hold the model, or the window that it
// was asked for: it will not the next time either.
func (c *complaint) isAboutMemory() bool {
	return c.mentions("requires more system memory", "out of memory", "outofmemory", "cudamalloc failed", "not enough memory",
		"insufficient memory") || c.mentions("buffer") && c.mentions("failed to allocate", "unable to allocate") // Ollama, llama.cpp, vLLM, LM Studio
}

// isAboutTools reports whether the model, or the server as it was started, has no calls.
func (c *complaint) isAboutTools(status int) bool {
	return (status == http.StatusBadRequest || status == http.StatusNotFound) &&
		c.mentions("does not support tools", "support tool use", "tool use is not supported", "tool calling is not supported", "enable-auto-tool-choice", // Ollama, OpenRouter, Groq, vLLM
			"'tools' is not supported") // OpenAI
}

// isAboutCountry reports whether the provider does not serve where the request is from.
func (c *complaint) isAboutCountry(status int) bool {
	return c.mentions("unsupported_country", "user location is not supported") || // OpenAI, Google
		status == http.StatusForbidden && !c.isPage && c.mentions("country", "region", "territor")
}

// isAboutAddress reports whether the server has nothing at the address: it says so, or
// answers that there is no such page and has no name for the failure. No API forbids by
// a page: that is of something in between.
func (c *complaint) isAboutAddress(status int) bool {
	if c.mentions("unknown_url", "unknown request url", "invalid url (", "unexpected endpoint or method", "no route matched",
		"http request to an https server", "plain http request was sent to https port") {
		return true
	}
	if status == http.StatusForbidden && c.isPage {
		return true
	}
	return (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) && c.code == "" && c.kind == "" && c.status == 0
}

// isRefused reports whether the provider does not want to answer this request, or
// this user.
func (c *complaint) isRefused(status int) bool {
	if status == http.StatusUnavailableForLegalReasons || status == http.StatusForbidden && c.mentions("policy", "violat", "unsafe") {
		return true
	}
	return status != http.StatusTooManyRequests && c.mentions("content_filter", "content_policy", "content policy", "content management policy", "moderation", "flagged", "safety system")
}

// isAboutSchema reports whether a server does not take the form in which an answer
// was asked for.
func (c *complaint) isAboutSchema() bool {
	return c.mentions("response_format", "response format", "json_schema", "json_object", "strict", "structured output", "output_config", "output format", "responsejsonschema", "response_schema")
}

// isAboutLength reports whether the request was too long. Rate limits speak of too
// many tokens too, so little is read into them.
func (c *complaint) isAboutLength(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests:
		return false
	}
	return c.mentions(
		"context_length_exceeded", "context length exceeded", "exceed_context_size", // OpenAI, llama.cpp
		"maximum context length", "exceeds the context", "exceed context limit", // OpenAI, vLLM, OpenRouter, Mistral
		"exceeds the available context size", "greater than the context length", // llama.cpp, LM Studio
		"reduce the length of the messages", "maximum prompt length", // Groq, xAI
		"prompt is too long", "input is too long", "too large for model", // Anthropic, Bedrock, Mistral
		"context window exceeds", "exceeded model token limit", "input token count", "too many tokens", // MiniMax, Kimi, Google
		"exceeded max context length", "too_many_prompt_tokens", "prompt too long", // Ollama, Perplexity
	)
}
