package server

import (
	"net/http"

	"github.com/troupe-dev/troupe"
)

// A completion is an answer, or a piece of one.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index        int     `json:"index"`
	Message      *answer `json:"message,omitempty"`
	Delta        *answer `json:"delta,omitempty"`
	FinishReason *string `json:"finish_reason"`
}

type answer struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content"`
}

// usage is how many tokens a run has used, all its turns and nested runs included.
type usage struct {
	Prompt            int               `json:"prompt_tokens"`
	Completion        int               `json:"completion_tokens"`
	Total             int               `json:"total_tokens"`
	PromptDetails     promptDetails     `json:"prompt_tokens_details"`
	CompletionDetails completionDetails `json:"completion_tokens_details"`
}

type promptDetails struct {
	Cached int `json:"cached_tokens"`
}

type completionDetails struct {
	Reasoning int `json:"reasoning_tokens"`
}

func usageOf(end *troupe.RunFinished) *usage {
	u := end.Spent.Add(end.SpentBelow).Usage
	return &usage{u.Input, u.Output, u.Input + u.Output, promptDetails{u.CachedInput}, completionDetails{u.Reasoning}}
}

// finishOf is OpenAI's word for why a run has ended.
func finishOf(stop string) string {
	switch stop {
	case "length", "turns", "tool_calls", "tokens", "cost", "time":
		return "length"
	case "content_filter":
		return "content_filter"
	}
	return "stop"
}

// An openaiError is a problem in the shape that clients of OpenAI's API know.
type openaiError struct {
	Error openaiErrorBody `json:"error"`
}

type openaiErrorBody struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (p *problem) asOpenAI() openaiError {
	body := openaiErrorBody{Message: p.Detail, Type: "invalid_request_error"}
	switch {
	case p.Status >= http.StatusInternalServerError:
		body.Type = "server_error"
	case p.Status == http.StatusTooManyRequests:
		body.Type = "rate_limit_error"
	}
	if p.param != "" {
		body.Param = &p.param
	}
	if p.code != "" {
		body.Code = &p.code
	}
	return openaiError{body}
}
