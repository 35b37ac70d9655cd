package project

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/skill"
)

// Skills returns the skills that the project's agents may use.
func (p *Project) Skills() *skill.Library { return p.skills }

// SkillDirs returns the directories that hold skills, as troupe.yaml names them.
func (p *Project) SkillDirs() []string { return p.config.Skills }

// isSkillOff is [skill.Config.IsOff]: as troupe.yaml says, or the page since.
func (p *Project) isSkillOff(name string) bool { return (*p.skillsOff.Load())[name] }

// switchSkill is [server.Config.SwitchSkill]: it writes troupe.yaml, and agents that are
// made from then on hear of the skill, or do not.
func (s *stage) switchSkill(_ context.Context, name string, on bool) error {
	p := s.project
	known := slices.Concat(p.skills.List(), p.skills.Off())
	if !slices.ContainsFunc(known, func(k skill.Skill) bool { return k.Name == name }) {
		return gone("the skill", name)
	}
	if strings.Contains(name, ".") {
		return fmt.Errorf("the skill %s has a dot in its name: switch it in %s, under skills_off", name, config.Name)
	}
	value := ""
	if !on {
		value = "true"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := p.changeConfig(map[string]string{"skills_off." + name: value}); err != nil {
		return err
	}
	off := maps.Clone(*p.skillsOff.Load())
	if off == nil {
		off = map[string]bool{}
	}
	off[name] = !on
	p.skillsOff.Store(&off)
	clear(s.agents)
	return nil
}
