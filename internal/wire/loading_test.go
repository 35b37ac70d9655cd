package wire

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
)

// loading is a server that has its model after a while.
type loading struct{ ready time.Time }

func (l loading) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := slow{status: 503, pieces: []piece{{0, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`}}}
	if !time.Now().Before(l.ready) {
		answer = slow{pieces: []piece{{0, "hello"}}}
	}
	return answer.RoundTrip(r)
}

func TestAServerThatLoadsItsModelIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := func(ctx context.Context, takes time.Duration, x *Exchange) (string, error) {
			return read(ctx, client(t, loading{time.Now().Add(takes)}, Patience{Begin: 50 * time.Second}), x)
		}
		post := &Exchange{Parts: [][]byte{[]byte("{}")}}
		if text, err := ask(t.Context(), 40*time.Second, post); err != nil || text != "hello" {
			t.Errorf("%q, %v", text, err)
		}
		began := time.Now()
		_, err := ask(t.Context(), time.Hour, post)
		if e, ok := errors.AsType[*troupe.ModelError](err); !ok || e.Reason != "timeout" || time.Since(began) != 50*time.Second {
			t.Errorf("%#v after %v", err, time.Since(began))
		}
		began = time.Now()
		_, err = ask(t.Context(), time.Hour, &Exchange{}) // somebody looks what is there
		if e, ok := errors.AsType[*troupe.ModelError](err); !ok || e.Reason != "overloaded" || time.Since(began) != 0 {
			t.Errorf("%#v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began = time.Now()
		if _, err = ask(ctx, time.Hour, post); err == nil || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
