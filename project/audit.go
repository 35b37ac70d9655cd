package project

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/server"
)

// openAudit opens the audit log, nil where there is none. It is only ever appended to,
// and closed with the project.
func (s *stage) openAudit() (func(server.Audited), error) {
	p := s.project
	name := p.config.Server.Audit
	if name == "" {
		return nil, nil
	}
	file := within(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("server.audit in %s: %w", config.Name, err)
	}
	out, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("server.audit in %s: %w", config.Name, err)
	}
	s.mu.Lock()
	s.kept = append(s.kept, out)
	s.mu.Unlock()
	var mu sync.Mutex
	return func(a server.Audited) {
		line, err := json.Marshal(struct {
			Time time.Time `json:"time"`
			server.Audited
		}{time.Now().UTC(), a})
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			_, err = out.Write(append(line, '\n'))
		}
		if err != nil {
			p.log.Error("audit log not written", "err", err)
		}
	}, nil
}
