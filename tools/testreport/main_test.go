package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhatATestWithoutAnEndSaidIsTold(t *testing.T) {
	r := report{output: map[string][]string{}}
	line := func(action, test, output string) {
		r.read(fmt.Appendf(nil, `{"Action":%q,"Package":"p","Test":%q,"Output":%q}`, action, test, output))
	}
	line("output", "TestA", "said by A\n")
	line("pass", "TestA", "")
	line("output", "TestB", "failed in B\n")
	line("fail", "TestB", "")
	line("output", "TestC", "panic: test timed out\n")
	line("fail", "", "")
	if len(r.failures) != 2 {
		t.Fatalf("%d failures are told", len(r.failures))
	}
	if got := r.failures[1].output; !strings.Contains(got, "panic: test timed out") || strings.Contains(got, "B") || strings.Contains(got, "A") {
		t.Errorf("of the package it says %q", got)
	}
}

func TestTheSlowestAreNamedFirst(t *testing.T) {
	r := report{output: map[string][]string{}}
	for i := range 2 * shownSlow {
		r.read(fmt.Appendf(nil, `{"Action":"pass","Package":"p","Test":"Test%d","Elapsed":%d}`, i, i))
	}
	r.read([]byte(`{"Action":"pass","Package":"p","Test":"Test1/part","Elapsed":1000}`))
	r.read([]byte(`{"Action":"pass","Package":"p","Elapsed":1000}`))
	if got := r.slowest(); len(got) != shownSlow || got[0] != "  29.0s p Test29" {
		t.Errorf("the slowest are %q", got)
	}
}
