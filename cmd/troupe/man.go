package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand writes manual pages, for packages.
func (p *program) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write manual pages into a directory",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := c.Root()
			root.DisableAutoGenTag = true
			// Without a title each page has its command's.
			if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "troupe " + buildVersion().Version, Manual: "Troupe"}, args[0]); err != nil {
				return err
			}
			return finishPages(args[0])
		},
	}
}

// finishPages adds to each page what holds for all commands.
func finishPages(dir string) error {
	pages, err := filepath.Glob(filepath.Join(dir, "troupe*.1"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		text = bytes.ReplaceAll(text, []byte("[=false]"), nil) // nobody types it
		before, related, hasRelated := bytes.Cut(text, []byte(".SH SEE ALSO\n"))
		text = append(bytes.Clone(before), manFiles...)
		text = fmt.Appendf(text, manExits, exitDone, exitFailed, exitUsage, exitFindings, exitInput, exitInterrupted)
		if hasRelated {
			text = append(append(text, ".SH SEE ALSO\n"...), related...)
		}
		if err := os.WriteFile(page, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

const manFiles = `.SH FILES
.TP
\fBtroupe.yaml\fP
the configuration of the project, which is the directory of \fB-C\fP or the one that it is run in
.TP
\fB.env.local\fP, \fB.env\fP
variables beside it, such as keys; the environment goes before them
.TP
\fBdata/\fP
sessions, what agents saved, and whatever else Troupe keeps
.SH ENVIRONMENT
.TP
\fBOPENAI_API_KEY\fP, \fBANTHROPIC_API_KEY\fP, \fBGEMINI_API_KEY\fP and others
the keys of providers; \fBtroupe doctor\fP says which are set
.TP
\fBHTTPS_PROXY\fP, \fBNO_PROXY\fP
the proxy that requests go through, and what does not
.TP
\fBNO_COLOR\fP
no colours, if it is set
`

const manExits = `.SH EXIT STATUS
.TP
\fB%d\fP
it is done
.TP
\fB%d\fP
it failed
.TP
\fB%d\fP
the command line is wrong
.TP
\fB%d\fP
there are findings: of \fBlint\fP, \fBeval\fP and the like
.TP
\fB%d\fP
a person must answer before it can go on
.TP
\fB%d\fP
it was interrupted
`
