package project

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/work"
)

// digestOf is [work.Runner.DigestOf]. What agents are told is made where they run, from the files that are
// there, and is on record from then on: a worker needs the same files for a session that is new, and for
// a flow, whose agents begin anew. It is a definition's digest and, after a point, one of texts.
func (s *stage) digestOf(step troupe.Step, session string, isNew bool) string {
	d := step.Definition()
	if d == nil {
		return ""
	}
	if d.Kind == "agent" && !isNew {
		return d.Digest()
	}
	return d.Digest() + "." + s.textsOf(d, session)
}

// textsOf is the digest of what the agents of a definition are written in: the same on every machine
// that has the same files, wherever they are.
func (s *stage) textsOf(d *troupe.Definition, session string) string {
	texts := sha256.New()
	s.addTexts(texts, s.catalogOf(session), d)
	return hex.EncodeToString(texts.Sum(nil)[:8])
}

func (s *stage) addTexts(texts hash.Hash, catalog *bundle.Catalog, d *troupe.Definition) {
	if d.Kind == "agent" {
		text := s.project.config.Agents[d.Name].Instructions
		if written, err := catalog.Definition(d.Name); err == nil && !s.project.isPlain(d.Name) {
			// A file that is gone is one that no worker has.
			data, _ := os.ReadFile(within(s.project.dir, written.File))
			text = string(data)
		}
		fmt.Fprintf(texts, "%q %q ", d.Name, text)
	}
	for _, nested := range d.Steps {
		s.addTexts(texts, catalog, nested)
	}
}

// CheckJob fails with [work.ErrDefinition] where this project's agents are not those that a job is of.
func (p *Project) CheckJob(job work.Job, step troupe.Step) error {
	digest, texts, hasTexts := strings.Cut(job.Digest, ".")
	plain := job
	plain.Digest = digest
	if err := work.Check(plain, step); err != nil || !hasTexts {
		return err
	}
	p.opening.Lock()
	s := p.opened
	p.opening.Unlock()
	if s == nil {
		return nil // it is closed, and carries out nothing more
	}
	if s.textsOf(step.Definition(), job.Session) != texts {
		return fmt.Errorf("%s: the files or %s that say what its agents are told are others than where the run began: %w", job.Step, config.Name, work.ErrDefinition)
	}
	return nil
}
