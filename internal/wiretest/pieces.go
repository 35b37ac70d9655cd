package wiretest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// InPieces checks that an answer is heard alike in whatever pieces and with whatever line
// ends it comes, and that wherever it is cut, what is left is no answer with an end, and
// calls nothing.
func InPieces(t *testing.T, model func(t testing.TB, client *http.Client) troupe.Model, whole *Canned) {
	t.Helper()
	hear := func(body io.Reader) Heard {
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: whole.Status, Header: whole.Header.Clone(), Body: io.NopCloser(body), Request: r}, nil
		})}
		return Listen(t.Context(), model(t, client), Hello())
	}
	want := hear(strings.NewReader(whole.Body))
	if want.Err != nil || want.End == nil {
		t.Fatalf("heard %+v", want)
	}
	for name, body := range map[string]io.Reader{
		"byte by byte": iotest.OneByteReader(strings.NewReader(whole.Body)),
		"CRLF":         strings.NewReader(strings.ReplaceAll(strings.ReplaceAll(whole.Body, "\r", ""), "\n", "\r\n")),
		"data at EOF":  iotest.DataErrReader(strings.NewReader(whole.Body)),
	} {
		if diff := cmp.Diff(want, hear(body)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for i := range whole.Body {
		h := hear(strings.NewReader(whole.Body[:i]))
		if h.End == nil && (h.Err == nil || h.Calls != nil) || h.End != nil && !cmp.Equal(want, h) {
			t.Fatalf("cut at %d: %+v", i, h)
		}
	}
}

// Sound checks what holds for whatever a server sends: there is an end or an error, calls
// only with an end, and what was heard goes back as JSON.
func Sound(t *testing.T, h Heard, encode func(*troupe.Message) []byte) {
	t.Helper()
	if (h.End == nil) == (h.Err == nil) || h.End == nil && h.Calls != nil {
		t.Fatalf("heard %+v", h)
	}
	for _, call := range h.Calls {
		if call.Name == "" {
			t.Errorf("a call of nothing: %+v", call)
		}
	}
	if encoded := encode(h.Message()); len(encoded) > 0 && !json.Valid([]byte("["+string(encoded[1:])+"]")) {
		t.Fatalf("goes back as %s", encoded)
	}
}
