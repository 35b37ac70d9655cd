package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// question and instructions are the same for everyone.
const (
	question     = "What do these numbers add up to?"
	instructions = "You are a clerk. Use the tool to add numbers."
	toolName     = "add"
	toolAbout    = "Adds two numbers."
)

// pair and sum are what the tool takes and gives.
type pair struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sum struct {
	Sum int `json:"sum"`
}

// A call is one use of the tool, written out in full beforehand so that asking
// for it and checking its result cost nothing while the clock runs.
type call struct {
	id        string
	tool      string
	arguments string
	result    string
	pair      pair
	sum       int
}

// A script is all that a stub model says: in each turn its calls, and then the
// answer, in pieces where it is streamed. No two calls are alike, because some
// frameworks take a repeated call for a loop or merge it with the one before.
type script struct {
	turns  [][]call
	byID   map[string]*call
	pause  time.Duration // what one use of the tool takes
	answer string
	pieces []string
}

// newScript writes the script of so many turns with so many calls each.
func newScript(turns, calls int) *script {
	s := &script{byID: make(map[string]*call), answer: "It is done.", pieces: []string{"It is done."}}
	for turn := range turns {
		said := make([]call, calls)
		for i := range said {
			said[i] = newCall(turn+1, i+1)
			s.byID[said[i].id] = &said[i]
		}
		s.turns = append(s.turns, said)
	}
	return s
}

func newCall(turn, n int) call {
	return call{
		id:        fmt.Sprintf("call-%d-%d", turn, n),
		tool:      toolName,
		arguments: fmt.Sprintf(`{"a":%d,"b":%d}`, turn, n),
		result:    fmt.Sprintf(`{"sum":%d}`, turn+n),
		pair:      pair{turn, n},
		sum:       turn + n,
	}
}

// taking makes each use of the tool last that long.
func (s *script) taking(pause time.Duration) *script {
	s.pause = pause
	return s
}

// inPieces makes the answer come in that many pieces.
func (s *script) inPieces(n int) *script {
	s.pieces = make([]string, n)
	for i := range s.pieces {
		s.pieces[i] = fmt.Sprintf("piece %d ", i)
	}
	s.answer = strings.Join(s.pieces, "")
	return s
}

// add is the tool.
func (s *script) add(ctx context.Context, in pair) (sum, error) {
	if s.pause > 0 {
		time.Sleep(s.pause)
	}
	return sum{in.A + in.B}, ctx.Err()
}

// addJSON is the tool for those whose tools take and give text.
func (s *script) addJSON(ctx context.Context, arguments string) (string, error) {
	var in pair
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		return "", err
	}
	out, err := s.add(ctx, in)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(out)
	return string(text), err
}

// checkResult reports a tool's result that is not the right one for its call. A
// stub model calls it for every result that it is shown before it answers.
func (s *script) checkResult(id, result string) error {
	if call := s.byID[id]; call == nil || call.result != result {
		return fmt.Errorf("the result of call %q is %q", id, result)
	}
	return nil
}

// checkResults reports that not every call has a result.
func (s *script) checkResults(n int) error {
	if n != len(s.byID) {
		return fmt.Errorf("the model saw %d results of %d calls", n, len(s.byID))
	}
	return nil
}

// checkAnswer reports an answer that is not the script's.
func (s *script) checkAnswer(answer string) error {
	if answer != s.answer {
		return fmt.Errorf("the answer is %q, not %q", answer, s.answer)
	}
	return nil
}

// A listener checks the pieces of one streamed answer after another. They must
// come one by one, as they would from a model that takes its time: pieces that
// were joined on the way are wrong.
type listener struct {
	script *script
	// next, where it is not nil, gets a value for every piece that was heard. It
	// paces a stub whose framework does not wait for its reader.
	next   chan struct{}
	pieces int
	bytes  int // of the answer, heard so far
	wrong  bool
}

func (l *listener) begin() { l.pieces, l.bytes, l.wrong = 0, 0, false }

func (l *listener) hear(piece string) {
	l.wrong = l.wrong || !strings.HasPrefix(l.script.answer[l.bytes:], piece)
	l.heard(len(piece))
}

// hearBytes spares a framework that streams bytes the cost of a conversion.
func (l *listener) hearBytes(piece []byte) {
	rest := l.script.answer[l.bytes:]
	l.wrong = l.wrong || len(piece) > len(rest) || rest[:len(piece)] != string(piece)
	l.heard(len(piece))
}

func (l *listener) heard(n int) {
	l.pieces++
	l.bytes = min(l.bytes+n, len(l.script.answer))
	if l.next != nil {
		l.next <- struct{}{}
	}
}

func (l *listener) check() error {
	if l.wrong || l.pieces != len(l.script.pieces) || l.bytes != len(l.script.answer) {
		return fmt.Errorf("%d pieces were streamed, %d bytes, and they are not the script's", l.pieces, l.bytes)
	}
	return nil
}
