package models

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/openai"
	"github.com/troupe-dev/troupe/model/rehearsal"
)

// An Opened is a model that is ready to be asked, and what is known of it.
type Opened struct {
	Choice
	Model  troupe.Model
	Price  troupe.Price
	Window int
}

// Open makes the model of a choice. It sends nothing.
func (c *Chooser) Open(choice Choice) (Opened, error) {
	if choice.IsRehearsal() {
		return Opened{Choice: choice, Model: rehearsal.New()}, nil
	}
	e, err := c.Endpoint(choice)
	if err != nil {
		return Opened{}, err
	}
	model, err := openai.New(openai.Config{BaseURL: e.BaseURL, Key: e.Key, Model: e.Model, Headers: e.Headers, OneSystem: e.OneSystem, HTTPClient: c.Client})
	if err != nil {
		return Opened{}, fmt.Errorf("model %s (%s): %w", choice.Ref, choice.From, err)
	}
	known := c.Config.Providers[e.Provider].Models[e.Model]
	return Opened{
		Choice: choice, Model: model, Window: known.Window,
		Price: troupe.Price{Input: known.Price.Input, CachedInput: known.Price.CachedInput, Output: known.Price.Output},
	}, nil
}

// An Endpoint is where a model is, and what opens the door.
type Endpoint struct {
	Provider, Model string
	BaseURL         string
	// KeyEnv is the variable that the key is in, empty where none is needed.
	KeyEnv  string
	Key     openai.Secret
	Headers map[string]string
	// OneSystem is openai.Config's.
	OneSystem bool
}

// Endpoint says where the model of a choice is. It fails where the provider needs
// a key and there is none.
func (c *Chooser) Endpoint(choice Choice) (Endpoint, error) {
	name, model, err := c.split(choice.Ref)
	if err != nil {
		return Endpoint{}, fmt.Errorf("model %.100q (%s): %w", choice.Ref, cmp.Or(choice.From, "default"), err)
	}
	e := Endpoint{Provider: name, Model: model}
	var needsKey bool
	e.BaseURL, e.KeyEnv, _ = openai.Provider(name)
	needsKey = e.KeyEnv != ""
	if base := c.Getenv("OPENAI_BASE_URL"); name == "openai" && base != "" {
		e.BaseURL, needsKey = base, false
	}
	if configured, ok := c.Config.Providers[name]; ok {
		e.BaseURL = cmp.Or(configured.BaseURL, e.BaseURL)
		e.Headers, e.OneSystem = configured.Headers, configured.OneSystem
		if configured.KeyEnv != "" {
			e.KeyEnv, needsKey = configured.KeyEnv, true
		} else if configured.BaseURL != "" || authorizes(configured.Headers) {
			needsKey = false
		}
	}
	if e.BaseURL == "" {
		return e, fmt.Errorf("model %s (%s): providers.%s has no base_url", choice.Ref, choice.From, name)
	}
	if e.KeyEnv != "" {
		e.Key = openai.Secret(c.Getenv(e.KeyEnv))
	}
	if needsKey && e.Key == "" {
		return e, &MissingKey{Ref: choice.Ref, From: choice.From, Variable: e.KeyEnv}
	}
	return e, nil
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
	return fmt.Sprintf("model %s (%s): %s is not set; put the provider's key there, or choose another model with --model", e.Ref, e.From, e.Variable)
}
