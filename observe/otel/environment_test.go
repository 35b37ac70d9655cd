package otel_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe/otel"
	"github.com/troupe-dev/troupe/troupetest"
)

// short plays a run without tools.
func short(t *testing.T, tracer *otel.Tracer) {
	t.Helper()
	agent := newAgent(t, "clerk", troupetest.NewScript(t, troupetest.Say("Good day.")))
	if _, err := troupe.Collect(newEngine(t, tracer, troupe.NewMemoryStore()).Run(t.Context(), agent, troupe.Input{Text: "Hello."})); err != nil {
		t.Fatal(err)
	}
}

func setenv(t *testing.T, pairs map[string]string) {
	for name, value := range pairs {
		t.Setenv(name, value)
	}
}

func TestTheEnvironmentSaysWhereSpansGo(t *testing.T) {
	grpc := map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
	for name, c := range map[string]struct {
		receive        func(*testing.T) *receiver
		env            map[string]string
		endpoint       string
		path           string
		service, stage string
	}{
		"http": {overHTTP, nil, "OTEL_EXPORTER_OTLP_ENDPOINT", "/v1/traces", "troupe", ""},
		"http, traces only, named": {overHTTP, map[string]string{
			"OTEL_SERVICE_NAME": "desk", "OTEL_RESOURCE_ATTRIBUTES": "service.name=no,deployment.environment.name=test",
		}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "/", "desk", "test"},
		"grpc": {overGRPC, grpc, "OTEL_EXPORTER_OTLP_ENDPOINT", "", "troupe", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.receive(t)
			setenv(t, c.env)
			t.Setenv(c.endpoint, r.url)
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-token=abc")
			tracer := newTracer(t, otel.Options{})
			short(t, tracer)
			shutdown(t, tracer)
			spans := r.spans()
			if len(spans) != 2 || spans[0].Name != "chat script" || spans[1].Name != "invoke_agent clerk" ||
				!bytes.Equal(spans[0].ParentSpanId, spans[1].SpanId) || !bytes.Equal(spans[0].TraceId, spans[1].TraceId) {
				t.Fatalf("came: %v", spans)
			}
			if r.path != c.path || !slices.Equal(r.tokens, []string{"abc"}) {
				t.Errorf("came to %q with tokens %q", r.path, r.tokens)
			}
			about := r.resource()
			if about["service.name"] != c.service || about["deployment.environment.name"] != c.stage {
				t.Errorf("came from %v", about)
			}
		})
	}
}

func TestTheEnvironmentForbidsSpans(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_TRACES_EXPORTER": "none", "OTEL_SDK_DISABLED": "true", "OTEL_TRACES_SAMPLER": "always_off",
	} {
		t.Run(name, func(t *testing.T) {
			r := overHTTP(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.url)
			t.Setenv(name, value)
			tracer := newTracer(t, otel.Options{})
			short(t, tracer)
			shutdown(t, tracer)
			if spans := r.spans(); len(spans) > 0 {
				t.Errorf("came: %v", spans)
			}
		})
	}
}

func TestWhatThereIsNotIsAnError(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_TRACES_EXPORTER": "zipkin", "OTEL_EXPORTER_OTLP_PROTOCOL": "carrier-pigeon", "OTEL_RESOURCE_ATTRIBUTES": "what",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if _, err := otel.New(t.Context(), otel.Options{}); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWantedFollowsTheEnvironment(t *testing.T) {
	const endpoint, traces = "OTEL_EXPORTER_OTLP_ENDPOINT=http://x", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://x"
	for env, want := range map[string]bool{
		"":                                      false,
		"OTEL_SERVICE_NAME=x":                   false,
		endpoint:                                true,
		traces:                                  true,
		endpoint + " OTEL_SDK_DISABLED=TRUE":    false,
		endpoint + " OTEL_SDK_DISABLED=false":   true,
		traces + " OTEL_TRACES_EXPORTER=none":   false,
		endpoint + " OTEL_TRACES_EXPORTER=otlp": true,
	} {
		getenv := func(name string) string {
			for pair := range strings.FieldsSeq(env) {
				if value, ok := strings.CutPrefix(pair, name+"="); ok {
					return value
				}
			}
			return ""
		}
		if got := otel.Wanted(getenv); got != want {
			t.Errorf("%q: %v", env, got)
		}
	}
}

func TestBatchesGoOutAsTheEnvironmentSays(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "250")
	synctest.Test(t, func(t *testing.T) {
		var sent kept
		tracer := newTracer(t, otel.Options{Exporter: &sent})
		short(t, tracer)
		time.Sleep(249 * time.Millisecond)
		early := sent.count()
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if late := sent.count(); early != 0 || late != 2 {
			t.Errorf("%d spans before the delay, %d after", early, late)
		}
		shutdown(t, tracer)
	})
}

// Which runs are sampled follows from their ids, so that a run which is resumed
// elsewhere is sampled there if it was before.
func TestProcessesSampleTheSameRuns(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
	const runs = 64
	var found [2][]string
	for i := range found {
		var sent kept
		tracer := newTracer(t, otel.Options{Exporter: &sent})
		for n := range runs {
			e := troupe.Event{Seq: 1, Session: strconv.Itoa(n), Run: "r", Body: &troupe.Warned{}}
			tracer.Note(&e)
			e.Body = &troupe.RunFinished{}
			tracer.Note(&e)
		}
		shutdown(t, tracer)
		for _, id := range traces(sent.spans) {
			found[i] = append(found[i], id.String())
		}
	}
	if n := len(found[0]); n == 0 || n == runs || !slices.Equal(found[0], found[1]) {
		t.Errorf("sampled: %q and %q", found[0], found[1])
	}
}

func TestACollectorThatIsDownFailsNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())
	listener.Close()
	var log bytes.Buffer
	tracer := newTracer(t, otel.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	short(t, tracer)
	shutdown(t, tracer)
	if !strings.Contains(log.String(), `msg="spans not sent" spans=2`) {
		t.Errorf("logged: %s", &log)
	}
}

// The queue is full and nothing moves, and still the run goes on. Shutdown breaks
// off the request: else the server would wait for it for an hour.
func TestACollectorThatHangsHoldsUpNothing(t *testing.T) {
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			asked := make(chan struct{})
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				close(asked)
				<-r.Context().Done()
			}))
			server.Config.Protocols = new(http.Protocols)
			server.Config.Protocols.SetHTTP1(true)
			server.Config.Protocols.SetUnencryptedHTTP2(true)
			server.Start()
			defer server.Close()
			setenv(t, map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
				"OTEL_EXPORTER_OTLP_TIMEOUT": "3600000", "OTEL_BSP_EXPORT_TIMEOUT": "3600000",
				"OTEL_BSP_MAX_QUEUE_SIZE": "1", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1",
			})
			tracer := newTracer(t, otel.Options{Logger: slog.New(slog.DiscardHandler)})
			short(t, tracer)
			<-asked
			short(t, tracer)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := tracer.Shutdown(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("shut down: %v", err)
			}
		})
	}
}
