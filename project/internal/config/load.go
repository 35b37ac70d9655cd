package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Name is the name of the file in a project's directory.
const Name = "troupe.yaml"

// What the file may hold.
const (
	maxBytes = 256 << 10
	maxDepth = 64
	maxKeys  = 2000
)

// Load reads troupe.yaml in dir. A project without one has the defaults. The error
// is Problems where the file is there and wrong. Variables are looked up with
// lookup, as [os.LookupEnv] does.
func Load(dir string, lookup func(string) (string, bool)) (*Config, error) {
	name := filepath.Join(dir, Name)
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Parse(name, nil, lookup)
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, Problems{{File: name, Message: "this is not a regular file"}}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	c, err := Parse(name, src, lookup)
	if err != nil {
		return nil, err
	}
	c.Path = name
	return c, nil
}

// Parse reads the text of a troupe.yaml; name is for its problems.
func Parse(name string, src []byte, lookup func(string) (string, bool)) (*Config, error) {
	r := reader{file: name, lookup: lookup}
	var c Config
	if root := r.document(src); root != nil {
		r.fill(root, reflect.ValueOf(&c).Elem(), place{})
		r.check(&c, root)
		freeOfCharge(&c, root)
	}
	if len(r.problems) > 0 {
		r.problems.sort()
		return nil, r.problems
	}
	c.useDefaults()
	return &c, nil
}

// freeOfCharge has prices that are written as 0 be free: nothing written is not known.
func freeOfCharge(c *Config, root *yaml.Node) {
	for name, p := range c.Providers {
		for model, m := range p.Models {
			in, out := at(root, "providers", name, "models", model, "price", "input"), at(root, "providers", name, "models", model, "price", "output")
			if in != nil && out != nil && m.Price == (Price{}) {
				m.Price.Free = true
				p.Models[model] = m
			}
		}
	}
}

// A reader turns YAML into a Config and notes what is wrong with it.
type reader struct {
	file     string
	lookup   func(string) (string, bool)
	problems Problems
}

func (r *reader) wrong(line int, format string, args ...any) {
	r.problems = append(r.problems, Problem{r.file, line, fmt.Sprintf(format, args...)})
}

// yamlLine is where the library says that something is wrong; it has no other way.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// document returns the root of the one document in src, or nil if it is empty or
// cannot be used.
func (r *reader) document(src []byte) *yaml.Node {
	if len(src) > maxBytes {
		r.wrong(0, "it has more than %d bytes", maxBytes)
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		m := yamlLine.FindStringSubmatch(err.Error())
		if m == nil {
			m = []string{"", ""}
		}
		line, _ := strconv.Atoi(m[1]) // 0 where there is none
		r.wrong(line, "this is not YAML: %s", err.Error()[len(m[0]):])
		return nil
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		r.wrong(0, "it holds more than one document")
		return nil
	}
	root := document.Content[0]
	if !r.admit(root, 1) || root.Tag == "!!null" {
		return nil
	}
	return root
}

// admit refuses what a configuration has no use for, before anything is read.
func (r *reader) admit(n *yaml.Node, depth int) bool {
	switch {
	case depth > maxDepth:
		r.wrong(n.Line, "this is nested more than %d levels deep", maxDepth)
		return false
	case n.Kind == yaml.AliasNode || n.Anchor != "" || n.Tag == "!!merge":
		r.wrong(n.Line, "anchors, aliases and merge keys are not used here")
		return false
	case strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!"):
		r.wrong(n.Line, "tags such as %s are not used here", shorten(n.Tag))
		return false
	case n.Kind == yaml.MappingNode && len(n.Content) > 2*maxKeys:
		r.wrong(n.Line, "this map has more than %d keys", maxKeys)
		return false
	}
	for _, child := range n.Content {
		if !r.admit(child, depth+1) {
			return false
		}
	}
	return true
}
