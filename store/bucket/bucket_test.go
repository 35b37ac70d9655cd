package bucket

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func env(name string) string {
	return map[string]string{"AWS_ACCESS_KEY_ID": "ann", "AWS_SECRET_ACCESS_KEY": "secret"}[name]
}

func TestAWrongAddressIsSaid(t *testing.T) {
	for address, want := range map[string]string{
		"s3:///prefix":                "s3://BUCKET/PREFIX",
		"https://files.example.org":   "s3://BUCKET/PREFIX",
		"s3://files?zone=eu":          "only region and endpoint",
		"s3://files?endpoint=example": "write https://HOST",
		"s3://ann:hunter2@files":      "AWS_SECRET_ACCESS_KEY",
		"s3://ann:hun/ter2@files":     "s3://BUCKET/PREFIX",
	} {
		if _, err := Open(address, env); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hun") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := Open("s3://files", func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("no keys: %v", err)
	}
	if b, err := Open("s3://files/a/b/?region=eu-central-1", env); err != nil || b.base.String() != "https://s3.eu-central-1.amazonaws.com/files" || b.prefix != "a/b/" {
		t.Errorf("%+v, %v", b, err)
	}
}

// A store that has no time is asked again, and one that refuses is not.
func TestWhatPassesIsTriedAgain(t *testing.T) {
	var asked atomic.Int32
	status := func(n int32) int {
		if n < 3 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "refused") {
			asked.Add(1)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(status(asked.Add(1)))
	}))
	defer server.Close()
	b, err := Open("s3://files?endpoint="+server.URL, env)
	if err != nil {
		t.Fatal(err)
	}
	b.pause = time.Millisecond
	if err := b.Put(t.Context(), "h1", []byte("x")); err != nil || asked.Load() != 3 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
	asked.Store(0)
	if err := b.Put(t.Context(), "refused", []byte("x")); err == nil || !strings.Contains(err.Error(), "s3:PutObject") || asked.Load() != 1 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
}

// A store that takes connections and says nothing is waited for once.
func TestAStoreThatIsSilentIsNotWaitedForTwice(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var taken atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			taken.Add(1)
			defer conn.Close()
		}
	}()
	b, err := Open("s3://files?endpoint=http://"+l.Addr().String(), env)
	if err != nil {
		t.Fatal(err)
	}
	b.silence = 10 * time.Millisecond
	err = b.Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), "bucket files at "+l.Addr().String()+" is out of reach: no answer came for 10ms") {
		t.Error(err)
	}
	l.Close()
	<-done
	if n := taken.Load(); n > 1 {
		t.Errorf("it was asked %d times", n)
	}
}
