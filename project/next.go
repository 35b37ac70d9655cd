package project

import "github.com/troupe-dev/troupe/bundle"

// Tasks returns what the project's installation of BMAD says can be done, and which
// documents of it there are already.
func (p *Project) Tasks() ([]bundle.Task, error) {
	o := p.optionsOf("")
	o.ReadProject = true // by the person who asks, not by an agent
	return p.look().Help(o)
}
