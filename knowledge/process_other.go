//go:build !unix

package knowledge

import "os/exec"

func ownGroup(*exec.Cmd) {}

// killGroup kills a process; there are no groups here.
func killGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
}
