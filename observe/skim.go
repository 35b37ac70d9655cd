package observe

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/rawjson"
)

// A Skimmer reads events in JSON, but of them only what [Metrics] counts: it is for going over
// a million of them. Its events hold until it is reset. It must not be used concurrently.
type Skimmer struct{ skim skimming }

// NewSkimmer returns a Skimmer that has read nothing.
func NewSkimmer() *Skimmer { return &Skimmer{skimming{names: map[string]string{}}} }

// Reset says that nobody looks at the events any more that were read: their memory is used for
// those that follow.
func (k *Skimmer) Reset() {
	k.skim.replies.reset()
	k.skim.results.reset()
	k.skim.ends.reset()
}

// Skim reads an event. It reports false for one of which Metrics takes no notice.
func (k *Skimmer) Skim(event []byte) (e troupe.Event, isCounted bool, err error) {
	s := &k.skim
	s.Cursor, s.kind, s.isOther = rawjson.NewCursor(event), "", false
	s.envelope(&e)
	switch {
	case s.isOther:
		return troupe.Event{}, false, nil
	case s.Broken || e.Body == nil:
		if err := e.UnmarshalJSON(event); err != nil {
			return troupe.Event{}, false, err
		}
	}
	return e, slices.Contains(metricKinds, e.Kind()), nil
}

type skimming struct {
	rawjson.Cursor
	kind string
	// isOther says that Metrics takes no notice of the event.
	isOther bool
	// names are those of agents, models and tools: few, and each in very many events.
	names map[string]string
	// session and run are those of the event before, which most often are those of the next.
	session, run string
	replies      made[troupe.ModelReplied]
	results      made[troupe.ToolReturned]
	ends         made[troupe.RunFinished]
}

// made are bodies that are made many at a time, of which the first used are in use.
type made[T any] struct {
	bodies []T
	used   int
}

// one returns a body of those that are made, or of others.
func (m *made[T]) one() *T {
	if m.used == len(m.bodies) {
		m.bodies, m.used = make([]T, min(max(64, 2*len(m.bodies)), 1024)), 0
	}
	m.used++
	return &m.bodies[m.used-1]
}

func (m *made[T]) reset() {
	clear(m.bodies[:m.used])
	m.used = 0
}

// maxNames is how many names are remembered.
const maxNames = 1000

// name reads a string of which there are few.
func (s *skimming) name() string {
	quoted := s.Skip()
	if name, ok := s.names[string(quoted)]; ok {
		return name
	}
	name := rawjson.NewCursor(quoted)
	text := name.String()
	if s.Broken = s.Broken || name.Broken; !s.Broken && len(s.names) < maxNames {
		s.names[string(quoted)] = text
	}
	return text
}

// same reads a string that most often is what it was before.
func (s *skimming) same(before *string) string {
	quoted := s.Skip()
	if n := len(quoted); n != len(*before)+2 || string(quoted[1:n-1]) != *before {
		text := rawjson.NewCursor(quoted)
		*before = text.String()
		s.Broken = s.Broken || text.Broken
	}
	return *before
}

// envelope reads an event whose body comes last, as the engine writes it. Another order is
// left to UnmarshalJSON.
func (s *skimming) envelope(e *troupe.Event) {
	s.Object(func(name []byte) {
		switch string(name) {
		case "seq":
			e.Seq = s.Int()
		case "session":
			e.Session = s.same(&s.session)
		case "run":
			e.Run = s.same(&s.run)
		case "parent":
			e.Parent = s.String()
		case "agent":
			e.Agent = s.name()
		case "kind":
			s.kind = s.name()
			if s.isOther = !slices.Contains(metricKinds, s.kind); s.isOther {
				s.Stop()
			}
		case "body":
			e.Body = s.body()
		default:
			s.Skip()
		}
	})
}

// body reads a body of the kinds that there are many of, nil for others.
func (s *skimming) body() troupe.Body {
	switch s.kind {
	case "run_started":
		return skipped(s, noRunStarted)
	case "input_requested":
		return skipped(s, noInputRequested)
	case "artifact_saved":
		return skipped(s, noArtifactSaved)
	case "context_compacted":
		return skipped(s, noContextCompacted)
	case "model_replied":
		return s.replied()
	case "tool_returned":
		return s.returned()
	case "run_finished":
		return s.finished()
	}
	s.Skip()
	return nil
}

// Bodies of which nothing is counted. Nobody changes them.
var (
	noRunStarted       = &troupe.RunStarted{}
	noInputRequested   = &troupe.InputRequested{}
	noArtifactSaved    = &troupe.ArtifactSaved{}
	noContextCompacted = &troupe.ContextCompacted{}
)

func skipped(s *skimming, body troupe.Body) troupe.Body {
	s.Stop()
	return body
}

func (s *skimming) replied() troupe.Body {
	b := s.replies.one()
	s.Object(func(name []byte) {
		switch string(name) {
		case "usage":
			b.Usage = s.usage()
		case "cost":
			b.Cost = s.Number()
		case "latency_ms":
			b.Latency = s.millis()
		case "first_token_ms":
			b.FirstToken = s.millis()
		case "model":
			b.Model = s.name()
		case "provider":
			b.Provider = s.name()
		case "purpose":
			b.Purpose = s.name()
		case "context":
			b.Context = s.context()
		default:
			s.Skip()
		}
	})
	return b
}

func (s *skimming) usage() (u troupe.Usage) {
	s.Object(func(name []byte) {
		switch string(name) {
		case "input_tokens":
			u.Input = int(s.Int())
		case "cached_input_tokens":
			u.CachedInput = int(s.Int())
		case "cache_write_tokens":
			u.CacheWrite = int(s.Int())
		case "output_tokens":
			u.Output = int(s.Int())
		case "reasoning_tokens":
			u.Reasoning = int(s.Int())
		default:
			s.Skip()
		}
	})
	return u
}

func (s *skimming) context() (c troupe.ContextUse) {
	s.Object(func(name []byte) {
		switch string(name) {
		case "system":
			c.System = int(s.Int())
		case "tools":
			c.Tools = int(s.Int())
		case "history":
			c.History = int(s.Int())
		case "window":
			c.Window = int(s.Int())
		default:
			s.Skip()
		}
	})
	return c
}

func (s *skimming) millis() troupe.Millis {
	return troupe.Millis(math.Round(s.Number() * float64(time.Millisecond)))
}

func (s *skimming) returned() troupe.Body {
	b := s.results.one()
	s.Object(func(name []byte) {
		switch string(name) {
		case "tool":
			b.Tool = s.name()
		case "class":
			b.Class = s.name()
		case "duration_ms":
			b.Duration = s.millis()
		default:
			s.Skip()
		}
	})
	return b
}

func (s *skimming) finished() troupe.Body {
	b, isPut := s.ends.one(), false
	s.Object(func(name []byte) {
		switch string(name) {
		case "output":
			isPut = true
			s.Object(func(name []byte) {
				switch string(name) {
				case "custom":
					s.Broken = json.Unmarshal(s.Skip(), &b.Output.Custom) != nil
				case "metadata":
					b.Output.Meta.Status = s.status()
				default:
					s.Skip()
				}
			})
		case "stop":
			if b.Stop = s.name(); isPut {
				s.Stop() // what follows is not counted
			}
		default:
			s.Skip()
		}
	})
	return b
}

func (s *skimming) status() (status string) {
	s.Object(func(name []byte) {
		if string(name) == "status" {
			status = s.name()
		} else {
			s.Skip()
		}
	})
	return status
}
