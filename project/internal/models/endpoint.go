package models

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/model/catalog"
	"github.com/troupe-dev/troupe/model/provider"
	"github.com/troupe-dev/troupe/project/internal/config"
)

// An Endpoint is where a model is, and what opens the door.
type Endpoint struct {
	Provider, Model string
	API             provider.API
	BaseURL         string
	// URLEnv is the variable that the base URL is from, empty where it is from elsewhere.
	URLEnv string
	// KeyEnv is the variable that the key is in, empty where none is needed.
	KeyEnv string
	Key    wire.Secret
	// KeyHeader is the header that the key goes into, empty for a bearer token.
	KeyHeader string
	Headers   map[string]string
	// aws signs the requests where there is no key but the account's own, for a region.
	aws       wire.AWSAccount
	awsRegion string

	// known is the provider's row of the table, zero for one of the user's own.
	known      provider.Provider
	configured config.Provider
	// contextLength is the window that the server is asked to use, 0 where it decides.
	contextLength int
}

// IsLocal says whether the server is on this machine or in a private network.
func (e *Endpoint) IsLocal() bool {
	at, err := url.Parse(e.BaseURL)
	if err != nil {
		return false
	}
	host := at.Hostname()
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast())
}

// Endpoint says where the model of a choice is. It fails where the provider needs
// a key and there is none.
func (c *Chooser) Endpoint(choice Choice) (Endpoint, error) {
	known, name, model, err := c.split(choice.Ref)
	if err != nil {
		return Endpoint{}, fmt.Errorf("model %.100q (%s): %w", choice.Ref, cmp.Or(choice.From, "default"), err)
	}
	wrong := func(err error) error { return fmt.Errorf("model %s (%s): %w", choice.Ref, choice.From, err) }
	e := Endpoint{Provider: name, Model: model, known: known, configured: c.Configured()[name]}
	if model == "" {
		e.Model = c.usual(&known)
	}
	account, err := c.awsAccount(&e)
	if err != nil {
		return e, wrong(err)
	}
	if account.Keys != nil && e.configured.API == "" && strings.Contains(e.Model, "claude") {
		e.configured.API = string(provider.Messages) // the endpoint that the account's own keys open
	}
	at, err := e.protocol()
	if err != nil {
		return e, wrong(err)
	}
	needsKey, err := c.address(&e, at, account.Region)
	if err != nil {
		return e, wrong(err)
	}
	if e.BaseURL == "" {
		return e, wrong(fmt.Errorf("providers.%s has no base_url", name))
	}
	c.open(&e, at)
	e.sign(account)
	if needsKey && e.Key == "" && e.aws.Keys == nil {
		return e, &MissingKey{Ref: choice.Ref, From: choice.From, Variable: e.KeyEnv}
	}
	return e, nil
}

// protocol chooses the API to speak and returns the provider's endpoint for it.
func (e *Endpoint) protocol() (provider.Endpoint, error) {
	wanted := spoken
	if api := e.configured.API; api != "" {
		wanted = []provider.API{provider.API(api)}
		if !speaks(wanted[0]) {
			return provider.Endpoint{}, fmt.Errorf("providers.%s.api is %s, which is not spoken here", e.Provider, api)
		}
	} else if e.configured.Type == "openai" || strings.HasSuffix(strings.TrimRight(e.configured.BaseURL, "/"), "/v1") {
		wanted = []provider.API{provider.Chat}
	} else if info, ok := catalog.Find(e.known.Name, e.Model); ok && info.API != "" && speaks(provider.API(info.API)) {
		if at, ok := e.known.Endpoint(provider.API(info.API)); ok { // the model is not to be had otherwise
			e.API = at.API
			return at, nil
		}
	}
	at, ok := e.known.Endpoint(wanted...)
	if !ok && len(e.known.Endpoints) > 0 && e.configured.BaseURL == "" {
		return at, fmt.Errorf("%s does not speak %s; set providers.%s.base_url if yours does", e.Provider, wanted[0], e.Provider)
	}
	if !ok {
		at.API = wanted[len(wanted)-1]
		if e.configured.API == "" {
			at.API = provider.Chat
		}
		at.KeyHeader = usualKeyHeaders[at.API]
	}
	e.API = at.API
	return at, nil
}

// usualKeyHeaders are the headers for the key of protocols that do not use a bearer
// token, at servers of which nothing else is known.
var usualKeyHeaders = map[provider.API]string{provider.Messages: "x-api-key", provider.Gemini: "x-goog-api-key"}

// address finds the base URL and reports whether a key is needed there.
func (c *Chooser) address(e *Endpoint, at provider.Endpoint, awsRegion string) (needsKey bool, err error) {
	needsKey = !e.known.Local && len(e.known.KeyEnv) > 0
	if e.configured.KeyEnv != "" {
		needsKey = true
	} else if e.configured.BaseURL != "" || authorizes(e.configured.Headers) {
		needsKey = false
	}
	if e.configured.BaseURL != "" {
		e.BaseURL = e.configured.BaseURL
		return needsKey, nil
	}
	if at.URL == "" {
		return needsKey, nil
	}
	getenv := func(name string) string {
		if value := c.Getenv(name); value != "" || name != "AWS_REGION" || c.Getenv("AWS_DEFAULT_REGION") != "" {
			return value
		}
		return awsRegion
	}
	address, variable, err := e.known.Address(at, getenv, e.configured.Vars)
	if missing, ok := errors.AsType[*provider.MissingValue](err); ok {
		return false, fmt.Errorf("%w; set it, or providers.%s.vars.%s in %s", missing, e.Provider, missing.Name, config.Name)
	}
	if err != nil {
		return false, err
	}
	e.URLEnv = variable
	if variable != "" && e.configured.KeyEnv == "" {
		needsKey = needsKey && e.Provider != "openai"
	}
	if key, _ := e.known.Key(c.Getenv); e.known.Name == "ollama" && variable == "" && key != "" {
		address = strings.Replace(address, "http://localhost:11434", "https://ollama.com", 1)
	}
	e.BaseURL = address
	return needsKey, nil
}

// open adds the key and the headers.
func (c *Chooser) open(e *Endpoint, at provider.Endpoint) {
	if own := e.configured.KeyEnv; own != "" {
		e.KeyEnv, e.Key = own, wire.Secret(c.Getenv(own))
	} else {
		key, variable := e.known.Key(c.Getenv)
		e.Key = wire.Secret(key)
		if !e.known.Local || key != "" {
			e.KeyEnv = variable
		}
	}
	e.KeyHeader = at.KeyHeader
	if e.KeyEnv == "ANTHROPIC_AUTH_TOKEN" {
		e.KeyHeader = ""
	}
	e.Headers = maps.Clone(at.Headers)
	add := func(name, value string) {
		if e.Headers == nil {
			e.Headers = map[string]string{}
		}
		e.Headers[name] = value
	}
	for name, variable := range e.known.HeaderEnv {
		if value := c.Getenv(variable); value != "" {
			add(name, value)
		}
	}
	for name, value := range e.configured.Headers {
		add(name, value)
	}
}

// awsAccount is the account with Amazon of somebody who has no key for Bedrock.
func (c *Chooser) awsAccount(e *Endpoint) (wire.AWSAccount, error) {
	key, _ := e.known.Key(c.Getenv)
	if e.known.Name != "bedrock" || key != "" || e.configured.KeyEnv != "" || authorizes(e.configured.Headers) {
		return wire.AWSAccount{}, nil
	}
	return wire.FindAWSAccount(c.Getenv)
}

// sign has the account sign the requests to Bedrock's own endpoint. The compatible one
// takes bearer tokens alone.
func (e *Endpoint) sign(account wire.AWSAccount) {
	at, err := url.Parse(e.BaseURL)
	if err != nil || e.Key != "" || e.API != provider.Messages {
		return
	}
	rest, ok := strings.CutPrefix(at.Hostname(), "bedrock-runtime.")
	if region, _, found := strings.Cut(rest, "."); ok && found {
		e.aws, e.awsRegion = account, region
	}
}

// authorizes says whether the headers hold a key themselves.
func authorizes(headers map[string]string) bool {
	for name := range headers {
		if strings.EqualFold(name, "Authorization") || strings.Contains(strings.ToLower(http.CanonicalHeaderKey(name)), "api-key") {
			return true
		}
	}
	return false
}

// A MissingKey is a provider's key that is not in the environment.
type MissingKey struct{ Ref, From, Variable string }

// Error names the variable to set.
func (e *MissingKey) Error() string {
	return fmt.Sprintf("model %s (%s): %s is not set; put the provider's key there or into .env, or choose another model", e.Ref, e.From, e.Variable)
}

// Reason is the word that the catalogue of failures has for it: see [troupe.ModelError].
func (e *MissingKey) Reason() string { return "key" }
