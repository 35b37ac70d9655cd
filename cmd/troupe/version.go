package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// A versionInfo says what the program was built from and with.
type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// release is the version that a release was linked with, empty for any other build.
var release string

func buildVersion() versionInfo {
	v := versionInfo{Version: cmp.Or(release, "development"), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if release == "" && info.Main.Version != "(devel)" {
		v.Version = cmp.Or(info.Main.Version, v.Version)
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}

// line is the version as people read it.
func (v versionInfo) line() string {
	return fmt.Sprintf("troupe %s (%s, %s/%s)", v.Version, v.Go, v.OS, v.Arch)
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			if p.flags.json {
				return p.writeJSON(v)
			}
			_, err := fmt.Fprintln(p.out, v.line())
			return err
		},
	}
}
