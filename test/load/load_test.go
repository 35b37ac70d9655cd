//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe/internal/sse"
)

func TestNothingFailsUnderALittleLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and keeps it busy")
	}
	defer goleak.VerifyNone(t)
	var out bytes.Buffer
	if err := load(t.Context(), options{seconds: 1, concurrent: 20, stored: 50, out: &out}); err != nil {
		t.Error(err)
	}
	for _, row := range []string{
		"turns per second with a tool call, so two model calls, 50 conversations at a time", "turns per second with one model call, 50 conversations at a time", "memory of the server at most", "conversations answered of 20 begun at once",
		"streaming at the same time", "p50", "p99", "with nothing stored", "with 50 conversations stored", "ratio", "failed turns",
	} {
		if !strings.Contains(out.String(), row) {
			t.Errorf("the table has no row with %q:\n%s", row, &out)
		}
	}
}

func TestEventsThatAreLostOrComeTwiceAreNoticed(t *testing.T) {
	event := func(seq int) string {
		return fmt.Sprintf(`data: {"seq":%d,"time":"2026-01-31T00:00:00Z","session":"s","run":"r","step":"1","kind":"user_said","body":{"text":"hi"}}`+"\n\n", seq)
	}
	for _, test := range []struct {
		name string
		seqs []int
		fits int
	}{{"in order, with one that is not stored", []int{1, 0, 2}, 3}, {"lost", []int{1, 3}, 1}, {"twice", []int{1, 1}, 1}} {
		t.Run(test.name, func(t *testing.T) {
			var stream string
			for _, seq := range test.seqs {
				stream += event(seq)
			}
			v := &conversation{events: sse.NewReader(strings.NewReader(stream), 0)}
			fits := 0
			var err error
			for err == nil {
				if _, err = v.next(); err == nil {
					fits++
				}
			}
			if fits != test.fits || (err == io.EOF) != (fits == len(test.seqs)) {
				t.Errorf("%d events were taken, then: %v", fits, err)
			}
		})
	}
}
