package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/argcheck"
	causes "github.com/troupe-dev/troupe/model/problem"
	"github.com/troupe-dev/troupe/pipeline"
)

// A problem is why a request was not done, as RFC 9457 has it. It is shown to the
// client as it is.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Code says in one word what is wrong, for a page that has words of its own.
	Code string `json:"code,omitempty"`
	// Cause says why, Next what to do, where a model is what failed; Details are the
	// error itself.
	Cause   string `json:"cause,omitempty"`
	Next    string `json:"next,omitempty"`
	Details string `json:"details,omitempty"`
	// Seq is the number of the session's last event, where that is why.
	Seq int64 `json:"seq,omitempty"`

	headers map[string]string
	// hidden is the error that a client is told nothing of, nil for any other.
	hidden error
	// param and code are for clients that know OpenAI's errors.
	param, code string
}

func (p *problem) Error() string { return p.Detail }

// refuse returns the error of a request that is not done.
func refuse(status int, format string, args ...any) *problem {
	return &problem{Status: status, Detail: fmt.Sprintf(format, args...)}
}

// concerning names the field of the request that is the reason, and the reason in
// one word.
func (p *problem) concerning(param, code string) *problem {
	p.param, p.code = param, code
	return p
}

// withCode says in one word what is wrong.
func (p *problem) withCode(code string) *problem {
	p.Code = code
	return p
}

// generic is all that a client is told of what went wrong in here.
func generic(err error) *problem {
	p := refuse(http.StatusInternalServerError, "something went wrong; the server's log says what")
	p.hidden = err
	return p
}

// told refuses a request with the words of an error that is about what was asked for. One
// about the machine's files, programs or time is ours: its words are for the log.
func told(status int, err error) error {
	_, isFile := errors.AsType[*fs.PathError](err)
	_, isLink := errors.AsType[*os.LinkError](err)
	_, isCall := errors.AsType[*os.SyscallError](err)
	_, isProgram := errors.AsType[*exec.Error](err)
	isOther := slices.ContainsFunc([]error{context.DeadlineExceeded, context.Canceled, io.EOF, io.ErrUnexpectedEOF}, func(other error) bool { return errors.Is(err, other) })
	if isFile || isLink || isCall || isProgram || isOther {
		return err
	}
	return refuse(status, "%v", err)
}

// diskProblem says in the words of the catalogue why nothing can be stored. It is nil for
// an error that is about something else. The error itself has names of files in it.
func diskProblem(err error) *problem {
	what := causes.Of(err)
	if !strings.HasPrefix(what.Code, "disk_") {
		return nil
	}
	p := refuse(http.StatusServiceUnavailable, "%s", what.Sentence).withCode(what.Code)
	p.Cause, p.Next, p.code, p.hidden = what.Cause, what.Next, what.Code, err
	p.headers = map[string]string{"Retry-After": strconv.Itoa(int(retryAfter / time.Second))}
	return p
}

// problemOf says what to tell of an error. What it has no words for is not told.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refuse(http.StatusRequestEntityTooLarge, "the request has more than %d bytes", tooLarge.Limit)
	}
	if p := modelProblem(err); p != nil {
		return p
	}
	if p := unopenedProblem(err); p != nil {
		return p
	}
	if p := diskProblem(err); p != nil {
		return p
	}
	_, malformed := errors.AsType[*argcheck.Malformed](err)
	_, mismatch := errors.AsType[*argcheck.Mismatch](err)
	switch {
	case malformed, mismatch:
		return refuse(http.StatusBadRequest, "%v", err)
	case errors.Is(err, troupe.ErrNotFound):
		return refuse(http.StatusNotFound, "there is no such session").withCode("gone")
	case errors.Is(err, troupe.ErrBusy):
		p := refuse(http.StatusConflict, "the session has a run under way").withCode("busy")
		if owner, elsewhere := errors.AsType[*troupe.Owner](err); elsewhere {
			p.Details = owner.Error()
		}
		return p
	case errors.Is(err, pipeline.ErrDropped):
		return refuse(http.StatusConflict, "%v", pipeline.ErrDropped)
	case errors.Is(err, troupe.ErrNoQuestion):
		return errAnswered
	case errors.Is(err, troupe.ErrNothingToResume), errors.Is(err, troupe.ErrChanged):
		what := causes.Of(err)
		p := refuse(http.StatusConflict, "%s", what.Sentence)
		p.Cause, p.Next, p.Details = what.Cause, what.Next, err.Error()
		return p
	case errors.Is(err, troupe.ErrConflict):
		return refuse(http.StatusConflict, "somebody else has written to the session")
	case errors.Is(err, troupe.ErrClosed), errors.Is(err, errStopping):
		return errEnding
	}
	return generic(err)
}

// fail answers a request that was not done, or logs why it was broken off.
func (s *Server) fail(c *call, err error) {
	if c.r.Context().Err() != nil {
		return // nobody is there to be told
	}
	p := problemOf(err)
	if p.hidden != nil {
		err = p.hidden
	}
	// A stream of a session that is deleted meanwhile is not broken off: there is no more of it.
	if p.hidden != nil || c.w.status != 0 && !errors.Is(err, troupe.ErrNotFound) {
		s.config.Log.Error("request not done", "method", c.r.Method, "route", c.r.Pattern, "err", err)
	}
	if c.w.status == 0 {
		p.write(c.w, c.r)
	}
}

// write sends the problem in the shape that the path's clients know.
func (p *problem) write(w http.ResponseWriter, r *http.Request) {
	for name, value := range p.headers {
		w.Header().Set(name, value)
	}
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		writeJSON(w, p.Status, "application/json", p.asOpenAI())
		return
	}
	shown := *p
	shown.Type, shown.Title = "about:blank", http.StatusText(p.Status)
	writeJSON(w, p.Status, "application/problem+json", shown)
}

// writeJSON answers with a value. What happens to it on its way is for the client
// to notice.
func writeJSON(w http.ResponseWriter, status int, media string, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("server: %T is not JSON: %v", value, err))
	}
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	w.Write(append(data, '\n'))
}
