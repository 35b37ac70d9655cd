package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/scaffold"
)

// Init writes what a project needs to begin with into a directory, which it creates. A
// directory that holds a BMAD tree gets a troupe.yaml with which its agents work in the
// project's own files: [Project.Grants] says what that is. Any other gets a small
// project: a troupe.yaml, two agents with a workflow, and a skill. Init returns the names
// of the files that it made, and of those that were there already and are left alone.
func Init(dir string) (made, kept []string, err error) {
	write := scaffold.Write
	if catalog, err := bundle.Find(dir, bundle.Config{}); err == nil {
		if isInstalled(catalog) {
			write = initInstalled
		}
		defer catalog.Close()
	}
	written, err := write(dir)
	return written.Made, written.Kept, err
}

// IsInstalled says whether the project's agents are those of a BMAD tree, whatever its
// version, and not of bundles that were written for Troupe.
func (p *Project) IsInstalled() bool { return isInstalled(p.catalog()) }

func isInstalled(c *bundle.Catalog) bool {
	return slices.ContainsFunc(c.Bundles(), func(b *bundle.Bundle) bool { return !b.IsManifested() && len(b.Entries()) > 0 })
}

// IsConfigured says whether the project has a troupe.yaml.
func (p *Project) IsConfigured() bool { return p.config.Path != "" }

// initInstalled writes the troupe.yaml of a BMAD tree. What Troupe itself keeps goes
// where it was kept so far, or into a directory that git does not see.
func initInstalled(dir string) (scaffold.Written, error) {
	data := ".troupe"
	if _, err := os.Stat(filepath.Join(dir, "data", "troupe.db")); err == nil {
		data = "data"
	}
	written, err := scaffold.WriteFile(dir, Name, []byte(strings.ReplaceAll(installedConfig, "DATA", data)))
	if err != nil || data == "data" {
		return written, err
	}
	ignored, err := scaffold.WriteFile(dir, data+"/.gitignore", []byte("*\n"))
	written.Made, written.Kept = append(written.Made, ignored.Made...), append(written.Kept, ignored.Kept...)
	return written, err
}

const installedConfig = `# How Troupe works with the BMAD agents of this project. Everything in it is optional.
# A key that Troupe does not know is an error, so a typing mistake is not overlooked.

# Documents are the project's own files. Agents may write into the document folders that
# BMAD's configuration names, and nowhere else. "kept" keeps them in the data directory.
documents: in-place

agents:
  # What holds for all agents.
  "*":
    # They may read the project's files, except keys, .env, .git and Troupe's own data.
    read_project: true

# What Troupe itself keeps: conversations, their files, earlier versions of documents.
data: DATA

# The model that agents use, as provider/name. Without one, a provider whose key is in the
# environment or in .env is taken, or an Ollama that runs on this machine; without those,
# Troupe rehearses with no model at all.
# model: anthropic/claude-sonnet-4-5
# model: ollama/qwen3

# What one message to an agent may use.
limits:
  turns: 50
  time: 30m
  # cost: 2.00    # US dollars, where the model's price is known
`

// Grants says, a sentence each, what agents may touch beside their own files and their
// session's, as troupe.yaml has it.
func (p *Project) Grants() []string {
	var told []string
	if p.config.Documents == "in-place" {
		told = append(told, "Agents write documents into "+strings.Join(p.documentFolders(), ", ")+" of this project, and nowhere else in it.")
	}
	if all := p.config.Agent(config.Everyone); all.MayReadProject() {
		told = append(told, "All agents may read the project's files, except keys, .env, .git and Troupe's own data.")
	}
	return told
}

// documentFolders are the folders of documents that any bundle's configuration names.
func (p *Project) documentFolders() []string {
	var folders []string
	for _, b := range p.catalog().Bundles() {
		if len(b.Entries()) == 0 {
			continue
		}
		for _, folder := range b.DocumentFolders() {
			if !slices.Contains(folders, folder) {
				folders = append(folders, folder)
			}
		}
	}
	slices.Sort(folders)
	return slices.DeleteFunc(folders, func(folder string) bool { // what lies in another needs no mention
		return slices.ContainsFunc(folders, func(other string) bool { return strings.HasPrefix(folder, other+"/") })
	})
}

// refusalFile says, in the data directory, that a person did not want a troupe.yaml.
const refusalFile = "no-troupe-yaml"

// IsOffered says whether a person in the project's terminal should be offered what
// [Init] writes: there is a BMAD tree and no troupe.yaml, and nobody has refused yet.
func (p *Project) IsOffered() bool {
	if p.IsConfigured() || !p.IsInstalled() {
		return false
	}
	_, err := os.Stat(filepath.Join(p.DataDir(), refusalFile))
	return errors.Is(err, fs.ErrNotExist)
}

// Refuse remembers that nobody wants to be offered a troupe.yaml again.
func (p *Project) Refuse() error {
	if err := os.MkdirAll(p.DataDir(), 0o755); err != nil {
		return fmt.Errorf("remember the answer: %w", err)
	}
	if err := os.WriteFile(filepath.Join(p.DataDir(), refusalFile), nil, 0o644); err != nil {
		return fmt.Errorf("remember the answer: %w", err)
	}
	return nil
}
