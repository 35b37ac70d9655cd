package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inTerminal runs the program in a terminal of its own into which somebody has typed a
// text, and returns all that it shows.
func inTerminal(t *testing.T, dir, typed string, args ...string) string {
	t.Helper()
	return inTerminalOnce(t, dir, "", typed, args...)
}

// inTerminalOnce is inTerminal for somebody who types once something is shown.
func inTerminalOnce(t *testing.T, dir, awaited, typed string, args ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer master.Close()
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	if awaited == "" {
		if _, err := master.WriteString(typed); err != nil {
			t.Fatal(err)
		}
	}
	self, err := exec.LookPath("troupe")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, self, args...)
	c.Dir, c.Env = dir, append(os.Environ(), "GORACE="+hurry, "TERM=xterm")
	c.Stdin, c.Stdout, c.Stderr = terminal, terminal, terminal
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close()
	var shown bytes.Buffer
	for piece := make([]byte, 4096); ; {
		n, err := master.Read(piece)
		shown.Write(piece[:n])
		if err != nil { // the program has ended
			break
		}
		if awaited != "" && strings.Contains(shown.String(), awaited) {
			awaited = ""
			if _, err := master.WriteString(typed); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = c.Wait() // what it shows says whether it worked
	return shown.String()
}

func mustShow(t *testing.T, shown string, wanted ...string) {
	t.Helper()
	for _, text := range wanted {
		if !strings.Contains(shown, text) {
			t.Errorf("it does not show %q:\n%s", text, shown)
		}
	}
}

const twoAgents = `<agent id="x" name="NAME" title="TITLE"><persona><role>x</role></persona><menu><item cmd="A" action="a">[A] a</item></menu></agent>`

// bmadProject is an installation with two agents.
func bmadProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"_bmad/own/config.yaml":   "user_name: Alex\noutput_folder: '{project-root}/papers'\n",
		"_bmad/own/agents/one.md": strings.NewReplacer("NAME", "Una", "TITLE", "First").Replace(twoAgents),
		"_bmad/own/agents/two.md": strings.NewReplacer("NAME", "Duo", "TITLE", "Second").Replace(twoAgents),
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// In a terminal the configuration is offered once, and a refusal is remembered.
func TestTheConfigurationIsOfferedOnce(t *testing.T) {
	dir := bmadProject(t)
	mustShow(t, inTerminal(t, dir, "n\n", "chat", "nobody"), "There is a BMAD project here and no troupe.yaml", `agent "nobody"`)
	if _, err := os.Stat(filepath.Join(dir, "troupe.yaml")); err == nil {
		t.Error("what was refused was written")
	}
	if again := inTerminal(t, dir, "\n", "chat", "nobody"); strings.Contains(again, "There is a BMAD project") {
		t.Errorf("it was offered again:\n%s", again)
	}
	other := bmadProject(t)
	mustShow(t, inTerminal(t, other, "yes\n", "chat", "nobody"), "Agents write documents into papers of this project", "may read the project's files")
	config, err := os.ReadFile(filepath.Join(other, "troupe.yaml"))
	if err != nil || !strings.Contains(string(config), "documents: in-place") {
		t.Errorf("the configuration is %q, %v", config, err)
	}
}

// Where there is more than one agent to begin with, a person chooses from a list.
func TestAPersonChoosesFromTheAgents(t *testing.T) {
	shown := inTerminal(t, bmadProject(t), "n\n\nnobody\n", "chat")
	mustShow(t, shown, "1  one", "Una, First", "2  two", "Which agent?", `agent "nobody": no such agent`)
}

func TestRunAsksThePersonWhoIsThere(t *testing.T) {
	dir := t.TempDir()
	config := "agents:\n  clerk: {instructions: You write files., tools: [write_file]}\napprove:\n  - {tool: write_file, do: ask}\n"
	if err := os.WriteFile(filepath.Join(dir, "troupe.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	shown := inTerminal(t, dir, "yes\n", "--model", "rehearsal", "run", "clerk", `Write "hello" to notes.md`)
	mustShow(t, shown, "May I call write_file with these arguments?", "› ", "write_file notes.md")
	if strings.Contains(shown, "To answer") {
		t.Errorf("it asks once more:\n%s", shown)
	}
}

// Ctrl-C ends the program at its questions, too.
func TestAQuestionIsLeftByCtrlC(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"one", "two"} {
		file := filepath.Join(dir, "bmad/custom/bundles", id, "agents", id+".md")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("---\nname: "+id+"\n---\n"+strings.NewReplacer("x\" name", id+"\" name", "NAME", id, "TITLE", id).Replace(twoAgents)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "troupe.yaml"), []byte("model: rehearsal\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	shown := inTerminalOnce(t, dir, "Which agent?", "\x03", "chat")
	mustShow(t, shown, "Which agent?")
	if strings.Contains(shown, "no such agent") {
		t.Errorf("it took ctrl-C for an answer:\n%s", shown)
	}
}
