package skill

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// What the standard of Agent Skills allows, in characters.
const (
	maxName          = 64
	maxDescription   = 1024
	maxCompatibility = 500
)

// knownKeys are what front matter may hold: the standard's keys, and those of Troupe.
var knownKeys = []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools", "label", "category"}

// checkStandard finds what the standard of Agent Skills does not allow in the front
// matter of a SKILL.md. That name and description are there is checked elsewhere.
func (m *matter) checkStandard(folder string) {
	for _, key := range m.keys {
		if !slices.Contains(knownKeys, key.Value) {
			m.add(warning(CodeKey, m.file, key.Line, "the standard of Agent Skills knows no key %.80q; put it under metadata", key.Value))
		}
	}
	if name := m.text("name"); name != "" {
		m.mustBeText("name", CodeName)
		if err := checkName(name); err != nil {
			m.add(problem(CodeName, m.file, m.line("name"), "the skill is called %.80q: %v", name, err))
		} else if norm.NFKC.String(folder) != norm.NFKC.String(strings.TrimSpace(name)) {
			m.add(problem(CodeName, m.file, m.line("name"), "the skill %s is in the folder %s; they must have the same name", name, folder))
		}
	}
	m.mustBeText("description", CodeDescription)
	if n := utf8.RuneCountInString(m.text("description")); n > maxDescription {
		m.add(problem(CodeDescription, m.file, m.line("description"), "the description has %d characters; %d are allowed", n, maxDescription))
	}
	m.mustBeText("compatibility", CodeKey)
	if n := utf8.RuneCountInString(m.text("compatibility")); n > maxCompatibility {
		m.add(problem(CodeKey, m.file, m.line("compatibility"), "compatibility has %d characters; %d are allowed", n, maxCompatibility))
	}
}

// mustBeText finds a value that other readers of YAML take for a number, a date, a
// list or the like.
func (m *matter) mustBeText(key, code string) {
	if n := m.fields[key]; n != nil && n.Tag != "!!str" {
		m.add(problem(code, m.file, n.Line, "%s is not text to YAML; put it in quotes", key))
	}
}

// checkName says what the standard has against a name.
func checkName(name string) error {
	name = norm.NFKC.String(strings.TrimSpace(name))
	switch {
	case name == "":
		return errors.New("a name is not empty")
	case utf8.RuneCountInString(name) > maxName:
		return fmt.Errorf("a name has at most %d characters", maxName)
	case name != strings.ToLower(name):
		return errors.New("a name is in lower case")
	case strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") || strings.Contains(name, "--"):
		return errors.New("hyphens in a name are single and inside")
	case strings.ContainsFunc(name, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }):
		return errors.New("a name has letters, digits and hyphens only")
	}
	return nil
}
