package openai

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

const (
	maxErrorBody = 64 << 10
	maxErrorText = 2 << 10
	maxRetry     = 24 * time.Hour
)

// refused is the error of an answer whose status says so.
func (m *Model) refused(resp *http.Response, body io.Reader) error {
	data, _ := io.ReadAll(io.LimitReader(body, maxErrorBody)) // what has come says enough
	e := m.failed(resp.StatusCode, data)
	e.RetryAfter = retryAfter(resp.Header)
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode < 400 {
		e.Message = shorten(m.scrub("the server redirects to " + to))
	}
	return e
}

// failed is the error that a server tells of, with a status or in the midst of an
// answer whose status was good.
func (m *Model) failed(status int, body []byte) *troupe.ModelError {
	c := readComplaint(body)
	if status < 300 && c.status != 0 {
		status = c.status
	}
	e := &troupe.ModelError{
		Status:    status,
		Code:      shorten(m.scrub(c.code)),
		Message:   shorten(m.scrub(c.text)),
		Temporary: isTemporary(status) && !c.isAboutMoney(),
	}
	if e.Message == "" {
		e.Message = http.StatusText(status)
	}
	if status < 300 {
		e.Temporary = !c.isAboutMoney() && !strings.HasPrefix(c.kind, "invalid_")
	}
	if c.isAboutLength(status) {
		e.Temporary = false
		e.Err = troupe.ErrContextFull
	}
	return e
}

// isTemporary reports whether the same request may succeed later.
func isTemporary(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// incomplete is the error of an answer that stops before its end.
func (a *answer) incomplete(cause error) error {
	return &troupe.ModelError{
		Status:    a.status,
		Temporary: true,
		Err:       fmt.Errorf("%w: %w", troupe.ErrIncomplete, a.model.clean(cause)),
	}
}

func (a *answer) tooLarge() error {
	return &troupe.ModelError{
		Status:  a.status,
		Message: fmt.Sprintf("the answer is larger than allowed: %d bytes, %d bytes in one event, %d calls", a.model.maxAnswer, a.model.maxLine, maxCalls),
		Err:     errTooLarge,
	}
}

// notACompletion is the error of a good answer to another question, as it comes from
// a wrong base URL.
func (m *Model) notACompletion(status int, body []byte) error {
	return &troupe.ModelError{
		Status:  status,
		Message: shorten(m.scrub("the server's answer is not a chat completion: " + plainText(body))),
	}
}

// retryAfter is how long a server asks to be left alone: in milliseconds, in
// seconds, or until a date.
func retryAfter(header http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil {
		return bounded(ms, time.Millisecond)
	}
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return bounded(seconds, time.Second)
	}
	if date, err := http.ParseTime(value); err == nil {
		return bounded(time.Until(date).Seconds(), time.Second)
	}
	return 0
}

func bounded(n float64, unit time.Duration) time.Duration {
	if !(n > 0) { // not a number is not
		return 0
	}
	return time.Duration(min(n, float64(maxRetry/unit)) * float64(unit))
}

// shorten cuts text between runes.
func shorten(text string) string {
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
