package main

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// The pictures of README.md are there and small, and show commands that there are:
// scripts/pictures takes them again.
func TestThePicturesShowWhatThereIs(t *testing.T) {
	root := corpus.ModuleRoot(t)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pictures := regexp.MustCompile(`\]\((docs/pictures/[a-z.]+)\)`).FindAllStringSubmatch(string(readme), -1)
	if len(pictures) != 2 {
		t.Fatalf("README.md shows %v", pictures)
	}
	var shown string
	for _, p := range pictures {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p[1])))
		if err != nil || len(data) > 150<<10 {
			t.Errorf("%s: %d bytes, %v", p[1], len(data), err)
		}
		if filepath.Ext(p[1]) == ".svg" {
			shown = strings.ReplaceAll(html.UnescapeString(string(data)), "\u00a0", " ")
		}
	}
	commands := regexp.MustCompile(`>\$ troupe (?:--model rehearsal )?([a-z]+)`).FindAllStringSubmatch(shown, -1)
	if len(commands) < 2 {
		t.Fatalf("the terminal shows %v", commands)
	}
	known := (&program{}).command()
	for _, c := range commands {
		if found, _, err := known.Find(c[1:2]); err != nil || found == known {
			t.Errorf("there is no command %s any more: run scripts/pictures", c[1])
		}
	}
}
