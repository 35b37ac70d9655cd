package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

const (
	maxErrorBody = 64 << 10
	maxErrorText = 2 << 10
	maxRetry     = 366 * 24 * time.Hour
)

// refused is the error of an answer whose status says so.
func (a *Answer) refused() error {
	data, _ := io.ReadAll(io.LimitReader(a, maxErrorBody)) // what has come says enough
	e := a.Failed(data)
	if wait := RetryAfter(a.Header); wait > 0 {
		e.RetryAfter = wait
	}
	switch a.Header.Get("X-Should-Retry") {
	case "false":
		e.Temporary = false
	case "true":
		e.Temporary = e.Temporary || a.Status >= 400 && e.Reason != "money" && e.Reason != "key"
	}
	if a.Status == http.StatusPaymentRequired && e.RetryAfter > 0 {
		e.Temporary = true // a budget that is filled again by then
	}
	if to := a.Header.Get("Location"); to != "" && a.Status < 400 {
		e.Message = Shorten(a.client.Scrub("the server redirects to " + to))
	}
	return e
}

// Failed is the error that a server tells of, with a status or in the midst of an
// answer whose status was good. Body is what it says, in whatever form.
func (a *Answer) Failed(body []byte) *troupe.ModelError {
	return a.client.failed(a.Status, body)
}

func (c *Client) failed(status int, body []byte) *troupe.ModelError {
	said := readComplaint(body)
	if status < 300 && said.status != 0 {
		status = said.status
	}
	e := &troupe.ModelError{
		Status:  status,
		Code:    Shorten(c.Scrub(said.code)),
		Message: Shorten(c.Scrub(said.text)),
	}
	if e.Message == "" {
		e.Message = http.StatusText(status)
	}
	said.judge(e)
	if status == http.StatusForbidden && said.isPage {
		e.Message = Shorten("a web page answered in place of the API: " + e.Message)
	}
	if status == http.StatusProxyAuthRequired {
		e.Message = Shorten(lockedProxy + ": " + e.Message)
	}
	return e
}

// incomplete is an [io.ErrUnexpectedEOF] in words that people understand.
type incomplete struct{ cause error }

func (e *incomplete) Error() string {
	return fmt.Sprintf("the model's answer is incomplete: its stream stopped before the end: %v", e.cause)
}

func (e *incomplete) Unwrap() []error { return []error{io.ErrUnexpectedEOF, e.cause} }

// Incomplete is the error of an answer that stops before its end.
func (a *Answer) Incomplete(cause error) error {
	e := &troupe.ModelError{
		Status:    a.Status,
		Reason:    "incomplete",
		Temporary: true,
		Err:       &incomplete{a.client.Clean(cause)},
	}
	if errors.Is(cause, ErrSilence) {
		e.Reason = "timeout"
	}
	return e
}

// Paid adds to the error of an answer how it ended, where its server has said what it
// takes: it is paid for. It returns err.
func Paid(err error, end troupe.End) error {
	failure, ok := errors.AsType[*troupe.ModelError](err)
	if ok && failure.End == nil && (end.Cost != nil || end.Usage != troupe.Usage{}) {
		failure.End = &end
	}
	return err
}

// TooLarge is the error of an answer beyond its bounds, which limits says.
func (a *Answer) TooLarge(limits string) error {
	return &troupe.ModelError{
		Status:  a.Status,
		Message: "the answer is larger than allowed: " + limits,
		Err:     ErrTooLarge,
	}
}

// NotAnAnswer is the error of a good answer to another question, as it comes from a
// wrong base URL; want is what was expected, such as "a chat completion". An answer
// of no bytes at all is incomplete.
func (a *Answer) NotAnAnswer(want string, body []byte) error {
	if len(body) == 0 {
		return a.Incomplete(io.ErrUnexpectedEOF)
	}
	return &troupe.ModelError{
		Status:  a.Status,
		Reason:  "request",
		Message: Shorten(a.client.Scrub("the server's answer is not " + want + ": " + plainText(body))),
	}
}

// Foreign reads an answer that is no answer of the protocol, and returns the error
// about it: see [Answer.NotAnAnswer].
func (a *Answer) Foreign(want string) error {
	data, err := io.ReadAll(io.LimitReader(a, maxErrorBody))
	if err != nil {
		return a.Incomplete(err)
	}
	return a.NotAnAnswer(want, data)
}

// Shorten cuts text between runes, to what an error may hold.
func Shorten(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= maxErrorText {
		return text
	}
	end := maxErrorText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
