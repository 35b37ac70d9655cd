// Package problem says in plain words what went wrong, why, and what to do about it.
//
// It is the one catalogue of causes: terminal, page and API say the same of the same
// failure. What a person needs is the sentence and the next step; the details are
// for whoever looks into it.
package problem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/room"
)

// A Problem is a failure as a person is told of it.
type Problem struct {
	// Code is one fixed word for the kind of failure, such as "key" or "rate".
	Code string `json:"code"`
	// Sentence says what happened.
	Sentence string `json:"sentence"`
	// Cause says why, where that is not plain from the sentence.
	Cause string `json:"cause,omitempty"`
	// Next says what to do.
	Next string `json:"next,omitempty"`
	// Details are the error itself, for whoever looks into it.
	Details string `json:"details,omitempty"`
	// Retried says that trying again later may help.
	Retried bool `json:"retried,omitempty"`
}

// String is the sentence and what to do.
func (p Problem) String() string {
	text := p.Sentence
	if p.Next != "" {
		text += " " + p.Next
	}
	return text
}

// Words are the sentence and what to do, empty where Troupe has no explanation.
func (p Problem) Words() string {
	if !p.IsExplained() {
		return ""
	}
	return p.String()
}

// IsExplained reports whether Troupe knows what the failure is about.
func (p Problem) IsExplained() bool { return p.Code != "" && p.Code != unexplained.Code }

// Lines are what happened, why and what to do, as far as they are known and not the details.
func (p Problem) Lines() []string {
	return slices.DeleteFunc([]string{p.Sentence, p.Cause, p.Next}, func(line string) bool { return line == "" || line == p.Details })
}

// A Known is an error that a package defines and this one does not know, with what
// to say of it.
type Known struct {
	Is error
	Problem
}

// Of says what an error is about. Errors of other packages can be explained by rows
// of their own, which go before the built-in ones. Of nil is the zero Problem.
func Of(err error, known ...Known) Problem {
	if err == nil {
		return Problem{}
	}
	p, ok := explain(err, known)
	if !ok {
		p = unexplained
	}
	p.Details = err.Error()
	return p
}

func explain(err error, known []Known) (Problem, bool) {
	for _, k := range known {
		if errors.Is(err, k.Is) {
			return k.Problem, true
		}
	}
	for _, k := range own {
		if errors.Is(err, k.Is) {
			return k.Problem, true
		}
	}
	if failure, ok := errors.AsType[*troupe.ModelError](err); ok {
		return ofModel(failure), true
	}
	if unfit, ok := errors.AsType[*troupe.OutputError](err); ok {
		return Problem{Code: "output", Sentence: "The model did not answer in the form that was asked for.", Cause: unfit.Problem, Next: "Try again, or use a model that can bind its answers: troupe models says which."}, true
	}
	if limit, ok := errors.AsType[*room.Error](err); ok {
		return stops[limit.Limit], true
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return stops["time"], true
	}
	return Problem{}, false
}

// own are failures of Troupe itself.
var own = []Known{
	{troupe.ErrCancelled, Problem{Code: "cancelled", Sentence: "The run was stopped.", Next: "Go on with a new message, or resume the run."}},
	{context.Canceled, Problem{Code: "cancelled", Sentence: "The run was stopped.", Next: "Go on with a new message, or resume the run."}},
	{troupe.ErrBusy, Problem{Code: "busy", Sentence: "This conversation has a run under way.", Next: "Wait until it is done, or stop it."}},
	{troupe.ErrClosed, Problem{Code: "closed", Sentence: "Troupe is shutting down.", Next: "Start it again: the run resumes where it was."}},
	{troupe.ErrNothingToResume, Problem{Code: "nothing_to_resume", Sentence: "There is nothing to resume: the latest run has finished.", Next: "Send a new message."}},
	{troupe.ErrNoQuestion, Problem{Code: "no_question", Sentence: "The conversation does not wait for an answer to that.", Cause: "It was answered elsewhere, or has gone on without.", Next: "Look at where the conversation stands now."}},
	{troupe.ErrNotFound, Problem{Code: "not_found", Sentence: "There is no such conversation.", Next: "troupe sessions lists those there are."}},
	{troupe.ErrConflict, Problem{Code: "conflict", Sentence: "Another process has written to this conversation.", Cause: "A conversation goes on in one place at a time.", Next: "Open it again and repeat what you did."}},
	{troupe.ErrChanged, Problem{Code: "changed", Sentence: "The agent or the flow has changed since this run began.", Next: "Start a new run, or fork the conversation before the change."}},
	{troupe.ErrCircular, Problem{Code: "circular", Sentence: "Agents called each other in a circle, or too deep.", Next: "Take one of the calls out of the circle, or raise limits.depth."}},
	{syscall.ENOSPC, Problem{Code: "disk_full", Sentence: "The disk is full: nothing was written.", Next: "Make room, and resume the run."}},
	{syscall.EFBIG, Problem{Code: "disk_limit", Sentence: "The file with the conversations cannot be written: nothing was.", Cause: "A quota or a limit on the size of files is reached, or the disk fails.", Next: "Make room or raise the limit, and resume the run."}},
	{syscall.EDQUOT, Problem{Code: "disk_limit", Sentence: "The file with the conversations cannot be written: nothing was.", Cause: "The disk quota is used up.", Next: "Make room or raise the quota, and resume the run."}},
	{syscall.EIO, Problem{Code: "disk_failed", Sentence: "The disk failed, so nothing more is written.", Cause: "What it was given last may not be on it. What was acknowledged before is.", Next: "Start Troupe again, which checks the file; if it stays so, replace the disk."}},
	{fs.ErrPermission, Problem{Code: "permission", Sentence: "A file may not be read or written.", Next: "Check its permissions; troupe doctor tries the data directory."}},
}

// OfFailed says what an event of a failed model call is about.
func OfFailed(e *troupe.ModelFailed) Problem {
	p := OfRecord(e.Reason, e.Error)
	if !p.IsExplained() {
		p = reasons["request"]
		p.Details = e.Error
	}
	if p.Code == "rate" {
		p.explainWait(e.RetryAfter.Duration())
	}
	if p.Retried = e.RetryIn > 0; p.Retried {
		p.Next = fmt.Sprintf("Troupe asks again in %s.", plainTime(e.RetryIn.Duration()))
		if m := askedInstead.FindStringSubmatch(e.Error); m != nil {
			p.Next = m[1] + " is asked instead."
		}
	}
	return p
}

// OfPast is OfFailed for somebody who looks back: next is what was done then, nothing
// after the last attempt.
func OfPast(e *troupe.ModelFailed) Problem {
	p := OfFailed(e)
	switch {
	case e.RetryIn == 0:
		p.Next = ""
	case !askedInstead.MatchString(e.Error):
		p.Next = fmt.Sprintf("Troupe asked again after %s.", plainTime(e.RetryIn.Duration()))
	}
	return p
}

// OfRecord says what a failure on record is about: by the reason that events have, else
// by the words of the error.
func OfRecord(reason, text string) Problem {
	if IsLimit(reason) {
		p := stops[reason]
		p.Details = text
		return p
	}
	for _, known := range own { // of which events have the words alone
		if known.Problem.Code == "cancelled" && reason == "" && strings.HasSuffix(text, known.Is.Error()) {
			p := known.Problem
			p.Details = text
			return p
		}
	}
	failure := &troupe.ModelError{Reason: reason, Message: text}
	if m := recordedStatus.FindStringSubmatch(text); m != nil {
		failure.Status, _ = strconv.Atoi(m[1])
	}
	if reason == "" {
		failure.Reason = reasonIn(failure.Status, text)
	}
	p := unexplained
	if failure.Reason != "" {
		p = ofModel(failure)
		if p.Code == "unreachable" {
			p.explainWords(text)
		}
	}
	p.Details = text
	return p
}

var (
	recordedStatus = regexp.MustCompile(`\bmodel: (\d{3})\b`)
	smallWindow    = regexp.MustCompile(`([^\s:]+ uses a window of \d+ tokens for .* to work with\.) ((?:Set|Choose) .*)`)
	notPulled      = regexp.MustCompile(`model ['"]([\w./:-]+)['"] not found`) // words of Ollama
	askedInstead   = regexp.MustCompile(`: (\S+) is asked instead: `)          // words of package fallback
	unexplained    = Problem{Code: "unknown", Sentence: "Something went wrong that Troupe has no explanation for.", Next: "The details say more."}
	unknownHost    = regexp.MustCompile(`lookup (\S+?):? .*no such host|lookup (\S+): no such host`)
)

// reasonIn is the reason of a failure whose event has none.
func reasonIn(status int, text string) string {
	switch {
	case status == 401 || status == 403:
		return "key"
	case status == 402:
		return "money"
	case status == 404:
		return "model"
	case status == 413:
		return "too_large"
	case status == 429:
		return "rate"
	case status >= 500:
		return "overloaded"
	case strings.Contains(text, "answer is incomplete"):
		return "incomplete"
	case strings.Contains(text, "connection refused"), strings.Contains(text, "no such host"):
		return "unreachable"
	}
	return ""
}

// explainWords is explainNetwork for an error of which only the words are left.
func (p *Problem) explainWords(text string) {
	switch {
	case strings.Contains(text, "proxyconnect"):
		p.explainNetwork(errors.New(text))
	case strings.Contains(text, "connection refused"):
		p.explainNetwork(syscall.ECONNREFUSED)
	case strings.Contains(text, "no such host"):
		name := "of its address"
		if m := unknownHost.FindStringSubmatch(text); m != nil {
			name = m[1] + m[2]
		}
		p.explainNetwork(&net.DNSError{Name: name})
	default:
		p.explainNetwork(errors.New(text))
	}
}

// ofModel explains a provider's refusal or failure.
func ofModel(e *troupe.ModelError) Problem {
	p, ok := reasons[e.Reason]
	switch {
	case ok:
	case errors.Is(e, troupe.ErrContextFull):
		p = reasons["context"]
	case errors.Is(e, io.ErrUnexpectedEOF):
		p = reasons["incomplete"]
	case e.Temporary:
		p = reasons["overloaded"]
	default:
		p = reasons["request"]
	}
	p.Retried = e.Temporary
	switch p.Code {
	case "unreachable":
		p.explainNetwork(e)
	case "rate":
		p.explainWait(e.RetryAfter)
	case "context":
		p.explainWindow(e.Message)
	case "incomplete":
		p.explainCall(e.Error())
	case "address":
		p.explainAddress(e.Message)
	case "model":
		p.Cause = e.Message
		if m := notPulled.FindStringSubmatch(e.Message); m != nil {
			p.Sentence, p.Next = "Ollama does not have this model.", "'ollama pull "+m[1]+"' gets it; troupe models lists those there are."
		}
	case "refused", "request", "schema", "tools", "memory", "country":
		p.Cause = e.Message
	}
	return p
}

// explainWindow tells a server that holds too little from a conversation that is too
// long: the failure itself says what to set then.
func (p *Problem) explainWindow(said string) {
	m := smallWindow.FindStringSubmatch(said)
	if m == nil {
		return
	}
	p.Sentence = "The server's context length is too small for this agent."
	if p.Cause, p.Next = m[1], m[2]+"."; strings.HasPrefix(m[2], "Set") {
		p.Next = m[2] + "; or use another model."
	}
}

// explainCall tells an answer that ended with a call nobody can read from one whose
// connection ended.
func (p *Problem) explainCall(said string) {
	said = strings.ToLower(said)
	if strings.Contains(said, "called a tool in a way that cannot be read") || strings.Contains(said, "malformed_function_call") { // Gemini, by both of its APIs
		p.Sentence = "The model called a tool in a way that cannot be read."
		p.Cause = "The provider threw the malformed call away, and the answer with it."
		p.Next = "Try again, or use another model."
	}
}

// explainWait says when a provider that wants fewer requests can be asked again.
func (p *Problem) explainWait(after time.Duration) {
	if after > 0 {
		p.Next = fmt.Sprintf("It can be asked again in %s; or use another model.", plainTime(after))
	}
}

// explainAddress tells an address that begins with the wrong protocol, and one where
// something else answers, from one where nothing is.
func (p *Problem) explainAddress(said string) {
	if strings.Contains(said, "a web page answered in place of the API") { // words of package wire
		p.Sentence = "A web page answered in place of the provider's API."
		p.Cause = "base_url is the address of a page, or something in between blocks the request: a firewall, a proxy, a check for browsers."
		p.Next = "Check base_url of the provider in troupe.yaml; otherwise try from another network, or ask whoever runs this one."
		return
	}
	said = strings.ToLower(said)
	has, wants := "", ""
	switch {
	case strings.Contains(said, "speaks http, not https"):
		has, wants = "https", "http"
	case strings.Contains(said, "speaks https, not http"), strings.Contains(said, "http request to an https server"), strings.Contains(said, "plain http request was sent to https port"):
		has, wants = "http", "https"
	default:
		return
	}
	p.Sentence, p.Cause = fmt.Sprintf("The server speaks %s, not %s.", wants, has), ""
	p.Next = fmt.Sprintf("Write %s:// in place of %s:// in base_url of the provider in troupe.yaml, or in the variable it comes from.", wants, has)
}

// explainNetwork tells a server that is not running from a network that is not there.
func (p *Problem) explainNetwork(err error) {
	unknown, isUnknown := errors.AsType[*net.DNSError](err)
	switch {
	case strings.Contains(err.Error(), "Proxy Authentication Required"):
		p.Sentence = "The proxy wants a user name and a password."
		p.Next = "Write them into HTTPS_PROXY and HTTP_PROXY, as in http://user:password@host:port; NO_PROXY names hosts that are asked directly."
	case strings.Contains(err.Error(), "proxyconnect"): // words of net/http
		p.Cause = "The proxy that HTTPS_PROXY or HTTP_PROXY names does not answer."
		p.Next = "Correct or unset HTTPS_PROXY and HTTP_PROXY, or name the provider's host in NO_PROXY."
	case errors.Is(err, syscall.ECONNREFUSED):
		p.Cause = "Nothing listens at its address."
		p.Next = "Start the server (for Ollama: ollama serve), or correct the address."
	case strings.Contains(err.Error(), "it may speak https"): // words of package wire
		p.Cause = "The server closed the connection without an answer."
		p.Next = "If it speaks https, write https:// in place of http:// in base_url of the provider in troupe.yaml, or in the variable it comes from; otherwise its log says more."
	case isUnknown:
		p.Cause = fmt.Sprintf("The name %s is not known.", unknown.Name)
		p.Next = "Are you offline? Otherwise correct the address."
	}
}

// plainTime is a wait as people say it.
func plainTime(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < 1500*time.Millisecond:
		return "a second"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d seconds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d minutes", int(d.Round(time.Minute).Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Round(time.Hour).Hours()))
	}
	const day = 24 * time.Hour
	return fmt.Sprintf("%d days", int((d+day-time.Second)/day)) // never too early
}

// reasons has one problem for every [troupe.ModelError] Reason.
var reasons = map[string]Problem{
	"key": {Code: "key", Sentence: "The provider does not accept the key.", Cause: "It is missing, mistyped, revoked, or not allowed to use this model.",
		Next: "Check the key; troupe doctor says which variable it is read from."},
	"money": {Code: "money", Sentence: "The account with the provider is empty or at its limit.", Next: "Add credit or raise the limit there, or use another model."},
	"model": {Code: "model", Sentence: "The provider does not have this model.", Next: "Check its name: troupe models lists those there are."},
	"too_large": {Code: "too_large", Sentence: "The request is larger than the provider takes.", Cause: "A file or a long conversation was sent along.",
		Next: "Attach less, or start a new conversation."},
	"context": {Code: "context", Sentence: "The conversation does not fit the model's window.",
		Next: "Start a new conversation, attach less, or use a model with a larger window. For a local server, raise its context length."},
	"rate":        {Code: "rate", Sentence: "The provider wants fewer requests.", Next: "Wait a minute, or use another model."},
	"overloaded":  {Code: "overloaded", Sentence: "The provider has trouble of its own.", Next: "Try again in a few minutes, or use another model."},
	"refused":     {Code: "refused", Sentence: "The provider refuses this request.", Next: "Ask in other words, or use another model."},
	"unreachable": {Code: "unreachable", Sentence: "The provider cannot be reached.", Next: "Are you offline, or behind a proxy (HTTPS_PROXY)? Otherwise check the address."},
	"certificate": {Code: "certificate", Sentence: "The provider's certificate is not trusted.", Cause: "A proxy replaces certificates, the address is wrong, or the clock is.",
		Next: "Check the address; behind a company's proxy, install its certificate."},
	"timeout": {Code: "timeout", Sentence: "The model did not answer in time.", Cause: "It is loading, thinking, or reading a long prompt.",
		Next: "Try again, or raise begin_timeout, idle_timeout or answer_timeout of the provider in troupe.yaml."},
	"incomplete": {Code: "incomplete", Sentence: "The model's answer broke off.", Cause: "The connection ended before the answer did.", Next: "Try again."},
	"schema":     {Code: "schema", Sentence: "The provider cannot bind answers to this schema.", Next: "Use another model, or set quirks.schema of the provider in troupe.yaml to prompt."},
	"address": {Code: "address", Sentence: "The server has nothing at this address.", Cause: "It is not the address of its API; most end in /v1.",
		Next: "Correct base_url of the provider in troupe.yaml, or the variable it comes from; troupe doctor tries it."},
	"tools": {Code: "tools", Sentence: "This model cannot call tools, and the agent has some.",
		Next: "Use a model that can, or give the agent none: agents.NAME.tools: [] in troupe.yaml, and skills: false where the project has skills."},
	"memory": {Code: "memory", Sentence: "The model does not fit into the server's memory.",
		Next: "Choose a smaller model, or a smaller window for it: window of the model in troupe.yaml."},
	"country": {Code: "country", Sentence: "The provider does not serve this country or region.", Next: "Use another provider, or a server where this one is offered."},
	"request": {Code: "request", Sentence: "The provider does not understand the request.", Cause: "The server speaks another API, or lacks something that was asked for.",
		Next: "troupe doctor tries the provider; its quirks can be set in troupe.yaml."},
}

// OfStop explains why a run ended without the whole of an answer. It is the zero
// Problem for a run that has one, or that waits for somebody.
func OfStop(stop string) Problem { return stops[stop] }

// IsLimit reports whether the reason of a failed run is a limit of the run.
func IsLimit(reason string) bool {
	return slices.Contains([]string{"turns", "tool_calls", "tokens", "cost", "time"}, reason)
}

var stops = map[string]Problem{
	"turns":          {Code: "turns", Sentence: "The run has asked the model as often as it may.", Next: "Say what to go on with, or raise limits.turns."},
	"tool_calls":     {Code: "tool_calls", Sentence: "The run has called tools as often as it may.", Next: "Say what to go on with, or raise limits.tool_calls."},
	"tokens":         {Code: "tokens", Sentence: "The run has used up its tokens.", Next: "Raise limits.tokens, or ask for less at once."},
	"cost":           {Code: "cost", Sentence: "The run has used up its money.", Next: "Raise limits.cost, or use a cheaper model: troupe models has the prices."},
	"time":           {Code: "time", Sentence: "The run took longer than it may.", Next: "Raise limits.time, or ask for less at once."},
	"handoffs":       {Code: "handoffs", Sentence: "The agents handed over to each other as often as they may.", Next: "Say who is to do what, or raise max_handoffs of the team in troupe.yaml."},
	"repeated_calls": {Code: "repeated_calls", Sentence: "The model made the same call again and again.", Next: "Say what to do differently, or use another model."},
	"length":         {Code: "length", Sentence: "The answer was cut off at the model's limit.", Next: "Ask it to go on, or to answer in smaller pieces; max_tokens raises the limit."},
	"content_filter": {Code: "filtered", Sentence: "The provider withheld the rest of the answer.", Next: "Ask in other words, or use another model."},
	"refused":        {Code: "declined", Sentence: "The model declined to answer.", Next: "Ask in other words, or use another model."},
	"empty":          {Code: "empty", Sentence: "The model said nothing.", Next: "Ask again, or use another model."},
}
