package provider

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// Key returns the provider's key, and the variable that holds it. Without one, the
// variable is the one that people usually set; it is empty where there is none.
func (p *Provider) Key(getenv func(string) string) (key, variable string) {
	for _, name := range p.KeyEnv {
		if key := strings.TrimSpace(getenv(name)); key != "" {
			return key, name
		}
	}
	if len(p.KeyEnv) == 0 {
		return "", ""
	}
	return "", p.KeyEnv[0]
}

var inBraces = regexp.MustCompile(`\{([a-z]+)\}`)

// Address returns where an endpoint is, and the variable that says so, if one does.
// What stands in braces is filled from vars and then from the variables that people
// set for it. It is a *MissingValue error if there is nothing to fill it with.
func (p *Provider) Address(e Endpoint, getenv func(string) string, vars map[string]string) (address, variable string, err error) {
	for _, name := range p.URLEnv {
		if value := strings.TrimSpace(getenv(name)); value != "" {
			address, err := p.given(e, value)
			if err != nil {
				return "", name, fmt.Errorf("%s: %w", name, err)
			}
			return address, name, nil
		}
	}
	address = inBraces.ReplaceAllStringFunc(e.URL, func(braced string) string {
		name := strings.Trim(braced, "{}")
		value := vars[name]
		for _, env := range p.Vars[name] {
			if value == "" {
				value = getenv(env)
			}
		}
		value = strings.Trim(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(value), "https://"), "http://"), "/ ")
		if value == "" && err == nil {
			err = &MissingValue{Provider: p.Name, Name: name, Variables: p.Vars[name]}
		}
		return value
	})
	return address, "", err
}

// A MissingValue is a part of an address that nobody has said.
type MissingValue struct {
	Provider, Name string
	Variables      []string
}

// Error says which variable to set.
func (e *MissingValue) Error() string {
	if len(e.Variables) == 0 {
		return fmt.Sprintf("the address of %s has a {%s} that nothing says", e.Provider, e.Name)
	}
	whole := ""
	if p, ok := Find(e.Provider); ok && len(p.URLEnv) > 0 {
		whole = ", nor is " + p.URLEnv[0] + " for all of it"
	}
	return fmt.Sprintf("the address of %s needs %s, which is not set%s", e.Provider, e.Variables[0], whole)
}

// given is the address that a variable says, with the path that the endpoint has
// where people leave it out.
func (p *Provider) given(e Endpoint, value string) (string, error) {
	own, err := url.Parse(inBraces.ReplaceAllString(e.URL, "x"))
	if err != nil {
		return "", err
	}
	if p.Name == "ollama" {
		base, err := OllamaURL(value)
		if err != nil {
			return "", err
		}
		return base + own.Path, nil
	}
	at, err := url.Parse(value)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return "", fmt.Errorf("this is not an address that begins with http:// or https://")
	}
	if strings.Trim(at.Path, "/") == "" && p.Name != "openai" {
		at.Path = own.Path
	} else if p.Name == "gemini" && !hasVersion.MatchString(at.Path) {
		at.Path = strings.TrimRight(at.Path, "/") + own.Path // as Google's own libraries do
	}
	return at.String(), nil
}

var hasVersion = regexp.MustCompile(`/v\d+(alpha|beta)?\d*(/|$)`)

// OllamaURL reads OLLAMA_HOST as Ollama's own programs do: a host, a port or both,
// with or without a scheme and a path. An address that a server listens on for
// everybody, such as 0.0.0.0, is this machine for a client.
func OllamaURL(value string) (string, error) {
	value = strings.Trim(strings.TrimSpace(value), `"' `)
	scheme, rest, hasScheme := strings.Cut(value, "://")
	if !hasScheme {
		scheme, rest = "http", value
	}
	port := "11434"
	switch scheme {
	case "http":
		if hasScheme {
			port = "80"
		}
	case "https":
		port = "443"
	default:
		return "", fmt.Errorf("its scheme is neither http nor https")
	}
	rest, path, _ := strings.Cut(rest, "/")
	host := rest
	if h, p, err := net.SplitHostPort(rest); err == nil {
		host = h
		if p != "" {
			port = p
		}
	} else {
		host = strings.Trim(rest, "[]")
	}
	switch host {
	case "", "0.0.0.0", "::", "*":
		host = "localhost"
	}
	if strings.ContainsAny(host, " @?#") || !isPort(port) {
		return "", fmt.Errorf("this is no host and port")
	}
	address := scheme + "://" + net.JoinHostPort(host, port)
	if path = strings.Trim(path, "/"); path != "" && path != "v1" {
		address += "/" + strings.TrimSuffix(path, "/v1")
	}
	return address, nil
}

func isPort(text string) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return text != "" && len(text) <= 5
}
