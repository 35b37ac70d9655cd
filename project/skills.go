package project

import "github.com/troupe-dev/troupe/skill"

// Skills returns the skills that the project's agents may use.
func (p *Project) Skills() *skill.Library { return p.skills }

// SkillDirs returns the directories that hold skills, as troupe.yaml names them.
func (p *Project) SkillDirs() []string { return p.config.Skills }
