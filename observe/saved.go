package observe

import (
	"encoding/json"
	"fmt"
)

// savedMetrics is how metrics are kept, to go on from later.
type savedMetrics struct {
	Families map[string][]savedSeries   `json:"families"`
	Latest   []savedCount               `json:"latest"`
	Sessions map[string]savedSession    `json:"sessions"`
	Known    map[string]map[string]bool `json:"known"`
}

type savedSeries struct {
	Labels  labelValues `json:"labels"`
	Value   float64     `json:"value"`
	Count   uint64      `json:"count,omitempty"`
	Max     float64     `json:"max,omitempty"`
	Buckets []uint64    `json:"buckets,omitempty"`
}

type savedCount struct {
	Labels labelValues `json:"labels"`
	N      int         `json:"n"`
}

type savedSession struct {
	Stopped bool                `json:"stopped,omitempty"`
	Runs    map[string]savedRun `json:"runs"`
}

type savedRun struct {
	Turns int          `json:"turns,omitempty"`
	Ended *labelValues `json:"ended,omitempty"`
}

// MarshalJSON returns all that the metrics know: whoever reads it with
// [Metrics.UnmarshalJSON] and is told of later events comes to what it would have come
// to with all of them.
func (m *Metrics) MarshalJSON() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	saved := savedMetrics{Families: map[string][]savedSeries{}, Sessions: map[string]savedSession{}, Known: m.known}
	for _, f := range m.list {
		for labels, s := range f.series {
			saved.Families[f.name] = append(saved.Families[f.name], savedSeries{labels, s.value, s.count, s.max, s.buckets})
		}
	}
	for labels, n := range m.latest {
		saved.Latest = append(saved.Latest, savedCount{labels, n})
	}
	for id, session := range m.sessions {
		kept := savedSession{session.stopped, map[string]savedRun{}}
		for run, state := range session.runs {
			kept.Runs[run] = savedRun{state.turns, state.ended}
		}
		saved.Sessions[id] = kept
	}
	return json.Marshal(saved)
}

// UnmarshalJSON makes the metrics what others were. It fails if they were kept by a
// program that counted something else.
func (m *Metrics) UnmarshalJSON(data []byte) error {
	var saved savedMetrics
	if err := json.Unmarshal(data, &saved); err != nil {
		return err
	}
	read := NewMetrics()
	known := map[string]*family{}
	for _, f := range read.list {
		known[f.name] = f
	}
	for name, all := range saved.Families {
		f := known[name]
		for _, s := range all {
			if f == nil || len(s.Buckets) != len(f.buckets) {
				return fmt.Errorf("metrics: %s is counted in another way", name)
			}
			*f.at(s.Labels) = series{s.Value, s.Count, s.Max, append(make([]uint64, 0, len(s.Buckets)), s.Buckets...)}
		}
	}
	for _, c := range saved.Latest {
		read.latest[c.Labels] = c.N
	}
	for id, session := range saved.Sessions {
		kept := &sessionState{stopped: session.Stopped, runs: map[string]*runState{}}
		for run, state := range session.Runs {
			kept.runs[run] = &runState{turns: state.Turns, ended: state.Ended}
		}
		read.sessions[id] = kept
	}
	if saved.Known != nil {
		read.known = saved.Known
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.families, m.latest, m.sessions, m.known = read.families, read.latest, read.sessions, read.known
	return nil
}
