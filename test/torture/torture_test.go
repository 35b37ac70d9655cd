//go:build unix

package main

import (
	"os"
	"strconv"
	"testing"
)

func TestMain(m *testing.M) {
	if servedLedger() {
		return
	}
	os.Exit(m.Run())
}

func TestNothingIsLostWhoeverIsKilledWhenever(t *testing.T) {
	if testing.Short() {
		t.Skip("to kill takes its time")
	}
	o := options{Kills: 200, Seed: 1, Out: t.Output()}
	if n, err := strconv.Atoi(os.Getenv("TROUPE_KILLS")); err == nil {
		o.Kills = n
	}
	if err := torture(t.Context(), o); err != nil {
		t.Error(err)
	}
}
