package models

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/anthropic"
	"github.com/troupe-dev/troupe/model/catalog"
	"github.com/troupe-dev/troupe/model/gemini"
	"github.com/troupe-dev/troupe/model/ollama"
	"github.com/troupe-dev/troupe/model/openai"
	"github.com/troupe-dev/troupe/model/provider"
	"github.com/troupe-dev/troupe/model/responses"
)

// spoken are the protocols that there is a client for.
var spoken = []provider.API{provider.Messages, provider.Gemini, provider.Responses, provider.Ollama, provider.Chat}

func speaks(api provider.API) bool { return slices.Contains(spoken, api) }

// How long servers of the user's own are waited for, which load models, read long
// prompts and collect calls without a word.
const (
	slowBegin   = 30 * time.Minute
	slowSilence = 10 * time.Minute
)

// client makes the model of an endpoint. It sends nothing.
func (c *Chooser) client(e *Endpoint, info catalog.Info) (troupe.Model, error) {
	quirks := quirksOf(e, info)
	begin, silence := e.configured.BeginTimeout, e.configured.IdleTimeout
	if quirks.Slow || e.IsLocal() {
		if silence == 0 {
			silence = slowSilence
		}
		if begin == 0 {
			begin = max(slowBegin, silence)
		}
	}
	keyHeader := e.KeyHeader
	if keyHeader == "" {
		keyHeader = "Authorization" // those whose usual header is another one are told
	}
	own := e.configured
	switch e.API {
	case provider.Messages:
		return anthropic.New(anthropic.Config{
			BaseURL: e.BaseURL, Key: e.Key, KeyHeader: keyHeader, Model: e.Model, Headers: e.Headers, HTTPClient: c.signingClient(e), Known: &info, Log: c.Log,
			BeginTimeout: begin, IdleTimeout: silence, AnswerTimeout: own.AnswerTimeout, MaxAnswer: own.MaxAnswer, MaxLine: own.MaxLine,
		})
	case provider.Gemini:
		return gemini.New(gemini.Config{
			BaseURL: e.BaseURL, Key: e.Key, KeyHeader: keyHeader, Model: e.Model, Headers: e.Headers, HTTPClient: c.Client, Known: &info, Log: c.Log,
			BeginTimeout: begin, IdleTimeout: silence, AnswerTimeout: own.AnswerTimeout, MaxAnswer: own.MaxAnswer, MaxLine: own.MaxLine,
		})
	case provider.Responses:
		return responses.New(responses.Config{
			BaseURL: e.BaseURL, Key: e.Key, KeyHeader: keyHeader, Model: e.Model, Headers: e.Headers, HTTPClient: c.Client, Known: &info, Log: c.Log,
			BeginTimeout: begin, IdleTimeout: silence, AnswerTimeout: own.AnswerTimeout, MaxAnswer: own.MaxAnswer, MaxLine: own.MaxLine,
		})
	case provider.Ollama:
		return ollama.New(ollama.Config{
			BaseURL: e.BaseURL, Key: e.Key, Model: e.Model, Headers: e.Headers, HTTPClient: c.Client, Log: c.Log,
			ContextLength: e.contextLength,
			BeginTimeout:  begin, IdleTimeout: silence, AnswerTimeout: own.AnswerTimeout, MaxAnswer: own.MaxAnswer, MaxLine: own.MaxLine,
		})
	case provider.Chat:
		return openai.New(openai.Config{
			BaseURL: e.BaseURL, Key: e.Key, KeyHeader: e.KeyHeader, Model: e.Model, Headers: e.Headers, HTTPClient: c.Client,
			Quirks: &quirks, Efforts: info.Efforts, TextCalls: textCalls[own.Quirks.TextCalls], Log: c.Log,
			BeginTimeout: begin, IdleTimeout: silence, AnswerTimeout: own.AnswerTimeout, MaxAnswer: own.MaxAnswer, MaxLine: own.MaxLine,
		})
	}
	return nil, fmt.Errorf("%s is not spoken here", e.API)
}

// signingClient is the client of an endpoint, which signs requests where that is what
// opens the door.
func (c *Chooser) signingClient(e *Endpoint) *http.Client {
	if e.aws.Keys == nil {
		return c.Client
	}
	client := http.Client{}
	if c.Client != nil {
		client = *c.Client
	}
	client.Transport = e.aws.Transport("bedrock", e.awsRegion, client.Transport)
	return &client
}

var textCalls = map[string]openai.TextCalls{"always": openai.TextCallsAlways, "never": openai.TextCallsNever}

// quirksOf are the quirks of the provider, those that the catalogue has of the model,
// and those that the configuration says, which go before all others.
func quirksOf(e *Endpoint, info catalog.Info) provider.Quirks {
	q := e.known.Quirks
	q.NoTemperature = q.NoTemperature || info.NoTemperature
	q.ReasoningBack = q.ReasoningBack || info.ReasoningBack
	if q.MaxTokensField == "" {
		q.MaxTokensField = info.MaxTokensField
	}
	if q.Schema == provider.SchemaStrict && !info.Strict {
		q.Schema = provider.SchemaJSON
	}
	own := e.configured.Quirks
	set := func(quirk *bool, configured *bool) {
		if configured != nil {
			*quirk = *configured
		}
	}
	set(&q.NoStreamOptions, own.NoStreamOptions)
	set(&q.ReasoningBack, own.ReasoningBack)
	set(&q.NoTools, own.NoTools)
	set(&q.OneSystem, own.OneSystem)
	if own.OneSystem == nil && e.configured.OneSystem {
		q.OneSystem = true
	}
	if own.MaxTokensField != "" {
		q.MaxTokensField = own.MaxTokensField
	}
	if own.Schema != "" {
		q.Schema = provider.SchemaLevel(own.Schema)
	}
	switch own.ToolIDs {
	case "any":
		q.IDs = provider.AnyID
	case "40", "9":
		q.IDs = provider.IDForm(own.ToolIDs)
	}
	return q
}
