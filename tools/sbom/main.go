// Command sbom writes what a Go program was built of as a CycloneDX document: the modules that
// the toolchain has put on record in the program itself, with their versions and hashes.
//
//	sbom PROGRAM DOCUMENT
package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type document struct {
	Format     string         `json:"bomFormat"`
	Spec       string         `json:"specVersion"`
	Version    int            `json:"version"`
	Metadata   map[string]any `json:"metadata"`
	Components []component    `json:"components"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM DOCUMENT")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(program, name string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(describe(info), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

// describe lists the modules of a program, those that stand in for others in their place,
// and the standard library, which is linked as well.
func describe(info *debug.BuildInfo) document {
	main := component{Type: "application", Ref: purl(&info.Main), Name: info.Main.Path, Version: info.Main.Version, PURL: purl(&info.Main)}
	library := &debug.Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}
	parts := []component{{Type: "library", Ref: purl(library), Name: library.Path, Version: library.Version, PURL: purl(library)}}
	for _, module := range info.Deps {
		module = cmp.Or(module.Replace, module)
		part := component{Type: "library", Ref: purl(module), Name: module.Path, Version: module.Version, PURL: purl(module)}
		if sum, ok := strings.CutPrefix(module.Sum, "h1:"); ok {
			if bytes, err := base64.StdEncoding.DecodeString(sum); err == nil {
				part.Hashes = []hash{{"SHA-256", hex.EncodeToString(bytes)}}
			}
		}
		parts = append(parts, part)
	}
	return document{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: map[string]any{"component": main}, Components: parts}
}

func purl(m *debug.Module) string { return "pkg:golang/" + m.Path + "@" + m.Version }
