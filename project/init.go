package project

import "github.com/troupe-dev/troupe/project/internal/scaffold"

// Init writes a small project to begin with into a directory, which it creates: a
// troupe.yaml, two agents with a workflow, and a skill. It returns the names of the
// files that it made, and of those that were there already and are left alone.
func Init(dir string) (made, kept []string, err error) {
	written, err := scaffold.Write(dir)
	return written.Made, written.Kept, err
}
