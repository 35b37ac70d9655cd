package mcp_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/mcp"
)

func TestAServerThatDiesFailsItsCallsAndComesBack(t *testing.T) {
	c := rogueConfig(t, "plain")
	var log *record
	c.Logger, log = newRecord()
	s := open(t, c)
	echo := find(t, s, "rogue__echo")
	_, err := use(t, s, "rogue__die", nil)
	wantClass(t, err, "interrupted", "whether the call took effect is unknown")
	if line := log.wait(t, "mcp server is gone"); !strings.Contains(line, "that was too much") {
		t.Errorf("the log does not say what the server said: %s", line)
	}
	// A call in the meantime fails and waits for nothing. On a busy machine the server may
	// be back before it comes: then it dies again.
	for range 10 {
		if _, err = call(t, echo, arguments{"text": "away"}); err != nil {
			break
		}
		_, _ = use(t, s, "rogue__die", nil)
		log.wait(t, "mcp server is gone")
	}
	wantClass(t, err, "failed", "the MCP server rogue is not running; it is tried again in")
	log.wait(t, "mcp server is back")
	if text, err := call(t, echo, arguments{"text": "here again"}); err != nil || text != "here again" {
		t.Errorf("after the restart: %q, %v", text, err)
	}
}

func TestAServerThatCannotBeUsedIsAnErrorThatSaysWhy(t *testing.T) {
	for mode, want := range map[string]string{
		"silent":    "mcp server rogue: connect: ",
		"exit":      "it said: no [31mconfiguration[0m",
		"colliding": `"a.b" and "a_b" would both be named rogue__a_b`,
		"endless":   "mcp server rogue: list tools: ",
	} {
		t.Run(mode, func(t *testing.T) {
			c := rogueConfig(t, mode)
			t.Parallel()
			c.Timeout = 5 * time.Second
			_, err := mcp.Connect(t.Context(), c)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, not … %s …", err, want)
			}
		})
	}
}

func TestGarbageOnStandardOutputIsLoggedAndSkipped(t *testing.T) {
	c := rogueConfig(t, "babbling")
	var log *record
	c.Logger, log = newRecord()
	s := open(t, c)
	log.wait(t, "Welcome to the babbling server!")
	if text, err := use(t, s, "rogue__garbage", nil); err != nil || text != "after the garbage" {
		t.Errorf("%q, %v", text, err)
	}
	if line := log.wait(t, "not a message"); strings.ContainsRune(line, 0) || !utf8.ValidString(line) {
		t.Errorf("the log has control characters: %q", line)
	}
}

func TestAFrameThatIsTooLongEndsTheServer(t *testing.T) {
	c := rogueConfig(t, "plain")
	var log *record
	c.Logger, log = newRecord()
	s := open(t, c)
	_, err := use(t, s, "rogue__huge", nil)
	wantClass(t, err, "interrupted", "did not answer")
	log.wait(t, "token too long")
	log.wait(t, "mcp server is back")
}

func TestAServerThatDoesNotReadEndsNotTheCaller(t *testing.T) {
	c := rogueConfig(t, "deaf")
	c.Timeout = 5 * time.Second // which is also how long it may take to start
	s := open(t, c)
	_, err := use(t, s, "rogue__echo", arguments{"text": strings.Repeat("x", 1<<20)})
	wantClass(t, err, "interrupted", "did not answer")
}

func TestACallEndsWithItsContextAndTheServerGoesOn(t *testing.T) {
	s := open(t, rogueConfig(t, "plain"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := find(t, s, "rogue__hang").Call(ctx, &troupe.Invocation{Arguments: []byte("{}")})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	if text, err := use(t, s, "rogue__echo", arguments{"text": "hello"}); err != nil || text != "hello" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestWhatAServerAsksForIsRefused(t *testing.T) {
	text, err := use(t, open(t, rogueConfig(t, "plain")), "rogue__ask", nil)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		empty := strings.Contains(line, `"result":{"roots":[]}`)
		if refused := strings.Contains(line, `"code"`); !refused && !empty {
			t.Error("not refused: ", line)
		}
	}
	if got := strings.Count(text, "\n"); got != 2 {
		t.Errorf("%d answers, not 3: %s", got+1, text)
	}
}

func TestAServerInheritsNoEnvironment(t *testing.T) {
	t.Setenv("SECRET_OF_OURS", "canary")
	c := rogueConfig(t, "plain")
	c.Env["GIVEN"] = "yes"
	text, err := use(t, open(t, c), "rogue__env", nil)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, variable := range strings.Split(text, "\n") {
		name, value, _ := strings.Cut(variable, "=")
		got[name] = value
	}
	if !maps.Equal(got, c.Env) {
		t.Errorf("its environment is %q", got)
	}
}

func TestCloseCancelsCallsThatAreUnderWay(t *testing.T) {
	s := open(t, rogueConfig(t, "plain"))
	hang := find(t, s, "rogue__hang")
	done := make(chan error)
	go func() {
		_, err := hang.Call(context.WithoutCancel(t.Context()), &troupe.Invocation{Arguments: []byte("{}")})
		done <- err
	}()
	s.Close()
	if err := <-done; err == nil {
		t.Error("the call returned no error")
	}
}

func TestFailuresOfAToolKeepTheirClass(t *testing.T) {
	s := open(t, rogueConfig(t, "plain"))
	_, err := use(t, s, "rogue__fail", nil)
	wantClass(t, err, "failed", "the disk is on fire")
	_, err = use(t, s, "rogue__refuse", nil)
	wantClass(t, err, "invalid_arguments", "x must be a number")
}

// Some servers say nothing to requests that they do not know, where they should refuse.
func TestAServerThatIgnoresWhatItDoesNotKnowIsUsedAtOnce(t *testing.T) {
	c := rogueConfig(t, "ignorant")
	c.Timeout = 10 * time.Minute
	began := time.Now()
	s := open(t, c)
	if text, err := use(t, s, "rogue__echo", map[string]any{"text": "hello"}); err != nil || text != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	if took := time.Since(began); took > c.Timeout/2 {
		t.Errorf("it took %s: something is waited for that never comes", took)
	}
}
