package troupetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/tools/txtar"

	"github.com/troupe-dev/troupe"
)

// A Scene is the conversation of one file while it is played.
type Scene struct {
	// Config is the engine's. The function that builds the step may change it.
	Config troupe.Config
	// Files holds the sections that are not of the transcript itself, by name.
	Files map[string]string

	t            *testing.T
	instructions map[string]string // by agent, "" for any
	models       map[string]*Script
	inputs       []string
	events       string
}

// Transcript plays each conversation that pattern matches, as a subtest, and
// compares what happens with what the file says. With -update it rewrites the
// files instead: see [UpdateFlag]. A conversation is a txtar file:
//
//	What this shows.
//	-- agent --
//	You add numbers.
//	-- input --
//	What is 2+3?
//	-- replies --
//	call add {"a":2,"b":3}
//
//	say It is 5.
//	-- events --
//	run_started calc "What is 2+3?"
//	...
//
// Each input section is a run in the same session, in order. The events are those
// of all runs, as [Format] writes them. Where there are several agents, sections
// "agent NAME" and "replies NAME" are for the one of that name.
//
// Turns in replies are separated by empty lines. Each line of a turn begins with a
// word: say, think or refuse with text; call with a tool and its arguments; fail
// with text, or with an HTTP status and text; wait with a duration; usage with the
// numbers of input and output tokens; finish with a reason such as length; or cut,
// which ends the stream without an end. Text may be a Go string in double quotes.
// A line that begins with | continues the text before it on a new line.
//
// build makes the step that is run. All is played in a bubble of
// [testing/synctest], so waits take no time and nothing may outlive the test.
func Transcript(t *testing.T, pattern string, build func(t *testing.T, scene *Scene) troupe.Step) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("transcripts %s: there are none (%v)", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playFile(t, file, build) })
		})
	}
}

func playFile(t *testing.T, file string, build func(t *testing.T, scene *Scene) troupe.Step) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	scene, err := newScene(t, archive)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	got := scene.play(build(t, scene))
	if got == scene.events {
		return
	}
	if !updating() {
		t.Errorf("%s: the events differ (-want +got); run with -update to accept them\n%s", file, difference(scene.events, got))
		return
	}
	setSection(archive, "events", got)
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Error(err)
	}
}

func newScene(t *testing.T, archive *txtar.Archive) (*Scene, error) {
	s := &Scene{t: t, Files: map[string]string{}, instructions: map[string]string{}, models: map[string]*Script{}}
	for _, section := range archive.Files {
		kind, agent, _ := strings.Cut(section.Name, " ")
		text := string(section.Data)
		switch kind {
		case "agent":
			s.instructions[agent] = strings.TrimSuffix(text, "\n")
		case "input":
			s.inputs = append(s.inputs, strings.TrimSuffix(text, "\n"))
		case "replies":
			turns, err := parseReplies(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", section.Name, err)
			}
			s.models[agent] = newScript(t, section.Name, turns)
		case "events":
			s.events = text
		default:
			s.Files[section.Name] = text
		}
	}
	return s, nil
}

// Instructions returns the section "agent NAME", or "agent" where there is none.
func (s *Scene) Instructions(agent string) string {
	if text, ok := s.instructions[agent]; ok {
		return text
	}
	return s.instructions[""]
}

// Model plays the section "replies NAME", or "replies" where there is none. It
// ends the test if there is neither.
func (s *Scene) Model(agent string) *Script {
	s.t.Helper()
	for _, name := range []string{agent, ""} {
		if script := s.models[name]; script != nil {
			return script
		}
	}
	s.t.Fatalf("agent %s: the transcript has no replies for it", agent)
	return nil
}

// play runs the step on each input and returns the events.
func (s *Scene) play(step troupe.Step) string {
	engine, err := troupe.New(s.Config)
	if err != nil {
		s.t.Fatal(err)
	}
	defer engine.Close()
	var events []troupe.Event
	session := ""
	for _, input := range s.inputs {
		ended := false
		for e, err := range engine.Run(s.t.Context(), step, troupe.Input{Session: session, Text: input}) {
			if err != nil {
				if !ended {
					s.t.Errorf("input %q: %v", clip(input), err)
				}
				break
			}
			session = e.Session
			ended = e.Parent == "" && (e.Kind() == "run_failed" || e.Kind() == "run_cancelled")
			events = append(events, e)
		}
	}
	return Format(events)
}
