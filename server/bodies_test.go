package server

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestLargeRequestsWaitForEachOtherAndNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bodies{most: 10}
		first, err := b.take(t.Context(), 6)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(time.Second)
			first()
		}()
		began := time.Now()
		second, err := b.take(t.Context(), 100) // more than there is: all of it
		if err != nil || time.Since(began) != time.Second {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
		if _, err := b.take(t.Context(), 1); !errors.Is(err, errFull) || time.Since(began) != time.Second+bodyPatience {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		second()
		if b.taken != 0 {
			t.Errorf("%d bytes are still taken", b.taken)
		}
	})
}
