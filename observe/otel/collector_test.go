package otel_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	pb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// A receiver is a collector at a loopback address that keeps what it is sent.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	url string

	mu       sync.Mutex
	requests []*collector.ExportTraceServiceRequest
	raw      bytes.Buffer
	path     string
	tokens   []string // of the header x-token
}

func (r *receiver) keep(req *collector.ExportTraceServiceRequest, raw []byte, path string, tokens []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, req)
	r.raw.Write(raw)
	r.path, r.tokens = path, tokens
}

// spans returns what came so far.
func (r *receiver) spans() []*pb.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	var spans []*pb.Span
	for _, req := range r.requests {
		for _, resource := range req.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				spans = append(spans, scope.Spans...)
			}
		}
	}
	return spans
}

// resource returns the attributes of the resource that the first spans are of.
func (r *receiver) resource() map[string]string {
	found := map[string]string{}
	for _, kv := range r.requests[0].ResourceSpans[0].Resource.Attributes {
		found[kv.Key] = kv.Value.GetStringValue()
	}
	return found
}

func overHTTP(t *testing.T) *receiver {
	r := &receiver{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, in *http.Request) {
		raw, err := io.ReadAll(in.Body)
		var req collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(raw, &req)
		}
		if err != nil {
			t.Error(err)
		}
		r.keep(&req, raw, in.URL.Path, in.Header["X-Token"])
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func overGRPC(t *testing.T) *receiver {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{url: "http://" + listener.Addr().String()}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, r)
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(listener) })
	t.Cleanup(func() { server.Stop(); serving.Wait() })
	return r
}

// Export makes the receiver a collector of gRPC.
func (r *receiver) Export(ctx context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	from, _ := metadata.FromIncomingContext(ctx)
	raw, err := proto.Marshal(req)
	r.keep(req, raw, "", from["x-token"])
	return &collector.ExportTraceServiceResponse{}, err
}
