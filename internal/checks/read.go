package checks

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe/internal/sandbox"
)

var colours = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|\x1b\\][^\x07]*\x07")

// read makes an outcome of a result. Root is the folder that the check ran for, which
// paths in its output are made relative to.
func (c *Check) read(r sandbox.Result, root string) Outcome {
	o := Outcome{Name: c.Name, Command: c.Command(), Exit: r.Exit, Tests: -1, Took: r.Duration, OK: r.Exit == 0 && r.Ended == "" && r.Missing == ""}
	text := colours.ReplaceAllString(strings.ReplaceAll(r.Output, "\r\n", "\n"), "")
	text = strings.ReplaceAll(text, root+"/", "")
	if c.Format == formatGo {
		text = o.readGo(text)
	} else {
		o.readTests(text)
	}
	o.Output = text
	if o.OK {
		return o
	}
	o.Diagnostics = diagnostics(text, c.Dir)
	slices.Sort(o.Failing)
	o.Failing = slices.Compact(o.Failing)
	o.Excerpt = excerpt(text)
	o.Cause, o.Remedy = cause(r, text, &o)
	return o
}

// readGo reads the events of go test -json and returns the output as people see it. Tests
// are known by their package and name. A package that fails with no test that does (it was
// not built, or ended too early) stands for its tests.
func (o *Outcome) readGo(text string) string {
	var b strings.Builder
	run := 0
	blamed := map[string]bool{} // packages with tests that fail
	for line := range strings.Lines(text) {
		var e struct{ Action, Package, Test, Output string }
		if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
			b.WriteString(line)
			continue
		}
		switch {
		case e.Action == "output" || e.Action == "build-output":
			if !strings.HasPrefix(e.Output, "=== ") && !strings.HasPrefix(strings.TrimSpace(e.Output), "--- PASS") {
				b.WriteString(e.Output)
			}
		case e.Test == "":
			if e.Action == "fail" && !blamed[e.Package] {
				o.Failing = append(o.Failing, e.Package)
			}
		case e.Action == "fail":
			run++
			blamed[e.Package] = true
			o.Failing = append(o.Failing, e.Package+"."+e.Test)
		case e.Action == "pass":
			run++
		case e.Action == "skip":
			o.Skipped++
		}
	}
	o.Tests = run
	return b.String()
}

var (
	tapFailed    = regexp.MustCompile(`(?m)^\s*not ok \d+ - (.+?)(?: # .*)?$`)
	tapTests     = regexp.MustCompile(`(?m)^(?:# |ℹ )tests (\d+)`)
	tapSkipped   = regexp.MustCompile(`(?m)^(?:# |ℹ )(?:skipped|todo) (\d+)`)
	specFailed   = regexp.MustCompile(`(?m)^\s*✖ (.+?) \([\d.]+ms\)`)
	goFailed     = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	pytestFailed = regexp.MustCompile(`(?m)^(?:FAILED|ERROR) ([^(\s]\S*)`)
	pytestTests  = regexp.MustCompile(`(?m)^=*\s*(?:(\d+) failed)?,? ?(?:(\d+) passed)?(?:, (\d+) skipped)?[^\n]* in [\d.]+`)
	unitFailed   = regexp.MustCompile(`(?m)^(?:FAIL|ERROR): (\S+ \([\w.]+\))$`)
	unitTests    = regexp.MustCompile(`(?m)^Ran (\d+) tests? in [\d.]+s`)
	unitSkipped  = regexp.MustCompile(`(?m)^(?:OK|FAILED) \(.*skipped=(\d+)`)
	cargoFailed  = regexp.MustCompile(`(?m)^test (\S+) \.\.\. FAILED`)
	cargoTests   = regexp.MustCompile(`(?m)^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored`)
	jestTests    = regexp.MustCompile(`(?m)^Tests:\s+(?:(\d+) failed, )?(?:(\d+) skipped, )?(?:(\d+) passed, )?(\d+) total`)
)

// readTests reads what the usual runners say.
func (o *Outcome) readTests(text string) {
	for _, pattern := range []*regexp.Regexp{tapFailed, specFailed, goFailed, pytestFailed, unitFailed, cargoFailed} {
		for _, m := range pattern.FindAllStringSubmatch(text, 200) {
			o.Failing = append(o.Failing, strings.TrimSpace(m[1]))
		}
	}
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	switch {
	case tapTests.MatchString(text):
		o.Tests = 0
		for _, m := range tapTests.FindAllStringSubmatch(text, -1) {
			o.Tests += number(m[1])
		}
		for _, m := range tapSkipped.FindAllStringSubmatch(text, -1) {
			o.Skipped += number(m[1])
		}
		o.Tests -= o.Skipped
	case cargoTests.MatchString(text):
		o.Tests = 0
		for _, m := range cargoTests.FindAllStringSubmatch(text, -1) {
			o.Tests += number(m[1]) + number(m[2])
			o.Skipped += number(m[3])
		}
	case unitTests.MatchString(text):
		o.Tests = 0
		for _, m := range unitTests.FindAllStringSubmatch(text, -1) {
			o.Tests += number(m[1])
		}
		for _, m := range unitSkipped.FindAllStringSubmatch(text, -1) {
			o.Skipped += number(m[1])
		}
		o.Tests -= o.Skipped
	case jestTests.MatchString(text):
		m := jestTests.FindStringSubmatch(text)
		o.Skipped = number(m[2])
		o.Tests = number(m[4]) - o.Skipped
	default:
		for _, m := range pytestTests.FindAllStringSubmatch(text, -1) {
			if m[1]+m[2] != "" {
				o.Tests, o.Skipped = number(m[1])+number(m[2]), number(m[3])
			}
		}
	}
}

var (
	place       = regexp.MustCompile(`^\s*(?:vet: )?(?:\./)?([\w@+./-]*[\w@+-]\.[A-Za-z]\w{0,9}):(\d+)(?::(\d+))?:? (.+)$`)
	typescript  = regexp.MustCompile(`^([\w@+./-]+\.\w+)\((\d+),(\d+)\): (error .+)$`)
	rustPlace   = regexp.MustCompile(`^\s*--> ([\w@+./-]+\.rs):(\d+):(\d+)`)
	pythonPlace = regexp.MustCompile(`^\s*File "([\w@+./-]+\.py)", line (\d+)`)
	nodePlace   = regexp.MustCompile(`(?:file://)?([\w@+./-]+\.[cm]?[jt]s):(\d+)(?::(\d+))?\)?$`)
)

const maxDiagnostics = 20

// diagnostics finds the places that an output names. Dir is where the check ran.
func diagnostics(text, dir string) (list []Diagnostic) {
	before := ""
	seen := map[Diagnostic]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		var d Diagnostic
		if m := place.FindStringSubmatch(line); m != nil {
			d = at(m[1], m[2], m[3], m[4])
		} else if m := typescript.FindStringSubmatch(line); m != nil {
			d = at(m[1], m[2], m[3], m[4])
		} else if m := rustPlace.FindStringSubmatch(line); m != nil {
			d = at(m[1], m[2], m[3], before)
		} else if m := pythonPlace.FindStringSubmatch(line); m != nil {
			d = at(m[1], m[2], "", "in the traceback")
		} else if m := nodePlace.FindStringSubmatch(line); m != nil && !strings.Contains(line, "node:") && !strings.Contains(line, "node_modules") {
			d = at(m[1], m[2], m[3], "in the stack")
		}
		if t := strings.TrimSpace(line); t != "" {
			before = t
		}
		if d.Path == "" || strings.HasPrefix(d.Path, "/") {
			continue
		}
		if dir != "" && !strings.HasPrefix(d.Path, dir+"/") {
			d.Path = dir + "/" + d.Path
		}
		if !seen[d] && len(list) < maxDiagnostics {
			seen[d] = true
			list = append(list, d)
		}
	}
	return list
}

func at(path, line, column, message string) Diagnostic {
	d := Diagnostic{Path: strings.TrimPrefix(path, "./"), Message: message}
	d.Line, _ = strconv.Atoi(line)
	d.Column, _ = strconv.Atoi(column)
	return d
}

var (
	noNetwork = regexp.MustCompile(`(?i)\bgetaddrinfo|\bENOTFOUND\b|\bEAI_AGAIN\b|\bENETUNREACH\b|name resolution|network is unreachable|no route to host|could not resolve host|dial (?:tcp|udp)[^\n]*(?:lookup|i/o timeout)`)
	noSpace   = regexp.MustCompile(`(?i)no space left on device|ENOSPC|disk quota exceeded|file too large`)
	noModules = regexp.MustCompile(`(?i)module lookup disabled by GOPROXY=off|missing go\.sum entry|Cannot find (?:module|package) '[^./][^']*'|ERR_MODULE_NOT_FOUND|ModuleNotFoundError: No module named|no matching package named|No module named pytest`)
	noCommand = regexp.MustCompile(`(?im)^[^\n]*(?:command not found|: not found|No such file or directory: '?(?:npm|node|go|cargo|python3?|make)\b)`)
	noFile    = regexp.MustCompile(`(?i)read-only file system|EROFS`)
)

// cause tells what the change is to blame for from what it is not.
func cause(r sandbox.Result, text string, o *Outcome) (string, string) {
	switch {
	case r.Missing != "":
		return CauseEnvironment, r.Missing + ". Install it, or set pipeline.checks."
	case r.Ended == "time":
		return CauseEnvironment, "it took longer than it may. Give it more time (timeout of the check), or look for what it waits for."
	case r.Ended == "written":
		return CauseEnvironment, "it wrote more than it may."
	case r.Ended == "processes":
		return CauseEnvironment, "it started more processes than it may."
	case r.Ended == "memory":
		return CauseEnvironment, "it took more memory than it may."
	case r.Exit == 137 || r.Exit == 126:
		return CauseEnvironment, "it was killed, or could not be started; there may not be enough memory."
	case noSpace.MatchString(text):
		return CauseEnvironment, "there is no space left. Make room, or let less be written."
	case r.Exit == 127 && noCommand.MatchString(text):
		return CauseEnvironment, "a command is missing: " + firstLine(noCommand.FindString(text)) + ". Install it, or add what installs it to pipeline.setup."
	case noNetwork.MatchString(text):
		return CauseEnvironment, "it needs the network, which checks do not have: " + lineWith(text, noNetwork) + ". Fetch what it needs in pipeline.setup, or name the hosts in pipeline.network."
	case noModules.MatchString(text):
		return CauseEnvironment, "something that it depends on is not here: " + lineWith(text, noModules) + ". Fetch it in pipeline.setup (npm ci, go mod download, ...), show it by pipeline.link, or set pipeline.checks to what can run here."
	case noFile.MatchString(text) && len(o.Failing) == 0 && len(o.Diagnostics) == 0:
		return CauseEnvironment, "it wants to write where it may not: " + lineWith(text, noFile)
	}
	return CauseChange, ""
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return tail(line, 200)
}

func lineWith(text string, pattern *regexp.Regexp) string {
	for line := range strings.Lines(text) {
		if pattern.MatchString(line) {
			line = strings.TrimSpace(line)
			return strings.ToValidUTF8(line[:min(len(line), 200)], "")
		}
	}
	return ""
}

// excerpt is the first 40 and the last 120 lines, within 12 KiB.
func excerpt(text string) string {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) > 160 {
		lines = slices.Concat(lines[:40], []string{"[" + strconv.Itoa(len(lines)-160) + " lines left out]\n"}, lines[len(lines)-120:])
	}
	for i, line := range lines {
		if len(line) > 500 {
			lines[i] = strings.ToValidUTF8(line[:500], "") + "…\n"
		}
	}
	text = strings.Join(lines, "")
	if len(text) > 12<<10 {
		text = strings.ToValidUTF8(text[:4<<10], "") + "\n[…]\n" + strings.ToValidUTF8(text[len(text)-8<<10:], "")
	}
	return text
}
