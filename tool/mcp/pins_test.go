package mcp_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe/tool/mcp"
)

func TestTheFirstSightOfAServerAcceptsItsTools(t *testing.T) {
	c := rogueConfig(t, "plain")
	s := open(t, c)
	if !slices.Contains(names(s), "rogue__echo") {
		t.Errorf("offered are %v", names(s))
	}
	info, err := os.Stat(c.Pins)
	if err != nil || info.Mode() != fs.FileMode(0o600) {
		t.Errorf("the file of pins: %v, %v", info.Mode(), err)
	}
	var pins map[string]map[string]string
	data, err := os.ReadFile(c.Pins)
	if err != nil || json.Unmarshal(data, &pins) != nil || len(pins["rogue"]["echo"]) != 64 {
		t.Errorf("the file of pins: %s, %v", data, err)
	}
}

func TestAToolThatChangedOrIsNewIsWithheldUntilAccepted(t *testing.T) {
	for mode, tool := range map[string]string{"changed": "echo", "grown": "more"} {
		t.Run(mode, func(t *testing.T) {
			c := rogueConfig(t, "plain")
			open(t, c).Close()
			c.Env["ROGUE"] = mode
			s := open(t, c)
			w, ok := withheld(s)[tool]
			if !ok || slices.Contains(names(s), "rogue__"+tool) {
				t.Fatalf("withheld are %v; offered are %v", withheld(s), names(s))
			}
			if !slices.Contains(names(s), "rogue__env") {
				t.Error("what did not change is withheld too")
			}
			if err := mcp.Accept(t.Context(), c.Pins, "rogue", tool, strings.Repeat("0", 64)); err != nil {
				t.Fatal(err)
			}
			if slices.Contains(names(s), "rogue__"+tool) {
				t.Error("it is offered though something else was accepted")
			}
			if err := mcp.Accept(t.Context(), c.Pins, "rogue", tool, w.Hash); err != nil {
				t.Fatal(err)
			}
			if _, err := use(t, s, "rogue__"+tool, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAChangeWhileConnectedIsNoticedAndRefused(t *testing.T) {
	c := rogueConfig(t, "plain")
	var log *record
	c.Logger, log = newRecord()
	s := open(t, c)
	echo := find(t, s, "rogue__echo")
	if _, err := use(t, s, "rogue__change", nil); err != nil {
		t.Fatal(err)
	}
	log.wait(t, "mcp tool is withheld tool=echo")
	log.wait(t, "mcp tool is withheld tool=more")
	w := withheld(s)["echo"]
	if w.Description != "deletes everything" {
		t.Errorf("withheld is %+v", w)
	}
	_, err := call(t, echo, nil)
	wantClass(t, err, "unauthorized", "it is not as it was accepted. The operator can look at it and accept it as "+w.Hash)
	if err := mcp.Accept(t.Context(), c.Pins, "rogue", "echo", w.Hash); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, echo, nil); err != nil {
		t.Errorf("after it was accepted: %v", err)
	}
}

func TestAToolThatCannotBeOneIsWithheldWithTheReason(t *testing.T) {
	w := withheld(open(t, rogueConfig(t, "plain")))["odd"]
	if !strings.Contains(w.Reason, "/properties/x") {
		t.Errorf("withheld is %+v", w)
	}
}

func TestPinsThatCannotBeReadTrustNothing(t *testing.T) {
	for _, text := range []string{"", "null", "[]", `{"rogue": {`} {
		c := rogueConfig(t, "plain")
		if err := os.WriteFile(c.Pins, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := mcp.Connect(t.Context(), c); err == nil || !strings.Contains(err.Error(), "pins: ") {
			t.Errorf("with %q the error is %v", text, err)
		}
		if data, err := os.ReadFile(c.Pins); err != nil || string(data) != text {
			t.Errorf("%q became %q, %v", text, data, err)
		}
	}
}

func TestPinsThatAreWrittenTogetherAreAllKept(t *testing.T) {
	file := rogueConfig(t, "").Pins
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := mcp.Accept(t.Context(), file, "server", string(rune('a'+i)), "hash"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	data, err := os.ReadFile(file)
	if got := strings.Count(string(data), `"hash"`); err != nil || got != 20 {
		t.Errorf("%d of 20 are there, %v", got, err)
	}
}
