package problem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// Every reason that a model error may have, by its own documentation, is explained.
func TestEveryReasonIsExplained(t *testing.T) {
	source, err := os.ReadFile("../../model.go")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(source), "// Reason says in one word")
	doc, _, _ := strings.Cut(after, "\tReason string")
	words := regexp.MustCompile(`"([a-z_]+)"`).FindAllStringSubmatch(doc, -1)
	if len(words) < 10 {
		t.Fatalf("model.go documents %d reasons", len(words))
	}
	for _, word := range words {
		p := Of(&troupe.ModelError{Reason: word[1], Message: "they say so"})
		if p.Code != word[1] {
			t.Errorf("%s is explained as %+v", word[1], p)
		}
		check(t, p)
	}
	if len(words) != len(reasons) {
		t.Errorf("%d reasons are documented and %d explained", len(words), len(reasons))
	}
}

// A model that an Ollama lacks is got with one command, which is said wherever a run fails.
func TestAModelThatOllamaLacksIsPulled(t *testing.T) {
	for _, said := range []string{`model 'qwen3:8b' not found`, `model "qwen3:8b" not found, try pulling it first`} {
		e := &troupe.ModelError{Status: 404, Reason: "model", Message: said}
		for _, p := range []Problem{Of(e), OfRecord("model", "agent a: "+e.Error()), OfRecord("", "agent a: "+e.Error())} {
			if p.Code != "model" || !strings.HasPrefix(p.Next, "'ollama pull qwen3:8b' gets it") {
				t.Errorf("%s: %+v", said, p)
			}
			check(t, p)
		}
	}
	if p := Of(&troupe.ModelError{Status: 404, Reason: "model", Message: "The model `x` does not exist"}); strings.Contains(p.Next, "ollama") {
		t.Errorf("%+v", p)
	}
}

// check wants a whole sentence, a step to take, and no Go in either.
func check(t *testing.T, p Problem) {
	t.Helper()
	for _, text := range []string{p.Sentence, p.Next} {
		if len(text) < 10 || !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?") || strings.Contains(text, "  ") || strings.Contains(text, "err") {
			t.Errorf("%s: %q is no plain sentence", p.Code, text)
		}
	}
	if p.Code == "" || !strings.Contains(p.String(), p.Next) {
		t.Errorf("%+v", p)
	}
}

func TestErrorsAreExplained(t *testing.T) {
	dial := func(err error) error {
		return &troupe.ModelError{Reason: "unreachable", Temporary: true, Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
	}
	for _, test := range []struct {
		err        error
		code, says string
	}{
		{fmt.Errorf("run: %w", troupe.ErrCancelled), "cancelled", "stopped"},
		{context.Canceled, "cancelled", "stopped"},
		{context.DeadlineExceeded, "time", "limits.time"},
		{troupe.ErrBusy, "busy", "under way"},
		{fmt.Errorf("write: %w", syscall.ENOSPC), "disk_full", "full"},
		{&fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}, "permission", "permissions"},
		{&troupe.ModelError{Status: 429, Reason: "rate", Temporary: true, RetryAfter: 90 * time.Second}, "rate", "in 90 seconds"},
		{&troupe.ModelError{Status: 429, Reason: "rate", RetryAfter: 5 * time.Hour}, "rate", "in 5 hours"},
		{&troupe.ModelError{Status: 429, Reason: "rate", RetryAfter: 55 * time.Hour}, "rate", "in 3 days"},
		{&troupe.ModelError{Err: troupe.ErrContextFull}, "context", "window"},
		{&troupe.ModelError{Reason: "context", Message: "ollama uses a window of 4096 tokens for q:8b, and this agent needs about 7709: its prompt and tools, and 4096 to work with. Set providers.ollama.models.\"q:8b\".window to 16384 in troupe.yaml"},
			"context", "too small for this agent. Set providers.ollama.models.\"q:8b\".window to 16384 in troupe.yaml; or"},
		{&troupe.ModelError{Err: io.ErrUnexpectedEOF, Temporary: true}, "incomplete", "broke off"},
		{&troupe.ModelError{Status: 500, Temporary: true}, "overloaded", "trouble of its own"},
		{&troupe.ModelError{Status: 400}, "request", "doctor"},
		{&troupe.ModelError{Status: 404, Reason: "model", Message: "model 'x' not found"}, "model", "troupe models"},
		{dial(syscall.ECONNREFUSED), "unreachable", "ollama serve"},
		{dial(&net.DNSError{Name: "nowhere.test", IsNotFound: true}), "unreachable", "offline"},
		{&troupe.OutputError{Agent: "a", Problem: "no JSON"}, "output", "form"},
		{troupe.ErrNoQuestion, "no_question", "stands"},
		{errors.New("odd"), "unknown", "details"},
	} {
		p := Of(test.err)
		if p.Code != test.code || !strings.Contains(p.String(), test.says) || p.Details != test.err.Error() {
			t.Errorf("%v: %+v", test.err, p)
		}
		check(t, p)
	}
	if Of(nil) != (Problem{}) {
		t.Error("nil is a problem")
	}
	if p := Of(&troupe.ModelError{Reason: "rate", Temporary: true}); !p.Retried {
		t.Error("a passing failure is not said to be one")
	}
}

func TestOtherPackagesExplainTheirOwn(t *testing.T) {
	ours := errors.New("the disk is full: nothing was written")
	known := Known{ours, Problem{Code: "disk_full", Sentence: "The disk is full.", Next: "Make room."}}
	if p := Of(fmt.Errorf("append: %w", ours), known); p.Code != "disk_full" || p.Details == "" {
		t.Errorf("%+v", p)
	}
	if p := Of(troupe.ErrBusy, known); p.Code != "busy" {
		t.Errorf("%+v", p)
	}
}

func TestEveryStopIsExplained(t *testing.T) {
	for _, stop := range []string{"turns", "tool_calls", "tokens", "cost", "time", "repeated_calls", "length", "content_filter", "refused", "empty"} {
		check(t, OfStop(stop))
	}
	for _, stop := range []string{"answered", "input_requested", "handed_off", "decided"} {
		if p := OfStop(stop); p != (Problem{}) {
			t.Errorf("%s is a problem: %+v", stop, p)
		}
	}
}

func TestFailedCallsAreExplainedFromTheirEvents(t *testing.T) {
	p := OfFailed(&troupe.ModelFailed{Reason: "overloaded", Error: "model: 529: busy", RetryIn: 1})
	if p.Code != "overloaded" || !p.Retried || p.Details != "model: 529: busy" {
		t.Errorf("%+v", p)
	}
	check(t, p)
	p = OfFailed(&troupe.ModelFailed{Reason: "overloaded", Error: "model: 503: local/m is asked instead: openai/x did not answer (busy)", RetryIn: 1})
	if p.Next != "local/m is asked instead." {
		t.Errorf("%+v", p)
	}
	if p := OfFailed(&troupe.ModelFailed{Reason: "rate", Error: "model: 429: slow down", RetryAfter: troupe.Millis(5 * time.Hour)}); !strings.Contains(p.Next, "in 5 hours") {
		t.Errorf("%+v", p)
	}
	for _, text := range []string{"context canceled", "the run was cancelled"} {
		if p := OfFailed(&troupe.ModelFailed{Error: text}); p.Code != "cancelled" {
			t.Errorf("%s: %+v", text, p)
		}
	}
	if p := OfFailed(&troupe.ModelFailed{Reason: "time", Error: "up"}); p.Code != "time" || p.Details != "up" {
		t.Errorf("%+v", p)
	}
}

// Looking back, what was done then is told, and nothing where nothing was.
func TestAttemptsThatAreOverAreToldInThePast(t *testing.T) {
	for want, e := range map[string]*troupe.ModelFailed{
		"The provider has trouble of its own. Troupe asked again after 90 seconds.": {Reason: "overloaded", Error: "model: 529: busy", RetryIn: troupe.Millis(90 * time.Second)},
		"The provider has trouble of its own. local/m is asked instead.":            {Reason: "overloaded", Error: "model: 503: local/m is asked instead: openai/x did not answer (busy)", RetryIn: 1},
		"The provider has trouble of its own.":                                      {Reason: "overloaded", Error: "model: 529: busy"},
	} {
		if got := OfPast(e).String(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

func TestThereAreWordsOnlyForWhatIsExplained(t *testing.T) {
	for _, p := range []Problem{{}, Of(nil), Of(errors.New("odd"))} {
		if p.IsExplained() || p.Words() != "" {
			t.Errorf("%+v is explained as %q", p, p.Words())
		}
	}
	p := Of(syscall.ENOSPC)
	if want := p.Sentence + " " + p.Next; !p.IsExplained() || p.Words() != want || strings.Join(p.Lines(), " ") != want {
		t.Errorf("%q and %q, not %q", p.Words(), p.Lines(), want)
	}
	if p = (Problem{Sentence: "s", Cause: "c", Next: "n", Details: "c"}); fmt.Sprint(p.Lines()) != "[s n]" {
		t.Errorf("%q", p.Lines())
	}
}

func TestAServerThatHangsUpMayWantHTTPS(t *testing.T) {
	const said = "no answer from model.test: read: connection reset by peer; it may speak https, and was asked by http"
	for name, got := range map[string]Problem{"an error": Of(&troupe.ModelError{Reason: "unreachable", Message: said}), "an event": OfRecord("unreachable", "model: "+said)} {
		if got.Code != "unreachable" || !strings.HasPrefix(got.Next, "If it speaks https, write https:// in place of http://") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAMalformedCallIsToldAsSuch(t *testing.T) {
	const gemini = "the model called a tool in a way that cannot be read, or one that it does not have: Malformed function call"
	for name, got := range map[string]Problem{
		"an error":                 Of(&troupe.ModelError{Status: 200, Code: "MALFORMED_FUNCTION_CALL", Reason: "incomplete", Temporary: true, Message: gemini, Err: io.ErrUnexpectedEOF}),
		"an event":                 OfRecord("incomplete", "model: 200 MALFORMED_FUNCTION_CALL: "+gemini),
		"in OpenAI's protocol":     Of(&troupe.ModelError{Reason: "incomplete", Temporary: true, Err: errors.New(`the server ended it with "malformed_function_call"`)}),
		"and of an event's record": OfFailed(&troupe.ModelFailed{Reason: "incomplete", Error: "model: 200: " + gemini, RetryIn: 1}),
	} {
		if got.Code != "incomplete" || !strings.Contains(got.Sentence, "called a tool") || strings.Contains(got.Cause, "connection") {
			t.Errorf("%s: %+v", name, got)
		}
		check(t, got)
	}
}

func TestAProxyIsToldAsTheProxy(t *testing.T) {
	gone := &net.OpError{Op: "proxyconnect", Net: "tcp", Err: &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}
	for name, got := range map[string]Problem{
		"gone":               Of(&troupe.ModelError{Reason: "unreachable", Message: "no answer from model.test: " + gone.Error(), Err: gone}),
		"gone, an event":     OfRecord("unreachable", "model: no answer from model.test: "+gone.Error()),
		"password":           Of(&troupe.ModelError{Status: 407, Reason: "unreachable", Message: "Proxy Authentication Required: x"}),
		"password, an event": OfRecord("unreachable", "model: 407: Proxy Authentication Required: x"),
	} {
		if got.Code != "unreachable" || !strings.Contains(got.Next, "HTTPS_PROXY and HTTP_PROXY") || strings.Contains(got.String(), "ollama") {
			t.Errorf("%s: %+v", name, got)
		}
		check(t, got)
	}
}

func TestAnAddressWithTheWrongProtocolIsToldAsSuch(t *testing.T) {
	for said, want := range map[string][2]string{
		"model.test speaks http, not https: tls: first record does not look like a TLS handshake": {"The server speaks http, not https.", "Write http:// "},
		"Client sent an HTTP request to an HTTPS server.":                                         {"The server speaks https, not http.", "Write https:// "},
		"model.test speaks https, not http: malformed HTTP response":                              {"The server speaks https, not http.", "Write https:// "},
		"a web page answered in place of the API: Just a moment...":                               {"A web page answered in place of the provider's API.", "Check base_url"},
		"404 page not found": {"The server has nothing at this address.", "Correct base_url"},
	} {
		got := Of(&troupe.ModelError{Reason: "address", Message: said})
		if got.Code != "address" || got.Sentence != want[0] || !strings.HasPrefix(got.Next, want[1]) {
			t.Errorf("%s: %+v", said, got)
		}
	}
}
