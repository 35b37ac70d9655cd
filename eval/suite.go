// Package eval runs cases against agents, on one or several models or versions of a
// bundle, checks what comes of them, and compares: pass rates, cost and time.
//
// A case is what a person says to an agent, and what must be true of what happens then.
// It is run as often as asked, each time in a data directory of its own, so that nothing
// of the project is touched and no run sees another's documents.
package eval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/argcheck"
)

// A Suite is a file of cases.
type Suite struct {
	Name string `yaml:"name"`
	// Agent is whom cases talk with that do not say so themselves: an agent or a flow.
	Agent string `yaml:"agent"`
	// Repeats is how often each case is run on each variant, once by default.
	Repeats int `yaml:"repeats"`
	// Parallel is how many runs go on at the same time, 2 by default.
	Parallel int `yaml:"parallel"`
	// PassRate is which part of a case's runs must pass, 1 by default.
	PassRate float64 `yaml:"pass_rate"`
	// Models are variants that differ in their models alone.
	Models []string `yaml:"models"`
	// Variants are what is compared. Without any, and without Models, there is one: the
	// project as it is.
	Variants []Variant `yaml:"variants"`
	// Judge is the model of judges, as provider/name. Empty means that of the variant.
	Judge string `yaml:"judge_model"`
	// Recordings is a directory, relative to the suite's, with recorded answers of models.
	Recordings string `yaml:"recordings"`
	Cases      []Case `yaml:"cases"`

	file string
}

// A Variant is a model, or a version of a project, or both.
type Variant struct {
	Name string `yaml:"name" json:"name"`
	// Project is a directory, relative to the suite's. Empty means the project.
	Project string `yaml:"project" json:"project,omitempty"`
	// Model is provider/name or rehearsal. Empty means what the project says.
	Model string `yaml:"model" json:"model,omitempty"`
}

// A Case is a conversation, and what must be true of it.
type Case struct {
	Name  string `yaml:"name"`
	Agent string `yaml:"agent"`
	// Messages are what the person says, one after the other.
	Messages []string `yaml:"messages"`
	// Deny has tool calls denied that ask for approval. By default they are approved.
	Deny bool `yaml:"deny"`
	// Reference is a good answer, for judges.
	Reference string `yaml:"reference"`
	// Repeats and PassRate replace those of the suite.
	Repeats  int     `yaml:"repeats"`
	PassRate float64 `yaml:"pass_rate"`
	Checks   []Check `yaml:"checks"`
}

// A Check is something that must be true of what happened. Each has one key.
type Check struct {
	// Text is the last answer, exactly, white space around it aside.
	Text *string `yaml:"text"`
	// Contains and Pattern must be in the last answer, the others must not be.
	Contains    string `yaml:"contains"`
	NotContains string `yaml:"not_contains"`
	Pattern     string `yaml:"pattern"`
	NotPattern  string `yaml:"not_pattern"`
	// Schema is a JSON schema that the JSON in the last answer fits; SchemaFile has one.
	Schema     map[string]any `yaml:"schema"`
	SchemaFile string         `yaml:"schema_file"`
	// Tools were called in this order, others in between or not; NoTools were not.
	Tools   []string `yaml:"tools"`
	NoTools []string `yaml:"no_tools"`
	// File was saved.
	File *FileCheck `yaml:"file"`
	// Budget was kept.
	Budget *Budget `yaml:"budget"`
	// Stop is why the last run ended, such as answered or input_requested.
	Stop string `yaml:"stop"`
	// Judge is an agent that decides by a rubric.
	Judge *Judge `yaml:"judge"`

	line    int
	pattern *regexp.Regexp
	schema  *argcheck.Schema
}

// A FileCheck is about a file that agents have saved.
type FileCheck struct {
	// Name is a pattern as in decision-*.md, for the file's name without its folders.
	Name     string `yaml:"name"`
	Contains string `yaml:"contains"`
	Pattern  string `yaml:"pattern"`

	pattern *regexp.Regexp
}

// A Budget is what a case may take. Zero means that it does not matter.
type Budget struct {
	Cost      float64       `yaml:"cost"`
	Tokens    int           `yaml:"tokens"`
	Turns     int           `yaml:"turns"`
	ToolCalls int           `yaml:"tool_calls"`
	Time      time.Duration `yaml:"time"`
}

// A Judge decides by a rubric: a model that is told how, or an agent of the project.
type Judge struct {
	Rubric string `yaml:"rubric"`
	// Agent is one of the project. Empty means a judge that is built in.
	Agent string `yaml:"agent"`
	// Pass is the least score, from 0 to 1: 0.7 by default.
	Pass float64 `yaml:"pass"`
}

// Read reads a suite. The error has a line for each mistake, with its place in the file.
func Read(file string) (*Suite, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := &Suite{file: file}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(s); err != nil && !errors.Is(err, io.EOF) {
		return nil, readable(file, err)
	}
	s.findLines(data)
	return s, s.check()
}

// typeNames are what a decoder says of Go's types, which is nothing for people.
var typeNames = regexp.MustCompile(`field (\S+) not found in type \S+`)

// readable words a decoder's complaints for people, a line for each.
func readable(file string, err error) error {
	complaints := []string{strings.TrimPrefix(err.Error(), "yaml: ")}
	if several, ok := errors.AsType[*yaml.TypeError](err); ok {
		complaints = several.Errors
	}
	var errs []error
	for _, text := range complaints {
		text = typeNames.ReplaceAllString(text, "there is no key $1")
		if line, rest, ok := strings.Cut(strings.TrimPrefix(text, "line "), ": "); ok && strings.HasPrefix(text, "line ") {
			text = line + ": " + rest
			errs = append(errs, fmt.Errorf("%s:%s", file, text))
			continue
		}
		errs = append(errs, fmt.Errorf("%s: %s", file, text))
	}
	return errors.Join(errs...)
}

// findLines notes where checks stand in the file.
func (s *Suite) findLines(data []byte) {
	var places struct {
		Cases []struct{ Checks []yaml.Node }
	}
	if yaml.Unmarshal(data, &places) != nil {
		return
	}
	for i := range s.Cases {
		for j := range s.Cases[i].Checks {
			if i < len(places.Cases) && j < len(places.Cases[i].Checks) {
				s.Cases[i].Checks[j].line = places.Cases[i].Checks[j].Line
			}
		}
	}
}

// dir is the directory that the suite's other files are relative to.
func (s *Suite) dir() string { return filepath.Dir(s.file) }

// check completes a suite and finds what is wrong with it.
func (s *Suite) check() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(s.file+": "+format, args...)) }
	if len(s.Cases) == 0 {
		wrong("there are no cases")
	}
	if s.Name == "" {
		s.Name = strings.TrimSuffix(filepath.Base(s.file), filepath.Ext(s.file))
	}
	for _, model := range s.Models {
		s.Variants = append(s.Variants, Variant{Name: model, Model: model})
	}
	if len(s.Variants) == 0 {
		s.Variants = []Variant{{Name: "project"}}
	}
	var names []string
	for i := range s.Variants {
		v := &s.Variants[i]
		if v.Name == "" {
			v.Name = strings.TrimSpace(filepath.Base(v.Project) + " " + v.Model)
		}
		if slices.Contains(names, v.Name) {
			wrong("two variants have the name %s", v.Name)
		}
		names = append(names, v.Name)
	}
	names = nil
	for i := range s.Cases {
		c := &s.Cases[i]
		if c.Name == "" {
			c.Name = fmt.Sprintf("case %d", i+1)
		}
		switch {
		case slices.Contains(names, c.Name):
			wrong("two cases have the name %s", c.Name)
		case len(c.Messages) == 0:
			wrong("case %s: it has no messages", c.Name)
		case c.Agent == "" && s.Agent == "":
			wrong("case %s: say which agent it is with, here or for the whole suite", c.Name)
		case len(c.Checks) == 0:
			wrong("case %s: it has no checks", c.Name)
		}
		names = append(names, c.Name)
		for j := range c.Checks {
			if err := c.Checks[j].prepare(s.dir()); err != nil {
				errs = append(errs, fmt.Errorf("%s:%d: case %s: %w", s.file, c.Checks[j].line, c.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// passRate is which part of a case's runs must pass.
func (s *Suite) passRate(c *Case) float64 {
	for _, rate := range []float64{c.PassRate, s.PassRate} {
		if rate > 0 {
			return rate
		}
	}
	return 1
}

func (s *Suite) repeats(c *Case) int {
	for _, n := range []int{c.Repeats, s.Repeats} {
		if n > 0 {
			return n
		}
	}
	return 1
}

func (s *Suite) agentOf(c *Case) string {
	if c.Agent != "" {
		return c.Agent
	}
	return s.Agent
}
