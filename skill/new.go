package skill

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/unicode/norm"
)

// A Draft is what a new skill begins with.
type Draft struct {
	// Name is in lower case, with hyphens. The skill's folder is called the same.
	Name string `yaml:"name"`
	// Description says what the skill does and when to use it. Default: a sentence
	// to be replaced.
	Description string `yaml:"description"`
	Category    string `yaml:"category,omitempty"`
}

//go:embed skeleton.md
var skeleton string

// New writes the scaffold of a skill into a folder of its own in dir, which it
// creates, and returns the name of the file in dir. It never overwrites: if the
// file is there, New fails with [io/fs.ErrExist].
func New(dir string, d Draft) (file string, err error) {
	if err := checkName(d.Name); err != nil {
		return "", fmt.Errorf("new skill %.80q: %w", d.Name, err)
	}
	d.Name = norm.NFKC.String(strings.TrimSpace(d.Name))
	words := strings.ReplaceAll(d.Name, "-", " ")
	d.Description = oneLine(cmp.Or(d.Description, "How to go about "+words+". Use when a task is about "+words+"."))
	d.Category = category(d.Category)
	if utf8.RuneCountInString(d.Description) > maxDescription {
		return "", fmt.Errorf("new skill %s: a description has at most %d characters", d.Name, maxDescription)
	}
	front, err := yaml.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("new skill %s: %w", d.Name, err)
	}
	first, size := utf8.DecodeRuneInString(words)
	text := "---\n" + string(front) + "---\n\n# " + string(unicode.ToUpper(first)) + words[size:] + "\n\n" + skeleton
	file = path.Join(d.Name, skillFile)
	if err := create(dir, file, text); err != nil {
		return "", fmt.Errorf("new skill %s: %w", d.Name, err)
	}
	return file, nil
}

// create writes a file that must not exist, whole or not at all.
func create(dir, name, text string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, root.Remove(name))
	}
	return nil
}
