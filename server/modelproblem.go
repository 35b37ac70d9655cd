package server

import (
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/troupe-dev/troupe"
	causes "github.com/troupe-dev/troupe/model/problem"
)

// modelStatuses are the statuses of answers that a model is to blame for, by the code of
// the catalogue, and the code that clients of OpenAI's API know. What is wrong with our
// key, account or model is nothing that the client has done.
var modelStatuses = map[string]struct {
	status int
	openai string
}{
	"key": {http.StatusBadGateway, ""}, "money": {http.StatusBadGateway, ""}, "model": {http.StatusBadGateway, ""},
	"too_large": {http.StatusRequestEntityTooLarge, ""}, "context": {http.StatusBadRequest, "context_length_exceeded"},
	"rate": {http.StatusTooManyRequests, "rate_limit_exceeded"}, "overloaded": {http.StatusServiceUnavailable, ""},
	"refused": {http.StatusBadRequest, "content_filter"}, "unreachable": {http.StatusBadGateway, ""}, "certificate": {http.StatusBadGateway, ""},
	"timeout": {http.StatusGatewayTimeout, ""}, "incomplete": {http.StatusBadGateway, ""}, "schema": {http.StatusBadGateway, ""},
	"address": {http.StatusBadGateway, ""}, "tools": {http.StatusBadGateway, ""}, "memory": {http.StatusBadGateway, ""}, "country": {http.StatusBadGateway, ""}, "request": {http.StatusBadGateway, ""}, "output": {http.StatusBadGateway, ""},
}

// modelProblem says in the words of the catalogue why a model gave no answer. It is nil
// for an error that is about something else.
func modelProblem(err error) *problem {
	failure, isModel := errors.AsType[*troupe.ModelError](err)
	if _, isOutput := errors.AsType[*troupe.OutputError](err); !isModel && !isOutput {
		return nil
	}
	what := causes.Of(err)
	known, ok := modelStatuses[what.Code]
	if !ok {
		return nil
	}
	p := &problem{
		Status: known.status, Detail: what.String(), Code: reasons[what.Code], Cause: what.Cause, Next: what.Next, Details: what.Details,
		headers: map[string]string{"X-Should-Retry": strconv.FormatBool(what.Retried)}, // OpenAI's clients heed it
	}
	if p.Code == "" {
		p.Code = what.Code
	}
	if p.code = known.openai; p.code == "" {
		p.code = what.Code
	}
	if isModel && failure.RetryAfter > 0 {
		p.headers["Retry-After"] = strconv.Itoa(int(math.Ceil(failure.RetryAfter.Seconds())))
	}
	return p
}

// An unopened is an error of a model that cannot be asked as things stand, as where its
// key is not set. Its words are for whoever can put that right, and hold no secrets.
type unopened interface {
	error
	// Reason is that of a [troupe.ModelError].
	Reason() string
}

// unopenedProblem says why a model cannot be asked. It is nil for an error that is about
// something else.
func unopenedProblem(err error) *problem {
	why, ok := errors.AsType[unopened](err)
	if !ok {
		return nil
	}
	return &problem{
		Status: http.StatusServiceUnavailable, Detail: why.Error(), Code: why.Reason(), code: why.Reason(),
		headers: map[string]string{"X-Should-Retry": "false"},
	}
}
